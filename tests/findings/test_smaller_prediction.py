"""What is advised where a prediction failed: never a larger batch than the one that failed."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

LOG = """Traceback (most recent call last):
  File "scan.py", line 25, in <module>
    lesions = model.predict(volume{options})
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:

OOM when allocating tensor with shape[{shape}] and type float \
on /job:localhost/replica:0/task:0/device:GPU:0 \
by allocator GPU_0_bfc
\t [[{{{{node model/fine/Conv3D}}}}]] [Op:__inference_predict_function_1201]
"""


def advised(options: str, shape: str) -> list[tuple[str, str | None]]:
    report = pipeline.explain(LOG.format(options=options, shape=shape))
    found = next(each for each in report.findings if each.rule == "failed-in-evaluation")
    return [(remedy.text, remedy.code) for remedy in found.remedies]


@pytest.mark.parametrize(
    ("options", "shape", "code"),
    [
        ("", "64,128,64,64,16", "model.predict(x, batch_size=16)"),
        (", batch_size=4", "4,128,64,64,16", "model.predict(volume, batch_size=1)"),
        (", batch_size=3", "3,128,64,64,16", "model.predict(volume, batch_size=1)"),
    ],
)
def test_the_batch_becomes_a_quarter(options: str, shape: str, code: str) -> None:
    assert [each[1] for each in advised(options, shape)] == [code]


def test_a_batch_of_one_goes_in_pieces() -> None:
    ((text, code),) = advised(", batch_size=1", "1,128,256,256,16")
    assert "in pieces" in text
    assert code is None


def test_validation_has_a_batch_of_its_own_among_the_settings() -> None:
    log = LOG.replace("predict_function", "test_function").replace(
        "lesions = model.predict(volume{options})", "model.fit(x, y{options})"
    )
    report = pipeline.explain(log.format(options=", validation_batch_size=16", shape="64,128,64,64,16"))
    (remedy,) = next(each for each in report.findings if each.rule == "failed-in-evaluation").remedies
    assert "(this one had 16)" in remedy.text
    assert remedy.code == "model.fit(..., validation_batch_size=4)   # or batch the validation set itself"


@pytest.mark.parametrize(
    ("call", "last", "joined"),
    [("predict", "operation", True), ("predict", "layer", False), ("fit", "operation", False)],
)
def test_what_a_prediction_joins_last_are_its_results(call: str, last: str, joined: bool) -> None:
    text = f"# Out of memory error when running model.{call} over long arrays\n\n"
    text += f"Here it runs out of GPU memory on the last concat {last}.\n"
    assert ("which predict joins into one array" in pipeline.explain(text).verdict) is joined
