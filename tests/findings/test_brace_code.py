"""Quoted code of TensorFlow.js and of R: what each turn of a loop makes, and what nobody disposes of."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

MADE = """TensorFlow.js in Node: memory grows until the process is killed.
```
const tf = require('@tensorflow/tfjs-node');
const step = () => {
    const net = tf.sequential();
    net.add(tf.layers.dense({units: 4, inputShape: [2]}));
    net.dispose();
};
for (let i = 0; i < 100; i++) {
    step();
}
```
"""
ONE_CALL = """Memory grows with each request, tf.tidy() does not help.
```js
const tf = require('@tensorflow/tfjs-node');
const image = tf.node.decodeJpeg(bytes, 3);
const net = await tf.loadLayersModel('file://net/model.json');
const out = tf.tidy(() => {
    const small = tf.image.resizeBilinear(image, [64, 64]);
    return net.predict(small.expandDims(0));
});
const values = out.dataSync();
```
"""
R = """The memory grows with every epoch.
```
library(keras)
check <- function(epoch, logs) {
  for (i in 1:20) {
    p <- model$predict(x)
  }
}
```
"""
LOADED_IN_R = """Memory grows in this loop, free -m shows less each time:
```
library(keras)
for (i in 1:100) {
  m <- load_model_hdf5(path)
  rm(m)
  k_clear_session()
}
```
"""


def test_a_model_that_a_called_function_makes_is_named() -> None:
    report = pipeline.explain(MADE)
    assert "the model that line 5 makes anew in each turn of the loop on line 9" in report.verdict
    assert report.actions[0].remedy.slug == "make-once"


def test_a_model_above_the_loop_is_made_once() -> None:
    lines = MADE.splitlines()
    above = "\n".join([*lines[:3], "const net = tf.sequential();", *lines[8:]])
    report = pipeline.explain(above.replace("step();", "tf.tidy(() => net.predict(x).arraySync());"))
    assert "anew" not in report.verdict
    assert not any("load the model once" in each.remedy.text for each in report.actions)


def test_tensors_of_a_call_that_nobody_disposes_of_are_named() -> None:
    report = pipeline.explain(ONE_CALL)
    assert "`image` (line 4) and `out` (line 6), which are outside of tidy()" in report.verdict
    assert "line 5 loads the model, too" in report.verdict
    freed = ONE_CALL.replace("dataSync();", "dataSync();\ntf.dispose([image, out]);")
    assert "outside of tidy() and never" not in pipeline.explain(freed).verdict


@pytest.mark.parametrize(
    ("text", "what", "slug"),
    [
        (R, "predict (line 6), which each turn of the loop on line 5 calls", "one-call"),
        (LOADED_IN_R, "the model that line 5 loads anew in each turn of the loop on line 4", "make-once"),
    ],
)
def test_loops_of_r_are_read(text: str, what: str, slug: str) -> None:
    report = pipeline.explain(text)
    assert what in report.verdict
    assert report.actions[0].remedy.slug == slug
    assert not any("psutil" in (each.remedy.code or "") for each in report.actions)


def test_one_prediction_in_r_is_no_loop() -> None:
    assert "each turn of the loop" not in pipeline.explain(R.replace("for (i in 1:20) {", "{")).verdict
