"""Code that keeps results in a list, and code that only looks like it."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.kept_results import list_that_keeps


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
