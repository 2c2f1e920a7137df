"""A Keras model's training graph, made by TensorFlow in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from tfmemlens import child_python
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.settings import StepSettings

SCRIPT = Path(__file__).with_name("trace_training_graph.py")


def record(model: str, out: str, settings: StepSettings, python: str | None) -> dict[str, list[object]]:
    """Write the graph of a model file or `module:function` to a file; what the child tells of it (`fetches`,
    `tensorflow`). Raises MissingExtra without TensorFlow, UnreadableInput where it cannot build the model.
    """
    answer = child_python.run(_arguments(model, out, settings), python, "to build the training graph with")
    facts = answer.line("GRAPH ")
    if facts is None:
        raise UnreadableInput(
            f"TensorFlow could not build the training step of {model}: {answer.last_words}",
            "does the model train in that TensorFlow?",
        )
    told: dict[str, list[object]] = json.loads(facts)
    return told


def _arguments(model: str, out: str, settings: StepSettings) -> list[str]:
    arguments = [str(SCRIPT), model, out]
    arguments += ["--batch", str(settings.batch), "--optimizer", settings.optimizer or "adam"]
    arguments += [] if settings.training else ["--inference"]
    arguments += ["--policy", settings.dtype] if settings.dtype and settings.dtype != "float32" else []
    for sizes in settings.inputs.values():
        arguments += ["--shape", "x".join(str(size) for size in sizes)]
    return arguments
