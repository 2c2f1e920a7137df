"""The formats that there are, and what they declare. Nothing here knows one of them by name."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

from tfmemlens import discovery
from tfmemlens.model.capture import Capture, Holds


def formats() -> dict[str, ModuleType]:
    """Everything that runs can leave behind, by slug."""
    return _readers("formats")


def models() -> dict[str, ModuleType]:
    """Models that never ran, by slug."""
    return _readers("keras_models")


def _readers(room: str) -> dict[str, ModuleType]:
    return discovery.plugins(importlib.import_module(f"tfmemlens.readers.{room}"), "sniff", "read")


def holds(slug: str) -> Holds:
    """What a format can tell of memory."""
    known: Holds = formats()[slug].HOLDS
    return known


def passed_over() -> tuple[str, ...]:
    """Endings of the files of a directory that have nothing to say of what ran: what formats have lying
    beside them, and models, unless a format claims them. A file that is named by the user is always read.
    """
    ran = {suffix for module in formats().values() for suffix in _declared(module, "SUFFIXES")}
    beside = {suffix for module in formats().values() for suffix in _declared(module, "COMPANIONS")}
    kept = {suffix for module in models().values() for suffix in _declared(module, "SUFFIXES")}
    return tuple(sorted((beside | kept) - ran))


def beside_steps() -> frozenset[str]:
    """Names of files that describe the program whose traced step lies beside them."""
    return frozenset(name for module in formats().values() for name in _declared(module, "BESIDE_STEPS"))


def stem(name: str) -> str:
    """A file's name without the endings that formats and gzip give it."""
    parts = {
        part
        for module in formats().values()
        for suffix in _declared(module, "SUFFIXES")
        for part in suffix.strip(".").split(".")
    }
    endings = "|".join(map(re.escape, sorted({*parts, "gz"})))
    return re.sub(rf"(?:\.(?:{endings}))+\Z", "", name) or name


def joined(captures: list[Capture]) -> list[Capture]:
    """Several inputs, after each format has said what becomes of them."""
    for module in formats().values():
        if hasattr(module, "join"):
            captures = module.join(captures)
    return captures


def _declared(module: ModuleType, name: str) -> tuple[str, ...]:
    values: tuple[str, ...] = getattr(module, name, ())
    return values
