"""Grappler's layout optimizer keeps second copies of tensors, in the other data format.

What it means: on GPUs TensorFlow rewrites NHWC convolutions to NCHW. Wherever an op cannot take NCHW, a
Transpose copies the whole tensor back. In training such a copy can live from the forward pass until the
backward pass: a second copy of a tensor that exists already. Names end in
`-TransposeNHWCToNCHW-LayoutOptimizer` or `-TransposeNCHWToNHWC-LayoutOptimizer`. A copy is not always lost
memory: where it takes the place of its original, which dies, the peak stays as it was.
When it fires: at least 1 % of the bytes held are such copies, or a graph has been through the pass.
What to do: find the op that forces the copies. The usual ones: batch normalisation run in inference mode
during training (its gradient cannot be converted), resize ops, reshapes, ops of unknown rank. `tfmemlens
layout GRAPH` proves which.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, layout_graph, layout_names, remedies
from tfmemlens.findings.support.rows import Row, held, of_kind, quote, rows, total
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import human, percent

BASIS = Basis.MEASURED
EXPLAINS = "the copies; in a traced step what the peak would lose without them"

_BEHIND = regex(r"(?P<x>.+)-(?P<first>\d+)-(?P<second>\d+)-TransposeN\w+ToN\w+-LayoutOptimizer")


_TIME_NOT_MEMORY = (
    "It saves time; the peak hardly falls, since the originals then live in place of the copies"
)
_STAYS = "; ending them often leaves the peak where it is, so make the tensors themselves smaller"
_CAUTION = (
    "A copy often takes the place of its original, which dies: what the peak loses without the copies only a"
    " graph tells."
)


def check(case: Case) -> Iterator[Finding]:
    if not case.moments and case.layout:
        yield from layout_graph.of_graph(case, case.layout)
    for index, moment in enumerate(case.moments):
        copies = of_kind(moment, Kind.LAYOUT_TRANSPOSE)
        share = total(copies) / max(_listed(moment), 1)
        if share >= 0.01:
            yield _finding(case, moment, index, copies, share)


def _finding(case: Case, moment: Moment, index: int, copies: list[Row], share: float) -> Finding:
    size, whole = total(copies), _listed(moment)
    relief = layout_graph.relief(case) if moment.timeline else None
    layers = list(dict.fromkeys(row.owner.layer for row in copies if row.owner.layer))
    proven = layout_graph.proven(case, copies)
    forcing, reason = (
        (layout_graph.told(proven), layout_graph.counted(proven, copies))
        if proven
        else _forcing(case, moment, copies)
    )
    shown = ", ".join(layers[:4]) + (f" and {len(layers) - 4} more" if len(layers) > 4 else "")
    forced = f", most likely forced by {forcing}" if forcing else ""
    more = f"{layout_names.ranked(copies)} {_CAUTION}"
    if proven:
        forced, more = f", {forcing}", layout_graph.at_the_peak(case, moment.timeline is not None)
    return Finding(
        severity=Severity.CAUSE if (share if relief is None else relief) >= 0.2 else Severity.FACTOR,
        headline=(
            f"{percent(size, whole)} of the listed bytes, {human(size)} of {human(whole)}, are"
            f" LayoutOptimizer copies of {len(layers)} layers' tensors"
        ),
        explains=size if relief is None else round(relief * held(moment)),
        because=(
            f"{percent(size, whole)} of the listed {human(whole)} are second copies in another memory layout"
            f" that TensorFlow's LayoutOptimizer made{forced}{'' if proven else _STAYS}"
        ),
        detail=(f"Layers: {shown}. {reason} {more}"),
        evidence=tuple(quote(row) for row in copies[:3])
        + (layout_graph.proof(proven[0].copies) if proven else _consumers(case, copies)),
        remedies=(
            layout_graph.remedies(case, proven, moment.timeline is not None)
            if proven
            else _remedies(case, moment, forcing)
        ),
        moment=index,
    )


def _listed(moment: Moment) -> int:
    """What the list names; the remainder behind it has no names that could be copies."""
    return moment.balance.listed.bytes or held(moment)


def _consumers(case: Case, copies: list[Row]) -> tuple[Evidence, ...]:
    """Up to TF 1.14 the name tells which input of the reader the copy feeds."""
    feeds_x = [row for row in copies if _feeds_second_input(case, row)]
    if len(feeds_x) < 2:
        return ()
    text = (
        f"{len(feeds_x)} copies of conv outputs feed input 1 of their reader (`-k-1-Transpose…`): input 1 of"
        " FusedBatchNormGrad is `x`"
    )
    return (Evidence(text, feeds_x[0].allocation.line),)


def _feeds_second_input(case: Case, row: Row) -> bool:
    match = _BEHIND.match(row.allocation.node or "")
    return bool(
        match
        and case.api.oldest < (1, 15)
        and match["second"] == "1"
        and match["x"].rpartition("/")[2].rstrip("_0123456789") in ("BiasAdd", "Conv2D", "add", "Add")
    )


def _of_conv_output(row: Row) -> bool:
    """A copy of what a convolution made, as batch normalisation reads it."""
    kept = row.owner.copy_of == "output" and row.owner.phase.value == "forward"
    return kept and (row.owner.forward or "").rpartition("/")[2].rstrip("_0123456789") in (
        "BiasAdd",
        "Conv2D",
        "add",
        "Add",
    )


def _forcing(case: Case, moment: Moment, copies: list[Row]) -> tuple[str, str]:
    """The likeliest op that keeps its input in the old format, and how to check."""
    kept = [row for row in copies if row.owner.copy_of == "output" and row.owner.phase.value == "forward"]
    pre_norm = list(filter(_of_conv_output, copies))
    resized = [
        row for row in kept if (row.owner.forward or "").rpartition("/")[2].startswith(("Relu", "Elu", "add"))
    ]
    if len(pre_norm) >= 2 and (
        (case.api.oldest < (1, 15) and sum(_feeds_second_input(case, row) for row in pre_norm) >= 2)
        or _mentions(moment, "FusedBatchNorm", "batch_normalization", "BatchNorm")
    ):
        return (
            "batch normalisation in inference mode",
            (
                "Conv outputs copied back to NHWC and kept for backward are the mark of batch normalisation"
                " that runs in inference mode while you train (`tf.layers.batch_normalization` without"
                " `training=True`): FusedBatchNormGrad cannot be converted then, so each conv output is"
                " copied for it. To check: look for FusedBatchNormGrad with is_training=False in the graph."
                " It is a bug in the model, too: the moving averages are not used as intended."
            ),
        )
    if len(pre_norm) >= 2:
        return (
            "an op behind the convolutions that stays in NHWC",
            (
                "Conv outputs are copied back and kept. Ranked by how often it is so: batch normalisation in"
                " inference mode (no `training=True`), unfused batch normalisation of unknown shape, an"
                " activation that this TensorFlow does not convert."
            ),
        )
    if resized and _mentions(moment, "resize", "Resize"):
        return (
            "resize ops, which exist only for NHWC",
            "Each resize needs one copy before and one behind it.",
        )
    return ("", "Which op forces them is not visible in the list.")


def _mentions(moment: Moment, *words: str) -> bool:
    names = [row.allocation.node or "" for row in rows(moment)] + [
        moment.request.failed.node or "" if moment.request else ""
    ]
    return any(word in name for word in words for name in names)


def _remedies(case: Case, moment: Moment, forcing: str) -> tuple[Remedy, ...]:
    """What makes the tensors themselves fewer or smaller comes first. Ending copies carries no figure: by
    names alone nobody can tell which originals would then live in their place.
    """
    advice = list(
        remedies.offered(case, moment, "smaller-batch", "smaller-input", "recompute", "mixed-precision")
    )
    if "batch normalisation" in forcing or "stays in NHWC" in forcing:
        advice.append(
            Remedy(
                "run batch normalisation in training mode while you train: its gradient is then converted and"
                f" the copies of conv outputs go. {_TIME_NOT_MEMORY}",
                code_snippets.batch_norm_training(case.api),
                slug="batch-norm-training",
            )
        )
    advice.append(
        Remedy(
            "build the model in the GPU's own format, channels_first, from the input on (batch normalisation"
            f" with axis=1): no copies at all. {_TIME_NOT_MEMORY}",
            (
                "x = tf.transpose(x, [0, 3, 1, 2]); conv = tf.layers.conv2d(x, ...,"
                " data_format='channels_first')"
                if case.api.is_tf1
                else "tf.keras.backend.set_image_data_format('channels_first')"
            ),
            slug="native-layout",
        )
    )
    if "resize" in forcing or _mentions(moment, "resize", "Resize"):
        advice.append(
            Remedy(
                "replace resize + conv by a transposed convolution, which the pass converts: 2 copies fewer"
                " per up-sampling",
                slug="replace-op",
            )
        )
    return tuple(advice)
