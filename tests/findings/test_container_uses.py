"""A line that keeps less is printed only where the program still runs with it: each is run here in place of
the program's own.
"""

from __future__ import annotations

import types
from typing import Any

import pytest

from tfmemlens.findings.support.container_uses import Use, use_of
from tfmemlens.findings.support.kept_trees import Kept
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_file

ENDS = "def moved(log):\n    return log[-1] - log[0]\n"
LOOP = "def main():\n    log = []\n    for step in range(6):\n        log.append(make(step))\n"


_ADDS = (".append(", "[(", "[step] =")


def use(code: str, container: str = "log", value: str = "make(step)") -> Use:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1))
    adds = next(
        each
        for each in lines
        if any(f"{container}{how}" in each.text for how in (".append(", "[(", "[step] ="))
    )
    return use_of(read_file(lines), Kept(container, value, adds, adds))


class Numbers(list[float]):
    """Rows of a tensor, as far as the programs here use them."""

    def numpy(self) -> list[float]:
        return list(self)


def mean(x: Any) -> float:
    flat = [mean(each) if isinstance(each, list) else each for each in x] if isinstance(x, list) else [x]
    return sum(flat) / len(flat)


TF = types.SimpleNamespace(
    reduce_mean=mean,
    stack=list,
    concat=lambda parts, axis: Numbers(row for part in parts for row in part),
    argmax=lambda rows, axis: Numbers(max(range(len(row)), key=row.__getitem__) for row in rows),
)


def result(code: str, make: Any) -> Any:
    names: dict[str, Any] = {"tf": TF, "make": make}
    exec(compile(code, "program", "exec"), names)
    return names["main"]()


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (f"{ENDS}{LOOP}    return moved(log)\n", "log[1:] = [make(step)]"),
        (f"{LOOP}    return log[-1]\n", "log[:] = [make(step)]"),
        (f"{LOOP}    return log[0]\n", "if not log: log.append(make(step))"),
        (f"{LOOP}    return tf.reduce_mean(log)\n", "log.append(tf.reduce_mean(make(step)))"),
        (f"{LOOP}    return tf.reduce_mean(tf.stack(log))\n", "log.append(tf.reduce_mean(make(step)))"),
    ],
)
def test_what_keeps_less_gives_the_same_result(code: str, line: str) -> None:
    assert use(code).code == line
    less = code.replace("log.append(make(step))", line)
    assert result(code, lambda step: step * step) == result(less, lambda step: step * step)


def test_of_rows_whose_largest_place_is_wanted_that_is_kept() -> None:
    joined = "    maps = tf.concat(log, axis=0)\n"
    code = f"{LOOP}{joined}    best = tf.argmax(maps, axis=-1).numpy()\n    return best\n"
    first, last = (use(code).code or "").split("\n")
    assert first == "log.append(tf.argmax(make(step), axis=-1))"
    less = code.replace("log.append(make(step))", first)
    less = less.replace("best = tf.argmax(maps, axis=-1).numpy()", last).replace(joined, "")

    def make(step: int) -> list[list[int]]:
        return [[step, 3, 1], [0, step, 2]]

    assert result(code, make) == result(less, make)


@pytest.mark.parametrize(
    "end",
    [
        "    return use(log)\n",
        "    for each in log: use(each)\n",
        "    return log[-1] - log[2]\n",
        "    return log[step]\n",
        "    return tf.reduce_mean(log, axis=0)\n",
        "    return len(log), log[-1]\n",
        "    m = tf.concat(log, axis=0)\n    return tf.argmax(m, axis=-1), m\n",
        "    m = tf.concat(log, axis=0)\n    return tf.argmax(m, axis=0)\n",
        "    m = tf.concat(log, axis=1)\n    best = tf.argmax(m, axis=-1)\n",
        "    return log\n",
    ],
)
def test_what_is_read_otherwise_is_not_rewritten(end: str) -> None:
    assert use(LOOP + end).code == ""


CACHE = (
    "class Teacher:\n    def __init__(self):\n        self.kept = {{}}\n"
    "    def hints(self, epoch, step):\n        found = {asked}\n        if found is None:\n"
    "            found = make(step)\n            self.kept[{key}] = found\n        return found\n"
)


@pytest.mark.parametrize(
    ("key", "epoch"), [("(epoch, step)", "epoch"), ("step", ""), ("(step, self.epoch)", "self.epoch")]
)
def test_a_cache_that_is_asked_first_may_forget(key: str, epoch: str) -> None:
    code = CACHE.format(asked=f"self.kept.get({key})", key=key)
    found = use(code, "self.kept", "found")
    assert (found.looked_up, found.epoch, found.key) == (True, epoch, key)


def test_a_dict_that_is_read_without_asking_is_no_cache() -> None:
    assert not use(CACHE.format(asked="self.kept[step]", key="step"), "self.kept", "found").looked_up


def test_an_attribute_that_is_read_from_outside_is_not_rewritten() -> None:
    code = (
        "class Report:\n    def add(self, x):\n        self.kept.append(x)\n    def last(self):\n"
        "        return self.kept[-1]\n"
    )
    assert use(code, "self.kept", "x").code == "self.kept = [x]"
    ends = code.replace("[-1]", "[-1] - self.kept[0]")
    assert use(ends, "self.kept", "x").code == "self.kept = self.kept[:1] + [x]"
    assert use(f"{code}print(sum(report.kept))\n", "self.kept", "x").code == ""


def test_the_line_that_lets_a_cache_forget_runs() -> None:
    cache: dict[int, int] = {}
    for step in range(20):
        cache[step] = step
        if len(cache) > 8:
            cache.pop(next(iter(cache)))
    assert [*cache] == [*range(12, 20)]
