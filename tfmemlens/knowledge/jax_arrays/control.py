"""Calls that run a function in another way: compiled, mapped, differentiated, in a loop."""

from __future__ import annotations

import ast
import math
from typing import Any

from tfmemlens.knowledge.jax_arrays import transforms
from tfmemlens.knowledge.jax_arrays.calls import Calls
from tfmemlens.knowledge.jax_arrays.rules import narrowed
from tfmemlens.knowledge.jax_arrays.values import (
    UNKNOWN,
    Derived,
    JaxArray,
    Shape,
    Transformed,
    is_number,
    whole,
)
from tfmemlens.values import replace


def _numbers(tree: Any) -> int:
    """How many numbers a tree has; 0 where that is not known of a part of it."""
    counts = [
        math.prod(leaf.shape) if isinstance(leaf, JaxArray) else int(is_number(leaf))
        for leaf in transforms.leaves(tree)
    ]
    return sum(counts) if all(counts) else 0


def _shapes(given: Any) -> tuple[Shape, ...]:
    """The shapes of the arrays of one argument; none where one of them is not known."""
    leaves = list(transforms.leaves(given))
    if any(leaf is UNKNOWN for leaf in leaves):
        return ()
    return tuple(leaf.shape for leaf in leaves if isinstance(leaf, JaxArray))


class Control(Calls):
    """What transformations and loops make of the functions that they are given."""

    def transformed(
        self, function: Transformed, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST
    ) -> Any:
        """A call of what a transformation made."""
        kind, inner = function.kind, function.inner
        if kind == "partial":
            return self.apply(inner, (*function.positional, *args), dict(function.named) | named, node)
        if kind == "pulled":
            return tuple(function.positional)
        if kind == "unravelled":
            return function.positional[0]
        if kind == "with":
            return Transformed(inner.last, args[0], (), function.named) if args else UNKNOWN
        if "jit" in kind and self.lines and not self.kinds:
            self.given.setdefault(self.line_of(node), []).append(tuple(map(_shapes, args)))
        with self.pushed(self.kinds, kind):
            if kind in transforms.SAME:
                return self.returned(function, args, self.apply(inner, args, named, node), node)
            if kind in transforms.GRADIENTS:
                return self.gradient(function, args, named, node)
            if kind in transforms.MAPS:
                return self.over_rows(function, args, named, node)
            return self.derivative(function, args, named, node)

    def returned(self, function: Transformed, args: tuple[Any, ...], made: Any, node: ast.AST) -> Any:
        """What a compiled function returns for the names that it was given: it lies beside the old arrays,
        where the function does not get them to keep.
        """
        settings = dict(function.named)
        again = isinstance(node, ast.Call) and self.targets & {ast.unparse(each) for each in node.args}
        if "jit" not in function.kind or not again or {"donate_argnums", "donate_argnames"} & set(settings):
            return made
        given = {leaf.shape: leaf for leaf in transforms.leaves(args) if isinstance(leaf, JaxArray)}
        for leaf in transforms.leaves(made):
            if isinstance(leaf, JaxArray) and leaf.shape in given:
                self.note(leaf, node, "returned")
        return made

    def setting(self, function: Transformed, at: int, name: str, default: Any) -> Any:
        """An argument of the transformation itself."""
        given = function.positional[at] if at < len(function.positional) else None
        return dict(function.named).get(name, default if given is None else given)

    def gradient(
        self, function: Transformed, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST
    ) -> Any:
        """`grad`, `value_and_grad`: a gradient has the shapes of what it is taken by."""
        value = self.apply(function.inner, args, named, node)
        by = self.setting(function, 0, "argnums", 0)
        wanted = by if isinstance(by, tuple) else (by,)
        if any(not isinstance(at, int) or at >= len(args) for at in wanted):
            self.derive(node, "grad", 0)
            return UNKNOWN
        made = transforms.on_device(tuple(args[at] for at in wanted), self.stored)
        self.note_all(made, node, "gradient")
        self.derive(node, "grad", _numbers(made))
        made = made if isinstance(by, tuple) else made[0]
        if function.kind.endswith("value_and_grad"):
            return value, made
        aux = value[1] if isinstance(value, tuple) and len(value) == 2 else UNKNOWN
        return (made, aux) if dict(function.named).get("has_aux") else made

    def note_all(self, tree: Any, node: ast.AST, name: str) -> None:
        """Remember the arrays of a tree; of a gradient each with the bytes of all of them."""
        arrays = [leaf for leaf in transforms.leaves(tree) if isinstance(leaf, JaxArray)]
        whole_tree = math.prod(self.rows) * sum(each.bytes for each in arrays) if name == "gradient" else 0
        for leaf in arrays:
            self.note(leaf, node, name)
            if whole_tree and self.lines:
                self.noted[-1] = replace(self.noted[-1], together=whole_tree)

    def derive(self, node: ast.AST, kind: str, by: int) -> None:
        """Remember by how many numbers one is differentiated."""
        if self.lines:
            self.derived.append(Derived(self.line_of(node), kind, 1, by, second=False))

    def over_rows(
        self, function: Transformed, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST
    ) -> Any:
        """`vmap`, `pmap`: of vmap each array inside exists once for every row."""
        axes = self.setting(function, 0, "in_axes", 0)
        axes = axes if isinstance(axes, tuple | list) else (axes,) * len(args)
        if len(axes) != len(args):
            return UNKNOWN
        lengths = (transforms.length_of(each, at) for each, at in zip(args, axes, strict=True))
        many = next((each for each in lengths if each is not None), None)
        rows = tuple(transforms.without_axis(each, at) for each, at in zip(args, axes, strict=True))
        if many is None or function.kind == "pmap":
            return transforms.with_axis(self.apply(function.inner, rows, named, node), many)
        with self.pushed(self.rows, many):
            made = self.apply(function.inner, rows, named, node)
        stacked = transforms.with_axis(made, many)
        self.note_all(stacked, node, "vmap")
        return stacked

    def derivative(
        self, function: Transformed, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST
    ) -> Any:
        """`jacrev`, `hessian`: every number that is given by every number that it is differentiated by."""
        value = self.apply(function.inner, args, named, node)
        by = self.setting(function, 0, "argnums", 0)
        alone = by[0] if isinstance(by, tuple) and len(by) == 1 else by
        x = args[alone] if isinstance(alone, int) and alone < len(args) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = JaxArray(())
        if not (isinstance(value, JaxArray) and isinstance(x, JaxArray)):
            return UNKNOWN
        if self.lines:
            inner = function.inner
            second = function.kind == "hessian" or (
                isinstance(inner, Transformed) and inner.kind in transforms.JACOBIANS | transforms.GRADIENTS
            )
            sizes = math.prod(value.shape), math.prod(x.shape)
            self.derived.append(Derived(self.line_of(node), function.kind, *sizes, second))
        times = 2 if function.kind == "hessian" else 1
        return self.note(replace(value, shape=(*value.shape, *x.shape * times)), node, function.kind)

    def stored(self, dtype: str) -> str:
        """What JAX keeps of a dtype."""
        return dtype if self.x64 else narrowed(dtype)

    def controlled(self, name: str, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST) -> Any:
        """`scan`, `map`, `fori_loop`, `while_loop`, `cond`."""
        if name == "scan":
            return self.scanned(args, named, node)
        if name == "map" and len(args) >= 2:
            many = transforms.length_of(args[1])
            made = transforms.with_axis(
                self.apply(args[0], (transforms.without_axis(args[1]),), {}, node), many
            )
            self.note_all(made, node, "map")
            return made
        if name in ("vjp", "jvp", "linearize") and len(args) >= 2:
            return self.linear(name, args, named, node)
        if name == "associative_scan" and len(args) >= 2:
            self.note_all(args[1], node, name)
            return args[1]
        if name == "switch" and len(args) >= 2:
            branches = transforms.items_of(args[1])
            return self.apply(branches[0], args[2:], {}, node) if branches else UNKNOWN
        if name == "fori_loop" and len(args) >= 4:
            self.turned(args[2], (0, args[3]), node, whole(args[1]), args[3])
            return args[3]
        if name == "while_loop" and len(args) >= 3:
            self.apply(args[1], (args[2],), {}, node)
            return args[2]
        return self.apply(args[1], args[3:], {}, node) if name == "cond" and len(args) >= 3 else UNKNOWN

    def linear(self, name: str, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST) -> Any:
        """`vjp`, `jvp`, `linearize`: the value, and what is linear in it."""
        given = args[1] if name == "jvp" else args[1:]
        at = tuple(given) if isinstance(given, tuple | list) else (UNKNOWN,)
        kept = name == "jvp"
        with self.pushed(self.kinds, "jvp" if kept else "grad"):
            value = self.apply(args[0], at, {}, node)
        if kept:
            return value, value
        by = transforms.on_device(at, self.stored) if name == "vjp" else (value,)
        aux = (UNKNOWN,) if named.get("has_aux") else ()
        return (value, Transformed("pulled", UNKNOWN, by), *aux)

    def turned(
        self, function: Any, args: tuple[Any, ...], node: ast.AST, many: int | None, carry: Any = None
    ) -> Any:
        """A body of a loop, followed once for all its turns; `carry` is what a turn hands to the next."""
        arrays = [each for each in transforms.leaves(carry) if isinstance(each, JaxArray)]
        with (
            self.pushed(self.kinds, "scan"),
            self.pushed(self.turns, math.prod((*self.turns[-1:], many or 1))),
            self.pushed(self.carried, sum(each.bytes for each in arrays)),
        ):
            return self.apply(function, args, {}, node)

    def scanned(self, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST) -> Any:
        """`scan`: what its body gives, stacked over its turns."""
        given = dict(enumerate(args)) | {1: named.get("init", args[1] if len(args) > 1 else UNKNOWN)}
        xs = named.get("xs", given.get(2))
        length = named.get("length", given.get(3))
        many = whole(length) if is_number(length) else transforms.length_of(xs)
        row = None if xs is None else transforms.without_axis(xs)
        made = self.turned(args[0] if args else named.get("f"), (given[1], row), node, many, given[1])
        if not (isinstance(made, tuple) and len(made) == 2):
            return given[1], UNKNOWN
        stacked = transforms.with_axis(made[1], many)
        self.note_all(stacked, node, "scan")
        return given[1], stacked
