"""`nvidia-smi` in a log: what it says of devices and processes, and that it hides nothing beside it.

The tables are written here, in the layouts of drivers 352, 390, 460 and 550.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tests.findings.logs import dump, oom
from tfmemlens import pipeline
from tfmemlens.model.capture import Capture, DeviceUse
from tfmemlens.model.line import Line
from tfmemlens.readers.formats import nvidia_smi
from tfmemlens.units import MIB

FAILURE = (SAMPLES / "oom_log" / "1.15-im2col.txt").read_text(encoding="utf-8")
HEAD = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 460.32.03    Driver Version: 460.32.03    CUDA Version: 11.2     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
"""
DEVICE = """\
|   {index}  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |
| N/A   38C    P8     9W /  70W |  {used:>5}MiB / {total}MiB |      0%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
"""
PROCESSES = """\

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
"""
PROCESS = "|    {gpu}   N/A  N/A     {pid:>5}      {kind:<3} {name:<29} {used:>6}MiB |\n"
END = "+-----------------------------------------------------------------------------+\n"


def table(*used: int, processes: tuple[tuple[int, int, str, int], ...] = (), total: int = 15109) -> str:
    """A table with these devices; a process is (device, pid, name, MiB)."""
    rows = [DEVICE.format(index=index, used=each, total=total) for index, each in enumerate(used)]
    listed = [
        PROCESS.format(gpu=gpu, pid=pid, kind="C", name=name, used=size) for gpu, pid, name, size in processes
    ]
    none = "|  No running processes found" + " " * 49 + "|\n"
    return HEAD + "".join(rows) + PROCESSES + ("".join(listed) or none) + END


def uses(text: str) -> tuple[DeviceUse, ...]:
    return pipeline.capture(text).surroundings.device_uses


def mebibytes(use: DeviceUse) -> tuple[int | None, int | None]:
    return (use.used.bytes // MIB if use.used else None, use.total.bytes // MIB if use.total else None)


TWO = table(14800, 3, processes=((0, 12345, "python", 7897), (0, 999, "/opt/env/bin/python3", 6800)))


def test_a_table_gives_devices_and_processes() -> None:
    first, second = uses(TWO)
    assert (first.device, first.model, mebibytes(first)) == ("0", "Tesla T4", (14800, 15109))
    assert (second.device, mebibytes(second), second.processes) == ("1", (3, 15109), ())
    told = [(each.pid, each.name, each.used.bytes // MIB) for each in first.processes if each.used]
    assert told == [(12345, "python", 7897), (999, "/opt/env/bin/python3", 6800)]


def test_figures_are_intervals_and_lines_are_the_inputs() -> None:
    first = uses(TWO)[0]
    assert first.used
    assert (first.used.low, first.used.high) == (14800 * MIB, 14801 * MIB - 1)
    lines = TWO.split("\n")
    assert lines[first.line.number - 1].strip() == first.line.text
    assert "14800MiB" in first.line.text
    assert all(lines[each.line.number - 1].strip() == each.line.text for each in first.processes)


@pytest.mark.parametrize("place", ["above", "below", "between"])
def test_a_table_hides_no_failure(place: str, tmp_path: Path) -> None:
    text = {"above": TWO + FAILURE, "below": FAILURE + TWO, "between": "start\n" + TWO + FAILURE + TWO}[place]
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    found = pipeline.capture(tmp_path / "train.log")
    assert found.incidents[0].request.shape == (1, 65536, 576)
    assert [use.device for use in found.surroundings.device_uses] == ["0", "1"]
    assert found.source.formats[-1] == "nvidia-smi"
    alone = pipeline.capture(SAMPLES / "oom_log" / "1.15-im2col.txt")
    assert found.notes == alone.notes
    assert found.source.framework == alone.source.framework == "tensorflow"


@pytest.mark.parametrize(
    ("row", "size"),
    [
        ("|    0      1183      G   /usr/lib/xorg/Xorg                            53MiB |", 53),
        ("|    0   N/A  N/A      1183    C+G   ...n64\\EpicGamesLauncher.exe    N/A      |", None),
        ("|  0  1183  C  python  53MiB |", 53),
        ("2021-01-01T00:00:00Z |    0   N/A  N/A      1183      C   python           53MiB |", 53),
    ],
)
def test_a_process_row_of_any_driver(row: str, size: int | None) -> None:
    (use,) = uses(HEAD + row + "\n")
    (process,) = use.processes
    assert process.pid == 1183
    assert (process.used.bytes // MIB if process.used else None) == size


@pytest.mark.parametrize(
    "row",
    [
        "|   0  Tesla K80           On   | 0000:05:00.0     Off |                    0 |",
        "|   0  NVIDIA GeForce RTX 4090        Off |   00000000:4E:00.0 Off |                  Off |",
        "|   0  NVIDIA GeForce ... WDDM  | 00000000:01:00.0  On |                  N/A |",
        "| 0 GeForce GTX TIT... Off | 00000000:83:00.0 Off | N/A |",
    ],
)
def test_a_device_row_of_any_driver(row: str) -> None:
    (use,) = uses(
        f"{HEAD}{row}\n| 23%   40C    P2    74W / 250W |  11637MiB / 12207MiB |     14%      Default |\n"
    )
    assert mebibytes(use) == (11637, 12207)
    assert use.model
    assert not use.model.endswith(("On", "Off", "WDDM"))


@pytest.mark.parametrize("unit", ["", " MiB"])
def test_queries_as_csv(unit: str) -> None:
    devices = f"index, name, memory.total [MiB], memory.used [MiB]\n0, Tesla T4, 15109{unit}, 14800{unit}\n"
    processes = f"pid, process_name, used_gpu_memory [MiB]\n12345, python, 7897{unit}\n99, x, [N/A]\n"
    (device, listed) = uses(devices + "1, Tesla T4, none\nepoch 1\n" + processes + "done, ok, 5\n")
    assert (device.device, device.model, mebibytes(device)) == ("0", "Tesla T4", (14800, 15109))
    assert [(each.pid, each.name, each.used and each.used.bytes // MIB) for each in listed.processes] == [
        (12345, "python", 7897),
        (99, "x", None),
    ]


NVTOP = """\
 Device 0 [NVIDIA GeForce RTX 2080 Ti] PCIe GEN 3@16x
 GPU[||||||98%] MEM[|||||||1.5Gi/10.8Gi]
   4711 alice   0 Compute  97%   6120MiB  56%   104%    4012MiB python train.py
   4712 alice   0 Graphic  97%     53MiB  56%   104%    4012MiB Xorg
"""


def test_nvtop_counts_in_gibibytes_and_says_who_draws() -> None:
    (device,) = uses(NVTOP)
    assert mebibytes(device) == (1536, 11059)
    assert [(each.pid, each.draws) for each in device.processes] == [(4711, False), (4712, True)]


def test_only_graphics_draw() -> None:
    rows = [PROCESS.format(gpu=0, pid=7, kind=kind, name="a", used=9) for kind in ("C", "G", "C+G", "M")]
    (device,) = uses(HEAD + DEVICE.format(index=0, used=9, total=15109) + PROCESSES + "".join(rows))
    assert [each.draws for each in device.processes] == [False, True, False, False]


def test_memory_belongs_to_a_device_above_it() -> None:
    memory = DEVICE.format(index=0, used=9, total=15109).splitlines()[1]
    assert nvidia_smi._devices([Line(1, memory)])[0].name == "0"  # no row: as a sentence would say it
    told = "nvidia-smi says 10989MiB / 11019MiB for GPU 1."
    assert [each.name for each in nvidia_smi._devices([Line(1, told), Line(2, told)])] == ["1"]


def test_the_ram_that_a_system_tells_of_is_no_gpu() -> None:
    assert not nvidia_smi._devices([Line(1, "Memory: 578MiB / 1820MiB")])


def test_of_two_tables_that_say_the_same_the_last_counts() -> None:
    for first, second, line in ((0, 0, 9), (1, 0, 2), (1, 1, 9)):
        lines = [
            Line(number, f"nvidia-smi: {used}MiB / 15109MiB") for number, used in ((2, first), (9, second))
        ]
        devices = [each for line in lines for each in nvidia_smi._devices([line])]
        (use,) = nvidia_smi._fullest(devices)
        assert use.line is not None and use.line.number == line, (first, second)


def test_of_many_tables_the_fullest_counts() -> None:
    series = table(100) + "step 1\n" + table(9000, processes=((0, 7, "a", 8990),)) + "step 2\n" + table(200)
    (use,) = uses(series)
    assert mebibytes(use) == (9000, 15109)
    assert [each.pid for each in use.processes] == [7]


def test_words_alone_are_no_table() -> None:
    assert not uses("please run nvidia-smi\nNVIDIA-SMI has failed because it could not talk to the driver\n")
    assert pipeline.capture("NVIDIA-SMI has failed\n" + FAILURE).incidents


LOG = dump(512, 8000, 7800, op="net/conv/Conv2D") + oom("64,256,256,32")


def held(capture: Capture) -> list[str]:
    findings = pipeline.report(capture).findings
    return [
        evidence.fact
        for finding in findings
        if finding.rule == "device-held-by-others"
        for evidence in finding.evidence
    ]


def test_another_process_on_the_device_is_quoted() -> None:
    """The log's pool is 7,800 MiB, so its own process is the one with 7,897."""
    capture = pipeline.capture(TWO + LOG)
    assert held(capture) == ["/opt/env/bin/python3 (pid 999) held 6.64 GiB of the device's 14.75 GiB as well"]


@pytest.mark.parametrize(
    "processes",
    [
        ((0, 1, "python", 7897),),
        ((0, 1, "python", 7897), (0, 2, "/usr/lib/xorg/Xorg", 1510)),
        ((1, 1, "python", 12000), (0, 2, "python", 7900)),
    ],
    ids=["own", "a desktop", "another device"],
)
def test_the_own_process_is_no_other(processes: tuple[tuple[int, int, str, int], ...]) -> None:
    assert not held(pipeline.capture(table(9000, 12100, processes=processes) + LOG))


def test_a_tenth_of_the_device_is_enough() -> None:
    processes = ((0, 1, "python", 7897), (0, 2, "python", 1511))
    assert len(held(pipeline.capture(table(9400, processes=processes) + LOG))) == 1


def test_who_is_not_listed_is_seen_by_the_sum() -> None:
    """Another container: in use, and no process."""
    assert held(pipeline.capture(table(14000) + LOG)) == [
        "nvidia-smi shows 13.67 GiB of the device in use, and TensorFlow's pool held only 7.62 GiB of it"
    ]
    assert not held(pipeline.capture(table(9800) + LOG))


def test_a_process_far_above_the_pool_is_another() -> None:
    assert held(pipeline.capture(table(14000, processes=((0, 5, "python", 13900),)) + LOG)) == [
        "python (pid 5) held 13.57 GiB of the device's 14.75 GiB as well"
    ]


OPENED = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:{0} with {1} MB memory:  -> device: {0}, name:"
    " Tesla T4, pci bus id: 0000:00:0{0}.0, compute capability: 7.5\n"
)
REFUSED = oom("64,64,112,112", on="/job:localhost/replica:0/task:0/device:GPU:1", by="GPU_1_bfc")


def test_who_holds_all_of_the_programs_devices_is_the_program() -> None:
    """Nobody tells the pool's size, and what came before left it the smaller part."""
    processes = ((0, 4, "python", 14000), (1, 9, "miner", 9000), (1, 4, "python", 5500))
    both = OPENED.format(0, 13800) + OPENED.format(1, 5300)
    assert held(pipeline.capture(table(14000, 14500, processes=processes) + both + REFUSED))[:1] == [
        "miner (pid 9) held 8.79 GiB of the device's 14.75 GiB as well"
    ]


@pytest.mark.parametrize(("limit", "other"), [(1200, "pid 9"), (11200, "pid 4")])
def test_the_program_holds_no_more_than_it_got(limit: int, other: str) -> None:
    """12,000 and 2,600 MiB are in use: beside them is no room for the pool, so one of them is the program."""
    processes = ((0, 9, "python", 12000), (0, 4, "python", 2600))
    told = OPENED.format(0, limit) + oom("64,64,112,112")
    capture = pipeline.capture(table(14700, processes=processes) + told)
    (named,) = (fact for fact in held(capture) if "pid" in fact)
    assert other in named
