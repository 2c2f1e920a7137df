"""The first dimension of a failed request is called the batch only where something shows it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.logs import CPU, oom
from tfmemlens import pipeline
from tfmemlens.attribution.moments.first_dimension import FirstDimension, first_dimension
from tfmemlens.attribution.moments.owners import attribute_request
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Request
from tfmemlens.model.incident import Argument, FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report
from tfmemlens.values import replace

EAGER = "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node __wrapped__%s_device_/job:localhost/replica:0/task:0/device:GPU:0}} OOM when allocating tensor with shape[%s] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:%s]\n"  # noqa: E501
CALLED = """Exception encountered when calling layer "scale" (type Scale).

OOM when allocating tensor with shape[%s] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:%s]

Call arguments received by layer "scale" (type Scale):
  \u2022 inputs=tf.Tensor(shape=(%s), dtype=float32)
"""  # noqa: E501


def requested(text: str) -> Request:
    request = pipeline.explain(text).case.moments[0].request
    assert request is not None
    return request


def eager(op: str, shape: str) -> str:
    return EAGER % (op, shape, op)


def advice(report: Report) -> str:
    return " | ".join(action.remedy.text for action in report.actions)


BATCHED = {
    "a convolution": oom("64,112,112,64", "net/conv/Conv2D"),
    "the gradient of its input": oom("64,112,112,64", "gradients/net/conv/Conv2D_grad/Conv2DBackpropInput"),
    "rows of a layer": oom("64,4000", "net/fc/MatMul"),
    "a sum of feature maps": oom("64,28,28,8", "conv1/add"),
    "a sum in a layer": oom("64,128,512", "encoder/layer_0/add"),
    "no op, but an image": eager("Conv2D", "64,28,28,8"),
}
OTHER = {
    "a kernel's gradient": oom("64,3,3,64", "gradients/net/conv/Conv2D_grad/Conv2DBackpropFilter"),
    "a kernel by shape": oom("3,3,384,1024", "net/mul"),
    "boxes": oom("100,800,800,1", "masks/CropAndResize"),
    "time steps": oom("120,32,2000", "decoder/TensorArrayStack/TensorArrayGatherV3"),
    "flattened positions": oom("4096,151936", "loss/SparseSoftmaxCrossEntropyWithLogits"),
    "positions of a projection": oom("4096,50257", "lm/MatMul"),
    "what a reshape made": oom("8192,512", "net/Reshape"),
    "tiled rows": oom("120000,50,180", "dist/Tile"),
    "rows of an unnamed matrix": oom("120000,50", "add"),
}
FIXED = {
    "a weight": (oom("4096,1024", "Variable_7/Assign"), Kind.PARAMETER),
    "an initial value": (oom("4096,1024", "fc/kernel/Initializer/random_uniform"), Kind.PARAMETER),
    "a slot": (oom("4096,1024", "fc/kernel/Adam_1"), Kind.OPTIMIZER_SLOT),
    "random numbers for a kernel": (eager("StatelessRandomUniformV2", "65536,2048"), Kind.PARAMETER),
    "random numbers for a filter": (eager("RandomUniform", "3,3,384,1024"), Kind.PARAMETER),
}


@pytest.mark.parametrize("name", BATCHED)
def test_a_layers_first_dimension_is_the_batch(name: str) -> None:
    assert requested(BATCHED[name]).batch == 64
    assert "halve the batch (64 -> 32)" in advice(pipeline.explain(BATCHED[name]))


@pytest.mark.parametrize("name", OTHER)
def test_what_is_first_elsewhere_is_not(name: str) -> None:
    request = requested(OTHER[name])
    assert (request.batch, request.fixed) == (None, False)
    assert "halve the batch (" not in advice(pipeline.explain(OTHER[name]))


@pytest.mark.parametrize("name", FIXED)
def test_weights_are_as_large_whatever_the_batch(name: str) -> None:
    text, kind = FIXED[name]
    request = requested(text)
    assert request.fixed and request.owner.kind is kind
    assert "halve the batch" not in advice(pipeline.explain(text))


def test_random_numbers_of_dropout_and_noise_are_no_weights() -> None:
    assert not requested(oom("4096,1024", "net/drop/dropout/random_uniform/RandomUniform")).fixed
    assert not requested(eager("RandomStandardNormal", "128,512")).fixed
    assert not requested(eager("RandomStandardNormal", "16,256,256,3")).fixed


def test_what_the_layer_was_called_with_decides() -> None:
    assert requested(CALLED % ("48,100,3", "Sub", "48, 100, 3")).batch == 48
    assert requested(CALLED % ("4800,3", "Sub", "48, 100, 3")).batch == 48
    assert requested(CALLED % ("100,3", "Sub", "48, 100, 3")).batch is None


def test_an_image_of_the_input_pipeline_has_no_batch() -> None:
    text = (
        "(0) Resource exhausted:  OOM when allocating tensor with shape[4096,4096,3] and type float on"
        f" {CPU} by allocator cpu\n\t [[{{{{node resize/ResizeBilinear}}}}]]\n\t [[IteratorGetNext]]\n"
    )
    request = requested(text)
    assert request.fixed and request.failed.pipeline
    near = text.replace("IteratorGetNext", "loss/_4")
    assert not requested(near).failed.pipeline


def test_a_slot_that_an_optimizer_builds_is_recognised_by_its_frames() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/u/train.py", line 12, in <module>\n    opt.apply_gradients(pairs)\n'
        '  File "/lib/python3.9/site-packages/keras/optimizers/adam.py", line 125, in build\n'
        "    self.add_variable_from_reference(\n" + eager("Fill", "250002,4096")
    )
    request = requested(text)
    assert request.owner.kind is Kind.OPTIMIZER_SLOT
    assert request.fixed


def test_the_users_word_counts_for_more() -> None:
    stated = "model.fit(x, y, batch_size=16)\n" + oom("120,32,2000", "decoder/TensorArrayGatherV3")
    assert "halve the batch (16 -> 8)" in advice(pipeline.explain(stated))
    two = "model.fit(x, y, batch_size=2)\n" + oom("120,32,2000", "decoder/TensorArrayGatherV3")
    assert "the batch is 2 already" in advice(pipeline.explain(two))


def dimension(shape: tuple[int | None, ...] | None, node: str | None = None, **given: Any) -> FirstDimension:
    request = FailedRequest(node=node, shape=shape, **given)
    return first_dimension(request, attribute_request(request))


class TestConditions:
    """One at a time, without the sentence around it."""

    @pytest.mark.parametrize("kind", RequestKind)
    def test_by_what_was_asked_for(self, kind: RequestKind) -> None:
        found = dimension((64, 28, 28, 8), "net/conv/Conv2D", kind=kind)
        assert found.batch == (64 if kind is RequestKind.TENSOR else None)
        assert found.fixed is (kind is RequestKind.HOST)
        weight = dimension((64, 28), "fc/kernel", kind=kind)
        assert weight.fixed is (
            kind not in (RequestKind.XLA, RequestKind.TPU, RequestKind.PROGRAM, RequestKind.WORKSPACE)
        )

    @pytest.mark.parametrize("shape", [None, (), (64,), (64, 0, 28, 8), (64, None, 28, 8)])
    def test_what_is_no_batch_of_anything(self, shape: tuple[int | None, ...] | None) -> None:
        assert dimension(shape, "net/conv/Conv2D") == FirstDimension()

    def test_what_the_host_was_asked_for_in_bytes_tells_nothing(self) -> None:
        assert dimension(None, kind=RequestKind.HOST) == FirstDimension()

    @pytest.mark.parametrize(
        "given, fixed",
        [
            ({"node": "net/mul", "pipeline": True}, True),
            ({"node": "_EagerConst"}, True),
            ({"op": "_EagerConst"}, True),
            ({"node": "net/mul"}, False),
            ({"node": "Adam/update_conv/kernel/ApplyAdam"}, True),
            ({"node": "gradients/AddN_3"}, False),
        ],
    )
    def test_what_is_as_large_whatever_the_batch(self, given: dict[str, Any], fixed: bool) -> None:
        assert dimension((64, 28), **given).fixed is fixed

    @pytest.mark.parametrize(
        "shape, node, batch",
        [
            ((64, 28, 28, 8), "net/conv/Conv2D-0-TransposeNHWCToNCHW-LayoutOptimizer", 64),
            ((64, 28), "net/conv/Conv2D-0-TransposeNHWCToNCHW-LayoutOptimizer", 64),
            ((64, 28, 28, 8), "rnn/while/TensorArrayStack/x", None),
            ((64, 28), "gradients/net/fc/Relu_grad/ReluGrad", None),
            ((64, 28, 8), "gradients/net/fc/Relu_grad/ReluGrad", 64),
            ((64, 4999), "lm/MatMul", 64),
            ((64, 5000), "lm/MatMul", None),
            ((64, 5000, 8), "lm/BatchMatMul", 64),
            ((64, 28, 28, 8), "map/conv/Conv2D", None),
            ((64, 28, 28, 8), "heatmap/conv/Conv2D", 64),
            # elementwise: four sides, or three in a layer
            ((64, 28, 28, 8), "Mul", 64),
            ((64, 28, 8), "Mul", None),
            ((64, 28, 8), "net/mul", 64),
            ((64, 28), "net/mul", None),
            ((3, 3, 8, 16), "net/mul", None),  # a kernel
            ((3, 3, 8, 16), "net/Relu", 3),
            ((64, 28, 28, 8), "net/Tile", None),
            # a name of the user's own, and nothing else: an image
            ((64, 8, 8, 3), "net/mine", 64),
            ((64, 8, 7, 3), "net/mine", None),
            ((64, 7, 8, 8), "net/mine", 64),
            ((64, 28, 28), "net/mine", None),
        ],
    )
    def test_by_name_and_shape(self, shape: tuple[int, ...], node: str, batch: int | None) -> None:
        assert dimension(shape, node).batch == batch

    @pytest.mark.parametrize(
        "kernel, batch",
        [
            ("relu_op.cc:12", 64),
            ("tensorflow/core/kernels/conv_ops.cc:531", 64),
            ("maxpooling_op.cc:4", 64),
            ("cwise_op.cc:4", None),
            ("xrelu_op.cc:4", None),
        ],
    )
    def test_by_the_source_of_a_kernel_where_nothing_else_is_named(
        self, kernel: str, batch: int | None
    ) -> None:
        assert dimension((64, 28, 4), kernel=kernel).batch == batch

    def test_three_sides_in_a_keras_layer(self) -> None:
        assert dimension((64, 28, 8), op="Mul").batch is None
        assert dimension((64, 28, 8), op="Mul", keras_layer=("scale", "Scale")).batch == 64

    @pytest.mark.parametrize(
        "shapes, batch",
        [
            ([(48, 100, 3)], 48),
            ([(48, 100), (48, 7, 7)], 48),
            ([(48, 100), (12, 7)], None),
            ([(48,)], None),
            ([(48,), (96, 5)], 96),
            ([(0, 5)], None),
            ([(None, 5)], None),
            ([(50, 5)], None),
        ],
    )
    def test_tensors_that_the_layer_was_called_with(
        self, shapes: list[tuple[int | None, ...]], batch: int | None
    ) -> None:
        line = Line(1, "")
        arguments = tuple(Argument("x", shape, "float32", line) for shape in shapes)
        assert dimension((96, 3), op="Reshape", arguments=arguments).batch == batch

    @pytest.mark.parametrize(
        "shape, fed, batch",
        [
            ((2048, 3), 2048, None),  # as likely positions of all samples
            ((2047, 3), 2047, 2047),
            ((2048, 3), 1024, 1024),
            ((2048, 3, 4), 2048, 2048),
            ((3, 2048), 3, 3),
        ],
    )
    def test_rows_of_a_large_matrix(self, shape: tuple[int, ...], fed: int, batch: int | None) -> None:
        arguments = (Argument("x", (fed, 5), "float32", Line(1, "")),)
        assert dimension(shape, op="Reshape", arguments=arguments).batch == batch

    def test_temporaries_and_gradients_of_weights_have_none(self) -> None:
        request = FailedRequest(node="net/conv/Conv2D", shape=(64, 28, 28, 8))
        owner = attribute_request(request)
        assert first_dimension(request, owner).batch == 64
        for kind in (Kind.WORKSPACE, Kind.LOOP_STACK):
            assert first_dimension(request, replace(owner, kind=kind)).batch is None
