"""A device, a memory or a cause that the text itself clears is not blamed."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
RAISED = f"jaxlib.xla_extension.XlaRuntimeError: {ASKED}"


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(lines) + "\n")


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


def test_a_gpus_pool_is_no_host_ram_whatever_the_words() -> None:
    pool = (
        "W0721 17:22:50.846991  51220 bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to"
        " allocate 78.51GiB (rounded to 84299471360)requested by op"
    )
    message = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 84299471204 bytes."
    assert "host RAM" not in explained(pool, message).verdict
    assert "host RAM" in explained(message).verdict


def test_a_stream_executor_is_no_tpus() -> None:
    words = "Converting a checkpoint on a TPU VM with jax"
    client = "external/xla/xla/pjrt/pjrt_stream_executor_client.cc:2124] Execution of replica 0 failed: "
    asked = "RESOURCE_EXHAUSTED: Failed to allocate request for 256.00MiB (268435456B) on device ordinal 0"
    devices = [
        moment.request.failed.device
        for text in (f"2022-03-11 08:20:17.300114: E {client}{asked}", f"RuntimeError: {asked}")
        for moment in pipeline.case(pipeline.capture(f"{words}\n{text}\n")).moments
        if moment.request
    ]
    assert devices == [None, "/device:TPU:0"]


def test_what_lies_on_the_device_fills_no_host_ram() -> None:
    kept = "and every step I append the loss to a list. jax, flax"
    told = "the RAM of the process grows by 4 MB per iteration until the kernel kills it"
    assert "keeps on the device" not in explained(f"GPU memory doesn't move, but {told}", kept).verdict
    assert "find-what-grows" in slugs(explained(f"GPU memory doesn't move, but {told}", kept))


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("At 48 layers unrolled it no longer fits 40 GB.", "the largest does not fit (line 2)"),
        ("Is that so?", "No failure is told"),
    ],
)
def test_what_does_not_fit_is_no_success(end: str, said: str) -> None:
    grows = "With nn.scan off in jax temp rises steeply when we add layers, memory grows with the"
    assert said in explained(f"{grows} number of layers.", end).verdict


@pytest.mark.parametrize(
    "words",
    [
        "In one process the 4th run dies, from a shell loop each of them works.",
        "First run of this cell always works. The second one gives:",
    ],
)
def test_runs_that_went_well_before_left_something(words: str) -> None:
    trace = '  File "/a/t.py", line 133, in train_epoch\n    state, opt = train_step(state, opt, batch)'
    report = explained(words, "Traceback (most recent call last):", trace, f"{RAISED} 822083584 bytes.")
    assert "went well in earlier calls (line 1)" in report.verdict
    assert "smaller-batch" not in slugs(report)


def test_a_first_step_that_fails_left_nothing() -> None:
    report = explained("The first run of this cell fails.", f"{RAISED} 822083584 bytes.")
    assert "earlier calls" not in report.verdict


STATS = (
    "BufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
    "             parameter allocation:   128.0KiB\n"
    "        maybe_live_out allocation:    1.00GiB\n"
    "     preallocated temp allocation:   24.00GiB\n"
    "                 total allocation:   25.00GiB\nPeak buffers:\n"
)


def buffer(name: str, shape: str, size: str = "4.00GiB") -> str:
    return (
        f'\tBuffer 1:\n\t\tSize: {size}\n\t\tOperator: op_name="{name}" source_file="/w.py" source_line=22\n'
        f"\t\tXLA Label: fusion\n\t\tShape: {shape}\n\t\t==========================\n"
    )


def test_random_numbers_of_an_init_have_no_batch() -> None:
    drawn = buffer("jit(init)/jit(main)/Wide/Dense_0/jit(_truncated_normal)/threefry2x32", "u32[2,536870912]")
    report = explained(f"{RAISED} 25769804048 bytes.\n{STATS}{drawn * 3}")
    assert "random numbers of the first weights" in report.verdict
    assert slugs(report)[0] == "partitionable-draws" and "smaller-batch" not in slugs(report)
    noise = buffer("jit(step)/jit(main)/threefry2x32", "u32[2,536870912]")
    assert "partitionable-draws" not in slugs(explained(f"{RAISED} 25769804048 bytes.\n{STATS}{noise * 3}"))


def test_rows_that_no_batch_has() -> None:
    def gathered(rows: int) -> Report:
        rows_of = buffer("jit(f)/jit(main)/vmap(pixel)/gather", f"f32[{rows},2048]", "4.00GiB")
        return explained(f"{RAISED} 25769804048 bytes.\n{STATS}{rows_of * 5}")

    assert "786,432 indices" in gathered(786432).verdict
    assert "smaller-batch" not in slugs(gathered(786432))


def test_a_handle_beside_the_pool_of_another_jax_on_a_small_gpu() -> None:
    row = "|    0   N/A  N/A     {pid}      C   python                                       {mib}MiB |"
    report = explained(
        "jax: RuntimeError: jaxlib/gpu/solver_handle_pool.cc:37: operation gpusolverDnCreate(&handle) failed:"
        " cuSolver internal error",
        "|=========================================+========================+======================|",
        "|   0  NVIDIA GeForce RTX 3060 ...    Off |   00000000:01:00.0 Off |                  N/A |",
        "| N/A   58C    P3             24W /   80W |    6011MiB /   6144MiB |      3%      Default |",
        row.format(pid=41877, mib=4734),
        row.format(pid=43120, mib=1082),
    )
    assert "pid 41877) held" in report.verdict and "most likely this program is pid 43120" in report.verdict


VMEM = (
    "Ran out of memory in memory space vmem while allocating on stack for %custom-call.1 = (bf16[8192,2048])"
    ' custom-call(f32[8192,2048] %p.0), custom_call_target="tpu_custom_call". Scoped allocation with size'
    " {size}M and limit 16.00M exceeded scoped vmem limit by {over}M."
)
CALL = "    return pl.pallas_call(kernel, out_shape=out{more})(x)"


@pytest.mark.parametrize(
    ("size", "more", "first"),
    [
        ("128.00", "", "give the kernel a grid and blocks"),
        ("128.00", ", grid=(4,)", "make the kernel's blocks smaller"),
        ("18.00", ", grid=(4,)", "give this kernel more of it"),
    ],
)
def test_a_limit_is_no_help_where_a_kernel_wants_many_times_it(size: str, more: str, first: str) -> None:
    message = VMEM.format(size=size, over=float(size) - 16)
    report = explained(f"jax RESOURCE_EXHAUSTED: {message}", "@jax.jit", "def f(x):", CALL.format(more=more))
    assert report.actions[0].remedy.text.startswith(first)


@pytest.mark.parametrize(
    ("said", "dtype"), [("", "float32, twice"), ("jax.config.update('jax_enable_x64', True)", "float64")]
)
def test_64_bits_are_not_the_default_of_jax(said: str, dtype: str) -> None:
    report = explained("K = jnp.exp(-d2)   # X (500000, 18)", said, f"{RAISED} 2000000000000 bytes.")
    assert f"500,000 x 500,000 in {dtype}" in report.verdict


def test_xlas_pool_of_pinned_memory_is_named() -> None:
    report = explained(
        "W0211 15:37:02.118845   4187 bfc_allocator.cc:501] Allocator (xla_gpu_host_bfc) ran out of memory"
        " trying to allocate 17.50GiB (rounded to 18790481920)requested by op",
        '  File "/w/offload.py", line 58, in <module>',
        "    state = jax.tree.map(lambda x: jax.device_put(x, host), state)",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of host memory while trying to"
        " allocate 18790481920 bytes with allocator xla_gpu_host_bfc on device 0.",
        "kernels are stacked over the 40 layers: gate/up (40, 4096, 28672), all f32",
    )
    assert "pool of pinned host RAM, 64 GB" in report.verdict and "TensorFlow" not in report.verdict
    assert slugs(report)[0] == "more-pinned-memory" and "in-blocks" not in slugs(report)


def test_a_loader_that_ends_steps_is_not_told_to() -> None:
    message = (
        "RESOURCE_EXHAUSTED: Attempting to reserve 7.12G at the bottom of memory. That was not possible."
    )
    report = explained(
        f"RuntimeError: {message} possible. There are 7.44G free, 0B reserved, and 3.86G reservable.",
        "It fails after 3 epochs, v3-8 TPU, torch_xla 1.11",
        '  File "train.py", line 214, in train_loop',
        "    for step, (x, y) in enumerate(para_loader.per_device_loader(device)):",
        '  File "/u/site-packages/torch_xla/core/xla_model.py", line 946, in mark_step',
        "    torch_xla._XLAC._xla_step_marker(",
    )
    assert not any(action.remedy.text.startswith("end each step") for action in report.actions)


PADDED = (
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 58.35G of 30.75G hbm. Exceeded hbm"
    " capacity by 27.60G.\nProgram hbm requirement 58.35G:\n    HLO temp         58.35G (71.3% utilization:"
    " Unpadded (41.20G) Padded (57.79G), 1.0% fragmentation (572.10M))\n  Largest program allocations in"
    " hbm:\n  1. Size: {size}G\n     Shape: f32[512,64,{last}]{{2,1,0:T(8,128)}}\n     Unpadded size:"
    " {data}G\n     Extra memory due to padding: 1.00G ({times}x expansion)\n     Allocation type: HLO temp\n"
)


def test_padding_of_the_list_is_not_told_of_what_it_does_not_hold() -> None:
    little = explained("a jax run on a TPU", PADDED.format(size=9.11, data=8.46, last=722, times=1.1))
    assert not any("722 is padded" in action.remedy.text for action in little.actions)
    much = explained("a jax run on a TPU", PADDED.format(size=5.06, data=3.16, last=80, times=1.6))
    told = next(action.remedy for action in much.actions if "80 is padded to 128" in action.remedy.text)
    assert "in buffers that are not listed" in told.text
    assert told.saves_bytes and told.saves_bytes < 2 << 30


def test_a_simulation_has_no_batch() -> None:
    tpu = PADDED.format(size=9.11, data=8.46, last=722, times=1.1)
    report = explained("an ocean simulation on a TPU v6e, jax", tpu)
    assert "a simulation has no batch" in " ".join(action.remedy.text for action in report.actions)
    trained = explained("a neural simulator in training on a TPU v6e, jax, batch_size=64", tpu)
    assert "a simulation has no batch" not in " ".join(a.remedy.text for a in trained.actions)


FRAME = '  File "/l/train.py", line 188, in main\n    state, metrics = train_step(state, batch)'
GOAL = (
    "W1030 08:12:41.120034 22015 hlo_rematerialization.cc:3198] Can't reduce memory use below 21.88GiB"
    " (23497211904 bytes) by rematerialization; only reduced to 1.51TiB (1660112347136 bytes), down from"
    " 1.51TiB (1662259830784 bytes) originally"
)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ('s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8.0', True),
        ('h = jnp.einsum("bqd,dk->bqk", x, w)', False),
    ],
)
def test_scores_that_quoted_code_makes_whole(code: str, told: bool) -> None:
    message = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    report = explained(GOAL, FRAME, f"{message} 1658964869120 bytes.", "# model.py", code)
    assert ("attention scores, which the quoted code makes whole" in report.verdict) is told
    assert (slugs(report)[0] == "blockwise-attention") is told


def test_reverse_mode_of_few_inputs() -> None:
    text = ("The shell says Killed, the whole RAM is gone.", "J = jit(jacrev(wave, 0))(par, t)")
    assert slugs(explained(*text))[0] == "forward-derivatives"
    assert "forward-derivatives" not in slugs(explained(text[0], "J = jit(jacfwd(wave, 0))(par, t)"))


@pytest.mark.parametrize(
    ("when", "told"), [("before the first train step", "ran out"), ("while it trains", "grows")]
)
def test_what_climbs_before_any_step_is_no_growth(when: str, told: str) -> None:
    report = explained(f"jax on a TPU: on all workers the system memory climbs to 100 % {when}, host RAM.")
    assert told in report.verdict and ("grows" in report.verdict) is (told == "grows")


def test_workers_in_words_of_processes_that_start_all_alike() -> None:
    told = "I start xmp.spawn(_mp_fn, nprocs=8) and DataLoader(num_workers=8): RAM goes up for every worker"
    report = explained(f"{told}, until the VM is out of RAM.", "The TPU itself never gets to do a step.")
    assert "8 worker processes of the data loader" in report.verdict
    assert slugs(report)[:2] == ["fewer-loader-workers", "one-model-for-all"]


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("With XLA_PYTHON_CLIENT_MEM_FRACTION=1.0 it gets through all ten.", True),
        ("With XLA_PYTHON_CLIENT_MEM_FRACTION=1.0 it fails as well.", False),
    ],
)
def test_a_setting_that_works_comes_first(said: str, first: bool) -> None:
    report = explained("jax on an A100", FRAME, f"{RAISED} 6955103232 bytes.", said)
    assert (slugs(report)[0] == "setting-that-works") is first


@pytest.mark.parametrize(
    ("made", "first"),
    [("jax.numpy.zeros(750 * 1000 * 1000)", "drop-references"), ("np.load('x.npy')", None)],
)
def test_an_array_that_nothing_reads_is_no_file(made: str, first: str | None) -> None:
    report = explained(
        "jax 0.3.4",
        '  File "leak.py", line 3, in <module>',
        f"    buf = {made}",
        "RuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3000000000 bytes.",
    )
    assert ("drop-references" in slugs(report)) is (first is not None)
    assert first is None or "one-batch-to-the-device" not in slugs(report)


@pytest.mark.parametrize(("card", "first"), [("one RTX 3070 (8GB)", True), ("two RTX 3070 (8GB)", False)])
def test_copies_to_every_device_of_one(card: str, first: bool) -> None:
    report = explained(
        '  File "app.py", line 31, in <module>',
        "    params = flax.jax_utils.replicate(params)",
        f"{RAISED} 201326592 bytes.",
        card,
    )
    assert ("without-copies" in slugs(report)) is first


def test_a_part_of_the_rows_fits() -> None:
    report = explained(
        "K = jnp.exp(-d2) on a TPU   # jax, X (500000, 18), a Gaussian process",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Aborting compilation early because it's unlikely to have enough"
        " memory. Requires 1.82T, has 14.71G available.",
    )
    code = next(action.remedy.code for action in report.actions if action.remedy.slug == "subsampling")
    assert code and "(31000,)" in code  # all pairs of 31,000 twice in float32 are 7.2 GiB


@pytest.mark.parametrize(
    ("used", "over", "part"), [("19.62", "4.14", "half of it or less"), ("47.00", "31.52", "an eighth")]
)
def test_what_is_fixed_of_all_that_a_program_needs_nobody_knows(used: str, over: str, part: str) -> None:
    hbm = f"Ran out of memory in memory space hbm. Used {used}G of 15.48G hbm. Exceeded hbm capacity by"
    report = explained(
        '  File "/w/chat.py", line 230, in __call__\n    output, self.rng = self._forward_generate(',
        f"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: {hbm} {over}G.",
    )
    assert f"give it {part} (" in " ".join(action.remedy.text for action in report.actions)


@pytest.mark.parametrize(("framework", "native"), [("jax", True), ("tensorflow 2.11", False)])
def test_native_memory_of_xlas_programs_is_no_pythons(framework: str, native: bool) -> None:
    steps = [f"step {n}0000 rss {400 + 70 * n} MB" for n in range(8)]
    report = explained(f"import {framework}", *steps, "Killed")
    assert ("native memory" in report.actions[0].remedy.text) is native
