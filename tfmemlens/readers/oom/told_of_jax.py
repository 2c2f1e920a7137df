"""What posts about JAX tell in words of what fills memory: where arrays lie, what is kept, or made whole."""

from __future__ import annotations

from tfmemlens.model.capture import NEEDED_IN_WORDS
from tfmemlens.readers.oom.rules import LineRule

CLOSED_OVER = LineRule(
    r"(?i)\bclos(?:es?|ed|ing|ures?) (?:over|captur\w+) (?!night\b|the (?:night|week|years?))\w"
    r"|\b(?:with|via) (?:a )?closures?\b"
    r"|\b(?:jit|jitted|compil\w+)\b[^.\n]{0,60}"
    r"\b(?:baked? (?:in\b|into)|captured|as (?:a )?(?:compile[- ]time )?constants?\b"
    r"|(?:global|outer)[- ](?:array|variable|scope))"
    r"|\binlin(?:ed|ing) (?:\w+ ){0,2}?(?:arrays?|constants?|data ?sets?|weights)\b"
    r"|\bbak(?:es|ed|ing) (?:\w+ ){1,4}?into the (?:graph|program|jaxpr|HLO|executable)\b"
    r"|\bp?jit\(\s*lambda\s*:\s*[A-Za-z_]\w*\s*[,)]",
    "the jitted function closes over the table",
    "jit with a closure uses far more memory",
    "when I jit it the array is baked into the program",
    "state = pjit(lambda: state, in_shardings=(), out_shardings=shardings)()",
    "jit compilation with large inlined arrays crashes",
    "it is recompiling and baking the data set into the graph",
    needs=("clos", "baked", "baking", "bakes", "inlin", "captured", "constant", "global", "outer", "jit("),
)
"""A jitted function uses an array that it is not given."""
DERIVATIVE_MATRIX = LineRule(
    r"(?i)\bjax\.(?:hessian|jacfwd|jacrev|jacobian)\b|\bjac(?:fwd|rev)\("
    r"|\b(?:the|full|whole|dense|exact|compute (?:a|the)?)\s"
    r"(?:\w+ ){0,2}?(?:hessian|jacobian|fisher (?:information )?matrix|ntk|neural tangent kernel)\b"
    r"|\b(?:hessian|jacobian) of\b",
    "jax.hessian(loss)(params) runs out of memory",
    "J = jit(jacrev(wave, 0))(par, t)",
    "I want to compute the full Hessian of my network",
    "the Jacobian of a network with 60k parameters",
    needs=("hessian", "jacobian", "jacfwd", "jacrev", "fisher", "ntk", "tangent kernel"),
)
"""A matrix of derivatives is wanted whole."""
KERNEL_MATRIX = LineRule(
    r"(?i)\b(?:kernel|gram|covariance|similarity|distance|affinity|cost) matri(?:x|ces)\b|\bexact GPs?\b"
    r"|\bgaussian process\w*\b|\bpairwise (?:distances?|differences?|kernel|similarit\w+)\b|\ball pairs\b"
    r"|\bmatern(?:\d\d)?\b|\bcov(?:ariance)?_func\w*\b|\bn_landmarks\b",
    "OOM when computing the kernel matrix",
    "an exact GP with 60000 points",
    "pairwise distances of 50k points",
    needs=("matri", "exact gp", "gaussian process", "pairwise", "all pairs", "matern", "_func", "n_landm"),
)
"""A matrix over all pairs of points."""
BROADCAST_PAIRS = LineRule(
    r"\[ ?:, ?(?:None|jnp\.newaxis|np\.newaxis)(?:, ?:)?\] ?(?:-|\+|\*|==) ?\(?\w{1,30}(?:\[|\b)",
    "jnp.linalg.norm(x[:, None] - y[None], axis=-1)",
    "diff = x[:, None, :] - x[None, :, :]",
    needs=("none", "newaxis"),
)
"""Each row with each row by broadcasting."""
PAIRS_IN_WORDS = LineRule(
    r"(?i)\b(?:kernels?|gram|distances?|pdist|cdist|pairwise|pairs|covariances?|similarit(?:y|ies)"
    r"|affinit(?:y|ies)|GPs?|gpjax|tinygp|rbf|matern|neighbou?rs?|forces?|interactions?|correlations?"
    r"|adjacency|nystr[oö]m|sinkhorn|optimal transport|t-?SNE|UMAP|self[- ]attention|cholesky)\b"
    r"|\b(?:jnp|np)\.(?:outer|cov|corrcoef|linalg\.(?:solve|inv|cholesky|eigh|svd))\("
    r"|\bvmap\([^#\n]{0,60}\bvmap\(|(?P<one>\b[A-Za-z_]\w{0,20}) ?@ ?(?P=one)\.T\b",
    "Kernel ridge regression with 80000 points",
    "K = jax.vmap(lambda a: jax.vmap(lambda b: k(a, b))(x))(x)",
    "S = z @ z.T",
    needs=(
        "kernel",
        "gram",
        "dist",
        "pair",
        "cov",
        "similarit",
        "affinit",
        "gp",
        "rbf",
        "matern",
        "neighb",
        "force",
        "interaction",
        "corr",
        "adjacency",
        "nystr",
        "sinkhorn",
        "transport",
        "sne",
        "umap",
        "attention",
        "cholesky",
        "outer(",
        "linalg",
        "vmap",
        ".t",
    ),
)
"""Those who combine every row with every other speak so."""
FACTORIZATION = LineRule(
    r"(?i)\b(?:matrix |matrices )?(?:factori[sz]ations?|decompositions?)\b"
    r"|\b(?:linalg\.|lax\.linalg\.)(?:svd|qr|cholesky|eigh?|lu|slogdet|det|inv|solve)\b"
    r"|`(?:svd|qr|cholesky|eigh?|lu|slogdet)`",
    "Matrix factorization on two devices",
    "u, s, vt = jnp.linalg.svd(blocks)",
    "`qr` and `eigh` do the same",
    needs=("factori", "decomposition", "linalg", "svd", "qr", "cholesky", "eigh", "lu`", "slogdet"),
)
"""A matrix is factored, which XLA has one call for."""
KEPT_VALUES = LineRule(
    r"(?i)\b(?:append|stor|keep|collect|sav|accumulat)(?:s|e|es|ed|ing|ping)?\b[^.\n]{0,50}"
    r"\b(?:loss|losses|metrics?|results?|outputs?|grads?|gradients?|states?|params|samples|trajector\w+"
    r"|activations?|predictions?|histor\w+)\b[^.\n]{0,60}\b(?:lists?|dicts?|dictionar\w+|buffers?|append)\b"
    r"|\b(?:to|in|into) (?:a|the) (?:python )?(?:list|dict|dictionary)\b[^.\n]{0,40}"
    r"\b(?:each|every|per) (?:step|iteration|epoch|batch)\b",
    "I append the loss of each step to a list",
    "we keep all states in a Python dict",
    "results are added to a list every iteration",
    needs=("list", "dict", "buffer", "append"),
)
"""Results are put in a container, step by step."""
STATIC = LineRule(
    r"(?i)\bstatic(?:_?arg(?:nums|names|ument)?s?| (?:args?|arguments?))\b[^\n]{0,120}"
    r"\b(?:constant|(?:each|every|different|new|changing) (?:different )?values?|re-?compil\w*|cache\w*)\b",
    "`static_argnames` must be constant: JAX compiles anew for each value",
    "a static argument recompiles",
    needs="static",
)
"""A static argument whose values are compiled, each."""
NEW_SHAPES = LineRule(
    r"(?i)\b(?:different|varying|variable|changing|dynamic|many|every|each|new|random|ragged)"
    r" (?:\w+ ){0,2}(?:shapes?|lengths?|sizes?)\b|\bshapes? (?:that )?(?:change|var(?:y|ies)|differ)s?\b"
    r"|\b(?:each|every|a) new (?:input|shape|graph|sequence|batch)\b[^.\n]{0,30}\bcompil",
    "sequences of different lengths",
    "the shapes change from batch to batch",
    "it is compiled anew: each new sequence compiles",
    needs=("shape", "length", "size", "compil"),
)
"""Inputs of other shapes, each of which is compiled."""
CELLS = LineRule(
    r"\b(?:LSTM|GRU|RNN)Cell\b|(?i:\btime[- ]?step by time[- ]?step\b)"
    r"|(?i:\b(?:loops?|looping|iterat\w{1,4}) over (?:all |each of )?(?:the )?time[- ]?steps?\b)",
    "self.lstm1 = nn.LSTMCell(1, 51)",
    "the forward pass loops over the time steps",
    needs=("cell", "step"),
)
"""A recurrent cell that Python calls for each step of a sequence."""
RECOMPILING = LineRule(
    r"(?i)\bre-?compil\w+|\bcompil\w+\b[^.\n]{0,20}\b(?:anew|afresh|again)\b",
    "it recompiles each time",
    needs="compil",
)
"""Something is compiled again and again."""
COMPILED_AT_STEPS = LineRule(
    r"(?i)\b(?:step|iter(?:ation)?|batch|epoch|update)\W{0,3}(?!0*[01]\b)\d{1,7}\b[^.\n]{0,12}"
    r"\b(?:re-?)?compil"
    r"|\bmore (?:and more )?often\b[^.\n]{0,30}\bcompil"
    r"|\b(?:re-?)?compil(?:es?|ed|ing|ation)\b[^.\n]{0,30}\b(?:at|for|in|on|with|after)"
    r" (?:(?:nearly|almost|about) )?(?:every|each|most)\b(?! (?:device|host|process|core|GPU|TPU))"
    r"|\b(?:every|each) (?:new |single )?(?:step|call|batch|iteration|graph|molecule|sample|sequence)s?\b"
    r"[^.\n]{0,20}\b(?:re-?)?compil|\bkeeps (?:on )?(?:re-?)?compiling\b|\bre-?compil(?:es|ing|ations)\b",
    "step 4: compiling ... 22 s",
    "the longer it runs the more often I see it compile",
    "it recompiles for nearly every batch",
    "jit keeps compiling",
    needs="compil",
)
"""Something is compiled at one step after the other, and not only at the first."""
FLAG_IN_VAIN = LineRule(
    r"(?i)\b(?:the|that|this|suggested|recommended|xla) (?:flag|option|XLA_FLAGS)\b[^.\n]{0,60}"
    r"\b(?:only|merely|just|still|nothing|no (?:help|effect|difference|luck)|in vain"
    r"|(?:does|did|do)(?:n['\u2019]t| not) (?:help|change|work|solve|fix))\b"
    r"|(?:\A|[\s(\"'`])(?:tried|with|set(?:ting)?|added|passed)\b[^.\n]{0,40}strict_conv_algorithm_picker\b",
    "The flag from the message only gives me the plain out of memory a bit later.",
    "That flag did not help, it fails as before",
    "I tried --xla_gpu_strict_conv_algorithm_picker=false and get an OOM",
    needs=("flag", "option", "strict_conv"),
)
"""The way out that a message names was tried, and was none."""
WRAPPED_MODEL = LineRule(
    r"\bMpModelWrapper\(",
    "mx = xmp.MpModelWrapper(model)",
    needs="MpModelWrapper",
)
"""All processes of a host are given one model already."""
RESTORING = LineRule(
    r"(?i)\b(?:restor|load|initiali[sz]|read)(?:e|es|ed|ing)?\b[^.\n]{0,50}"
    r"\b(?:checkpoints?|weights?|params|parameters|pre-?trained|models?|train ?state)\b"
    r"|\bfrom_pretrained\b|\bmodel\.init\(",
    "When I restore the checkpoint with orbax it runs out",
    "Loading the 13B model dies with out of memory",
    "FlaxLlamaForCausalLM.from_pretrained",
    needs=("restor", "load", "initiali", "read", "from_pretrained", "model.init("),
)
"""Weights are read or made."""
LOADING_A_MODEL = LineRule(
    r"(?i)\A(?!.*(?:checkpoint|orbax|train ?state|shard|restor))[^\n]*?(?:\bload(?:s|ed|ing)?\b[^.\n]{0,50}"
    r"\b(?:pre-?trained|models?)\b|\bfrom_pretrained\b)",
    "Loading the medium model gives out of memory",
    "FlaxBertModel.from_pretrained('bert-base-cased')",
    needs=("load", "from_pretrained"),
)
"""A model that somebody trained is read, to be used."""
DATA_ON_DEVICE = LineRule(
    r"(?i)\breplay[- ]?buffer\b|\b(?:whole|entire|full|complete|all (?:of )?(?:the|my)) (?:\w+ ){0,2}"
    r"(?:data ?set|data|training set|images)\b|\bdata ?set\b[^.\n]{0,50}\b(?:as|in|to|into|on|onto)"
    r" (?:a )?(?:the |one |single )?(?:jnp|jax|GPU|device|TPU)\b"
    r"|\b(?:cop|put|load|mov|send|transfer)(?:y|ies|s|es|ing)? (?:everything|all of (?:it|them)|it all)"
    r" (?:on|onto|to|into) (?:the |my )?(?:GPU|device|card)\b"
    r"|\b(?:jnp\.(?:array|asarray)|device_put)\(\s*(?:np_)?(?:x_?train|train|data|images|X|dataset)\w*\b",
    "My replay buffer is one jnp array",
    "svi.run copies everything to the GPU",
    "the whole data set is on the GPU",
    "x = jnp.asarray(x_train)",
    needs=("replay", "data", "images", "train", "jnp.", "device_put", "everything", "all of", "it all"),
)
"""Data lie on the device whole."""
TWICE = LineRule(
    r"(?i)\b(?:twice|two copies|double|2x|doubl(?:es|ed|ing)|copied|a copy of)\b[^.\n]{0,60}"
    r"\b(?:params|parameters|weights|states?|memory|model|buffers?|arrays?|size)\b"
    r"|\b(?:params|parameters|weights|states?|memory|model|buffers?|arrays?)\b[^.\n]{0,50}"
    r"\b(?:twice|two copies|doubled?|doubles|2x)\b",
    "params are held twice",
    "the peak is double of the model's size",
    needs=("twice", "copies", "doubl", "2x", "copied", "copy"),
)
"""Something is there two times."""
DOUBLE_PRECISION = LineRule(
    r"(?i)\bjax_enable_x64\b|\benabl\w+ (?:x64|float64|double precision)\b|\bfloat64\b|\b64[- ]bit"
    r" (?:floats?|precision|mode)\b|\bdouble precision\b",
    "jax.config.update('jax_enable_x64', True)",
    "with float64 enabled it runs out",
    needs=("x64", "float64", "64-bit", "64 bit", "double precision"),
)
PER_DEVICE_BATCH = LineRule(
    r"(?i)\bper[_ -]?(?:device|core|gpu|replica)[_ -]?(?:train[_ ]?|eval[_ ]?)?batch(?:[_ ]?size)?"
    r"[`'\"]{0,2}\s{0,3}(?:=|:|of|to|is)?\s{0,3}['\"]?(?P<each>\d{1,6})\b",
    "--per_device_train_batch_size=128",
    "per_device_batch_size of 256",
    needs=("per_", "per-", "per d", "per c", "per g", "perdevice"),
)
"""The batch of one device is stated."""
PMAPPED = LineRule(
    r"(?i)\bpmap(?:s|ped|ping|-\w+)?\b|\bpmap\(",
    "pmap-ing my train_step makes a huge allocation",
    needs=("pmap",),
)
OF_TF_DATA = LineRule(
    r"(?i)\btensorflow[_ ]datasets\b|\btfds\b|\btf\.data\b"
    r"|\b(?:import|from) tensorflow\b|\btensorflow data\b",
    "I load data with tensorflow_datasets",
    needs=("tensorflow", "tfds", "tf.data"),
)
JIT_ENDS_IT = LineRule(
    r"(?i)(?:@|\b(?:with|put(?:ting)?|add(?:ing)?|us(?:e|ing)|decorat\w+|wrap\w*|insid?e?)\b[^.\n]{0,40}?)"
    r"[`'(]?@?(?:(?:jax|eqx|nnx|nn)\.)?(?:filter_)?jit\b(?:\.(?=\w)|[^.\n]){0,60}?"
    r"\b(?:(?:(?:does|do|did)(?: ?n['\u2019]?t| not)|no longer|not|never|stops?)"
    r" (?:grow|increas|leak|climb|ris|creep|happen|accumulat)\w*"
    r"|(?:stays?|is|remains?) (?:flat|constant|stable|(?:\w+ )?at \d+ ?(?:%|[MG]i?B?))"
    r"|keeps? (?:\w+ ){0,2}\d+ ?% (?:of )?(?:\w+ )?memory"
    r"|(?:goes|went) away|disappear\w*|vanish\w*|plug(?:s|ged) (?:it|this|the)"
    r"|(?:leak\w*|growth|problem|issue)s? (?:is|was|are) (?:gone|fixed|solved|over)"
    r"|no (?:more |such )?(?:leak|growth|increase)|fix(?:es|ed) (?:it|this|the))"
    r"|\bjitt?(?:ing|ed)\b[^.\n]{0,30}\b(?:(?:seem|appear)(?:s|ed)? to"
    r" (?:plug|fix|stop|cure|solve|end|prevent)|(?:plug|fixe|stop|cure|solve|end|prevent)s)"
    r" (?:it|this|that|the (?:\w+ )?(?:leak\w*|growth|problem|issue))\b"
    r"|(?:\b(?:not|never|no longer)|n['\u2019]t) (?:\w+ )?"
    r"(?:appear|happen|occur|leak|grow|increas|accumulat)\w*\b[^.\n]{0,24}"
    r"\b(?:when|if|with|under|inside|once)\b"
    r"(?:(?!\b(?:without|no|not|disabl\w*|remov\w*|outside)\b)[^.\n]){0,32}\bjit(?:ted|ting)?\b"
    r"(?!(?: \w+){0,2} (?:disabl\w*|off|removed|out)\b)",
    "jitting seems to plug the leakage",
    "With @jax.jit on rollout memory stays flat.",
    "wrapping the call in eqx.filter_jit fixes it",
    "If I use jit on the solver it does not leak",
    "# @jit   <- with it the leak is gone",
    "on my CPU it never grows when the update is jitted",
    "With jit at the loss it stays at 68% all the time",
    needs=("jit",),
)
"""Without jit it grows, and with jit it does not: what is compiled anew is inside of that call."""
_PROCESS = r"\b(?:same|one|this) (?:notebook|process|script|program|kernel)\b"
_MODEL_OF_TF = (
    r"\b(?:tf|keras|tensorflow)\b(?![ -]?3)(?!\.)[^.\n]{0,30}"
    r"\b(?:model|net|network|session|extractor|encoder|embedding)s?\b"
)
MODEL_BESIDE = LineRule(
    rf"(?i){_MODEL_OF_TF}[^.\n]{{0,40}}{_PROCESS}|{_PROCESS}[^.\n]{{0,60}}{_MODEL_OF_TF}",
    "a keras model sits in the same process and makes the embeddings",
    "In the same script there is a TensorFlow model for the labels",
    needs=("tf ", "keras", "tensorflow"),
)
"""Another framework's model computes in the process of a program of JAX, on the same GPU."""
"""TensorFlow is in the process, too."""
LONG_LOOP = LineRule(
    r"(?i)\b(?:lax\.)?(?:scan|fori_loop|while_loop|for[- ]loop)s?\b|\b\d[\d,]{2,8}k? (?:time ?)?steps\b"
    r"|\b(?:long|many) (?:rollouts?|trajector\w+|simulations?|unroll\w*|horizons?)\b"
    r"|\bunroll\w*\b|\bbackprop\w* through time\b|\bBPTT\b",
    "I simulate 10000 steps with lax.scan",
    "gradients of long rollouts",
    needs=(
        "scan",
        "loop",
        "steps",
        "rollout",
        "trajector",
        "simulation",
        "unroll",
        "horizon",
        "through time",
        "bptt",
    ),
)
TAKEN_GRADIENT = LineRule(
    r"(?i)\b(?:value_and_)?grad(?:s|ients?|ing)?\b|\bdifferentiat\w+|\bbackprop\w*|\bbackwards?(?: pass)?\b"
    r"|\breverse[- ]mode\b|\bvjp\b|\badjoint\b",
    "take jax.grad of the final loss",
    "when I differentiate through it",
    needs=("grad", "differentiat", "backprop", "backward", "reverse", "vjp", "adjoint"),
)
ATTENTION = LineRule(
    r"(?i)\battention\b|\btransformers?\b|\bLLMs?\b|\bGPT\b|\bT5\b|\bBERT\b|\bgemma\b|\bllama\b|\bmistral\b",
    "my flax transformer at length 16384",
    needs=("attention", "transformer", "llm", "gpt", "t5", "bert", "gemma", "llama", "mistral"),
)
FUSED_ATTENTION = LineRule(
    r"(?i)\b(?:flash_?attention|splash_?attention|memory_efficient_attention|ring_?attention)\w{0,30}\("
    r"|\b(?:import|from)\b[^\n]{0,80}\b(?:flash|splash|ring)_?attention"
    r"|\bimplementation ?= ?['\"](?:cudnn|flash)"
    r"|\b(?:use_)?(?:flash|splash)_?(?:attention|attn)?['\"]? ?[=:] ?True\b"
    r"|\battention\w{0,12} ?[=:] ?['\"]?(?:flash|splash|cudnn_flash)"
    r"|\b(?:with|using|use|uses|enabled?|the) (?:pallas )?(?:flash|splash)[- _]?attention\b"
    r"(?! (?:would|could|should|might))",
    "from jax.experimental.pallas.ops.tpu import flash_attention",
    "out = flash_attention(q, k, v, causal=True)",
    "attention='cudnn_flash_te'",
    "I train with flash attention at length 32k",
    needs=("attention", "attn", "cudnn", "flash", "splash"),
)
"""Attention that never holds its scores whole is used already."""
RECOMPUTING = LineRule(
    r"(?i)\bremat\b|\bjax\.checkpoint\b|\bgradient checkpointing\b|\brematerial\w+",
    "Can remat be applied to these models?",
    needs=("remat", "checkpoint"),
)
FORWARD_FITS = LineRule(
    r"(?i)\b(?:forward|inference)\b[^.\n]{0,60}\b(?:fits?|fine|works?|runs|ok|enough)\b"
    r"|\b(?:fits?|fine|works?|runs)\b[^.\n]{0,40}\b(?:without (?:the )?grad\w*|forward (?:pass )?only)\b"
    r"|\b(?:no|without|any|lost its|loses its) effect\b[^.\n]{0,30}"
    r"\b(?:gradients?|grad|differentiat\w+|backward|reverse[- ]mode)\b"
    r"|\bgrad\([^#\n]{0,80}#[^\n]{0,30}\b(?:dies|fails|OOMs?|out of memory|runs out|crash\w*)\b",
    "The forward pass fits easily in 8GB",
    "batch_size has no effect once I take the gradient",
    "jax.grad(loss)(x, y)   # dies",
    needs=("forward", "inference", "without", "effect", "grad("),
)
"""What runs without its gradient."""
BEFORE_SHARDING = LineRule(
    r"(?i)\b(?:init\w*|creat\w+|mak\w+|build\w*|load\w*)\b[^.\n]{0,80}\bbefore\b[^.\n]{0,30}\bshard",
    "init_fn runs OOM on GPU 0 before anything is sharded",
    needs=("shard",),
)
JOINED_TO_ITSELF = LineRule(
    r"(?<![\w.])(?P<name>[A-Za-z_]\w{0,40}) ?= ?(?:jnp|np)\.(?:concatenate|append|vstack|hstack)\("
    r"\s*[\[(]?\s*(?P=name)\b",
    "xs = jnp.concatenate([xs, new[i]])",
    needs=("concatenate(", "append(", "stack("),
)
"""An array is joined to itself, a copy at each turn."""
ACCUMULATING = LineRule(
    r"(?i)\bgradient accumulation\b|\baccumulat\w+\b[^.\n]{0,60}\b(?:micro[- ]?batch\w*|batches|gradients?)\b"
    r"|\bmicro[- ]?batch(?:es|ing)?\b",
    "I accumulate over 8 micro batches with lax.scan",
    needs=("accumulat", "micro"),
)
ALL_EDGES = LineRule(
    r"(?i)\b\d[\d.,]*[ ]?(?:k|M|B|million|billion)?[ ](?:nodes|edges)\b",
    "Our graph has 3M nodes and 120M edges",
    needs=("nodes", "edges"),
)
PARTICLES = LineRule(
    r"(?i)\bjax[-_ ]?md\b|\bmolecular dynamics\b|\bneighbou?r[-_ ]?lists?\b|\bneighbou?r_(?:list_)?fn\b",
    "I use JAX MD to simulate 30k particles",
    "Out of memory when the neighbor list is made",
    needs=("jax", "molecular", "neighbo"),
)
"""Particles are simulated, which may act on one another."""
PARTICLE_COUNT = LineRule(
    r"(?i)(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d{3,8}|\d{1,4}(?:\.\d)? ?(?:k|M|million|thousand))"
    r"[ -](?:\w+ )?(?:atoms?|particles?|nodes|bodies|beads)\b"
    r"|(?:#|\bnumber) ?(?:of )?(?:atoms|particles) ?(?:=|:|is) ?(?:\d{1,3}(?:,\d{3})+|\d{3,8})\b",
    "a solvated system of 40k atoms",
    "just 60,000 particles",
    "a larger system (# atoms = 25000)",
    needs=("atom", "particle", "nodes", "bodies", "beads"),
)
"""How many there are."""
UNROLLED = LineRule(
    r"(?i)\bunroll\w*\b|\bpython (?:for[- ])?loop\b|\bfor[- ]loop (?:over|of)\b"
    r"|\A\s+for \w+ in range\([1-9][\d_]{2,8}\):",
    "    for i in range(3000):",
    "jit of a python loop over 2000 steps",
    needs=("unroll", "loop", "range("),
)
LOOP_IS_UNROLLED = LineRule(
    r"(?i)\bunroll\w*,? (?:\w+ )?(?:for[- ])?loops?\b"
    r"|\bunrolls? (?:the|my|a|this) (?:\w+ )?(?:for[- ])?loop\b"
    r"|\bloops? (?:\w+ ){0,2}?(?:is|are|gets?|being|was|were) (?:\w+ )?unrolled\b",
    "jit of an unrolled for loop needs all of my RAM",
    "the loop gets unrolled when it is traced",
    needs="unroll",
)
MORE_STEPS_FAIL = LineRule(
    r"(?i)\b(?:fails?|crash(?:es)?|out[- ]of[- ]memory|OOM)\b[^.\n]{0,80}\b(?:longer|more|many|\d{2,4})"
    r" (?:lead[- ]?times?|forecasts?|steps|days|rollouts?|leads?)\b",
    "it fails with an OOM when I predict over a longer lead time",
    "out of memory with more steps",
    needs=("lead", "forecast", "steps", "days", "rollout"),
)
"""Few steps of a forecast fit, and more do not."""
SHARDED_ALREADY = LineRule(
    r"(?i)\bsharded (?:the |all )?(?:model )?(?:param\w*|weights|model)\b"
    r"|\b(?:param\w*|weights|model) (?:is|are|was|were) (?:already |now |all )?sharded\b",
    "Loaded and sharded model parameters",
    "my weights are sharded over 8 devices",
    needs="sharded",
)
"""Weights lie in parts on the devices."""
SHARES_RAM = LineRule(
    r"\b(?:barely|hardly|none|not|no|never|little|without)\b[^.\n]{0,40}\bGTT\b"
    r"|\bGTT\b[^.\n]{0,50}(?:\b(?:not|unused|never|idle|empty|ignored|untouched)\b|n't\b)",
    "hardly any of the GTT is in use",
    "it fills VRAM, and GTT stays empty",
    needs="GTT",
)
"""RAM that a GPU of AMD's without memory of its own may map, beside the part that is its own."""
COMPILING = LineRule(
    r"(?i)\bcompil(?:e|es|ing|ation|er)\b[^.\n]{0,80}\b(?:RAM|memory|GB|minutes|hours|swap\w*)\b",
    "Compile takes 20 minutes and 120GB RAM",
    needs=("compil",),
)
SET_IN_VAIN = LineRule(
    r"(?i)\bXLA_PYTHON_CLIENT_(?:PREALLOCATE|MEM_FRACTION|ALLOCATOR)\b[^\n]{0,160}?"
    r"(?:\b(?:nothing|none of \w{1,10}) (?:is |seems to )?(?:work|help)\w*|(?:\bnot|n't) (?:\w{1,12} ){0,2}?"
    r"(?:work|help|honou?red|respected|change|have (?:any|an) effect|taken into account)\w*"
    r"|\bno (?:\w{1,12} )?(?:effect|difference|change)\b|\bignored\b"
    r"|\bstill (?:pre-?)?(?:allocat|reserv|tak|us)\w*)"
    r"|\b(?:pre-?allocat\w+|allocation settings?|XLA_PYTHON_CLIENT_\w{1,20})\b[^\n]{0,60}"
    r"(?:\b(?:does|do|did|is|are) ?(?:not|n't)|\bnot) (?:work|honou?red|respected)\w*"
    r"|\bJAX\b[^\n]{0,40}\b(?:memory|allocation) settings? (?:is |are )?ignored\b",
    "I tried `XLA_PYTHON_CLIENT_PREALLOCATE=false`, but nothing is working",
    "XLA_PYTHON_CLIENT_PREALLOCATE=false is not honored anymore",
    "JAX GPU memory allocation settings ignored on Colab",
    "[BUG] Setting preallocation to false not work",
    needs=("xla_python_client", "allocat"),
)
"""A setting of JAX's pool does nothing, as the text says."""
PREALLOCATING = LineRule(
    r"(?i)\bJAX\b[^.\n]{0,60}\bpre-?allocat\w+\b",
    "Notice that JAX will preallocate 90% of the GPU memory",
    "By default JAX pre-allocated a huge amount of the GPU memory",
    needs="allocat",
)
PART_OF_A_GPU = LineRule(
    r"(?<![\w./])\d{1,3}(?:\.\d{1,2})? ?(?:GB|GiB|G) ?(?:/|of|out of) ?\d{1,3}(?:\.\d{1,2})? ?(?:GB|GiB|G)\b"
    r"(?! (?:of )?(?:system |host |CPU )?(?:RAM|swap|disk|data))",
    "RTX 2080 Ti: 8G/11G",
    "nvidia-smi shows 11.3G/15G in use",
    "it takes 36 GB of 48 GB on an A6000",
    needs=("g/", "gb/", "gib/", "g of", "gb of", "gib of", "g /", "gb /", "gib /", "g out", "gb out"),
)
"""How much of a whole is in use, both in words of a person."""
GROWTH_OF_TENSORFLOW = LineRule(
    r"\bset_memory_growth\b|\ballow_growth\b|\bTF_FORCE_GPU_ALLOW_GROWTH\b",
    "the code calls tf.config.experimental.set_memory_growth(gpu, True)",
    needs="growth",
)
"""TensorFlow's switch, which another framework in the same process does not read."""
GROWS_WITH_A_RELEASE = LineRule(
    r"(?i)\b(?:with|on|in|under) (?:\w+ )?`?jax(?:lib)?`?(?:==| v?| version )\d+\.\d+\.\d+\b[^\n]{0,60}"
    r"(?<!not )(?<!never )(?<!no longer )\b(?:grows?|(?:go(?:es)?|going) up|increas(?:es|ing)|leaks"
    r"|climbs)\b",
    "With jax==0.2.12, jaxlib==0.1.65 on the other hand the numbers go up",
    "under jax 0.4.31 memory grows",
    needs="jax",
)
"""One release of JAX is told to be the one under which memory grows."""
RENDERS_IN_CHUNKS = LineRule(
    r"(?i)\brender(?:ing|s|ed)?[_ ](?:in )?chunks?(?:_size)?\b"
    r"|\bchunk \d{1,5} ?/ ?\d{1,5}\b[^.\n]{0,20}\brender",
    "Rendering chunk 0/47",
    "Config.render_chunk_size = 16384",
    needs="chunk",
)
"""Whole pictures are rendered, some rays at a time."""
SET_AFTER_IMPORT = LineRule(
    r"(?i)\bafter (?:the |you |we )?(?:`{1,2})?import(?:s|ing|ed)?(?:`{1,2})? (?:of )?`{0,2}jax\b",
    "this line of code is after `import jax`",
    needs="import",
)
SET_IN_A_SHELL = LineRule(
    r"(?:\A|[\s`(])! ?export XLA_PYTHON_CLIENT_",
    "!export XLA_PYTHON_CLIENT_PREALLOCATE=false",
    needs="export",
)
"""A notebook's `!` begins a shell that ends with its line."""
UNIFIED = LineRule(
    r"(?i)\bunified[- _]memory\b|\bTF_FORCE_UNIFIED_MEMORY\b",
    "I use unified memory on an A100",
    needs=("unified",),
)
"""The GPU takes host RAM, too, so that its pool may be larger than it is."""
_IS_WELL = (
    r"(?<!not )(?<!n't )(?<!longer )(?<!never )\b(?:works?|worked|runs|solved|fixed|resolved|gone|fine"
    r"|disappeared)(?: \w+){0,2}"
)
UPDATED = LineRule(
    rf"(?i)\A(?![^\n]*{_IS_WELL} (?:after|since)\b)(?:"
    r"[^\n]*?\b(?:after|since) (?:I |we )?(?:\w+ ){0,2}(?:re-?install|upgrad|updat)\w* "
    r"(?:of |to |my |the |our |all ){0,3}"
    r"(?:(?:new|latest|newest|jax|jaxlib|flax|cuda|libtpu|torch|torch_xla|numpyro|optax|version|release"
    r"|driver)(?:s\b|\b)|\S{1,30} (?:to|from) v?\d)"
    r"(?![^\n]{0,120}\b(?:works?|solve[sd]?|fix(?:es|ed)|fine|gone)\b)"
    r"|[^.\n]{0,120}\bafter (?:the |an? |recent )?(?:update|upgrade|re-?install)\w*\W*\Z)",
    "After re-installing JAX for CUDA I get the following error",
    "since upgrading to the latest jaxlib it dies",
    "# OOM after update",
    needs=("install", "upgrad", "updat"),
)
"""It began with another release, whichever."""
POOL_TRIED = LineRule(
    r"(?i)\b(?:us(?:e|ed|ing)|with|sett?(?:ing)?|tried|passing)\b[^.\n]{0,30}"
    r"\b(?:mem\w*|men|pre)[-_ ]?\w{0,12}alloc\w*\W{0,3} ?(?:flag|option|variable|setting)s?\b",
    "Using `mem_allocate` flag it starts but runs OOM",
    needs=("alloc",),
)
"""A flag of the pool was tried, as the text says without its name."""
_VERSIONED = r"(?:cuda|driver|cudnn|cusolver|cublas|jaxlib|toolkit)"
_NO_MATCH = r"(?:incompatib\w+|mismatch\w*|not compatible|(?:does|do)(?: not|n't) match)"
VERSIONS = LineRule(
    rf"(?i)\A(?!.*\b(?:no|without|rules? out|not an?|fix(?:es|ed)?)\b[^.\n]{{0,30}}\b{_NO_MATCH}\b)[^\n]*?"
    rf"(?:\b{_NO_MATCH}\b[^.\n]{{0,60}}\b{_VERSIONED}\b|\b{_VERSIONED}\b[^.\n]{{0,60}}\b{_NO_MATCH}\b)",
    "This is probably related to having an incompatible version of CUDA in your environment.",
    "The driver and the CUDA toolkit of the image do not match.",
    needs=("incompatib", "mismatch", "not compatible", "match"),
)
"""Versions of CUDA, its libraries or the driver that do not go together, in a writer's words."""
_MATCHED = r"(?:(?:re-?)?install|updat|upgrad|downgrad|switch|chang)\w*"
_OF_THE_GPU = r"(?:drivers?|cuda\w*|cudnn\w*|cublas\w*)\b"
OTHER_VERSIONS_CURED = LineRule(
    rf"(?i)\A(?![^\n]*(?:\?|\b(?:not|n't|never|hop(?:e|ing)|if|would|will|should|try|until|but)\b))[^\n]*?"
    rf"(?:{_IS_WELL}(?: \w+)? (?:after|by|when|once|with|since)\b[^.\n]{{0,30}}\b{_MATCHED}[^.\n]{{0,40}}?"
    rf"\b{_OF_THE_GPU}"
    rf"|\b{_MATCHED}[^.\n]{{0,40}}?\b{_OF_THE_GPU}[^\n]{{0,40}}"
    r"\b(?:works|worked|solved|fixed|resolved|did the trick|helped)\b)",
    "it runs after I updated the driver to 390.30!",
    "Downgrading cuDNN to 7.0.5 solved it for me",
    needs=("driver", "cuda", "cudnn", "cublas"),
)
"""Another driver or another release of a library ended the failure, in its writer's words."""
NEEDS = LineRule(
    r"(?i)\b(?:OOM\w*|out of memory|fail\w*|crash\w*)\b[^\n]{0,80}\b(?:requir\w+|need(?:s|ed|ing)?)\b"
    r"[^.\n]{0,12}?(?P<size>\d{1,4}(?:\.\d{1,2})?) ?(?P<unit>[GT])i?b\b",
    "`--remat --dropout` OOMs again, requiring ~118Gb of GPU RAM",
    needs=("requir", "need"),
)
"""How much a run that fails needs, in its writer's words."""
OOM_AT_COMPILATION = LineRule(
    r"(?i)\b(?:OOMs?|out[- ]of[- ]memory|RESOURCE_EXHAUSTED|resource exhausted)\b[^.\n]{0,40}"
    r"\b(?:at|on|during|while|when|in)\b[^.\n]{0,16}\b(?:compil\w+|lowering)"
    r"|\bcompil(?:ation|ing|e|es)\b[^.\n]{0,40}\b(?:OOMs?|(?:runs|ran|run) out of (?:memory|HBM)"
    r"|out[- ]of[- ]memory|exceed\w* HBM)\b",
    "I get an OOM at compilation, about 1 GB over",
    "the compilation runs out of HBM",
    needs=("compil", "lowering"),
)
"""A program is said not to fit when it is compiled."""
COLLECTIVES = LineRule(
    r"could not allocate collective of size|collective memory space|xla_gpu_enable_nccl_user_buffers",
    "stream_executor_allocator.cc:66] could not allocate collective of size: 9663676416",
    needs=("collective", "user_buffers"),
)
"""XLA asks NCCL for the buffers of collective operations, outside of its own pool."""
COMPARED_BETWEEN_PROCESSES = LineRule(
    r"\bmultihost_utils\b[^\n]{0,60}\b(?:assert_equal|process_allgather|broadcast_one_to_all)\b"
    r"|\bassert_equal\b[^\n]{0,40}\bprocess_allgather\b"
    r"|\bin (?:assert_equal|process_allgather|_handle_array_process_allgather|broadcast_one_to_all)\b",
    "Stack trace shows `multihost_utils.assert_equal -> process_allgather`",
    'File "jax/experimental/multihost_utils.py", line 132, in process_allgather',
    needs=("assert_equal", "process_allgather", "broadcast_one_to_all"),
)
"""A value of this host is compared with, or gathered from, those of all other processes."""
SIMULATED = LineRule(
    r"\bxla_force_host_platform_device_count[=\s]",
    'os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=16"',
    needs="force_host_platform",
)
"""The CPU plays several devices."""
WAS_BEFORE = LineRule(
    r"\b(?:[Cc]hanged|[Rr]aised|[Ii]ncreased|[Ss]et|[Bb]umped|[Ss]witched)\s+`?(?P<name2>[a-z]\w*_\w{1,40})`?"
    r" from `?(?P<was2>\w[\w.-]{0,30}?)`? to `?\w|"
    r"\b(?P<name>[a-z_]\w{1,40}) ?= ?[`'\"]?\w[\w.-]{0,30}[`'\"]? \((?:it )?(?:was|before|previously"
    r"|formerly|used to be):? [`'\"]?(?P<was>\w[\w.-]{0,30})[`'\"]?\)",
    'attn_mechanism="sdpa" (was "flash")',
    "I changed num_slices_per_block from 16 to 127",
    needs=(
        " from ",
        *("(was ", "(it was ", "(before", "(previously", "(formerly", "(used to be"),
    ),
)
"""A setting that had another value in the run before."""
TABLE_BEFORE = LineRule(
    r"(?i)\bnvidia-smi\b[^\n]{0,40}\b(?:before|prior to) (?:I|we|it|the (?:run|script|program|training|job)"
    r"|my (?:run|script|program|training|job)|start\w*|running|launch\w*)\b"
    r"|\b(?:before|prior to) (?:I start|we start|start\w*|running|launch\w*|the (?:run|start)|running it)\b"
    r"[^\n]{0,40}\bnvidia-smi\b",
    "nvidia-smi, before I start:",
    "Before starting the script nvidia-smi says",
    needs="nvidia-smi",
)
"""A table of the GPUs is from before the run."""
PRINTED = LineRule(
    r"\A\s*(?:Out\[\d+\]: ?)?(?:Array|DeviceArray)\(\[*-?\d",
    "Array([[1., 1.], [1., 1.]], dtype=float32)",
    needs="Array(",
)
"""An interpreter prints a result of JAX."""
CHECKPOINT_READ = LineRule(
    r"/checkpoint/read/[^\n]{0,80}\btotal bytes: (?P<size>\d{1,5}(?:\.\d{1,2})?) (?P<unit>[KMGT]iB)\)",
    "[process=0] /jax/checkpoint/read/bytes_per_sec: 1.0 GiB/s (total bytes: 10.9 GiB) (time elapsed: 10 s)",
    needs="/checkpoint/read/",
)
"""Orbax says how large the checkpoint is that it has read."""
LAST_BATCH = LineRule(
    r"(?i)\b(?:only|just|always)\b[^.\n]{0,30}\b(?:on|at|in|for|with) the (?:very )?last batch\b"
    r"|\b(?:the |its )?last batch\b[^.\n]{0,20}"
    r"\b(?:is (?:smaller|shorter|not full|partial)|has (?:only )?\d+)\b"
    r"|\bthe \d{1,6}(?:th|st|nd|rd) (?:batch )?(?:has|is) (?:only )?\d+ (?:examples|samples|images|rows)\b",
    "RESOURCE_EXHAUSTED only on the last batch",
    "249 batches of 1024 are ok, the 250th has 424 examples",
    needs=("last batch", "examples", "samples", "images", "rows"),
)
"""It fails with a batch of another size, the last one."""
AT_VALIDATION = LineRule(
    r"(?i)\b(?:OOMs?|out of memory|fails?|crash\w*|dies)\b[^.\n]{0,24}"
    r"\b(?:only )?(?:when|while|as soon as|once|during|at|in) (?:the )?(?:first )?"
    r"(?:validation|evaluation|eval\b|sampling images|inference)"
    r"|\A\W{0,3}Rendering chunk \d+/\d+",
    "OOM only when validation runs at step 500",
    "Rendering chunk 0/47",
    needs=("validation", "eval", "sampling", "inference", "rendering chunk"),
)
"""It fails when something is validated between training steps."""
FULL_GUIDE = LineRule(
    r"\bAuto(?:MultivariateNormal|LaplaceApproximation)\b|(?i:\bfull[- ](?:rank|covariance) guide\b)",
    "SVI with an AutoMultivariateNormal guide",
    needs=("automulti", "autolaplace", "guide"),
)
"""A guide with a covariance of all latent values by all latent values."""
RESUMING = LineRule(
    r"(?i)\b(?:when|after|once|as soon as|if)\b[^.\n]{0,20}"
    r"\b(?:I |we |it )?(?:try to )?resum(?:e|es|ed|ing)\b"
    r"|\bresum(?:e|es|ed|ing)\b[^.\n]{0,40}\b(?:checkpoint|OOMs?|out of memory)\b",
    "When I RESUME from my checkpoint it OOMs",
    needs=("resum",),
)
"""It fails when a run is resumed."""
WORKS_WITH = LineRule(
    r"(?i)(?<!not )\b(?:with|(?:after |when |once )?(?:I )?set(?:ting)?) `?(?:XLA|TF|JAX|LIBTPU)_\w+=\S+"
    r"[^.\n]{0,12}\b(?:it|everything|the same|all|(?:the|my) (?:program|script|code|model))\b"
    r"[^.\n]{0,20}\b(?:works?|runs? (?:fine|through|well|perfectly)|fits|(?:gets|goes) through|succeeds"
    r"|trains)\b"
    r"|(?<!not )\bwith `?[a-z_]\w{2,40}(?:\.\w{2,40}){0,2}\((?:\w{1,20}=)?\d{1,6}\)`?[^.\n]{0,40}"
    r"\b(?:works|runs (?:fine|through|well)|fits|gets through|goes through|succeeds)\b(?! (?:until|for))",
    "With XLA_PYTHON_CLIENT_MEM_FRACTION=1.0 it gets through all ten.",
    "After setting XLA_PYTHON_CLIENT_MEM_FRACTION=0.87 the program runs perfectly",
    "With set_mixed_map_iters(8) and one GPU it is slow, but works.",
    needs=("ith ", "set"),
)
"""The writer has found a setting that helps."""
SCORES_IN_CODE = LineRule(
    r"einsum\(\s*[\"'](?P<first>\.{3}|[a-z])[a-z]*q[a-z]*,\s*(?P=first)[a-jl-z]*k[a-z]*\s*->"
    r"\s*[a-z.]*(?:qk|kq)[\"']",
    's = jnp.einsum("bhqd,bhkd->bhqk", q, k)',
    "s = jnp.einsum('...qhd,...khd->...hqk', q, k)",
    needs="einsum",
)
"""Code makes attention scores whole."""
STORED_BACKWARD = LineRule(
    r"(?i)\b(?:reverse[- ]mode|backwards?(?: pass)?|back-?prop\w*|autodiff\w*|(?:the|a) gradients?"
    r"|differentiation)\b[^.;\n]{0,60}?\b(?:store|keep|save|hold|retain)s?\b[^.;\n]{0,30}"
    r"\b(?:intermediate|activations?|residuals?|all (?:the )?(?:steps|values|iterations|results))\b",
    "reverse mode keeps every intermediate result",
    "the backward pass has to store all the intermediate values",
    needs=("reverse", "backward", "backprop", "back-prop", "autodiff", "gradient", "differentiation"),
)
"""Its writer knows that the backward pass stores what the forward one makes."""
SAMPLED_IN_PARTS = LineRule(
    r"(?i)\bpost_warmup_state\b(?! ?\()"
    r"|\b(?:implement\w*|add(?:ed|ing)|tried|us(?:e|ed|ing)) (?:\w+ )?batching\b"
    r"|\b(?:samples?|sampling|draws?|runs?|MCMC) (?:\w+ ){0,2}?in (?:several |small |\d+ )?"
    r"(?:batches|parts|chunks)\b",
    "I have implemented batching of the chains",
    "it samples in 4 batches",
    "going on from mcmc.post_warmup_state",
    needs=("post_warmup", "batch", "parts", "chunks"),
)
"""Draws that are made in parts already."""
MORE_THAN = LineRule(
    r"(?i)\b(?:more|higher|larger|greater|twice|double|triple|\d{1,3}(?:\.\d)? ?x|times)"
    r" (?:(?:as|much|more|the|GPU|peak|device|CPU|host) ){0,3}memory\b[^.\n]{0,60}?\bthan\b"
    r"(?!\W+expected)|\b(?:memory|VRAM)\b (?:\w+ ){0,4}(?:more|higher|larger|bigger|greater) than\b"
    r"(?! (?:expected|needed|necessary|(?:my|the) (?:GPU|card|machine)|available|I have|it (?:has|should)))",
    "nn.scan leads to much higher memory usage than a loop that is unrolled",
    "the step with nnx.jit consumes twice memory than its plain form",
    "its GPU memory usage is significantly larger than that of PyTorch",
    needs=("memory", "vram"),
)
"""One form of a program takes more memory than another."""
DONATING = LineRule(
    r"(?i)\bdonat(?:e|es|ed|ing|ion)\b|\bdonate_arg(?:num|name)s\b",
    "step = jax.jit(step, donate_argnums=0)",
    "does a jitted loop know to donate its buffer?",
    needs="donat",
)
CONVERTING_WEIGHTS = LineRule(
    r"(?i)\b(?:checkpoint|model|weights?|params) (?:format )?conver(?:sion|ter|ting)\b"
    r"|\bconver(?:t|ts|ted|ting|sion)\b[^.\n]{0,60}\b(?:checkpoints?|ckpts?|weights|safetensors|orbax"
    r"|hugging ?face|maxtext|pytorch)\b"
    r"|\b(?:to_hf_weights|to_maxtext|to_huggingface|convert_\w{0,40}(?:ckpt|checkpoint|weights)\w{0,20}"
    r"|llama_or_mistral_ckpt)\b",
    "The checkpoint conversion of a 70B model runs out of RAM",
    "converting the weights to safetensors",
    'File "to_hf_weights.py", line 21, in <module>',
    "python -m maxtext.checkpoint_conversion.to_maxtext",
    needs=("conver", "to_hf_", "to_maxtext", "to_huggingface", "mistral_ckpt"),
)
"""Weights are brought into another form."""
FIGURES_COMPARED = LineRule(
    r"(?i)\bpeak (?:memory|usage)\b[^\n]{0,12}?\d[\d.,]* ?[KMG]i?B\b",
    "- jitted loop = peak memory: 2765.12 MiB, increment: 2290.14 MiB",
    needs="peak",
)
AT_A_STAGE = LineRule(
    r"(?i)\b(?:spikes?|jumps?|peaks?|OOM\w*|killed|dies|crash\w*)\b[^.\n]{0,60}?"
    r"\b(?P<stage>(?:upon|when|once|as soon as|right after) (?:(?:it|the \w+|sampling|training)"
    r" (?:has |is )?)?(?:reach|finish|hit|end|collect|conver[st]|summar|return|terminat|complet|done\b)"
    r"[^.,;\n]{0,60})",
    "Spike in memory and OOM kill upon reaching the last sample",
    "It is killed once sampling has finished",
    needs=("upon", "when", "once", "as soon", "right after"),
)
"""When it happens, in its writer's words."""
STACKED = LineRule(
    r"(?i)\b(?:lax\.scan|scan)\b[^.\n]{0,40}\b(?:stack(?:s|ed|ing)?|collects?|returns? (?:a |the )?"
    r"(?:huge|big|large|whole|full))\b"
    r"|\bscan\b[^.\n]{0,40}\b(?:per|each|every)[- ]step (?:history|outputs?|states?)\b",
    "`lax.scan` stacks positions and fields of every step",
    "a scan that returns a huge array",
    needs="scan",
)
"""What a scan gives back of each step is stacked."""
COMPILED_TAKE = LineRule(
    r"(?i)\b(?:compiled|jitted) (?:functions?|programs?|code|kernels|executables)\b[^.\n]{0,30}"
    r"\b(?:take|fill|occupy|consume|eat|use|stay|remain|kept|keep)s?\b[^.\n]{0,40}\b(?:memory|RAM)\b"
    r"|\baccumulat\w+ (?:\w+ ){0,2}(?:compil\w+|executables|programs)\b",
    "the compiled functions take up a significant chunk of memory",
    "the process accumulates XLA compilation memory",
    needs=("compil", "jitted", "accumulat"),
)
"""Programs that are compiled fill memory, as the writer found."""
HOW_TO_MEASURE = LineRule(
    r"(?i)\b(?:ways?|how|methods?|possible|tools?)\b[^.?\n]{0,30}\b(?:to|can|do|for)\b[^.?\n]{0,20}"
    r"\b(?:monitor|measur|trac[ek]|profil|know|determin|find out|estimat)\w*\b[^.?\n]{0,30}\bmemory\b",
    "Is there a way to monitor memory usage programmatically in jax?",
    "Is there a more direct way to know how much memory is required?",
    needs="memory",
)
COMPLEXITY = LineRule(
    r"(?i)\b(?:space|memory) complexity\b",
    "the gradient has no constant space complexity",
    needs="complexity",
)
TOLD_OF_JAX = {
    "jax: stored by the backward pass": STORED_BACKWARD,
    "jax: sampling in parts": SAMPLED_IN_PARTS,
    "jax: more memory than": MORE_THAN,
    "jax: donation in words": DONATING,
    "jax: figures compared": FIGURES_COMPARED,
    "jax: converting weights": CONVERTING_WEIGHTS,
    "jax: complexity of memory": COMPLEXITY,
    "jax: stacked by a scan": STACKED,
    "jax: programs take memory": COMPILED_TAKE,
    "jax: asks how to measure": HOW_TO_MEASURE,
    "ended at a stage": AT_A_STAGE,
    "jax: scores in code": SCORES_IN_CODE,
    "works with a setting": WORKS_WITH,
    "jax: a full guide": FULL_GUIDE,
    "jax: resuming": RESUMING,
    "jax: a last batch": LAST_BATCH,
    "jax: at validation": AT_VALIDATION,
    "jax: simulated devices": SIMULATED,
    "jax: buffers of collectives": COLLECTIVES,
    "jax: compared between processes": COMPARED_BETWEEN_PROCESSES,
    "jax: OOM at compilation": OOM_AT_COMPILATION,
    NEEDED_IN_WORDS: NEEDS,
    "jax: a flag of the pool tried": POOL_TRIED,
    "versions that do not match": VERSIONS,
    "other versions cured": OTHER_VERSIONS_CURED,
    "jax: updated before": UPDATED,
    "jax: unified memory": UNIFIED,
    "jax: a setting in vain": SET_IN_VAIN,
    "jax: preallocating": PREALLOCATING,
    "part of a GPU in use": PART_OF_A_GPU,
    "growth of TensorFlow": GROWTH_OF_TENSORFLOW,
    "rendering in chunks": RENDERS_IN_CHUNKS,
    "jax: grows with a release": GROWS_WITH_A_RELEASE,
    "jax: set after the import": SET_AFTER_IMPORT,
    "jax: set in a shell of its own": SET_IN_A_SHELL,
    "jax: the forward pass fits": FORWARD_FITS,
    "jax: before sharding": BEFORE_SHARDING,
    "jax: joined to itself": JOINED_TO_ITSELF,
    "jax: accumulating": ACCUMULATING,
    "jax: particles": PARTICLES,
    "jax: number of particles": PARTICLE_COUNT,
    "jax: nodes and edges": ALL_EDGES,
    "jax: unrolled": UNROLLED,
    "jax: a loop is unrolled": LOOP_IS_UNROLLED,
    "jax: weights are sharded": SHARDED_ALREADY,
    "jax: more steps fail": MORE_STEPS_FAIL,
    "jax: RAM of a GPU without memory": SHARES_RAM,
    "a cell for each step": CELLS,
    "jax: compiling": COMPILING,
    "jax: closed over": CLOSED_OVER,
    "jax: a matrix of derivatives": DERIVATIVE_MATRIX,
    "jax: a matrix of pairs": KERNEL_MATRIX,
    "jax: pairs by broadcasting": BROADCAST_PAIRS,
    "jax: pairs in words": PAIRS_IN_WORDS,
    "jax: a factorization": FACTORIZATION,
    "jax: values kept": KEPT_VALUES,
    "jax: static arguments": STATIC,
    "jax: new shapes": NEW_SHAPES,
    "jax: recompiling": RECOMPILING,
    "a flag in vain": FLAG_IN_VAIN,
    "one model wrapped": WRAPPED_MODEL,
    "jax: compiled at many steps": COMPILED_AT_STEPS,
    "jax: restoring": RESTORING,
    "jax: loading a model": LOADING_A_MODEL,
    "jax: data on the device": DATA_ON_DEVICE,
    "jax: twice": TWICE,
    "jax: 64 bits": DOUBLE_PRECISION,
    "jax: batch of a device": PER_DEVICE_BATCH,
    "jax: pmap": PMAPPED,
    "jax: TensorFlow beside": OF_TF_DATA,
    "jax: a model of TensorFlow beside": MODEL_BESIDE,
    "jax: jit ends it": JIT_ENDS_IT,
    "jax: a checkpoint read": CHECKPOINT_READ,
    "jax: a printed result": PRINTED,
    "a table of before": TABLE_BEFORE,
    "jax: another value before": WAS_BEFORE,
    "jax: a long loop": LONG_LOOP,
    "jax: a gradient": TAKEN_GRADIENT,
    "jax: attention": ATTENTION,
    "jax: recomputing": RECOMPUTING,
    "fused attention used": FUSED_ATTENTION,
}
"""By the fact's name: how a line tells it."""
