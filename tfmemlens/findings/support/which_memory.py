"""Which memory a text is about, where no message says it: a GPU's, the machine's RAM, or neither is said."""

from __future__ import annotations

import re

from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    TORCH_XLA,
    framework_of,
    on_a_mac,
    situation,
    without_gpu,
)
from tfmemlens.knowledge.denials import without_denials
from tfmemlens.knowledge.gpu_memory import least_bytes, with_vram
from tfmemlens.knowledge.kill_words import IN_OTHER_LANGUAGES
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

HOST, DEVICE, UNSAID = "host RAM", "a device's memory", "memory"
_HOST = regex(
    r"(?i)\b(?:cpu|system|host|main|application) (?:ram|memory)\b|\bXLA:CPU\b"
    r"|(?<!GPU )(?<!video )(?<!high )(?<!high-)\bRAM\b|\bswap(?:s|ping)?\b"
    r"|\b(?:PC|computer|machine|server|laptop)(?:'s)? (?:memory|RAM)\b|\bnot (?:the "
    r"|my )?GPU(?:'s)? memory\b|\bcontainer\b|\bkilled?\b"
    r"|\u8fd0\u884c\u5185\u5b58"
    rf"|{IN_OTHER_LANGUAGES}"
)
_DEVICE = regex(
    r"(?i)(?<!\bnot )(?<!\bnot the )(?<!\bnot my )(?<!\bnot on )(?<!\bnot on the )(?<!\bnot in the )\bGPUs?\b"
    r"|\bVRAM\b|\bCUDA(?:\b|_OUT_OF)|\bTPUs?\b|\bFB memory\b|\bframe ?buffer\b"
    r"|\bHBM\b|\bdevices?\b|\u663e\u5b58"
)
_BOTH = regex(
    r"(?i)\b(?:GPU|video)(?:'s)? memory and (?:\w+ )?RAM\b|\bRAM and (?:\w+ )?(?:GPU"
    r"|video)(?:'s)? (?:memory|RAM)\b"
    r"|\b(?:CPU|host) and GPU memory\b"
)
_HBM_FULL = regex(
    r"(?i)\bHBM\b(?:(?!\bRAM\b|\bhost\b|\bbut\b)[^.?!;\n]){0,60}"
    r"\b(?:exceed\w*|is full|OOM\w*|exhaust\w*|r[au]ns? out|out of memory)\b"
    r"|\b(?:exceed\w*|r[au]ns? out of|out of|exhaust\w*)\b[^.?!\n]{0,24}\bHBM\b"
    r"|\d_HBM\d\b|\bAttempting to (?:allocate|reserve) \d[\d.]*[KMG][^\n]{0,40}\bThat was not possible\b"
)
"""A TPU's own memory is named as the full one, in words or by its runtime, whatever else is said of the
host's.
"""
_KILLED = regex(rf"(?i)\bkilled\b|{IN_OTHER_LANGUAGES}")
_RSS = regex(r"\bru_maxrss\b|\bmemory_(?:full_)?info\(\)|\bVmRSS\b|\bmemory_usage\(|\bfree -[bkmgh]\b")
"""How a program measures its own host RAM."""
RAN_OUT = regex(
    r"(?i)\bOOM|\bout of\b|exhaust|deplet|\bfull\b|\bfills?\b|\bto zero\b|insufficient|\benough\b|\bleak"
    r"|\btoo much\b|\bshort(?:age)? of\b|\bmemory (?:error|issue|problem)|\beat(?:s|ing)? up\b"
    r"|\bgrow|\bincreas|\u6ea2\u51fa|\u4e0d\u8db3|\u4e0d\u591f|\u4e0a\u5347|\u589e\u957f|\u589e\u52a0"
)
CACHE = regex(
    r"(?i)(?:(?<!_)\bcache\((?P<file>[^()\n]{0,80})\)|\bdata ?set(?:\.| (?:memory )?)cache\b(?!\()"
    r"|\bcach(?:es|ing)\b[^.\n]{0,40}"
    r"\b(?:data\w*|images|train\w*|set)\b)"
)


RAM_IN_STOCK = regex(
    r"(?i)\b\d[\d.]{0,6} ?[GT]i?B?(?: of)? (?:(?:system|host|main|CPU|DDR\d) )?RAM\b"
    r"(?: memory)? (?:(?:is|are|was|were) )?(?:available|free|installed|left)\b"
    r"|(?<![\w.])RAM (?:(?:is|are) )?(?:available|installed): ?\d[\d.]{0,6} ?[GT]i?B?\b"
    r"|\b(?:machine|box|computer|server|PC|laptop|workstation|I|we|it) (?:has|have|had|with) \d[\d.]{0,6}"
    r" ?[GT]i?B?(?: of)? (?:(?:system|host|main|CPU|DDR\d) )?RAM\b"
)
"""How much RAM a machine has, or has free: that says nothing of what is full."""
_FREE = regex(r"(?i)\b(?:available|free|installed|left)\b")


def only_killed(line: Line) -> bool:
    """Whether the line tells who was ended and nothing of memory that ran out."""
    if "^C" in line.text:
        return True  # as Colab prints where a cell's process was killed
    return bool(_KILLED.search(line.text)) and not RAN_OUT.search(without_denials(line.text))


_GPU_FULL = regex(r"(?i)\b(?:GPU|CUDA) (?:is |was |ran |runs |went )?(?:out[- ]of[- ]memory|OOM)\b")
_SECOND_HAND = regex(
    r"(?i)\b(?:error|exception|message) (?:indicates|means) that\b|\byou (?:may|might) want to\b"
)
"""What somebody tells the writer of such errors, who does not know the machine."""
_GPU_MEMORY = regex(r"(?i)\bGPU(?:'s)? (?:memory|RAM)\b|\bVRAM\b|\bHBM\b")
_ON_A_GPU = regex(
    r"(?i)(?<!\bnot )\b(?:on|for|of|from|in) (?:my |the |a |this |our )(?:\w{1,12} ){0,2}?"
    r"(?<!no )(?<!without )GPU\b"
)
"""Whose memory it is, in the sentence itself, whatever is told of a run without one."""
_IN_STOCK_ALONE = regex(
    r"(?i)\A[\s*>|-]*(?:(?:RAM|memory)\s?[:=|]?\s?)?\d[\d.]{0,6} ?[GT]i?B?(?: of)?"
    r"(?: \w{1,8}){0,2}? ?(?:RAM)?\W*\Z"
)
"""A line of a list of hardware: `16 GiB RAM`, `RAM: 32 GB`."""
_OF_A_LEAK = regex(r"(?i)\bleak")
_ENDS_IN_IT = regex(
    r"(?i)\bOOM|\bout of\b|exhaust|\bcrash|\bkill|\bfull\b|\berror|\bfail|\bdie[sd]?\b|\bno (?:more )?memory"
)


def only_of_a_leak(line: Line) -> bool:
    """Whether the line speaks of a leak, and of no end that it brought."""
    return bool(_OF_A_LEAK.search(line.text)) and not _ENDS_IN_IT.search(line.text)


def limit_of_a_job(told: Surroundings, line: Line) -> bool:
    """Whether the words name a memory limit, and a batch system runs the program: it limits host RAM."""
    return bool(_LIMIT_IN_WORDS.search(line.text) and told.shows("a job scheduler"))


_LIMIT_IN_WORDS = regex(
    r"(?i)\b(?:exceed\w*|over|hit\w*|reach\w*|beyond)\b[^.\n]{0,24}\bmemory limit\b|\bmemory limit exceeded\b"
)


def whose(case: Case, line: Line) -> str:
    """Which memory the line speaks of, else the whole text. An exception that is shown but cut may be of any:
    no writer knows it for host RAM but by `MemoryError`.
    """
    told = case.capture.surroundings
    if limit_of_a_job(told, line):
        return HOST
    line = line._replace(text=RAM_IN_STOCK.sub(" ", with_vram(line.text)))
    if told.shows("room on the device") and not told.shows("raising an exception"):
        return HOST if any(map(told.shows, _OF_THE_HOST)) else UNSAID
    if _HBM_FULL.search(line.text) or _GPU_FULL.search(line.text):
        return DEVICE
    if _SECOND_HAND.search(line.text) and told.shows("a GPU named"):
        return UNSAID
    if told.shows("fails on CPU and GPU"):
        return UNSAID
    if loaded_by_each(case) or read_as_one_array(case, line):
        return HOST
    if least_bytes(line.text) and not _HOST.search(line.text):
        return DEVICE
    of_a_gpu = (_GPU_MEMORY.search(line.text) or _ON_A_GPU.search(line.text)) and not _HOST.search(line.text)
    if told.shows("raising MemoryError") or only_killed(line) or (without_gpu(case) and not of_a_gpu):
        return HOST
    if told.setting("container_memory") and not (of_a_gpu or told.shows("device memory in words")):
        return HOST
    killed = told.shows("killed in words") and not told.shows("raising an exception")
    if killed and not (_DEVICE.search(line.text) or told.shows("device memory in words")):
        return HOST
    host, device = _HOST.search(line.text), _DEVICE.search(line.text)
    if _BOTH.search(line.text):
        return UNSAID
    if told.shows("raising an exception") or (told.shows("saving in words") and not host):
        named = DEVICE if device else _by_the_whole_text(told)
        return DEVICE if named == DEVICE and not host else UNSAID
    if told.shows("fails on the GPU alone"):
        return DEVICE
    if told.shows("on a hosted service") and not (device or told.shows("a GPU named")):
        return HOST
    if told.shows("host RAM in words") and not told.shows("device memory in words"):
        return HOST
    if told.shows("growing in words") and not device and any(_RSS.search(each.text) for each in told.code):
        return HOST
    if not device and CACHE.search(line.text):
        return HOST
    if (
        not host
        and not device
        and told.shows("device memory in words")
        and not told.shows("host RAM in words")
    ):
        return DEVICE
    if bool(host) is bool(device) and told.shows("host RAM in words"):
        return HOST
    if host and not device:
        return HOST
    if device and not host:
        return DEVICE
    return _by_the_whole_text(told) if not host else UNSAID


def loaded_by_each(case: Case) -> Line | None:
    """The line that says that the processes of PyTorch/XLA, one for each core, load their data each, where no
    memory of a device is told to be full.
    """
    told = case.capture.surroundings
    line = told.shows("loaded by each process")
    if line is None or framework_of(case) != TORCH_XLA or not told.shows("several cores"):
        return None
    short = told.shows("running short")
    return None if _OF_THE_CHIP.search(f"{line.text} {short.text if short else ''}") else line


_READS_DATA = regex(
    r"(?i)\b(?:read|load)(?:s|ing)?\b(?: \w+){0,3}? (?:data\w*|files?|images|pictures|arrays?)\b"
)


def read_as_one_array(case: Case, line: Line) -> bool:
    """Whether it fails where data are read, which quoted code reads into one array of NumPy's: of RAM."""
    told = case.capture.surroundings
    if told.shows("an array of all samples") is None or told.shows("device memory in words"):
        return False
    array = told.shows("an array of all samples")
    reads = _READS_DATA.search(line.text) or (array and _OF_A_FILE.search(array.text))
    return bool(reads) and not _DEVICE.search(line.text)


_OF_A_FILE = regex(r"['\"]\]\[(?::|\.\.\.|\(\))\]|\barray\(\s*\w{1,20}(?:\.get\(|\[['\"])")
"""All of a data set of an HDF5 file, as an array: it lies in RAM."""


_OF_THE_HOST = ("host RAM in words", "host RAM named", "killed in words")


def _by_the_whole_text(told: Surroundings) -> str:
    """The memory that the text names anywhere, where it names one alone: whoever runs on a GPU may name its
    RAM by the way, so a GPU that is named leaves it open.
    """
    gpu, ram = told.shows("GPU memory named"), told.shows("host RAM named")
    if ram and _FREE.search(ram.text) and not _HOST.search(RAM_IN_STOCK.sub(" ", ram.text)):
        ram = None  # only how much there is
    if ram and _IN_STOCK_ALONE.match(ram.text):
        ram = None
    if gpu and not (ram and ram.number < gpu.number):
        return DEVICE
    return HOST if ram and not (gpu or told.shows("a GPU named") or told.devices) else UNSAID


_OF_THE_CHIP = regex(r"(?i)\bHBM\b|\b(?:TPU|device|chip|core)(?:'s)? memory\b")


def ram_beside_hbm(case: Case) -> str:
    """That the free memory of which a text on a TPU wonders is the machine's, as a clause; else nothing."""
    line = case.capture.surroundings.shows("free RAM beside a device")
    if line is None or _OF_THE_CHIP.search(line.text):
        return ""
    is_it = "is" if line.text.lstrip().startswith("Mem:") else "is most likely"
    return (
        f"; the free memory of {line.place} {is_it} the RAM of the machine: a TPU core has HBM of its own"
        " (8 GB on v2, 16 GB on v3) and cannot use that RAM for what it computes"
    )


def named_by(case: Case, line: Line, where: str) -> str:
    """The line that names the memory, where this one does not: `; line 11 names it`."""
    names, facts = _NAMED_BY.get(where, (None, ()))
    if names is None or names.search(line.text):
        return ""
    lines = map(case.capture.surroundings.shows, facts)
    other = next((each for each in lines if each and each != line and _says(each, names)), None)
    return f"; {other.place} names it" if other else ""


def _says(line: Line, names: re.Pattern[str]) -> bool:
    return bool(names.search(line.text)) and not _IN_STOCK_ALONE.match(line.text)


_NAMED_BY = {
    HOST: (_HOST, ("host RAM in words", "killed in words", "host RAM named", "without a GPU")),
    DEVICE: (
        _DEVICE,
        ("device memory in words", "GPU memory named", "fails on the GPU alone", "a GPU named"),
    ),
}


def how_to_tell(case: Case, line: Line, where: str) -> str:
    """That neither is said, and what tells them apart; empty where the memory is known."""
    told = case.capture.surroundings
    if where != UNSAID or framework_of(case) not in (TENSORFLOW, JAX) or case.moments or told.soft_warnings:
        return ""
    if situation(case).program or told.shows("on a TPU") or on_a_mac(case):
        return ""
    if _HOST.search(line.text) and _DEVICE.search(line.text):
        return ""  # both are meant
    if both := told.shows("fails on CPU and GPU"):
        return (
            f"; {both.place} says that it fails on CPU and GPU alike, so one step or call asks for more than"
            " either has"
        )
    if (gpu := told.shows("a GPU named")) and not told.shows("host RAM named"):
        return f"; most likely a GPU's, since {gpu.place} names one"
    if told.shows("growing in words"):
        return "; whether RAM or a GPU's memory is not said: `top` and `nvidia-smi` show it while it grows"
    return (
        "; whether RAM or a GPU's memory is not said: a message with `GPU_0_bfc` or CUDA means the GPU,"
        " `Killed` or MemoryError means RAM"
    )
