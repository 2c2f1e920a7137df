"""Undo what terminals, loggers, notebooks and web pages did to a log, so that the rules see TensorFlow's own
lines.

Each line keeps the number it has in the user's file. The order matters: characters first, then what was put
before every physical line (quotes, comment marks), then hard wraps, then the prefixes of log shippers and of
TensorFlow's own logger.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import NamedTuple

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom import prefixes, records, wraps
from tfmemlens.readers.oom.rules import shape_of

Physical = tuple[int, str]
_SAMPLE = 20_000
_LOOK_AHEAD = 6
_LONGEST_JOINED = 1 << 18
"""Letters. Nobody breaks a longer line, and each line that is joined copies all before it."""


class Cleaned(NamedTuple):
    """A logical line, the process it came from (empty if unsaid), and the C++ file that logged it (empty if
    unsaid).
    """

    line: Line
    rank: str
    origin: str
    month: str = ""
    """When TensorFlow's own logger wrote it, `2018-09`, on the first line of a text that says so."""
    at: int = 0
    """The line of that file, of BFC's summary alone, which moved down from release to release."""


_ANSI = regex(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-Z\\-~])"
    r"|(?:\^\[|#033)?\[\d{1,3}(?:;\d{1,3})*m|(?:\^\[|#033)\[[0-9;]*[A-Za-z]"
    r"|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f\xad\ufeff\u200b-\u200f\u2028\u2029]"
)
_NEEDS_ANSI = regex(
    r"[\x00-\x08\x0b-\x1f\x7f\xad\ufeff\u200b-\u200f\u2028\u2029]|\[\d{1,3}(?:;\d{1,3})*m|(?:\^\[|#033)\["
)
_MOJIBAKE = regex(r"\xc2[\xa0-\xbf]|\xe2\u20ac|\xe2[\u201d\u2020]")
"""UTF-8 that was read as Windows-1252: `â€™`, a no-break space as `Â `."""
_PLAIN = str.maketrans(
    {"\xa0": " ", "\u202f": " ", "\uff1a": ":", "\u2026": "...", "\u2212": "-", "\u2010": "-", "\u2011": "-"}
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\xab\xbb", '"')
    | dict(
        zip(
            "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06",
            ("ff", "fi", "fl", "ffi", "ffl", "st", "st"),
            strict=True,
        )
    )
)
"""Blanks, quotes, dashes and ligatures of typesetters and word processors."""
_TAGS = regex(
    r"</?(?:p|br|pre|code|div|span|li|ul|ol|td|tr|em|strong|b|i|a|blockquote|samp|kbd|font)\b[^<>]*>",
    re.IGNORECASE,
)
_BREAKS = regex(
    r"<br\s*/?>|(?<=[^\s>])(?:</?(?:p|pre|div|li|ul|ol|tr|blockquote)\b[^<>]{0,200}>\s*){1,8}(?=\S)",
    re.IGNORECASE,
)
"""What begins a new line on a web page, in the middle of a line of its source."""
_ENDLESS = regex(r"\d{21,}")
"""No count of bytes: the largest that 64 bits hold has 20 digits."""
_NO_COUNT = "0" * 21
_BOLD = regex(r"(?<!\S)\*\*(?=\S)(.*?\S)\*\*(?!\w)|^\s*\*\*(?=\S)|(?<=\S)\*\*\s*$")
"""Markdown's bold letters, and where only one end of them stands on the line; not a power such as `x**2`."""
_LINK = "]("
_LINKED = regex(
    r"\[([^\[\]]{1,300})\]\((?:https://localhost|https://vscode-remote|vscode-notebook-cell)[^()\s]{0,300}\)"
)
"""Colab and VS Code show files and cells of a traceback as links, which a copy writes as Markdown does."""
_WINDOWS_FILE = r"[A-Za-z]:\\(?![\\])[^\s\"':]{0,250}?\.\w{1,4}\b"
_LITERALS = regex(rf"({_WINDOWS_FILE})|\\([tnr\"'])")
"""`\\n` and its like as two letters each; not inside a path such as `C:\\work\\training\\networks.py`."""
_LITERAL = {"t": "\t", "n": "\n", "r": "", '"': '"', "'": "'"}
_ESCAPES = regex(r"\\([_.\[\]*()#+!`>~|{}-])")
_NUMBERED = regex(r"\s*(\d{1,7})(?:: |:(?=\S)|-(?=20\d\d)|\t)")
_LAUNCHERS = ("srun: ", "slurmstepd: ", "mpirun: ", "prterun: ")
"""What starts the ranks speaks without a number."""
_MARK = regex(r"[A-Z] |[#|*/;%│┃]{1,3} ?|\+(?=[^+-])")
_FENCE = regex(r"\s*(?:```|~~~)\w*\s*\Z")
_QUOTE = regex(
    r"\s{0,3}(?:> ?)+|\s*#\s(?=\s*(?:\d{4}-\d\d-\d\d|[IWEF]\d{4} |[IWEF] |\d+(?:\.\d+)?[KMGT]?i?B"
    r" from|Current usage|Remaining|OOM|\[\[|\(\d\)|Limit:|InUse|MaxInUse|NumAllocs|Max|Stats|Hint|  ))"
)

_STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: "
GLOG = regex(rf"\s*(?:{_STAMP})?(?P<level>[IWEF]) +(?:\d+ )?(?P<origin>[^\s\]]+\.(?:cc|h|cpp|cu|mm)):\d+\] ?")
_DATED = regex(r"\b(?P<month>20[12]\d-(?:0[1-9]|1[0-2]))-\d\d \d\d:\d\d:\d\d\.\d+: [IWEF] ")
ABSL = regex(r"\s*(?P<level>[IWEF])(?P<day>\d{4}) \d\d:\d\d:\d{2,11}\.\d+ +\d+ (?P<origin>[^\s\]]+):\d+\] ?")
STARTED, _BEFORE_IT_STARTED = "absl:", "0000"
"""What the name of a file is marked with, where Abseil's logger was started and prints the day: jaxlib starts
it, TensorFlow does not (`E0000 00:00:1731`).
"""
_FAST = regex(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: [IWEF] (\S+\.cc):\d+\] ")
_RANK = regex(
    r"\s*(?:\[(?P<mpi>\d+,\d+)\]<std(?:err|out)>:\s?|(?:\d+)?\(?(?P<ray>[A-Za-z_][\w.:-]*,? pid=\d+(?:,"
    r" ip=[\d.]+)?)\)\s?|\[(?P<named>(?:rank|worker|GPU|gpu|task|node)[ _:-]?\d+)\]:?\s?"
    r"|(?P<compose>[A-Za-z][\w.-]*[_-]\d+) +\| |(?P<srun>\d{1,4}): (?=\s*(?:\d{4}-\d\d-\d\d |[IWEF]\d{4}"
    r" |\d+(?:\.\d+)?[KMGT]?i?B from |Current usage))"
    r"|\[(?P<torch>\d{1,3})\]:\s?|\[pod/(?P<pod>[\w.-]+/[\w.-]+)\] )"
)
_SHIPPER = regex(
    r"\s*(?:"
    # Kubernetes, GitHub Actions
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?(?: (?:stderr|stdout) [FP])?[ \t]"
    r"|\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?(?: -)?(?:"
    r" \[?\{?[\w./-]+(?:\.py)?:?\d*\}?\]?)?:? (?:-"
    # Python logging, Airflow
    r" )?\[?(?:INFO|WARNING|WARN|ERROR|CRITICAL|DEBUG|FATAL|E|I|W)\]?(?: -)?[: ]\s?"
    r"|(?:INFO|WARNING|ERROR|CRITICAL|DEBUG|FATAL):[\w.-]*:\s?"  # logging.basicConfig
    r"|\[(?:INFO|WARNING|WARN|ERROR|CRITICAL|DEBUG|FATAL|info|notice|warning|error|debug)\]:?\s"
    r"|(?:INFO|WARNING|ERROR|CRITICAL|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[[\w./-]{1,80}:\d+\] ?"  # vLLM
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d(?:\.\d+)? +\d+ [\w./-]+\.py:\d+\] ?"  # absl for Python
    r"|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d [\w.-]+ [\w./-]+(?:\[\d+\])?: "  # syslog
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?:? (?=\S)"
    r"|[IWEF] (?=\d{4}-\d\d-\d\d |\s*(?:\d+(?:\.\d+)?[KMGT]?i?B from|Current"
    r" usage|Remaining|Traceback|tensorflow\.|\[\[|  ))"  # DeepSpeech
    r"|E +\d+ (?=tensorflow/)"
    r")"
)
_SPLIT = regex(
    rf"(?<=\S)(?={_STAMP}[IWEF] )|(?<=[^\s])(?=[IWEF]\d{{4}} \d\d:\d\d:\d\d\.\d{{6}} +\d+"
    r" \w+\.cc:\d+\])|(?<=.)(?=Current usage from device: )|(?<=\S )(?=\d+(?:\.\d+)?[KMGT]iB from \S+"
    r" +\d+(?:\.\d+)?[KMGT]?i?B from )"
)
_ENTRY_RUN = regex(
    r"(?<=\S)\s+(?=(?:\d+(?:\.\d+)?(?:B|[KMGT]iB) from [A-Za-z_.\d]|Remaining \d+ nodes with ))"
)
FRESH = regex(
    r"\s*(?:\Z|\s{2}|\d{4}-\d\d-\d\d[ T]|[IWEF]\d{4} |[IWEF] \S*\.cc|\[\d+,\d+\]<|\(\w+"
    r" pid=|\d+(?:\.\d+)?(?:B|[KMGT]iB) from |Remaining \d|Current (?:usage|allocation summary)|If the cause"
    r" is|Hint: |\[\[|Traceback|File \"|During |Caused by|"
    r"(?:Limit|InUse|MaxInUse|NumAllocs|MaxAllocSize|Reserved|PeakReserved|LargestFreeBlock):|Stats:"
    r"|(?:InUse|Free|Chunk)"
    r" {0,2}at |Bin \(|Bin for |Next region|\d+ Chunks of|Sum Total|Summary of|Total (?!Chunks:)|Size: |"
    r"tensorflow\.|Resource exhausted|ResourceExhausted|Buffer \d|Operator: |XLA Label|Shape: |Entry"
    r" Param|={6}|\(\d\) |>>>|In \[|Epoch |Layer \(type\)|[\w./-]{1,80} \(\w{1,40}\) {2,}[\[(])"
)
_CUT_ALLOCATOR = (
    r"(?!(?:b|bf|bfc|bfc_\w{0,20}|G|GP|GPU|GPU_\d*|GPU_\d+_b?f?|gp|gpu|gpu_h\w{0,6}|gpu_\w{0,3}|c|cp)\Z)\S+"
)
"""An allocator's name, unless the text stops inside one of the names that TensorFlow gives."""
_UNFINISHED = (
    (
        "OOM when allocating",
        regex(
            r"shape ?\[[\d, ]*\]\s*and type \w+ on \S+ by allocator "
            + _CUT_ALLOCATOR
            + r"|shape ?\[[\d, ]*\]\s*(?:\Z|\[\[|\t|[`'\".;:)]|with \d)|shape ?dim|shape\s*\Z"
            r"|shape ?\[[\d, ]*\]\s*and type (?:float|double|half|bfloat16|bool|u?int\d{1,2})"
            r"(?:\s*\Z|[`'\".;)])"
        ),
    ),
    (
        "ran out of memory trying",
        regex(
            r"trying to allocate \d+(?:\.\d+)?(?:B|[KMGT]iB)(?: \(rounded to \d+\)| with freed|\.(?:"
            r" |\Z)|\s*\Z)"
        ),
    ),
    ("[[node ", regex(r"\[\[node .*\]\]")),
    ("[[Node: ", regex(r"\[\[Node: .*\]\]")),
    (
        "xhausted: Out",
        regex(r"Out of (?:host )?memory while trying to allocate (?:\d+ ?bytes|\d+(?:\.\d+)?(?:B|[KMGT]iB))"),
    ),
    ("reduce memory use below", regex(r"only reduced to \d+(?:\.\d+)?(?:B|[KMGT]iB)(?!\s*\([^)]*\Z)")),
    (
        "Failed to allocate",
        regex(r"request for \S+ (?:\([^)]*\) )?on device(?: ordinal)? \d+|allocate (?!request)\w"),
    ),
    ("xhausted: Failed", regex(r"Failed to \w+ ")),
    (
        "EXHAUSTED: Out",
        regex(r"trying to allocate (?:\d+ ?bytes|\d+(?:\.\d+)?(?:B|[KMGT]iB))|allocating \d+ ?bytes"),
    ),
    ("Out of memory allocating", regex(r"allocating \d+ ?bytes")),
    (
        "memory while trying to allocate",
        regex(r"trying to allocate (?:\d+ ?bytes|\d+(?:\.\d+)?(?:B|[KMGT]iB))"),
    ),
    (
        "Ran out of memory in memory space",
        regex(r"Used \S+ of \S+ \w+\.\s*Exceeded \w+ capacity by \d+(?:\.\d+)?[KMGT]"),
    ),
    ("Ran out of memory in", regex(r"memory in memory space \w|memory in (?!memory|\Z)")),
    (
        "Bin (",
        regex(
            r"Bin for|Chunks in use: \d+\.? \d[\d.]*(?:B|[KMGT]iB) .+"
            r"\. \d[\d.]*(?:B|[KMGT]iB) in use in bin\."
            r"(?: \d[\d.]*(?:B|[KMGT]iB) client-requested in use in bin\.|\s*\Z)"
        ),
    ),
    (" Chunks of size", regex(r"Chunks of size \d+ totalling \d+(?:\.\d+)?(?:B|[KMGT]iB)")),
    ("Current usage from", regex(r"from device: \S+, allocator: \S+")),
    (
        "Can't reduce memory use",
        regex(r"only reduced to \S+ \(\d+ bytes\)(?:, down from \S+(?: \(\d+ bytes\))? originally)?"),
    ),
    ("Sum Total of", regex(r"chunks: \d+(?:\.\d+)?(?:B|[KMGT]iB)")),
    ("memory_limit_:", regex(r"curr_region_allocation_bytes_: \d+")),
    ("exceeds 10%", regex(r"10% of (?:free )?system memory")),
)


_WORDS_STAY_WHOLE = (
    "reduce memory use below",
    "[[node ",
    "[[Node: ",
    "Bin (",
    "Ran out of memory in",
    "Ran out of memory in memory space",
)
"""Sentences that mailers break between words: a blank is tried first between two lines."""
_CARRIES_ON = regex(
    r"\s*(?:Total Chunks: \d|and type \w|type \w+ on(?: /|\s*\Z)|on /(?:job|device|cpu|gpu)|by allocator \w"
    r"|\[\d[\d, ]*\] and type \w"
    r"|(?:Used|Exceeded) \S+ .*(?:of|by) \d"
    r"|of free system memory\b"
    r"|(?:by )?rematerialization; only|only reduced to \d|\(\d+ bytes\)(?: by\b|, down from))"
)
"""The rest of a sentence of TensorFlow's or of the TPU compiler's, however it is indented."""


_LEAST_ESCAPED, _LOOKED_AT, _LETTERS_AN_ESCAPE = 200, 2000, 16
_ESCAPED_BYTE = regex(r"\\(?!033)[0-3][0-7]{2}")


def is_escaped_bytes(text: str) -> bool:
    """Whether a long line is a tensor's content as protobuf prints it, most bytes as octal escapes: megabytes
    of it may follow a message, and nothing in them is words.
    """
    if len(text) < _LEAST_ESCAPED or "\\" not in text:
        return False
    head = text[:_LOOKED_AT]
    return len(_ESCAPED_BYTE.findall(head)) * _LETTERS_AN_ESCAPE >= len(head)


def clean(physical: Iterable[Physical], source: str = "") -> Iterator[Cleaned]:
    """Logical lines from physical ones, in order."""
    month = ""
    for number, process, text in _whole_lines(_unnumber(_unquote(_unframe(_characters(physical))))):
        if '{"' in text and (record := records.text_of(text)) is not None:
            yield from clean(((number, part) for part in record.split("\n")), source)
            continue
        if _may_be_endless(text):
            text = _ENDLESS.sub("…", text)
        rank, origin, bare = strip_prefixes(text)
        rank = rank or process
        first, *others = _pieces(bare)
        dated = _DATED.search(text) if origin and not month else None
        month = dated["month"] if dated else month
        at = _summed_up_at(text) if " Chunks of size " in text else 0
        yield Cleaned(Line(number, first, source), rank, origin, month if dated else "", at)
        for piece in others:
            _, origin, bare = strip_prefixes(piece)
            yield Cleaned(Line(number, bare, source), rank, origin)


_IN_BFC = regex(r"bfc_allocator\.cc:(?P<at>\d{1,4})\]")


def _summed_up_at(text: str) -> int:
    """The line of BFC's source that logged a row of its summary; 0 where the prefix is gone."""
    found = _IN_BFC.search(text)
    return int(found["at"]) if found else 0


def _may_be_endless(text: str) -> bool:
    """Whether a text may have more figures in a row than a count of bytes."""
    return _NO_COUNT in shape_of(text) or not text.isascii()


def _characters(physical: Iterable[Physical]) -> Iterator[Physical]:
    """Escape codes, entities, tags, markdown escapes, literal backslash-n and a shipper's records are gone
    afterwards.
    """
    for number, text in physical:
        is_plain = text.isascii() and text.isprintable() and "[" not in text  # most are
        if (
            (is_plain or (text.isascii() and not _NEEDS_ANSI.search(text)))
            and "&" not in text
            and "\\" not in text
            and "<" not in text
            and "**" not in text
            and '{"' not in text
            and _LINK not in text
        ):
            yield number, text
            continue
        if (record := records.text_of(text)) is not None:
            yield from _characters((number, part) for part in record.split("\n"))
            continue
        if _NEEDS_ANSI.search(text):
            text = _ANSI.sub("", text)
        if _MOJIBAKE.search(text):
            text = _decoded_once(text)
        if "&" in text:
            import html

            text = html.unescape(html.unescape(text))  # some escape what was escaped
        if (record := records.text_of(text)) is not None:
            yield from _characters((number, part) for part in record.split("\n"))
            continue
        for part in _lines_within(text.translate(_PLAIN)):
            yield number, part


def _decoded_once(text: str) -> str:
    """The text without a second encoding, as it is where that tells nothing."""
    try:
        return text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return text.replace("\xc2\xa0", " ")


def _lines_within(text: str) -> Iterator[str]:
    if "**" in text and not re.search(r"[*_x]{20}", text):
        text = _BOLD.sub(lambda match: match[1] or "", text)
    if "\\n" in text and re.search(
        r"OOM when|Current usage|ran out of memory|RESOURCE_EXHAUSTED|Resource exhausted|\[\[|MiB from", text
    ):
        text = _LITERALS.sub(lambda match: match[1] or _LITERAL[match[2]], text)
    if _LINK in text:
        text = _LINKED.sub(r"\1", text)
    if "<" in text:
        text = _TAGS.sub("", _BREAKS.sub("\n", text))
    if "\\" in text and not re.search(r"\\(?:src|Users|lib|tf_jenkins|tensorflow)\b", text):
        text = _ESCAPES.sub(r"\1", text)
    yield from text.split("\n") if "\n" in text else (text,)


def _unquote(lines: Iterable[Physical]) -> Iterator[Physical]:
    for number, text in lines:
        if text[:1] in (">", "#", " ", "`", "~", "\t", "|"):
            if _FENCE.match(text):
                continue
            if match := _QUOTE.match(text):
                text = text[match.end() :]
            if text.startswith(("```", "~~~")):
                text = text.strip("`~")
        yield number, text


def _unnumber(lines: Iterable[Physical]) -> Iterator[Physical]:
    """`srun -l` puts the task before every line, `grep -n` the line number (rising numbers are lines, others
    ranks), editors a comment mark.
    """
    stream = iter(lines)
    sample = list(islice(stream, 2000))
    texts = [text for _, text in sample if text.strip()]
    if mark := _mark(texts):
        yield from (
            (number, text.removeprefix(mark).removeprefix(mark.rstrip()))
            for number, text in chain(sample, stream)
        )
        return
    texts = [text for text in texts if not text.startswith(_LAUNCHERS)]
    numbers = [int(match[1]) for text in texts if (match := _NUMBERED.match(text))]
    if len(numbers) < 5 or len(numbers) < 0.9 * len(texts):
        yield from sample
        yield from stream
        return
    counts_lines = all(one < other for one, other in pairwise(numbers))
    for number, text in chain(sample, stream):
        match = _NUMBERED.match(text)
        rest = text[match.end() :] if match else text
        yield number, rest if counts_lines or not match else f"[rank {match[1]}]: {rest}"


def _mark(texts: list[str]) -> str:
    """A comment mark or a letter that stands before nearly every line; nothing TensorFlow itself begins lines
    with.
    """
    marks = Counter(match[0] for text in texts if (match := _MARK.match(text)))
    if not marks:
        return ""
    mark, count = marks.most_common(1)[0]
    return mark if count >= 3 and count >= 0.9 * len(texts) else ""


def _unframe(lines: Iterable[Physical]) -> Iterator[Physical]:
    """Boxes around a text, blanks that fill a pane, and what stands between every two lines are gone."""
    stream = iter(lines)
    sample = list(islice(stream, 2000))
    frame = wraps.find_frame([text for _, text in sample])
    blanks = 0
    for number, text in chain(sample, stream):
        text = frame.inside(text)
        if frame.between and frame.between.fullmatch(text):
            continue
        if frame.spaced and not text.strip():
            blanks += 1
            if blanks % 2:
                continue
        else:
            blanks = 0
        yield number, text


def _whole_lines(lines: Iterable[Physical]) -> Iterator[tuple[int, str, str]]:
    """Number, process and text of each line, whole again and without the stamps that the text teaches."""
    stream = iter(lines)
    ahead = deque(islice(stream, _SAMPLE))
    texts = [text for _, text in ahead]
    stamps = prefixes.learned(texts, _known_stamp)

    def carries_on(following: str) -> bool:
        if stamps is None:
            return continues(following)
        return not (_is_fresh(following) or stamps.begins(following))  # all other stamps are part of these

    wrap = wraps.find_wrap(texts, carries_on)
    if stamps and not wrap and not stamps.ranks_differ and all(map(stamps.begins, filter(str.strip, texts))):
        bare = ((number, stamps.split(text)[1]) for number, text in chain(ahead, stream))
        yield from ((number, "", text) for number, text in _rejoin(bare))
        return
    for number, text in _rejoined(ahead, stream, texts, wrap, carries_on):
        process, text = stamps.split(text) if stamps else ("", text)
        yield number, process, text


def _known_stamp(text: str, end: int) -> bool:
    """Whether what stands before that place is taken away by itself."""
    return len(strip_prefixes(text)[2]) <= len(text) - end


def _rejoin(lines: Iterable[Physical]) -> Iterator[Physical]:
    """Lines that a terminal or a mailer broke are whole again."""
    stream = iter(lines)
    ahead = deque(islice(stream, _SAMPLE))
    texts = [text for _, text in ahead]
    yield from _rejoined(ahead, stream, texts, wraps.find_wrap(texts, continues), continues)


def _rejoined(
    ahead: deque[Physical],
    stream: Iterator[Physical],
    sample: list[str],
    wrap: wraps.Wrap | None,
    carries_on: wraps.Continues,
) -> Iterator[Physical]:
    lossy = wraps.loses_letters(sample)
    chopped = 0 if wrap or lossy else wraps.chopped_at(sample)
    while True:
        if len(ahead) <= _LOOK_AHEAD:
            ahead.extend(islice(stream, _SAMPLE))
        if not ahead:
            return
        number, text = ahead.popleft()
        if wrap:
            text = _unwrap(text, wrap, ahead, carries_on)
        elif chopped and len(text) == chopped:
            text = wraps.without_last_word(text)
        used = 1
        while used and len(text) < _LONGEST_JOINED:  # a line may hold two sentences that stop
            text, used = _complete(text, ahead, carries_on, lossy)
            for _ in range(used):
                ahead.popleft()
        yield number, text


def _unwrap(text: str, wrap: wraps.Wrap, ahead: deque[Physical], carries_on: wraps.Continues) -> str:
    last, most = text, _LONGEST_JOINED
    while ahead and len(text) < most:
        longer = wrap.joined(text, ahead[0][1], last, carries_on)
        if longer is None:
            break
        text, last = longer, ahead.popleft()[1]
    return text


def continues(following: str) -> bool:
    """Whether a line begins nowhere: no prefix of any logger, nothing that starts a line of TensorFlow's."""
    return not (_is_fresh(following) or _RANK.match(following) or _SHIPPER.match(following))


def _is_fresh(following: str) -> bool:
    return bool(not following.strip() or FRESH.match(following) or _FENCE.match(following))


def _complete(text: str, ahead: deque[Physical], carries_on: wraps.Continues, lossy: bool) -> tuple[str, int]:
    """A sentence that stops in the middle takes the next lines, as long as that makes it whole; where letters
    are gone between lines it takes the next one with a gap.
    """
    for trigger, whole in _UNFINISHED:
        if trigger not in text:
            continue
        later = [_as_indented(line, text) for _, line in islice(ahead, _LOOK_AHEAD)]
        if whole.search(text) and not (later and _CARRIES_ON.match(later[0])):
            continue
        if lossy:
            carried = bool(later) and carries_on(later[0])
            return (wraps.with_loss(text, later[0]), 1) if carried else (text, 0)
        for glue in (" ", "") if trigger in _WORDS_STAY_WHOLE else ("", " "):
            longer = text
            for used, line in enumerate(later, start=1):
                if line.strip() and not carries_on(line) and not _CARRIES_ON.match(line):
                    break
                longer = longer.rstrip() + glue + line.strip()
                if whole.search(longer):
                    return longer, used
    return text, 0


_INDENT = regex(r"[ \t]{2,40}(?=\S)")


def _as_indented(following: str, text: str) -> str:
    """The following line without its indent, where the line above has the same: a message that is quoted
    within a list item or a docstring is indented as a whole, and its parts begin nothing.
    """
    indent = _INDENT.match(text)
    alike = indent and following.startswith(indent[0]) and not following[indent.end() :][:1].isspace()
    return following[indent.end() :] if indent and alike else following


def _pieces(text: str) -> list[str]:
    """At least one piece. A stamp in the middle of a line starts a new one: progress bars end without a
    newline. Lists that lost their newlines are split.
    """
    if text.count("B from ") > 1:
        text = _ENTRY_RUN.sub("\n", text)
        return [piece for line in text.split("\n") for piece in _SPLIT.split(line) if piece] or [text]
    if ".cc:" in text or "Current usage" in text:
        return [piece for piece in _SPLIT.split(text) if piece] or [text]
    return [text]


def strip_prefixes(text: str) -> tuple[str, str, str]:
    """Rank, logging C++ file and the bare text of a line."""
    if match := _FAST.match(text):
        return "", match[1], text[match.end() :]
    rank = origin = ""
    for _ in range(6):
        if match := _RANK.match(text):
            rank = rank or next((value for value in match.groups() if value), "")
        elif match := GLOG.match(text) or ABSL.match(text):
            origin = match["origin"] if not match["origin"].endswith(".py") else ""
            day = match.groupdict().get("day", _BEFORE_IT_STARTED)
            if origin and day != _BEFORE_IT_STARTED:
                origin = f"{STARTED}{origin}"
        else:
            match = _SHIPPER.match(text)
        if not match or not match.end():
            break
        text = text[match.end() :]
    return rank, origin, text
