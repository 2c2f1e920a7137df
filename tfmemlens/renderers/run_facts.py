"""How the run stood when it failed, as far as the input shows: progress, settings, arguments of a call."""

from __future__ import annotations

from tfmemlens.model.capture import Surroundings, says_alike
from tfmemlens.model.case import Moment
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

_MAX_ARGUMENTS = 4
_OTHER_SETTINGS = frozenset(
    {
        "drop_remainder",
        "faulthandler",
        "inter_op_parallelism_threads",
        "jax.devices",
        "platform",
        "program",
        "vendor",
        "xla_dump_to",
    }
)
"""What rules ask for, and a reader who looks for memory does not."""
_OF_A_TRAINING = regex(r"(?i)(?:\b|_)train\w*(?:[-_ ]?batch|\b[^.;\n]{0,60}\bbatch)")


def facts(report: Report, moment: Moment) -> list[tuple[str, list[str]]]:
    """What is known of the run, as labels and texts with their lines; empty for a traced step."""
    if moment.request is None:
        return []
    told, arguments = report.case.capture.surroundings, moment.request.failed.arguments
    call = [
        f"{each.name} {format_shape(each.shape)} {each.dtype}{_where(each.line)}"
        for each in arguments[:_MAX_ARGUMENTS]
    ]
    if len(arguments) > _MAX_ARGUMENTS:
        call.append(f"and {len(arguments) - _MAX_ARGUMENTS} more")
    rows = [
        ("progress", _progress(report, moment)),
        ("settings", _settings(told, moment.request.failed.line)),
        ("retracing", _retraced(report)),
        ("device", _devices(report, moment)),
        ("host", _host(report)),
        ("call", call),
    ]
    return [(name, texts) for name, texts in rows if texts]


def _progress(report: Report, moment: Moment) -> list[str]:
    told, failed = report.case.capture.surroundings, moment.request and moment.request.failed
    at = told.progress_before(failed.line if failed else None)
    parts = []
    if at and at.epoch is not None:
        parts.append(f"epoch {at.epoch}" + (f" of {at.epochs}" if at.epochs else ""))
    if at and at.step is not None:
        parts.append(f"{at.step} of {at.steps} steps done")
    whole = [", ".join(parts) + _where(at.line)] if at and parts else []
    return [*whole, *([f"in an evaluation{_where(told.evaluating)}"] if told.evaluating else [])]


def _settings(told: Surroundings, failed: Line | None) -> list[str]:
    """Each that bears on memory; of one that was set again, how it stood when the request failed. Where a
    prediction failed, the batch of the training is none of it, nor is what ended the failure.
    """
    latest: dict[str, tuple[str, Line]] = {}
    predicts = told.shows("failing in prediction") is not None
    for name, value, line in told.settings:
        if told.is_of_the_cure(line):
            continue
        if predicts and name == "batch_size" and _OF_A_TRAINING.search(line.text):
            continue
        if name == "batch_size" and (works := told.setting("working_batch")) and works[0] == value:
            continue  # said below to run
        later = failed is not None and line.source == failed.source and line.number > failed.number
        if name not in _OTHER_SETTINGS and not (later and name in latest):
            latest[name] = value, line
    return [f"{_stated(name, value, line)}{_where(line)}" for name, (value, line) in latest.items()]


def _stated(name: str, value: str, line: Line) -> str:
    """A setting as its program writes it; what people tell of batches in their words."""
    if name == "working_batch":
        return f"runs with a batch of {value}"
    if name == "lowered_batch":
        return f"the batch was lowered from {value}"
    if name == "failed_batch":
        return f"failed with a batch of {value}{', too' if says_alike(line.text) else ''}"
    return f"{name}={value}"


def _retraced(report: Report) -> list[str]:
    told = report.case.capture.surroundings.retraced
    if told is None:
        return []
    times, line = told
    again = f" {times} times" if times > 1 else ""
    return [f"TensorFlow warned of retracing{again}{_where(line)}"]


def _devices(report: Report, moment: Moment) -> list[str]:
    """What `nvidia-smi` shows of each device, and the card that the text names where no limit is printed."""
    told = report.case.capture.surroundings
    shown = []
    for use in told.device_uses[:_MAX_ARGUMENTS]:
        if use.used and use.total:
            name = f"GPU {use.device or '?'}{_in_brackets(use.model)}"
            shown.append(
                f"{name}: {human(use.used.bytes)} of {human(use.total.bytes)} used{_where(use.line)}"
            )
    if shown or moment.balance.limit or told.devices:
        return shown
    for device in told.named_devices:
        if device.total and device.line:
            size = f"{device.total.bytes // GIB} GB{_in_brackets(device.model)}"
            shown.append(f"the text says: a GPU of {size}{_where(device.line)}")
    return shown


def _in_brackets(model: str | None) -> str:
    return f" ({model})" if model else ""


def _host(report: Report) -> list[str]:
    """What tools printed last of the host's RAM."""
    last = {use.what: use for use in report.case.capture.surroundings.host_uses}
    told = []
    for use in last.values():
        total = f" of {human(use.total.bytes)}" if use.total else ""
        told.append(f"{use.what}: {human(use.used.bytes)}{total} of host RAM in use{_where(use.line)}")
    return told


def _where(line: Line) -> str:
    return f" ({line.place})"
