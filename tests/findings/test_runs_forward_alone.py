"""An eager op whose whole stack takes no gradient: no backward pass comes on top."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
CODE = """
import tensorflow as tf
def draw(net, x):
    return net(x, training=True)
def spread(net, x):
    y = draw(net, x)
    return y
net = build()
net.fit(x, y, batch_size=32)
low = spread(net, x)
"""
EAGER = "{{function_node __wrapped__Conv2D_device_/job:localhost/replica:0/task:0/device:CPU:0}} "
GRAPH = "{{function_node __inference_draw_88}} "


@pytest.mark.parametrize(
    ("change", "function", "frames", "to_come"),
    [
        (("", ""), EAGER, (10, 6, 4), False),
        (("", ""), GRAPH, (10, 6, 4), True),
        (("", ""), EAGER, (6, 4), True),  # what called it is not there
        (("spread(net, x)\n", "spread(net, x).fit(x)\n"), EAGER, (10, 6, 4), True),
        (("    y = draw", "    with tf.GradientTape() as t: y = draw"), EAGER, (10, 6, 4), True),
    ],
)
def test_what_comes_on_top(
    tmp_path: Path, change: tuple[str, str], function: str, frames: tuple[int, ...], to_come: bool
) -> None:
    code = CODE.replace(*change) if change[0] else CODE
    lines = code.split("\n")
    (tmp_path / "run.py").write_text(code)
    names = {10: "<module>", 6: "spread", 4: "draw"}
    stack = "".join(
        f'  File "run.py", line {at}, in {names[at]}\n    {lines[at - 1].strip()}\n' for at in frames
    )
    full = dump_by_size(900 * 128 * 128 * 64 * 4, 600, (3, 40 * MIB), (1, 90 * MIB), allocator=HOST)
    log = tmp_path / "log.txt"
    told = function + oom("900,128,128,64", "Conv2D", on=CPU, by=HOST)
    log.write_text(f"{full}Epoch 1/2\nTraceback (most recent call last):\n{stack}{told}")
    text = " ".join(action.remedy.text for action in pipeline.explain(log).actions)
    assert "lower the batch" in text
    assert ("the backward pass comes on top" in text) is to_come


@pytest.mark.parametrize(("function", "offered"), [(EAGER, True), (GRAPH, False)])
def test_fewer_samples_where_nothing_else_is_known(tmp_path: Path, function: str, offered: bool) -> None:
    code = CODE.replace("net.fit(x, y, batch_size=32)", "net.load_weights(path)")
    (tmp_path / "run.py").write_text(code)
    lines = code.split("\n")
    names = {10: "<module>", 6: "spread", 4: "draw"}
    stack = "".join(
        f'  File "run.py", line {at}, in {name}\n    {lines[at - 1].strip()}\n' for at, name in names.items()
    )
    full = dump_by_size(131 * 8009 * 4, 600, (5, 56 * MIB), (3, 105 * MIB), allocator=HOST)
    log = tmp_path / "log.txt"
    told = function + oom("131,8009", "MatMul", on=CPU, by=HOST)
    log.write_text(f"{full}Traceback (most recent call last):\n{stack}{told}")
    texts = [action.remedy.text for action in pipeline.explain(log).actions]
    assert any("fewer samples at a time" in text for text in texts) is offered
