"""Posts whose words speak of memory though something else failed, and the other way round."""

from __future__ import annotations

import pytest

from tfmemlens import attribution, findings
from tfmemlens.model.report import Report
from tfmemlens.readers.formats import oom_log


def explain(text: str) -> Report:
    capture = oom_log.read_lines(list(enumerate(text.split("\n"), 1)))
    return findings.examine(attribution.attribute(capture))


def told(text: str) -> list[str]:
    return [each.headline for each in explain(text).findings]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            '"code": 429,\n"message": "Quota failure for project lab. The request for 4 T4 accelerators'
            ' exceeds the allowed maximum of 0 A100, 0 T4 accelerators.",\n"status": "RESOURCE_EXHAUSTED",',
            "a cloud service's quota",
        ),
        (
            "The app stops:\njava.lang.NullPointerException: Can not allocate memory for the interpreter",
            "TensorFlow Lite could not prepare the model",
        ),
        (
            "Could not predict P1. Not Enough GPU memory? FAILED_PRECONDITION: Couldn't get ptxas version"
            " string: INTERNAL: Running ptxas --version returned 32512",
            "XLA could not start CUDA's assembler",
        ),
    ],
)
def test_no_memory(text: str, what: str) -> None:
    (headline,) = told(text)
    assert headline.startswith(f"no lack of memory: {what}")


def test_a_question_before_another_error_is_no_statement() -> None:
    asked = "Not enough GPU memory? "
    assert not told(f"{asked}INTERNAL: the driver shut down")
    assert told(f"{asked}RESOURCE_EXHAUSTED: the pool is full")
    assert "in words" in told("Is there not enough GPU memory for it?")[0]


def test_memory_that_crashes_has_run_out() -> None:
    saving = "I cannot save the model to disk without my system memory crashing."
    assert "host RAM ran out" in told(saving)[0] or "memory ran out" in told(saving)[0]
    assert not told("I save the model to disk without my memory crashing.")


def test_ram_of_a_gpu_is_no_host_ram() -> None:
    text = "A small network in Keras eats 11GB of 16GB GPU RAM, it is too much GPU RAM."
    assert not any("host RAM" in each for each in told(text))
    assert any("host RAM" in each for each in told("Keras takes 60GB of RAM, RAM is full."))


SENTENCE = (
    "OOM when allocating tensor with shape[100,494] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)
HEADER = "ResourceExhaustedError                    Traceback (most recent call last)"


def test_the_batch_that_works_is_not_the_one_that_failed() -> None:
    posted = f"I set batch_size = 100\n{SENTENCE}\nSame command but when --batch_size= 1\nit works all fine"
    report = explain(posted)
    assert any("100 -> 50" in action.remedy.text for action in report.actions)
    assert not any("already" in action.remedy.text for action in report.actions)
    alone = explain(f"batch_size = 100 and then 8\n{SENTENCE}")
    assert any("100 -> 50" in action.remedy.text for action in alone.actions)


def test_the_head_of_a_traceback_is_the_error() -> None:
    cut = f"I predict\n{HEADER}\nin\n1 x = read()\n----> 2 y = model.predict(x)\n"
    (moment,) = explain(cut).case.moments
    assert moment.request
    assert moment.request.failed.source == "the cell:2"
    assert moment.request.failed.keras_call == "predict" or moment.request.failed.source_text


def test_the_head_of_a_traceback_whose_message_follows() -> None:
    (moment,) = explain(
        f"{HEADER}\nin\n----> 2 y = model.fit(x)\nResourceExhaustedError: {SENTENCE}"
    ).case.moments
    assert moment.request
    assert moment.request.failed.shape == (100, 494)
    (moment,) = explain(f"{HEADER}\nin\n----> 2 y = f(x)\nResourceExhaustedError: Graph error").case.moments
    assert moment.request
    assert moment.request.failed.line
    assert moment.request.failed.line.text.endswith("Graph error")
    full = explain(f"{HEADER}\nin\n----> 2 saver.save(s)\nResourceExhaustedError: a; No space left on device")
    assert not full.case.moments


def test_a_tool_that_tiles_is_told_to_predict_in_tiles() -> None:
    call = "----> 2 labels, _ = model.predict_instances(img)"
    frame = "~/envs/x/site-packages/stardist/models/base.py in predict(self, img, axes)\n--> 350 p = run(x)"
    report = explain(f"StarDist\n{HEADER}\n<ipython-input-3-ab> in <module>\n{call}\n\n{frame}\n")
    texts = [action.remedy.text for action in report.actions]
    assert any("n_tiles" in text for text in texts)
    assert not any("train_patch_size" in text for text in texts)
    other = explain(
        f"I use Keras\n{HEADER}\n<ipython-input-3-ab> in <module>\n----> 2 y = model.predict(x)\n"
    )
    assert not any("n_tiles" in action.remedy.text for action in other.actions)


@pytest.mark.parametrize(
    ("message", "of_a_file"),
    [
        ("ResourceExhaustedError: dataset/train/part_00002-of-00004", True),
        ("ResourceExhaustedError: /data/run/train.tfrecords; writing", True),
        (r"ResourceExhaustedError: C:\data\train.tfrecord", True),
        ("ResourceExhaustedError: model/conv_1/Relu", False),
        ("ResourceExhaustedError: OOM when allocating tensor with shape[8,9] and type float", False),
        ("ResourceExhaustedError: Graph execution error:", False),
    ],
)
def test_an_error_that_names_a_file_alone_is_of_the_disk(message: str, of_a_file: bool) -> None:
    shown = [
        each for each in told(f"Traceback (most recent call last):\n{message}") if "a file could not" in each
    ]
    assert bool(shown) is of_a_file


def test_what_nothing_fixed_has_no_cure() -> None:
    def first(text: str) -> str:
        return explain(f"My RAM grows each epoch, until it is full.\n{text}").actions[0].remedy.text

    assert "says ended it" in first("Moving the data to the CPU solved the problem")
    for vain in ("nothing fixed", "nothing helped", "it never helped", "none helped"):
        assert "says ended it" not in first(f"I tried moving the data to the CPU also but {vain} the problem")


def test_the_failure_beside_harmless_warnings_is_told() -> None:
    warning = (
        "2024-01-08 22:51:53.5: W tsl/framework/bfc_allocator.cc:296] Allocator (GPU_0_bfc) ran out of memory"
        " trying to allocate 4.59GiB with freed_by_count=0. The caller indicates that this is not a failure,"
        " but this may mean that there could be performance gains if more memory were available.\n"
    )
    failed = explain(f"{warning}error: libdevice not found at ./libdevice.10.bc\n")
    assert failed.verdict.startswith("No lack of memory: XLA did not find CUDA's libdevice")
    assert explain(warning).verdict.startswith("1 warning that an allocation failed harmlessly")


def test_the_node_is_named_where_its_message_is_not_here() -> None:
    node = "Detected at node 'model/dense/MatMul' defined at (most recent call last):\n"
    frame = '    File "/usr/lib/python3.10/asyncio/base_events.py", line 603, in run_forever\n'
    title = "# ResourceExhaustedError in my CNN\n"
    assert "the node `model/dense/MatMul` (line 2)" in explain(f"{title}{node}{frame}").verdict
    assert "the node" not in explain(f"{title}{frame}").verdict


@pytest.mark.parametrize("can", ["Cannot", "Can not"])
def test_an_input_without_a_shape_is_no_lack_of_memory(can: str) -> None:
    text = (
        f"{can} allocate memory, but 1.6 GB are free.\nIllegalStateException: Internal error: {can} allocate"
        " memory for the interpreter: depthwise_conv.cc:99 NumDimensions(input) != 4 (0 != 4)"
    )
    found = explain(text)
    assert [each.headline[:17] for each in found.findings] == ["no lack of memory"]
    assert [each.slug for each in found.findings[0].remedies] == ["shape-of-the-input"]
