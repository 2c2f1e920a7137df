"""What a text itself shows to be the cause: of two sides one works and the other fails, or it is fine without
something, or says what ended it. Such words go before every guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support import steps_of_torch_xla
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, situation
from tfmemlens.findings.support.told_again import (
    DIRECT_CALL,
    OF_FUNCTIONS,
    RESTARTED,
    WITHOUT_CACHE,
)
from tfmemlens.model.capture import (
    CAUSED_BY,
    CHANGED,
    ENDED_BY,
    FINE_WITHOUT,
    ISOLATED,
    NOT_THERE,
    SUSPECTED,
    ComparedWays,
)
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, replace

WHAT_ENDED_IT = "what-ended-it"
BOTH_WAYS = "compare-both-ways"
"""To compare two ways of which the text tells nothing that could be kept: its writer did that already."""
OF_FUNCTIONS_MADE = "one-function"
"""The remedy of a cause that names the tf.function itself."""
_LONGEST, _LONG, _SIDE = 100, 150, 110
_WORD = regex(r"[\w.]+")
_EACH_DEVICE = Remedy(
    "look at each GPU and at RAM while it starts: where the first GPU holds more than the others, every"
    " process or all weights with their slots lie on it as well; where all hold alike, what several add (sums"
    " of gradients, buffers of NCCL) leaves each less room than one alone has",
    "nvidia-smi --query-gpu=index,memory.used --format=csv -l 1   # RAM: free -h",
    slug="see-device-users",
)
ONE_EACH = Remedy(
    "let each process see one GPU alone, before the framework starts, and count its batch for one GPU",
    "export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK   # mpirun",
    slug="one-device-each",
)
ONCE_FOR_ALL = Remedy(
    "load the data and build the model once, before the processes start, and let them share it; or map the"
    " files, or give each process its own part; else fewer processes",
    "data = np.load(path, mmap_mode='r')   # PyTorch/XLA: xmp.MpModelWrapper(Net()) above xmp.spawn",
    slug="load-once-for-all",
)
DATA_ON_THE_HOST = {
    TENSORFLOW: Remedy(
        "keep the set in host RAM, and give the GPU one batch at a time: a generator or files, not one array"
        " to fit or from_tensor_slices",
        "with tf.device('CPU:0'): ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)",
        slug="data-on-the-host",
    ),
    JAX: Remedy(
        "keep the set as NumPy arrays, and give the device one batch at a time",
        "batch = jax.device_put(x[i:i + n])   # x = np.load(...), not jnp.array(...)",
        slug="data-on-the-host",
    ),
}
_SMALLER_PIECES = Remedy(
    "cut large ones into smaller pieces before the program reads them, or scale them down, and let nothing"
    " keep whole ones: a cache of samples, workers that each hold some, float64",
    slug="smaller-input",
)
_LESS_STATE = Remedy(
    "Adam keeps two more arrays as large as each weight, in float32 as a rule: shard them over the devices"
    " like the weights, train fewer weights (LoRA, frozen layers), or take an optimizer that keeps less",
    slug="less-optimizer-state",
)
_LIKE_THE_WEIGHTS = Remedy(
    "see what the compiled step takes beside the arrays that a profile counts",
    "print(step.lower(state, batch).compile().memory_analysis())",
    slug="read-the-analysis",
)
_LESS_THAN_RAM = Remedy(
    "a GPU has less memory than the machine has RAM, and that decides here: a smaller batch or smaller inputs"
    " that fit it, or go on with the CPU",
    slug="smaller-batch",
)


def contrasted(case: Case) -> Grower | None:
    """The cause that the text shows; None where it shows none."""
    return next(_contrasts(case), None)


def _contrasts(case: Case) -> Iterator[Grower]:
    told, framework = case.capture.surroundings, framework_of(case)
    if situation(case).program:
        return
    if line := told.shows("fails with Adam"):
        more = (_LIKE_THE_WEIGHTS,) if framework == JAX else ()
        yield Grower(
            f"the state of the optimizer: one that keeps less fits ({line.place})", line, (_LESS_STATE, *more)
        )
    if line := told.shows("fails with larger samples"):
        what = f"the size of one sample: smaller ones go well ({line.place}), whatever their number"
        yield Grower(what, line, (_SMALLER_PIECES,))
    if (line := told.shows("fails with more data")) and framework in DATA_ON_THE_HOST:
        yield Grower(
            f"the whole set of data, in one piece: with less of it all goes well ({line.place}), and a batch"
            " stays the same",
            line,
            (DATA_ON_THE_HOST[framework],),
        )
    if (line := told.shows("each process holds its own")) and told.shows("host RAM in words"):
        yield Grower(f"what each process loads and holds by itself ({line.place})", line, (ONCE_FOR_ALL,))
    if (line := told.shows("fails with several GPUs")) and not told.shows("training under a strategy"):
        if told.shows("host RAM in words") or framework == TORCH_XLA:
            what = f"what each process holds by itself, since it fits with one ({line.place})"
            yield Grower(what, line, (ONCE_FOR_ALL,))
        one_each = (ONE_EACH,) if told.shows("several ranks") else ()
        yield Grower(
            f"what several devices add, since it fits one ({line.place})", line, (*one_each, _EACH_DEVICE)
        )
    if line := told.shows("fails on the GPU alone"):
        yield Grower(
            f"the GPU's memory, since it runs on the CPU, in RAM ({line.place})", line, (_LESS_THAN_RAM,)
        )


def first_of(case: Case, growers: Iterator[Grower]) -> Grower | None:
    """The first of them; where the text says what it is fine without, the one that says the same, or that."""
    known, aside, cause = list(growers), without(case), stated_cause(case)
    if cause and (named := next((each for each in known if each.line == cause[1]), None)):
        return named
    if aside is None:
        return known[0] if known else None
    thing, line = aside
    if "tf.function" in thing:
        made = next(
            (each for each in known if any(it.slug == OF_FUNCTIONS_MADE for it in each.remedies)), None
        )
        shown = next((each for each in known if each.sure and _OF_TRACING.search(each.what)), None)
        return (
            made
            or shown
            or Grower(f"`{thing}`, since it is fine without it ({line.place})", line, (OF_FUNCTIONS,))
        )
    word = max(_WORD.findall(thing), key=len, default=thing).lower()
    agreeing = (each for each in known if each.sure or word in each.what.lower())
    return next(agreeing, _leave_out(case, thing, line))


_OF_TRACING = regex(r"\btf\.function\b|\btrac(?:ed|ing)\b")
"""What the code shows of a tf.function goes before what is said of all of them."""


def without(case: Case) -> tuple[str, Line] | None:
    """What it is fine without, in the text's own words; not what only says where or with how many it runs."""
    aside = _in_own_words(case, FINE_WITHOUT)
    return None if aside is None or _WHERE_IT_RUNS.search(aside[0]) else aside


_OTHERS_OF_IT = regex(r"(?i)\bother (?:workers?|ranks?|processes|nodes?|replicas?|hosts?|GPUs?)\b")
"""What goes well in the same run is no other way to run it."""
_WHERE_IT_RUNS = regex(
    r"(?i)\bhorovod|\bhvd\b|\bmpi|strategy|\bdistribut|\bmulti[- ]?(?:gpu|worker|node)|\bdocker|\bslurm"
    r"|\bgunicorn|\bu?wsgi|\buvicorn|\bcelery|\bflask\b|\bcuda\b|\bg?pus?\Z|\bjupyter|\bnotebook"
    r"|\bspark\b|\bray\b"
)
"""What a program runs on or in: to leave it out is no remedy for one who needs it."""


def left_out(case: Case) -> Grower | None:
    """What it is fine without, where a line of the quoted code does it."""
    aside = without(case)
    if aside is None or "batch" in aside[0].lower() or "tf.function" in aside[0]:
        return None  # a batch is no part of the code; what a tf.function keeps is said of its calls
    code = _line_of(aside[0], code_lines(case.capture.surroundings))
    return _leave_out(case, *aside) if code else None


def left_out_of_xla(case: Case, thing: str, line: Line) -> tuple[Remedy, ...]:
    """What to do about what it is fine without; of compilation, to compile less at once. What saves is
    advised by the rule of host RAM, unless something of each save stays.
    """
    if OF_SAVES.search(thing):
        return (END_EACH_SAVE,) if told_to_grow(case) else ()
    if thing.lower().strip("`@ ") in _COMPILATION:
        return (_COMPILE_LESS,)
    return _leave_out(case, thing, line).remedies[:1]


OF_SAVES = regex(r"(?i)\bsav(?:es?|ing)\b|\bcheckpoint")
END_EACH_SAVE = Remedy(
    "let each save end before the next, with a checkpointer (and TensorStore context) of its own that is"
    " closed afterwards, and take newer releases of jax, orbax and tensorstore: something of each stays",
    "manager.wait_until_finished()   # Orbax: before the next save()",
    slug="one-checkpoint-at-a-time",
)
_COMPILE_LESS = Remedy(
    "compile the body of a loop alone, and loop in Python, or let XLA loop (lax.scan, lax.map): a loop of"
    " Python within jit is unrolled into one program, which may hold what all of its turns make at once",
    "print(f.lower(*args).compile().memory_analysis())   # what the program takes",
    slug="loop-of-xla",
)
_COMPILATION = ("jit", "jax.jit", "compilation", "compiling", "xla")


def isolated(case: Case) -> tuple[str, Line, tuple[Remedy, ...]] | None:
    """The setting of which one value fails and another is fine, with what to do about it."""
    told = _in_own_words(case, ISOLATED)
    if told is None:
        return None
    setting, line = told
    name, _, value = setting.partition("=")
    keep = Remedy(
        f"keep `{setting}`, with which it is fine ({line.place}): the writer's own test says that it hangs on"
        f" `{name}`, and not on the data, the model or the batch",
        slug="what-differs",
    )
    if (name, value) == ("persistent", "False"):
        return f"{line.place} says that it is fine with `{setting}`", line, (_TWO_TAPES,)
    of_xla = (name, value) == ("jit_compile", "False")
    more = (_ROOM_FOR_PROGRAMS if case.moments and not told_to_grow(case) else _FEW_SHAPES,) if of_xla else ()
    otherwise = "memory grows" if told_to_grow(case) else "fails"
    says = f"{line.place} says that it is fine with `{setting}`, and {otherwise} otherwise"
    return says, line, (keep, *more)


def told_to_grow(case: Case) -> bool:
    """Whether the text says that memory grows."""
    return case.capture.surroundings.shows("growing in words") is not None


_TWO_TAPES = Remedy(
    "take no persistent tape: of two gradients each gets a tape of its own around the same forward pass, or"
    " one call takes both. In a loop of the graph (an LSTM, a GRU) a persistent tape records the loop's own"
    " gradient as well, which old releases build for very long: else unroll it, or take a newer one",
    "with tf.GradientTape() as a, tf.GradientTape() as b: loss = ...",
    slug="no-persistent-tape",
)
_FEW_SHAPES = Remedy(
    "where XLA is wanted: it compiles anew for each shape that it meets, and keeps every program: give it few"
    " shapes (drop or pad the last batch, pad to a few lengths)",
    "ds = ds.batch(32, drop_remainder=True)",
    slug="constant-shapes",
)
_ROOM_FOR_PROGRAMS = Remedy(
    "where XLA is wanted: the driver loads its programs outside of TensorFlow's pool, which takes nearly the"
    " whole GPU at its start: let the pool grow as needed, so that the driver finds memory",
    "for gpu in tf.config.list_physical_devices('GPU'):\n"
    "    tf.config.experimental.set_memory_growth(gpu, True)",
    slug="growth",
)


def _leave_out(case: Case, thing: str, line: Line) -> Grower:
    code = _line_of(thing, code_lines(case.capture.surroundings))
    if code and (appends := _APPENDS.search(code.text)):
        what = f"`{code.text.strip(' #')}` ({code.place}), since it is fine without it ({line.place})"
        value = appends["value"]
        several = value.startswith(("(", "[", "{"))
        code_of = f"tf.nest.map_structure(np.asarray, {value})" if several else f"np.asarray({value})"
        no_more = ", and no gradients of weights, which are as large as the model" if "grad" in value else ""
        host = Remedy(
            "append arrays in host RAM, no tensors, which stay on the device as long as the list holds them;"
            f" only what is looked at later{no_more}; write them to a file and empty the list where they are"
            " many",
            f"{appends['list']}.append({code_of})",
            slug="keep-numbers",
        )
        return Grower(f"what a list keeps by {what}", code, (host,))
    if _PREDICTS.search(thing):
        what = (
            f"{_named(thing)}, since it is fine without it ({line.place}): each call of predict makes its own"
        )
        return Grower(f"{what} data set", line, (DIRECT_CALL, RESTARTED))
    less = Remedy(
        f"leave out {_named(thing)}, or let it do less (smaller, fewer at once, more seldom): the text says"
        " that it is fine without it",
        slug="leave-it-out",
    )
    known = (WITHOUT_CACHE,) if "cache" in thing.lower() else (less,)
    if (seldom := steps_of_torch_xla.ended_in_some_turns(case)) and "accumul" in thing.lower():
        known = (steps_of_torch_xla.end_each_pass(seldom),)
    if _OF_NUMBERS.match(thing):
        known = (replace(_IN_PARTS, text=f"{_IN_PARTS.text}: with `{thing}` XLA makes it whole"),)
    return Grower(f"{_named(thing)}, since it is fine without it ({line.place})", line, known)


_PREDICTS = regex(r"\.predict(?:_generator)?\(")


def _named(thing: str) -> str:
    """As code, unless it is described: `the line that sorts the files`."""
    return f"the {thing}" if _DESCRIBED.match(thing) else f"`{thing}`"


_DESCRIBED = regex(r"(?i)(?:line|call|list|part|step|statement|code|layer)s? (?:that|which|where)\b")


_OF_NUMBERS = regex(r"(?:jnp|jax\.numpy)\.[a-z]\w{1,20}(?:\(\))?\Z")
"""A function of each number, which makes nothing but its result."""
_IN_PARTS = Remedy(
    "compute in parts what is summed or reduced afterwards, so that the array is never there as a whole",
    "out = jax.lax.map(f, xs, batch_size=64)   # f reduces what it makes",
    slug="in-blocks",
)
_APPENDS = regex(r"(?P<list>[A-Za-z_][\w.]{0,40})\.append\((?P<value>[^\n]{1,80})\)\s*\Z")
_LONG_WORD = 4


def _line_of(thing: str, code: Sequence[Line]) -> Line | None:
    """The line of code that has most words of the thing, as names or calls; None where none has any."""
    words = [word.lower() for word in _WORD.findall(thing) if len(word) >= _LONG_WORD]
    stems = {word[:_STEM].rstrip("s") for word in words if word not in _NO_NAMES}
    best = max(code, key=lambda each: _common(each, stems), default=None)
    return best if best and _common(best, stems) else None


def _common(code: Line, stems: set[str]) -> int:
    return sum(stem in code.text.lower() for stem in stems)


_STEM = 7
_NO_NAMES = frozenset(
    ("line", "lines", "last", "that", "this", "which", "with", "where", "call", "part", "step")
)
"""What says that it is a line of code, and not which."""


def what_ended_it(case: Case) -> Remedy | None:
    """The remedy that the text says worked, in its words."""
    known = ended_by(case)
    return known[0] if known else None


def ended_by(case: Case) -> tuple[Remedy, Line] | None:
    """The same with the line that says it."""
    if (told := _in_own_words(case, ENDED_BY)) is None:
        return None
    text = f'try what {told[1].place} says ended it: "{_short(told[0])}"{_set_with_it(case, told[1])}'
    return Remedy(text, slug=WHAT_ENDED_IT), told[1]


def _set_with_it(case: Case, said: Line) -> str:
    """The variable of the environment that the lines below the sentence set."""
    surroundings = case.capture.surroundings
    for name, value, line in surroundings.settings:
        if name.isupper() and line != said and surroundings.is_of_the_cure(line):
            return f" ({line.place} sets `{name}={value}`)"
    return ""


@dataclass(frozen=True, slots=True)
class Contrast:
    """What the writer says differs from where all is well, or suspects."""

    line: Line
    says: str
    """In short, what the line says."""
    remedy: Remedy
    suspects: bool = False
    """Whether it is only what its writer suspects."""
    beside: Line | None = None
    """The line that says how it works, where `line` says how it fails."""
    more: str = ""

    @property
    def said(self) -> str:
        """Which line says what, as a clause."""
        if self.beside and self.beside != self.line:
            return (
                f"what differs between {self.beside.place}, which works, and {self.line.place}, which fails,"
                f" decides{self.more}"
            )
        if self.beside:
            return f"what differs between the two ways that {self.line.place} compares decides{self.more}"
        return f"{self.line.place} says {self.says}"


def difference(case: Case, found: Grower | None = None) -> Contrast | None:
    """Where the text says that it does not happen, else what was changed before it began, else its writer's
    suspect. None where the text says what ended it, or where its own code or words prove the cause.
    """
    if (found and found.sure) or _in_own_words(case, ENDED_BY) or stated_cause(case):
        return None
    for begins, says, then in _DIFFERENCES:
        if begins == SUSPECTED and (both := compared(case)):
            return both
        told = _in_own_words(case, begins)
        if told and told[1] == case.capture.surroundings.shows("jax: jit ends it"):
            continue  # what that means is known
        if told and not (found and found.line == told[1] and begins != NOT_THERE):
            text = f'{told[1].place} says {says}: "{_short(told[0], _LONG)}": {then}'
            remedy = Remedy(text, slug="what-differs")
            return Contrast(told[1], says, remedy, begins == SUSPECTED)
    return None


def compared(case: Case) -> Contrast | None:
    """The two ways to run it that the text compares. None where a known thing tells them apart."""
    told = case.capture.surroundings
    both = told.compared
    if both is None or told.works_in or told.shows("jax: jit ends it") or _of_nccl(case):
        return None
    if contrasted(case) or isolated(case) or _OTHERS_OF_IT.search(both.works):
        return None
    if (aside := without(case)) and aside[0].lower().strip("`@ ") not in _COMPILATION:
        return None
    if both.code is None and _CURES.search(both.works):
        text = f'stay with what {both.works_line.place} says ends it: "{_way(both.works)}"'
        return Contrast(both.works_line, "what ends it", Remedy(text, slug=WHAT_ENDED_IT))
    if not _can_be_kept(both):
        return None  # two sentences without a name in common tell a reader nothing that is not read there
    lines = both.works_line.place
    if both.fails_line != both.works_line:
        lines += f" and {both.fails_line.place}"
    text = f'compare "{_way(both.works)}" with "{_way(both.fails)}" ({lines}): what differs holds the cause'
    if both.code:
        text += f"; of the quoted code {both.code.place} differs, `{both.code.text.strip(' `')}`"
    if _OF_VALIDATION.search(both.larger):
        text += (
            f". Of the numbers only `{both.larger}` is larger where it fails, so most likely the validation"
            " set is held or evaluated whole: validate on as few as work, in small batches or on crops"
        )
    elif both.larger:
        text += (
            f". Of the numbers only `{both.larger}` is larger where it fails: find the largest that goes well"
            " between them, and what grows with it"
        )
    else:
        text += ". Stay with the first meanwhile, and go from there to the other one change at a time"
    kept = not (both.of_values and _has_a_size(case))
    remedy = Remedy(text, slug="what-differs" if kept else BOTH_WAYS)
    more = f" (`{both.larger}`)" if both.larger else ""
    return Contrast(both.fails_line, "what works and what fails", remedy, beside=both.works_line, more=more)


def _has_a_size(case: Case) -> bool:
    """Whether a message says how much was asked for, which tells more than that one number is larger."""
    request = case.moments[0].request if case.moments else None
    return request is not None and request.needed_bytes is not None


def _of_nccl(case: Case) -> bool:
    """Whether the message is NCCL's, whose memory lies outside the pool: a cause that is known, whichever of
    two releases or GPUs leaves it less room.
    """
    request = case.moments[0].request if case.moments else None
    line = request.failed.line if request and request.failed.kind is RequestKind.DRIVER else None
    return line is not None and "NCCL" in line.text


def _can_be_kept(both: ComparedWays) -> bool:
    """Whether they differ in a line, in a number, or in what has a name or a release on both sides."""
    named = all(_NAMED_WAY.search(words) for words in (both.works, both.fails))
    calls = [set(_CALL.findall(words)) for words in (both.works, both.fails)]
    named = named or bool(calls[0] - calls[1] and calls[1] - calls[0])
    return bool(both.code or both.larger) or named


_CURES = regex(
    r"(?i)\b(?:fix(?:es|ed)|solve[sd]|cure[sd]|resolve[sd]) (?:it|this|that|the (?:issue|problem|error))\b"
)
"""A way that is told as a cure, and no second way to run it."""
_NAMED_WAY = regex(
    r"`[^`]{2,60}`|(?i:\b(?:versions?|releases?|commit|python|jax(?:lib)?|tf|tensorflow|cuda|driver) ?v?\d)"
    r"|\bv?\d{1,3}\.\d{1,3}(?:\.\w+)?\b(?! ?(?:%|[KMGT]i?B|s\b|sec|hours?|min))"
)
_CALL = regex(r"[\w.]{3,60}\(\)")
_OF_VALIDATION = regex(r"(?i)\b(?:valid|val\b|eval|test)")
_LEADS = regex(r"(?i)\A(?:[-*\s]|(?:however|namely|but|and|yet|while|whereas)\b,? ?)+")


def _way(words: str) -> str:
    """The words of one side without what joins it to the other."""
    return _short(_LEADS.sub("", words), _SIDE)


_DIFFERENCES = (
    (
        CHANGED,
        "what was changed before",
        "take it back for one run. Where memory then stays as it was, bring half of the change back at a"
        " time: the half that fails holds the cause",
    ),
    (
        NOT_THERE,
        "where it does not happen",
        "do it so, else change one thing at a time from there to here until it is back: that one is the"
        " cause",
    ),
    (
        SUSPECTED,
        "what its writer suspects",
        "leave that out for one run, or put its simplest form there, and see whether memory behaves",
    ),
)
"""How the facts' names begin, what they say, and what to do with it first."""


def most_likely(case: Case, found: Grower, known: Contrast | None) -> str:
    """How a cause of ours is introduced: where the text names a difference, `known`, that goes before, and
    ours is a guess.
    """
    if known is None or (known.line == found.line and found == contrasted(case)):
        return f"most likely {found.what}"
    return f"{known.said}; besides, a guess: {found.what}"


def stated_cause(case: Case) -> tuple[str, Line] | None:
    """The sentence that names the cause itself: `the root cause is that ...`, and its line."""
    told = _in_own_words(case, CAUSED_BY)
    return (_short(told[0], _LONG), told[1]) if told else None


def _in_own_words(case: Case, begins: str) -> tuple[str, Line] | None:
    return next(
        (
            (name.removeprefix(begins), line)
            for name, line in case.capture.surroundings.purposes
            if name.startswith(begins)
        ),
        None,
    )


def _short(text: str, longest: int = _LONGEST) -> str:
    text = text.strip(" .-*#")
    return text if len(text) <= longest else text[: longest - 1].rsplit(" ", 1)[0] + "\u2026"
