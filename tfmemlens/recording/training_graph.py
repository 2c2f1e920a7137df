"""A Keras model's training graph, made by TensorFlow in a process of its own, and the step predicted from
it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tfmemlens import pipeline
from tfmemlens.errors import MissingExtra, UnreadableInput
from tfmemlens.model.capture import Capture
from tfmemlens.model.line import ReadNote
from tfmemlens.model.settings import StepSettings

SCRIPT = Path(__file__).with_name("trace_training_graph.py")
_PATIENCE_SECONDS = 600


def estimate(model: str, settings: StepSettings, python: str | None = None) -> Capture:
    """The predicted step of a model file or `module:function`. Raises MissingExtra without TensorFlow,
    UnreadableInput where it cannot build the model.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "step.pb")
        facts = _record(model, out, settings, python)
        found = pipeline.estimate_graph(
            out, settings, [str(name) for name in facts["fetches"]], recorded=True
        )
    source = replace(found.source, path=model, formats=("training-graph",))
    note = ReadNote(
        f"the training graph was made by TensorFlow {facts['tensorflow']}, which allocated no activation and"
        " ran no step"
    )
    return replace(found, source=source, notes=(note, *found.notes[1:]))


def _record(model: str, out: str, settings: StepSettings, python: str | None) -> dict[str, list[object]]:
    command = [
        python or sys.executable,
        str(SCRIPT),
        model,
        out,
        "--batch",
        str(settings.batch),
        "--optimizer",
        settings.optimizer or "adam",
    ]
    command += [] if settings.training else ["--inference"]
    command += ["--policy", settings.dtype] if settings.dtype and settings.dtype != "float32" else []
    for sizes in settings.inputs.values():
        command += ["--shape", "x".join(str(size) for size in sizes)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)
    except OSError as problem:
        raise MissingExtra(
            f"{command[0]} cannot be run: {problem.strerror or problem}",
            "give the Python that has TensorFlow with --python",
        ) from None
    except subprocess.TimeoutExpired:
        raise UnreadableInput(
            f"TensorFlow took more than {_PATIENCE_SECONDS} seconds to build {model}",
            "estimate without --tensorflow",
        ) from None
    told = re.search(r"^GRAPH (.*)$", done.stdout, re.MULTILINE)
    if told:
        found: dict[str, list[object]] = json.loads(told[1])
        return found
    if "No module named 'tensorflow'" in done.stderr:
        raise MissingExtra(
            f"{command[0]} has no TensorFlow",
            "pip install tfmemlens[tensorflow], or name a Python that has it with --python",
        )
    last = next((line for line in reversed(done.stderr.strip().splitlines()) if line.strip()), "no message")
    raise UnreadableInput(
        f"TensorFlow could not build the training step of {model}: {last.strip()[:300]}",
        "does the model train in that TensorFlow?",
    )
