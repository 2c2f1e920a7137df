"""A model runs under a tape that takes no gradient for it.

What it means: a tape records everything that touches a trainable weight. A teacher, a target network or a
generator that only gives figures to a loss keeps all its activations until the gradient of another model is
taken, though none of them is needed.
When it fires: the program takes a tape's gradient for one model's weights alone, and under that tape calls
another whose weights are trainable, with nothing that the first one made; an op of TensorFlow's failed under
the tape, outside of a graph, which prunes what no gradient needs.
What to do: call it before the tape opens, or pause the recording.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.outputs_by_size import outputs_alike
from tfmemlens.findings.support.idle_under_tape import IdleCall, failed_in, idle_call
from tfmemlens.findings.support.kept import under_a_tape
from tfmemlens.findings.support.outputs_in_training import outputs_of, room_of
from tfmemlens.findings.support.phase import runs_a_graph
from tfmemlens.findings.support.rows import all_in_use, attributed, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.stack_frames import number_in
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import MIB, human

BASIS = Basis.NAME
EXPLAINS = "blocks of outputs' sizes, also those of the model that is trained, where its call failed"

_LEAST_COUNT, _GOOD_PART = 4, 0.25


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        if runs_a_graph(case, request):
            continue  # it keeps no more than what a gradient needs
        program = case.capture.surroundings.program()
        found = idle_call(program) if program and not attributed(moment) else None
        in_it = found is not None and failed_in(request, found)
        if found is None or not (in_it or under_a_tape(case, request)):
            continue
        kept, told = _kept(case, moment, request) if in_it else (None, "")
        if not in_it and _failed_below(request, found):
            kept, told = _larger_blocks(moment, request)
        model = f"each of `{found.model}`" if found.several else f"`{found.model}`"
        what = (
            f"{model} runs under the tape of {found.tape.place} ({found.call.place}), which keeps"
            f" what all its layers make, frozen or not, though the gradient is taken for `{found.trains}`"
            f" alone{told}"
        )
        yield Finding(
            severity=Severity.CAUSE if in_it or kept else Severity.FACTOR,
            headline=what,
            because=what,
            explains=kept,
            basis=Basis.SHAPE if kept else None,
            evidence=(Evidence("the tape", found.tape), Evidence("the call under it", found.call)),
            remedies=(_outside(found, model),),
            moment=index,
            rules_out=("look-for-lists", "find-what-grows") if in_it or kept else (),
        )


def _outside(found: IdleCall, model: str) -> Remedy:
    """The call above the tape; of one in a function the statement that calls that."""
    code = f"y = {found.model}(x, training=False)   # above `with tf.GradientTape() as tape:`"
    text = f"call {model} before the tape opens (or within tape.stop_recording()): then nothing of it is kept"
    if found.under != found.call:
        moved = found.under.text.strip()
        text = (
            f"move `{moved}` above the tape ({found.under.place} above {found.tape.place}), or put it within"
            f" tape.stop_recording(): then nothing of {model} is kept"
        )
    return Remedy(text, None if found.under != found.call else code, slug="outside-the-tape")


def _failed_below(request: Request, found: IdleCall) -> bool:
    """Whether a line failed that stands below the call under the same tape, which keeps all of it by then."""
    numbers = (number_in(frame.place, found.call.source) for frame in request.failed.frames)
    return any(number is not None and 0 < number - found.call.number <= _NEAR for number in numbers)


_NEAR = 20
"""Lines below the call, within which the tape is still open."""


def _larger_blocks(moment: Moment, request: Request) -> tuple[int | None, str]:
    """The blocks that are larger than what failed at the trained model's first layers; none where they are a
    small part.
    """
    need = request.needed_bytes or 0
    larger = [row for row in moment.attribution.table if row.size_bytes > need]
    size, count = sum(row.total_bytes for row in larger), sum(row.count for row in larger)
    if need < MIB or size < _GOOD_PART * all_in_use(moment):
        return None, ""  # blocks larger than next to nothing may be anybody's
    return size, f"; {count} blocks that are larger than what failed ({human(size)}) are in use"


def _kept(case: Case, moment: Moment, request: Request) -> tuple[int | None, str]:
    """What the layers of the code make, its own among them, where that follows from the code; else blocks."""
    made, room = outputs_of(case, moment, request), room_of(case, moment)
    whole = sum(each.bytes for each in made)
    kept, told = _blocks(moment, request)
    if not made or whole < max(kept or 0, _GOOD_PART * room):
        return kept, told
    told = (
        f"; at a batch of {made[0].shape[0]} the outputs of the code's {len(made)} layers, its own among"
        f" them, take {human(whole)}: most {made[0].name} {human(made[0].bytes)}"
    )
    return min(whole, room) if room else whole, told


def _blocks(moment: Moment, request: Request) -> tuple[int | None, str]:
    """The blocks that are of the sizes of its outputs: those of one size that are most of what is in use, or
    more of others, among which those of the model that is trained may be; none where they are a small part.
    """
    most = max(moment.attribution.table, key=lambda row: row.total_bytes, default=None)
    alike = outputs_alike(moment, request)
    size, count = sum(row.total_bytes for row in alike), sum(row.count for row in alike)
    least = _GOOD_PART * all_in_use(moment)
    if size >= least and count >= _LEAST_COUNT and (most is None or most.total_bytes < size):
        return size, f"; {count} blocks of outputs' sizes ({human(size)}) are in use, its own among them"
    if most is None or most.count < _LEAST_COUNT or most.total_bytes < least:
        return None, ""
    told = f"; {most.count} blocks of {human(most.size_bytes)} are in use"
    return most.total_bytes, told
