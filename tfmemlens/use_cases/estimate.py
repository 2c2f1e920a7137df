"""The step of a model that never ran: from its description, from its graph, or from the graph that TensorFlow
makes of it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from tfmemlens.errors import Unpredictable, UnreadableInput, UsageError
from tfmemlens.estimation.possible_step import check_is_possible
from tfmemlens.model.capture import Capture, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.settings import StepSettings
from tfmemlens.pipeline import Input
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.model.network import Network


def estimate(
    model: Input | Network,
    settings: StepSettings = StepSettings(),
    python: str | None = None,
    strictly: bool = False,
) -> Capture:
    """A step of a described model as a capture: its timeline is predicted. `python` runs `module:function`,
    when the model is one; `strictly` refuses layers whose ops are not known, however small. Raises
    UnreadableInput.
    """
    from tfmemlens.estimation.keras_step import capture
    from tfmemlens.readers import keras_models

    check_is_possible(settings)
    network = keras_models.read(model, python) if isinstance(model, str | PathLike) else model
    return capture.capture(network, settings, strictly)


def estimate_graph(
    path: Input, settings: StepSettings = StepSettings(), fetches: Sequence[str] = (), recorded: bool = False
) -> Capture:
    """The same for a training graph in a file: its ops are thought through one by one."""
    from tfmemlens.estimation.graph_step import capture
    from tfmemlens.readers.formats import graph_file

    check_is_possible(settings)
    return capture.capture(
        graph_file.read_graph(path),
        Source(str(path), ("graph-def",), "tensorflow", holds=Holds.GRAPH),
        settings,
        fetches,
        recorded,
    )


def estimate_file(model: str, settings: StepSettings = StepSettings(), python: str | None = None) -> Capture:
    """A step of whatever the file holds: a model's description, else a graph. Raises UnreadableInput as the
    description's reader puts it, Unpredictable where too much of it is not known.
    """
    from tfmemlens.readers import keras_models

    check_is_possible(settings)
    if keras_models.is_spec(model):
        return _of_function(model, settings, python)
    try:
        network = keras_models.read(model, python)
    except UnreadableInput:
        if ":" in model or not os.path.exists(model):
            raise
        graph = _of_graph(model, settings, UnreadableInput)
        if graph is None:
            raise
        return graph
    if network.dialect == "variables" and os.path.exists(model):
        # a SavedModel that describes no layers may still hold the graphs of its signatures
        graph = _of_graph(model, settings, UnreadableInput, UsageError)
        if graph is not None:
            return graph
    return estimate(network, settings)


def _of_function(model: str, settings: StepSettings, python: str | None) -> Capture:
    """What `module:function` returns: as it describes itself, else as TensorFlow traces it."""
    from tfmemlens.readers import keras_models

    described = None
    try:
        network = keras_models.read(model, python)
        if network.dialect != "variables":
            described = network
            return estimate(network, settings, strictly=True)
    except Unpredictable:
        pass
    except UnreadableInput as unreadable:
        if "without weights" not in unreadable.sentence:
            raise
    try:
        return estimate_with_tensorflow(model, settings, python)
    except UnreadableInput:
        if described is None:
            raise
        return estimate(described, settings)


def _of_graph(model: str, settings: StepSettings, *refusals: type[Exception]) -> Capture | None:
    try:
        return estimate_graph(model, settings)
    except refusals:
        return None


def estimate_with_tensorflow(model: str, settings: StepSettings, python: str | None = None) -> Capture:
    """The predicted step of a model file or `module:function`, from the training graph that TensorFlow makes
    in a process of its own. Raises MissingExtra without TensorFlow, UnreadableInput where it cannot build the
    model.
    """
    from tfmemlens.recording import training_graph

    check_is_possible(settings)
    return _of_training_graph(
        lambda out: training_graph.record(model, out, settings, python), model, settings
    )


def estimate_live(model: Any, settings: StepSettings) -> Capture:
    """The predicted step of a Keras model of this process: from its description, else (a subclass, a
    `train_step` of its own, layers that are not known) from the training graph that TensorFlow traces, with
    its compiled optimizer. Nothing is run. Raises UnreadableInput, UsageError, Unpredictable.
    """
    from tfmemlens.readers.keras_models import of_text
    from tfmemlens.recording import training_graph

    check_is_possible(settings)
    name = str(getattr(model, "name", "model"))
    traceable = "tensorflow" in sys.modules
    described = None
    text = None if _has_own_step(model) else _description(model)
    if text is not None:
        try:
            described = of_text(text, name)
            return estimate(described, settings, strictly=traceable)
        except (Unpredictable, UnreadableInput):
            if not traceable:
                raise
    try:
        return _of_training_graph(
            lambda out: training_graph.record_live(model, out, settings), name, settings
        )
    except UnreadableInput:
        if described is None:
            raise
        return estimate(described, settings)


def _description(model: Any) -> str | None:
    """What Keras says of the model, in JSON; None for a subclass, or a layer, without `get_config`."""
    try:
        return str(model.to_json())
    except (NotImplementedError, TypeError, ValueError):
        return None


def _has_own_step(model: Any) -> bool:
    """Whether the class of the model, rather than Keras, says what a training step is."""
    steps = (vars(each).get("train_step") for each in type(model).__mro__)
    step = next((each for each in steps if each is not None), None)
    return step is not None and not str(getattr(step, "__module__", "keras")).startswith(
        ("keras", "tensorflow", "tf_keras")
    )


def _of_training_graph(
    record: Callable[[str], dict[str, list[object]]], name: str, settings: StepSettings
) -> Capture:
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "step.pb")
        facts = record(out)
        capture = estimate_graph(out, settings, [str(each) for each in facts["fetches"]], recorded=True)
    source = replace(capture.source, path=name, formats=("training-graph",))
    note = ReadNote(
        f"the training graph was made by TensorFlow {facts['tensorflow']}, which allocated no activation and"
        " ran no step"
    )
    return replace(capture, source=source, notes=(note, *capture.notes[1:]))
