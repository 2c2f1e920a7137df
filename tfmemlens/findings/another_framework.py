"""Memory ran out in another framework, or what ran out or crashed was no memory of TensorFlow's.

What it means: PyTorch, CuPy and others have allocators of their own, whose messages hold other figures. A
segmentation fault is a crash: TensorFlow reports a lack of memory as an error. `Resource exhausted` is also
what TensorFlow says of a full disk or a message that is too large.
When it fires: the log has such a line, and no failure of TensorFlow, JAX or XLA.
What to do: look with that framework's own tools.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Evidence, Finding, Remedy, Severity

_TOOLS = {
    "PyTorch": "print(torch.cuda.memory_summary())   # torch.cuda.memory._snapshot() names who holds it"
}


def check(case: Case) -> Iterator[Finding]:
    if case.moments:
        yield from _crashed_afterwards(case)
        return
    for name, line in case.capture.surroundings.foreign:
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                f"no failure of TensorFlow, JAX or XLA: this out-of-memory message is {name}'s, whose"
                " allocator tfmemlens does not read"
            ),
            evidence=(Evidence("the message", line),),
            remedies=(Remedy(f"ask {name} itself", _TOOLS[name]),) if name in _TOOLS else (),
        )
    for what, line in case.capture.surroundings.elsewhere:
        yield Finding(
            severity=Severity.NOTE,
            headline=f"no lack of memory: {what}",
            evidence=(Evidence("the message", line),),
        )
    if case.capture.surroundings.crash:
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                "no out-of-memory message: the process crashed, which TensorFlow does not do for lack of"
                " memory"
            ),
            evidence=(Evidence("the crash", case.capture.surroundings.crash),),
            remedies=(
                Remedy(
                    "find where it crashed; a library that does not match TensorFlow is the usual suspect",
                    "python -X faulthandler train.py",
                ),
            ),
        )


def _crashed_afterwards(case: Case) -> Iterator[Finding]:
    """A process that could not allocate often dies while it tidies up."""
    crash, request = case.capture.surroundings.crash, case.moments[0].request
    failed_at = request.failed.line if request else None
    if crash and failed_at and failed_at.source == crash.source and failed_at.number < crash.number:
        yield Finding(
            severity=Severity.NOTE,
            headline="after the failure the process crashed as well: a consequence, no second cause",
            evidence=(Evidence("the crash", crash),),
        )
