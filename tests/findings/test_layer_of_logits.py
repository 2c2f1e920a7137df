"""The layer that makes logits, where the loss failed."""

from __future__ import annotations

import pytest

from tests.findings.test_support import asked, case, held
from tfmemlens.findings import vocabulary_logits
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.live_model import LiveModel
from tfmemlens.values import replace

NEXT, WIDE = ("next_word", (None, 24, 24000)), ("merge", (None, 24, 512))


@pytest.mark.parametrize(
    "owner, outputs, said",
    [
        ("sparse_categorical_crossentropy", (NEXT, WIDE), " of `next_word`"),
        ("sparse_categorical_crossentropy", (NEXT, ("other", NEXT[1])), ""),  # several as wide
        ("sparse_categorical_crossentropy", (WIDE,), ""),
        ("next_word", (NEXT, WIDE), ""),  # the verdict names it
        ("sparse_categorical_crossentropy", (), ""),
    ],
)
def test_the_one_layer_with_this_output(
    owner: str, outputs: tuple[tuple[str, tuple[int | None, ...]], ...], said: str
) -> None:
    request = replace(
        asked(shape=(96, 24, 24000), dtype="float32"), owner=Owner(owner, Kind.ACTIVATION, Phase.FORWARD)
    )
    known = case(held(request=request))
    model = LiveModel((), tuple((path, "Dense") for path, _ in outputs), outputs=outputs) if outputs else None
    known = replace(known, capture=replace(known.capture, live_model=model))
    assert vocabulary_logits._of_layer(known, request) == said
