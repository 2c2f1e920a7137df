"""GraphDefs as graphs: values of attributes, constants, lines of code, and the types that a step made."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import built
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant, TensorType
from tfmemlens.readers.graphs.graph_types import graph_with_types
from tfmemlens.readers.graphs.proto_graph import constant_of, of_graph_defs, shape_of, value_of

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
IMAGE = {"dim": [{"size": 2}, {"size": -1}, {"size": 0}]}


def attribute(**given: Any) -> Any:
    return built("AttrValue", **given)


@pytest.mark.parametrize(
    "given, value",
    [
        ({"s": b"NHWC"}, "NHWC"),
        ({"s": b"\xff"}, "\ufffd"),
        ({"i": 7}, 7),
        ({"i": 0}, 0),
        ({"f": 0.5}, 0.5),
        ({"b": True}, True),
        ({"b": False}, False),
        ({"type": 1}, "float32"),
        ({"shape": IMAGE}, (2, None, 0)),
        ({"shape": {"unknown_rank": True}}, None),
        ({"placeholder": "p"}, "p"),
        ({"func": {"name": "f"}}, "f"),
        ({"tensor": {"dtype": 3, "int_val": [4]}}, Constant((), "int32", (4,))),
        ({"list": {"i": [1, 2], "s": [b"a"]}}, ("a", 1, 2)),
        ({"list": {}}, ()),
        ({}, None),
    ],
)
def test_values_of_attributes(given: dict[str, Any], value: object) -> None:
    assert value_of(attribute(**given)) == value


def test_shapes() -> None:
    assert shape_of(attribute(shape=IMAGE).shape) == (2, None, 0)
    assert shape_of(attribute(shape={}).shape) == ()


class TestConstants:
    def of(self, *sizes: int, dtype: int = 3, **given: Any) -> Constant:
        shape = {"dim": [{"size": size} for size in sizes]}
        return constant_of(attribute(tensor={"dtype": dtype, "tensor_shape": shape, **given}).tensor)

    @pytest.mark.parametrize(
        "sizes, given, values",
        [
            ((3,), {"int_val": [1, 2, 3]}, (1, 2, 3)),
            ((3,), {"int_val": [1, 2]}, (1, 2, 2)),  # the last stands for all that follow
            ((3,), {"int_val": [7]}, (7, 7, 7)),
            ((3,), {}, (0, 0, 0)),
            ((2,), {"int_val": [1, 2, 3]}, (1, 2)),
            ((2, 2), {"int_val": [5]}, (5, 5, 5, 5)),
            ((), {"int_val": [5]}, (5,)),
            ((0,), {"int_val": [5]}, ()),
            ((2,), {"tensor_content": b"\x01\0\0\0\x02\0\0\0"}, (1, 2)),
            ((2,), {"tensor_content": b"\x01\0\0\0\x02\0"}, (1, 1)),  # it is cut
            ((2,), {"tensor_content": b"\xff\xff\xff\xff"}, (-1, -1)),
        ],
    )
    def test_whole_numbers(
        self, sizes: tuple[int, ...], given: dict[str, Any], values: tuple[int, ...]
    ) -> None:
        assert self.of(*sizes, **given) == Constant(sizes, "int32", values)

    def test_long_ones(self) -> None:
        assert self.of(2, dtype=9, tensor_content=b"\x01" + bytes(7) + b"\x02" + bytes(7)).values == (1, 2)
        assert self.of(2, dtype=9, int64_val=[1 << 40]).values == (1 << 40, 1 << 40)

    def test_weights_keep_their_type_alone(self) -> None:
        assert self.of(2, dtype=1, float_val=[1.0]) == Constant((2,), "float32")
        assert self.of(64, int_val=[1]).values == (1,) * 64
        assert self.of(65, int_val=[1]).values is None

    def test_an_open_shape_has_no_values(self) -> None:
        raw = attribute(tensor={"dtype": 3, "tensor_shape": {"unknown_rank": True}, "int_val": [1]}).tensor
        assert constant_of(raw) == Constant(None, "int32", ())


def graph(*nodes: dict[str, Any], **more: Any) -> Any:
    return built("GraphDef", node=nodes, **more)


class TestNodes:
    def test_of_several_parts_the_first_of_a_name(self) -> None:
        one = graph({"name": "a", "op": "Relu", "input": ["x"]}, {"name": "b", "op": "Mul"})
        other = graph(
            {"name": "b", "op": "Other", "input": ["y"]},
            {"name": "c", "op": "Add", "input": ["a", "b"], "device": GPU, "attr": {"T": {"type": 1}}},
        )
        found = of_graph_defs([one, other], producer="2.11")
        assert [*found.nodes] == ["a", "b", "c"]
        assert [node.op for node in found] == ["Relu", "Mul", "Add"]
        assert [node.inputs for node in found] == [("x",), (), ("a", "b")]
        last = found.nodes["c"]
        assert (last.device, dict(last.attributes), found.producer) == (GPU, {"T": "float32"}, "2.11")
        assert found.nodes["b"].device == ""

    def test_without_doubles_each_is_where_it_stands(self) -> None:
        found = of_graph_defs(
            [
                graph({"name": "a", "device": "1"}),
                graph({"name": "b", "device": "2"}, {"name": "c", "device": "3"}),
            ]
        )
        assert [(name, found.nodes[name].device) for name in "cab"] == [("c", "3"), ("a", "1"), ("b", "2")]

    def test_attributes_are_decoded_when_asked_for(self) -> None:
        raw = {"n": {"i": 0}, "open": {"shape": {"unknown_rank": True}}}
        attributes = of_graph_defs([graph({"name": "a", "attr": raw})]).nodes["a"].attributes
        assert (attributes.get("n"), attributes.get("n", 5), attributes["n"]) == (0, 0, 0)
        assert (attributes.get("open", 5), attributes["open"]) == (5, None)
        assert (attributes.get("no"), attributes.get("no", 5)) == (None, 5)
        assert (len(attributes), set(attributes), "no" in attributes) == (2, {"n", "open"}, False)
        with pytest.raises(KeyError):
            attributes["no"]

    def test_functions(self) -> None:
        function = {
            "signature": {
                "name": "f",
                "input_arg": [{"name": "x"}],
                "output_arg": [{"name": "y"}, {"name": "lost"}],
            },
            "node_def": [{"name": "inner", "op": "Relu", "input": ["x"]}],
            "ret": {"y": "inner:activations:0"},
            "control_ret": {"c": "effect"},
        }
        twin = {"signature": {"name": "f"}}
        found = of_graph_defs([graph(library={"function": [function, twin]})]).functions["f"]
        assert [node.op for node in found] == ["Relu"]
        assert found.signature is not None
        assert found.signature.arguments == ("x",)
        assert (found.signature.results, found.signature.effects) == (("inner:activations:0",), ("effect",))

    @pytest.mark.parametrize(
        "attributes, outputs",
        [
            ({}, ()),
            ({"_output_shapes": {"list": {"shape": [IMAGE]}}}, (TensorType((2, None, 0), None),)),
            (
                {"_output_shapes": {"list": {"shape": [IMAGE]}}, "T": {"type": 1}, "dtype": {"type": 3}},
                (TensorType((2, None, 0), "float32"),),
            ),
            (
                {"_tfmemlens_shapes": {"list": {"shape": [{}, {}]}}, "T": {"i": 1}, "DstT": {"type": 3}},
                (TensorType((), "int32"), TensorType((), "int32")),
            ),
        ],
    )
    def test_stated_outputs(self, attributes: dict[str, Any], outputs: tuple[TensorType, ...]) -> None:
        assert of_graph_defs([graph({"name": "a", "attr": attributes})]).nodes["a"].outputs == outputs


class TestLinesOfCode:
    FILES = ("train.py", "/lib/site-packages/keras/layers.py", "net.py")

    def trace(self, *frames: tuple[int, int]) -> dict[str, Any]:
        return {"file_line_cols": [{"file_index": file, "line": line} for file, line in frames]}

    def line(self, traces: dict[str, Any], function: str = "", **node: Any) -> str | None:
        debug = built("GraphDebugInfo", files=self.FILES, traces=traces)
        nodes = [{"name": "a", **node}]
        raw = graph(library={"function": [{"signature": {"name": function}, "node_def": nodes}]})
        if not function:
            return of_graph_defs([graph(*nodes)], debug).nodes["a"].source
        return of_graph_defs([raw], debug).functions[function].nodes["a"].source

    def test_the_innermost_of_the_users_own(self) -> None:
        assert self.line({"a": self.trace((0, 12), (2, 7), (1, 99))}) == "net.py:7"
        assert self.line({"a": self.trace((1, 99))}) is None
        assert self.line({"b": self.trace((0, 12))}) is None

    @pytest.mark.parametrize("index, line", [(2, "net.py:7"), (3, None), (-1, None), (0, "train.py:7")])
    def test_of_a_file_that_is_named(self, index: int, line: str | None) -> None:
        assert self.line({"a": self.trace((index, 7))}) == line

    def test_by_graph_or_by_function(self) -> None:
        assert self.line({"a@": self.trace((0, 12)), "a": self.trace((2, 7))}) == "train.py:12"
        assert self.line({"a@f": self.trace((0, 12)), "a": self.trace((2, 7))}, "f") == "train.py:12"
        assert self.line({"a": self.trace((2, 7))}, "f") is None

    def test_what_the_exporter_wrote_counts_for_more(self) -> None:
        wrote = {"attr": {"_tfmemlens_source": {"s": b"own.py:1"}}}
        assert self.line({"a": self.trace((0, 12))}, **wrote) == "own.py:1"
        empty = {"attr": {"_tfmemlens_source": {"s": b""}}}
        assert self.line({"a": self.trace((0, 12))}, **empty) == "train.py:12"


# ------------------------------------------------------------------ the types that a step made


def stats(*nodes: dict[str, Any], device: str = GPU) -> Any:
    return built("StepStats", dev_stats=[{"device": device, "node_stats": nodes}])


def made(*slots: int, dtype: int = 1) -> list[dict[str, Any]]:
    return [{"slot": slot, "tensor_description": {"dtype": dtype, "shape": IMAGE}} for slot in slots]


SHAPE = TensorType((2, -1, 0), "float32")


class TestTypes:
    def test_of_a_graphs_nodes(self) -> None:
        ran = stats({"node_name": "a", "output": made(0, 2)}, {"node_name": "unknown", "output": made(0)})
        known = Graph({"a": Node("a", "Split"), "b": Node("b", "Relu")}, {"f": Graph({})}, "2.11")
        found = graph_with_types(ran, known)
        assert found is not None
        assert found.nodes["a"].outputs == (SHAPE, TensorType(None, None), SHAPE)
        assert (found.nodes["b"].outputs, [*found.nodes]) == ((), ["a", "b"])
        assert (found.functions, found.producer) == (known.functions, "2.11")

    def test_what_is_stated_stays(self) -> None:
        stated = Node("a", "Relu", outputs=(TensorType((1,), "int32"),))
        found = graph_with_types(stats({"node_name": "a", "output": made(0)}), Graph({"a": stated}))
        assert found is not None
        assert found.nodes["a"] == stated

    def test_an_open_rank(self) -> None:
        open_rank = made(0)
        open_rank[0]["tensor_description"]["shape"] = {"unknown_rank": True}
        found = graph_with_types(stats({"node_name": "a", "output": open_rank}), Graph({"a": Node("a", "X")}))
        assert found is not None
        assert found.nodes["a"].outputs == (TensorType(None, "float32"),)

    def test_lanes_of_the_hardware_tell_nothing(self) -> None:
        ran = {"node_name": "a", "timeline_label": "a = Relu(x)", "output": made(0)}
        assert graph_with_types(stats(ran, device=f"{GPU}/stream:all"), None) is None
        assert graph_with_types(stats(ran), None) is not None

    @pytest.mark.parametrize(
        "name, label, op, inputs",
        [
            ("a", "[bfc 2.0MB] a = _FusedConv2D(x, conv/w)", "_FusedConv2D", ("x", "conv/w")),
            ("a", "a = Placeholder()", "Placeholder", ()),
            ("_arg_x_0_0", "", "_Arg", ()),
            ("a", "nothing", None, None),
        ],
    )
    def test_without_a_graph_labels_tell(
        self, name: str, label: str, op: str | None, inputs: tuple[str, ...] | None
    ) -> None:
        found = graph_with_types(stats({"node_name": name, "timeline_label": label, "output": made(0)}), None)
        if op is None:
            assert found is None
            return
        assert found is not None
        node = found.nodes[name]
        assert (node.op, node.inputs, node.outputs) == (op, inputs, (SHAPE,))
        assert (found.functions, found.producer) == ({}, None)
