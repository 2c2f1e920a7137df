"""Regular expressions that are compiled when first asked something.

Most of the two hundred in the package are for lines that an input does not have; compiling them all took a
sixth of the time to explain a pasted log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["regex"]

if TYPE_CHECKING:  # to a type checker it is the standard one
    from re import compile as regex
else:
    import re

    _METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")

    class regex:  # noqa: N801 - a function to those who use it
        """As `re.compile`, later: on first use the compiled pattern's own methods take their places here."""

        def __init__(self, pattern, flags=0):
            self.pattern, self.flags = pattern, flags

        def __getattr__(self, name):
            if name not in _METHODS:
                raise AttributeError(name)
            compiled = re.compile(self.pattern, self.flags)
            for method in _METHODS:
                setattr(self, method, getattr(compiled, method))
            return getattr(self, name)
