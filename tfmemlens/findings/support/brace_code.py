"""What quoted code of TensorFlow.js or of R does again and again: blocks by their indentation, no grammar.

A loop that makes or loads a model, or predicts one sample, in each of its turns; tensors of a call that
nobody disposes of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.situation import in_r, situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_JAVASCRIPT = ("Node", "TensorFlow.js")
_LOOP = regex(r"\b(?:for|while) ?\(|\bset(?:Interval|Timeout)\(|\.forEach\(|\b[sl]apply\(")
_FUNCTION = regex(
    r"\A\s*(?:export )?(?:default )?(?:async )?(?:function (?P<plain>\w{1,40}) ?\("
    r"|(?:const |let |var )?(?P<named>[\w.]{1,40}) ?(?:=|<-) ?(?:async )?(?:function\b"
    r"|\(?[\w, ]{0,60}\)? ?=>))"
)
_MAKES = regex(
    r"\btf\.(?:sequential|model)\(|\b(?:loadLayersModel|loadGraphModel|loadSavedModel|loadModel)\("
    r"|\b(?:keras_model_sequential|keras_model|load_model_\w{2,10}|load_model)\("
)
_LOADS = regex(r"(?i)\bload_?\w{0,20}?model")
_PREDICTS = regex(r"\$predict\(|(?<![\w.$])predict\(|%>% ?predict\b")
_PREDICTS_ANY = regex(r"\bpredict\w{0,10}\(|\.execute(?:Async)?\(|\bclassify\(|\bdetect\w{0,10}\(")
_TENSOR = regex(
    r"\A\s*(?:const|let|var) (?P<name>\w{1,40}) = (?:await )?tf\.(?:node\.decode\w{1,10}|browser\.fromPixels"
    r"|tensor\w{0,3}|zeros|ones|tidy)\("
)
_TIDY = regex(r"\btf\.tidy\(")
_RETURNS = regex(r"\A\s*return\b")
_ONCE = Remedy(
    "make or load the model once, above the loop or when the program starts, and use it again: a model leaves"
    " more behind than its tensors (layers, names, compiled functions), so neither dispose() nor tidy() gives"
    " all of it back",
    "const model = await tf.loadLayersModel(path);   // once; in each turn only model.predict(x)",
    slug="make-once",
)
_ONCE_IN_R = Remedy(
    "load or build the model once, above the loop; where each turn needs another one, run each turn in an R"
    " process of its own (callr::r), whose end gives all back: rm() and k_clear_session() leave a part of"
    " each",
    slug="make-once",
)
_ALL_AT_ONCE = Remedy(
    "give predict all rows in one call, or call predict_on_batch() for one batch: each call of predict builds"
    " a data set and what runs it anew",
    slug="one-call",
)
_DISPOSE = Remedy(
    "dispose of what a call makes outside of tidy(), and of what tidy() returns, when its values are read",
    "const values = result.dataSync(); tf.dispose([image, result]);",
    slug="dispose",
)
_COUNT = Remedy(
    "count tensors before and after a call: where their number is the same and memory grows all the same, it"
    " is no tensor",
    "console.log(tf.memory().numTensors, process.memoryUsage().rss)",
    slug="count-tensors",
)


def again_and_again(case: Case) -> Iterator[Grower]:
    """What such code does in each turn or call and nothing gives back."""
    javascript = situation(case).program in _JAVASCRIPT
    if not (javascript or in_r(case)):
        return
    code = sorted(code_lines(case.capture.surroundings), key=lambda each: each.number)
    for loop, inside in _loops(code):
        if made := next((each for each in inside if _MAKES.search(each.text)), None):
            does = "loads" if _LOADS.search(made.text) else "makes"
            remedies = (_ONCE, _COUNT) if javascript else (_ONCE_IN_R,)
            yield Grower(
                f"the model that {made.place} {does} anew in each turn of the loop on {loop.place}",
                made,
                remedies,
                sure=True,
            )
        predicts = (
            None if javascript else next((each for each in inside if _PREDICTS.search(each.text)), None)
        )
        if predicts:
            yield Grower(
                f"predict ({predicts.place}), which each turn of the loop on {loop.place} calls: each call"
                " makes its own data set",
                predicts,
                (_ALL_AT_ONCE,),
                sure=True,
            )
    if javascript:
        yield from _undisposed(code)


def made_above(case: Case) -> bool:
    """Whether the code makes or loads its model once, and calls it in a loop below."""
    code = sorted(code_lines(case.capture.surroundings), key=lambda each: each.number)
    loops = list(_loops(code))
    made = [each for each in code if _MAKES.search(each.text)]
    return bool(loops and made) and not any(each in inside for _, inside in loops for each in made)


def _loops(code: Sequence[Line]) -> Iterator[tuple[Line, list[Line]]]:
    """Each loop with the lines of its turns, and of the functions that they call."""
    functions = {
        match["plain"] or match["named"]: _below(code, at)
        for at, line in enumerate(code)
        if (match := _FUNCTION.match(line.text))
    }
    for at, line in enumerate(code):
        if not _LOOP.search(line.text) or _FUNCTION.match(line.text):
            continue
        inside = _below(code, at)
        text = "\n".join(each.text for each in inside)
        called = [body for name, body in functions.items() if re.search(rf"\b{re.escape(name)}\(", text)]
        yield line, [*inside, *(each for body in called for each in body)]


def _below(code: Sequence[Line], at: int) -> list[Line]:
    """The lines that are indented by more than this one, up to the first that is not; where a block is opened
    and nothing is indented, those that follow closely.
    """
    found: list[Line] = []
    flat = _opens_flat(code, at)
    for line in code[at + 1 :]:
        if flat and line.number > (found[-1] if found else code[at]).number + _FEW_BETWEEN:
            break
        if not flat and line.text.strip() and _indent(line) <= _indent(code[at]):
            break
        found.append(line)
    return found


_FEW_BETWEEN = 2
"""Lines from one of code to the next: one between them may be a bracket, or nothing that is known as code."""


def _opens_flat(code: Sequence[Line], at: int) -> bool:
    """Whether a block begins here whose lines are not indented."""
    after = code[at + 1] if at + 1 < len(code) else None
    opens = code[at].text.rstrip().endswith("{")
    return opens and after is not None and _indent(after) == _indent(code[at])


def _indent(line: Line) -> int:
    return len(line.text.expandtabs(4)) - len(line.text.lstrip())


def _undisposed(code: Sequence[Line]) -> Iterator[Grower]:
    """Tensors of a call, by the code of one: a piece that predicts, and has no loop of its own."""
    if any(_LOOP.search(each.text) for each in code) or not any(_PREDICTS_ANY.search(e.text) for e in code):
        return
    text = "\n".join(each.text for each in code)
    tidied = {
        each.number for at, line in enumerate(code) if _TIDY.search(line.text) for each in _below(code, at)
    }
    kept = [
        (match["name"], line)
        for line in code
        if line.number not in tidied and (match := _TENSOR.match(line.text))
        if not re.search(rf"\b{match['name']}\.dispose\(|\bdispose\([^)\n]*\b{match['name']}\b", text)
        if not any(_RETURNS.match(e.text) and match["name"] in e.text for e in code if e.number not in tidied)
    ]
    if not kept:
        return
    names = " and ".join(f"`{name}` ({line.place})" for name, line in kept[:3])
    loads = next((each for each in code if _LOADS.search(each.text)), None)
    which = "which is" if len(kept) == 1 else "which are"
    beside = f"; {loads.place} loads the model, too, where this code runs for each call" if loads else ""
    yield Grower(
        f"{names}, {which} outside of tidy() and never disposed of in the code{beside}",
        kept[0][1],
        (_DISPOSE, *((_ONCE,) if loads else ()), _COUNT),
        sure=True,
    )
