"""What XLA and its allocator say beside the message: limits that arguments alone exceed, maps of the pool,
scoped memory, matrices that are converted, and what the user's line calls.
"""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.jax_stack import calls_compiled
from tfmemlens.model.finding import Remedy
from tfmemlens.model.report import Report

AT = "2025-03-02 10:00:00.000001: "
ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
BEYOND = (
    f"{AT}E external/xla/xla/service/gpu/gpu_hlo_schedule.cc:795] The byte size of input/output arguments"
    " (9663676416) exceeds the base limit (5368709120). This indicates an error in the calculation!\n"
)
TRACEBACK = 'Traceback (most recent call last):\n  File "/home/me/{file}", line 12, in main\n    {code}\n'


def explained(text: str) -> Report:
    return pipeline.explain(text)


def remedies(text: str) -> dict[str, Remedy]:
    return {action.remedy.slug: action.remedy for action in explained(text).actions}


def reduced(goal: int, reached: int) -> str:
    return (
        f"{AT}W external/xla/xla/service/hlo_rematerialization.cc:2941] Can't reduce memory use below"
        f" {goal / 2**30:.2f}GiB ({goal} bytes) by rematerialization; only reduced to"
        f" {reached / 2**30:.2f}GiB ({reached} bytes), down from {reached / 2**30:.2f}GiB ({reached} bytes)"
        " originally\n"
    )


def refused(size: int, pool: str) -> str:
    return (
        f"{AT}W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory"
        f" trying to allocate {size / 2**30:.2f}GiB (rounded to {size})requested by op\n"
        f"{AT}W external/xla/xla/tsl/framework/bfc_allocator.cc:512] {pool}\n"
    )


def test_arguments_that_exceed_the_limit_alone() -> None:
    told = explained(BEYOND + reduced(0, 9 << 30) + refused(2 << 30, "*" * 97 + "___"))
    assert told.case.capture.source.framework == "jax"
    assert told.verdict.startswith(
        "A compiled program could not allocate 2.00 GiB: its arguments and results alone are 9.00 GiB, more"
        " than the 5.00 GiB"
    )
    offered = {action.remedy.slug for action in told.actions}
    assert {"list-arguments", "return-less"} <= offered
    assert not offered & {"smaller-batch", "recompute", "larger-pool"}


def test_a_limit_that_remains_below_nothing_says_the_same() -> None:
    told = explained("import jax\n" + reduced(-(4 << 30), 9 << 30))
    assert told.verdict.startswith("A compiled program needs 9.00 GiB: its arguments and results alone are")
    assert "more than the 5.00 GiB" in told.verdict


def test_a_goal_that_is_missed_fails_nothing() -> None:
    assert not explained("import jax\n" + reduced(2 << 30, 9 << 30)).case.moments


@pytest.mark.parametrize(("given", "wrong"), [(40 << 40, True), (9 << 30, False)])
def test_warnings_without_bytes_in_brackets(given: int, wrong: bool) -> None:
    log = (
        f"E0103 10:00:00.1 gpu_hlo_schedule.cc:815] The byte size of input/output arguments ({given}) exceeds"
        " the base limit\nW0103 10:00:01.1 hlo_rematerialization.cc:3204] Can't reduce memory use below"
        f" 5.00GiB by rematerialization; only reduced to {given / 2**30:.2f}GiB\n"
    )
    told = explained("import jax\ny = jax.vmap(step)(tables)\n" + log)
    assert told.verdict.startswith("A compiled program needs")
    assert ("which no device has: most likely a shape is a mistake" in told.verdict) is wrong
    offered = {action.remedy.slug for action in told.actions}
    assert ("compare-shapes" in offered) is wrong
    assert ("return-less" in offered) is not wrong
    assert "smaller-batch" not in offered


def test_a_limit_that_neither_warning_states_fails_nothing() -> None:
    line = "The byte size of input/output arguments (9663676416) exceeds the base limit\n"
    assert not explained("import jax\n" + line).case.moments


@pytest.mark.parametrize(
    ("program", "first"),
    [
        ("pjit(init_state)", True),
        ("jit(init)", True),
        ("jit(model_init)", True),
        ("jit(create_train_state)", True),
        ("jit(train_step)", False),
        ("jit(initial_guess)", False),
    ],
)
def test_a_program_that_makes_the_first_weights_has_no_batch(program: str, first: bool) -> None:
    buffers = "".join(
        f"\tBuffer {number}:\n\t\tSize: 6.00GiB\n\t\tOperator:"
        f' op_name="{program}/jit(main)/vmap(normal)/jit(_normal)/jit(_uniform)/threefry2x32"'
        ' source_file="/home/me/net.py" source_line=31\n\t\tXLA Label: custom-call\n'
        "\t\tShape: u32[24,16384,4096]\n\t\t==========================\n\n"
        for number in (1, 2)
    )
    told = explained(f"import jax\n{ASKED} {20 << 30} bytes.\nPeak buffers:\n{buffers}")
    offered = [action.remedy.slug for action in told.actions]
    assert ("random numbers of the first weights" in told.verdict) is first
    assert ("smaller-batch" in offered) is not first
    assert ("partitionable-draws" in offered) is first


def test_nothing_in_use_and_yet_no_room() -> None:
    told = explained(refused(1 << 30, "_" * 100) + f"{ASKED} {1 << 30} bytes.\n")
    assert "nothing of the pool was in use, and 1.00 GiB still did not fit" in told.verdict
    assert "(one array" not in told.verdict
    assert told.actions[0].remedy.slug == "see-device-users"


@pytest.mark.parametrize(("size", "pool"), [(1 << 30, "*" * 90 + "_" * 10), (8 << 30, "_" * 100)])
def test_a_pool_that_is_used_or_a_large_request_shows_no_other_process(size: int, pool: str) -> None:
    told = explained(refused(size, pool) + f"{ASKED} {size} bytes.\n")
    assert "nothing of the pool was in use" not in told.verdict


SCOPED = "Scoped allocation with size 40.50M and limit 32.00M exceeded scoped vmem limit by 8.50M."


@pytest.mark.parametrize("text", [SCOPED, SCOPED.replace("with size ", "with size\n")])
def test_the_limit_of_a_kernel_is_raised_first(text: str) -> None:
    told = explained(f"import jax\nXlaRuntimeError: RESOURCE_EXHAUSTED: {text}\n")
    assert "the limit of this kernel is about 32.00 MiB of vmem" in told.verdict
    assert [action.remedy.slug for action in told.actions][:2] == ["larger-vmem", "smaller-kernel-blocks"]


def test_a_sentence_and_its_end_are_one_failure() -> None:
    head = "Ran out of memory in memory space vmem while allocating on stack for %mix.3 = bf16[64,128]"
    told = explained(f"import jax\nRESOURCE_EXHAUSTED: {head}\n{SCOPED}\n")
    assert len(told.case.moments) == 1
    assert "mix.3" in told.verdict and "32.00 MiB" in told.verdict


def listed(dtype: str, name: str, shape: str, *, arguments: str = "15.90G") -> str:
    return (
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 29.00G of 15.48G"
        " hbm. Exceeded hbm capacity by 13.52G.\n\nTotal hbm usage >= 29.50G:\n    reserved        530.00M\n"
        f"    program          13.10G\n    arguments        {arguments}\n\n"
        "Output size 1.0K; shares 0B with arguments.\n\nProgram hbm requirement 13.10G:\n"
        "    HLO temp         13.10G (100.0% utilization: Unpadded (13.10G) Padded (13.10G), 0.0%"
        " fragmentation (0B))\n\n  Largest program allocations in hbm:\n\n  1. Size: 1.50G\n"
        f'     Operator: op_name="jit(sample)/jit(main)/{name}[new_dtype={dtype}]"\n'
        f"     Shape: bf16[{shape}]{{1,0:T(8,128)(2,1)}}\n     Unpadded size: 1.50G\n"
        "     XLA label: convert.7 = convert(param.3)\n     Allocation type: HLO temp\n"
    )


def test_weights_that_are_converted_exist_twice() -> None:
    text = listed("bfloat16", "Net/table/convert_element_type", "131072,6144")
    assert "weights once more, converted to bfloat16" in explained(text).verdict
    assert list(remedies(text))[:2] == ["shard-arguments", "narrow-weights"]
    assert "optimizer" not in remedies(text)["shard-arguments"].text
    fits = listed("bfloat16", "Net/table/convert_element_type", "131072,6144", arguments="14.90G")
    assert next(iter(remedies(fits))) == "narrow-weights"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("transpose(jvp(Net))/table/convert_element_type", "131072,6144"),
        ("Net/table/mul", "131072,6144"),
        ("Net/x/convert_element_type", "6291456,128"),
    ],
)
def test_what_is_no_weight_is_not_said_to_be_converted(name: str, shape: str) -> None:
    assert "weights once more" not in explained(listed("bfloat16", name, shape)).verdict


def test_attention_on_a_tpu_gets_a_kernel_of_a_tpu() -> None:
    text = listed("float32", "attention/dot_general", "32,4096,4096", arguments="0B")
    code = remedies(text)["blockwise-attention"].code or ""
    assert "pallas.ops.tpu" in code and "cudnn" not in code


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("result = simulate_all(state, key)", "simulate_all"),
        ("out, self.key = self._sample(", "self._sample"),
        ("return rollout(params, key)", "rollout"),
        ("x = jnp.einsum('ij,jk', a, b)", None),
        ("y = a @ b", None),
        ("if check(x):", None),
        ("params = net.init(key, x)", None),
        ("opt = Optimizer(params)", None),
        ("for x in loader(data):", None),
        (None, None),
    ],
)
def test_what_a_line_calls_that_has_no_frame_of_its_own(line: str | None, called: str | None) -> None:
    assert calls_compiled(line) == called


def test_a_compiled_function_is_named() -> None:
    trace = TRACEBACK.format(file="sim.py", code="result = simulate_all(state, key)")
    assert (
        "most likely all temporaries of `simulate_all`"
        in explained(f"{trace}{ASKED} 8589934592 bytes.\n").verdict
    )
    trace = TRACEBACK.format(file="sim.py", code="z = x + y")
    assert "simulate_all" not in explained(f"{trace}{ASKED} 8589934592 bytes.\n").verdict


def test_environments_come_before_the_batch() -> None:
    trace = TRACEBACK.format(file="train.py", code="state = one_epoch(state, env_state, key)")
    assert next(iter(remedies(f"{trace}{ASKED} 8589934592 bytes.\n"))) == "fewer-environments"
    other = trace.replace("env_state", "batch")
    assert "fewer-environments" not in remedies(f"{other}{ASKED} 8589934592 bytes.\n")


def test_a_number_alone_is_no_gpu_where_the_text_says_tpu() -> None:
    message = (
        "RuntimeError: Resource exhausted: Failed to allocate request for 96.00MiB on device ordinal 0\n"
    )
    moment = explained(f"On my TPU v3-8 with jax this fails:\n{message}").case.moments[0]
    assert moment.request and moment.request.failed.device == "/device:TPU:0"
    asked = explained(f"JAX: CPU, GPU/TPU model: A100\n{message}").case.moments[0]
    assert asked.request and asked.request.failed.device == "/device:GPU:0"


def test_a_model_that_is_only_loaded() -> None:
    text = (
        "On a TPU VM v3-8, jax 0.2:\n```python\n"
        "model = FlaxAutoModelForCausalLM.from_pretrained('my/net-3b')   # 3B parameters\n```\n"
        "RuntimeError: Resource exhausted: Failed to allocate request for 96.00MiB on device ordinal 0\n"
    )
    assert "loads a model, and its weights" in explained(text).verdict
    ran = text.replace("parameters\n", "parameters\nout = model.generate(ids)\n")
    assert "loads a model, and its weights" not in explained(ran).verdict


def test_pinned_memory_while_a_checkpoint_is_written() -> None:
    failed = (
        "W external/xla/xla/stream_executor/integrations/stream_executor_allocator.cc:66] could not allocate"
        " pinned host of size: 2147483648\n"
    )
    saving = "replica_slices.py:419] Transferring arrays to host memory with options: pinned=True\n"
    assert next(iter(remedies(f"import jax\n{saving}{failed}"))) == "one-checkpoint-at-a-time"
    assert "one-checkpoint-at-a-time" not in remedies(f"import jax\n{failed}")


def test_results_that_stay_alive_are_told() -> None:
    text = (
        "RuntimeError: Resource exhausted: From /job:tpu_worker/replica:0/task:0:\n"
        "Attempting to reserve 3.00G at the bottom of memory. That was not possible. There are 1.50G free, 0B"
        " reserved, and 1.50G reservable.\n\nTotal hbm usage >= 9.00G:\n    program          3.20G\n\n"
        "Persistent allocations include some or all of:\n    arguments                400.00M\n"
        "    output                     4.00G\n"
    )
    assert "this program alone returns about 4.00 GiB" in explained(text).verdict
    assert "alone returns" not in explained(text.replace("4.00G", "500.00M")).verdict


def test_work_that_went_well_many_times() -> None:
    text = "With numpyro I run many chains, and I get out of memory errors after a few hundred of these.\n"
    assert next(iter(remedies(text))) == "start-anew"
    assert "clear_caches" in (remedies(text)["start-anew"].code or "")
    assert "start-anew" not in remedies(text.replace("after a few hundred of these", "at once"))


def test_a_listing_without_a_size_did_not_fit() -> None:
    listing = (
        '        Buffer 9:\n\t\tSize: 1.00GiB\n\t\tOperator: op_name="pmap(train_step)/jit(main)/net/max"\n'
        "\t\tXLA Label: fusion\n\t\tShape: f32[1048576,256]\n\t\t==========================\n"
    )
    assert explained(listing).verdict.startswith("A compiled program did not fit")
