"""Kinds and layers are told apart with normal vision, without red cones and without green cones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

import pytest

from tfmemlens.model.attribution import Kind
from tfmemlens.renderers import palette
from tfmemlens.renderers.html import page as html
from tfmemlens.renderers.kinds import slug

NORMAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
PROTANOPIA = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
"""Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB."""
VISIONS = {"normal": NORMAL, "protanopia": PROTANOPIA, "deuteranopia": DEUTERANOPIA}
Lab = tuple[float, float, float]


def seen(colour: str, vision: Sequence[Sequence[float]]) -> Lab:
    """A colour such as #3962c8 in CIE L*a*b* (D65) as it is seen."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    red, green, blue = (
        min(max(math.fsum(weight * part for weight, part in zip(row, linear, strict=True)), 0), 1)
        for row in vision
    )
    x, y, z = (
        part ** (1 / 3) if part > 216 / 24389 else part * 841 / 108 + 4 / 29
        for part in (
            (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047,
            0.2126729 * red + 0.7151522 * green + 0.0721750 * blue,
            (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: Lab, other: Lab) -> float:
    """CIEDE2000 (Sharma, Wu and Dalal 2005)."""
    (light, red, yellow), (light_2, red_2, yellow_2) = one, other
    mean = (math.hypot(red, yellow) + math.hypot(red_2, yellow_2)) / 2
    stretch = 1.5 - 0.5 * math.sqrt(mean**7 / (mean**7 + 25**7))
    chroma, chroma_2 = math.hypot(red * stretch, yellow), math.hypot(red_2 * stretch, yellow_2)
    hue = math.degrees(math.atan2(yellow, red * stretch)) % 360
    hue_2 = math.degrees(math.atan2(yellow_2, red_2 * stretch)) % 360
    turn, middle = hue_2 - hue, (hue + hue_2) / 2
    if not chroma * chroma_2:
        turn, middle = 0.0, hue + hue_2
    elif abs(turn) > 180:
        turn -= math.copysign(360, turn)
        middle += 180 if middle < 180 else -180
    around = 2 * math.sqrt(chroma * chroma_2) * math.sin(math.radians(turn / 2))
    lightness, mean = (light + light_2) / 2, (chroma + chroma_2) / 2

    def wave(factor: float, times: int, shift: float) -> float:
        return factor * math.cos(math.radians(times * middle + shift))

    tilt = 1 + wave(-0.17, 1, -30) + wave(0.24, 2, 0) + wave(0.32, 3, 6) + wave(-0.20, 4, -63)
    scale_light = 1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2)
    parts = (
        (light_2 - light) / scale_light,
        (chroma_2 - chroma) / (1 + 0.045 * mean),
        around / (1 + 0.015 * mean * tilt),
    )
    angle = 60 * math.exp(-(((middle - 275) / 25) ** 2))
    rotation = -2 * math.sqrt(mean**7 / (mean**7 + 25**7)) * math.sin(math.radians(angle))
    return math.sqrt(math.fsum(part**2 for part in parts) + rotation * parts[1] * parts[2])


def of_terminal(number: int) -> str:
    """One of xterm's 256 colours above the first 16, which every terminal sets itself."""
    if number >= 232:
        return f"#{8 + 10 * (number - 232):02x}" + f"{8 + 10 * (number - 232):02x}" * 2
    steps = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{steps[(number - 16) // each % 6]:02x}" for each in (36, 6, 1))


PALETTES = {
    "light": list(palette.LIGHT.values()),
    "dark": list(palette.DARK.values()),
    "terminal": [of_terminal(number) for number in palette.TERMINAL.values()],
    "layers": palette.LAYERS,
    "layers, dark": palette.LAYERS_DARK,
}


def test_the_distance_is_the_published_one() -> None:
    """Three pairs of Sharma's table of test data."""
    for one, other, expected in (
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ):
        assert distance(one, other) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("name", "vision"), product(PALETTES, VISIONS))
def test_any_two_colours_are_told_apart(name: str, vision: str) -> None:
    colours = [seen(colour, VISIONS[vision]) for colour in PALETTES[name]]
    assert min(distance(one, other) for one, other in combinations(colours, 2)) >= 10


@pytest.mark.parametrize("kind", palette.TERMINAL)
def test_a_terminals_colour_is_near_the_pages(kind: Kind) -> None:
    """As near as a difference of 9.5, or the nearest that there is."""
    page = seen(palette.LIGHT[kind], NORMAL)
    nearest = min(distance(seen(of_terminal(number), NORMAL), page) for number in range(16, 256))
    chosen = seen(of_terminal(palette.TERMINAL[kind]), NORMAL)
    assert distance(chosen, page) <= max(9.5, nearest)


def test_every_kind_has_its_colour_in_every_look() -> None:
    assert set(palette.LIGHT) == set(palette.DARK) == set(palette.TERMINAL) == set(Kind)
    style = html.style()
    for kind in Kind:
        assert style.count(f"--kind-{slug(kind)}: {palette.LIGHT[kind]};") == 1
        assert style.count(f"--kind-{slug(kind)}: {palette.DARK[kind]};") == 2
        assert f".kind-{slug(kind)} {{" in style
    assert not set(palette.LAYERS) & set(palette.LIGHT.values())
