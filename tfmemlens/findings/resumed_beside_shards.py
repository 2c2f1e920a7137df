"""A run that fits when it begins fails when it is resumed: what is loaded lies elsewhere than what was made.

What it means: a fresh run makes weights and the optimizer's state sharded. What a checkpoint gives back is
put where the loading puts it: whole on the first device, or beside the state that was made for it.
When it fires: a TPU or XLA found no room, and the text says that it is when a run is resumed.
What to do: read the checkpoint on the host, and give it back into the shardings of a fresh state.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import lists_buffers, on_host, requests
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "the request"

_ON_THE_HOST = {
    JAX: Remedy(
        "restore into the shapes and shardings of a fresh state, and make no fresh state beside it",
        "abstract = jax.eval_shape(init, key)   # Orbax: StandardRestore(abstract with shardings)",
        slug="restore-sharded",
    ),
    TORCH_XLA: Remedy(
        "read the checkpoint in host RAM, and save it from there: tensors that were saved on a device are"
        " loaded to that device, whole",
        "ckpt = torch.load(path, map_location='cpu'); model.load_state_dict(ckpt['model'])",
        slug="read-in-host-ram",
    ),
}
_SHARDED = Remedy(
    "then give the optimizer's state the shardings of its weights: make it by one step that changes nothing,"
    " and load into it with the distributed checkpoint",
    "torch_xla.experimental.distributed_checkpoint.prime_optimizer(optimizer)   # then: CheckpointManager"
    ".restore(step, state_dict)",
    slug="prime-the-optimizer",
)


def check(case: Case) -> Iterator[Finding]:
    line, framework = case.capture.surroundings.shows("jax: resuming"), framework_of(case)
    if line is None or framework not in (JAX, TORCH_XLA):
        return
    for index, moment, request in list(requests(case))[:1]:
        if not request.failed.of_xla or on_host(moment) or facts.on_chip(moment) or lists_buffers(moment):
            continue
        what = (
            f"it is when the run is resumed ({line.place}): most likely what the checkpoint gives back"
            " (weights, the optimizer's state) lies whole on a device, or beside a state that was made for it"
        )
        torch = framework == TORCH_XLA
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.needed_bytes,
            evidence=(Evidence("what the text says", line), Evidence("the message", request.failed.line)),
            remedies=(_ON_THE_HOST[framework], *((_SHARDED,) if torch else ())),
            moment=index,
            rules_out=("mark-step", "drop-references", "smaller-batch", "recompute", "donate-buffers"),
        )
