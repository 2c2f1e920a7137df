"""A smaller batch is advised where something shows a batch, and what only training has where it trains."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Remedy

FRAMES = """Traceback (most recent call last):
  File "/home/u/pairs.py", line 14, in <module>
    diff = %s
"""
XLA = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 9031036208 bytes.\n"


def remedies(text: str) -> dict[str, Remedy]:
    return {remedy.slug: remedy for each in pipeline.explain(text).findings for remedy in each.remedies}


def eager(shape: str, op: str, call: str = "outer(a, b)") -> str:
    return FRAMES % call + (
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
        f" shape[{shape}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
        f" GPU_0_bfc [Op:{op}]\n"
    )


@pytest.mark.parametrize("text", [eager("20000,30000", "Sub"), XLA], ids=["TensorFlow", "JAX"])
def test_without_a_batch_the_call_itself_is_advised(text: str) -> None:
    told = remedies(text)
    assert "in-pieces" in told
    assert not {"smaller-batch", "mixed-precision", "recompute"} & told.keys()


def test_the_users_line_is_named() -> None:
    piece = remedies(eager("20000,30000", "Sub"))["in-pieces"]
    assert piece.text.startswith("/home/u/pairs.py:14 (`diff = outer(a, b)`) asks for this memory")
    assert "len(x)" in (piece.code or "")
    assert remedies(XLA)["in-pieces"].code is None  # nothing shows rows to go over


@pytest.mark.parametrize(
    "around",
    [
        "  batch_size=64\n",
        "    model.fit(x, y)\n",
        '  File "train.py", line 3, in <module>\n',
        "Epoch 3/10\n",
    ],
)
def test_what_shows_a_batch(around: str) -> None:
    told = remedies(around + eager("20000,30000", "Sub"))
    assert "smaller-batch" in told and "in-pieces" not in told


@pytest.mark.parametrize("around", ["scaler.transform(x)\n", "scaler.fit_transform(x)\n", "best_fit(x)\n"])
def test_what_shows_none(around: str) -> None:
    assert "smaller-batch" not in remedies(around + eager("20000,30000", "Sub"))


def test_training_alone_accumulates_gradients() -> None:
    alone = oom("64,112,112,64", "net/conv/Conv2D")
    told, trained = remedies(alone), remedies(alone + "model.fit(x, y)\n")
    assert (
        told["smaller-batch"].text
        == "halve the batch (64 -> 32): half of this tensor is 98.00 MiB, and other activations halve, too"
    )
    assert not {"mixed-precision", "recompute"} & told.keys()
    assert "gradient accumulation" in trained["smaller-batch"].text and "mixed-precision" in trained


def test_an_explained_model_is_not_trained() -> None:
    gradient = oom("200,56,56,64", "gradients_5/net/conv/Relu_grad/ReluGrad")
    assert "accumulation" in remedies(gradient)["smaller-batch"].text
    told = remedies(gradient + "e = shap.DeepExplainer(model, x[:200])\n")
    assert "accumulation" not in told["smaller-batch"].text and "mixed-precision" not in told


def test_iterations_of_a_vectorised_loop_are_no_batch() -> None:
    inside, beside = "loop_body/gradient_tape/mlp/dense/MatMul/pfor/MatMul", "gradient_tape/mlp/dense/MatMul"
    assert "smaller-batch" not in remedies(oom("4096,512,1024", inside))
    assert "smaller-batch" in remedies(oom("4096,512,1024", beside))


def test_a_small_request_is_not_cut_into_pieces() -> None:
    small, large = eager("1024,1024", "Sub"), eager("8192,2048", "Sub")
    assert "in-pieces" not in remedies(small) and "in-pieces" in remedies(large)


def test_the_line_that_waits_for_jax_is_not_the_one_that_asks() -> None:
    waiting = FRAMES.replace("diff = %s", 'print("loss", loss)') + XLA
    piece = remedies(waiting)["in-pieces"].text
    assert piece.startswith("an earlier call, for whose result /home/u/pairs.py:14")
    assert not remedies(eager("20000,30000", "Sub", "float(a)"))["in-pieces"].text.startswith("an earlier")


WAITING = (
    "{warned}Traceback (most recent call last):\n"
    '  File "/home/u/meta.py", line 94, in <module>\n    print("loss", float(loss))\n'
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 10.35GiB."
    " [executable_name='jit_{name}']\n"
)
REDUCED = (
    "W0000 00:00:01.0 hlo_rematerialization.cc:3363] Can't reduce memory use below 3.96GiB (4247291173 bytes)"
    " by rematerialization; only reduced to {need}GiB ({bytes} bytes), down from 14.08GiB (15118284881 bytes)"
    " originally\n"
)


@pytest.mark.parametrize(
    ("need", "part"),
    [(9.00, "a quarter"), (10.02, "a quarter"), (12.2, "an eighth"), (4.20, "a quarter"), (None, "half")],
)
def test_a_call_is_told_what_part_has_room(need: float | None, part: str) -> None:
    warned = REDUCED.format(need=need, bytes=int(need * 2**30)) if need else ""
    piece = remedies(WAITING.format(warned=warned, name="meta_step"))["in-pieces"]
    assert f"let one call process less: {part} of its samples, rows or tasks" in piece.text
    assert "batch" not in piece.text and piece.code is None
    assert ("room for 3.96 GiB" in piece.text) is bool(need)


def test_what_shows_no_rows_is_not_mapped_over_them() -> None:
    piece = remedies(WAITING.format(warned="", name="distances"))["in-pieces"]
    assert piece.code is None
