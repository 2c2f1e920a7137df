"""What most likely fills memory by the words of a post about JAX, and what helps: a table from what the text
tells to what it means. The first that holds is told, the most particular first; all are guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tfmemlens.findings.support import one_gpu, part_for_jax
from tfmemlens.findings.support.contrasted import DATA_ON_THE_HOST
from tfmemlens.findings.support.converted_weights import in_host_ram
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.own_settings import COARSER_GRID, FEWER_STEPS_AT_ONCE
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_of_jax import (
    ALL_DEVICES,
    CELL_LIST,
    COMPILED_ONCE,
    FEWER_DRAWS,
    FEWER_ENVIRONMENTS,
    FEWER_SHAPES,
    IN_BLOCKS,
    NO_STATIC,
    SAMPLER_MADE_ONCE,
    STEPS_AGAIN,
    fits_without_draws,
)
from tfmemlens.findings.support.residues import FEWER_RESIDUES, LESS_TO_DESIGN, with_host_ram
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.findings.support.stated_weights import (
    STATED_MATRIX,
    StatedWeights,
    stated_matrix,
    stated_weights,
)
from tfmemlens.findings.support.told_again import OWN_PROCESS
from tfmemlens.findings.support.tried import ruled_out
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human
from tfmemlens.values import dataclass, replace

_MOST_OF_A_SMALL_PART = 0.6
"""Of the GPU: less than JAX takes unless it is told otherwise."""
_SHARE_OF_WEIGHTS = 0.5
_USUAL_BYTES = 16 * GIB
"""What a device has where the text names none."""

AS_ARGUMENT = Remedy(
    "give the array to the jitted function as an argument: what it closes over becomes a constant of the"
    " program, is copied while it is compiled, and lies whole on each device",
    "f = jax.jit(lambda table, ids: table[ids]); f(table, ids)   # to shard: jax.device_put(x, shardings)",
    slug="pass-as-argument",
)
_FEWER_SITES = Remedy(
    "or give less back of each draw: leave out deterministic sites, which have a value for each observation,"
    " and compute them afterwards of some draws at a time; thinning keeps each tenth draw",
    "MCMC(kernel, ..., thinning=10)",
    slug="return-less",
)
_DROP_PROGRAMS = Remedy(
    "or drop the programs that are done, or compile once and give what changes as arguments",
    "jax.clear_caches()",
    slug="start-anew",
)
_SCORES_IN_BLOCKS = Remedy(
    "let them never be held whole (flash attention): all else grows with the length alone",
    "out = jax.nn.dot_product_attention(q, k, v, implementation='cudnn')   # on a GPU, in 16 bits",
    slug="blockwise-attention",
)
_SHORTER_OF_SCORES = Remedy(
    "shorten the sequences: half the length is a quarter of them", slug="smaller-input"
)
_MATRIX_TIMES_VECTOR = Remedy(
    "do not make the matrix: most methods need its product with a vector only, which takes the memory of one"
    " gradient",
    "hvp = lambda v: jax.jvp(jax.grad(loss), (params,), (v,))[1]",
    slug="hessian-products",
)
_ROWS_OF_IT = Remedy(
    "or make it some rows at a time, and reduce each row before the next: all rows together are the whole"
    " matrix again",
    "diagonal = jax.lax.map(lambda i: hvp(unit(i))[i], jnp.arange(n), batch_size=64)   # or a norm of each\n"
    "# unit = lambda i: jnp.zeros(n).at[i].set(1.)",
    slug="in-blocks",
)
_PAIRS_IN_BLOCKS = Remedy(
    "go through it in blocks of rows, and reduce each block before the next",
    "jax.lax.map(lambda row: reduce(k(row, x)), x, batch_size=256)",
    slug="in-blocks",
)
_FEWER_POINTS = Remedy(
    "or take a method that needs no matrix of all pairs: inducing points of a sparse Gaussian process, a"
    " low-rank form, the nearest neighbours alone",
    slug="no-matrix-of-pairs",
)
_BY_A_PRODUCT = Remedy(
    "make squared distances by a product: rows x rows numbers, instead of rows x rows x features",
    "d2 = (x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x @ y.T",
    slug="distances-by-product",
)
_NUMBERS = Remedy(
    "keep numbers, or arrays in host RAM: what a list holds stays on the device",
    "losses.append(float(loss)); results.append(jax.device_get(out))",
    slug="keep-numbers",
)
_COUNT_COMPILED = Remedy(
    "see what is compiled after the first steps: nothing should be",
    "jax.config.update('jax_log_compiles', True)",
    slug="compile-once",
)
_RESTORED_SHARDED = Remedy(
    "make only the shapes of the new state, and read the checkpoint into them, sharded: a state that is made"
    " first and read then is there twice, and whole on one device",
    "abstract = jax.eval_shape(init, key)   # Orbax: StandardRestore(abstract with shardings)",
    slug="restore-sharded",
)
_LOADED_ON_THE_HOST = Remedy(
    "or read it in host RAM and in 16 bits, and put it on the devices in shards",
    "with jax.default_device(jax.devices('cpu')[0]): params = load()   # dtype=jnp.bfloat16",
    slug="load-on-the-host",
)
_SHARDED_WEIGHTS = Remedy(
    "shard the weights (and the optimizer's state) over all devices: pmap and a plain jit keep a whole copy"
    " on each",
    "params = jax.device_put(params, NamedSharding(jax.make_mesh((n,), ('d',)), P('d')))",
    slug="shard-arguments",
)
_FEWER_TRAINED = Remedy(
    "train fewer weights (LoRA), keep them in bfloat16, or take an optimizer that keeps less: Adam holds two"
    " more of each",
    "optax.adafactor(1e-3)   # instead of optax.adamw",
    slug="less-optimizer-state",
)
_WEIGHTS_IN_16_BITS = Remedy(
    "read the weights in 16 bits, and compute in them, by the library's own option: half of what 32 bits"
    " take",
    "model = FlaxModel.from_pretrained(name, dtype=jnp.bfloat16); params = model.to_bf16(model.params)",
    slug="in-16-bits",
)
_LESS_IN_A_CALL = Remedy(
    "give one call less: a smaller batch, shorter inputs. How full nvidia-smi shows the GPU says little of"
    " that, since JAX reserves most of it at its start",
    "print(jax.local_devices()[0].memory_stats()['peak_bytes_in_use'] >> 20, 'MiB')",
    slug="smaller-batch",
)
_DONATE = Remedy(
    "give the old state's memory to the new one: without donation both are there during the update",
    "step = jax.jit(step, donate_argnums=0)   # state = step(state, batch), and no other name for it",
    slug="donate-buffers",
)
_SINGLE = Remedy(
    "compute in 32 bits, or leave 64 bits to the part that needs them: they take twice the memory",
    "jax.config.update('jax_enable_x64', False)",
    slug="single-precision",
)
_EVALUATE_PARTS = Remedy(
    "evaluate in batches, and take the mean of what they give",
    "np.mean([accuracy(params, x[i:i + 256], y[i:i + 256]) for i in range(0, len(x), 256)])",
    slug="evaluation-in-batches",
)
OFF_THE_GPU = Remedy(
    "hide the GPU from TensorFlow, which takes nearly all of it when it starts, and before the first data"
    " set is made: it only reads data here",
    "tf.config.set_visible_devices([], 'GPU')",
    slug="tensorflow-off-the-gpu",
)
_GROW = Remedy(
    "let JAX take memory as needed, or a smaller part, before it starts: in the shell, or above the first"
    " import of jax",
    "export XLA_PYTHON_CLIENT_PREALLOCATE=false   # or XLA_PYTHON_CLIENT_MEM_FRACTION=.30",
    slug="growth",
)
_LESS_ATTENTION = Remedy(
    "let attention make no matrix of scores, and compute blocks again in the backward pass",
    "jax.nn.dot_product_attention(q, k, v)   # a GPU: implementation='cudnn'; and jax.checkpoint(block)",
    slug="fused-attention",
)
_SHORTER = Remedy(
    "or shorter sequences: half the length takes a quarter of the scores", slug="shorter-sequences"
)
_RECOMPUTE = Remedy(
    "compute each block again in the backward pass: a step then keeps one output a block",
    "block = jax.checkpoint(block)   # Flax: nn.remat(Block); Keras 3: keras.remat(layer)",
    slug="recompute-body",
)
_SHAPES_OF_PMAP = Remedy(
    "print the shapes that go into pmap: it wants (devices, batch of one device, ...); weights lie whole on"
    " each device, and an array without that first axis, too",
    "print(jax.tree.map(jnp.shape, batch)); batch = x.reshape(n, len(x) // n, *x.shape[1:])",
    slug="shapes-of-pmap",
)
_BY_SHARDING = Remedy(
    "or shard the batch and jit the step, which keeps one program for all devices",
    "batch = jax.device_put(batch, NamedSharding(mesh, P('d'))); state = jax.jit(step)(state, batch)",
    slug="shard-the-batch",
)

_ABSTRACT_FIRST = Remedy(
    "let the jitted function that makes the state give it back in shards: made first and sharded then, it"
    " lies whole on the first device",
    "state = jax.jit(init, out_shardings=shardings)(key)   # shapes: jax.eval_shape(init, key)",
    slug="restore-sharded",
)
_JOIN_ONCE = Remedy(
    "collect parts in host RAM and join them once, or write into an array of the final size: each join copies"
    " all that is there",
    "parts.append(jax.device_get(new)); xs = np.concatenate(parts)   # once; or xs = xs.at[i].set(new)",
    slug="join-once",
)
_GRADIENT_INSIDE = Remedy(
    "take the gradient inside the loop's body, and add it up in the carry: a gradient of the whole loop keeps"
    " what all micro-batches need",
    "def body(g, mb): return jax.tree.map(jnp.add, g, jax.grad(loss)(params, mb)), None",
    slug="gradient-inside-loop",
)
_SAMPLED_NEIGHBOURS = Remedy(
    "train on samples of neighbours or parts of the graph; features gathered for every edge are edges x"
    " features, several times",
    slug="sampled-neighbours",
)
_EDGES_IN_PARTS = Remedy(
    "or go through the edges in parts, and add each part's sums up; under a gradient with jax.checkpoint",
    "jax.lax.scan(jax.checkpoint(add_part), zeros, edges.reshape(parts, -1, 2))",
    slug="in-blocks",
)
_LOOP_OF_XLA = Remedy(
    "write the loop as one of XLA's: a Python loop is copied into the program turn by turn, and the compiler"
    " holds all of them",
    "state, ys = jax.lax.scan(body, state, xs)   # layers: stack their weights, and scan over them",
    slug="loop-of-xla",
)
_UNTIL_ITS_END = Remedy(
    "JAX keeps its pool until the process ends, and uses it again until then: do this part in a process of"
    " its own, or let JAX give memory back, which is slower",
    "export XLA_PYTHON_CLIENT_ALLOCATOR=platform   # or XLA_PYTHON_CLIENT_PREALLOCATE=false",
    slug="end-the-process",
)


_DATA_AS_ARGUMENTS = Remedy(
    "give the data to the model as arguments of the run instead of using them from outside of it, contiguous"
    " and in 32 bits: they are then no constants that the compiler copies and folds",
    "mcmc.run(key, X=np.ascontiguousarray(X, np.float32), y=y)   # def model(X, y): ...",
    slug="pass-as-argument",
)
_ONE_PROGRAM = Remedy(
    "compile one function, once, and give it what differs as an argument (numbers, a table of instructions):"
    " each new function or lambda is a new program, with its code and constants",
    "jax.config.update('jax_log_compiles', True)   # nothing may be compiled after the first turns",
    slug="compile-once",
)
_DROP_EACH = Remedy(
    "or drop the programs now and then, with no name left for their functions; or run each without jit",
    "jax.clear_caches()   # after every hundred",
    slug="start-anew",
)
_SMALLER_REPLAY = Remedy(
    "give the replay buffer a size of its own: it is made whole on the device before the first step, of two"
    " observations, the action and a few numbers for each transition, and in some libraries as large as the"
    " whole training is long unless told otherwise; environments and batch play no part in it",
    "sac.train(..., max_replay_size=1_000_000)   # Brax; bytes: size x (2 x observation + action) x 4",
    slug="smaller-replay",
)
_OF_BRAX = regex(r"(?i)\bbrax\b|\bmjx\b|\b(?:sac|ppo)\.train\b")


@dataclass(frozen=True, slots=True)
class _Told:
    """One row of the table."""

    fact: str
    what: str
    remedies: tuple[Remedy, ...]
    beside: tuple[str, ...] = ()
    """Facts of which one must be told, too."""
    unless: tuple[str, ...] = ()
    grows: bool | None = None
    """Only where memory is said to grow, or only where it is not; None: both."""


_SOME_BLOCKS = Remedy(
    "between computing no block again and all of them lies a policy: keep the results of matrix products and"
    " compute the rest again, or recompute every second block",
    "Block = nn.remat(Block, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)",
    slug="recompute-some",
)
_SEE_THE_PLAN = Remedy(
    "see what is planned before anything runs: it is the temporaries (temp) that recomputing, a smaller batch"
    " or more sharding lower, and the arguments that sharding or 16 bits lower",
    "print(jax.jit(step).lower(state, batch).compile().memory_analysis())   # on a device where it fits",
    slug="see-the-plan",
)
_SEE_ITS_PLAN = Remedy(
    "see what is planned, and for what: temporaries shrink with less work in one call, arguments and results"
    " with smaller arrays; shapes are known without compiling",
    "print(jax.eval_shape(f, *arguments)); print(jax.jit(f).lower(*arguments).compile().memory_analysis())",
    slug="see-the-plan",
)
_WORK_IN_PARTS = Remedy(
    "where a loop of Python is unrolled in it, all turns may be planned side by side: compile one turn, and"
    " call it from Python, or let lax.scan or lax.map run them one after the other",
    "ys = jax.lax.map(one_turn, xs)",
    slug="roll-loops",
)
_ONE_TURN = Remedy(
    "compile one turn of the loop, and call it from Python, or let lax.scan or lax.map run the turns one"
    " after the other; inputs in smaller parts make each turn smaller",
    "one = jax.jit(one_turn); results = [one(x) for x in xs]   # or jax.lax.map(one_turn, stacked_xs)",
    slug="roll-loops",
)
_MICRO_BATCHES = Remedy(
    "where the batch must stay: go through it in micro-batches with lax.scan, and add their gradients up; and"
    " donate the state (donate_argnums)",
    slug="gradient-inside-loop",
)
_BLOCK_AGAIN = Remedy(
    "let the backward pass compute each block again: jax.checkpoint round the function of one block, inside"
    " the loop or map, and not round the whole",
    "y = jax.lax.map(jax.checkpoint(one_block), blocks)   # a library: where it goes through its blocks",
    slug="recompute-body",
)
_IMPLICITLY = Remedy(
    "where a solver iterates to a solution, differentiate the solution and not its steps (implicit"
    " differentiation), which stores none of them: many libraries have an option for it",
    slug="implicit-gradient",
)
_DRAWS_TO_HOST = Remedy(
    "after each part bring its draws to the host, and drop the sampler, which holds them on the device,"
    " before the next part: another one goes on from its last state; parts as large as those that work",
    "parts.append(jax.device_get(mcmc.get_samples())); state = mcmc.last_state; del mcmc;"
    " mcmc = MCMC(...); mcmc.post_warmup_state = state",
    slug="draws-to-the-host",
)
_DIAGONAL_GUIDE = Remedy(
    "use a guide with a diagonal or a low-rank covariance",
    "guide = AutoNormal(model)   # or AutoLowRankMultivariateNormal(model, rank=20)",
    slug="diagonal-guide",
)
_JIT_ROUND_IT = Remedy(
    "jit the whole call (a step with its update) once, above the loop, and give it what changes as arguments:"
    " one program then serves all turns",
    "run = jax.jit(simulate)   # once, above the loop; else jax.clear_caches() every hundred turns",
    slug="compile-once",
)
_LIFTED = regex(r"\bnn\.(?:scan|RNN|while_loop|Bidirectional)\(")
_EAGER_STEP = regex(r"\b(?:value_and_)?grad\([^#]{1,60}\)\(|\.apply\(")
_OPENS_A_LOOP = regex(r"\s*for\b[^#]{1,120}:\s*(?:#.*)?\Z")


def _lifted_without_jit(case: Case) -> Grower | None:
    """A model of Flax with a loop of XLA inside, which a loop of Python calls and nothing jits: each call
    makes the loop's body anew.
    """
    told = case.capture.surroundings
    code = code_lines(told)
    line = next((each for each in code if _LIFTED.search(each.text)), None)
    loop = next((each for each in code if _OPENS_A_LOOP.match(each.text)), None)
    if line is None or loop is None or any("jit" in each.text or "pmap" in each.text for each in code):
        return None
    step = next(
        (each for each in code if each.number > loop.number and _EAGER_STEP.search(each.text)),
        None,
    )
    if step is None or not told.shows("growing in words"):
        return None
    what = (
        f"the programs that {step.place} compiles in each turn: nothing is jitted, so the model's loop"
        f" ({line.place}) is made anew in each call, and JAX keeps each of its programs"
    )
    return Grower(what, step, (_JIT_THE_STEP,))


_JIT_THE_STEP = Remedy(
    "put model, gradient and update of one batch into one jitted function, made once above the loop: one"
    " program then serves all batches of one shape",
    "@jax.jit\ndef step(weights, opt_state, x, y): ...   # value_and_grad and optimizer.update inside",
    slug="compile-once",
)
_FEWER_STEPS_KEPT = Remedy(
    "let the scan give back only what is looked at: nothing, a sum in its carry, or one state of every many"
    " steps, by a scan within a scan",
    "_, kept = jax.lax.scan(lambda s, xs: (jax.lax.scan(step, s, xs)[0],) * 2, state, blocks_of_xs)",
    slug="fewer-saved",
)
_TO_THE_HOST = Remedy(
    "or run the steps in several calls, and take what each gives off the device before the next",
    "for i, part in enumerate(parts): state, ys = run(state, part); np.save(f'{i}.npy', ys)",
    slug="in-pieces",
)
_MORE_OF_ITS_OWN = Remedy(
    "give the GPU a larger part of RAM as its own memory in the firmware (UMA frame buffer, dedicated"
    " graphics memory): XLA allocates there, and not in GTT; then see how much JAX has",
    "print(jax.local_devices()[0].memory_stats()['bytes_limit'])",
    slug="more-of-its-own",
)
_FIRST_ROWS = (
    _Told(
        "program: weather",
        "what each step of a forecast over the whole globe leaves on the device",
        (FEWER_STEPS_AT_ONCE, COARSER_GRID),
        beside=("jax: more steps fail", "growing in words"),
        unless=("training", "jax: a gradient", "host RAM in words"),
    ),
    _Told(
        "program: weather",
        "arrays over all points of the globe's grid, which no batch makes smaller",
        (COARSER_GRID, FEWER_STEPS_AT_ONCE),
        unless=("training", "jax: a gradient", "host RAM in words"),
        grows=False,
    ),
    _Told(
        "jax: RAM of a GPU without memory",
        "the part of RAM that the firmware gives the GPU as its own (VRAM): XLA allocates in that part, and"
        " what GTT lets the GPU map beside it stays unused",
        (_MORE_OF_ITS_OWN,),
        grows=False,
    ),
    _Told(
        "jax: stored by the backward pass",
        "what the backward pass stores of every block or step, which no smaller block bounds",
        (_BLOCK_AGAIN, _IMPLICITLY),
        grows=False,
    ),
    _Told(
        "jax: jit ends it",
        "what each call traces and compiles anew without jit round it (bodies of loops, closures that a"
        " library makes): JAX keeps each of these programs",
        (_JIT_ROUND_IT,),
        beside=("growing in words", "host RAM in words"),  # one step's arrays on a GPU are less with jit, too
    ),
    _Told(
        "jax: a loop is unrolled",
        "what the turns of a loop make: jit unrolls a loop of Python into one program, whose turns may all be"
        " there side by side",
        (_ONE_TURN, _SEE_ITS_PLAN),
        beside=("jax: OOM at compilation", "running short"),
        unless=("training", "jax: a gradient", "jax: compiling", "growing in words"),
        grows=False,
    ),
    _Told(
        "jax: OOM at compilation",
        "what the compiler plans for the program (arguments, results, temporaries), and not the compiler's"
        " own memory",
        (_SEE_ITS_PLAN, _WORK_IN_PARTS),
        beside=("on a TPU", "a GPU named", "device memory in words"),
        unless=("host RAM in words", "killed in words", "training", "jax: a gradient"),
        grows=False,
    ),
    _Told(
        "jax: OOM at compilation",
        "the device's memory, as the compiler plans it for the program (what the backward pass keeps, its"
        " temporaries, the weights), and not the compiler's own",
        (_SOME_BLOCKS, _SEE_THE_PLAN, _MICRO_BATCHES),
        beside=("on a TPU", "a GPU named", "device memory in words"),
        unless=("host RAM in words", "killed in words"),
        grows=False,
    ),
    _Told(
        "all draws made",
        "what the sampler gives back after its last draw: every draw of every site, deterministic ones too,"
        " together on the device",
        (FEWER_DRAWS, _FEWER_SITES),
        grows=False,
    ),
    _Told(
        "structure prediction",
        "arrays over all pairs of residues, which grow with the square of the length",
        (FEWER_RESIDUES, with_host_ram(1, None)),
        unless=("training", "designing a protein"),
        grows=False,
    ),
    _Told(
        "designing a protein",
        "arrays over all pairs of residues, and what the gradient needs of the network beside them",
        (LESS_TO_DESIGN,),
        grows=False,
    ),
    _Told(
        "a program for each",
        "the programs of functions that are made and compiled anew: JAX keeps each, with its constants",
        (_ONE_PROGRAM, _DROP_EACH),
    ),
    _Told(
        "jax: stacked by a scan",
        "what a scan gives back of each of its steps, stacked over all of them",
        (_FEWER_STEPS_KEPT, _TO_THE_HOST),
        grows=False,
    ),
    _Told(
        "jax: programs take memory",
        "programs that are compiled anew, and kept",
        (COMPILED_ONCE, _DROP_PROGRAMS),
        unless=("jax: closed over", "many shapes", "jax: new shapes"),
    ),
    _Told("jax: closed over", "an array that the jitted function closes over", (AS_ARGUMENT,), grows=False),
    _Told(
        "jax: closed over",
        "a constant that the compiled function closes over: JAX keeps the program, and with it the constant",
        (AS_ARGUMENT, _DROP_PROGRAMS),
        grows=True,
    ),
)
_ROWS = (
    _Told(
        "jax: scores in code",
        "attention scores, which the quoted code makes whole: length x length for each head and sample of a"
        " layer, and again for their softmax and gradient",
        (_SCORES_IN_BLOCKS, _SHORTER_OF_SCORES),
        grows=False,
    ),
    _Told(
        "jax: a matrix of derivatives",
        "a matrix of derivatives, inputs x outputs large",
        (_MATRIX_TIMES_VECTOR, _ROWS_OF_IT),
        grows=False,
    ),
    _Told(
        "jax: pairs by broadcasting",
        "an array of rows x rows x features, made by broadcasting",
        (_BY_A_PRODUCT, _PAIRS_IN_BLOCKS),
        grows=False,
    ),
    _Told(
        "jax: a full guide",
        "the guide's full covariance, a matrix of all latent values by all latent values",
        (_DIAGONAL_GUIDE,),
        grows=False,
    ),
    _Told(
        "jax: a matrix of pairs",
        "a matrix over all pairs of points, which grows with the square of their number",
        (_PAIRS_IN_BLOCKS, _FEWER_POINTS),
        unless=("jax: the forward pass fits", "jax: stored by the backward pass"),
        grows=False,
    ),
    _Told(
        "jax: before sharding",
        "a state that is made whole on the first device",
        (_ABSTRACT_FIRST,),
        grows=False,
    ),
    _Told("jax: joined to itself", "an array that is joined to itself at each turn", (_JOIN_ONCE,)),
    _Told(
        "jax: compiling",
        "the compiler, by a program of very many operations",
        (_LOOP_OF_XLA,),
        beside=("jax: unrolled",),
        grows=False,
    ),
    _Told(
        "jax: accumulating",
        "what the gradient of a loop over micro-batches keeps of all of them",
        (_GRADIENT_INSIDE,),
        beside=("jax: a long loop",),
        grows=False,
    ),
    _Told(
        "jax: nodes and edges",
        "features that are gathered for every edge of the whole graph",
        (_SAMPLED_NEIGHBOURS, _EDGES_IN_PARTS),
        unless=("jax: particles",),
        grows=False,
    ),
    _Told(
        "jitting again", "a function that is made and compiled anew each time", (COMPILED_ONCE,), grows=True
    ),
    _Told(
        "kept in words",
        "JAX's pool, which stays when arrays are deleted",
        (_UNTIL_ITS_END,),
        unless=("jax: values kept",),
        grows=False,
    ),
    _Told("jax: values kept", "results that a container keeps on the device", (_NUMBERS,), grows=True),
    _Told(
        "jax: static arguments",
        "a static argument, each value of which is compiled, and its program kept",
        (NO_STATIC, _DROP_PROGRAMS),
        grows=True,
    ),
    _Told(
        "jax: new shapes",
        "programs that are compiled for each new shape, and kept",
        (FEWER_SHAPES, _COUNT_COMPILED),
        grows=True,
    ),
    _Told(
        "jax: recompiling",
        "programs that are compiled anew each time, and kept",
        (COMPILED_ONCE, _DROP_PROGRAMS),
        grows=True,
    ),
    _Told(
        "evaluating a whole set",
        "a whole set that is evaluated at once, a far larger batch than that of the training",
        (_EVALUATE_PARTS,),
        grows=False,
    ),
    _Told(
        "jax: a long loop",
        "what the backward pass keeps of every step of the loop",
        STEPS_AGAIN,
        beside=("jax: a gradient",),
        grows=False,
    ),
    _Told(
        "vectorising",
        "what vmap makes for all rows at once",
        (IN_BLOCKS,),
        unless=("many runs before", "failing late", "solving an ODE"),
        grows=False,
    ),
    _Told("jax: 64 bits", "numbers of 64 bits, which take twice the memory", (_SINGLE,), grows=False),
    _Told("one device used", "one device that holds all while others are idle", (ALL_DEVICES,), grows=False),
    _Told(
        "jax: data on the device",
        "data that lie on the device whole",
        (DATA_ON_THE_HOST[JAX],),
        unless=("host RAM in words", "many runs before"),
        grows=False,
    ),
    _Told(
        "learning from a buffer",
        "the replay buffer",
        (_SMALLER_REPLAY,),
        beside=("environments",),
        unless=("host RAM in words", "failing late"),
        grows=False,
    ),
    _Told(
        "environments",
        "the states of all environments, side by side",
        (FEWER_ENVIRONMENTS,),
        unless=("jax: a gradient",),
        grows=False,
    ),
    _Told(
        "a peak before the first step",
        "what is compiled before the first step, the gradient of the model with data that it closes over,"
        " which become constants",
        (_DATA_AS_ARGUMENTS,),
        beside=("sampling", "drawing chains", "fitting a distribution"),
        grows=False,
    ),
    _Told(
        "sampling",
        "what each of many runs leaves behind, since one alone fits: a sampler that is made anew is compiled"
        " anew, and its programs, data and draws stay on the device",
        (SAMPLER_MADE_ONCE, OWN_PROCESS),
        beside=("many runs before",),
        grows=False,
    ),
    _Told(
        "sampling",
        "the draws of the part before, which the sampler still holds on the device while the next one is"
        " drawn",
        (_DRAWS_TO_HOST,),
        beside=("jax: sampling in parts",),
        unless=("many runs before",),
        grows=False,
    ),
    _Told(
        "sampling",
        "all draws of all chains and sites, held on the device until the end",
        (FEWER_DRAWS,),
        unless=("failing late", "many runs before"),
        grows=False,
    ),
    _Told(
        "jax: the forward pass fits",
        "what the backward pass keeps of the forward one",
        (_RECOMPUTE,),
        beside=("jax: a gradient",),
        grows=False,
    ),
    _Told(
        "jax: attention",
        "attention over long sequences, whose scores grow with the square of the length",
        (_LESS_ATTENTION, _SHORTER),
        beside=("long sequences",),
        unless=("fused attention used",),
        grows=False,
    ),
    _Told(
        "jax: loading a model",
        "the weights as they are read, in 32 bits unless something else is set, and what one call computes",
        (_WEIGHTS_IN_16_BITS, _LESS_IN_A_CALL),
        unless=("training", "jax: a gradient", "several GPUs named", "on a TPU"),
        grows=False,
    ),
    _Told(
        "jax: restoring",
        "a state that is there twice, or whole on one device, while weights are read",
        (_RESTORED_SHARDED, _LOADED_ON_THE_HOST),
        unless=("training", "jax: a gradient"),
        grows=False,
    ),
    _Told(
        "jax: twice", "the old state beside the new one", (_DONATE,), unless=("jax: restoring",), grows=False
    ),
    _Told(
        "jax: TensorFlow beside",
        "the GPU that TensorFlow may have taken, which only reads data here",
        (OFF_THE_GPU, _GROW),
        beside=("device memory in words",),
        unless=("on a TPU", "host RAM in words", "long sequences"),
        grows=False,
    ),
    _Told(
        "jax: pmap",
        "what each device holds under pmap: all weights, and what has no axis of devices",
        (_SHAPES_OF_PMAP, _BY_SHARDING),
        grows=False,
    ),
)


def ended_by_jit(case: Case) -> Iterator[Grower]:
    """What the writer's own test shows: it goes before what the program is known for."""
    yield from _of_rows(case, _FIRST_ROWS[:1])


def told_of_jax(case: Case) -> Iterator[Grower]:
    """What the words tell, the most particular first; what the code makes in each turn of a loop."""
    told = case.capture.surroundings
    for special in _OF_SETTINGS:
        if grower := special(case):
            yield grower
    yield from _of_rows(case, _FIRST_ROWS)
    for special in _OF_SIZES:
        if grower := special(case):
            yield grower
    if not _grows(told) and told.program():
        yield from made_anew(case)
    yield from _of_rows(case, _ROWS)


def anew_while_it_grows(case: Case) -> Iterator[Grower]:
    """What each turn of a quoted loop makes: where memory grows it says more than what a library is known
    for.
    """
    told = case.capture.surroundings
    if _grows(told) and told.program():
        yield from made_anew(case)


def of_the_named_cause(case: Case, line: Line) -> Grower | None:
    """The row that the line tells of in which the writer names the cause, whether memory grows or not: the
    writer's word goes first.
    """
    told = case.capture.surroundings
    rows = (each for each in (*_FIRST_ROWS, *_ROWS) if each.fact in _MAY_BE_NAMED)
    row = next((each for each in rows if told.shows(each.fact) == line), None)
    if row is None or framework_of(case) != JAX:
        return None
    return Grower(f"{row.what} ({line.place})", line, row.remedies, sure=True, fact=row.fact)


_MAY_BE_NAMED = frozenset(
    {
        "jax: values kept",
        "jax: stacked by a scan",
        "jax: programs take memory",
        "jax: recompiling",
        "jax: static arguments",
        "jax: new shapes",
        "jax: closed over",
    }
)
"""What a writer may name as the cause in one sentence."""


def _grows(told: Surroundings) -> bool:
    return bool(told.shows("growing in words") or told.shows("kept in words"))


_BESIDE_A_MESSAGE = frozenset(
    {
        "jax: scores in code",
        "jax: a matrix of derivatives",
        "jax: pairs by broadcasting",
        "jax: a full guide",
        "jax: a matrix of pairs",
        "jax: before sharding",
        "jax: joined to itself",
        "jax: accumulating",
        "jax: a long loop",
        "evaluating a whole set",
        "vectorising",
        "jax: the forward pass fits",
    }
)
"""What explains one large request, too, where neither the code nor the compiler says what it is."""


def told_beside_a_message(case: Case) -> Grower | None:
    """The first of the rows that may explain a request of a message that says no more than its bytes."""
    rows = tuple(row for row in _ROWS if row.fact in _BESIDE_A_MESSAGE)
    return next(_of_rows(case, rows), None)


def made_anew(case: Case) -> Iterator[Grower]:
    """What loops of the quoted program make anew."""
    from tfmemlens.findings.support.made_anew import growers  # reads trees

    return growers(case)


def loader_in_words(told: Surroundings) -> Grower | None:
    """The loader that words name."""
    from tfmemlens.findings.support import made_anew  # reads trees

    return made_anew.loader_in_words(told)


def _of_rows(case: Case, rows: tuple[_Told, ...]) -> Iterator[Grower]:
    told = case.capture.surroundings
    growing = told.shows("growing in words") is not None
    on_host = told.shows("host RAM in words") and told.shows("GPU memory named")
    for row in rows:
        line = told.shows(row.fact)
        if line is None or (row.grows is not None and row.grows is not growing):
            continue
        if row.fact == "sampling" and fits_without_draws(told):
            continue
        if row.fact in _ON_THE_DEVICE and on_host:
            continue
        if (row.beside and not any(map(told.shows, row.beside))) or any(map(told.shows, row.unless)):
            continue
        if row.fact == _JOINED and not _in_a_loop(told, line):
            continue
        if row.fact == _DERIVATIVES and _REVERSE.search(line.text):
            row = replace(row, what=_ONE_FOR_EACH_OUTPUT, remedies=(_FORWARD, *row.remedies))
        if row.fact == _DERIVATIVES and _SOLVES.search(line.text):
            row = replace(row, what=_OF_A_SOLVER, remedies=(_MATRIX_FREE, _NO_JACOBIAN))
        if row.fact == _BROADCAST and not _OVER_FEATURES.search(line.text):
            row = replace(row, what=_PAIRS, remedies=(_PAIRS_IN_BLOCKS, _FEWER_POINTS))
        sharded = told.shows("sharding") or told.shows("making sharded")
        moved = _NAME.search(line.text) if row.fact == _CLOSED and sharded and not growing else None
        if moved:
            row = replace(row, what=_WHOLE_ON_EACH, remedies=_without_the_closure(moved["name"]))
        if row.fact == _BUFFER:
            row = replace(row, remedies=(smaller_replay(told),))
        if remedies := tuple(each for each in row.remedies if each.slug not in ruled_out(case)):
            alone = one_gpu.others_add_none(told, _ON_ONE_GPU[row.fact]) if row.fact in _ON_ONE_GPU else ""
            yield Grower(f"{row.what} ({line.place}){alone}", line, remedies, fact=row.fact)


_CLOSED = "jax: closed over"
_WHOLE_ON_EACH = (
    "an array that the jitted function closes over: it is a constant of the program, which lies whole on each"
    " device before it is cut into shards"
)
_NAME = regex(r"\bp?jit\(\s*lambda\s*:\s*(?P<name>[A-Za-z_]\w*)")


def _without_the_closure(name: str) -> tuple[Remedy, ...]:
    """What shards an array without a program that holds it: as an argument without shards of its own it would
    lie whole on each device as well.
    """
    return (
        Remedy(
            "put the array on the devices without jit: each device then gets its part alone. An argument of"
            " jit, too, lies whole on each device unless it is put there in shards before",
            f"{name} = jax.device_put({name}, shardings)",
            slug="pass-as-argument",
        ),
        Remedy(
            "or make it where it belongs: jit the function that computes it, and let its results be sharded,"
            " so that no device ever has all",
            f"{name} = jax.jit(init, out_shardings=shardings)(key)",
            slug="restore-sharded",
        ),
    )


_ON_ONE_GPU = {"program: weather": one_gpu.FORECAST, "structure prediction": one_gpu.STRUCTURE}
_DERIVATIVES = "jax: a matrix of derivatives"
_REVERSE = regex(r"\bjacrev\(")
_ONE_FOR_EACH_OUTPUT = (
    "one backward pass for each number of the result, all at once, as jacrev does: outputs x outputs numbers"
    " for its unit vectors alone"
)
_SOLVES = regex(
    r"(?i)\b(?:root[- _]?find\w*|find_root|Newton|Dogleg|Levenberg\w*|Gauss[- ]?Newton|least[- _]squares"
    r"|implicit (?:solver|step)s?|Kvaerno\d|ImplicitEuler)\b"
)
_OF_A_SOLVER = (
    "the solver's Jacobian, unknowns x unknowns: a step of Newton's kind makes it whole, unless its linear"
    " solver asks for products with it alone"
)
_MATRIX_FREE = Remedy(
    "give the solver an iterative linear solver, which needs the Jacobian's product with a vector only (one"
    " jvp each), or a preconditioned one where it converges slowly",
    "optx.Newton(rtol=1e-5, atol=1e-5, linear_solver=lx.GMRES(rtol=1e-3, atol=1e-3))   # Optimistix, Lineax",
    slug="hessian-products",
)
_NO_JACOBIAN = Remedy(
    "or take a method that has no Jacobian: a fixed-point iteration (with Anderson's acceleration), or one"
    " that keeps few vectors (limited-memory BFGS)",
    slug="no-jacobian",
)
_FORWARD = Remedy(
    "where the function has fewer inputs than outputs, go forward: one pass for each input",
    "J = jax.jit(jax.jacfwd(f))(x)   # jacrev is for more inputs than outputs",
    slug="forward-derivatives",
)
_ON_THE_DEVICE = ("jax: values kept", "kept in words")
"""What is kept there: it fills no host RAM where the text tells of both, and the device's stays."""


def smaller_replay(told: Surroundings) -> Remedy:
    """With the argument's name in the library that the text names."""
    named = filter(None, (told.shows("environments"), told.shows(_BUFFER)))
    brax = any(_OF_BRAX.search(line.text) for line in named)
    return _SMALLER_REPLAY if brax else replace(_SMALLER_REPLAY, code=None)


_BROADCAST = "jax: pairs by broadcasting"
_OVER_FEATURES = regex(r"\bsum\(|\bnorm\(|\bmean\(|axis ?= ?-1|, :, :|\]\[?None\]|\[None\]")
"""What follows where the rows have features: a sum or a norm over them."""
_PAIRS = "a matrix of rows x rows, made by broadcasting each against each"
_JOINED, _BUFFER = "jax: joined to itself", "learning from a buffer"
_INDENT = regex(r"\s*")
_OPENS = regex(r"\s*(?P<what>for|while|def|class)\b.*:\s*(?:#.*)?\Z")


def _in_a_loop(told: Surroundings, line: Line) -> bool:
    """Whether a line of code stands in a loop; of one that is quoted alone nothing else is known."""
    above = [each for each in told.code if each.number < line.number and _OPENS.match(each.text)]
    indent = len(_INDENT.match(line.text)[0])  # type: ignore[index]
    for each in reversed(above):
        opens = len(_INDENT.match(each.text)[0])  # type: ignore[index]
        if opens < indent:
            return _OPENS.match(each.text)["what"] in ("for", "while")  # type: ignore[index]
    return True


def _capped(case: Case) -> Grower | None:
    """A small part of the GPU that the text says JAX is told to take."""
    part = part_for_jax.stated(case.capture.surroundings)
    if part is None or case.capture.surroundings.shows("growing in words"):
        return None
    if part.value > _MOST_OF_A_SMALL_PART:
        return None
    more = Remedy(
        "raise it, or take it out: it is a limit, whatever nvidia-smi shows free beside it. Where others need"
        " the GPU, too, let JAX take memory as needed",
        "export XLA_PYTHON_CLIENT_MEM_FRACTION=.75   # or only XLA_PYTHON_CLIENT_PREALLOCATE=false",
        slug="raise-own-limit",
    )
    return Grower(
        f"the limit that the program sets itself: JAX may take {part.words}"
        f" ({part_for_jax.VARIABLE}, {part.line.place})",
        part.line,
        (more,),
    )


def _takes_all(case: Case) -> Grower | None:
    """JAX's pool, of which another program in need is told."""
    told = case.capture.surroundings
    line = told.shows("taking the whole GPU") or told.shows("more than expected")
    beside = told.shows("beside another framework") or told.shows("side by side")
    if line and told.shows("jax: TensorFlow beside"):
        return Grower(
            f"the GPU that TensorFlow took, which only reads data here ({line.place})",
            line,
            (OFF_THE_GPU, _GROW),
        )
    if line is None or beside is None:
        return None
    return Grower(
        f"JAX's pool ({line.place}): it takes 75 % of the GPU at its start, older versions 90 %, whatever the"
        " program needs",
        line,
        (_GROW,),
    )


_ADAPTS = regex(r"\b(?:window|pathfinder|chees|meads)_adaptation\(")


def _adaptation(case: Case) -> Grower | None:
    """What BlackJAX's adaptation stacks of each of its steps, whether it is looked at or not."""
    told = case.capture.surroundings
    code = code_lines(told)
    line = next((each for each in code if _ADAPTS.search(each.text)), None)
    if line is None or any("adaptation_info_fn" in each.text for each in code):
        return None
    if told.shows("growing in words") and not told.shows("growing with a size"):
        return None
    what = (
        f"what the adaptation gives back of each of its steps ({line.place}): position, gradient and more,"
        " stacked over all steps, also where the result is thrown away"
    )
    return Grower(what, line, (_NOTHING_OF_STEPS,))


_NOTHING_OF_STEPS = Remedy(
    "let it give back nothing of its steps (newer BlackJAX), or take fewer steps at a time; a loop of your"
    " own that keeps the last state alone does as well",
    "window_adaptation(..., adaptation_info_fn=get_filter_adapt_info_fn())   # of blackjax.adaptation.base",
    slug="return-less",
)


def _weights(case: Case) -> Grower | None:
    """Weights that a device has no room for, by the number that the text states."""
    told = case.capture.surroundings
    weights = stated_weights(told)
    if weights is None or told.shows("growing in words") or told.shows("saving in words"):
        return None
    if on_host := in_host_ram(told, weights):
        return on_host
    trains, room = told.shows("training") or told.shows("jax: a gradient"), _room(told)
    needs = weights.trained_bytes if trains else weights.bytes // 2
    if needs < _SHARE_OF_WEIGHTS * room:
        return None
    helps: tuple[Remedy, ...] = (_SHARDED_WEIGHTS, _FEWER_TRAINED)
    sums = next((line for line in code_lines(told) if _SUMS.search(line.text)), None) if trains else None
    what = _what_weights_take(weights, bool(trains), sums)
    if sums:
        helps = (_WITHOUT_SUMS, _DONATE_ALL, _FEWER_TRAINED, _SHARDED_WEIGHTS)
    return Grower(what, weights.line, helps)


_SUMS = regex(r"\bMultiSteps\(")
_WITHOUT_SUMS = Remedy(
    "leave MultiSteps out where each update is of one batch (every_k_schedule=1); for more, go through"
    " micro-batches with lax.scan inside one step: their sum then lives for that step alone. A smaller batch"
    " makes none of this state smaller",
    "grads = jax.lax.scan(add_gradient, zeros, micro_batches)[0]   # then one optimizer.update",
    slug="gradient-inside-loop",
)
_DONATE_ALL = Remedy(
    "give the old weights' and state's memory to the new ones: without donation both are there in each"
    " update",
    "step = jax.jit(step, donate_argnums=(0, 1))   # step(params, opt_state, batch)",
    slug="donate-buffers",
)


def _matrix(case: Case) -> Grower | None:
    """A dense matrix whose sides the text states, and which fills much of a device by itself."""
    told = case.capture.surroundings
    matrix = stated_matrix(told)
    if (
        matrix is None
        or told.shows("growing in words")
        or matrix.needed_bytes < _SHARE_OF_WEIGHTS * _room(told)
    ):
        return None
    return Grower(matrix.needs, matrix.line, (_SPARSER, _LESS_FOR_A_MATRIX), fact=STATED_MATRIX)


_SPARSER = Remedy(
    "give it fewer numbers: neighbours alone (sparse, or a convolution), a low rank, or fewer rows; neither"
    " the batch nor the steps of a loop or solver make it smaller",
    "y = u @ (v.T @ x)   # u, v: n x 64 numbers each instead of n x n",
    slug="low-rank-matrix",
)
_LESS_FOR_A_MATRIX = Remedy(
    "or keep less beside it: an optimizer without moments, bfloat16, donated state, or shards of its rows on"
    " several devices",
    "optax.sgd(1e-2)   # no moments; optax.adafactor keeps little",
    slug="less-optimizer-state",
)


def _what_weights_take(weights: StatedWeights, trains: bool, sums: Line | None) -> str:
    if sums:
        adam, with_sums = human(weights.trained_bytes), human(weights.trained_bytes + weights.bytes)
        return (
            f"the weights: {weights.text} in 32 bits with gradients and Adam take {adam}, {with_sums} with"
            f" the sum of gradients of MultiSteps ({sums.place})"
        )
    in_half = f"{weights.text} take {human(weights.bytes // 2)} in 16 bits and {human(weights.bytes)} in 32"
    train = f", with gradients and Adam in 32 bits {human(weights.trained_bytes)}" if trains else ""
    return f"the weights: {in_half}{train} ({weights.line.place}), on each device that has them whole"


def _room(told: Surroundings) -> int:
    sizes = [device.total.bytes for device in told.named_devices if device.total]
    return max(sizes, default=_USUAL_BYTES)


_RUNS_WITH = regex(r"(?i)\b(?:capable of|able to|can|works?|worked|fits?|runs? fine)\b[^.;\n]{0,60}\Z")


def _batch_of_each(case: Case) -> Grower | None:
    """The batch of one device, which is the whole batch divided by the devices."""
    line = case.capture.surroundings.shows("jax: batch of a device")
    match = _EACH.search(line.text) if line else None
    if line is None or match is None or int(match["each"]) < _LEAST_EACH:
        return None
    if _RUNS_WITH.search(line.text, 0, match.start("each")):
        return None  # that many run, on another machine
    each = int(match["each"])
    smaller = Remedy(
        f"lower it ({each} -> {max(each // 8, 1)}): it is the batch of one device, and all of them together"
        " take it times their number. Add up gradients of several batches where the whole must stay",
        "optax.MultiSteps(optimizer, every_k_schedule=8)",
        slug="smaller-batch",
    )
    return Grower(f"a batch of {each:,} samples on each device ({line.place})", line, (smaller,))


_LEAST_EACH = 16
_EACH = regex(r"(?i)\bper[_ -]?(?:device|core|gpu|replica)\w{0,20}?batch\D{0,12}(?P<each>\d{1,6})\b")


def _particles(case: Case) -> Grower | None:
    """Particles of which each is compared with each, where no neighbour list is used or none is made by
    cells.
    """
    told = case.capture.surroundings
    line = told.shows("jax: particles")
    if line is None or told.shows("growing in words"):
        return None
    counted = told.shows("jax: number of particles")
    number = _particles_in(counted) if counted else None
    pairs = "every pair of particles"
    if number and number * number * 4 >= GIB:
        pairs += f" ({number:,} x {number:,} numbers of 32 bits are {human(number * number * 4)})"
    what = (
        f"what is made for {pairs}, as without a neighbour list, or while one is made without cells"
        f" ({line.place})"
    )
    of_the_list = told.shows("program: molecules") or _MAKES_A_LIST.search(line.text)
    return Grower(what, line, (CELL_LIST, _LISTED_PAIRS) if of_the_list else (_LISTED_PAIRS, CELL_LIST))


_MAKES_A_LIST = regex(
    r"(?i)\bneighbou?r[-_ ]?lists?\b[^.\n]{0,20}\b(?:generat|allocat|creat|buil[dt]|comput|made)"
    r"|\b(?:generat|allocat|creat|build|comput|mak)\w* (?:of )?(?:a |the )?neighbou?r[-_ ]?lists?\b"
)
_NUMBER = regex(
    r"(?i)(?P<number>\d{1,3}(?:,\d{3})+|\d{1,8}(?:\.\d)?) ?(?P<unit>k|M|million|thousand)?[ -](?:\w+ )?"
    r"(?:atoms?|particles?|nodes|bodies|beads)\b|(?:atoms|particles) ?(?:=|:|is) ?(?P<stated>[\d,]{3,11})"
)
_TIMES = {"k": 1000, "thousand": 1000, "m": 1000_000, "million": 1000_000}


def _particles_in(line: Line) -> int | None:
    match = _NUMBER.search(line.text)
    if match is None:
        return None
    number = float((match["number"] or match["stated"]).replace(",", ""))
    return int(number * _TIMES.get((match["unit"] or "").lower(), 1))


_LISTED_PAIRS = Remedy(
    "see that the energy that is simulated is the one for neighbour lists, and is given the list in each"
    " step: the plain one goes through all pairs, whether a list is made or not",
    "energy.lennard_jones_neighbor_list(...); energy_fn(R, neighbor=nbrs); print(nbrs.idx.shape)",
    slug="neighbour-list",
)


def _remat_wanted(case: Case) -> Grower | None:
    """Someone asks for rematerialisation, or for longer sequences than fit."""
    told = case.capture.surroundings
    line = told.shows("jax: recomputing")
    if line is None or told.shows("growing in words") or not told.shows("long sequences"):
        return None
    what = f"what the backward pass keeps of every block, which grows with the length ({line.place})"
    return Grower(what, line, (_RECOMPUTE, _SHORTER))


_OF_SETTINGS: tuple[Callable[[Case], Grower | None], ...] = (
    _capped,
    _takes_all,
    _lifted_without_jit,
    _adaptation,
)
_OF_SIZES: tuple[Callable[[Case], Grower | None], ...] = (
    _batch_of_each,
    _remat_wanted,
    _weights,
    _matrix,
    _particles,
)
