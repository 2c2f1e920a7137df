"""What is mapped, scanned or differentiated over, so that all of it exists at once."""

from __future__ import annotations

from tfmemlens.findings.support.jax_code.changes import FEWER_DRAWS
from tfmemlens.findings.support.jax_code.idiom import JaxIdiom, Where
from tfmemlens.model.finding import Remedy

_STARTS = (
    r"numpyro[/\\]infer[/\\]\S*:\d+ (?:_?init(?:_state|ialize_model)?|find_valid_initial_params"
    r"|_find_valid_params)\Z"
)
"""NumPyro's frames that compute a model before the first draw."""

ROWS: tuple[JaxIdiom, ...] = (
    JaxIdiom(
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
    JaxIdiom(
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
            FEWER_DRAWS,
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
    JaxIdiom(
        "mcmc-draws",
        r"\bmcmc\.run\(",
        "MCMC keeps every draw of every site, deterministic ones too, until all chains are done",
        (FEWER_DRAWS,),
        ("mcmc.run(jax.random.PRNGKey(0), X, y)",),
        ("mcmc.print_summary()",),
        Where.WAY,
        frame=r"numpyro[/\\].* fori_collect\Z",
        not_in=_STARTS,
    ),
    JaxIdiom(
        "mcmc-of-all-data",
        r"\bsampler\.init\(|\binitialize_model\(|\bfind_valid_initial_params\(",
        "it failed where the sampler starts, before any draw: the model is computed for all of the data at"
        " once, as each step of the sampler does",
        (
            Remedy(
                "let each step see a part of the data (subsampling), or fit with batches (SVI with"
                " subsample_size)",
                "HMCECS(NUTS(model), num_blocks=100)   # with numpyro.plate('data', n, subsample_size=500)",
                slug="subsampling",
            ),
            Remedy(
                "or shard the data over all devices, where there are several: each then computes its part",
                slug="shard-arguments",
            ),
        ),
        ("init_state = self.sampler.init(", "params, potential_fn, *_ = initialize_model(key, model)"),
        ("variables = net.init(key, x)", "opt_state = optimizer.init(params)"),
        frame=_STARTS,
        no_square=True,
    ),
    JaxIdiom(
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
    JaxIdiom(
        "direct-adjoint",
        r"\bDirectAdjoint\(",
        "`DirectAdjoint` lets the gradient go through the solver's loop: the backward pass keeps states of"
        " its steps, more with a larger max_steps, where checkpoints would be few",
        (
            Remedy(
                "take the adjoint with checkpoints, Diffrax's own choice, which is as exact: fewer of them"
                " keep less, and steps between are computed again",
                "diffeqsolve(..., adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=32))",
                slug="fewer-checkpoints",
            ),
            Remedy(
                "or lower max_steps to little more than the steps that are taken; DirectAdjoint is for"
                " derivatives in forward mode",
                slug="fewer-steps",
            ),
        ),
        ("    adjoint=diffrax.DirectAdjoint(), max_steps=4096)",),
        ("adjoint=diffrax.RecursiveCheckpointAdjoint()", "from diffrax import DirectAdjoint"),
        Where.CODE,
    ),
    JaxIdiom(
        "differential-equation",
        r"\bdiffeqsolve\(|\bodeint\(",
        "the solver keeps the states that are asked for (SaveAt), and under a gradient those that the"
        " backward pass needs",
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
    JaxIdiom(
        "scan",
        r"\b(?:lax\.)?scan\(",
        "scan stacks what each step returns, and under a gradient what each step needs for the backward pass",
        (
            Remedy(
                "under a gradient: scan over blocks of steps, with jax.checkpoint around each block; around"
                " the body alone the carries of all steps stay",
                "outer = jax.checkpoint(lambda c, b: jax.lax.scan(body, c, b))\n"
                "jax.lax.scan(outer, c, blocks)",
                slug="in-blocks",
            ),
            Remedy(
                "let the body return only what is needed: reduce in the carry, and return None for the rest",
                slug="stack-less",
            ),
            Remedy(
                "or let the backward pass compute each step again, where the carry is small",
                "_, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)",
                slug="recompute",
            ),
        ),
        ("h, hs = jax.lax.scan(cell, h, xs)",),
        ("scanned = parse(x)",),
        Where.WAY,
    ),
    JaxIdiom(
        "vmap-of-environments",
        r"\bvmap\(\s*(?:\w+\.)*(?:mjx\.(?:step|make_data|put_data)|env\w*\.(?:step|reset)|env_(?:step"
        r"|reset)|(?:step|reset)_env)\b",
        "every environment's state, contacts included, is held at once, one row for each",
        (
            Remedy(
                "run fewer environments at once: the memory is as many rows",
                "num_envs = num_envs // 4   # the batch of an update can be made of several rollouts",
                slug="fewer-environments",
            ),
        ),
        ("state = jax.vmap(env.reset)(keys)", "d = jax.vmap(mjx.step, in_axes=(None, 0))(m, d)"),
        ("y = jax.vmap(f)(x)",),
        Where.CODE,
    ),
    JaxIdiom(
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
    JaxIdiom(
        "ensemble-of-keys",
        r"vmap\(\s*(?:\w+\.)*(?:create|make|build|init)_?(?:model|net\w*|state|params|member"
        r"|train_state)?\s*\)"
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
    JaxIdiom(
        "mapped-under-a-gradient",
        r"\blax\.map\(\s*(?!\s*jax\.(?:checkpoint|remat))(?:lambda (?P<row>\w+):|(?P<function>\w+)\s*,)",
        "under a gradient lax.map keeps what each iteration needs for the backward pass, of all iterations",
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
    JaxIdiom(
        "environments",
        r"\bnum_envs\s*[=:]\s*(?P<many>\d[\d_]{3,})",
        "a rollout of {many} environments is held whole, with every step of each until the update",
        (
            Remedy(
                "run fewer environments, or shorter rollouts, at once: observations, their copies for the"
                " minibatches and the simulator's state are as many rows",
                "num_envs={many} // 4, unroll_length=10   # more updates, each of a smaller rollout",
                slug="fewer-environments",
            ),
            Remedy(
                "if the simulator is MJX: let fewer pairs of shapes collide (contype, conaffinity), and"
                " give boxes or capsules in the place of meshes: it has room for every contact that may"
                " occur, in each environment",
                slug="fewer-contacts",
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
    JaxIdiom(
        "vmap",
        r"\bvmap\(",
        "vmap runs the function for all rows at once, so that what it makes for one row exists for every row",
        (
            Remedy(
                "run it for some rows at a time",
                "y = jax.lax.map(f, xs, batch_size=len(xs) // 8)   # vmap over an eighth at a time",
                slug="in-blocks",
            ),
        ),
        ("y = jax.vmap(f)(xs)",),
        ("y = f(xs)",),
        Where.WAY,
    ),
)
