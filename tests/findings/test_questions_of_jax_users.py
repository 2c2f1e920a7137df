"""What users of JAX ask and tell in words, where nothing ran out or no message is quoted: what the page may
say of it, and what not.
"""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

STEP = "import jax\nstep = jax.jit(step, donate_argnums=0)\n"


@pytest.mark.parametrize(
    ("said", "says", "first_slug"),
    [
        (
            f"{STEP}Each call doubles the memory, the state is copied.",
            "memory is there twice",
            "tell-which",
        ),
        (
            "import jax\nWill it donate the buffer?\n- donated loop = peak memory: 2500.1 MiB",
            "memory is compared",
            "tell-which",
        ),
        (
            "import jax\nThe step with nnx.jit consumes twice memory than the plain one.",
            "one program takes more memory than another",
            "see-the-plan",
        ),
        (
            "import jax\nIt consumes twice memory than the same in PyTorch.",
            "one program takes more memory than another",
            "see-real-use",
        ),
        (
            "import jax\ny = jax.lax.fori_loop(0, 100, f, x)\nThe grad of it has no O(1) space complexity.",
            "keeps what its backward pass needs of every turn",
            "recompute-body",
        ),
        (
            "import jax\nRemat of `lax.scan` under jax.grad: I tried jax.remat on the loop's body.",
            "keeps what its backward pass needs of every turn",
            "recompute-some",
        ),
        (
            "SAC of Brax sets its replay buffer to 30 million, which is what takes the VRAM.",
            "the replay buffer",
            "smaller-replay",
        ),
    ],
)
def test_a_question_without_a_failure_is_answered(said: str, says: str, first_slug: str) -> None:
    page = explained(f"A question about jax\n{said}\n")
    assert says in page.verdict and page.verdict.startswith("No failure is told")
    assert offered(f"A question about jax\n{said}\n")[0] == first_slug


@pytest.mark.parametrize(
    "said",
    [
        f"{STEP}f(x, x) hangs: the same buffer is passed twice.",
        "import jax\nThe backward pass takes 40 times as long as the forward one.",
        "import jax\nHow do I give a replay buffer to a jitted function?",
    ],
)
def test_a_question_of_something_else_is_not(said: str) -> None:
    assert "No failure is told" not in explained(f"A question about jax\n{said}\n").verdict


def test_beside_words_of_a_failure_the_failure_counts() -> None:
    text = "jax: the step with nnx.jit consumes twice memory than the plain one, and runs out of memory\n"
    assert explained(text).verdict.startswith("The text says in words that memory ran out")


TABLE = (
    "import jax\nimport jax.numpy as jnp\n\n{setting}table = jnp.zeros(({rows}, 300))\n\n"
    "def f(i):\n    return table[i]\n\njax.jit(f)(jnp.array([1, 2]))\n\nThis takes a lot of memory.\n"
)


def test_a_large_array_that_is_captured_explains_much_memory() -> None:
    assert "uses the array `table`" in explained(TABLE.format(rows="3_000_000", setting="")).verdict
    assert "uses the array `table`" not in explained(TABLE.format(rows=300, setting="")).verdict


@pytest.mark.parametrize("setting", ['JAX_PLATFORMS="cpu"', "os.environ['JAX_PLATFORM_NAME'] = 'cpu'", "CPU"])
def test_on_the_cpu_no_pool_of_a_gpu_is_told(setting: str) -> None:
    text = f"import jax\n{setting}\nThe table takes much more memory than expected.\n"
    assert "75 %" not in explained(text).verdict
    grows = f"jax: a memory leak\n{setting}\nMemory keeps growing from call to call.\n"
    assert "host RAM grows" in explained(grows).verdict


def test_a_pool_that_is_switched_off_is_not_told() -> None:
    text = "import jax\n{}My jax program takes much more GPU memory than expected.\n"
    assert "JAX reserves 75 %" in explained(text.format("")).verdict
    off = "os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'false'\n"
    assert "JAX reserves 75 %" not in explained(text.format(off)).verdict


def test_backends_of_other_makers_say_nothing_of_the_gpu() -> None:
    log = "INFO:jax._src.xla_bridge: Unable to initialize backend '{}': no such library\n"
    assert "runs on the CPU" in explained(log.format("cuda")).verdict
    assert "runs on the CPU" not in explained(log.format("rocm")).verdict


LOOP = (
    "import jax\nimport kernels\n\ndef build(p):\n    return kernels.Process(p, mean={mean})\n\n"
    "@jax.jit\ndef loss(p):\n    return build(p).loss()\n\nfor p in points:\n    ys.append(build(p).mean)\n\n"
    "The RAM of my process keeps growing.\n"
)


def test_a_librarys_call_with_a_lambda_is_told_where_it_runs_outside_of_jit() -> None:
    text = LOOP.format(mean="lambda x: 0.").replace("ys.append(build(p).mean)", "build(p).mean")
    assert "`build` runs outside of jit there" in explained(text).verdict
    assert "outside of jit" not in explained(text.replace("lambda x: 0.", "zero")).verdict
    inside = text.replace("    build(p).mean", "    loss(p)")
    assert "outside of jit" not in explained(inside).verdict
    assert "outside of jit" not in explained(text.replace("RAM of my process keeps growing", "RAM")).verdict


SHAPES = (
    "import jax\nimport jax.numpy as jnp\n\n@jax.jit\ndef f(x):\n    return x.sum()\n\n"
    "for i in range(1000):\n    f(jnp.zeros(i))\n{clears}\nA memory leak: RAM keeps growing.\n"
)


def test_programs_that_are_dropped_are_not_said_to_be_kept() -> None:
    assert "keeps every program" in explained(SHAPES.format(clears="")).verdict
    cleared = SHAPES.format(clears="    jax.clear_caches()")
    assert "keeps every program" not in explained(cleared).verdict
    assert "start-anew" not in offered(cleared)


def test_what_a_library_makes_is_not_said_to_compile_nothing() -> None:
    loop = "import numpyro\nmodel = other.define('y ~ x')\nfor _ in range(1000):\n    model.nuts(iter=1)\n\n"
    text = f"{loop}numpyro: RAM keeps growing in this loop.\n"
    assert "a function anew" not in str([each.text for each in explained(text).findings[0].remedies])
    assert offered(text)[0] == "start-anew"


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("RAM keeps growing each time I run the NUTS sampler in a loop.", "start-anew"),
        ("RAM keeps growing until NUTS runs out of memory with 1000 draws.", "fewer-draws"),
        ("NUTS runs out of memory: what it asks for scales with the number of iterations.", "fewer-draws"),
    ],
)
def test_a_sampler_is_made_anew_only_from_run_to_run(said: str, slug: str) -> None:
    assert offered(f"About numpyro\n{said}\n")[0] == slug


def test_an_adaptation_stacks_each_of_its_steps() -> None:
    code = "import jax\nimport blackjax\nadapt = blackjax.window_adaptation(blackjax.nuts, logp{})\n"
    said = "It runs out of memory, which scales with the number of iterations.\n"
    assert "each of its steps (line 3)" in explained(code.format("") + said).verdict
    kept = code.format(", adaptation_info_fn=nothing")
    assert "each of its steps" not in explained(kept + said).verdict


def test_a_solvers_jacobian_is_not_made_by_a_matrix_free_one() -> None:
    said = "With jax and optimistix a Newton root finding runs out of memory: the Jacobian is big.\n"
    assert "the solver's Jacobian" in explained(said).verdict
    assert offered(said)[:2] == ["hessian-products", "no-jacobian"]
    assert "solver's" not in explained("jax: the full Jacobian of my net runs out of memory\n").verdict


def test_what_a_scan_stacks_is_told() -> None:
    said = "`lax.scan` stacks the positions of every step, which exhausts GPU memory.\n"
    assert "what a scan gives back of each of its steps" in explained(said).verdict
    assert offered(said)[0] == "fewer-saved"


def test_a_law_with_its_reason_is_a_cause() -> None:
    said = "jax: due to this line, with a long box the memory required becomes O(N^2), too much memory.\n"
    page = explained(said)
    assert "names the cause" in page.verdict and offered(said)[0] == "less-of-the-square"


@pytest.mark.parametrize(
    "said",
    [
        "My problem is that something in jax is leaking a lot of memory in my loop.",
        "I suspect that the objects are not deallocated from memory, which keeps growing.",
        "I was looking for a fixed point of a jax function, and it runs out of memory.",
    ],
)
def test_a_symptom_is_neither_cause_nor_end(said: str) -> None:
    verdict = explained(f"A question about jax\n{said}\n").verdict
    assert not any(words in verdict for words in ("names the cause", "suspects", "what ended it"))


@pytest.mark.parametrize("maker", ["nnx.vmap(out_axes=axes)", "nn.vmap(Block)"])
def test_layers_that_are_made_by_a_lifted_vmap_are_no_rows(maker: str) -> None:
    text = "from flax import nnx\n\n@{}\ndef make(rngs):\n    return Block(rngs)\n\nIt runs out of memory.\n"
    assert "what vmap makes" not in explained(text.format(maker)).verdict
    assert "what vmap makes" in explained(text.format("jax.vmap")).verdict


HANDLE = (
    "import jax.numpy as jnp; {call}\n\njaxlib._jax.XlaRuntimeError: INTERNAL:"
    " jaxlib/gpu/solver_handle_pool.cc:37: operation gpusolverDnCreate(&handle) failed: cuSolver internal"
    " error\n"
)


def test_a_handle_for_hardly_anything_is_a_matter_of_versions() -> None:
    small = HANDLE.format(call="jnp.linalg.solve(jnp.array([[1]]), jnp.array([1]))")
    assert "makes hardly anything (line 1)" in explained(small).verdict
    assert offered(f"A Jetson Orin\n{small}")[0] == "build-for-this-board"
    large = HANDLE.format(call="jnp.linalg.eigh(jnp.ones((20000, 20000)))")
    assert "hardly anything" not in explained(large).verdict


def test_threads_of_the_compiler_ask_what_is_compiled() -> None:
    of_llvm = "A program of jax\nLLVM ERROR: pthread_create failed: Resource temporarily unavailable\n"
    assert offered(of_llvm) == ["compile-once", "fewer-threads"]
    assert offered("RuntimeError: can't start new thread\n") == ["fewer-threads"]


@pytest.mark.parametrize(
    "said", ["Ray spills its objects until out of disk", "ray.exceptions.OutOfDiskError: Local disk is full"]
)
def test_rays_disk_is_no_checkpoints(said: str) -> None:
    assert explained(f"{said}\n").verdict.startswith("No lack of memory: Ray had no disk left")
    assert "ray memory" in first(f"{said}\n")


def test_a_kill_while_weights_are_read_says_so() -> None:
    killed = "jax: {}\nWARNING:absl: a handler is missing\nKilled\n"
    assert (
        "what reading the weights takes (line 1)"
        in explained(killed.format("loading the checkpoint")).verdict
    )
    assert "what reading" not in explained(killed.format("params = load(checkpoint)")).verdict


def test_when_it_was_killed_is_quoted() -> None:
    said = "jax: memory spikes and it is OOM killed upon reaching the last sample\nKilled\n"
    assert 'says when: "upon reaching the last sample"' in explained(said).verdict
    assert "says when" not in explained("jax: it is killed on my machine\nKilled\n").verdict


def test_what_the_writer_names_as_the_cause_decides_what_helps() -> None:
    said = "About flax\nThe OOM is caused by storing the metrics of each step in a list on the device.\n"
    assert "results that a container keeps on the device (line 2)" in explained(said).verdict
    assert offered(said)[0] == "keep-numbers"
    other = "About flax\nThe OOM is caused by the large images.\n"
    assert "container" not in explained(other).verdict


def test_programs_that_fill_memory_are_compiled_once() -> None:
    said = "With jax the compiled functions take up much memory until it runs out of memory.\n"
    assert offered(said)[0] == "compile-once"
    assert "compile-once" not in offered("With jax the compiled function runs out of memory.\n")


@pytest.mark.parametrize(
    "said", ["Is there a way to monitor memory in jax?", "How can I measure jax memory?"]
)
def test_how_to_measure_is_answered(said: str) -> None:
    assert "asks how to measure" in explained(f"{said}\n").verdict
    assert "peak_bytes_in_use" in first(f"{said}\n")


def test_gpu_memory_stays_a_gpus_where_a_worker_is_told_to_use_the_cpu() -> None:
    text = 'About jax\nEach worker depletes the available GPU memory.\nos.environ["JAX_PLATFORMS"] = "cpu"\n'
    assert "a device's memory" in explained(text).verdict
    assert "host RAM" in explained(text.replace("GPU memory", "memory")).verdict


def test_processes_on_the_same_gpu_are_told() -> None:
    text = "About jax\nAll processes try to use the same gpu, which ends in OOM errors.\n"
    assert "several processes on one GPU" in explained(text.replace("try to use", "are using")).verdict


def test_what_leaks_is_called_more_than_once() -> None:
    code = "from functools import partial\nfrom jax import lax\nf = {}\n_, ys = lax.scan(f, carry, inputs)\n"
    leaks = "# A memory leak with lax.scan\n" + code
    assert (
        "in each call (line 1 tells of a leak)" in explained(leaks.format("partial(step, weights)")).verdict
    )
    assert "in each call" not in explained(leaks.format("step")).verdict
