// Two things that a CPU build of TensorFlow lacks and some failing runs need; built by oom_kernels.sh.
//
// 1. Kernels that STAND IN for the GPU's NCHW convolution, bias and batch-norm kernels (TensorFlow 1.x): they allocate
//    outputs of the right shape and fill them with zeros. They serve nodes marked _kernel="nchw_stand_in", so that a graph
//    rewritten by the real LayoutOptimizer runs on the CPU. What a sample shows (names, shapes, allocator, report)
//    is TensorFlow's own; workspaces of a real cuDNN are missing, and the numbers trained are meaningless.
// 2. OptionalScratch: asks for a temporary that it can do without, as the cuDNN kernels do when they try algorithms.
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

using namespace tensorflow;

REGISTER_OP("OptionalScratch")
    .Input("x: float")
    .Output("y: float")
    .Attr("megabytes: int")
    .SetShapeFn(shape_inference::UnchangedShape);

class OptionalScratchOp : public OpKernel {
 public:
  explicit OptionalScratchOp(OpKernelConstruction* c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("megabytes", &megabytes_));
  }
  void Compute(OpKernelContext* c) override {
    Tensor scratch;
    AllocationAttributes optional;
    AllowFailure(&optional, 0);
    // Like the cuDNN kernels: when the fast algorithm's workspace is not to be had, take the slow one.
    TensorShape shape;
    shape.AddDim(megabytes_ * (1LL << 20));
    c->allocate_temp(DT_UINT8, shape, &scratch, AllocatorAttributes(), optional).IgnoreError();
    c->set_output(0, c->input(0));
  }

 private:
  // The field was turned round when it was renamed (2.1).
  template <typename A>
  static auto AllowFailure(A* a, int) -> decltype(a->retry_on_failure, void()) { a->retry_on_failure = false; }
  template <typename A>
  static auto AllowFailure(A* a, long) -> decltype(a->no_retry_on_failure, void()) { a->no_retry_on_failure = true; }
  int32 megabytes_;
};
REGISTER_KERNEL_BUILDER(Name("OptionalScratch").Device(DEVICE_CPU), OptionalScratchOp);

#ifdef NCHW_STAND_INS
namespace {
TensorShape FromSizes(const Tensor& sizes) {
  TensorShape shape;
  for (int i = 0; i < sizes.NumElements(); ++i) shape.AddDim(sizes.flat<int32>()(i));
  return shape;
}

void Zeros(OpKernelContext* c, int index, const TensorShape& shape) {
  Tensor* out = nullptr;
  OP_REQUIRES_OK(c, c->allocate_output(index, shape, &out));
  out->flat<float>().setZero();
}
}  // namespace

class Conv2DStandIn : public OpKernel {  // padding SAME only
 public:
  explicit Conv2DStandIn(OpKernelConstruction* c) : OpKernel(c) { OP_REQUIRES_OK(c, c->GetAttr("strides", &strides_)); }
  void Compute(OpKernelContext* c) override {
    const TensorShape& in = c->input(0).shape();
    auto out = [&](int d) { return (in.dim_size(d) + strides_[d] - 1) / strides_[d]; };
    Zeros(c, 0, TensorShape({in.dim_size(0), c->input(1).dim_size(3), out(2), out(3)}));
  }

 private:
  std::vector<int32> strides_;
};

template <int kSizesInput>
class ConvBackpropStandIn : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* c) override { Zeros(c, 0, FromSizes(c->input(kSizesInput))); }
};

class BiasAddStandIn : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* c) override {
    Tensor* out = nullptr;
    OP_REQUIRES_OK(c, c->forward_input_or_allocate_output({0}, 0, c->input(0).shape(), &out));
  }
};

class BiasAddGradStandIn : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* c) override { Zeros(c, 0, TensorShape({c->input(0).dim_size(1)})); }
};

class BatchNormStandIn : public OpKernel {  // y, batch_mean, batch_variance and two saved statistics
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* c) override {
    Zeros(c, 0, c->input(0).shape());
    for (int i = 1; i < 5 && c->status().ok(); ++i) Zeros(c, i, c->input(1).shape());
  }
};

class BatchNormGradStandIn : public OpKernel {  // the gradients of x, scale and offset, and two empty outputs
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* c) override {
    Zeros(c, 0, c->input(1).shape());
    for (int i = 1; i < 5 && c->status().ok(); ++i) Zeros(c, i, i < 3 ? c->input(2).shape() : TensorShape({0}));
  }
};

class VecPermuteStandIn : public OpKernel {  // NHWC sizes to NCHW sizes, really
 public:
  explicit VecPermuteStandIn(OpKernelConstruction* c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("src_format", &from_));
    OP_REQUIRES_OK(c, c->GetAttr("dst_format", &to_));
  }
  void Compute(OpKernelContext* c) override {
    Tensor* out = nullptr;
    OP_REQUIRES_OK(c, c->allocate_output(0, c->input(0).shape(), &out));
    for (int i = 0; i < 4; ++i) out->flat<int32>()(i) = c->input(0).flat<int32>()(from_.find(to_[i]));
  }

 private:
  string from_, to_;
};

#define STAND_IN(op, ...) \
  REGISTER_KERNEL_BUILDER(Name(op).Device(DEVICE_CPU).TypeConstraint<float>("T").Label("nchw_stand_in"), __VA_ARGS__)
STAND_IN("Conv2D", Conv2DStandIn);
STAND_IN("Conv2DBackpropFilter", ConvBackpropStandIn<1>);
STAND_IN("Conv2DBackpropInput", ConvBackpropStandIn<0>);
STAND_IN("BiasAdd", BiasAddStandIn);
STAND_IN("BiasAddGrad", BiasAddGradStandIn);
STAND_IN("FusedBatchNorm", BatchNormStandIn);
STAND_IN("FusedBatchNormGrad", BatchNormGradStandIn);
REGISTER_KERNEL_BUILDER(
    Name("DataFormatVecPermute").Device(DEVICE_CPU).TypeConstraint<int32>("T").Label("nchw_stand_in"), VecPermuteStandIn);
#endif
