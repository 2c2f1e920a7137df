"""Loops over time, and tapes that keep more than one step needs."""

from __future__ import annotations

from tfmemlens.findings.support.tf_code.idiom import Agreement, CodeChange, Of, TensorFlowIdiom
from tfmemlens.patterns import regex

_FEWER = CodeChange("fewer-steps", "fewer or shorter steps: half as many keep half of it")
_FEWER_TF1 = CodeChange("shorter-sequences", "shorter sequences: half as many steps keep half of it")
_SWAP = CodeChange(
    "swap-to-host",
    "let the loop keep its values in host RAM",
    None,
    "tf.nn.dynamic_rnn(cell, x, swap_memory=True)   # or tf.while_loop(...)",
)
_LOOP = regex(r"(?i)\bwhile|rnn|lstm|gru|decoder|scan|loop|TensorList|StackPush|TensorArray")

ROWS = (
    TensorFlowIdiom(
        "conv-lstm",
        regex(r"\b(?P<call>ConvLSTM[123]D(?:Cell)?|ConvLSTMCell|ConvGRU\w{0,6})\("),
        ("ConvLSTM", "ConvGRU"),
        (Agreement.OP,),
        "{call} keeps its gates (four feature maps) of every time step until the backward pass{at}",
        (
            _FEWER,
            CodeChange("smaller-input", "smaller frames, fewer filters, or a strided convolution before it"),
            _SWAP,
        ),
        ("x = layers.ConvLSTM2D(64, 3, padding='same', return_sequences=True)(x)",),
        ("x = layers.LSTM(64)(x)",),
        op=regex(r"(?i)conv_?lst|conv_?gru|\bwhile"),
        keeps=True,
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "attention-in-decoder",
        regex(
            r"\b(?P<call>BahdanauAttention|LuongAttention|AttentionWrapper|attention_decoder"
            r"|embedding_attention_seq2seq"
            r"|dynamic_decode|BasicDecoder|BeamSearchDecoder)\("
        ),
        ("Attention", "attention_", "ecode"),
        (Agreement.OP, Agreement.LINE),
        "each step of the decoder keeps scores over the whole source{at}, for as many steps as the"
        " target has",
        (
            _SWAP,
            CodeChange("shorter-sequences", "shorter source and target sequences, in buckets of like length"),
            CodeChange(
                "cheaper-attention", "LuongAttention, which makes no [batch, source, units] in each step"
            ),
        ),
        ("attn = tf.contrib.seq2seq.BahdanauAttention(units, memory)",),
        ("x = MultiHeadAttention(8, 64)(x, x)",),
        op=regex(r"(?i)decoder|bahdanau|luong|attention_wrapper|memory_layer|while"),
        keeps=True,
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "rnn-over-time",
        regex(
            r"\b(?P<call>tf\.nn\.(?:bidirectional_)?(?:dynamic|static|raw)_rnn"
            r"|(?:bidirectional_)?dynamic_rnn|static_rnn|tf\.contrib\.rnn\.static_rnn)\("
        ),
        ("_rnn(",),
        (Agreement.OP, Agreement.LINE),
        "{call} keeps what each time step made until the backward pass{at}",
        (_SWAP, _FEWER_TF1),
        ("out, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)",),
        (
            "def rnn(x):",
            "out, state = tf.nn.dynamic_rnn(cell, x, swap_memory=True)".replace(
                "tf.nn.dynamic_rnn", "my_rnn_cell"
            ),
        ),
        op=_LOOP,
        keeps=True,
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "loop-of-the-graph",
        regex(r"\btf\.(?:compat\.v1\.)?(?P<call>while_loop|scan|map_fn|foldl|foldr)\("),
        ("while_loop(", "tf.scan(", "map_fn(", "fold"),
        (Agreement.OP, Agreement.LINE, Agreement.WAY),
        "tf.{call} keeps what each iteration makes until the backward pass, and runs ten iterations side by"
        " side{at}",
        (
            _SWAP,
            CodeChange(
                "fewer-turns-at-once",
                "run fewer iterations side by side, and outside of training keep nothing for a gradient",
                "y = tf.map_fn(f, x, parallel_iterations=1)   # or tf.while_loop(...)",
            ),
            CodeChange(
                "recompute",
                "compute each iteration again in the backward pass",
                "body = tf.recompute_grad(body)",
                "with tf.variable_scope('body', use_resource=True): y ="
                " tf.contrib.layers.recompute_grad(body)(x)",
            ),
        ),
        ("_, out = tf.while_loop(cond, body, [0, x])", "y = tf.map_fn(f, x)"),
        ("ds = ds.scan(x, f)", "while loop()"),
        op=regex(r"(?i)\bwhile|scan|map|fold|TensorList|StackPush|TensorArray"),
        keeps=True,
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "time-distributed",
        regex(r"\bTimeDistributed\(\s*(?P<layer>[\w.]{1,40})"),
        ("TimeDistributed(",),
        (Agreement.OP,),
        "TimeDistributed({layer}) sees every frame of every sample as a sample of its own{at}:"
        " {first} at once{factors}",
        (
            CodeChange(
                "fewer-frames", "fewer frames in a clip, or a smaller batch: the layer sees their product"
            ),
            CodeChange("smaller-input", "smaller frames: half the height and width is a quarter"),
        ),
        ("x = TimeDistributed(base_cnn)(clip)",),
        ("from keras.layers import TimeDistributed",),
        op=regex(r"(?i)time_?distributed"),
    ),
    TensorFlowIdiom(
        "stacked-array",
        regex(r"\b(?P<what>\w{1,40})\.stack\(\s*\)"),
        (".stack(",),
        (Agreement.LINE, Agreement.OP),
        "the line stacks what every iteration of the loop wrote{at}: {shape} beside its parts",
        (
            CodeChange("reduce-parts", "write less in each iteration, or reduce as you go"),
            _FEWER,
        ),
        ("out = ta.stack()",),
        ("x = np.stack([a, b])", "t = tf.stack(xs)"),
        op=regex(r"TensorList(?:Stack|Gather|ConcatV2)|TensorArrayGather|TensorArrayStack"),
    ),
    TensorFlowIdiom(
        "gradient-penalty",
        regex(
            r"(?i)\bgp\s*=\s*\w|\b(?:\w{1,20}_)?grad\w{0,8}_penalty\w{0,20}\("
            r"|\b(?:\w{1,20}_)?penalty\w{0,20}\([^\n]{0,60}(?:real|fake|critic|disc|interp)"
            r"|\b(?:r1|r2)_(?:reg|loss|penalty)"
            r"|path_length_(?:reg|penalty)"
            r"|\bpenalty\s*=[^\n]{0,80}(?:grad|norm|slope|real|fake|critic|disc)"
        ),
        ("gp", "enalty", "r1_", "r2_", "R1_", "path_length"),
        (Agreement.WAY, Agreement.LINE, Agreement.TEXT),
        "a gradient penalty{at} is the gradient of a gradient: the outer tape keeps the inner"
        " backward pass and its"
        " activations beside the plain loss's",
        (
            CodeChange(
                "penalty-on-part", "compute the penalty for part of the batch, or only every few steps"
            ),
        ),
        ("    gp = self.gradient_penalty(batch, real, fake)", "    gp = penalty(self.critic, real, fake)"),
        (
            "l2 = tf.keras.regularizers.l2(1e-4)",
            "gpus = tf.config.list_physical_devices('GPU')",
            "    def penalty(self, t):",
            "score = logp / self.length_penalty(t)",
            "loss = ce + model.penalty()",
        ),
        of=Of.DATA,
        least_bytes=1 << 20,
        keeps=True,
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "outer-tape",
        regex(
            r"\bGradientTape\([^)]{0,60}\)\s+as\s+(?P<tape>(?:outer|meta|query|second|hess)\w{0,20}"
            r"|\w{0,20}(?:outer|meta)\w{0,10})|\bfor\b.{1,40}\b(?:inner_?steps|n_inner|inner_updates"
            r"|adapt\w{0,8}_steps)\b"
        ),
        ("GradientTape(", "inner", "adapt"),
        (Agreement.WAY, Agreement.TEXT),
        "the outer tape{at} records every inner step with its gradients, so that memory grows with"
        " their number",
        (
            CodeChange(
                "first-order",
                "take the inner gradients as constants (first-order MAML), or make fewer inner steps"
                " or tasks at once",
                "grads = [tf.stop_gradient(g) for g in inner_tape.gradient(loss, weights)]",
            ),
        ),
        ("    with tf.GradientTape() as outer_tape:",),
        ("    with tf.GradientTape() as tape:",),
        least_bytes=1 << 20,
        keeps=True,
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "persistent-tape",
        regex(r"\bGradientTape\(\s*persistent\s*=\s*True"),
        ("persistent",),
        (Agreement.WAY, Agreement.LINE, Agreement.TEXT),
        "a persistent tape{at} keeps everything it recorded until it is deleted, and not only until its first"
        " gradient",
        (
            CodeChange(
                "plain-tapes",
                "take all gradients of it at once, or delete it after the last one; for two losses"
                " use two tapes",
                "g1, g2 = tape.gradient(loss, [w1, w2])   # else: del tape",
            ),
        ),
        ("    with tf.GradientTape(persistent=True) as tape:",),
        ("    with tf.GradientTape(persistent=False) as tape:",),
        least_bytes=1 << 20,
        keeps=True,
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "gradients-of-examples",
        regex(
            r"\b(?P<call>(?:Vectorized)?DP(?:Keras)?(?:Adam|SGD|Adagrad)\w{0,20}"
            r"|num_microbatches\s*=\s*(?P<number>\d{1,6}))"
        ),
        ("DP", "num_microbatches"),
        (Agreement.OP, Agreement.WAY, Agreement.LINE),
        "a private optimizer{at} keeps one gradient of all weights for each microbatch",
        (
            CodeChange(
                "fewer-microbatches",
                "fewer microbatches (they must divide the batch), or a smaller batch",
                "VectorizedDPKerasSGDOptimizer(..., num_microbatches=8)",
            ),
        ),
        ("opt = VectorizedDPKerasAdamOptimizer(l2_norm_clip=1.0, num_microbatches=256)",),
        ("opt = AdamW(1e-3)",),
        of=Of.ANY,
        op=regex(r"(?i)pfor|loop_body|jacobian|vectorized"),
        keeps=True,
        also=("smaller-batch",),
    ),
)
