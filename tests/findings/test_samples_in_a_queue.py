"""Queues of TensorFlow 1 that hold decoded elements: by the graph, by the program, by the op that failed."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, MIB, dump_by_size, oom
from tests.findings.pages import explained
from tfmemlens import findings, pipeline
from tfmemlens.knowledge.input_queues import OF_A_QUEUE, QUEUE_CALL
from tfmemlens.model.finding import Finding
from tfmemlens.model.graph import Graph, Node
from tfmemlens.values import replace

EACH = 96 * 96 * 3 * 4
HOST = "bfc_cpu_allocator_for_gpu"
POOL = (
    "FEW = 3000\nMOST = FEW + 200\n"
    "leaf, kind = tf.train.shuffle_batch([leaf, kind], batch_size=20, capacity=MOST,"
    " min_after_dequeue=FEW, name='leaves')\n"
)


def held(count: int = 1800, each: int = EACH, shape: str = "20,96,96,3", node: str = "leaves") -> str:
    failed = oom(shape, node, on=CPU, by=HOST)
    request = 20 * EACH if shape.startswith("20") else EACH
    return dump_by_size(request, 300, (count, each), (1, 2 * MIB), allocator=HOST) + failed


def found(text: str, rule: str = "samples-in-a-queue") -> Finding | None:
    return next((each for each in explained(text).findings if each.rule == rule), None)


def test_a_pool_that_the_program_bounds() -> None:
    told = found(POOL + held())
    assert told is not None and told.explains == 1800 * EACH
    because = told.because or ""
    assert "the queue of `shuffle_batch` (line 3) most likely keeps 1,800 elements [96,96,3]" in because
    assert "no batch before it has `FEW` = 3,000, 316.41 MiB" in because
    first = told.remedies[0]
    assert "`FEW` (line 1) 3,000 -> 700" in first.text and "`MOST` 3,200 -> 780" in first.text
    assert first.code == "shuffle_batch(..., capacity=780, min_after_dequeue=700)"
    report = explained(POOL + held())
    assert found(POOL + held(), "equal-chunks") is None
    assert [each.remedy.slug for each in report.actions] == ["smaller-queues", "shuffle-files"]
    assert "recurrent" not in (report.verdict or "")


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        (POOL.replace("3000", "900") + held(), False),  # no room for so many
        (POOL.replace("3000", "1500") + held(), True),
        (POOL + held().replace(CPU, CPU.replace("CPU", "GPU")), False),
        (
            POOL.replace("tf.train.shuffle_batch", "shuffled").replace("min_after_dequeue", "few") + held(),
            False,
        ),
        ("ds = ds.batch(20)\n" + held(), False),
        ("x = tf.train.batch([x], 20, 4, 4000)\n" + held(), True),
        ("q = tf.FIFOQueue(4000, tf.float32)\n" + held(node="net/conv/Conv2D"), True),
        ("q = tf.FIFOQueue(40, tf.float32)\n" + held(node="net/conv/Conv2D"), False),
        ("q = tf.FIFOQueue(size(), tf.float32)\n" + held(node="net/conv/Conv2D"), False),  # nobody knows
        ("q = tf.FIFOQueue(4000, tf.float32)\n" + held(60, 2 * MIB, node="net/conv/Conv2D"), False),
        (held(node="read/random_shuffle_queue_DequeueMany"), True),  # the op alone
        (held(12, 20 * MIB, node="read/random_shuffle_queue_DequeueMany"), False),
        (held(node="read/decode/Cast"), False),
    ],
)
def test_where_a_queue_holds_the_blocks(text: str, fires: bool) -> None:
    assert (found(text) is not None) is fires


def test_samples_of_a_dequeue_are_no_steps_of_a_sequence() -> None:
    for node in ("read/fifo_queue_DequeueMany", "rnn/while/concat"):
        text = dump_by_size(20 * EACH, 300, (60, EACH), (1, 200 * MIB), allocator=HOST)
        told = found(text + oom("20,96,96,3", node, on=CPU, by=HOST), "equal-chunks")
        assert told is None or "recurrent" not in (told.because or "") or "rnn" in node


@pytest.mark.parametrize(
    ("code", "name", "bound"),
    [
        ("", "the queue `intake/leaves` keeps 1,700", "before it has 3,000, 316.41 MiB"),
        (POOL, "the queue `intake/leaves` (line 3) keeps 1,700", "before it has `FEW` = 3,000, 316.41 MiB"),
        ("x = read()\n", "the queue `intake/leaves` keeps 1,700", "before it has 3,000, 316.41 MiB"),
    ],
)
def test_a_queue_of_the_recorded_graph(code: str, name: str, bound: str) -> None:
    told = {"capacity": 3200, "min_after_dequeue": 3000, "component_types": ("float32",)}
    pool = Node(
        "intake/leaves/random_shuffle_queue",
        "RandomShuffleQueueV2",
        attributes={**told, "shapes": ((96, 96, 3),)},
    )
    text = code + held(1700, node="intake/decode/Cast", shape="96,96,3")
    capture = replace(pipeline.capture(text), graph=Graph({pool.name: pool}))
    report = findings.examine(pipeline.case(capture))
    found = next(each for each in report.findings if each.rule == "samples-in-a-queue")
    assert name in (found.because or "") and bound in (found.because or "")
    assert "most likely" not in (found.because or "")


def test_who_holds_it_comes_before_what_merely_failed_last() -> None:
    said = explained(POOL + held()).verdict
    assert said.startswith("Out of memory: the queue of `shuffle_batch` (line 3) most likely keeps 1,800")
    assert said.endswith("; what failed is small: [20,96,96,3] float32 (2.11 MiB), in `leaves`.")
    large = POOL + held().replace("20,96,96,3", "300,96,96,3").replace(str(20 * EACH), str(300 * EACH))
    assert explained(large).verdict.startswith("Out of memory in `leaves` while allocating [300,96,96,3]")


def test_names_of_queues() -> None:
    assert QUEUE_CALL.search("a = tf.compat.v1.train.batch([a], 8)")
    assert QUEUE_CALL.search("b = tf.train.shuffle_batch_join(parts, 8, 900, 700)")
    assert not QUEUE_CALL.search("ds = ds.batch(8)")
    assert not QUEUE_CALL.search("work = queue.Queue(8)")
    assert OF_A_QUEUE.search("QueueDequeueManyV2") and OF_A_QUEUE.search("read/fifo_queue_enqueue")
    assert not OF_A_QUEUE.search("moco/queue/concat")


BATCH = 32 * 80 * 80 * 3 * 4
READY = "READY = 300\nBATCH = 32\nds = ds.map(grow).batch(BATCH)\nds = ds.prefetch(READY)\n"


def waiting(
    count: int = 60, each: int = BATCH, shape: str = "32,40,40,16", need: int = 32 * 40 * 40 * 16 * 4
) -> str:
    text = dump_by_size(need, 300, (count, each), (1, 9 * MIB), allocator=HOST)
    return text + oom(shape, "net/wings/Relu", on=CPU, by=HOST)


def test_batches_that_prefetch_keeps_ready() -> None:
    told = found(READY + waiting())
    assert told is not None and told.explains == 60 * BATCH
    assert (told.because or "").startswith(
        "`prefetch(READY)` (line 4) most likely keeps 60 ready batches of 2.34 MiB"
    )
    assert "it may take `READY` = 300, 703.12 MiB" in (told.because or "")
    report = explained(READY + waiting())
    first = report.actions[0].remedy
    assert first.slug == "smaller-queues" and "`READY` (line 1) 300 -> 2" in first.text
    assert not any(each.remedy.slug == "smaller-batch" for each in report.actions)


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        (READY.replace("300", "300  # ready") + waiting(), True),
        (READY.replace("(READY)", "(200)") + waiting(), True),
        (READY.replace("(READY)", "(buffer_size=READY)") + waiting(), True),
        (READY.replace("300", "20") + waiting(), False),  # no room for so many
        (READY.replace("(READY)", "(tf.data.AUTOTUNE)") + waiting(), False),
        (READY + "READY = 2\n" + waiting(), False),  # nobody knows which
        (READY + waiting(30), False),  # as many layers
        (READY + waiting(60, 32 * 40 * 40 * 16 * 4), False),  # outputs of layers, as the one that failed
        (READY + waiting().replace(CPU, CPU.replace("CPU", "GPU")), False),
    ],
)
def test_where_prefetch_holds_the_blocks(text: str, fires: bool) -> None:
    assert (found(text) is not None) is fires
