"""tfmemlens: why TensorFlow ran out of memory, which of your layers holds it, and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "estimate", "explain", "read"]

if TYPE_CHECKING:
    from tfmemlens.api import estimate, explain
    from tfmemlens.trace import read


def __getattr__(name: str) -> object:
    """The API, imported when first used: `import tfmemlens` itself stays cheap."""
    if name == "read":
        from tfmemlens.trace import read

        return read
    if name in __all__:
        from tfmemlens import api

        return getattr(api, name)
    raise AttributeError(f"module 'tfmemlens' has no attribute {name!r}")
