"""No rule says more than its input: equal chunks, crashes, other processes."""

from __future__ import annotations

import re

import pytest

from tests.conftest import SAMPLES
from tests.findings.logs import MIB, dump, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding, Remedy, Severity


def equal(count: int, *, in_use: int | None = None) -> str:
    """A dump with so many chunks of the failing tensor's 32 MiB in use."""
    held = 32 * count
    return (
        dump(32, held + 20, in_use or held)
        .replace(f"1 Chunks of size {held * MIB}", f"{count} Chunks of size {32 * MIB}")
        .replace(f"InUse at 7f0000000000 of size {held * MIB} next 1\n", "")
    ) + oom("64,256,256,2")


def finding(text: str, rule: str) -> Finding:
    return next(each for each in pipeline.explain(text).findings if each.rule == rule)


def remedies(text: str) -> dict[str, Remedy]:
    return {remedy.slug: remedy for each in pipeline.explain(text).findings for remedy in each.remedies}


STEPS = "step 1 loss 0.5\nstep 2 loss 0.4\nstep 3 loss 0.3\n"


@pytest.mark.parametrize(
    ("text", "severity", "first"),
    [
        (equal(6), Severity.FACTOR, "smaller-batch"),
        (equal(99), Severity.FACTOR, "smaller-batch"),
        (equal(100), Severity.CAUSE, "look-for-lists"),
        (STEPS + equal(6), Severity.CAUSE, "keep-numbers"),
    ],
)
def test_equal_chunks_are_a_leak_only_where_something_speaks_for_it(
    text: str, severity: Severity, first: str
) -> None:
    told = finding(text, "equal-chunks")
    assert told.severity is severity
    assert told.remedies[0].slug == first
    assert ("over and over is likely" in told.detail) == (severity is Severity.CAUSE)


HOOK = (SAMPLES / "oom_log" / "1.15-hook-keeps-outputs.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "leak"),
    [
        (HOOK, True),
        (re.sub(r"(NumAllocs: +)538", r"\g<1>389", HOOK), False),  # not five times the 78 blocks in use
        (re.sub(r"(Limit: +)314572800|(memory_limit_: )314572800", r"\g<1>\g<2>334572800", HOOK), False),
    ],
)
def test_a_session_that_served_many_times_what_it_holds_leaks(text: str, leak: bool) -> None:
    report = pipeline.explain(text)
    assert ("as if each step left one behind (a leak)" in report.verdict) is leak
    assert (report.actions[0].remedy.slug == "look-for-lists") is leak
    assert not leak or "sess.run" in report.actions[0].remedy.text


def test_a_share_is_of_all_that_is_in_use() -> None:
    log = equal(6)
    whole = log.replace(f"InUse:                     {192 * MIB}", f"InUse:                     {200 * MIB}")
    assert log != whole
    assert "100 % of what is in use" in finding(log, "equal-chunks").headline
    assert "96 % of what is in use" in finding(whole, "equal-chunks").headline


CRASH = "Fatal Python error: Segmentation fault\n\n"
TRACE = 'Thread 0x00007f22c8a1d740 (most recent call first):\n  File "train_kp.py", line 19 in main\n'


def test_a_crash_may_be_for_lack_of_memory() -> None:
    told = finding(CRASH, "another-framework")
    assert "does not do" not in told.headline and "as a rule" in told.headline
    assert {"find-the-crash", "watch-ram"} <= remedies(CRASH).keys()
    assert "find-the-crash" not in remedies(CRASH + TRACE)
    assert "last-call-alone" in remedies(CRASH + TRACE)
    other = 'Traceback (most recent call last):\n  File "train_kp.py", line 19 in main\n'
    assert "find-the-crash" in remedies(CRASH + other)


SMI = """\
|   0  NVIDIA RTX A5000    Off  | 00000000:17:00.0 Off |                  Off |
| 58%   71C    P2   190W / 230W |  22840MiB / 24564MiB |     97%      Default |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|    0   N/A  N/A      3911      C   python                          {held}MiB |
"""
HEADING = "| NVIDIA-SMI 525.105.17   Driver Version: 525.105.17   CUDA Version: 12.0     |\n"
CREATED = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 1122 MB memory:  -> device: 0,"
    " name: NVIDIA RTX A5000, pci bus id: 0000:17:00.0, compute capability: 8.6\n"
)


@pytest.mark.parametrize(("held", "named"), [("22833", True), ("  833", False)])
def test_a_process_that_holds_the_device_is_named_with_what_ends_it(held: str, named: bool) -> None:
    report = pipeline.explain(HEADING + SMI.format(held=held) + CREATED + oom("128,64,112,112"))
    first = report.actions[0].remedy
    assert (first.slug == "end-the-process" and first.code == "kill 3911") == named
    assert ("(pid 3911) held 22.30 GiB" in report.verdict) == named


@pytest.mark.parametrize(
    ("kind", "name", "held", "ended"),
    [
        ("C", "python", 3000, True),
        ("C+G", "/opt/blender", 3000, True),
        ("G", "python", 3000, False),
        ("C", "python", 1200, False),  # below a twentieth of the device
        ("C", "/usr/lib/xorg/Xorg", 3000, False),
        ("C+G", "/usr/bin/gnome-shell", 3000, False),
        ("C+G", "C:\\Windows\\explorer.exe", 3000, False),
        ("C", "/home/u/codex", 3000, True),
    ],
)
def test_a_desktop_is_not_ended(kind: str, name: str, held: int, ended: bool) -> None:
    table = SMI.format(held="17000") + (f"|    0   N/A  N/A      1933  {kind:>5}   {name:<24}  {held}MiB |\n")
    report = pipeline.explain(HEADING + table + CREATED + oom("128,64,112,112"))
    code = next(each.remedy.code for each in report.actions if each.remedy.slug == "end-the-process")
    assert code == ("kill 3911 1933" if ended else "kill 3911")


def test_no_figure_of_next_to_nothing_stands_beside_an_action() -> None:
    report = pipeline.explain(SAMPLES / "memory_profile" / "2.4-function.memory_profile.json.gz")
    savings = {action.remedy.slug: action.remedy.saves_bytes for action in report.actions}
    assert savings["smaller-temporary"] is None
    assert all(each > 0.01 * 69 * MIB for each in savings.values() if each)


def test_a_pool_with_nothing_free_has_nothing() -> None:
    full = dump(32, 200, 200) + oom("32,512,512")
    assert finding(full, "memory-shortage").because.startswith("nothing of 200.00 MiB was free")
    nearly = dump(32, 200, 198, (2,)) + oom("32,512,512")
    assert finding(nearly, "memory-shortage").because.startswith("only 2.00 MiB of 200.00 MiB was free")
