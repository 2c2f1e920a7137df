"""What a program keeps or makes again in each turn, told by the user's own lines."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, dump, oom, report
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding, Severity

EAGER = (
    f"ResourceExhaustedError: {{{{function_node __wrapped__Conv2D_device_{GPU}}}}} OOM when allocating tensor"
    f" with shape[8,64,64,32] and type float on {GPU} by allocator GPU_0_bfc [Op:Conv2D]\n"
)
ENDED = "Epoch 1/20\n391/391 [==============================] - ETA: 0s - loss: 0.6\n"
HALFWAY = "Epoch 1/20\n200/391 [==============>...............] - ETA: 9s - loss: 0.6\n"
SESSION = (
    '  File "/usr/lib/python3.6/site-packages/tensorflow/python/client/session.py", line 9, in run\n    x\n'
)
BAD_ALLOC = "MemoryError: std::bad_alloc\n"


def stack(*lines: str, name: str = "<module>") -> str:
    frames = (
        f'  File "main.py", line {number}, in {name}\n    {line}\n' for number, line in enumerate(lines, 7)
    )
    return "Traceback (most recent call last):\n" + "".join(frames)


def found(text: str, rule: str) -> Finding | None:
    return next((each for each in pipeline.explain(text).findings if each.rule == rule), None)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("preds.append(model(x, training=True))", "`preds`"),
        ("self.seen.append(self.probe(batch))", "`self.seen`"),
        ("Monitor.maps.append(tf.nn.relu(net(x)))", "`Monitor.maps`"),
        ("p = tf.stack([model(x, training=True) for _ in range(100)])", "the list"),
        ("samples += [self.net(x, training=True)]", "`samples`"),
        ("RESULTS.extend([model(b) for b in batches])", "the list"),
        ("penalty = tf.add_n([tf.nn.l2_loss(w) for w in weights])", None),
        ("sizes += [len(x)]", None),
        ("preds.append(model(x, training=True).numpy())", None),
        ("preds.append(model.predict(x))", None),
        ("p = np.stack([model(x, training=True).numpy() for _ in range(100)])", None),
        ("losses.append(float(step(x)))", None),
        ("y = model(x, training=True)", None),
    ],
)
def test_a_line_that_keeps_results_on_the_device(line: str, what: str | None) -> None:
    kept = found(stack(line) + EAGER, "results-kept")
    assert (kept is not None) == (what is not None)
    if kept and what:
        assert kept.headline.startswith(what) and kept.severity is Severity.FACTOR


def test_the_line_may_stand_above_the_layer_s() -> None:
    text = stack("maps.append(net(x))") + '  File "net.py", line 3, in call\n    outs.append(self.conv(x))\n'
    kept = found(text + EAGER, "results-kept")
    assert kept and kept.headline.startswith("`maps`")


def test_the_parts_of_a_layer_are_no_results() -> None:
    assert found(stack("outs.append(self.conv(x))", name="call") + EAGER, "results-kept") is None


def test_in_a_function_a_list_keeps_nothing_from_step_to_step() -> None:
    text = stack("outs.append(conv(x))") + oom("8,64,64,32", "model/conv/Conv2D")
    assert found(text, "results-kept") is None


def test_after_many_steps_what_is_kept_is_a_cause() -> None:
    kept = found(HALFWAY + stack("self.seen.append(self.probe(batch))") + EAGER, "results-kept")
    assert kept and kept.severity is Severity.CAUSE and "200 steps" in kept.headline


@pytest.mark.parametrize(
    ("line", "grows"),
    [
        ("sess.run(tf.assign(seen, tf.concat([seen, x], 0), validate_shape=False))", True),
        ("bank.assign(tf.concat([bank, keys], axis=0))", True),
        ("bank.assign(tf.concat([bank.value(), keys], axis=0)[-4096:])", False),
        ("bank = tf.concat([bank, keys], 0)[-4096:]", False),
        ("bank = tf.concat([bank, keys], 0)", True),
        ("bank.assign(tf.concat([old, keys], axis=0))", False),
        ("tf.assign(both, tf.concat([left, right], 0))", False),
    ],
)
def test_a_variable_that_is_joined_to_itself_grows(line: str, grows: bool) -> None:
    text = stack(line) + oom("1843200,512", "concat")
    assert (found(text, "growing-concatenation") is not None) is grows


@pytest.mark.parametrize(
    ("line", "node", "steps", "grows"),
    [
        ("sess.run(tf.assign(lr, lr * 0.99))", "Assign_812", 0, True),
        ("sess.run(tf.assign(lr, lr * 0.99))", "Assign", 400, True),
        ("v = tf.reduce_mean(errors).eval()", "Mean_400", 0, True),
        ("sess.run(tf.assign(lr, lr * 0.99))", "Assign_3", 1, False),
        ("sess.run(tf.global_variables_initializer())", "w_812/Assign", 400, False),
        ("sess.run(decay)", "Assign_812", 400, False),
    ],
)
def test_a_line_that_makes_the_op_that_it_runs(line: str, node: str, steps: int, grows: bool) -> None:
    counted = "".join(f"step {step} loss 0.5\n" for step in range(0, steps + 1, 40)) if steps else ""
    text = counted + stack(line) + SESSION + oom("4096,1024", node)
    assert (found(text, "growing-graph") is not None) is grows


@pytest.mark.parametrize(
    ("file", "steps", "grows"),
    [
        ("framework/ops.py", 4000, True),
        ("framework/ops.py", 1, False),
        ("framework/func_graph.py", 4000, False),
    ],
)
def test_an_op_that_is_made_after_many_steps(file: str, steps: int, grows: bool) -> None:
    package = "/usr/lib/python3.6/site-packages/tensorflow/python"
    text = (
        f"step 0 loss 1.0\nstep {steps} loss 0.5\n"
        + stack("train_once(sess, feed)", "loss = cost(x)")
        + f'  File "{package}/client/session.py", line 5, in run\n    x\n'
        + f'  File "{package}/{file}", line 1792, in create_op\n    op_def=op_def)\n'
        + BAD_ALLOC
    )
    assert (found(text, "growing-graph") is not None) is grows


@pytest.mark.parametrize(
    ("line", "node", "loads"),
    [
        ("teacher.load_weights('a.h5')", "AssignVariableOp", True),
        ("ema.set_weights(model.get_weights())", "AssignVariableOp", True),
        ("net = TFAutoModel.from_pretrained(name)", "AssignVariableOp", True),
        ("saver.restore(sess, path)", "save/RestoreV2_12", True),
        ("load_model(path).predict(x)", "Relu", False),
        ("model.fit(x, y)", "AssignVariableOp", False),
    ],
)
def test_weights_that_are_being_loaded(line: str, node: str, loads: bool) -> None:
    assert (found(stack(line) + oom("4096,4096", node), "weights-loaded") is not None) is loads


@pytest.mark.parametrize(
    ("before", "line", "told"),
    [
        (ENDED, "model.fit(gen, epochs=20, validation_data=(x_val, y_val))", True),
        (HALFWAY, "model.fit(gen, epochs=20, validation_data=(x_val, y_val))", False),
        (ENDED, "model.fit(gen, epochs=20, validation_data=val_gen)", False),
        ("", "model.fit(x, y, validation_data=(x_val, y_val))", False),
    ],
)
def test_arrays_to_validate_on_are_copied_whole(before: str, line: str, told: bool) -> None:
    text = (
        before
        + stack(line)
        + (
            "tensorflow.python.framework.errors_impl.InternalError: Failed copying input tensor from"
            f" /job:localhost/replica:0/task:0/device:CPU:0 to {GPU} in order to run _EagerConst: Dst tensor"
            " is not initialized.\n"
        )
    )
    whole = found(text, "whole-set-in-one-batch")
    assert whole and ("validation_data" in whole.because) is told


@pytest.mark.parametrize(
    ("cell", "shape", "told"), [(14, "4096,4096", True), (2, "4096,4096", False), (14, "65536,8192", False)]
)
def test_a_weight_that_finds_no_room_in_a_late_cell(cell: int, shape: str, told: bool) -> None:
    text = (
        f"<ipython-input-{cell}-3f1c2ab77c10> in <module>\n      1 m = build()\n----> 2 m = Dense(9)(x)\n\n"
        f"ResourceExhaustedError: OOM when allocating tensor with shape[{shape}] and type float on {GPU} by"
        " allocator GPU_0_bfc [Op:RandomUniform]\n"
    )
    late = found(text, "earlier-cells")
    assert (late is not None) is told
    assert late is None or late.severity is Severity.FACTOR


def rows_of(*numbers: int, name: str = "Const", size: str = "18.38MiB") -> str:
    return oom("64,96,56,56", "conv1_403/Conv2D") + report(
        *(f"{size} from {name}_{number}" for number in numbers)
    )


def test_rows_that_come_again_and_again_are_of_a_graph_that_grows() -> None:
    grown = found(rows_of(412, 406, 400, 394, 388), "growing-graph")
    assert grown and grown.severity is Severity.CAUSE
    assert grown.because == (
        "5 rows of 18.38 MiB are `Const_388` to `Const_412`, 6 apart: each iteration of a loop adds the"
        " same ops to the graph"
    )
    assert "each iteration of a loop" in pipeline.explain(rows_of(412, 406, 400, 394, 388)).verdict
    beside = found(rows_of(412, 411, 410, 409, 408), "growing-graph")
    assert beside and "`Const_408` to `Const_412`: each iteration" in (beside.because or "")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(rows_of(412, 406, 400, 394), id="four rows"),
        pytest.param(rows_of(412, 406, 400, 394, 387), id="not equally far apart"),
        pytest.param(rows_of(99, 93, 87, 81, 75), id="as many as a large model has"),
        pytest.param(rows_of(412, 406, 400, 394, 388, name="net/block/Relu"), id="in a scope"),
    ],
)
def test_rows_that_a_model_may_have_are_none(text: str) -> None:
    assert found(text, "growing-graph") is None


@pytest.mark.parametrize(
    ("line", "grows"),
    [
        ("seen, keep = tf.contrib.metrics.streaming_concat(scores, name='seen')", True),
        ("seen, keep = tf.contrib.metrics.streaming_concat(scores, max_size=4096)", False),
        ("mean, keep = tf.metrics.mean(scores)", False),
    ],
)
def test_a_metric_that_keeps_the_values_of_every_batch(line: str, grows: bool) -> None:
    pieces = dump(300, 1000, 400, (150,) * 4, op="seen/cond/zeros")
    text = pieces + stack(line) + oom("1200,256,256", "seen/cond/zeros")
    kept = found(text, "growing-concatenation")
    assert (kept is not None) is grows
    fixed = [each.slug for each in getattr(found(text, "fragmented-free-memory"), "remedies", ())]
    assert ("large-tensors-first" in fixed) is not grows
