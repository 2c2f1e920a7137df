"""What a text states of a JAX program outranks the general advice for a program that is too large."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.case import FrontEnd
from tfmemlens.model.report import Report


def slugs(report: Report) -> list[str | None]:
    return [action.remedy.slug for action in report.actions]


def of_constants(constants: str, temporaries: str, asked: int) -> Report:
    return pipeline.explain(
        'Traceback (most recent call last):\n  File "/home/u/fit.py", line 60, in <module>\n'
        "    params, loss = step(params, idx)\n"
        f"jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 5.00GiB ({asked}B)"
        " on device ordinal 0: BufferAssignment stats:\n"
        "             parameter allocation:   40.00MiB\n"
        f"              constant allocation:    {constants}\n"
        "        maybe_live_out allocation:   40.00MiB\n"
        f"     preallocated temp allocation:  {temporaries}\n"
    )


def test_an_array_that_a_jitted_function_closes_over_is_a_constant() -> None:
    report = of_constants("5.00GiB", "300.00MiB", 5 << 30)
    assert "5.00 GiB of the program are constants" in report.verdict
    assert slugs(report)[:2] == ["pass-as-argument", "one-batch-to-the-device"]
    assert not {"smaller-batch", "recompute", "donate-buffers"} & set(slugs(report))


@pytest.mark.parametrize(("constants", "temporaries"), [("100.00MiB", "50.00MiB"), ("1.00GiB", "5.00GiB")])
def test_small_constants_and_a_small_part_explain_nothing(constants: str, temporaries: str) -> None:
    report = of_constants(constants, temporaries, 5 << 30)
    assert "constants" not in report.verdict and "pass-as-argument" not in slugs(report)


STATE = "snapshots.append((acc, nnx.state((model, optimizer))))"


def of_readings(kept: str, figures: list[float], divisor: str = "1e9", end: str = "") -> Report:
    rows = "".join(f"    {epoch} 0.51  {figure:.2f}\n" for epoch, figure in enumerate(figures))
    return pipeline.explain(
        "for epoch in range(50):\n    loss = train_step(model, optimizer, x, y)\n"
        f"    {kept}\n"
        f'    print(epoch, acc, jax.local_devices()[0].memory_stats()["bytes_in_use"] / {divisor}{end})\n\n'
        f"{rows}Traceback (most recent call last):\n"
        '  File "/home/u/fit.py", line 85, in <module>\n    loss = train_step(model, optimizer, x, y)\n'
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 2236481536 bytes.\n"
    )


@pytest.mark.parametrize(("divisor", "told"), [("1e9", "3.73 GiB to 12.1"), ("2**30", "4.00 GiB to 13.0")])
def test_readings_that_quoted_code_prints_rise(divisor: str, told: str) -> None:
    report = of_readings(STATE, [4, 7, 10, 13], divisor)
    assert f"rose from {told}" in report.verdict and "`snapshots` keeps whole states" in report.verdict
    assert slugs(report)[:2] == ["keep-numbers", "drop-results"]
    assert "smaller-batch" not in slugs(report)


@pytest.mark.parametrize(
    ("figures", "end"),
    [([4, 4, 4, 4], ""), ([4, 9, 4, 9], ""), ([4, 7, 10, 13], ", loss")],
    ids=["even", "up and down", "the loss stands last"],
)
def test_readings_that_do_not_rise(figures: list[float], end: str) -> None:
    assert "rose" not in of_readings(STATE, figures, end=end).verdict


def of_pytest(call: str, *, below: str = "") -> Report:
    error = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    return pipeline.explain(
        f"FAILED tests/test_gp.py::test_full - {error} 14400000000 bytes.\n\n"
        "    def test_full():\n"
        "        x, y = subset(32)\n"
        ">       fit(x, y)\n\n"
        "tests/test_gp.py:41: \n_ _ _ _ _ _ _ _\n\n"
        "    def fit(x, y):\n"
        "        theta, unravel = ravel_pytree(params)\n"
        f">       {call}\n{below}\n"
        f"gp.py:27: {'XlaRuntimeError' if below else ''}\n"
        + ("" if below else f"_ _ _ _\nE   {error} 14400000000 bytes.\n")
    )


@pytest.mark.parametrize(
    "below",
    ["", "E       jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to"
     " allocate 14400000000 bytes.\n"],
    ids=["the error below the place", "the error above the place"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("H = jax.hessian(flat_loss)(theta)", "Hessian"),
        ("J = jax.jacrev(residuals)(theta)", "Jacobian"),
        ("K = jnp.zeros((60000, 60000))", "[60000,60000] float32"),
    ],
)
def test_pytest_quotes_the_code_above_its_place(call: str, what: str, below: str) -> None:
    report = of_pytest(call, below=below)
    assert what in report.verdict
    failed = report.case.moments[0].request.failed  # type: ignore[union-attr]
    assert failed.source == "gp.py:27" and failed.source_text == call


TENSORFLOW = (
    "2023-06-29 10:40:17.006120: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1635] Created device"
    " /job:localhost/replica:0/task:0/device:GPU:0 with 9666 MB memory:  -> device: 0, name: NVIDIA GeForce"
    " RTX 3080 Ti, pci bus id: 0000:0a:00.0, compute capability: 8.6\n"
)


def of_tensorflow(before: str) -> Report:
    return pipeline.explain(
        f"import jax, optax\n{before}"
        'Traceback (most recent call last):\n  File "/home/u/fit.py", line 30, in <module>\n'
        "    state = create(jax.random.PRNGKey(0))\n"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 805306368 bytes.\n"
    )


def test_tensorflow_in_the_same_process_takes_the_gpu_first() -> None:
    report = of_tensorflow(TENSORFLOW)
    assert "TensorFlow, in the same process, made the GPU its own with 9.44 GiB" in report.verdict
    assert slugs(report)[0] == "tensorflow-off-the-gpu"


@pytest.mark.parametrize("before", ["", "allow_growth=True\n" + TENSORFLOW], ids=["absent", "grows"])
def test_tensorflow_that_takes_nothing_holds_nothing(before: str) -> None:
    report = of_tensorflow(before)
    assert "same process" not in report.verdict and "tensorflow-off-the-gpu" not in slugs(report)


def of_buffers(*buffers: tuple[str, str, str], need: int = 40 << 30, after: str = "") -> Report:
    listed = "".join(
        f'\tBuffer {at}:\n\t\tSize: {size}\n\t\tOperator: op_name="{name}" source_file="/home/u/net.py"'
        f" source_line=9\n\t\tXLA Label: fusion\n\t\tShape: {shape}\n\t\t{'=' * 26}\n\n"
        for at, (size, name, shape) in enumerate(buffers, 1)
    )
    return pipeline.explain(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {need} bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
        "             parameter allocation:   40.00MiB\n"
        f"     preallocated temp allocation:   {need / (1 << 30):.2f}GiB\n"
        f"Peak buffers:\n{listed}{after}"
    )


@pytest.mark.parametrize(
    "name",
    ["jit(update)/jit(main)/jvp(mp_layer_0)/edge_mlp/max", "jit(step)/jvp(net)/messages/concatenate"],
)
def test_a_whole_graph_has_no_batch(name: str) -> None:
    report = of_buffers(("20.00GiB", name, "f32[20971520,256]"), ("20.00GiB", name, "f32[20971520,256]"))
    assert "rows of a graph network, one for each of 20,971,520 edges or nodes" in report.verdict
    assert slugs(report)[0] == "sample-neighbours"
    assert not {"smaller-batch", "larger-pool"} & set(slugs(report))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("jit(step)/jvp(net)/dense/max", "f32[20971520,256]"),
        ("jit(f)/jvp(edge_mlp)/max", "f32[4096,1310720]"),
    ],
    ids=["no graph's name", "few rows"],
)
def test_other_rows_are_no_graphs(name: str, shape: str) -> None:
    report = of_buffers(("20.00GiB", name, shape), ("20.00GiB", name, shape))
    assert "graph network" not in report.verdict


@pytest.mark.parametrize("one_hot", [True, False])
def test_one_hot_labels_among_logits(one_hot: bool) -> None:
    of_labels = "jit(step)/jit(main)/jit(_one_hot)/eq" if one_hot else "jit(step)/jvp(jit(log_softmax))/sub"
    logits = ("6.00GiB", "jit(step)/jit(main)/jvp(GPT)/lm_head/dot_general", "f32[32,1024,49152]")
    report = of_buffers(logits, ("6.00GiB", of_labels, "f32[32,1024,49152]"), need=14 << 30)
    assert ("labels as one-hot rows" in report.verdict) is one_hot
    assert (slugs(report)[0] == "integer-labels") is one_hot


@pytest.mark.parametrize("differentiated", [True, False])
def test_a_rollout_has_no_backward_pass(differentiated: bool) -> None:
    loop = "jvp(while)/body" if differentiated else "while/body"
    stack = ("20.00GiB", f"jit(train)/jit(main)/{loop}/dynamic_update_slice", "f32[256,2972,84,84]")
    report = of_buffers(stack, stack)
    assert ("backward pass" in report.verdict) is differentiated
    assert ("narrow-copy" in slugs(report)) is not differentiated
    assert ("smaller-batch" in slugs(report)) is differentiated


def test_pairs_of_rows_have_no_batch() -> None:
    report = of_buffers(("20.00GiB", "jit(subtract)/jit(main)/sub", "f32[18318,18318,16]"), need=20 << 30)
    assert slugs(report)[:2] == ["matrix-product", "in-blocks"]
    assert not {"smaller-batch", "larger-pool"} & set(slugs(report))


TORCH = (
    "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
    " memory in memory space hbm. Used 26.07G of 15.48G hbm. Exceeded hbm capacity by 10.59G.\n"
    "torch_xla 2.1, PJRT_DEVICE=TPU\n\n"
    "53    for step, (x, y) in enumerate(loader):\n57        loss.backward(); opt.step()\n"
)


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("58        losses.append(loss)\n", False),
        ("58        losses.append(loss)\n59        xm.mark_step()\n", True),
        ("50    loader = pl.MpDeviceLoader(loader, dev)\n58        losses.append(loss)\n", True),
        ("58        losses.append(loss.item())\n", True),
        ("58        if i % 50 == 0:\n59            print(loss.item())\n", False),
    ],
)
def test_steps_that_nothing_ends(code: str, ends: bool) -> None:
    report = pipeline.explain(TORCH + code)
    assert ("the quoted loop ends no step" in report.verdict) is not ends
    assert (slugs(report)[0] == "mark-step") is not ends


def of_slots(after: str) -> Report:
    return pipeline.explain(
        'Traceback (most recent call last):\n  File "/app/init.py", line 42, in create\n'
        "    opt_state = tx.init(params)\n"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" 1803550720 bytes.\n\n{after}"
    )


@pytest.mark.parametrize(
    ("after", "late"),
    [
        ("    return jax.device_put(params, fsdp_sharding(params, mesh))\n", True),
        ("mesh = jax.make_mesh((8,), ('data',))\nsh = NamedSharding(mesh, P('data'))\n", True),
        ("mesh = jax.make_mesh((8,), ('data',))\np = jax.jit(init, out_shardings=sh)(key)\n", False),
        ("    return params, opt_state\n", False),
    ],
)
def test_state_that_is_sharded_too_late(after: str, late: bool) -> None:
    report = of_slots(after)
    assert ("shards it only afterwards" in report.verdict) is late
    assert (slugs(report)[0] == "shard-arguments") is late


def of_text(above: str, below: str = "", need: int = 10 << 30) -> Report:
    return pipeline.explain(
        f"{above}Traceback (most recent call last):\n"
        '  File "/home/u/train.py", line 44, in <module>\n    state, loss = train_step(state, batch)\n'
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {need} bytes.\n{below}"
    )


@pytest.mark.parametrize(("size", "told"), [("10.74GB", True), ("1.20GB", False)])
def test_constants_that_jax_warned_of(size: str, told: bool) -> None:
    warning = f"UserWarning: A large amount of constants were captured during lowering ({size} total).\n"
    report = of_text(warning)
    assert (f"{size} of constants" in report.verdict) is told
    assert ("pass-as-argument" in slugs(report)) is told and ("smaller-batch" in slugs(report)) is not told


@pytest.mark.parametrize(
    ("prose", "graph"),
    [
        ("full-graph training with jraph.GAT, 61M edges, no mini-batches\n", True),
        ("jit compiles the whole graph at once, does it not?\n", False),
        ("our GNN trains on mini-batches of nodes\n", False),
    ],
)
def test_a_graph_network_on_its_whole_graph_in_prose(prose: str, graph: bool) -> None:
    report = of_text("", prose)
    assert (slugs(report)[0] == "sample-neighbours") is graph
    assert ("smaller-batch" in slugs(report)) is not graph


@pytest.mark.parametrize(
    ("kept", "epoch", "told"),
    [
        ("best.append((evaluate(state), state))", 6, True),
        ("history.append(nnx.state(model))", 6, True),
        ("best.append((evaluate(state), state))", 1, False),
        ("accuracies.append(evaluate(model, state))", 6, False),
        ("steps.append(state.step)", 6, False),
        ("best.append(jax.device_get(state))", 6, False),
    ],
)
def test_whole_states_that_a_list_keeps(kept: str, epoch: int, told: bool) -> None:
    report = of_text(f"    {kept}\nEpoch {epoch} done\n", need=1 << 30)
    assert ("keeps whole states" in report.verdict) is told
    assert ("smaller-batch" in slugs(report)) is not told


FOLDED = "I run AlphaFold on {} residues.\n{}RuntimeError: Resource exhausted: Out of memory while trying to"
FOLDED += " allocate {} bytes.\n"
REFUSED = (
    "cuda_driver.cc:764] failed to alloc 14555565056 bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY:"
    " out of memory\n"
)


@pytest.mark.parametrize(
    ("head", "need", "second"),
    [("", 14285187448, "unified-memory"), (REFUSED, 12582912, "room-for-unified-memory")],
)
def test_a_structure_fills_the_device_whatever_was_asked_for_last(head: str, need: int, second: str) -> None:
    report = pipeline.explain(FOLDED.format(1100, head, need))
    assert "it predicts a protein's structure" in report.verdict
    assert ("was refused (line 2)" in report.verdict) is bool(head)
    assert [action.remedy.slug for action in report.actions[:2]] == ["shorter-sequences", second]


def test_a_pool_of_unified_memory_has_room_for_the_request() -> None:
    told = FOLDED.format(2510, "It is an RTX 2060 with 6 GB.\n", 37274034352)
    codes = [action.remedy.code or "" for action in pipeline.explain(told).actions]
    assert any("XLA_PYTHON_CLIENT_MEM_FRACTION=12.0" in code for code in codes)


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("with a different-sized image each time", "one-shape-of-jax"),
        ("with each call to a jit-ed function", "compile-once"),
        ("with each call of a function", None),
    ],
)
def test_what_is_compiled_anew_grows(said: str, slug: str | None) -> None:
    report = pipeline.explain(f"Memory grows with JAX {said}, until it runs out of memory.\n")
    first = report.actions[0].remedy.slug
    assert first == (slug or first) and (slug or first not in ("one-shape-of-jax", "compile-once"))


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("The code does not partition its work over the GPUs.", "use-all-devices"),
        ("The code partitions its work over the GPUs.", None),
    ],
)
def test_what_the_words_say_beside_a_lack_of_memory(said: str, slug: str | None) -> None:
    report = pipeline.explain(f"I run out of memory on 4 GPUs with JAX. {said}\n")
    slugs = [action.remedy.slug for action in report.actions]
    assert ("use-all-devices" in slugs) is (slug is not None)


@pytest.mark.parametrize(
    ("said", "figure"),
    [
        ("it ran out of memory trying to allocate 5.96GiB", "only that 5.96GiB was asked for (line 1)"),
        ("an HBM OOM (Used 33.27G of 30.75G)", "only that it needs 33.27G of 30.75G (line 1)"),
        ("it ran out of memory at 5.96GiB", "no message of it"),
    ],
)
def test_a_figure_that_a_sentence_repeats(said: str, figure: str) -> None:
    assert figure in pipeline.explain(f"With JAX {said}\n").verdict


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ("Checkpoint serialization leaks host RAM", "host RAM grows"),
        ("Checkpoint serialization leaks memory", "memory grows"),
    ],
)
def test_a_save_that_leaks_says_of_which_memory(said: str, where: str) -> None:
    assert f"in words that {where}" in pipeline.explain(f"{said} with JAX, OOM-kills large runs\n").verdict


@pytest.mark.parametrize("library", ["levanter", "netket", "keypoint-moseq", "GraphCast", "kauldron"])
def test_libraries_that_are_written_in_jax(library: str) -> None:
    message = (
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 45924508816 bytes.\n"
    )
    assert pipeline.explain(f"I run {library}.\n{message}").case.api.front_end is FrontEnd.JAX
