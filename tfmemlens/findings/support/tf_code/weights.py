"""Weights, tables, logits, copies of models, buffers of a size that the program chose."""

from __future__ import annotations

from tfmemlens.findings.support.tf_code.idiom import Agreement, CodeChange, Of, TensorFlowIdiom
from tfmemlens.patterns import regex

_TABLE = CodeChange(
    "smaller-table", "fewer rows (a smaller vocabulary, hashing of rare ids) or a smaller dimension"
)
_ON_CPU = CodeChange(
    "table-on-host",
    "place the table on the CPU",
    "with tf.device('CPU:0'): table = tf.keras.layers.Embedding(n, dim)",
    "with tf.device('/cpu:0'): table = tf.get_variable('table', [n, dim])",
)

ROWS = (
    TensorFlowIdiom(
        "embedding-table",
        regex(
            r"\bEmbedding\(\s*(?:input_dim\s*=\s*)?(?P<number>[\w.]{1,40})(?:\s*\+\s*1)?\s*,"
            r"|\bget_variable\(\s*['\"][^'\"]{0,60}emb\w{0,20}['\"]\s*,\s*(?:shape\s*=\s*)?\[\s*(?P<ro"
            r"ws>[\w.]{1,40})"
        ),
        ("Embedding(", "get_variable("),
        (Agreement.NUMBER,),
        "the table of {number} rows{at} takes {bytes}, its gradient or each slot of Adam as much"
        " again, whatever the"
        " batch",
        (
            _TABLE,
            _ON_CPU,
            CodeChange("lighter-optimizer", "use an optimizer without slots for it: plain SGD, or Adafactor"),
        ),
        ("items = layers.Embedding(12_000_000, 128)",),
        ("pos = PositionalEncoding(512, 128)",),
        of=Of.WEIGHT,
        axis=0,
        ranks=(2,),
    ),
    TensorFlowIdiom(
        "sampled-loss-weights",
        regex(r"\b(?:tf\.nn\.)?(?P<call>nce_loss|sampled_softmax_loss)\("),
        ("nce_loss(", "sampled_softmax_loss("),
        (Agreement.OP,),
        "the weights of {call} are a table of one row for each word{at}: {shape}, with two slots of"
        " Adam three"
        " times that, whatever the batch",
        (
            _TABLE,
            _ON_CPU,
            CodeChange(
                "lighter-optimizer", "use an optimizer without slots for it: plain SGD, or Adagrad with one"
            ),
        ),
        ("cost = tf.reduce_mean(tf.nn.nce_loss(w, b, y, h, 64, V))",),
        ("loss = sparse_softmax_cross_entropy(y, logits)",),
        of=Of.WEIGHT,
        op=regex(r"(?i)nce|sampled|softmax|embed"),
        ranks=(2,),
    ),
    TensorFlowIdiom(
        "variable-of-that-size",
        regex(
            r"\b(?:tf\.(?:compat\.v1\.)?(?P<call>Variable|get_variable)"
            r"|(?:self\.)?add_weight)\(.{0,80}?[\[(]\s*(?P<number>\d[\d_]{2,})\s*,"
        ),
        ("ariable(", "add_weight("),
        (Agreement.NUMBER, Agreement.LINE),
        "the line makes a variable of just that size{at}, {shape}, whatever the batch; a gradient and each"
        " slot of its optimizer take as much again",
        (_TABLE, _ON_CPU),
        ("w = tf.Variable(tf.random.normal([800000, 512]))", "w = tf.get_variable('w', [800000, 512])"),
        ("w = tf.Variable(0.0)", "w = self.add_weight(shape=(n, 4))"),
        of=Of.WEIGHT,
        axis=0,
        least_bytes=64 << 20,
    ),
    TensorFlowIdiom(
        "tensor-of-that-size",
        regex(
            r"\b(?:tf|K)\.(?:random\.)?(?P<call>normal|uniform|truncated_normal|random_normal"
            r"|random_uniform|zeros|ones|fill|eye)\(\s*[\[(]?\s*(?P<number>\d[\d_]{2,})\s*[,)]"
        ),
        ("normal(", "uniform(", "zeros(", "ones(", "fill(", "eye("),
        (Agreement.LINE,),
        "the line{at} asks for one tensor of that size",
        (CodeChange("in-blocks", "make it smaller, or make and use it in blocks of rows"),),
        ("buf = tf.zeros([1000000, 84, 84], tf.uint8)", "noise = tf.random.normal((100000, 4096))"),
        ("x = tf.zeros([n, 4])", "x = tf.zeros_like(y)"),
        of=Of.ANY,
        op=regex(r"(?i)fill|zeros|ones|random|eye|const|diag|normal|uniform"),
        axis=0,
        least_bytes=64 << 20,
    ),
    TensorFlowIdiom(
        "logits",
        regex(
            r"\b(?:Dense|dense|linear|fully_connected|Linear)\(\s*(?:[\w.]{1,40}\s*,\s*)?(?:units\s*="
            r"\s*|num_outputs\s*=\s*)?"
            r"(?P<number>[\w.]{0,30}(?:vocab|VOCAB|n_words|num_words|num_tokens|n_tokens|n_items"
            r"|num_items|num_classes|n_classes|NUM_CLASSES|symbols|labels|chars)\w{0,20}|\d[\d_]{3,})"
            r"(?![^()]{0,120}\b(?i:\w{0,8}relu6?|\w?elu|\w?gelu|tanh|swish|silu|mish|softplus"
            r"|\w{0,5}sigmoid)\b)"
        ),
        ("ense(", "inear(", "fully_connected("),
        (Agreement.LINE, Agreement.NUMBER),
        "the output layer{at} makes {last} numbers for each of {samples} positions, and the loss"
        " keeps several copies"
        " of them",
        (
            CodeChange(
                "sampled-loss",
                "train with a sampled loss, which never makes all logits",
                "tf.nn.sampled_softmax_loss(w, b, labels, x, num_sampled=1024, num_classes=n)",
            ),
            CodeChange("smaller-vocabulary", "cut the vocabulary, or use sub-words"),
            CodeChange("shorter-sequences", "fewer positions at once: shorter sequences, or a smaller batch"),
        ),
        ("self.scores = tf.layers.dense(h, self.n_words, name='out')", "x = Dense(120000)(x)"),
        (
            "x = Dense(128)(x)",
            "x = layers.Dense(units)(x)",
            "wide = layers.Dense(3000, activation='relu', name='wide')",  # a hidden layer
            "h = tf.layers.dense(h, 4096, tf.nn.leaky_relu)",
            "y = Dense(64000, activation='sigmoid')(x)",  # of an autoencoder; no softmax of words
        ),
        axis=-1,
        ranks=(2, 3),
        least_bytes=64 << 20,
    ),
    TensorFlowIdiom(
        "moving-average",
        regex(
            r"\b(?P<call>ExponentialMovingAverage|MovingAverage|SWA|EMA)\("
            r"|\b(?P<name>ema\w{0,10})\.apply\(|\buse_ema\s*=\s*True"
        ),
        ("MovingAverage(", "ema", "EMA(", "SWA("),
        (Agreement.OP, Agreement.LINE),
        "a moving average{at} keeps one more copy of every weight",
        (
            CodeChange(
                "average-on-host", "keep the average on the CPU, or leave it out while memory is short"
            ),
        ),
        (
            "ema = tf.train.ExponentialMovingAverage(0.999)",
            "opt = keras.optimizers.AdamW(1e-4, use_ema=True)",
        ),
        ("schema.apply(x)",),
        of=Of.WEIGHT,
        op=regex(r"(?i)moving_?average|\bema\b|shadow"),
        keeps=True,
    ),
    TensorFlowIdiom(
        "copy-of-a-model",
        regex(
            r"\b(?:tf\.keras\.models\.|keras\.models\.|models\.)?(?P<call>clone_model"
            r"|deepcopy)\(\s*(?:self\.)?(?P<what>\w{0,30}(?:model|net|critic|actor|policy"
            r"|agent)\w{0,20})"
        ),
        ("clone_model(", "deepcopy("),
        (Agreement.LINE, Agreement.WAY),
        "the line makes another copy of all weights of `{what}`{at}",
        (
            CodeChange(
                "one-model-at-a-time",
                "copy the weights to the host instead",
                "best = model.get_weights()   # NumPy arrays",
            ),
        ),
        ("target = tf.keras.models.clone_model(model)", "best = copy.deepcopy(model)"),
        ("best = copy.deepcopy(history)",),
        of=Of.WEIGHT,
        least_bytes=1 << 20,
        keeps=True,
    ),
    TensorFlowIdiom(
        "replay-buffer",
        regex(
            r"\b(?P<call>\w{0,20}ReplayBuffer\w{0,10})\((?:.{0,160}?\b(?:max_length|capacity|max_size"
            r"|size|buffer_size)\s*=\s*(?P<number>\w{1,40}))?"
        ),
        ("ReplayBuffer",),
        (Agreement.LINE, Agreement.NUMBER),
        "{call}{at} makes its whole table at once, on the device: {shape}",
        (
            CodeChange(
                "table-on-host",
                "make the buffer on the CPU: samples are copied when they are drawn",
                "buffer = TFUniformReplayBuffer(spec, 1, max_length=n, device='cpu:0')",
                "with tf.device('/cpu:0'): buffer = make_buffer()",
            ),
            CodeChange(
                "shorter-buffer", "fewer entries, or single frames as uint8 instead of stacks of them"
            ),
        ),
        ("buf = TFUniformReplayBuffer(agent.collect_data_spec, batch_size=1, max_length=500000)",),
        ("buffer.sample(ReplayBufferConfig)", "from tf_agents import replay_buffers"),
        of=Of.ANY,
        axis=0,
        least_first=1000,
    ),
    TensorFlowIdiom(
        "saving",
        regex(
            r"\b(?P<what>[\w.]{0,30}(?:model|net|gan|generator|critic|encoder|decoder|estimator|ckpt"
            r"|checkpoint|manager|saver)\w{0,10})\.(?P<call>save|save_weights|save_pretrained"
            r"|export\w{0,20}|get_weights)\(|\btf\.(?P<saved>saved_model\.save|train\.Checkpoint)\("
            r"|\b(?P<frozen>convert_variables_to_constants\w{0,4}|freeze_graph)\("
        ),
        (
            ".save",
            ".export(",
            "get_weights(",
            "saved_model",
            "convert_variables_to_constants",
            "freeze_graph",
        ),
        (Agreement.LINE,),
        "it failed while the model was being saved or read out{at}: each weight is copied once more,"
        " beside weights,"
        " slots and whatever the last step still holds",
        (
            CodeChange(
                "save-the-weights",
                "save the weights alone, and drop the optimizer and the last results before",
                "del y; gc.collect(); model.save_weights('w.weights.h5')",
                "saver = tf.train.Saver(tf.trainable_variables()); saver.save(sess, path)",
            ),
            CodeChange(
                "own-process",
                "or convert and export in a process of its own, on the CPU: CUDA_VISIBLE_DEVICES=-1",
            ),
        ),
        ('    model.save("out/model")', "w = model.get_weights()"),
        ("np.save('x.npy', x)", "plt.savefig('a.png')", "torch.save(x)", "img.save(path)"),
        of=Of.ANY,
        least_bytes=0,
        keeps=True,
    ),
    TensorFlowIdiom(
        "converting",
        regex(
            r"\b(?:TFLiteConverter\.\w{1,40}|converter\.convert|tf2onnx\.convert|TrtGraphConverterV?2?"
            r"|converter\.build)\b"
        ),
        ("onvert",),
        (Agreement.LINE, Agreement.WAY),
        "it failed while a model was being converted{at}, which holds it two or three times",
        (
            CodeChange(
                "own-process",
                "convert in a process of its own, on the CPU, from the saved model: CUDA_VISIBLE_DEVICES=-1",
            ),
        ),
        ("tflite = converter.convert()",),
        ("img.convert('RGB')", "converter = Converter()"),
        of=Of.ANY,
        least_bytes=0,
        keeps=True,
    ),
    TensorFlowIdiom(
        "histograms",
        regex(
            r"\bTensorBoard\([^)]{0,120}\bhistogram_freq\s*=\s*(?P<number>[1-9]\d{0,3})"
            r"|\bwrite_grads\s*=\s*True"
        ),
        ("histogram_freq", "write_grads"),
        (Agreement.OP,),
        "histograms of TensorBoard{at} are computed over all of the validation data and every"
        " gradient at once",
        (
            CodeChange(
                "no-histograms",
                "leave histograms out",
                "TensorBoard(log_dir, histogram_freq=0)",
            ),
        ),
        ("tb = TensorBoard('logs', histogram_freq=1, write_grads=True)",),
        ("tb = TensorBoard('logs', histogram_freq=0)",),
        of=Of.ANY,
        op=regex(r"(?i)histogram|summary"),
        keeps=True,
    ),
    TensorFlowIdiom(
        "models-in-a-list",
        regex(
            r"(?P<list>\b\w{0,20}(?:models|nets|ensemble|members|learners|networks)"
            r"\w{0,10})(?:\.append\(|\s*\+=\s*\[)\s*\w{1,30}\s*[\])]"
            r"|(?P<made>\b\w{0,20}(?:models|nets|ensemble|members|learners|networks))"
            r"\s*=\s*\[\s*\w{0,30}(?:model|net|build|make|create)\w{0,30}\([^\[\]]{0,80}\)\s*for\b"
        ),
        ("models", "nets", "ensemble", "members", "learners", "networks"),
        (Agreement.TEXT,),
        "`{list}{made}`{at} keeps every model that is made, each with its weights and its optimizer's slots",
        (
            CodeChange(
                "drop-models",
                "save each model when it is trained, and drop it; load one at a time to predict",
                "model.save_weights(path); del model; tf.keras.backend.clear_session()",
            ),
            CodeChange("own-process", "or train each in a process of its own, whose end frees everything"),
        ),
        ("    models.append(m)", "ensemble = [build_model(s) for s in range(20)]"),
        ("models.append('resnet')", "paths = [model_path(i) for i in range(3)]", "agents.append(agent)"),
        of=Of.ANY,
        keeps=True,
        unless=regex(r"clear_session\(|reset_default_graph\(|\bProcess\(|subprocess|\w*replay\w*\s*="),
    ),
)
