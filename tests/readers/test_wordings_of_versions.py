"""Which TensorFlow a text is from: dates, wordings and paths narrow it; a contradiction changes nothing."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, oom
from tfmemlens import pipeline
from tfmemlens.findings.support import code_snippets
from tfmemlens.model.case import Api, FrontEnd
from tfmemlens.readers.oom.eras import era_of
from tfmemlens.readers.oom.rules import FIRST, LAST

SENTENCE = f"OOM when allocating tensor with shape[8,64] and type float on {GPU} by allocator GPU_0_bfc"
RAISED = f"tensorflow.python.framework.errors_impl.ResourceExhaustedError: {SENTENCE}\n"


def api(text: str) -> Api:
    return pipeline.explain(text).case.api


EAGER = (
    "Hint: If you want to see a list of allocated tensors when OOM happens, add"
    " report_tensor_allocations_upon_oom to RunOptions for current allocation info."
)


@pytest.mark.parametrize(
    ("text", "oldest", "newest"),
    [
        (f"{RAISED}\nCaused by op 'net/conv', defined at:\n", (1, 5), (1, 14)),
        (f"{RAISED}\nOriginal stack trace for 'net/conv':\n", (1, 14), LAST),
        (f"{RAISED}{EAGER} This isn't available when running in Eager mode.\n", (2, 5), LAST),
        (f"{RAISED}{EAGER}\n", (1, 5), LAST),
        (f"{RAISED}\t [[{{{{node net/conv}}}} = Conv2D[T=DT_FLOAT](x, w/read)]]\n", (1, 11), (1, 13)),
        (f"{RAISED}\t [[{{{{node net/conv}}}}]]\n", (1, 12), LAST),
        (f"OP_REQUIRES failed at conv_ops.cc:693 : RESOURCE_EXHAUSTED: {SENTENCE}\n", (2, 7), LAST),
        (f"OP_REQUIRES failed at conv_ops.cc:693 : Resource exhausted: {SENTENCE}\n", (1, 5), (2, 8)),
        (f"{RAISED.strip()} [Op:__inference_step_2240]\n\nFunction call stack:\nstep\n", (2, 0), (2, 8)),
        (f"{RAISED.strip()} [Op:__inference_test_function_21177]\n", (2, 2), LAST),
    ],
)
def test_wordings_narrow_the_version(text: str, oldest: tuple[int, int], newest: tuple[int, int]) -> None:
    known = api(text)
    assert (known.oldest, known.newest) == (oldest, newest)


def test_functions_of_keras_are_keras() -> None:
    for name in ("train", "test", "predict"):
        told = oom("8,64", "net/conv/Conv2D").rstrip() + f" [Op:__inference_{name}_function_21]\n"
        assert api(told).front_end is FrontEnd.KERAS
    own = oom("8,64", "net/conv/Conv2D").rstrip() + " [Op:__inference_step_21]\n"
    assert api(own).front_end is FrontEnd.FUNCTION


@pytest.mark.parametrize(
    ("path", "oldest"),
    [
        ("/venv/lib/python3.11/site-packages/keras/src/backend/tensorflow/random.py", (2, 16)),
        ("/venv/lib/python3.11/site-packages/keras/src/utils/traceback_utils.py", (2, 13)),
        ("/home/me/keras/backend/tensorflow/random.py", FIRST),
    ],
)
def test_folders_of_keras_3(path: str, oldest: tuple[int, int]) -> None:
    assert era_of(path)[0] == oldest


@pytest.mark.parametrize(
    ("known", "code"),
    [
        (Api((1, 14), (1, 15), FrontEnd.SESSION), "enable_mixed_precision_graph_rewrite"),
        (Api((1, 13), (2, 6), FrontEnd.SESSION), "tf.compat.v1.train.experimental.enable"),
        (Api((1, 14), (1, 15), FrontEnd.KERAS), None),
        (Api((1, 5), (1, 13), FrontEnd.SESSION), None),
        (Api((2, 0), (2, 6), FrontEnd.FUNCTION), "mixed_precision.set_global_policy"),
        (Api((2, 0), (2, 3), FrontEnd.KERAS), "mixed_precision.experimental.set_policy"),
    ],
)
def test_half_precision_is_set_as_the_program_can(known: Api, code: str | None) -> None:
    snippet = code_snippets.mixed_precision(known)
    assert snippet is None if code is None else code in (snippet or "")


@pytest.mark.parametrize(
    ("said", "of_it"),
    [
        ("The TensorFlow contrib module will not be included in TensorFlow 2.0.", False),
        ("This will no longer be there in TF 2.0", False),
        ("It runs with TensorFlow 2.0", True),
    ],
)
def test_what_a_later_release_will_be_is_no_version(said: str, of_it: bool) -> None:
    known = api(f"{said}\n{oom('8,64')}")
    assert ((known.oldest, known.newest) == ((2, 0), (2, 0))) is of_it
