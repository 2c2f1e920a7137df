"""Programs of JAX whose memory goes with settings of their own: a grid, environments, points of a solution,
a server's pool; a batch of samples they do not have, or is not what fills them.
"""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

WEATHER = LineRule(
    r"(?i)\b(?:graph|gen)cast\w*\b|\bai[-_]models[-_]graphcast\b|\bweathernext\b|\bneuralgcm\b"
    r"|[/\\]graphcast[/\\]|\bgnn_msg_steps\b|(?<![a-z])source-(?:era5|hres)_date-\d"
    r"|\b(?:mesh2grid|grid2mesh)_gnn\b",
    "The operational GraphCast at 0.25 degrees",
    'File "site-packages/ai_models_graphcast/model.py", line 240, in run',
    "model = neuralgcm.PressureLevelModel.from_checkpoint(ckpt)",
    "mesh_size=5, gnn_msg_steps=16",
    "dataset_source-era5_date-2020-02-02_res-1.0_levels-13_steps-12.nc",
    'op_name="jit(f)/while/body/mesh2grid_gnn/_process/concatenate"',
    needs=("graphcast", "gencast", "weathernext", "neuralgcm", "gnn_msg_steps", "source-", "_gnn"),
)
MONTE_CARLO = LineRule(
    r"(?i)\bnetket\b|\bnk\.(?:vqs|driver|sampler|hilbert|VMC)\b|\bMCState\(|\bexpect_and_(?:grad|forces)\b",
    "vs = nk.vqs.MCState(sampler, model, n_samples=4096)",
    'File "site-packages/netket/vqs/mc/mc_state/state.py", line 404, in expect',
    "`expect_and_grad` needs far more memory than `expect`",
    needs=("netket", "nk.", "mcstate", "expect_and"),
)
MOLECULES = LineRule(
    r"(?i)\bneighbou?r_?(?:list_?)?fn\b|\bneighbou?r_list\(|\bjax[-_]md\b[^\n]{0,80}\bneighbou?r"
    r"|\bjax_md[/\\]partition\.py",
    'File "site-packages/jax_md/partition.py", line 803, in neighbor_list_fn',
    "nbrs = neighbor_fn.allocate(pos)",
    needs=("jax_md", "jax-md", "neighbo"),
)
SERVER = LineRule(
    r"(?i)(?<!No module named ')\bvllm\b|\bjetstream\b|\bsglang\b|\bsgl[-_]jax\b"
    r"|\bgpu[-_]memory[-_]utilization\b|\btpu[-_]inference\b",
    "vLLM on a TPU v6e",
    "--gpu-memory-utilization 0.93",
    needs=("vllm", "jetstream", "sgl", "utilization", "inference"),
)
LOADING_WEIGHTS = LineRule(
    r", in (?:load_model|create_weights|_?initialize_model|load_weights|weight_loader"
    r"|process_weights_after_loading)\b",
    'File "server/loader.py", line 398, in load_model',
    'ERROR worker.py:464]   File "layers/quantized.py", line 66, in create_weights',
    needs=(
        ", in load",
        ", in create_w",
        ", in initialize_m",
        ", in _initialize_m",
        ", in weight_",
        ", in process_w",
    ),
)
"""The traceback of a server that ends while its weights are made or read."""
AFTER_DRAWS = LineRule(
    r"\baz\.from_(?:num)?pyro\b|\bfrom_numpyro\b|\blog_likelihood\(|\bPredictive\("
    r"|(?i:posterior[_ ]predictive)",
    "idata = az.from_numpyro(mcmc)",
    "ll = log_likelihood(model, mcmc.get_samples(), x, y)",
    "the posterior predictive runs out of memory",
    needs=("from_numpyro", "from_pyro", "likelihood(", "predictive"),
)
GRID = LineRule(
    r"(?i)\bjax[-_]?(?:cfd|fluids|fem|fdtd)\b|\bphi ?flow\b|\bfdtdx\b|\bxlb\b|\blattice[- ]boltzmann\b"
    r"|\bnavier[- ]stokes\b|\boceananigans\b|\b(?:latitude|tripolar|rectilinear)\w*grid\b|--grid-[xyz]\b"
    r"|\bparticle[- ]mesh\b|\bpmwd\b|\b(?:fluid|plasma|wave|climate|ocean) (?:solver|simulat\w+|model)\b",
    "I run a lattice Boltzmann solver on 512 x 512 x 512 cells",
    "from jax_cfd.base import grids",
    "julia simulate.jl --grid-x 512 --grid-y 512",
    needs=(
        "oceananigans",
        "grid",
        "jax",
        "phi",
        "fdtdx",
        "xlb",
        "boltzmann",
        "stokes",
        "mesh",
        "pmwd",
        "fluid",
        "plasma",
        "wave",
        "climate",
        "ocean",
    ),
)
ENSEMBLE = LineRule(
    r"(?i)(?<![a-z])(?:ensemble_?size|(?:num|n)_(?:ensembles?|members|particles)|pop(?:ulation)?_?size)\b"
    r"['\"]?\s*[=:]\s*\d",
    "    ensemble_size=16,",
    "kernel = SteinVI(model, guide, num_particles=64)",
    "strategy = OpenES(popsize=4096, num_dims=n)",
    needs=("ensemble", "members", "particles", "pop"),
)
MADE_WHOLE = LineRule(
    r"\[(?:spmd|SPMD)\] Involuntary full rematerialization\. The compiler (?:was not able to|cannot) go from"
    r" sharding",
    "[spmd] Involuntary full rematerialization. The compiler was not able to go from sharding"
    " {maximal device=0} to {devices=[4,1]<=[4]} without doing a full rematerialization of the tensor",
    "E spmd_partitioner.cc:630] [SPMD] Involuntary full rematerialization. The compiler cannot go from"
    " sharding {devices=[2,4]<=[8]} to {devices=[8,1]<=[8]} efficiently for HLO operation %copy",
    needs="nvoluntary full",
)
"""The partitioner makes an array whole on each device to lay it out anew."""
TRAINER = LineRule(
    r"(?i)\bmaxtext[./](?=[^\n]{0,600}\b(?:per_device_batch_size|remat_policy|max_target_length)=)"
    r"|\bper_device_batch_size ?[=:] ?[\d.]+(?=[^\n]{0,400}\b(?:remat_policy|ici_\w+_parallelism"
    r"|max_target_length) ?[=:])",
    "python3 -m maxtext.train maxtext/configs/base.yml per_device_batch_size=4 max_target_length=8192",
    "per_device_batch_size=2 steps=10 remat_policy=minimal",
    needs=("axtext", "per_device_batch_size"),
)
KEYPOINTS = LineRule(
    r"(?i)\bkeypoint[-_ ]moseq\b|\bkpms\b|\bjax[-_]moseq\b",
    "model = kpms.fit_model(model, data, metadata, project_dir)[0]",
    "Fitting with Keypoint MoSeq",
    needs=("moseq", "kpms"),
)
RAYS = LineRule(
    r"\b(?:run_)?[Nn]e[Rr][Ff]\b|\bN_(?:rand|importance)\b|\bnetchunk\b|\b[Rr]adiance [Ff]ields?\b",
    "python run_nerf.py --config config_fern.txt",
    "N_importance = 64",
    "a neural radiance field of one scene",
    needs=("nerf", "n_rand", "n_importance", "netchunk", "radiance"),
)
JAX_PROGRAMS = {
    "program: radiance fields": RAYS,
    "program: keypoints": KEYPOINTS,
    "made whole by the partitioner": MADE_WHOLE,
    "program: weather": WEATHER,
    "program: quantum Monte Carlo": MONTE_CARLO,
    "program: molecules": MOLECULES,
    "program: a server": SERVER,
    "a server's weights": LOADING_WEIGHTS,
    "program: after the draws": AFTER_DRAWS,
    "program: on a grid": GRID,
    "program: an ensemble": ENSEMBLE,
    "program: a trainer": TRAINER,
}
"""What runs, and how a line tells it."""
