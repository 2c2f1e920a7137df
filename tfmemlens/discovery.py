"""Plug-ins by file name: a module in the right folder with the right functions is a reader, a rule, a renderer or a command."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def plugins(package: ModuleType, *functions: str) -> dict[str, ModuleType]:
    """The modules of a package that define all these functions, by slug: `fragmented_free_memory.py` is `fragmented-free-memory`."""
    found = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_") or info.ispkg:
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if all(callable(getattr(module, name, None)) for name in functions):
            found[slug(info.name)] = module
    return dict(sorted(found.items()))


def slug(module_name: str) -> str:
    """The name users see."""
    return module_name.rpartition(".")[2].replace("_", "-")
