"""Weights that are replicated, restored beside others, or returned without being donated."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(said: str, *frames: str, asked: str = "2147483648 bytes.") -> Report:
    traceback = "".join(f"  File {frame}\n" for frame in frames)
    return pipeline.explain(
        f"{said}\n\nTraceback (most recent call last):\n{traceback}"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {asked}\n"
    )


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


STEP = '"/home/u/fit.py", line 9, in <module>\n    state, loss = train_step(state, batch)'
SLOTS = '"/home/u/fit.py", line 9, in <module>\n    opt_state = tx.init(params)'
PLACED = "params = jax.device_put(params, NamedSharding(mesh, P()))"


@pytest.mark.parametrize(
    "said",
    [PLACED, "weight_sharding = NamedSharding(mesh, PartitionSpec())", "state = jax_utils.replicate(state)"],
)
def test_weights_with_no_axis_to_be_sharded_over(said: str) -> None:
    report = explained(said, SLOTS)
    assert "line 1 gives weights or state no axis to be sharded over" in report.verdict
    assert slugs(report)[0] == "shard-arguments"


@pytest.mark.parametrize(
    "said",
    [
        "params = jax.device_put(params, NamedSharding(mesh, P('data')))",
        "step_number = jax.device_put(0, NamedSharding(mesh, P()))",
        "batch = jax.device_put(batch, NamedSharding(mesh, P('data', None)))",
    ],
)
def test_weights_that_are_sharded_and_scalars(said: str) -> None:
    assert "no axis to be sharded over" not in explained(said, SLOTS).verdict


def test_beside_a_failing_step_it_is_a_cause_only_where_the_weights_decide() -> None:
    some, many = explained(PLACED, STEP), explained(f"{PLACED}\n# a 7B model on 8 x A100 80GB", STEP)
    assert "no axis" not in some.verdict and "shard-arguments" in slugs(some)
    assert "no axis" in many.verdict or "weights" in many.verdict


RESTORING = '"/home/u/fit.py", line 9, in <module>\n    restored = manager.restore(step)'
IN_ORBAX = (
    '"/v/site-packages/orbax/checkpoint/type_handlers.py", line 9, in deserialize\n    await gather(ops)'
)


@pytest.mark.parametrize("frames", [(RESTORING,), (RESTORING, IN_ORBAX)])
@pytest.mark.parametrize(
    "made",
    [
        "state = create_train_state(key, config)",
        "params = model.init(key, x)",
        "variables, rest = init_model(key)",
        "model = Net(64, rngs=nnx.Rngs(0))",
    ],
)
def test_a_checkpoint_beside_what_was_made_before(made: str, frames: tuple[str, ...]) -> None:
    report = explained(made, *frames)
    assert f"beside `{made.split(',')[0].split()[0]}` (line 1), which was made before it" in report.verdict
    assert slugs(report)[0] == "restore-into-shapes"


@pytest.mark.parametrize(
    "made",
    [
        "state = jax.eval_shape(create_train_state, key)",
        "abstract_state = nnx.state(model)",
        "config = load_config(path)",
        "x = make_batch(key)",
    ],
)
def test_a_checkpoint_beside_nothing(made: str) -> None:
    assert "which was made before it" not in explained(made, RESTORING).verdict


def test_saving_restores_nothing() -> None:
    saving = IN_ORBAX.replace("deserialize", "serialize")
    line = '"/home/u/fit.py", line 9, in <module>\n    manager.save(step, state)'
    report = explained("state = create_train_state(key, config)", line, saving)
    assert "which was made before it" not in report.verdict


CREATED_THEN_SHARDED = (
    "model = Net(cfg, rngs=nnx.Rngs(0))\nspecs = nnx.get_partition_spec(nnx.state(model))\n"
    "state = jax.lax.with_sharding_constraint(nnx.state(model), specs)"
)
LAYER = '"/home/u/net.py", line 9, in __init__\n    self.up = nnx.Linear(8192, 32768, rngs=rngs)'


def test_a_constraint_outside_of_jit_shards_what_exists() -> None:
    assert "shards it only afterwards" in explained(CREATED_THEN_SHARDED, LAYER).verdict
    inside = f"@nnx.jit\ndef create():\n    {CREATED_THEN_SHARDED}"
    assert "shards it only afterwards" not in explained(inside, LAYER).verdict


@pytest.mark.parametrize(
    ("line", "fires"),
    [
        ("J = jax.vmap(jax.jacrev(net))(points)", True),
        ("J = jax.jacrev(net)(point)", False),
        ("y = jax.vmap(net)(points)", False),
    ],
)
def test_the_jacobian_of_every_row(line: str, fires: bool) -> None:
    report = explained("", f'"/home/u/fit.py", line 9, in <module>\n    {line}', asked="9600000004 bytes.")
    assert ("the Jacobian of every row at once" in report.verdict) is fires


def on_tpu(shared: str, results: str = "9.00G") -> Report:
    return pipeline.explain(
        "p_train_step = jax.pmap(train_step, axis_name='batch')\n"
        "ValueError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.00G of 15.48G hbm."
        " Exceeded hbm capacity by 4.52G.\n\nTotal hbm usage >= 20.52G:\n    reserved        530.00M\n"
        "    program          11.00G\n    arguments        9.00G\n\n"
        f"Output size {results}; shares {shared} with arguments.\n\nProgram hbm requirement 11.00G:\n"
        "    HLO temp          2.00G\n    HLO output        9.00G\n\n"
        "  Largest program allocations in hbm:\n\n"
        '  1. Size: 500.00M\n     Operator: op_name="pmap(train_step)/jvp(LM)/lm_head/dot_general"\n'
        "     Shape: f32[4,1024,32000]{2,1,0:T(8,128)}\n     Unpadded size: 500.00M\n"
        "     XLA label: %fusion.9\n     Allocation type: HLO temp\n     ==========================\n"
    )


def test_results_beside_arguments_on_a_tpu_are_not_donated() -> None:
    report = on_tpu("0B")
    assert "are results, made beside arguments of about 9.00 GiB" in report.verdict
    assert slugs(report)[0] == "donate-buffers" and "logits" not in report.verdict


def test_what_is_donated_is_not_donated_again() -> None:
    report = on_tpu("9.00G")
    assert "made beside arguments" not in report.verdict and "donate-buffers" not in slugs(report)


@pytest.mark.parametrize(
    ("said", "batch"),
    [("the batch is 1 already", "1"), ("a batch of 16 images", "16"), ("batch 12/500 done", None)],
)
def test_a_batch_in_words(said: str, batch: str | None) -> None:
    setting = explained(said, STEP).case.capture.surroundings.setting("batch_size")
    assert (setting[0] if setting else None) == batch


REMAT = (
    "2025-01-18 11:20:31.480321: W external/xla/xla/hlo/transforms/simplifiers/hlo_rematerialization.cc:3021]"
    " Can't reduce memory use below 17.21GiB (18479106048 bytes) by rematerialization; only reduced to"
    " 19.05GiB (20454782182 bytes), down from 21.66GiB (23257247744 bytes) originally\n"
)


def test_a_goal_that_xla_missed_is_no_failure() -> None:
    assert "No failure: XLA warned" in pipeline.explain(f"{REMAT}step 100 loss 7.44\n").verdict
    assert "XLA warned" not in explained(REMAT, STEP).verdict


@pytest.mark.parametrize(
    ("said", "fires"), [("import jax, cupy as cp", True), ("import numpy as np, cupy as cp", False)]
)
def test_jax_beside_another_framework_that_ran_out(said: str, fires: bool) -> None:
    report = pipeline.explain(
        f"{said}\ncupy.cuda.memory.OutOfMemoryError: Out of memory allocating 6,400,000,000 bytes (allocated"
        " so far: 0 bytes).\n"
    )
    assert ("JAX takes 75 % of the GPU" in " ".join(a.remedy.text for a in report.actions)) is fires


def test_refusals_of_jaxlib_are_no_tensorflow() -> None:
    line = (
        "2022-09-30 08:10:44.1: I external/org_tensorflow/tensorflow/compiler/xla/stream_executor/cuda/"
        "cuda_driver.cc:774] failed to allocate 21.30GiB (22875394048 bytes) from device:"
        " CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    )
    steps = "Epoch 1:  14%|#4        | 112/782 [00:08<00:52, 12.7it/s]\n"
    assert pipeline.explain(line + steps).case.capture.source.framework == "jax"
    serving = "I tensorflow_serving/model_servers/server_core.cc:465] Adding/updating models.\n"
    assert pipeline.explain(serving + line + steps).case.capture.source.framework != "jax"


MESH = f"mesh = jax.make_mesh((8,), ('data',))\n{PLACED}\nbatch = jax.tree.map(jnp.asarray, batch)"


def test_a_batch_that_no_line_shards() -> None:
    report = explained(MESH, STEP)
    assert "no line that the text shows shards the batch" in report.verdict
    assert slugs(report)[0] == "shard-the-batch"


@pytest.mark.parametrize(
    ("said", "frame"),
    [
        (f"{MESH}\nbatch = jax.device_put(batch, NamedSharding(mesh, P('data')))", STEP),
        (f"{MESH}\nbatch = shard(batch)", STEP),
        (MESH, SLOTS),
        (PLACED.replace("params", "scale"), STEP),
    ],
)
def test_a_batch_that_is_sharded_or_plays_no_part(said: str, frame: str) -> None:
    assert "shards the batch" not in explained(said, frame).verdict


LOADING = "lm = keras_hub.models.GemmaCausalLM.from_preset('gemma2_9b_en')"


def test_a_model_that_is_larger_than_the_card_when_it_is_loaded() -> None:
    report = explained(
        f"import keras_hub   # on the JAX backend\n{LOADING}\nGPU: RTX 4090", asked="205520896 bytes."
    )
    assert "the model is loaded whole: it has about 9 billion weights, 33.53 GiB" in report.verdict
    assert slugs(report)[:2] == ["narrow-weights", "smaller-model"]
    assert "shard-arguments" not in slugs(report)  # one card has nothing to shard over


@pytest.mark.parametrize(
    ("said", "frames"),
    [
        (f"{LOADING.replace('9b', '2b')}\nGPU: RTX 4090", ()),  # 7.45 GiB of 24
        (f"{LOADING}\nGPU: RTX 4090", (STEP,)),  # another line failed
    ],
)
def test_a_model_that_fits_or_was_loaded_before(said: str, frames: tuple[str, ...]) -> None:
    assert "is loaded whole" not in explained(said, *frames, asked="205520896 bytes.").verdict


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        ("metrics['loss'].block_until_ready()", True),
        ("print(loss)", True),
        ("losses.append(loss.item())", True),
        ("state, loss = train_step(state, batch)", False),
        ("blueprint(x)", False),
    ],
)
def test_a_line_that_only_waits(line: str, waits: bool) -> None:
    said = "import jax\nstate, metrics = train_step(state, batch)"
    verdict = explained(said, f'"/home/u/fit.py", line 9, in <module>\n    {line}').verdict
    assert ("only waits for a result" in verdict) is waits
    assert ("most likely the step that line 2 calls" in verdict) is waits


def test_free_memory_in_the_wrong_place_is_not_called_too_little() -> None:
    def report(free: str) -> Report:
        return pipeline.explain(
            "import torch_xla\nlosses.append(loss)\nxm.mark_step()\n"
            "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error loading program: Attempting to"
            f" reserve 5.22G at the bottom of memory. That was not possible. There are {free} free, 0B"
            " reserved, and 4.98G reservable.\n"
        )

    assert "5.40 GiB was free on the device, and not where" in report("5.40G").verdict
    assert "only about 3.10 GiB was free" in report("3.10G").verdict
    assert "in `losses` (line 2)" in report("3.10G").actions[0].remedy.text


def test_odd_factors_tell_a_product() -> None:
    line = '"/home/u/ppo.py", line 9, in <module>\n    run, traj = jax.lax.scan(f, run, None, n)'
    sizes = "num_envs: 2048, rollout length 128, obs shape (84, 84, 4)"
    report = explained(sizes, line, asked=f"{128 * 2048 * 84 * 84 * 4 * 4} bytes.")
    assert "2,048 (`num_envs`) x 128 (`length`) x 84 x 84 x 4" in report.verdict
    powers = explained(
        "num_envs: 2048, rollout length 128, obs shape (64, 64, 4)", line, asked=f"{2**34} bytes."
    )
    assert "num_envs" not in powers.verdict


def placed(said: str) -> Report:
    return pipeline.explain(
        f"{said}\nRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate"
        " 320.00M. That was not possible. There are 211.06M free.; (0x0x0_HBM0)\n"
    )


def test_weights_that_are_copied_to_every_chip_when_it_is_full() -> None:
    report = placed("import jax\nstate = flax.jax_utils.replicate(state)")
    assert "line 2 gives weights or state no axis" in report.verdict
    assert slugs(report)[0] == "shard-arguments"
    assert "no axis" not in placed("import jax\nstate = make(state)").verdict


@pytest.mark.parametrize(
    ("said", "fires"),
    [
        ("# only the LoRA matrices train\nx = f(y)   # LoRA", True),
        ("tx = optax.multi_transform({'lora': adam, 'rest': optax.set_to_zero()}, labels)   # LoRA", False),
        ("tx = optax.adamw(1e-4)", False),
    ],
)
def test_moments_of_weights_that_are_not_trained(said: str, fires: bool) -> None:
    assert ("all of them get moments" in explained(said, SLOTS).verdict) is fires


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("models = eqx.filter_vmap(make_model)(keys)", "a whole model for each of `keys`"),
        ("params = jax.vmap(init_params)(rngs)", "a whole model for each of `rngs`"),
        ("envs = jax.vmap(reset)(keys)", None),
    ],
)
def test_a_model_for_each_key(line: str, what: str | None) -> None:
    verdict = explained("", f'"/home/u/fit.py", line 9, in <module>\n    {line}').verdict
    assert what in verdict if what else "a whole model" not in verdict


MAPPED = "loss = lambda p: jax.lax.map(lambda ray: render(p, ray), rays).mean()"
GRADED = '"/home/u/fit.py", line 9, in <module>\n    g = jax.grad(loss)(params)'
CALLED = '"/home/u/fit.py", line 9, in <module>\n    y = loss(params)'


@pytest.mark.parametrize(
    ("said", "frame", "fires"),
    [
        (MAPPED, GRADED, True),
        (MAPPED, CALLED, False),
        (MAPPED.replace("lambda ray: render(p, ray)", "jax.checkpoint(render)"), GRADED, False),
    ],
)
def test_what_a_map_keeps_under_a_gradient(said: str, frame: str, fires: bool) -> None:
    assert ("lax.map keeps what each iteration needs" in explained(said, frame).verdict) is fires


def test_a_search_for_algorithms_needs_room_of_its_own() -> None:
    said = "XlaRuntimeError: UNKNOWN: Failed to determine best cudnn convolution algorithm for:"
    report = pipeline.explain(
        f"import jax\n{said}\n%cudnn-conv = (f32[16,512,64,64]) custom-call(...)\n\nOriginal error:"
        " RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4831838208 bytes.\n"
    )
    assert "trying algorithms for a convolution" in report.verdict and slugs(report)[0] == "default-algorithm"
    assert "default-algorithm" not in slugs(explained("", STEP))


def test_a_warning_of_donation_alone_is_no_failure() -> None:
    warning = "UserWarning: Some donated buffers were not usable: float32[64,3,224,224].\n"
    assert "No failure: JAX warned" in pipeline.explain(f"{warning}step 50 loss 6.51\n").verdict
    assert "No failure" not in explained(warning, STEP).verdict


def contrastive(name: str) -> str:
    buffers = "".join(
        f'\tBuffer {at}:\n\t\tSize: 4.00GiB\n\t\tOperator: op_name="jit(step)/jit(main)/jvp({name})'
        '/log_softmax/sub" source_file="/home/u/loss.py" source_line=14\n\t\tXLA Label: fusion\n'
        "\t\tShape: f32[32768,32768]\n"
        "\t\t==========================\n\n"
        for at in (1, 2)
    )
    return pipeline.explain(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 9663676416 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
        "             parameter allocation:    1.70GiB\n     preallocated temp allocation:    9.00GiB\n"
        f"Peak buffers:\n{buffers}"
    ).verdict


def test_a_square_of_rows_is_no_table_of_classes() -> None:
    assert "every pair of 32,768 x 32,768 rows" in contrastive("clip_loss")
    assert "logits over 32,768 classes" in contrastive("lm_head")


BY_NAME = (
    "mesh = jax.make_mesh((8,), ('data',))\nrepl = NamedSharding(mesh, P())\n"
    "params = jax.device_put(params, repl)\nopt_state = jax.device_put(tx.init(params), repl)"
)
NO_AXIS = "gives weights or state no axis to be sharded over"


def on_eight(code: str) -> Report:
    line = code.splitlines()[-1]
    frame = f'"/home/u/fit.py", line 9, in <module>\n    {line}'
    return explained(code, frame, asked="360710144 bytes.\n\n8x A100 40GB")


def test_a_sharding_without_an_axis_by_its_name() -> None:
    report = on_eight(BY_NAME)
    assert NO_AXIS in report.verdict and "bystander" not in report.verdict
    assert slugs(report)[0] == "shard-arguments"


@pytest.mark.parametrize(
    "code",
    [
        BY_NAME.replace("P())", "P('data'))"),
        BY_NAME.replace("(params, repl)\n", "(params)\n").replace("tx.init(params), repl", "tx.init(params)"),
        BY_NAME.replace("params = jax.device_put(params, repl)\n", "").replace(
            "opt_state = jax.device_put(tx.init(params), repl)", "key = jax.device_put(key, repl)"
        ),
    ],
)
def test_what_is_not_placed_whole(code: str) -> None:
    assert NO_AXIS not in on_eight(code).verdict
