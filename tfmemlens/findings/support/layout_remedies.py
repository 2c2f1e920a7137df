"""What ends the layout pass's copies: for each remedy the words and the code, in the user's TensorFlow."""

from __future__ import annotations

from tfmemlens.findings.support import code_snippets
from tfmemlens.model.case import Api, FrontEnd
from tfmemlens.model.finding import Remedy
from tfmemlens.model.layout import LayoutCause, LayoutStudy


def of_cause(cause: LayoutCause, study: LayoutStudy, api: Api) -> list[Remedy]:
    """The edit that ends the copies of one cause, with what the peak loses by it."""
    edit = cause.copies[0].remedy
    saved = study.peak.saved(cause.slug) if study.peak else None
    return [_remedy(edit, cause, study, api, saved)]


def of_study(study: LayoutStudy, api: Api) -> list[Remedy]:
    """What ends all copies at once."""
    saved = max(study.peak.bytes - study.peak.without_bytes, 0) if study.peak else None
    advice = [_remedy("data-format-nchw", None, study, api, saved)]
    if study.target_format.startswith("NC") and code_snippets.mixed_precision(api) and api.newest >= (1, 15):
        advice.append(
            Remedy(
                "train in half precision on a GPU with tensor cores (compute capability 7.0 or more): from"
                " TensorFlow 1.15 on the pass then leaves NHWC as it is, and activations are half as large",
                code_snippets.mixed_precision(api),
                slug="tensor-cores",
            )
        )
    return [*advice, _remedy("pass-off", None, study, api, saved)]


def _remedy(
    edit: str, cause: LayoutCause | None, study: LayoutStudy, api: Api, saved_bytes: int | None
) -> Remedy:
    """An edit with what a simulated peak loses by it. Without one nothing is promised: most copies take the
    place of an original that dies, and cost time rather than memory.
    """
    text, code = _words(edit, cause, study, api)
    slug = "native-layout" if edit == "data-format-nchw" else edit
    if study.peak is None or not saved_bytes:
        return Remedy(text, code, slug=slug)
    return Remedy(text, code, saved_bytes, study.peak.certainty, slug=slug)


def _words(slug: str, cause: LayoutCause | None, study: LayoutStudy, api: Api) -> tuple[str, str | None]:
    old = api.is_tf1 or api.front_end is FrontEnd.SESSION
    ops = {copy.forced_op or "" for copy in cause.copies} if cause else set()
    if slug == "replace-op":
        return _replacement(ops, old)
    if slug == "data-format-nchw" and not study.target_format.startswith("NC"):
        return (
            (
                "build the model in NHWC, which is what the pass converts to on this GPU: channels last, from"
                " the input on"
            ),
            None,
        )
    words = {
        "batch-norm-training": (
            (
                "run batch normalisation in training mode while you train; its gradient is then converted,"
                " too (and the moving averages are used as intended)"
            ),
            code_snippets.batch_norm_training(api),
        ),
        "batch-norm-fused": (
            "use the fused batch normalisation, one op that the pass converts",
            (
                "x = tf.layers.batch_normalization(x, training=is_training, fused=True)"
                if old
                else "x = tf.keras.layers.BatchNormalization(fused=True)(x)"
            ),
        ),
        "data-format-nchw": (
            (
                "build the model in the GPU's own format, channels_first, from the input on (batch"
                " normalisation with axis=1): no copies at all"
            ),
            (
                "x = tf.transpose(x, [0, 3, 1, 2])   # once, on the input\nx = tf.layers.conv2d(x, ...,"
                " data_format='channels_first')"
                if old
                else "tf.keras.backend.set_image_data_format('channels_first')"
            ),
        ),
        "static-rank": (
            (
                "state the shape where the tensor is made: an op whose rank the pass does not know stays as"
                " it is (set_shape alone does not reach the graph)"
            ),
            (
                "x = tf.placeholder(tf.float32, [None, 224, 224, 3])"
                if old
                else "x = tf.ensure_shape(x, [None, 224, 224, 3])"
            ),
        ),
        "keep-axes": (
            "keep the axis when you slice: x[:, :, :, 0:1] is converted, x[:, :, :, 0] is not",
            "channel = x[:, :, :, 0:1]",
        ),
        "place-on-gpu": (
            (
                "let the op run on the GPU, or do its work in the input pipeline; what runs on the CPU is"
                " never converted"
            ),
            None,
        ),
        "apply-gradients": (
            (
                "fetch as little as possible: let the optimizer apply the gradients inside the graph instead"
                " of fetching them, and drop outputs that nobody reads"
            ),
            "sess.run(train_op)   # not sess.run(grads)" if old else None,
        ),
        "pass-off": (
            (
                "switch the pass off; the convolution kernels then transpose inside, into temporaries that"
                " are freed at once"
            ),
            code_snippets.switch_off_layout(api),
        ),
    }
    return words[slug]


def _replacement(ops: set[str], old: bool) -> tuple[str, str | None]:
    if any(op.startswith("Resize") for op in ops):
        return (
            "replace resize + convolution by a transposed convolution, which the pass converts",
            (
                "x = tf.layers.conv2d_transpose(x, filters, 4, strides=2, padding='same')"
                if old
                else "x = tf.keras.layers.Conv2DTranspose(filters, 4, strides=2, padding='same')(x)"
            ),
        )
    if any(op.startswith("LeakyRelu") for op in ops):
        return (
            "write leaky ReLU with ops that the pass follows, or use ReLU",
            "x = tf.maximum(x, 0.2 * x)   # instead of tf.nn.leaky_relu(x)",
        )
    if any(op.startswith("LRN") for op in ops):
        return "replace local response normalisation by batch normalisation, which the pass converts", None
    if "StridedSliceGrad" in ops:
        return (
            (
                "crop with tf.slice instead of Python's slices: its gradient is a padding, which the pass"
                " follows"
            ),
            "x = tf.slice(x, [0, 1, 1, 0], [-1, h - 2, w - 2, -1])   # instead of x[:, 1:-1, 1:-1, :]",
        )
    if any("Softmax" in op for op in ops):
        return (
            "write the softmax over channels with ops that the pass follows",
            "e = tf.exp(x - tf.reduce_max(x, 3, keepdims=True)); x = e / tf.reduce_sum(e, 3, keepdims=True)",
        )
    named = ", ".join(sorted(filter(None, ops))[:3]) or "that op"
    return (
        f"move {named} to the ends of the model, or replace it by ops that the pass converts or follows",
        None,
    )
