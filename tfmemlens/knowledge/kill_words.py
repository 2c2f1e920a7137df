"""The words of those who end processes from outside: a kernel, a container, a batch system, a server."""

from __future__ import annotations

from tfmemlens.patterns import regex

_FOR_MEMORY = regex(
    r"(?i:(?<!perhaps )out.of.me|oom[-_ ]?kill|memory (?:limit|quota|budget|pressure|used)|due to memory"
    r"|more memory than|available ram|low on (?:memory|resource: memory)"
    r"|over memory|exceeding memory|memlimit|badness|killed: v?p?mem)"
    r"|0xC0000017|1073741801"
)
"""`Perhaps out of memory?` is what gunicorn adds to every worker that it ended with SIGKILL."""


def names_memory(message: str) -> bool:
    """Whether it names memory as the reason: an exit status or a signal alone does not."""
    return _FOR_MEMORY.search(message) is not None


def is_a_guess(message: str) -> bool:
    """Whether a server only guesses that it was for memory."""
    return "perhaps out of memory" in message.lower()
