"""What helps where words or quoted code name what a program does: vmap, gradients, draws, environments,
shapes that change, an exception in a notebook, long sequences.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.layout_maps import SHARDED_BY_NAME
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.findings.support.which_memory import only_of_a_leak
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.values import replace

IN_BLOCKS = Remedy(
    "vmap holds what it makes for all rows at once: run it for some rows at a time, and reduce each part",
    "y = jax.lax.map(f, xs, batch_size=len(xs) // 8)   # vmap over an eighth at a time",
    slug="in-blocks",
)
_AGAIN = Remedy(
    "a gradient keeps what its backward pass needs: let it compute a step or block again instead",
    "_, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)   # or jax.checkpoint(block)",
    slug="recompute-body",
)
STEPS_AGAIN = (
    Remedy(
        "the gradient keeps what every time step needs: let the backward pass compute steps again, in"
        " blocks of"
        " about the square root of their number",
        "jax.lax.scan(jax.checkpoint(block_of_steps), state, blocks)   # each block a scan of its own",
        slug="recompute-body",
    ),
    Remedy(
        "or fewer time steps between gradients (truncated), or a smaller system to begin with: what is"
        " kept grows"
        " with both",
        slug="in-blocks",
    ),
)
_FEWER_SAVED = Remedy(
    "a solve keeps every time point that it is asked for, and for the gradient its checkpoints: save the last"
    " state or few points, and lower max_steps and checkpoints",
    "diffeqsolve(..., saveat=SaveAt(t1=True), max_steps=1000,"
    " adjoint=RecursiveCheckpointAdjoint(checkpoints=20))",
    slug="fewer-saved",
)
_FEWER_AT_ONCE = Remedy(
    "under vmap all systems are solved at once: go through them in parts",
    "ys = jax.lax.map(solve, y0s, batch_size=64)",
    slug="in-blocks",
)
_SHORTER = Remedy(
    "what a step keeps grows with the length of its sequences, attention scores with its square: shorter"
    " ones, or padding to fewer lengths",
    slug="shorter-sequences",
)
_SHORTER_ALONE = replace(
    _SHORTER,
    text="what a step keeps grows with the length of its sequences: shorter ones, or padding to few lengths",
)
FEWER_DRAWS = Remedy(
    "every draw of every site, deterministic ones included, is held on the device until the end: fewer draws"
    " or thinning, fewer sites, or several runs whose draws go to the host",
    "mcmc.run(key, ...); mcmc.post_warmup_state = mcmc.last_state   # then run again for more draws",
    slug="fewer-draws",
)
SAMPLER_MADE_ONCE = Remedy(
    "where it grows from run to run: a sampler, kernel or function that is made anew in a loop is compiled"
    " anew, and JAX keeps every program with its constants: make it once, give it what changes as arguments,"
    " or drop the programs after each run",
    "jax.clear_caches()   # after each run; results as NumPy arrays: jax.device_get(mcmc.get_samples())",
    slug="start-anew",
)
_SMALLER_CHUNKS = Remedy(
    "where it fails while pictures are rendered ({}: tests and videos, between steps of the training), the"
    " batch of the training plays no part: give each turn of the rendering fewer rays. A pool that"
    " nvidia-smi shows full says nothing, JAX reserves it",
    "Config.render_chunk_size = 4096   # gin, as MultiNeRF calls it; others: chunk, rays_per_chunk",
    slug="in-blocks",
)
FEWER_ENVIRONMENTS = Remedy(
    "run fewer environments at once, or fewer steps of them between updates",
    slug="fewer-environments",
)
CELL_LIST = Remedy(
    "see that a cell list is used: the box (in the units of the positions) must have at least three cutoffs"
    " on each side, `disable_cell_list` be False; a smaller cutoff or `dr_threshold` makes cells that fit",
    "print(box_size / (r_cutoff + dr_threshold))   # 3 or more, in each direction",
    slug="cell-list",
)
CLEARED = Remedy(
    "a notebook keeps the last exception, and its frames keep their arrays: clear it, or catch the error",
    "import gc, sys; sys.last_traceback = sys.last_value = None; gc.collect()",
    slug="clear-the-exception",
)
FEWER_SHAPES = Remedy(
    "each new shape is compiled anew, and JAX keeps every program: pad to a few shapes, or drop the programs",
    "jax.clear_caches()   # now and then; or pad x to a multiple of 512 before f_jit(x)",
    slug="one-shape-of-jax",
)
COMPILED_ONCE = Remedy(
    "a function that is made and jitted anew (in a loop, a lambda, a partial, a method of a new module) is"
    " compiled anew, and its program stays in host RAM: jit it once, outside, and see whether something is"
    " still compiled after the first steps",
    "jax.config.update('jax_log_compiles', True)",
    slug="compile-once",
)
NO_STATIC = Remedy(
    "give it as a traced argument: static is what decides shapes or Python's branches, and has few values",
    "f = jax.jit(f)   # jnp.where or lax.cond instead of if",
    slug="compile-once",
)
ALL_DEVICES = Remedy(
    "JAX computes on the first device alone unless arrays are sharded (or the function is mapped over"
    " devices), so the others' memory does not help: shard what is large, or run independent inputs in a"
    " process for each device",
    "x = jax.device_put(x, NamedSharding(jax.make_mesh((n,), ('d',)), P('d')))   # or CUDA_VISIBLE_DEVICES=1",
    slug="use-all-devices",
)
_START_ANEW = Remedy(
    "it ran well many times before, so something is left behind each time: drop the programs that were"
    " compiled for it, keep results as NumPy arrays, or start a new process for each part of the work",
    "results.append(jax.device_get(out)); del out; jax.clear_caches()   # after each of them",
    slug="start-anew",
)
_LEFT_OR_LATER = Remedy(
    "it ran well for a while: print the memory in use at each step. Where it grows, something is kept (lists"
    " of results, callbacks, programs compiled anew); where it stays flat, a later batch is larger than those"
    " before it, or something else runs then (an evaluation, a checkpoint)",
    slug="find-what-grows",
)


_RAM_LEFT_OR_LATER = replace(
    _LEFT_OR_LATER,
    text="it ran well for a while: print the RAM of the process at each step, and before and after each"
    " evaluation and checkpoint. Where it rises from step to step, something is kept (lists of results,"
    " programs compiled anew, an input pipeline); where it jumps, what runs there needs a copy, or makes its"
    " input anew each time",
    code="print(step, psutil.Process().memory_info().rss >> 20, 'MiB')",
)
_LEAK = regex(r"(?i)\bleak")
"""Memory that one step needs and gives back is no leak."""


def fits_without_draws(told: Surroundings) -> bool:
    """Whether a distribution is fitted by an optimizer, and no chains are drawn."""
    return told.shows("fitting a distribution") is not None and told.shows("drawing chains") is None


def grows_from_run_to_run(told: Surroundings) -> bool:
    """Whether memory grows, and the text tells of several runs, or does not show that there is only one."""
    if told.shows("growing in words") is None or told.shows("growing with a size"):
        return False
    short = told.shows("running short")
    return any(map(told.shows, _SEVERAL_RUNS)) or short is None or only_of_a_leak(short)


_SEVERAL_RUNS = (
    "many runs before",
    "models in a loop",
    "failing late",
    *(f"again at each {unit}" for unit in ("call", "run", "model", "trial", "fold")),
)


def of_constructs(case: Case) -> Iterator[Remedy]:
    """What helps, the most particular first; code only where the program is JAX's."""
    jax = framework_of(case) == JAX
    for remedy in _named(case, jax):
        yield remedy if jax or remedy is CLEARED else replace(remedy, code=None)


def _named(case: Case, jax: bool) -> Iterator[Remedy]:
    told = case.capture.surroundings
    if (chunk := told.shows("rendering in chunks")) and jax and not told.shows("growing in words"):
        yield replace(_SMALLER_CHUNKS, text=_SMALLER_CHUNKS.text.format(chunk.place))
    late = told.shows("failing late") or told.shows("many runs before")
    if told.shows("sharding by a layout map") and not told.shows("growing in words"):
        yield from SHARDED_BY_NAME
    if told.shows("after an error"):
        yield CLEARED
    if told.shows("one device used") and jax:
        yield ALL_DEVICES
    if late and not told.shows("growing in words"):
        if told.shows("many runs before"):
            yield _START_ANEW
        elif not told.shows("saving in words"):
            yield _RAM_LEFT_OR_LATER if told.shows("host RAM in words") else _LEFT_OR_LATER
    if (told.shows("many shapes") or told.shows("many sizes")) and jax:
        yield FEWER_SHAPES
    if told.shows("jitting again") and jax and told.shows("growing in words"):
        yield COMPILED_ONCE
    samples = (case.api.library == "NumPyro" or told.shows("sampling")) and not late
    samples = samples and not fits_without_draws(told)
    if samples:
        yield SAMPLER_MADE_ONCE if grows_from_run_to_run(told) else FEWER_DRAWS
    grows = told.shows("growing in words")
    if grows is None or (told.shows("running short") not in (None, grows) and not _LEAK.search(grows.text)):
        yield from _of_one_call(told, jax)


def _of_one_call(told: Surroundings, jax: bool) -> Iterator[Remedy]:
    """What makes one step or call smaller, which explains no growth from one to the next."""
    if told.shows("vectorising"):
        yield IN_BLOCKS
    if told.shows("environments") and jax:
        yield FEWER_ENVIRONMENTS
    solver = told.shows("solving an ODE")
    if solver and jax:
        yield from (_FEWER_SAVED, _FEWER_AT_ONCE)
    elif told.shows("differentiating") and jax:
        yield from STEPS_AGAIN if told.shows("simulating") else (_AGAIN,)
    if told.shows("long sequences"):
        yield _SHORTER_ALONE if told.shows("fused attention used") else _SHORTER
