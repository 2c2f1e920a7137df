"""What the largest buffers of a compiled program are: logits, attention scores, what a scan keeps."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.main_buffers import _is_by_mistake, _is_scores, _with_line
from tfmemlens.findings.support.rows import Row
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import NOBODY
from tfmemlens.model.report import Report

_ITEMS = {"f32": 4, "bf16": 2}


def listing(*buffers: tuple[str, str], parameters: tuple[str, ...] = ()) -> Report:
    """JAX's message with these buffers: (HLO shape, op_name)."""
    text = [
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 21474836480 bytes.",
        "BufferAssignment stats:",
        "     preallocated temp allocation:   20.00GiB",
        "Peak buffers:",
    ]
    for number, (shape, name) in enumerate(buffers, 1):
        text += [
            f"\tBuffer {number}:",
            f"\t\tSize: {_gib(shape)}",
            f'\t\tOperator: op_name="jit(train_step)/jit(main)/{name}" source_file="/home/u/net.py"'
            f" source_line={number}",
            "\t\tXLA Label: fusion",
            f"\t\tShape: {shape}",
            "\t\t==========================",
        ]
    for number, shape in enumerate(parameters, len(buffers) + 1):
        text += [
            f"\tBuffer {number}:",
            f"\t\tSize: {_gib(shape)}",
            f"\t\tEntry Parameter Subshape: {shape}",
            "\t\t==========================",
        ]
    return pipeline.explain("\n".join(text) + "\n")


def _gib(shape: str) -> str:
    dtype, sizes = shape.rstrip("]").split("[")
    total = _ITEMS[dtype]
    for size in sizes.split(","):
        total *= int(size)
    return f"{total / 2**30:.2f}GiB"


@pytest.mark.parametrize(
    ("shape", "name", "what", "first"),
    [
        ("f32[16,2048,32000]", "jvp(Net)/log_softmax/sub", "logits over 32,000 classes", "part-of-positions"),
        ("bf16[16,2048,50304]", "jvp(Net)/head/dot_general", "logits over 50,304", "part-of-positions"),
        ("f32[8,16,4096,4096]", "jvp(Net)/layer_0/attn/exp", "attention scores", "blockwise-attention"),
        ("f32[900,64,512,32]", "jvp(while)/body/tanh", "keeps of all 900 steps for the", "in-blocks"),
        ("bf16[24,8,2048,4096]", "jvp(Net)/layers/while/body/mlp/mul", "of all 24 layers", "recompute-body"),
        ("f32[64,512,512,64]", "jvp(Net)/down/Conv_1/conv_general_dilated", "feature maps", "smaller-input"),
        ("f32[70000,70000]", "sub", "every pair of 70,000 x 70,000 rows", "in-blocks"),
        ("f32[4000000,512]", "gather", "gathered, one for each of 4,000,000", "in-blocks"),
        ("f32[512,1024,1024,4]", "vmap(potential)/sin", "vmap makes for all of its rows", "in-blocks"),
    ],
)
def test_the_largest_buffers_are_named(shape: str, name: str, what: str, first: str) -> None:
    report = listing((shape, name), ("f32[8,128,128,128]", "jvp(Net)/relu/max"))
    assert what in report.verdict
    assert report.actions[0].remedy.slug == first


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ("f32[64,32000]", "jvp(Net)/relu/max"),  # wide, and no name of an output
        ("f32[20000,32768]", "transpose(jvp(Net))/head/dot_general"),  # may be a weight's gradient
        ("f32[4096,4096,16]", "jvp(while)/cond/lt"),
    ],
)
def test_near_misses(shape: str, name: str) -> None:
    assert "largest buffers are" not in listing((shape, name)).verdict


def test_a_shape_of_the_weights_is_no_activation() -> None:
    report = listing(("f32[50304,8192]", "transpose(jvp(Net))/head/mul"), parameters=("f32[50304,8192]",))
    assert "as large as weights" in report.verdict


def test_logits_are_not_recomputed() -> None:
    report = listing(("f32[16,2048,32000]", "transpose(jvp(Net))/log_softmax/sub"))
    assert "recompute" not in [action.remedy.slug for action in report.actions]


def test_small_buffers_explain_nothing() -> None:
    assert "largest buffers" not in listing(("f32[64,64,64]", "jvp(Net)/attn/exp")).verdict


def test_pytorch_s_ops_name_their_framework_and_get_no_code_of_jax() -> None:
    report = pipeline.explain(
        "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used"
        " 20.00G of 15.75G hbm. Exceeded hbm capacity by 4.25G.\n\nTotal hbm usage >= 20.25G:\n"
        "    program          12.00G \n    arguments         8.00G \n\n"
        "Output size 8.00G; shares 0B with arguments.\n\n  1. Size: 4.00G\n"
        '     Operator: op_type="aten__log_softmax" op_name="aten__log_softmax"\n'
        "     Shape: f32[16,2048,32768]{2,1,0:T(8,128)}\n     Unpadded size: 4.00G\n"
        "     XLA label: fusion.1\n     Allocation type: HLO temp\n     ==========================\n"
    )
    assert report.case.capture.source.framework == "torch_xla"
    assert "logits over 32,768" in report.verdict
    by_slug = {action.remedy.slug: action.remedy for action in report.actions}
    assert by_slug["part-of-positions"].code is None
    assert by_slug["alias-arguments"].saves_bytes == 8 << 30
    assert "donate-buffers" not in by_slug


def test_nccl_beside_a_pool_that_takes_all() -> None:
    report = pipeline.explain(
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank(&comm, n, id, rank)"
        " failed: unhandled cuda error. Last NCCL warning(error) log entry (may be unrelated) 'Cuda failure 2"
        " 'out of memory''.; current tracing scope: all-reduce.1\n"
        '  File "/home/u/learner.py", line 9, in step\n    grads = psum_grads(grads)\n'
        "XLA_PYTHON_CLIENT_MEM_FRACTION=.95\n"
    )
    assert "NCCL got no memory" in report.verdict
    assert report.actions[0].remedy.slug == "smaller-fraction" and "95 %" in report.actions[0].remedy.text
    assert report.case.capture.incidents[0].request.source == "/home/u/learner.py:9"


def test_nccl_s_other_errors_are_not_memory() -> None:
    text = (
        "XlaRuntimeError: INTERNAL: NCCL operation ncclGroupEnd() failed: unhandled cuda error. Last NCCL"
        " warning(error) log entry (may be unrelated) 'Cuda failure 'an illegal memory access''.\n"
    )
    assert not pipeline.explain(text).case.moments


def test_the_instruction_in_a_message_names_its_line() -> None:
    report = pipeline.explain(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while"
        " allocating on stack for %mm.1 = f32[4096,4096]{1,0} custom-call(%a, %b),"
        ' metadata={op_name="jit(mm)/pallas_call" source_file="/home/u/mm.py" source_line=44}. Scoped'
        " allocation with size 24.00M and limit 16.00M exceeded scoped vmem limit by 8.00M.\n"
    )
    assert report.case.capture.incidents[0].request.source == "/home/u/mm.py:44"


@pytest.mark.parametrize("name", ["conv_1/conv_general_dilated", "batch_norm/softmax"])
def test_an_image_s_two_sides_are_no_scores(name: str) -> None:
    assert "attention" not in listing(("f32[16,64,512,512]", f"jvp(Net)/{name}")).verdict


def test_what_is_recomputed_already_is_not_advised_again() -> None:
    name = "transpose(jvp(Net))/layers/while/body/checkpoint/rematted_computation/mul"
    report = listing(("bf16[24,8,2048,4096]", name))
    assert "recompute-body" not in [action.remedy.slug for action in report.actions]


SCORES = """Ran out of memory in memory space hbm. Used 63.80G of 30.75G hbm. Exceeded hbm capacity by 33.05G.
  Largest program allocations in hbm:

  1. Size: {size}
     Operator: op_name="jit(step)/jvp(Falcon)/h/0/self_attention/...qhd,...khd->...hqk/dot_general"
     Shape: f32[32,{side},{side}]{{1,2,0:T(8,128)}}
     Unpadded size: {size}
     XLA label: fusion.1265 = fusion(custom-call.224)
     Allocation type: HLO temp
     ==========================
"""


@pytest.mark.parametrize(("size", "side", "told"), [("2.00G", 4096, True), ("128.00M", 1024, False)])
def test_the_first_entry_of_a_pasted_list_stands_for_its_kind(size: str, side: int, told: bool) -> None:
    report = pipeline.explain(SCORES.format(size=size, side=side))
    assert ("blockwise-attention" in [action.remedy.slug for action in report.actions]) is told


def test_a_weights_gradient_for_each_row_is_told_from_what_vmap_makes_else() -> None:
    weights = ("f32[1024,2048]",)
    each = ("f32[512,1024,2048]", "vmap()/integer_pow")
    report = listing(each, parameters=weights)
    assert "gradients of the weights, for each of 512 rows by itself" in report.verdict
    assert "fewer than 512 rows" in report.actions[0].remedy.text
    for parameters in (("f32[2048,1024]",), ()):
        assert "what vmap makes for all of its rows" in listing(each, parameters=parameters).verdict


@pytest.mark.parametrize(
    ("shape", "name", "weight", "told"),
    [
        ("f32[512,2097152]", "vmap(transpose(jvp()))/transpose", "f32[1024,2048]", True),
        ("f32[512,2097152]", "transpose(jvp())/transpose", "f32[1024,2048]", False),  # no vmap
        ("f32[512,2097152]", "vmap(jvp())/dot_general", "f32[1024,2048]", False),  # no gradient
        ("f32[512,2097152]", "vmap(transpose(jvp()))/transpose", "f32[1024,1024]", False),  # of another size
        (
            "f32[512,2097152]",
            "vmap(transpose(jvp()))/transpose",
            "f32[2097152,1]",
            False,
        ),  # or an activation's
    ],
)
def test_a_gradient_for_each_row_may_be_flattened(shape: str, name: str, weight: str, told: bool) -> None:
    verdict = listing((shape, name), parameters=(weight,)).verdict
    assert ("gradients of the weights, for each of 512 rows by itself" in verdict) is told


def made_in(line: str, node: str, *shape: int) -> Row:
    """A buffer with the user's line, as the recorded program tells it."""
    row = Row(Allocation(node, 4096, shape=shape, dtype="float32"), NOBODY, None)
    return _with_line(row, {(node, 4096): line})


@pytest.mark.parametrize(
    ("line", "node", "mistaken"),
    [
        ("residual = prices - predict(params, facts)", "jit(f)/jvp()/sub", True),
        ("err = prices[:, None] - prices[None]", "jit(f)/jvp()/sub", False),
        ("k = jnp.exp(-jnp.subtract.outer(x, x))", "jit(f)/jvp()/sub", False),
        ("sims = z @ z.T - m", "jit(f)/jvp()/sub", False),
        ("residual = prices - predict(params, facts)", "jit(f)/jvp()/dot_general", False),
        ("residual = f(x) - y", "jit(f)/vmap(jvp())/sub", False),
    ],
)
def test_an_operator_whose_line_adds_no_axis_makes_pairs_by_mistake(
    line: str, node: str, mistaken: bool
) -> None:
    assert _is_by_mistake(made_in(line, node, 5000, 5000)) is mistaken


def test_scores_that_no_name_tells_are_told_by_their_line() -> None:
    assert _is_scores(made_in("w = jax.nn.softmax(s, -1)", "jit(f)/jvp()/div", 16, 8, 4096, 4096), ())
    assert not _is_scores(made_in("w = s / norm", "jit(f)/jvp()/div", 16, 8, 4096, 4096), ())
    assert not _is_scores(made_in("w = jax.nn.softmax(s, -1)", "jit(f)/jvp()/div", 16, 8, 4096, 2048), ())
