"""What a program recorded of itself, read whole: names for a trace's rows, who holds tensors, versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import timeline
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.attribution.names.live_names import LiveNames
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.errors import UnreadableInput
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.tried import ruled_out
from tfmemlens.model.attribution import NOBODY, Kind
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.incident import AllocatorState, FailedRequest, Incident, RequestKind
from tfmemlens.model.live_model import HeldTensors, Holder, LiveModel, LiveVariable
from tfmemlens.model.tensor import TensorType
from tfmemlens.readers.formats import memory_dump
from tfmemlens.readers.formats.live_model import _with_slots
from tfmemlens.readers.gathering.merge_logs import merge
from tfmemlens.recording.inside import keras_models
from tfmemlens.units import Size
from tfmemlens.values import replace
from tfmemlens.what_if.step import batch_and_source

DUMP = SAMPLES / "oom_log" / "2.21-gradients-stored.txt"
TRACE = SAMPLES / "xspace" / "2.21-function.xplane.pb"
MIB = 1 << 20


def model(*paths: str, variables: Any = ()) -> dict[str, Any]:
    layers = [{"path": path, "class": "Conv2D", "outputs": []} for path in paths]
    return {"tfmemlens_model": 1, "models": [{"name": "net", "layers": layers}], "variables": list(variables)}


def living(name: str | None, count: int, size: int) -> dict[str, Any]:
    holder = {"name": name, "kind": "list", "count": count, "bytes": size, "file": "/a/train.py", "line": 41}
    group = {"shape": [4, 4], "dtype": "float32", "count": count, "bytes": size, "held_by": [holder]}
    return {"tfmemlens_living": 1, "complete": True, "groups": [group]}


def bundle(folder: Path, **files: Any) -> Path:
    for name, document in files.items():
        (folder / f"{name}.json").write_text(json.dumps(document, indent=1))
    (folder / "log.txt").write_bytes(DUMP.read_bytes())
    return folder


def rules(folder: Path) -> list[str]:
    return [finding.rule for finding in pipeline.explain(folder).findings]


def test_a_container_that_holds_much_is_the_cause_by_its_name_and_line(tmp_path: Path) -> None:
    report = pipeline.explain(bundle(tmp_path, living=living("history['loss']", 7, 400 * MIB)))
    (finding,) = (each for each in report.findings if each.rule == "held-by-python")
    assert finding.headline.startswith("`history['loss']` (train.py:41) holds 7 tensors, 400.00 MiB")
    (evidence,) = finding.evidence
    assert evidence.line
    assert evidence.line.text == '"name": "history[\'loss\']",'
    assert finding.explains == 400 * MIB


@pytest.mark.parametrize(
    ("name", "count", "size"), [(None, 7, 400 * MIB), ("batch", 2, 400 * MIB), ("seen", 7, 4 * MIB)]
)
def test_few_small_or_nameless_tensors_are_no_leak(
    tmp_path: Path, name: str | None, count: int, size: int
) -> None:
    assert "held-by-python" not in rules(bundle(tmp_path, living=living(name, count, size)))


@pytest.mark.parametrize(
    ("scope", "layer"),
    [
        ("net/body", "body"),
        ("net_1/body_1", "body"),
        ("body", "body"),
        ("net_2/down_1/conv_3", "down/conv"),
        ("tower/net/down/conv/add", "down/conv/add"),
        ("conv_2", "conv_2"),
        ("other/thing", "other/thing"),
        ("net/conv_2_1", "conv_2"),
    ],
)
def test_scopes_are_the_models_layers(scope: str, layer: str) -> None:
    from tfmemlens.model.attribution import NOBODY
    from tfmemlens.values import replace

    names = LiveNames(LiveModel(("net",), tuple((path, "X") for path in ("body", "down/conv", "conv_2"))))
    assert names.owner(replace(NOBODY, layer=scope)).layer == layer


def test_what_stood_before_a_step_has_the_names_of_the_variables(tmp_path: Path) -> None:
    (tmp_path / "step-0000002.xplane.pb").write_bytes(TRACE.read_bytes())
    before = pipeline.case(pipeline.timelines(tmp_path)).moments[0].attribution
    bare = {group.name: group.total_bytes for group in before.by("kind")}
    size = 64
    row = {"name": "features/kernel", "layer": "features", "kind": "parameter", "dtype": "float32"}
    (tmp_path / "model.json").write_text(
        json.dumps(
            model(
                "features",
                "refine",
                "pool",
                "classes",
                variables=[{**row, "shape": [size], "bytes": 4 * size}],
            )
        )
    )
    case = pipeline.case(pipeline.timelines(tmp_path))
    named = {group.name: group.total_bytes for group in case.moments[0].attribution.by("kind")}
    assert named["unattributed"] == bare["unattributed"] - 4 * size
    assert sum(named.values()) == sum(bare.values())
    layers = {group.name for group in case.moments[0].attribution.by("layer")}
    assert "features" in layers
    assert not any((name or "").startswith("net/") for name in layers)


def test_a_variable_that_grew_has_the_shape_of_its_end(tmp_path: Path) -> None:
    row = {"name": "bank", "layer": None, "kind": "other", "dtype": "float32", "shape": [None, 4], "bytes": 0}
    rows = [{**row, "now": [5, 4]}, {**row, "name": "never filled", "now": None}]
    (tmp_path / "model.json").write_text(json.dumps(model(variables=rows)))
    recorded = pipeline.capture(tmp_path).live_model
    assert recorded is not None
    assert [(each.name, each.now) for each in recorded.variables] == [("bank", TensorType((5, 4), "float32"))]


def test_an_eager_op_is_of_the_one_layer_that_returns_its_shape() -> None:
    outputs = (("wide", (None, 64, 96)), ("tall", (None, 64, 8)), ("high", (None, 64, 8)), ("flat", (None,)))
    known = LiveModel(("net",), (), outputs=outputs)
    assert known.makers_of((600, 64, 96)) == ("wide",)
    assert known.makers_of((600, 64, 8)) == ("tall", "high")
    assert known.makers_of((600,)) == ()
    assert known.makers_of((600, 64, 9)) == ()


def test_a_class_and_its_kernel_are_enough_where_no_output_is_known() -> None:
    layers = (("a/expand", "Dense"), ("a/conv", "Conv2D"), ("b", "Dense"))
    kernels = (("a/expand", (24, 256)), ("a/conv", (3, 3, 8, 256)), ("b", (256, 3)))
    variables = tuple(
        LiveVariable(f"{layer}/kernel", layer, Kind.PARAMETER, TensorType(shape, "float32"))
        for layer, shape in kernels
    )
    known = LiveModel(("net",), layers, variables)
    assert known.makers_of((16, 900, 256), "Dense") == ("a/expand",)
    assert known.makers_of((16, 900, 256)) == ()
    assert known.makers_of((16, 900, 255), "Dense") == ()


@pytest.mark.parametrize(
    "node, failed_in, layer",
    [
        ("BiasAdd", None, "BiasAdd"),  # two layers return it
        ("BiasAdd", "b", "b/expand"),
        ("BiasAdd", "elsewhere", "elsewhere"),
        ("net/mul", "b", "net"),  # a name of its own
    ],
)
def test_an_eager_op_is_of_the_layer_whose_call_failed(node: str, failed_in: str | None, layer: str) -> None:
    layers = (("a/expand", "Dense"), ("b/expand", "Dense"))
    outputs = (("a/expand", (None, 256)), ("b/expand", (None, 256)))
    names = LiveNames(LiveModel(("model",), layers, outputs=outputs, failed_in=failed_in))
    request = FailedRequest(node=node, shape=(16, 256))
    assert names.of_request(owner_of(node), request).layer == layer


def test_tensors_that_python_held_are_what_stood_before_a_step(tmp_path: Path) -> None:
    (tmp_path / "step-0000002.xplane.pb").write_bytes(TRACE.read_bytes())
    before = pipeline.case(pipeline.timelines(tmp_path)).moments[0].attribution
    bare = {group.name: group.total_bytes for group in before.by("kind")}
    rest = bare["unattributed"]

    def constants(**row: Any) -> int:
        tensor = {"shape": [256], "dtype": "float32", "device": "CPU:0", "count": 1, **row}
        (tmp_path / "model.json").write_text(json.dumps({**model(), "tensors": [tensor]}))
        kinds = pipeline.case(pipeline.timelines(tmp_path)).moments[0].attribution.by("kind")
        held = {group.name: group.total_bytes for group in kinds}
        assert sum(held.values()) == sum(bare.values())
        return held.get("held-by-python", 0) - bare.get("held-by-python", 0)

    assert rest > 2048
    assert constants(count=2) == 2048
    assert constants(count=10**6) == rest // 1024 * 1024  # no more than stood
    assert constants(device="GPU:0") == 0
    assert constants(shape=[255]) == 1024  # as the allocator rounds it
    assert constants(shape=[128]) == 0  # too small to tell from others


def test_variables_that_exceed_what_stood_are_on_another_device(tmp_path: Path) -> None:
    (tmp_path / "step-0000002.xplane.pb").write_bytes(TRACE.read_bytes())
    row = {"name": "w", "layer": None, "kind": "parameter", "dtype": "float32", "shape": [1 << 30]}
    (tmp_path / "model.json").write_text(json.dumps(model(variables=[row])))
    (moment, *_) = pipeline.case(pipeline.timelines(tmp_path)).moments
    assert not moment.attribution.ranked_by_kind.get(Kind.PARAMETER)


def test_the_batch_of_the_traced_step_is_told(tmp_path: Path) -> None:
    (tmp_path / "step-0000002.xplane.pb").write_bytes(TRACE.read_bytes())
    (tmp_path / "model.json").write_text(json.dumps({**model(), "batch": 16, "inputs": [[16, 3], None]}))
    assert "the traced step had a batch of 16: [16,3]" in {
        note.text for note in pipeline.timelines(tmp_path).notes
    }
    (tmp_path / "model.json").write_text(json.dumps({**model(), "batch": "x", "inputs": 3}))
    assert not any("batch" in note.text for note in pipeline.timelines(tmp_path).notes)


def test_what_the_run_that_failed_was_given_is_told_by_name(tmp_path: Path) -> None:
    rows = [{"name": "x", "shape": [4, 3], "type": "float32"}, {"name": "no type", "shape": [4], "type": ""}]
    (tmp_path / "model.json").write_text(json.dumps({**model(), "fed": rows}))
    live = pipeline.timelines(tmp_path).live_model
    assert live is not None and live.fed == (("x", TensorType((4, 3), "float32")),)


def test_the_batch_of_the_step_that_failed_is_another(tmp_path: Path) -> None:
    (tmp_path / "step-0000002.xplane.pb").write_bytes(TRACE.read_bytes())
    (tmp_path / "model.json").write_text(json.dumps({**model(), "batch": 16, "failed_batch": 512}))
    capture = pipeline.timelines(tmp_path)
    assert capture.live_model and (capture.live_model.batch, capture.live_model.failed_batch) == (16, 512)
    assert "the step that failed was given a batch of 512" in {note.text for note in capture.notes}
    assert batch_and_source(capture.timelines[0], None, Hints(), capture.live_model) == (
        16,
        "what the step was given",
    )
    assert batch_and_source(capture.timelines[0], None, Hints(batch=8), capture.live_model) == (8, "--batch")
    case = pipeline.case(capture)
    assert remedies.batch_of(case, case.moments[0]) == 512


def test_the_recorder_tells_the_version(tmp_path: Path) -> None:
    told = {"tfmemlens_recorder": 1, "versions": {"tensorflow": "2.21.0"}, "steps": {"train": 9}}
    (tmp_path / "recorder.json").write_text(json.dumps({**told, "traced_steps": 2, "problems": ["x: y"]}))
    capture = pipeline.capture(tmp_path)
    assert (capture.source.framework, capture.source.version) == ("tensorflow", ("2.21", "2.21"))
    assert [note.text for note in capture.notes] == [
        "the program recorded 2 of its 9 steps",
        "not recorded: x: y",
    ]


@pytest.mark.parametrize(
    "told, states, version",
    [
        (("2.21", "2.99"), "2.21.0", ("2.21", "2.21")),
        (("1.15", "2.0"), "1.15.5", ("1.15", "1.15")),
        (("2.11", "2.11"), "1.15.5", ("2.11", "2.11")),  # another process's
        (None, "1.15.5", ("1.15", "1.15")),
    ],
)
def test_the_version_that_is_stated_is_told(told: Any, states: str, version: tuple[str, str]) -> None:
    stated = (".".join(states.split(".")[:2]),) * 2
    files = [Capture(Source("log.txt", version=told)), Capture(Source("recorder.json", version=stated))]
    assert merge(files).source.version == version


def of_allocator(name: str, **state: Any) -> Incident:
    return Incident(FailedRequest(RequestKind.TENSOR, allocator=name), state=AllocatorState(**state))


@pytest.mark.parametrize(
    "limits, stated, told",
    [
        ((300,), None, 300),
        ((300, 300), None, 300),
        ((300, 200), None, None),
        ((), None, None),
        ((300,), 9, 9),
    ],
)
def test_a_failure_has_the_limit_of_the_steps_that_its_allocator_served(
    limits: tuple[int, ...], stated: int | None, told: int | None
) -> None:
    failure = of_allocator("bfc", limit=stated and Size.exactly(stated))
    steps = tuple(replace(timeline(), allocator="bfc", limit_bytes=each) for each in limits)
    others = (replace(timeline(), allocator="gpu", limit_bytes=5),)
    files = [
        Capture(Source("log.txt"), incidents=(failure,)),
        Capture(Source("step.pb"), timelines=steps + others),
    ]
    (known,) = merge(files).incidents
    assert (known.state.limit and known.state.limit.bytes) == told


@pytest.mark.parametrize(
    "failures, given",
    [
        ([of_allocator("bfc")], ["b_bfc.8"]),
        ([of_allocator("bfc"), of_allocator("bfc")], []),  # which of them, nobody knows
        ([of_allocator("gpu")], []),
        ([of_allocator("bfc", in_use=Size.exactly(3))], []),
    ],
)
def test_a_traceback_alone_takes_the_newest_dump(failures: list[Incident], given: list[str]) -> None:
    """One that states its bytes takes the dump with as many."""
    dumps = [
        Capture(
            Source(path, (memory_dump.FORMAT,)), incidents=(of_allocator("bfc", in_use=Size.exactly(size)),)
        )
        for path, size in (("a_bfc.7", 7), ("b_bfc.8", 8), ("c_bfc.6", 6))
    ]
    joined = memory_dump.join([Capture(Source("log.txt"), incidents=tuple(failures)), *dumps])
    left = [each.source.path for each in joined[1:]]
    assert left == [path for path in ("a_bfc.7", "b_bfc.8", "c_bfc.6") if path not in given]
    if given:
        assert joined[0].incidents[0].state.in_use == Size.exactly(8)


def test_each_rank_has_the_dump_of_its_own_folder() -> None:
    failure = of_allocator("bfc")
    captures = [
        Capture(Source(f"{rank}/{name}", formats), incidents=(incident,))
        for rank, size in (("a", 7), ("b", 8))
        for name, formats, incident in (
            ("log.txt", (), failure),
            ("x_bfc.1", (memory_dump.FORMAT,), of_allocator("bfc", in_use=Size.exactly(size))),
        )
    ]
    joined = memory_dump.join(captures)
    assert [each.source.path for each in joined] == ["a/log.txt", "b/log.txt"]
    assert [each.incidents[0].state.in_use for each in joined] == [Size.exactly(7), Size.exactly(8)]


@pytest.mark.parametrize(
    "size, complete, ruled",
    [(20 * MIB, True, True), (200 * MIB, True, False), (20 * MIB, False, False), (None, True, False)],
)
def test_where_python_holds_little_no_list_is_looked_for(
    tmp_path: Path, size: int | None, complete: bool, ruled: bool
) -> None:
    """What was in use is told by the dump, 298 MiB."""
    held = {**living(None, 1, 4), "bytes": size, "complete": complete}
    case = pipeline.explain(bundle(tmp_path, living=held)).case
    in_use = case.moments[0].balance.in_use
    assert in_use and in_use.bytes > 290 * MIB
    assert ("look-for-lists" in ruled_out(case)) is ruled


@pytest.mark.parametrize("key", ["tfmemlens_model", "tfmemlens_living", "tfmemlens_recorder"])
@pytest.mark.parametrize(
    "rest", ["", ": 1", ": 1, []", ': 1, "models": {}}', ': 1, "groups": [{"shape": 3}]}']
)
def test_a_damaged_document_is_refused_or_empty(tmp_path: Path, key: str, rest: str) -> None:
    file = tmp_path / "some.json"
    file.write_text(f'{{"{key}"{rest}')
    try:
        capture = pipeline.capture(file)
    except UnreadableInput as problem:
        assert "cut" in problem.sentence
    else:
        assert not capture.incidents


NET = LiveModel(
    ("net",),
    (("enc1", "Conv3D"), ("enc2", "Conv3D"), ("items", "Embedding"), ("score", "Dense")),
    tuple(
        LiveVariable(f"{layer}/kernel", layer, Kind.PARAMETER, TensorType(shape, "float32"))
        for layer, shape in (("enc1", (3, 3, 3, 1, 8)), ("enc2", (3, 3, 3, 8, 16)), ("score", (80, 4)))
    ),
    unbuilt=(("items", (4000, 64)), ("other", (None, 7))),
)


@pytest.mark.parametrize(
    ("op", "shape", "layer"),
    [
        ("Conv3DBackpropInputV2", (1, 64**3, 216), "enc2"),  # patches of the kernel
        ("Conv3DBackpropInputV2", (1, 64, 64, 64, 8), "enc2"),
        ("Conv3DBackpropFilterV2", (3, 3, 3, 1, 8), "enc1"),
        ("ReluGrad", (1, 64, 64, 64, 16), "enc2"),
        ("ReluGrad", (9, 16), "ReluGrad"),
        ("Conv3DBackpropInputV2", (1, 64, 64, 64, 3), "Conv3DBackpropInputV2"),
        ("StatelessRandomUniformV2", (4000, 64), "items"),
        ("StatelessRandomUniformV2", (4001, 64), "StatelessRandomUniformV2"),
        ("Fill", (5, 7), "other"),
    ],
)
def test_an_eager_op_is_named_by_the_only_layer_with_such_a_kernel(
    op: str, shape: tuple[int, ...], layer: str
) -> None:
    request = FailedRequest(node=op, op=op, shape=shape, dtype="float32")
    assert LiveNames(NET).of_request(owner_of(op, op), request).layer == layer


def test_a_table_that_was_never_called_says_what_it_will_make() -> None:
    class Embedding:
        name, built, weights = "items", False, ()

        def __init__(self, **known: int) -> None:
            self.__dict__.update(known)

    assert keras_models._layer("items", Embedding(input_dim=9, output_dim=4))["makes"] == [9, 4]
    assert keras_models._layer("score", Embedding(units=4))["makes"] == [None, 4]
    assert "makes" not in keras_models._layer("score", Embedding(rate=4))


@pytest.mark.parametrize(
    "known, inputs, constants",
    [
        ({"batch": 16, "inputs": [[None, 3], [8]], "types": ["float32", "int64"]}, [(16, 3), (8,)], 0),
        ({"batch": None, "inputs": [[None, 3], "x", []], "types": ["float32"] * 3}, [], 0),
        ({"inputs": [[4]], "types": 3}, [], 0),
        ({"constants": [{"name": "c", "shape": [2], "type": 1, "bytes": 8, "chunk": 256}]}, [], 1),
        ({"constants": [{"name": "c", "bytes": -1, "chunk": 256}, 3]}, [], 0),
    ],
)
def test_what_a_step_was_given_and_what_sessions_keep(
    known: dict[str, Any], inputs: list[tuple[int, ...]], constants: int, tmp_path: Path
) -> None:
    (tmp_path / "step-0000002.xplane.pb").write_bytes(TRACE.read_bytes())
    (tmp_path / "model.json").write_text(json.dumps({**model(), **known}))
    live = pipeline.timelines(tmp_path).live_model
    assert live is not None
    assert [each.shape for each in live.inputs] == inputs
    assert [each.tensor.dtype for each in live.constants] == ["float32"] * constants


def test_beside_a_step_the_newest_dump_tells_of_chunks(tmp_path: Path) -> None:
    (tmp_path / "step-0000002.xplane.pb").write_bytes(TRACE.read_bytes())
    (tmp_path / "model.json").write_text(json.dumps(model()))
    (tmp_path / "bfc_older.1").write_bytes(b"nothing that could be read")
    sample = TRACE.parents[1] / "memory_dump" / "2.11-fragmentation.pb"
    (tmp_path / "bfc_other.2").write_bytes(sample.read_bytes())
    captured = pipeline.timelines(tmp_path)
    assert captured.live_model is not None and captured.live_model.chunks
    assert captured.timelines and not captured.incidents


def variables(*names: str, shape: tuple[int, ...] = (3000, 64)) -> tuple[LiveVariable, ...]:
    return tuple(LiveVariable(name, None, Kind.PARAMETER, TensorType(shape, "float32")) for name in names)


@pytest.mark.parametrize(
    "live, layer",
    [
        (LiveModel((), (), variables("ads/table")), "ads"),
        (LiveModel((), (), variables("ads/table", "ads/table/Adagrad")), "ads"),
        (LiveModel((), (), variables("ads/table", "users/table")), None),
        (LiveModel((), (), variables("ads/table"), failed_batch=3000), None),
        (LiveModel((), (), variables("ads/table", shape=(3001, 64))), None),
    ],
)
def test_a_message_of_a_source_alone_is_of_the_one_variable_of_its_shape(
    live: LiveModel, layer: str | None
) -> None:
    """TensorFlow 1 crashed before it could say which node asked."""
    failed = FailedRequest(
        RequestKind.TENSOR, shape=(3000, 64), dtype="float32", kernel="cwise_ops_common.cc:82"
    )
    assert LiveNames(live).of_request(NOBODY, failed).layer == layer
    of_node = replace(failed, node="gradients/mul")
    assert LiveNames(live).of_request(NOBODY, of_node).kind is Kind.UNATTRIBUTED


GPU_LOG = """Traceback (most recent call last):
  File "train.py", line 36, in <module>
    out = step(x)
jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.00GiB with allocator\
 {}_bfc on device 0. [tf-allocator-allocation-error='']
"""


@pytest.mark.parametrize(
    "allocator, devices, limit",
    [
        ("GPU_0", [{"name": "cuda:0", "bytes_limit": 3 << 30}], 3 << 30),
        ("GPU_0", [{"bytes_limit": 3 << 30}, {"bytes_limit": 3 << 30}], 3 << 30),
        ("GPU_0", [{"bytes_limit": 3 << 30}, {"bytes_limit": 4 << 30}], None),  # whose it was is not known
        ("CPU_0", [{"bytes_limit": 3 << 30}], None),
        ("GPU_0", [{"bytes_limit": 1 << 70}, {"bytes_limit": -1}, {"bytes_limit": "3"}, 7], None),
        ("GPU_0", [{"bytes_in_use": 1 << 30}], None),
        ("GPU_0", None, None),
    ],
)
def test_the_recorder_tells_the_limit_of_a_device(
    tmp_path: Path, allocator: str, devices: Any, limit: int | None
) -> None:
    (tmp_path / "log.txt").write_text(GPU_LOG.format(allocator))
    told = {"tfmemlens_recorder": 1, "versions": {"jax": "0.11.2"}, "devices": devices}
    (tmp_path / "recorder.json").write_text(json.dumps(told))
    (moment,) = pipeline.explain(tmp_path).case.moments
    assert (moment.balance.limit.bytes if moment.balance.limit else None) == limit


def of_type(name: str, layer: str | None = None, *shape: int) -> LiveVariable:
    return LiveVariable(name, layer, Kind.PARAMETER, TensorType(shape, "float32"))


def test_slots_of_a_graph_are_told_by_their_weights_names_and_shapes() -> None:
    variables = [
        of_type("ranker/taste", None, 300, 48),
        of_type("ranker/taste/RMSProp", None, 300, 48),
        of_type("ranker/taste/RMSProp_1", None, 300, 48),
        of_type("ranker/taste/part", None, 300),  # another shape
        of_type("bias", None, 300, 48),  # no name of a variable before it
        of_type("ranker/taste/own", "scorer", 300, 48),  # a layer's
    ]
    told = [(each.layer, each.kind) for each in _with_slots(variables)]
    slot, weight = ("ranker/taste", Kind.OPTIMIZER_SLOT), (None, Kind.PARAMETER)
    assert told == [weight, slot, slot, weight, weight, ("scorer", Kind.PARAMETER)]


@pytest.mark.parametrize(
    ("keys", "name", "count"), [("abc", "r.by_site[\u2026]", 12), ("ab", "r.by_site['a']", 4)]
)
def test_parts_of_a_dictionary_that_one_line_fills_are_one(
    tmp_path: Path, keys: str, name: str, count: int
) -> None:
    document = living("net.cache", 2, MIB)
    held = document["groups"][0]["held_by"]
    held += [{**held[0], "name": f"r.by_site['{key}']", "count": 4, "bytes": 4 * MIB} for key in keys]
    document["groups"][0].update(count=2 + 4 * len(keys), bytes=(1 + 4 * len(keys)) * MIB)
    holders = pipeline.explain(bundle(tmp_path, living=document)).case.capture.living[0].holders
    assert (holders[0].name, holders[0].count) == (name, count)
    assert sum(each.bytes for each in holders) == (1 + 4 * len(keys)) * MIB


def test_keys_that_several_lines_fill_stay_apart(tmp_path: Path) -> None:
    document = living("net.cache", 2, MIB)
    held = document["groups"][0]["held_by"]
    held += [{**held[0], "name": f"r.by_site['{key}']", "line": line} for line, key in enumerate("abc", 7)]
    holders = pipeline.explain(bundle(tmp_path, living=document)).case.capture.living[0].holders
    assert len(holders) == 4


def test_of_processes_that_follow_one_another_the_one_that_failed_is_told() -> None:
    def process(name: str, batch: int | None = None) -> Capture:
        net = LiveModel((name,), (), failed_batch=batch)
        return Capture(Source(f"out/{name}/model.json"), live_model=net)

    def told(*captures: Capture) -> tuple[str, ...]:
        chosen = merge([*captures]).live_model
        return chosen.names if chosen else ()

    holder = Holder("history", "list", 2, 16)
    held = HeldTensors(TensorType((2,), "float32"), 2, 16, (holder,))
    ended = Capture(Source("out/second/living.json"), living=(held,))
    first, second = process("first"), process("second")
    assert told(first, second) == ("first",)
    assert told(first, second, ended) == ("second",)
    assert told(first, second, ended, process("third", batch=8)) == ("third",)


def test_a_process_that_saw_a_failure_is_told_with_the_graph_beside_it() -> None:
    """A child that fails before its first step has neither a batch nor tensors that Python holds."""

    def process(name: str, **told: Any) -> list[Capture]:
        net = LiveModel((name,), (), **told)
        graph = Graph({name: Node(name, "Const")})
        return [
            Capture(Source(f"out/{name}/model.json"), live_model=net),
            Capture(Source(f"out/{name}/session_graph.pb"), graph=graph),
        ]

    for fetches, graph in ((("init",), "second"), ((), "first")):
        second = process("second", told_failure=True, fetches=fetches)
        chosen = merge([*process("first"), *second])
        assert chosen.live_model and chosen.live_model.names == ("second",)
        assert chosen.graph and [*chosen.graph.nodes] == [graph]


def test_that_a_process_saw_a_failure_is_read(tmp_path: Path) -> None:
    for failed in (True, False):
        (tmp_path / "model.json").write_text(json.dumps({**model(), "failed": failed}))
        live = pipeline.timelines(tmp_path).live_model
        assert live is not None and live.failed is failed
