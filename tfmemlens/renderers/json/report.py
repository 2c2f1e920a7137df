"""The report as JSON: the contract `tfmemlens.report/1` (units are bytes and microseconds, absent is
null).
"""

from __future__ import annotations

from typing import Any

from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.finding import Action, Basis, Finding, Remedy
from tfmemlens.model.layers import LayerSummary
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report
from tfmemlens.renderers import run_facts
from tfmemlens.renderers.json import _fit, _layout
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.view import View
from tfmemlens.units import Size

SCHEMA = "tfmemlens.report/1"


def render(report: Report, view: View = View()) -> str:
    """The document, indented, with a final newline."""
    del view  # a document has all figures
    return written(document(report))


def document(report: Report) -> dict[str, Any]:
    """The document as plain values."""
    capture, moments = report.case.capture, report.case.moments
    main = moments[0] if moments else None
    by_bytes = capture.source.by_bytes
    return {
        "schema": SCHEMA,
        "source": {
            "path": capture.source.path,
            "formats": list(capture.source.formats),
            "framework": capture.source.framework,
            "version": list(capture.source.version) if capture.source.version else None,
        },
        "verdict": report.verdict,
        "incidents": [_incident(report, moment, by_bytes) for moment in moments if moment.request],
        "peaks": [_peak(moment) for moment in moments if moment.timeline],
        "layers": _layers(report, main),
        "kinds": ({str(group.name): group.total_bytes for group in main.drawn.by("kind")} if main else {}),
        "allocations": _allocations(main) if main else [],
        "findings": [_finding(finding, by_bytes) for finding in report.findings],
        "actions": [_action(action) for action in report.actions],
        **_layout.parts(report.case),
        "notes": [{"text": note.text, **_place(note.line, by_bytes)} for note in capture.notes],
        **({"fit": _fit.part(report.fit)} if report.fit else {}),
    }


def _incident(report: Report, moment: Moment, by_bytes: bool) -> dict[str, Any]:
    assert moment.request and moment.incident
    failed, owner = moment.request.failed, moment.request.owner
    return {
        "occurrences": moment.incident.occurrences,
        "fatal": moment.incident.fatal,
        "ranks": list(moment.incident.ranks),
        "request": {
            "kind": failed.kind.value,
            "node": failed.node,
            "op": owner.op or failed.op,
            "layer": owner.layer,
            "phase": owner.phase.value,
            "shape": list(failed.shape) if failed.shape is not None else None,
            "dtype": failed.dtype,
            "tensor_bytes": failed.tensor_bytes,
            "rounded_bytes": moment.request.rounded_bytes,
            "device": failed.device,
            "allocator": failed.allocator,
            "source": failed.source,
            **_place(failed.line, by_bytes),
        },
        "allocator": _allocator(moment.balance),
        "holders": _holders(moment.balance, bool(moment.incident.holders)),
        "run": dict(run_facts.facts(report, moment)),
    }


def _allocator(books: Balance) -> dict[str, Any]:
    return {
        "limit_bytes": _bytes(books.limit),
        "in_use_bytes": _bytes(books.in_use),
        "peak_bytes": _bytes(books.peak),
        "pool_bytes": _bytes(books.pool),
        "free_bytes": _bytes(books.free),
        "largest_free_chunk_bytes": _bytes(books.largest_free_chunk),
        "waste_bytes": _bytes(books.waste),
        "missing_bytes": books.missing,
    }


def _holders(books: Balance, present: bool) -> dict[str, Any]:
    return {
        "total_bytes": books.total.bytes if present else None,
        "listed_bytes": books.listed.bytes if present else None,
        "unlisted_bytes": books.unlisted.bytes if present else None,
        "unlisted_nodes": books.unlisted_nodes if present else None,
        "outside_report_bytes": _bytes(books.outside_report),
        "error_bytes": books.total.error_bytes if present else None,
    }


def _peak(moment: Moment) -> dict[str, Any]:
    timeline = moment.timeline
    assert timeline
    return {
        "device": timeline.device,
        "allocator": timeline.allocator,
        "bytes": moment.attribution.table.total_bytes,
        "baseline_bytes": timeline.before_bytes,
        "baseline_confidence": timeline.baseline_confidence,
        "baseline_source": str(timeline.baseline_source),
        "curve_source": "prediction" if timeline.predicted else str(timeline.curve_source),
        "precision": timeline.precision,
        "time_micros": None if timeline.ordinal else moment.peak_micros,
        "time_line": moment.peak_micros if timeline.ordinal and timeline.place == "line" else None,
        **({"time_instruction": moment.peak_micros} if timeline.place == "instruction" else {}),
        "limit_bytes": timeline.limit_bytes,
        **_forecast(moment),
    }


def _forecast(moment: Moment) -> dict[str, Any]:
    """Nothing for a measurement; for a prediction that it is one, and its error bar."""
    if not moment.predicted:
        return {}
    low, high = moment.error_bar or (None, None)
    needed = moment.needed_limit
    return {
        "predicted": True,
        "low_bytes": low,
        "high_bytes": high,
        "needed_limit_bytes": needed.bytes if needed else None,
        "needed_limit_high_bytes": needed.high_bytes if needed else None,
        "fits": moment.fits,
    }


def _layers(report: Report, main: Moment | None) -> list[dict[str, Any]]:
    """What each layer holds at the moment that matters; a described model's layers are all there, with what
    they own and make.
    """
    groups = {group.name: _group(group, "layer") for group in main.drawn.by("layer")} if main else {}
    described = {layer.layer: layer for layer in report.case.layers if layer.prediction}
    layers = [
        {**groups.pop(name, {"layer": name, "total_bytes": 0, "kinds": {}}), **_described(layer)}
        for name, layer in described.items()
    ]
    return layers + list(groups.values())


def _described(layer: LayerSummary) -> dict[str, Any]:
    told = layer.prediction
    assert told
    return {
        "class_name": told.class_name,
        "output_shape": (
            list(layer.outputs[0].shape) if layer.outputs and layer.outputs[0].shape is not None else None
        ),
        "params": layer.parameters,
        "trainable_params": told.trainable_parameters,
        "formula": layer.formula or None,
        "param_bytes": layer.parameter_bytes,
        "gradient_bytes": told.gradient_bytes,
        "slot_bytes": layer.slot_bytes,
        "activation_bytes": told.activation_bytes,
        "activation_bytes_per_sample": told.activation_bytes_per_sample,
        "kept_bytes_per_sample": told.kept_bytes_per_sample,
        "workspace_bytes": told.workspace_bytes,
        "calls": told.calls,
        "kept": told.why or None,
        "problem": told.problem,
    }


def _group(group: Any, key: str) -> dict[str, Any]:
    return {
        key: group.name,
        "total_bytes": group.total_bytes,
        "kinds": {kind.value: size for kind, size in group.kinds},
        **({"calls": group.calls} if group.calls > 1 else {}),
    }


def _allocations(moment: Moment) -> list[dict[str, Any]]:
    table, owners = moment.drawn.table, moment.drawn.owners
    unknown = (None,) * len(table)
    namings = unknown if moment.counted else moment.namings or unknown
    rows = []
    last_reader = moment.last_reader or unknown
    for row, owner, naming, reader in zip(table, owners, namings, last_reader, strict=True):
        tensor = naming.best.tensor if naming else None
        shape = tensor.shape if row.shape is None and tensor else row.shape
        rows.append(
            {
                "node": row.node,
                "op": row.op or owner.op,
                "layer": owner.layer,
                "kind": owner.kind.value,
                "phase": owner.phase.value,
                "bytes": row.total_bytes,
                "count": row.count,
                "shape": list(shape) if shape is not None else None,
                "dtype": row.dtype or (tensor.dtype if tensor else None),
                "precision": row.precision,
                "error_bytes": row.error_bytes * row.count,
                "start_micros": row.start_micros,
                "end_micros": row.end_micros,
                "kept_for": reader,
                "ambiguous_shapes": (
                    [list(each.tensor.shape or ()) for each in naming.candidates[1:]] if naming else []
                ),
            }
        )
    return sorted(rows, key=lambda entry: -entry["bytes"])


def _finding(finding: Finding, by_bytes: bool) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "headline": finding.headline,
        "detail": finding.detail or None,
        "bytes": finding.explains,
        "explains_bytes": finding.explains,
        "explains_share": finding.share,
        "evidence_kind": (finding.basis or Basis.NAME).value,
        "incident": finding.moment,
        "evidence": [
            {
                "fact": proof.fact,
                **_place(proof.line, by_bytes),
                "text": proof.line.text if proof.line else None,
            }
            for proof in finding.evidence
        ],
        "remedies": [{**_remedy(remedy), "change": remedy.change} for remedy in finding.remedies],
    }


def _action(action: Action) -> dict[str, Any]:
    return {**_remedy(action.remedy), "rules": list(action.rules)}


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "text": remedy.text,
        "code": remedy.code,
        "saves_bytes": remedy.saves_bytes,
        "low_bytes": remedy.low_bytes,
        "high_bytes": remedy.high_bytes,
        "certainty": remedy.certainty.value if remedy.certainty else None,
        "enough": remedy.enough.value if remedy.enough else None,
        "missing_bytes": remedy.missing_bytes,
    }


def _place(line: Line | None, by_bytes: bool) -> dict[str, Any]:
    """`line` counts from 1; in big files, where lines are not counted, `byte` is the position instead."""
    if line is None:
        return {"line": None}
    where: dict[str, Any] = {"line": None, "byte": line.number} if by_bytes else {"line": line.number}
    return {**where, "file": line.source} if line.source else where


def _bytes(size: Size | None) -> int | None:
    return size.bytes if size else None
