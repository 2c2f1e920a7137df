"""What a program keeps, gathers or has twice."""

from __future__ import annotations

from tfmemlens.findings.support.jax_code.changes import (
    IN_BLOCKS,
    INTEGER_LABELS,
    KERAS_INTEGER_LABELS,
    SHARDED,
    UINT8_ON_HOST,
)
from tfmemlens.findings.support.jax_code.idiom import JaxIdiom, Where
from tfmemlens.model.finding import Remedy

ROWS: tuple[JaxIdiom, ...] = (
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
        "one-hot-sums",
        r"\b\w*one_?hot\w*\.T\s*@|\beinsum\([^#]*\bone_?hot\w*\b(?!\()",
        "a one-hot matrix of rows x groups is made to sum the rows of each group, nearly all of it zeros",
        (
            Remedy(
                "sum rows by their group's number: the matrix then never exists",
                "pooled = jax.ops.segment_sum(h, idx, num_segments=n_groups)",
                slug="stay-sparse",
            ),
        ),
        ("pooled = onehot.T @ h", "out = jnp.einsum('ng,nd->gd', one_hot, h)"),
        ("k = x.T @ x",),
        Where.CODE,
    ),
    JaxIdiom(
        "one-hot-of-keras",
        r"\b(?:keras\.(?:ops|utils)\.)(?:one_hot|to_categorical)\(",
        "one_hot makes a row as long as there are classes for each label",
        (KERAS_INTEGER_LABELS, IN_BLOCKS),
        ("y = keras.ops.one_hot(labels, n_words)", "y = keras.utils.to_categorical(y, 1000)"),
        ("y = keras.ops.argmax(p, -1)",),
    ),
    JaxIdiom(
        "one-hot",
        r"\bone_hot\(",
        "one_hot makes a row as long as there are classes for each label",
        (INTEGER_LABELS, IN_BLOCKS),
        ("targets = jax.nn.one_hot(ids, cfg.vocab)",),
        ("one_hot_loss = loss(x)",),
    ),
    JaxIdiom(
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
            UINT8_ON_HOST,
        ),
        ("ds = jax.device_put(images, NamedSharding(mesh, P()))", "x = jax.device_put(x, replicated)"),
        ("x = jax.device_put(x, NamedSharding(mesh, P('data')))", "x = jax.device_put(batch)"),
        least_bytes=0,
    ),
    JaxIdiom(
        "state-made-by-a-call",
        r"\b(?:self\.)?(?P<state>(?:train_)?state|params|variables|opt_state)\s*=(?!=)\s*"
        r"(?:[\w.]*\.)?(?:p_)?init_?(?!ial_)(?:fn|xmap|state|params|model|train_state|pmap|jit|all)?\(",
        "the line makes the model's `{state}`: weights, and most likely what the optimizer keeps of them, as"
        " large whatever the batch",
        (
            SHARDED,
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
        "average-of-weights",
        r"(?:tree\.map|tree_map)\(\s*lambda (?P<one>\w+),\s*(?P<other>\w+):[^#]*"
        r"\b(?:(?P=one)\b[^#,]*\*[^#,]*\b(?P=other)|(?P=other)\b[^#,]*\*[^#,]*\b(?P=one))\b",
        "the line makes a whole new tree, as large as the weights, op by op and beside the old one, which"
        " goes only when all of it is made",
        (
            Remedy(
                "compile it, and give the old tree's memory to the new one",
                "average = jax.jit(lambda e, p: jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b, e, p),"
                " donate_argnums=0)\nema_params = average(ema_params, state.params)",
                slug="donate-buffers",
            ),
            Remedy(
                "or keep the average in bfloat16 or on the host, and update it seldom: it is one more set of"
                " weights on the device",
                slug="narrow-weights",
            ),
        ),
        ("ema = jax.tree.map(lambda e, p: e * 0.999 + p * 0.001, ema, state.params)",),
        ("g = jax.tree.map(lambda a, b: a + b, g, h)", "jax.tree.map(lambda p: p * 0.5, params)"),
        least_bytes=0,
    ),
    JaxIdiom(
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
    JaxIdiom(
        "gathered-from-all",
        r"\bprocess_allgather\(|\b(?:lax\.)?all_gather\(|\bgather_params\w*\(|\bfully_replicated\b",
        "all parts of an array are gathered: each device then holds the whole, however it was sharded",
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
        frame=r"multihost_utils\.py:\d+ \w*process_allgather",
        least_bytes=0,
    ),
    JaxIdiom(
        "dense-adjacency",
        r"\b(?:\w+_)?adj(?:acency|_\w+)?\s*=(?!=)[^#]*(?:\b(?:zeros|eye|ones)\(|\.at\[|to_?dense|toarray"
        r"|todense)"
        r"|\.at\[\s*(?:src|senders|edges?)(?:_?(?:ids?|index|indices|nodes?))?\s*[,\[\]]",
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
        (
            "adjust = jnp.ones(3)",
            "buf = buf.at[i].set(x)",
            "proj = proj.at[row_of_ray, column_of_voxel].add(w)",
        ),
        Where.CODE,
    ),
    JaxIdiom(
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
            SHARDED,
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
)
