"""Whose a row and a failed request is, from what stands beside the name: one condition at a time."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.attribution.moments.owners import attribute_request, attribute_table
from tfmemlens.model.allocation import HELD, Allocation, AllocationTable
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.incident import FailedRequest, RequestKind


def asked(node: str | None = None, op: str | None = None, **given: Any) -> Owner:
    return attribute_request(FailedRequest(node=node, op=op, **given))


def owners(*rows: Allocation) -> list[Owner]:
    return list(attribute_table(AllocationTable.of(rows)).owners)


class TestRows:
    @pytest.mark.parametrize(
        "row, layer, kind",
        [
            (Allocation("a.py:3", 1, purpose=HELD), "a.py:3", Kind.UNATTRIBUTED),
            (Allocation(None, 1, purpose=HELD), None, Kind.UNATTRIBUTED),
            (Allocation(None, 1, purpose="parameter"), None, Kind.PARAMETER),
            (Allocation(None, 1), None, Kind.UNATTRIBUTED),
            (Allocation("%fusion.1", 1, "fusion"), None, Kind.UNATTRIBUTED),
            (Allocation("net/conv/Relu", 1), "net/conv", Kind.ACTIVATION),
            (Allocation("net/conv/Relu", 1, purpose="temp"), "net/conv", Kind.WORKSPACE),
        ],
    )
    def test_by_name_and_purpose(self, row: Allocation, layer: str | None, kind: Kind) -> None:
        (owner,) = owners(row)
        assert (owner.layer, owner.kind) == (layer, kind)

    @pytest.mark.parametrize(
        "name, kind",
        [
            ("opt_state[0].count", Kind.OPTIMIZER_SLOT),
            ("state.Optimizer_w", Kind.OPTIMIZER_SLOT),
            ("state[0].mu['dense']", Kind.OPTIMIZER_SLOT),
            ("state[0].nu['dense']", Kind.OPTIMIZER_SLOT),
            ("Batch['image']", Kind.INPUT),
            ("batch[0]", Kind.INPUT),
            ("params['dense']['kernel']", Kind.PARAMETER),
            ("batch_stats", Kind.PARAMETER),
        ],
    )
    def test_arguments_of_a_compiled_program(self, name: str, kind: Kind) -> None:
        (owner,) = owners(Allocation(name, 1, purpose="parameter"))
        assert (owner.kind, owner.phase) == (kind, Phase.NONE)

    def test_what_a_loop_keeps_of_every_iteration_is_its_stack(self) -> None:
        once, twice, counted = (
            owners(*[Allocation("rnn/while/dense/MatMul", 1, count=count)] * rows)[0].kind
            for rows, count in ((1, 1), (2, 1), (1, 2))
        )
        assert (once, twice, counted) == (Kind.ACTIVATION, Kind.LOOP_STACK, Kind.LOOP_STACK)
        assert owners(*[Allocation("rnn/dense/MatMul", 1)] * 2)[0].kind is Kind.ACTIVATION
        body = owners(*[Allocation("gradients/rnn/while/dense/MatMul_grad/MatMul", 1)] * 2)
        assert body[0].kind is Kind.GRADIENT


class TestLayers:
    def test_an_eager_op_has_no_name_of_its_own(self) -> None:
        assert asked("MatMul", "MatMul").layer is None
        assert asked("MatMul", "Mul").layer == "MatMul"

    def test_the_caller_names_what_a_loop_or_nothing_does(self) -> None:
        caller = "reader/lstm_a/PartitionedCall"
        assert asked("while_3", caller=caller).layer == "reader/lstm_a"
        assert asked("AddV2", "AddV2", caller=caller).layer == "reader/lstm_a"
        assert asked("net/conv/Relu", caller=caller).layer == "net/conv"
        assert asked("while_3").layer == "while_3"

    def test_a_nameless_op_belongs_to_what_the_message_names(self) -> None:
        beside = (("_class", '["loc:@dense/kernel"]'),)
        sum_of = "gradients/AddN_3"
        assert asked(sum_of).layer is None
        assert asked(sum_of, forward_node="enc/mul").layer == "enc"
        assert asked(sum_of, attributes=beside).layer == "dense"
        assert asked(sum_of, forward_node="enc/mul", attributes=beside).layer == "enc"
        assert asked("net/conv/Relu", forward_node="enc/mul", attributes=beside).layer == "net/conv"

    def test_the_keras_layer_stands_in(self) -> None:
        asking = asked("MatMul", "MatMul", keras_layer=("dense_1", "Dense"))
        assert (asking.layer, asking.phase) == ("dense_1", Phase.FORWARD)
        assert asked("MatMul", "MatMul", keras_layer=("", "Dense")).layer == "Dense"
        assert asked("net/conv/Relu", keras_layer=("dense_1", "Dense")).layer == "net/conv"

    def test_the_stated_op_counts(self) -> None:
        assert asked("net/conv/Relu", "_FusedConv2D").op == "_FusedConv2D"
        assert asked("net/conv/Relu").op == "Relu"
        assert asked(None, "Conv2D").op == "Conv2D"


class TestMaking:
    def test_weights_and_slots_that_are_created(self) -> None:
        made = asked("net/dense/Fill", creating=True)
        assert (made.kind, made.layer, made.phase) == (Kind.PARAMETER, "net/dense", Phase.FORWARD)
        slot = asked("net/dense/Fill", creating=True, updating=True)
        assert (slot.kind, slot.layer, slot.phase) == (Kind.OPTIMIZER_SLOT, None, Phase.OPTIMIZER)
        named = asked("dense/kernel/Adam", creating=True)
        assert (named.kind, named.layer, named.phase) == (Kind.OPTIMIZER_SLOT, "dense", Phase.OPTIMIZER)

    def test_what_is_made_inside_an_optimizer_is_its_work(self) -> None:
        work = asked("net/dense/mul", updating=True)
        assert (work.kind, work.layer, work.phase) == (Kind.WORKSPACE, None, Phase.OPTIMIZER)
        gradient = asked("gradients/net/dense/MatMul_grad/MatMul", updating=True)
        assert (gradient.kind, gradient.layer) == (Kind.GRADIENT, "net/dense")
        assert asked(None, "Mul", updating=True).kind is Kind.WORKSPACE

    @pytest.mark.parametrize(
        "node, op, given, initial",
        [
            ("fc/kernel/Initializer/truncated_normal", None, {}, True),
            ("Variable_7/Assign", None, {}, True),
            ("fc/truncated_normal/x", None, {}, True),
            ("dropout/truncated_normal/x", None, {}, False),
            ("fc/truncated_normal/x", None, {"keras_layer": ("Dropout_1", "Dropout")}, False),
            ("fc/TruncatedNormal", None, {"shape": (4, 5)}, True),
            ("fc/TruncatedNormal", None, {"shape": (4,)}, False),
            (None, "TruncatedNormal", {"shape": (4, 5)}, True),
            # random numbers in the shape of a kernel, or of a table of 2048 rows
            (None, "RandomUniform", {"shape": (3, 3, 64, 128)}, True),
            (None, "RandomUniform", {"shape": (30, 3, 64, 128)}, False),
            (None, "StatelessRandomUniformV2", {"shape": (2048, 4)}, True),
            (None, "StatelessRandomUniformV2", {"shape": (2047, 4096)}, False),
            (None, "StatelessRandomUniformV2", {"shape": (2048, 4, 4)}, False),
            (None, "RandomGamma", {"shape": (2048, 4)}, False),
            ("fc/random", None, {"shape": (2048, 4), "kernel": "random_op.cc"}, True),
            ("fc/random", None, {"shape": (2048, 4)}, False),
            # no batch of noise is square
            (None, None, {"shape": (768, 768), "kernel": "random_op.cc:76"}, True),
            (None, None, {"shape": (768, 769), "kernel": "random_op.cc:76"}, False),
            (None, None, {"shape": (255, 255), "kernel": "random_op.cc:76"}, False),
            (None, None, {"shape": (768, 768), "kernel": "cwise_op.cc:76"}, False),
            # what constant_op fills without a name, in the shape of a kernel behind Flatten: 7 x 7 x 512
            (None, None, {"shape": (25_088, 4096), "kernel": "constant_op.cc:175"}, True),
            (None, None, {"shape": (25_087, 4096), "kernel": "constant_op.cc:175"}, False),
            (None, None, {"shape": (25_088, 4096), "kernel": "cwise_op.cc:175"}, False),
            ("fc/fill", None, {"shape": (25_088, 4096), "kernel": "constant_op.cc:175"}, False),
        ],
    )
    def test_first_values(
        self, node: str | None, op: str | None, given: dict[str, Any], initial: bool
    ) -> None:
        assert (asked(node, op, **given).kind is Kind.PARAMETER) is initial

    def test_no_gradient_is_a_first_value(self) -> None:
        name = "gradients/fc/truncated_normal/x_grad/Mul"
        assert asked(name).kind is Kind.GRADIENT


class TestBuffers:
    @pytest.mark.parametrize(
        "node, given, buffer",
        [
            ("net/conv/Conv2D", {"kind": RequestKind.WORKSPACE}, True),
            (
                "x",
                {"kernel": "tensorflow/core/kernels/conv_grad_filter_ops.cc:531", "shape": (1, 9, 9)},
                True,
            ),
            ("x", {"kernel": "conv_grad_input_ops.h:694", "shape": (1, 9, 9, 4)}, False),
            ("x", {"kernel": "conv_ops.cc:694", "shape": (1, 9, 9)}, False),
            ("g/Conv3DBackpropFilterV2", {"shape": (32, 64, 64, 2, 16)}, True),
            ("g/Conv3DBackpropFilterV2", {"shape": (3, 3, 3, 16, 16)}, False),
            ("g/Conv3DBackpropInputV2", {"shape": (32, 64, 64, 2, 16)}, False),
            ("g/Conv2DBackpropFilter", {"shape": (1, 65_536, 576)}, True),
            ("g/Conv2DBackpropInput", {"shape": (1, 65_536, 576)}, True),
            ("g/Conv2DBackpropFilter", {"shape": (3, 3, 64, 64)}, False),
            ("g/Conv2D", {"shape": (1, 65_536, 576)}, False),
            ("g/CudnnRNNBackprop", {"shape": (1, 65_536, 576)}, False),
        ],
    )
    def test_of_convolutions(self, node: str, given: dict[str, Any], buffer: bool) -> None:
        assert (asked(node, **given).kind is Kind.WORKSPACE) is buffer

    @pytest.mark.parametrize("op", ["Conv2DBackpropFilter", "Conv2DBackpropInput"])
    def test_the_op_alone_tells(self, op: str) -> None:
        assert asked(None, op, shape=(1, 65_536, 576)).kind is Kind.WORKSPACE
        assert asked("net/renamed", op, shape=(1, 65_536, 576)).kind is Kind.WORKSPACE

    @pytest.mark.parametrize(
        "op, given, kind, phase",
        [
            ("ReluGrad", {}, Kind.GRADIENT, Phase.GRADIENT),
            ("Conv2DBackpropInput", {}, Kind.GRADIENT, Phase.GRADIENT),
            # a transposed convolution of Keras is computed by this op forwards
            (
                "Conv2DBackpropInput",
                {"keras_layer": ("up", "Conv2DTranspose")},
                Kind.ACTIVATION,
                Phase.FORWARD,
            ),
            ("ReluGrad", {"keras_layer": ("up", "ReLU")}, Kind.GRADIENT, Phase.GRADIENT),
            ("Relu", {}, Kind.ACTIVATION, Phase.NONE),
            ("Relu", {"kind": RequestKind.HOST}, Kind.UNATTRIBUTED, Phase.NONE),
            ("Fill", {"creating": True}, Kind.PARAMETER, Phase.NONE),
            ("Fill", {"creating": True, "updating": True}, Kind.OPTIMIZER_SLOT, Phase.OPTIMIZER),
        ],
    )
    def test_an_op_without_a_name(self, op: str, given: dict[str, Any], kind: Kind, phase: Phase) -> None:
        owner = asked(None, op, **given)
        assert (owner.kind, owner.phase) == (kind, phase)

    def test_without_op_and_name_nobody(self) -> None:
        assert asked().kind is Kind.UNATTRIBUTED
