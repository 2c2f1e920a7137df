"""What shows what grows: memory in use, printed at each step."""

from __future__ import annotations

from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy

_RAM = "print(step, psutil.Process().memory_info().rss >> 20, 'MiB')"
_OF_JAX = "print(step, jax.local_devices()[0].memory_stats()['bytes_in_use'] >> 20, 'MiB')"
_OF_TENSORFLOW = "print(step, tf.config.experimental.get_memory_info('GPU:0')['current'] >> 20, 'MiB')"


def device_memory(case: Case) -> str | None:
    """The line that prints what a device holds, None where the framework has none."""
    if framework_of(case) == JAX:
        return _OF_JAX
    tells = framework_of(case) == TENSORFLOW and case.api.newest >= (2, 5)
    return _OF_TENSORFLOW if tells else None


def find_what_grows(case: Case, of_host: bool) -> Remedy:
    """Print what is in use until it no longer grows: host RAM, or a device's memory."""
    code = _RAM if of_host else device_memory(case)
    what = "the RAM of the process" if of_host else "the memory in use"
    return Remedy(
        f"print {what} at each step, and leave out parts until it stays flat: checkpoints, callbacks, lists"
        " of results, models made in a loop",
        code,
        slug="find-what-grows",
    )
