"""One-hot rows and dense forms of what is sparse."""

from __future__ import annotations

from tfmemlens.findings.support.tf_code.idiom import Agreement, CodeChange, TensorFlowIdiom
from tfmemlens.patterns import regex

_SPARSE_LABELS = CodeChange(
    "sparse-labels-alone",
    "if these are labels: keep them as integers, and use the sparse loss",
    "loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
    "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)",
)
_INPUTS = r"(?:[xX]|[xX]_?(?:train|test|val|valid)|(?:train|test|val|valid)_?[xX]|\w{0,20}images?|inputs?)\b"
"""Names of what a model gets, and of no labels."""
_EMBED = CodeChange(
    "embed-the-feature",
    "if this is a feature: look it up in an embedding, which makes no such rows",
    "x = tf.keras.layers.Embedding(values, 32)(ids)",
    "x = tf.nn.embedding_lookup(table, ids)",
)

ROWS = (
    TensorFlowIdiom(
        "indicator-column",
        regex(r"\bindicator_column\("),
        ("indicator_column",),
        (Agreement.LINE, Agreement.OP),
        "an indicator_column makes a dense row of {last} numbers for each of {samples} examples{at}",
        (
            CodeChange(
                "embed-the-feature",
                "use an embedding_column for it, which looks a short row up; or hash it to fewer values",
                "tf.feature_column.embedding_column(column, dimension=32)",
            ),
            CodeChange(
                "stay-sparse-column",
                "or give the column itself to a linear model, which takes it sparse",
                "tf.estimator.LinearClassifier(feature_columns=[column])",
            ),
        ),
        ("    wide = [tf.feature_column.indicator_column(user_id)]",),
        ("# indicator_column(user_id) was too large", "from x import indicator_column"),
        op=regex(r"(?i)indicator|one_?hot|input_layer|dense_features"),
        least_bytes=64 << 20,
    ),
    TensorFlowIdiom(
        "one-hot",
        regex(
            r"\b(?:tf|K|backend|ops)\.one_hot\(\s*(?P<what>[\w.]{1,60})(?:\s*,\s*(?:depth\s*=\s*)?(?P<"
            r"number>\w{1,40}))?"
        ),
        ("one_hot(",),
        (Agreement.LINE, Agreement.NUMBER),
        "one_hot of `{what}` makes a row of {last} numbers for each of {samples} ids{at}",
        (_SPARSE_LABELS, _EMBED),
        ("y = tf.one_hot(labels, 250000)", "    onehot = tf.one_hot(ids, depth=VOCAB)"),
        ("def one_hot(labels):", "y = sklearn.one_hot(y)", "no tf.one_hot(labels, 10) any more"),
        axis=-1,
    ),
    TensorFlowIdiom(
        "to-categorical",
        regex(rf"\bto_categorical\(\s*(?P<what>(?!{_INPUTS})[\w.]{{1,60}})"),
        ("to_categorical(",),
        (Agreement.LINE, Agreement.RAM),
        "to_categorical makes a row of {last} numbers for each of {samples} labels of `{what}`{at}",
        (_SPARSE_LABELS,),
        ("y_train = keras.utils.to_categorical(y_train, 50000)",),
        ("from keras.utils import to_categorical",),
    ),
    TensorFlowIdiom(
        "to-categorical-of-inputs",
        regex(rf"\bto_categorical\(\s*(?P<what>{_INPUTS})"),
        ("to_categorical(",),
        (Agreement.LINE, Agreement.RAM),
        "to_categorical makes a row of as many numbers as its largest value for each single value of"
        " `{what}`, which by its name is what the model gets and no labels{at}",
        (
            CodeChange(
                "keep-inputs-as-they-are",
                "leave the inputs as they are, at most scaled: one-hot rows are for labels",
                "y = to_categorical(y)   # x stays: x / x.max(), batch by batch",
            ),
        ),
        ("trainX = keras.utils.to_categorical(trainX)",),
        ("train_y = to_categorical(train_y)", "text_labels = to_categorical(text_labels)"),
    ),
    TensorFlowIdiom(
        "multi-hot-layer",
        regex(
            r"\b(?P<layer>CategoryEncoding|StringLookup|IntegerLookup|TextVectorization|Hashing"
            r"|Discretization)\("
            r"[^)]{0,200}?(?:output_mode\s*=\s*)?['\"](?:one_hot|multi_hot|binary|count|tf_?idf)['\"]"
        ),
        ("_hot", "binary", "count", "idf"),
        (Agreement.LINE, Agreement.OP),
        "{layer} makes a dense row of {last} numbers for each of {samples} examples{at}",
        (
            CodeChange(
                "embed-the-feature",
                "let the layer return integers, and look them up in an embedding",
                "x = tf.keras.layers.Embedding(n, 32)(tf.keras.layers.StringLookup()(x))",
            ),
            CodeChange(
                "stay-sparse-layer",
                "or let it return a sparse tensor",
                "output_mode='multi_hot', sparse=True",
            ),
        ),
        (
            "enc = layers.CategoryEncoding(num_tokens=900000, output_mode='multi_hot')",
            'vec = TextVectorization(max_tokens=200_000, output_mode="tf_idf")',
        ),
        ("vec = TextVectorization(max_tokens=20000, output_mode='int')",),
        op=regex(r"(?i)category_encoding|lookup|vectorization|hashing|discretization|bincount|one_?hot"),
    ),
    TensorFlowIdiom(
        "made-dense",
        regex(
            r"\b(?P<call>tf\.sparse(?:\.|_tensor_)to_dense|tf\.sparse_to_dense)\("
            r"|\b(?P<what>\w{1,40})\.(?:toarray|todense)\(\s*\)"
        ),
        ("to_dense(", "toarray(", "todense("),
        (Agreement.LINE, Agreement.RAM),
        "the line writes a sparse matrix out in full: {shape}, zeros as well{at}",
        (
            CodeChange(
                "sparse-product",
                "keep it sparse: multiply it as it is, which reads only what is not zero",
                "y = tf.sparse.sparse_dense_matmul(a, x)",
            ),
            CodeChange(
                "one-batch-at-a-time",
                "or make one batch dense at a time",
                "batches = (x[i:i + 64].toarray() for i in range(0, n, 64))",
                "for i in range(0, n, 64): sess.run(train, {x_: x[i:i + 64].toarray()})",
            ),
        ),
        (
            "adj = tf.sparse.to_dense(tf.sparse.reorder(adj))",
            "X = vectorizer.fit_transform(docs); X = X.toarray()",
        ),
        ("x = ragged.to_tensor()", "img.toarray"),
    ),
)
