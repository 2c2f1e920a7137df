"""What `import tfmemlens` offers to Python code and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from typing import Any, TypeAlias

from tfmemlens import pipeline
from tfmemlens.api.answers import Comparison, Explanation, Sizing
from tfmemlens.api.trace import Trace
from tfmemlens.errors import UsageError
from tfmemlens.model.capture import Hints
from tfmemlens.model.settings import MODES, StepSettings
from tfmemlens.model.tensor import parse_shape
from tfmemlens.units import as_bytes

Path: TypeAlias = "str | PathLike[str]"
Source: TypeAlias = "Path | Iterable[Path]"
Shape: TypeAlias = "str | Sequence[int]"
Size: TypeAlias = "int | str"


def explain(
    source: Source,
    *,
    trace: Source = (),
    input_shape: Shape | None = None,
    batch: int | None = None,
    limit: Size | None = None,
) -> Explanation:
    """Explain why memory ran out, from a path (also a glob or a directory), several paths, or the pasted text
    itself.

    `trace` is a traced step of the same model, whose tensors stand beside the failure; `input_shape` the
    shape of one input batch, (2, 720, 1280, 9) or "2x720x1280x9"; `limit` the device's memory, in bytes or
    as "11GiB".

    Raises UnreadableInput (a TfmemlensError) when there is nothing to read, and where there is no such file
    that is also a FileNotFoundError; ValueError for a malformed shape or size.

    >>> report = tfmemlens.explain("sample_traces/oom_log/1.15-unet-report.txt")
    >>> first = report.actions[0].remedy
    >>> first.change, first.saves_bytes, first.certainty.value
    ('smaller-batch', 193457920, 'estimate')
    >>> report.to_frame()[["node", "total_bytes", "kind"]].head(1)
                               node  total_bytes        kind
    0  shared_model/unet_01/BiasAdd     35650304  activation
    >>> report.save("report.html")
    """
    places = [source] if isinstance(source, str | PathLike) else list(source)
    places += [trace] if isinstance(trace, str | PathLike) else list(trace)
    return Explanation.of(pipeline.explain(places, _hints(input_shape, batch, limit)))


def read(
    source: Source | Any,
    *,
    device: str | None = None,
    tag: str | None = None,
    step: int | None = None,
    graph: Path | None = None,
    model: Path | None = None,
) -> Trace:
    """Read a traced step: a RunMetadata, StepStats, XSpace or tfevents file, a folder with some, or
    TensorFlow's own RunMetadata object. XLA's `…-buffer-assignment.txt` is a step in the order of the
    program's instructions, where it states when values live.

    `device` keeps the devices whose name contains it; `tag` or `step` choose among several steps of an event
    file or a log directory, the newest without them; `graph` is a file with the model's graph (GraphDef,
    MetaGraphDef, SavedModel, .pbtxt) for a trace that has none; `model` is the model's own file, whose names
    of layers and variables the rows then have.

    Raises UnreadableInput (a TfmemlensError) when there is nothing to read, and where there is no such file
    that is also a FileNotFoundError; UsageError where no step is the one that was asked for.

    >>> trace = tfmemlens.read("sample_traces/run_metadata/1.15-lenet.pb")
    >>> trace.peak_bytes
    103974656
    >>> int(trace.by("kind").loc["optimizer-slot", "bytes"])
    38032896
    """
    from tfmemlens.use_cases import traced_step

    if hasattr(source, "step_stats") and hasattr(source, "partition_graphs"):
        return Trace(pipeline.with_names(traced_step.of_run_metadata(source, graph), model))
    hints = Hints(tag=tag, step=step, graph=None if graph is None else fspath(graph))
    captured = traced_step.in_program_order(pipeline.timelines(source, hints, device))
    return Trace(pipeline.with_names(captured, model))


def profile(
    source: Source | Any,
    *,
    at: float | str | None = None,
    device: str | None = None,
    tag: str | None = None,
    step: int | None = None,
    graph: Path | None = None,
    model: Path | None = None,
    limit: Size | None = None,
) -> Explanation:
    """Show what holds memory at the peak of a traced step, or `at` another moment: microseconds after the
    first allocation, a text such as "12.5ms", or the name of a node.

    `limit` is the device's memory, in bytes or as "11GiB"; the rest is as for `read`. Raises as `read` does,
    and ValueError for a malformed size.

    >>> report = tfmemlens.profile("sample_traces/run_metadata/1.15-lenet.pb", at="conv1/Relu")
    >>> int(report.to_frame()["total_bytes"].sum())
    68269568
    """
    return read(source, device=device, tag=tag, step=step, graph=graph, model=model).report(at, limit)


def estimate(
    model: Path | Any,
    *,
    batch: int = 32,
    optimizer: str | None = None,
    dtype: str | None = None,
    mode: str = "training",
    device: str = "cpu",
    input_shape: Shape | None = None,
    sequence: int | None = None,
    samples: int | None = None,
    limit: Size | None = None,
    threads: int | None = None,
    l3: Size | None = None,
    onednn: bool | None = None,
    jit: bool | None = None,
) -> Explanation:
    """Predict a step of a model: a path (.keras, architecture JSON, H5, SavedModel) or a Keras model object,
    built or not.

    `optimizer` and `dtype` (a policy such as "mixed_float16") are the model's own unless given, `mode` is
    "training" or "inference", `device` "cpu" or "gpu". `input_shape` leaves the batch out: (224, 224, 3) or
    "224x224x3"; `sequence` is the length of sequences whose length the model leaves open; `samples` that of
    the arrays given to `fit(x, y)`, which copies them whole (None: the step alone); `limit` the device's
    memory, in bytes or as "11GiB". `threads`, `l3` (a size), `onednn` and `jit` (XLA) say where it runs;
    None: as the model was compiled, else this machine.

    `fits` and `error_bar` (bytes) of the report are the answer for programs. Raises UnreadableInput,
    UsageError or Unpredictable (all TfmemlensError), ValueError for a malformed shape or size.

    >>> report = tfmemlens.estimate("sample_models/files-2.21/small.keras", batch=64, threads=2, limit="1GiB")
    >>> report.fits
    <Fits.YES: 'yes'>
    >>> [(layer.layer, layer.parameters) for layer in report.case.layers if layer.parameters]
    [('first', 28), ('norm', 16), ('second', 30), ('out', 77)]
    """
    if mode not in MODES:
        raise UsageError(f"the mode {mode} is not known", f"one of {', '.join(MODES)}")
    shape = _shape(input_shape)
    settings = StepSettings(
        batch,
        optimizer,
        dtype,
        mode == "training",
        device,
        as_bytes(limit),
        {"": shape} if shape else {},
        workers=threads,
        sequence=sequence,
        samples=samples,
        l3_bytes=as_bytes(l3),
        onednn=onednn,
        jit=jit,
    )
    from tfmemlens.use_cases.estimate import estimate as predict
    from tfmemlens.use_cases.estimate import estimate_live

    is_live = hasattr(model, "to_json") or hasattr(model, "trainable_variables")
    return Explanation.of(pipeline.report((estimate_live if is_live else predict)(model, settings)))


def fit(
    source: Path | Sequence[Path],
    *,
    limit: Size | None = None,
    batch: int | None = None,
    input_shape: Shape | None = None,
    device: str | None = None,
    tag: str | None = None,
    step: int | None = None,
    fetch: str | Sequence[str] = (),
    optimizer: str | None = None,
    sequence: int | None = None,
    threads: int | None = None,
    l3: Size | None = None,
    onednn: bool | None = None,
    jit: bool | None = None,
) -> Explanation:
    """Find the largest batch that fits into `limit` (bytes, or "11GiB"), and what each change would buy: from
    a traced step, a log with an allocation list, a model or a graph. Of several sources the steps at other
    batches check the first.

    `batch` is that of the step, where the source does not tell; `device`, `tag` and `step` choose among
    traced steps as for `read`; `fetch` names what a graph computes; the rest is as for `estimate`.

    `fit` of the report is the answer for programs: `use_batch`, `largest_batch`, `sure_batch`,
    `per_sample_bytes`, `fixed_bytes`, `savings`. Raises UnreadableInput where there is no step to fit,
    UsageError where its batch cannot be known, Contradiction where the sources disagree (all TfmemlensError),
    ValueError for a malformed shape or size.

    >>> report = tfmemlens.fit("sample_traces/run_metadata/1.15-unet.pb.gz", limit="1GiB")
    >>> report.fit.largest_batch, report.fit.use_batch
    (42, 39)
    """
    from tfmemlens.use_cases.fit import fit_report
    from tfmemlens.values import replace

    settings = StepSettings(
        optimizer=optimizer, sequence=sequence, workers=threads, l3_bytes=as_bytes(l3), onednn=onednn, jit=jit
    )
    hints = replace(_hints(input_shape, batch, limit), tag=tag, step=step)
    sources = [source] if isinstance(source, str | PathLike) else list(source)
    fetches = [fetch] if isinstance(fetch, str) else list(fetch)
    return Explanation.of(fit_report(sources, hints, device, fetches, settings))


def diff(
    before: Source | Explanation | Trace,
    after: Source | Explanation | Trace,
    *,
    device: str | None = None,
    input_shape: Shape | None = None,
    batch: int | None = None,
    limit: Size | None = None,
) -> Comparison:
    """Say what changed from one input to another, by layer, kind and allocation: paths, or what `explain`,
    `estimate` or `read` returned.

    `device` keeps the devices of traced steps whose name contains it; the other options are as for `explain`.
    They are for paths. Raises UnreadableInput (a TfmemlensError) where one of the two has no memory figures.

    >>> change = tfmemlens.diff(
    ...     "sample_traces/run_metadata/1.15-lenet.pb", "sample_traces/run_metadata/1.15-unet.pb.gz"
    ... )
    >>> change.change_bytes
    34283264
    """
    from tfmemlens.use_cases.difference import compare, must_hold_figures

    hints = _hints(input_shape, batch, limit)

    def case(side: Source | Explanation | Trace) -> Any:
        if isinstance(side, Explanation | Trace):
            examined = side.case
        else:
            examined = pipeline.case(pipeline.capture(side, hints, device))
        must_hold_figures(examined)
        return examined

    return Comparison.of(compare(case(before), case(after)))


def layout(
    source: Path,
    *,
    gpu: str = "sm_61",
    fetch: str | Sequence[str] = (),
    python: Path | None = None,
    tries: str | Sequence[str] = (),
    passes: str = "default",
    input_shape: Shape | None = None,
    batch: int | None = None,
) -> Explanation:
    """Find the op that forces each copy of Grappler's layout pass, in a graph that has been through it
    (RunMetadata with partition graphs). On another graph (GraphDef, MetaGraphDef, SavedModel) the real pass
    is run first, for a `gpu` ("sm_61", "P100"), in a `python` that has TensorFlow (None: this one); `tries`
    are edits to try, as `tfmemlens layout --help` lists them, `passes` is "default" or "layout".

    `case.layout` of the report is the answer for programs, `case.trials` what each edit left. Raises
    UnreadableInput where there is no graph, UsageError, MissingExtra without TensorFlow (all
    TfmemlensError), ValueError for a malformed shape.

    >>> report = tfmemlens.layout("sample_traces/layout_traces/2.11-unet-layout.pb.gz")
    >>> len(report.case.layout.copies)
    70
    """
    import sys

    from tfmemlens.recording.grappler import LayoutPassOptions
    from tfmemlens.use_cases.layout import examine_graph

    options = LayoutPassOptions(
        gpu,
        (fetch,) if isinstance(fetch, str) else tuple(fetch),
        sys.executable if python is None else fspath(python),
        (tries,) if isinstance(tries, str) else tuple(tries),
        passes,
    )
    return Explanation.of(examine_graph(fspath(source), options, _hints(input_shape, batch, None)))


def conv(
    input: Shape,  # noqa: A002 - the name of the command's option
    kernel: Shape,
    *,
    kind: str | None = None,
    padding: str = "same",
    strides: int | Shape = 1,
    dilations: int | Shape = 1,
    dtype: str = "float32",
    tf: str = "2.21",
    threads: int | None = None,
    device: str = "cpu",
    onednn: bool | None = None,
    l3: Size | None = None,
) -> Sizing:
    """Say what a convolution takes beside its tensors, in each pass, and what would take less.

    `input` is the shape with channels last, (200, 321, 481, 1) or "200x321x481x1", five sizes in 3-D;
    `kernel` its sides and the filters, (135, 135, 3). `kind` is "conv", "depthwise", "transposed" or
    "conv3d" (None: by the input's rank); `tf` the version of TensorFlow, `threads` its intra-op threads
    (None: this machine's processors), `device` "cpu" or "gpu", `l3` the processor's cache (bytes or "32MiB").

    Raises UsageError (a TfmemlensError), with a hint.

    >>> sizing = tfmemlens.conv((8, 32, 32, 3), (5, 5, 16), tf="1.15", threads=2)
    >>> sizing.output, sizing.output_bytes
    ((8, 32, 32, 16), 524288)
    """
    from tfmemlens.use_cases.convolution import size_convolution

    return Sizing.of(
        size_convolution(
            _as_text(input),
            _as_text(kernel),
            kind=kind,
            padding=padding,
            strides=_as_text(strides),
            dilations=_as_text(dilations),
            dtype=dtype,
            tf=tf,
            threads=None if threads is None else str(threads),
            device=device,
            onednn=onednn,
            l3=None if l3 is None else str(l3),
        )
    )


def _hints(input_shape: Shape | None, batch: int | None, limit: Size | None) -> Hints:
    return Hints(_shape(input_shape), batch, as_bytes(limit))


def _shape(shape: Shape | None) -> tuple[int | None, ...] | None:
    if shape is None:
        return None
    return parse_shape(shape) if isinstance(shape, str) else tuple(shape)


def _as_text(sizes: int | Shape) -> str:
    """Sizes as the command line has them."""
    if isinstance(sizes, int | str):
        return str(sizes)
    return "x".join(map(str, sizes))
