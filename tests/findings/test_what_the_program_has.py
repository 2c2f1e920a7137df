"""Advice in the program's own names, and none of what it does already or what is no part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tests.findings.test_kept_by_a_loop import of
from tfmemlens import pipeline
from tfmemlens.findings.support.kept_remedies import instead
from tfmemlens.findings.support.program_lines import name_of_batch
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report
from tfmemlens.readers.program import read_program

MIB = 1 << 20
GRADIENTS = """\
def pull(x):
    with tf.GradientTape() as tape:
        y = f(x)
    return tape.gradient(y, weights)
ledger = []
for x in data:
    pulls = pull(x)
    ledger.append(pulls)
mean = [tf.add_n(each) for each in zip(*ledger)]
"""


def told(code: str) -> Surroundings:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1) if text.strip())
    return Surroundings(program=lambda: read_program(lines))


@pytest.mark.parametrize(
    ("code", "gradients"),
    [
        (GRADIENTS, True),
        (GRADIENTS.replace("return tape.gradient(y, weights)", "return y"), False),
        (
            GRADIENTS.replace("return tape.gradient(y, weights)", "g = tape.gradient(y, w)\n    return g"),
            True,
        ),
        (
            GRADIENTS.replace("return tape.gradient(y, weights)", "g = tape.gradient(y, w)\n    return y, g"),
            False,
        ),
    ],
)
def test_what_a_function_returns_is_gradients(code: str, gradients: bool) -> None:
    (keeping,) = of(code)
    assert keeping.gradients is gradients


def test_the_sum_itself_is_nothing_to_compute_again() -> None:
    (keeping,) = of(GRADIENTS + "spread = tf.add_n([x[0] for x in ledger])\n")
    report = pipeline.explain(oom("64,64", on=CPU, by="bfc_cpu_allocator_for_gpu"))
    (remedy,) = instead(report.case, report.case.moments[0], keeping, None)
    assert remedy.text.endswith("instead of all in `ledger`")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (GRADIENTS, "add the gradients up as you go: one set of sums instead of all in `ledger`"),
        (GRADIENTS + "worst = max(ledger, key=norm)\n", "line 10 still wants of each set, compute it again"),
    ],
)
def test_gradients_are_added_up(code: str, said: str) -> None:
    (keeping,) = of(code)
    report = pipeline.explain(oom("64,64", on=CPU, by="bfc_cpu_allocator_for_gpu"))
    (remedy,) = instead(report.case, report.case.moments[0], keeping, None)
    assert said in remedy.text


@pytest.mark.parametrize(
    ("value", "code"),
    [("y", "np.save(f'y{i}.npy', y)"), ("(x, y)", None)],
)
def test_a_file_of_the_kept_value(value: str, code: str | None) -> None:
    (keeping,) = of(f"kept = []\nfor x in data:\n    y = model(x)\n    kept.append({value})\nprint(kept)\n")
    report = pipeline.explain(oom("64,64", on=CPU, by="bfc_cpu_allocator_for_gpu"))
    *_, disk = instead(report.case, report.case.moments[0], keeping, None)
    assert (disk.code or "").partition("   #")[0] == (code or "")


@pytest.mark.parametrize(
    ("use", "batch", "named"),
    [
        ("ds = ds.batch(N)", 128, True),
        ("for i in range(0, len(x), N): step(x[i])", 128, True),
        ("part = x[i : i + N]", 128, True),
        ("z = tf.random.normal([N, 40])", 128, True),
        ("x = np.stack([draw(rng) for _ in range(N)])", 128, True),
        ("kinds = rng.integers(0, 43, N)", 128, True),
        ("rows = rng.randint(0, len(x), size=N)", 128, True),
        ("y = Dense(N)(x)", 128, False),
        ("w = tf.zeros([3, N])", 128, False),
        ("kinds = rng.integers(N, 4)", 128, False),
        ("ds = ds.batch(N)", 64, False),
        ("ds = ds.batch(N)", None, False),
    ],
)
def test_the_name_of_a_batch(use: str, batch: int | None, named: bool) -> None:
    assert name_of_batch(told(f"N = 128\n{use}\n"), batch) == (" (`N`, line 1)" if named else "")


MODELS = """
import tensorflow as tf
kept = []
for rate in rates:
    {clear}
    model = tf.keras.Sequential([tf.keras.layers.Dense(4096, name="wide")])
    model.compile(optimizer="adam", loss="mse")
    model.fit(x, y, batch_size=50)
    kept.append((rate, model))
"""
FULL = dump_by_size(400 * 1024, 600, (12, 48 * MIB), (3, 8 * MIB), allocator="cpu")


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize(
    ("clear", "said", "code"),
    [
        ("pass", "and clear what Keras keeps", "del model; gc.collect(); tf.keras.backend.clear_session()"),
        (
            "tf.keras.backend.clear_session()",
            "only its figures in `kept`",
            "kept.append(rate)   # without model",
        ),
    ],
)
def test_a_loop_that_clears_is_not_told_to_clear(clear: str, said: str, code: str) -> None:
    first = explained(MODELS.format(clear=clear) + FULL).actions[0].remedy
    assert said in first.text and first.code == code
    assert ("clear what Keras keeps" in first.text) is (clear == "pass")


def test_the_next_steps_fill_what_a_smaller_step_leaves() -> None:
    """Where most of the memory is kept for good, only what ends the keeping is advised."""
    loop = "outs = []\nfor x in data:\n    y = model(x)\n    outs.append(y)\nprint(tf.stack(outs))\n\n"
    log = dump_by_size(16 * 1024, 500, (300, 3 * MIB // 2), (1, 8 * MIB), allocator="cpu")
    report = explained(f"import tensorflow as tf\n{loop}{log}")
    assert report.findings[0].rule == "kept-by-a-loop"
    rules = {rule for action in report.actions for rule in action.rules}
    assert rules <= {"kept-by-a-loop", "equal-chunks", "held-by-python"}
    assert not {"look-for-lists", "shuffle-files"} & {action.remedy.slug for action in report.actions}


@pytest.mark.parametrize(
    ("code", "positions"),
    [
        ("x = layers.Conv2D(32, 3)(x)", True),
        ("x = layers.Embedding(9000, 32)(x)\nx = layers.Conv2D(32, 3)(x)", False),
        ("x = layers.Dense(32)(x)", False),
    ],
)
def test_scores_over_a_map_count_positions(tmp_path: Path, code: str, positions: bool) -> None:
    log = tmp_path / "run.log"
    program = tmp_path / "net.py"
    log.write_text(oom("8,4096,4096", "tailor/self_attention/Softmax"))
    program.write_text(f"import tensorflow as tf\n{code}\n")
    verdict = pipeline.explain([log, program]).verdict
    assert ("64 x 64 of a feature map" in verdict) is positions


@pytest.mark.parametrize(
    ("loss", "asked"), [("sparse_softmax_cross_entropy", False), ("softmax_cross_entropy", True)]
)
def test_the_sparse_loss_is_not_advised_to_who_has_it(loss: str, asked: bool) -> None:
    text = f"loss = tf.losses.{loss}(label, scores)\n\n" + oom("2560,40000", "net/word_scores/MatMul")
    assert ("sparse-labels" in {action.remedy.slug for action in explained(text).actions}) is asked
