"""What lines of JAX programs make, as data: the pattern of the line or of a library's frame, what it makes,
and what makes less of it. `jax_lines` reads the table; tests run every row's examples and near misses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum

from tfmemlens.findings.support.jax_stack import LEAST_BYTES
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, field, replace


class Where(Enum):
    """Where a row's line may stand before it explains a request."""

    LINE = "it is the user's line that failed"
    WAY = "it is a line of the user's own on the way to the failure"
    CODE = "it is code that the text quotes"


@dataclass(frozen=True, slots=True)
class Idiom:
    """What a line makes. `what` and the remedies may name groups of the pattern: `{list}`."""

    slug: str
    code: str
    """The pattern of the user's line; empty where frames of libraries alone tell."""
    what: str
    remedies: tuple[Remedy, ...]
    examples: tuple[str, ...]
    near: tuple[str, ...]
    """Lines that look alike and mean something else."""
    where: Where = Where.LINE
    frame: str = ""
    """The pattern of a library's frame, `path:line function`, that tells the same."""
    beside: str = ""
    """The pattern of a line that quoted code must hold as well."""
    least_bytes: int = LEAST_BYTES
    """The smallest request that it explains: 0 of what is made of many arrays."""
    _code: re.Pattern[str] = field(init=False, repr=False, compare=False, default=regex(""))
    _frame: re.Pattern[str] = field(init=False, repr=False, compare=False, default=regex(""))

    def __post_init__(self) -> None:
        """The patterns, compiled when first asked."""
        object.__setattr__(self, "_code", regex(self.code))
        object.__setattr__(self, "_frame", regex(self.frame))

    def in_line(self, text: str) -> re.Match[str] | None:
        """Where a line of code shows it."""
        return self._code.search(text) if self.code else None

    def in_frame(self, frame: Frame) -> bool:
        """Whether a frame of a library shows it."""
        return bool(self.frame) and bool(self._frame.search(f"{frame.place} {frame.name}"))

    def told(self, match: re.Match[str] | None) -> tuple[str, tuple[Remedy, ...]]:
        """What it makes and what helps, with the pattern's groups."""
        groups = {name: text or "" for name, text in (match.groupdict() if match else {}).items()}
        return _filled(self.what, groups), tuple(
            replace(
                remedy,
                text=_filled(remedy.text, groups),
                code=_filled(remedy.code, groups) if remedy.code else None,
            )
            for remedy in self.remedies
        )


def _filled(text: str, groups: dict[str, str]) -> str:
    for name, value in groups.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def shown_by(
    frames: Sequence[Frame], text: str, code: Sequence[Line], need: int, *, way: bool = True
) -> Iterator[tuple[Idiom, re.Match[str] | None, Line | None]]:
    """The rows that the failing line, the frames or quoted code show, the surest first; the line where it is
    quoted code alone. Without `way` no line above the failing one is asked.
    """
    own = [frame.text for frame in reversed(frames) if user_frame(frame.place) and frame.text != text]
    library = [frame for frame in frames if not user_frame(frame.place)]
    fitting = [
        row
        for row in TABLE
        if need >= row.least_bytes
        and (not row.beside or any(re.search(row.beside, each) for each in (text, *(at.text for at in code))))
    ]
    for row in fitting:
        if match := row.in_line(text):
            yield row, match, None
    for row in fitting:
        if any(map(row.in_frame, library)):
            lines = [text, *own, *(line.text for line in code)]
            yield row, next(filter(None, map(row.in_line, lines)), None), None
    for row in fitting if way else ():
        if row.where is not Where.LINE and (match := next(filter(None, map(row.in_line, own)), None)):
            yield row, match, None
    for row in fitting:
        for line in reversed(code) if row.where is Where.CODE else ():
            if match := row.in_line(line.text):
                yield row, match, line
                break


IN_BLOCKS = Remedy(
    "go through the rows in blocks, and reduce each block at once",
    "y = jax.lax.map(f, x, batch_size=256)   # f of one row against all others",
    slug="in-blocks",
)
_INTEGER_LABELS = Remedy(
    "keep labels as integers: the loss, or a look-up, needs no one-hot rows",
    "loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)   # table[labels]",
    slug="sparse-labels",
)
_KERAS_INTEGER_LABELS = Remedy(
    "keep labels as integers: the loss takes them as they are",
    "model.compile(..., loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))",
    slug="sparse-labels",
)
_FEWER_DRAWS = Remedy(
    "keep fewer draws: thin them, run and save in several parts, and compute large deterministic sites"
    " afterwards with Predictive",
    "MCMC(kernel, num_warmup=..., num_samples=500, thinning=4)",
    slug="fewer-draws",
)
_SHARDED = Remedy("shard weights and optimizer state over devices", slug="shard-arguments")
_UINT8_ON_HOST = Remedy(
    "keep the data in NumPy on the host, in its own dtype, and copy and convert one batch at a time",
    "batch = jax.device_put(data[i : i + 256])   # in the step: batch.astype(jnp.float32) / 255",
    slug="one-batch-to-the-device",
)

TABLE: tuple[Idiom, ...] = (
    Idiom(
        "replay-buffer",
        r"\b\w*(?:buffer|replay|\brb)\w*\.init\(|\bmake_(?:flat|item|trajectory|prioriti[sz]ed\w*)_buffer\(",
        "the replay buffer is made whole before the first step: a row on the device for every transition that"
        " it may hold",
        (
            Remedy(
                "store observations as uint8 (a quarter of float32), and convert a sampled batch only",
                "obs = obs.astype(jnp.uint8)   # in the update: batch.obs.astype(jnp.float32) / 255",
                slug="narrow-copy",
            ),
            Remedy(
                "make its capacity smaller, or keep it in NumPy on the host and copy sampled batches",
                slug="smaller-buffer",
            ),
        ),
        ("    buffer_state = buffer.init(dummy_transition)", "rb_state = replay_buffer.init(item)"),
        ("params = net.init(key, x)", "state = tx.init(params)"),
        frame=r"flashbax[/\\]buffers[/\\].* init\Z",
    ),
    Idiom(
        "replay-buffer-of-brax",
        r"\bsac\.train\b(?!.*\bmax_replay_size)",
        "Brax's SAC makes its replay buffer whole before the first step, for as many transitions as"
        " `num_timesteps` unless it is told another size",
        (
            Remedy(
                "give the buffer a size of its own",
                "sac.train(..., max_replay_size=1_000_000)",
                slug="smaller-buffer",
            ),
        ),
        ("train_fn = functools.partial(sac.train, num_timesteps=30_000_000, num_envs=128)",),
        ("train_fn = functools.partial(ppo.train, num_envs=128)", "sac.train(env, max_replay_size=1000)"),
        Where.CODE,
        frame=r"brax[/\\]training[/\\]replay_buffers\.py",
    ),
    Idiom(
        "cache-of-keys",
        r"\binit_cache\(|\b\w*kv_cache\w*\s*=\s*(?!None)|\b(?:make|init|create)_\w*cache\(|\.init_cache\b",
        "the cache of keys and values is made for generation: for every prompt, layer and position up to the"
        " longest text",
        (
            Remedy(
                "generate for fewer prompts at a time, and allow shorter texts: the cache is as large as"
                " prompts"
                " x length",
                "for part in np.array_split(ids, 4): out = model.generate(part, max_new_tokens=256)",
                slug="smaller-generation",
            ),
            Remedy("keep the cache, and the weights, in bfloat16", slug="narrow-weights"),
        ),
        ("past = model.init_cache(batch_size, max_length)", "kv_cache = make_kv_cache(cfg, batch)"),
        ("functools.lru_cache(maxsize=None)", "kv_cache=None"),
        frame=r"\binit_cache\Z|generation[/\\]flax_utils",
        least_bytes=0,
    ),
    Idiom(
        "full-covariance-guide",
        r"\bAutoMultivariateNormal\(|\bAutoLaplaceApproximation\(",
        "the guide keeps a full covariance: a matrix of all latent values by all latent values",
        (
            Remedy(
                "use a guide with a diagonal or a low-rank covariance",
                "guide = AutoNormal(model)   # or AutoLowRankMultivariateNormal(model, rank=20)",
                slug="diagonal-guide",
            ),
        ),
        ("guide = AutoMultivariateNormal(model)",),
        ("guide = AutoNormal(model)",),
        Where.CODE,
    ),
    Idiom(
        "one-hot-of-keras",
        r"\b(?:keras\.(?:ops|utils)\.)(?:one_hot|to_categorical)\(",
        "one_hot makes a row as long as there are classes for each label",
        (_KERAS_INTEGER_LABELS, IN_BLOCKS),
        ("y = keras.ops.one_hot(labels, n_words)", "y = keras.utils.to_categorical(y, 1000)"),
        ("y = keras.ops.argmax(p, -1)",),
    ),
    Idiom(
        "one-hot",
        r"\bone_hot\(",
        "one_hot makes a row as long as there are classes for each label",
        (_INTEGER_LABELS, IN_BLOCKS),
        ("targets = jax.nn.one_hot(ids, cfg.vocab)",),
        ("one_hot_loss = loss(x)",),
    ),
    Idiom(
        "replicated-array",
        r"\bdevice_put\([^#]*(?:NamedSharding\([^()]*,\s*P(?:artitionSpec)?\(\s*\)\)|\breplicat\w+)",
        "the line copies all of it to every device: each must hold the whole, however many there are",
        (
            Remedy(
                "shard it along its first axis: each device then holds its part (weights with a first axis"
                " that divides, or a data set)",
                "x = jax.device_put(x, NamedSharding(mesh, P('data')))   # P() only for scalars",
                slug="shard-arguments",
            ),
            _UINT8_ON_HOST,
        ),
        ("ds = jax.device_put(images, NamedSharding(mesh, P()))", "x = jax.device_put(x, replicated)"),
        ("x = jax.device_put(x, NamedSharding(mesh, P('data')))", "x = jax.device_put(batch)"),
        least_bytes=0,
    ),
    Idiom(
        "state-made-by-a-call",
        r"\b(?:self\.)?(?P<state>(?:train_)?state|params|variables|opt_state)\s*=(?!=)\s*"
        r"(?:[\w.]*\.)?(?:p_)?init_?(?!ial_)(?:fn|xmap|state|params|model|train_state|pmap|jit|all)?\(",
        "the line makes the model's `{state}`: weights, and most likely what the optimizer keeps of them, as"
        " large whatever the batch",
        (
            _SHARDED,
            Remedy("keep the weights in bfloat16 where the program allows it", slug="narrow-weights"),
            Remedy(
                "see how large they are without making them",
                "shapes = jax.eval_shape(init, key, x); print(jax.tree.map(lambda s: s.shape, shapes))",
                slug="shapes-without-running",
            ),
        ),
        (
            "self.state = self.init_xmap(jnp.array(key.take(mp_per_host)), x)",
            "params = init_params(key)",
            "state = p_init(rng, batch)",
        ),
        ("params = initial_guess(x)", "state = env.reset(key)", "carry = cell.init(key)", "state == init(x)"),
        least_bytes=0,
    ),
    Idiom(
        "restored-beside",
        r"\brestore\w*\([^#]*\b(?P<state>\w*(?:state|params|target|template))\)",
        "the checkpoint is restored beside `{state}`, which is on the device already: both are there at once",
        (
            Remedy(
                "restore into shapes instead of a state that was made for it",
                "shapes = jax.eval_shape(create_state, key); state = checkpointer.restore(path, shapes)",
                slug="restore-into-shapes",
            ),
            Remedy(
                "or let go of the state first, and keep its shapes alone",
                "shapes = jax.tree.map(ocp.utils.to_shape_dtype_struct, state); del state",
                slug="drop-references",
            ),
        ),
        (
            "    state = restore_checkpoint(ckpt_dir, state)",
            "state = checkpoints.restore_checkpoint(path, target=state)",
            "params = ckptr.restore(path, params)",
        ),
        ("params = load_checkpoint(path)", "state = ckptr.restore(path)"),
        Where.WAY,
        least_bytes=0,
    ),
    Idiom(
        "set-kept-on-device",
        r"\[\s*(?:jax\.)?(?:device_put|jnp\.(?:as)?array"
        r"|shard)\([^()]*(?:\([^()]*\)[^()]*)*\)\s+for \w+(?:, ?\w+)* in (?P<set>[\w.]+)",
        "the list keeps every batch of `{set}` on the device: all of the data set, in the end",
        (
            Remedy(
                "copy each batch when its step comes, and keep none",
                "for batch in {set}: state, loss = step(state, jax.device_put(batch))",
                slug="one-batch-to-the-device",
            ),
        ),
        ("batches = [jax.device_put(b) for b in loader]", "xs = [jnp.array(x) for x, y in train_set]"),
        ("shapes = [x.shape for x in xs]", "x = jax.device_put(batch)"),
        Where.CODE,
        least_bytes=0,
    ),
    Idiom(
        "trees-in-a-list",
        r"(?:tree\.map|tree_map)\(\s*lambda \*(?P<all>\w+):[^#]*\*(?P<list>\w+)",
        "`{list}` keeps a whole tree of arrays of every iteration (gradients or weights, as large as the"
        " model), and this"
        " line puts them together beside them",
        (
            Remedy(
                "add up as you go: one tree is then kept",
                "total = jax.tree.map(jnp.add, total, tree)   # of gradients: optax.MultiSteps(tx,"
                " every_k_schedule=8)",
                slug="sum-as-you-go",
            ),
        ),
        ("grads = jax.tree.map(lambda *g: sum(g) / len(g), *grads_list)",),
        ("grads = jax.tree.map(lambda g: g / 8, grads)",),
        least_bytes=0,
    ),
    Idiom(
        "gathered-from-all",
        r"\bprocess_allgather\(|\b(?:lax\.)?all_gather\(|\bgather_params\w*\(|\bfully_replicated\b",
        "the line gathers the parts of all devices: each device then holds the whole, however it was sharded",
        (
            Remedy(
                "let each process save or use its own part: a checkpoint can be written sharded",
                "ocp.StandardCheckpointer().save(path, params)   # every process writes its shards",
                slug="save-sharded",
            ),
            Remedy(
                "or gather one array at a time, and bring it to the host before the next", slug="in-pieces"
            ),
        ),
        ("gathered = multihost_utils.process_allgather(state.params, tiled=True)",),
        ("x = nodes[senders]", "x = jax.lax.psum(x, 'i')"),
        Where.WAY,
        least_bytes=0,
    ),
    Idiom(
        "dense-adjacency",
        r"\b(?:\w+_)?adj(?:acency|_\w+)?\s*=(?!=)[^#]*(?:\b(?:zeros|eye|ones)\(|\.at\[|to_?dense|toarray"
        r"|todense)"
        r"|\.at\[\s*(?:src|senders|row|edges?)\w*",
        "the adjacency matrix is made dense: a number for every pair of nodes, nearly all of them zero",
        (
            Remedy(
                "keep edges as two lists of indices, and sum over them",
                "out = jax.ops.segment_sum(h[senders], receivers, num_segments=N)   # or"
                " experimental.sparse.BCOO",
                slug="stay-sparse",
            ),
        ),
        ("adj = jnp.zeros((N, N)).at[src, dst].set(1.0)", "A = A.at[senders, receivers].add(1)"),
        ("adjust = jnp.ones(3)", "buf = buf.at[i].set(x)"),
        Where.CODE,
    ),
    Idiom(
        "copied-weights",
        r"(?P<copy>\b\w+)?(?:\s*=\s*)?(?:\b(?:jax\.)?(?:tree\.map|tree_map"
        r"|tree_util\.tree_map)\(\s*(?:jnp\.copy\b"
        r"|lambda (?P<x>\w+): ?(?:jnp\.(?:array|copy|asarray)\((?P=x)\b[^()]*\)|(?P=x)\.copy\(\)"
        r"|(?P=x)\s*[,)]|(?P=x) ?[*+] ?[01](?:\.0?)?\b))"
        r"|\bcopy\.deepcopy\(\s*(?:self\.)?(?:params|state|model|variables|weights|train_state)\b)",
        "the line makes a second copy of all weights, as large whatever the batch",
        (
            Remedy(
                "keep the copy in bfloat16, or on the host where the step does not need it: then half of"
                " it, or"
                " none",
                "{copy} = jax.tree.map(lambda w: w.astype(jnp.bfloat16), params)   # host:"
                " jax.device_get(params)",
                slug="narrow-weights",
            ),
            Remedy(
                "if it is a frozen reference or teacher: compute its outputs once, save them, and let it go",
                slug="drop-references",
            ),
            _SHARDED,
        ),
        (
            "ref_params = jax.tree_util.tree_map(lambda x: jnp.array(x, copy=True), params)",
            "ema = jax.tree.map(jnp.copy, params)",
            "target = copy.deepcopy(model)",
            "target = jax.tree.map(lambda p: p.copy(), params)",
        ),
        (
            "grads = jax.tree.map(lambda g: g / n, grads)",
            "x = jnp.copy(x)",
            "s = jax.tree.map(jnp.shape, params)",
        ),
        least_bytes=0,
    ),
    Idiom(
        "per-example-gradients",
        r"\bvmap\(\s*(?:jax\.)?(?:grad|value_and_grad|jac\w+)\(",
        "vmap of a gradient makes one gradient, as large as the weights, for each example",
        (
            Remedy(
                "go through the examples in blocks, and reduce each block's gradients (norm, clip, sum)"
                " at once",
                "g = jax.lax.map(per_example, xs, batch_size=16)",
                slug="in-blocks",
            ),
        ),
        ("g = jax.vmap(jax.grad(f), in_axes=(None, 0))(w, xs)",),
        ("g = jax.grad(lambda w: jax.vmap(f)(xs).mean())(w)",),
        Where.CODE,
    ),
    Idiom(
        "vectorized-chains",
        r"\bmcmc\.run\(",
        "all chains run at once (chain_method='vectorized'): what one chain computes of the data, and"
        " every draw that"
        " is kept, exists once for each chain",
        (
            Remedy(
                "run the chains one after another, or fewer at once",
                "MCMC(kernel, num_warmup=..., num_samples=..., num_chains=4, chain_method='sequential')",
                slug="fewer-chains",
            ),
            _FEWER_DRAWS,
            Remedy(
                "let each step see a part of the data (subsampling)",
                "HMCECS(NUTS(model), num_blocks=100)   # with numpyro.plate(..., subsample_size=...)",
                slug="subsampling",
            ),
        ),
        ("mcmc.run(random.PRNGKey(1), X, y, group)",),
        ("mcmc.print_summary()",),
        Where.WAY,
        beside=r"chain_method\s*=\s*[\"']vectorized",
    ),
    Idiom(
        "mcmc-draws",
        r"\bmcmc\.run\(",
        "MCMC keeps every draw of every site, deterministic ones too, until all chains are done",
        (_FEWER_DRAWS,),
        ("mcmc.run(jax.random.PRNGKey(0), X, y)",),
        ("mcmc.print_summary()",),
        Where.WAY,
        frame=r"numpyro[/\\].* fori_collect\Z",
    ),
    Idiom(
        "posterior-predictive",
        r"\bPredictive\(|\blog_likelihood\(|\bpredictive\(|\bfrom_numpyro\(",
        "every site is computed for all posterior draws at once",
        (
            Remedy(
                "go through the draws in parts, return only the sites that you need, and bring each part"
                " to the"
                " host",
                "Predictive(model, part, return_sites=['obs'])   # log_likelihood likewise",
                slug="fewer-draws",
            ),
        ),
        ("pred = Predictive(model, samples)(key, x)", "idata = az.from_numpyro(mcmc)"),
        ("y = predict(x)",),
        Where.WAY,
    ),
    Idiom(
        "differential-equation",
        r"\bdiffeqsolve\(|\bodeint\(",
        "the solver keeps the states that are asked for (SaveAt), and under a gradient those that the"
        " way back"
        " needs",
        (
            Remedy(
                "save fewer times, or what is needed of each state alone",
                "saveat = diffrax.SaveAt(ts=ts[::10])   # or SaveAt(t1=True), SaveAt(fn=lambda t, y,"
                " args: y.mean())",
                slug="stack-less",
            ),
            Remedy(
                "let the gradient keep fewer checkpoints, and compute the rest again",
                "diffeqsolve(..., adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=32))",
                slug="recompute-body",
            ),
        ),
        ("    sol = diffrax.diffeqsolve(term, solver, 0., 10., 0.01, y0)",),
        ("import diffrax", "sol.ys.mean()"),
        Where.WAY,
    ),
    Idiom(
        "scan",
        r"\b(?:lax\.)?scan\(",
        "scan stacks what each step returns, and under a gradient what each step needs for the way back",
        (
            Remedy(
                "let the backward pass compute a step again instead of keeping it",
                "_, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)",
                slug="recompute",
            ),
            Remedy(
                "let the body return only what is needed: reduce in the carry, and return None for the rest",
                slug="stack-less",
            ),
            Remedy(
                "fewer steps in one scan: scan over blocks of steps, with jax.checkpoint around each block",
                slug="in-blocks",
            ),
        ),
        ("h, hs = jax.lax.scan(cell, h, xs)",),
        ("scanned = parse(x)",),
        Where.WAY,
    ),
    Idiom(
        "vmap-of-environments",
        r"\bvmap\(\s*(?:\w+\.)*(?:mjx\.(?:step|make_data|put_data)|env\w*\.(?:step|reset)|env_(?:step"
        r"|reset)|(?:step|reset)_env)\b",
        "every environment's state, contacts included, is held at once, one row for each",
        (
            Remedy(
                "run fewer environments at once: the memory is as many rows",
                "num_envs = 2048   # the batch of an update can be made of several rollouts",
                slug="fewer-environments",
            ),
        ),
        ("state = jax.vmap(env.reset)(keys)", "d = jax.vmap(mjx.step, in_axes=(None, 0))(m, d)"),
        ("y = jax.vmap(f)(x)",),
        Where.CODE,
    ),
    Idiom(
        "ensemble",
        r"vmap\(\s*(?:\w+\.)*(?:(?:create|make|build|init)_?\w*|[A-Z]\w*)\s*(?:,[^#]{0,60})?\)\("
        r"[^#]*\bsplit\([^,()]+,\s*(?P<many>[\w.]+)\)",
        "all {many} members of an ensemble are made and run at once by vmap: weights, optimizer state and"
        " activations exist {many} times",
        (
            Remedy(
                "train a few members at a time, one group after another: they do not depend on each other",
                "for part in jnp.split(keys, 8): train(part)   # or jax.lax.map(train_one, keys,"
                " batch_size=8)",
                slug="fewer-members",
            ),
            Remedy("shard the members over devices, along their first axis", slug="shard-arguments"),
        ),
        (
            "states = jax.vmap(create_state)(jax.random.split(key, 64))",
            "params = jax.vmap(net.init, in_axes=(0, None))(jax.random.split(rng, N), x)",
        ),
        ("y = jax.vmap(f)(jax.random.split(key, 8))", "keys = jax.random.split(key, 64)"),
        Where.CODE,
    ),
    Idiom(
        "ensemble-of-keys",
        r"vmap\(\s*(?:\w+\.)*(?:create|make|build|init)_?(?:model|net\w*|state|params|member|train_state)?\s*\)"
        r"\(\s*(?P<keys>\w*(?:keys|rngs|seeds))\b",
        "vmap makes a whole model for each of `{keys}`, all at once: weights, and what training adds to them,"
        " exist that many times",
        (
            Remedy(
                "train a few members at a time, one group after another: they do not depend on each other",
                "for part in jnp.split({keys}, 8): train(part)",
                slug="fewer-members",
            ),
            Remedy("shard the members over devices, along their first axis", slug="shard-arguments"),
        ),
        ("models = eqx.filter_vmap(make_model)(keys)", "params = jax.vmap(init_params)(rngs)"),
        ("envs = jax.vmap(reset)(keys)", "y = jax.vmap(make_features)(points)"),
        least_bytes=0,
    ),
    Idiom(
        "mapped-under-a-gradient",
        r"\blax\.map\(\s*(?!\s*jax\.(?:checkpoint|remat))(?:lambda (?P<row>\w+):|(?P<function>\w+)\s*,)",
        "under a gradient lax.map keeps what each iteration needs for the way back, of all iterations",
        (
            Remedy(
                "let the backward pass compute each iteration again",
                "y = jax.lax.map(jax.checkpoint(f), xs)",
                slug="recompute-body",
            ),
            Remedy(
                "or take the gradient of a part of the rows at a time, and add the gradients up",
                "g = jax.tree.map(jnp.add, g, jax.grad(loss)(params, part))",
                slug="sum-as-you-go",
            ),
        ),
        ("loss = lambda p: jax.lax.map(lambda ray: render(p, ray), rays).mean()",),
        ("y = jax.lax.map(jax.checkpoint(f), xs)", "y = map(f, xs)"),
        Where.CODE,
        beside=r"\bgrad\(|value_and_grad\(",
    ),
    Idiom(
        "environments",
        r"\bnum_envs\s*[=:]\s*(?P<many>\d[\d_]{3,})",
        "a rollout of {many} environments is held whole, with every step of each until the update",
        (
            Remedy(
                "run fewer environments, or shorter rollouts, at once: observations, their copies for the"
                " minibatches and the simulator's state are as many rows",
                "num_envs=2048, unroll_length=10   # more updates, each of a smaller rollout",
                slug="fewer-environments",
            ),
            Remedy(
                "shard the environments over devices",
                slug="shard-arguments",
            ),
        ),
        ("train_fn = partial(ppo.train, num_envs=65536, batch_size=4096)", "  num_envs: 8192"),
        ("num_eval_envs=128", "envs = make(n)", "sac.train, num_envs=128"),
        Where.CODE,
    ),
    Idiom(
        "vmap",
        r"\bvmap\(",
        "vmap runs the function for all rows at once, so that what it makes for one row exists for every row",
        (
            Remedy(
                "run it for some rows at a time",
                "y = jax.lax.map(f, xs, batch_size=256)   # vmap over 256 rows at a time",
                slug="in-blocks",
            ),
        ),
        ("y = jax.vmap(f)(xs)",),
        ("y = f(xs)",),
        Where.WAY,
    ),
    Idiom(
        "logits",
        r"lm_head\(|softmax_cross_entropy\w*\(|log_softmax\(|\blogits\s*=(?!=).*(?:@|einsum\(|\bdot\()",
        "the line makes logits, or a copy of them for the loss: one number for every class and position",
        (
            Remedy(
                "compute logits and loss for part of the positions at a time, and let the backward pass"
                " compute"
                " them again",
                "losses = jax.lax.map(jax.checkpoint(loss_of_part), parts)",
                slug="part-of-positions",
            ),
            Remedy("keep labels as integers, and the logits in bfloat16", slug="sparse-labels"),
        ),
        ("loss = optax.softmax_cross_entropy(logits, labels).mean()", "logits = h @ table.T"),
        ("logits = []",),
    ),
    Idiom(
        "attention-mask",
        r"\bmake_(?:causal|attention)_mask\(|\btril\(\s*jnp\.ones\(|\b\w*mask\w*\s*=.*\btri[lu]?\(",
        "the line makes an attention mask of length x length",
        (
            Remedy(
                "let attention know that it is causal: no mask then needs to exist",
                "out = jax.nn.dot_product_attention(q, k, v, is_causal=True)",
                slug="blockwise-attention",
            ),
            Remedy(
                "or make it of bool (a quarter of float32), once for all heads and samples",
                slug="narrow-mask",
            ),
        ),
        ("mask = nn.make_causal_mask(x)", "mask = jnp.tril(jnp.ones((n, n)))"),
        ("mask = x > 0",),
    ),
    Idiom(
        "attention-scores",
        r"dot_product_attention\(|softmax\(\s*(?:scores|attn|att|sim|qk)\b|\bq\w*\s*@\s*k",
        "attention scores are made whole: length x length for each head and sample",
        (
            Remedy(
                "let them never be held whole",
                "out = jax.nn.dot_product_attention(q, k, v, implementation='cudnn')   # on a GPU, in 16"
                " bits",
                slug="blockwise-attention",
            ),
            Remedy("shorten the sequences: half the length is a quarter of them", slug="smaller-input"),
        ),
        ("a = jax.nn.softmax(scores, -1)", "s = q @ k.T"),
        ("p = jax.nn.softmax(logits)",),
    ),
    Idiom(
        "functional-update",
        r"\.at\[[^=]*\]\.(?:set|add|multiply|mul|max|min)\(",
        "outside of jit, .at[...] copies the whole array for each change",
        (
            Remedy(
                "change it inside a jitted function that is given the array to keep",
                "write = jax.jit(lambda x, v: x.at[i].set(v), donate_argnums=0)",
                slug="donate-buffers",
            ),
        ),
        ("buf = buf.at[i].set(x)",),
        ("x = buf[i]",),
    ),
    Idiom(
        "shuffled-copy",
        r"\brandom\.permutation\(\s*[\w.()\[\]]+\s*,\s*(?!len\(|[\d_]+\s*[,)]|n\w{0,8}\s*[,)]"
        r"|\w+\.shape)\w|\brandom\.shuffle\("
        r"|\b\w+\s*=\s*(?P<data>\w+)\[(?:perm\w*|idxs?|indices|order|shuffled?\w*)\]\s*\Z",
        "the line makes a shuffled copy of the whole array, beside the array",
        (
            Remedy(
                "shuffle the indices, and take each batch by them",
                "order = jax.random.permutation(key, len(x)); batch = x[order[i : i + 256]]",
                slug="shuffle-indices",
            ),
        ),
        ("x = jax.random.permutation(key, x)", "x_train = x_train[perm]"),
        (
            "order = jax.random.permutation(key, len(x))",
            "perm = random.permutation(key, 60000)",
            "b = x[perm[:8]]",
        ),
    ),
    Idiom(
        "gathered-rows",
        r"\bsegment_(?:sum|max|mean|softmax)\(|\[\s*(?:\w+\.)?(?:senders|receivers|src|dst|edges?)\s*\]"
        r"|\b(?:jnp\.take|take_along_axis)\(|\bedge_index\[",
        "a row is gathered for every index, here most likely for every edge or neighbour",
        (
            Remedy(
                "go through the indices in blocks, and add each block's result to the output",
                "out = jax.lax.fori_loop(0, blocks, add_block, out)",
                slug="in-blocks",
            ),
            Remedy("make the rows narrower before they are gathered", slug="narrower-layer"),
        ),
        ("m = nodes[senders]", "h = jax.ops.segment_sum(m, dst, n)"),
        ("nodes = senders", "intake(x)", "state = init(jnp.array(key.take(2)), x)"),
    ),
    Idiom(
        "dense-of-sparse",
        r"\.to_?dense\(",
        "the sparse matrix is made dense: every zero takes as much as a number",
        (
            Remedy(
                "keep it sparse, and multiply with it as it is",
                "y = A @ x   # A a jax.experimental.sparse.BCOO",
                slug="stay-sparse",
            ),
        ),
        ("a = A.todense()",),
        ("A = BCOO.fromdense(a)",),
    ),
    Idiom(
        "prefetched",
        r"prefetch_to_device\(|device_prefetch\w*\(",
        "batches are copied to the device ahead of the step, and wait there",
        (
            Remedy(
                "let fewer wait (2 are enough), and smaller ones",
                "prefetch_to_device(batches, 2)",
                slug="fewer-prefetched",
            ),
        ),
        ("it = jax_utils.prefetch_to_device(it, 16)",),
        ("ds = ds.prefetch(2)",),
        Where.CODE,
        frame=r"\bprefetch_to_device\Z|flax[/\\]jax_utils\.py\S* enqueue\Z",
        least_bytes=0,
    ),
    Idiom(
        "eager-convolution",
        r"\b(?:lax\.)?conv(?:_general_dilated(?!_patches)\w*|_transpose)?\("
        r"|\bConv(?:Transpose)?(?:\dD(?:Transpose)?)?\([^()]*(?:\([^()]*\)[^()]*)*\)\(",
        "a convolution that runs by itself makes its whole output, for all samples at once",
        (
            Remedy(
                "give it fewer or smaller images at a time; inside jit, what is no longer needed is freed",
                "apply = jax.jit(model.apply); parts = [apply(params, part) for part in parts_of(x)]",
                slug="in-pieces",
            ),
        ),
        ("x = nn.Conv(64, (3, 3))(x)",),
        ("self.conv = nn.Conv(64, (3, 3))",),
    ),
    Idiom(
        "patches",
        r"\bconv_general_dilated_patches\(|\bextract_patches\(|\bsliding_window_view\(|\bunfold\(",
        "every pixel is copied into each patch that holds it: as many copies as a patch has pixels",
        (
            Remedy(
                "let a convolution work on the image itself, or take patches at a stride, or for a part"
                " of the"
                " images at a time",
                slug="stride-patches",
            ),
        ),
        ("p = jax.lax.conv_general_dilated_patches(x, (7, 7), (1, 1), 'SAME')",),
        ("x = refold(x)",),
    ),
    Idiom(
        "full-svd",
        r"linalg\.svd\((?![^#]*full_matrices\s*=\s*False)",
        "svd makes square matrices of singular vectors unless told otherwise",
        (
            Remedy(
                "compute the reduced form",
                "u, s, vt = jnp.linalg.svd(a, full_matrices=False)",
                slug="in-pieces",
            ),
        ),
        ("u, s, vt = jnp.linalg.svd(a)",),
        ("u, s, vt = jnp.linalg.svd(a, full_matrices=False)",),
    ),
    Idiom(
        "decomposition",
        r"linalg\.(?:inv|pinv|solve|cholesky|eigh?|qr|lstsq|det|slogdet)\(|\bcho_(?:factor|solve)\("
        r"|\bcholesky\(",
        "the decomposition needs matrices as large as its operand, and room to work, beside it",
        (
            Remedy(
                "if only a product or a solution is needed: iterate, with products of the matrix alone",
                "x, _ = jax.scipy.sparse.linalg.cg(matvec, b)",
                slug="iterative-solver",
            ),
            Remedy(
                "for a Gaussian process: inducing points, which need no matrix of all rows by all rows",
                slug="inducing-points",
            ),
        ),
        ("L = jnp.linalg.cholesky(K)",),
        ("x = jnp.linalg.norm(a)",),
    ),
    Idiom(
        "transform",
        r"\bjnp\.fft\.\w*fft\w*\(",
        "the transform's result is complex, 8 bytes for each number, and it needs as much again to work in",
        (
            Remedy(
                "of real numbers compute half of the frequencies, the others are their mirror image",
                "f = jnp.fft.rfftn(x)   # back: jnp.fft.irfftn(f, s=x.shape)",
                slug="half-transform",
            ),
            Remedy("transform a part of the samples or channels at a time", slug="in-pieces"),
        ),
        ("f = jnp.fft.fftn(x)",),
        ("f = jnp.fft.fftfreq",),
    ),
    Idiom(
        "repeated",
        r"\bjnp\.(?:kron|outer|tile|repeat|broadcast_to|meshgrid)\(",
        "the call repeats its operand, and holds all copies at once",
        (
            IN_BLOCKS,
            Remedy("let broadcasting do it: index or broadcast where the values are used", slug="in-pieces"),
        ),
        ("k = jnp.kron(a, b)", "x = jnp.broadcast_to(x, (k, *x.shape))"),
        ("x = jnp.arange(9)",),
    ),
    Idiom(
        "joined-results",
        r"\bjnp\.(?:concatenate|stack|vstack|hstack)\(\s*(?P<list>\w*(?:all|pred|logit|out|feat|emb"
        r"|result|prob|score|repr|hist)\w*)\b",
        "`{list}` keeps the results of all batches on the device, and the call joins them into one more array"
        " beside them",
        (
            Remedy(
                "bring what is needed of each batch to the host (a class, a sum), and join there",
                "{list}.append(np.asarray(out.argmax(-1)))   # then: np.concatenate({list})",
                slug="parts-on-host",
            ),
        ),
        ("logits = jnp.concatenate(all_logits, axis=0)", "f = jnp.stack(feats)"),
        ("x = jnp.concatenate([a, b])",),
    ),
    Idiom(
        "joined",
        r"\bjnp\.(?:concatenate|stack|vstack|hstack|append)\(",
        "the call joins arrays into one, beside the parts",
        (
            Remedy(
                "reduce each part before they are joined, or join them in NumPy on the host", slug="in-pieces"
            ),
        ),
        ("x = jnp.concatenate([a, b])",),
        ("xs.append(x)",),
    ),
    Idiom(
        "resized",
        r"\bimage\.(?:resize|scale_and_translate)\(|\bmap_coordinates\(",
        "all images are resized at once, on the device and in floating point",
        (_UINT8_ON_HOST, IN_BLOCKS),
        ("x = jax.image.resize(x, (n, 224, 224, 3), 'bilinear')",),
        ("image.resize_to = 3",),
    ),
    Idiom(
        "search-tree",
        r"\bmctx\.\w+_policy\(|\bnum_simulations\s*=",
        "the search tree keeps an embedding of every simulation, for every root of the batch",
        (
            Remedy(
                "run fewer simulations, or search from fewer roots at a time: the tree is as large as both",
                "out = mctx.gumbel_muzero_policy(params, key, root, recurrent_fn, num_simulations=64)",
                slug="smaller-tree",
            ),
            Remedy(
                "make the embedding smaller, or keep it in bfloat16 (or the moves instead of it)",
                slug="narrow-copy",
            ),
        ),
        ("out = mctx.gumbel_muzero_policy(params, rng, root, recurrent_fn, num_simulations=800)",),
        ("import mctx", "num_simulation_steps = 3"),
        Where.WAY,
    ),
    Idiom(
        "whole-on-every-device",
        r"\bin_(?:specs|shardings)\s*=(?:(?!\bout_)[^#])*?\bP(?:artitionSpec)?\(\s*\)",
        "an argument with the spec `P()` is whole on every device, and what is computed from it as well",
        (
            Remedy(
                "shard the large argument, too, and combine the parts (psum, or a merge of the best rows)",
                "in_specs=(P('dp'), P()), out_specs=P('dp')   # the large array sharded, the small one whole",
                slug="shard-arguments",
            ),
            IN_BLOCKS,
        ),
        ("f = jax.shard_map(g, mesh=mesh, in_specs=(P(), P('dp')), out_specs=P('dp'))",),
        ("f = jax.shard_map(g, mesh=mesh, in_specs=(P('x'), P('dp')), out_specs=P())",),
        Where.CODE,
    ),
    Idiom(
        "history-of-gradients",
        r"\b(?:optax\.)?(?:scale_by_)?lbfgs\(|\bLBFGS\(",
        "L-BFGS keeps the last steps and gradients: twice its memory size as many copies of the weights",
        (
            Remedy(
                "let it keep fewer",
                "optax.lbfgs(memory_size=3)   # jaxopt: history_size=3",
                slug="shorter-history",
            ),
        ),
        ("opt = optax.lbfgs()", "solver = jaxopt.LBFGS(f, history_size=50)"),
        ("opt = optax.adam(1e-3)",),
        Where.CODE,
        frame=r"(?:optax|jaxopt)[/\\].*lbfgs",
    ),
    Idiom(
        "preconditioner",
        r"\b(?:distributed_)?shampoo\(|\bsoap\(|\bkfac_jax\b",
        "the optimizer keeps matrices of rows x rows and columns x columns for each weight, beside momenta",
        (
            Remedy(
                "keep them for smaller blocks of each weight, and leave tables out",
                "distributed_shampoo(lr, block_size=512, skip_preconditioning_dim_size_gt=4096)",
                slug="smaller-moments",
            ),
            _SHARDED,
        ),
        ("tx = distributed_shampoo(1e-3, block_size=1024)",),
        ("x = soapy(y)",),
        Where.CODE,
    ),
    Idiom(
        "pytorch-beside",
        r"(?P<call>\.to\(\s*(?:device\s*=\s*)?[\"']cuda[^)]*\)|\.cuda\(\)|\bdevice_map\s*=\s*[\"'](?:auto"
        r"|cuda)[^\"']*[\"'])",
        "PyTorch, in the same process, holds part of the GPU (`{call}`), and JAX gets what is left",
        (
            Remedy(
                "keep PyTorch's model on the CPU, or in a process with a GPU of its own",
                "model.to('cpu'); torch.cuda.empty_cache()",
                slug="pytorch-off-the-gpu",
            ),
            Remedy(
                "if both must share the GPU: let JAX take its part first, and no more than PyTorch leaves",
                "export XLA_PYTHON_CLIENT_MEM_FRACTION=.60   # before Python starts",
                slug="smaller-fraction",
            ),
        ),
        ('reward = AutoModel.from_pretrained(name).to("cuda")   # torch', "net.cuda()"),
        ("x = x.to(device)", "os.environ['CUDA_VISIBLE_DEVICES'] = '0'"),
        Where.CODE,
        least_bytes=0,
    ),
)
"""Rows, the most particular first."""
