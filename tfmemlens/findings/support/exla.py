"""What helps programs of Elixir's EXLA: XLA runs them, and neither variables of JAX nor code of Python do
anything there.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy

ELIXIR = "Elixir"
"""The program's name, as the readers have it."""
_POOL_SET = "exla: a pool of its own"
_POOL = Remedy(
    "let EXLA take the GPU's memory as needed, or a smaller part of it, so that room is left outside its pool"
    " (for cuDNN, the screen, other programs): in its configuration, which counts before EXLA starts",
    "config :exla, :clients, cuda: [platform: :cuda, preallocate: false]   # or memory_fraction: 0.6; in"
    " Livebook within `config:` of Mix.install",
    slug="pool-of-exla",
)
_LESS = Remedy(
    "put less into one step: a smaller batch, shorter sequences, or a smaller model; the pool is full of what"
    " the program keeps, so no setting of the pool makes much room",
    slug="smaller-batch",
)
_KEPT = Remedy(
    "see what of the first round is still held: a tensor stays on the GPU until the process that refers to it"
    " collects its garbage; bring results that are kept to the host, and free the rest between rounds",
    "Nx.backend_deallocate(tensors); :erlang.garbage_collect()   # keep: Nx.backend_copy(t)",
    slug="free-tensors-of-exla",
)


def smaller_pool(case: Case) -> Iterator[Remedy]:
    """Room outside EXLA's pool, unless the text says that its pool has a setting already."""
    if not case.capture.surroundings.shows(_POOL_SET):
        yield _POOL


def of_a_full_pool(case: Case) -> Iterator[Remedy]:
    """What helps where the pool is full; of a failure in a later round, what an earlier one may have left."""
    yield _LESS
    if case.capture.surroundings.shows("failing late"):
        yield _KEPT
