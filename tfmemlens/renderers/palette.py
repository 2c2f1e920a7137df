"""The colours of the kinds of memory, one table for terminal, page, card and plots, and those of layers.

Any two kinds can stand side by side, so any two are told apart with normal vision, without red cones and
without green cones: their distance (CIEDE2000) is at least 10 in all three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfmemlens.model.attribution import Kind
from tfmemlens.renderers.kinds import slug

LIGHT: Mapping[Kind, str] = {
    Kind.PARAMETER: "#3962c8",
    Kind.OPTIMIZER_SLOT: "#9a74e7",
    Kind.GRADIENT: "#e36826",
    Kind.ACTIVATION: "#32a15c",
    Kind.LAYOUT_TRANSPOSE: "#d64883",
    Kind.WORKSPACE: "#e4a900",
    Kind.LOOP_STACK: "#71b9a2",
    Kind.CONSTANT: "#8c95a0",
    Kind.HELD: "#6b2148",
    Kind.INPUT: "#7fb2f2",
    Kind.TRANSFER: "#8d6144",
    Kind.UNATTRIBUTED: "#bcc4ce",
}
"""On a white ground: on paper, in plots, on the page by day."""
DARK: Mapping[Kind, str] = {
    Kind.PARAMETER: "#8aa7ff",
    Kind.OPTIMIZER_SLOT: "#9b78c8",
    Kind.GRADIENT: "#ef894d",
    Kind.ACTIVATION: "#5bc384",
    Kind.LAYOUT_TRANSPOSE: "#fa6da5",
    Kind.WORKSPACE: "#f2c01e",
    Kind.LOOP_STACK: "#56bbb5",
    Kind.CONSTANT: "#838d8d",
    Kind.HELD: "#ffe9e0",
    Kind.INPUT: "#9fcefc",
    Kind.TRANSFER: "#ae7d5b",
    Kind.UNATTRIBUTED: "#68707a",
}
"""The same on the page by night."""
TERMINAL: Mapping[Kind, int] = {
    Kind.PARAMETER: 25,
    Kind.OPTIMIZER_SLOT: 135,
    Kind.GRADIENT: 166,
    Kind.ACTIVATION: 35,
    Kind.LAYOUT_TRANSPOSE: 132,
    Kind.WORKSPACE: 214,
    Kind.LOOP_STACK: 115,
    Kind.CONSTANT: 247,
    Kind.HELD: 89,
    Kind.INPUT: 110,
    Kind.TRANSFER: 95,
    Kind.UNATTRIBUTED: 254,
}
"""The same among a terminal's 256 colours."""
OTHER = "#d5d9de"
"""What is of no single kind: all that stood before the step, groups too small to be named."""
LAYERS = (
    "#557dc5",
    "#e49342",
    "#88bdba",
    "#db534b",
    "#70a678",
    "#eed069",
    "#a67c9e",
    "#8e756f",
    "#feb0a7",
)
"""Layers are none of the kinds, so they have colours of their own, as far apart from each other."""
LAYERS_DARK = (
    "#92a4ef",
    "#f1a451",
    "#b6e6e5",
    "#df756b",
    "#a0cf92",
    "#fde581",
    "#c59dbf",
    "#a8928f",
    "#e6aeb7",
)


def variables(kinds: Mapping[Kind, str], layers: Sequence[str]) -> str:
    """Colours as properties of a style sheet."""
    return " ".join(
        [f"--kind-{slug(kind)}: {colour};" for kind, colour in kinds.items()]
        + [f"--layer-{number}: {colour};" for number, colour in enumerate(layers)]
    )


def classes() -> str:
    """A class of a style sheet for each kind."""
    return "\n".join(f".kind-{slug(kind)} {{ background: var(--kind-{slug(kind)}); }}" for kind in LIGHT)
