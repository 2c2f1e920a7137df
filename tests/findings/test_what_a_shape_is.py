"""Shapes that could be several things: scores or feature maps, weights or activations, batches or rows."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, oom, report
from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def rules(text: str) -> set[str]:
    return {finding.rule for finding in explained(text).findings}


def called(code: str, layer: str, op: str, shape: str, arguments: str = "") -> str:
    """A failure in a Keras layer's call, as eager mode tells it, below the user's line."""
    return (
        f'Traceback (most recent call last):\n  File "net.py", line 40, in call\n    {code}\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Exception encountered when calling"
        f" {layer}\n\n{{{{function_node __wrapped__{op}_device_{GPU}}}}} OOM when allocating tensor with"
        f" shape[{shape}] and type float on {GPU} by allocator GPU_0_bfc [Op:{op}]\n\n{arguments}"
    )


@pytest.mark.parametrize(
    ("code", "layer", "op", "shape"),
    [
        ("x = self.up2(self.act(x))", "layer 'conv2d_38' (type Conv2D).", "Conv2D", "4,128,192,192"),
        ("y = self.block(self.attn_norm(x))", "BatchNormalization.call().", "Cast", "16,96,224,224"),
        ("x = self.pool(x)", "layer 'pool_3' (type MaxPooling2D).", "MaxPool", "32,64,128,128"),
        ("x = self.gate(x) * x", "Gate.call().", "Mul", "4,64,300,300"),
    ],
)
def test_two_equal_sides_of_an_image_are_no_scores(code: str, layer: str, op: str, shape: str) -> None:
    assert "attention-scores" not in rules(called(code, layer, op, shape))


def test_an_image_in_another_order_is_no_score() -> None:
    shown = "Arguments received by Attend.call():\n  \u2022 x=tf.Tensor(shape=(8, {}), dtype=float32)\n"
    failed = ("scores = self.act(x)", "Attend.call().", "Mul", "8,48,160,160")
    assert "attention-scores" not in rules(called(*failed, shown.format("160, 160, 48")))
    assert "attention-scores" in rules(called(*failed, shown.format("160, 48")))


@pytest.mark.parametrize(
    ("code", "layer", "op"),
    [
        ("w = tf.nn.softmax(s)", "Encoder.call().", "Softmax"),
        ("s = tf.matmul(q, k, transpose_b=True)", "Encoder.call().", "BatchMatMulV2"),
        ("attn = attn + mask", "Encoder.call().", "AddV2"),
        ("s = self.drop(s)", "layer 'self' (type TFBertSelfAttention).", "Mul"),
    ],
)
def test_scores_are_known_by_op_layer_or_code(code: str, layer: str, op: str) -> None:
    assert "attention-scores" in rules(called(code, layer, op, "8,12,1024,1024"))


def test_attention_elsewhere_in_the_net_makes_no_convolution_a_score() -> None:
    held = report("512.0MiB from unet/mid/attn/Softmax")
    assert "attention-scores" not in rules(oom("8,320,64,64", "unet/down_2/Conv2D") + held)
    assert "attention-scores" in rules(oom("8,320,64,64", "unet/down_2/mul") + held)


def ran(code: str, op: str, shape: str, frames: str = "") -> str:
    """An eager op that failed below the user's line, with the library's frames between."""
    return (
        f'Traceback (most recent call last):\n  File "run.py", line 12, in <module>\n    {code}\n{frames}'
        f"tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{{{function_node __wrapped__{op}"
        f"_device_{GPU}}}}} OOM when allocating tensor with shape[{shape}] and type float on {GPU} by"
        f" allocator GPU_0_bfc [Op:{op}]\n"
    )


def advice(text: str) -> str:
    return " | ".join(action.remedy.text for action in explained(text).actions)


@pytest.mark.parametrize(
    ("code", "op", "shape"),
    [
        ("net = tf.keras.applications.VGG16(weights=None)", "Mul", "25088,4096"),
        ("h = layers.Dense(16384)(h)", "StatelessRandomUniformV2", "1024,16384"),
        ("net = build_unet(base=256)", "AddV2", "3,3,1024,2048"),
        ("model = TFAutoModel.from_pretrained('xlm')", "Fill", "250880,2560"),
        ("x = Block(dim)(x)", "StatelessTruncatedNormalV2", "1536,6144"),
        ("model = build_model()", "Add", "6272,4096"),
    ],
)
def test_what_a_line_that_makes_layers_asks_for_is_a_weight(code: str, op: str, shape: str) -> None:
    text = ran(code, op, shape)
    assert (
        "a smaller batch does not help" in explained(text).verdict or "kernel of" in explained(text).verdict
    )
    assert "batch" not in advice(text).replace("at a smaller batch instead", "")


@pytest.mark.parametrize(
    ("code", "op", "shape"),
    [
        ("x = layers.Dense(4096)(x)", "MatMul", "65536,4096"),
        ("y = model(x, training=True)", "AddV2", "25088,4096"),
        ("ds = build_dataset(paths)", "Cast", "60000,784"),
        ("z = tf.random.normal([64, 512, 512, 3])", "RandomStandardNormal", "64,512,512,3"),
    ],
)
def test_what_a_layer_computes_is_no_weight(code: str, op: str, shape: str) -> None:
    assert rules(ran(code, op, shape)).isdisjoint({"parameters-dominate", "dense-kernel-gradient"})


def test_a_graphs_line_that_makes_a_layer_made_its_ops_too() -> None:
    text = (
        "Caused by op u'dense/MatMul', defined at:\n  File \"run.py\", line 30, in <module>\n    x ="
        " tf.layers.dense(x, 4096)\n" + oom("32768,4096", "dense/MatMul")
    )
    assert "parameters-dominate" not in rules(text)


SLOTS = '  File "site-packages/keras/src/optimizers/{}.py", line 92, in build\n    {}\n'


def test_making_slots_is_no_update_and_a_lighter_optimizer_helps() -> None:
    frames = SLOTS.format("rmsprop", "self._velocities = self.add_optimizer_variables(")
    made = explained(ran("model.fit(x)", "Fill", "8192,32768", frames))
    assert "RMSProp was creating its slots" in made.verdict
    assert "keeps less" in made.actions[0].remedy.text
    frames = SLOTS.format("adam", "self.assign_add(m, ops.multiply(g, 0.1))")
    assert "optimizer's update" in explained(ran("model.fit(x)", "Mul", "8192,32768", frames)).verdict


def test_a_table_is_named_by_the_file_of_its_layer_or_by_its_rows() -> None:
    frames = '  File "keras/src/layers/core/embedding.py", line 9, in build\n    self.add_weight(\n'
    for text in (
        ran("u = self.user(ids)", "Mul", "50000000,64", frames),
        oom("3000000,300", "Adam/Adam/update/mul_2"),
    ):
        assert "embedding table of" in explained(text).verdict
        assert "flattened" not in advice(text) and "fewer rows" in advice(text)


def test_the_first_layer_behind_flatten_is_known_by_its_rows() -> None:
    text = oom("{},4096", "", kernel="constant_op.cc").split("\n")[0]
    assert "fully connected kernel" in explained(text.format(25088)).verdict
    assert "kernel" not in explained(text.format(32768)).verdict


def test_a_tables_update_tells_of_the_table() -> None:
    frames = SLOTS.format("adam", "self.assign_add(m, ops.multiply(g, 0.1))")
    said = explained(ran("model.fit(x)", "AssignAddVariableOp", "300000,128", frames))
    assert "embedding table of 300,000 x 128" in said.verdict


@pytest.mark.parametrize(
    ("node", "logits"),
    [
        ("gradients/decoder/logits/MatMul_grad/MatMul", True),
        ("gradients/decoder/logits/MatMul_grad/tuple/control_dependency", True),
        ("gradients/decoder/logits/MatMul_grad/MatMul_1", False),
        ("gradients/decoder/logits/MatMul_grad/tuple/control_dependency_1", False),
    ],
)
def test_a_product_has_a_gradient_for_its_kernel_and_one_for_its_input(node: str, logits: bool) -> None:
    assert ("dense-kernel-gradient" in rules(oom("25600,32000", node))) is not logits
    assert "dense-kernel-gradient" in rules(oom("25600,32000", "gradients/fc/w/Square_grad/Mul"))


def test_a_gradient_as_large_as_its_layers_output_is_the_outputs() -> None:
    node = "gradients/decoder/logits/AddN"
    held = "2.00GiB from decoder/logits/{}"
    assert "dense-kernel-gradient" not in rules(oom("16384,32768", node) + report(held.format("MatMul")))
    assert "dense-kernel-gradient" in rules(oom("16384,32768", node) + report(held.format("w/read")))


@pytest.mark.parametrize(
    ("op", "call", "joined"),
    [
        ("ConcatV2_N_500", "emb = tf.concat(outs, 0)", "`outs` keeps 500 tensors"),
        ("Pack_N_64", "whole = tf.stack(self.buffer)", "`self.buffer` keeps 64 tensors"),
        ("ConcatV2", "emb = tf.concat(outs, axis=0)", "`outs` keeps all its tensors"),
        ("ConcatV2_N_2", "h = tf.concat([h, skip], axis=-1)", ""),
        ("ConcatV2_N_12", "maps = tf.concat(maps, axis=-1)", ""),
    ],
)
def test_a_list_that_is_joined_once_does_not_grow(op: str, call: str, joined: str) -> None:
    said = explained(ran(call, op, "500000,2048"))
    assert (joined in said.verdict) if joined else ("keeps" not in said.verdict)
    assert "growing-concatenation" not in {finding.rule for finding in said.findings}


PREDICTED = """Traceback (most recent call last):
  File "seg.py", line 39, in <module>
    {}
  File "site-packages/keras/src/backend/tensorflow/trainer.py", line 566, in {}
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:

Detected at node land_1/stem_1/convolution defined at (most recent call last):
  File "seg.py", line 39, in <module>

  File "site-packages/keras/src/backend/tensorflow/trainer.py", line 566, in {}

OOM when allocating tensor with shape[{},64,8192,8192] and type float on /device:GPU:0 by allocator GPU_0_bfc
 [[{{{{node land_1/stem_1/convolution}}}}]] [Op:__inference_one_step_on_data_distributed_1302]
"""


def test_keras_3_predicts_and_trains_with_functions_of_one_name() -> None:
    one = advice(PREDICTED.format("mask = run(x)", "predict", "predict", 1))
    assert "the batch is 1 already" in one and "accumulation" not in one
    many = advice(PREDICTED.format("mask = run(x)", "evaluate", "evaluate", 8))
    assert "for evaluation" in many and "this one had 8" in many
    assert "lower the batch: 8 -> " in advice(PREDICTED.format("run(x)", "fit", "fit", 8))


CREATED = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with {} MB memory:  -> device: 0, name: {},"
    " pci bus id: 0000:00:1e.0, compute capability: 8.6\n"
)


@pytest.mark.parametrize(
    ("before", "taken"),
    [
        (CREATED.format(1200, "NVIDIA GeForce RTX 3090"), True),
        (CREATED.format(310, "Tesla V100-SXM2-16GB"), True),
        (CREATED.format(22290, "Odd GPU") + CREATED.format(900, "Odd GPU"), True),
        (CREATED.format(900, "Odd GPU"), False),
        (CREATED.format(13775, "Tesla T4"), False),
        (CREATED.format(4864, "NVIDIA A100-SXM4-40GB MIG 1g.5gb"), False),
        (CREATED.format(1200, "NVIDIA A10G") + "LogicalDeviceConfiguration(memory_limit=1200)\n", False),
        (CREATED.format(412, "NVIDIA Tegra X1"), False),
    ],
)
def test_a_device_that_began_small_was_taken_by_others(before: str, taken: bool) -> None:
    assert ("device-held-by-others" in rules(before + oom("16,64,64,64"))) is taken


def grown(line: str, figures: tuple[float, ...], code: str = "") -> str:
    """Lines of a program that prints what it holds, then a small request that failed."""
    lines = [line.format(100 * number, figure) for number, figure in enumerate(figures)]
    return "\n".join([*lines, oom("64,28,28,128"), code])


@pytest.mark.parametrize(
    "line",
    [
        "epoch 1 step {} loss 2.1 gpu_mem {:.2f} GB",
        "step {}  bytes_in_use {:.2f} GB",
        "iter {} mem: {:.1f}GiB",
    ],
)
def test_what_a_program_prints_of_its_memory_is_read(line: str) -> None:
    said = explained(grown(line, (5.1, 7.2, 9.3), "71     all_preds.append(preds)")).verdict
    assert "over 3 readings" in said and "the list `all_preds`" in said
    assert "readings" not in explained(grown(line, (5.1, 5.0, 9.3))).verdict
    assert "all_preds" not in explained(grown(line, (5.1, 7.2, 9.3), "all_preds.append(float(x))")).verdict


@pytest.mark.parametrize(("kind", "scores"), [("AttentionPooling", True), ("AveragePooling2D", False)])
def test_a_layer_that_pools_by_attention_is_no_pooling_of_maps(kind: str, scores: bool) -> None:
    text = (
        f"Exception encountered when calling layer 'attention_pool' (type {kind}).\n\n"
        "OOM when allocating tensor with shape[8,12000,12000] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Einsum]\n"
    )
    told = [each.rule for each in pipeline.explain(text).findings]
    assert ("attention-scores" in told) == scores
