"""The words that TensorFlow itself puts into node names, so that what remains is what the user wrote.

Op names come from the op registries of TensorFlow 1.10 to 2.21; scopes from names seen in real graphs of
these versions.
"""

from __future__ import annotations

OPS = frozenset(
    """
    Abs AccumulateNV2 Acos Acosh Add AddN AddV2 All Any ApproximateEqual ArgMax ArgMin Asin Asinh Assign
    AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp AssignVariableOp Atan Atan2 Atanh AvgPool
    AvgPool3D AvgPool3DGrad AvgPoolGrad AvgPool1d AvgPool2d AvgPool3d BatchMatMul BatchMatMulV2 BatchMatMulV3
    BatchNormWithGlobalNormalization BatchToSpace BatchToSpaceND BiasAdd BiasAddGrad BiasAddV1 Bincount
    Bitcast BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 BroadcastArgs BroadcastGradientArgs
    BroadcastTo Cast Ceil CheckNumerics Cholesky CholeskyGrad ClipByValue Concat ConcatOffset ConcatV2 Const
    Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilter Conv3DBackpropFilterV2
    Conv3DBackpropInput Conv3DBackpropInputV2 CopyOp Cos Cosh CropAndResize CropAndResizeGradBoxes
    CropAndResizeGradImage Cross CudnnRNN CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3 CudnnRNNV2
    CudnnRNNV3 Cumprod Cumsum DataFormatDimMap DataFormatVecPermute DepthToSpace DepthwiseConv2dNative
    DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Diag DiagPart Dilation2D Div
    DivNoNan DynamicPartition DynamicStitch Einsum Elu EluGrad Empty EmptyTensorList EnsureShape Enter Equal
    Erf Erfc EuclideanNorm Exit Exp ExpandDims Expm1 ExtractImagePatches ExtractVolumePatches FFT FFT2D FFT3D
    Fill Floor FloorDiv FloorMod FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3
    FusedBatchNormV2 FusedBatchNormV3 FusedPadConv2D Gather GatherNd GatherV2 Greater GreaterEqual
    GRUBlockCell GRUBlockCellGrad IFFT IFFT2D IFFT3D IRFFT IRFFT2D Identity IdentityN InTopK InplaceAdd
    InplaceUpdate InvertPermutation IsFinite IsInf IsNan L2Loss LRN LRNGrad LSTMBlockCell LSTMBlockCellGrad
    LeakyRelu LeakyReluGrad Less LessEqual LinSpace Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr
    LoopCond MatMul MatrixBandPart MatrixDiag MatrixDiagPart MatrixInverse MatrixSetDiag MatrixSolve
    MatrixTriangularSolve Max MaxPool MaxPool1d MaxPool2d MaxPool3d MaxPool3D MaxPool3DGrad MaxPoolGrad
    MaxPoolGradGrad MaxPoolGradV2 MaxPoolGradWithArgmax MaxPoolV2 MaxPoolWithArgmax Maximum Mean Merge Min
    Minimum MirrorPad MirrorPadGrad Mod Mul MulNoNan Multinomial Neg NextIteration NoOp NonMaxSuppressionV3
    NotEqual OneHot OnesLike Pack Pad PadV2 ParallelDynamicStitch PartitionedCall Placeholder
    PlaceholderWithDefault Pow PreventGradient Prod PyFunc EagerPyFunc Qr RFFT RFFT2D RandomShuffle
    RandomStandardNormal RandomUniform RandomUniformInt Range Rank ReadVariableOp RealDiv Reciprocal
    ReciprocalGrad RefEnter RefExit RefMerge RefNextIteration RefSwitch Relu Relu6 Relu6Grad ReluGrad Reshape
    ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor
    ResizeNearestNeighborGrad ResourceGather ResourceScatterAdd Reverse ReverseSequence ReverseV2 Rint Round
    Rsqrt RsqrtGrad ScaleAndTranslate ScatterNd SegmentMean SegmentSum Select SelectV2 Selu SeluGrad Shape
    ShapeN Sigmoid SigmoidGrad Sign Sin Sinh Size Slice Snapshot Softmax SoftmaxCrossEntropyWithLogits
    Softplus SoftplusGrad Softsign SoftsignGrad SpaceToBatch SpaceToBatchND SpaceToDepth SparseSegmentMean
    SparseSegmentSum SparseSoftmaxCrossEntropyWithLogits SparseTensorDenseMatMul Split SplitV Sqrt SqrtGrad
    Square SquaredDifference Squeeze Stack StackPop StackPopV2 StackPush StackPushV2 StackV2
    StatefulPartitionedCall StatelessRandomGetKeyCounter StatelessRandomNormal StatelessRandomNormalV2
    StatelessRandomUniform StatelessRandomUniformV2 StatelessTruncatedNormal StatelessTruncatedNormalV2
    StatelessWhile StopGradient StridedSlice StridedSliceGrad Sub Sum Svd Switch Tan Tanh TanhGrad
    TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayGradV3 TensorArrayReadV3 TensorArrayScatterV3
    TensorArraySizeV3 TensorArraySplitV3 TensorArrayUnstack TensorArrayV3 TensorArrayWrite TensorArrayWriteV3
    TensorArrayReadV3 TensorArrayStack TensorListConcat TensorListConcatV2 TensorListElementShape
    TensorListFromTensor TensorListGather TensorListGetItem TensorListLength TensorListPopBack
    TensorListPushBack TensorListReserve TensorListResize TensorListScatter TensorListScatterV2
    TensorListSetItem TensorListSplit TensorListStack TensorArrayV2Stack TensorArrayUnstack Tile TopK TopKV2
    Transpose TruncateDiv TruncateMod TruncatedNormal Unique UniqueV2 Unpack UnsortedSegmentSum VarHandleOp
    VarIsInitializedOp Variable VariableShape VariableV2 Where While Xdivy Xlogy ZerosLike ApplyAdaMax
    ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam ApplyCenteredRMSProp ApplyFtrl
    ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyProximalAdagrad ApplyRMSProp ResourceApplyAdaMax
    ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradV2 ResourceApplyAdam
    ResourceApplyAdamWithAmsgrad ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2
    ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyRMSProp
    SparseApplyAdagrad SparseApplyAdam SparseApplyMomentum ScatterAdd ScatterSub
""".split()
)
"""Op types; as a part of a name (with or without `_1`) such a word is TensorFlow's own, not the user's.

Not built from the table of ops: that is for graphs, and explaining a pasted log must not wait for it. Nor
are the two alike: this has words that are seen in names whatever is known of the op (`MaxPool1d`, `FFT2D`),
and lacks ops that are in no name (`_FusedConv2D`, `HostConst`) or have names like users' (`Real`, `Debug`).
"""

FUNCTION_SCOPES = frozenset(
    """
    Tensordot tensordot moments batchnorm cond while sufficient_statistics normalize dropout_mask
    stateless_dropout stateless_random_uniform stateless_random_normal random_uniform random_normal
    truncated_normal AssignMovingAvg Initializer Read read IsInitialized Regularizer einsum matmul
    softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_sg SparseSoftmaxCrossEntropyWithLogits
    sparse_softmax_cross_entropy_loss sigmoid_cross_entropy_loss logistic_loss weighted_loss broadcast_weights
    assert_broadcastable assert_equal clip_by_global_norm global_norm clip_by_norm clip_by_value l2_normalize
    zeros ones zeros_like ones_like strided_slice meshgrid norm_mul convolution conv_transpose
    conv2d_transpose depthwise separable_conv2d resize resize_images resize_bilinear resize_nearest_neighbor
    resize_image_with_pad map_while TensorArrayV2Stack TensorArrayUnstack TensorArrayStack TensorArrayScatter
    TensorArrayGather TensorArrayV2 TensorArrayV2Read TensorArrayV2Write split stack unstack concat transpose
    reshape mul add sub truediv floordiv div pow sequence_mask one_hot ones_initializer ExtractImagePatches
    embedding_lookup_sparse in_top_k gradients_fn remove_squeezable_dimensions scatter_update case switch_case
""".split()
)
"""Scopes that Python functions of TensorFlow open around several ops."""

FUNCTION_OPS = {
    "mul": "Mul",
    "sub": "Sub",
    "truediv": "RealDiv",
    "floordiv": "FloorDiv",
    "pow": "Pow",
    "concat": "ConcatV2",
    "split": "Split",
    "stack": "Pack",
    "unstack": "Unpack",
    "transpose": "Transpose",
    "strided_slice": "StridedSlice",
    "one_hot": "OneHot",
    "random_uniform": "RandomUniform",
    "range": "Range",
    "zeros_like": "ZerosLike",
    "ones_like": "OnesLike",
    "zeros": "Fill",
    "ones": "Fill",
}
"""Op types of nodes that keep the lower-case name of their Python function; `add` is missing: it may be Add
or AddV2.
"""

VARIABLES = frozenset(
    """
    kernel bias gamma beta moving_mean moving_variance mean variance weights weight biases embeddings
    embedding_table recurrent_kernel depthwise_kernel pointwise_kernel depthwise_weights pointwise_weights
    alpha recurrent_bias recurrent_weights
""".split()
)
"""Last parts of variable names: what precedes them is the layer."""

OF_VARIABLES = frozenset(
    """
    Initializer Regularizer Read read Assign AssignVariableOp ReadVariableOp IsInitialized VarIsInitializedOp
    VariableV2 VarHandleOp ExponentialMovingAverage Enter Switch L2Loss initial_value cond GatherV2 Gather
    ResourceGather embedding_lookup reduction_indices
""".split()
)
"""What may stand below a variable's name in the names of the ops that serve it."""

TF1_SLOTS = frozenset(
    """
        Adam Momentum RMSProp RMSprop Adagrad Adadelta AdaDelta Ftrl FTRL ProximalAdagrad AdaMax Adamax Nadam
        AMSGrad LARSOptimizer LAMB adam_m adam_v ExponentialMovingAverage RectifiedAdam AdamW AdagradDA SGDW
    """.split()
)
"""Slots of tf.train optimizers are named VARIABLE/SLOT, `conv/kernel/Adam` and `conv/kernel/Adam_1`."""

KERAS_OPTIMIZERS = frozenset(
    """
        Adam AdamW Nadam Adamax SGD RMSprop RMSProp Adagrad Adadelta Ftrl Adafactor Lion LAMB LazyAdam Yogi
        NovoGrad RectifiedAdam LossScaleOptimizer Momentum GradientDescent Optimizer adam adamw nadam adamax
        sgd rm_sprop rmsprop adagrad adadelta ftrl adafactor lion lamb loss_scale_optimizer adam_w muon Muon
        optimizer
    """.split()
)
"""Scopes under which Keras and tf.train optimizers name their slots and update ops."""

KERAS_SLOTS = frozenset(
    "m v vhat rms momentum mg accumulator accum_grad accum_var linear n u r c mean_square accumulated_grad"
    " delta_accumulator average velocity hat".split()
)
"""Slots of tf.keras optimizers: OPTIMIZER/VARIABLE/SLOT up to 2.10, OPTIMIZER/SLOT/VARIABLE in 2.11 to
2.15.
"""

KERAS3_SLOTS = frozenset(
    [
        *"momentum velocity velocity_hat norm average gradient_accumulator accumulator accumulated_grad"
        " accumulated_delta_var mean_square linear".split(),
        "accumulated_gradients",
        "gradient_accumulators",
        "moving_average",
        "r",
        "c",
        "u",
        "m",
        "v",
    ]
)
"""Slots of Keras 3: OPTIMIZER/variable_path_with_underscores_SLOT."""

INSIDE_CONV2D_TRANSPOSE = frozenset(
    """
        ReadVariableOp output_shape value filter input_sizes Conv2D Conv2DBackpropFilter Conv2DBackpropInput
    """.split()
)
"""What the function `conv2d_transpose` has in its scope; anything else there belongs to a layer of that
name.
"""
KERAS_LAYERS = {
    "add": frozenset({"add", "Add", "AddV2"}),
    "reshape": frozenset({"Reshape", "Shape", "strided_slice"}),
}
"""Default names of Keras layers that are names of functions, too, with what the layer has in its scope."""
