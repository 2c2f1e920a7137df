"""What carries a log from the program to us, each by itself or two in a row, in the order in which they
happen: the program's own runner writes it, a shipper stamps it, a terminal shows it, a person pastes it, an
editor saves it.
"""

from __future__ import annotations

import gzip
import html
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.renderers.json.report import document

LOGS = sorted((SAMPLES / "oom_log").glob("*.txt*"))
FORMS = ("whole", "tail", "traceback")
FACTS = ("kind", "node", "op", "layer", "shape", "dtype", "rounded_bytes", "device", "allocator")
Carry = Callable[[list[str]], list[str]]

STAGES = ("written", "shipped", "shown", "pasted", "saved")


class Carrier(NamedTuple):
    """One way that a text takes; `lossy` ones may take figures away, but no other figure may come of it."""

    name: str
    stage: str
    carry: Carry
    lossy: bool = False
    encode: Callable[[str], bytes] | None = None


def journeys(seed: int, count: int) -> Iterator[tuple[Carrier, Carrier]]:
    """Pairs of carriers in the order of their stages; the same for the same seed."""
    dice = Random(seed)
    for _ in range(count):
        first, second = sorted(
            dice.sample(list(CARRIERS.values()), 2), key=lambda carrier: STAGES.index(carrier.stage)
        )
        if first.stage == second.stage in ("written", "saved"):  # nobody starts or saves it twice
            second = CARRIERS["slack"] if first.stage == "written" else CARRIERS["fence"]
            first, second = sorted((first, second), key=lambda carrier: STAGES.index(carrier.stage))
        yield first, second


def carried(lines: list[str], *carriers: Carrier) -> bytes:
    """The bytes that arrive."""
    for carrier in carriers:
        lines = carrier.carry(lines)
    text = "\n".join(lines)
    encode = next((carrier.encode for carrier in carriers if carrier.encode), None)
    return encode(text) if encode else text.encode()


@cache
def lines_of(sample: Path, form: str) -> list[str]:
    """The whole log, its last lines, or its traceback, as people paste them."""
    raw = sample.read_bytes()
    text = (gzip.decompress(raw) if sample.suffix == ".gz" else raw).decode("utf-8", "replace")
    lines = text.split("\n")
    if form == "tail":
        return lines[-30:]
    start = next((at for at, line in enumerate(lines) if line.startswith("Traceback")), len(lines) - 12)
    return lines[start:][-150:] if form == "traceback" else lines


def facts(text: bytes, folder: Path) -> dict[str, Any]:
    """What the page says of the first failure: request, the user's line, the allocator, who holds what."""
    file = folder / "log.txt"
    file.write_bytes(text)
    said = document(pipeline.explain(file))
    first = said["incidents"][0] if said["incidents"] else {"request": {}, "allocator": {}, "holders": {}}
    source = first["request"].get("source")
    return {
        "failures": len(said["incidents"]),
        **{name: first["request"].get(name) for name in FACTS},
        "source": source and source.removeprefix("~/proj/"),
        "allocator figures": first["allocator"],
        "holders": first["holders"],
        "rows": [(row["node"], row["bytes"], row["count"]) for row in said["allocations"]],
    }


def _each(change: Callable[[int, str], str]) -> Carry:
    return lambda lines: [change(at, line) for at, line in enumerate(lines)]


def _before(prefix: str) -> Carry:
    return lambda lines: [prefix + line for line in lines]


def _clock(at: int) -> str:
    """A time of day that goes on."""
    return f"{12 + at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"


def _seen(line: str) -> str:
    """What a screen shows of a line."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line).expandtabs(8)


# --- written: what starts the program, and what it prints between


def _ranks(mark: str, numbers: tuple[int, ...] = (0, 3)) -> Carry:
    """Several processes tell the same, a few lines each at a time."""

    def carry(lines: list[str]) -> list[str]:
        told = []
        for at in range(0, len(lines), 3):
            told += [mark.format(rank) + line for rank in numbers for line in lines[at : at + 3]]
        return told

    return carry


def _tqdm(lines: list[str]) -> list[str]:
    """A bar that returns to the start of its line, before lines that some process stamped."""
    bar = "\r 12%|#2        | 120/1000 [00:31<03:51,  3.81it/s]"
    return [bar * 2 + "\r" + line if re.match(r"20\d\d-", line) else line for line in lines]


def _bar_glued(lines: list[str]) -> list[str]:
    """A bar without an end of line before lines that some process stamped."""
    bar = "  7/938 ━━━━━━━━━━━━━━━━━━━━ 8s 9ms/step - loss: 2.3026"
    return [bar + line if re.match(r"20\d\d-", line) else line for line in lines]


_FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.*))?\Z')


def _ipython(lines: list[str], head: str) -> list[str]:
    """Python's frames as a notebook shows them."""
    told: list[str] = []
    frame: re.Match[str] | None = None
    running = False
    for line in lines:
        running = line.startswith("Traceback") or (running and line.startswith("  "))
        if not running:
            frame = None
            told.append(line)
            continue
        if frame and line.startswith("    "):
            number = int(frame["line"])
            told += [f"{number - 1:>7} ", f"----> {number} {line.strip()}", f"{number + 1:>7} ", ""]
            frame = None
            continue
        frame = _FRAME.match(line)
        if frame:
            told.append(head.format(file=frame["file"], line=frame["line"], name=frame["name"] or "f"))
        else:
            told.append(line)
    return told


def _pytest(lines: list[str]) -> list[str]:
    """Pytest's report: what was logged as captured, the traceback in its own style."""
    start = next((at for at, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
    told = ["=================================== FAILURES ==================================="]
    code = running = False
    for line in lines[start:]:
        running = line.startswith("Traceback") or (running and line.startswith("  "))
        frame = _FRAME.match(line) if running else None
        if frame:
            told.append(f"{frame['file']}:{frame['line']}: in {frame['name']}")
        elif not line.startswith("Traceback"):
            told.append(line if code else f"E   {line}")
        code = bool(frame)
    return [
        *told,
        "----------------------------- Captured stderr call -----------------------------",
        *lines[:start],
    ]


# --- shipped: what stamps each line


def _cri(at: int, line: str) -> str:
    return f"2022-03-09T{_clock(at)}.361123456Z stderr F {line}"


def _fluentd(at: int, line: str) -> str:
    record = {"stream": "stderr", "logtag": "F", "log": line, "kubernetes": {"pod_name": "asr-train-0"}}
    return f"2022-03-09 {_clock(at)}.000000000 +0000 kube.var.log.containers: {json.dumps(record)}"


def _cloud_json(at: int, line: str) -> str:
    return json.dumps(
        {
            "insertId": f"1x{at}",
            "severity": "ERROR",
            "textPayload": line,
            "timestamp": f"2022-03-09T{_clock(at)}Z",
        }
    )


# --- shown: what a screen does


def _wrapped(width: int, *, indent: str = "", end: str = "") -> Carry:
    """A screen that breaks at its width; what is copied may have marks where it broke."""

    def carry(lines: list[str]) -> list[str]:
        shown = []
        for line in map(_seen, lines):
            room, rest = width - len(end), line
            if len(rest) <= width:
                shown.append(rest)
                continue
            shown.append(rest[:room] + end)
            rest = rest[room:]
            while len(rest) > width - len(indent):
                shown.append(indent + rest[: room - len(indent)] + end)
                rest = rest[room - len(indent) :]
            shown.append(indent + rest)
        return shown

    return carry


def _padded(width: int) -> Carry:
    """A pane whose lines are copied with the blanks behind them."""
    wrap = _wrapped(width)
    return lambda lines: [line.ljust(width) for line in wrap(lines)]


def _folded_at_words(width: int) -> Carry:
    def carry(lines: list[str]) -> list[str]:
        return [
            part
            for line in map(_seen, lines)
            for part in (textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""])
        ]

    return carry


def _chopped(width: int) -> Carry:
    """A pager that shows no more than the width."""
    return _each(lambda _, line: _seen(line)[:width])


def _folded_with_loss(width: int, lost: int) -> Carry:
    """A screen that was made narrower: at each break some characters are gone."""
    return lambda lines: [
        line[at : at + width]
        for line in map(_seen, lines)
        for at in range(0, max(len(line), 1), width + lost)
    ]


def _without_start(count: int) -> Carry:
    """A selection by mouse that began too far to the right."""
    return _each(lambda _, line: _seen(line)[count:])


# --- pasted: what editors, chats, mailers and people do


def _between(mark: Callable[[int], str], every: int = 1) -> Carry:
    def carry(lines: list[str]) -> list[str]:
        told = []
        for at, line in enumerate(lines):
            told += [mark(at), line] if at % every == 0 else [line]
        return told

    return carry


def _middle_gone(mark: str) -> Carry:
    def carry(lines: list[str]) -> list[str]:
        third = len(lines) // 3
        return [*lines[:third], mark.format(len(lines) - 2 * third), *lines[-third:]] if third > 3 else lines

    return carry


_TYPESET = (
    ("ffi", "ﬃ"), ("ffl", "ﬄ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ"), ("--", "—"), ("...", "…"), ("'", "’"),
)  # fmt: skip


def _typeset(_: int, line: str) -> str:
    for plain, printed in _TYPESET:
        line = line.replace(plain, printed)
    return re.sub(r'"([^"]*)"', "“\\1”", line)


def _german_quotes(_: int, line: str) -> str:
    return re.sub(r"'([^']*)'", "‚\\1‘", re.sub(r'"([^"]*)"', "„\\1“", line))


def _said(*before: str) -> Carry:
    return lambda lines: [*before, *lines, "", "Thanks in advance!"]


def _in_json(lines: list[str]) -> list[str]:
    return [json.dumps({"level": "error", "event": "job failed", "exc_info": "\n".join(lines)})]


def _in_repr(lines: list[str]) -> list[str]:
    return ["stderr: " + repr("\n".join(lines))]


_ALL = (
    Carrier("mpirun of two", "written", _ranks("[1,{}]<stderr>:")),
    Carrier("mpirun without stream", "written", _before("[1,5]")),
    Carrier("mpirun by the dozen", "written", _before("[1,12]<stdout>:")),
    Carrier("SageMaker MPI", "written", _before("[1,mpirank:5,algo-1]<stderr>:")),
    Carrier("srun -l of two", "written", _ranks("{}: ")),
    Carrier("srun -l wide", "written", _before(" 12: ")),
    Carrier("torchrun", "written", _before("[rank3]:")),
    Carrier("torchrun default", "written", _before("[default0]:")),
    Carrier("ray", "written", _before("\x1b[36m(train_fn pid=4711, ip=10.0.0.4)\x1b[0m ")),
    Carrier("ray of two", "written", _ranks("(RayTrainWorker pid=471{}) ")),
    Carrier("pdsh", "written", _before("node17: ")),
    Carrier("tqdm", "written", _tqdm),
    Carrier("bar glued", "written", _bar_glued),
    Carrier("old notebook", "written", lambda lines: _ipython(lines, "~/proj/{file} in {name}(args, step)")),
    Carrier(
        "new notebook",
        "written",
        lambda lines: _ipython(lines, "File ~/proj/{file}:{line}, in {name}(args, step)"),
    ),
    Carrier("pytest", "written", _pytest),
    Carrier("absl for Python", "written", _before("E0309 12:51:51.361123 140505975940928 train.py:247] ")),
    Carrier("loguru", "written", _before("2022-03-09 12:51:51.361 | ERROR    | __main__:train:42 - ")),
    Carrier("hydra", "written", _before("[2022-03-09 12:51:51,361][__main__][ERROR] - ")),
    Carrier("wandb", "written", _before("wandb: ")),
    Carrier("basicConfig", "written", _before("ERROR:root:")),
    Carrier("kubectl --prefix", "shipped", _before("[pod/asr-train-0/trainer] ")),
    Carrier("stern", "shipped", _before("asr-train-0 trainer ")),
    Carrier("bracketed pod", "shipped", _before("[asr-train-0] ")),
    Carrier("docker compose", "shipped", _before("worker-1  | ")),
    Carrier("docker compose of two", "shipped", _ranks("trainer-{}  | ")),
    Carrier("docker service logs", "shipped", _before("train_worker.1.q8x0z5cq3v2m@node17    | ")),
    Carrier("sagemaker local", "shipped", _before("algo-1-abcde_1  | ")),
    Carrier("sagemaker colours", "shipped", _each(lambda _, line: f"#033[34m{line}#033[0m")),
    Carrier(
        "journald", "shipped", _each(lambda at, line: f"Nov 22 {_clock(at)} node17 python3[4711]: {line}")
    ),
    Carrier(
        "journald iso",
        "shipped",
        _each(lambda at, line: f"2022-03-09T{_clock(at)}+0000 node17 train.sh[4711]: {line}"),
    ),
    Carrier("cri", "shipped", _each(_cri)),
    Carrier(
        "docker json",
        "shipped",
        _each(
            lambda _, line: json.dumps(
                {"log": line + "\n", "stream": "stderr", "time": "2022-03-09T12:51:51.3Z"}
            )
        ),
    ),
    Carrier("fluentd", "shipped", _each(_fluentd)),
    Carrier("cloud json", "shipped", _each(_cloud_json)),
    Carrier(
        "aws logs tail",
        "shipped",
        _each(lambda at, line: f"2022-03-09T{_clock(at)}.361000+00:00 asr-2022/algo-1-1646830311 {line}"),
    ),
    Carrier(
        "cloudwatch console", "shipped", _each(lambda at, line: f"2022-03-09T{_clock(at)}.361+01:00\t{line}")
    ),
    Carrier(
        "vertex",
        "shipped",
        _each(lambda at, line: f"ERROR\t2022-03-09 {_clock(at)} +0000\tworkerpool0-0\t\t{line}"),
    ),
    Carrier(
        "github actions",
        "shipped",
        _each(lambda at, line: f"train\tRun tests\t2022-03-09T{_clock(at)}.3611234Z {line}"),
    ),
    Carrier("jenkins", "shipped", _each(lambda at, line: f"[2022-03-09T{_clock(at)}.361Z] {line}")),
    Carrier("teamcity", "shipped", _each(lambda at, line: f"[{_clock(at)}] :\t [Step 1/1] {line}")),
    Carrier("ts", "shipped", _each(lambda at, line: f"Mar 09 {_clock(at)} {line}")),
    Carrier("clock in brackets", "shipped", _each(lambda at, line: f"[{_clock(at)}] {line}")),
    Carrier("spark", "shipped", _each(lambda at, line: f"22/03/09 {_clock(at)} ERROR PythonRunner: {line}")),
    Carrier("yarn", "shipped", _before("\t")),
    Carrier("seconds since start", "shipped", _each(lambda at, line: f"[{at * 0.37:12.6f}] {line}")),
    Carrier(
        "colours", "shown", _each(lambda _, line: f"\x1b[31m{line[:7]}\x1b[0m\x1b[1m{line[7:]}\x1b[0m\x1b[K")
    ),
    Carrier("colours without escape", "shown", _each(lambda _, line: f"[0;31m{line}[0m")),
    Carrier("wrapped at 80", "shown", _wrapped(80)),
    Carrier("wrapped at 100", "shown", _wrapped(100)),
    Carrier("wrapped at 80 with indent", "shown", _wrapped(80, indent="  ")),
    Carrier("wrapped at 72 with four", "shown", _wrapped(72, indent="    ")),
    Carrier("wrapped with backslash", "shown", _wrapped(80, end="\\")),
    Carrier("wrapped with hyphen", "shown", _wrapped(80, end="-")),
    Carrier("wrapped with arrow", "shown", _wrapped(80, indent="↪ ")),
    Carrier("pane of 80", "shown", _padded(80)),
    Carrier("folded at words", "shown", _folded_at_words(72)),
    Carrier("cat -n", "shown", _each(lambda at, line: f"{at + 1:6d}\t{line}")),
    Carrier("editor numbers", "shown", _each(lambda at, line: f"{at + 1:4d} | {line}")),
    Carrier("page numbers", "shown", _each(lambda at, line: f"{at + 1} {line}")),
    Carrier("pane border", "shown", _each(lambda _, line: f"│ {_seen(line)}")),
    Carrier("boxed", "shown", _each(lambda _, line: f"│ {_seen(line).ljust(90)} │")),
    Carrier("chopped at 132", "shown", _chopped(132), lossy=True),
    Carrier("chopped at 90", "shown", _chopped(90), lossy=True),
    Carrier("folded, one lost", "shown", _folded_with_loss(80, 1), lossy=True),
    Carrier("folded, four lost", "shown", _folded_with_loss(96, 4), lossy=True),
    Carrier("start cut", "shown", _without_start(3), lossy=True),
    Carrier("slack", "pasted", _before("> ")),
    Carrier("slack escaped", "pasted", _each(lambda _, line: "&gt; " + html.escape(line, quote=False))),
    Carrier("mail of mail", "pasted", _before(">> ")),
    Carrier("mail by name", "pasted", _before("JD> ")),
    Carrier(
        "fence in list",
        "pasted",
        lambda lines: ["1. train", "   ```text", *["   " + line for line in lines], "   ```"],
    ),
    Carrier("fence", "pasted", lambda lines: ["My log:", "```console", *lines, "```", "Any idea?"]),
    Carrier("fence on the line", "pasted", lambda lines: ["```" + lines[0], *lines[1:-1], lines[-1] + "```"]),
    Carrier(
        "details",
        "pasted",
        lambda lines: ["<details><summary>log</summary>", "", "```", *lines, "```", "</details>"],
    ),
    Carrier("entities", "pasted", _each(lambda _, line: html.escape(line))),
    Carrier(
        "numbered entities",
        "pasted",
        _each(lambda _, line: re.sub(r"[<>&'\"\[\]]", lambda found: f"&#{ord(found[0])};", line)),
    ),
    Carrier("a paragraph a line", "pasted", _each(lambda _, line: f"<p>{html.escape(line)}</p>")),
    Carrier(
        "code tags",
        "pasted",
        lambda lines: ["<pre><code>" + html.escape(lines[0]), *map(html.escape, lines[1:]), "</code></pre>"],
    ),
    Carrier("typeset", "pasted", _each(_typeset)),
    Carrier("german quotes", "pasted", _each(_german_quotes)),
    Carrier("no-break spaces", "pasted", _each(lambda _, line: line.replace(" ", "\xa0"))),
    Carrier("zero width", "pasted", _each(lambda _, line: re.sub(r"(?<=[/_.])", "\u200b", line))),
    Carrier(
        "soft hyphens", "pasted", _each(lambda _, line: re.sub(r"([a-z]{6})(?=[a-z]{4})", "\\1\u00ad", line))
    ),
    Carrier("double spaced", "pasted", _between(lambda _: "")),
    Carrier("times between", "pasted", _between(lambda at: f"2022-03-09T{_clock(at)}.361Z")),
    Carrier("chat times between", "pasted", _between(lambda at: f"[{_clock(at)[:5]}] jdoe:", 5)),
    Carrier("lost indentation", "pasted", _each(lambda _, line: line.strip())),
    Carrier("blanks run together", "pasted", _each(lambda _, line: re.sub(r"(?<=\S) {2,}", " ", line))),
    Carrier("trailing blanks", "pasted", _each(lambda _, line: line + "   ")),
    Carrier("comment marks", "pasted", _before("// ")),
    Carrier("latex", "pasted", _each(lambda _, line: re.sub(r"([_#%&{}])", r"\\\1", line))),
    Carrier("markdown escapes", "pasted", _each(lambda _, line: re.sub(r"([_*\[\]])", r"\\\1", line))),
    Carrier("json string", "pasted", _in_json),
    Carrier("repr", "pasted", _in_repr),
    Carrier("diff", "pasted", _before("+")),
    Carrier("prose around", "pasted", _said("Hi all, my training dies with this:", "")),
    Carrier("lines omitted", "pasted", _middle_gone("... {} lines omitted ..."), lossy=True),
    Carrier("snip", "pasted", _middle_gone("[...]"), lossy=True),
    Carrier("crlf", "saved", _before(""), encode=lambda text: text.replace("\n", "\r\n").encode()),
    Carrier("cr", "saved", _before(""), encode=lambda text: text.replace("\n", "\r").encode()),
    Carrier("crcrlf", "saved", _before(""), encode=lambda text: text.replace("\n", "\r\r\n").encode()),
    Carrier("utf-16", "saved", _before(""), encode=lambda text: text.encode("utf-16")),
    Carrier("utf-16 without mark", "saved", _before(""), encode=lambda text: text.encode("utf-16-le")),
    Carrier("utf-16 big", "saved", _before(""), encode=lambda text: b"\xfe\xff" + text.encode("utf-16-be")),
    Carrier("windows-1252", "saved", _before(""), encode=lambda text: text.encode("cp1252", "replace")),
    Carrier(
        "shift-jis",
        "saved",
        lambda lines: ["学習が落ちます:", *lines],
        encode=lambda text: text.encode("cp932", "replace"),
    ),
    Carrier(
        "latin-1 read as utf-8",
        "saved",
        lambda lines: ["Größe:", *lines],
        encode=lambda text: text.encode("latin-1", "replace"),
    ),
    Carrier(
        "twice encoded",
        "saved",
        _before(""),
        encode=lambda text: text.encode().decode("cp1252", "replace").encode(),
    ),
)
CARRIERS = {carrier.name: carrier for carrier in _ALL}
