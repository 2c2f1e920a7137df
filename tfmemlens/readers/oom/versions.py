"""Releases of a library that prose compares: one that works, and a newer one that does not."""

from __future__ import annotations

import re

from tfmemlens.model.capture import WorkingRelease
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import LineRule

_NAMES = (
    r"(?:tensorflow(?:[-_](?:gpu|cpu|metal|macos|text|probability|datasets|io|addons))?|tf[-_]nightly|keras"
    r"(?:[-_](?:hub|cv|nlp|tuner))?|jax|jaxlib|jax[-_]metal|flax|optax|orbax(?:[-_]checkpoint)?|numpyro"
    r"|torch[-_]xla|libtpu(?:[-_]nightly)?|equinox|dm[-_]haiku|brax|mujoco(?:[-_]mjx)?|tensorstore|numpy"
    r"|pymc|blackjax|grain|clu|cudnn)"
)
_RELEASE = r"\d{1,4}\.\d{1,4}(?:\.\d{1,4}){0,2}(?:\.?(?:dev|rc|post)\d{1,10})?"
_GOOD = (
    r"(?:work(?:s|ed)?|(?:is|are|was|were|runs?|ran) (?:\w+ )?(?:fine|ok(?:ay)?|good|stable|flat)"
    r"|(?:has|had|shows?) no (?:\w+ )?(?:leak|problem|issue|such)|do(?:es)? not (?:leak|grow|happen|occur)"
    r"|did(?: not|n't) (?:leak|grow|happen|occur)|doesn't (?:leak|grow|happen|occur)"
    r"|(?:solve[sd]?|fix(?:es|ed)?|help(?:s|ed)|avoid(?:s|ed)?))\b"
)
_NOT = r"(?<!not )(?<!n't )(?<!never )"
PACKAGE = LineRule(
    rf"(?i)(?<![\w./-])(?P<name>{_NAMES})(?:[*`]{{0,2}} ?(?:version |release )?[=:v(@ ]{{1,4}}v?)"
    rf"(?P<release>{_RELEASE})\b",
    "orbax-checkpoint: 0.11.19",
    "with jax 0.4.35 it leaks",
    needs=(
        "tensorflow", "tf-nightly", "tf_nightly", "keras", "jax", "flax", "optax", "orbax", "numpyro",
        "torch-xla", "torch_xla", "libtpu", "equinox", "haiku", "brax", "mujoco", "tensorstore", "numpy",
        "pymc", "grain", "clu", "cudnn",
    ),
)  # fmt: skip
WORKING = LineRule(
    rf"(?i)(?:(?P<name>{_NAMES})[ =:v@(]{{1,4}})?(?:\b(?:version|release|v)\.? ?)?"
    rf"(?<![\d.])v?(?P<release>{_RELEASE})\)?[`*]{{0,2}} (?:(?:it|this|everything|all|still) )?{_NOT}{_GOOD}"
    rf"|\b{_NOT}{_GOOD}[^.,;\n]{{0,30}}\b(?:with|on|in|under|using) (?:(?P<name2>{_NAMES})[ =:v@(]{{1,4}})?"
    rf"(?:(?:version|release) )?v?(?P<release2>{_RELEASE})\b"
    rf"|\b(?:downgrad\w+|revert\w+|going back|rolled back|went back|pinn\w+)\b[^.,;\n]{{0,40}}?"
    rf"(?:(?P<name3>{_NAMES})[ =:v@(]{{1,4}})?(?:(?:to|at|=) ?)?(?:(?:version|release)"
    rf" )?v?(?P<release3>{_RELEASE})\b"
    rf"[^;\n]{{0,60}}?{_NOT}{_GOOD}",
    "TLDR; version 0.11.8 works, latest is leaking",
    "it runs fine, works with jax 0.4.28",
    "Downgrading to jaxlib 0.4.16 solves it",
    needs=(
        "work",
        "fine",
        "ok",
        "good",
        "stable",
        "flat",
        "no ",
        "not ",
        "n't",
        "solve",
        "fix",
        "help",
        "avoid",
    ),
)


class Releases:
    """Collects what prose says of releases."""

    def __init__(self) -> None:
        self.packages: list[tuple[str, str]] = []
        self.working: tuple[str, str, Line] | None = None

    def read(self, line: Line) -> None:
        """Note the releases that a line names, and one that it says works."""
        named = re.finditer(PACKAGE.pattern, line.text) if PACKAGE.search(line.text) else ()
        for match in named:
            self.packages.append((match["name"].lower().replace("_", "-"), match["release"]))
        if self.working is None and (works := WORKING.search(line.text)):
            name = works["name"] or works["name2"] or works["name3"] or ""
            release = works["release"] or works["release2"] or works["release3"]
            self.working = (name.lower().replace("_", "-"), release, line)

    def value(self) -> WorkingRelease | None:
        """The release that works, where the same line or another tells of one that does not."""
        if self.working is None:
            return None
        name, release, line = self.working
        others = [(known, at) for known, at in self.packages if at != release]
        if name:
            now = next((at for known, at in others if known == name), None)
        else:
            series = release.rpartition(".")[0]
            name, now = next(
                ((known, at) for known, at in others if at.rpartition(".")[0] == series), ("", None)
            )
        told = name and (now or _ANOTHER.search(line.text))
        return WorkingRelease(name, release, now, line) if told else None


_ANOTHER = regex(r"(?i)\b(?:latest|newer|newest|upgrad\w+|updat\w+|regression|downgrad\w+|revert\w+|later)\b")
"""Words for a release that is not the one that works, without a number."""
