"""Whose code a frame of a stack lies in: the user's own or a library's."""

from __future__ import annotations

import os
import re

from tfmemlens.patterns import regex

__all__ = ["number_in", "package_of", "project_frame", "user_frame"]

_LIBRARY = regex(
    r"(?:site|dist)-packages|/lib/python\d|\\lib\\(?!.*train)|<frozen|<string>|<__array_function__"
    r"|tensorflow[/\\]python|[/\\]jax[/\\](?:_src|experimental|interpreters)[/\\]"
    r"|\Aapache_beam[/\\]|\Atfx_bsl[/\\]"
    r"|runpy\.py|[/\\](?:ptvsd|pydevd|debugpy)[/\\]|[/\\]pydevd?\.py"
    r"|importlib|bazel-out|\.runfiles|ipykernel[/\\]|tornado[/\\]|traitlets|keras[/\\](?:engine|src"
    r"|utils|layers)"
    r"|[\\/](?:bin|Scripts)[\\/][\w-]{1,60}(?:\.exe(?:[\\/]__main__\.py)?)?(?=[\"':]|\Z)"  # a console script
    r"|\.py[xd]\b|\.egg[/\\]|(?<![a-z])egg[/\\]|asyncio|multiprocessing|threading\.py|abc\.py|contextlib",
    re.IGNORECASE,
)


def number_in(place: str | None, file: str | None) -> int | None:
    """30 of `nets/train.py:30`, where the file is `train.py`."""
    path, _, number = (place or "").rpartition(":")
    return int(number) if number.isdecimal() and os.path.basename(path) == file else None


def user_frame(place: str) -> bool:
    """Whether a frame's file, or its `file:line`, is the user's own code rather than a library's."""
    return not _LIBRARY.search(place)


_PACKAGES = regex(r"(?:site|dist)-packages[\\/](?P<package>[\w-]+)")
_BELOW = frozenset(
    "jax jaxlib flax haiku optax equinox chex orbax objax trax numpyro distrax jaxtyping beartype numpy scipy"
    " absl tensorflow keras torch torch_xla transformers diffusers accelerate lightning pytorch_lightning"
    " IPython ipykernel tornado traitlets nest_asyncio asyncio fire click hydra omegaconf typer tqdm pytest"
    " _pytest pluggy gin ray dask joblib".split()
)
"""Libraries that programs are built of: a frame in them says what is done, and not by whom."""


def package_of(place: str | None) -> str | None:
    """The installed package that a frame's file lies in."""
    match = _PACKAGES.search(place or "")
    return match["package"] if match else None


def project_frame(place: str) -> bool:
    """Whether a frame lies in an installed program, such as AlphaFold's or a weather model's, rather than in
    a library below it.
    """
    package = package_of(place)
    return package is not None and package not in _BELOW
