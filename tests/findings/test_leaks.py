"""Memory that something keeps: by chunks of one size, by a loop, by a data set held twice."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, dump, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Basis, Finding, Severity

KIB = 1 << 10
LOOP = "rnn/while/cell/MatMul"
STEPS = "".join(f"step {number}: loss 0.5\n" for number in range(1, 9))


def chunks(*classes: tuple[int, int], request: int = 20, op: str = "net/dense/MatMul") -> str:
    """A full device of 400 MiB in which so many chunks have such sizes (bytes); one more holds the rest."""
    rest = 400 * MIB - sum(count * size for count, size in classes)
    summary = [
        f"{count} Chunks of size {size} totalling {count * size / MIB:.2f}MiB"
        for count, size in (*classes, (1, rest))
    ]
    return (
        dump(request, 400, 400, op=op)
        .replace(f"1 Chunks of size {400 * MIB} totalling 400.00MiB", "\n".join(summary))
        .replace("GPU_0_bfc", "bfc_cpu_allocator_for_gpu")
    )


def found(log: str, rule: str = "equal-chunks") -> Finding | None:
    return next((each for each in pipeline.explain(log).findings if each.rule == rule), None)


ALIVE = {
    "sizes of a loop, though none is the request's": chunks((1000, 128 * KIB), (30, 512 * KIB), op=LOOP),
    "one size, after steps that went well": STEPS + chunks((60, 4 * MIB)),
    "hundreds of one size, whatever else is known": chunks((500, 512 * KIB)),
    "the request's size": chunks((12, 20 * MIB)),
}
USERS = """Traceback (most recent call last):
  File "/home/u/a.py", line 14, in <module>
    %s
"""


def after(code: str, *classes: tuple[int, int]) -> str:
    """Chunks of such sizes, and an op that failed by itself in a line of the user's."""
    return (
        chunks(*classes)
        + USERS % code
        + (
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node"
            " __wrapped__MatMul_device_/job:localhost/replica:0/task:0/device:CPU:0}} OOM when allocating"
            " tensor with shape[5,1024,1024] and type float on /job:localhost/replica:0/task:0/device:CPU:0"
            " by allocator bfc_cpu_allocator_for_gpu [Op:MatMul]\n"
        )
    )


@pytest.mark.parametrize(
    ("code", "list_"),
    [
        ("kept.append(step(x))", "kept"),
        ("self.seen = self.seen + [y]", "self.seen"),
        ("outputs += [net(x)]", "outputs"),
        ("maps[key].append(y)", "maps"),
    ],
)
def test_the_line_that_adds_to_a_list_names_it(code: str, list_: str) -> None:
    kept = found(after(code, (12, 20 * MIB)))
    assert kept and kept.severity is Severity.CAUSE
    assert kept.because.endswith(f": the list `{list_}` keeps them")
    assert [remedy.slug for remedy in kept.remedies] == ["keep-numbers"]


@pytest.mark.parametrize("code", ["x = a + [1]", "total += y", "y = net(x)[0]"])
def test_other_lines_add_to_no_list(code: str) -> None:
    kept = found(after(code, (12, 20 * MIB)))
    assert kept is None or "the list" not in kept.because


def test_without_a_tape_the_program_keeps_results_of_several_sizes() -> None:
    sizes = [(30, 4 * MIB), (31, 3 * MIB), (29, 2 * MIB)]
    kept = found(after("maps = net(x)", *sizes))
    assert kept and kept.explains == sum(count * size for count, size in sizes)
    assert "the program keeps" in kept.because and kept.remedies[0].slug == "keep-numbers"
    assert found(after("loss = net(x)", *sizes)) is None, "a tape may keep these"


def test_so_many_chunks_for_so_few_steps_are_a_loops() -> None:
    many = chunks((20_000, 8 * KIB), (9000, 16 * KIB))
    kept = found(STEPS + many)
    assert kept and "the state that a loop keeps" in kept.because
    assert [remedy.slug for remedy in kept.remedies][:2] == ["compare-shapes", "truncate"]
    epochs = found(STEPS.replace("step", "epoch") + many)
    assert epochs is None or "a loop" not in epochs.because
    long = found(STEPS.replace("step 8", "step 800") + chunks((20_000, 12 * KIB)))
    assert long and "each step left one behind" in long.because


QUIET = {
    "few chunks in a loop": chunks((15, 16 * MIB), op=LOOP),
    "a loop that holds little": chunks((400, 256 * KIB), op=LOOP),
    "many of one size without a sign that something is left behind": chunks((99, 3 * MIB)),
    "few of one size after steps that went well": STEPS + chunks((15, 20 * MIB - 256)),
    "steps, but most is of other sizes": STEPS + chunks((60, 3 * MIB)),
}


@pytest.mark.parametrize("log", ALIVE.values(), ids=ALIVE)
def test_many_chunks_of_one_size_are_told(log: str) -> None:
    assert found(log)


@pytest.mark.parametrize("log", QUIET.values(), ids=QUIET)
def test_what_may_be_as_many_layers_is_not(log: str) -> None:
    assert found(log) is None


def test_all_sizes_of_a_loop_count() -> None:
    kept = found(chunks((1000, 128 * KIB), (80, 512 * KIB), op=LOOP))
    assert kept
    assert kept.explains == 165 * MIB
    assert kept.headline.startswith("1000 blocks of 128.0 KiB and 80 of 512.0 KiB are in use")
    assert kept.because.endswith("the state that a loop keeps of each iteration")


@pytest.mark.parametrize(("before", "basis"), [(STEPS, Basis.MEASURED), ("", Basis.NAME)])
def test_a_size_alone_is_weak_evidence_and_a_leak_with_steps_is_not(before: str, basis: Basis) -> None:
    kept = found(before + chunks((500, 512 * KIB)))
    assert kept
    assert kept.basis is basis


def test_a_leak_stands_above_the_op_that_failed() -> None:
    log = STEPS + chunks((60, 4 * MIB), request=64, op="scores/attention/MatMul")
    failed = oom("16,16,256,256", "scores/attention/MatMul").replace("GPU_0_bfc", "bfc_cpu_allocator_for_gpu")
    rules = [finding.rule for finding in pipeline.explain(log + failed).findings]
    assert rules.index("equal-chunks") < rules.index("attention-scores")


@pytest.mark.parametrize("op", ["MakeIterator", "SameWorkerRecvDone"])
def test_a_data_set_held_as_a_constant_is_told(op: str) -> None:
    held_twice = found(chunks((1, 150 * MIB), request=150, op=op), "data-set-as-constant")
    assert held_twice
    assert held_twice.explains == 300 * MIB


@pytest.mark.parametrize(
    "log",
    [
        chunks((1, 150 * MIB), request=150, op="net/dense/MatMul"),
        chunks((1, 150 * MIB), request=74, op="MakeIterator"),
    ],
    ids=["another op", "nothing of that size is held"],
)
def test_a_copy_of_something_else_is_not(log: str) -> None:
    assert found(log, "data-set-as-constant") is None


WARNED = "".join(
    f"WARNING:tensorflow:{times} out of the last {times} calls to <function reinforce.<locals>.learn at"
    " 0x7f6f0d4ce290> triggered tf.function retracing. Tracing is expensive.\n"
    for times in (5, 6)
)
"""As TF 2.11 warns: at the fifth tracing, once more at the sixth, and then never again of this function."""
WARNED_ONCE = WARNED.splitlines(keepends=True)[0]


def test_chunks_of_all_tracings_but_one_are_what_retracing_explains() -> None:
    finding = found(WARNED + chunks((9, 20 * MIB), (7, MIB)), "retraced-functions")
    assert finding
    assert (finding.severity, finding.explains) == (Severity.CAUSE, (8 * 20 + 6) * MIB)
    assert "`learn` is traced again and again (2 warnings, at least 6 tracings)" in finding.headline
    assert "9 blocks of 20.00 MiB are in use" in finding.headline


@pytest.mark.parametrize(
    "log",
    [
        WARNED_ONCE + chunks((9, 20 * MIB)),
        WARNED + chunks((5, 40 * MIB)),  # fewer chunks than tracings
        WARNED + chunks((6, 23 * MIB)),  # 115 of 400 MiB beyond the first
        WARNED + chunks((15_000, 15 * KIB)),  # too small to be told from anything else
        WARNED + oom("8,8"),
    ],
)
def test_retracing_without_its_chunks_stays_a_factor(log: str) -> None:
    finding = found(log, "retraced-functions")
    assert finding
    assert (finding.severity, finding.explains) == (Severity.FACTOR, None)


def test_what_rose_from_failure_to_failure_counts_where_functions_are_traced_again() -> None:
    log = WARNED + "".join(
        dump(20, 400, used, op=f"net/step_{used}/MatMul") + "\nskipped a batch\n" for used in (300, 330, 370)
    )
    finding = found(log, "retraced-functions")
    assert finding
    assert (finding.severity, finding.explains) == (Severity.CAUSE, 70 * MIB)


def test_a_model_compiled_anew_is_said_of_kerass_function() -> None:
    log = WARNED.replace("reinforce.<locals>.learn", "Model.make_train_function.<locals>.train_function")
    finding = found(log + chunks((9, 20 * MIB)), "retraced-functions")
    assert finding
    assert finding.headline.startswith("Keras's function for a step is traced again and again")
    assert [each.slug for each in finding.remedies] == ["clear-session"]


REFRESHED = (
    "32  def refresh(sess, emb, walker):\n34      sess.run(%s)\n"
    + oom("200000,128", "Assign_%s")
    + "Current usage from device: /job:localhost/replica:0/task:0/device:GPU:0, allocator: GPU_0_bfc\n"
    "  97.66MiB from %s\n  97.66MiB from %s\n  97.66MiB from %s\n  Remaining 158 nodes with 6.01GiB\n"
)


@pytest.mark.parametrize(
    ("code", "number", "rows", "fires"),
    [
        ("tf.assign(emb, new)", "61", ("Const_60", "Const_59", "Const_58"), True),
        ("emb.assign(new)", "61", ("a", "b", "c"), True),
        ("tf.assign(emb, new)", "2", ("a", "b", "c"), False),  # few of its name
        ("assign_op", "61", ("Const_60", "Const_59", "Const_58"), False),  # made before
    ],
)
def test_a_quoted_line_that_makes_what_it_runs(code: str, number: str, rows: tuple[str, ...], fires: bool):
    graph = found(REFRESHED % (code, number, *rows), "growing-graph")
    assert bool(graph) == fires


def collecting(line: str, device: str = "CPU") -> str:
    failed = "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    where = f"shape[5,2048,512] and type float on /job:localhost/replica:0/task:0/device:{device}:0 by"
    log = f"{STEPS}{chunks((60, 4 * MIB))}{USERS % line}{failed} {where} allocator bfc_cpu_allocator_for_gpu"
    return f"{log}\n\t [[node net/dense/MatMul (defined at /usr/lib/python3/ops.py:1748) ]]\n"


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("scores = list(net.predict(tiles))", "net.predict"),
        ("maps = [p['map'] for p in net.predict(tiles)]", "net.predict"),
        ("codes = np.concatenate([sess.run(code, {x: b}) for b in batches])", "sess.run"),
    ],
)
def test_the_line_that_collects_all_results_is_named_where_they_share_the_memory(
    line: str, call: str
) -> None:
    told = pipeline.explain(collecting(line))
    assert (
        f"most likely results of `{call}`, which `{line}` (/home/u/a.py:14) keeps all together"
        in told.verdict
    )
    assert told.actions[0].remedy.slug == "one-result-at-a-time"
    assert "smaller-batch" not in {each.remedy.slug for each in told.actions}


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("scores = list(net.predict(tiles))", "GPU"),  # copies in host RAM
        ("best = [p['map'].mean() for p in net.predict(tiles)]", "CPU"),  # numbers
        ("sess.run(train_op)", "CPU"),
        ("names = list(net.predict_names)", "CPU"),
    ],
)
def test_a_line_that_keeps_no_results_in_this_memory_is_not_named(line: str, device: str) -> None:
    assert "keeps all together" not in pipeline.explain(collecting(line, device)).verdict


def summary(*classes: tuple[int, int], closing: str = "") -> str:
    """A stretch of a dump's summary, without the lines round it."""
    of_gpu = "2018-05-05 10:00:00.000000: I tensorflow/core/common_runtime/bfc_allocator.cc:680]"
    lines = [
        f"{of_gpu} {count} Chunks of size {size} totalling {count * size / KIB:.1f}KiB"
        for count, size in classes
    ]
    return "\n".join(lines) + f"\n{closing}"


def test_a_part_of_a_summary_tells_nothing_of_what_filled_a_device() -> None:
    assert found(summary((40, 512), (150, 4096))) is None
    report = pipeline.explain(summary((40, 512), (150, 4096)))
    assert "only a part of its dump" in report.verdict
    many = found(summary((40, 512), (150, 4 * MIB)))
    assert many and "of the blocks that are here" in many.headline
    stats = "Stats:\nLimit:  1048576\nInUse:   634880\nMaxInUse: 634880\n"
    whole = found(summary((40, 512), (150, 4096), closing=f"Sum Total of in-use chunks: 620.0KiB\n{stats}"))
    assert whole and "of what is in use" in whole.headline
