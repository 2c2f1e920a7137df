"""What is no memory, who was killed, what crashed afterwards, and lists with odd rows."""

from __future__ import annotations

import pytest

from tfmemlens import attribution, findings
from tfmemlens.model.capture import Capture
from tfmemlens.model.report import Report
from tfmemlens.readers.formats import oom_log

SENTENCE = (
    "OOM when allocating tensor with shape[16,512,512,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)


def read(text: str) -> Capture:
    return oom_log.read_lines(list(enumerate(text.split("\n"), 1)))


def explain(text: str) -> Report:
    return findings.examine(attribution.attribute(read(text)))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("OSError: [Errno 122] Disk quota exceeded: '/scratch/ckpt'", "the disk quota was used up"),
        (
            "ResourceExhaustedError: /data/a.tf-data_0.lockfile; Disk quota exceeded",
            "the disk quota was used up",
        ),
        (
            "ResourceExhaustedError: {{function_node __wrapped__IteratorGetNext}} cache.data-00000; No space left on"
            " device [Op:IteratorGetNext]",
            "the disk was full",
        ),
        (
            "AlreadyExistsError: There appears to be a concurrent caching iterator running - cache lockfile already"
            " exists ('/tmp/cache_0.lockfile'). [Op:IteratorGetNext]",
            "another run holds the file of tf.data's `cache(filename)`",
        ),
    ],
)
def test_what_is_no_memory(text: str, what: str) -> None:
    capture = read(text)
    assert not capture.incidents
    assert [name for name, _ in capture.surroundings.elsewhere] == [what]


def test_ffmpeg_on_the_same_gpu_is_another_program() -> None:
    capture = read("[h264_nvenc @ 0x55d0] OpenEncodeSessionEx failed: out of memory (10): (no details)")
    assert not capture.incidents
    assert [name for name, _ in capture.surroundings.foreign] == ["ffmpeg"]


@pytest.mark.parametrize(
    "text",
    [
        "[12345.678] Memory cgroup out of memory: Killed process 4242 (python) total-vm:20000000kB",
        "RequestId: 8f5 Error: Runtime exited with error: signal: killed",
        "      Exit Code:    137",
        "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
        "Your notebook tried to allocate more memory than is available. It has restarted.",
        "Your session crashed after using all available RAM.",
    ],
)
def test_who_is_killed_ran_out_of_host_memory(text: str) -> None:
    (incident,) = read(text).incidents
    assert incident.request.kind.name == "HOST"


def test_exit_code_1370_is_no_kill() -> None:
    assert not read("Exit Code: 1370").incidents


@pytest.mark.parametrize(
    "crash",
    [
        "Fatal Python error: Segmentation fault",
        "F0000 00:00:1795319949.865727   27583 bfc_allocator.cc:711] Check failed: h != kInvalidChunkHandle ",
        "./train.sh: line 8: 27582 Aborted                 python train.py",
    ],
)
def test_a_crash_after_the_failure_is_told_and_is_no_second_cause(crash: str) -> None:
    report = explain(
        f"{SENTENCE}\n{crash}\n    @     0x7f6768339f9c  tsl::BFCAllocator::DeallocateRawInternal()"
    )
    assert len(report.case.moments) == 1
    assert not report.case.capture.notes
    assert any("the process crashed as well" in finding.headline for finding in report.findings)


def test_a_crash_before_the_failure_is_not_its_consequence() -> None:
    report = explain(f"Segmentation fault\n{SENTENCE}")
    assert not any("crashed as well" in finding.headline for finding in report.findings)


def test_rows_with_odd_names_count_and_lost_ones_are_told() -> None:
    capture = read(
        f"{SENTENCE}\nCurrent usage from device: /device:GPU:0, allocator: GPU_0_bfc\n"
        "  1.00GiB from my layer (copy)/Relu\n  900.00MiB from \n  800.00MiB from model/\u00fc/Conv2D\n"
        "  ???MiB from broken\nRemaining 5 nodes with 1.0MiB\n"
    )
    (block,) = capture.incidents[0].holders
    assert [row.node for row in block.table] == ["my layer (copy)/Relu", None, "model/\u00fc/Conv2D"]
    assert [note.text for note in capture.notes] == ["1 row of the list of tensors could not be read"]


def test_a_sentence_with_a_size_outside_any_list_is_no_row() -> None:
    assert not read("I moved 1.00GiB from my laptop to the server").incidents


def test_a_limit_of_nothing_is_the_cause() -> None:
    report = explain(
        "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 0 MB memory:  -> device: 0, name: Tesla"
        f" T4, pci bus id: 0000:00:04.0, compute capability: 7.5\n{SENTENCE}"
    )
    assert report.findings[0].rule == "device-held-by-others"


def dump(pool: int, limit: int, asked: int) -> str:
    return (
        f"Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to {asked})requested by op c\n"
        f"total_region_allocated_bytes_: {pool} memory_limit_: {limit} available bytes: {limit - pool}"
        " curr_region_allocation_bytes_: 2147483648\n"
        f"Stats: \nLimit: {limit}\nInUse: {pool - 1000}\nMaxInUse: {pool}\n"
    )


@pytest.mark.parametrize(("pool", "refused"), [(2 << 30, True), (7 << 30, False), (8 << 30, False)])
def test_a_pool_far_below_its_limit_was_refused_its_next_region(pool: int, refused: bool) -> None:
    """Limit 8 GiB, request 1 GiB: 2 + 1 < 0.95 x 8, and 7 + 1 is not."""
    report = explain(dump(pool, 8 << 30, 1 << 30))
    assert any("refused its next region" in finding.headline for finding in report.findings) is refused


def test_a_long_name_does_not_bury_the_verdict() -> None:
    report = explain(f"{SENTENCE}\n\t [[{{{{node m/{'x' * 5000}/Relu}}}}]]\n")
    assert len(report.verdict) < 500


def test_docker_s_log_file_wraps_each_line_in_json() -> None:
    lines = [
        '{"log":"  File \\"train.py\\", line 40, in main\\n","stream":"stderr","time":"2026-11-22T04:00:00Z"}',
        '{"log":"    y = net(x)\\n","stream":"stderr","time":"2026-11-22T04:00:00Z"}',
        f'{{"log":"ResourceExhaustedError: {SENTENCE}\\n","stream":"stderr","time":"2026-11-22T04:00:00Z"}}',
    ]
    (incident,) = read("\n".join(lines)).incidents
    assert (incident.request.source, incident.request.source_text) == ("train.py:40", "y = net(x)")
    assert incident.request.shape == (16, 512, 512, 64)


def test_jax_gets_no_advice_on_tensorflow_s_report() -> None:
    report = explain("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: something new ran dry")
    assert report.case.capture.source.framework == "jax"
    advice = " ".join(f"{remedy.text} {remedy.code}" for one in report.findings for remedy in one.remedies)
    assert "save_device_memory_profile" in advice
    assert not any(word in advice for word in ("tf.", "Keras", "sess.run", "TF_"))


@pytest.mark.parametrize(
    "listed",
    [
        f"{SENTENCE}\nCurrent usage from device: /job:localhost/replica:0/task:0/device:GPU:0, allocator: GPU_0_bfc\n"
        "  -1.00GiB from a/Relu\n  450.14MiB from b/Relu\n",
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 24.19G of"
        " 15.48G hbm.\n  Largest program allocations in hbm:\n\n  1. Size: -1.00G\n     Operator:"
        ' op_name="jit(f)/a"\n\n  2. Size: 450.14M\n     Operator: op_name="jit(f)/b"\n',
    ],
)
def test_nobody_holds_less_than_nothing(listed: str) -> None:
    table = explain(listed).case.moments[0].attribution.table
    assert [round(size / 2**20) for size in table.size_bytes] == [450]
