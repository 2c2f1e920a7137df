"""A call of cuDNN or cuBLAS failed, and no line says that memory ran out.

What it means: `CUDNN_STATUS_EXECUTION_FAILED` and its like are what a library says when a kernel did not run
through. A lack of memory is one cause among several: sizes that a kernel cannot take, a version that does not
match, a fault of the GPU. The message of a recurrent layer states the sizes of the call.
When it fires: such a line stands in the text, and no failure of memory.
What to do: watch memory, where a batch is known with half of it, and compute the same without the library:
that tells memory, sizes and library apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_name, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_CONFIG = regex(
    r"\[rnn_mode, rnn_input_mode, rnn_direction_mode\]: (?P<mode>\d), \d, \d ?,"
    r" \[num_layers, input_size, num_units, dir_count, max_seq_length, batch_size, cell_num_units\]:"
    r" \[(?P<layers>\d{1,9}), (?P<features>\d{1,9}), (?P<units>\d{1,9}), (?P<directions>\d{1,9}),"
    r" (?P<steps>\d{1,9}), (?P<batch>\d{1,9}), \d{1,9}\]"
)
_STATUS = regex(r"CU(?:DNN|BLAS)_STATUS_[A-Z_]{4,40}")
_KINDS = ("RNN", "RNN", "LSTM", "GRU")
"""By cuDNN's number of the mode: with ReLU, with tanh, LSTM, GRU."""
_FLOAT_BYTES = 4


class _Call(NamedTuple):
    """The sizes of one call of cuDNN's recurrent layers."""

    kind: str
    steps: int
    batch: int
    units: int
    largest_bytes: int
    """The larger of its input and its output."""


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    failed, config = told.shows("a library's call failed"), told.shows("a recurrent call")
    line = config or failed
    if line is None or case.moments or told.foreign or told.elsewhere or not _is_known(case, line):
        return
    call = _call(config) if config else None
    status = _STATUS.search(failed.text) if failed else None
    how = f" with `{status[0]}`" if status else ""
    suspect = _side_by_side(case) or (None if call else _suspect(case))
    yield Finding(
        severity=Severity.NOTE,
        headline=f"no out-of-memory message: {_what(call, line)} failed{how};"
        f" {suspect.why if suspect else 'memory is one possible cause'}{_how_likely(call)}",
        evidence=tuple(
            Evidence("the message", each) for each in dict.fromkeys(filter(None, (config, failed)))
        ),
        remedies=(*((suspect.remedy,) if suspect else ()), *_remedies(case, call)),
    )


def _is_known(case: Case, line: Line) -> bool:
    """Whether it is TensorFlow's, or a call of a program that JAX runs."""
    framework = framework_of(case)
    return framework == TENSORFLOW or (framework == JAX and "custom call" in line.text)


class _Suspect(NamedTuple):
    """What is likelier than memory, by another line of the text."""

    why: str
    remedy: Remedy


def _side_by_side(case: Case) -> _Suspect | None:
    """Workers of a pool that compute on the same GPU at once."""
    told = case.capture.surroundings
    worker, pool = told.shows("in a worker process"), told.shows("sharing the device")
    if worker is None or pool is None:
        return None
    return _Suspect(
        f"it failed in a worker process ({worker.place}), beside others of its pool ({pool.place}) on the"
        " same GPU, which each take nearly all of it: memory is a likely cause",
        Remedy(
            "let one process at a time use the GPU: run these one after another, each in a process of its"
            " own, and start that before TensorFlow does (spawn, no fork)",
            "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=1) as pool: ...",
            slug="fewer-processes",
        ),
    )


def _suspect(case: Case) -> _Suspect | None:
    """A CUDA that does not know the GPU, or a program that another run compiled."""
    told = case.capture.surroundings
    if old := told.shows("CUDA older than the GPU"):
        match = _CAPABILITY.search(old.text)
        capability = f" (compute capability {match[1]})" if match else ""
        return _Suspect(
            f"most likely the CUDA that is installed is older than this GPU{capability} ({old.place}); memory"
            " is another possible cause",
            Remedy(
                f"take a CUDA that knows this GPU{capability}, and a release of {framework_name(case)} that"
                " was built for it; then try this one call alone",
                slug="matching-driver",
            ),
        )
    if cached := told.shows("a cached program"):
        return _Suspect(
            f"this program came from a cache ({cached.place}), with plans that may be another GPU's or"
            " cuDNN's; memory is another possible cause",
            Remedy(
                "empty the cache of compiled programs, or run once without it",
                "JAX_ENABLE_COMPILATION_CACHE=false python train.py",
                slug="without-cache",
            ),
        )
    small = [each for each in told.devices if each.limit and each.limit.bytes < _LITTLE]
    if small and small[0].limit:
        got = human(small[0].limit.bytes)
        where = f" ({small[0].line.place})" if small[0].line else ""
        return _Suspect(
            f"TensorFlow got only {got} of this GPU{where}, beside which the library needs memory of its"
            " own: a lack of it is a likely cause",
            Remedy(
                f"make it fit {got}: a smaller batch, shorter sequences or a smaller net; end what else uses"
                " the GPU, and let TensorFlow take memory as needed",
                code_snippets.growth(case.api),
                slug="in-pieces",
            ),
        )
    return None


_LITTLE = 2 * GIB
"""What a net with its libraries hardly fits into."""
_CAPABILITY = regex(r"does not support CC (\d{1,2}\.\d)")


def _call(line: Line) -> _Call | None:
    match = _CONFIG.search(line.text)
    if match is None:
        return None
    mode, features, units, directions, steps, batch = (
        int(match[name]) for name in ("mode", "features", "units", "directions", "steps", "batch")
    )
    largest = _FLOAT_BYTES * steps * batch * max(features, units * directions)
    return _Call(_KINDS[mode] if mode < len(_KINDS) else "RNN", steps, batch, units, largest)


def _what(call: _Call | None, line: Line) -> str:
    if "cuFFT" in line.text:
        return "a plan of cuFFT (a Fourier transform)"
    if call is None:
        return "a call of cuDNN or cuBLAS"
    return (
        f"cuDNN's {call.kind} on {call.batch:,} sequences of {call.steps:,} steps with {call.units:,} units"
    )


def _how_likely(call: _Call | None) -> str:
    """What the sizes of the call say of that."""
    if call is None:
        return ""
    size = f"its input and output take at most {human(call.largest_bytes)} each"
    return f" ({size})" if call.largest_bytes >= GIB // 4 else f", and here an unlikely one ({size})"


_WATCH = "nvidia-smi --query-gpu=memory.used,memory.total --format=csv -l 1"


def _remedies(case: Case, call: _Call | None) -> Iterator[Remedy]:
    setting = case.capture.surroundings.setting("batch_size")
    stated = int(setting[0]) if setting else 1
    batch = call.batch if call else stated
    if batch > 1:
        yield Remedy(
            f"halve the batch ({batch:,} -> {batch // 2:,}), and watch the GPU's memory: where it fails"
            " although much is free, a smaller batch only evades sizes that this kernel cannot take",
            _WATCH,
            slug="smaller-batch",
        )
    else:
        yield Remedy(
            "watch the GPU's memory up to the failure: where much is free then, it is not memory",
            _WATCH,
            slug="see-device-users",
        )
    if call:
        yield Remedy(
            f"compute the layer without cuDNN's kernel: slower, and it tells whether the {call.kind} call is"
            " to blame",
            f"tf.keras.layers.RNN(tf.keras.layers.{call.kind}Cell({call.units}), return_sequences=True)"
            if call.kind != "RNN" and case.api.newest >= (2, 0)
            else None,
            slug="without-cudnn",
        )
    if call is None and _suspect(case):
        return
    yield Remedy(
        "let driver, CUDA and cuDNN be those that your framework was built with, or try a newer release",
        slug="matching-driver",
    )
