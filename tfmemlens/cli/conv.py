"""Say what a convolution takes (output, patches, forward, gradients), and what would take less."""

from __future__ import annotations

import argparse

from tfmemlens.cli import _options, _output
from tfmemlens.model.convolution import ConvolutionReport
from tfmemlens.use_cases.convolution import size_convolution

EXAMPLES = """examples:
  tfmemlens conv --input 200x321x481x1 --kernel 135x135x3 --padding valid --tf 1.10 --threads 2
  tfmemlens conv --input 8x256x256x64 --kernel 3x3x64 --tf 2.8 --plot bytes.png
  tfmemlens conv --input 2x32x64x64x16 --kernel 3x3x3x16                # 3-D: a depth before the height
  tfmemlens conv --input 8x32x32x16 --kernel 4x4x8 --strides 2 --kind transposed
  tfmemlens conv --input 32x224x224x3 --kernel 7x7x64 --strides 2 --device gpu
exit status: 0 shown, 2 usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        required=True,
        metavar="NxHxWxC",
        help="shape of the input, channels last; NxDxHxWxC in 3-D",
    )
    parser.add_argument(
        "--kernel",
        required=True,
        metavar="KHxKWxF",
        help="kernel and filters; KHxKWxCxF with its channels; depthwise: F is the multiplier",
    )
    parser.add_argument(
        "--kind", metavar="KIND", help="conv, depthwise, transposed or conv3d (default: by the input's rank)"
    )
    parser.add_argument("--padding", default="same", metavar="same|valid", help="(default same)")
    parser.add_argument("--strides", default="1", metavar="2x2", help="(default 1)")
    parser.add_argument("--dilations", default="1", metavar="2x2", help="(default 1)")
    parser.add_argument(
        "--dtype", default="float32", metavar="TYPE", help="float16, bfloat16, float32 (default) or float64"
    )
    group = parser.add_argument_group("where it runs")
    group.add_argument("--tf", default="2.21", metavar="VERSION", help="TensorFlow's version (default 2.21)")
    group.add_argument("--threads", metavar="N", help="intra-op threads (default: this machine's processors)")
    group.add_argument("--device", default="cpu", metavar="cpu|gpu", help="(default cpu)")
    group.add_argument(
        "--onednn",
        action=argparse.BooleanOptionalAction,
        help="whether oneDNN computes on the CPU (default: from 2.9 on)",
    )
    group.add_argument(
        "--l3",
        metavar="32MiB",
        help="the processor's L3 cache, which Conv3D's gradients fill (`getconf LEVEL3_CACHE_SIZE`)",
    )
    output = _options.add_form(parser, "convolution")
    output.add_argument(
        "--full",
        action="store_true",
        help="print everything: how each figure is computed, other kernels and batches, all that takes less",
    )
    output.add_argument("--plot", metavar="FILE", help="draw bytes against kernel size: .png, .svg or .pdf")


def sized(args: argparse.Namespace) -> ConvolutionReport:
    """What the options describe, sized. Raises UsageError."""
    return size_convolution(
        args.input,
        args.kernel,
        kind=args.kind,
        padding=args.padding,
        strides=args.strides,
        dilations=args.dilations,
        dtype=args.dtype,
        tf=args.tf,
        threads=args.threads,
        device=args.device,
        onednn=args.onednn,
        l3=args.l3,
    )


def run(args: argparse.Namespace) -> int:
    report = sized(args)
    if args.plot:
        from tfmemlens.renderers.pictures.convolution import figure

        _output.draw(figure(report), args.plot)
    _options.show(report, args, "convolution")
    return 0
