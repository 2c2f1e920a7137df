"""Scopes of a graph as layers of the live model: its user's names, and one layer however often it is called.

`sequential/body` is the layer `body` of the model `sequential`; `unet_1/down_3/conv_5` is `down/conv` where
the model has such a layer, and none that is called `conv_5`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.live_model import LiveModel
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, replace

_NUMBER = regex(r"_\d{1,4}\Z")
_OF_WEIGHTS = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
_LOOP_ALONE = regex(r"while(?:_\d+)?\Z")
_OF_KERAS = regex(r"(?:standard|gpu|cudnn)_(?P<kind>lstm|gru)(?:_with_fallback)?\Z")
"""What Keras 2 calls the functions that it runs a recurrent layer in: their nodes stand in no scope."""
_MAX_SCOPES = 3
"""Scopes around a model: towers, steps, outer functions."""


@dataclass(frozen=True)
class LiveNames:
    """The layers of a model, asked for by scopes."""

    model: LiveModel | None

    def attribution(self, attribution: Attribution) -> Attribution:
        """The same rows under the model's names."""
        if not self._tells:
            return attribution
        rows = zip(attribution.owners, attribution.table.shape, strict=True)
        return replace(attribution, owners=[self._of_row(owner, shape) for owner, shape in rows])

    def _of_row(self, owner: Owner, shape: tuple[int | None, ...] | None) -> Owner:
        """The owner; what an optimizer makes without saying for which weight is of the one layer that has a
        weight of that shape.
        """
        named = self.owner(owner)
        if named.layer is None and named.phase is Phase.OPTIMIZER and shape and self.model is not None:
            owners = self.model.with_weight(shape)
            return replace(named, layer=owners[0]) if len(owners) == 1 else named
        return named

    def owner(self, owner: Owner) -> Owner:
        """The owner with the name that the model has for its layer."""
        if not self._tells or owner.layer is None:
            return owner
        of_gradient = f"gradient_tape/{owner.layer}" if owner.phase is Phase.GRADIENT else ""
        if line := self._lines.get(of_gradient):
            return replace(owner, layer=line)
        if owner.layer not in self._found:
            loop = _LOOP_ALONE.match(owner.layer)
            name = self._recurrent if loop else self._path(owner.layer)
            self._found[owner.layer] = name or (None if self._owns(owner) else self._lines.get(owner.layer))
        name = self._found[owner.layer]
        return replace(owner, layer=name) if name else owner

    def of_rows(self, table: AllocationTable, told: Mapping[str, Owner]) -> dict[str, Owner]:
        """What is told of the nodes of a table, with the model's names in it."""
        if not self._tells:
            return dict(told)
        pairs = dict(zip(table.node, table.op, strict=True))
        owners = {node: told.get(node) or owner_of(node, op) for node, op in pairs.items() if node}
        named = {node: self.owner(owner) for node, owner in owners.items()}
        return {**told, **{node: owner for node, owner in named.items() if owner is not owners[node]}}

    def found_in(self, table: AllocationTable) -> set[str]:
        """The paths of the layers that nodes stand in the scopes of."""
        nodes = dict(zip(table.node, table.op, strict=True))
        scopes = {owner_of(node, op).layer for node, op in nodes.items() if node}
        return {path for scope in scopes if scope and (path := self._path(scope))}

    def of_request(self, owner: Owner, request: FailedRequest) -> Owner:
        """The owner of a failed request. Where its name is an op's or a layer's class, as in eager execution:
        the one layer that returns this shape, among those inside of the layer whose call failed.
        """
        owner = self.owner(owner)
        model, shape = self.model, request.shape
        if model is None or not shape:
            return owner
        op = request.op or ""
        of_source = not (owner.layer or request.node or op or request.function)  # of a C++ source
        if of_source and (name := model.like_one_variable(shape)):
            return replace(owner, layer=owner_of(name).layer, kind=Kind.PARAMETER)
        copied = model.with_weight(shape) if request.is_operand else ()
        if owner.layer and self._path(owner.layer) in copied:
            return replace(owner, kind=Kind.PARAMETER)  # the product casts its operand
        nobody = (None, op, _bare(request.node))
        if owner.layer in (*nobody, *model.names) and len(made := model.being_made(shape)) == 1:
            return replace(owner, layer=made[0])
        if owner.layer in nobody and owner.kind in _OF_WEIGHTS and owner.phase is not Phase.OPTIMIZER:
            owners = model.with_weight(shape)
            return replace(owner, layer=owners[0]) if len(owners) == 1 else owner
        if owner.phase is Phase.OPTIMIZER and not self._is_layer(owner.layer):
            owners = model.with_weight(shape)
            return replace(owner, layer=owners[0]) if len(owners) == 1 else owner
        backward = owner.phase is Phase.GRADIENT or "Backprop" in op or op.endswith("Grad")
        if backward and owner.layer in nobody:
            of = model.differentiated(op, shape)
            return replace(owner, layer=of[0]) if len(of) == 1 else owner
        if owner.phase is not Phase.FORWARD:
            return owner
        classes = dict(model.layers)
        kind = owner.layer if owner.layer in classes.values() else None
        if owner.layer in classes or not (kind or owner.layer in nobody):
            return owner
        inside = model.failed_in or ""
        makers = model.makers_of(shape, kind)
        near = [path for path in makers if f"{path}/".startswith(f"{inside}/")] or makers
        if len(near) == 1:
            return replace(owner, layer=near[0])
        return replace(owner, layer=model.failed_in) if model.failed_in else owner

    def _is_layer(self, name: str | None) -> bool:
        return name is not None and self._path(name) is not None

    @property
    def _tells(self) -> bool:
        return bool(self._known or self._lines)

    @staticmethod
    def _owns(owner: Owner) -> bool:
        """Whether the name is a variable's rather than an op's."""
        return owner.kind in _OF_WEIGHTS

    @cached_property
    def _lines(self) -> Mapping[str, str]:
        """By the names of ops in no scope the functions and lines of the program that make them."""
        places = self.model.places if self.model is not None else ()
        return {name: place.label for place in places for name in place.ops}

    @cached_property
    def _known(self) -> Mapping[str, str]:
        """The paths of all layers, and those with the models' names before them, by path."""
        if self.model is None:
            return {}
        paths = {path: path for path, _ in self.model.layers}
        return {**{f"{name}/{path}": path for name in self.model.names for path in paths}, **paths}

    @cached_property
    def _found(self) -> dict[str, str | None]:
        return {}

    @cached_property
    def _recurrent(self) -> str | None:
        """The one layer that Keras runs in a function of its own, with what it is wrapped in; None where
        there are several.
        """
        if self.model is None:
            return None
        found = [_OF_KERAS.match(function.name) for function in self.model.functions]
        kinds = {match["kind"].upper() for match in found if match}
        paths = [path for path, kind in self.model.layers if kind in kinds]
        if len(paths) == 1:
            return paths[0]
        around = {path.rpartition("/")[0] for path in paths}
        return next(iter(around)) or None if len(around) == 1 else None

    def _path(self, scope: str) -> str | None:
        """The longest path of a layer that stands in a scope, with what is inside of the layer: of the user's
        own ones, since scopes inside Keras's are its own.
        """
        parts = scope.split("/")
        for first in range(min(len(parts), _MAX_SCOPES + 1)):
            for last in range(len(parts), first, -1):
                path = self._match(parts[first:last])
                if path is not None:
                    return path if path in self._of_kerases_classes else "/".join([path, *parts[last:]])
        return None

    @cached_property
    def _of_kerases_classes(self) -> frozenset[str]:
        from tfmemlens.knowledge.keras_layers import RULES  # only where a program has layers

        layers = self.model.layers if self.model is not None else ()
        return frozenset(path for path, kind in layers if kind in RULES)

    def _match(self, parts: list[str]) -> str | None:
        """The layer with this path as it is, else without the numbers that further calls add."""
        path = self._known.get("/".join(parts))
        if path is not None:
            return path
        for size in range(len(parts)):
            plain = [*parts[:size], *(_NUMBER.sub("", part) for part in parts[size:])]
            if (path := self._known.get("/".join(plain))) is not None:
                return path
        return None


def _bare(node: str | None) -> str | None:
    """A node's name where it stands in no scope."""
    return node if node and "/" not in node else None
