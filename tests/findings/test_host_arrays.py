"""Arrays of host RAM that are no data set: outputs that predict joins, one element of an input pipeline."""

from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.readers.formats import oom_log

JOINED = """Traceback (most recent call last):
  File "/srv/maps/score.py", line 21, in <module>
    out = net.predict(tiles)
  File "/srv/maps/lib/python3.11/site-packages/keras/src/backend/tensorflow/trainer.py", line 560, in predict
    outputs = tree.map_structure_up_to(
numpy._core._exceptions._ArrayMemoryError: Unable to allocate 29.3 GiB for an array with shape"""
JOINED += " (6000, 512, 512, 5) and data type float32\n"
ELEMENT = """ResourceExhaustedError: MemoryError: Unable to allocate 24.0 MiB for an array with shape"""
ELEMENT += """ (1024, 768, 4) and data type float64
Traceback (most recent call last):
  File "C:\\work\\masks.py", line 8, in paint
    mask = np.zeros(image.shape[:2] + (classes,))
MemoryError: Unable to allocate 24.0 MiB for an array with shape (1024, 768, 4) and data type float64
\t [[{{node PyFunc}}]]
\t [[IteratorGetNext]]
"""


def report(text: str) -> Report:
    return pipeline.report(oom_log.read_lines(list(enumerate(text.splitlines(), 1))))


def slugs(of: Report) -> list[str]:
    return [each.remedy.slug for each in of.actions]


def test_outputs_that_predict_joins() -> None:
    seen = report(JOINED)
    assert "predict joins the outputs" in seen.findings[0].because
    assert slugs(seen)[:2] == ["predict-in-pieces", "smaller-output"] and "map-the-file" not in slugs(seen)
    data = JOINED.replace(
        "in predict\n    outputs = tree.map_structure_up_to(", "in predict\n    x = cast(x)"
    )
    assert "predict joins" not in report(data).findings[0].because


def test_one_element_of_a_pipeline_is_no_data_set() -> None:
    seen = report(ELEMENT)
    assert "for one element" in seen.findings[0].because
    assert not {"map-the-file", "narrow-array"} & set(slugs(seen)) and "smaller-pipeline" in slugs(seen)
    code = "ds = names.map(load).cache().shuffle(900).batch(4)\n"
    assert "cache()" in report(ELEMENT + code).findings[0].because
    late = report(ELEMENT + "It comes in epoch 5 or 6, never in the first\n")
    assert "the loader keeps grows" in late.findings[0].because and slugs(late)[0] == "find-what-grows"


SERVED = """    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Limits:
      memory:          {limit}
    Image: tensorflow/serving:2.8.0{build}
"""


def test_a_server_for_gpus_within_a_small_limit() -> None:
    first = report(SERVED.format(limit="3Gi", build="-gpu")).actions
    assert "CUDA's libraries" in first[0].remedy.text
    assert [each.remedy.slug for each in first].count("raise-container-limit") == 1
    for limit, build in (("32Gi", "-gpu"), ("3Gi", "")):
        others = report(SERVED.format(limit=limit, build=build)).actions
        assert not any("CUDA's libraries" in each.remedy.text for each in others)
