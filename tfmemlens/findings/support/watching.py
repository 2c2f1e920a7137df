"""What shows what grows: memory in use, printed at each step."""

from __future__ import annotations

from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of, situation, without_gpu
from tfmemlens.knowledge.device_names import CPU, kind_of_device
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy

_RAM = "print(step, psutil.Process().memory_info().rss >> 20, 'MiB')"
_OF_JAX = "print(step, jax.local_devices()[0].memory_stats()['bytes_in_use'] >> 20, 'MiB')"
_OF_BOTH = (
    "print(step, psutil.Process().memory_info().rss >> 20, 'MiB', jax.local_devices()[0].memory_stats())"
)
_OF_TENSORFLOW = "print(step, tf.config.experimental.get_memory_info('GPU:0')['current'] >> 20, 'MiB')"


def device_memory(case: Case, moment: Moment | None = None) -> str | None:
    """The line that prints what a device holds, None where the framework has none. The allocator of a CPU
    counts nothing unless it is the one of GPUs, whose name its messages then have.
    """
    if framework_of(case) == JAX:
        return _OF_JAX
    failed = moment.request.failed if moment and moment.request else None
    if framework_of(case) != TENSORFLOW or case.api.newest < (2, 5):
        return None
    if failed and kind_of_device(failed.device or "", "") == CPU:
        return _OF_TENSORFLOW.replace("GPU:0", "CPU:0") if "bfc" in (failed.allocator or "") else _RAM
    return _OF_TENSORFLOW


def find_what_grows(case: Case, of_host: bool) -> Remedy:
    """Print what is in use until it no longer grows: host RAM, or a device's memory. The RAM of the process,
    too, where nothing says that a device's memory grows; no code of Python's for a program in another
    language.
    """
    told = case.capture.surroundings
    of_device = bool(case.moments or told.shows("device memory in words")) and not of_host
    code = device_memory(case) if of_device else _RAM
    what = "the memory in use" if of_device else "the RAM of the process"
    if framework_of(case) == JAX and not (of_host or of_device or without_gpu(case)):
        code, what = _OF_BOTH, "the RAM of the process, and what a GPU's allocator counts,"
    trains = (told.shows("training") is not None or bool(case.moments)) and not situation(case).program
    parts = ": checkpoints, callbacks, lists of results, models made in a loop" if trains else ""
    return Remedy(
        f"print {what} at each step or call, and leave out parts until it stays flat{parts}",
        None if situation(case).program else code,
        slug="find-what-grows",
    )
