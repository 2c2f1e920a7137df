"""Whole data sets where a batch would do, and what input pipelines keep."""

from __future__ import annotations

from tfmemlens.findings.support.tf_code.idiom import Agreement, CodeChange, TensorFlowIdiom
from tfmemlens.patterns import regex

_SET = (
    r"(?:(?:[xXyY]|images?|imgs|data|features?|labels|inputs?|samples|all)_?(?:train(?:ing)?|tests?"
    r"|val(?:id\w*)?|all|data"
    r"|full)\w{0,12}|(?:train(?:ing)?|tests?|val(?:id\w*)?|all)_?(?:x|X|images?|imgs|data\w*|features?"
    r"|set|inputs?|samples|vols?"
    r"|volumes|windows|patches|tiles|frames|crops)\w{0,12}|X|dataset|mnist\.(?:test|train)\.images)"
)
"""Names of whole data sets."""
_BATCHES = CodeChange(
    "in-batches",
    "go in batches, and bring each result to the host: {per_hundred} for 100 of them",
    "y = model.predict(x, batch_size=32)   # of a call: model(b).numpy()",
    "for i in range(0, n, 100): sess.run(fetch, {x_: x[i:i + 100]})",
)
_ON_HOST = CodeChange(
    "keep-off-the-device",
    "keep the arrays on the host: make the data set under the CPU device",
    "with tf.device('CPU:0'): dataset = tf.data.Dataset.from_tensor_slices(x)",
)
_FROM_FILES = CodeChange(
    "one-batch-at-a-time",
    "or read one batch at a time, out of a mapped file if need be",
    "ds = tf.data.Dataset.from_generator(batches, output_signature=...)",
    "x = np.load('x.npy', mmap_mode='r')   # feed x[i:i + 64]",
)
_COPIES = regex(r"\A\W*\Z|Const|Cast|Identity|Copy|Slice|Dataset|Gather")
"""What copies an array, also without a name; an op of a layer's on the same line, in `fit`, does not."""
_MIN_BYTES = 256 << 20

ROWS = (
    TensorFlowIdiom(
        "predict-in-a-loop",
        regex(
            r"\.predict\(\s*(?:np\.|tf\.)?(?:expand_dims\(|\w{1,40}\[\s*(?:None|np\.newaxis|tf\.newaxis)|\[)"
        ),
        (".predict(",),
        (Agreement.RAM,),
        "predict is called for one sample at a time{at}: each call builds an input pipeline of its own,"
        " and host"
        " RAM is known to grow with such calls",
        (
            CodeChange(
                "one-call",
                "call the model itself, or predict all samples of a batch at once",
                "y = model(x[None], training=False).numpy()   # or: model.predict(batch_of_frames)",
            ),
        ),
        ("p = model.predict(np.expand_dims(frames[i], 0))", "p = model.predict(x[None])"),
        ("p = model.predict(x_test, batch_size=64)",),
        keeps=True,
    ),
    TensorFlowIdiom(
        "deque-of-steps",
        regex(r"\bdeque\(\s*(?:\[\s*\]\s*,\s*)?maxlen\s*=\s*(?P<number>\w{1,40})"),
        ("deque(",),
        (Agreement.RAM,),
        "a buffer of {number} entries{at} fills host RAM as steps go on",
        (
            CodeChange(
                "shorter-buffer",
                "fewer entries, or single frames as uint8 instead of stacks of them in float32: a"
                " sixteenth for"
                " stacks of four",
                "buffer = deque(maxlen=100_000); buffer.append(frame.astype(np.uint8))",
            ),
        ),
        ("memory = deque(maxlen=1000000)", "self.buffer = collections.deque(maxlen=BUFFER_SIZE)"),
        ("q = deque()", "scores = deque([])"),
        keeps=True,
    ),
    TensorFlowIdiom(
        "slices-of-arrays",
        regex(
            r"\b(?:from_tensor_slices|from_tensors|TensorSliceDataset)\(\s*[({\[]*\s*(?P<what>[\w.'\":"
            r"]{0,60})"
        ),
        ("from_tensor",),
        (Agreement.LINE,),
        "from_tensor_slices makes one tensor of the whole array {what} where it runs{at}",
        (_ON_HOST, _FROM_FILES),
        ("    ds = tf.data.Dataset.from_tensor_slices((X, y))",),
        (
            "ds = tf.data.Dataset.from_tensor_slices(files)  # paths".replace(
                "from_tensor_slices", "list_files"
            ),
        ),
        op=_COPIES,
        least_bytes=64 << 20,
    ),
    TensorFlowIdiom(
        "array-as-tensor",
        regex(
            rf"\b(?:tf|K|ops)\.(?P<call>constant|convert_to_tensor|cast|Variable|variable"
            rf"|identity)\(\s*(?P<what>{_SET})\s*[,)/]"
        ),
        ("constant(", "convert_to_tensor(", "cast(", "ariable(", "identity("),
        (Agreement.LINE,),
        "`{call}` makes one tensor of all of `{what}`: {first} samples at once{at}",
        (_FROM_FILES, _ON_HOST),
        ("x = tf.constant(x_train, dtype=tf.float32)", "X = tf.convert_to_tensor(X_train)"),
        ("x = tf.constant(0.5)", "x = tf.cast(batch, tf.float32)", "w = tf.Variable(init)"),
        least_first=500,
    ),
    TensorFlowIdiom(
        "whole-set-called",
        regex(
            rf"\b(?P<net>[\w.]{{0,40}}(?:model|net|unet|encoder|decoder|generator|classifier|extractor"
            rf"|backbone|base)\w{{0,20}})\(\s*(?:tf\.\w+\()?"
            rf"(?P<what>{_SET})\s*[,)]"
        ),
        ("(",),
        (Agreement.LINE,),
        "`{net}({what})` sends all {first} samples through the network at once: a direct call makes"
        " no batches{at}",
        (_BATCHES,),
        (
            "----> 2 preds = unet(test_images, training=False)",
            "y = model(x_test)",
            "feats = self.encoder(X_val, training=False)",
        ),
        (
            "y = model(x_batch)",
            "preds = model.predict(x_test)",
            "model = build_model(train_shape)",
            "y = model(x)",
        ),
        least_first=200,
        ranks=(2, 3, 4, 5),
    ),
    TensorFlowIdiom(
        "all-images-called",
        regex(
            r"\b(?P<net>[\w.]{0,40}(?:model|net|encoder|decoder|classifier|extractor|backbone)\w{0,20})\("
            r"\s*(?P<what>images?|imgs|frames|patches|tiles|volumes|windows"
            r"|clips|samples|features|embeddings)"
            r"\s*[,)]"
        ),
        ("(",),
        (Agreement.LINE,),
        "`{net}({what})` sends all {first} of `{what}` through the network at once: a direct call makes no"
        " batches{at}",
        (_BATCHES,),
        ("low, high = extractor(images)", "z = self.encoder(patches, training=False)"),
        ("y = model(x)", "preds = model.predict(images)", "net = make_network(image_shape)"),
        least_first=1000,
        ranks=(3, 4, 5),
    ),
    TensorFlowIdiom(
        "whole-set-fed",
        regex(
            r"(?:\bfeed_dict\s*=\s*|\.run\([^{]{1,120},\s*|\.eval\(\s*)\{[^}]{0,120}?:\s*"
            rf"(?P<what>{_SET})\b(?!\s*\[)"
        ),
        ("feed_dict", ".run(", ".eval("),
        (Agreement.LINE, Agreement.WAY),
        "the run is fed all of `{what}`: {first} samples go through the graph at once{at}",
        (_BATCHES,),
        (
            "acc = sess.run(accuracy, feed_dict={x: x_test, y_: y_test, keep: 1.0})",
            "print(sess.run(acc, {x: mnist.test.images, y: mnist.test.labels}))",
            'print("accuracy", accuracy.eval({x: x_test, y_: y_test}))',
        ),
        ("sess.run(train, feed_dict={x: bx, y_: by})", "sess.run(acc, feed_dict={x: x_test[i:i+100]})"),
        least_first=500,
    ),
    TensorFlowIdiom(
        "predictions-joined",
        regex(r"\b(?P<name>\w{1,60})\s*=\s*[\w.]{1,60}\.predict\(\s*(?P<what>[\w.]{1,60})"),
        (".predict(",),
        (Agreement.OP,),
        "predict keeps every batch's output and joins them at the end: {shape} beside its parts{at}",
        (
            CodeChange(
                "parts-to-host",
                "predict batch by batch, and reduce or store each result at once",
                "for x in ds: out.append(np.argmax(model.predict_on_batch(x), -1))",
                "for x in parts: out.append(np.argmax(model.predict_on_batch(x), -1))",
            ),
            CodeChange(
                "reduce-parts",
                "or let the model return less: the class instead of all probabilities, or a smaller dtype",
            ),
        ),
        ("masks = model.predict(test_ds)",),
        ("cls = clf.predict_proba(x)",),
        op=regex(r"(?i)(?:\A|[/ _])concat(?:v2|_\d+)?(?=\Z|[ /])"),
        runs="predict",
    ),
    TensorFlowIdiom(
        "images-at-once",
        regex(rf"\btf\.image\.(?P<call>\w{{1,40}})\(\s*(?P<what>{_SET}|images)\s*,"),
        ("tf.image.",),
        (Agreement.LINE,),
        "tf.image.{call} works on all {first} images at once{at}",
        (
            CodeChange(
                "resize-in-pipeline",
                "do it image by image in the input pipeline, on the host",
                "ds = images.map(lambda x: tf.image.resize(x, size)).batch(32)",
                "ds = images.map(resize).batch(32)",
            ),
        ),
        ("x_train = tf.image.resize(x_train, (224, 224))",),
        ("x = tf.image.resize(image, (224, 224))",),
        least_first=200,
    ),
    TensorFlowIdiom(
        "cache",
        regex(r"\.cache\(\s*\)"),
        (".cache(",),
        (Agreement.RAM,),
        "cache(){at} keeps every element of the data set in host RAM, in the form that it has there (decoded,"
        " float32), and grows through the first epoch",
        (
            CodeChange(
                "cache-to-file",
                "cache to a file, or cache what is small: the bytes before they are decoded, or uint8 before"
                " they are converted; always before repeat(), behind which it never ends",
                "ds = read.cache().map(decode)   # or, a file for each data set: ds.cache('/local/train')",
            ),
        ),
        ("ds = ds.map(decode).cache().shuffle(4096).batch(64)", "  ds = ds.cache()"),
        ("ds = ds.cache('/ssd/cache')", "without ds.cache() it is the same", "cache.cache_clear()"),
        keeps=True,
    ),
    TensorFlowIdiom(
        "shuffle-buffer",
        regex(
            r"\.(?:shuffle|shuffle_and_repeat)\(\s*(?:buffer_size\s*=\s*)?(?P<number>\d[\d_]{3,}"
            r"|len\([\w.]{1,40}\)|[A-Z_]{3,40})\b"
        ),
        (".shuffle",),
        (Agreement.RAM,),
        "shuffle({number}){at} keeps as many elements in host RAM as its buffer is long, in the form"
        " that they"
        " have there (decoded, float32)",
        (
            CodeChange(
                "shuffle-files",
                "shuffle file names or records before they are decoded, and keep only a small buffer of"
                " decoded ones",
                "ds = files.shuffle(n).interleave(read).shuffle(1000).map(decode)",
            ),
        ),
        ("ds = ds.map(decode).shuffle(100_000).batch(64)", "ds.shuffle(buffer_size=50000)"),
        ("ds = ds.shuffle(100)", "random.shuffle(files)", "np.random.shuffle(idx)"),
        keeps=True,
    ),
    TensorFlowIdiom(
        "prefetch-many",
        regex(
            r"\.(?P<call>prefetch|prefetch_to_device)\(\s*(?:buffer_size\s*=\s*)?(?P<number>\d[\d_]{1,"
            r"})\s*[,)]"
        ),
        (".prefetch",),
        (Agreement.RAM,),
        "{call}({number}){at} keeps {number} whole batches ready in host RAM",
        (
            CodeChange(
                "prefetch-few",
                "prefetch one or two batches",
                "ds = ds.batch(64).prefetch(tf.data.AUTOTUNE)",
                "ds = ds.batch(64).prefetch(2)",
            ),
        ),
        ("ds = ds.batch(64).prefetch(1000)",),
        ("ds = ds.prefetch(2)", "ds = ds.prefetch(AUTO)"),
        keeps=True,
    ),
    TensorFlowIdiom(
        "data-set-as-list",
        regex(
            r"\blist\(\s*(?P<what>(?:self\.)?\w{0,30}(?:ds|dataset|loader|generator|gen"
            r"|reader)\w{0,30})(?:\.as_numpy_iterator\(\))?\s*\)"
            r"|\[\s*\w{1,40}(?:\.numpy\(\))? for [\w, ]{1,40} in"
            r" (?P<looped>\w{0,30}(?:ds|dataset|loader|generator))\b"
        ),
        ("list(", " for "),
        (Agreement.LINE, Agreement.RAM),
        "the line makes a list of the whole data set{at}: every element stays in memory",
        (CodeChange("one-batch-at-a-time", "go through the data set batch by batch, and keep none of it"),),
        ("batches = list(self.train_ds.as_numpy_iterator())", "data = [x.numpy() for x, _ in val_ds]"),
        ("names = list(files)", "for x in ds:"),
        keeps=True,
        least_bytes=0,
    ),
    TensorFlowIdiom(
        "array-of-files",
        regex(
            r"\bnp\.(?P<call>array|stack|asarray|concatenate|vstack)\(\s*\[[^\]]{0,120}(?:read|load"
            r"|open|decode)\w{0,30}\("
            r"|\b(?P<name>\w{1,30})\s*=\s*np\.(?P<joined>array|stack|asarray|concatenate"
            r"|vstack)\(\s*(?P<what>images?|imgs|frames|all_\w{1,30}|data|x_\w{1,20}|clips"
            r"|volumes)\s*[,)]"
            r"|\bnp\.(?P<made>empty|zeros)\(\s*\(\s*(?:len\([\w.]{1,40}\)|\w*(?:size|count|num|samples)\w*"
            r"|n_\w+)"
            r"\s*,[^)]{1,80},\s*[134]\s*\)"
        ),
        ("np.",),
        (Agreement.LINE, Agreement.RAM),
        "the line puts all samples into one array in host RAM{at}, beside the list that they come from",
        (
            CodeChange(
                "map-the-file",
                "fill a mapped file sample by sample, and read batches out of it",
                "x = np.lib.format.open_memmap('x.npy', 'w+', np.uint8, shape)",
            ),
            CodeChange(
                "narrow-array", "keep images as uint8 until they are in a batch: a quarter of float32"
            ),
        ),
        (
            "X = np.array([imread(f) for f in files])",
            "x_train = np.stack(images)",
            "trains = np.empty((train_size, WIDTH, HEIGHT, 3), dtype='float32')",
        ),
        ("a = np.array([1, 2, 3])", "m = np.concatenate(losses)", "canvas = np.zeros((height, width, 3))"),
    ),
    TensorFlowIdiom(
        "array-converted",
        regex(
            r"\b(?P<what>\w{1,40})\s*=\s*(?:(?P=what)|[\w.\[\]]{1,40}|\w{1,40} ?\([\w., ]{1,60}\))\s?"
            r"\.astype ?\(\s*['\"]?(?:np\.|tf\.)?(?P<dtype>float\w{0,4})"
            r"|(?<!append\()\b(?P<scaled>(?:[xX]|images?|imgs?|data|train|test)\w{0,20})\s*(?:/=?)\s*255"
        ),
        ("astype", "255"),
        (Agreement.LINE, Agreement.RAM),
        "the line converts a whole array{at}: the new one takes {bytes} beside the old, and each further step"
        " of arithmetic makes one more",
        (
            CodeChange(
                "narrow-array",
                "keep it as uint8, and convert one batch at a time",
                "ds = ds.map(lambda x, y: (tf.cast(x, tf.float32) / 255, y))",
                "x = tf.cast(x_, tf.float32) / 255.   # in the graph",
            ),
            CodeChange(
                "map-the-file", "or work in place", "np.divide(x, 255, out=x)   # x is float32 already"
            ),
        ),
        (
            "x_train = x_train.astype('float32') / 255",
            "X = X / 255.0",
            "images_A = images_A/255.0",
            "train_tensors = paths_to_tensor(train_files).astype('float32')/255",
        ),
        ("y = y.astype('int32')", "gray = 255 - x"),
    ),
    TensorFlowIdiom(
        "samples-as-floats",
        regex(
            r"\.append\(\s*(?:[\w.]{1,40}\()?(?P<what>[a-z]\w{0,30}) ?(?:/ ?(?:255|127\.5)\b"
            r"|\.astype\(\s*['\"]?(?:np\.)?float)"
        ),
        (".append(",),
        (Agreement.LINE, Agreement.RAM),
        "the line keeps each sample as floating-point numbers{at}: of uint8 pixels a division makes float64,"
        " eight times their bytes, and an array of the list is all of them once more",
        (
            CodeChange(
                "narrow-array",
                "keep samples as they were read (uint8), and convert one batch at a time",
                "ds = ds.map(lambda x, y: (tf.cast(x, tf.float32) / 255, y))",
                "x = tf.cast(x_, tf.float32) / 255.   # in the graph",
            ),
            CodeChange(
                "map-the-file",
                "or keep names of files alone, and read the images of one batch at a time",
                "ds = tf.data.Dataset.from_tensor_slices((paths, labels)).map(load).batch(32)",
            ),
        ),
        ("images.append(img / 255.0)", "X.append(np.array(image/255))", "x.append(img.astype('float32'))"),
        ("images.append(img)", "names.append(path / '255')", "y.append(label / 10)"),
    ),
    TensorFlowIdiom(
        "worker-processes",
        regex(r"\buse_multiprocessing\s*=\s*True"),
        ("use_multiprocessing",),
        (Agreement.RAM,),
        "each worker process{at} may hold a copy of what the generator holds, and max_queue_size batches wait"
        " in host RAM",
        (
            CodeChange(
                "fewer-workers",
                "use threads, or fewer workers, and a short queue",
                "model.fit(seq, workers=2, use_multiprocessing=False, max_queue_size=4)",
                "model.fit_generator(gen, workers=2, max_queue_size=4)",
            ),
        ),
        ("model.fit(seq, workers=8, use_multiprocessing=True)",),
        ("workers=1, use_multiprocessing=False",),
        keeps=True,
    ),
    TensorFlowIdiom(
        "queue-of-batches",
        regex(
            r"\bworkers\s*=\s*(?:[2-9]|\d\d)\b(?!.*use_multiprocessing\s*=\s*True)"
            r"|\bmax_queue_size\s*=\s*\d{2,}(?!.*use_multiprocessing\s*=\s*True)"
        ),
        ("workers", "max_queue_size"),
        (Agreement.RAM,),
        "up to max_queue_size finished batches (10 unless told otherwise) wait in host RAM{at}, and each"
        " worker makes one more: these batches together are what is held",
        (
            CodeChange(
                "shorter-queue",
                "let one or two batches wait, and one worker make them: as many times less is held",
                "model.fit(seq, workers=1, max_queue_size=1)",
                "model.fit_generator(gen, workers=1, max_queue_size=1)",
            ),
            CodeChange(
                "narrow-array",
                "make what a batch holds narrower: float32 or uint8 instead of float64, labels as class"
                " numbers instead of one-hot (with a sparse loss)",
            ),
        ),
        ("fit_generator(g, max_queue_size=100)", "model.fit(Vols(tr), workers=4, max_queue_size=10)"),
        ("workers=1, use_multiprocessing=False", "fit(seq, workers=8, use_multiprocessing=True)"),
        keeps=True,
        unless=regex(r"\buse_multiprocessing\s*=\s*True"),
    ),
    TensorFlowIdiom(
        "padded-batch",
        regex(r"\.padded_batch\(\s*(?:batch_size\s*=\s*)?(?P<number>\w{1,40})"),
        ("padded_batch(",),
        (Agreement.NUMBER,),
        "padded_batch({number}) pads all {number} samples to the longest of them{at}: here {longest}",
        (
            CodeChange(
                "truncate-inputs",
                "leave out or cut samples that are much longer than the others",
                "ds = ds.filter(lambda x, y: tf.shape(x)[0] <= longest)",
            ),
            CodeChange(
                "bucket-sequences",
                "or put samples of a like length together, fewer of the long ones",
                "ds = ds.bucket_by_sequence_length(length, bounds, sizes)   # TF 2.6+",
                "ds = ds.apply(tf.data.experimental.bucket_by_sequence_length(n, b, s))",
            ),
        ),
        ("ds = ds.padded_batch(24, padded_shapes=([None, 80], [None]))",),
        ("ds = ds.batch(24)", "# padded_batch(24)"),
        axis=0,
        ranks=(3, 4, 5),
        also=("smaller-batch",),
    ),
    TensorFlowIdiom(
        "ragged-made-dense",
        regex(r"\b(?P<what>\w{1,40})\.to_tensor\(|\bpad_sequences\(\s*(?P<list>\w{1,40})"),
        (".to_tensor(", "pad_sequences("),
        (Agreement.LINE,),
        "the line pads every row to the longest one{at}: {shape}",
        (
            CodeChange(
                "truncate-inputs",
                "cap the length: one long row decides for all",
                "x = ragged.to_tensor(shape=[None, 512])   # pad_sequences(x, maxlen=512)",
                "x = pad_sequences(x, maxlen=512, truncating='post')",
            ),
            CodeChange("bucket-sequences", "or pad batch by batch, with samples of a like length in each"),
        ),
        ("x = tokens.to_tensor()", "X = pad_sequences(sequences)"),
        ("t = img_to_tensor(x)",),
    ),
    TensorFlowIdiom(
        "global-batch-on-each-replica",
        regex(
            r"(?P<number>[A-Za-z_]\w{0,40}|\d{1,6})\s*\*\s*[\w.]{1,60}\bnum_replicas_in_sync\b"
            r"|\bnum_replicas_in_sync\s*\*\s*(?P<rows>[A-Za-z_]\w{0,40}|\d{1,6})"
        ),
        ("num_replicas_in_sync",),
        (Agreement.NUMBER,),
        "each replica got the batch of all of them: {first} = {number} x {times}, and"
        " num_replicas_in_sync{at} was"
        " meant to be shared out",
        (
            CodeChange(
                "batch-per-replica",
                "batch by what one replica takes where the data set is not shared out for you, and"
                " by the product"
                " only where it is (experimental_distribute_dataset, fit)",
                "ds = files.batch(context.get_per_replica_batch_size(GLOBAL))",
            ),
            CodeChange("smaller-batch", "or lower the batch of one replica: {number} or less here"),
        ),
        (
            "GLOBAL = PER_GPU * strategy.num_replicas_in_sync",
            "ds = ds.batch(64 * strategy.num_replicas_in_sync)",
        ),
        ("print(strategy.num_replicas_in_sync)", "loss / strategy.num_replicas_in_sync"),
        ranks=(2, 3, 4, 5),
        times=2,
    ),
)
