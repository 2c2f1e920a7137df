"""A list lives for one call, and an object that is made of it outlasts the call."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.findings.support.kept_through import kept_through
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

CODE = """\
for turn in range(10):
    deltas = []
    for silo in silos:
        deltas.append(silo.update())
    report = Report(turn, deltas, drift(deltas))
    server.reports.append(report)
"""
RETURNED = """\
def extract(images):
    feats = []
    for each in images:
        feats.append(net(each))
    return feats, 1
for shard in shards:
    maps, many = extract(shard)
    log.append({"shard": shard, "maps": maps})
"""


def program(code: str) -> Program:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1))
    return Program(tuple(Statement(node, lines) for node in ast.parse(code).body))


@pytest.mark.parametrize(
    ("code", "container", "told"),
    [
        (CODE, "deltas", ("server.reports", 6, "deltas", 5)),
        (
            CODE.replace("Report(turn, deltas, drift(deltas))", "dict(turn=turn, all=deltas)"),
            "deltas",
            ("server.reports", 6, "deltas", 5),
        ),
        (
            CODE.replace("server.reports.append(report)", "kept.append((turn, deltas))"),
            "deltas",
            ("kept", 6, "deltas", 6),
        ),
        (RETURNED, "feats", ("log", 8, "maps", 8)),
        (CODE.replace("Report(turn, deltas, drift(deltas))", "Report(turn, drift(deltas))"), "deltas", None),
        (CODE.replace("Report(turn, deltas, drift(deltas))", "mean(turn, deltas)"), "deltas", None),
        (RETURNED.replace('"maps": maps', '"maps": len(maps)'), "feats", None),
        (RETURNED.replace("maps, many = extract", "many, maps = extract"), "feats", None),
        (CODE.replace("    server.reports.append(report)\n", ""), "deltas", None),
    ],
)
def test_what_appends_an_object_made_of_the_list(
    code: str, container: str, told: tuple[str, int, str, int] | None
) -> None:
    found = kept_through(program(code), container)
    assert (found and (found.container, found.line.number, found.name, found.made.number)) == told
