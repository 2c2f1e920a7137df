"""How a run was set up and how far it had come: settings, progress, retracing, arguments of a call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tfmemlens import pipeline
from tfmemlens.cli.main import main
from tfmemlens.model.capture import Capture
from tfmemlens.readers.formats import oom_log
from tfmemlens.readers.oom.switches import settings
from tfmemlens.renderers.terminal import report as page

SENTENCE = (
    "OOM when allocating tensor with shape[16,512,512,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)


def read(text: str) -> Capture:
    return oom_log.read_lines(list(enumerate(text.split("\n"), 1)))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("model.fit(x, y, batch_size=64, epochs=3)", {"batch_size": "64"}),
        ("--per_device_train_batch_size 8 --steps 16", {"batch_size": "8"}),
        ("ds = ds.batch(32)", {"batch_size": "32"}),
        ("validation_batch_size=16", {"validation_batch_size": "16"}),
        ("@tf.function(jit_compile=False)", {"jit_compile": "False"}),
        ("TF_FORCE_GPU_ALLOW_GROWTH=false python a.py", {"allow_growth": "False"}),
        ("os.environ['XLA_PYTHON_CLIENT_MEM_FRACTION'] = '.8'", {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".8"}),
    ],
)
def test_the_value_of_a_setting(line: str, expected: dict[str, str]) -> None:
    assert dict(settings(line)) == expected


@pytest.mark.parametrize(
    "line",
    [
        "def fit(self, x=None, y=None, batch_size=None, epochs=1):",
        "jit_compile=jit_compile,",
        "If the cause is memory fragmentation maybe the environment variable"
        " 'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation.",
        "Total bytes in pool: 314572800 memory_limit_: 314572800 available bytes: 0",
        "ds = ds.batch(n)",
    ],
)
def test_what_sets_nothing(line: str) -> None:
    assert not list(settings(line))


def test_settings_are_read_from_code_that_a_traceback_quotes() -> None:
    surroundings = read(
        'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n'
        f"    model.fit(x, y, batch_size=64)\nResourceExhaustedError: {SENTENCE}"
    ).surroundings
    value, line = surroundings.setting("batch_size") or ("", None)
    assert value == "64"
    assert line is not None and line.number == 3


BARS = {
    "Keras 2": "Epoch 3/10\n 12/500 [>......................] - ETA: 1:28 - loss: 0.7",
    "Keras 3": "Epoch 3/10\n\x1b[1m 12/500\x1b[0m"
    " \x1b[32m\u2501\u2501\u2501\x1b[0m\x1b[37m\u2501\u2501\x1b[0m"
    " \x1b[1m8s\x1b[0m 9ms/step - loss: 2.3",
    "tqdm": "Epoch 3/10\n  2%|#         | 12/500 [00:31<03:51,  3.81it/s]",
    "one after another on a line": "Epoch 3/10\n 11/500 [>.....] - ETA: 1s\b\b 12/500 [>.....] - ETA: 1s",
}


@pytest.mark.parametrize("name", BARS)
def test_the_last_bar_before_the_failure_says_how_far_it_came(name: str) -> None:
    capture = read(f"{BARS[name]}\n{SENTENCE}\nEpoch 9/10")
    at = capture.surroundings.progress_before(capture.incidents[0].request.line)
    assert at is not None
    assert (at.epoch, at.epochs, at.step, at.steps, at.line.number) == (3, 10, 12, 500, 2)


@pytest.mark.parametrize("text", ["see 3/4 of it", "/home/a/12/500 [x]", "501/500 [======] - 1s"])
def test_a_fraction_is_no_progress(text: str) -> None:
    assert not [each for each in read(f"{text}\n{SENTENCE}").surroundings.progress if each.step]


@pytest.mark.parametrize(
    "what",
    [
        "Resolving data files",
        "Map (num_proc=4)",
        "Generating train split",
        "Loading dataset shards",
        "Loading pipeline components...",
        "Running tokenizer on dataset",
    ],
)
def test_a_bar_of_files_or_of_a_data_set_is_no_progress(what: str) -> None:
    bar = "100%|##########| 900/900 [00:03<00:00, 280.00it/s]"
    assert not [each for each in read(f"{what}: {bar}\n{SENTENCE}").surroundings.progress if each.step]
    assert [each for each in read(f"Epoch 1: {bar}\n{SENTENCE}").surroundings.progress if each.step]


def test_an_evaluation_that_ended_is_over() -> None:
    begun = "INFO:tensorflow:Starting evaluation at 2020-04-02T11:31:39Z"
    ended = "INFO:tensorflow:Finished evaluation at 2020-04-02-11:32:39"
    assert read(f"{begun}\n{SENTENCE}").surroundings.evaluating is not None
    assert read(f"{begun}\n{ended}\n{SENTENCE}").surroundings.evaluating is None


@pytest.mark.parametrize(
    ("function", "phase"),
    [
        ("__inference_test_function_21177", "evaluation"),
        ("__inference_predict_function_9", "prediction"),
        ("__inference_train_function_21177", None),
        ("__inference_latest_function_3", None),
    ],
)
def test_the_function_says_which_data_set_it_was(function: str, phase: str | None) -> None:
    report = pipeline.explain(f"{SENTENCE} [Op:{function}]\n")
    found = [finding for finding in report.findings if finding.rule == "failed-in-evaluation"]
    assert [finding.headline.split(",")[0] for finding in found] == (
        [f"it failed in {phase}"] if phase else []
    )


CALL = (
    "ResourceExhaustedError: Exception encountered when calling Pairs.call().\n\nfailed to allocate memory"
    " [Op:Sub] name: \n\nArguments received by Pairs.call():\n"
    "  \u2022 a=tf.Tensor(shape=(8, None, 32), dtype=float32)\n"
    "  \u2022 b=['tf.Tensor(shape=(8, 4), dtype=int32)', 'tf.Tensor(shape=(), dtype=bool)']\n"
    "  \u2022 training=True\n"
)


def test_a_call_s_tensors_belong_to_its_failure() -> None:
    (failure,) = read(CALL).incidents
    assert [(each.name, each.shape, each.dtype) for each in failure.request.arguments] == [
        ("a", (8, None, 32), "float32"),
        ("b", (8, 4), "int32"),
        ("b", (), "bool"),
    ]
    assert failure.request.arguments[0].line.number == 6


def test_a_list_that_is_no_call_gives_no_arguments() -> None:
    capture = read(f"{SENTENCE}\nWhat I tried:\n  \u2022 x=tf.Tensor(shape=(8, 4), dtype=int32)")
    assert not capture.incidents[0].request.arguments


CELLS = {
    "IPython 7": "<ipython-input-9-1a2b3c4d5e6f> in <module>\n     26 y = 1\n---> 27 history = model.fit(x)",
    "IPython 8": "Cell In[9], line 27\n     26 y = 1\n---> 27 history = model.fit(x)",
    "IPython 8.0": "Input In [9], in <cell line: 27>()\n     26 y = 1\n---> 27 history = model.fit(x)",
    "ipykernel 6": "/tmp/ipykernel_42/3541986.py in <module>\n     26 y = 1\n---> 27 history = model.fit(x)",
}
LIBRARY = (
    "File /usr/lib/python3.11/site-packages/keras/src/utils/traceback_utils.py:122, in error_handler(*args)\n"
    "    119     filtered = None\n--> 122     raise e.with_traceback(filtered) from None\n"
)


@pytest.mark.parametrize("name", CELLS)
def test_a_notebook_s_cell_is_the_user_s_code(name: str) -> None:
    (failure,) = read(
        "ResourceExhaustedError                    Traceback (most recent call last)\n"
        f"{CELLS[name]}\n\n{LIBRARY}\nResourceExhaustedError: Graph execution error:\n\n"
        "Detected at node net/a/Relu defined at (most recent call last):\n<stack traces unavailable>\n"
        f"{SENTENCE}\n"
    ).incidents
    assert failure.request.source is not None and failure.request.source.endswith(":27")
    assert failure.request.source_text == "history = model.fit(x)"


def test_the_page_shows_the_run_with_its_lines() -> None:
    text = page.render(pipeline.explain(f"{BARS['Keras 2']}\nmodel.fit(x, batch_size=64)\n{SENTENCE}\n"))
    assert "epoch 3 of 10, 12 of 500 steps done (line 2)" in text
    assert "batch_size=64 (line 3)" in text
    assert "THE RUN" not in page.render(pipeline.explain(SENTENCE + "\n"))


@pytest.mark.parametrize(
    ("function", "named", "code"),
    [
        ("<function step at 0x7f1c>", "`step`", "input_signature"),
        (
            "<function Model.make_train_function.<locals>.train_function at 0x7f87>",
            "Keras's function",
            "clear_session",
        ),
    ],
)
def test_who_is_retraced_decides_what_helps(function: str, named: str, code: str) -> None:
    warning = f"WARNING:tensorflow:5 out of the last 5 calls to {function} triggered tf.function retracing."
    report = pipeline.explain(f"{warning}\n{SENTENCE}\n")
    found = next(finding for finding in report.findings if finding.rule == "retraced-functions")
    assert named in found.headline
    assert code in (found.remedies[0].code or "")


READINGS = "epoch {} {{'current': {}, 'peak': 5368742400}}"


@pytest.mark.parametrize(
    ("figures", "rises"),
    [((1 << 30, 2 << 30, 3 << 30), True), ((1 << 30, 2 << 30), False), ((1 << 30, 3 << 30, 3 << 30), False)],
)
def test_three_readings_that_rise_each_time_are_growth(figures: tuple[int, ...], rises: bool) -> None:
    report = pipeline.explain(
        "".join(READINGS.format(turn, figure) + "\n" for turn, figure in enumerate(figures, 1))
    )
    assert [finding.rule for finding in report.findings] == (["rising-readings"] if rises else [])
    assert not report.case.moments
    if rises:
        assert "about 1.00 GiB from one to the next" in report.verdict


@pytest.mark.parametrize(
    ("unit", "rows", "found"),
    [
        ("RAM in use, `Memory: ` is in GB", ("Memory: 1.5", "Memory: 2.5"), [1.5e9, 2.5e9]),
        ("I print the RSS memory in MiB", ("mem used = 1024.0",), [1 << 30]),
        ("`Memory: ` is in GB", ("Memory: 1.5",), []),  # whose memory is not said
        ("RAM in use, GPU memory in GB", ("Memory: 1.5",), []),
        ("RAM in use", ("Memory: 1.5",), []),
        ("RAM in use, `Memory: ` is in GB", ("Memory: 1.5 is what it shows",), []),
    ],
)
def test_figures_without_a_unit_have_the_one_that_words_give(
    unit: str, rows: tuple[str, ...], found: list[float]
) -> None:
    readings = read("\n".join((unit, *rows))).surroundings.host_readings
    assert [size for size, _ in readings] == found


def test_ram_that_rises_in_steps_of_torch_xla_is_most_likely_programs() -> None:
    rows = "".join(f"step {at}\nMemory: {at * 2.5}\n" for at in range(1, 6))
    text = f"With torch_xla I print RAM in use: `Memory: ` is in GB.\n{rows}Killed: out of memory\n"
    report = pipeline.explain(text)
    assert "programs that are compiled anew" in report.verdict
    assert report.actions[0].remedy.slug == "count-compilations"
    assert "compiled anew" not in pipeline.explain(text.replace("torch_xla", "tensorflow")).verdict


def test_a_figure_called_current_is_no_reading() -> None:
    assert not read("{'current': 3, 'total': 10}").surroundings.readings


FRAMES_BELOW = {
    "Java": (
        "\tat org.tensorflow.Session.run(Session.java:830)\n\tat com.acme.Service.predict(Service.java:71)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:829)",
        "Service.java:71",
    ),
    "Node": (
        "    at Object.kernelFunc (/app/node_modules/@tensorflow/tfjs-core/dist/tf-core.node.js:4752:32)\n"
        "    at /app/src/detect.js:48:21",
        "/app/src/detect.js:48",
    ),
    "only libraries": ("\tat org.tensorflow.Session.run(Session.java:830)", None),
}


@pytest.mark.parametrize("name", FRAMES_BELOW)
def test_frames_of_other_languages_name_the_user_s_line(name: str) -> None:
    frames, place = FRAMES_BELOW[name]
    (failure,) = read(f"Exception: {SENTENCE}\n{frames}").incidents
    assert failure.request.source == place


def test_json_and_the_page_say_how_the_run_stood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, drawn = tmp_path / "train.log", tmp_path / "page.html"
    log.write_text(
        "Epoch 3/10\nmodel.fit(x, y, batch_size=64)\nXlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while"
        " trying to allocate 8589934592 bytes.\n"
    )
    assert main(["explain", str(log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["incidents"][0]["run"] == {
        "progress": ["epoch 3 of 10 (line 1)"],
        "settings": ["batch_size=64 (line 2)"],
    }
    assert main(["report", str(log), "-o", str(drawn)]) == 0
    assert "batch_size=64 (line 2)" in drawn.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "figures"),
    [
        ("epoch 1 step  200 loss 1.7500 gpu_mem 5.00 GB", [5 * 10**9]),
        ("iter 7: memory used=512.0 MB", [512 * 10**6]),
        ("mem 4.0 GB", []),  # of no step
        ("mem 5.00 GB after step 3", []),
        ("step 3 mem 4.0 points", []),
        ("step " * 50_000 + "mem 4.0 GB", [4 * 10**9]),
    ],
)
def test_a_programs_own_line_of_a_step_tells_what_is_in_use(line: str, figures: list[int]) -> None:
    assert [reading for reading, _ in read(f"{line}\n{SENTENCE}").surroundings.readings] == figures


@pytest.mark.parametrize(
    ("lines", "epochs"),
    [
        ("Epoch 6/9\nEpoch 1/9\n8/8 - 0s - loss: 0.2", [6]),
        ("Epoch 6/9\n8/8 - 0s - loss: 0.2\nEpoch 1/9", [6, 1]),  # another call of fit
        ("Epoch 9/9\nEpoch 1/4", [9, 1]),
        ("Epoch 6/9\nEpoch 7/9", [6, 7]),
    ],
)
def test_an_epoch_of_a_validation_is_none_of_the_training(lines: str, epochs: list[int]) -> None:
    told = read(f"{lines}\n{SENTENCE}").surroundings
    assert [each.epoch for each in told.progress if each.step is None] == epochs
    assert [step for step, _ in told.steps] == epochs
