"""Keras 3 calls a built model op by op, and keeps the output of every layer until the call ends.

What it means: a functional or Sequential model that is called as a function runs one op after the other.
Keras 3 holds each layer's output under its name until the last layer has run; a compiled call frees each
after its last use. Measured with TensorFlow 2.21: of twelve equal convolutions an eager call holds 14 maps,
one in tf.function 3; with Keras 2 (TensorFlow 2.11) 4 and 3. A model of a class of its own keeps no more than
its own names do.
When it fires: Keras 3 named the layer that failed in an op that ran by itself, the user's line calls a model
with `training=False`, no tape is open, and the text shows how the model was built.
What to do: compile the call, or let `predict_on_batch` do it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.outputs_by_size import outputs_alike
from tfmemlens.findings.support.kept import is_eager, under_a_tape
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import all_in_use, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import Frame
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.NAME
EXPLAINS = "what is in use, where half of it has outputs' sizes; else blocks of such sizes"

_CALL = regex(
    r"(?<![\w.])(?P<model>(?:self\.)?[a-z]\w{0,30})"
    r"\((?P<given>[^()]{1,60}),\s*training\s*=\s*False\s*\)"
)
_BUILT = regex(
    r"\b(?:Functional|Model)\(\s*(?:inputs?\s*=|\w{1,20}\s*,|\[)|\bSequential\(|\bapplications\b"
    r"|\bload_model\(|\binclude_top\s*="
)
_KERAS_3, _HALF = (2, 16), 0.5


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW or case.api.oldest < _KERAS_3:
        return
    for index, moment, request in list(requests(case))[:1]:
        failed = request.failed
        frame = _call(request)
        if frame is None or not is_eager(request) or failed.creating or failed.updating:
            continue
        if not failed.keras_layer or under_a_tape(case, request) or not _is_built(case):
            continue
        match = _CALL.search(frame.text)
        assert match
        model = match["model"]
        what = (
            f"`{model}` is called op by op ({frame.place}): if it is a functional or Sequential model, Keras"
            " 3 keeps what each of its layers makes until the call ends, and a compiled call two or three of"
            " them"
        )
        kept = outputs_alike(moment, request)
        held = sum(row.total_bytes for row in kept)
        if held:
            what += f"; {sum(row.count for row in kept)} blocks of outputs' sizes are in use, {human(held)}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=all_in_use(moment) if held >= _HALF * all_in_use(moment) else held or None,
            basis=Basis.SHAPE if held else None,
            evidence=(Evidence("the call", failed.line),),
            remedies=(
                Remedy(
                    f"compile the call once, or let `{model}.predict_on_batch` do it: then each layer's"
                    " output is freed after its last use",
                    f"forward = tf.function({model}); y = forward({match['given'].strip()}, training=False)",
                    slug="compile-the-forward",
                ),
            ),
            moment=index,
        )


def _call(request: Request) -> Frame | None:
    """The user's last line on the way that calls a model so."""
    own = [each for each in request.failed.frames if user_frame(each.place) and each.text]
    return own[-1] if own and _CALL.search(own[-1].text) else None


def _is_built(case: Case) -> bool:
    """Whether the text shows a model that is built of layers, and not a class of the program's own."""
    return any(_BUILT.search(line.text) for line in code_lines(case.capture.surroundings))
