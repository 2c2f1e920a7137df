"""The text says in words that memory ran out or grows, and quotes no message of it.

What it means: whoever asks for help often tells the failure and leaves the message out. Words tell which
memory it was and whether it grew; how much was asked for, by which line, and what was in use stands in the
message alone.
When it fires: no message was found, and a line of prose speaks of memory that ran out or grows. Not beside
another framework's message, nor where quoted code of JAX shows what most likely is too large, nor where the
text names what grows. Where the words tell where it happens (a predict that joins its results, a whole set
that is evaluated, a shuffle, XLA, a strategy, another framework beside it), the page says what is most
likely.
What to do: what helps there; else where memory grows, find what is kept from step to step; else add the
message with its traceback. For host RAM the kernel's log tells who was ended.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from tfmemlens.findings import (
    alarming_but_harmless,
    array_of_a_literal,
    code_without_message,
    copies_of_workers,
    machine_restarts,
    memory_of_an_app,
    named_growth,
    process_left_behind,
    processes_on_one_device,
    program_of_pytorch,
    what_tools_show,
    whole_pool_at_start,
)
from tfmemlens.findings.soft_warnings_only import empty_result
from tfmemlens.findings.support import profiled_lines, remedies, steps_of_torch_xla
from tfmemlens.findings.support.board import RASPBERRY_PI, board
from tfmemlens.findings.support.compiling import compiled_then
from tfmemlens.findings.support.contrasted import (
    ONCE_FOR_ALL,
    difference,
    ended_by,
    most_likely,
    stated_cause,
)
from tfmemlens.findings.support.flat_readings import denies_growth, flat_readings
from tfmemlens.findings.support.grounds import Guess, claim, unknown
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.jax_told import of_the_named_cause
from tfmemlens.findings.support.last_line import WHY_SILENT, quoted, speaks_of_memory
from tfmemlens.findings.support.pool_of_jax import told_of_the_pool
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_advice import (
    JAVASCRIPT,
    OTHER_RELEASES,
    advice,
    full_device,
    small_pool,
    smaller_stated,
)
from tfmemlens.findings.support.prose_of_jax import of_constructs
from tfmemlens.findings.support.remedies import MORE_FOR_WSL
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    TORCH_XLA,
    framework_of,
    situation,
)
from tfmemlens.findings.support.small_machine import small_machine
from tfmemlens.findings.support.told_again import WITHOUT_CACHE
from tfmemlens.findings.support.told_mechanism import told_mechanism, told_mechanisms
from tfmemlens.findings.support.traceback_place import another_error, in_short, of_the_op, of_the_traceback
from tfmemlens.findings.support.tried import ruled_out
from tfmemlens.findings.support.which_memory import (
    CACHE,
    DEVICE,
    HOST,
    RAM_IN_STOCK,
    RAN_OUT,
    how_to_tell,
    limit_of_a_job,
    named_by,
    only_killed,
    only_of_a_leak,
    ram_beside_hbm,
    whose,
)
from tfmemlens.findings.support.written_files import of_a_file
from tfmemlens.findings.support.xla_arena.facts import LARGEST_DEVICE
from tfmemlens.model.capture import (
    LIBRARY_FRAME,
    NEED_IN_WORDS,
    OWN_FRAME,
    Surroundings,
)
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human, human_size

BASIS = Basis.NAME
EXPLAINS = "no bytes: no message says how much was requested"

_MORE_PARTICULAR = (
    array_of_a_literal,
    code_without_message,
    copies_of_workers,
    machine_restarts,
    memory_of_an_app,
    named_growth,
    process_left_behind,
    processes_on_one_device,
    program_of_pytorch,
    what_tools_show,
)
"""Rules that say more of such a text."""
_ADD_THE_MESSAGE = Remedy(
    "add the message itself and its traceback (from `RESOURCE_EXHAUSTED`, `ran out of memory` or `OOM"
    " when allocating` on): they say how much was asked for, by which line, and what was in use",
    "python train.py 2>&1 | tee train.log; tfmemlens explain train.log",
    slug="read-the-log",
)
_OF_A_NOTEBOOK = Remedy(
    "add the message itself and its traceback, and the log of the notebook's process, which its cells do not"
    " show (Colab: Runtime > View runtime logs; Jupyter: the terminal of its server): they say how much was"
    " asked for, by which line, and what was in use",
    slug="read-the-log",
)
_OF_ANOTHER_ERROR = Remedy(
    "first mend what this error says, which is no lack of memory; where memory runs out as well, add that"
    " message and its traceback",
    slug="read-the-log",
)
_END_OF_THE_TRACEBACK = Remedy(
    "add the last lines of the traceback, and what was logged above it (from `RESOURCE_EXHAUSTED`, `ran out"
    " of memory` or `OOM when allocating` on): they say how much was asked for, and what was in use",
    slug="read-the-log",
)
_KERNEL_LOG = Remedy(
    "if the process ended without a message, the kernel's log says whether it was killed for memory",
    "dmesg -T | grep -i -E 'killed process|out of memory'",
    slug="read-the-kernel-log",
)
_LIMIT_OF_A_CONTAINER = Remedy(
    "see whether the container has a limit of its own, which counts whatever RAM the machine has (Docker"
    " Desktop gives a few GB), and raise it",
    "docker stats --no-stream   # then: docker run --memory=16g ...",
    slug="container-limit",
)
_OF_A_SERVICE = Remedy(
    "give the service more memory: its limit counts the program, the libraries it imports, the model and"
    " every worker, and there is no swap; else one worker, TensorFlow Lite or ONNX instead of TensorFlow",
    "gcloud run services update NAME --memory=4Gi --concurrency=1   # Heroku: heroku ps:type standard-2x",
    slug="container-limit",
)
_NOTHING_LOGGED = "the kernel's log in vain"
_OF_RAM = (
    "much memory in words",
    "host RAM in words",
    "dying while it starts",
    "large data",
    "of images",
    "reloading models",
    "saving in words",
)
"""What makes full RAM likely where a process was killed."""
_WHO_ENDED_IT = Remedy(
    "see who ended it: the kernel logs what it kills for memory, so a limit of the job or container, another"
    " rank that failed first, or somebody's own signal is as likely; the exit status and the first error of"
    " the ranks say which",
    "echo $?   # 137: SIGKILL, 143: SIGTERM; mpirun and Slurm name the rank that ended first",
    slug="who-ended-it",
)
_SHUFFLE = regex(r"(?i)\bshuffle\b|\bcache\(\)|\bprefetch\b")


_CACHE_OF_A_FILE = Remedy(
    "cache what is small: before it is decoded and resized (a picture as float32 has many times the bytes of"
    " its JPEG), or write TFRecord files once. What is in RAM while the cache's file is written is what maps,"
    " a shuffle buffer or a generator above it hold, and pages of that file, which count for a container"
    " until the system gives them back",
    "ds = names.map(tf.io.read_file).cache(path).map(decode)   # free -h: buff/cache is given back",
    slug="cache-to-file",
)


def _writes_a_file(told: Surroundings, line: Line) -> Line | None:
    """The frame below a heading that writes a file, where the words name the error and no memory."""
    writes = told.shows("writing a file")
    if writes is None or writes.number < line.number or not writes.text.lstrip().startswith("File "):
        return None
    return writes if _ONLY_RESOURCES.search(line.text) and not _NAMES_MEMORY.search(line.text) else None


_ONLY_RESOURCES = regex(r"(?i)\bresources?[ _]?exhaust")
_NAMES_MEMORY = regex(r"(?i)\bmemory\b|\b[GV]?RAM\b|\bOOM\b|allocat")


def caches(told: Surroundings, line: Line | None, grows: Line | None = None) -> str:
    """The call of tf.data's cache that the words or the code name: `cache()`, `cache(filename)`; or how prose
    says it; empty where nothing does.
    """
    for each in (*filter(None, (line, grows)), *code_lines(told)):
        if match := CACHE.search(each.text):
            return match[0]
    return ""


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    said, grows = told.shows("running short") or _in_other_words(case), told.shows("growing in words")
    if grows and said and _named_a_leak_in_vain(case, grows):
        grows = None
    if grows and said and (only_of_a_leak(said) or only_killed(said)):
        said = None  # what speaks of a leak says the same
    likely = told_mechanism(case)
    if likely is None and (stated := stated_cause(case)):
        likely = of_the_named_cause(case, stated[1])
    limited = said is not None and limit_of_a_job(told, said)
    likely = None if limited else likely  # what of the program took it, its limit does not tell
    stays = likely or told.shows("reloading models") or situation(case).program == "C++"
    line = said or grows or (told.shows("kept in words") if stays else None)
    if line is None and told.shows("after an OOM"):
        yield from _below_a_message(case)
    elif line is None and (size := told.shows("growing with a size")) and _alone(case, size):
        yield _with_a_size(case, size)
    elif line is None and (flat := _of_readings(told)) and _alone(case, told.host_readings[-1][1]):
        direct = _direct_call(case)
        yield Finding(
            severity=Severity.NOTE,
            headline=f"no failure is told{flat}{_op_by_op(direct)}",
            evidence=(Evidence("the last figure", told.host_readings[-1][1]),),
            remedies=(_COMPILED_CALL,) if direct else (),
        )
    if line is not None and grows is not None and said is None and denies_growth(case, grows):
        yield _of_no_growth(told, grows)
        return
    if line is not None and line == told.shows("scratch of cuFFT"):
        return  # the program's own message, which says what ran out
    if line is None or not _alone(case, line) or _only_an_error(told, line) or goes_on(told, line):
        return
    if grows is None and guessed_beside_a_crash(told, line):
        return
    if grows is None and likely is None and profiled_lines.most(told):
        return  # the table says which line took it
    if grows is None and any(line == end and speaks_of_memory(end) for _, end in told.ends):
        return  # no words of the writer: a program's line, which nobody knows
    if likely and (CACHE.search(likely.line.text) or (caches(told, line, grows) and likely.line != line)):
        likely = None  # code that caches says more than words of another line
    if grows is None and asked_beside_an_error(told, line):
        yield _of_a_question(told, line)
        return
    if grows is None and line.number == 1 and another_error(told) and not _OF_A_PERSON.search(line.text):
        yield _of_a_title(told, line)
        return
    if grows is None and (writes := _writes_a_file(told, line)):
        yield of_a_file(line, writes)
        return
    if grows is None and likely is None and _is_only_a_heading(told, line):
        yield _of_a_heading(told, line)
        return
    where = whose(case, line)
    on_board = board(case)
    if on_board and grows is None:
        likely = None  # what other programs of the board hold is in the same RAM, and comes first
    what = f"in words that {where} {_did_what(told, said, grows)}"
    if grows is None and only_killed(line):
        what = "that the program was killed, as the kernel does where host RAM is full"
        if "^C" in line.text:
            what = (
                "that nobody typed its ^C, which Colab prints where a process was killed, mostly for host RAM"
            )
        if told.shows(_NOTHING_LOGGED):
            what = "that the program was killed, and that the system's logs tell nothing of it"
    differs = difference(case, likely)
    cause, ended = stated_cause(case), ended_by(case)
    when = _of_steps(case) or ("" if grows or likely or cause or ended else _of_when(case))
    claimed = None
    if likely and differs is None:
        claimed = claim(case, (likely, *told_mechanisms(case)), where)
    elif not (likely or differs or cause or ended or on_board or when or grows):
        claimed = _nothing_known(case, line, where)
    guessed = f"; {most_likely(case, likely, differs)}" if likely else ""
    if differs and not likely:
        guessed = f"; {differs.said}"
    guessed = f"; {claimed.words}" if claimed else guessed
    named = f'; {cause[1].place} names the cause: "{cause[0]}"' if cause else ""
    figures = _with_those_of(told, line, where)
    names = "" if figures else named_by(case, line, where)
    little = small_machine(case) if where == HOST and not on_board else None
    lower = () if grows or where == HOST else tuple(_below_the_failed(case, claimed))
    sure = likely and (claimed is None or claimed.sure)
    of_board = _of_the_board(on_board[0], grows) if on_board else ""
    unsaid = "" if sure or cause or ended or on_board else how_to_tell(case, line, where)
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"the text says {what} ({line.place}{_with_figures(line)}{names})"
            f"{figures},"
            f" and quotes {_quoted(told)}"
            f"{of_board or _of_the_table(case) or _of_the_pool(case)}"
            f"{_of_readings(told)}{of_the_op(told)}{of_the_traceback(told)}{_of_a_variable(told)}"
            f"{ram_beside_hbm(case) if told.shows('on a TPU') and where == DEVICE else ''}"
            f"{when}{'; ' + little.said if little else ''}{_of_no_leak(told, line)}"
            f"{guessed}{named}{unsaid}{'; ' + ended[1].place + ' says what ended it' if ended else ''}"
        ),
        evidence=tuple(
            Evidence("what the text says", each)
            for each in dict.fromkeys(
                (
                    line,
                    grows or line,
                    likely.line if likely else line,
                    differs.line if differs else line,
                    (differs.beside if differs else None) or line,
                    cause[1] if cause else line,
                    ended[1] if ended else line,
                )
            )
        ),
        remedies=(
            *((ended[0],) if ended else ()),
            *((_OF_ANOTHER_ERROR,) if another_error(told) and not grows else ()),
            *((differs.remedy,) if differs else ()),
            *((_NUMPY_FUNCTION,) if cause and _OF_PY_FUNCTION.search(cause[0]) else ()),
            *(
                (_SOME_COLUMNS,)
                if framework_of(case) == JAX and cause and _OF_A_JACOBIAN.search(cause[0])
                else ()
            ),
            *((_LESS_OF_THE_SQUARE,) if cause and _OF_A_SQUARE.search(cause[0]) else ()),
            *((little.remedy,) if little and grows is None else ()),
            *lower,
            *(_of_the_limit(told, line) if where == HOST and grows is None and ended is None else ()),
            *((_OF_A_SERVICE,) if where == HOST and told.shows("on a hosted service") else ()),
            *_beside_a_difference(
                differs is not None and (grows is None or (said is not None and differs.beside is not None)),
                _after_the_holder(
                    () if grows or differs else _who_holds_it(case, where),
                    _of_the_guess(likely, claimed),
                    _unless_ended(
                        _before_the_log(
                            _but_the_batch(_remedies(case, told, line, grows, likely), bool(lower)),
                            None if likely else claimed,
                        ),
                        ended is not None,
                    ),
                ),
            ),
        ),
    )


_A_TOPIC = regex(r"(?i)\bmemory (?:allocation |consumption |usage )?(?:issues?|problems?|errors?)\b")


def _is_only_a_heading(told: Surroundings, line: Line) -> bool:
    """Whether the title alone speaks of memory, and as of a topic, above a log that shows no failure."""
    rest = _A_TOPIC.sub("", line.text)
    if line.number != 1 or rest == line.text or RAN_OUT.search(rest):
        return False
    return bool(told.devices or told.startup) and not (
        told.soft_warnings or told.raised or told.crash or told.shows("ended in words")
    )


def _of_a_heading(told: Surroundings, line: Line) -> Finding:
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"the title names memory as its topic ({line.place}), and no line below it fails: the log that"
            " stands here ends before that"
        ),
        evidence=(Evidence("the title", line),),
        remedies=(_message_wanted(told),),
    )


def _below_the_failed(case: Case, claimed: Guess | None) -> Iterator[Remedy]:
    """A smaller batch than the one of which the text says that it fails, where no cause is known."""
    if claimed is None or claimed.sure:
        return
    failed = {
        int(value): line
        for name, value, line in case.capture.surroundings.settings
        if name == "failed_batch" and value.isdigit()
    }
    least = min(failed, default=0)
    if least < _LEAST_TO_LOWER or "smaller-batch" in ruled_out(case) or situation(case).program:
        return
    yield Remedy(
        f"lower the batch: {least} fails ({failed[least].place}), so try {least // 4}, and double it while it"
        " runs",
        slug="smaller-batch",
    )


def _but_the_batch(remedies: Iterator[Remedy], named: bool) -> Iterator[Remedy]:
    """The remedies without a smaller batch where one below the one that failed is named already."""
    yield from (each for each in remedies if not (named and each.slug == "smaller-batch"))


_LEAST_TO_LOWER = 4


def _of_no_growth(told: Surroundings, grows: Line) -> Finding:
    """Words of growth, and figures that do not grow."""
    last = told.host_readings[-1][1]
    return Finding(
        severity=Severity.NOTE,
        headline=f"no failure is told: {grows.place} speaks of growth{_of_readings(told)}",
        evidence=(Evidence("what the text says", grows), Evidence("the last figure", last)),
    )


_LIMIT_OF_A_JOB = Remedy(
    "see what the job used at most and what it was given, and ask for more: the limit of a batch system is of"
    " host RAM, whatever the GPU has",
    "sacct -j JOB --format=JobID,State,ReqMem,MaxRSS   # then: #SBATCH --mem=32G",
    slug="container-limit",
)


def _of_the_limit(told: Surroundings, line: Line) -> Iterator[Remedy]:
    """Whether the limit of its container or job ended it, where the text states that limit."""
    if limit_of_a_job(told, line):
        yield _LIMIT_OF_A_JOB
    if limit := told.setting("container_memory"):
        of_gpus = ": a GPU's driver and libraries take host RAM, too, more for each GPU it sees"
        yield Remedy(
            f"see whether the container ended by its own limit of host RAM, {limit[0]} ({limit[1].place}),"
            f" and raise that{of_gpus if told.shows('a GPU named') else ''}",
            "docker inspect -f '{{.State.OOMKilled}}' NAME; docker stats --no-stream",
            slug="container-limit",
        )


_COMPILED_CALL = Remedy(
    "compare a compiled call: called directly, a model runs layer by layer, and a functional model of Keras 3"
    " keeps each layer's output until the call ends; in a graph each goes when its last reader has run",
    "model.predict_on_batch(x)   # or: f = tf.function(model); f(x)",
    slug="compiled-call",
)
_CALLS_DIRECTLY = regex(r"\A\s*(?:\w{1,30} ?= ?)?(?:self\.)?(?:model|net|network)\([^=\n]{1,60}\)\s*\Z")
_OF_KERAS_3, _UNKNOWN = (2, 16), (2, 99)
"""The first TensorFlow that has it, and what stands for any."""


def _direct_call(case: Case) -> Line | None:
    """The line of a program of Keras 3 that calls its model op by op, again and again."""
    lines = [*case.capture.surroundings.code, *code_lines(case.capture.surroundings)]
    if not _OF_KERAS_3 <= situation(case).newest < _UNKNOWN or any(
        "tf.function" in each.text or "jit_compile" in each.text for each in lines
    ):
        return None
    return next((each for each in lines if _CALLS_DIRECTLY.match(each.text)), None)


def _op_by_op(direct: Line | None) -> str:
    return f"; {direct.place} calls the model layer by layer" if direct else ""


def asked_beside_an_error(told: Surroundings, line: Line) -> bool:
    """Whether the line only asks about memory, and the error that ended the program is another."""
    return _ASKS.search(line.text) is not None and another_error(told) is not None


_ASKS = regex(
    r"(?i)(?:\A|[.!?:,;]\s+|\b(?:so|or|and|but|then) )(?:is|are|was|were|do|does|did|can|could|might"
    r"|may|would|has|have|am|why|how|what)\b[^.!?\n]*\?[\s\"'*)]*(?:\([^()\n]{0,80}\)\s*)?\Z"
)
"""A line that ends in a question, and says nothing that is none."""


def _of_a_question(told: Surroundings, line: Line) -> Finding:
    """Of a text that asks whether memory is the cause, beside an error that says another."""
    return _beside_another_error(
        told, line, "the text asks about memory", "what the text asks", "ends the program"
    )


_OF_A_PERSON = regex(r"(?i)\b(?:I|my|we|our)\b")
"""What a sentence has that tells of one's run, and a title seldom."""


def _of_a_title(told: Surroundings, line: Line) -> Finding:
    """Of a text whose title alone speaks of memory, above an error that says another thing."""
    return _beside_another_error(told, line, "the title speaks of memory", "what the title says", "is quoted")


def _beside_another_error(told: Surroundings, line: Line, says: str, why: str, error_is: str) -> Finding:
    """Of a line that only names memory, in a text whose error says another thing."""
    error = another_error(told)
    assert error is not None
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"{says} ({line.place}), and no message of it is quoted: the error that {error_is} is another,"
            f" `{in_short(error)}` ({error.place}){of_the_traceback(told)}"
        ),
        evidence=(Evidence(why, line), Evidence("the error", error)),
        remedies=(_OF_ANOTHER_ERROR,),
    )


def _of_a_variable(told: Surroundings) -> str:
    """That the frames of the text make a weight or a slot, so that no batch is to blame."""
    line = told.shows("creating a variable")
    if line is None or told.shows("growing in words"):
        return ""
    return (
        f"; its frames create a variable ({line.place}), as where a model is built or an optimizer's slots"
        " are made: no batch has a part in that"
    )


_WHO_FIRST = Remedy(
    "see what else holds the GPU: memory was short before the first step, where the weights are made (an"
    " earlier run, a notebook); if nothing does, fewer units or filters in that layer",
    "nvidia-smi",
    slug="see-device-users",
)


def _who_holds_it(case: Case, where: str) -> tuple[Remedy, ...]:
    """To see who holds the GPU first, where a batch of any size fails in the same way."""
    told = case.capture.surroundings
    if told.shows("the first value of a weight") and where != HOST and not told.device_uses:
        return (_WHO_FIRST,)
    line = told.shows("any batch alike") or told.shows("a smaller batch in vain")
    if line is None or where == HOST or told.device_uses or framework_of(case) != TENSORFLOW:
        return ()
    if told.shows("fails on the GPU alone") or situation(case).program or board(case):
        return ()
    if small := told.shows("a small GPU named"):
        text = (
            f"take a GPU with more memory: a smaller batch changed nothing ({line.place}), and the card of"
            f" {small.place} has 4 GB at most, which weights, gradients and an optimizer's slots may fill"
            " alone; see what others hold of it, and take a smaller model where it is to stay"
        )
        return (Remedy(text, "nvidia-smi", slug="larger-device"),)
    if told.shows("training under a strategy"):
        text = (
            f"a smaller batch changed nothing ({line.place}), so see first whether another program holds one"
            " of the GPUs (an earlier run, a notebook), and end it; then try one GPU without the strategy:"
            " where its part of the batch fails there, too, the model itself is too large for one"
        )
        return (Remedy(text, "nvidia-smi", slug="see-device-users"),)
    text = (
        f"a smaller batch changed nothing ({line.place}), so see first whether another program holds the GPU"
        " (an earlier run, a notebook): end it, or take a GPU that is free; most programs compute on the"
        " first one alone, however many there are"
    )
    return (Remedy(text, "nvidia-smi   # then: export CUDA_VISIBLE_DEVICES=1", slug="see-device-users"),)


def _after_the_holder(
    holder: tuple[Remedy, ...], of_the_guess: Sequence[Remedy], remedies: Iterator[Remedy]
) -> Iterator[Remedy]:
    """The remedies behind who holds the GPU, once; a smaller batch that is left works, and goes alone."""
    rest = list(remedies)
    if any(each.slug == "smaller-batch" for each in rest):
        holder = ()
    yield from holder
    yield from of_the_guess
    yield from (each for each in rest if not (holder and each.slug == holder[0].slug))


def _of_no_leak(told: Surroundings, line: Line) -> str:
    """What it means that the writer of a killed program saw no leak."""
    unseen = told.shows("no leak seen") if only_killed(line) else None
    return f"; {unseen.place} sees no leak, which leaves a sudden rise open" if unseen else ""


def _beside_a_difference(differs: bool, remedies: Iterator[Remedy]) -> Iterator[Remedy]:
    """The remedies; beside a way that works no general ones, of a batch, of growth or of what tells apart."""
    return (each for each in remedies if not (differs and each.slug in _GENERAL))


_GENERAL = ("smaller-batch", "find-what-grows", "tell-which")


def _of_the_guess(likely: Grower | None, claimed: Guess | None) -> tuple[Remedy, ...]:
    """What helps against the cause that is named, as sure as it is."""
    if likely is None:
        return ()
    return claimed.remedies if claimed else likely.remedies


def _before_the_log(remedies: Iterator[Remedy], claimed: Guess | None) -> Iterator[Remedy]:
    """What helps most programs, then what tells causes apart, then whose message is wanted."""
    telling = list(claimed.remedies) if claimed else []
    for remedy in remedies:
        if remedy.slug in _ASKING:
            yield from telling
            telling = []
        yield remedy
    yield from telling


_ASKING = ("read-the-log", "read-the-kernel-log", "how-it-ended")


def _nothing_known(case: Case, line: Line, where: str) -> Guess | None:
    """What may be said where the words name no cause; nothing where something else in the text tells more."""
    told = case.capture.surroundings
    if framework_of(case) not in (TENSORFLOW, JAX, TORCH_XLA) or situation(case).program or only_killed(line):
        return None
    if where == HOST and (line_of := compiled_then(case)):
        return Guess(f"most likely what XLA's compiler takes ({line_of.place})", (), sure=True)
    more = (
        *told.soft_warnings,
        *told.device_uses,
        *told.pipeline_buffers,
        *told.host_readings,
        *told.profiled,
    )
    if more or any(map(told.shows, _TELL_MORE)) or small_pool(case) or any(of_constructs(case)):
        return None
    return None if caches(told, line) or another_error(told) else unknown(case, where)


_TELL_MORE = (
    "a smaller batch helps",
    "saving in words",
    "failing in evaluation",
    "taking the whole GPU",
    "several ranks",
    "another release",
    "using a tool",
    "volumes",
    "creating a variable",
    "naming the op that failed",
    OWN_FRAME,
)
"""Facts that say more of why, or where."""


def goes_on(told: Surroundings, line: Line) -> bool:
    """Whether the words are about warnings that stand here, after which, as they say, the program goes on; or
    ask about them, and steps follow.
    """
    large = [each for _, each in (*told.large_host_requests, *told.pipeline_buffers)]
    warned = sorted([*(each.line for each in told.soft_warnings), *large], key=lambda each: each.number)
    if not warned or told.shows("ended in words") or told.kernel_died:
        return False
    if told.soft_warnings and empty_result(told):
        return True
    nan = told.shows("no number")
    if nan and told.soft_warnings and nan.number > warned[-1].number and _runs_on(told, warned[-1]):
        return True  # what ended it is the loss
    if _QUESTION.search(line.text):
        return told.shows("going on in words") is not None or _runs_on(told, warned[0])
    said = told.shows("going on in words") if told.soft_warnings else None
    return said is not None and line.number <= told.soft_warnings[-1].line.number


_QUESTION = regex(r"[?\uff1f\u061f]")


def _runs_on(told: Surroundings, warning: Line) -> bool:
    """Whether a bar reached its last step below the warning, or steps were counted there."""
    done = (each.line for each in told.progress if each.step and each.step == each.steps)
    return any(
        line.source == warning.source and line.number > warning.number
        for line in (*done, *(line for _, line in told.steps))
    )


def _unless_ended(remedies: Iterator[Remedy], ended: bool) -> Iterator[Remedy]:
    """The same without what looks for a cause or asks for more, where the text says what ended it."""
    yield from (each for each in remedies if not (ended and each.slug in _LOOKING))


_LOOKING = ("find-what-grows", "watch-ram", "compare-shapes", "map-the-file", "read-the-log")


def _below_a_message(case: Case) -> Iterator[Finding]:
    """Of a message whose beginning was not pasted: what stands below each of its kind is left."""
    told = case.capture.surroundings
    hint, compiled, ran = (told.shows(name) for name in ("after an OOM", "compiled by XRT", "run by XRT"))
    if hint is None or not _alone(case, hint):
        return
    program = ""
    if compiled or ran:
        node = f"XRTCompile, {compiled.place}" if compiled else f"XRTExecute, {ran.place if ran else ''}"
        when = "was compiled for" if compiled else "ran on"
        program = f"; it is of a program that {when} {_XRT} ({node}): what one step takes does not fit"
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"the end of an out-of-memory message stands here ({hint.place}: the hint below it), and not its"
            f" beginning, which says what was asked for{program}{_of_a_label(told)}{of_the_op(told)}"
        ),
        evidence=tuple(Evidence("what is left", each) for each in filter(None, (hint, compiled or ran))),
        remedies=(
            *(smaller_stated(case) if program else _less(case)),
            *((steps_of_torch_xla.LESS_IN_A_STEP,) if program and framework_of(case) == TORCH_XLA else ()),
            _message_wanted(told),
        ),
    )


def _less(case: Case) -> tuple[Remedy, ...]:
    """What helps most programs, where nothing is known but that a device's memory ran out."""
    stated = tuple(smaller_stated(case))
    return stated or ((remedies.less_at_once(case),) if framework_of(case) == TENSORFLOW else ())


_LABEL_SHAPE = regex(r"\b(?P<dtype>[a-z]{1,4}\d{1,2})\[(?P<sizes>\d{1,12}(?:,\d{1,12}){0,7})\]")
_BITS = regex(r"\d+\Z")


def _of_a_label(told: Surroundings) -> str:
    """`; the largest array that is left is f32[24,128,1024] (12 MiB, line 6)`, of XLA's labels of buffers."""
    line = told.shows("a buffer's label")
    shapes = {match[0]: _label_bytes(match) for match in _LABEL_SHAPE.finditer(line.text)} if line else {}
    largest = max(shapes, key=lambda each: shapes[each], default=None)
    if line is None or largest is None:
        return ""
    return f"; the largest array that is left is {largest} ({human(shapes[largest])}, {line.place})"


def _label_bytes(match: re.Match[str]) -> int:
    bits = _BITS.search(match["dtype"])
    return math.prod(map(int, match["sizes"].split(","))) * int(bits[0] if bits else 8) // 8


def _with_a_size(case: Case, line: Line) -> Finding:
    """Of a text that tells how memory grows with layers or samples, and of no failure."""
    loop = framework_of(case) == JAX and _OVER_LAYERS.search(line.text)
    full = case.capture.surroundings.shows("fits no more")
    ends = f"; the largest does not fit ({full.place})" if full else ""
    says = "memory" if full else "no failure is told: memory"
    return Finding(
        severity=Severity.FACTOR if full else Severity.NOTE,
        headline=f"{says} grows with a size ({line.place}), which is no leak{ends}",
        evidence=(Evidence("what the text says", line), *((Evidence("it ends", full),) if full else ())),
        remedies=(_SCAN_LAYERS,) if loop else _at_two_sizes(case),
    )


def _at_two_sizes(case: Case) -> tuple[Remedy, ...]:
    """How to see what grows with a size, of a program whose compiler plans its memory."""
    return (_TWO_SIZES,) if framework_of(case) == JAX and not situation(case).program else ()


_TWO_SIZES = Remedy(
    "compile it at two sizes, and compare what the compiler plans: where temporaries grow faster than what is"
    " given and returned, look in the jaxpr for arrays that have the size twice (results of a scan that are"
    " stacked, what a gradient keeps of each turn, both branches of a cond under vmap)",
    "print(jax.jit(f).lower(x).compile().memory_analysis()); print(jax.make_jaxpr(f)(x))",
    slug="see-the-plan",
)
_OVER_LAYERS = regex(r"(?i)\blayers\b")
_SCAN_LAYERS = Remedy(
    "let one loop of XLA go over the layers, and compute each again in the backward pass: their temporary"
    " buffers are then those of one layer",
    "nn.scan(nn.remat(Block), ...)   # Flax; or jax.lax.scan(jax.checkpoint(block), x, stacked_params)",
    slug="loop-of-xla",
)
_XRT = "the TPU"
_OF_MEMORY = regex(r"(?i)\b(?:V?RAM|memory|GPU|swap)\b")


def _may_be_quoted(sentence: str) -> bool:
    """Whether it is short, no question, no quotation itself, and denies nothing."""
    return len(sentence) <= _LONGEST_QUOTE and not set('"?') & set(sentence) and not _DENIES.search(sentence)


_DENIES = regex(
    r"(?i)(?:\b(?:not|never|no|without)\b|n't\b)(?: \w+){0,2} (?:grow|increas|leak|rising|crash|fail)\w*"
    r"|\b(?:stay(?:s|ed)?|remain(?:s|ed)?) (?:at|around|near|below|under|within|flat|stable"
    r"|constant|steady)\b"
)
"""What does not grow or fail is no proof that something does."""


def _of_readings(told: Surroundings) -> str:
    """That what the program printed of its RAM stays as it is, where it does from the second figure on."""
    flat = flat_readings(told)
    if not flat:
        return ""
    most, first, last = max(size for size, _ in flat), flat[0][1], flat[-1][1]
    return (
        f"; what it prints stays flat (at most {human(most)}, lines {first.number} to {last.number}),"
        " so nothing is left behind from one to the next"
    )


_SENTENCE = regex(r"(?<=[.!?])\s+|\s{3,}")
_AMOUNT = regex(r"(?i)\d ?(?:[KMGT]i?B?\b|%|(?:giga|mega)bytes?\b)")
_LONGEST_QUOTE = 110


def _with_figures(line: Line) -> str:
    """The sentence of the line that states how much, where it is short enough to be quoted."""
    if line.text.lstrip().startswith("#"):
        return ""
    told = (each.strip(' -*>`"') for each in _SENTENCE.split(line.text))
    for each in told:
        amount = _AMOUNT.search(each)
        of_it = _OF_MEMORY.search(each) or ("%" not in (amount[0] if amount else "%") and _TELLS.search(each))
        if _IS_LITTLE.search(each) or _IS_PLENTY.search(each):
            continue
        if amount and of_it and _may_be_quoted(each) and not RAM_IN_STOCK.search(each):
            return f': "{each}"'
    return ""


_IS_LITTLE = regex(
    r"(?i)\b(?:less than|only|just|merely|under|below|at most) (?:about )?\d[\d.,]* ?[KMG]i?B\b"
)
"""What is said to be little is what its writer reckons with, and not what ran out."""
_IS_PLENTY = regex(r"(?i)\bplenty\b|\bshould (?:be|fit|suffice)\b|\b(?:more than|certainly|surely) enough\b")
"""What its writer says to be there, and not what is full."""
_TELLS = regex(
    r"(?i)\bOOM|\bout of\b|exhaust|\bleak|\buse(?:s|d)?\b|\busage\b"
    r"|\b(?:grow|increas|ris|tak|need|ask|requir|allocat|consum|fill|fail|try|exceed|crash|limit)\w*"
)
"""A figure of a sentence without any of these is of something else."""


def _with_those_of(told: Surroundings, line: Line, where: str) -> str:
    """The figures that another line states of host RAM, where this one has none."""
    if where != HOST or _with_figures(line):
        return ""
    for other in filter(None, map(told.shows, ("much memory in words", "host RAM named"))):
        said = _with_figures(other) if other != line else ""
        if _IN_USE.search(said) and not _OF_A_GPU.search(said):
            return f", {other.place}{said}"
    return ""


_OF_A_GPU = regex(r"(?i)\b(?:GPU|video|graphics?)\b|\bVRAM\b")
_IN_USE = regex(r"(?i)\b(?:us(?:es?|ed|ing)|tak(?:es|ing)|eats|fills|reach\w*|consum\w+)\b")
_ERROR = regex(r"(?i)\bmemory errors?\b")


def _only_an_error(told: Surroundings, line: Line) -> bool:
    """Whether a program that crashed has an error of memory in its writer's words, and nothing more: what
    reaches outside its memory is called so, too.
    """
    rest = _ERROR.sub("", line.text)
    return told.crash is not None and rest != line.text and not RAN_OUT.search(rest)


_GUESSES = regex(
    r"(?i)\b(?:I|we) (?:\w+ )?(?:think|guess|suppose|assume|suspect|believe|imagine)\b|\b(?:maybe|perhaps"
    r"|probably|possibly|might|could be|may be|seems?|looks? like|in case|whether)\b"
)


def guessed_beside_a_crash(told: Surroundings, line: Line) -> bool:
    """Whether the line only guesses that memory ran out, of a program that crashed in native code: what is
    short of memory ends in an error, and a full GPU is what TensorFlow makes of any.
    """
    return told.crash is not None and line != told.crash and _GUESSES.search(line.text) is not None


def surely_of_memory(told: Surroundings, line: Line) -> bool:
    """Whether a line tells beside a crash that memory ran out, and does not call the crash so."""
    return not guessed_beside_a_crash(told, line) and not _only_an_error(told, line)


def _message_wanted(told: Surroundings) -> Remedy:
    """Where the message stands that the text does not quote."""
    if another_error(told):
        return _OF_ANOTHER_ERROR
    if told.shows("ending silently"):
        return WHY_SILENT[told.shows("on Windows") is not None]
    if told.shows(OWN_FRAME) or told.shows(LIBRARY_FRAME):
        return _END_OF_THE_TRACEBACK
    return _OF_A_NOTEBOOK if told.shows("in a notebook") else _ADD_THE_MESSAGE


def _of_steps(case: Case) -> str:
    """What the code shows of where steps of PyTorch/XLA end."""
    line = steps_of_torch_xla.ended_in_some_turns(case)
    return f"; {steps_of_torch_xla.because_of(line)}" if line else ""


def _of_when(case: Case) -> str:
    """That it went well before, for a while or with another release, where the words say so."""
    if saved := case.capture.surroundings.shows("saving in words"):
        return f"; it fails where the model is saved ({saved.place})"
    at_a_boundary = case.capture.surroundings.shows("between epochs")
    if at_a_boundary and framework_of(case) in (JAX, TORCH_XLA):
        return f"; it happens between two epochs ({at_a_boundary.place})"
    late, release = (case.capture.surroundings.shows(words) for words in ("failing late", "another release"))
    if framework_of(case) != TENSORFLOW:
        late = None
    if not (late or release):
        return ""
    if release or late is None:
        return f"; it began with another release ({release.place})" if release else ""
    return f"; it went well for a while ({late.place}), so memory grows, or a later batch is larger"


def spoken(case: Case) -> tuple[Line, str] | None:
    """The line that tells in words that memory ran out, and of which memory; None where it grows, or where
    something else in the text tells more.
    """
    told = case.capture.surroundings
    line = told.shows("running short") or _in_other_words(case)
    if line is None or told.shows("growing in words") or not _alone(case, line):
        return None
    return line, whose(case, line)


def _alone(case: Case, line: Line) -> bool:
    """Whether nothing in the text tells more of its failure than this line does."""
    told = case.capture.surroundings
    if not all(map(_is_profile, case.moments)) or told.foreign or told.without_figures or told.elsewhere:
        return False
    if told.refusals or "CUDA_ERROR" in line.text or told_of_the_pool(case):
        return False  # a log's words, and no failure's
    if alarming_but_harmless.of_a_warning_alone(case):
        return False
    if whole_pool_at_start.by_a_server(case) or whole_pool_at_start.at_import(case):
        return False
    if whole_pool_at_start.before_and_after(case):
        return False
    return not any(True for rule in _MORE_PARTICULAR for _ in rule.check(case))


def _is_profile(moment: Moment) -> bool:
    """Whether it is what a profile counts, beside which words may tell of a failure."""
    return moment.request is not None and moment.request.failed.kind.name == "PROFILE"


_COMPARED = regex(r"(?i)\b(?:increased|higher|larger) (?:\w+ ){0,3}(?:memory|RAM)\b")
"""More than in another way to run it, and no growth over time."""


_OF_A_JACOBIAN = regex(r"(?i)\b(?:jacobians?|hessians?)\b")
_SOME_COLUMNS = Remedy(
    "compute the Jacobian (or Hessian) some columns or rows at a time, a setting of many libraries (a chunk"
    " size), or take its product with a vector where that is enough; and block right after it: a failure may"
    " show where its result is used first",
    "J = jax.lax.map(lambda v: jax.jvp(f, (x,), (v,))[1], jnp.eye(x.size), batch_size=32)   # rows of J.T",
    slug="in-blocks",
)


def _named_a_leak_in_vain(case: Case, grows: Line) -> bool:
    """Whether a title alone speaks of a leak, and a line below names a cause that keeps nothing."""
    if grows.number != 1 or not only_of_a_leak(grows):
        return False
    cause = stated_cause(case)
    return cause is not None and cause[1].number > 1 and not _KEEPS.search(cause[1].text)


_KEEPS = regex(
    r"(?i)\b(?:leak|grow|kept|keep|held|hold|accumul|never|not (?:free|releas)|refer|cache|append|again|each"
    r"|every|retrac|recompil|increas)"
)


def _did_what(told: Surroundings, said: Line | None, grows: Line | None) -> str:
    """What the words say of the memory: no more than they do."""
    if grows is not None and said in (None, grows):
        return "grows"
    if grows is not None and said is not None and told.shows("running short") and only_of_a_leak(grows):
        return "grows until it runs out"
    if said is None:
        return "is not given back"
    if grows is not None and told.shows("running short") and not _COMPARED.search(grows.text):
        return f"grows ({grows.place}) until it runs out"
    return "ran out" if told.shows("running short") else "is full or much used"


def _in_other_words(case: Case) -> Line | None:
    """A line that says no more than that memory is full or much used, or that the program was killed: asked
    where no other line says it, and no exception tells another end.
    """
    told = case.capture.surroundings
    if told.shows("raising an exception") or told.shows("growing in words"):
        return None
    if told.shows("taking the whole GPU") or told.shows("more than expected"):
        return None  # as TensorFlow and JAX do when they start
    killed, much = told.shows("killed in words"), told.shows("much memory in words")
    if much and not killed and _is_only_a_need(case, much):
        return None
    return much or killed


def _is_only_a_need(case: Case, much: Line) -> bool:
    """Whether the line tells how much a program of JAX needs, and of no failure."""
    told = case.capture.surroundings
    if framework_of(case) != JAX or told.shows(NEED_IN_WORDS) != much or told.shows("ended in words"):
        return False
    return _FAILS.search(much.text) is None


_FAILS = regex(
    r"(?i)\b(?:OOM|crash|kill|fail|freez|froze|hang|error|swap|full\b|exhaust|enough|too much|eats?\b"
    r"|run(?:s|ning)? out)"
)
_FIGURES = regex(
    r"(?i)\balloc\w+ (?:about |another |~ ?)?(?P<asked>\d[\d.,]* ?[GMT]i?B)\b"
    r"|\bUsed (?P<used>\d[\d.]*[GM]) of (?P<room>\d[\d.]*[GM])\b"
)


def _figure(told: Surroundings) -> str:
    """How much was asked for, where a sentence repeats it."""
    line = told.shows("asked in words")
    match = _FIGURES.search(line.text) if line else None
    if line is None or match is None:
        return ""
    asked = (
        f"{match['asked']} was asked for"
        if match["asked"]
        else f"it needs {match['used']} of {match['room']}"
    )
    return f"that {asked} ({line.place})"


def _quoted(told: Surroundings) -> str:
    """What stands there of the failure: a warning, or a figure, or an error of another kind."""
    if error := another_error(told):
        return f"no message of it: the error that it quotes is another, `{in_short(error)}` ({error.place})"
    if whose_line := quoted(told):
        return whose_line
    if figure := _figure(told):
        return f"of its message only {figure}"
    if not told.soft_warnings and (bare := told.shows("raising MemoryError")):
        return f"of its message only Python's MemoryError ({bare.place})"
    if not told.soft_warnings:
        return "no message of it"
    largest = max(told.soft_warnings, key=lambda warning: warning.size.bytes)
    beyond = ", more than any device has" if largest.size.low > LARGEST_DEVICE else ""
    many = len(told.soft_warnings) > 1
    who = "only warnings, which say themselves that they are" if many else "only a warning, which says itself"
    who += " no failure" if many else " that it is no failure"
    of_all = "the largest: " if many else ""
    what = f"{who} ({of_all}{human_size(largest.size)} found no room at once, {largest.line.place})"
    return f"{what}{beyond}"


_IF_IT_GOES_ON = Remedy(
    "if the program goes on after these warnings, let them be: the op took a way that needs less memory. If"
    " it ended, look below them for a line without `this is not a failure`, and add that",
    slug="read-the-log",
)
_MAY_BE_SHARED = Remedy(
    "to make room for the faster way: see whether another process holds a part of the GPU",
    "nvidia-smi",
    slug="see-device-users",
)


def _heads_warnings(told: Surroundings, line: Line) -> bool:
    """Whether the words are only the heading of a log that has nothing but warnings."""
    return bool(told.soft_warnings) and line.number == 1 and not told.shows("ended in words")


def _asks_beyond_all(told: Surroundings) -> bool:
    """Whether a warning that is quoted tells of a request that no device could serve."""
    return any(warning.size.low > LARGEST_DEVICE for warning in told.soft_warnings)


_OF_ALL_PAIRS = Remedy(
    "no device has so much, so most likely it is an array over all pairs of rows: take fewer rows, a form"
    " that makes no such array, or the library's own option for parts of them (a batch size), and see that"
    " it is heeded; shapes are known without running",
    "print(jax.eval_shape(f, *arguments))",
    slug="in-blocks",
)


def _of_the_pool(case: Case) -> str:
    """A pool that is far below the GPU that it is of: another process was there first."""
    device = small_pool(case)
    if device is None or device.limit is None:
        return ""
    where = f"{device.line.place} shows" if device.line else "the log shows"
    return (
        f"; {where} a pool of {human_size(device.limit)} on a {device.model}: something else holds the rest"
    )


def _of_the_board(name: str, grows: Line | None) -> str:
    """What is known of the machine, whatever the message; a small RAM is no reason why memory grows."""
    if name == RASPBERRY_PI:
        return "" if grows else "; the RAM of this board is small"
    return f"; CPU and GPU of this board ({name}) share one RAM"


def _of_the_table(case: Case) -> str:
    """What nvidia-smi says of a device that is full."""
    use = full_device(case)
    if use is None or use.used is None or use.total is None:
        return ""
    name = f"GPU {use.device}" if use.device.isdigit() else "the GPU"
    return f"; {use.line.place} shows {name} with {human(use.used.bytes)} of {human(use.total.bytes)} in use"


def _of_torch_xla(case: Case, host: bool, grows: Line | None) -> Iterator[Remedy]:
    told = case.capture.surroundings
    if host and not grows and not told.shows("several cores"):
        yield ONCE_FOR_ALL
    if not (host or grows) and (
        told.shows("a smaller batch helps") or not steps_of_torch_xla.shows_steps(case)
    ):
        yield from advice(case, host, grows)
    if host or grows or not told.shows("a smaller batch helps"):
        yield from steps_of_torch_xla.remedies(case, grows is not None, of_host=host)


def _ran_out(told: Surroundings, grows: Line | None) -> bool:
    """Whether the words tell that memory ran out, and not only of a leak."""
    short = told.shows("running short")
    return short is not None and not (grows and only_of_a_leak(short))


_OF_PY_FUNCTION = regex(r"\bpy_function\b")
_NUMPY_FUNCTION = Remedy(
    "put tf.numpy_function in its place, through which no gradient goes: py_function keeps what a gradient"
    " would"
    " need of its calls, and every function that is given to it as long as its graph lives; compare RAM"
    " after some"
    " hundred batches",
    "y = tf.numpy_function(f, [x], tf.float32)   # f gets NumPy arrays, not tensors",
    slug="without-py-function",
)
_OF_A_SQUARE = regex(r"(?i)\bO\(\w{1,3}(?:\^|\*\*)2|\bquadratic|\bsquare\b")
_LESS_OF_THE_SQUARE = Remedy(
    "lower what it grows with the square of: half of it takes a quarter. Where the words name a condition or"
    " a setting on which it depends, try the other side of that first",
    slug="less-of-the-square",
)


def _ends_in_a_kill(told: Surroundings) -> bool:
    """Whether words say that the process was killed, which leaves no message."""
    return told.shows("killed in words") is not None and told.raised is None


def _remedies(
    case: Case, told: Surroundings, line: Line, grows: Line | None, likely: Grower | None
) -> Iterator[Remedy]:
    """What helps in general, beside what is most likely; the message is asked for where one may stand."""
    if framework_of(case) in (JAX, None) and _asks_beyond_all(told):
        yield from (_OF_ALL_PAIRS, _message_wanted(told))
        return
    if _heads_warnings(told, line) and grows is None and likely is None:
        yield from (_IF_IT_GOES_ON, _MAY_BE_SHARED)
        return
    where = whose(case, line)
    host = where == HOST
    if situation(case).program == "Triton" and grows is None and not host:
        yield remedies.FEWER_INSTANCES
    if host and only_killed(line) and grows is None and told.shows(_NOTHING_LOGGED):
        yield _WHO_ENDED_IT
        return
    first = host and only_killed(line) and not (any(map(told.shows, _OF_RAM)) or told.setting("platform"))
    boxed = told.shows("in a container") and not (told.shows("in Kubernetes") or ended_by(case))
    if host and only_killed(line) and boxed:
        yield _LIMIT_OF_A_CONTAINER
    if first:
        yield _KERNEL_LOG
    if framework_of(case) == TORCH_XLA and not (likely or host or grows):
        yield from smaller_stated(case)
    if framework_of(case) == TORCH_XLA and not likely:
        yield from _of_torch_xla(case, host, grows)
        yield _message_wanted(told)
        return
    if likely:
        if _ran_out(told, grows) and not (
            told.shows("taking the whole GPU")
            or told.shows("on a phone")
            or situation(case).program in JAVASCRIPT
        ):
            yield _message_wanted(told)
            if host:
                yield _KERNEL_LOG
        return
    if host and (platform := told.setting("platform")) and platform[0] == "WSL2":
        yield MORE_FOR_WSL
    if framework_of(case) == JAX and told.shows("another release") and not told.works_in:
        yield OTHER_RELEASES
    yield from of_constructs(case)
    of_a_file = False
    if where != DEVICE and (cached := caches(told, line, grows)):
        of_a_file = "(" in cached and not cached.endswith("()")
        yield _CACHE_OF_A_FILE if of_a_file else WITHOUT_CACHE
    elif host and (_SHUFFLE.search(line.text) or told.pipeline_buffers):
        yield Remedy(
            "make the buffers of the input pipeline smaller: shuffle names of files before they are decoded,"
            " and cache nothing decoded",
            "files = files.shuffle(len(paths)).map(decode)   # not: map(decode).shuffle(50_000)",
            slug="shuffle-files",
        )
    helps = advice(case, host, grows, of_device=where == DEVICE)
    yield from (each for each in helps if not (of_a_file and each.slug == "map-the-file"))
    stays = line == told.shows("kept in words")
    failed = (grows is None and not stays) or _ran_out(told, grows) or told.shows("ended in words")
    if (
        failed
        and not (only_killed(line) or _of_readings(told) or (grows and _ends_in_a_kill(told)))
        and situation(case).program not in (*JAVASCRIPT, "C#")
    ):
        yield _message_wanted(told)
    if host and failed and not first:
        yield _KERNEL_LOG
