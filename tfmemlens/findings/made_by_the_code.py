"""The code that the text quotes makes, to the byte, what was asked for or what is held.

What it means: `Flatten()` on a feature map and `Dense(1024)` behind it make a kernel whose size the code
tells exactly; so do `Embedding(12_500_000, 64)` and the shape of a variable. No batch changes it.
When it fires: a weight or an array that the quoted code makes has the shape of the request, or its bytes
where no shape is told, or those of the largest chunk; it is at least 16 MiB, nothing else in the code is as
large, and bytes that are a power of two, which many tensors have, count only where a weight was being made.
Where one of several large tables of the code failed, all are summed.
What to do: pool before Flatten, take fewer rows or a lighter optimizer for a table, keep data on the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tfmemlens.findings.clipped_by_global_norm import CLIP_EACH
from tfmemlens.findings.retraced_functions import copied_by_traces
from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.dense_by_hand import dense_by_hand
from tfmemlens.findings.support.kills import another_program
from tfmemlens.findings.support.many_alike import size_classes
from tfmemlens.findings.support.penalised_table import penalised_table
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rebuilt_table import rebuilt_table
from tfmemlens.findings.support.rows import device_limit, enumerated, on_host, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.findings.support.trained_models import is_untrained
from tfmemlens.findings.support.unused_model import unused_beside
from tfmemlens.findings.support.weights import optimizer_of
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind, SizeClass
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, Size, human, round_up

if TYPE_CHECKING:
    from tfmemlens.knowledge.program_shapes import Made

BASIS = Basis.MEASURED
EXPLAINS = "the request that the code makes, and blocks of its size"

_LEAST_BYTES = 16 * MIB
_ADAM = regex(r"(?i)(?<![a-z])adamw?(?:optimizer)?(?![a-z])")
_KINDS = (RequestKind.TENSOR, RequestKind.DUMP, RequestKind.XLA)
_OF_THE_BATCH = ("smaller-batch", "in-pieces", "gradient-accumulation", "mixed-precision")
"""What makes no weight smaller."""
_OF_LOGITS = ("sampled-loss", "in-blocks", "narrow-logits", "shorter-sequences", "part-of-positions")
_OF_OTHERS = {
    "DENSE": (*_OF_THE_BATCH, *_OF_LOGITS, "smaller-vocabulary"),
    "TABLE": (*_OF_THE_BATCH, *_OF_LOGITS, "pool-first"),
    "WEIGHT": (*_OF_THE_BATCH, *_OF_LOGITS),
    "DATA": (),
}
"""Remedies of what it is not, by its role."""
_OF_LAYERS = ("DENSE", "WEIGHT", "TABLE")
"""Weights of which a network may have several alike."""
_FUNCTIONS = ("tf.layers.", "tf.contrib.", "slim.", "layers.fully_connected")
_LARGE_BESIDE = 0.25
"""Of a table that failed: others of so much are worth a word."""
_SLOTS_AND_WEIGHT = 3
"""What Adam holds of each weight between updates."""
_BUCKETS = 10
"""A table is advised to have so many times fewer rows."""
_OF_ADAM = 4
"""The weight, its gradient and two moments."""


_FILLED = regex(r"\b(?:zeros|ones|full|empty|arange|linspace|eye|normal|uniform)(?:_like)?\(")
"""Calls that make an array of nothing that is read."""
_OF_A_MATRIX, _FAR_MORE = 2, 16
_OF_A_TASK = regex(r"(?i)class|label|softmax|sigmoid")
"""A layer whose columns are the kinds of the task, which nobody can halve."""
_LET_GO_FIRST = Remedy(
    "where the line runs again and again, let go of the array of the turn before first: until the name is"
    " bound anew, two exist; and count them: where more stay, something else keeps them, or the release does",
    "del buf; print(len(jax.live_arrays()))   # older: buf.delete(); jax.lib.xla_bridge.get_backend()"
    ".live_buffers()",
    slug="drop-references",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        if request.failed.kind not in _KINDS or another_program(moment) or _of_host(moment):
            continue
        made = [each for each in _made(case) if each.bytes >= _LEAST_BYTES]
        if alike := _the_ones(made, request, moment):
            unused = unused_beside(moment, case.capture.surroundings)
            if unused and alike[0].shape in unused[0].own:
                continue  # models-kept tells of a model that no training changes
            if copied_by_traces(case, moment):
                continue  # retraced-functions tells why there are so many of it
            if dense_by_hand(case, request):
                continue  # gradient-made-dense tells which line did it
            if rebuilt_table(case, request):
                continue  # table-rebuilt-each-step tells what makes its gradient dense
            if alike[0].shape == request.failed.shape and penalised_table(case, request):
                continue  # penalty-on-weights tells what makes its gradient dense
            of_jax = framework_of(case) == JAX
            if of_jax and len(alike) > 1 and alike[0].role.name == "TABLE":
                continue  # the rule of a failing line counts its weights and slots
            tables = [] if of_jax else _tables(made, alike)
            yield _finding(case, index, moment, request, alike, tables)


def _of_host(moment: Moment) -> bool:
    """Whether it is host RAM: a device CPU:0 whose pool has a limit is one like any other."""
    return on_host(moment) and moment.balance.limit is None


def _made(case: Case) -> Sequence[Made]:
    """What the quoted program makes; trees are read only where there is one."""
    told = case.capture.surroundings
    program = told.program()
    if not program:
        return ()
    from tfmemlens.knowledge.program_shapes import made_by

    sides = {each.sizes[:2] for each in told.sizes if len(each.sizes) == 2 and min(each.sizes) >= 16}
    image = sides.pop() if len(sides) == 1 else None
    made = made_by(program, (image[0], image[1]) if image else None)
    return [each for each in made if each.role.name in _OF_OTHERS]  # data-set-as-constant tells of the others


def _the_ones(made: Sequence[Made], request: Request, moment: Moment) -> list[Made]:
    """What the code makes that is the request, or else the largest chunk: one weight or array, or the weights
    of several layers that are alike; empty where what has so many bytes differs.
    """
    failed, need = request.failed, request.needed_bytes
    if failed.shape is not None:
        fitting = [each for each in made if each.shape == failed.shape]
    else:
        sure = failed.creating or failed.updating
        telling = [each for each in made if sure or _is_telling(each.bytes)]
        fitting = [each for each in telling if need in (each.bytes, round_up(each.bytes))]
    if not fitting and (chunk := _largest(moment)) is not None and _is_telling(chunk.size_bytes):
        fitting = [each for each in made if round_up(each.bytes) == chunk.size_bytes]
    if not fitting:
        return []
    alike = [each for each in made if each.bytes == fitting[0].bytes]
    lines = list({(each.line.source, each.line.number): each for each in alike}.values())
    same = len({(each.shape, each.dtype, each.role) for each in alike}) == 1
    return lines if len(lines) == 1 or (same and lines[0].role.name in _OF_LAYERS) else []


def _tables(made: Sequence[Made], alike: Sequence[Made]) -> list[Made]:
    """All large tables of the code where one of them failed: each has slots, and none is the cause alone."""
    first = alike[0]
    if first.role.name != "TABLE":
        return []
    tables = [each for each in made if each.role is first.role and each.bytes >= _LARGE_BESIDE * first.bytes]
    return sorted(tables, key=lambda each: -each.bytes) if len(tables) > 1 else []


def _is_telling(size: int) -> bool:
    """Whether a tensor has so many bytes hardly by chance: no power of two."""
    return bool(size & (size - 1))


def _largest(moment: Moment) -> SizeClass | None:
    return max(size_classes(moment), key=lambda each: each.total_bytes, default=None)


def _finding(
    case: Case,
    index: int,
    moment: Moment,
    request: Request,
    alike: Sequence[Made],
    tables: Sequence[Made] = (),
) -> Finding:
    from tfmemlens.knowledge.program_shapes import Role

    made, many = alike[0], len(alike)

    asked = request.needed_bytes in (made.bytes, round_up(made.bytes))
    equal = next((each for each in size_classes(moment) if each.size_bytes == round_up(made.bytes)), None)
    held = equal.count if equal else 0
    near = 0 if tables else _in_larger_blocks(case, moment, made, many)
    what = {Role.DENSE: "the kernel", Role.TABLE: "the table", Role.WEIGHT: "a weight"}.get(
        made.role, "the array"
    )
    shape = f"{format_shape(made.shape)} {made.dtype}"
    whose = f"`{made.code}` ({made.line.place})"
    if many > 1:
        name = made.code.partition("(")[0].rpartition(".")[2]
        whose = f"each of {many} layers (`{name}`, {made.line.place} the first)"
    because = f"of {whose}"
    if made.role is Role.DENSE and made.flattened:
        sides = " x ".join(map(str, made.flattened))
        because += f": flatten makes {sides} = {made.shape[0]:,} inputs"
    if near:
        held += near
        told_more = ", and one more was asked for" if asked else ""
        larger = f"{near} {'is' if near == 1 else 'are'} larger than it"
        because += f"; {held} blocks that most likely hold one each are in use ({larger}){told_more}"
    elif held and asked:
        because += f"; {held} of its size {'is' if held == 1 else 'are'} held, and one more was asked for"
    elif held:
        because += f"; {held} of its size {'is' if held == 1 else 'are'} held"
    others = _of_other_models(case, made, held, many) if not tables else 0
    if tables:
        because += _of_all_tables(case, moment, tables)
    elif others:
        because += ", most likely of earlier models, too, which a loop keeps"
    elif made.role is not Role.DATA:
        because += _in_training(case, moment, made, many)
    told = asked and request.failed.shape == made.shape
    headline = f"{human(made.bytes)} is {what} {shape} {because}"
    return Finding(
        severity=Severity.CAUSE,
        headline=headline,
        because=f"this is {what} {because}" if told else headline,
        explains=_explained(case, moment, made.bytes * (held + asked - others), tables),
        evidence=(
            Evidence("the code", made.line),
            *(Evidence(f"a table of {format_shape(each.shape)}", each.line) for each in tables[:3]),
            *((Evidence("blocks of its size", equal.line),) if equal else ()),
            Evidence("the request", request.failed.line),
        ),
        remedies=(*_remedies(case, moment, made, many, tables), *_of_clipping(case, made)),
        moment=index,
        rules_out=_OF_OTHERS[made.role.name],
    )


_SPLIT = 2
"""A free block of so many times a request is split; a smaller one is given whole."""


def _in_larger_blocks(case: Case, moment: Moment, made: Made, many: int) -> int:
    """Blocks that were given whole to another copy of this weight: a little larger than it, and with those of
    its size no more than its gradient, its slots and itself.
    """
    size = round_up(made.bytes)
    if made.role.name == "DATA" or _copies(case, moment) == 1 or many > 1:
        return 0
    blocks = [each for each in size_classes(moment) if size <= each.size_bytes < _SPLIT * size]
    larger = sum(each.count for each in blocks if each.size_bytes > size)
    equal = sum(each.count for each in blocks) - larger
    return larger if equal and equal + larger < _OF_ADAM else 0


def _of_other_models(case: Case, made: Made, held: int, many: int) -> int:
    """Where a loop keeps the models that it makes: how many of the tensors that are held one model has no use
    for. Of each of its weights there is the weight, its gradient and two slots.
    """
    from tfmemlens.findings.support.kept_code import kept

    if made.role.name not in _OF_LAYERS or not any(each.model for each in kept(case.capture.surroundings)):
        return 0
    return max(held - _OF_ADAM * many, 0)


def _adam(case: Case, request: Request) -> bool:
    named = optimizer_of(request)
    if named:
        return named[0] == "Adam"
    return any(_ADAM.search(line.text) for line in code_lines(case.capture.surroundings))


def _of_clipping(case: Case, made: Made) -> Iterator[Remedy]:
    """Where gradients wait for their common norm, those of all weights live at once, and clipped ones."""
    if case.capture.surroundings.clipping and made.role.name != "DATA":
        yield CLIP_EACH


def _untrained(case: Case, made: Made) -> bool:
    """Whether the program shows that no optimizer updates it."""
    program = case.capture.surroundings.program()
    return made.role.name in _OF_LAYERS and bool(program) and is_untrained(program, made.shape)


def _in_training(case: Case, moment: Moment, made: Made, many: int) -> str:
    """What Adam keeps of it, or of as many layers, against the limit."""
    limit, size = device_limit(case, moment), made.bytes * many
    if _copies(case, moment) == 1 or not limit or _untrained(case, made):
        return "; no batch changes it"
    whole = _OF_ADAM * size
    compared = _against(limit, whole)
    if many > 1:
        return f"; with gradients and Adam's slots all {many} take {human(whole)}{compared}"
    return f"; while Adam updates it four such tensors live, {human(whole)}{compared}"


def _against(limit: Size | None, whole: int) -> str:
    """How so much compares with the limit."""
    if not limit or not limit.bytes:
        return ", whatever the batch"
    more = ", more than the limit of" if whole > limit.bytes else " of"
    return f"{more} {human(limit.bytes)}, whatever the batch"


def _copies(case: Case, moment: Moment) -> int:
    """How many tensors of a weight's size live in the update of the optimizer that is known to run."""
    return _OF_ADAM if moment.request and _adam(case, moment.request) else 1


def _of_all_tables(case: Case, moment: Moment, tables: Sequence[Made]) -> str:
    """What all tables take with what Adam keeps of each, against the limit."""
    limit, whole = device_limit(case, moment), _held_of(case, moment, tables)
    shapes = enumerated([format_shape(each.shape) for each in tables[:_MOST_TABLES]])
    more = "" if len(tables) <= _MOST_TABLES else f" and {len(tables) - _MOST_TABLES} more"
    slots = " with Adam's slots" if _copies(case, moment) > 1 else ""
    return f"; the code's tables {shapes}{more}{slots} take {human(whole)}{_against(limit, whole)}"


_MOST_TABLES = 3


def _held_of(case: Case, moment: Moment, tables: Sequence[Made]) -> int:
    """The tables, and their slots where Adam is known to make them."""
    times = _SLOTS_AND_WEIGHT if _copies(case, moment) > 1 else 1
    return times * sum(each.bytes for each in tables)


def _explained(case: Case, moment: Moment, alone: int, tables: Sequence[Made]) -> int:
    limit = device_limit(case, moment)
    whole = max(alone, _held_of(case, moment, tables))
    return min(whole, limit.bytes) if limit and limit.bytes else whole


def _fewer_rows(case: Case, moment: Moment, tables: Sequence[Made]) -> Remedy:
    """Of all tables: one of them made smaller leaves the others."""
    buckets = enumerated([f"{each.shape[0] // _BUCKETS:,}" for each in tables[:_MOST_TABLES]])
    whole = _held_of(case, moment, tables)
    return Remedy(
        f"fewer rows in all of them: smaller vocabularies, or hash the ids into {buckets} buckets; each"
        " table, its gradient and slots shrink alike",
        None,
        whole - whole // _BUCKETS,
        Certainty.ESTIMATE,
        slug="smaller-vocabulary",
    )


def _remedies(
    case: Case, moment: Moment, made: Made, many: int, tables: Sequence[Made] = ()
) -> Iterator[Remedy]:
    from tfmemlens.knowledge.program_shapes import Role

    copies = _copies(case, moment)
    if _untrained(case, made) and not tables and made.role is not Role.TABLE and not made.flattened:
        yield Remedy(
            f"make it narrower: half of its {made.shape[-1]:,} columns halve it, where the model may still be"
            " changed",
            saves_bytes=made.bytes // 2,
            certainty=Certainty.ESTIMATE,
            slug="narrower-layer",
        )
        return
    if tables:
        yield _fewer_rows(case, moment, tables)
        yield from remedies.offered(case, moment, "lighter-optimizer")
        yield Remedy("place the tables on the CPU, or split them over devices", slug="table-on-host")
        return
    if many > 1 and made.shape[0] == made.shape[-1]:
        yield Remedy(
            f"make these layers narrower: half of {made.shape[-1]:,} units leave a quarter of each kernel,"
            " its gradient and slots",
            saves_bytes=copies * many * (made.bytes - made.bytes // 4),
            certainty=Certainty.ESTIMATE,
            slug="narrower-layer",
        )
        yield from remedies.offered(case, moment, "lighter-optimizer")
        return
    if made.role is Role.DENSE and made.flattened:
        channels = made.flattened[-1]
        smaller = made.bytes // made.shape[0] * channels
        yield Remedy(
            f"pool before the layer: with global average pooling its kernel is [{channels},{made.shape[1]}],"
            f" {human(smaller)}",
            code_snippets.pooled(made.code.startswith(_FUNCTIONS)),
            copies * (made.bytes - smaller),
            Certainty.EXACT if copies == 1 else Certainty.ESTIMATE,
            slug="pool-first",
        )
        yield Remedy(
            "or let strides or pooling halve the map twice before it is flattened: a sixteenth of the kernel",
            saves_bytes=copies * (made.bytes - made.bytes // 16),
            certainty=Certainty.ESTIMATE,
            slug="smaller-map",
        )
    elif made.role is Role.TABLE:
        rows = made.shape[0]
        yield Remedy(
            f"fewer rows: a smaller vocabulary, or hash the ids into {rows // _BUCKETS:,} buckets; the table,"
            " its gradient and slots shrink alike",
            None,
            copies * (made.bytes - made.bytes // _BUCKETS),
            Certainty.ESTIMATE,
            slug="smaller-vocabulary",
        )
        yield from remedies.offered(case, moment, "lighter-optimizer")
        yield Remedy("place the table on the CPU, or split it over devices", slug="table-on-host")
    elif made.role is Role.DATA:
        if framework_of(case) == JAX and _FILLED.search(made.code):
            yield _LET_GO_FIRST
        elif framework_of(case) == JAX:
            yield Remedy(
                "keep the array in NumPy on the host, memory-mapped, and send one batch at a time",
                "X = np.load(path, mmap_mode='r'); batch = X[idx]   # indexed on the host",
                slug="one-batch-to-the-device",
            )
        else:
            yield Remedy(
                "keep the array on the host, and send one batch at a time", slug="keep-off-the-device"
            )
    else:
        of_inputs = len(made.shape) == _OF_A_MATRIX and made.shape[0] >= _FAR_MORE * made.shape[-1]
        if of_inputs:
            yield Remedy(
                f"bring the {made.shape[0]:,} inputs of the layer down first (pooling, a projection, fewer"
                " channels before they are flattened or multiplied): half as many halve it, its gradient and"
                " slots",
                saves_bytes=copies * made.bytes // 2,
                certainty=Certainty.ESTIMATE,
                slug="pool-first",
            )
        if not (of_inputs and _OF_A_TASK.search(made.code)):
            yield Remedy(
                f"{'or ' if of_inputs else ''}make it narrower: half of its {made.shape[-1]:,} columns halve"
                " it, its gradient and slots",
                saves_bytes=copies * made.bytes // 2,
                certainty=Certainty.ESTIMATE,
                slug="narrower-layer",
            )
        yield from remedies.offered(case, moment, "lighter-optimizer")
