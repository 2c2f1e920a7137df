"""Equal chunks of eager ops under a tape: what each turn of a loop made, kept until the gradient is taken."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU
from tfmemlens import pipeline
from tfmemlens.findings.support.taped_loop import opens_a_tape, taped_loop
from tfmemlens.findings.support.watching import device_memory
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.readers.program.parsing import statements_of_file

TAPED = """with tf.GradientTape() as tape:
    total = 0.0
    for part in parts:
        total += loss(model(part))
grads = tape.gradient(total, weights)
"""


def program(code: str) -> Program:
    lines = [Line(number, text) for number, text in enumerate(code.split("\n"), 1)]
    return Program(tuple(statements_of_file(lines)))


def test_the_loop_and_its_tape_are_found() -> None:
    found = taped_loop(program("x = 1\n" + TAPED))
    assert found and (found.tape.number, found.loop.number, found.over) == (2, 4, "parts")
    assert taped_loop(program("def step():\n" + "".join(f"    {line}\n" for line in TAPED.splitlines())))


def test_near_misses() -> None:
    inside = TAPED.replace("        total += loss(model(part))", "        total += tape.gradient(f(part), w)")
    assert taped_loop(program(inside)) is None
    assert taped_loop(program(TAPED.replace("loss(model(part))", "part"))) is None  # nothing is called
    assert taped_loop(program(TAPED.replace("GradientTape", "device"))) is None
    assert opens_a_tape(program(inside)) and not opens_a_tape(program("x = f(GradientTape)"))


UNROLLED = """class Net(tf.keras.Model):
    def call(self, x):
        outs = []
        for t in range(90):
            state = self.mix(state)
            outs.append(self.out(state))
        return tf.concat(outs, -1)

net = Net()
with tf.GradientTape() as tape:
    loss = f(net(x))
grads = tape.gradient(loss, weights)
"""


def test_a_loop_of_a_layer_that_the_tape_calls() -> None:
    found = taped_loop(program(UNROLLED))
    assert found and (found.tape.number, found.loop.number, found.over) == (10, 4, "range(90)")
    assert found.called
    by_name = UNROLLED.replace("f(net(x))", "f(x)")
    assert (seen := taped_loop(program(by_name))) and seen.called  # f may be an object, too
    over_layers = UNROLLED.replace("range(90)", "self.blocks")
    assert taped_loop(program(over_layers)) is None  # the layers of a net, one after the other
    assert taped_loop(program(UNROLLED.replace("def call", "def fit"))) is None


METHOD = """class Cells(tf.Module):
    def grow(self, state):
        for _ in range(ROLLOUT):
            state = self.update(state)
        return state

cells = Cells()
with tf.GradientTape() as tape:
    loss = f(cells.grow(start))
grads = tape.gradient(loss, weights)
"""


def test_a_loop_of_a_method_that_the_tape_calls() -> None:
    found = taped_loop(program(METHOD))
    assert found and (found.tape.number, found.loop.number, found.words) == (
        8,
        3,
        "loop over `range(ROLLOUT)`",
    )
    assert found.called
    assert taped_loop(program(METHOD.replace("cells.grow(start)", "cells.value"))) is None


def test_a_loop_that_counts_its_turns_itself() -> None:
    counting = METHOD.replace("for _ in range(ROLLOUT)", "while turn < ROLLOUT")
    found = taped_loop(program(counting))
    assert found and (found.loop.number, found.words) == (3, "loop while `turn < ROLLOUT`")
    assert taped_loop(program(counting.replace("turn < ROLLOUT", "True"))) is None
    inside = TAPED.replace("for part in parts", "while left()")
    assert (seen := taped_loop(program(inside))) and seen.words == "loop while `left()`"


def test_what_a_layer_s_loop_adds_to_is_no_kept_result() -> None:
    report = pipeline.explain(log(UNROLLED))
    assert "each turn of the loop over `range(90)`" in report.verdict
    assert report.verdict.count("most likely") == 1
    assert [each.remedy.slug for each in report.actions[:2]] == ["recompute-turns", "truncate"]
    assert not [each for each in report.findings if each.rule == "kept-by-a-loop"]


def test_turns_of_an_algorithm_are_no_sequence() -> None:
    refining = UNROLLED.replace("range(90)", "range(self.iterations)")
    slugs = [each.remedy.slug for each in pipeline.explain(log(refining)).actions]
    assert slugs[:2] == ["recompute-turns", "fewer-turns"]
    assert "truncate" not in slugs


def log(code: str) -> str:
    chunks = "\n".join(
        f"InUse at 7f00000{number:02x}000 of size 2867200 next {number + 1}" for number in range(60)
    )
    return (
        f"BFC dump\n{chunks}\n     Summary of in-use Chunks by size: \n60 Chunks of size 2867200 totalling"
        " 164.06MiB\nSum Total of in-use chunks: 164.06MiB\nStats: \nLimit:   176160768\nInUse:   172032000\n"
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
        f" shape[16,200,224] and type float on {CPU} by allocator cpu [Op:AddV2]\n\n{code}"
    )


def test_the_verdict_blames_the_tape_and_the_remedy_moves_it() -> None:
    report = pipeline.explain(log(TAPED))
    assert "each turn of the loop over `parts`" in report.verdict
    assert report.actions[0].remedy.slug == "tape-inside-loop"


@pytest.mark.parametrize(("called", "blamed"), [("look", True), ("other", False)])
def test_an_op_of_a_function_that_the_turns_call_is_of_the_loop(called: str, blamed: bool) -> None:
    of_function = "[Op:__forward_look_156]"
    text = log(TAPED.replace("model(part)", f"{called}(part)")).replace("[Op:AddV2]", of_function)
    assert ("the loop over `parts`" in pipeline.explain(text).verdict) is blamed


@pytest.mark.parametrize(
    ("allocator", "code"),
    [("bfc_cpu_allocator_for_gpu", "get_memory_info('CPU:0')"), ("cpu", "psutil"), ("GPU_0_bfc", "'GPU:0'")],
)
def test_what_is_printed_is_of_the_device_that_failed(allocator: str, code: str) -> None:
    device = CPU if "cpu" in allocator else CPU.replace("CPU", "GPU")
    failed = log("").replace(f"{CPU} by allocator cpu", f"{device} by allocator {allocator}")
    case = pipeline.explain(f"tensorflow==2.11.0\n{failed}").case
    assert code in (device_memory(case, case.moments[0]) or "")


def test_without_a_program_nothing_is_said_of_tapes() -> None:
    assert "tape" not in pipeline.explain(log("")).verdict
