"""What programs of several kinds are told: inner gradient steps, one-hot rows, a Jacobian, named rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, MIB, dump_by_size, oom
from tests.findings.test_what_the_program_has import told
from tfmemlens import pipeline
from tfmemlens.findings.support.jax_program import made_by_program, stacked_by_program
from tfmemlens.findings.support.program_lines import line_of_layer, rows_by_name

MAML = """\
def tuned(w, x):
    for _ in range(16):
        w = w - 0.1 * jax.grad(loss)(w, x)
    return w
def outer(w, xs):
    return jnp.mean(jax.vmap(lambda x: loss(tuned(w, x), x))(xs))
learn = jax.jit(jax.value_and_grad(outer))
"""
MAPPED = """\
def outer(w, xs):
    return jnp.mean(jax.vmap(near)(xs))
learn = jax.{gradient}(outer)
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (MAML, True),
        (MAML.replace("value_and_grad(outer)", "jit(outer)"), False),  # no gradient goes through it
        (MAML.replace("loss(tuned(w, x), x)", "loss(w, x)"), False),  # the outer function does not call it
        (MAML.replace("jax.grad(loss)(w, x)", "step(w, x)"), False),
    ],
)
def test_gradient_steps_that_a_gradient_goes_through(code: str, found: bool) -> None:
    made = made_by_program(told(code))
    assert bool(made and "gradient steps of the loop over `range(16)` (line 2)" in made.what) is found
    if made and found:
        assert "vmap of line 6" in made.what and made.remedies[0].slug == "in-blocks"


@pytest.mark.parametrize(("gradient", "code"), [("grad", "total = jax.tree.map"), ("jit", "y = jax.lax.map")])
def test_a_part_of_a_vmap_under_a_gradient_is_kept(gradient: str, code: str) -> None:
    made = stacked_by_program(told(MAPPED.format(gradient=gradient)))
    assert made and (made.remedies[0].code or "").startswith(code)


ONE_HOT = "picked = tf.one_hot(herb, 24000)\nbrew = {product}\n"


@pytest.mark.parametrize(
    ("product", "table"),
    [
        ("tf.tensordot(picked, shelf, axes=[[2], [0]])", "shelf"),
        ("picked @ self.shelf", "self.shelf"),
        ("tf.reduce_sum(picked, 1)", None),
        ("tf.matmul(other, shelf)", None),
    ],
)
def test_one_hot_rows_that_only_meet_a_table(product: str, table: str | None) -> None:
    report = pipeline.explain(
        "Traceback (most recent call last):\n"
        '  File "herbs.py", line 1, in <module>\n    picked = tf.one_hot(herb, 24000)\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
        f" shape[96,30,24000] and type float on {CPU} by allocator cpu [Op:OneHot]\n\n"
        + ONE_HOT.format(product=product)
    )
    codes = [action.remedy.code or "" for action in report.actions]
    assert (codes[0].startswith(f"tf.gather({table}, herb)")) is bool(table)


def test_a_jacobian_is_taken_for_fewer_samples_first() -> None:
    text = oom("1536,240,320", "MatMul/pfor/MatMul", on=CPU, by="bfc_cpu_allocator_for_gpu")
    first = pipeline.explain(text).actions[0].remedy
    assert first.slug == "in-blocks" and "fewer samples at a time" in first.text


CODE = """\
DISHES, TASTE = 2400, 48
x = layers.Dense(64, name="stir")(x)
y = layers.Dense(1, name="verdict")(x)
z = layers.Dense(1, name="verdict_2")(x)
"""


@pytest.mark.parametrize(
    ("layer", "number"), [("menu/stir", 2), ("verdict", 3), ("menu", None), (None, None), ("a b", None)]
)
def test_the_line_of_a_layer(layer: str | None, number: int | None) -> None:
    line = line_of_layer(told(CODE), layer)
    assert (line.number if line else None) == number


def test_a_name_that_stands_twice_has_no_line() -> None:
    assert line_of_layer(told(CODE + 'w = layers.Dense(2, name="stir")(z)\n'), "stir") is None


@pytest.mark.parametrize(
    ("rows", "batch", "said"),
    [
        (307_200, 128, True),
        (307_201, 128, False),
        (307_200, 1, False),
        (307_200, None, False),
        (128 * 4800, 128, False),  # no name has this number
    ],
)
def test_rows_that_are_a_batch_times_a_number_of_the_program(
    rows: int, batch: int | None, said: bool
) -> None:
    text = rows_by_name(told(CODE), rows, batch)
    assert (text == "307,200 rows are 128 samples x 2,400 (`DISHES`, line 1)") is said
    assert bool(text) is said


FIT = "model.fit(x, y, batch_size={batch})\nimport tensorflow as tf\n"


@pytest.mark.parametrize(("batch", "one_shape"), [("128", True), ("None", False)])
def test_arrays_that_fit_cuts_have_one_shape(tmp_path: Path, batch: str, one_shape: bool) -> None:
    log, net = tmp_path / "run.log", tmp_path / "net.py"
    code = FIT.format(batch=batch)
    frame = f'  File "{net}", line 1, in <module>\n    {code.splitlines()[0]}\n'
    log.write_text(
        dump_by_size(75 * MIB, 400, (1, 128 * MIB), (9, 14 * MIB), allocator="cpu")
        + f"Traceback (most recent call last):\n{frame}"
        + oom("307200,64", "menu/MatMul", on=CPU, by="cpu")
    )
    net.write_text(code)
    report = pipeline.explain(log)
    found = next(each for each in report.findings if each.rule == "fragmented-free-memory")
    assert ("constant-shapes" in {each.slug for each in found.remedies}) is not one_shape


def test_the_layer_s_line_stands_in_the_verdict(tmp_path: Path) -> None:
    log, net = tmp_path / "run.log", tmp_path / "net.py"
    log.write_text(
        f'Traceback (most recent call last):\n  File "{net}", line 2, in <module>\n    body(x)\n'
        + oom("32,128,128,96", "functional_1/widen_1/Resize")
    )
    net.write_text('f = layers.UpSampling2D(8, name="widen")(f)\nbody(x)\nimport tensorflow as tf\n')
    assert "in `widen` (line 1 of net.py) while" in pipeline.explain(log).verdict


NET = """\
leaving = tf.gather(cars, start)
arriving = tf.gather(cars, finish)
flow = drive({message})
waiting = tf.math.unsorted_segment_sum(flow, finish, n)
"""


@pytest.mark.parametrize(
    ("message", "product"),
    [
        ("leaving", True),
        ("tf.concat([leaving, arriving], axis=-1)", False),
        ("tf.concat([tf.gather(cars, start), tf.gather(cars, finish)], axis=-1)", False),
        ("tf.concat([tf.gather(cars, start), road], axis=-1)", False),  # and what the edge has
        ("tf.concat([tf.gather(cars, start)], axis=-1)", True),
    ],
)
def test_a_message_of_both_ends_is_no_product_with_a_matrix(message: str, product: bool) -> None:
    text = f"num_nodes, num_edges = 6000, 240000\n{NET.format(message=message)}\n"
    report = pipeline.explain(text + oom("240000,64", "net/message/MatMul"))
    slugs = [action.remedy.slug for action in report.actions]
    assert ("sparse-product" in slugs) is product
    assert slugs[0] == ("sparse-product" if product else "project-before-gather")
