"""A pool beside what a text asks about: another framework's message, a figure of a tool, a program that only
moves an array, and a process that is killed before its first step.
"""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

TORCH = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 40.00 GiB total"
    " capacity; 1.50 GiB already allocated; 20.00 MiB free; 1.75 GiB reserved in total by PyTorch)\n"
)


@pytest.mark.parametrize(
    ("words", "of_xla"),
    [
        (
            "I see that xla takes all memory of the GPU, and then I get `torch.cuda.OutOfMemoryError`.",
            True,
        ),
        ("Beside torch_xla on the CPU I get `torch.cuda.OutOfMemoryError`.", False),
    ],
)
def test_a_message_counts_and_not_the_words_that_name_it(words: str, of_xla: bool) -> None:
    finding = explained(f"{words}\n\n{TORCH}").findings[0]
    assert finding.evidence[0].line and finding.evidence[0].line.number == 3
    said = finding.remedies[0].text
    assert "38.23 GiB are neither free nor PyTorch's own" in said
    assert ("most likely PyTorch/XLA's" in said) is of_xla


@pytest.mark.parametrize(
    ("words", "of_pool"),
    [
        ("The torch one takes 2 GB, the flax one takes 29 GB of VRAM.", True),
        ("The flax model is using 18 GB of GPU memory, is that normal?", True),
        ("The flax model takes 2 GB of VRAM.", False),
        ("The jax.vmap of it requires 29 GB of VRAM.", False),
        ("With XLA_PYTHON_CLIENT_PREALLOCATE=false the flax model takes 29 GB of VRAM.", False),
    ],
)
def test_a_figure_of_a_gpu_may_be_that_of_the_pool(words: str, of_pool: bool) -> None:
    report = explained(f"# Memory of flax\n\n{words}\n\n```\nimport jax\ny = model(x)\n```\n")
    assert ("need not be what the program needs: JAX reserves 75 %" in report.verdict) is of_pool
    slugs = [action.remedy.slug for action in report.actions]
    assert ("set-before-import" in slugs) is of_pool


PROGRAM = (
    "{frame}jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Error loading program '{name}': Attempting to"
    " reserve 6.25G at the bottom of memory. That was not possible. There are 3.50G free, 0B reserved, and"
    " 3.50G reservable.\n"
)
GATHERS = (
    '  File "/env/lib/python3.11/site-packages/jax/experimental/multihost_utils.py", line 98, in'
    " _handle_array_process_allgather\n    out = jax.jit(_identity_fn, out_shardings=P())(array)\n"
)


@pytest.mark.parametrize(
    ("frame", "name", "said"),
    [
        (GATHERS, "jit__identity_fn", "all parts of an array are gathered"),
        ("", "jit__identity_fn", "JAX's own program that gives an array another sharding"),
        ("", "jit_train_step", "as a rule the step's"),
    ],
)
def test_a_program_that_moves_an_array_is_no_step(frame: str, name: str, said: str) -> None:
    report = explained(PROGRAM.format(frame=frame, name=name))
    assert said in report.verdict
    moves = name == "jit__identity_fn"
    assert (report.actions[0].remedy.slug == "save-sharded") is moves
    assert not (moves and any("fewer samples" in action.remedy.text for action in report.actions))


KILL = (
    "# A run on a {pod}\n\nMy processes run out of memory (100 % of system memory), {when}.\n"
    "```\n51207 Killed                  CONFIG=pod.py python -m train --cfg=jax.py\n```\n"
)


@pytest.mark.parametrize(
    ("pod", "of_kubernetes"),
    [("v5e-32 TPU pod", False), ("v4-8 pod", False), ("TPU pod slice", False), ("pod of our cluster", True)],
)
def test_a_pod_of_tpus_is_none_of_kubernetes(pod: str, of_kubernetes: bool) -> None:
    report = explained(KILL.format(pod=pod, when="in the second hour"))
    assert report.verdict.startswith("Host RAM")
    assert any("kubectl" in (each.remedy.code or "") for each in report.actions) is of_kubernetes


@pytest.mark.parametrize(
    ("when", "early"), [("before taking any train steps", True), ("and it fails again", False)]
)
def test_when_it_was_is_not_asked_where_it_is_told(when: str, early: bool) -> None:
    report = explained(f"# jax on a TPU\n\nThe host runs out of RAM, {when}.\n\n```\nimport jax\n```\n")
    assert ("it was before any step (line 3)" in report.verdict) is early
    assert any("higher with each step" in each.remedy.text for each in report.actions) is not early


FAILED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 5.00GiB"


@pytest.mark.parametrize("kind", ["platform", "cuda_async"])
def test_what_counts_nothing_is_not_asked(kind: str) -> None:
    text = f'import os\nos.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "{kind}"\nimport jax\n\n{FAILED}\n'
    codes = [each.remedy.code or "" for each in explained(text).actions]
    assert any(".memory_stats())" in code for code in codes) is (kind != "platform")
    assert "ask-what-is-in-use" in offered(text)


@pytest.mark.parametrize(
    ("words", "crashed"),
    [
        ("Our plan ran out of GPU memory in jax.\n\nSmaller ones exposed a separate XLA segfault.", False),
        ("Our jax program ran out of GPU memory.\n\nSegmentation fault (core dumped)", True),
        ("Our jax program gets a segfault.", True),
    ],
)
def test_a_crash_among_other_things_is_no_crash_of_this_run(words: str, crashed: bool) -> None:
    assert ("find-the-crash" in offered(f"# On GB200\n\n{words}\n")) is crashed


def test_a_process_that_pytorch_names_may_be_the_program_of_pytorch_xla() -> None:
    message = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 90.00 MiB. GPU 0 has a total capacity"
        " of 15.00 GiB of which 60.00 MiB is free. Process 811 has 14.90 GiB memory in use. Of the allocated"
        " memory 2.00 GiB is allocated by PyTorch, and 80.00 MiB is reserved by PyTorch but unallocated.\n"
    )
    code = "import torch\nimport torch_xla.core.xla_model as xm\nmodel.to(xm.xla_device())\n\n"
    assert offered(code + message)[0] == "growth"
    assert offered("import torch\n\n" + message)[0] == "end-the-process"


def test_parts_of_a_call_are_no_answer_to_a_figure_that_was_read() -> None:
    end = "\n\n```\nimport jax\n```\n"
    seen = f"The jax model takes 9 GB of GPU memory. XLA_PYTHON_CLIENT_PREALLOCATE=false{end}"
    assert "in-blocks" not in offered(seen) and "see-the-plan" in offered(seen)
    assert "in-blocks" in offered(f"I need ~50Gb of memory to compute it.{end}")
