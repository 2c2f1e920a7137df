"""Our own failures: what went wrong in one sentence, and what to do next.

Everything that a user can cause ends in one of these; `cli` catches them in one place, so bad input never
yields a traceback.
"""

import errno
import os

DEBUG_VARIABLE = "TFMEMLENS_DEBUG"
"""Set to 1, a defect ends in its traceback instead of an apology."""


class NotUnderstood(Exception):
    """A part of the input lacks, or contradicts, what a rule of ours builds on: the reason, for a note. Who
    asks goes on without that part; a defect of ours is any other exception, and nobody catches it.
    """


class MalformedNode(NotUnderstood):
    """A node of a graph without the inputs, attributes or shapes that its op needs."""


class TfmemlensError(Exception):
    """A problem the user can act upon: a slug for scripts, a sentence for people, a hint that helps."""

    slug = "error"

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.sentence}\n  hint: {self.hint}" if self.hint else self.sentence


class UnreadableInput(TfmemlensError):
    """The file is missing, locked, broken or of a kind that no reader knows."""

    slug = "unreadable-input"


class MissingInput(UnreadableInput, FileNotFoundError):
    """There is no such file: also Python's own FileNotFoundError, with its `filename`."""

    def __init__(self, path: str, hint: str = "check the path") -> None:
        super().__init__(f"{path} does not exist", hint)
        self.errno, self.filename = errno.ENOENT, path


class UsageError(TfmemlensError):
    """The call itself does not make sense: an option's value, a name that does not exist."""

    slug = "usage"


class Unpredictable(TfmemlensError):
    """Too much of a model or graph is not known for a prediction that anybody could rely on."""

    slug = "unpredictable"


class Contradiction(TfmemlensError):
    """Inputs, or an input and what follows from it, disagree by more than the error bar."""

    slug = "contradiction"


class BooksDoNotBalance(TfmemlensError):
    """Attributed bytes and measured bytes disagree: a defect of ours, never shown as a result."""

    slug = "books-do-not-balance"


class MissingExtra(TfmemlensError):
    """A feature needs a package that the base install leaves out."""

    slug = "missing-extra"


def apology(defect: Exception) -> TfmemlensError:
    """What a user reads of a defect of ours, instead of a traceback. Where that is wanted the defect raises
    again.
    """
    if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
        raise defect
    place, frame = "", defect.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        if f"{os.sep}tfmemlens{os.sep}" in code.co_filename:
            module = code.co_filename.rpartition(f"{os.sep}tfmemlens{os.sep}")[2]
            place = f" in {module.replace(os.sep, '/')}, line {frame.tb_lineno}"
        frame = frame.tb_next
    return TfmemlensError(
        f"sorry, this is a defect of tfmemlens: {type(defect).__name__}{place}: {defect}",
        f"please report this line, with the input if you can; {DEBUG_VARIABLE}=1 prints the whole traceback",
    )
