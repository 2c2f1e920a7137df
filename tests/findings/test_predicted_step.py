"""The step of the program's own model, predicted where it failed before one was traced."""

from __future__ import annotations

import json

import pytest

from tests.findings.logs import dump, oom
from tfmemlens import findings, pipeline
from tfmemlens.estimation.keras_step import capture as keras_capture
from tfmemlens.findings.support.predicted import predicted_failure
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Finding
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.what_if import FailureForecast, StepForecast
from tfmemlens.readers import keras_models
from tfmemlens.units import MIB
from tfmemlens.values import replace
from tfmemlens.what_if import described

LIMIT = 500 * MIB
CPU, ALLOCATOR = "/job:localhost/replica:0/task:0/device:CPU:0", "bfc_cpu_allocator_for_gpu"
LOG = (
    '  File "train.py", line 9, in <module>\n    model.fit(x, y, batch_size=16)\n'
    + '  File "/usr/lib/python3/site-packages/keras/src/backend/tensorflow/trainer.py", line 7, in fit\n'
    + "    logs = self.train_function(iterator)\n"
    + dump(64, 500, 460, (40,)).replace("GPU_0_bfc", ALLOCATOR)
    + "\n"
    + oom("16,1024,1024", node="net/dense/MatMul", on=CPU, by=ALLOCATOR)
    + " [Op:__inference_one_step_on_data_5]\n"
)
STEP = StepForecast(16, 600 * MIB, 520 * MIB, 700 * MIB, (("dense", 300 * MIB), ("norm", 90 * MIB)))
SMALLER = StepForecast(8, 310 * MIB, 260 * MIB, 380 * MIB)


def network(width: int = 512) -> Network:
    dense = {"units": width, "activation": "relu", "name": "dense"}
    layers = [
        {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 2048], "name": "given"}},
        {"class_name": "Dense", "config": dense},
    ]
    text = json.dumps({"class_name": "Sequential", "config": {"name": "net", "layers": layers}})
    return keras_models.of_text(text, "the recorded model")


def failed(predicted: FailureForecast | None, text: str = LOG, live: LiveModel | None = None) -> Case:
    known = pipeline.case(pipeline.capture(text))
    live = live or LiveModel(("net",), (("dense", "Dense"),), failed_batch=16, description="{}")
    capture = replace(known.capture, live_model=live)
    return replace(known, capture=capture, predicted=lambda index: predicted)


def told(case: Case) -> Finding | None:
    found = findings.examine(case).findings
    return next((each for each in found if each.rule == "predicted-step"), None)


def test_the_log_is_read_as_meant() -> None:
    moment = failed(None).moments[0]
    assert moment.balance.limit and moment.balance.limit.low <= LIMIT <= moment.balance.limit.high
    assert moment.request and moment.request.failed.keras_call == "fit"


def test_a_step_that_is_surely_too_large_is_the_cause() -> None:
    found = told(failed(FailureForecast("net", STEP, SMALLER)))
    assert found and found.headline.startswith("a training step of `net` at batch 16 is too large")
    assert "600.00 MiB (520.00 MiB to 700.00 MiB), most in `dense` (300.00 MiB) and `norm` (90.00 MiB)" in (
        found.headline
    )
    assert found.remedies[0].text.startswith(
        "lower the batch: 16 -> 8 (a step is predicted to need 310.00 MiB then, at most 380.00 MiB)"
    )
    assert found.explains == LIMIT


def _of_variables(*shapes: tuple[int, ...]) -> list[str | None]:
    variables = tuple(
        LiveVariable(f"w{number}", "dense", Kind.PARAMETER, TensorType(shape, "float32"))
        for number, shape in enumerate(shapes)
    )
    live = LiveModel(("net",), (("dense", "Dense"),), variables, failed_batch=16, description="{}")
    found = told(failed(FailureForecast("net", STEP, SMALLER), live=live))
    return [each.slug for each in found.remedies] if found else []


def test_where_weights_fill_half_of_the_limit_they_are_to_begin_with() -> None:
    half = LIMIT // 8
    assert _of_variables((half, 1))[0] == "lighter-optimizer"
    assert "lighter-optimizer" not in _of_variables((half - 1, 1))


def test_height_and_width_are_those_of_a_net_with_convolutions() -> None:
    assert "smaller-input" not in _of_variables((64, 64))
    assert "smaller-input" in _of_variables((64, 64), (3, 3, 8, 8))


@pytest.mark.parametrize(
    "low, peak, words",
    [(499, 600, "most likely a training step"), (501, 600, "a training step"), (400, 499, None)],
)
def test_how_sure_it_is_follows_from_the_bar(low: int, peak: int, words: str | None) -> None:
    found = told(failed(FailureForecast("net", replace(STEP, low_bytes=low * MIB, peak_bytes=peak * MIB))))
    assert found.headline.startswith(words) if found and words else found is words is None


@pytest.mark.parametrize(
    "text, live",
    [
        (LOG, LiveModel(("net",), (("dense", "Dense"),), failed_batch=16)),  # no description
        (LOG.replace("in fit", "in predict"), None),
        (LOG.replace("in fit", "in run").replace("one_step_on_data", "step"), None),
    ],
)
def test_it_stays_silent_where_no_training_of_the_model_is_shown(text: str, live: LiveModel | None) -> None:
    case = failed(FailureForecast("net", STEP, SMALLER), text, live)
    assert predicted_failure(case, case.moments[0]) is None and told(case) is None


def asked(limit: int, model: Network | None = None, batch: int | None = 64) -> FailureForecast | None:
    text = LOG.replace(str(LIMIT), str(limit))
    live = LiveModel(("net",), (), failed_batch=batch, description="{}")
    known = failed(None, text, live)
    return described.predicted_failure(known, 0, lambda: model)


def peak(batch: int) -> int:
    step = keras_capture.capture(network(), StepSettings(batch=batch), needs_limit=False).timelines[0]
    return step.peak_bytes


def test_the_step_is_that_of_an_estimate() -> None:
    found = asked(LIMIT, network(), batch=64)
    assert found and found.model == "net" and found.smaller is None  # it fits
    assert found.failed.peak_bytes == peak(64) and found.failed.layers[0][0] == "dense"
    assert found.failed.low_bytes < found.failed.peak_bytes < found.failed.high_bytes


def test_a_smaller_batch_is_one_whose_bar_the_limit_holds() -> None:
    limit = peak(100_000) // 3
    found = asked(limit, network(), batch=100_000)
    assert found and found.failed.peak_bytes > limit and found.smaller
    assert found.smaller.high_bytes <= limit and found.smaller.batch < 50_000


def test_where_the_weights_alone_are_too_large_no_batch_is_said_to_fit() -> None:
    found = asked(6 * MIB, network(), batch=4)
    assert found and found.failed.peak_bytes > 6 * MIB and found.smaller is None


def test_without_a_description_a_limit_or_a_batch_nothing_is_predicted() -> None:
    assert asked(LIMIT, None) is None
    assert asked(LIMIT, network(), batch=None) is None
    many = replace(network(), layers=network().layers * 300)
    assert asked(LIMIT, many) is None
