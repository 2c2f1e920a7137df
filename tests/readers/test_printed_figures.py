"""Figures that tools print and people state: of the host's RAM, of the GPU, of limits."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report
from tfmemlens.readers.oom.host_figures import RULES
from tfmemlens.readers.oom.named_devices import named
from tfmemlens.units import GIB, MIB

FAILED = oom("64,256,112,112")


def host_uses(text: str) -> list[tuple[str, int, int | None]]:
    """Who says it, and the mebibytes used and allowed."""
    uses = pipeline.capture(text + "\n").surroundings.host_uses
    return [(use.what, use.used.bytes // MIB, use.total and use.total.bytes // MIB) for use in uses]


@pytest.mark.parametrize("what", RULES)
def test_each_tool_is_read_by_its_own_rule(what: str) -> None:
    for example in RULES[what].examples:
        assert [use[0] for use in host_uses(example)] == [what]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mem:           15Gi        14Gi       183Mi       1.0Mi", [("free", 14336, 15360)]),
        ("Mem:          15950       15201         183", []),  # no unit: of free without -h or -m
        ("MiB Mem :  31881.9 total,    212.4 free,  31102.1 used,", [("top", 31102, 31881)]),
        ("KiB Mem : 16318464 total,   212400 free, 15728640 used,", [("top", 15360, 15936)]),
        ("trainer   101.2%    7.912GiB / 8GiB       98.90%", [("docker stats", 8102, 8192)]),
        (
            "memory: usage 2097152kB, limit 2097152kB",
            [("the cgroup", 2048, 2048)],
        ),
        ("Memory Utilized: 31.82 GB\nMemory Efficiency: 99.44% of 32.00 GB", [("seff", 32583, 32768)]),
        ("Memory Utilized: 31.82 GB", []),
        ("JobID State MaxRSS ReqMem\n8.batch OUT_OF_ME+ 1048576K 2Gn", [("sacct", 1024, 2048)]),
        ("JobID State ReqMem MaxRSS\n8.batch OUT_OF_ME+ 2Gn 1048576K", [("sacct", 1024, 2048)]),
        ("JobID State MaxRSS\n8.batch OUT_OF_ME+ 1048576K", [("sacct", 1024, None)]),
        ("JobID State MaxRSS ReqMem\n8 OUT_OF_ME+ 2Gn", []),
    ],
)  # fmt: skip
def test_what_tools_print_of_the_host(text: str, found: list[tuple[str, int, int | None]]) -> None:
    assert host_uses(text) == found


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


class TestKilled:
    def test_the_limit_stands_on_the_page(self) -> None:
        state = pipeline.capture("trainer 99% 7.9GiB / 8GiB 98.7%\nexited with code 137").incidents[0].state
        assert state.limit is not None and state.in_use is not None
        assert (state.limit.bytes, state.in_use.bytes) == (8 * GIB, round(7.9 * GIB))
        assert state.line_of("limit") == Line(1, "trainer 99% 7.9GiB / 8GiB 98.7%")

    def test_a_failure_on_the_device_has_no_limit_of_the_host(self) -> None:
        state = pipeline.capture("trainer 99% 7.9GiB / 8GiB 98.7%\n" + FAILED).incidents[0].state
        assert state.limit is None

    @pytest.mark.parametrize(
        "line",
        [
            "State: OUT_OF_MEMORY (exit code 0)",
            "8.batch batch OUT_OF_ME+ 0:125",
            "Worker tcp://127.0.0.1:41721 (pid=9120) exceeded 95% memory budget. Restarting...",
        ],
    )
    def test_batch_systems_name_memory_as_the_reason(self, line: str) -> None:
        assert "no host RAM left, and the process was killed" in explained(line).verdict

    def test_a_drivers_error_is_no_batch_systems(self) -> None:
        line = "failed to alloc 8589137592 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
        assert "killed" not in explained(line).verdict

    def test_what_a_pod_requests_is_no_limit(self) -> None:
        pod = "Reason: OOMKilled\nLimits:\n  memory: 16Gi\nRequests:\n  cpu: 4\n  memory: 8Gi\n"
        settings = pipeline.capture(pod).surroundings.settings
        assert [(name, value) for name, value, _ in settings] == [("container_memory", "16Gi")]
        quoted = 'requests:\n  memory: "8Gi"\nlimits:\n  memory: "16Gi"\nOOMKilled\n'
        assert "whose limit is 16Gi" in explained(quoted).verdict


class TestNamedDevices:
    @pytest.mark.parametrize(
        ("text", "model", "gigabytes"),
        [
            ("I train on my 2080 Ti and get", "2080 Ti", 11),
            ("I have a 24 GB card (RTX 3090)", "3090", 24),
            ("Colab (Tesla T4) dies", "T4", 16),
            ("The GPU is an A100 40GB.", "A100", 40),
            ("The GPU is an A100.", None, None),  # sold with 40 and with 80
            ("auf einer RTX 2070 mit 8GB", "2070", 8),
            ("my GPU has 6 GB", None, 6),
            ("TF 2.18, RTX 4070 Ti SUPER 16 GB", "4070 Ti SUPER", 16),
            ("on my RTX 4070 Ti Super", "4070 Ti SUPER", 16),
            ("on my RTX 4070 Ti", "4070 Ti", 12),
            ("on my RTX 4060 Ti", None, None),  # sold with 8 and with 16
            ("my GPU has 6000 GB", None, None),
            ("RTX 4080 Laptop, Keras 3", "4080", 12),  # less than the card of that name
            ("my RTX 4070 Ti laptop", None, None),
            ("GPU RAM graph stays at 3 GB of 15", None, None),
            ("my GPU uses 3 GB", None, None),
            ("GPU memory 8GB", None, 8),
            ("10 GB of GPU memory for 2080 samples on my machine", "2080", 10),
            ("step 1080 of 2080", None, None),
            ("|   0  Tesla T4            Off  | 00000000:00:04.0 Off |", None, None),
            ("device: 0, name: Tesla T4, pci bus id: 0000:00:04.0", None, None),
        ],
    )
    def test_in_ones_own_words(self, text: str, model: str | None, gigabytes: int | None) -> None:
        found = named(Line(1, text))
        if gigabytes is None:
            assert found is None
        else:
            assert found is not None and found.total is not None
            assert (found.model, found.total.high // GIB) == (model, gigabytes)

    def test_several_cards_tell_nothing(self) -> None:
        one = pipeline.capture("on my 2080 Ti\n" + FAILED).surroundings.named_devices
        two = pipeline.capture("fine on a RTX 3090\nbut on my 2080 Ti\n" + FAILED).surroundings.named_devices
        assert (len(one), two) == (1, ())

    def test_a_tensor_beyond_the_card(self) -> None:
        report = explained("on my 2080 Ti\n" + oom("1024,1024,1024,4"))
        assert "request-larger-than-device" in [finding.rule for finding in report.findings]


class TestDevices:
    """Rows without a heading, and other tools than nvidia-smi."""

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("nvidia-smi says 10989MiB / 11019MiB for GPU 1.", [("1", 10989, 11019)]),
            ("trainer 812.3MiB / 1024MiB", []),
            ("--query-gpu=name,memory.total,memory.used\nA10G, 23028 MiB, 22519 MiB", [("0", 22519, 23028)]),
            ("--query-gpu=index,memory.used,memory.total\n1, 22519, 23028", [("1", 22519, 23028)]),
            ("[1] RTX 3090 | 54'C,  99 % | 22801 / 24268 MB | a:python/4711(18401M)", [("1", 22801, 24268)]),
            (" Device 0 [RTX 2080 Ti] PCIe\n GPU[||98%] MEM[||||10.5Gi/11.0Gi]", [("0", 10752, 11264)]),
        ],
    )  # fmt: skip
    def test_how_much_is_in_use(self, text: str, found: list[tuple[str, int, int]]) -> None:
        uses = pipeline.capture(text + "\n").surroundings.device_uses
        assert [
            (use.device, use.used.bytes // MIB, use.total.bytes // MIB)
            for use in uses
            if use.used and use.total
        ] == found

    def test_processes_of_other_tools(self) -> None:
        gpustat = "[1] RTX 3090 | 54'C,  99 % | 22801 / 24268 MB | a:python/4711(18401M) b:java/12(4000M)"
        nvtop = (
            " Device 0 [RTX]\nMEM[|9Gi/11Gi]\n 4711 al 0 Compute 97% 6120MiB 56% 4% 4012MiB python train.py"
        )
        names = [
            [(process.pid, process.name) for process in use.processes]
            for text in (gpustat, nvtop)
            for use in pipeline.capture(text + "\n").surroundings.device_uses
        ]
        assert names == [[(4711, "a:python"), (12, "b:java")], [(4711, "python train.py")]]

    def test_a_python_is_the_logs_own_process(self) -> None:
        rows = (
            "|   0  Tesla V100-SXM2...  On   | 00000000:1A:00.0 Off |                    0 |\n"
            "| N/A   41C    P0    58W / 300W |  30211MiB / 32510MiB |      3%      Default |\n"
            "|   0   N/A  N/A      8123      C   /opt/conda/bin/python            2891MiB |\n"
            "|   0   N/A  N/A      7011      C   tritonserver                    27311MiB |\n"
        )
        assert "tritonserver (pid 7011) held" in explained(rows + FAILED).verdict
