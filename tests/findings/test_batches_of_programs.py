"""A program's own constant is its batch where the failed shape agrees, and no count of batches is one."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.findings.logs import oom
from tests.findings.test_rows_of_derivatives import told
from tfmemlens import pipeline
from tfmemlens.findings.support import remedies

CODE = "import tensorflow as tf\n{constants}\n"
BUFFER = oom("6,64000,216", "net/vessels/Conv3DBackpropFilterV2", kernel="conv_grad_ops_3d.cc")


@pytest.mark.parametrize(
    ("constants", "failed", "batch"),
    [
        ("BATCH = 96", oom("96,64,64,128"), 96),
        ("BATCH = 24", BUFFER, 24),  # six volumes at once, whatever the batch
        ("BATCHES = 24", BUFFER, None),
        ("BATCH = 24\nTEST_BATCH = 8", BUFFER, None),
        ("BATCH = 96", oom("2304,24000", "net/loss/softmax"), 96),  # folded: 24 words each
        ("BATCH = 96", oom("24,96,512", "net/rnn/add"), 96),  # time first
        ("BATCH = 96", oom("24,512,96", "net/rnn/add"), None),  # a width
        ("BATCH = 2", oom("2304,24000", "net/loss/softmax"), None),  # divides any even number
        ("BATCH = 97", oom("2304,24000", "net/loss/softmax"), None),
    ],
)
def test_the_batch_that_a_program_states(constants: str, failed: str, batch: int | None) -> None:
    case = pipeline.explain(CODE.format(constants=constants) + failed).case
    request = case.moments[0].request
    assert request and remedies._batch_of_program(case, request) == batch


@pytest.mark.parametrize(
    ("line", "of_features"),
    [
        ("words = tf.one_hot(features, WORDS)", True),
        ("x = tf.one_hot(token_ids, 30000)", True),
        ("y = tf.one_hot(labels, 30000)", False),
        ("y = tf.one_hot(class_ids, 30000)", False),
        ("z = tf.one_hot(a, 30000)", False),
    ],
)
def test_one_hot_rows_of_a_feature_belong_in_an_embedding(line: str, of_features: bool) -> None:
    text = (
        f'Traceback (most recent call last):\n  File "desk.py", line 22, in net\n    {line}\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
        " shape[256,24,30000] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
        " GPU_0_bfc [Op:OneHot]\n"
    )
    report = pipeline.explain(text)
    slugs = [action.remedy.slug for action in report.actions]
    assert ("a feature of 30,000 values" in report.verdict) is of_features
    assert slugs[0] == ("embed-the-feature" if of_features else "sparse-labels-alone")
    assert of_features is ("sparse-labels-alone" not in slugs)
    sparse = pipeline.explain(text + "loss = tf.losses.sparse_softmax_cross_entropy(y, logits)\n")
    assert ("a feature of" in sparse.verdict) is (of_features or "(a," in line)


@pytest.mark.parametrize(
    ("shape", "first"), [("10169,15831", "in-blocks"), ("9000,9000,8", "matrix-product")]
)
def test_distances_only_where_a_pair_has_components(shape: str, first: str) -> None:
    report = pipeline.explain(
        'Traceback (most recent call last):\n  File "auc.py", line 30, in auc\n'
        "    margin = tf.expand_dims(bad, 1) - tf.expand_dims(good, 0)\n" + oom(shape, "auc/sub")
    )
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs[0] == first and ("matrix-product" in slugs) is (first == "matrix-product")


@pytest.mark.parametrize(
    ("code", "shape", "batch"),
    [
        ("BATCH = 24", "48,24,64,256", 24),  # experts lead
        ("BATCH = 16", "320,48,48,24", 16),  # twenty points of each example
        ("ROWS = 24", "48,24,64,256", 48),
        ("BATCH = 25", "48,24,64,256", 48),
    ],
)
def test_a_batch_of_the_program_goes_before_what_leads_the_shape(code: str, shape: str, batch: int) -> None:
    case = pipeline.explain(f"{code}\n{oom(shape, 'net/block/add')}\n").case
    moment = case.moments[0]
    assert moment.request and moment.request.batch == int(shape.partition(",")[0])
    assert remedies.batch_of(case, moment) == batch


@pytest.mark.parametrize(
    ("length", "rows", "batch"),
    [
        (40, 1920, 48),
        (40, 1200, None),  # the run was told another batch
        (41, 1920, None),
        (40, 48, None),
    ],
)
def test_a_flags_batch_times_its_length_leads_the_rows(length: int, rows: int, batch: int | None) -> None:
    flags = f'flags.DEFINE_integer("batch_size", 48, "")\nflags.DEFINE_integer("longest", {length}, "")\n'
    moment = pipeline.explain(f"{oom(f'{rows},36000', 'decoder/MatMul')}\n").case.moments[0]
    assert moment.request is not None
    case: Any = Made(capture=Made(surroundings=told(flags)))
    assert remedies._batch_by_default(case, moment.request) == batch
