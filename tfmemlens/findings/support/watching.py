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


def device_memory(case: Case, moment: Moment | None = None) -> str | None:
    """The line that prints what a device holds, None where the framework has none. The allocator of a CPU
    counts nothing unless it is the one of GPUs, whose name its messages then have.
    """
    if framework_of(case) == JAX:
        return _OF_JAX
    failed = moment.request.failed if moment and moment.request else None
    if framework_of(case) != TENSORFLOW or case.api.newest < (2, 4):
        return None
    device = f"print(step, {_counted(case)} >> 20, 'MiB')"
    if failed and kind_of_device(failed.device or "", "") == CPU:
        return device.replace("GPU:0", "CPU:0") if "bfc" in (failed.allocator or "") else _RAM
    return device


def _of_either(case: Case) -> str | None:
    """The line that prints RAM and a device's memory, of JAX, and of TensorFlow where a GPU is named."""
    if framework_of(case) == JAX:
        return _OF_BOTH
    told = case.capture.surroundings
    named = told.shows("a GPU named") is not None and told.shows("host RAM named") is None
    counted = framework_of(case) == TENSORFLOW and case.api.newest >= (2, 4)
    return f"{_RAM[:-1]}, {_counted(case)} >> 20)" if named and counted else None


def _counted(case: Case) -> str:
    """What TensorFlow counts of a GPU; 2.4 has only the sum."""
    ends = "usage('GPU:0')" if case.api.newest < (2, 5) else "info('GPU:0')['current']"
    return f"tf.config.experimental.get_memory_{ends}"


_NATIVE = ("Java", "C++", "C#", "Go")


def find_what_grows(case: Case, of_host: bool) -> Remedy:
    """Print what is in use until it no longer grows: host RAM, or a device's memory. The RAM of the process,
    too, where nothing says that a device's memory grows; no code of Python's for a program in another
    language.
    """
    told = case.capture.surroundings
    of_device = bool(case.moments or told.shows("device memory in words")) and not of_host
    code = device_memory(case) if of_device else _RAM
    what = "the memory in use" if of_device else "the RAM of the process"
    if not (of_host or of_device or without_gpu(case)) and (both := _of_either(case)):
        code, what = both, "the RAM of the process, and what a GPU's allocator counts,"
    trains = (told.shows("training") is not None or bool(case.moments)) and not situation(case).program
    parts = ": checkpoints, callbacks, lists of results, models made in a loop" if trains else ""
    if situation(case).program in _NATIVE:
        parts = (
            ": load the model and make its session once for all calls, and close each session and tensor that"
            " is not used any more: they lie in native memory, which no profile of the language's heap shows"
        )
    return Remedy(
        f"print {what} at each step or call, and leave out parts until it stays flat{parts}",
        None if situation(case).program else code,
        slug="find-what-grows",
    )
