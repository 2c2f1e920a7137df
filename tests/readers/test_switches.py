"""What a text shows as done already, and what only looks like it."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump, oom, report
from tfmemlens import pipeline
from tfmemlens.readers.oom.switches import SWITCHES, settings

EXAMPLES = [(name, example) for name, rule in SWITCHES for example in rule.examples]
HELD = "\n".join(
    ["", report("900.00MiB from net/a/Relu", "60.00MiB from gradients/net/b/Relu_grad/ReluGrad")]
)
JAX = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 9031036208 bytes.\n"
)


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=lambda value: str(value)[:40])
def test_a_switch_is_seen_in_its_own_lines(name: str, example: str) -> None:
    assert name in dict(settings(example))


NEAR_MISSES = (
    "y.shape  = (batch_size, 128)",
    "x = tf.placeholder(tf.float32, (val_batch_size, 256))",
    "If the cause is memory fragmentation maybe the environment variable 'TF_GPU_ALLOCATOR=cuda_malloc_async'"
    " will improve the situation.",
    "variable 'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation.",
    "# os.environ['TF_GPU_ALLOCATOR'] = 'cuda_malloc_async'",
    "You could use tf.recompute_grad to save memory",
    "should I call tf.keras.mixed_precision.set_global_policy('mixed_float16')?",
    "tf.keras.mixed_precision.set_global_policy('float32')",
    "model.save_weights(checkpoint)",
    "keras.callbacks.ModelCheckpoint('best.keras')",
    "checkpoint = tf.train.Checkpoint(model=model)",
    "jax.checkpoint_utils.save(state)",
    "Can't reduce memory use below 9.00GiB by rematerialization; only reduced to 10.00GiB",
    "Converted 0/120 nodes to float16 precision using 0 cast(s) to float16",
    "layout_optimizer failed: INVALID_ARGUMENT: Size of values 0 does not match",
    "config.graph_options.rewrite_options.layout_optimizer = rewriter_config_pb2.RewriterConfig.ON",
    '[[{{node conv}} = Conv2D[T=DT_FLOAT, data_format="NCHW", dilations=[1, 1, 1, 1]]]',
    "gradient_accumulation_steps=None",
    "USE_REMAT=0 python train.py",
    "echo $MODEL_REMAT",
    "activations bf16 = 25.6 GB, fp16: 1.5 GB",
    "step = jax.jit(step, donate_argnums=())",
    "model.compile('adam', 'mse', jit_compile='auto')",
    "%fusion = bf16[16,1024]{1,0} fusion(%p), kind=kLoop",
    "self.fp16_buffers = []",
    "example = 16 samples",
)


@pytest.mark.parametrize("line", NEAR_MISSES)
def test_what_only_looks_like_a_switch(line: str) -> None:
    assert not dict(settings(line))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'FALSE')", "False"),
        ("ENV XLA_PYTHON_CLIENT_PREALLOCATE=0", "False"),
        ("XLA_PYTHON_CLIENT_PREALLOCATE=true", "True"),
        ("fp16=False", "False"),
        ("mixed_precision: 'no'", "False"),
        ("gradient_accumulation_steps: 1", "1"),
        ("gradient_checkpointing=False", "False"),
    ],
)
def test_no_is_no(line: str, shown: str) -> None:
    assert list(dict(settings(line)).values()) == [shown]


def offered(log: str) -> set[str]:
    """The slugs of all that is advised."""
    return {action.remedy.slug for action in pipeline.explain(log).actions}


GPU_LOG = oom("64,256,256,2") + HELD
FULL = dump(64, 1000, 400, (60,) * 10)


@pytest.mark.parametrize(
    ("done", "slug"),
    [
        ("tf.keras.mixed_precision.set_global_policy('mixed_bfloat16')", "mixed-precision"),
        ("Mixed precision compatibility check (mixed_float16): OK", "mixed-precision"),
        ("Converted 98/289 nodes to float16 precision using 2 cast(s)", "mixed-precision"),
        ("python train.py --fp16", "mixed-precision"),
        ('  File "train.py", line 4, in build\n    block = tf.recompute_grad(block)', "recompute"),
        ("gradient_checkpointing=True", "recompute"),
    ],
)
def test_what_is_done_is_not_advised(done: str, slug: str) -> None:
    assert slug in offered(GPU_LOG)
    assert slug not in offered(f"{done}\n{GPU_LOG}")
    assert slug not in offered(f"{GPU_LOG}\n{done}\n")


@pytest.mark.parametrize("not_done", ["fp16=False", "gradient_checkpointing=False", *NEAR_MISSES[:8]])
def test_what_is_not_done_is_advised(not_done: str) -> None:
    assert {"mixed-precision", "recompute"} <= offered(f"{not_done}\n{GPU_LOG}")


def test_the_drivers_pool_is_advised_once() -> None:
    assert "async-allocator" in offered(FULL)
    assert "async-allocator" not in offered(f"export TF_GPU_ALLOCATOR=cuda_malloc_async\n{FULL}")


@pytest.mark.parametrize(
    ("done", "slug"),
    [
        ("step = jax.jit(step, donate_argnums=(0,))", "donate-buffers"),
        ("y = jax.checkpoint(block)(x)", "recompute"),
        ("XLA_FLAGS=--xla_dump_to=/tmp/x python train.py", "name-the-buffers"),
    ],
)
def test_what_jax_does_already_is_not_advised(done: str, slug: str) -> None:
    trained = f"{JAX}state = train_step(state)\n"
    assert slug in offered(trained)
    assert slug not in offered(f"{done}\n{trained}")


DRIVER = "failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"


def test_growth_is_advised_once() -> None:
    assert "growth" in offered(DRIVER)
    assert "growth" in offered(f"config.gpu_options.allow_growth = False\n{DRIVER}")
    assert "growth" not in offered(f"config.gpu_options.allow_growth = True\n{DRIVER}")


def batch_words(log: str) -> list[str]:
    texts = [action.remedy.text for action in pipeline.explain(log).actions]
    return [text for text in texts if "batch" in text]


def test_a_batch_of_one_is_not_halved() -> None:
    log = f"batch_size=1\n{oom('1,256,256,2')}{HELD}"
    assert batch_words(log) == [
        text for text in batch_words(log) if text.startswith("the batch is 1 already")
    ]
    assert batch_words(log)
    assert any("gradient accumulation" in text for text in batch_words(GPU_LOG))
    accumulating = f"gradient_accumulation_steps=4\n{GPU_LOG}"
    assert batch_words(accumulating) and not any("accumulation" in text for text in batch_words(accumulating))


def test_a_device_of_the_hosts_needs_no_pool_of_the_drivers() -> None:
    on_host = FULL.replace("GPU_0_bfc", "bfc_cpu_allocator_for_gpu") + oom(
        "64,256,256,2", on=CPU, by="bfc_cpu_allocator_for_gpu"
    )
    assert "async-allocator" not in offered(on_host)
