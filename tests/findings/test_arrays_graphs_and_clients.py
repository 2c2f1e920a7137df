"""What a sentence of another kind, beside the message, says of it: empty arrays, several graphs, a client."""

from __future__ import annotations

import pytest

from tests.findings.test_what_is_no_batch import explained
from tfmemlens.model.finding import Finding


def found(text: str, rule: str) -> list[Finding]:
    return [each for each in explained(text).findings if each.rule == rule]


HEAD = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.50GiB.  Current allocation summary follows."
)


@pytest.mark.parametrize(
    ("shapes", "empty"),
    [("[3] vs. [0]", True), ("[0,8] vs. [16,8]", True), ("[3] vs. [10]", False), ("[20,1] vs. [20]", False)],
)
def test_an_array_without_rows_is_mended_first(shapes: str, empty: bool) -> None:
    text = f"now and then: {HEAD}\nelse: InvalidArgumentError: Incompatible shapes: {shapes}\n"
    told = found(text, "an-empty-array")
    assert bool(told) is empty
    if empty:
        assert "line 2 shows an array without rows" in told[0].because
        assert "print(x.shape" in (told[0].remedies[0].code or "")


def test_a_request_with_a_shape_of_its_own_is_no_matter_of_empty_arrays() -> None:
    text = "OOM when allocating tensor with shape[64,512] and type float\nIncompatible shapes: [3] vs. [0]"
    assert found(text, "an-empty-array") == []


def test_a_program_in_cpp_is_given_no_python() -> None:
    text = f"TF_CHECK_OK(session.Run({{}}, {{y}}, nullptr));\n{HEAD}\nIncompatible shapes: [3] vs. [0]"
    assert found(text, "an-empty-array")[0].remedies[0].code is None


GRAPHS = "Our graph network {}.\nOOM when allocating tensor with shape[6000000,128] and type float on CPU:0"


@pytest.mark.parametrize(
    "words", ["learns from a set of graphs", "has 3,000 small graphs", "sees each graph once"]
)
def test_many_graphs_are_a_batch(words: str) -> None:
    told = found(GRAPHS.format(words), "whole-graph-at-once")[0]
    assert "all graphs of a batch (line 1 has several)" in told.because and "no batch" not in told.because
    assert told.remedies[0].slug == "smaller-graph-batch"


def test_one_graph_has_no_batch() -> None:
    told = found(GRAPHS.format("works on the graph of a town"), "whole-graph-at-once")[0]
    assert "the whole graph at once" in told.because and "no batch to halve" in told.because
    assert "smaller-graph-batch" not in [each.slug for each in told.remedies]


SERVED = (
    "tensorflow/serving:2.3.0-gpu answers.\n{}\n"
    "terminate called after throwing an instance of 'std::bad_alloc'"
)


def test_where_the_client_dies_nothing_is_changed_at_the_server() -> None:
    told = found(SERVED.format("The error comes up in our client, with 300 rows."), "host-memory")[0]
    assert "line 2 says that it is the client that fails" in told.because
    assert [each.slug for each in told.remedies] == ["watch-the-client", "smaller-requests"]
    assert not any(each.code and "max_batch_size" in each.code for each in told.remedies)


def test_a_client_that_only_asks_is_not_the_one_that_dies() -> None:
    told = found(SERVED.format("Our client sends 300 rows, then the server ends."), "host-memory")[0]
    assert "watch-the-client" not in [each.slug for each in told.remedies]


def test_a_square_of_very_many_rows_is_no_weight_and_no_batch() -> None:
    text = "  model.fit(a, y)\nOOM when allocating tensor with shape[150000,150000] and type float on GPU:0"
    assert found(text, "matrix-without-a-name") == []
    actions = [action.remedy.slug for action in explained(text).actions]
    assert actions[0] == "sparse-product" and "smaller-batch" not in actions


def test_the_largest_blocks_of_a_cut_summary_stand_in_the_list() -> None:
    at = "I tensorflow/core/common_runtime/bfc_allocator.cc:665] Chunk at 0x10000000000 of size {}"
    summed = "I tensorflow/core/common_runtime/bfc_allocator.cc:674] 7 Chunks of size 256 totalling 1.8KiB"
    listed = "\n".join(at.format(size) for size in (3_000_000_000, 4_194_304, 4_194_304))
    told = found(f"{listed}\n{summed}", "one-chunk-dominates")
    assert "one block of 2.79 GiB" in told[0].because and "of this part of a dump" in told[0].because


def test_a_heading_of_another_message_is_no_failure_of_its_own() -> None:
    text = (
        "RESOURCE_EXHAUSTED: failed to allocate memory\n"
        "2022-02-11 12:56:32.748705: I tensorflow/stream_executor/cuda/cuda_driver.cc:739] failed to allocate"
        " 12.00M (12582912 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
        "2022-02-11 12:56:42.781230: W tensorflow/core/common_runtime/bfc_allocator.cc:462]"
        " Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.00MiB (rounded to 3145728)requested by"
        " op AddV2\n"
    )
    report = explained(text)
    assert len(report.case.moments) == 1
    told = [each for each in report.findings if each.rule == "request-alone"]
    assert "the driver refused even 12.00 MiB more (line 2)" in told[0].because


def test_a_bar_that_shows_room_is_of_an_array_larger_than_that() -> None:
    at = "I tensorflow/core/common_runtime/bfc_allocator.cc:{}] "
    bar = f"{at.format(1010)}BFCAllocator dump for GPU_0_bfc\n{at.format(474)}{40 * '*'}{60 * '_'}"
    full = bar.replace("_" * 60, "*" * 60)
    said = "InternalError: Dst tensor is not initialized."
    assert "about 40 % of the pool" in found(f"{bar}\n{said}", "failure-in-disguise")[0].because
    assert "the device was full" in found(f"{full}\n{said}", "failure-in-disguise")[0].because


def test_a_gpu_of_unknown_size_has_more_than_next_to_nothing() -> None:
    made = (
        "I tensorflow/core/common_runtime/gpu/gpu_device.cc:1241] Created TensorFlow device"
        " (/job:localhost/replica:0/task:0/device:GPU:0 with {} MB memory) -> physical GPU (device: 0, name:"
        " GeForce GTX 650, pci bus id: 0000:01:00.0, compute capability: 6.1)\n"
        "Non-OK-status: GpuLaunchKernel(FillKernel, 1, 1, 0) status: Internal: out of memory"
    )
    told = found(made.format(30), "device-held-by-others")
    assert "got only 30.00 MiB of this GPU (GeForce GTX 650)" in told[0].because
    assert found(made.format(600), "device-held-by-others") == []


@pytest.mark.parametrize("end", ["exit with status code 247", "exited with code 247"])
def test_the_status_of_a_kill_is_known_in_eight_bits(end: str) -> None:
    assert found(f"Process 4 {end}", "host-memory")


JETSON = (
    "on a Jetson Nano\nW tensorflow/core/framework/op_kernel.cc:1401] OP_REQUIRES failed at {} :"
    " Resource exhausted: "
)
REFUSED = "OOM when allocating tensor with shape[4,32,240,320] and type float on GPU:0 by allocator GPU_0_bfc"


@pytest.mark.parametrize(
    ("kernel", "slug"),
    [("conv_grad_input_ops.cc:1069", "train-elsewhere"), ("conv_ops.cc:693", "smaller-model")],
)
def test_a_board_that_trains_is_not_told_to_convert_its_model(kernel: str, slug: str) -> None:
    told = found(JETSON.format(kernel) + REFUSED, "shared-memory-board")[0]
    assert told.remedies[1].slug == slug


def test_a_refused_process_of_a_program_that_leaks() -> None:
    told = found("Our program is leaking memory.\nOSError: [Errno 12] Cannot allocate memory", "host-memory")[
        0
    ]
    assert "line 1 says that it grows" in told.because
    plain = found("We start it twice.\nOSError: [Errno 12] Cannot allocate memory", "host-memory")[0]
    assert "grows" not in plain.because


def test_a_hint_and_a_verdict_are_no_two_ways_to_run_it() -> None:
    text = (
        "OOM when allocating tensor with shape[64,512,512] and type float\n"
        "Hint: If you want to see a list of allocated tensors when OOM happens, add"
        " report_tensor_allocations_upon_oom to RunOptions for current allocation info.\n\n"
        "It is an OOM error and not a problem of our layer.\n"
    )
    assert found(text, "tests-of-the-writer") == []


def test_a_question_about_the_batch_sets_none() -> None:
    told = explained("Do you use a batch size 5000?\n" + REFUSED).case.capture.surroundings
    assert told.setting("batch_size") is None


def test_a_log_comes_before_the_heading_that_names_another_tensor() -> None:
    text = (
        "Our server fails with OOM when allocating tensor with shape[1024]\n"
        "Stats:\nLimit:                  4000000000\nInUse:                  3999990000\n"
        "MaxInUse:               3999990000\nNumAllocs:                    9000\n"
        "MaxAllocSize:            200000000\n"
        "W tensorflow/core/common_runtime/bfc_allocator.cc:275] " + 100 * "*" + "\n"
        "W tensorflow/core/framework/op_kernel.cc:1273] OP_REQUIRES failed at cwise_ops_common.cc:70 :"
        " Resource exhausted: OOM when allocating tensor with shape[1,200,100,8] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    request = explained(text).case.moments[0].request
    assert request is not None and request.failed.shape == (1, 200, 100, 8)


@pytest.mark.parametrize(("rows", "own"), [("30000,16,90,90", False), ("300,16,90,90", True)])
def test_a_request_above_the_whole_gpu_is_no_matter_of_a_part(rows: str, own: bool) -> None:
    text = (
        "on a GPU card with 8GB of memory\nconfig.gpu_options.per_process_gpu_memory_fraction = 0.3\n"
        f"Resource exhausted: OOM when allocating tensor with shape[{rows}]"
    )
    assert bool(found(text, "limit-of-your-own")) is own


STEP_OF_KERAS = """\
  File "/env/site-packages/keras/engine/training_generator.py", line 217, in {call}
    class_weight=class_weight)
  File "/env/site-packages/tensorflow/python/client/session.py", line 1439, in __call__
    run_metadata_ptr)
tensorflow.python.framework.errors_impl.InternalError: Dst tensor is not initialized.
     [[{{{{node {node}}}}}]]
"""


@pytest.mark.parametrize(
    ("call", "node", "smaller"),
    [
        ("fit_generator", "conv_7/kernel/read", True),
        ("predict_generator", "conv_7/kernel/read", False),
    ],
)
def test_a_weight_without_room_in_a_training_step_asks_for_a_smaller_batch(call, node, smaller) -> None:
    report = explained("Traceback (most recent call last):\n" + STEP_OF_KERAS.format(call=call, node=node))
    found = [action.remedy.slug for action in report.actions]
    assert ("smaller-batch" in found) is smaller
    assert ("growth" in found) is not smaller
