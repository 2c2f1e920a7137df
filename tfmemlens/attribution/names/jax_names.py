"""Names of JAX and of XLA executables made by it:
`jit(step)/jit(main)/jvp(Transformer)/layer_0/dot_general`.
"""

from __future__ import annotations

import re

from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.patterns import regex

_WRAPPER = regex(
    r"(?:jit|pjit|pmap|xmap|shard_map|named|core_call|xla_call|custom_jvp_call"
    r"|custom_vjp_call\w*)\(.*\)\Z|jit_[\w.]+\Z"
)
_AROUND = regex(r"(jvp|transpose|vmap|remat|checkpoint|rematted_computation)\((.*)\)\Z")
_FRAMES = frozenset(
    "while body cond scan closed_call checkpoint remat rematted_computation custom_jvp_call custom_vjp_call"
    " pjit named remat2 body_fun cond_fun core_call".split()
)


def is_jax(name: str) -> bool:
    """Whether a name is a JAX scope rather than a node of a TensorFlow graph."""
    return bool(
        re.match(
            r"(?:jit|pjit|pmap|xmap|parallelize)\(|(?:jit|pjit|pmap)__?[\w.]+/|(?:jvp|transpose|vmap)\(", name
        )
    )


_DRAWN_ALONE = regex(r"jit\(_(?:normal|uniform|truncated_normal)\)/")
"""Random numbers that are a program of their own, most often a new weight: no activation of a layer."""


def owner_of(name: str, op: str | None) -> Owner:
    """The module path between the transformations and the primitive; `transpose(jvp(…))` is the backward
    pass.
    """
    name = name.split(";")[0].strip()
    parts = [part for part in _split(re.sub(r"\[(?:\\n|\s)*\w+=.*\Z", "", name, flags=re.DOTALL)) if part]
    primitive = parts.pop() if len(parts) > 1 else None
    path: list[str] = []
    gradient = loop = False
    for part in parts:
        if _WRAPPER.match(part) or "->" in part:  # an einsum names itself by its equation
            continue
        while match := _AROUND.match(part):
            gradient = gradient or match[1] == "transpose"
            part = match[2]
        if _WRAPPER.match(part):  # a function of JAX's own, `jvp(jit(silu))`
            continue
        if re.fullmatch(r"branch_\d+_fun", part) or part in _FRAMES:
            loop = loop or part in ("while", "scan")
            continue
        path += [piece for piece in part.split("/") if piece]
    phase = Phase.GRADIENT if gradient else Phase.FORWARD
    forward_kind = Kind.UNATTRIBUTED if _DRAWN_ALONE.match(name) else Kind.ACTIVATION
    kind = Kind.GRADIENT if gradient else forward_kind
    return Owner("/".join(path) or None, kind, phase, op or primitive, forward=name, in_loop=loop)


def _split(name: str) -> list[str]:
    """The parts of a path; a slash inside parentheses does not count."""
    parts, depth = [""], 0
    for letter in name:
        depth += (letter == "(") - (letter == ")")
        if letter == "/" and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
