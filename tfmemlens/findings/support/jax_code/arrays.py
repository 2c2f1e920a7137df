"""Single arrays that one line makes."""

from __future__ import annotations

from tfmemlens.findings.support.jax_code.changes import IN_BLOCKS, UINT8_ON_HOST
from tfmemlens.findings.support.jax_code.idiom import JaxIdiom, Where
from tfmemlens.model.finding import Remedy

ROWS: tuple[JaxIdiom, ...] = (
    JaxIdiom(
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
    JaxIdiom(
        "tangent-kernel",
        r"\bempirical_(?:ntk|kernel|nngp)\w*\(|\bkernel_fn\(",
        "an empirical tangent kernel is contracted from the Jacobians of all inputs at once: inputs x outputs"
        " x weights",
        (
            Remedy(
                "compute the kernel for some inputs at a time: each block of it needs the Jacobians of its"
                " own rows alone",
                "kernel_fn = nt.batch(nt.empirical_kernel_fn(f), batch_size=8)",
                slug="in-blocks",
            ),
            Remedy(
                "or let products with vectors make it, which keep no Jacobian; a sum over the outputs is"
                " smaller by their number",
                "nt.empirical_kernel_fn(f, trace_axes=(-1,),"
                " implementation=nt.NtkImplementation.NTK_VECTOR_PRODUCTS)",
                slug="hessian-products",
            ),
        ),
        ("k = kernel_fn(x_train[:256], None, 'ntk', params)", "g = nt.empirical_ntk_fn(f)(x, x, params)"),
        ("k = kernel(x, y)",),
        Where.CODE,
    ),
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
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
    JaxIdiom(
        "resized",
        r"\bimage\.(?:resize|scale_and_translate)\(|\bmap_coordinates\(",
        "all images are resized at once, on the device and in floating point",
        (UINT8_ON_HOST, IN_BLOCKS),
        ("x = jax.image.resize(x, (n, 224, 224, 3), 'bilinear')",),
        ("image.resize_to = 3",),
    ),
)
