"""What ended a run without TensorFlow's memory running out, and what is known of a killed process."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings import another_framework, memory_without_figures
from tfmemlens.model.capture import Capture
from tfmemlens.model.incident import Incident, RequestKind
from tfmemlens.readers.formats import oom_log
from tfmemlens.readers.oom import disguises
from tfmemlens.readers.oom.other_failures import CUDNN_VERSION, ELSEWHERE, FOREIGN, STARTUP, WITHOUT_FIGURES
from tfmemlens.readers.oom.surroundings import HARMLESS
from tfmemlens.units import GIB, MIB

SENTENCE = (
    "OOM when allocating tensor with shape[16,512,512,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)
CREATED = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 14000 MB memory:  -> device: 0, name:"
    " Tesla T4, pci bus id: 0000:00:04.0, compute capability: 7.5"
)


def read(text: str) -> Capture:
    return oom_log.read_lines(list(enumerate(text.split("\n"), 1)))


def incident(text: str) -> Incident:
    (only,) = read(text).incidents
    return only


def examples(rules: dict[str, disguises.LineRule]) -> list[tuple[str, str]]:
    return [(name, line) for name, rule in rules.items() for line in rule.examples]


@pytest.mark.parametrize(("name", "line"), examples(FOREIGN))
def test_another_program_s_message_is_no_failure_of_ours(name: str, line: str) -> None:
    capture = read(line)
    assert not capture.incidents
    assert [known for known, _ in capture.surroundings.foreign] == [name]
    assert name in pipeline.explain(line + "\n").verdict


@pytest.mark.parametrize(("what", "line"), examples(ELSEWHERE))
def test_what_is_no_memory_is_said_so(what: str, line: str) -> None:
    capture = read(line)
    assert not capture.incidents
    assert [known for known, _ in capture.surroundings.elsewhere] == [what]
    assert what in pipeline.explain(line + "\n").verdict


@pytest.mark.parametrize(("what", "line"), examples(WITHOUT_FIGURES))
def test_memory_that_ran_out_without_figures_is_named_with_a_remedy(what: str, line: str) -> None:
    capture = read(line)
    assert not capture.incidents
    assert [known for known, _ in capture.surroundings.without_figures] == [what]
    report = pipeline.explain(line + "\n")
    assert what[1:] in report.verdict
    assert report.actions
    said = " ".join(action.remedy.text + (action.remedy.code or "") for action in report.actions)
    assert "nvidia-smi" not in said


def test_the_arena_s_figures_are_said() -> None:
    report = pipeline.explain("Failed to resize buffer. Requested: 40960, available 30720, missing: 10240\n")
    assert "40,960 B were requested, 30,720 B were free, 10,240 B are missing" in report.verdict
    assert "10240" in (report.actions[0].remedy.code or "")


@pytest.mark.parametrize(
    "line",
    [
        "Failed to resize the window. Requested: 40960, available 30720",
        "High memory usage in CPU: 812.00 MB",
        "WebGL: INVALID_OPERATION: texImage2D",
        "Metal device set to: Apple M2",
        "DirectML device enumeration: found 1 compatible adapters.",
        "HRESULT failed with 0x80004005: d3d12 device",
    ],
)
def test_what_looks_like_memory_without_figures_is_none(line: str) -> None:
    assert not read(line).surroundings.without_figures


@pytest.mark.parametrize(
    ("line", "library"),
    [
        ("INTERNAL: jaxlib/gpu/x.cc:21: operation gpusolverDnCreate(&handle) failed: internal", "cuSOLVER"),
        ("operation gpublasCreate(&handle) failed: cuBLAS internal error", "cuBLAS"),
        ("failed to create cuFFT batched plan: CUFFT_ALLOC_FAILED", "cuFFT"),
        ("cusparseCreate(&handle) failed: CUSPARSE_STATUS_ALLOC_FAILED", "cuSPARSE"),
        ("could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED", "cuDNN"),
    ],
)
def test_the_library_of_a_failed_call_is_named(line: str, library: str) -> None:
    report = pipeline.explain(f"batch_size=64\n{line}\n")
    assert f"A call of {library} failed" in report.verdict
    handle = "handle" in line
    assert ("smaller-batch" in {action.remedy.slug for action in report.actions}) is not handle


def test_a_program_s_constant_is_named_with_its_size() -> None:
    line = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate 402653184 bytes for"
    report = pipeline.explain(line + " new constant\n")
    assert "384.00 MiB" in report.verdict
    assert "a value that the compiled program holds as a constant" in report.verdict
    assert report.actions[0].remedy.slug == "pass-as-argument"


@pytest.mark.parametrize(
    "line", ["gpusolverDnSsyevd(handle) ran", "info = cusolverDnCreate(&handle)", "CUSOLVER_STATUS_SUCCESS"]
)
def test_a_library_s_call_that_did_not_fail_is_none(line: str) -> None:
    assert not read(line).incidents


@pytest.mark.parametrize(("what", "line"), examples(STARTUP))
def test_a_message_of_the_start_ends_no_run(what: str, line: str) -> None:
    kind = "No lack of memory" if "no GPU that it may use" in what else "No failure"
    assert pipeline.explain(line + "\n").verdict == f"{kind}: {what}."
    assert not any(what in finding.headline for finding in pipeline.explain(f"{line}\n{SENTENCE}\n").findings)


@pytest.mark.parametrize(("what", "line"), examples(HARMLESS))
def test_what_only_alarms_is_named_beside_a_failure(what: str, line: str) -> None:
    report = pipeline.explain(f"{line}\n{SENTENCE}\n")
    assert any(finding.headline == f"not the cause: {what}" for finding in report.findings)


def test_who_died_of_something_that_is_told_did_not_crash() -> None:
    """`Check failed:` alone is a crash; with a thread that could not start it is that."""
    lines = (
        "Check failed: ret == 0 (11 vs. 0)Thread x creation via pthread_create() failed.",
        "Aborted (core dumped)",
    )
    (found,) = pipeline.explain("\n".join(lines)).findings
    assert found.headline == "no lack of memory: the system would start no further thread or process"
    (crashed,) = pipeline.explain(f"{lines[1]}\n").findings
    assert crashed.headline.startswith("no out-of-memory message: the process crashed")


@pytest.mark.parametrize(
    "line",
    [
        "BlockingIOError: [Errno 11] Resource temporarily unavailable",
        "created 64 threads",
        "git fork of the repository",
    ],
)
def test_other_words_of_threads_are_no_limit_of_theirs(line: str) -> None:
    rules = [finding.rule for finding in pipeline.explain(line + "\n").findings]
    assert rules in ([], ["unknown-end"])


def test_every_help_is_for_something_that_is_read() -> None:
    for words in another_framework._HELP:
        assert any(words in what for what in ELSEWHERE)
    for words in memory_without_figures._HELP:
        assert any(words in what for what in WITHOUT_FIGURES)


@pytest.mark.parametrize("name", ["Numba", "TensorRT"])
def test_a_program_beside_tensorflow_gets_room_when_the_pool_grows(name: str) -> None:
    line = FOREIGN[name].examples[0]
    beside, alone = (pipeline.explain(f"{above}{line}\n").findings[0] for above in (CREATED + "\n", ""))
    assert any("set_memory_growth" in (remedy.code or "") for remedy in beside.remedies)
    assert not any("set_memory_growth" in (remedy.code or "") for remedy in alone.remedies)


def test_host_memory_of_another_program_needs_no_room_on_the_gpu() -> None:
    report = pipeline.explain(f"{CREATED}\njava.lang.OutOfMemoryError: Java heap space\n")
    assert [each.slug for each in report.findings[0].remedies] == ["larger-heap"]


CUDNN = ELSEWHERE[CUDNN_VERSION].examples[0]
ALGORITHM = (
    "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize"
)


def test_cudnn_of_another_version_explains_a_failed_algorithm() -> None:
    assert not read(f"{CUDNN}\n{ALGORITHM}").incidents
    assert incident(ALGORITHM).request.kind is RequestKind.WORKSPACE


def test_cudnn_of_another_version_does_not_explain_a_lack_of_memory() -> None:
    assert incident(f"{CUDNN}\ncould not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED")


@pytest.mark.parametrize("line", disguises.KILLED.examples)
def test_a_killer_s_words_are_a_lack_of_host_memory(line: str) -> None:
    assert incident(line).request.kind is RequestKind.HOST
    report = pipeline.explain(line + "\n")
    assert "host ram" in report.verdict.lower()
    assert "GPU" not in " ".join(remedy.text for finding in report.findings for remedy in finding.remedies)


@pytest.mark.parametrize(
    ("line", "held", "limit"),
    [
        (
            "Out of memory: Killed process 4242 (python3) total-vm:40000000kB, anon-rss:31000000kB,"
            " file-rss:4kB, shmem-rss:8kB, UID:1000 pgtables:62000kB oom_score_adj:0",
            31000012 << 10,
            None,
        ),
        ("Memory limit of 512 MiB exceeded with 527 MiB used.", 527 * MIB, 512 * MIB),
        (
            "Job has gone over memory limit of 2048 megabytes. Peak usage: 2102 megabytes.",
            2102 * MIB,
            2 * GIB,
        ),
        ("PBS: job killed: mem 10485760kb exceeded limit 8388608kb", 10 * GIB, 8 * GIB),
        (
            'sending SIGTERM to process 4242 uid 1000 "python3": badness 1200, VmRSS 30720 MiB',
            30 * GIB,
            None,
        ),
        ("Duration: 8012.12 ms Memory Size: 3008 MB\tMax Memory Used: 3008 MB", 3008 * MIB, 3008 * MIB),
    ],
)
def test_what_the_killed_held(line: str, held: int, limit: int | None) -> None:
    state = incident(line).state
    assert state.in_use is not None and state.in_use.may_be(held)
    assert (state.limit.bytes if state.limit else None) == limit
    assert state.line_of("in_use") is not None


def test_a_lambda_call_that_used_less_than_its_limit_is_no_failure() -> None:
    assert not read("Memory Size: 3008 MB\tMax Memory Used: 3007 MB").incidents


ALL_USED = "REPORT RequestId: 7c1 Duration: 91.00 ms Memory Size: 256 MB\tMax Memory Used: 256 MB"


@pytest.mark.parametrize("told", ["", '{"errorMessage": "no such key", "errorType": "KeyError"}'])
def test_a_lambda_call_that_used_all_and_was_not_killed_is_no_failure_of_memory(told: str) -> None:
    assert not read(f"START RequestId: 7c1 Version: 3\nEND RequestId: 7c1\n{ALL_USED}\n{told}").incidents


@pytest.mark.parametrize(
    "told",
    [
        "RequestId: 7c1 Error: Runtime exited with error: signal: killed",
        "REPORT RequestId: 7c1 Status: error Error Type: Runtime.ExitError",
        '{"errorType": "Runtime.OutOfMemory"}',
    ],
)
def test_a_lambda_call_that_used_all_and_was_killed_is_a_failure(told: str) -> None:
    assert read(f"END RequestId: 7c1\n{ALL_USED}\n{told}").incidents


def test_a_host_allocation_whose_size_holds_137_is_no_kill() -> None:
    report = pipeline.explain(
        "failed to alloc 8589137592 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    )
    assert "killed" not in report.verdict


@pytest.mark.parametrize("status", ["-1073741819 (0xC0000005)", "3221226505", "139", "134"])
def test_an_exit_status_of_a_crash_is_no_lack_of_memory(status: str) -> None:
    report = pipeline.explain(f"Process finished with exit code {status}\n")
    assert not report.case.moments
    assert "crashed" in report.verdict


def test_a_crash_s_status_after_a_failure_is_a_consequence() -> None:
    report = pipeline.explain(f"{SENTENCE}\nProcess finished with exit code -1073740791 (0xC0000409)\n")
    assert any("crashed as well" in finding.headline for finding in report.findings)


def test_a_kernel_that_died_says_not_why() -> None:
    report = pipeline.explain("The kernel appears to have died. It will restart automatically.\n")
    assert not report.case.moments
    assert "cannot say why" in report.verdict


def test_a_kernel_that_died_after_a_failure_is_no_finding() -> None:
    report = pipeline.explain(
        f"{SENTENCE}\nThe kernel appears to have died. It will restart automatically.\n"
    )
    assert not any("kernel died" in finding.headline for finding in report.findings)


def test_a_killed_process_is_told_by_all_that_saw_it() -> None:
    """The shell says only that it was killed, the kernel why and how large it was."""
    kernel = (
        "[12.3] Out of memory: Killed process 8 (python3) total-vm:9000kB, anon-rss:2048kB, shmem-rss:0kB"
    )
    report = pipeline.explain(f"Killed\n{kernel}\n")
    assert len(report.case.moments) == 1
    assert report.verdict.startswith("Host RAM")
    assert report.case.moments[0].balance.in_use is not None
    assert report.case.moments[0].balance.in_use.bytes == 2 * MIB


REFUSED = "failed to allocate {} ({} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
LADDER = "\n".join(
    REFUSED.format(text, size) for text, size in (("7.42G", 7971274752), ("6.68G", 7174147072))
)


def test_a_ladder_of_refusals_before_the_steps_is_no_failure() -> None:
    capture = read(f"{LADDER}\nEpoch 1/3\nEpoch 2/3")
    assert not capture.incidents
    assert [size.bytes for size, _ in capture.surroundings.refusals] == [7971274752, 7174147072]


def test_a_ladder_of_refusals_after_the_last_step_may_be_the_failure() -> None:
    assert incident(f"Epoch 1/3\nEpoch 2/3\n{LADDER}").request.kind is RequestKind.DRIVER


def test_a_ladder_belongs_to_the_failure_that_follows() -> None:
    (failure,) = read(f"{LADDER}\nEpoch 1/3\n{SENTENCE}").incidents
    assert failure.request.shape == (16, 512, 512, 64)
    assert len(failure.driver_failures) == 2


FULL = (
    "  (0) RESOURCE_EXHAUSTED:  {}.tempstate1234567; No space left on device\n"
    "\t [[{{{{node IteratorGetNext}}}}]]\n"
)
GRAPH = "ResourceExhaustedError: Graph execution error:\n\n2 root error(s) found.\n"
HINT = (
    "Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations\n"
)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("/data/cached_0.data-00000-of-00001", "tf.data's cache(/data/cached)"),
        ("/data/model_temp/part-00000-of-00001.data-00000-of-00001", "keep fewer checkpoints"),
    ],
)
def test_an_exception_whose_root_error_names_a_full_disk(file: str, words: str) -> None:
    report = pipeline.explain(GRAPH + FULL.format(file) + HINT)
    assert not report.case.moments
    assert report.verdict == "No lack of memory: the disk was full."
    assert words in report.actions[0].remedy.text


def test_a_disk_of_another_day_is_not_what_the_exception_names() -> None:
    report = pipeline.explain("OSError: [Errno 28] No space left on device\nThen, today:\n" + GRAPH + HINT)
    assert report.case.moments


PINNING = "\n".join(
    f"failed to alloc {size} bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    f"could not allocate pinned host memory of size: {size}"
    for size in (4294967296, 3865470464)
)
BAR = " 50/50 [==============================] - 2s 40ms/step - loss: 0.4"
ILLEGAL = "Error polling for event status: failed to query event: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal"


@pytest.mark.parametrize("refused", [LADDER, PINNING])
@pytest.mark.parametrize("below", ["Global step = 0, loss = 2.3", BAR, ILLEGAL])
def test_refusals_above_steps_or_a_kernels_failure_are_none(refused: str, below: str) -> None:
    capture = read(f"{refused}\n{below}")
    assert not capture.incidents
    assert len(capture.surroundings.refusals) in (2, 4)


@pytest.mark.parametrize("refused", [LADDER, PINNING])
@pytest.mark.parametrize(
    "text",
    ["{}", BAR + "\n{}", "{}\nThe run ends there.", "{}\nKilled", "{}\nIt always crashes at step 3 of it."],
)
def test_refusals_that_nothing_goes_on_below_may_be_the_failure(refused: str, text: str) -> None:
    assert read(text.format(refused)).incidents


def test_a_kernels_failure_is_told_before_the_refusals_above_it() -> None:
    report = pipeline.explain(f"Epoch 1/9\n{PINNING}\n{BAR}\nEpoch 2/9\n{ILLEGAL}")
    assert "a kernel on the GPU crashed" in report.verdict
    told = [finding.headline for finding in report.findings]
    assert any(
        each.startswith("not what failed: the driver refused 4.00 GiB of pinned host") for each in told
    )


def test_pinned_memory_that_was_had_in_parts_asks_for_nothing() -> None:
    report = pipeline.explain(f"{PINNING}\nGlobal step = 0, loss = 2.3")
    assert report.verdict.startswith("No failure: the GPU's driver would not pin so much host RAM")
    assert "(line 5)" in report.verdict
    assert report.actions[0].remedy.text.startswith("nothing has to be done")


@pytest.mark.parametrize(
    ("code", "words"),
    [("hipError_t(98)", "rocminfo | grep gfx"), ("hipError_t(1)", "dmesg -T | grep -i xid")],
)
def test_a_kernel_that_was_not_built_for_this_gpu(code: str, words: str) -> None:
    report = pipeline.explain(f"XlaRuntimeError: INTERNAL: Failed to launch ROCm kernel: add_1: {code}\n")
    assert words in (report.actions[0].remedy.code or "")


def test_algorithms_that_got_no_workspace_are_one_failure_of_the_library() -> None:
    failure = incident(
        "NotFoundError: Graph execution error:\n\nNode: 'net/conv_a/Conv2D'\nNo algorithm worked!  Error"
        " messages:\n  Profiling failure on CUDNN engine 1: RESOURCE_EXHAUSTED: Out of memory while trying to"
        " allocate 3422552064 bytes.\n  Profiling failure on CUDNN engine 0: RESOURCE_EXHAUSTED: Out of"
        " memory"
        " while trying to allocate 1711276032 bytes.\n\t [[{{node net/conv_a/Conv2D}}]]"
    )
    assert failure.request.kind is RequestKind.WORKSPACE
    assert failure.request.node == "net/conv_a/Conv2D"
    assert failure.request.size is not None and failure.request.size.bytes == 3422552064


def test_the_instruction_that_xla_quotes_names_node_and_line() -> None:
    failure = incident(
        "XlaRuntimeError: UNKNOWN: Failed to determine best cudnn convolution algorithm for:\n"
        "%cudnn-conv.3 = (f32[16,96,256,256]{3,2,1,0}, u8[0]{0}) custom-call(f32[16,3,9,9]{3,2,1,0} %copy.2),"
        ' metadata={op_name="jit(forward)/jit(main)/Net/stem/conv_general_dilated" source_file="net.py"'
        " source_line=31}\n\nOriginal error: INTERNAL: All algorithms tried for %cudnn-conv.3 failed.\n"
        "  Profiling failure on cuDNN engine eng1{k2=1,k3=0}: UNKNOWN: CUDNN_STATUS_ALLOC_FAILED\n"
    )
    assert failure.request.kind is RequestKind.WORKSPACE
    assert failure.request.node == "jit(forward)/jit(main)/Net/stem/conv_general_dilated"
    assert failure.request.source == "net.py:31"


@pytest.mark.parametrize("name", ["self", "f", "conv2d_5", "tf.math.add"])
@pytest.mark.parametrize("form", ["'{}' (type Dense)", '"{}" (type Dense)', '"{}"f (type Dense)'])
def test_a_keras_layer_keeps_its_whole_name(name: str, form: str) -> None:
    header = f"Exception encountered when calling layer {form.format(name)}."
    failure = incident(f"ResourceExhaustedError: {header}\n\n{SENTENCE} [Op:AddV2]")
    assert failure.request.keras_layer == (name, "Dense")


OTHERS = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.105.17   Driver Version: 525.105.17   CUDA Version: 12.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla T4            Off  | 00000000:17:00.0 Off |                  Off |
| 58%   71C    P2   190W / 230W |  13840MiB / 15360MiB |     97%      Default |
+-------------------------------+----------------------+----------------------+
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|    0   N/A  N/A      3911      C   python                          13833MiB |
+-----------------------------------------------------------------------------+
"""


@pytest.mark.parametrize(("limit_mib", "of_others"), [(1122, True), (13000, False)])
def test_a_process_larger_than_the_limit_is_another(limit_mib: int, of_others: bool) -> None:
    report = pipeline.explain(f"{OTHERS}{CREATED.replace('14000', str(limit_mib))}\n{SENTENCE}\n")
    assert any("pid 3911" in finding.headline for finding in report.findings) is of_others


@pytest.mark.parametrize(
    "call",
    [
        "failed call to cuInit: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "failed initializing StreamExecutor for CUDA device ordinal 0: Internal: failed call to"
        " cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported:"
        " 11719409664",
    ],
)
def test_no_room_for_a_context_is_not_the_batch(call: str) -> None:
    report = pipeline.explain(call + "\n")
    assert "CUDA context" in report.verdict
    assert not any("batch" in action.remedy.text for action in report.actions)


PINNED = "E tensorflow/x.cc:893] failed to alloc {} bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
GPU_OF_8 = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 8000 MB memory:  -> device: 0, name:"
    " Tesla T4, pci bus id: 0000:00:04.0, compute capability: 7.5\n"
)


@pytest.mark.parametrize("gpu", ["", GPU_OF_8])
def test_pinned_host_memory_is_not_measured_against_the_gpu(gpu: str) -> None:
    report = pipeline.explain(gpu + PINNED.format(17179869184))
    assert "could not pin 16.00 GiB of it" in report.verdict
    assert "device's limit" not in report.verdict
    slugs = [action.remedy.slug for action in report.actions]
    assert "check-the-device" not in slugs
    assert "more-ram-for-wsl" not in slugs


def test_under_wsl2_pinned_memory_has_a_limit_of_its_own() -> None:
    report = pipeline.explain("Linux box 5.15.90.1-microsoft-standard-WSL2\n" + PINNED.format(17179869184))
    assert "more-ram-for-wsl" in [action.remedy.slug for action in report.actions]


def test_unified_memory_is_not_pinned() -> None:
    report = pipeline.explain("failed to alloc 2147483648 bytes unified memory; result: CUDA_ERROR\n")
    assert "pin" not in report.verdict
    assert "a request of 2.00 GiB was refused" in report.verdict


def test_an_array_that_python_builds_went_through_no_network() -> None:
    array = (
        "MemoryError: Unable to allocate 14.0 GiB for an array with shape (12500, 224, 224, 3) and data type"
    )
    report = pipeline.explain(f'  File "prep.py", line 9, in <module>\n    x = y / 255.0\n{array} float64\n')
    assert "network" not in report.verdict
    assert "at prep.py:9" in report.verdict
    first = report.actions[0].remedy
    assert (first.slug, first.saves_bytes) == ("narrow-array", 12500 * 224 * 224 * 3 * 4)
    narrow = pipeline.explain(f"{array} float32\n")
    assert "narrow-array" not in [action.remedy.slug for action in narrow.actions]


def test_a_launcher_s_own_lines_hide_no_ranks() -> None:
    lines = [f"1: {line}" for line in ("start", "load", "step 1", f"ResourceExhaustedError: {SENTENCE}")]
    lines += ["0: ResourceExhaustedError: Aborting RingReduce with UNAVAILABLE: Socket closed"]
    lines += ["srun: error: node1: task 1: Exited with exit code 1"]
    report = pipeline.explain("\n".join(lines) + "\n")
    (moment,) = report.case.moments
    assert moment.incident is not None
    assert moment.incident.ranks == ("rank 1",)
    assert any("these errors are consequences" in finding.headline for finding in report.findings)


@pytest.mark.parametrize(
    ("error", "tool"), [("HIP_ERROR_OutOfMemory", "rocm-smi"), ("CUDA_ERROR_X", "nvidia-smi")]
)
def test_the_tool_is_the_vendor_s(error: str, tool: str) -> None:
    report = pipeline.explain(f"failed to allocate 8.00G (8589934592 bytes) from device: {error}\n")
    assert tool in [action.remedy.code for action in report.actions]


ON_XLA = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 5368709120 bytes.\n"


@pytest.mark.parametrize(
    ("around", "framework"),
    [
        ("    (exla 0.5.1) lib/exla/executable.ex:19: EXLA.Executable.run/3", "xla"),
        ("in expression starting at /home/me/unet/main.jl:52", "xla"),
        (
            "ERROR:tensorflow:Error recorded from training_loop: From /job:worker/replica:0/task:0:",
            "tensorflow",
        ),
        ("RuntimeError: Resource exhausted: From /job:tpu_worker/replica:0/task:0:", "torch_xla"),
        ("jaxlib.xla_extension.XlaRuntimeError: INTERNAL", "jax"),
        ("the example was written long ago", "xla"),
    ],
)
def test_the_binding_of_a_program_of_xla_s_is_the_one_that_the_text_shows(
    around: str, framework: str
) -> None:
    text = "E external/xla/a.cc:3086] Execution of the program failed: " + ON_XLA
    assert read(f"{text}{around}\n").source.framework == framework


def test_what_raises_below_a_frame_is_no_code() -> None:
    told = (
        'Traceback (most recent call last):\n  File "site-packages/jax/attention.py", line 310, in mha\n'
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Shared memory size limit exceeded:"
        " requested 180224, available: 166912\n"
    )
    capture = read(told)
    assert not capture.incidents
    assert "more shared memory than one core has" in pipeline.explain(told).verdict


@pytest.mark.parametrize(
    "proto",
    [
        "dtype: DT_FLOAT\ntensor_shape {\n  dim {\n    size: 60000\n  }\n  dim {\n    size: 9216\n  }\n}\n",
        "dtype: DT_FLOAT tensor_shape { dim { size: 60000 } dim { size: 9216 } } float_val: 0",
    ],
)
def test_a_constant_without_room_has_the_shape_of_its_proto(proto: str) -> None:
    told = f"InvalidArgumentError: Cannot parse tensor from proto: {proto}\n"
    assert incident(told).request.shape == (60000, 9216)
    assert incident(told).request.dtype == "float32"
    report = pipeline.explain(told)
    assert report.actions[0].remedy.slug == "data-out-of-the-graph"
    assert "smaller-batch" not in [action.remedy.slug for action in report.actions]


def test_a_fall_back_to_the_cpu_is_what_the_advice_speaks_of() -> None:
    failed = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 48000000000 bytes.\n"
    fallback = (
        "An NVIDIA GPU may be present, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.\n"
    )
    slugs = [action.remedy.slug for action in pipeline.explain(fallback + failed).actions]
    assert "mend-the-gpu-build" in slugs and "check-the-device" not in slugs
    assert "check-the-device" in [action.remedy.slug for action in pipeline.explain(failed).actions]


def test_a_jetson_has_one_memory() -> None:
    told = (
        "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 612 MB memory:  -> device: 0, name:"
        " NVIDIA Tegra X1, pci bus id: 0000:00:00.0, compute capability: 5.3\nKilled\n"
    )
    assert "on a Jetson the GPU uses the same RAM" in pipeline.explain(told).verdict


def test_words_round_a_log_of_one_container_do_not_hide_its_failure() -> None:
    """The log's lines have the container's name in front, the writer's words have none."""
    failed = "trainer-1  | Error while creating shared memory segment /dev/shm/nccl-a1 (size 9637888)"
    told = read(f"It is fine on the machine itself:\n\n{failed}\n\nAny idea?")
    assert told.surroundings.elsewhere
    assert not read("trainer-1  | epoch 3\n\nAny idea?").surroundings.elsewhere


SUPERVISED = (
    "heroku[web.1]: Error R10 (Boot timeout) -> Web process failed to bind to $PORT within 60 seconds",
    "  Normal   Killing    3m5s   kubelet  Container app failed liveness probe, will be restarted",
    "[2024-05-01 10:00:31 +0000] [7] [CRITICAL] WORKER TIMEOUT (pid:9)",
    "slurmstepd: error: *** JOB 4711 ON node01 CANCELLED AT 2024-03-01T10:11:12 DUE TO TIME LIMIT ***",
)
ENDED = "Worker (pid:9) was sent SIGKILL! Perhaps out of memory?\nProcess exited with status 137\n"


@pytest.mark.parametrize("reason", SUPERVISED)
def test_who_says_why_it_ended_a_process_is_believed(reason: str) -> None:
    report = pipeline.explain(f"Using TensorFlow backend.\n{reason}\n{ENDED}")
    assert "no lack of memory" in report.verdict.lower()
    assert not report.case.moments


@pytest.mark.parametrize("reason", SUPERVISED)
@pytest.mark.parametrize(
    "memory",
    [
        "heroku[web.1]: Error R15 (Memory quota vastly exceeded)",
        "    Reason: OOMKilled",
        "We ran out of RAM.",
    ],
)
def test_a_lack_of_memory_that_is_told_beside_it_goes_before(reason: str, memory: str) -> None:
    capture = read(f"{memory}\n{reason}\n{ENDED}")
    assert capture.incidents
    assert not capture.surroundings.elsewhere


def test_a_guess_of_the_server_names_no_reason() -> None:
    report = pipeline.explain(f"Using TensorFlow backend.\n{ENDED}")
    assert "most likely" in report.verdict


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The Pallas kernel runs out of memory: its tiles exceed the static shared memory of a block.", True),
        ("The Pallas kernel runs out of GPU memory; it does not use static shared memory.", False),
    ],
)
def test_a_kernels_memory_in_words_is_no_device_memory(said: str, told: bool) -> None:
    assert any("shared memory than one core" in what for what, _ in read(said).surroundings.elsewhere) is told


COPIED = (
    "InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to"
    " /job:localhost/replica:0/task:0/device:GPU:0 in order to run _EagerConst: {reason}"
)


@pytest.mark.parametrize(
    "line",
    [
        COPIED.format(reason="CUDA error: CUDA_ERROR_ASSERT: device-side assert triggered"),
        COPIED.format(reason="CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"),
        "failed to alloc 4096 bytes on host: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
        "could not create cudnn handle: cudaErrorAssert",
    ],
)
def test_a_reason_that_the_message_states_outranks_its_head(line: str) -> None:
    capture = read(line)
    assert not capture.incidents
    assert capture.surroundings.elsewhere


@pytest.mark.parametrize(
    "line",
    [
        COPIED.format(reason="Dst tensor is not initialized."),
        COPIED.format(reason="CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        "failed to alloc 4096 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED",
    ],
)
def test_a_reason_of_memory_leaves_the_failure_what_it_is(line: str) -> None:
    assert read(line).incidents


SYSTEM_ERROR = "  (0) Internal:  NCCL: unhandled system error. Set NCCL_DEBUG=WARN for detail."


def test_prose_about_a_log_of_nccl_is_no_message_of_the_driver() -> None:
    capture = read(
        f"{SYSTEM_ERROR}\n\nThe NCCL_DEBUG output says something of out of memory, see the picture."
    )
    assert not capture.incidents
    assert capture.surroundings.elsewhere


@pytest.mark.parametrize(
    "line",
    [
        "node1:77:99 [0] NCCL WARN Cuda failure 'out of memory'",
        "NCCL: unhandled cuda error: out of memory",
        "NCCL operation ncclInit failed: unhandled system error. Last NCCL warning 'Cuda failure 2 'out of"
        " memory''.",
    ],
)
def test_nccl_s_own_lines_of_a_full_device_stay_failures(line: str) -> None:
    capture = read(line)
    assert capture.incidents
    assert not capture.surroundings.elsewhere
