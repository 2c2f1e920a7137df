"""Limits that a scheduler, Java's bindings, PyTorch or a notebook's host set, each with its own remedy."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens.findings.support.jax_stores import _round_root

JAVA = "java.lang.OutOfMemoryError: Cannot allocate new FloatPointer(1622400): totalBytes = 93M{rest}\n"


@pytest.mark.parametrize(
    ("rest", "of_javacpp"),
    [(", physicalBytes = 15G", True), (", physicalBytes (15G)", True), ("", False)],
)
def test_javacpps_own_limit_is_no_heap(rest: str, of_javacpp: bool) -> None:
    assert ("maxPhysicalBytes" in first(JAVA.format(rest=rest))) is of_javacpp
    assert ("-Xmx" in first(JAVA.format(rest=rest))) is not of_javacpp


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", "#BSUB -R"),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in step 1.batch cgroup.", "#SBATCH --mem"),
    ],
)
def test_each_scheduler_has_its_own_setting(line: str, command: str) -> None:
    assert command in first(f"Epoch 1/5\n{line}\n")


PYTORCH = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 496.00 MiB. GPU 0 has a total"
    " capacty of 14.75 GiB of which 235.06 MiB is free. Process 20398 has 14.52 GiB memory in use. Of the"
    " allocated memory {own} is allocated by PyTorch, and 330.42 MiB is reserved by PyTorch.\n"
)


@pytest.mark.parametrize(("own", "other"), [("14.06 GiB", False), ("10.20 GiB", False), ("2.06 GiB", True)])
def test_a_process_that_holds_what_pytorch_allocated_is_itself(own: str, other: bool) -> None:
    assert ("end-the-process" in offered(PYTORCH.format(own=own))) is other


PROGRAM = "import torch\npipe = load()\nvideo = pipe(frames=161)\n{above}'''\nERROR:\n{message}'''\n"
KAGGLE = "Your notebook tried to allocate more memory than is available. It has restarted.\n"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (PYTORCH.format(own="14.06 GiB"), "is PyTorch's"),
        (KAGGLE, "Host RAM (not GPU memory) ran out"),
        ("nothing of it here\n", "No out-of-memory message was found"),
    ],
)
@pytest.mark.parametrize("above", ["", "# %%\n"])
def test_a_message_in_a_string_of_a_program_is_its_runs(message: str, said: str, above: str) -> None:
    assert said in explained(PROGRAM.format(message=message, above=above)).verdict


def test_a_notebook_on_kaggle_has_no_limit_to_raise() -> None:
    slugs = offered(KAGGLE)
    assert "results-in-parts" in slugs and "container-limit" not in slugs


@pytest.mark.parametrize(
    ("words", "died"),
    [
        ("the kernel is restarting automatically at the same cell", True),
        ("Kernel Restarted", True),
        ("I restarted the kernel to free the memory", False),
        ("the linux kernel of this machine", False),
    ],
)
def test_a_kernel_that_restarts_by_itself_died(words: str, died: bool) -> None:
    surroundings = explained(f"{words}\n").case.capture.surroundings
    assert (surroundings.kernel_died is not None) is died


@pytest.mark.parametrize(
    ("words", "tried"),
    [("I tried deleting the model", True), ("I also tried deleting the model directories.", False)],
)
def test_directories_are_no_objects_of_python(words: str, tried: bool) -> None:
    surroundings = explained(f"{words}, and it is the same\nMemoryError\n").case.capture.surroundings
    assert (surroundings.shows("deleting in vain") is not None) is tried


@pytest.mark.parametrize(("number", "power", "root"), [(1_600_000_000, 2, 40_000), (999, 2, 30), (8, 3, 2)])
def test_a_round_number_whose_power_fits(number: int, power: int, root: int) -> None:
    assert _round_root(number, power) == root
