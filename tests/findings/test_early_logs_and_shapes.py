"""Logs and shapes of early releases: cut warnings, matrices of a vocabulary, maps of one sample."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

WARNING = (
    "2020-11-05 08:14:09.101: W tensorflow/core/common_runtime/bfc_allocator.cc:239] Allocator (GPU_0_bfc)"
    " ran out of memory trying to allocate {size}"
)
WHOLE = (
    " with freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could"
    " be performance gains if more memory were available."
)


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join((*lines, "")))


def advice(report: Report) -> list[str]:
    return [remedy.text for finding in report.findings for remedy in finding.remedies]


@pytest.mark.parametrize("end", ["", ".5", ".5MiB", ".5MiB with", ".5MiB with freed_b"])
def test_the_cut_last_line_of_a_row_of_warnings_is_no_failure(end: str) -> None:
    report = explained(WARNING.format(size="1.20GiB") + WHOLE, WARNING.format(size="310" + end))
    assert "no failure" in report.verdict
    assert not any("smaller batch" in text for text in advice(report))


@pytest.mark.parametrize("before", [(), (WARNING.format(size="1.20GiB") + WHOLE,)])
def test_a_failure_whose_dump_is_cut_stays_one(before: tuple[str, ...]) -> None:
    head = WARNING.format(size="310.5MiB") + ".  Current allocation summary follows."
    assert "Out of memory while allocating about 310.50 MiB" in explained(*before, head).verdict


def test_a_heading_over_warnings_alone_asks_how_it_went_on() -> None:
    first = advice(explained("# GPU out of memory", "", WARNING.format(size="1.20GiB") + WHOLE))[0]
    assert first.startswith("if the program goes on after these warnings, let them be")


def test_words_that_a_program_crashed_are_more_than_a_heading() -> None:
    crashed = "It crashes, since the GPU is out of memory at the first epoch."
    first = advice(explained(crashed, "", WARNING.format(size="1.20GiB") + WHOLE))[0]
    assert "let them be" not in first


def message(shape: str, node: str = "", dtype: str = "") -> str:
    named = f"\n\t [[Node: {node} = {node.rpartition('/')[2]}[T=DT_FLOAT](x)]]" if node else ""
    of_type = f" and type {dtype} on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    return (
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
        f" shape{shape}{of_type if dtype else ''}{named}"
    )


@pytest.mark.parametrize("shape", ["[1,1,90000,256]", "[1,120000,1,64]"])
def test_one_long_sample_is_no_kernel(shape: str) -> None:
    report = explained(message(shape))
    assert "one sample of" in report.verdict
    assert "steps with" in report.verdict
    assert "shorter pieces" in advice(report)[0]


@pytest.mark.parametrize("shape", ["[1,1,8192,2048]", "[3,3,512,1024]"])
def test_a_kernel_with_as_many_inputs_as_layers_have_stays_one(shape: str) -> None:
    assert "a convolution's kernel" in explained(message(shape)).verdict


@pytest.mark.parametrize("shape", ["[2,1,90000,256]", "[1,1,2000,1900]", "[1,1,90000,4]"])
def test_what_is_no_long_sample(shape: str) -> None:
    assert "steps with" not in explained(message(shape)).verdict


def test_what_a_dilated_convolution_folds_back_has_its_batch_first() -> None:
    node = "resnet_v1_101/block3/unit_2/bottleneck_v1/conv2/BatchToSpaceND"
    assert "the batch is 1 already" in advice(explained(message("[1,64,96,256]", node)))[0]
    assert "(6 -> 3)" in advice(explained(message("[6,64,96,256]", node)))[0]


def test_the_pieces_of_a_dilated_convolution_are_no_batch() -> None:
    node = "resnet_v1_101/block3/unit_2/bottleneck_v1/conv2/SpaceToBatchND"
    assert not any("(4 -> 2)" in text for text in advice(explained(message("[4,34,50,256]", node))))


def test_units_by_far_more_words_are_told_as_an_output_layers_weight() -> None:
    report = explained(message("[1024,90007]"))
    assert "1,024 units x 90,007 words or classes" in report.verdict
    assert advice(report)[0].startswith("make the 90,007 words or classes fewer")
    assert not any("batch" in text for text in advice(report)[:1])


@pytest.mark.parametrize("shape", ["[1000,60013]", "[48,90007]", "[12800,90007]"])
def test_rows_that_no_layer_has_as_units_are_positions(shape: str) -> None:
    assert "the weight of an output layer" not in explained(message(shape)).verdict


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("[37,64,90007]", "most likely 64 here (64 -> 32), or a cap on the length, now 37"),
        ("[16,45,90007]", "most likely 16 here (16 -> 8), or a cap on the length, now 45"),
        ("[32,64,90007]", "32 and 64 count them"),
    ],
)
def test_samples_and_steps_of_logits_are_told_apart_by_what_is_round(shape: str, said: str) -> None:
    assert any(said in text for text in advice(explained(message(shape))))


def test_the_gradient_of_an_output_projection_asks_for_fewer_words() -> None:
    node = "gradients/decoder/output_projection/MatMul_grad/MatMul_1"
    report = explained(message("[512,70003]", node, "float"))
    assert "512 units x most likely 70,003 words" in report.verdict
    assert advice(report)[0].startswith("make the 70,003 words or classes fewer")


def test_the_gradient_of_a_layer_behind_flatten_asks_for_no_fewer_words() -> None:
    node = "gradients/classifier/fc1/MatMul_grad/MatMul_1"
    texts = advice(explained(message("[100352,2048]", node, "float")))
    assert not any("words or classes fewer" in text for text in texts)


def test_blocks_as_large_as_the_request_are_read_from_the_bins() -> None:
    logged = "2019-03-11 09:52:53.5: I tensorflow/core/common_runtime/bfc_allocator.cc:597] Bin ("
    lines = (
        message("[2048,400001]", dtype="float"),
        f"{logged}134217728): \tTotal Chunks: 0, Chunks in use: 0. 0B allocated for chunks. 0B in use in bin."
        " 0B client-requested in use in bin.",
        f"{logged}268435456): \tTotal Chunks: 2, Chunks in use: 2. 6.10GiB allocated for chunks. 6.10GiB in"
        " use in bin. 6.10GiB client-requested in use in bin.",
    )
    assert "2 blocks as large are in use already (line 3)" in explained(*lines).verdict


@pytest.mark.parametrize(("shape", "batch"), [("[96,3,128,128]", 96), ("[40,64,64,3]", 40)])
def test_pictures_have_their_batch_first_whatever_made_them(shape: str, batch: int) -> None:
    first = advice(explained(message(shape, "aug/Transpose", "float")))[0]
    assert f"({batch} -> {batch // 2})" in first


@pytest.mark.parametrize("shape", ["[64,3,7,7]", "[3,3,128,256]", "[24,5,128,128]"])
def test_what_is_no_picture_has_no_batch_by_its_colours(shape: str) -> None:
    (request,) = (each.request for each in explained(message(shape, "aug/Foo", "float")).case.moments)
    assert request is not None
    assert request.batch is None


def rows_of_equal_blocks(at: int) -> tuple[str, ...]:
    prefix = f"I tensorflow/core/common_runtime/bfc_allocator.cc:{at}] "
    return (
        f"{prefix}31 Chunks of size 2097152 totalling 62.00MiB",
        f"{prefix}180 Chunks of size 4194304 totalling 720.00MiB",
    )


def test_equal_blocks_of_a_session_belong_to_one_step() -> None:
    report = explained("# ResourceExhaustedError", "", *rows_of_equal_blocks(696))
    assert report.case.api.newest == (1, 13)
    assert "in one step" in report.verdict
    assert advice(report)[0].startswith("make one step smaller")
    assert not any("list" in text for text in advice(report)[:1])


def test_equal_blocks_of_a_later_release_may_be_kept_by_a_list() -> None:
    report = explained("# ResourceExhaustedError", "", *rows_of_equal_blocks(1098))
    assert "in one step" not in report.verdict
    assert "a list keeps tensors" in advice(report)[0]


BLOCK = "I tensorflow/core/common_runtime/bfc_allocator.cc:696] 1 Chunks of size 6442450944 totalling 6.00GiB"
TRIED = "I tried to decrease the batch size, but even with a batch size of {} I get the same error."


def test_a_block_that_stayed_with_few_samples_gets_no_advice_to_halve_them() -> None:
    report = explained("# Out of memory", "", BLOCK, "", TRIED.format(4))
    assert "the text quotes no other block of the dump" in report.verdict
    assert "at any batch (line 5)" in advice(report)[0]
    assert not any("halve the batch" in text for text in advice(report))
    assert not any(action.remedy.slug == "smaller-batch" for action in report.actions)


def test_a_batch_that_is_still_large_may_be_lowered_last() -> None:
    report = explained("# Out of memory", "", BLOCK, "", TRIED.format(64))
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs.index("smaller-batch") == len(slugs) - 1


HEAD = (
    "2019-04-03 16:43:30.8: W tensorflow/core/common_runtime/bfc_allocator.cc:275] Allocator (GPU_0_bfc) ran"
    " out of memory trying to allocate 300.00MiB.  Current allocation summary follows."
)


def test_a_cut_dump_beside_a_batch_of_one_asks_for_no_smaller_one() -> None:
    texts = advice(explained("We train the graph with batch 1 on several GPUs", "", HEAD))
    assert texts[0].startswith("the batch is 1 already")
    assert not any("need less in all: a smaller batch" in text for text in texts)


@pytest.mark.parametrize(
    "said", ["We train with batch 12", "with a batch of 1 it works", "with batch 1.5 times as large"]
)
def test_other_batches_are_no_batch_of_one(said: str) -> None:
    assert explained(said, "", HEAD).case.capture.surroundings.shows("a batch of one") is None


def test_a_message_without_a_size_says_that_an_evaluation_failed() -> None:
    report = explained(
        "Traceback (most recent call last):",
        '  File "trainer.py", line 196, in run',
        "    feed_dict=val_feed)",
        '  File "/usr/lib/python3.6/site-packages/tensorflow/python/client/session.py", line 950, in run',
        "    run_metadata_ptr)",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: 2 root error(s) found.",
    )
    assert "it failed in evaluation" in report.verdict
    assert advice(report)[0].startswith("use a smaller batch for evaluation alone")


def test_the_first_dense_layer_of_vgg_asks_for_another_backbone() -> None:
    assert "ResNet" in advice(explained(message("[25088,4096]")))[0]
    assert "ResNet" not in advice(explained(message("[25088,512]")))[0]
