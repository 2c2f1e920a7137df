"""`nvidia-smi`: its table or rows of it, and `--query-gpu` or `--query-compute-apps` as CSV, alone or in a
log; `gpustat` and `nvtop`, which show the same.

Who holds the device, and how much of it, at one moment. Of several tables (`nvidia-smi -l`) each device is
taken from the one that shows most of it in use. The processes of other containers are not listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tfmemlens.model.capture import Capture, DeviceProcess, DeviceUse, Hints, Holds, Source, Surroundings
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes import texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.oom.rules import LineRule, RuleTable
from tfmemlens.units import MIB, Size
from tfmemlens.values import dataclass, field

HOLDS = Holds.SURROUNDINGS
SHARED = True
HEAD = LineRule(
    r"NVIDIA-SMI \d",
    "| NVIDIA-SMI 460.32.03    Driver Version: 460.32.03    CUDA Version: 11.2     |",
    needs="NVIDIA-SMI",
)
DEVICE = LineRule(
    r"\|\s*(?P<device>\d{1,3})\s+(?P<model>\S[^|]*?)(?:\s+(?:On|Off|N/A|WDDM|TCC|MCDM))?\s*"
    r"\|\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d",
    "|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |",
    "|   1  NVIDIA GeForce RTX 3090        Off |   00000000:4F:00.0 Off |                  N/A |",
    "|   0  Tesla K80           On   | 0000:05:00.0     Off |                    0 |",
)
MEMORY = LineRule(
    r"\|\s*(?P<used>\d{1,8})MiB\s*/\s*(?P<total>\d{1,8})MiB\s*\|",
    "| N/A   38C    P8     9W /  70W |  14800MiB / 15109MiB |      0%      Default |",
    needs="MiB /",
)
PROCESS = LineRule(
    r"\|\s*(?P<device>\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d{1,10})\s+"
    r"(?:(?P<type>C\+G|M\+C|[CGM])\s+)?"
    r"(?P<name>(?![\dN][\d/]*(?:MiB|A))\S[^|]*?)\s+(?:(?P<used>\d{1,8}) ?MiB|N/A)\s*\|",
    "|    0   N/A  N/A     12345      C   python                           7897MiB |",
    "|    0      1183      G   /usr/lib/xorg/Xorg                            53MiB |",
    "|    0      3217  python                                              4721MiB |",  # drivers below 346
)
BARE = LineRule(
    r"\A[\s>]*(?P<device>\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d{1,10})\s+"
    r"(?P<type>C\+G|M\+C|[CGM])\s+(?P<name>\S[^|]*?)\s+(?P<used>\d{1,8}) ?MiB\s*\Z",
    "    0      3217    C   python    4721MiB",
    needs="MiB",
)
"""The same pasted without its frame."""
BROKEN = LineRule(
    r"\|\s*(?P<device>\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d{1,10})\s+"
    r"(?P<type>C\+G|M\+C|[CGM])\s+(?P<name>[^\s|][^|]*?)\s*\Z",
    "|    0      3217      C   /home/ann/envs/tf/bin/python",
)
"""A row that was pasted without the end of its line."""
REST = LineRule(r"\A[\s>]*(?P<used>\d{1,8}) ?MiB\s*\|", "                4721MiB |", needs="MiB")
CSV = LineRule(
    r"(?:\A|[\s,])(?:memory\.used|used_gpu_memory|memory\.total) \[MiB\]",
    "index, name, memory.total [MiB], memory.used [MiB], memory.free [MiB]",
    "pid, process_name, used_gpu_memory [MiB]",
    needs="[MiB]",
)
QUERY = LineRule(
    r"--query-(?:gpu|compute-apps)[= ](?P<columns>[\w.,]+)",
    "$ nvidia-smi --query-gpu=index,name,memory.used,memory.total --format=csv,noheader",
    needs="--query-",
)
"""The command names the columns of rows that have no heading."""
INLINE = LineRule(
    r"(?<![\d.])(?<!\bMemory: )(?<!\bRAM: )(?<!\bSwap: )(?P<used>\d{1,7}) ?MiB ?/ ?(?P<total>\d{2,7}) ?MiB\b",
    "nvidia-smi says 10989MiB / 11019MiB for GPU 0.",
    needs="MiB",
)
GPUSTAT = LineRule(
    r"\A\s*\[(?P<device>\d{1,3})\] (?P<model>[^|]{3,60}?)\s*\|[^|]*\|"
    r"\s*(?P<used>\d{1,7}) / +(?P<total>\d{2,7}) MB \|(?P<processes>.*)",
    "[0] NVIDIA GeForce RTX 3090 | 54'C,  99 % | 22801 / 24268 MB | alice:python/4711(18401M)",
    needs=" MB |",
)
_OF_GPUSTAT = regex(r"(?P<name>[\w.-]+:[^\s/]+)/(?P<pid>\d{1,10})\((?P<used>\d{1,7})M\)")
NVTOP = LineRule(
    r"\A\s*Device (?P<device>\d{1,3}) \[(?P<model>[^\]]{3,60})\]",
    " Device 0 [NVIDIA GeForce RTX 2080 Ti] PCIe GEN 3@16x",
    needs="Device ",
)
NVTOP_MEMORY = LineRule(
    r"MEM\[\|*\s*(?P<used>[\d.]{1,7})Gi/(?P<total>[\d.]{1,7})Gi\]",
    " GPU[||||||98%] MEM[|||||||10.6Gi/10.8Gi]",
    needs="MEM[",
)
NVTOP_PROCESS = LineRule(
    r"\A\s*(?P<pid>\d{1,10})\s+\S+\s+(?P<device>\d{1,3})\s+(?P<type>Compute|Graphic|Both\S*)\s+\S+\s+"
    r"(?P<used>\d{1,7})MiB\s+\d+%\s.*?MiB\s+(?P<name>\S.*)",
    "   4711 alice   0 Compute  97%   6120MiB  56%   104%    4012MiB python train.py",
    needs="MiB",
)
_RULES = (HEAD, DEVICE, MEMORY, PROCESS, BARE, BROKEN, REST, CSV, GPUSTAT, NVTOP, NVTOP_MEMORY, NVTOP_PROCESS)
_ROWS = RuleTable.of(*_RULES)
_OF_A_TABLE = RuleTable.of(*_RULES, QUERY, INLINE)
_WORDS = (
    b"NVIDIA-SMI ",
    b"memory.used [MiB]",
    b"memory.total [MiB]",
    b"used_gpu_memory [MiB]",
    b"MiB / ",
    b"MiB/",
    b"--query-",
    b" MB |",
    b"MiB |",
    b"MEM[|",
)
_MIB = " MiB"
_GPU = regex(r"\b(?:GPU|device)[ :#]?(\d{1,2})\b")


@dataclass
class _Device:
    """One device of one table."""

    name: str
    model: str | None
    line: Line
    used: int | None = None
    total: int | None = None
    processes: list[DeviceProcess] = field(default_factory=list)


def sniff(sample: Sample) -> Confidence:
    """A table's own heading, or a column of a query."""
    return Confidence.LIKELY if sample.mentions(*_WORDS) else Confidence.NO


def takes(text: str) -> bool:
    """Whether a line is of such a table."""
    return any(rule.search(text) for _, rule in _ROWS.likely(text))


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """Who holds each device."""
    del hints
    numbered, _ = texts.text_lines(opened)
    uses = _fullest(_devices(Line(number, text.strip(), opened.label) for number, text in numbered))
    source = Source(opened.path, ("nvidia-smi",) if uses else ())
    return Capture(source, surroundings=Surroundings(device_uses=uses))


def _devices(lines: Iterable[Line]) -> list[_Device]:
    """The devices of all tables, in order; a process belongs to the last one of its number."""
    devices: list[_Device] = []
    columns: list[str] = []
    open_row = False
    broken: re.Match[str] | None = None
    for line in lines:
        text = line.text
        if broken and (row := REST.search(text)):
            _hold(devices, broken["device"], _process(broken, line, row["used"]))
        broken = None
        if columns and _csv_row(devices, columns, line):
            continue
        columns = []
        if not _OF_A_TABLE.likely(text):
            continue
        if row := DEVICE.search(text):
            devices.append(_Device(row["device"], row["model"], line))
            open_row = True
        elif open_row and (row := MEMORY.search(text)):
            devices[-1].used, devices[-1].total = int(row["used"]), int(row["total"])
            devices[-1].line, open_row = line, False
        elif row := GPUSTAT.search(text):
            devices.append(_Device(row["device"], row["model"], line, int(row["used"]), int(row["total"])))
            for each in _OF_GPUSTAT.finditer(row["processes"]):
                process = DeviceProcess(int(each["pid"]), each["name"], _size(each["used"]), line)
                devices[-1].processes.append(process)
        elif row := NVTOP.search(text):
            devices.append(_Device(row["device"], row["model"], line))
        elif devices and (row := NVTOP_MEMORY.search(text)):
            devices[-1].used, devices[-1].total = (
                round(float(row[name]) * 1024) for name in ("used", "total")
            )
            devices[-1].line = line
        elif row := NVTOP_PROCESS.search(text):
            draws = row["type"] == "Graphic"
            process = DeviceProcess(
                int(row["pid"]), row["name"].strip(), _size(row["used"]), line, draws=draws
            )
            _hold(devices, row["device"], process)
        elif row := QUERY.search(text):
            columns = row["columns"].split(",")
        elif row := INLINE.search(text):
            number = _GPU.search(text)
            name = number[1] if number else "0"
            if not any(device.name == name for device in devices):
                devices.append(_Device(name, None, line, int(row["used"]), int(row["total"])))
        elif row := PROCESS.search(text) or BARE.search(text):
            _hold(devices, row["device"], _process(row, line))
        elif devices and (row := BROKEN.search(text)):
            broken = row
        elif CSV.search(text):
            columns = [name.strip() for name in text.split(",")]
    return devices


def _process(row: re.Match[str], line: Line, used: str = "") -> DeviceProcess:
    """A row of the processes; of a broken one the end of its line tells how much it holds."""
    size = used or row["used"]
    return DeviceProcess(
        int(row["pid"]), row["name"], _size(size) if size else None, line, draws=row["type"] == "G"
    )


def _csv_row(devices: list[_Device], columns: list[str], line: Line) -> bool:
    """A row of a query; whatever has not its columns ends it."""
    values = [value.strip() for value in line.text.split(",")]
    if len(values) != len(columns):
        return False
    row = dict(zip((name.removesuffix(" [MiB]") for name in columns), values, strict=True))
    mebibytes = {name: int(value) for name in row if (value := row[name].removesuffix(_MIB)).isdecimal()}
    if "pid" in mebibytes:
        name = row.get("process_name") or row.get("name") or ""
        used = mebibytes.get("used_gpu_memory")
        process = DeviceProcess(mebibytes["pid"], name, None if used is None else _size(str(used)), line)
        _hold(devices, row.get("gpu_bus_id") or row.get("gpu_uuid") or "", process)
        return True
    if "memory.used" not in mebibytes and "memory.total" not in mebibytes:
        return False
    device = _Device(row.get("index", str(len(devices))), row.get("name") or row.get("gpu_name"), line)
    device.used, device.total = mebibytes.get("memory.used"), mebibytes.get("memory.total")
    devices.append(device)
    return True


def _hold(devices: list[_Device], name: str, process: DeviceProcess) -> None:
    """Give a process to its device; a query of processes names none that a table would know."""
    device = next((each for each in reversed(devices) if each.name == name), None)
    if device is None:
        device = _Device(name, None, process.line)
        devices.append(device)
    device.processes.append(process)


def _fullest(devices: list[_Device]) -> tuple[DeviceUse, ...]:
    best: dict[str, _Device] = {}
    for device in devices:
        known = best.get(device.name)
        if known is None or (device.used or 0) >= (known.used or 0):
            best[device.name] = device
    return tuple(_uses(best.values()))


def _uses(devices: Iterable[_Device]) -> Iterator[DeviceUse]:
    for device in devices:
        used = None if device.used is None else _size(str(device.used))
        total = None if device.total is None else _size(str(device.total))
        yield DeviceUse(device.name, device.model, used, total, tuple(device.processes), device.line)


def _size(mebibytes: str) -> Size:
    """A figure in whole mebibytes; what is below one is not printed."""
    count = int(mebibytes) * MIB
    return Size(count, count, count + MIB - 1)
