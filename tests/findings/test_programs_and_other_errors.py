"""Errors that are no lack of memory, programs of ever new shapes, and the compiler's own RAM."""

import pytest

from tfmemlens import pipeline
from tfmemlens.model.case import Case
from tfmemlens.model.report import Report
from tfmemlens.readers.formats import oom_log


def case(text: str) -> Case:
    return pipeline.case(oom_log.read_lines(list(enumerate(text.splitlines(), 1))))


def report(text: str) -> Report:
    return pipeline.report(case(text).capture)


def told(text: str) -> str:
    """All that the page says."""
    return " ".join(f"{each.headline} {each.because}" for each in report(text).findings)


def first(text: str) -> str:
    actions = report(text).actions
    return actions[0].remedy.text if actions else ""


OVERFLOW = """jnp.var of all activations stops, is that a hidden OOM? (v5e-8)
Traceback (most recent call last):
  File "/home/u/probe.py", line 9, in <module>
    spread = jnp.var(acts)
OverflowError: Python int 3623878656 too large to convert to int32
acts has shape (27, 32, 1024, 4096)"""
SOLVER = """My JAX neural ODE stops after 300 steps. Is a T4 too small?
XlaRuntimeError: INTERNAL: CpuCallback error: RuntimeError: The maximum number of solver steps was reached.
diffrax.diffeqsolve(term, diffrax.Tsit5(), 0, 9, None, y0, max_steps=2048)
With max_steps=900_000 I get RESOURCE_EXHAUSTED"""


def test_a_count_of_elements_is_no_memory() -> None:
    assert "3,623,878,656 = 27 x 32 x 1,024 x 4,096" in told(OVERFLOW)
    assert "count so many elements" in first(OVERFLOW)


def test_a_small_number_is_none() -> None:
    assert "32 bits hold it" not in told(OVERFLOW.replace("3623878656", "70000"))


def test_a_solver_that_stops_is_no_memory() -> None:
    assert "came to the end of the steps" in told(SOLVER)
    assert "line 4 tells that memory ran out in another run" in told(SOLVER)
    assert "norm of the weights" in first(SOLVER)


def test_a_solve_that_ran_out_is_memory() -> None:
    """Where no such error is quoted."""
    assert "came to the end" not in told(SOLVER.replace("The maximum number of solver steps was", "It was"))


def test_a_quoted_error_comes_before_less_memory() -> None:
    text = """In JAX batch 64 runs out of memory on a GPU of 24 GB. With 32 this:
Traceback (most recent call last):
  File "/home/u/t.py", line 30, in <module>
    params = update(params, x)
TypeError: dot_general requires contracting dimensions to have the same shape."""
    assert first(text).startswith("first mend what this error says")


STEPS = """jax 0.4.13 on a 3090, GPU memory keeps rising
batch 2 compiling 8 s nodes 1204
batch 3 compiling 9 s nodes 1377
batch 410 compiling 9 s nodes 1811
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 20971520"""


def test_compiling_at_many_steps_piles_up_programs() -> None:
    text = f"{STEPS} bytes."
    assert "most likely programs: line 2 tells of compiling" in told(text)
    assert first(text).startswith("pad what differs to few sizes")


@pytest.mark.parametrize("words", ["batch 1 compiling 8 s", "jax_log_compiles shows no recompiling"])
def test_one_compilation_is_none_too_many(words: str) -> None:
    lines = [STEPS.splitlines()[0], words, f"{STEPS.splitlines()[-1]} bytes."]
    assert "most likely programs" not in told("\n".join(lines))


PADDED = """My JAX model for reads is killed after some hours, RAM grows all the time

def collate_batch(reads):
    n = max(len(r) for r in reads)
    return jnp.stack([jnp.pad(r, (0, n - len(r))) for r in reads])

for batch in loader:
    params, loss = step(params, collate_batch(batch))

Out of memory: Killed process 4242 (python) total-vm:90000000kB, anon-rss:64000000kB"""


def test_batches_of_their_own_length_pile_up_programs() -> None:
    assert "line 4 pads each batch to its own longest sample" in told(PADDED)
    assert first(PADDED).startswith("pad what differs to few sizes")


@pytest.mark.parametrize(
    "old, new",
    [
        ("    return jnp", "    n = -(-n // 256) * 256\n    return jnp"),
        ("    n = max(len(r) for r in reads)", "    n = 512"),
        ("def collate_batch(reads):\n    n =", "n ="),
        ("JAX", "PyTorch"),
    ],
)
def test_few_lengths_pile_up_nothing(old: str, new: str) -> None:
    assert "pads each batch" not in told(
        PADDED.replace(old, new).replace("jnp", "np" if "Py" in new else "jnp")
    )


def test_a_sentence_of_a_kernel_that_is_broken_in_two() -> None:
    text = (
        'Training with flax until it goes ("Your notebook tried\nto allocate more memory than is available.")'
    )
    assert "host RAM" in told(text)


COMPILER = """MemoryError                               Traceback (most recent call last)
Cell In[3], line 4
----> 4 out = forward(params, x)

File ~/w/model.py:88, in forward(params, x)
---> 88     return run_jitted(params, x)

File ~/env/lib/python3.11/site-packages/jax/_src/compiler.py:303, in backend_compile(backend, module)
--> 303   return backend.compile(built_c, compile_options=options)

MemoryError: std::bad_alloc"""


def test_the_compiler_takes_ram_of_its_own() -> None:
    assert "XLA was compiling a program" in told(COMPILER)
    assert first(COMPILER).startswith("compile on a machine with more RAM")


def test_another_end_is_no_compiler() -> None:
    other = COMPILER.replace("backend_compile(backend, module)", "device_put(x)").replace(
        "backend.compile(built_c, compile_options=options)", "batched_device_put(x)"
    )
    assert "XLA was compiling a program" not in told(other)


EIGEN = """mesh = Mesh(np.array(jax.devices()), ("r",))
A = jax.device_put(a, NamedSharding(mesh, P("r", None)))
hlo_rematerialization.cc:3005] Can't reduce memory use below 24.60GiB (26413959168 bytes)\
 by rematerialization;\
 only reduced to 36.48GiB (39168000040 bytes), down from\
 36.48GiB (39168000040 bytes) originally
Traceback (most recent call last):
  File "/home/u/eig.py", line 9, in <module>
    u, s, vt = jax.jit(jnp.linalg.svd)(A)
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 29340672000\
 bytes."""


def test_a_decomposition_is_not_partitioned() -> None:
    assert "XLA does not partition `svd`" in first(EIGEN)
    whole = EIGEN.replace('NamedSharding(mesh, P("r", None))', "d").replace("Mesh(", "list(")
    assert "does not partition" not in first(whole)
    assert "does not partition" not in first(EIGEN.replace("linalg.svd", "fft.fft2"))


PICKING = """jaxlib.xla_extension.XlaRuntimeError: UNKNOWN: Failed to determine\
 best cudnn convolution algorithm for:
%cudnn-conv-input.3 = (f32[96,64,128,128]{3,2,1,0}, u8[0]{0}) custom-call(f32[96,64,128,128]{3,2,1,0} %f)
Original error: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6442450944 bytes.
To ignore this failure and try to use a fallback algorithm (which may have suboptimal performance), use\
 XLA_FLAGS=--xla_gpu_strict_conv_algorithm_picker=false.  Please also file a bug."""


def test_a_flag_that_was_tried_is_not_advised() -> None:
    def advised(text: str) -> bool:
        return any(each.remedy.slug == "default-algorithm" for each in report(text).actions)

    assert advised(PICKING)
    assert not advised(f"{PICKING}\nThe suggested flag still ends in an OOM some lines later.")
    assert advised(f"{PICKING}\nWhat does the message want from me?")


WRAPPED = """Kaggle TPU v3-8, PyTorch/XLA with xmp.spawn(f, nprocs=8), 16 GB host RAM, then it says
Your notebook tried to allocate more memory than is available. It has restarted."""


def test_a_wrapper_that_is_there_is_not_advised() -> None:
    assert "make the model once" in first(WRAPPED)
    assert first(f"{WRAPPED}\nnet = xmp.MpModelWrapper(Net())").startswith("the wrapper is there already")


SPARSE = """A = sparse.BCOO((v, ij), shape=(90000, 90000)); y = A @ h   # jax 0.4, RTX 3080 10GB
RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8601600128 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:  436.40MiB
              constant allocation:         4B
        maybe_live_out allocation:  390.62MiB
     preallocated temp allocation:    8.01GiB
                 total allocation:    8.82GiB
Peak buffers:
\tBuffer 1:
\t\tSize: 7.63GiB
\t\tOperator: op_name="jit(f)/jit(main)/jit(_bcoo_dot_general)/mul" source_file="/home/u/p.py" source_line=3
\t\tXLA Label: fusion
\t\tShape: f32[4000000,512]
\t\t==========================
"""


def test_a_sparse_product_gathers_a_row_for_each_nonzero() -> None:
    assert "for each nonzero" in told(SPARSE)
    assert first(SPARSE).startswith("let cuSPARSE do the product")
    assert "for each nonzero" not in told(SPARSE.replace("_bcoo_dot_general", "_einsum"))


def test_a_program_that_fits_alone_lacks_nothing() -> None:
    actions = report(SPARSE.replace("_bcoo_dot_general", "_einsum")).actions
    assert actions and all(each.remedy.missing_bytes is None for each in actions)
