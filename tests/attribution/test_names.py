"""From node names to the user's layers: every wrapping of every era."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmemlens.attribution.names.node_names import owner_of

NAMES = """
# what the user wrote
shared_model/unet_00/Conv2D                                                     shared_model/unet_00            activation        forward
network/convolutions/conv2d_5/Conv2D                                            network/convolutions/conv2d_5   activation        forward
dense/Tensordot/MatMul                                                          dense                           activation        forward
X_1/layer_10/attention/Tensordot_2/MatMul                                       X_1/layer_10/attention          activation        forward
bert/encoder/layer_10/attention/self/Softmax                                    bert/encoder/layer_10/attention/self activation   forward
enc_bn/cond/FusedBatchNormV3                                                    enc_bn                          activation        forward
model/dropout/dropout/Mul_1                                                     model/dropout                   activation        forward
model/drop/dropout/Mul_1                                                        model/drop                      activation        forward
36-leaky                                                                        36-leaky                        activation        forward
MatMul_1                                                                        MatMul_1                        activation        forward
add_46                                                                          add_46                          activation        forward
functional_1/enc_bn_1/moments/SquaredDifference                                 functional_1/enc_bn_1           activation        forward
functional_1/enc_bn_1/batchnorm/mul_1                                           functional_1/enc_bn_1           activation        forward
# layers of Keras under the names of functions
functional_1/conv2d_transpose_1/conv_transpose                                  functional_1/conv2d_transpose_1 activation        forward
model/conv2d_transpose_1/conv2d_transpose                                       model/conv2d_transpose_1        activation        forward
model/conv2d_transpose_1/BiasAdd                                                model/conv2d_transpose_1        activation        forward
model/up/conv2d_transpose                                                       model/up                        activation        forward
decoder/conv2d_transpose_1                                                      decoder                         activation        forward
model/add_1/add                                                                 model/add_1                     activation        forward
model/block/add_1                                                               model/block                     activation        forward
model/reshape/Reshape                                                           model/reshape                   activation        forward
gradient_tape/model/conv2d_transpose_1/ReluGrad                                 model/conv2d_transpose_1        gradient          gradient
gradient_tape/model/conv2d_transpose_1/conv2d_transpose/Conv2DBackpropFilter    model/conv2d_transpose_1        gradient          gradient
gradient_tape/model/up/conv2d_transpose/Conv2DBackpropFilter                    model/up                        gradient          gradient
gradient_tape/decoder/conv2d_transpose_1/Conv2D                                 decoder                         gradient          gradient
# update ops and first values, whatever they stand under
ResourceApplyAdam                                                               -                               workspace         optimizer
adam_w/AssignSub                                                                -                               workspace         optimizer
optimizer/AssignSubVariableOp_3                                                 -                               workspace         optimizer
conv1/kernel/initial_value                                                      conv1                           parameter         forward
conv1/initial_values/Mul                                                        conv1/initial_values            activation        forward
net/accumulator                                                                 net                             activation        forward
# gradients of all eras
gradients/shared_model/unet_02/Conv2D_grad/Conv2DBackpropFilter                 shared_model/unet_02            gradient          gradient
gradients_1/a/b/MatMul_grad/MatMul_1                                            a/b                             gradient          gradient
gradients/gradients/a/b/MatMul_grad/MatMul_grad/MatMul                          a/b                             gradient          gradient
gradients/AddN_3                                                                -                               gradient          gradient
gradients/zeros_22                                                              -                               gradient          gradient
gradients/Mean_grad/Tile                                                        Mean                            gradient          gradient
training/Adam/gradients/c2/Conv2D_grad/Conv2DBackpropFilter                     c2                              gradient          gradient
Adam/gradients/c2/Conv2D_grad/Conv2DBackpropInput                               c2                              gradient          gradient
training/Adam/gradients/gradients/c2/Conv2D_grad/Conv2DBackpropInput            c2                              gradient          gradient
training_1/SGD/gradients/dense_1/MatMul_grad/MatMul_1                           dense_1                         gradient          gradient
OptimizeLoss/gradients/conv/Conv2D_grad/Conv2DBackpropFilter                    conv                            gradient          gradient
gradient_tape/model/enc_conv/Conv2D/Conv2DBackpropFilter                        model/enc_conv                  gradient          gradient
gradient_tape/model/dense/MatMul_1                                              model/dense                     gradient          gradient
gradient_tape/model/dense/MatMul/MatMul_1                                       model/dense                     gradient          gradient
gradient_tape/functional_1/enc_conv_1/convolution/Conv2DBackpropFilter          functional_1/enc_conv_1         gradient          gradient
gradient_tape/model/pool/MaxPool/MaxPoolGrad                                    model/pool                      gradient          gradient
PartitionedCall/gradient_tape/model/enc/Conv2D/Conv2DBackpropInput              model/enc                       gradient          gradient
# functions, replicas, towers
StatefulPartitionedCall/sequential_1/enc_conv_1/Relu                            sequential_1/enc_conv_1         activation        forward
PartitionedCall_1/StatefulPartitionedCall/blk/Conv2D                            blk                             activation        forward
PartitionedCall_1/gradients/blk/dense_grad/MatMul_1                             blk                             gradient          gradient
replica_1/sequential/enc/Conv2D                                                 sequential/enc                  activation        forward
StatefulPartitionedCall/gradient_tape/replica_1/sequential_1/enc/Conv2D/Conv2DBackpropFilter sequential_1/enc   gradient          gradient
tower_1/conv1/Conv2D                                                            tower_1/conv1                   activation        forward
tower_1/gradients/tower_1/conv1/Conv2D_grad/Conv2DBackpropInput                 tower_1/conv1                   gradient          gradient
# variables, slots, updates
shared_model/unet_conv_01_w/read                                                shared_model                    parameter         forward
dense/kernel                                                                    dense                           parameter         forward
dense/bias/Read/ReadVariableOp                                                  dense                           parameter         forward
dense/kernel/Initializer/random_uniform/RandomUniform                           dense                           parameter         forward
conv/kernel/Adam                                                                conv                            optimizer-slot    optimizer
conv/kernel/Adam_1                                                              conv                            optimizer-slot    optimizer
conv/weights/Momentum                                                           conv                            optimizer-slot    optimizer
conv/weights/RMSProp_2                                                          conv                            optimizer-slot    optimizer
beta1_power                                                                     beta1_power                     optimizer-slot    optimizer
training/Adam/enc_conv/kernel/m                                                 enc_conv                        optimizer-slot    optimizer
Adam/block/enc_conv/kernel/vhat                                                 block/enc_conv                  optimizer-slot    optimizer
RMSprop/dense/kernel/rms                                                        dense                           optimizer-slot    optimizer
SGD/dense/kernel/momentum                                                       dense                           optimizer-slot    optimizer
Adam/m/dense/kernel                                                             dense                           optimizer-slot    optimizer
adam/enc_conv_kernel_momentum                                                   enc_conv                        optimizer-slot    optimizer
adam/enc_conv_kernel_velocity                                                   enc_conv                        optimizer-slot    optimizer
Adam/update_conv/kernel/ApplyAdam                                               conv                            workspace         optimizer
training/Adam/Adam/update_enc/kernel/ResourceApplyAdam                          enc                             workspace         optimizer
Adam/Adam/update_8/ResourceApplyAdam                                            -                               workspace         optimizer
adam/Square_8                                                                   -                               workspace         optimizer
training_10/Adam/mul_23                                                         -                               workspace         optimizer
# loops
rnn/while/mm                                                                    rnn                             activation        forward
rnn/while/rnn/multi_rnn_cell/cell_0/basic_lstm_cell/MatMul                      rnn/multi_rnn_cell/cell_0/basic_lstm_cell activation forward
functional_1/lstm_a_1/while/body/_1/functional_1/lstm_a_1/while/lstm_cell_1/MatMul functional_1/lstm_a_1        activation        forward
gradient_tape/functional_1/gru_b_1/while/functional_1/gru_b_1/while_grad/body/_207/gradient_tape/functional_1/gru_b_1/while/gradients/functional_1/gru_b_1/while/gru_cell_1/MatMul_grad/MatMul functional_1/gru_b_1 gradient gradient
while_15/body/_1/while/MatMul_1                                                 while_15                        activation        forward
gradients/rnn/while/mm_grad/MatMul/f_acc                                        rnn                             loop-stack        gradient
gradients/rnn/while/mm/Enter_grad/b_acc_2                                       rnn                             loop-stack        gradient
rnn/TensorArrayV2Stack/TensorListStack                                          rnn                             loop-stack        forward
# Grappler
shared_model/unet_01/BiasAdd-0-1-TransposeNCHWToNHWC-LayoutOptimizer            shared_model/unet_01            layout-transpose  forward
shared_model/unet_02/Conv2D-0-TransposeNHWCToNCHW-LayoutOptimizer               shared_model/unet_02            layout-transpose  forward
gradients/shared_model/unet_07/Conv2D_grad/Conv2DBackpropFilter-0-TransposeNHWCToNCHW-LayoutOptimizer shared_model/unet_07 layout-transpose gradient
LayoutOptimizerTransposeNHWCToNCHW-shared_model/unet_02/Conv2D-0                shared_model/unet_02            layout-transpose  forward
LayoutOptimizerTransposeNCHWToNHWC-conv1/Conv2D-0-1                             conv1                           layout-transpose  forward
c3/Conv3D-0-TransposeNDHWCToNCDHW-LayoutOptimizer                               c3                              layout-transpose  forward
pad/Pad-1-DataFormatVecPermuteNHWCToNCHW-LayoutOptimizer                        pad                             constant          forward
ConstantFolding/gradients/blk/cv_grad/ShapeN-matshapes-1                        blk                             constant          gradient
ConstantFolding/gradients/Mean_grad/truediv_recip                               Mean                            constant          gradient
_cloopConstantFolding/a/b-folded-0/_5                                           a                               constant          forward
ArithmeticOptimizer/ReplaceMulWithSquare_mul                                    mul                             activation        forward
enc/ArithmeticOptimizer/AddOpsRewrite_add_1                                     enc                             activation        forward
model/conv/Conv2D-0-CastToFp16-AutoMixedPrecision                               model/conv                      activation        forward
Recomputed/block1/conv/Relu                                                     block1/conv                     activation        forward
swap_out_block1/conv/Relu_0                                                     block1/conv                     transfer          forward
# input, output, transfer, runtime
_arg_frames_0_0                                                                 frames                          input             input
_retval_loss/mul_0_0                                                            loss                            transfer          forward
add_46/_53                                                                      add_46                          transfer          forward
IteratorGetNext                                                                 IteratorGetNext                 input             input
_EagerConst                                                                     -                               unattributed      forward
# scopes that only look like TensorFlow's
head/global_norm_scale/mul                                                      head/global_norm_scale          activation        forward
net/global_norm                                                                 net                             activation        forward
clip_by_global_norm/mul_3                                                       -                               gradient          gradient
train/clip_by_global_norm_1/truediv                                             -                               gradient          gradient
train/global_norm/L2Loss_4                                                      -                               gradient          gradient
tower_1/gradients/net/conv/MatMul_grad/MatMul                                   tower_1/net/conv                gradient          gradient
gpu_1/gradients/net/conv/MatMul_grad/MatMul                                     gpu_1/net/conv                  gradient          gradient
tower_1/gradients/tower_11/conv/MatMul_grad/MatMul                              tower_1/tower_11/conv           gradient          gradient
worker_1/gradients/net/conv/MatMul_grad/MatMul                                  net/conv                        gradient          gradient
# loops and branches
while                                                                           while                           activation        forward
while/MatMul                                                                    while                           activation        forward
while/while/MatMul                                                              while                           activation        forward
while/cond/dense/MatMul                                                         dense                           activation        forward
cond/Switch                                                                     cond                            activation        forward
cond/dense/MatMul                                                               dense                           activation        forward
rnn/while                                                                       rnn                             activation        forward
lstm/while/lstm_cell/MatMul                                                     lstm                            activation        forward
enc/while/dense/MatMul                                                          enc/dense                       activation        forward
enc/while/enc/dense/MatMul                                                      enc/dense                       activation        forward
a/b/while/a/b/MatMul                                                            a/b                             activation        forward
a/b/while/b/c/MatMul                                                            a/b/c                           activation        forward
rnn/cond/while/rnn/cell/MatMul                                                  rnn                             activation        forward
rnn/while/accumulator                                                           rnn                             loop-stack        forward
accumulator                                                                     accumulator                     activation        forward
rnn/while/StackPush_1                                                           rnn                             loop-stack        forward
a/b/body/_12                                                                    a/b                             activation        forward
a/b/_12                                                                         a                               transfer          forward
# parts of variables, and variables by other names
net/part_0/kernel                                                               net                             parameter         forward
net/weights/part_1/Adam                                                         net                             optimizer-slot    optimizer
net/w/Assign                                                                    net                             parameter         forward
w/read                                                                          w                               parameter         forward
bert/embeddings/add                                                             bert/embeddings                 activation        forward
tokens/embeddings/Initializer/mul                                               tokens                          parameter         forward
model/embeddings/Read/ReadVariableOp                                            model                           parameter         forward
# the runtime, Grappler and the compiler
XRTExecute                                                                      -                               unattributed      forward
XRTCompileOp                                                                    -                               unattributed      forward
_XlaRun                                                                         -                               unattributed      forward
LoopCond                                                                        -                               unattributed      forward
x/LoopCond                                                                      x                               activation        forward
scoped_allocator_3                                                              -                               gradient          gradient
AutoParallel-Replica-2/conv/Relu                                                conv                            activation        forward
LoopOptimizer/conv/Relu                                                         conv                            activation        forward
cluster_0_1/dense/MatMul                                                        dense                           activation        forward
xla_run/dense/MatMul                                                            dense                           activation        forward
Func/StatefulPartitionedCall/input/_2                                           -                               input             input
StatefulPartitionedCall                                                         StatefulPartitionedCall         activation        forward
PartitionedCall_2                                                               PartitionedCall_2               activation        forward
edge_45_conv/Relu                                                               conv                            transfer          forward
_S12                                                                            -                               transfer          forward
/_12                                                                            -                               transfer          forward
ConstantFolding/a/b/_7                                                          a                               constant          forward
ConstantFolding/a/b_enter                                                       a                               constant          forward
RecomputeTrigger/block1/conv                                                    block1                          activation        forward
swap_in_block1/conv/Relu_0_1                                                    block1/conv                     transfer          forward
# default names of Keras's layers, by what is in them
model/conv2d_transpose_2/stack                                                  model/conv2d_transpose_2        activation        forward
model/add_3/add                                                                 model/add_3                     activation        forward
drop_1/dropout/mul                                                              drop_1                          activation        forward
model/dropout_2/mul                                                             model/dropout_2                 activation        forward
# JAX
jit(train_step)/jit(main)/jvp(Transformer)/encoder/layer_0/dot_general          Transformer/encoder/layer_0     activation        forward
jit(step)/jvp(jit(silu))/div                                                    -                               activation        forward
jit(step)/transpose(jvp(jit(silu)))/add_any                                     -                               gradient          gradient
jit(train_step)/jit(main)/transpose(jvp(Transformer))/encoder/layer_0/dot_general Transformer/encoder/layer_0   gradient          gradient
pjit(train_step)/jit(main)/jvp(Net)/while/body/remat/attn/dot_general           Net/attn                        activation        forward
"""
CASES = [tuple(line.split()) for line in NAMES.strip().split("\n") if line and not line.startswith("#")]


@pytest.mark.parametrize(("name", "layer", "kind", "phase"), CASES, ids=lambda value: value[:60])
def test_a_name_betrays_its_layer(name: str, layer: str, kind: str, phase: str) -> None:
    owner = owner_of(name)
    assert (owner.layer or "-", owner.kind.value, owner.phase.value) == (layer, kind, phase)


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("gradients/a/Conv2D_grad/Conv2DBackpropFilter", "Conv2DBackpropFilter"),
        ("a/MatMul_3", "MatMul"),
        ("gradients/a/Softmax_grad/mul", "Mul"),
        ("a/BiasAdd-0-1-TransposeNCHWToNHWC-LayoutOptimizer", "Transpose"),
        ("a/my_own_name", None),
        ("__wrapped__MatMul_device_/job:localhost/replica:0/task:0/device:GPU:0", "MatMul"),
    ],
)
def test_a_default_name_betrays_its_op(name: str, op: str | None) -> None:
    assert owner_of(name).op == op


def test_a_stated_op_type_counts_more_than_the_name() -> None:
    assert owner_of("head/Relu", "_FusedConv2D").op == "_FusedConv2D"
    assert owner_of("x/_12", "_Recv").kind.value == "transfer"


@pytest.mark.parametrize("name", ["replica_1/a/Relu", "gradient_tape/replica_1/a/Relu/ReluGrad"])
def test_replicas_are_counted_not_named(name: str) -> None:
    assert owner_of(name).replica == 1
    assert owner_of(name).layer == "a"


@pytest.mark.parametrize(
    ("name", "replica"),
    [
        ("AutoParallel-Replica-2/conv/Relu", 2),
        ("AutoParallel-Replica-0-conv/Relu", 0),
        ("LoopOptimizer/conv/Relu", None),
        ("replica_3/conv/Relu", 3),
        ("conv/Relu", None),
        ("gradient_tape/replica_4/conv/Relu/ReluGrad", 4),
    ],
)
def test_the_replica(name: str, replica: int | None) -> None:
    assert (owner_of(name).replica, owner_of(name).layer) == (replica, "conv")


@pytest.mark.parametrize(
    ("name", "looped"),
    [
        ("rnn/while/mul", True),
        ("rnn/while_1/mul", True),
        ("while", True),
        ("rnn/while_body/mul", False),
        ("rnn/worthwhile/mul", False),
        ("rnn/cond/mul", False),
        ("f/body/_1/f/mul", True),
        ("f/cond/_1/f/mul", False),
        ("f/then/_1/g/body/_3/f/mul", True),
        ("f/body/_1/g/then/_3/f/mul", True),
        ("f/then/_1/f/mul", False),
    ],
)
def test_what_runs_in_a_loop(name: str, looped: bool) -> None:
    assert owner_of(name).in_loop is looped


@pytest.mark.parametrize(
    ("name", "op", "copy_of"),
    [
        ("a/BiasAdd-0-1-TransposeNCHWToNHWC-LayoutOptimizer", "Transpose", "output"),
        ("a/Conv2D-0-TransposeNHWCToNCHW-LayoutOptimizer", "Transpose", "input"),
        ("a/Conv2D-0-TransposeNHWCToNCHW-LayoutOptimizer_1/_7", "Transpose", "input"),
        ("LayoutOptimizerTransposeNHWCToNCHW-a/Conv2D-0", "Transpose", "input"),
        ("LayoutOptimizerTransposeNCHWToNHWC-a/Conv2D-0-1", "Transpose", "output"),
        ("a/Pad-1-DataFormatVecPermuteNHWCToNCHW-LayoutOptimizer", None, None),
        ("a/Pad-1-LayoutOptimizer", None, None),
    ],
)
def test_what_the_layout_pass_copies(name: str, op: str | None, copy_of: str | None) -> None:
    owner = owner_of(name)
    assert (owner.copy_of, owner.layer) == (copy_of, "a")
    assert owner.kind.value == ("layout-transpose" if op else "constant")
    if op:
        assert owner.op == op


@pytest.mark.parametrize(
    ("name", "op", "forward"),
    [
        ("{{node net/conv/Conv2D}}", "Conv2D", "net/conv/Conv2D"),
        ("{{function_node f_3}}{{node net/conv/Conv2D}}", "Conv2D", "net/conv/Conv2D"),
        ("^net/conv/Conv2D:0", "Conv2D", "net/conv/Conv2D"),
        (" net/conv/Conv2D:Conv2D ", "Conv2D", "net/conv/Conv2D"),
        ("gradients/net/conv/Conv2D_grad/ShapeN", "ShapeN", "net/conv/Conv2D"),
        ("gradients/AddN_3", "AddN", None),
        ("model/conv/Conv2D-0-CastToFp16-AutoMixedPrecision", "Cast", "model/conv/Conv2D"),
        ("ConstantFolding/a/b-folded-0", "Const", "a/b"),
        ("__inference_train_step_123", None, "train_step"),
        ("__backward_net_12_34", None, "net"),
    ],
)
def test_what_is_behind_a_name(name: str, op: str | None, forward: str | None) -> None:
    assert (owner_of(name).op, owner_of(name).forward) == (op, forward)


@pytest.mark.parametrize(
    ("op", "kind", "phase"),
    [
        ("ResourceApplyAdam", "workspace", "optimizer"),
        ("SparseApplyAdagrad", "workspace", "optimizer"),
        ("VarHandleOp", "parameter", "forward"),
        ("AssignVariableOp", "parameter", "forward"),
        ("Const", "constant", "forward"),
        ("Placeholder", "input", "input"),
        ("_Recv", "transfer", "forward"),
        ("TensorListStack", "loop-stack", "forward"),
        ("Relu", "activation", "forward"),
    ],
)
def test_a_stated_op_tells_what_a_users_own_name_does_not(op: str, kind: str, phase: str) -> None:
    owner = owner_of("net/mine", op)
    assert (owner.layer, owner.kind.value, owner.phase.value, owner.op) == ("net", kind, phase, op)


PARTS = st.sampled_from(
    """
        gradients gradient_tape a conv_1 Conv2D Conv2D_grad while body _12 cond then Adam update_a kernel m
        tower_0 replica_1 PartitionedCall MatMul MatMul_1 ConstantFolding x-folded _arg_x_0_0 dropout rnn
        f_acc
    """.split()
)


ENDS = st.sampled_from(
    [
        "",
        "-0-1-TransposeNCHWToNHWC-LayoutOptimizer",
        "-0-TransposeNHWCToNCHW-LayoutOptimizer",
        "-0-TransposeNHWCToNCHW-LayoutOptimizer/_7",
    ]
)


@given(st.lists(PARTS, min_size=1, max_size=7).map("/".join), ENDS)
def test_no_wrapping_stays_in_a_layer(name: str, end: str) -> None:
    layer = owner_of(name + end).layer or ""
    assert "LayoutOptimizer" not in layer
    assert not layer.startswith("/")
    assert "//" not in layer


@pytest.mark.whole
@given(st.text(max_size=200))
def test_any_text_is_somebodys_or_nobodys(name: str) -> None:
    owner_of(name)
