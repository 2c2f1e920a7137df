"""What has no layer goes by its kind, where that tells an owner."""

from __future__ import annotations

from tfmemlens.model.attribution import Group, Kind
from tfmemlens.renderers.owners import by_owner


def test_what_has_no_layer_is_parted_by_kinds_that_tell_an_owner() -> None:
    nobody = Group(None, 9, ((Kind.INPUT, 5), (Kind.ACTIVATION, 3), (Kind.UNATTRIBUTED, 1)), 4, 7)
    layer = Group("a", 4, ((Kind.INPUT, 4),), 1, 1)
    found = by_owner([nobody, layer])
    assert [(group.name, group.total_bytes) for group in found] == [("(input)", 5), ("a", 4), (None, 4)]
    assert found[2].kinds == ((Kind.ACTIVATION, 3), (Kind.UNATTRIBUTED, 1))


def test_what_tells_no_owner_stays_whole() -> None:
    nobody = Group(None, 4, ((Kind.UNATTRIBUTED, 4),), 2, 3)
    assert by_owner([nobody]) == (nobody,)
