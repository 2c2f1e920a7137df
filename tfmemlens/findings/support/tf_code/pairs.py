"""Everything with everything: pairs, copies, gathered rows, frames that overlap."""

from __future__ import annotations

from tfmemlens.findings.support.tf_code.idiom import Agreement, CodeChange, TensorFlowIdiom
from tfmemlens.patterns import regex

_AXIS = r"\[[^\[\]]{0,60}(?:None|newaxis)[^\[\]]{0,60}\]"
_IN_BLOCKS = CodeChange(
    "in-blocks",
    "go through the rows in blocks, and reduce each block at once; in training let the backward pass compute"
    " each block again, or all blocks are kept",
)
_BOXES = r"(?:anchors?|boxes|bbox\w{0,8}|gt\w{0,12}|priors?|proposals|default_boxes)"
_NEW_AXES = regex(
    rf"(?P<one>\b[\w.]{{1,40}}){_AXIS}\s*(?:[-+*/<>=&|]+"
    rf"|,)\s*(?:tf\.\w{{1,20}}\()?(?P<other>[\w.]{{1,40}}){_AXIS}"
    r"|expand_dims\(\s*(?P<first_of>[\w.]{1,40}).{0,60}?(?:[-+*/]|,\s?)\s*(?:tf"
    r"|K)\.expand_dims\(\s*(?P<second_of>[\w.]{1,40})"
)
"""Two tensors that meet in axes of their own."""
_NO_DIFFERENCE = regex(
    rf"(?P<one>\b[\w.]{{1,40}}){_AXIS}\s*[+*/<>=&|]+\s*(?:tf\.\w{{1,20}}\()?(?P<other>[\w.]{{1,40}}){_AXIS}"
    r"|expand_dims\(\s*(?P<first_of>[\w.]{1,40})[^()]{0,60}\)\s*[+*/]\s*(?:tf"
    r"|K)\.expand_dims\(\s*(?P<second_of>[\w.]{1,40})"
)
"""The same where no difference is made, so that no distance is."""
_PAIRS_OF_ROWS = (
    "the line combines every row of one tensor with every row of another, all pairs at once{at}: {shape}"
)

ROWS = (
    TensorFlowIdiom(
        "boxes-in-pairs",
        regex(
            rf"(?i)\b{_BOXES}\w{{0,12}}\s*{_AXIS}.{{0,120}}?\b{_BOXES}\w{{0,12}}\s*{_AXIS}"
            rf"|\b\w{{0,20}}iou\w{{0,20}}\([^)]{{0,80}}\b{_BOXES}"
            rf"|\btf\.(?:broadcast_to|tile|repeat)\(\s*[^,]{{0,60}}\b{_BOXES}"
        ),
        ("anchor", "box", "gt", "prior", "proposals", "Anchor", "Box"),
        (Agreement.LINE,),
        "the line compares every anchor with every box, padded ones too, of every image at once{at}: {shape}",
        (
            CodeChange(
                "one-image-at-a-time",
                "match image by image, on the host in the input pipeline at best",
                "iou = tf.map_fn(lambda gt: pairwise_iou(anchors, gt), gt_boxes)",
            ),
            CodeChange(
                "fewer-boxes",
                "pad to the most boxes that an image really has, and leave out anchors that cannot match",
            ),
        ),
        (
            "inter = tf.minimum(gt[:, :, None, 2:], anchors[None, None, :, 2:])",
            "iou = pairwise_iou(anchors[None, :, None], gt[:, None])",
        ),
        ("boxes = boxes[:, :4]", "iou = tf.reduce_mean(iou)"),
    ),
    TensorFlowIdiom(
        "broadcast-whole",
        _NO_DIFFERENCE,
        ("None", "newaxis", "expand_dims"),
        (Agreement.LINE,),
        "two tensors broadcast against each other{at}, and the whole result is written out: {shape}",
        (_IN_BLOCKS,),
        (
            "wave = tf.sin(turn[None] + phase[:, None])",
            "w = gate[:, :, None] * value[:, None, :]",
            "s = tf.expand_dims(a, 1) + tf.expand_dims(b, 2)",
        ),
        ("diff = x[:, None] - y[None, :]", "y = x[:, None] * scale"),
        ranks=(3, 4, 5, 6),
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "pairs-of-rows",
        _NEW_AXES,
        ("None", "newaxis", "expand_dims"),
        (Agreement.LINE,),
        _PAIRS_OF_ROWS,
        (
            CodeChange(
                "matrix-product",
                "for distances use a matrix product, which never makes the differences (a2, b2: the squared"
                " lengths of the rows)",
                "d = a2[:, None] + b2[None] - 2 * tf.matmul(a, b, transpose_b=True)",
            ),
            _IN_BLOCKS,
        ),
        (
            "diff = x[:, None] - y[None, :]",
            "d = tf.square(tf.expand_dims(train, 0) - tf.expand_dims(test, 1))",
            "m = tf.equal(labels[:, None], labels[None, :])",
        ),
        ("x = x[:, None]", "y = x[:, None] * scale", "x = tf.expand_dims(x, 0)"),
        ranks=(3, 4, 5, 6),
    ),
    TensorFlowIdiom(
        "pairs-of-numbers",
        _NEW_AXES,
        ("None", "newaxis", "expand_dims"),
        (Agreement.LINE,),
        _PAIRS_OF_ROWS,
        (
            _IN_BLOCKS,
            CodeChange(
                "sort-instead",
                "or sort both where a pair only counts (an AUC, a rank, an order): no pair is made",
            ),
        ),
        (
            "margin = tf.expand_dims(bad, 1) - tf.expand_dims(good, 0)",
            "m = tf.equal(labels[:, None], labels[None, :])",
        ),
        ("x = x[:, None]", "y = x[:, None] * scale", "x = tf.expand_dims(x, 0)"),
        ranks=(2,),
    ),
    TensorFlowIdiom(
        "gram-matrix",
        regex(
            r"\b(?:tf\.(?:linalg\.)?)?matmul\(\s*(?P<one>\w{1,40})\s*,\s*(?P<other>\w{1,40})\s*,\s*(?:"
            r"transpose_b|adjoint_b)\s*=\s*True|\b(?P<left>\w{1,40})\s*@\s*tf\.transpose\(\s*(?P<right"
            r">\w{1,40})"
        ),
        ("transpose_b", "adjoint_b", "@"),
        (Agreement.LINE,),
        "the line makes a number for each pair of rows{at}: {shape}",
        (
            _IN_BLOCKS,
            CodeChange(
                "fewer-pairs",
                "or compare with a sample of the rows (negatives of the batch, nearest neighbours)",
            ),
        ),
        ("sim = tf.matmul(z, z, transpose_b=True)", "k = x @ tf.transpose(x)"),
        ("y = tf.matmul(x, w)", "y = x @ w"),
        ranks=(2,),
        least_first=4096,
    ),
    TensorFlowIdiom(
        "covariance",
        regex(
            r"\bmatmul\(\s*(?P<one>\w{1,40})\s*,\s*(?P=one)\s*,\s*(?:transpose_a|adjoint_a)\s*=\s*True"
            r"|\bmatmul\(\s*tf\.transpose\(\s*(?P<left>\w{1,40})\s*\)\s*,\s*(?P=left)\s*\)"
            r"|\btf\.transpose\(\s*(?P<first_of>\w{1,40})\s*\)\s*@\s*(?P=first_of)\b"
        ),
        ("transpose_a", "adjoint_a", "transpose("),
        (Agreement.LINE,),
        "the line makes a number for each pair of columns{at}: {shape}, whatever the batch",
        (
            CodeChange(
                "fewer-columns",
                "bring the columns down first (a projection, PCA), or split them into groups that are"
                " multiplied apart: half as many columns take a quarter",
                "x = tf.matmul(x, projection)   # [n, {first}] -> [n, k], then the product is [k, k]",
            ),
        ),
        (
            "covariance = tf.matmul(centred, centred, transpose_a=True) / n",
            "c = tf.matmul(tf.transpose(x), x)",
            "gram = tf.transpose(h) @ h",
        ),
        ("dw = tf.matmul(x, grad, transpose_a=True)", "y = tf.transpose(x) @ w"),
        ranks=(2,),
        least_first=1024,
    ),
    TensorFlowIdiom(
        "dense-diagonal",
        regex(r"\btf\.(?:linalg\.(?:tensor_)?|matrix_)?diag\(|\b(?:K|np|jnp)\.diag\("),
        ("diag(",),
        (Agreement.LINE,),
        "the line writes a whole matrix for each diagonal{at}: {shape}, nearly all of it zeros",
        (
            CodeChange(
                "elementwise-diagonal",
                "do not make the matrix: a product with a diagonal matrix is an elementwise product with its"
                " diagonal",
                "y = d[..., None] * x   # instead of tf.matmul(tf.linalg.diag(d), x)",
            ),
        ),
        ("m = tf.linalg.diag(scale(x))", "w = tf.matrix_diag(d)"),
        ("d = tf.linalg.diag_part(m)", "x = set_diag(m, d)"),
    ),
    TensorFlowIdiom(
        "meshgrid",
        regex(r"\b(?:tf|np)\.meshgrid\("),
        ("meshgrid(",),
        (Agreement.LINE,),
        "meshgrid writes every combination of its axes out{at}: {shape}",
        (
            CodeChange(
                "broadcast-instead", "let axes broadcast instead of writing them out: [n,1] with [1,m]"
            ),
            _IN_BLOCKS,
        ),
        ("xx, yy = tf.meshgrid(x, y)",),
        ("def meshgrid3d(", "grid = make_grid(x)"),
    ),
    TensorFlowIdiom(
        "copies-by-tile",
        regex(
            r"\b(?:tf|K|np)\.(?P<call>tile|repeat|broadcast_to"
            r"|repeat_elements)\(\s*(?P<what>[\w.]{1,40})|\bRepeatVector\(\s*(?P<number>\w{1,40})"
        ),
        ("tile(", "repeat(", "broadcast_to(", "repeat_elements(", "RepeatVector("),
        (Agreement.LINE,),
        "the line writes copies of one tensor out{at}: {shape}",
        (
            CodeChange(
                "broadcast-instead",
                "let it broadcast: an axis of size 1 takes part in +, -, *, / and where without any copy, and"
                " a batch of 1 in matmul",
                "y = x[:, None] + z   # instead of tile(x) + z; tf.matmul(a[None], x)",
            ),
        ),
        ("h = tf.tile(h, [1, T, 1])", "z = tf.repeat(z, k, axis=0)"),
        ("ds = ds.repeat()", "ds.repeat(3)", "ds = dataset.repeat(epochs)"),
    ),
    TensorFlowIdiom(
        "gathered-rows",
        regex(
            r"\b(?:tf|K)\.(?P<call>gather|gather_nd|batch_gather"
            r"|compat\.v1\.gather)\(\s*(?P<what>[\w.]{1,40})\s*,\s*(?P<rows>[\w.]{1,40})"
        ),
        ("gather",),
        (Agreement.LINE,),
        "gather writes a row of `{what}` for each index of `{rows}`{at}: {samples} rows of {last}",
        (
            _IN_BLOCKS,
            CodeChange(
                "reduce-parts",
                "or reduce first and gather then: rows after a projection or a sum are shorter",
            ),
        ),
        ("msg = tf.gather(h, src)",),
        ("row = gather(x)", "z = all_gather(z)"),
        unless=regex(
            r"(?i)\b(?:Graph)?SAGE|\bGCN|\bGAT(?:v2)?(?:Conv|Layer)?\b|edge_index|graph_?net|spektral"
            r"|message_passing|adjacency"
        ),
        least_first=1000,
        least_bytes=256 << 20,
    ),
    TensorFlowIdiom(
        "mapped-at-once",
        regex(r"\btf\.vectorized_map\(|\btf\.(?:compat\.v1\.)?while_v2\.pfor\("),
        ("vectorized_map(", "pfor("),
        (Agreement.LINE, Agreement.WAY),
        "vectorized_map runs the function for all rows at once{at}, so that each of its tensors"
        " exists for every"
        " row",
        (
            CodeChange(
                "without-vectorized-map",
                "run it for some rows at a time",
                "y = tf.map_fn(f, x, parallel_iterations=4)",
            ),
        ),
        ("g = tf.vectorized_map(per_example, (x, y))",),
        ("g = tf.map_fn(f, x)",),
    ),
    TensorFlowIdiom(
        "overlapping-frames",
        regex(
            r"\btf\.(?:contrib\.|compat\.v1\.)?signal\.(?P<call>frame|stft|overlap_and_add"
            r"|mfccs_from_log_mel_spectrograms)\("
        ),
        ("signal.",),
        (Agreement.LINE,),
        "{call} cuts the signal into frames that overlap{at}, so that each sample is written several times:"
        " {shape}",
        (
            CodeChange(
                "smaller-input",
                "cut the signal into shorter pieces first, or take a longer step between frames",
            ),
            CodeChange(
                "resize-in-pipeline", "or compute features in the input pipeline, on the host, file by file"
            ),
        ),
        ("s = tf.signal.stft(wav, 1024, 128)",),
        ("import scipy.signal", "signal.SIGTERM("),
    ),
    TensorFlowIdiom(
        "square-factored",
        regex(
            r"\btf\.(?:linalg\.)?(?P<call>cholesky|inv|svd|eigh|self_adjoint_eig|matrix_inverse|qr|lu"
            r"|logdet|slogdet|expm)\("
        ),
        ("tf.",),
        (Agreement.LINE,),
        "{call} takes a whole matrix and makes another one{at}: {shape}",
        (
            CodeChange(
                "iterative-solver",
                "solve for the vectors that you need instead (conjugate gradients), or take a low-rank"
                " approximation (inducing points, random features)",
                "x = tf.linalg.experimental.conjugate_gradient(operator, b).x",
                "x = tf.linalg.solve(a, b)   # instead of matmul(inv(a), b)",
            ),
        ),
        ("L = tf.linalg.cholesky(K + noise * tf.eye(n))",),
        ("y = tf.linalg.matmul(a, b)",),
        ranks=(2, 3),
        least_bytes=256 << 20,
    ),
    TensorFlowIdiom(
        "crops-of-proposals",
        regex(
            r"\b(?P<setting>first_stage_max_proposals|max_proposals|TRAIN_ROIS_PER_IMAGE"
            r"|POST_NMS_ROIS_\w{1,20}"
            r"|(?:num|n|max)_?(?:rois?|proposals|boxes))\s*[:=]\s*(?P<number>\d{1,5})"
        ),
        ("roposals", "ROIS", "roi", "boxes"),
        (Agreement.NUMBER,),
        "{number} proposals of each of {times} images are cut out at full depth ({setting}{at}):"
        " {first} crops of"
        " {second} x {third}",
        (
            CodeChange(
                "fewer-boxes", "fewer images in a batch ({times} -> {half}), or fewer proposals of each"
            ),
            CodeChange(
                "smaller-crops",
                "smaller crops (initial_crop_size, crop_size): half the side is a quarter of this",
            ),
        ),
        ("  first_stage_max_proposals: 300", "TRAIN_ROIS_PER_IMAGE = 200"),
        ("max_proposals = n",),
        op=regex(r"(?i)crop_?and_?resize|roi_?align|second_?stage|mrcnn"),
        ranks=(4, 5),
        times=1,
    ),
    TensorFlowIdiom(
        "crops-of-boxes",
        regex(r"\btf\.image\.crop_and_resize\(|\broi_align\(|\bROIAlign\w{0,20}\("),
        ("crop_and_resize(", "roi_align(", "ROIAlign"),
        (Agreement.LINE,),
        "every box of every image is cut out at full depth{at}: {first} crops of {second} x {third}",
        (
            CodeChange("fewer-boxes", "a smaller batch or fewer boxes: crops are images x boxes"),
            CodeChange("smaller-crops", "smaller crops: half the side is a quarter of this"),
        ),
        ("crops = tf.image.crop_and_resize(feats, boxes, idx, [28, 28])",),
        ("x = tf.image.resize_with_crop_or_pad(x, 28, 28)",),
        ranks=(4, 5),
    ),
    TensorFlowIdiom(
        "rows-of-segments",
        regex(r"\bunsorted_segment_(?P<op>sum|mean|max|min|prod|sqrt_n)\("),
        ("unsorted_segment_",),
        (Agreement.LINE,),
        "every one of {first} segments gets a row, those to which nothing belongs, too{at}: {shape}",
        (
            CodeChange(
                "fewer-segments",
                "number only the segments that occur, or use a coarser grid or fewer buckets",
                "seen, ids = tf.unique(ids)   # then: tf.math.unsorted_segment_sum(x, ids, tf.size(seen))",
            ),
        ),
        ("grid = tf.math.unsorted_segment_max(h, cell, n_cells)",),
        ("s = tf.math.segment_sum(h, ids)",),
        ranks=(2, 3),
    ),
    TensorFlowIdiom(
        "results-stacked",
        regex(
            r"\btf\.(?P<call>stack|concat|parallel_stack)\(\s*\[\s*[^\[\]]{1,120}\bfor\b[^\[\]]{1,60}\]"
            r"|\btf\.(?P<stacks>stack|parallel_stack)\(\s*\w{0,30}(?:outputs|results|preds|feats"
            r"|features|frames|states|history|samples|parts|chunks|embeddings|shifts|volumes)\b"
        ),
        ("tf.stack(", "tf.concat(", "parallel_stack("),
        (Agreement.LINE,),
        "{call}{stacks} joins all parts into one tensor beside them{at}: {shape}, and both take twice that",
        (
            CodeChange("reduce-parts", "reduce each part before they are joined"),
            CodeChange(
                "parts-to-host",
                "or join them on the host",
                "y = np.concatenate([part.numpy() for part in parts])",
                "y = np.concatenate([sess.run(part) for part in parts])",
            ),
        ),
        ("vol = tf.stack([warp(f, d) for d in range(D)], 1)", "feats = tf.stack(all_feats, 0)"),
        ("x = tf.concat([x, skip], -1)", "x = tf.stack([a, b], 0)"),
    ),
)


_OF_PAIRS = ("pairs-of-rows", "pairs-of-numbers", "gram-matrix")


def pairs_in_code(text: str, rank: int) -> bool:
    """Whether a line makes a tensor of so many dimensions of every row with every row."""
    return any(each.slug in _OF_PAIRS and rank in each.ranks and each.match(text) for each in ROWS)
