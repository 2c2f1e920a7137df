"""What stands beside the program's own arrays: search trees, copies on every device, states of optimizers."""

from __future__ import annotations

from tfmemlens.findings.support.jax_code.changes import IN_BLOCKS, SHARDED
from tfmemlens.findings.support.jax_code.idiom import JaxIdiom, Where
from tfmemlens.model.finding import Remedy

ROWS: tuple[JaxIdiom, ...] = (
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
        "preconditioner",
        r"\b(?:distributed_)?shampoo\(|\bsoap\(|\bkfac_jax\b",
        "the optimizer keeps matrices of rows x rows and columns x columns for each weight, beside momenta",
        (
            Remedy(
                "keep them for smaller blocks of each weight, and leave tables out",
                "distributed_shampoo(lr, block_size=512, skip_preconditioning_dim_size_gt=4096)",
                slug="smaller-moments",
            ),
            SHARDED,
        ),
        ("tx = distributed_shampoo(1e-3, block_size=1024)",),
        ("x = soapy(y)",),
        Where.CODE,
    ),
    JaxIdiom(
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
        of_gpus=True,
    ),
)
