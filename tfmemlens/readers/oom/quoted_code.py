"""Lines of the user's own code that a text quotes, and sizes that it states: settings, shapes in comments.

A message that has bytes alone is explained by what stands around it: `states = jax.vmap(init)(keys)`,
`buffer_size: 1_000_000`, `# labels (850000,)`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

from tfmemlens.knowledge import model_sizes
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.capture import WEIGHTS_BY_NAME, StatedSize
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import shape_of
from tfmemlens.readers.oom.table_rows import as_setting

_LONGEST = 400
_MOST_LINES = 300
_MOST_TEXT = 400
_MOST_SIZES = 80

_HEADER = regex(r"\A\s*(?:File \S|<ipython-input-|/\S+\.py(?::\d+,)? in )|\A\S+\.py:\d+: in ")
"""What a frame's code stands below."""
_NO_CODE = regex(
    r"\A\s*(?:\S+(?:Error|Exception|Warning)\b\S*:|Traceback|Operator:|Shape:|Size:|XLA label:|\^|~|op_name)"
    r"|\b(?:op_name|source_file)=|RESOURCE_EXHAUSTED|Resource exhausted"
    r"|\bshape\[\d+(?:, ?\d+)+\]|when allocating tensor|\.py:\d+: \w*Warning: ",
    re.IGNORECASE,
)
_CODE = regex(
    r"[\w\])\"'`]\s*(?:[-+*/@|]?=(?!=)|:=)\s*[\w(\[{\"'-]|[A-Za-z_]\w*(?:\[[^\]]*\])?\(|\A\s*@\w"
    r"|\A\s*[A-Za-z_]\w{1,40}(?:\.\w{1,40}){0,3}: ?[\w\"'\[-]\S{0,60}\s*\Z"
    r"|\A\s*(?:el)?if [^:%]{1,80}%[^:]{1,80}:\s*(?:#.*)?\Z"
    r"|\A\s*for (?!example\b|instance\b|details\b)\w{1,40}(?:, ?\w{1,40}){0,5} in [\w.\[\]]{1,60}:\s*\Z"
    r"|\A\s*(?:for|while) ?\([^\n]{1,80}\) ?\{\s*\Z"
)

_NAMED = regex(
    r"(?P<name>\b[A-Za-z_]\w{0,40})(?:\.shape\[\d\])?[\"']?\s{0,4}(?P<mark>[:=]?)=?\s{0,4}(?<=[\s=:])"
    r"(?P<figure>\d[\d_,]{0,14}(?:e\d)?)(?P<unit>[kKM])?(?![\w%]|[.,:]\d)"
)
_COUNTED = regex(
    r"(?<![\w.,:/@$-])(?P<figure>\d(?:[\d,_]{0,13}\d)?(?:\.\d{1,9}(?=[kKMB ]))?)(?P<unit>[kKMB]"
    r"|\s{0,2}(?i:billion|million))?\s{1,2}(?P<name>[a-z]{3,20}|Param(?:eter)?s|Weights)\b(?! ?[:=(])"
)
_MODEL = regex(
    r"(?i)\b(?:llama|gemma|mistral|gpt|opt|falcon|phi|qwen|bloom|pythia|mpt"
    r"|olmo)[\w.]{0,12}(?:[-_][a-z\d.]{1,12}){0,3}?"
    r"[-_ ]?(?<=[-_ ])(?P<figure>\d{1,3}(?:\.\d)?)b(?![a-z\d])"
)
"""A model whose name says how many billions of weights it has: `gemma_2b_en`, `Meta-Llama-3-8B`."""
_SHORTLY = regex(r"(?<![\w.,:/@$#-])(?P<figure>[1-9]\d{0,2}(?:\.\d)?)b(?![\w/])", flags=0)
"""`when I use 13b`: a small letter, which is no unit of memory."""
MODEL_WEIGHTS = "parameters"
_TUPLE = regex(
    r"(?:(?P<name>\b[A-Za-z_][\w.]{0,40})(?:[\"']?\s{0,3}(?:[=:]|[-=]>)?\s{0,3}))?"
    r"(?<![\w\])])[(\[]\s{0,2}(?P<sizes>\d[\d_]{0,14}\s{0,2}(?:,\s{0,2}\d[\d_]{0,14}\s{0,2}){0,6},?)\s"
    r"{0,2}[)\]](?!\{)"
)
_SIDE = r"(?:\d{1,3}(?:,\d{3}){1,3}(?!\d)|\d[\d_]{0,8})"
_TIMES = regex(rf"(?<![\w.x×])(?<!\d,)(?P<sizes>{_SIDE}(?:\s?[x×]\s?{_SIDE}){{1,5}})(?![\wx×]|\.\w)")
_SEPARATORS = regex(r"[_,]")
_PRODUCT = regex(
    r"(?i)(?:image|picture|photo|frame|input|pixel|resolution|\bsize)[^\n=(]{0,60}?(?<![\w.*(=+-])"
    r"(?P<sizes>\d{2,5}\s?\*\s?\d{2,5}(?:\s?\*\s?\d{1,4})?)(?![\w*]|\s?\*|\.\d)"
)
"""`my images are 1024*1024*3`, in a sentence and in no code, where it may be a number of bytes."""
_QUOTED = regex(
    r"\b(?P<name>[A-Za-z_][\w-]{0,40})[\"']?\s?[=:]\s?[\"'](?P<sizes>\d{1,5}(?:,\s?\d{1,5}){1,3})[\"']"
)
"""`--train_crop_size="769,769"`."""
_FLAG = regex(
    r"(?<![\w-])--?(?P<name>[A-Za-z][A-Za-z0-9]{0,20}(?:-[A-Za-z0-9]{1,20}){1,4})[ =]\s{0,3}"
    r"(?P<figure>\d[\d_]{0,9})(?![\w%]|[.,:]\d)"
)
"""`--max-seq-length 512`."""
_PHRASE = regex(
    r"(?i)(?<![\w.-])(?P<name>(?:mini[- ]?)?batch[- ]?size"
    r"|(?:max(?:imum|imal)? )?(?:seq(?:uence)?|text|sentence|input|token|context|document|window|clip) length"
    r"|(?:(?:max(?:imum|imal)?|image|img|input|crop|patch|tile) )"
    r"(?:size|resolution|height|width|length)|vocab(?:ulary)? size"
    r"|number of (?:classes|labels|words|tokens|time ?steps|frames))\b"
    r"(?: ?[=:]| (?:of|is|was|to|at|as|set|equals?|being|only|just|about)\b){1,3} {0,2}"
    r"(?P<figure>\d[\d_,]{0,11})(?P<unit>[kKM])?(?![\w%]| ?[x*×] ?\d|[.,:]\d)"
)
"""`a batch size of 2`, `with the sequence length set to 2048`."""
_IN_COMMENT = regex(
    r"\b(?P<name>[A-Za-z_]\w{0,40})\s?=(?!=)[^#]{0,200}#[^\d#]{0,12}(?P<figure>\d[\d_,]{0,14})(?P<unit"
    r">[kKM])?(?![\w.%])"
)
_ARGUMENT = regex(r"(?<=[(,:])\s?(?P<figure>\d[\d_]{0,14})(?=\s?[,)\]])")
"""A number as it stands in a call or a slice of code: `split(key, 64)`, `x[:256]`."""
_ASSIGNED = regex(r"\b(?P<name>[A-Za-z_]\w{0,40})\s?=(?!=)[^#]*#")
_UNITS = {"": 1, "k": 1000, "K": 1000, "M": 10**6, "million": 10**6, "B": 10**9, "billion": 10**9}
_NO_NAMES = frozenset(
    "line step epoch iteration it cell port pid rtx gtx gpu cuda v jax version seed lr bytes byte mib"
    " gib mb gb hours min"
    " sec seconds minutes free mem s py cc cpp cu ipynb".split()
)

_OF_SIZES = frozenset("batch batchsize maxlen length width height vocabulary vocab resolution".split())
"""Words that name the number behind them, in a sentence too: `batch 64, length 50`."""
_LINKS = frozenset(
    "is are was has have of with in and for from to at as by"
    " ist sind war hat haben mit von und auf aus bei als es son era tiene con de y para en"
    " est sont avec et pour sur ha di e per een van met".split()
)
"""Words of a sentence between an array's name and its shape: `X is (50000, 3)`."""


class QuotedCode:
    """Collects them; takes no line for itself."""

    def __init__(self) -> None:
        self.code: list[Line] = []
        self._first: list[Line] = []
        self._last: deque[Line] = deque(maxlen=_MOST_TEXT)
        self.sizes: list[StatedSize] = []
        self._in_library = False

    def blank(self) -> None:
        """A blank line ends the code that a notebook quotes for a frame."""
        self._in_library = False

    def observe(self, line: Line) -> None:
        """Note what the line shows, whoever takes it."""
        text = as_setting(line.text[:_LONGEST])
        if _HEADER.search(text):
            self._in_library = not user_frame(text)
            self._keep(line)
            return
        if self._in_library and text[:1] in " \t-0123456789>":
            return
        self._in_library = False
        self._keep(line)
        if _NO_CODE.search(text):
            return
        shown = _CODE.search(text) if len(self.code) < _MOST_LINES else None
        if shown and not _is_supposed(text, shown.start()):
            self.code.append(line)
        shape = shape_of(text)
        if len(self.sizes) < _MOST_SIZES and (_may_state_sizes(shape) or _may_name_a_model(shape)):
            self.sizes += _sizes(text, line)

    def _keep(self, line: Line) -> None:
        if " of size " in line.text:
            return  # a dump's
        if len(self._first) < _MOST_TEXT:
            self._first.append(line)
        else:
            self._last.append(line)

    @property
    def text(self) -> tuple[Line, ...]:
        """The first and the last lines that may quote the program, without those of libraries' frames."""
        return (*self._first, *self._last)


_SUPPOSED = regex(
    r"(?i)\b(?:something|anything) like\b|\be\.?g\.|\b(?:did|do|are|were|have|had|can|could|would|will) you\b"
)
_ADVISED = regex(r"(?i)(?<!what )(?<!how )\byou (?:can|could|should|may|might|must|have to|need to)\b")


def _is_supposed(text: str, start: int) -> bool:
    """Whether prose only asks for code, `is it something like ds.cache()?`, or tells another what to write:
    nothing says that it ran.
    """
    asked = "?" in text and _SUPPOSED.search(text, 0, start)
    return bool(asked or _ADVISED.search(text, 0, start))


@lru_cache(maxsize=4096)
def _may_state_sizes(shape: str) -> bool:
    """Whether a line of this shape, with large figures, states any: a log has many lines of few shapes."""
    return any(map(str.isdigit, shape)) and any(_sizes(shape.replace("0", "9"), Line(0, shape)))


@lru_cache(maxsize=4096)
def _may_name_a_model(shape: str) -> bool:
    return model_sizes.may_be_named(shape)


def _sizes(text: str, line: Line) -> Iterator[StatedSize]:
    """Shapes first, so that their figures are not read a second time as numbers."""
    assigned = _ASSIGNED.search(text)
    for match in _TUPLE.finditer(text):
        sizes = tuple(int(size.replace("_", "")) for size in re.findall(r"\d[\d_]*", match["sizes"]))
        if len(sizes) > 1 or "," in match["sizes"]:
            in_comment = assigned is not None and match.start() >= assigned.end()
            name = assigned["name"] if assigned and in_comment and not match["name"] else match["name"]
            yield StatedSize("" if name is None or name in _LINKS else name, sizes, line)
    rest = _TUPLE.sub(" ", text)
    for match in _TIMES.finditer(rest):
        sizes = tuple(int(size) for size in re.findall(r"\d+", _SEPARATORS.sub("", match["sizes"])))
        yield StatedSize("", sizes, line)
    rest = _TIMES.sub(" ", rest)
    for match in (*_PRODUCT.finditer(rest), *_QUOTED.finditer(rest)):
        sizes = tuple(int(size) for size in re.findall(r"\d+", match["sizes"]))
        yield StatedSize(match.groupdict().get("name") or "", sizes, line)
    for match in (*_FLAG.finditer(rest), *_PHRASE.finditer(rest)):
        if (figure := _number(match["figure"], match.groupdict().get("unit") or "")) > 1:
            yield StatedSize(match["name"], (figure,), line)
    for named in (_PRODUCT, _QUOTED, _FLAG, _PHRASE):
        rest = named.sub(" ", rest)
    for match in (*_NAMED.finditer(rest), *_IN_COMMENT.finditer(rest), *_COUNTED.finditer(rest)):
        figure = _number(match["figure"], match["unit"] or "")
        if figure > 1 and match["name"].lower() not in _NO_NAMES:
            yield StatedSize(match["name"] if _is_name(match) else "", (figure,), line)
    for match in [*_MODEL.finditer(text), *_SHORTLY.finditer(text)][:1]:
        yield StatedSize(MODEL_WEIGHTS, (_number(match["figure"], "B"),), line)
    if _may_name_a_model(shape_of(text)) and (weights := model_sizes.weights_of(text)):
        yield StatedSize(WEIGHTS_BY_NAME, (weights,), line)
    for match in _ARGUMENT.finditer(rest.partition("#")[0]):
        if (figure := _number(match["figure"], "")) > 1:
            yield StatedSize("", (figure,), line)


_OF_EACH = regex(r"(?i)\b(?:per|(?:for|in|of|on) (?:each|every|one)) \Z")
"""Before a word that a number is counted for: `patches per image: 1024` is no size of the image."""


def _is_name(match: re.Match[str]) -> bool:
    """Whether the word before a number names it: `batch: 8`, `max_len 512`, not `has 8`, `per image: 8`."""
    name = match["name"]
    if _OF_EACH.search(match.string, 0, match.start()):
        return False
    return (
        bool(match.groupdict().get("mark", "=")) or "_" in name or len(name) == 1 or name.lower() in _OF_SIZES
    )


def _number(figure: str, unit: str) -> int:
    digits, _, power = figure.replace("_", "").replace(",", "").partition("e")
    unit = unit.strip()
    return round(float(f"{digits}e{power or 0}") * _UNITS[unit.lower() if len(unit) > 1 else unit])
