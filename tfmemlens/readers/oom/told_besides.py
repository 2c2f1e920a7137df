"""What the prose of a post tells besides its failure: what was tried, whose program it is, on what machine,
and what it was doing.
"""

from __future__ import annotations

from tfmemlens.model.capture import NEED_IN_WORDS, PYTORCH_ALONE
from tfmemlens.readers.oom.account import MEMORY_OF_A_NODE
from tfmemlens.readers.oom.growing_sizes import GROWING_WITH_A_SIZE
from tfmemlens.readers.oom.rules import LineRule

_BATCH = r"(?:mini-?)?batch(?:es\b|[- _]?sizes?\b)"
_RUNS = (
    r"(?:\A|[.!?;] )(?!(?:[^.!?;\n]|\.(?=\d)){0,200}"
    r"\b(?:works?|worked|(?:runs|ran)(?! out)|fits?|fine|ok|okay|helps?|trains|can|successful\w*)\b)"
    r"(?:[^.!?;\n]|\.(?=\d)){0,200}?"
)
"""From where a sentence begins that does not say that it runs."""
_ANY = (
    r"(?:regardless of|independent(?:ly)? of|irrespective of|no matter(?: how| what)?|what ?ever"
    r"|any(?= (?:\w+ )?batch(?:[- _]?sizes?)?\b(?!es)))"
)
BATCH_OF_ONE = LineRule(
    rf"(?i)(?:{_RUNS}\b{_BATCH}[`'\"]{{0,2}}\s{{0,24}}(?:=|:|->|is|was|of|to|at)?\s?"
    r"(?:(?:always|already|only|just|set|fixed|reduced|down|now) ){0,2}(?:to |at )?(?:1|one)\b"
    r"(?![.,/]?\d|[-:] ?\d))"
    rf"|(?:{_RUNS}\b{_BATCH} (?:of )?\d{{1,4}}(?:, ?\d{{1,4}}){{0,5}},? (?:and|or|then)"
    r" (?:with |even |also )?(?:1|one)\b(?![.,/]?\d))"
    rf"|(?:{_RUNS}\bbatch ?= ?1\b(?![.,]?\d))|\(batch(?:[- _]?size)? ?(?:=|of|is|:)? ?1\)"
    r"|\b(?:reduc|lower|decreas)\w* (?:the |my )?batch(?:[- _]?size)?\b[^.\n]{0,12}"
    r"\b(?:until|till|to|down to) (?:1|one)\b(?![.,/]?\d)"
    r"(?![^.!?\n]{0,60}\b(?:works?|worked|fine|helps?|fits)\b)"
    r"|\bone (?:image |sample |sequence |example |prompt )?(?:per|on each|for each) (?:TPU )?"
    r"(?:core|device|chip|GPU)\b"
    r"|\bbatch(?:[- _]?size)? (?:of )?(?:1|one) (?:per|on each|for each) (?:TPU )?(?:core|device|chip|GPU)\b"
    r"(?![^.!?\n]{0,60}\b(?:works?|worked|fine|helps?|fits)\b)"
    r"|\bwith (?:a )?batch (?:of )?1\b(?![.,/]?\d)"
    r"(?![^.!?\n]{0,60}\b(?:works?|worked|runs|fine|helps?|fits)\b)"
    r"|\bIMAGES_PER_GPU\b\s{0,24}(?:(?:=|:|is|was|to|already|set|at) ?){0,4}\s{0,4}1\b"
    r"|batch[- _]?size[^\n]{0,12}"
    r"(?:[\u8c03\u6539\u51cf\u8bbe\u964d][\u5c0f\u4f4e\u7f6e]?[\u5230\u6210\u81f3]|\u4e3a)"
    r"(?:\u4e86)? ?1(?!\d)",
    "Batch size is always 1.",
    "even with a batch size of 1 it fails",
    "BATCH_SIZE                     1",
    "IMAGES_PER_GPU = 1",
    "num_samples = 8 (one per core)",
    "max_length is 4096, batch 1 per device.",
    "IMAGES_PER_GPU is already 1.",
    "I set up batch = 1, 416x416",
    "How do I train this graph with batch 1 on several GPUs?",
    "The error comes with a batch size of 8, 4 and with 1 as well.",
    "All parameters are the defaults (batch 1).",
    "I tried to reduce the batch (until 1)",
    "with fp16 and batch size 1, but it still runs out of memory",
    "batch_size\u6211\u5df2\u7ecf\u8c03\u6210\u4e861",
    "batch size\u4e00\u76f4\u51cf\u5c0f\u5230 1",
    needs=("atch", "images_per", " per core", " per device", " per chip", " per gpu", "one "),
)
"""The text says that a batch is one sample."""
ANY_BATCH = LineRule(
    rf"(?i)\b{_ANY}\b[^.\n]{{0,40}}\b{_BATCH}"
    rf"|\b(?:not|n't|never) (?:\w+ ){{0,2}}(?:depend|rel(?:y|ies))\w* on\b[^.\n]{{0,60}}{_BATCH}"
    rf"|\bnot on\b[^.?!\n]{{0,60}}{_BATCH}"
    rf"|\b{_BATCH} (?:are|is|was|were) different\b[^.\n]{{0,80}}\b(?:same|alike|unchanged)\b"
    rf"|\b(?:same|identical(?:ly)?|alike)\b[^.\n]{{0,60}}\b(?:for|with|at|in)"
    rf" (?:all|every|each|different|other|various|both) (?:\w+ ){{0,2}}{_BATCH}"
    rf"|(?:\b|_){_BATCH} (?:ma(?:kes?|de) no difference|(?:has|have|had) no (?:effect|influence)"
    r"|do(?:es)?(?: not|n't) matter)"
    rf"\b|\b{_BATCH} \d{{1,4}}: (?:also |again )?(?:the )?same\b",
    "it happens regardless of the batch size",
    "Batch size 4: the same scan.",
    "memory does not depend on the batch size",
    "it depends on the number of files and not on `train_batch_size`",
    "the batch sizes are different, but the failing step is the same",
    "I get the same number of bytes for all batch sizes that I tried",
    "The batch size makes no difference.",
    "A smaller train_batch_size made no difference.",
    needs=("batch",),
)
"""The text says that the batch plays no part."""
_GOES_WELL = (
    r"(?:works?|worked|(?:runs?|ran)(?! out)|trains|trained|fits?|(?:is|are|was|were) (?:fine|ok(?:ay)?))\b"
    r"(?! (?:until|till|for a|a while|at first|only|on|with|in|if|when|under|using)\b)"
)
_SAYS_NOT = r"(?:\b(?:no|not|never|cannot|neither|nor)\b|n't\b|\?)"
LARGER_BATCH_RUNS = LineRule(
    r"(?i)\b(?:larger|bigger|greater|higher) (?:or|and|as well as) (?:a |an |even )?(?:smaller|lower)\b"
    rf"(?:(?!{_SAYS_NOT})[^.!?;\n]){{0,12}}?\b{_BATCH}(?:(?!{_SAYS_NOT})[^.!?;\n]){{0,30}}?\b{_GOES_WELL}"
    r"|\b(?:smaller|lower) (?:or|and|as well as) (?:a |an |even )?(?:larger|bigger|greater|higher)\b"
    rf"(?:(?!{_SAYS_NOT})[^.!?;\n]){{0,12}}?\b{_BATCH}(?:(?!{_SAYS_NOT})[^.!?;\n]){{0,30}}?\b{_GOES_WELL}"
    rf"|\b(?:can|could) (?:use|set|take|choose) (?:a )?(?:larger|bigger|greater) {_BATCH}"
    r"(?: or (?:a )?smaller(?: one)?)?,? but not \d"
    rf"|\A(?=[^\n]{{0,200}}\b(?:fail|crash|error|OOM|out of memory)\w*)[^\n]{{0,200}}?"
    rf"\b(?:larger|bigger|greater|higher) {_BATCH}[`'\"]? (?:\w+ )?{_GOES_WELL}"
    r" ?(?:fine|well|too|as well|without|ok(?:ay)?|\Z|[.,;])",
    "a larger or a smaller batch_size works, only 4096 does not",
    "you can set a greater batch_size or smaller one, but not 4096",
    "it fails with 17, but a larger batch size works fine",
    needs="atch",
)
"""The text says that a larger batch than the one that fails runs."""
BATCHES_THAT_RUN = LineRule(
    r"(?i)(?:\bbatch(?:[_ -]?sizes?)?(?: of| to)? ?[=(:]? ?(?P<first>\d{1,6})\)?`? (?:and|or|,) ?"
    r"(?:\.?`?batch(?:[_ -]?sizes?)?(?: of)? ?[=(:]? ?)?(?P<second>\d{1,6})\)?`? (?:both |also |each )?"
    rf"{_GOES_WELL})"
    r"|\bbatch[_ -]?sizes?(?: of| to)? ?[=(:]? ?(?P<other>\d{1,6})\b(?:,| and| but)? ?\(?"
    rf"(?:instead of|rather than|up from) (?P<failed>\d{{1,6}})\)?(?:(?!{_SAYS_NOT})[^.!?;\n]){{0,24}}?"
    rf"\b{_GOES_WELL}",
    ".batch(16) and .batch(18) run.",
    "batch sizes 16 and 18 work",
    "I tried batch-size of 128 (instead of 64) but it ran without any error",
    needs="atch",
)
"""Batches that the text says run, of which one may be larger than the one that fails."""
_STEP = r"(?:iteration|step|batch|update|minibatch|sample|scan|image|volume|file|record|example|graph)"
ONE_STEP = LineRule(
    rf"(?i)\b(?:always|every time|each time|consistently|exactly|reliably)\b[^.\n]{{0,60}}"
    rf"\b(?:at|in|on|after|during|around|about|near) (?:the |around |about )?"
    rf"(?:{_STEP}s? ?(?:number )?#?\d{{1,3}}(?:[,.]?\d{{3}}){{0,2}}"
    rf"|\d{{1,3}}(?:[,.]?\d{{3}}){{0,2}}(?:st|nd|rd|th)? (?:training )?{_STEP}s?)\b"
    rf"|\b(?:at|in|on|after) (?:exactly )?the (?:very )?same (?:number of )?{_STEP}s?\b(?![- ]size)"
    rf"|\b(?:iterations?|steps?)\b[^.\n]{{0,30}}\b(?:is|are|was|were|stays?) (?:always )?the same\b",
    "it always dies at step 310",
    "always after the 24th iteration",
    "it stops at the same iteration each time",
    "whatever I change, the failing steps are the same",
    "it always gets stuck at the 48th scan",
    needs=(
        *("step", "iteration", "batch", "update", "sample", "scan", "image", "volume", "file", "record"),
        *("example", "graph"),
    ),
)
"""The text says that each run fails at one and the same step, or sample."""
ANY_INPUT = LineRule(
    r"(?i)\breduc\w* (?:the |my )?(?:images?|inputs?|frames?)(?:'s)? (?:size|resolution)s?\b[^\n]{0,120}"
    r"\b(?:always|still|same (?:error|problem|issue))\b"
    rf"|\b(?:{_ANY}|however (?:small|short))\b[^.\n]{{0,60}}\b(?:resolutions?|image sizes?|input sizes?"
    r"|sequence[ _]?lengths?|seq[_ ]?len\w*|patch[_ ]sizes?)\b"
    r"|\bseq(?:uence)?[_ ]?len\w*[^\n]{0,24}(?:\u8c03\u6210|\u6539\u6210|\u8bbe\u4e3a)(?:\u4e86)? ?1(?!\d)",
    "Whatever image resolution I use, it crashes",
    "however small I make `sequence_length`",
    "i reduced the images size too, but i always got this error",
    needs=("resolution", "size", "seq", "length"),
)
"""The text says that the size of a sample plays no part."""
WATCHING = LineRule(
    r"(?i)\bpsutil\.\w|\.memory_info\(\)|\bget_memory_(?:info|usage)\(|\bmemory_stats\(\)|\btracemalloc\b"
    r"|\b(?:narrowed|tracked|traced|pinned|nailed) (?:it|this|the \w{1,12}) down\b"
    r"|\bisolated (?:it|this|the)\b|\bhere is the problem\b"
    r"|\b(?:us(?:ed|ing)|with|ran|according to|by) (?:the |a )?(?:python )?memory[_ -]?profiler\b"
    r"|\bmprof (?:run|plot)\b|\bLine # {2,}Mem usage {2,}Increment\b",
    "print(psutil.Process().memory_info().rss)",
    "I narrowed it down to one line",
    "I ran the memory profiler on it and one line adds 4 MB each time",
    needs=("psutil", "memory", "mem usage", "mprof", "tracemalloc", " down", "isolated", "problem"),
)
"""Memory is printed already, by code or a profiler, or the line that makes it grow is found."""
HOST_IN_WORDS = LineRule(
    r"(?i)\bnot (?:(?:the|my) )?GPU(?:'s)? (?:RAM|memory)\b"
    r"|\b(?:CPU(?:'s)?|host|system|main|(?:machine|server|computer|PC|laptop)(?:'s)?) (?:RAM|memory)\b"
    r"(?![*`]{0,2} ?: ?[*`]{0,2} ?\d)(?![^.\n]{0,30}\b(?:fine|ok|stable|constant|stays|enough|free|flat)\b)"
    r"|\b(?:eat\w*|fill\w*|consum\w+|exhaust\w*|los(?:es|ing))\b[^.\n]{0,40}(?<!GPU )(?<!video )\bRAM\b"
    r"|\bnumpy (?:memory ?)?error\b"
    r"|\b(?:machine|computer|PC|laptop)\b[^.\n]{0,20}\b(?:freez\w+|froze|hangs?"
    r"|swaps)\b[^.\n]{0,60}\bmemory\b"
    r"|(?<!GPU )(?<!video )\bRAM\b[^.\n]{0,30}\b(?:full|fills|grows|increas\w+|explod\w+|shoots?|jumps?)\b"
    r"|\bdocker stats\b"
    rf"|{MEMORY_OF_A_NODE}"
    r"|\u8fd0\u884c\u5185\u5b58",
    "the CPU's memory continues going up",
    "it eats so much RAM that the laptop hangs",
    "The memory is not GPU memory",
    "the machine's memory(32G) was soon used up",
    "Memory usage of each node keeps increasing",
    "the executors' memory is 9 GB",
    needs=("ram", "memory", "numpy", "docker stats", "\u5185\u5b58"),
)
"""The text says that the memory is the host's."""
_UNANSWERED = r"[*:_ ]{0,6}(?:none|no|n/?a|-|not? \w+)?[*:_ ]*\Z"
"""How a line of a form goes on that was not filled in."""
GPU_MEMORY = LineRule(
    r"(?i)(?<!\bnot )(?<!\bnot the )\b(?:GPUs?(?:'s)?|video|graphics?(?: card)?) (?:card )?(?:V?RAM"
    r"|memory)\b|\bVRAM\b|\u663e\u5b58",
    "the data set is all loaded into the GPU RAM",
    "the graphics card memory",
    needs=("ram", "memory", "\u663e\u5b58"),
)
HOST_RAM = LineRule(
    r"(?i)(?<!GPU )(?<!GPU's )(?<!video )(?<!graphics )(?<!card )(?<!high )(?<!high-)\bRAM\b"
    r"|\b(?:host|system|main|CPU) memory\b|\bswap\b",
    "a machine with 16GB RAM",
    "more system memory",
    needs=("ram", "memory", "swap"),
)
FREE_RAM = LineRule(
    r"\A\s*Mem: +\d[\d.]*[KMGT]?i?\s+\d"
    r"|(?i:\b(?:while|though|although|but|yet|even if)\b[^.?\n]{0,50}"
    r"\b(?:enough|(?:much|far|a lot) more|plenty of|lots of|\d+ ?GB? of)(?: free| available| unused)?"
    r" (?:memory|RAM)\b)"
    r"|(?i:\bwith \d+ ?GB? (?:free|available|left)\b)",
    "Mem:            58G        9.2G         26G         12M         23G         49G",
    "TPU out of memory though there is enough memory",
    "With 49G available, why does it stop at 16?",
    needs=("mem", "ram", "available", "free", "left"),
)
"""Memory that is not in use, most likely the machine's, beside a device that is full."""
A_GPU = LineRule(
    r"(?i)\A(?![^\n]*\b(?:falling back|(?:no|without an?y?) GPUs?|not (?:installed|found|used))\b)[^\n]*?"
    rf"(?:\bGPUs?\b(?!(?: model)?(?: and memory)?{_UNANSWERED})|\bCUDA\d*\b"
    rf"(?!(?:/cuDNN)?(?: version)?{_UNANSWERED})|\b(?:graphics?|video) cards?\b"
    r"|\b(?:GTX|RTX|RX|Tesla|Quadro|Titan)[- ]?[A-Z]?\d)",
    "GPU model and memory: GTX 1080Ti",
    needs=("gpu", "cuda", "graphic", "video", "gtx", "rtx", "rx", "tesla", "quadro", "titan"),
)
"""The text names it, whatever it says of it; a template's line without an answer names none."""
LARGE_DATA = LineRule(
    r"(?i)\b(?:big|large|huge|whole|entire|full) (?:[a-z]{1,12} ){0,2}(?:data ?sets?|corpus|corpora|csv)\b"
    r"|\bdata ?set (?:is|was) (?:[a-z]{1,12} ){0,2}(?:big|large|huge)\b",
    "Out of memory when training with a big dataset",
    "I know that my dataset is pretty big",
    needs=("dataset", "data set", "corp", "csv"),
)
"""The text says that the data are large."""
_IS_WISHED = (
    r"(?:\bhow (?:to|can|could|do|should|would|shall)|\b(?:want|like|need|able|wish|plan)s? (?:it |me )?to"
    r"|\b(?:so|that|then) I can|\brestart(?: or| and| ?/|,))\b"
)
RELOADING = LineRule(
    rf"(?i)\A(?:(?=[^\n]*\b(?:grow|increas|leak|ris(?:e|ing))\w*)|(?![^.\n]*{_IS_WISHED}"
    r"[^.\n]{0,40}\breload))[^\n]*?(?:\bhot[- ]?(?:re-?load|deploy)\w*"
    r"|\b(?:push|deploy|load|releas|roll|switch)\w*\b[^.\n]{0,20}\bnew (?:model )?version"
    r"|\bmodel version\b[^.\n]{0,20}\b(?:updat|chang|load)\w*|\bversion update\b"
    r"|\bnew (?:model )?version\b[^.\n]{0,40}\b(?:load|push|deploy)\w*"
    r"|\b(?:re-?load\w*|unload\w*|delet\w+|remov\w+|updat\w+)\b[^.\n]{0,40}\bmodels?\b"
    r"|\bnew model\b[^.\n]{0,40}\b(?:and|while|before|after)\b[^.\n]{0,12}\bold (?:one|model)\b)",
    "memory grows when it reloads a new model",
    "we unloaded all models",
    "hot reload needs double memory",
    "we push a new version of our 6 GB model",
    "after a new model was loaded and the old one closed",
    needs=("model", "hot", "new version", "version update"),
)
"""Models of a server come and go."""
LOADING = LineRule(
    r"\bload(?:Graph|Layers)Model\b|\bconcatenateArrayBuffers\b|(?i:\bmodel load(?:ing)?\b)",
    "const model = await tf.loadGraphModel(url)",
    "the app terminates during model loading",
    needs=("loadgraph", "loadlayers", "concatenatearray", "model load"),
)
"""A model is being loaded."""
TRAINS_AND_EVALUATES = LineRule(
    r"--(?:run_)?(?:mode|schedule)[= ]['\"]?(?P<mode>(?:continuous_)?train_and_eval\w*)"
    r"|\b(?:mode|schedule) ?[=:] ?['\"](?P<set>(?:continuous_)?train_and_eval\w*)['\"]",
    "python main.py --mode=train_and_eval --model_name=d0",
    "--schedule=continuous_train_and_eval",
    needs="train_and_eval",
)
"""A program that trains and evaluates in turn, in one process."""
IN_ONE_PROCESS = LineRule(
    r"(?i)\b(?:in|within|by|share) (?:one|the same|a single)(?: and the same)? process\b",
    "core training and nlu training are done in the same process",
    needs="process",
)
"""What one would run apart runs in one process."""
FULL_WHILE_IDLE = LineRule(
    r"(?i)\b(?:even (?:when|if|though)|when|while|before|after) [^.?!\n]{0,24}\b(?:no|not|nothing|any|none)\b"
    r"[^.?!\n]{0,40}\b(?:process\w*|programs?|scripts?|runs?|running)\b[^.?!\n]{0,60}"
    r"\b(?:GPUs?|VRAM|memory|nvidia-smi)\b[^.?!\n]{0,60}\b(?:allocated|us(?:ed|age)|in use|occupied|full"
    r"|taken)\b|\bno process(?:es)? (?:seems? to (?:be )?|is |are |shows? up )(?:us(?:e|ing)|listed|shown"
    r"|running|holding)\b",
    "Even when no process of mine runs, my GPU seems to have almost 13GB allocated",
    "No processes seem to be using it",
    needs=("process", "program", "script", "run"),
)
"""A GPU's memory is in use while nothing runs that is known."""
KEPT_AFTERWARDS = LineRule(
    r"(?i)\b(?:GPUs?|VRAM|GPU (?:memory|space))\b[^.\n]{0,40}\b(?:not|n't|never) (?:being )?"
    r"(?:freed|released|emptied|empty|cleared|free|release)\b"
    r"[^.\n]{0,40}\b(?:after|when|once)\b[^.\n]{0,30}\b(?:train\w*|fit|predict\w*|inference|finish\w*"
    r"|done)\b",
    "GPU memory is not freed after training",
    needs=("gpu", "vram"),
)
"""What a process keeps of a GPU when its work is done."""
A_TOOL = LineRule(
    r"(?i)\b(?:star-?dist\w*|deeplabcut|dlc|alphafold\w*|colabfold\w*|spleeter|demucs|deepspeech|rasa"
    r"|cellpose"
    r"|nnu-?net|sleap|deepvariant|chemprop|tensor2tensor|t2t-\w+|model_main(?:_tf2)?"
    r"|object[ _]detection(?: api)?|pipeline\.config|deepfacelab\w*|faceswap|style-?gan\w*|openpi"
    r"|maxtext|easylm"
    r"|run_(?:classifier|squad|pretraining)"
    r"|matterport|mask[_ ]?r-?cnn|darkflow|magenta|openfold|rfdiffusion|scvi|basenji)\b",
    "I train a StarDist model in 3D",
    'File "/content/models/research/object_detection/model_main_tf2.py", line 106, in <module>',
    "spleeter separate -p spleeter:4stems song.mp3",
    needs=(
        "dist", "dlc", "deep", "fold", "spleeter", "demucs", "rasa", "cellpose", "nnu", "sleap", "chemprop",
        "tensor2tensor", "t2t-", "model_main", "detection", "pipeline.config", "swap", "gan", "openpi",
        "maxtext", "easylm", "run_", "matterport", "cnn", "darkflow", "magenta", "rfdiffusion", "scvi",
        "basenji",
    ),
)  # fmt: skip
"""The program is one that its user starts and configures, and did not write."""
IN_A_WORKER = LineRule(
    r"\bconcurrent[/\\]futures[/\\]process\.py\", line \d{1,5}, in _process_worker\b"
    r"|\bmultiprocess(?:ing)?[/\\]pool\.py\", line \d{1,5}, in worker\b",
    '  File "/usr/lib/python3.10/concurrent/futures/process.py", line 246, in _process_worker',
    '  File "C:\\py\\lib\\multiprocessing\\pool.py", line 125, in worker',
    needs="py",
)
"""The traceback begins in a worker process of a pool."""
ON_BOTH = LineRule(
    r"(?i)\b(?:error|OOM|out of memory|fail(?:s|ed|ure)?|crash(?:es|ed)?|runs out|exhaust\w*|problem|issue)\b"
    r"[^.?\n]{0,60}\b(?:both (?:on |with |for |the )*(?:CPU and (?:\w+ )?GPU|GPU and (?:\w+ )?CPU)s?"
    r"|(?:on|with|using) (?:the |my )?(?:CPU (?:and|or) (?:\w+ )?GPU|GPU (?:and|or) (?:\w+ )?CPU)"
    r" (?:alike|both)"
    r"|also (?:on|with) (?:the |my )?CPU\b|(?:on|with) (?:the |my )?CPU,? (?:as well|too|also))\b"
    r"(?! (?:is|are|was|were) (?:fine|ok))"
    r"|\bregardless of (?:whether )?(?:\w+ ){0,4}?(?:CPU or (?:\w+ )?GPU|GPU or (?:\w+ )?CPU)\b"
    r"|\u65e0\u8bba[^\n\u3002]{0,12}GPU[^\n\u3002]{0,12}CPU[^\n\u3002]{0,8}[\u90fd\u4e5f]",
    "The same OOM comes on the CPU, too",
    "It fails both on CPU and GPU",
    "It runs out, regardless of whether I use the GPU or the CPU",
    "\u65e0\u8bba\u7528GPU\u8fd8\u662fCPU\u90fd\u4f1a\u5185\u5b58\u4e0d\u8db3",
    needs=("cpu",),
)
"""The text says that it fails on the CPU as on the GPU."""
OWN_CUDA_CODE = LineRule(
    r"(?i)\b(?:custom|native|hand-?written|(?:my|our) own)[ -](?:[\w-]{1,20} ){0,2}?"
    r"(?:ops?|kernels?|CUDA (?:code|implementation|op|kernel)s?)\b(?! are on)|\bload_op_library\(",
    "It calls a custom op of ours",
    "the native CUDA implementation of that loss",
    "lib = tf.load_op_library('./beam.so')",
    needs=("op", "kernel", "cuda "),
)
"""The program runs an op whose code for the GPU is no part of the framework."""
NO_PYTHON = LineRule(
    r"(?i)\A\W{0,4}Python version[ :*-]{1,6}"
    r"(?:not? (?:us(?:ed|ing)|python)\b|none\b|no\W*\Z|not applicable\b)",
    "- Python version: Not using python.",
    "Python version: none",
    needs=("python version",),
)
"""The form of a report says that no Python runs."""
A_MAC = LineRule(
    r"\b[Mm]ac ?(?:OS\b|Book)|\btensorflow[-_](?:metal|macos)\b|\bjax-metal\b|\bmlcompute\b"
    r"|\bApple (?:[Ss]ilicon|M\d|GPU)"
    r"|\bM[1-5] (?:Pro|Max|Ultra)\b|\bMPS\b|\bMetal device set to\b",
    "Mac OS 13 on an M1 Pro",
    "pip install tensorflow-metal",
    needs=("mac", "metal", "mlcompute", "apple", "m1 ", "m2 ", "m3 ", "m4 ", "m5 ", "mps"),
)
"""The machine is a Mac: one RAM for CPU and GPU, no tools of NVIDIA's."""
GROWTH_HELPS = LineRule(
    r"(?i)(?:n't|\bnot|\bonly|\bfails?|\bcrash\w*)\b[^.\n]{0,60}\b(?:without|unless)\b[^.\n]{0,30}"
    r"\b(?:memory|allow)[_ ]growth\b"
    r"|\b(?:memory|allow)[_ ]growth\b[^.\n]{0,40}"
    r"\b(?:work(?:s|ed)?|help(?:s|ed)?|solve[sd]?|fix(?:es|ed)?)\b",
    "It does not start without memory growth",
    "Setting allow_growth helps",
    needs="growth",
)
"""The text says that it goes well where the pool grows."""
DATA_MADE_ANEW = LineRule(
    r"(?i)\b(?:re-?)?(?:generat|creat|build|mak|initiali)\w*\b[^.\n]{0,20}"
    r"\b(?:tf\.data\b|data ?sets?\b|from_tensor_slices)[^.\n]{0,50}"
    r"\b(?:again and again|(?:each|every) (?:epoch|iteration|round|time)|end of (?:each|every))",
    "I need to re-create the dataset after each epoch",
    needs=("tf.data", "dataset", "data set", "from_tensor"),
)
"""The text says that a data set is made again and again."""
VOLUMES = LineRule(
    r"(?i)\bconv3d(?:transpose)?\b|\b3-?d[- ](?:cnn|conv\w*|u-?net|volumes?|images?|scans?|resnet)\b"
    r"|\bvolumetric\b|\bv-?net\b"
    r"|\A(?=.*\b(?:patch|volume|voxel|crop|scan|CT|MRI)).*?(?<![\dx\u00d7*])(?:[3-9]\d|[1-9]\d\d)"
    r"(?: ?[x\u00d7*] ?(?:[3-9]\d|[1-9]\d\d)){2}(?![\dx\u00d7*])",
    "a 3D U-Net on CT scans",
    "patch size 160x160x160, VNet",
    "model.add(Conv3D(24, 3))",
    needs=("3d", "3-d", "volum", "vnet", "v-net", "patch", "voxel", "crop", "scan", "ct", "mri"),
)
"""The text speaks of convolutions over volumes."""
_OF_A_RELEASE = (
    r"(?:(?:the |release |version |jax |jaxlib |flax |torch_xla )){0,2}"
    r"[`'\"]?v?\d\.\d{1,3}(?:\.\d{1,3})?[`'\"]?"
)
ANOTHER_RELEASE = LineRule(
    r"(?i)\b(?:after|since|when|once) (?:\w+ ){0,3}(?:upgrad|updat|mov|switch|migrat)\w*\b"
    r"[^.\n]{0,30}\d\.\d{1,2}[^\n]{0,60}\b(?:memory|RAM|OOM\w*)\b"
    rf"|\b(?:since|as of|starting (?:with|from)) {_OF_A_RELEASE}[^.\n]{{0,100}}\b(?:OOM\w*|memory|leak\w*)\b"
    rf"|\bwith (?:the )?{_OF_A_RELEASE} release\b[^.\n]{{0,100}}\b(?:OOM\w*|memory|leak\w*)\b"
    r"|\b(?:memory|RAM)\b[^.\n]{0,60}\d\.\d{1,2}\S{0,4} (?:[a-z]\w* ){0,3}?(?:versus|vs\.?"
    r"|compared (?:to|with)|than|but not)\b[^\n]{0,30}\d\.\d{1,2}"
    r"|\b(?:OOM\w*|memory)\b[^\n]{0,120}\b(?:work(?:s|ed|ing)|fine|ran|no (?:problem|error|issue)s?)"
    r" (?:\w+ ){0,2}(?:with|in|on|under) (?:tensorflow|tf)? ?[12]\.\d{1,2}"
    r"|\b(?:works?|worked|fine|runs?|ran|fits?|trains?|trained) (?:\w+ ){0,2}(?:with|in|on"
    r"|under) (?:tensorflow|tf)?"
    r" ?[12]\.\d{1,2}\b[^\n]{0,60}\b(?:OOM\w*|memory|RAM)\b[^.\n]{0,30}\b[12]\.\d{1,2}"
    r"|\b(?:works?|worked|fine|runs?|ran|fits?|trains?|trained) (?:\w+ ){0,2}(?:with|in|on"
    r"|under) (?:tensorflow|tf)?"
    r" ?[12]\.\d{1,2}\b[^.\n]{0,30}\b[12]\.\d{1,2}\b[^.\n]{0,30}\b(?:OOM\w*|memory)\b",
    "Works with TF 2.5, OOM with TF 2.9",
    "After upgrading to tensorflow 2.6 more GPU memory is taken",
    "Higher memory usage in TF 2.7 compared to TF 2.6",
    "I get an OOM with TF 2.6, and it ran under 2.5",
    "With `0.4.35` release, the kernel will hit compilation OOM",
    "since jax 0.4.14 there is a memory leak",
    needs=("memory", "ram", "oom", "leak"),
)
"""The text says that it began with another release."""
LARGEST_LIMIT = LineRule(
    r"(?i)\b(?:max(?:imum|imal)?|highest|largest|most)\b[^.\n]{0,30}\b(?:memory|mem|RAM)\b[^.\n]{0,40}"
    r"\b(?:al+ows?|allowed|possible|available|permit\w*|can (?:give|get|ask))\b",
    "I already ask for the maximum memory that the cluster allows",
    needs=("mem", "ram"),
)
"""The text says that no larger limit is to be had."""
CONVERTING = LineRule(
    r"\bTFLiteConverter\b|\btflite_convert\b|\btoco_from_protos\b|\btf2onnx\b|\btensorflowjs_converter\b"
    r"|\bfreeze_graph\b|\bonnx2tf\b|\bopenvino2tensorflow\b|tf2tflite",
    "converter = tf.lite.TFLiteConverter.from_saved_model(folder)",
    "python -m tf2onnx.convert --saved-model folder --output model.onnx",
    needs=(
        "tfliteconverter",
        "tflite_convert",
        "toco_from",
        "tf2onnx",
        "tensorflowjs_conv",
        "freeze_graph",
        "onnx2tf",
        "openvino2tensor",
        "tf2tflite",
    ),
)
"""A trained model is brought into another form."""
LIBRARY_FAILED = LineRule(
    r"\bCU(?:DNN|BLAS)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)\b"
    r"|\bcustom call '[\w.]{1,60}' failed: CUDNN_STATUS_NOT_SUPPORTED\b"
    r"|\bFailed to make cuFFT (?:batched )?plan: (?!2\b)\d{1,2}\b",
    "E tensorflow/stream_executor/dnn.cc:616] CUDNN_STATUS_EXECUTION_FAILED",
    "INTERNAL: run time error: custom call 'xla.gpu.conv.forward' failed: CUDNN_STATUS_NOT_SUPPORTED",
    "E tensorflow/compiler/xla/stream_executor/cuda/cuda_fft.cc:246] Failed to make cuFFT batched plan: 5",
    needs=("_status_", "make cufft"),
)
"""A call of NVIDIA's libraries did not run through, for whatever reason: a plan of cuFFT's that has no memory
has status 2.
"""
OLD_COMPILER = LineRule(
    r"\bptxas does not support CC (?P<capability>\d{1,2}\.\d)\b",
    "Falling back to the CUDA driver for PTX compilation; ptxas does not support CC 8.9",
    needs="does not support CC",
)
"""The CUDA that is installed is older than the GPU."""
CACHED_PROGRAM = LineRule(
    r"\bPersistent compilation cache hit for '(?P<program>[^'\n]{1,80})'",
    "compiler.py:323] Persistent compilation cache hit for 'jit_step'",
    needs="cache hit",
)
"""A compiled program was taken from the cache of an earlier run."""
RECURRENT_CALL = LineRule(
    r"Failed to call (?:Then|Do)Rnn(?:Forward|Backward) with model config: ",
    "Internal: Failed to call ThenRnnForward with model config: [rnn_mode, rnn_input_mode,"
    " rnn_direction_mode]: 3, 0, 0 , [num_layers, input_size, num_units, dir_count, max_seq_length,"
    " batch_size, cell_num_units]:"
    " [1, 64, 128, 1, 40, 512, 128]",
    needs="with model config",
)
"""A recurrent layer of cuDNN's did not run, with the sizes of the call."""
ON_WINDOWS = LineRule(
    r"(?<![A-Za-z])[A-Z]:\\\\?[A-Za-z]|~\\[A-Za-z][\w.]{1,30}\\|\bWinError\b|\bwin_amd64\b"
    r"|\b\w{2,40}64_\d+\.dll\b"
    r"|\b[Ww]indows ?(?:7|8(?:\.1)?|10|11|1[01]|[Ss]erver|OS|PC|machine|laptop)\b(?![^.\n]{0,40}\bWSL)"
    r"|\b(?:on|under|native) Windows\b(?![^.\n]{0,40}\bWSL)|-10737\d{5}\b|\(0xC0000[\dA-F]{3}\)",
    'File "C:\\Users\\me\\train.py", line 3, in <module>',
    "~\\Anaconda3\\envs\\tf\\lib\\site-packages\\tensorflow\\python\\eager\\execute.py in quick_execute(op)",
    "- OS: Windows 10, 64 bit",
    "I train on Windows with one GPU",
    "Process finished with exit code -1073740791 (0xC0000409)",
    "Could not load library cudnn_ops_infer64_8.dll",
    needs=("windows", ":\\", "~\\", "winerror", "win_amd64", "64_", "-10737", "0xc0000"),
)
"""The machine runs Windows itself, and no Linux within it."""
RAISED = LineRule(
    r"\bTraceback \(most recent call last\)|\A\s*File \"[^\"\n]{1,300}\", line \d+, in ",
    "Traceback (most recent call last):",
    needs=("traceback", "file "),
)
"""An exception ended it: whom the kernel kills says nothing more."""
MEMORY_ERROR = LineRule(
    r"\bMemoryError(?![A-Za-z_])",
    "MemoryError                               Traceback (most recent call last)",
    needs="MemoryError",
)
"""Python's or NumPy's own exception: host RAM."""
BEFORE_ANY_STEP = LineRule(
    r"(?i)\bbefore (?:the |its |a |any )?(?:very )?(?:first |single )(?:train(?:ing)? )?step\b"
    r"|\bbefore (?:(?:it |they )?(?:takes?|taking|does|doing|makes?|making|runs?|running) )?any"
    r" (?:train(?:ing)? |optimi[sz]er )?steps?\b"
    r"|\bnever gets? to (?:do |run |make )?(?:a|one|any|the first) (?:\w+ )?step\b",
    "all workers climb to 100 % of RAM before the first train step",
    "The TPU itself never gets to do a step.",
    "the workers die before making any training steps",
    needs=("before", "never get"),
)
"""It happens before anything is computed in steps."""
NEEDS_IN_WORDS = LineRule(
    r"(?i)\A(?![^\n]*\b(?:at least|minimum|recommend\w*|requirements?|documentation|should (?:need|take"
    r"|use))\b)"
    r"[^\n]*?\b(?:needs?|requires?|requiring|takes?|uses?|using|consum(?:es|ing)|allocates?)"
    r" (?:(?:about|around|roughly|approximately|approx\.?|nearly|almost|up|to|over|more|than|some|only|of|a"
    r"|whopping"
    r"|total|memory) |[~>\u2248] ?){0,4}\d{1,5}(?:\.\d{1,2})? ?[GT]i?B?\b"
    r"(?=[^.\n]{0,24}\b(?:memory|RAM|VRAM|HBM)\b)(?! ?(?:GPU(?! (?:memory|RAM))|card|machine|of (?:disk"
    r"|data|storage)))",
    "it requires 16TB of memory",
    "I need ~50Gb of memory to calculate it",
    "which needs 50GB GPU memory",
    needs=("need", "requir", "take", "use", "using", "consum", "allocate"),
)
"""The text says how much memory something needs."""
FITS_NO_MORE = LineRule(
    r"(?i)(?:\bno longer|\bnot|n['\u2019]t) fits? (?:in(?:to|side)? |on(?:to)? )?(?:the |a |my |one |our )?"
    r"(?:\d{1,4} ?G(?:i?B)?\b|(?:GPU|card|device|memory|HBM|V?RAM)\b)",
    "with 48 layers it no longer fits 40 GB",
    "the larger one does not fit on the card",
    needs=("fit",),
)
"""Something is too large for a device, as the text says."""
SAVING_IN_WORDS = LineRule(
    r"(?i)\b(?:OOM\w*|memory|RAM|killed|crash\w*|dies|fails?)\b[^.\n]{0,60}\b(?:during|while|when|at"
    r"|upon|before)\b"
    r"(?:(?!\b(?:restor|load|read|import|resum))[^.\n]|\.(?=\w)){0,30}"
    r"\b(?:checkpoint(?:s|ing)?|sav(?:e|es|ing)|serializ\w+)\b"
    r"(?! (?:\w+ ){0,3}?(?:restor|load|read\b|import))"
    r"|\b(?:checkpoint(?:s|ing)|saving|serializ\w+|exporting|model\.save"
    r"|saved_model\.save)\b[^.\n]{0,40}\b(?:OOM\w*|out of memory"
    r"|killed)\b"
    r"|\b(?:happens|occurs|jumps|rises|climbs) (?:only )?(?:when|while|as|during)\b[^.\n]{0,30}"
    r"\b(?:checkpoints?|saved?|saving)\b[^.\n]{0,60}\b(?:memory|RAM|killed|OOM\w*)\b"
    r"|\bcheckpoint(?:s|ing)?\b[^.\n]{0,20}\b(?:stuck|hangs?|hung)\b"
    r"|\b(?:freez\w+|froze|hangs?|swaps?|swapping)\b[^.\n]{0,40}\b(?:each|every) (?:time|save|checkpoint)\b"
    r"[^.\n]{0,20}\b(?:checkpoint|save[sd]?|saving|written)\b"
    r"|\b(?:restart\w*|killed|evicted|dies|crash\w*) (?:\w+ )?(?:at|on|with) (?:every|each|the first) "
    r"(?:\w+ )?(?:checkpoint|save)\b"
    r"|\b(?:when|as soon as|once) (?:the |a |each |its )?(?:\w+ )?(?:save|saving|checkpoint(?:ing)?)(?: \w+)?"
    r" (?:starts?|begins?|kicks in|runs)\b[^.\n]{0,80}\b(?:memory|RAM|killed|OOM\w*)\b",
    "it happens while the checkpoint is being written, RAM jumps to the limit",
    "The pod gets restarted at every checkpoint",
    "when the save starts, host memory goes straight up to the limit",
    "OOM during checkpoint serialization",
    "it runs out of memory when saving the model",
    "tf.saved_model.save gets Killed",
    "Out of memory while calling model.save",
    "the machine freezes each time a checkpoint is to be written",
    needs=("checkpoint", "save", "saving", "serializ", "exporting"),
)
"""The text says that it fails where a checkpoint is written."""
COMPILING_IN_WORDS = LineRule(
    r"(?i)\bcompil(?:es?|ing|ation)\b[^\n]{0,60}\b(?:memory|RAM|OOM\w*|killed)\b"
    r"|\b(?:memory|RAM|OOM\w*|killed)\b[^.\n]{0,40}\b(?:during|while|when|at) (?:\w+ ){0,2}"
    r"(?:jit[- ])?compil"
    r"|\.lower\([^\n]{0,80}\)\.compile\(\)(?!\.(?:memory|cost)_analysis)",
    "Compiling it exhausts my host memory",
    "jax.jit(f).lower(x).compile()",
    "it is killed while XLA compiles",
    needs=("compil",),
)
"""The text says that it fails while a program is compiled."""
_COMPILED = r"(?:grad|jit|jitted|compil\w*|jacobian|hessian|vjp|pmap|jacfwd|jacrev)"
_FIRST = r"(?:(?:the |its )?(?:very )?first (?:time|call|step|iteration|evaluation|run|execution))"
AT_FIRST_CALL = LineRule(
    rf"(?i)\b{_COMPILED}\b[^.\n]{{0,80}}\b{_FIRST}\b|\b{_FIRST}\b[^.\n]{{0,60}}\b{_COMPILED}\b"
    r"|\b(?:until|before|at|on|reach\w*) (?:the )?line\b[^.\n]{0,30}[`\w.]*\b(?:value_and_)?(?:grad|jit)\(",
    "it is killed when grad() is evaluated for the first time",
    "the first call of the jitted function never returns",
    needs=("first", "line"),
)
"""The text says that it fails where a compiled function, or a gradient, is called for the first time."""
_FIGURE = r"\d{1,3}(?:\.\d{1,2})? ?(?:GB|GiB|G)"
_DEVICE_MEMORY = r"(?:GPU(?:'s)? (?:memory|RAM)|VRAM|video (?:memory|RAM))\b"
KERAS_3_AFTER_2 = LineRule(
    r"(?i)\bkeras ?2(?:\.\d{1,2}|\.x)*\b[^\n]*\bkeras ?3(?:\.\d{1,2})*\b"
    r"|\bkeras ?3(?:\.\d{1,2})*\b[^\n]*\bkeras ?2(?:\.\d{1,2}|\.x)*\b"
    r"|\bdifference\b[^.\n]{0,30}\bkeras ?3\b[^.\n]{0,40}\b(?:XLA|jit_compile)\b",
    "with Keras 2 it took 5 GB, since we moved to Keras 3 it needs 13",
    "keras 3.3 is used here, keras 2 needed far less",
    "A difference of Keras 3 is that XLA compiles by default",
    needs=("keras",),
)
"""One program with both."""
MORE_THAN_EXPECTED = LineRule(
    r"(?i)\b(?:more|higher|larger|much) (?:\w+ ){0,3}?(?:memory|VRAM)(?: \w+){0,2} than (?:\w+ )?"
    r"(?:expected|needed|necessary|stated|documented|claimed|reported|the (?:paper|readme|docs?))"
    r"|\b(?:memory|VRAM) (?:cost|usage|consumption|use|footprint) is (?:\w+ )?"
    r"(?:unexpected(?:ly)?|surprising(?:ly)?|unusually|abnormally) (?:high|large|big)\b"
    rf"|\b(?:tak(?:e|es|ing)|us(?:e|es)|consum(?:e|es|ing)|occup(?:y|ies)|reserv(?:e|es)|allocat(?:e|es))\b"
    rf"[^.\n]{{0,30}}?\b(?:so much|{_FIGURE} ?/ ?{_FIGURE})[^.\n]{{0,20}}?\b{_DEVICE_MEMORY}"
    rf"|\b{_DEVICE_MEMORY}[^.\n]{{0,40}}?\b{_FIGURE}[^.\n]{{0,20}}\b(?:when|upon|just|only|after|at|by)"
    r" (?:\w+ ){0,3}(?:load|import|start)\w*"
    rf"|\bGPU has {_FIGURE} of memory (?:used|taken|occupied)"
    rf"|\bnvidia-smi (?:shows?|says?|reports?)(?: that)? {_FIGURE} (?:of memory )?(?:is |are )?"
    r"(?:used|taken|in use) by python\b"
    r"|\b(?:us(?:es|ing)|tak(?:es|ing)|occup(?:ies|ying)|allocat(?:es|ing)|reserv(?:es|ing))\b[^.\n]{0,20}"
    r"\b[5-9]\d ?% of (?:(?:the|my|its|all) )?(?:total |available )?(?:GPU(?:'s)? memory|VRAM)\b"
    rf"|\b{_DEVICE_MEMORY}[^.\n]{{0,20}}\b(?:is|are) (?:\w+ )?(?:bigger|larger|higher|more) than\b",
    "it takes more GPU memory than expected",
    "The memory cost of the inference: memory usage is unexpectedly high",
    "LoRA finetuning requires more memory than expected",
    "Why does the sampler take so much GPU memory?",
    "A simple MLP is taking 11GB/16GB in GPU RAM",
    "the GPU has 18Gb of memory used by the program",
    "nvidia-smi shows 18 GB used by python",
    "GPU memory is at 30 GB after just importing the module",
    "training consistently uses around 70% of the GPU memory",
    "the vram is bigger than that of the other version",
    needs=("than ", "gpu", "vram", "video", "nvidia-smi", "unexpected", "surprising", "unusual", "abnormal"),
)
"""The text compares what is taken with what should be."""
REFUSED_WORKSPACE = LineRule(
    r"(?i)\b(?:profiling failure|cudnn engine|conv\w{0,20} algorithm)\b[^\n]{0,120}"
    r"Allocating \d{1,18} bytes exceeds the memory limit of \d{1,18} bytes",
    "Profiling failure on CUDNN engine 1#TC: RESOURCE_EXHAUSTED: Allocating 5368709120 bytes exceeds the"
    " memory limit of 4294967296 bytes.",
    needs="exceeds the memory limit",
)
"""The limit that one workspace of cuDNN has, and not the device."""
FREE_BESIDE = LineRule(
    r"\bMemory usage: \d{1,18} bytes free, \d{1,18} bytes total",
    "cuda_dnn.cc:538] Memory usage: 7973961728 bytes free, 8198619136 bytes total.",
    needs="bytes free",
)
"""What was free on the device when a library of CUDA's did not start, as it says itself."""
POOL_AT_START = LineRule(
    r"\bXLA backend allocating \d{1,18} bytes on device",
    "XLA backend allocating 6442450944 bytes on device 0 for BFCAllocator.",
    needs="backend allocating",
)
"""What XLA's client takes of a device when it starts."""
POOL_OF_EXLA = LineRule(
    r"\bpreallocate: false\b|\bmemory_fraction: 0?\.\d",
    "cuda: [platform: :cuda, preallocate: false]",
    "clients: [cuda: [platform: :cuda, memory_fraction: 0.5]]",
    needs=("preallocate: f", "memory_fraction: "),
)
"""A setting of the pool in a configuration of Elixir's."""
GRAPH_NETWORK = LineRule(
    r"(?i)(?<![a-z])(?:GNNs?|graph[- _]?nets?|graph (?:neural )?networks?|graph[- _]conv\w{0,12}|GraphSAGE"
    r"|message[- _]passing)(?![a-z])",
    "testing Point-GNN with the pretrained weights",
    "a standard graph network from graph_nets",
    "two rounds of message passing",
    needs=("gnn", "graph", "message"),
)
"""The text speaks of a network on graphs."""
EMPTY_ARRAY = LineRule(
    r"Incompatible shapes: (?:\[(?:\d+,)*0(?:,\d+)*\] vs\. \[[\d,]*\]"
    r"|\[[\d,]*\] vs\. \[(?:\d+,)*0(?:,\d+)*\])",
    "InvalidArgumentError: Incompatible shapes: [32] vs. [0]",
    "Invalid argument: Incompatible shapes: [0,3] vs. [16,3]",
    needs="Incompatible shapes",
)
"""An error of shapes, one of which has no rows."""
SEVERAL_GRAPHS = LineRule(
    r"(?i)\b(?:sets?|lists?|batch(?:es)?|number|thousands|hundreds|collection|dozens) of (?:\w+ ){0,2}"
    r"graphs\b"
    r"|(?<![\d.])[1-9][\d,]{1,8}k? (?:[a-z]+ ){0,2}graphs\b|\bgraphs,? each\b|\beach graph\b"
    r"|\bgraphs per batch\b",
    "I have a training set of graphs, each with 300 nodes",
    "with 5000 graphs it needs 80 GB",
    "each graph has some 2000 edges",
    needs="graph",
)
"""The data are many graphs, of which several go through the network at once."""
WHOLE_FEED = LineRule(
    r"\b(?:eval|run)\([^\n]{0,80}\{[^}\n]{0,60}\b(?:test|valid\w*|eval)(?:_set)?[._]"
    r"(?:images|x|X|data|inputs|set)"
    r"\b(?!\[)"
    r"|\b(?:eval|run)\([^\n]{0,80}\{\s*\w{1,20}\s*:\s*[xX]_?(?:test|val\w*|valid\w*|all)\b(?!\[)"
    r"|\brun\([^\n]{0,80}\{\s*\w{1,30}\s*:"
    r"\s*(?:all_\w{1,20}|\w{0,20}corpus\w{0,20}|\w{0,12}sentences|documents|texts)\s*[,}]",
    "acc = sess.run(accuracy, feed_dict={x: X_test, y: Y_test})",
    "accuracy.eval(feed_dict={x: mnist.test.images, y_: mnist.test.labels, keep_prob: 1.0})",
    "vectors = session.run(encoding, feed_dict={text: corpus_sentences})",
    needs=("eval(", "run("),
)
"""A whole set is fed in one call of a session."""
IN_A_NOTEBOOK = LineRule(
    r"(?i)(?<!a link to )(?<![a-z])colab(?:oratory)?(?![a-z])|(?<!Colab/)\bjupyter(?! Notebook\s*\Z)\w*"
    r"|\bkaggle (?:kernel|notebook)|\.ipynb\b"
    r"|<ipython-input-|/tmp/ipykernel_|\A\s*In ?\[\d{1,5}\]:",
    "I run it on Google Colab",
    "the notebook train_shapes.ipynb fails",
    "<ipython-input-7-cb1582039f5e> in <module>()",
    needs=("colab", "jupyter", "kaggle", ".ipynb", "ipython-input", "ipykernel", "in [", "in["),
)
"""The program runs in a notebook, whose cells show an exception and no log."""
TEST_SAMPLES = LineRule(
    r"(?i)\b(?P<count>\d{1,3}(?:,\d{3}){1,2}|\d{3,7}) (?:test|validation|eval\w*|dev) "
    r"(?:images?|samples|examples|pictures|sentences|set)\b",
    "did the error come from the 10000 test images?",
    needs=("test ", "validation ", "eval", "dev "),
)
"""How many samples a set of tests has."""
ROW_OF_TOP = LineRule(
    r"\A\s*\d{1,8} +[\w.+-]{1,32} +-?\w{1,4} +-?\d{1,3} +(?P<virtual>[\d.,]{1,12}[kmgt]?)"
    r" +(?P<resident>[\d.,]{1,12}[kmgt]?) +[\d.,]{1,12}[kmgt]? +[RSDTtZI<+slNL]{1,4} +[\d.,]+ +[\d.,]+ +\S+ +"
    r"(?P<name>\S.*)",
    "12128 xuser 20   0 64.696g 461928 162552 S   2.3  4.9   0:11.24 python",
    " 3326 ubuntu    20   0 7938928 1.526g  74020 S   0.0  1.1   0:07.12 tensorflow_mode",
    needs=(" s ", " r ", " d ", " sl ", " sl+ "),
)
"""A process as `top` shows it."""
VIRTUAL = LineRule(
    r"\bVIRT\b.{0,20}\bRES\b|\b[Vv]irtual (?:memory|address|size)|\bVSZ\b.{0,20}\bRSS\b",
    "  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND",
    "the virtual memory of python is 27 GB",
    needs=("virt", "vsz"),
)
"""Addresses that a process reserved, which are no memory."""
STEPPED_BY_A_TRAINER = LineRule(
    r"(?i)\b(?:pytorch[- ]?)?lightning(?:module)?\b|\bpl\.(?:Trainer|LightningModule)\b|\bAccelerator\("
    r"|\b(?:finetune_trainer|run_(?:glue|squad|mlm|clm|qa|ner|translation|summarization|language_modeling)\w*"
    r"|xla_spawn)\.py\b|\bvllm\b"
    r"|\baccelerate launch\b|\b(?:transformers|Hugging ?Face)\b[^.\n]{0,20}\bTrainer\b",
    "pytorch-lightning on 8 TPU cores",
    "trainer = pl.Trainer(tpu_cores=8)",
    "accelerator = Accelerator()",
    "python xla_spawn.py --num_cores 8 run_glue.py",
    needs=("lightning", "pl.trainer", "accelerat", "trainer", "run_", "xla_spawn", "vllm"),
)
"""A library runs the loop of PyTorch, and ends its steps."""
CODE_OF_PYTORCH = LineRule(
    r"\A\s*(?:>>> )?(?:import (?:torch|gpytorch|pytorch_lightning)\b"
    r"|from (?:torch|gpytorch)(?:\.\w+)* import\b)"
    r"|\bsglang_\w+\.py:\d|\bsglang/srt/|\bmegatron/core/|\btorch/nn/modules/\w+\.py\b",
    "import torch",
    "from torch.utils.data import DataLoader",
    "[2026-01-02 03:04:05] sglang_worker.py:77 - request ended",
    'File "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 116, in forward',
    needs=("torch", "sglang", "megatron"),
)
"""The program is PyTorch's, where nothing in the text is of another framework."""
SEVERAL_CORES = LineRule(
    r"(?i)\b(?:tpu_cores|nprocs|num_cores|num_processes)\s*=\s*(?:[2-9]|[1-9]\d)\b|\bxmp\.spawn\("
    r"|\b(?:[2-9]|[1-9]\d|two|four|eight) (?:TPU )?(?:cores|processes|procs)\b"
    r"|\b(?:[2-9]|[1-9]\d)-core\b[^.\n]{0,30}\bTPU\b"
    r"|\bprocess [1-9]\d? terminated with\b|\bxla_multiprocessing\.py\b"
    r"|(?i:\bTPUs?\b[^.\n]{0,20}\bmulti-?processing\b)",
    "xmp.spawn(_mp_fn, nprocs=8)",
    "I train on an 8-core TPU",
    'torch_xla/distributed/xla_multiprocessing.py", line 296, in spawn',
    "I could not specify 8 TPU cores",
    "ProcessExitedException: process 1 terminated with signal SIGKILL",
    "batch 2 with 8 procs",
    needs=("core", "spawn(", "proc"),
)
"""A process for each core of an accelerator, all on one host."""
LOADED_BY_EACH = LineRule(
    r"(?i)\b(?:each|every) (?:of the )?(?:\w+ )?process(?:es)?\b[^.\n]{0,24}"
    r"\b(?:cop(?:y|ies)|loads?|reads?|holds?|duplicat\w+)\b[^.\n]{0,20}\b(?:data\w*|files?|samples|set)\b"
    r"|\b(?<!GPU )(?<!TPU )(?<!HBM )(?:memory|RAM)\b[^.\n]{0,24}\b(?:grow|increas|scal|multipl)\w*"
    r"[^.\n]{0,24}\b(?:with|by)[^.\n]{0,16}\b(?:num_workers|workers|processes)\b"
    r"|\bdata ?set\b[^.\n]{0,12}\bshared (?:across|between|among|by) (?:\w+ ){0,2}(?:cores|process\w*)"
    r"|\bdata ?set\b[^.\n]{0,24}\b(?:inside|in|within) (?:the |my )?`?(?:_?mp_fn|_?map[ _]fu?n\w*)"
    r"|\b(?:whole|entire|complete) VM\b[^.\n]{0,16}\b(?:goes|runs?|is) (?:out of memory|OOM)\b"
    r"|\bVM\b[^.\n]{0,12}\b(?:is|are) not (?:enough|sufficient)\b",
    "It looks as though every process copies all the data",
    "memory growing linearly with `num_workers`",
    "Is the dataset shared across the cores?",
    "I build the dataset inside the map function",
    "the whole VM goes out of memory",
    needs=("process", "worker", "dataset", "data set", "vm "),
)
"""What the processes of one host load, each by itself, fills the host and no device."""
BETWEEN_EPOCHS = LineRule(
    r"(?i)\b(?:start|begin(?:ning)?|end|finish) of"
    r" (?:(?:the|each|every|an?|next|second|first|this) ){0,3}epoch"
    r"|\b(?:next|second) epoch\b[^.\n]{0,12}\b(?:starts?|begins?|started|began)\b"
    r"|\b(?:when|after|once|as soon as) (?:an?|the|one|each|every)(?: first| 1st)? epoch"
    r" (?:ends?|finish\w*|is over)\b"
    r"|\bbetween (?:two )?epochs\b",
    "a weird thing happens when an epoch finishes",
    "As soon as the next epoch starts, the program goes OOM.",
    "it fails at the beginning of the second epoch",
    needs="epoch",
)
"""Where one epoch ends and the next begins something happens."""
UNIFIED_REFUSED = LineRule(
    r"failed to alloc(?:ate)? \d+ bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY",
    "cuda_driver.cc:764] failed to alloc 14555565056 bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY:"
    " out of memory",
    needs="unified memory",
)
"""Unified memory, of which a part is host RAM, was not to be had."""
SHAPES_ANEW = LineRule(
    r"(?i)\bdifferent(?:ly)?[- ]sized\b|\bdifferent (?:image |input |batch |sequence )?sizes?\b"
    r"[^.\n]{0,20}\b(?:each|every) (?:time|call|step|iteration)\b"
    r"|\b(?:each|every|new) (?:input |image )?(?:shape|size)s?\b[^.\n]{0,30}\b(?:re-?)?(?:jit|compil)\w*",
    "executing it with a different-sized image each time",
    "every new shape is compiled again",
    needs=("different", "shape", "size"),
)
"""Each call is given another shape, which JAX compiles anew."""
JITTED_ANEW = LineRule(
    r"(?i)\bjax\.jit`?(?:ing|ed)?\b[^.\n]{0,60}\bin (?:a|the|each)\b[^.\n]{0,12}\bloop\b"
    r"|\b(?:each|every) (?:call|time|iteration)\b[^.\n]{0,40}\bjit(?:-?ed|ted)?\b"
    r"|\bre-?jit(?:s|ted|ting)?\b",
    "I'm `jax.jit`ing the `score` function in a `for` loop",
    "More memory gets used up on each call to a jit-ed apply function",
    needs="jit",
)
"""A function is given to `jax.jit` again and again, or each call of a compiled one leaves something."""
ASKED_IN_WORDS = LineRule(
    r"(?i)\b(?:tr(?:y|ies|ied|ying)|attempt\w*|fail\w*) to alloc\w+ (?:about |another |~ ?)?"
    r"\d[\d.,]* ?[GMT]i?B\b"
    r"|\bUsed \d[\d.]*[GM] of \d[\d.]*[GM]\b",
    "I always get the same issue (ran out of memory trying to allocate 5.96GiB )",
    "it fails with an HBM OOM during compilation (Used 33.27G of 30.75G)",
    needs=("alloc", "used"),
)
"""A sentence repeats how much was asked for."""
ONE_DEVICE_USED = LineRule(
    r"(?i)\b(?:not|n't|never)\b[^.\n]{0,20}\b(?:partition|distribut\w*|split|shard|spread)\w*\b[^.\n]{0,30}"
    r"\b(?:GPUs?|devices?)\b"
    r"|\bonly (?:one|a single|the first|GPU ?0)\b[^.\n]{0,40}\b(?:used|working|busy)\b"
    r"|\bonly us(?:es?|ing) (?:one|a single|the first) (?:GPU|device)\b"
    r"|\b(?:everything|all arrays|all of it|all the memory) (?:is |goes |lands )?(?:put |placed )?"
    r"(?:on|onto|to)"
    r" (?:the )?(?:(?:GPU|device)[ :]?0|first (?:GPU|device|one))\b"
    r"|\bothers? (?:GPUs?|devices?)?\b[^.\n]{0,20}\b(?:empty|idle|unused|not used)\b",
    "the code does not partition jobs on each GPU while it is running",
    "only one of the four GPUs is used",
    "it puts everything on GPU 0",
    "the first GPU is full and the others are empty",
    needs=("gpu", "device"),
)
"""Of several devices one computes."""
HINT = LineRule(
    r"\bwhen OOM happens, add report_tensor_allocations_upon_oom",
    "Hint: If you want to see a list of allocated tensors when OOM happens, add"
    " report_tensor_allocations_upon_oom to RunOptions for current allocation info.",
    needs="when OOM happens",
)
"""What TensorFlow puts below each message of an OOM."""
NARROW_WEIGHTS = LineRule(
    r"(?i)\b(?:model|weights|checkpoint|params|parameters)\b"
    r"(?:(?!\. |\btrain|\bcomput|\bmixed|\bshould|\bcould|\bwould|\btry|\bnot\b|n't|\bif\b)[^?\n]){0,60}?"
    r" (?:in|as) (?:bf16|bfloat16|fp16|float16|half[- ]precision|16 bits?)\b(?![^\n]*\?)"
    r"|\bfrom_pretrained\([^)\n]{0,80}dtype ?= ?[\w.'\"]{0,12}?b?float16\b",
    "the model is a Llama of 8B in bf16",
    "the weights are loaded as bfloat16",
    "m = AutoModel.from_pretrained(name, torch_dtype=torch.bfloat16)",
    needs=("16", "half"),
)
"""The text says that the weights are in 16 bits already; a training in them may keep others."""
UPDATING_SELDOM = LineRule(
    r"(?i)\b(?:optimi[sz]er|opt|optim)\w{0,3}\.?_?(?:step|update)\W{0,6}"
    r"(?:(?:only|just|is|are|called|once|done|runs) ){0,3}(?:every|each|once in|after(?: every)?) "
    r"\d{1,4}(?:th|st|nd|rd)? (?:iteration|step|(?:micro-?)?batch|backward)"
    r"|\baccumulat\w+ (?:the )?(?:gradients? )?(?:over|of|for) \d{1,4} "
    r"(?:iterations|steps|(?:micro-?)?batches)",
    "I call loss.backward() each iteration and optimizer.step() every 24 iterations",
    "we accumulate gradients over 8 batches",
    needs=("step", "update", "accumulat"),
)
"""The text says that weights are updated once in several passes."""
POOL_OF_THE_HOST = LineRule(
    r"\b(?:cuda|gpu)_host_bfc\b", "# Out of memory due to cuda_host_bfc allocator", needs="_host_bfc"
)
POOL_OF_A_DEVICE = LineRule(r"\bGPU_\d+_bfc\b", "by allocator GPU_0_bfc", needs="_bfc")
AT_START = LineRule(
    r"(?i)\b(?:when|while|as|on|at|after|once|during)\b[^.\n]{0,60}\bstart(?:s|ing|ed|up)?\b[^.\n]{0,60}"
    r"\b(?:memory|RAM|killed|OOM\w*)\b",
    "When tensorflow_model_server starts serving it takes all the memory, killed finally.",
    needs="start",
)
"""Memory runs out while a server starts."""
RERUN = LineRule(
    r"(?i)\b(?:re-?run(?:ning|s)?|run(?:ning|s)?) (?:the |this |that )?(?:same )?(?:cell|notebook|it)\b"
    r"[^.\n]{0,40}"
    r"\b(?:again|more than once|twice|(?:a )?second time|without re-?(?:setting|starting))\b[^.\n]{0,80}"
    r"\b(?:errors?|OOM\w*|memory|fails?|crash\w*)\b"
    r"|\b(?:ran|runs?|work(?:s|ed)|finish(?:es|ed))\b[^.\n]{0,24}\bfirst time\b[^.\n]{0,60}"
    r"\b(?:again r[au]n|r[au]n(?:ning)?(?: \w+){0,3} (?:again|twice|(?:a )?second time)"
    r"|re-?r[au]n(?:ning)?)\b[^.\n]{0,60}\b(?:errors?|OOM\w*|memory|fail(?:s|ed)?|crash\w*)\b"
    r"|\b(?:the|for the|at) first (?:time|run|training|attempt)\b(?![^.\n]{0,60}(?:n't|\bnot\b))"
    r"[^.\n]{0,60}\b(?:worked|ran|was fine|trained|succeeded|went well)\b(?=[^\n]{0,160}\b(?:errors?|OOM\w*"
    r"|memory|fail(?:s|ed)?|crash\w*)\b)(?=[^\n]{0,160}\b(?:this time|(?:second|next) (?:time|run)|re-?r[au]n"
    r"|again)\b)",
    "The first time I trained it, it worked. Now the same cell gives me an error this time.",
    "if I rerun the cell more than once without resetting the runtime I get this error",
    "it works fine the first time, but when I run the script again it fails",
    needs=("run", "ran", "first time", "attempt"),
)
"""What runs once, and fails when it is run again: in a notebook's process, or one after the other."""
COMPILED_BY_XRT = LineRule(r"\bXRTCompile", "\t [[{{node XRTCompile}}]]", needs="XRTCompile")
A_LABEL = LineRule(
    r"\bXLA [Ll]abel: .*?\b[a-z]{1,4}\d{1,2}\[\d",
    "  XLA label: %fusion.4431 = (f32[1024]{0:T(1024)}, f32[24,128,1024]{2,1,0:T(8,128)})",
    needs="label: ",
)
RUN_BY_XRT = LineRule(r"\bXRTExecute", "[[XRTExecute_G12]]", needs="XRTExecute")
"""The node of a program of PyTorch/XLA, where it was compiled and where it ran."""
A_SMALL_GPU = LineRule(
    r"(?i)(?:\b(?:I'?m|am|are|is|was|we|I|my|our|on|with|have|has|use|using|running|training)"
    r" (?:\w{1,12} ){0,3}?|\A\W*(?:GPU(?: model)?(?: and memory)?|graphics? card)?\W{0,4})"
    r"(?:NVIDIA )?(?:GeForce )?(?P<card>MX ?[1-4][1-7]0\b|(?:GTX ?)?9[3-6]0 ?MX?\b|(?:GTX ?)?8[4-6]0M\b"
    r"|(?:GTX|GeForce) ?(?:7[45]0|1050|1650)(?: ?Ti\b)?(?![\w ]{0,3}(?:Super|[5-9]\d? ?GB))\b"
    r"|GT ?(?:7[1-4]0|1030)\b|(?:Quadro )?(?:M[56]00M|M[12]000M|P[4-6][02]0|P1000|K6[12]0)\b)",
    "I'm using 960M, TensorFlow-gpu1.10, Cuda toolkit 9.0",
    "MX150 2,0 GiB",
    "- GPU model and memory: GeForce GTX 1050 Ti",
    "we train on a Quadro P620",
    needs=("mx", "60m", "50m", "40m", "30m", "gtx", "geforce", "gt 7", "gt 1", "gt7", "gt1", "m500m", "m600m",
           "000m", "p400", "p500", "p600", "p620", "p420", "p520", "p1000", "k610", "k620"),
)  # fmt: skip
"""A card that is sold with 4 GB at most, where the writer has it."""
NAMED_MEMORIES = {
    "GPU memory named": GPU_MEMORY,
    "host RAM named": HOST_RAM,
    "a GPU named": A_GPU,
    "a small GPU named": A_SMALL_GPU,
}
"""What is named anywhere, whatever is said of it."""
TIDIES = LineRule(
    r"\A(?!.*\b(?:use|using|try|should|could|would|need|must|have to|suggest\w*)\b).*?"
    r"\btf\.(?:tidy|dispose)\(",
    "  const y = tf.tidy(() => model.predict(x));",
    needs="tf.",
)
"""Code of TensorFlow.js that frees what it makes already."""
NAMED_KERAS = LineRule(
    r"(?i)(?<![\w-])keras(?![\w-])", "# Keras Callback Error specific GPU", needs=("keras",)
)
_CARDS = r"(?:GPUs|graphics? cards|video cards|Grafikkarten|(?:GTX|RTX|Tesla|Titan|Quadro|[PVA]100|T4|K80)\b)"
SEVERAL_GPUS = LineRule(
    r"(?i)(?<![\w.:-])(?:two|three|four|six|eight|several|multiple|both(?! (?:\w+ ){0,2}\S{2,12} and )|vier"
    r"|zwei|[2-9]|1[0-6]) ?[x×*]? ?"
    rf"(?:[\w-]{{1,12}} ){{0,2}}{_CARDS}(?! ?(?:memory|is|are) (?:too|not))"
    r"|(?:[两二三四六八] ?[块张个]?|(?<![\w.])[2-9] ?[块张个]) ?(?:显卡|GPU)"
    r"|GPU ?[2-9] ?(?:개|장|枚)|\b[2-9] видеокарт",
    "we have 4 GTX 1080 Ti in the server",
    "on a machine with four GPUs",
    "学校的服务器是四显卡的",
    needs=(
        "gpu",
        "card",
        "gtx",
        "rtx",
        "tesla",
        "titan",
        "quadro",
        "00",
        "t4",
        "k80",
        "karten",
        "卡",
        "видео",
    ),
)
"""A machine with several GPUs."""
ENDS_SILENTLY = LineRule(
    r"(?i)\A(?!.*\bby (?:me|us|hand|myself)\b)"
    r"(?=.*\b(?:ends?|ended|exit\w*|crash\w*|die[sd]?|dying|quits?|stop\w*|clos\w+|terminat\w+|kill\w*"
    r"|fail\w*|gone|restart\w*|abort\w*|happens|prompt)\b)"
    r".*(?:\b(?:no|not (?:a|any|even an?)) (?:\w+ ){0,2}"
    r"(?:error|message|traceback|exception|output|warning)s?\b"
    r"(?![^.\n]{0,20}\b(?:of|about)\b)(?=[^.?\n]{0,40}(?:[.,;!)]|\Z| (?:at all|anywhere|from|in"
    r" the|is|was|are"
    r"|just|and|when|whatsoever)\b))"
    r"|\bwithout (?:any |an? |giving )?(?:\w+ )?(?:error|message|traceback|exception|warning|trace)s?\b"
    r"|\b(?:silently|quietly)\b|\bback (?:at|to) the (?:prompt|shell)\b)",
    "No warning, no error, no traceback, nothing, the terminal is back at the prompt",
    "the python process just exits without any error message",
    "After an hour it silently dies.",
    "half of the time the run just exits on all ranks and there's no message at all",
    needs=("no ", "not ", "without", "silently", "quietly", "back "),
)
"""The text says that the program ends, and that nothing tells why."""
INPUT_PIPELINE = LineRule(
    r"(?i)\b(?:shuffl\w*|prefetch\w*|num_parallel_\w+|max_queue_size|(?:use_)?multiprocessing|flow_from\w*"
    r"|(?:data)?generators?|data ?loaders?|Sequence|interleave|tf\.?records?|(?:input|data) pipelines?"
    r"|input_fn|from_generator|DataLoader|num_workers)\b|\bcache\(|\bworkers?\b",
    "ds = ds.shuffle(1000).batch(32)",
    "model.fit(seq, workers=4)",
    "the input pipeline reads TFRecords",
    needs=(
        "shuff", "prefetch", "parallel", "queue", "processing", "flow_from", "generator", "load", "sequence",
        "interleave", "record", "pipeline", "input_fn", "worker", "cache(",
    ),
)  # fmt: skip
"""What an input pipeline keeps in host RAM is named: a buffer, a queue, workers, a generator."""
SEVERAL_SIZES = LineRule(
    r"(?i)\b(?:var(?:y|ies|ying|iable)|different|several|various|unequal|mixed) (?:\w+ ){0,2}"
    r"(?:sizes?|lengths?|resolutions?|shapes?)\b"
    r"|\b(?:sizes?|lengths?|resolutions?|shapes?) (?:\w+ ){0,3}(?:var(?:y|ies)|differs?|changes?)\b"
    r"|\bkeep_aspect_ratio\w*|\bpadded_batch\b|\bbucket\w*|\bmulti-?scale\b|\(None, ?None, ?[134]\)",
    "my images have different sizes",
    "the lengths of the clips differ",
    "keep_aspect_ratio_resizer {",
    needs=("size", "length", "resolution", "shape", "aspect", "padded", "bucket", "scale", "none"),
)
"""Samples of several sizes are told."""
HEAP_OF_JAVA = LineRule(
    r"(?<![\w-])-Xmx(?:\d{1,6}[kKmMgG]?)?\b|\b(?:Java|JVM)(?:'s)? heap\b[^.\n]{0,40}\d",
    "java -Xmx5600m -jar app.jar",
    "while the Java heap was 70% of the pod's memory",
    needs=("-xmx", "heap"),
)
FIT_STARTS = LineRule(
    r"(?i)\b(?:when|as soon as|once|the moment|right after|just after) (?:I (?:call|run|start) )?(?:model\.)?"
    r"fit(?:\(\))?(?: (?:starts?|is called|begins?|runs?))?\b(?![^.\n]{0,40}\b(?:ends|finishes|returns)\b)"
    r"(?=[^\n]{0,80}\b(?:jumps?|doubles?|doubled|twice|goes|rises|shoots|climbs)\b)",
    "the RAM doubles: when fit() is called it goes from 9 to 18 GB",
    "as soon as model.fit starts (no batch is done yet) memory jumps to 40 GB",
    needs="fit",
)
"""Memory rises at once when fit begins."""
BEFORE_THE_RELEASE = LineRule(
    r"(?i)\bnightly\b|\b[012]\.\d{1,2}\.\d{1,2}[-.]?(?:dev\d|rc\d)",
    "nightly 1.4.0-dev20170925",
    "tensorflow 2.4.0-rc3",
    needs=("nightly", "dev", "rc"),
)
"""A build of a library that came before its release."""
_A_BOARD = r"jetson|nano|raspberry ?pi|rpi|board"
_OF_THE_MACHINE = rf"(?:machine|computer|pc|workstation|laptop|desktop|mac ?book|system|box|{_A_BOARD})"
_OFF = (
    r"(?:reboots?|rebooted|rebooting|restarts|restarted|restarting|(?:shuts|turns|switches|powers|shut|turned"
    r"|powered|shutting|turning|switching) (?:itself )?(?:off|down)|power[- ]cycles|cold[- ]boots"
    r"|hard[- ]resets)"
)
MACHINE_RESTARTS = LineRule(
    r"(?i)(?<!after the )(?<!after my )(?<!once the )(?<!once my )(?<!until the )(?<!unless the )"
    r"(?<!if the )(?<!if my )(?<!i )(?<!we )(?<!you )(?<!virtual )(?<!operating )(?<!file )"
    rf"\b(?:{_OF_THE_MACHINE} (?:(?:itself|just|then|also|always|suddenly|randomly|automatically|simply|hard"
    rf"|sometimes|immediately|instantly|completely|crashes and|freezes and|hangs and) ){{0,2}}{_OFF}"
    r"|(?:server|node|host)(?: itself| just| then| suddenly)? (?:reboots|powers off|shuts itself down))\b"
    rf"|\b{_OF_THE_MACHINE} (?:does|did|makes|performs) an? (?:\w+ )?(?:reboot|restart|shut ?down|cold boot)"
    r"|\b(?:spontaneous|unexpected|random|sudden)(?:ly)? (?:\w+ )?"
    r"(?:reboot|power[- ]off|shut ?down)(?:s|ing)?\b"
    rf"|\b(?:causes?|makes?|forces?|crash(?:es)? and reboots?|reboots) (?:the|my|our) (?:whole |entire )?"
    rf"(?:{_OF_THE_MACHINE}|server)\b(?: to)?"
    r"(?: (?:reboot|restart|shut ?down|turn off|power off)\b|(?=[.,;!]|\Z))"
    r"|\b(?:the|my|our) (?:whole |entire )?(?:server|pc|computer|machine)\b[^.\n]{0,20}"
    r"\bcrashes? and (?:reboots|restarts)\b"
    rf"|\b{_OF_THE_MACHINE} (?:crashes|goes|dies|ends) (?:\w+ ){{0,3}}(?:black screen|dark)\b",
    "After the last step my PC does a cold reboot.",
    "then the machine reboots after about two epochs",
    "the computer suddenly shuts down when training starts",
    "With the environment set up I load a model, and the server reboots.",
    "training a large model reboots my computer.",
    "it causes my PC to restart",
    "sudden power-offs while it trains",
    needs=("reboot", "restart", "shut", "off", "power", "cold", "reset", "black screen", "dark"),
)
"""The machine itself goes down, and not the program. A server or node that restarts may be a process."""
IN_KUBERNETES = LineRule(
    r"(?i)\b(?:kubernetes|k8s|kubectl|kubeflow|kubelet|minikube|openshift|GKE|EKS|AKS|helm chart)\b"
    r"|(?<!tpu )(?<!tpu-)(?<!-\d )(?<!-\d\d )(?<!-\d\d\d )\bpods?\b(?! ?cast| slice|\.\w)"
    r"|\b(?:Evicted|CrashLoopBackOff)\b|\bresources\.limits\b"
    r"|\b[a-z][a-z0-9-]{2,50}-[a-f0-9]{8,10}-[a-z0-9]{5} +\d/\d +\w",
    "the pod is restarted",
    "kubectl get events",
    "trainer-847ff4564c-gqvn6   1/1       Running   3          3h",
    needs=(
        "kube",
        "k8s",
        "pod",
        "shift",
        "gke",
        "eks",
        "aks",
        "helm",
        "evicted",
        "crashloop",
        "resources.",
        "/",
    ),
)
"""The program runs in a container of Kubernetes, whose words its tools use."""
_TAKEN_OF_A_GPU = (
    r"(?:GPU(?:'s)? (?:memory|RAM)|VRAM|video (?:memory|RAM)|memory (?:of|on) (?:the|my|each|every) GPUs?"
    r"|memory|\d{1,3}(?:\.\d{1,2})? ?(?:GB|GiB|G)\b)"
)
_TAKES_IT = (
    r"(?:fill(?:s|ed)?(?: up)?|tak(?:es|en)|us(?:es|ed)|allocat(?:es|ed)|occup(?:ies|ied)|consum(?:es|ed)"
    r"|reserv(?:es|ed)|eat(?:s|en)|grab(?:s|bed)|gone|full)"
)
FILLED_AT_IMPORT = LineRule(
    rf"(?i)\bimport(?:ing)?\b (?!error)(?:[\w.`'\"-]{{1,60}} ){{1,6}}?(?:already |itself |alone )?{_TAKES_IT}"
    rf"\b[^.?!\n]{{0,40}}\b{_TAKEN_OF_A_GPU}"
    r"|\b(?:when|after|once|upon|on|by|just|simply|merely|only|as soon as)\b[^.?!\n]{0,24}"
    rf"\bimport(?:s|ed|ing)?\b[^?!\n]{{0,100}}?\b{_TAKEN_OF_A_GPU}[^.?!\n]{{0,24}}\b{_TAKES_IT}\b"
    rf"|\b{_TAKEN_OF_A_GPU}[^.?!\n]{{0,30}}\b{_TAKES_IT}\b[^.?!\n]{{0,30}}"
    r"\b(?:when|after|once|upon|on|by|just|simply|merely|only) (?:\w+ ){0,3}import(?:s|ed|ing)?\b",
    "When I import its functions, GPU memory fills up at once",
    "Importing the package consumes 22G GPU memory",
    "60 GB of the GPU are taken just by the import",
    needs=("import",),
)
"""A GPU's memory is taken as soon as something is imported."""
GPU_UNUSED = LineRule(
    r"(?i)\bGPUs?(?:'s)?(?: memory)?\b[^.\n]{0,30}\b(?:is|are|stays?|remains?|sits?|seems?) (?:\w+ ){0,2}?"
    r"(?:un-?used|not (?:being )?used|idle|empty|un-?allocated|unutili[sz]ed)\b"
    r"|\b(?:does|do|did)(?: not|n't) (?:\w+ )?(?:use|take part|see|utili[sz]e)\b[^.\n]{0,20}\bGPU\b"
    r"|\b(?:does|do|did) (?:the |my )?GPU not\b|\bGPU\b[^.\n]{0,24}\b(?:does|do|did)(?: not"
    r"|n't) (?:take part|work|get used|do anything)\b|\bno (?:sign|trace)\b[^.\n]{0,24}\bGPU\b"
    r"|\bunused GPUs?\b|\btraining (?:runs |is )?on (?:the )?CPU (?:instead|only|rather)\b|GPU ?\u6ca1\u6709",
    "my 11GB of GPU memory are unused in training",
    "or does the GPU not take part?",
    "no sign that the GPU works",
    "it does not use my GPU",
    needs=("gpu", "on cpu", "on the cpu"),
)
"""The text says that a GPU is not used."""
NOW_AND_THEN = LineRule(
    r"(?i)\b(?:kill|crash|fail|stop|die|end)\w*\b[^.\n]{0,30}\b(?:sometimes|occasionally|at times"
    r"|now and then|randomly)\b|\b(?:sometimes|occasionally|at times|now and then"
    r"|randomly)\b[^.\n]{0,40}\b(?:kill|crash|fail|stop|dies|ends)\w*\b|\b(?:same"
    r"|again)\b[^.\n]{0,60}\b(?:again|second|2|3|few)\b[^.\n]{0,30}\b(?:it|then) (?:gets |is )?(?:trained"
    r"|works|runs|passes|succeeds|goes through)\b",
    "I want to know why it is killed sometimes",
    "If I train the same data again, 2 or 3 times, it gets trained.",
    needs=("sometimes", "occasionally", "at times", "now and then", "randomly", "again"),
)
"""It fails at some times, and goes well at others with the same input."""
QUOTED_WARNING = LineRule(
    r"(?i)(?<!\) )ran out of memory trying to allocate (?P<size>\d[\d.]{0,8} ?[KMGT]i?B)\b"
    r"[^\n]{0,40}?\bcaller indicates that this is not a failure"
    r"|\((?i:GPU)_\d{1,2}_bfc\)[^\n]{0,90}?\d[\d.]{0,8} ?[KMGT]i?B\b[^\n]{0,50}\bfreed_by_count ?= ?0\b",
    "Ran out of memory trying to allocate 3.19GiB. The caller indicates that this is not a failure",
    "Speicher (GPU_0_bfc) ist voll beim Versuch, 2.05GiB mit freed_by_count=0 zu belegen",
    needs=("not a failure", "freed_by_count"),
)
"""TensorFlow's warning of a faster algorithm that found no room, as a writer quotes it."""
HOW_MUCH = LineRule(
    r"(?i)\bhow much (?:\w+ ){0,3}?(?:memory|VRAM|RAM)\b[^?\n]{0,60}\b(?:need|require|necessary|enough"
    r"|takes?|used?)\w*[^?\n]{0,120}\?|\bhow much is the (?:GPU )?memory requirements?\b"
    r"|\b(?:what|which) (?:is|are) the (?:GPU |minimum )*(?:memory )?requirements?\b[^?\n]{0,60}\?"
    r"|\b(?:will|would|is|are) (?:\w+ ){0,5}?\d{1,3} ?GB?\b[^?\n]{0,40}\b(?:enough|sufficient"
    r"|suffice)\b[^?\n]{0,40}\?",
    "how much GPU memory do I need to train this model?",
    "Will 11 GB of GPU memory be enough?",
    needs=("how much", "requirement", "enough", "sufficient", "suffice"),
)
"""What a program needs is asked, and no failure told."""
SLOWS = LineRule(
    r"(?i)\bslow(?:s|ed|ing)?(?: down)?\b[^.\n]{0,20}\bfrom ~?\d[^\n]{0,50}? to (?:~?\d|minutes|hours"
    r"|several)|\b(?:utili[sz]ation|usage|load|util)\b[^.\n]{0,30}\b(?:fall|drop|go)(?:s|es|ing"
    r"|ped)?\b[^.\n]{0,20}\bto 0 ?%",
    "the training slows from 35ms/step to minutes per step",
    "GPU utilization drops to 0% after some hours",
    needs=("slow", "to 0"),
)
"""The text says that a program gets slow, which is no end of it."""
AT_ITS_MOST = LineRule(
    r"(?i)\b(?:memory|RAM|limit|--mem)\b[^.?\n]{0,40}\bmax(?:imum|imal)?\b[^.?\n]{0,40}\b(?:allow|possible"
    r"|permit|available|the (?:queue|partition|cluster|plan|instance))\w*"
    r"|\bmax(?:imum|imal)? (?:host |amount of )?(?:memory|RAM|limit)\b[^.?\n]{0,20}\b(?:allow|possible"
    r"|permit)\w*|\b(?:can ?not|can't|not able to|not allowed to) (?:raise|increase|ask for|request|get"
    r"|use) (?:any )?(?:more|the|a larger)\b[^.?\n]{0,20}\b(?:memory|RAM|limit)\b",
    "The memory is already set to the maximum that SLURM allows",
    "I already set max memory, that SLURM allows",
    "we cannot request more RAM on this cluster",
    needs=("max", "more", "the ", "larger"),
)
"""A limit of host RAM cannot be raised."""
IN_A_CONTAINER = LineRule(
    r"(?i)\b(?:in|inside|within|with|using|on|through) (?:an? |the |my |nvidia[- ]?)*(?:docker|singularity"
    r"|podman|apptainer|container)\b|\bdocker (?:container|run|exec)\b|\bdockeri[sz]ed\b",
    "I run it in a docker",
    "the script runs inside my docker container",
    needs=("docker", "singularity", "podman", "apptainer", "container"),
)
"""The program runs in a container, which may have a limit of its own."""
BUILDS_AN_IMAGE = LineRule(
    r'\bfailed to solve: process "|\AThe command \'/bin/sh -c [^\n]{1,400}\' returned a non-zero code:'
    r"|\A[> \t]*(?:#\d+ )?(?:=> )?(?:ERROR )?\[(?:[\w-]+)? ?\d+/\d+\] RUN ",
    'ERROR: failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 137',
    "The command '/bin/sh -c python setup.py install' returned a non-zero code: 137",
    " > [ 7/12] RUN python make_tables.py:",
    needs=("failed to solve", "non-zero code", "] run "),
)
"""An image of a container is built: what fails is one of its commands, and its bars count no steps."""
CODE_OF_JULIA = LineRule(
    r"\bERROR: LoadError:|\A\W{0,4}julia> |\bjulia (?:--\S{1,40} ){0,4}\S{1,80}\.jl\b"
    r"|@ \w[\w.]{0,60} \S{1,160}\.jl:\d{1,6}\b|\bDistributed\{\w{1,40}State\}|\busing Reactant\b"
    r"|\bReactant\.(?:to_rarray|@\w|set_default_backend|Const\w{2,20})",
    "ERROR: LoadError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16777216 bytes.",
    "julia --project run.jl",
    "using Reactant, Lux",
    "   @ Reactant.XLA ~/.julia/packages/Reactant/x1/src/xla/Device.jl:40",
    needs=(".jl", "julia> ", "loaderror", "reactant", "state}"),
)
"""A program of Julia's, such as one of Reactant's, whose compiler is XLA."""
CODE_OF_R = LineRule(
    r"\blibrary\((?:keras\w{0,2}|tensorflow|reticulate|tfdatasets)\)|\bkeras3?::\w|\bk_clear_session\b"
    r"|\bR Keras\b|\b[Kk]eras (?:in|for|with) R\b|\bRStudio\b"
    r"|%>% ?(?:layer_\w|compile\(|fit\w{0,10}\()|<- ?(?:keras_model|load_model_|layer_)\w*\(|\breticulate::"
    r"|<- ?tf\$\w|\bk_(?:set|get)_session\(|\btensorflow::(?:tf_config|install_tensorflow)\(",
    "library(keras)",
    "gpu_options <- tf$GPUOptions(allow_growth = TRUE)",
    "k_set_session(sess)",
    "model <- keras::load_model_hdf5(path)",
    "  model %>% fit(x, y)",
    needs=(
        "library(",
        "keras::",
        "keras3::",
        "k_clear_session",
        "k_set_session",
        "k_get_session",
        "tensorflow::",
        "%>%",
        "<-",
        "reticulate",
        "keras",
        "rstudio",
    ),
)
"""Code of R, whose packages run Python's Keras."""
ONE_AFTER_ANOTHER = LineRule(
    r"(?i)\bq[- _]?learning\b|\breinforcement\b|\bepisodes?\b|\b(?:dqn|ddpg|ppo|a[23]c|sarsa)\b|\bwebcam\b"
    r"|\b(?:camera|video|audio|live) (?:stream|feed)s?\b|\bstreaming\b|\breal[- ]?time\b"
    r"|\bframe by frame\b|\bself[- ]?play\b|\bMCTS\b|\benv\.step\(",
    "as one does in deep q-learning",
    "I read frames from a webcam",
    needs=(
        "learning", "reinforcement", "episode", "dqn", "ddpg", "ppo", "a2c", "a3c", "sarsa", "webcam",
        "stream", "feed", "real", "frame", "play", "mcts", "env.step",
    ),
)  # fmt: skip
"""Each input comes when the one before was answered, so that there is no batch of all."""
LINES_LEFT_OUT = LineRule(
    r"(?i)\b(?:when|if|after|once|by|side) (?:I |we )?(?:when I )?(?:comment(?:ed|ing)?|remov(?:e|ed|ing)"
    r"|disabl(?:e|ed|ing)|tak(?:e|ing) out|leav(?:e|ing) out|skip(?:ped|ping)?)(?: out)?"
    r" (?:the |this |these |out )?(?:(?:following|next|below) )?(?:lines?|calls?|code|part)\b[^.\n]{0,40}"
    r"(?::|\.{2,3}|\u2026)\s*\Z",
    "it is flat when I comment out the following lines...",
    "after removing this line:",
    needs=("comment", "remov", "disabl", "out", "skip"),
)
"""The writer's own test: without the lines below it does not happen."""
WRITES_A_FILE = LineRule(
    r"\A\s*File \"[^\"\n]*(?:event_file_writer|summary[/\\]writer|tensorboard[/\\]writer|training[/\\]saver"
    r"|checkpoint\w*|file_io)\.py\", line|\b(?:file_)?writer\.(?:flush|add_event|add_summary|write)\("
    r"|\bsaver\.save\(|\.save_weights\(|\bwrite_graph\(",
    "    self.writer.flush()",
    'File "site-packages/tensorflow/python/training/saver.py", line 1253, in save',
    needs=("writer", "saver", "checkpoint", "file_io", "save_weights", "write_graph"),
)
"""A frame or a line that writes a file: a log for TensorBoard, a checkpoint."""
OWN_PROCESS_OF_TENSORBOARD = LineRule(
    r"\A\s*File \"(?:[^\"\n]*[/\\])?(?:(?:bin|Scripts)[/\\]tensorboard"
    r"(?:\.exe|-script\.py)?(?:[/\\]?__main__\.py)?"
    r"|(?<!utils[/\\])tensorboard[/\\](?:main|program|backend[/\\]application)\.py)\", line",
    'File "/home/kim/env/bin/tensorboard", line 11, in <module>',
    '  File "/usr/lib/python3.6/site-packages/tensorboard/main.py", line 45, in run_main',
    needs="tensorboard",
)
"""A frame of the program `tensorboard`, and none of a training that writes its files."""
READS_A_CHECKPOINT = LineRule(
    r"\[\[ ?(?:Node: |\{\{node |node )[\w./-]{0,120}\bRestore(?:V2|Slice)?(?:_\d{1,5})?\b(?![/\w])",
    "\t [[Node: save/RestoreV2_6 = RestoreV2[dtypes=[DT_FLOAT]](save/Const)]]",
    "\t [[{{node save_1/RestoreV2}}]]",
    needs="Restore",
)
"""The node of a failure is the one that reads a checkpoint, where a save's is `SaveV2`."""
LOADING_WEIGHTS = LineRule(
    r"(?i)\b(?:when|while|during|at|before|in|on) (?:the )?(?:re-?)?load(?:ing)? (?:of )?(?:the |its |my )?"
    r"(?:\w+ ){0,2}?weights\b",
    "Getting HBM OOM when loading model weights on 8 chips",
    "it fails while loading the weights",
    needs="weights",
)
"""It fails while weights are loaded."""
SCHEDULER = LineRule(
    r"(?i)\bslurm\b|\bsbatch\b|\bsrun\b|\bqsub\b|\bbsub\b|\bjob scheduler\b|\bPBS (?:job|script)\b",
    "on a server with the slurm job scheduler",
    "I submit it with sbatch",
    needs=("slurm", "sbatch", "srun", "qsub", "bsub", "scheduler", "pbs "),
)
"""A batch system runs it."""
JOB_OPTIONS = LineRule(
    r"\A\s*#(?:BSUB|SBATCH|PBS) +-",
    '#BSUB -R "rusage[mem=16G]"',
    "#SBATCH --mem=16G",
    needs=("#bsub", "#sbatch", "#pbs"),
)
"""An option of a batch system's job, in its script."""
JOB_WITH_A_GPU = LineRule(
    r"(?i)\A\s*#(?:BSUB|SBATCH|PBS) +-.{0,120}(?:gpu|--gres)",
    '#BSUB -gpu "num=1:mode=exclusive_process"',
    "#SBATCH --gres=gpu:1",
    "#PBS -l select=1:ncpus=8:ngpus=1",
    needs=("#bsub", "#sbatch", "#pbs"),
)
"""One that asks for a GPU, or for a queue or partition of GPUs."""
PAGE_CACHE = LineRule(
    r"(?i)\bpage[- ]?cache\b|\bbuff/cache\b|\bdrop_caches\b",
    "the page cache holds 86 GB of it",
    "With 86GB in `buff/cache` it fails",
    needs=("cache",),
)
"""What files left in RAM is named as what is taken."""
BUFFER_STAYS = LineRule(
    r"(?i)\b(?:can(?:not|'t| not)|do not want to|don't want to|must not|unable to|not able to) (?:\w+ )?"
    r"(?:decreas|reduc|lower|shrink|chang|limit)\w* (?:the |my |its )?(?:size of (?:the |my )?)?"
    r"(?:replay|buffer|memory buffer)\b",
    "I can't decrease the replay buffer size",
    needs=("replay", "buffer"),
)
"""The text says that the buffer of experiences has to keep its length."""
ONE_MODEL_AGAIN = LineRule(
    r"(?i)\b(?:the|one and the) (?:very )?same (?:\w+ )?model\b(?! (?:type|class|archi))"
    r"[^.\n]{0,40}\bloops?\b",
    "training the same model in a loop on several generators",
    needs="model",
)
"""One model is trained again and again, and none is made anew."""
MORE_RAM_HELPS = LineRule(
    r"(?i)\b(?:allocat|gave|giv|add|free|assign|increas|upgrad|rais)\w*\b[^.\n]{0,30}"
    r"\b(?:more|additional|extra|\d+ ?GB?)\b[^.\n]{0,30}\b(?:memory|RAM|swap)\b"
    r"(?! (?:and|but) (?:it |the \w+ )?still)[^.\n]{0,30}?\b(?:then|and|so|after that|now)\b,?"
    r" (?:the |my |it |that )?(?:\w+ )?(?:started|works?|worked|runs|ran|finished|trains|trained"
    r"|succeeded|went through)\b(?! out\b)",
    "We allocated more free memory (1 GB), then the process started.",
    "I added 8 GB of RAM and it works",
    needs=("memory", "ram", "swap"),
)
"""The text says that it goes well with more RAM."""
TOLD_BESIDES = {
    "more RAM helps": MORE_RAM_HELPS,
    "one model again": ONE_MODEL_AGAIN,
    "a buffer that must stay": BUFFER_STAYS,
    "writing a file": WRITES_A_FILE,
    "TensorBoard's own process": OWN_PROCESS_OF_TENSORBOARD,
    "reading a checkpoint": READS_A_CHECKPOINT,
    "options of a job": JOB_OPTIONS,
    "loading weights in words": LOADING_WEIGHTS,
    "a job scheduler": SCHEDULER,
    "a job with a GPU": JOB_WITH_A_GPU,
    "page cache": PAGE_CACHE,
    "one input after another": ONE_AFTER_ANOTHER,
    "lines left out": LINES_LEFT_OUT,
    "code of R": CODE_OF_R,
    "no Python": NO_PYTHON,
    "fails on CPU and GPU": ON_BOTH,
    "in a worker process": IN_A_WORKER,
    "an op of its own": OWN_CUDA_CODE,
    "code of Julia": CODE_OF_JULIA,
    "building an image": BUILDS_AN_IMAGE,
    "in a container": IN_A_CONTAINER,
    "a limit at its most": AT_ITS_MOST,
    "slowing in words": SLOWS,
    "a warning quoted": QUOTED_WARNING,
    "asked: how much": HOW_MUCH,
    "failing now and then": NOW_AND_THEN,
    "a GPU unused": GPU_UNUSED,
    "filled at import": FILLED_AT_IMPORT,
    "the machine restarts": MACHINE_RESTARTS,
    "in Kubernetes": IN_KUBERNETES,
    "a build before the release": BEFORE_THE_RELEASE,
    "rising when fit starts": FIT_STARTS,
    "an input pipeline": INPUT_PIPELINE,
    "a Java heap": HEAP_OF_JAVA,
    "several sizes in words": SEVERAL_SIZES,
    "ending silently": ENDS_SILENTLY,
    "updating seldom": UPDATING_SELDOM,
    "weights in 16 bits": NARROW_WEIGHTS,
    "several GPUs named": SEVERAL_GPUS,
    "naming Keras": NAMED_KERAS,
    "tidying": TIDIES,
    "in a notebook": IN_A_NOTEBOOK,
    "test samples": TEST_SAMPLES,
    "asked in words": ASKED_IN_WORDS,
    "one device used": ONE_DEVICE_USED,
    "unified memory refused": UNIFIED_REFUSED,
    PYTORCH_ALONE: CODE_OF_PYTORCH,
    "growing with a size": GROWING_WITH_A_SIZE,
    NEED_IN_WORDS: NEEDS_IN_WORDS,
    "after an OOM": HINT,
    "failing when run again": RERUN,
    "dying while it starts": AT_START,
    "naming the host's pool": POOL_OF_THE_HOST,
    "naming a device's pool": POOL_OF_A_DEVICE,
    "compiled by XRT": COMPILED_BY_XRT,
    "run by XRT": RUN_BY_XRT,
    "a buffer's label": A_LABEL,
    "many sizes": SHAPES_ANEW,
    "jitting again": JITTED_ANEW,
    "stepped by a trainer": STEPPED_BY_A_TRAINER,
    "several cores": SEVERAL_CORES,
    "loaded by each process": LOADED_BY_EACH,
    "between epochs": BETWEEN_EPOCHS,
    "virtual memory": VIRTUAL,
    "a row of top": ROW_OF_TOP,
    "feeding a whole set": WHOLE_FEED,
    "graph network": GRAPH_NETWORK,
    "several graphs": SEVERAL_GRAPHS,
    "an empty array": EMPTY_ARRAY,
    "a workspace beyond its limit": REFUSED_WORKSPACE,
    "memory free beside a library": FREE_BESIDE,
    "a pool at start": POOL_AT_START,
    "exla: a pool of its own": POOL_OF_EXLA,
    "a batch of one": BATCH_OF_ONE,
    "any batch alike": ANY_BATCH,
    "a larger batch runs": LARGER_BATCH_RUNS,
    "batches that run": BATCHES_THAT_RUN,
    "always at one step": ONE_STEP,
    "any sample alike": ANY_INPUT,
    "watching memory": WATCHING,
    "host RAM in words": HOST_IN_WORDS,
    "free RAM beside a device": FREE_RAM,
    "large data": LARGE_DATA,
    "reloading models": RELOADING,
    "loading a model": LOADING,
    "kept afterwards": KEPT_AFTERWARDS,
    "in one process": IN_ONE_PROCESS,
    "full while nothing runs": FULL_WHILE_IDLE,
    "training and evaluating": TRAINS_AND_EVALUATES,
    "using a tool": A_TOOL,
    "on a Mac": A_MAC,
    "on Windows": ON_WINDOWS,
    "growth helps": GROWTH_HELPS,
    "data sets made anew": DATA_MADE_ANEW,
    "volumes": VOLUMES,
    "at the largest limit": LARGEST_LIMIT,
    "another release": ANOTHER_RELEASE,
    "converting a model": CONVERTING,
    "a library's call failed": LIBRARY_FAILED,
    "CUDA older than the GPU": OLD_COMPILER,
    "a cached program": CACHED_PROGRAM,
    "a recurrent call": RECURRENT_CALL,
    "raising an exception": RAISED,
    "raising MemoryError": MEMORY_ERROR,
    "saving in words": SAVING_IN_WORDS,
    "fits no more": FITS_NO_MORE,
    "before any step": BEFORE_ANY_STEP,
    "compiling in words": COMPILING_IN_WORDS,
    "at its first call": AT_FIRST_CALL,
    "Keras 3 after Keras 2": KERAS_3_AFTER_2,
    "more than expected": MORE_THAN_EXPECTED,
}
"""What is told, and how a line tells it."""
