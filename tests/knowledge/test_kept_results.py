"""Code that keeps results in a list, and code that only looks like it."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.kept_results import keeps_a_number, keeps_each_result, keeps_model, list_that_keeps


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (" 71     all_preds.append(preds); all_losses.append(loss)", "all_preds"),
        ("self.history[epoch].append((loss, pred))", "self.history"),
        ("outs.extend(model(batch))", "outs"),
        ("queue.appendleft(x)", "queue"),
        ("outputs += [y]", "outputs"),
        ("seen = seen + [y]", "seen"),
    ],
)
def test_results_are_kept(code: str, name: str) -> None:
    assert list_that_keeps(code) == name


@pytest.mark.parametrize(
    "code",
    [
        "losses.append(float(loss))",
        "losses.append(loss.numpy())",
        "losses.extend(jax.device_get(batch))",
        "names.append( str(layer))",
        "total += loss",
        "seen = other + [y]",
        "x = tf.concat([x, y], 0)",
        "append(" * 3000,
        "x" * 100_000,
    ],
)
def test_nothing_on_the_device_is_kept(code: str) -> None:
    assert list_that_keeps(code) is None


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("history.append(step(batch))", "history"),
        ("history.append((step(batch), 3))", "history"),
        ("outs = [model(x, training=True) for _ in range(100)]", "outs"),
        ("outs = [model(x) for x in test_batches]", "outs"),
        ("history.append(f(np.asarray(x)))", "history"),  # what f returns is on the device all the same
    ],
)
def test_each_result_of_a_call_is_kept(code: str, name: str) -> None:
    assert keeps_each_result(code) == name


@pytest.mark.parametrize(
    "code",
    [
        "history.append(loss)",  # a value that may have been there anyway
        "history.append(np.asarray(step(batch)))",
        "history.append(model.predict(batch))",
        "outs = [float(model(x)) for x in test_batches]",
        "layers = [Dense(4) for _ in names]",
        "total += step(batch)",
    ],
)
def test_no_result_of_a_call_is_kept(code: str) -> None:
    assert keeps_each_result(code) is None


def test_models_that_are_kept() -> None:
    assert keeps_model("zoo.append(model)")
    assert keeps_model("by_name[key] = base_model")
    assert not keeps_model("zoo.append(score)")
    assert not keeps_model("y = model_dir")


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("losses.append(loss)", True),
        ("hist.append(val_loss)", True),
        ("accs.append(accuracy2)", True),
        ("errors.append(recon)", False),
        ("outs.append(loss_map)", False),
        ("outs.append((loss, pred))", False),
        ("loss = step(x)", False),
    ],
)
def test_one_number_is_known_by_its_name(code: str, number: bool) -> None:
    assert keeps_a_number(code) is number
