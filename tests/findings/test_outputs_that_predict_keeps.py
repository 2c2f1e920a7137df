"""What `predict` keeps of the batches that went well, and the program's own call in what is advised."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings import logs
from tfmemlens import pipeline
from tfmemlens.model.report import Report

PROGRAM = """\
import tensorflow as tf

ROWS = 8
ids = load()
inp = tf.keras.Input((64,))
wide = tf.keras.layers.Dense(4096, name="wide")(inp)
net = tf.keras.Model(inp, tf.keras.layers.Dense({units}, name="ranks")(wide))
{more}"""
UNITS = 32 << 20
"""Eight rows of so many numbers are 1 GiB."""


def explained(
    tmp_path: Path,
    count: int = 15,
    units: int = UNITS,
    call: str = "predict",
    more: str = "",
    option: str = "",
    on: str = "GPU",
) -> Report:
    code = f"answer = net.{call}(ids, {option}batch_size=ROWS)"
    program = f"{PROGRAM.format(units=units, more=more)}{code}\n"
    (tmp_path / "rank.py").write_text(program)
    allocator, device = ("GPU_0_bfc", logs.GPU) if on == "GPU" else ("mklcpu", logs.CPU)
    sizes = ((count, 1 << 30), (1, (15 << 30) + (1 << 29) - (count << 30)))
    step = {"predict": "predict", "evaluate": "test"}[call]
    (tmp_path / "run.log").write_text(
        f"{logs.dump_by_size(1 << 30, 15 << 10 | 600, *sizes, allocator=allocator)}"
        f'Traceback (most recent call last):\n  File "{tmp_path}/rank.py", line {program.count(chr(10))}, in'
        f' <module>\n    {code}\n  File "/env/lib/site-packages/keras/engine/training.py", line 9, in'
        f" {call}\n    outputs = step(iterator)\n"
        f"{logs.oom(f'8,{UNITS}', 'model/ranks/MatMul', on=device, by=allocator).rstrip()}"
        f" [Op:__inference_{step}_function_91]\n"
    )
    return pipeline.explain(tmp_path / "run.log")


def codes(report: Report) -> list[str | None]:
    return [action.remedy.code for action in report.actions]


@pytest.mark.parametrize(
    ("on", "code"),
    [
        (
            "GPU",
            "results = np.concatenate([net.predict_on_batch(ids[i:i + 8]) for i in range(0, len(ids), 8)])",
        ),
        (
            "CPU",
            "for i in range(0, len(ids), 8):\n"
            "    np.save(f'part{i}.npy', net.predict_on_batch(ids[i:i + 8]))",
        ),
    ],
)
def test_outputs_that_wait_to_be_joined_are_the_cause(tmp_path: Path, on: str, code: str) -> None:
    report = explained(tmp_path, on=on)
    assert "`predict` keeps the output of each batch" in report.verdict
    assert codes(report)[0] == code
    assert "smaller-prediction-batch" not in [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    "changed",
    [{"count": 2}, {"units": 500}, {"call": "evaluate"}],
    ids=["few", "another layer", "evaluation"],
)
def test_other_blocks_are_no_outputs(tmp_path: Path, changed: dict[str, object]) -> None:
    report = explained(tmp_path, **changed)  # type: ignore[arg-type]
    assert "keeps the output" not in report.verdict


def test_the_batch_is_changed_where_the_program_states_it(tmp_path: Path) -> None:
    told = explained(tmp_path, call="evaluate")
    assert any(
        code and code.startswith("ROWS = ") and code.endswith("# line 3 of rank.py") for code in codes(told)
    )


def test_a_batch_that_training_has_too_is_changed_in_the_call_alone(tmp_path: Path) -> None:
    more = "net.fit(ids, batch_size=ROWS)\n"
    told = codes(explained(tmp_path, call="evaluate", more=more, option="verbose=0, "))
    assert any(code and code.startswith("net.evaluate(ids, verbose=0, batch_size=") for code in told)


def joined(tmp_path: Path, ran: str, node: str) -> str:
    """The verdict where a join failed in `fit` or `predict` of a program that calls both."""
    calls = {"fit": "net.fit(ids, ids)", "predict": "marks = net.predict(ids)"}
    program = PROGRAM.format(units=64, more="\n".join((*calls.values(), "")))
    (tmp_path / "rank.py").write_text(program)
    number = program.splitlines().index(calls[ran]) + 1
    (tmp_path / "run.log").write_text(
        f'Traceback (most recent call last):\n  File "{tmp_path}/rank.py", line {number}, in <module>\n'
        f'    {calls[ran]}\n  File "/env/lib/site-packages/keras/engine/training.py", line 9, in {ran}\n'
        "    outputs = step(iterator)\n"
        f"{logs.oom('900,1024,512', node)}"
    )
    return pipeline.explain(tmp_path / "run.log").verdict


def test_what_predict_joins_is_told_where_predict_failed(tmp_path: Path) -> None:
    assert "joins them at the end" in joined(tmp_path, "predict", "concat")


@pytest.mark.parametrize(
    ("ran", "node"), [("fit", "concat"), ("fit", "net/spans/concat"), ("predict", "net/spans/concat")]
)
def test_a_join_of_fit_or_of_a_layer_is_none_of_predict(tmp_path: Path, ran: str, node: str) -> None:
    assert "joins them at the end" not in joined(tmp_path, ran, node)
