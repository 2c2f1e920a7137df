"""Find the largest batch that runs under a limit, by real steps of a Keras model on the CPU.

    try_batches.py MODEL --limit-mib N [options]

Run by the Python that has TensorFlow 2: a plain file, which imports its neighbour alone. Each batch is tried
in a process of its own, forked when TensorFlow was read; TensorFlow's BFC allocator has the limit that is
asked about. Inputs are random numbers. It prints a line of JSON for each trial (`TRIED`) and one at the end
(`MEASURED`).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
import select
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from typing import Any

STEPS = 5
MOST_BATCH = 1 << 24
TOLERANCE = 50
"""A batch that ran and one that did not are near enough when they are such a part apart."""
TIMES = 3
"""In so many processes the largest batch has to run."""
MOST_TRIALS = 32
"""In so many processes at most steps are run."""
_SHARES = (9, 7, 7, 5, 3, 1)
"""Tenths of a batch that failed, by how many never ran."""
FIRST_VERSION = (2, 6)
"""The first TensorFlow with `reset_memory_stats`."""
OUT_OF_MEMORY = re.compile(rb"ran out of memory trying to allocate [^\n]*\(rounded to")
"""What BFC says of a request that fails an op; of one that may fail it says `The caller indicates that this
is not a failure`.
"""
LONGEST_LINE = 1000
BY_LABELS = ("accuracy", "acc", "crossentropy", "ce")
"""Metrics of which Keras takes the kind that fits the labels."""


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="an architecture JSON, a .keras or .h5 file, or module:function")
    parser.add_argument("--limit-mib", type=int, required=True)
    parser.add_argument("--start", type=int, default=32, help="the batch to try first")
    parser.add_argument("--low", type=int, default=0, help="the largest batch is likely no smaller")
    parser.add_argument("--high", type=int, default=0, help="and likely no larger")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--samples", type=int, help="in the arrays given to fit(x, y); else train_on_batch")
    parser.add_argument("--shape", action="append", default=[], help="sizes of an input, as 224x224x3")
    parser.add_argument("--sequence", type=int, help="the length of every input that leaves it open")
    parser.add_argument("--optimizer", help="default: the one that the model was compiled with, else adam")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--onednn", type=int, choices=(0, 1))
    parser.add_argument("--jit", type=int, choices=(0, 1))
    return parser.parse_args()


def main() -> None:
    """Reads TensorFlow, searches, and says how it ended."""
    args = arguments()
    os.environ.update(
        TF_CPU_ALLOCATOR_USE_BFC="1",
        TF_CPU_BFC_MEM_LIMIT_IN_MB=str(args.limit_mib),
        TF_CPP_MIN_LOG_LEVEL="1",  # what BFC says is read
    )
    if args.onednn is not None:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = str(args.onednn)
    until = time.monotonic() + args.seconds
    tf = importlib.import_module("tensorflow")
    version = tuple(int(part) for part in tf.__version__.split(".")[:2])
    if version < FIRST_VERSION or not hasattr(os, "fork"):
        raise SystemExit(
            f"trying batches needs TensorFlow 2.6 or newer on Linux or macOS, and this is {tf.__version__} on"
            f" {sys.platform}"
        )
    importlib.import_module("trace_training_graph")
    dir(tf.keras.layers)  # read lazily, else anew in each process
    ended = search(
        lambda batch: told(apart(tf, args, batch, until)),
        args.start,
        args.limit_mib << 20,
        args.samples or MOST_BATCH,
        (args.low, args.high),
    )
    print(
        "MEASURED " + json.dumps({"tensorflow": tf.__version__, "steps": STEPS, "ended": ended}), flush=True
    )


def told(trial: dict[str, Any]) -> dict[str, Any]:
    """Prints a trial, and hands it on."""
    print("TRIED " + json.dumps(trial), flush=True)
    return trial


def search(
    attempt: Callable[[int], dict[str, Any]],
    start: int,
    limit: int,
    most: int,
    likely: tuple[int, int] = (0, 0),
) -> str:
    """Try batches until the largest that runs is known to a fiftieth, and ran in three processes; why it
    ended. The largest is taken to be in `likely` first.

    `attempt(batch)` returns `ran` (None where that stays open, with `why`) and the allocator's `peak` in
    bytes.
    """
    ran: dict[int, int] = {}
    often: dict[int, int] = {}
    failed: set[int] = set()
    batch = max(min(start, most), 1)
    for _ in range(MOST_TRIALS):
        trial = attempt(batch)
        if trial["ran"] is None:
            return "found" if trial["why"] == "time" and is_found(ran, failed, often, most) else trial["why"]
        if trial["ran"]:
            ran[batch], often[batch] = max(trial["peak"], ran.get(batch, 0)), often.get(batch, 0) + 1
        else:
            failed.add(batch)
            ran.pop(batch, None)
        following = next_batch(ran, failed, often, limit, most, likely)
        if following is None:
            return "found"
        batch = following
    return "found" if is_found(ran, failed, often, most) else "trials"


def next_batch(
    ran: dict[int, int],
    failed: set[int],
    often: dict[int, int],
    limit: int,
    most: int,
    likely: tuple[int, int] = (0, 0),
) -> int | None:
    """The batch to try next: upwards where the peaks reach the limit, until one fails; downwards the lower
    end of what is likely; then between what ran and what did not; the largest again, since ops may run in
    another order; then some that are larger than one that failed; None when it is found.
    """
    low, high = bounds(ran, failed, often)
    if are_near(low, high, most):
        return low if low and often[low] < TIMES else beyond(ran, failed, low, high, most)
    if high is None:
        return min(reach(ran, limit), above(low, likely[1]), most)
    if not low:
        return below(high, likely[0], len(failed - often.keys()))
    return low + max(2 * (high - low) // 5, 1)  # below the middle: what fails takes ten seconds more


def bounds(ran: dict[int, int], failed: set[int], often: dict[int, int]) -> tuple[int, int | None]:
    """The largest batch that ran, below all that failed or often enough; 0 for none. The smallest larger one
    that failed.
    """
    first = min(failed, default=None)
    low = max((batch for batch in ran if first is None or batch < first or often[batch] >= TIMES), default=0)
    return low, min((batch for batch in failed if batch > low), default=None)


def are_near(low: int, high: int | None, most: int) -> bool:
    """Whether nothing is left to try between them."""
    return low >= most if high is None else high - low <= max(low // TOLERANCE, 1)


def is_found(ran: dict[int, int], failed: set[int], often: dict[int, int], most: int) -> bool:
    """Whether the largest is known and ran often enough: what would be tried yet is larger than one that
    failed.
    """
    low, high = bounds(ran, failed, often)
    return low > 0 and often[low] >= TIMES and are_near(low, high, most)


def beyond(ran: dict[int, int], failed: set[int], low: int, high: int | None, most: int) -> int | None:
    """A larger batch than one that failed, since a pool may serve it all the same: its tensors fit the gaps,
    those of the smaller one leave some. Two round ones, no more than a fifth above the largest that ran; what
    ran of them, again.
    """
    if high is None or not low:
        return None
    step = 1 << max((low // 12).bit_length() - 1, 0)
    first = (high // step + 1) * step
    again = [batch for batch in ran if batch > high]
    new = [batch for batch in (first, first + step) if batch <= min(most, 6 * low // 5)]
    return next((batch for batch in again + new if batch not in failed), None)


def above(ran: int, likely: int) -> int:
    """The most to try next when none failed so far: the largest that is likely, then a quarter more each
    time, since what fails takes longest; twice as many where nothing is predicted.
    """
    if likely <= ran:
        return ran + max(ran // 4, 1) if likely else 2 * ran
    return min(likely, 2 * ran)


def below(failed: int, likely: int, times: int) -> int:
    """The batch to try when no smaller one is known to run: the least that is likely, then ever smaller
    shares, by how many never ran.
    """
    if 0 < likely < failed and times == 1:
        return likely
    return max(failed * _SHARES[min(times, len(_SHARES) - 1)] // 10, 1)


def reach(ran: dict[int, int], limit: int) -> int:
    """The batch at which a line through the two largest peaks meets the limit, at least one more than ran."""
    before, last = ([0, 0, *sorted(ran)])[-2:]
    slope = max((ran[last] - ran.get(before, 0)) / max(last - before, 1), 1.0)
    return last + max(int((limit - ran[last]) / slope), 1)


def apart(tf: Any, args: argparse.Namespace, batch: int, until: float) -> dict[str, Any]:
    """A trial in a process of its own. It is ended when the time is over, and when its allocator gave up:
    TensorFlow waits ten seconds for each tensor that finds no room, and several may follow.
    """
    reading, writing = os.pipe()
    hearing, saying = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(saying, 1)
        os.dup2(saying, 2)
        try:
            os.write(writing, json.dumps(trial_of(tf, args, batch)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.close(saying)
    answer, refused = heard(reading, hearing, until)
    if not answer:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    os.close(reading)
    os.close(hearing)
    if answer:
        return {"batch": batch, **json.loads(answer.decode())}
    if refused:
        return {"batch": batch, "ran": False}
    why = f"its process {how_it_ended(status)}"
    return {"batch": batch, "ran": None, "why": "time" if time.monotonic() >= until else why}


def how_it_ended(status: int) -> str:
    """How a process ended that said nothing, by what `waitpid` tells of it."""
    if not os.WIFSIGNALED(status):
        return f"ended with status {os.WEXITSTATUS(status)} and without an answer"
    number = os.WTERMSIG(status)
    killed = " (the machine's own memory ran out, most likely)" if number == signal.SIGKILL else ""
    return f"was ended by {signal.Signals(number).name}{killed}"


def heard(reading: int, hearing: int, until: float) -> tuple[bytes, bool]:
    """What a trial answers, and whether its allocator said that it ran out of memory; neither where the time
    is over or the process ended.
    """
    words = b""
    while True:
        ready = select.select([reading, hearing], [], [], max(until - time.monotonic(), 0))[0]
        if reading in ready:
            return os.read(reading, 1 << 16), False
        if not ready:
            return b"", False
        part = os.read(hearing, 1 << 16)
        words = words[-LONGEST_LINE:] + part
        if OUT_OF_MEMORY.search(words):
            return b"", True
        if not part:  # nobody can write any more
            return os.read(reading, 1 << 16), False


def trial_of(tf: Any, args: argparse.Namespace, batch: int) -> dict[str, Any]:
    """Whether the first steps of a batch run, with the allocator's peak in bytes."""
    try:
        train(tf, args, batch)
    except Exception as problem:  # whatever TensorFlow, Keras or the user's own code raises
        if is_for_memory(tf, problem):
            return {"ran": False}
        return {"ran": None, "why": f"{type(problem).__name__}: {problem}".replace("\n", " ")[:500]}
    except SystemExit as problem:
        return {"ran": None, "why": str(problem)}
    peak = tf.config.experimental.get_memory_info("CPU:0")["peak"]
    if not 0 < peak <= args.limit_mib << 20:
        return {"ran": None, "why": "this TensorFlow does not keep its CPU allocator to a limit"}
    return {"ran": True, "peak": peak}


def is_for_memory(tf: Any, problem: Exception) -> bool:
    """An allocator's refusal, or the copy of an array that found no memory."""
    if isinstance(problem, tf.errors.ResourceExhaustedError):
        return True
    internal = isinstance(problem, tf.errors.InternalError)
    return internal and bool(re.search("memory|Dst tensor", str(problem)))


class StepsRun(Exception):
    """So many steps have run."""


def train(tf: Any, args: argparse.Namespace, batch: int) -> None:
    """Builds the model, compiles it as it was or as is asked for, and runs the first steps."""
    if args.threads:
        tf.config.threading.set_inter_op_parallelism_threads(args.threads)
        tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    model = compiled(tf, args)
    if args.jit is not None:
        model.jit_compile = bool(args.jit)
    x, y = arrays_of(tf, model, args, args.samples or batch)
    if not args.samples:
        for _ in range(STEPS):
            model.train_on_batch(x, y)
        return
    left = iter(range(1, STEPS))

    def on_train_batch_end(*_: Any, **__: Any) -> None:
        if next(left, None) is None:
            raise StepsRun

    ending = type("Ending", (tf.keras.callbacks.Callback,), {"on_train_batch_end": on_train_batch_end})
    with contextlib.suppress(StepsRun):
        model.fit(x, y, batch_size=batch, epochs=STEPS, verbose=0, callbacks=[ending()])


def compiled(tf: Any, args: argparse.Namespace) -> Any:
    """The model, compiled as its file or function says, or with the optimizer asked for; without a word of
    it with Adam and a loss for its outputs. As in a program that compiles its model, the optimizer makes its
    slots in the first step; Keras's own loading makes them before, at other places of the pool.
    """
    building = importlib.import_module("trace_training_graph")
    model = building.load(tf, args.model)
    if getattr(model, "optimizer", None) and not args.optimizer:
        return model
    told = compile_config(args.model)
    optimizer = None if args.optimizer else deserialized(tf.keras.optimizers, told.get("optimizer"))
    loss = getattr(model, "loss", None) or deserialized(tf.keras.losses, told.get("loss"))
    model.compile(
        optimizer or building.make_optimizer(tf, args.optimizer or "adam"),
        loss or losses_of(model),
        metrics=metrics_of(tf, told.get("metrics")),
        **{name: told[name] for name in ("loss_weights", "jit_compile") if told.get(name)},
    )
    return model


def deserialized(kind: Any, told: Any) -> Any:
    """What a file tells of optimizers or losses, one or one for each output, as objects of this Keras."""
    if isinstance(told, dict) and "class_name" in told:
        return kind.deserialize(told)
    if isinstance(told, dict):
        return {name: deserialized(kind, each) for name, each in told.items()}
    return [deserialized(kind, each) for each in told] if isinstance(told, list) else told


def metrics_of(tf: Any, told: Any) -> Any:
    """What a file tells of metrics, as `compile` takes them; none where this Keras does not know one of them.
    An `accuracy` goes by its name: Keras 2 writes into an .h5 file which of its accuracies that is before it
    has seen a label, and takes classes for one-hot.
    """
    try:
        return metrics_made(tf, told)
    except (TypeError, ValueError):  # of the user's own making
        return None


def metrics_made(tf: Any, told: Any) -> Any:
    """The same. Raises TypeError or ValueError for what this Keras does not know."""
    if isinstance(told, dict) and "class_name" in told:
        name = (told.get("config") or {}).get("name")
        return name if name in BY_LABELS else deserialized(tf.keras.metrics, told)
    if isinstance(told, dict):
        return {name: metrics_made(tf, each) for name, each in told.items()}
    return [metrics_made(tf, each) for each in told] if isinstance(told, list) else told


def compile_config(path: str) -> dict[str, Any]:
    """What a file says of how its model was compiled; nothing of files that do not say it."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            told = json.loads(archive.read("config.json")).get("compile_config")
    elif path.endswith((".h5", ".hdf5")) and os.path.exists(path):
        with importlib.import_module("h5py").File(path, "r") as file:
            text = file.attrs.get("training_config", "{}")
            told = json.loads(text.decode() if isinstance(text, bytes) else text)
            told = {**told, "optimizer": told.get("optimizer_config")}
    else:
        told = {}
    return dict(told or {})


def losses_of(model: Any) -> Any:
    """Of a model that was not compiled: class numbers after a softmax, else a mean of squares."""
    layers = {getattr(each, "name", None): each for each in getattr(model, "layers", ())}
    ends = [layers[name] for name in getattr(model, "output_names", ()) if name in layers]
    words = [getattr(getattr(each, "activation", each), "__name__", type(each).__name__) for each in ends]
    classes, squares = "sparse_categorical_crossentropy", "mse"
    kinds = [classes if each.lower() == "softmax" else squares for each in words]
    return kinds if len(kinds) > 1 else (kinds or [squares])[0]


def arrays_of(tf: Any, model: Any, args: argparse.Namespace, count: int) -> tuple[Any, Any]:
    """Random inputs and labels for so many samples, as `fit` takes them."""
    numpy = importlib.import_module("numpy")
    building = importlib.import_module("trace_training_graph")
    shapes = args.shape or open_lengths(tf, model, args.sequence)
    inputs, guesses = building.specifications(tf, model, argparse.Namespace(shape=shapes, batch=count))
    draw, highs = numpy.random.RandomState(3), rows_of_tables(tf, model)
    made = [
        array_of(draw, each, highs.get(place, highs[None]))
        for place, each in enumerate(tf.nest.flatten(inputs))
    ]
    labels = [array_of(draw, each, 2) for each in guesses[0]]
    return tf.nest.pack_sequence_as(inputs, made), labels[0] if len(labels) == 1 else labels


def open_lengths(tf: Any, model: Any, sequence: int | None) -> list[str]:
    """Sizes of the inputs with the length filled in; none where nothing is asked for."""
    if sequence is None or not getattr(model, "inputs", None):
        return [str(sequence)] if sequence else []
    shapes = [tuple(each.shape)[1:] for each in tf.nest.flatten(model.inputs)]
    return ["x".join(str(sequence if size is None else size) for size in shape) for shape in shapes]


def array_of(draw: Any, spec: Any, high: int) -> Any:
    """Numbers between 0 and 1, or whole ones below `high`."""
    shape, kind = tuple(spec.shape), getattr(spec.dtype, "name", str(spec.dtype))
    if "int" in kind:
        return draw.randint(0, high, shape).astype(kind)
    if "float" in kind:
        return draw.rand(*shape).astype("float32" if kind == "bfloat16" else kind)
    if kind == "bool":
        return draw.rand(*shape) < 0.5
    raise SystemExit(f"no random values can be made for an input of type {kind}")


def rows_of_tables(tf: Any, model: Any) -> dict[int | None, int]:
    """Below which number whole inputs stay, by the input's place: the rows of the table that reads it; at
    None those of the smallest table.
    """
    found: dict[int | None, int] = {}
    inputs = tf.nest.flatten(getattr(model, "inputs", None) or [])
    for layer in model._flatten_layers() if hasattr(model, "_flatten_layers") else model.layers:
        rows = getattr(layer, "input_dim", None) or getattr(layer, "num_tokens", None)
        if isinstance(rows, int):
            read = [place for place, each in enumerate(inputs) if reads(layer, each)]
            for place in (None, *read):
                found[place] = min(found.get(place, rows), rows)
    return found or {None: 2}


def reads(layer: Any, tensor: Any) -> bool:
    """Whether a layer is called on this very input."""
    try:
        given = layer.input
    except Exception:  # never called, or called often: Keras raises as it likes
        return False
    return given is tensor or getattr(given, "name", 0) == getattr(tensor, "name", 1)


if __name__ == "__main__":
    main()
