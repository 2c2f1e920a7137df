"""What the lines of a program tell of a failure whose message names none of it: edges, pairs, caches."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, GPU, MIB, dump_by_size, oom
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.findings.support.program_lines import definitions, numbers_by_name, settings_by_name
from tfmemlens.model.finding import Finding, Severity
from tfmemlens.model.line import Line

SESSION = (
    "Traceback (most recent call last):\n"
    '  File "/v/tensorflow_core/python/client/session.py", line 1365, in _do_call\n    return fn(*args)\n'
)
GNN = "    pair = tf.gather(h, src)\n    agg = tf.unsorted_segment_sum(pair, dst, n)\n"


def found(text: str, rule: str) -> Finding | None:
    return next((each for each in explained(text).findings if each.rule == rule), None)


def lines(code: str) -> list[Line]:
    return [Line(number, text) for number, text in enumerate(code.splitlines(), 1)]


def test_numbers_that_lines_assign() -> None:
    code = (
        "batch = 32\nnodes, edges = 20_000, 600_000  # of the graph\nx = 3 + y\na, b = 4\nbatch = 64\n"
        "width, rows = 8, int(os.environ.get('ROWS', 500))\ntop = int(os.getenv('TOP', '7'))\n"
        "low, p = 5, 0.5\nc = int(f(x, 3))\nd = int(0.5)\n"
    )
    named = {name: figure for name, (figure, _) in numbers_by_name(lines(code)).items()}
    of_graph = {"batch": 64, "nodes": 20_000, "edges": 600_000}
    assert named == {**of_graph, "width": 8, "rows": 500, "top": 7, "low": 5}


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("p.add_argument('--vocab-size', type=int, default=60000, help='x')", {"vocab_size": 60_000}),
        ("p.add_argument('-b', '--batch', default=32)", {"batch": 32}),
        ("p.add_argument('--lr', default=1e-3)", {}),
        ("p.add_argument('--rate', default=5.0)", {}),
        ("flags.DEFINE_integer('dim', 512, 'width')", {"dim": 512}),
        ("    width: int = 128", {"width": 128}),
        ("    width: float = 1", {}),
        ("cfg = {'vocab': 50_000, 'lr': 0.1}", {"vocab": 50_000}),
        ("cfg = dict(vocab=50000, drop=0.1)", {"vocab": 50_000}),
        ("model = NetConfig(layers=12)", {"layers": 12}),
        ("x = layers.Dense(units=64)", {}),
        ("cfg = {'batch': 8}\nbatch = 16", {"batch": 16}),
    ],
)
def test_settings_have_defaults_in_flags_fields_and_dictionaries(code: str, named: dict[str, int]) -> None:
    assert {name: figure for name, (figure, _) in settings_by_name(lines(code)).items()} == named


def test_the_lines_that_assign_what_a_line_uses() -> None:
    code = lines("d = a[:, None] - b[None]\ny = f(x)\nz = 1\nz = 2\ns = tf.reduce_sum(tf.square(d), z)\n")
    assert [line.number for line in definitions(code[-1].text, code)] == [1], "z has two values"
    assert list(definitions("d.y(x=3)", code)) == []


@pytest.mark.parametrize(
    ("around", "node", "named", "what"),
    [
        ("num_nodes, num_edges = 20000, 600000\n", "net/message/MatMul", "`num_edges`, line 1", "edge"),
        ("num_nodes = 600000\n" + GNN, "net/update/MatMul", "`num_nodes`, line 1", "node"),
        ("", "gnn2/concat", "", "edge or node"),
        ("", "gnn2/message/MatMul", "", "edge"),
        ("testing a graph network\n", "net/MatMul", "", "edge or node"),
    ],
)
def test_rows_of_a_graph_are_told_by_names_numbers_and_words(
    around: str, node: str, named: str, what: str
) -> None:
    finding = found(around + oom("600000,64", node), "whole-graph-at-once")
    assert finding is not None and finding.because is not None
    assert f"a row for each {what} of the whole" in finding.because
    assert (named in finding.because) if named else "`" not in finding.because


@pytest.mark.parametrize("around", ["", "num_nodes = 600000\n", "num_edges = 500000\n", "rows = 600000\n"])
def test_other_rows_are_no_graphs(around: str) -> None:
    assert found(around + oom("600000,64", "net/MatMul"), "whole-graph-at-once") is None


def test_few_nodes_are_a_graph_s_where_the_program_names_them_and_sums_messages() -> None:
    names = "nodes, edges = 8000, int(os.environ.get('EDGES', 160_000))\n"
    full = dump_by_size(8000 * 64 * 4, 200, (2, 99 * MIB), (1, 2 * MIB - 256))
    text = full + oom("8000,64", "net/conv/UnsortedSegmentSum")
    told = found(names + GNN + text, "whole-graph-at-once")
    assert told is not None and told.because is not None and told.explains == 200 * MIB - 256
    assert "each of the 160,000 edges (`edges`) takes 39.06 MiB" in told.because
    slugs = [each.slug for each in told.remedies]
    assert slugs == ["sparse-product", "sample-neighbours", "in-blocks"]
    assert found(names + text, "whole-graph-at-once") is None
    assert found(names.replace("8000", "8001") + GNN + text, "whole-graph-at-once") is None
    largest = found(names + GNN.replace("segment_sum", "segment_max") + text, "whole-graph-at-once")
    assert largest and "sparse-product" not in {each.slug for each in largest.remedies}


def test_pairs_that_a_line_above_the_failing_one_made() -> None:
    code = (
        "Traceback (most recent call last):\n"
        '  File "near.py", line 13, in <module>\n    dist = tf.reduce_sum(tf.square(diff), axis=-1)\n'
    )
    made = "diff = tf.expand_dims(z, 1) - tf.expand_dims(refs, {})\n"
    told = found(made.format(0) + code + oom("3000,1200,32", "Square"), "pairwise-broadcast")
    assert told is not None and "tf.expand_dims(refs, 0)" in (told.because or "")
    assert found(made.format(1) + code + oom("3000,1200,32", "Square"), "pairwise-broadcast") is None


DENSE = (
    "model = tf.keras.Sequential([\n"
    "    tf.keras.layers.Dense(3500, input_shape=(3500,)),\n"
    "    tf.keras.layers.Dense({}),\n"
    "])\nopt = tf.keras.optimizers.Adam(1e-4)\n"
)
FULL = dump_by_size(224000, 500, (5, 49000192), (1, 200 * MIB))
CLIPPED = "    grads, norm = tf.clip_by_global_norm(grads, 1.0)\n"


def test_layers_that_are_alike_are_told_together() -> None:
    told = found(
        DENSE.format(3500) + CLIPPED + FULL + oom("16,3500", "net/dense_2/MatMul"), "made-by-the-code"
    )
    assert told is not None and told.because is not None
    assert "each of 2 layers (`Dense`, line 2 the first)" in told.because
    assert "all 2 take 373.84 MiB of 500.00 MiB" in told.because
    slugs = [remedy.slug for remedy in told.remedies]
    assert slugs[0] == "narrower-layer" and slugs[-1] == "clip-per-variable"
    assert told.remedies[0].saves_bytes == 4 * 2 * (3500 * 3500 * 4) * 3 // 4
    alone = found(DENSE.format(10) + FULL + oom("16,3500", "net/dense/MatMul"), "made-by-the-code")
    assert alone is not None and "each of" not in (alone.because or "")


def test_kernels_as_wide_as_the_failing_layer() -> None:
    told = found(FULL + oom("16,3500", "net/dense_2/MatMul"), "square-kernels")
    assert told is not None and told.severity is Severity.CAUSE
    assert told.explains == 5 * 49000192 and "kernel [3500,3500]" in (told.because or "")
    few = dump_by_size(224000, 500, (2, 49000192), (1, 100 * MIB))
    assert found(few + oom("16,3500", "net/dense_2/MatMul"), "square-kernels") is None
    batch = [each for each in explained(FULL + oom("16,3500")).actions if each.remedy.slug == "smaller-batch"]
    assert not batch


def cached(failed: str) -> str:
    allocator = "GPU_0_bfc" if "GPU_0_bfc" in failed else "bfc_cpu_allocator_for_gpu"
    return dump_by_size(219 * 1024 * 27 * 4, 300, (1384, 196608), allocator=allocator) + failed


@pytest.mark.parametrize(
    ("code", "keeps", "slug"),
    [
        ("ds = ds.map(load).cache().batch(32)\n", "cache(), line 1", "cache-to-file"),
        ("ds = ds.map(load).shuffle(3000).batch(32)\n", "shuffle(3000), line 1", "shuffle-files"),
        ("ds = ds.map(load).shuffle(1000).batch(32)\n", "", ""),
        ("ds = ds.map(load).cache('/tmp/c').batch(32)\n", "", ""),
    ],
)
def test_elements_that_share_the_memory_of_the_cpu(code: str, keeps: str, slug: str) -> None:
    failed = oom("219,1024,27", "net/conv2d/Conv2D", on=CPU, by="bfc_cpu_allocator_for_gpu")
    told = found(code + cached(failed), "equal-chunks")
    assert told is not None and told.because is not None
    assert (f"keeps in RAM ({keeps})" in told.because) if keeps else "pipeline" not in told.because
    assert (told.remedies[0].slug == slug) if slug else told.remedies[0].slug == "look-for-lists"
    stepped = found(f"{code}step 3/90 loss 0.1\n{cached(failed)}", "equal-chunks")  # 1384 in few steps
    assert stepped is not None and ("pipeline" in (stepped.because or "")) is bool(keeps)
    on_gpu = found(code + cached(oom("219,1024,27", "net/conv2d/Conv2D", on=GPU)), "equal-chunks")
    assert on_gpu is not None and "pipeline" not in (on_gpu.because or "")


RETRACED = (
    "WARNING:tensorflow:5 out of the last 5 calls to <function train_step at 0x7f> triggered tf.function"
    " retracing. Tracing is expensive.\n"
    + "WARNING:tensorflow:6 out of the last 6 calls to <function train_step at 0x7f> triggered tf.function"
    " retracing. Tracing is expensive.\n" * 15
)


@pytest.mark.parametrize(("larger", "traced"), [(4, True), (3, False)])
def test_traces_whose_chunks_were_not_all_split(larger: int, traced: bool) -> None:
    whole = dump_by_size(8 * MIB, 300, (16, 8 * MIB), (larger, 12_000_000), (1, 80 * MIB))
    told = found(RETRACED + whole, "retraced-functions")
    assert told is not None and (told.severity is Severity.CAUSE) is traced


TURNS = "def first(t): return tf.transpose(t, [0, 3, 1, 2])\ndef last(t): return tf.transpose(t, {})\n"


@pytest.mark.parametrize(("perm", "told"), [("[0, 2, 3, 1]", True), ("[0, 3, 1, 2]", False)])
def test_a_program_that_turns_its_maps_both_ways(perm: str, told: bool) -> None:
    finding = found(TURNS.format(perm) + oom("64,24,96,96", "net/block/transpose_1"), "own-transposes")
    assert (finding is not None) is told
    if finding:
        assert "(lines 1 and 2)" in (finding.because or "")
        assert [remedy.slug for remedy in finding.remedies] == ["one-layout", "channels-first"]


def test_a_whole_array_that_is_converted_went_through_no_network() -> None:
    eager = (
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node"
        " __wrapped__Cast_device_/job:localhost/replica:0/task:0/device:GPU:0}} OOM when allocating tensor"
        f" with shape[6000,64,64,3] and type float on {GPU} by allocator GPU_0_bfc [Op:Cast]\n"
    )
    told = found(eager, "whole-set-in-one-batch")
    assert told is not None and "converted in one op" in (told.because or "")
    assert told.remedies[0].slug == "resize-in-pipeline"
    net = found(oom("6000,64,64,3", "net/conv/Conv2D"), "whole-set-in-one-batch")
    assert net is not None and net.remedies[0].slug == "in-batches"


def test_a_session_that_is_fed_a_whole_set_gets_code_for_sessions() -> None:
    traceback = (
        'Traceback (most recent call last):\n  File "cnn.py", line 28, in <module>\n'
        '    print("accuracy", accuracy.eval({images: test_x, targets: test_y}))\n'
    )
    told = explained(SESSION + traceback + oom("4000,48,48,32", "tower/conv1/Relu"))
    first = told.actions[0].remedy
    assert first.slug == "in-batches" and "sess.run" in (first.code or "")
    assert not any(each.remedy.slug in ("smaller-input", "smaller-batch") for each in told.actions)


def test_a_small_tensor_of_edges_on_a_full_device() -> None:
    named = "nodes, edges = 30000, 500000\n"
    full = dump_by_size(8_000_000, 500, (2, 128 * MIB), (1, 243 * MIB))
    told = found(named + full + oom("500000,4", "Tanh"), "whole-graph-at-once")
    assert told is not None and "blocks large enough for so many rows hold 499.00 MiB" in (told.because or "")
    assert told.explains == 499 * MIB == told.remedies[0].saves_bytes
    half = dump_by_size(8_000_000, 1000, (2, 128 * MIB), (1, 243 * MIB))
    assert found(named + half + oom("500000,4", "Tanh"), "whole-graph-at-once") is None
    unnamed = full + oom("500000,4", "gnn/Tanh")
    assert found(unnamed, "whole-graph-at-once") is None


@pytest.mark.parametrize(("count", "told"), [(17, True), (7, False)])
def test_maps_that_most_likely_are_turned(count: int, told: bool) -> None:
    maps = dump_by_size(15 * MIB, 150, (count, 8 * MIB), (1, 11 * MIB))
    finding = found(
        TURNS.format("[0, 2, 3, 1]") + maps + oom("15,16384,16", "res7/conv2d/Conv2D"), "own-transposes"
    )
    assert (finding is not None) is told
    if finding:
        assert "most likely the 17 blocks of 8.00 MiB" in (finding.because or "")
        assert finding.explains == 17 * 8 * MIB // 2


@pytest.mark.parametrize(
    ("use", "code"),
    [
        ("mean = [tf.add_n(g) / 32 for g in zip(*all_grads)]", "zip(total, grads)"),
        ("save(all_grads)", "global_norm"),
    ],
)
def test_gradients_that_are_kept_to_be_added(use: str, code: str) -> None:
    program = (
        "all_grads = []\nfor i in range(32):\n    x, y = batch()\n"
        "    all_grads.append(tape.gradient(loss, net.trainable_variables))\n" + use + "\n"
    )
    traceback = (
        'Traceback (most recent call last):\n  File "accumulate.py", line 4, in <module>\n'
        "    all_grads.append(tape.gradient(loss, net.trainable_variables))\n"
    )
    kept = dump_by_size(1200 * 1200 * 4, 300, (43, 5760000), (1, 50 * MIB))
    report = explained(program + kept + traceback + oom("1200,1200", "MatMul"))
    told = next(each for each in report.findings if each.rule == "kept-by-a-loop")
    assert code in (told.remedies[0].code or "")
    assert not any(each.remedy.slug == "smaller-batch" for each in report.actions)


LOSS = """def pinball(q):
    def loss_fn(target, eta):
        err = {difference}
        return tf.reduce_mean(tf.maximum(q * err, (q - 1.0) * err))
    return loss_fn
for k in range(0, rows - batch + 1, batch):
    train_step(k)
"""


def test_the_difference_of_a_loss_is_named_where_its_gradient_makes_every_pair() -> None:
    report = explained(LOSS.format(difference="target - eta") + "training\n" + oom("16000,16000", "Tile"))
    told = next(each for each in report.findings if each.rule == "pairwise-broadcast")
    assert told.because and "a Tile makes every pair" in told.because
    assert "in `err = target - eta` (line 3)" in told.because
    assert [each.slug for each in told.remedies] == ["one-shape"]
    assert "target = tf.reshape(target, tf.shape(eta))" in (told.remedies[0].code or "")


@pytest.mark.parametrize("difference", ["target * eta", "target - 1", "0 - eta(target)", "a - b - eta"])
def test_no_other_line_is_taken_for_it(difference: str) -> None:
    code = LOSS.format(difference=difference)
    told = found(code + "training\n" + oom("16000,16000", "Tile"), "pairwise-broadcast")
    assert told and told.because and "(line" not in told.because


def test_of_two_differences_none_is_named() -> None:
    code = LOSS.format(difference="target - eta") + "error = guess - label\n"
    told = found(code + "training\n" + oom("16000,16000", "Tile"), "pairwise-broadcast")
    assert told and told.because and "(line" not in told.because
