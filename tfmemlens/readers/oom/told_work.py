"""What work a program does that is known to fill memory, by a line of its code or of what is told of it."""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

_MANY = (
    r"(?:len\([^()\n]{1,40}\)|N\b|n_\w{1,20}|\w{0,20}(?:num|count|size|samples|total|images)\w{0,20}|\d{4,8})"
)
_SAMPLES = (
    r"(?:images?|imgs?|pictures|frames|photos|videos|clips|volumes|patches|all_\w{1,30}|x_?\w{0,20}"
    r"|data\w{0,10}"
    r"|imagenes|im\u00e1genes|bilder|train\w{0,20})"
)
_SAMPLES_IN_WORDS = (
    r"(?:images|pictures|photos|frames|videos|files|samples|data|data ?set|im[\u00e1a]genes|imagens|bilder)"
)
_H5_FILE = (
    r"(?:h5\w{0,12}|hf\w{0,8}|hdf\w{0,10}|f|fh|file\w{0,8}|\w{1,16}_(?:h5|hdf5?)|db|data_?(?:set|file)?)"
)
"""How a file of HDF5 is called in code."""
ARRAY_OF_ALL = LineRule(
    rf"\bnp\.(?:zeros|empty|ones)\(\s*(?:shape\s*=\s*)?[(\[]\s*{_MANY}\s*,\s*[\w.]{{1,30}}\s*,"
    rf"|\bnp\.(?:array|asarray|stack|vstack|concatenate)\(\s*[(\[]?\s*{_SAMPLES}\b"
    r"|\bnp\.(?:append|vstack)\(\s*[(\[]?\s*\w{1,30}\s*,"
    r"|\bnp\.load\(\s*(?![^)\n]{0,80}\bmmap_mode)|\bh5py\b[^\n]{0,40}\[:\]"
    r"|\bFile\([^)\n]{1,80}\)\[[^\]\n]{1,40}\]\[:\]"
    rf"|\b{_H5_FILE}\[['\"][\w/ -]{{1,40}}['\"]\](?:\[(?::|\.\.\.|\(\))\]|\.value\b)"
    rf"|\bnp\.(?:array|asarray)\(\s*{_H5_FILE}(?:\.get\(|\[['\"])"
    r"|\.append\(\s*(?:\w{1,20}\.)?img_to_array\(",
    "X = np.zeros((len(files), 256, 256, 3))",
    'images = np.array(images, dtype="float") / 255.0',
    "x = np.vstack((x, img))",
    "x = np.load('x_train.npy')",
    "I load a 6 GB h5 file with h5py [:]",
    "X_train = h5f['images'][:]",
    "features = np.array(hf.get('image_features'))",
    "    data.append(img_to_array(image))",
    needs=("np.", "h5py", "file(", "img_to_array", "][:]", "][...]", "][()]", "].value"),
)
"""Code that puts all samples into one array or list."""
ARRAY_IN_WORDS = LineRule(
    rf"(?i)\b(?:load|read|put|stor|keep|append|stack|turn|convert|transform|carg)\w*\b(?:[^.\n]|\.\d){{0,40}}"
    rf"\b{_SAMPLES_IN_WORDS}\b[^.\n]{{0,40}}\b(?:in ?to|in|to|as|en|em|a) (?:an? |one |the |single |big "
    rf"|large |una? "
    r"|um |uma )*(?:python |numpy |np\.?)?(?:arrays?|lists?|lista|matrix)\b"
    r"|\bappend\w*\b[^.\n]{0,20}\b(?:to|into|in) (?:an?|one|the) (?:python |big |large )?list\b"
    rf"|\b(?:list|lists) of {_SAMPLES_IN_WORDS}\b[^.\n]{{0,20}}\b(?:in ?to|to|as) [^.\n]{{0,20}}\barray",
    "I load all my images into a list",
    "converting list of images to numpy array",
    "my script reads every file and appends it to a Python list",
    "Cargo 50.000 im\u00e1genes de 224x224 en una lista",
    needs=("array", "list", "matrix"),
)
"""The text says that all samples are put into one array or list."""
WHOLE_IN_WORDS = LineRule(
    r"(?i)(?<!without )(?<!instead of )(?<!avoid )(?<!not )(?<!n't )(?<!rather than )"
    r"\b(?:load|read|stor|hold|keep|cach)(?:s|es|ed|ing)?\b(?: \w+){0,2}?"
    r" (?:whole|entire|complete|full|all)\b(?: \w+){0,2}?"
    r" (?:data ?sets?|data|images|files?|h5|hdf5|corpus|arrays?)\b(?: \w+){0,2}? (?:in ?to|in)\b"
    r"(?: \w+){0,2}? (?:memory|RAM)\b",
    "it loads the whole dataset into memory regardless of its size",
    "The generator reads all images into RAM",
    needs=("memory", "ram"),
)
"""The text says that all data are loaded into RAM."""
_CLASSES = r"(?:vocab\w*|n_?words|num_?words|tokens?|symbols|[1-9]\d{3,7}|[1-9]\d{0,2}_\d{3})"
QUEUES = LineRule(
    r"\btf\.train\.(?:shuffle_)?batch(?:_join)?\(|\bmin_after_dequeue\b|\bRandomShuffleQueue\(",
    "images, labels = tf.train.shuffle_batch([image, label], batch_size=32, capacity=5000,",
    needs=("tf.train.", "min_after", "randomshuffle"),
)
"""A queue of TF 1 that holds decoded samples until it is full."""
OF_IMAGES = LineRule(
    r"(?i)\b(?:images?|imgs?|pictures?|photos?|pixels?|jpe?gs?|pngs?|cv2)\b|image_|_image",
    "a folder of 20,000 images",
    needs=("image", "img", "picture", "photo", "pixel", "jpg", "jpeg", "png", "cv2"),
)
"""The text speaks of images."""
LOADING_SAMPLES = LineRule(
    r"(?i)\A\W{0,4}(?:load|read|process|preprocess|pars|decod|convert)\w*\b[^\n]{0,30}"
    r"\b\d{2,7}\b[^\n]{0,20}(?:\bof\b|/) ?\d{3,8}\b",
    "Load the 24000 image of 25000.",
    "Processing image 1200/50000",
    needs=("load", "read", "process", "pars", "decod", "convert"),
)
"""A program that prints how many samples it has read."""
ONE_HOT_LABELS = LineRule(
    rf"\bto_categorical\([^\n]{{0,80}}\b\w{{0,20}}{_CLASSES}\b"
    rf"|\bone_hot\([^\n]{{0,80}}\b\w{{0,20}}{_CLASSES}\b"
    r"|\bnp\.(?:zeros|empty)\([^\n]{0,100}\b(?:vocab\w*|len\((?:chars|words|vocab)\w*\))",
    "y = to_categorical(y, num_classes=vocab_size)",
    "Y = keras.utils.to_categorical(y, 45000)",
    "X = np.zeros((len(sentences), maxlen, len(chars)), dtype=bool)",
    needs=("to_categorical", "one_hot", "np."),
)
"""Code that makes a row of as many numbers as there are words."""
ONE_HOT_FEATURES = LineRule(
    r"\bget_dummies\(|\bOneHotEncoder\([^)\n]{0,60}sparse(?:_output)? ?= ?False"
    r"|(?i:\bone[- ]hot[- ]?encod\w*\b[^.\n]{0,60}\b(?:columns?|features?|categor\w+|csv|data ?frame)\b)"
    r"|(?i:\b(?:pandas|csv|data ?frame)\b[^.\n]{0,60}\bone[- ]hot)",
    "df = pd.get_dummies(df)",
    "it reads the CSV with pandas, one-hot encodes and then it is killed",
    needs=("get_dummies", "onehotencoder", "one-hot", "one hot"),
)
"""Columns of a table become a column for each of their values."""
HISTOGRAMS = LineRule(
    r"\bhistogram_freq\s*=\s*[1-9]|\bwrite_grads\s*=\s*True\b",
    "When I set histogram_freq=1 for the TensorBoard callback, the training crashes",
    needs=("histogram_freq", "write_grads"),
)
"""TensorBoard's callback writes histograms of all weights."""
PERSISTENT_TAPE = LineRule(
    r"(?i)\bpersistent\s*=\s*True\b|\bpersistent (?:gradient ?)?tape\b",
    "with tf.GradientTape(persistent=True) as tape:",
    needs="ersistent",
)
GRADIENT_PENALTY = LineRule(
    r"(?i)\bgradient[- _]penalty\b|\bwgan-?gp\b|\bdouble backprop\w*",
    "WGAN-GP runs out of memory with gradient penalty",
    needs=("penalty", "gp", "double"),
)
"""A gradient of a gradient is taken."""
SECOND_ORDER = LineRule(
    r"(?i)\bsecond[- ]order (?:gradients?|derivatives?)\b|\bMAML\b",
    "Second order gradients (MAML) run out of memory in TF2",
    needs=("second", "maml"),
)
"""Training goes through steps of training."""
QUANTISING = LineRule(
    r"(?i)\bquantize_model\(|\bquanti[sz]ation[- ]aware\b|\bquantize_apply\(",
    "q_aware = tfmot.quantization.keras.quantize_model(model)",
    "Quantization aware training out of memory",
    needs="uanti",
)
"""A model is trained as its quantised form will compute."""
CONVERTING_IN_WORDS = LineRule(
    r"(?i)\bconver(?:t|ts|ted|ting|sion)\b[^.\n]{0,60}\b(?:tf-?lite|tensorflow lite|onnx|coreml|tensorrt"
    r"|TF-?TRT|frozen"
    r"|saved ?model|tfjs)\b|\brepresentative_data|\btflite_convert\b"
    r"|\b(?:tf-?lite|onnx|coreml|saved ?model|tfjs) (?:export|conver(?:sion|ter))\b|tf2tflite"
    r"|\bexport(?:ing|ed)?\b[^.\n]{0,40}\b(?:to|as|in) (?:an? )?(?:tf-?lite|onnx|coreml|saved ?model)\b"
    r"|\bpost[- ]training (?:\w+ )?quanti[sz]ation\b",
    "Converting a SavedModel to TFLite crashes",
    "converter.representative_dataset = representative_dataset",
    "# tflite_convert on EfficientDet: Killed",
    needs=("conver", "representative_data", "post-training", "post training", "export", "tf2tflite"),
)
"""The text says that a trained model is brought into another form."""
CALIBRATING = LineRule(
    r"(?i)\brepresentative[_ ]data(?:[_ ]?set)?",
    "with full integer quantization and a representative dataset",
    needs="epresentative",
)
"""Samples are run to measure the ranges of a model that is quantised."""
IN_PARALLEL = LineRule(
    r"\bnum_parallel_(?:calls|reads)\b|\bcycle_length\s*=\s*\d{2}"
    r"|(?i:\bprefetch(?:ing)?\b[^.\n]{0,30}\b(?:memory|RAM)\b)",
    "When I set num_parallel_calls=tf.data.AUTOTUNE in my map",
    needs=("num_parallel", "cycle_length", "refetch"),
)
"""A pipeline works at several elements at once."""
SET_AS_TENSORS = LineRule(
    r"\bfrom_tensor(?:_slice)?s\(\s*[(\[{]*\s*(?!\w{0,20}(?:files?|paths?|names)\b)\w{0,20}(?:[xX]|images?"
    r"|imgs|data|train|test)"
    r"|\b(?:tf|K)\.(?:constant|convert_to_tensor|Variable)\(\s*\w{0,10}(?:[xX]_(?:train|test|all)"
    r"|train_?[xX]|images|data)\w{0,12}\b"
    r"|(?i:\bcop(?:y|ies|ied) the (?:entire|whole|full|complete) (?:\w+ )?(?:array|data ?set"
    r"|data)\b[^.\n]{0,30}\bGPU\b)"
    r"|(?i:\bfrom_tensor_slices\b[^.\n]{0,40}\b\d+(?:\.\d)? ?GB?\b)",
    "dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train))",
    "x = tf.constant(x_train, dtype=tf.float32)",
    "TF 2.4 copies the entire numpy array to GPU in model.fit",
    needs=("from_tensor", "constant(", "convert_to_tensor(", "variable(", "cop"),
)
"""A whole set is made a tensor."""
CALLED_AT_ONCE = LineRule(
    r"\b(?:\w{0,12}model|net|unet|encoder|generator|classifier)\(\s*(?:tf\.\w{1,20}\()?"
    r"(?:[xX]_?(?:train|test|val|all)\w{0,12}|(?:train|test|val|all)_?(?:[xX]|images|imgs|data)\w{0,12}"
    r"|X)\s*[,)]",
    "After training I do preds = model(x_test) and it gives OOM",
    needs="(",
)
"""A model is called with all samples at once, which no `predict` does."""
RECURRENT_CONVOLUTIONS = LineRule(
    r"(?i)\bconv-?lstm(?:2d|3d)?\b", "a stack of three ConvLSTM2D layers", needs=("lstm",)
)
A_TRANSFORMER = LineRule(
    r"(?i)(?<![\w/])(?:(?!hilbert)[a-z]{0,10}bert(?:-(?:base|large)\w{0,20})?|TFBert\w{1,40}|XLNet|gpt-?[2j]"
    r"|transformer|longformer"
    r"|T5(?:-\w{1,10})?|ViT)\b(?![\w.]{0,20}\.py)|\bTFAuto\w{1,40}|\bMultiHeadAttention\(",
    "I'm fine-tuning bert-base with TFBertForSequenceClassification",
    needs=("bert", "xlnet", "gpt", "former", "t5", "vit", "tfauto", "multihead"),
)
"""A network whose layers attend from each position to all."""
CREATING_A_VARIABLE = LineRule(
    r"\b(?:resource_variable_ops|variable_scope|variables)\.py\b[^\n]{0,40}?"
    r"\bin (?:default_variable_creator(?:_v2)?|_?variable_v2_call|_init_from_args|__call__|__init__)\b"
    r"|\b(?:base_layer(?:_utils)?|layer)\.py\b[^\n]{0,40}?\bin (?:add_weight|make_variable)\b",
    "~/v/site-packages/tensorflow/python/ops/variable_scope.py in default_variable_creator(next_creator)",
    '  File "/v/site-packages/tensorflow/python/ops/resource_variable_ops.py", line 1518, in __init__',
    '  File "/v/site-packages/keras/src/engine/base_layer.py", line 712, in add_weight',
    needs=("variable", "add_weight"),
)
"""Frames of TensorFlow or Keras that make a weight or a slot, and run no step."""
ENCODING_TEXTS = LineRule(
    r"(?i)universal[-_ ]sentence[-_ ]encoder|\bEncoderDNN/|\bembedding_model\s*=\s*['\"]"
    r"|\b_?embed_documents\("
    r"|\bSentenceTransformer\("
    r"|\b(?:encode|embed)(?:s|d|ed|ing)? (?:\w+ ){0,2}?(?:sentences|documents|texts)\b"
    r"|\b(?:sentences|documents|texts) (?:to|that I) (?:encode|embed)\b"
    r"|\b(?:get|compute|extract)\w* (?:the )?(?:word|sentence|document|text) embeddings\b",
    "model = hub.load('https://tfhub.dev/google/universal-sentence-encoder/4')",
    "I have 2,000,000 sentences to embed",
    "we encode all sentences of the corpus",
    "t2v = Top2Vec(docs, embedding_model='distiluse')",
    "to get word embeddings I call BERT",
    needs=("encod", "embed", "sentencetransformer"),
)
"""A trained model turns texts into vectors: a row for each word of all texts of one call."""
MANY_STEPS = LineRule(
    r"(?i)\A(?=.*\b(?:bi-?)?(?:lstm|gru|rnn)s?\b)"
    r".*\b[1-9]\d{2,5} (?:time ?-?_?steps|pasos|passos|schritte)\b",
    "My LSTM (256 units) over 5000 time steps",
    needs=("lstm", "gru", "rnn"),
)
"""A recurrent layer follows long series."""
LONG_TEXTS = LineRule(
    r"(?i)\bmax_?(?:seq_?)?len(?:gth)?\w{0,4}\s{0,2}(?:=|:|of|is|to)?\s{0,2}(?:[2-9]\d\d|[1-9]\d{3})\b"
    r"|\b(?:[2-9]\d\d|[1-9]\d{3}) (?:max(?:imum|\.)? )?seq(?:uence)?[ _]?len\w*"
    r"|\b(?:512|1024|2048|4096) tokens\b|\b(?:long|longer) (?:texts|documents|sequences)\b"
    r"|\bsequence length\b[^.\n]{0,12}\b(?:[2-9]\d\d|[1-9]\d{3})\b",
    "max_length=512 and batch size 32",
    "documents of 2048 tokens",
    needs=("max", "tokens", "long", "seq"),
)
_LARGE = r"(?:[6-9]\d\d|[1-9]\d{3})"
LARGE_IMAGES = LineRule(
    rf"\b(?:target|image|img|input|crop)_?(?:size|shape)\s*=\s*[(\[]\s*(?:None,\s*)?{_LARGE}\s*,\s*{_LARGE}\b"
    rf"|\bInput\(\s*(?:shape\s*=\s*)?\(\s*{_LARGE}\s*,\s*{_LARGE}\b"
    rf"|(?i:\A(?=.*(?:image|picture|photo|frame|resolution|input|pixel|\bpx\b|tile|scan|u-?net|segmentation))"
    rf".*?(?<![\w.,]){_LARGE} ?(?:x|\u00d7|\*|by|px x) ?{_LARGE}\b)"
    r"|(?i:\b(?:high|full|large)[- ]?(?:er )?[- ]?res(?:olution)?\b[^.\n]{0,20}\b(?:images?|inputs?"
    r"|pictures|frames)\b)"
    r"|(?i:\b(?:[48]k|(?:1080|1440|2160)p) (?:images?|video|frames|pictures?|resolution)\b)",
    "train = datagen.flow_from_directory('data/train', target_size=(1500, 2000), batch_size=16)",
    "# U-Net with 1024x1024 input: OOM",
    "inputs = Input((768, 1024, 3))",
    "high resolution images",
    "1080p frames",
    needs=(
        "size", "shape", "input", "image", "picture", "photo", "frame", "resolution", "pixel", "px", "tile",
        "scan", "net",
    ),
)  # fmt: skip
"""Images whose sides are far above those that nets were made for."""
ON_A_PHONE = LineRule(
    r"(?i)\A(?!.*\b(?:iphone 8, |if the issue happens))(?!\W*mobile device\W*\Z).*?(?:"
    r"\b(?:android|iOS|iphones?|ipads?|kotlin|CVPixelBuffer|TensorFlowInferenceInterface)\b"
    r"|\b(?:mobile|smart) ?(?:app|phones?|devices?)\b|\bphones?\b)",
    "My app loads the model in Kotlin",
    "on phones with 2 GB of RAM",
    needs=("android", "ios", "phone", "ipad", "kotlin", "mobile", "cvpixel", "inferenceinterface"),
)
"""The model runs in a phone's app. A form of questions asks everybody for the mobile device."""
_JUST = r"(?:just|only|merely|simply|already)"
_SOME = r"(?<![\d.])(?:[0-4](?:\.\d{1,2})? ?Gi?B?|\d{2,4} ?Mi?B?)\b"
_STARTS_UP = r"(?:initiali[sz]\w*|import\w*|start\w*|creat\w*|load\w*|open\w*|list\w*)"
_STARTED = r"(?:GPUs?|CUDA|cuDNN|tensorflow|tf|jax|sessions?|devices?)"
_ITS_RAM = r"(?:(?:host |system |CPU |main )?RAM|RSS|(?:host|system|CPU|main|resident) memory)"
RAM_AT_START = LineRule(
    rf"(?i)\b(?:after|when|upon|once|on|by|{_JUST}) (?:\w+ ){{0,3}}{_STARTS_UP}\b"
    rf"[^.\n]{{0,30}}?\b{_STARTED}\b[^\n]{{0,60}}?{_SOME}[^.\n]{{0,20}}\b{_ITS_RAM}\b"
    rf"|\b{_STARTS_UP} (?:the |a |an )?{_STARTED}\b[^.\n]{{0,30}}?\b(?:takes|uses|needs|costs|consumes|eats"
    rf"|adds) (?:\w+ ){{0,3}}{_SOME}(?: of)? {_ITS_RAM}\b"
    rf"|{_SOME}(?: of)? {_ITS_RAM}\b[^.\n]{{0,40}}\b{_JUST}"
    rf" (?:\w+ ){{0,3}}{_STARTS_UP}\b[^.\n]{{0,20}}\b{_STARTED}\b",
    "After initializing the GPU every python process has about 2GB RSS of host RAM",
    "importing tensorflow takes 400 MB of RAM",
    "1.8 GB of RAM just for creating the session",
    needs=("ram", "rss", "memory"),
)
"""What a process takes of host RAM before it does anything of its own."""
REPLAY_CAPACITY = LineRule(
    r"\b(?P<name>replay_capacity|replay_(?:buffer_|memory_)?size|replay_buffer_capacity|max_replay_size"
    r"|buffer_size|memory_size|replay_memory_capacity)['\"]?\s{0,8}[:=]\s{0,8}"
    r"(?P<value>\d[\d_]{3,11}|1e[4-8])\b",
    "INFO:tensorflow:\t replay_capacity: 1000000",
    "model = DQN('CnnPolicy', env, buffer_size=1_000_000)",
    needs=("replay", "buffer_size", "memory_size"),
)
"""How many experiences a buffer keeps, as the text states it."""
OBSERVATION_SHAPE = LineRule(
    r"(?i)\b(?:observation|obs|state|frame)(?:_(?:shape|dims?|size))?['\"]?\s{0,4}[:=]\s{0,4}"
    r"[(\[](?P<sizes>\d{1,4}(?:, ?\d{1,4}){1,3}),?[)\]]"
    r"|\b(?:observations?|frames?|images?|arrays?|states?)\b[^\n]{0,60}?"
    r"\b(?P<by>\d{2,4} ?[x\u00d7] ?\d{2,4}(?: ?[x\u00d7] ?\d{1,3}){0,2})\b",
    "INFO:tensorflow:\t observation_shape: (84, 84)",
    "obs_shape = (84, 84, 4)",
    "numpy arrays of size 84x84x4",
    needs=("observation", "obs", "state", "frame", "image", "array"),
)
"""The shape of what is observed at one step."""
WORKERS_OF_A_SERVER = LineRule(
    r"(?i)\b(?:gunicorn|uvicorn|uwsgi|hypercorn|waitress|celery)\b[^\n]{0,80}(?<![a-z_])workers?\b"
    r"|\b\d{1,3} (?:gunicorn|uvicorn|uwsgi|celery) (?:worker )?processes\b"
    r"|\bworkers?\b[^.\n]{0,60}\b(?:gunicorn|uvicorn|uwsgi|hypercorn|celery)\b"
    r"|\bgunicorn\b[^\n]{0,80} -w ?\d",
    "gunicorn --workers 4 app:app",
    "workers of gunicorn get killed",
    "there are 4 uwsgi processes",
    "gunicorn with 10workers",
    needs=("worker", "gunicorn", "processes"),
)
"""A web server that starts the program several times."""
HELD_BY_EARLIER = LineRule(
    r"(?i)\b(?:zombie|dead|old|previous|earlier|stale|crashed|orphan\w*"
    r"|hung)\b[^.\n]{0,30}\bprocess(?:es)?\b|\bkilled process(?:es)?\b(?! \d)"
    r"|\b(?:previous|last|earlier|first|crashed|other)"
    r" (?:run|time|script|session|program|training|execution)\b[^.\n]{0,100}\bmemory\b[^.\n]{0,20}"
    r"(?:\bnot|n't|\bnever|\bstill)\b[^.\n]{0,12}"
    r"\b(?:re\w?leased|freed|cleared|cleaned|held|occupied|in use|taken|full)\b"
    r"|\bprocess(?:es)?\b[^.\n]{0,40}\b(?:from yesterday|(?:was|were) dead|still (?:there|alive|running"
    r"|listed|holds?))\b"
    r"|\b(?:in use|used|held|occupied|taken) by (?:an?|another|some)(?: other)?(?: \w+)? (?:process|user"
    r"|program|notebook)\b",
    "7.6 GB of 8 GB are in use by a python process from yesterday",
    "there is a zombie process on the GPU",
    "last time it crashed, and then the GPU's memory was not released",
    needs=("process", "by a", "by some", "memory"),
)
"""The text says that a process of earlier holds memory."""
SUSPENDED = LineRule(
    r"(?i)\bctrl ?[-+ ]? ?z\b|\^Z\b|\bsuspend(?:ed|ing|s)?\b[^.\n]{0,40}\b(?:training|process|script"
    r"|program|job|it)\b|\b(?:training|process|script|program|job)\b[^.\n]{0,20}\b(?:is|was"
    r"|I) suspend(?:ed)?\b",
    "I suspend the training with Ctrl+z to run the evaluation",
    "the process is suspended",
    needs=("ctrl", "^z", "suspend"),
)
"""A program was stopped, and not ended."""
LEFT_BEHIND = LineRule(
    r"(?i)\bzombie\b|\bdefunct\b"
    r"|\bprocess(?:es)?\b[^.\n]{0,30}\bstill\b[^.\n]{0,20}\b(?:running|alive|there)\b[^.\n]{0,40}\bstill\b"
    r"[^.\n]{0,20}\b(?:GPU|VRAM)\b"
    r"|\b(?:GPU memory|VRAM|memory of the GPU|GPUs?)\b[^.\n]{0,60}\b(?:still|remains?|stays?|not|n't|never)\b"
    r"[^.\n]{0,30}\b(?:occupied|used|in use|taken|held|released|freed|full)\b[^.\n]{0,60}"
    r"\b(?:after|although|even though|when|once)\b[^.\n]{0,30}\b(?:ctrl ?[-+]? ?c|kill(?:ed|ing)?"
    r"|interrupt\w*|cancel\w*)|\b(?:after|when|once|if)\b[^.\n]{0,40}\b(?:ctrl ?[-+]? ?c|kill(?:ed|ing)?"
    r"|interrupt\w*|cancel\w*)\b[^.\n]{0,60}\b(?:GPU memory|VRAM|memory of the GPU"
    r"|GPUs?)\b[^.\n]{0,40}\b(?:still|remains?|stays?|not|n't|never)\b[^.\n]{0,30}\b(?:occupied|used|in use"
    r"|taken|held|released|freed|full)\b",
    "htop shows a zombie process",
    "some processes are still running and TensorFlow still occupies my GPU memory",
    "After I interrupted the training GPU 0 memory is still occupied",
    "GPU memory is not released after I killed the script",
    needs=("zombie", "defunct", "gpu", "vram"),
)
"""A process that was ended, and still holds a GPU."""
PYTHON_ERROR = LineRule(
    r"(?i)(?<!GPU )(?<!CUDA )(?<!out of )(?<!OOM )\bmemory ?errors?(?![A-Za-z_])"
    r"(?![^.\n]{0,30}\b(?:GPUs?|CUDA|VRAM)\b)",
    "I get a memory error on this line:",
    needs=("memory e", "memorye"),
)
"""What Python and NumPy call a lack of host RAM."""
TRAINING_IN_WORDS = LineRule(
    r"(?i)\b(?:train(?:s|ing)?|fit|fitting|fine-?tun\w+)\b(?! (?:data|set|images|samples)\b)",
    "even at the start of training",
    needs=("train", "fit", "tun"),
)
A_LONG_SAMPLE = LineRule(
    r"(?i)\blongest (?:[\w-]+ ){0,4}?(?:is|has|takes)(?: about| around)? (?P<longest>\d{1,6})\b"
    r"[^.!?\n]{0,40}[.,;]? (?:but |and |while )?(?:most|the (?:rest|others)|typical\w*|usual\w*|the average"
    r"|the median)\b[^.!?\n]{0,40}?\b(?P<most>\d{1,6})\b",
    "The longest clip is 147 seconds, most are below 15 seconds.",
    "the longest sequence has 9000 tokens, but most have fewer than 400",
    needs="longest",
)
"""The text says how long the longest sample is, and most of them."""
TOLD_WORK = {
    "a long sample": A_LONG_SAMPLE,
    "training in words": TRAINING_IN_WORDS,
    "an error of Python's": PYTHON_ERROR,
    "an array of all samples": ARRAY_OF_ALL,
    "loaded whole in words": WHOLE_IN_WORDS,
    "an array in words": ARRAY_IN_WORDS,
    "queueing samples": QUEUES,
    "of images": OF_IMAGES,
    "loading samples": LOADING_SAMPLES,
    "one-hot labels": ONE_HOT_LABELS,
    "one-hot features": ONE_HOT_FEATURES,
    "writing histograms": HISTOGRAMS,
    "a persistent tape": PERSISTENT_TAPE,
    "a gradient penalty": GRADIENT_PENALTY,
    "second-order gradients": SECOND_ORDER,
    "training quantised": QUANTISING,
    "converting in words": CONVERTING_IN_WORDS,
    "calibrating": CALIBRATING,
    "mapping in parallel": IN_PARALLEL,
    "a set as tensors": SET_AS_TENSORS,
    "called with a whole set": CALLED_AT_ONCE,
    "recurrent convolutions": RECURRENT_CONVOLUTIONS,
    "a transformer": A_TRANSFORMER,
    "creating a variable": CREATING_A_VARIABLE,
    "encoding texts": ENCODING_TEXTS,
    "many time steps": MANY_STEPS,
    "long texts": LONG_TEXTS,
    "large images": LARGE_IMAGES,
    "on a phone": ON_A_PHONE,
    "RAM at its start": RAM_AT_START,
    "replay capacity": REPLAY_CAPACITY,
    "observation shape": OBSERVATION_SHAPE,
    "workers of a server": WORKERS_OF_A_SERVER,
    "held by an earlier run": HELD_BY_EARLIER,
    "suspended": SUSPENDED,
    "left behind": LEFT_BEHIND,
}
"""What is told, and how a line tells it."""
