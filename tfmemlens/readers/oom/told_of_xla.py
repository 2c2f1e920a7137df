"""What texts tell of the programs round XLA: settings of PyTorch/XLA, jobs of several tasks, buffers of
experience, functions that are compiled anew.
"""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

FULLY_SHARDED = LineRule(
    r"\bFSDP\b|\bXlaFullyShardedDataParallel\b|\b[Ff]ully[- ][Ss]harded\b",
    "# FSDP runs out of memory on a v4-8",
    "fully sharded data parallel",
    needs=("fsdp", "shardeddata", "sharded"),
)
ONE_UNIT = LineRule(
    r"\b(?:model|net|self\.model)\s*=\s*(?:XlaFullyShardedDataParallel|FSDP|XLAFSDP)\(\s*\w{1,20}"
    r"(?![^\n]{0,200}\b(?:auto_wrap_policy|auto_wrapper_callable)\b)"
    r"|(?i:\b(?:wrap\w*|shard\w*)\b[^.\n]{0,30}\b(?:only (?:the )?(?:top|root|outer\w*|whole)"
    r"|(?:the )?(?:top|root|outer(?:most)?)(?:[- ]level)?(?: module| model)? only)\b)",
    "model = FSDP(model)",
    "I wrapped the top module only",
    needs=("fsdp(", "dataparallel(", "wrap", "shard"),
)
"""A model is sharded as one unit."""
BLOCK_BY_BLOCK = LineRule(
    r"\bauto_wrap_policy\b|\bauto_wrapper_callable\b"
    r"|\b(?:FSDP|XlaFullyShardedDataParallel)\(\s*(?:checkpoint_module\("
    r"|block|layer|m\b|\w{1,20}\[i\])|\bfsdp_transformer_layer_cls_to_wrap\b",
    "model = FSDP(model, auto_wrap_policy=policy)",
    "    blocks[i] = FSDP(block)",
    needs=("auto_wrap", "fsdp(", "dataparallel(", "fsdp_transformer"),
)
"""Parts of a model are sharded one by one."""
_ONE_DEVICE = r"(?:one|a single|the first|the same|its|each|every) (?:TPU|core|chip|device|GPU)\b"
WHOLE_AT_FIRST = LineRule(
    r"(?i)\b(?:mov|put|cop(?:y|i)|load|plac|send|transfer|initiali[sz]|creat|mak|build)\w*\b[^.\n]{0,20}"
    rf"\b(?:whole|entire|full|complete|all) (?:\w+ )?(?:model|weights|params|parameters)\b"
    rf"[^.\n]{{0,30}}\b{_ONE_DEVICE}",
    "it first puts the whole model on one chip, and shards it then",
    "the wrapper copies all parameters to the first device",
    needs=(" tpu", "core", "chip", "device", "gpu"),
)
"""All weights of a model lie on one device before they are spread."""
PJRT_ON_A_GPU = LineRule(
    r"\bPJRT_DEVICE['\"\]]{0,2} ?[=:,] ?['\"]?(?:GPU|CUDA)\b|\bXRT_\w{0,20}.{0,40}\bGPU:\d"
    r"|\bGPU_NUM_DEVICES ?="
    r"|\bxla_device\(\)[^\n]{0,60}\bcuda\b"
    r"|(?i:\b(?:torch_)?xla (?:will |would |always |also )?(?:pre-?allocates?|reserves?|takes?|occup(?:y|ies)"
    r"|holds?)\b[^.\n]{0,40}\bGPU)",
    "PJRT_DEVICE=CUDA python train.py",
    "os.environ['PJRT_DEVICE'] = 'GPU'",
    "as soon as it starts torch_xla reserves most of the GPU's memory",
    needs=("pjrt_device", "xrt_", "gpu_num_devices", "xla_device", "xla "),
)
"""PyTorch/XLA has a GPU for its device."""
SEVERAL_TASKS = LineRule(
    r"(?:\A|\s|#SBATCH\b.*)(?:--ntasks(?:-per-(?:node|gpu))?[= ]|-n )(?P<tasks>[2-9]|[1-9]\d)\b"
    r"|(?i:\b(?:mpirun|mpiexec)\b[^\n]{0,60} -(?:np|n) (?:[2-9]|1\d)\b)",
    "#SBATCH --ntasks=4",
    "srun --ntasks=4 python member.py",
    "mpirun -np 4 python run.py",
    needs=("ntasks", "srun", "mpirun", "mpiexec"),
)
"""A job starts several tasks."""
ONE_GPU_ASKED = LineRule(
    r"--gres=gpu(?::[a-z][\w-]{0,20})?:1\b|--gpus(?:-per-node)?[= ](?:[a-z][\w-]{0,20}:)?1\b"
    r"|(?i:\b(?:on|share|sharing|use|using|with) (?:a |an |the )?(?:one|single|same|1) (?:[\w-]{1,12} ){0,2}"
    r"(?:GPU|A100|H100|V100|card)\b(?!s))",
    "#SBATCH --gres=gpu:a100:1",
    "4 members on one A100",
    needs=("--g", "one", "single", "same", " 1 "),
)
"""A job has one GPU."""
OFF_POLICY = LineRule(
    r"\b(?:SAC|TD3|DDPG|DQN|D4PG|QR-?DQN|Rainbow|PQN|NFSP)\b|\b(?:sac|td3|ddpg|dqn)\.train\b"
    r"|(?<![A-Za-z])(?:td3|ddpg|dqn|d4pg|nfsp)(?![A-Za-z])|(?i:\b(?:max_)?replay_size\b|replay[_ -]?buffer)",
    "brax SAC fills the GPU before it trains",
    "make_inference_fn, params, _ = sac.train(environment=env)",
    "the tf_ddpg_pendulum example with my own environment",
    needs=("sac", "td3", "ddpg", "dqn", "d4pg", "rainbow", "replay", "nfsp", "pqn"),
)
"""A policy learns from a buffer of what it did before."""
FEWER_ENVS_IN_VAIN = LineRule(
    r"(?i)\b(?:also|even|still|same|always|no matter|regardless|whatever)\b[^.\n]{0,40}"
    r"\b(?:num_envs ?= ?\d+|(?:few(?:er)?|one|[1-9]\d?) (?:parallel )?env(?:ironment)?s?)\b"
    r"|\b(?:few(?:er)?|one|[1-9]\d?) (?:parallel )?env(?:ironment)?s?\b[^.\n]{0,30}\b(?:same|still|too"
    r"|no (?:change|difference))\b",
    "always, also with num_envs=8 and batch 64",
    "with 4 envs it is the same",
    needs=("env",),
)
"""Fewer environments were tried in vain."""
PROGRAM_FOR_EACH = LineRule(
    r"(?i)\b(?:for|with) (?:every|each) (?:\w+ ){1,4}(?:I |we )?(?:make|build|create|generate|define|get)s?\b"
    r"[^.\n]{0,40}\bnew\b[^.\n]{0,40}\bfunction\b"
    r"|\b(?:each|every) (?:\w+ ){1,4}(?:gets?|has|is given|makes?) (?:its|an?) (?:own|new)\b[^.\n]{0,30}"
    r"\b(?:jit\w*|function|compiled)\b"
    r"|\b(?:a |one |new )(?:\w+ )?(?:SVI|MCMC|NUTS|sampler|optimi[sz]er) (?:object |instance )?"
    r"(?:and [^\n]{0,20})?"
    r"(?:per|for (?:each|every)) \w+\b|\b(?:a|with a|new) lambda as (?:the |its )?model\b"
    r"|\bjit\b[^.\n]{0,30}\b(?:for (?:each|every)|a new|new|fresh|different) (?:\w+ ){0,2}(?:function|lambda"
    r"|program|policy|closure|expression)s?\b",
    "for every program I make a new policy function, and jit the rollout with it",
    "each candidate gets its own jitted function",
    "I jit a new lambda for each formula",
    "one SVI object and one svi.run per region",
    needs=("function", "jit", "compiled", "svi", "mcmc", "nuts", "sampler", "optimi", "lambda"),
)
"""Every turn compiles a function of its own."""
VARIATIONAL = LineRule(
    r"\bSVI\b|\bsvi\.(?:run|update|init)\b|\b[Vv]ariational inference\b|\bAutoNormal\b|\bTrace_ELBO\b",
    "numpyro SVI on the GPU",
    needs=("svi", "variational", "autonormal", "elbo"),
)
"""A distribution is fitted by steps of an optimizer, and nothing is drawn until the end."""
CHAINS = LineRule(
    r"\bMCMC\b|\bNUTS\b|\bHMC\b|\bmcmc\.|\bnum_(?:samples|warmup|chains)\b|\b(?:posterior|predictive)\b",
    "MCMC(NUTS(model), num_samples=1000)",
    needs=("mcmc", "nuts", "hmc", "num_", "posterior", "predictive"),
)
"""Draws are collected."""
ALL_DRAWN = LineRule(
    r"\bsample: {1,3}100%(?!\d)",
    "sample: 100%|##########| 2000/2000 [02:36<00:00, 7 steps of size 1.1e-02. acc. prob=0.85]",
    needs="sample: ",
)
"""The bar of NumPyro's sampler is at its end."""
EARLY_PEAK = LineRule(
    r"(?i)\bbefore (?:the |its )?(?:very )?first (?:warm-?up |MCMC |training )?"
    r"(?:iteration|step|sample|draw)s?\b"
    r"|\bat the (?:start|beginning) of (?:NUTS|sampling|inference|MCMC|the (?:sampling|inference))\b",
    "it takes 40 GB before the first iteration",
    "at the start of NUTS, then it goes down",
    needs=("before", "at the"),
)
"""Memory is taken before anything is computed in steps."""
TRANSFORMING = LineRule(
    r"\ATransforming variables\.\.\.",
    "Transforming variables...",
    needs="Transforming variables",
)
"""PyMC computes what it returns of all draws, after JAX's sampler."""
NO_MARKS = LineRule(
    r"(?i)\b(?:no|without|never|not|forgot\w*|missing)\b[^.\n]{0,24}"
    r"\b(?:(?:xm\.)?mark_step|torch_xla\.sync)\b"
    r"|\b(?:mark_step|torch_xla\.sync)\b[^.\n]{0,16}\b(?:nowhere|never|not (?:called|used))\b",
    "no mark_step anywhere",
    "I never call xm.mark_step()",
    needs=("mark_step", "torch_xla.sync"),
)
"""Nothing ends a step of PyTorch/XLA, as the text says."""
RAYS_WORKER = LineRule(
    r"\A\s*\d{1,8}\s+\d{1,5}\.\d{1,3}(?:GiB)?\s+ray::\S",
    "8812\t371.40\tray::TrainWorker.run",
    "11474\t26.28GiB\tray::MARWIL",
    needs="ray::",
)
"""A row of what Ray lists of a node's processes, the largest first."""
VMEM_LIMIT = LineRule(
    r"\bvmem_limit_bytes\b",
    "with vmem_limit_bytes of 96 MB it compiles",
    "compiler_params=pltpu.CompilerParams(vmem_limit_bytes=64 << 20)",
    needs="vmem_limit_bytes",
)
"""The text names the setting of how much of a core's small memory one kernel may have."""
TOLD_OF_XLA = {
    "naming a kernel's limit": VMEM_LIMIT,
    "a worker's RAM": RAYS_WORKER,
    "transforming draws": TRANSFORMING,
    "ending no step": NO_MARKS,
    "sharding as one unit": ONE_UNIT,
    "sharding in words": FULLY_SHARDED,
    "sharding block by block": BLOCK_BY_BLOCK,
    "whole before it is sharded": WHOLE_AT_FIRST,
    "PyTorch/XLA on a GPU": PJRT_ON_A_GPU,
    "several tasks": SEVERAL_TASKS,
    "one GPU for all": ONE_GPU_ASKED,
    "learning from a buffer": OFF_POLICY,
    "fewer environments in vain": FEWER_ENVS_IN_VAIN,
    "a program for each": PROGRAM_FOR_EACH,
    "fitting a distribution": VARIATIONAL,
    "drawing chains": CHAINS,
    "all draws made": ALL_DRAWN,
    "a peak before the first step": EARLY_PEAK,
}
"""By the fact's name: how a line tells it."""
