"""A tf.function that takes the model as an argument, in a program that only predicts."""

from __future__ import annotations

from tfmemlens import pipeline

PREDICTS = """There is a memory leak in prediction, clear_session does not help. I use the CPU alone.

net = tf.keras.models.load_model(path)

@tf.function
def infer(model, inputs):
    return model(inputs, training=False)

out = infer(net, rows)
tf.keras.backend.clear_session()
"""


def test_a_model_as_an_argument_is_named_with_its_traces() -> None:
    report = pipeline.explain(PREDICTS)
    assert "`infer` (line 6) keeps of its calls" in report.verdict
    assert "infer.experimental_get_tracing_count()" in (report.actions[0].remedy.code or "")


def test_who_only_predicts_is_not_told_to_train() -> None:
    without = PREDICTS.replace("@tf.function\n", "")
    words = " ".join(each.remedy.text for each in pipeline.explain(without).actions)
    assert "train each model" not in words and "predict in a process of its own" in words
    trains = without.replace("out = infer(net, rows)", "net.fit(x, y)")
    assert "predict in a process" not in " ".join(e.remedy.text for e in pipeline.explain(trains).actions)
