"""What a small request says of a full pool, and what of JAX's texts is no failure or one of a setting."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.finding import Remedy
from tfmemlens.model.report import Report

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
AT = "2023-05-02 10:00:00.000001: "
TSL = f"{AT}W external/tsl/tsl/framework/bfc_allocator.cc:485] "


def explained(text: str) -> Report:
    return pipeline.explain(text)


def remedies(text: str) -> dict[str, Remedy]:
    return {action.remedy.slug: action.remedy for action in explained(text).actions}


def small(pool: str, code: str = "opt_state = step(opt_state, xs)") -> str:
    return (
        f"{TSL}Allocator (GPU_0_bfc) ran out of memory trying to allocate 64.0KiB (rounded to 65536)requested"
        f" by op\n{TSL}{pool}\nTraceback (most recent call last):\n"
        f'  File "/home/me/fit.py", line 9, in main\n    {code}\n{ASKED} 65536 bytes.\n'
    )


def test_a_full_pool_is_this_process_and_no_other() -> None:
    told = explained(small("*" * 100))
    assert "only since the pool was full before it" in told.verdict
    assert "another process" not in told.verdict
    assert "see-device-users" not in remedies(small("*" * 100))


def test_a_pool_of_which_nothing_is_told_may_be_short_of_others() -> None:
    text = f"{ASKED} 65536 bytes.\n"
    assert "or another process" in explained(text).verdict
    assert "see-device-users" in remedies(text)


def test_a_gradient_keeps_what_its_way_back_needs() -> None:
    graded = small("*" * 100, "loss, g = jax.value_and_grad(loss_fn)(params)")
    assert "what the gradient keeps for its backward pass" in explained(graded).verdict
    assert list(remedies(graded))[:2] == ["smaller-batch", "recompute"]
    assert "the gradient keeps" not in explained(small("*" * 100)).verdict


def test_what_a_gradient_is_taken_through_is_no_prediction() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/fit.py", line 9, in main\n    g = jax.value_and_grad(lambda p: draw(p))(params)\n'
        '  File "/home/me/fit.py", line 4, in draw\n    rgb = field.render_image(p, rays)\n'
        f"{ASKED} 2147483648 bytes.\n"
    )
    assert "prediction" not in " ".join(finding.headline for finding in explained(text).findings)
    alone = text.replace("jax.value_and_grad(lambda p: draw(p))(params)", "show(params)")
    assert "prediction" in " ".join(finding.headline for finding in explained(alone).findings)


PICKER = f"{AT}E external/xla/xla/service/gpu/cudnn_conv_algorithm_picker.cc:525] "
REFUSED = (
    f"{AT}E external/xla/xla/stream_executor/cuda/cuda_driver.cc:828] failed to allocate 512.00M (536870912"
    " bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)
TRIED = (
    f"{PICKER}Resource exhausted: Failed to allocate request for 512.00MiB (536870912B) on device ordinal 0\n"
)


def test_an_algorithm_that_was_tried_fails_nothing() -> None:
    told = explained(REFUSED + TRIED)
    assert told.verdict.startswith("No failure: XLA tried the algorithms of a convolution")
    assert not told.case.moments
    failed = explained(f"{REFUSED}{TRIED}{ASKED} 8589934592 bytes.\n")
    assert len(failed.case.moments) == 1 and "8.00 GiB" in failed.verdict


def test_a_slow_compile_is_no_lack_of_memory() -> None:
    line = "[Compiling module jit_apply_fn] Very slow compile? If you want to file a bug, run with envvar\n"
    assert explained(line).verdict.startswith("No failure: XLA says that a program takes long to compile")
    killed = explained(f"{line}The machine runs out of memory, 120 GB of RAM, while jax compiles it.\n")
    assert "ran out" in killed.verdict and "No failure" not in killed.verdict


def test_constants_that_are_computed_when_compiling_fail_nothing() -> None:
    line = (
        f"{AT}E external/xla/xla/service/slow_operation_alarm.cc:65] Constant folding an instruction is"
        " taking > 2s:\n"
    )
    assert explained(line).verdict.startswith("No failure: XLA computes a large constant while it compiles")
    assert "not the cause" in " ".join(
        finding.headline for finding in explained(f"{line}{ASKED} 8589934592 bytes.\n").findings
    )


def test_unified_memory_has_a_limit_of_its_own() -> None:
    text = f"export TF_FORCE_UNIFIED_MEMORY=1\n{ASKED} 42949672960 bytes.\n"
    assert next(iter(remedies(text))) == "more-unified-memory"
    stated = f"export XLA_PYTHON_CLIENT_MEM_FRACTION=4.0\n{text}"
    assert "(line 1: 4.0)" in remedies(stated)["more-unified-memory"].text
    assert "more-unified-memory" not in remedies(text.replace("=1", "=0"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import jax\nos.environ['XLA_PYTHON_CLIENT_MEM_FRACTION'] = '80'\n", True),
        ("import jax\nos.environ['XLA_PYTHON_CLIENT_MEM_FRACTION'] = '.80'\n", False),
        ("TF_FORCE_UNIFIED_MEMORY=1\nXLA_PYTHON_CLIENT_MEM_FRACTION=4.0\nimport jax\n", False),
    ],
)
def test_a_fraction_above_one_is_told(text: str, told: bool) -> None:
    assert ("is a fraction of the GPU" in explained(text).verdict) == told


def test_arguments_are_told_where_the_device_is_not() -> None:
    text = (
        "Total hbm usage >= 9.00G:\n    reserved         18.00M\n    program           1.50G\n"
        "    arguments         7.40G\nOutput size 6.0K; shares 0B with arguments.\n"
        "Program hbm requirement 1.50G:\n    HLO temp          1.50G\n"
    )
    assert "about 7.40 GiB of it are its arguments" in explained(text).verdict


def test_a_pipeline_of_flax_loads_a_model() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/run.py", line 3, in <module>\n'
        '    pipe = FlaxSpeechPipeline("me/large", dtype=jnp.bfloat16)\n'
        f"{ASKED} 536870912 bytes.\n"
    )
    assert "weights are being loaded" in explained(text).verdict


def test_words_of_the_driver_are_no_prose() -> None:
    line = "CUDA_ERROR_OUT_OF_MEMORY: out of memory in the log of my jax program\n"
    assert "says in words" not in explained(line).verdict
