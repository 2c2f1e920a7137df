"""A Keras model's training graph, made by TensorFlow in a process of its own."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

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
    arguments += ["--batch", str(settings.batch)]
    arguments += ["--optimizer", settings.optimizer] if settings.optimizer else []
    arguments += [] if settings.training else ["--inference"]
    arguments += ["--policy", settings.dtype] if settings.dtype and settings.dtype != "float32" else []
    for sizes in _shapes(settings):
        arguments += ["--shape", sizes]
    return arguments


def _shapes(settings: StepSettings) -> list[str]:
    """Sizes of the inputs, in their order; a sequence alone is the only size of an input of words."""
    shapes = ["x".join(str(size) for size in sizes) for sizes in settings.inputs.values()]
    return shapes or ([str(settings.sequence)] if settings.sequence else [])


def record_live(model: Any, out: str, settings: StepSettings) -> dict[str, list[object]]:
    """The same for a model of this process, which has its TensorFlow; nothing is run. Raises UnreadableInput
    where the step cannot be traced.
    """
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        raise UnreadableInput(
            "the model does not describe its layers, and no TensorFlow runs in this process",
            "give a Keras model on the TensorFlow backend, or its file",
        )
    of_live_model = runpy.run_path(str(SCRIPT))["of_live_model"]
    try:
        facts = of_live_model(
            tensorflow,
            model,
            out,
            settings.batch,
            _shapes(settings),
            settings.optimizer,
            not settings.training,
        )
    except (Exception, SystemExit) as problem:  # whatever the user's own code raises
        raise UnreadableInput(
            f"TensorFlow could not trace a training step of the model: {problem}",
            "give input_shape=, or call the model once on a batch",
        ) from problem
    told: dict[str, list[object]] = facts
    return told
