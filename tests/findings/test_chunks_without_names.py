"""What a dump's chunks tell without names: one huge chunk, a copied data set, a pipeline's elements, XLA."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, MIB, dump, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding, Severity
from tfmemlens.model.report import Report

NAME = "bfc_cpu_allocator_for_gpu"


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def finding(text: str, rule: str) -> Finding | None:
    return next((each for each in explained(text).findings if each.rule == rule), None)


def chunks(request: int, *sizes: tuple[int, int], op: str = "net/op", kept: int = 0, limit: int = 0) -> str:
    """A dump of TensorFlow 2.11 for a request of so many bytes, with (count, size in bytes) in use; `kept` is
    the limit's part that no chunk holds.
    """
    used = sum(count * size for count, size in sizes)
    limit = limit or used + kept
    lines = [
        f"Allocator ({NAME}) ran out of memory trying to allocate {request / MIB:.2f}MiB (rounded to"
        f" {request})requested by op {op}",
        f"BFCAllocator dump for {NAME}",
        f"Next region of size {used}",
        *(f"InUse at 7f0000000000 of size {size} next 1" for count, size in sizes for _ in range(count)),
        "     Summary of in-use Chunks by size: ",
        *(f"{count} Chunks of size {size} totalling {count * size / MIB:.2f}MiB" for count, size in sizes),
        f"Sum Total of in-use chunks: {used / MIB:.2f}MiB",
        f"total_region_allocated_bytes_: {used} memory_limit_: {limit} available bytes: {limit - used}"
        f" curr_region_allocation_bytes_: {2 * limit}",
        "Stats: ",
        f"Limit:  {limit}",
        f"InUse:  {used}",
        f"MaxInUse:  {used}",
        "",
    ]
    return "\n".join(lines)


def failing(shape: str, node: str, kernel: str = "") -> str:
    return oom(shape, node, on=CPU, by=NAME, kernel=kernel)


def test_one_huge_chunk_is_named_and_not_the_small_request() -> None:
    said = explained(chunks(4 * MIB, (1, 300 * MIB), (4, MIB)) + failing("1024,1024", "net/add")).verdict
    assert "one block of 300.00 MiB holds 99 %" in said
    assert "most likely" not in said


@pytest.mark.parametrize(
    "sizes",
    [
        ((1, 140 * MIB), (4, 40 * MIB)),  # less than half
        ((2, 150 * MIB),),  # two of a size
        ((1, 8 * MIB),),  # small
    ],
)
def test_other_chunks_are_no_huge_one(sizes: tuple[tuple[int, int], ...]) -> None:
    text = chunks(4 * MIB, *sizes) + failing("1024,1024", "net/add")
    assert finding(text, "one-chunk-dominates") is None


def test_a_request_nearly_as_large_is_itself_what_to_talk_of() -> None:
    text = chunks(200 * MIB, (1, 256 * MIB)) + failing("200,1024,256", "net/add")
    assert finding(text, "one-chunk-dominates") is None


def test_a_sum_tells_what_it_sums_up_only_where_one_shape_fits() -> None:
    unit = 6_000_000
    said = finding(
        chunks(6_000_128, (1, 64 * unit + 256)) + failing("1500000", "net/Sum"), "one-chunk-dominates"
    )
    # no figure of rounding in this dump: a chunk of this size may hold anything from 33 to 64 times the unit
    assert said is not None and "[1500000" not in said.because


def test_a_matrix_product_tells_the_width_of_its_matrix() -> None:
    width, rows = 150_000, 1024
    size = width * rows * 4
    text = chunks(4_800_000, (1, size), (1, 256)) + failing("150000,8", "net/MatMul")
    said = finding(text, "one-chunk-dominates")
    assert said is not None
    # without the books' rounding the chunk's tensor may be 128 MiB smaller: no count of rows is told
    assert "columns" not in said.because


def test_a_data_set_is_copied_beside_its_chunk() -> None:
    said = explained(chunks(192_000_000, (1, 256 * MIB), op="MakeIterator", kept=MIB)).verdict
    assert "a data set given as arrays" in said and "one block of 256.00 MiB" in said
    for other in (("net/MatMul", 256 * MIB), ("MakeIterator", 100 * MIB)):
        text = chunks(192_000_000, (1, other[1]), op=other[0], kept=MIB)
        assert finding(text, "data-set-as-constant") is None


WAITING = "\t [[{{node random_uniform/RandomUniform}}]]\n\t [[IteratorGetNext]]\n"
ELEMENTS = chunks(2 * MIB, (149, 2 * MIB), op="random_uniform/RandomUniform")


def test_elements_of_the_pipeline_are_no_weights() -> None:
    text = ELEMENTS + failing("64,64,64,2", "random_uniform/RandomUniform") + WAITING
    report = explained(text)
    assert "elements that the input pipeline keeps (shuffle buffer, cache() or prefetch)" in report.verdict
    assert "weights" not in report.verdict
    assert report.actions[0].remedy.slug == "smaller-pipeline"
    weights = ELEMENTS + failing("64,64,64,2", "random_uniform/RandomUniform")
    assert "pipeline" not in explained(weights).verdict


def test_the_log_names_the_buffer_of_the_pipeline() -> None:
    told = (
        "2024-01-01 10:00:00.000000: I tensorflow/core/kernels/data/shuffle_dataset_op.cc:392] Filling up"
        " shuffle buffer (this may take a while): 148 of 200\n"
    )
    text = told + ELEMENTS + failing("64,64,64,2", "random_uniform/RandomUniform") + WAITING
    assert "keeps (shuffle(buffer_size))" in explained(text).verdict


def test_xla_asked_tensorflows_allocator() -> None:
    need = 289_416_448
    ours = chunks(need, (2, 16 * MIB), op="", limit=260 * MIB)
    sentence = (
        "ResourceExhaustedError: Graph execution error:\n\nOut of memory while trying to allocate"
        f" {need} bytes.\n\t [[{{{{node StatefulPartitionedCall}}}}]] [Op:__inference_train_function_903]\n"
    )
    report = explained(ours + sentence)
    assert "XLA asked for all temporaries of a compiled function (jit_compile)" in report.verdict
    assert report.actions[0].remedy.slug == "without-xla"
    assert "XLA" not in explained(ours).verdict


def test_one_chunk_of_the_helper_is_one_chunk() -> None:
    said = finding(dump(1, 300, 299, op="net/Add"), "one-chunk-dominates")
    assert said is not None and said.explains == 299 * MIB


SETS = ((10, 15_000_064), (10, 5_000_192), (1, 29_216_256))
OF_WEIGHTS = "gradients/fc/MatMul_grad/MatMul_1"


def test_copies_of_a_set_are_told_by_equal_counts() -> None:
    said = finding(chunks(5_000_192, *SETS) + failing("500,2500", OF_WEIGHTS), "repeated-sets")
    assert said is not None and said.severity is Severity.CAUSE
    assert "about 10 copies of one set of tensors (14.31 MiB and 4.77 MiB)" in said.because
    assert "as large as weights" in said.because
    assert finding(chunks(5_000_192, *SETS) + failing("500,2500", "net/relu"), "repeated-sets") is None
    assert finding(chunks(4_000_000, *SETS) + failing("500,2000", OF_WEIGHTS), "repeated-sets") is None


@pytest.mark.parametrize(
    "sizes",
    [
        ((10, 15_000_064), (7, 5_000_192)),  # no multiple
        ((10, 15_000_064),),  # one size alone
        ((4, 15_000_064), (4, 5_000_192)),  # too few
        ((10, 15_000_064), (10, 5_000_192), (1, 250_000_128)),  # less than half
    ],
)
def test_other_counts_are_no_copies(sizes: tuple[tuple[int, int], ...]) -> None:
    text = chunks(5_000_192, *sizes) + failing("500,2500", OF_WEIGHTS)
    assert finding(text, "repeated-sets") is None


@pytest.mark.parametrize(("number", "told"), [(5, True), (1, False)])
def test_a_late_optimizer_tells_of_earlier_models(number: int, told: bool) -> None:
    text = chunks(5_000_192, *SETS) + failing("500,2500", f"adam_{number}/Square")
    said = finding(text, "repeated-sets")
    assert said is not None
    assert ("earlier models are kept" in said.because) == told


BUILT = "model/block_9/kernel/Initializer/random_uniform/RandomUniform"
STEPS = "".join(f"step {step} loss 0.5\n" for step in range(5))


@pytest.mark.parametrize(
    ("before", "op", "weights"),
    [
        ("", BUILT, True),
        (STEPS, BUILT, False),
        ("", "model/block_9/MatMul", False),
        ("", "gradients/model/block_9/MatMul_grad/MatMul_1", False),
    ],
)
def test_equal_blocks_while_a_model_is_built_are_weights(before: str, op: str, weights: bool) -> None:
    report = explained(before + chunks(16 * MIB, (118, 16 * MIB), op=op))
    told = next(finding for finding in report.findings if finding.rule == "equal-chunks")
    slugs = [remedy.slug for remedy in told.remedies]
    assert ("most likely weights or slots" in told.because) is weights
    assert ("drop-models" in slugs) is weights
    assert bool({"look-for-lists", "keep-numbers"} & set(slugs)) is not weights


BEATS = """import numpy as np, tensorflow as tf
beats = np.empty(({rows}, 1400), np.float32)
def train_input():
    ecg = {call}
    return tf.gather(ecg, tf.random.uniform([512], maxval={rows}, dtype=tf.int32))
"""


@pytest.mark.parametrize("call", ["tf.constant(beats)", "tf.data.Dataset.from_tensor_slices(beats)"])
def test_an_array_that_the_code_gives_whole_is_named_where_it_fits_the_one_huge_block(call: str) -> None:
    text = chunks(4 * MIB, (1, 256 * MIB), (4, MIB)) + failing("1024,1024", "net/add")
    report = explained(BEATS.format(rows=30000, call=call) + text)
    told = next(each for each in report.findings if each.rule == "data-set-as-constant")
    assert f"`{call}` (line 4)" in report.verdict and "160.22 MiB" in report.verdict
    assert "one-chunk-dominates" not in {each.rule for each in report.findings}
    assert report.actions[0].remedy.slug == "in-batches"
    assert "smaller-batch" not in {each.remedy.slug for each in report.actions}
    assert told.explains == 256 * MIB


@pytest.mark.parametrize(
    ("rows", "call"),
    [
        (60000, "tf.constant(beats)"),  # 320 MiB: larger than the block
        (20000, "tf.constant(beats)"),  # BFC would have cut 149 MiB off
        (30000, "tf.constant(beats[:8])"),  # a part of it
        (30000, "np.copy(beats)"),
    ],
)
def test_an_array_of_another_size_is_not(rows: int, call: str) -> None:
    text = chunks(4 * MIB, (1, 256 * MIB), (4, MIB)) + failing("1024,1024", "net/add")
    assert finding(BEATS.format(rows=rows, call=call) + text, "data-set-as-constant") is None


def test_the_line_that_gives_a_data_set_whole_stands_beside_its_failing_copy() -> None:
    code = BEATS.format(rows=30000, call="tf.data.Dataset.from_tensor_slices(beats)")
    text = chunks(168_000_000, (1, 256 * MIB), op="MakeIterator")
    told = finding(code + text, "data-set-as-constant")
    assert told and "from_tensor_slices(beats)` (line 4) gives whole" in (told.because or "")
    small = finding(code.replace("1400", "1000") + text, "data-set-as-constant")
    assert small and "most likely a data set given as arrays" in (small.because or "")


GROWS = """class Tracker(tf.keras.Model):
    def call(self, frames):
        past = tf.zeros([4, 1, 64])
        for t in tf.range(300):
            state = self.cell(frames[:, t], past)
            past = {joined}
        return state
"""


def stairs(turns: int, step: int = 16 << 10, first: int = 64 << 10, each: int = 1) -> str:
    sizes = [(each, first + step * turn) for turn in range(turns)]
    return chunks(256, *sizes, (8, 777 << 10)) + failing("4", "tracker/while/add")


@pytest.mark.parametrize("each", [1, 3])
def test_blocks_in_even_steps_are_versions_of_one_tensor_and_its_line_is_named(each: int) -> None:
    code = GROWS.format(joined="tf.concat([past, state[:, None]], axis=1)")
    report = explained(code + stairs(140, each=each))
    told = next(found for found in report.findings if found.rule == "growing-in-a-loop")
    assert f"about {140 * each} blocks of 64.0 KiB to 2.23 MiB in equal steps of 16.0 KiB" in report.verdict
    assert "every `past` that `past = tf.concat([past, state[:, None]], axis=1)` (line 6)" in report.verdict
    assert "turn by turn of the loop of line 4" in report.verdict
    assert told.explains == each * sum((64 << 10) + (16 << 10) * turn for turn in range(140))
    assert report.actions[0].remedy.slug == "ring-buffer"


@pytest.mark.parametrize(
    "text",
    [
        stairs(20),  # too few
        stairs(140, each=9),  # as many of each size as layers have
        stairs(140, step=512),  # lost to rounding
        chunks(256, *((1, (64 << 10) + 256 * turn * turn) for turn in range(8, 148))) + failing("4", "a/add"),
    ],
    ids=["few", "many of each", "small steps", "no even steps"],
)
def test_other_blocks_are_no_versions(text: str) -> None:
    assert finding(text, "growing-in-a-loop") is None


@pytest.mark.parametrize("joined", ["tf.concat([state, frames], 1)", "tf.add(past, state)"])
def test_another_line_is_not_named(joined: str) -> None:
    told = finding(GROWS.format(joined=joined) + stairs(140), "growing-in-a-loop")
    assert (
        told
        and told.because
        and "every version of a tensor that each turn of a loop makes longer" in told.because
    )
