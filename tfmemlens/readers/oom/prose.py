"""What the prose of a post tells of a run: how it ended, what it does again and again, what was tried."""

from __future__ import annotations

from tfmemlens.knowledge.kill_words import IN_OTHER_LANGUAGES, WORDS_OF_THEM
from tfmemlens.readers.oom.rules import LineRule

WARNED = LineRule(
    r"exceeds? \d+ ?%? of (?:the )?(?:free )?system memory|tcmalloc: +large alloc \d{9,} bytes",
    'it stops with "Allocation exceeds 10% of system memory"',
    "tcmalloc: large alloc 4800004096 bytes == 0x99a00000 @  0x7fb5f9f8c1e7 0x50ac25",
    needs=("system memory", "large alloc"),
)
"""A warning of a large request of host RAM, TensorFlow's or its allocator's, or the text's words for it."""
_ASKED = "".join(
    rf"(?<!\b{asks} {whose})"
    for asks in ("did", "does", "would", "will", "could", "might", "may", "if", "whether", "unless", "should")
    for whose in ("", "the ", "your ")
)
"""Not behind a word that asks: `Did the training fail?` says nothing of an end."""
ENDED = LineRule(
    rf"(?i)(?<!never )(?<!not )(?<!n't ){_ASKED}(?:"
    r"\b(?:script|program|process|kernel|session|colab|training|notebook"
    r"|server|container|code|app|it|python|everything|computer|machine|laptop|pc)\b[^.?\n]{0,40}"
    r"(?<!never )(?<!not )(?<!n't )"
    r"\b(?:fails?|failed|crash(?:es|ed|ing)?|dies|died|stops|stopped|terminat(?:es|ed)"
    r"|aborts?|aborted|quits?|exits)\b"
    r"|\bcaus(?:es?|ed|ing)\b[^.?\n]{0,40}\bto (?:crash|abort|fail)\b|\bleads? to (?:\w+ )?crash(?:es)?\b"
    r"|\b(?:everything|computer|machine|laptop|pc|system|server|desktop)\b[^.\n]{0,40}"
    r"(?<!never )(?<!not )(?<!n't )\b(?:hangs|hung|freezes|froze|stuck)\b"
    r"|\b(?:gets?|got|getting|was|were|is|been|be|being) killed\b|\bKilled\b"
    r"|\b(?:RAM|memory)\b[^.\n]{0,60}\bnot enough\b|\bnot enough (?:RAM|memory)\b|\u5361\u6b7b"
    r"|(?:\u7a0b\u5e8f|\u8fdb\u7a0b|\u8bad\u7ec3|\u811a\u672c)\u5c31?(?:\u81ea\u52a8|\u76f4\u63a5)?"
    r"(?:\u505c(?:\u4e86|\u6b62)|\u5d29\u6e83|\u9000\u51fa|\u95ea\u9000)(?!\u5417))",
    "The script then fails.",
    "my program got killed soon after",
    "The message is `Allocation of 171 exceeds 10% of free system memory. Killed`",
    "the kernel terminates during the prediction",
    "A large workspace causing TF to crash",
    "I have 8 GB of memory, which is not enough",
    "\u8bad\u7ec3\u5c31\u505c\u4e86",
    "\u7a0b\u5e8f\u76f4\u63a5\u9000\u51fa",
    needs=(
        "fail", "crash", "die", "stop", "hang", "freez", "froze", "terminat", "stuck", "abort", "quit",
        "exits", "killed", "not enough", "\u5361\u6b7b", "\u505c", "\u5d29\u6e83", "\u9000",
    ),
)  # fmt: skip
"""The text says in words that the program came to an end of its own, or that the machine stands still, as one
does that swaps; a program that hangs is at no end. Whether it did (`Did the training fail?`) says nothing.
"""
TITLED = LineRule(
    r"(?i)\A#{0,4} ?(?!\S+(?:Error|Exception):)[^\[\]{}=<>|]{0,120}"
    r"\b(?:errors?|exceptions?|crash(?:es|ed|ing)?|fail(?:s|ed|ing|ure)?)\b(?! (?:rate|bar|function))"
    r"[^\[\]{}=<>|]{0,80}\Z",
    "# Error while running in google colab",
    "Training fails on my own data",
    needs=("error", "exception", "crash", "fail"),
)
"""A line of words about an error: as a text's first it is its title."""
HANGS = LineRule(
    r"(?i)\b(?:script|program|process|kernel|session|colab|training|notebook|container|code|app|it|python"
    r"|epoch|step|fit|job)\b[^.\n]{0,40}(?<!never )(?<!not )(?<!n't )\b(?:hangs|hung|freezes|froze|stuck)\b"
    r"|\bnothing (?:more|else|further) (?:is|was|gets) (?:printed|logged|shown)\b"
    r"|\b(?:make|made|show)\w{0,3} no (?:more |further |any )?progress\b|\b(?:stands|stood) still\b",
    "Training hangs after 'exceeds 10% of system memory'",
    "it gets stuck at the first epoch",
    "Nothing more is printed after this",
    "it stops here and makes no more progress",
    needs=("hang", "hung", "freez", "froze", "stuck", "nothing", "progress", "still"),
)
"""The text says that the program stands still, which is no end of it."""
GOES_ON = LineRule(
    r"(?i)\b(?:do|does|did)(?: not|n['\u2019]?t) (?:actually |really )?(?:stop|crash|abort|interrupt|end|kill"
    r"|terminate|break|prevent)\b[^.\n]{0,30}\b(?:program|script|training|run|process|code|app|it|anything"
    r"|inference|detection)\b"
    r"|\b(?:program|script|training|process|code|app|it|everything|inference|detection|model) (?:\w+ )?"
    r"(?:still (?:runs|works|trains|finishes)(?! out\b)|keeps (?:running|working|training|going)(?! out\b)"
    r"|(?:continues|goes on|runs on)\b(?! (?:to|until|till)\b)|runs (?:fine|well|through|to the end) anyway)",
    "these lines, they do not stop the program",
    "They don't crash the training",
    "it still trains, but I wonder",
    "the script keeps running",
    needs=(
        "stop", "crash", "abort", "interrupt", "end", "kill", "terminate", "break", "prevent", "still",
        "keeps", "continues", "goes on", "runs",
    ),
)  # fmt: skip
"""The text says that the program goes on after what it quotes."""
ENDED_WELL = LineRule(
    r"(?i)\b(?:process (?:finished|exited|ended|terminated)|exited|finished|program ended) with"
    r" (?:exit )?(?:code|status) 0\b(?![.x\d])|\A\[Done\] exited with code=0\b",
    "Process finished with exit code 0",
    "train.py exited with code 0",
    "[Done] exited with code=0 in 81.2 seconds",
    needs=("code 0", "status 0", "code=0"),
)
"""A console says that the program ended without an error."""
_MEMORY = r"(?:V?RAM|(?:GPU|host|system|main|CPU|video|physical) memory|memory|swap)"
_FIGURE = r"\d{1,4}(?:\.\d{1,2})? ?(?:GB|GiB|G|TB)"
_MUCH = (
    rf"(?:{_FIGURE}|all|most|nearly all|so much|a lot|lots|huge|too much|enormous|excessive|more and more)"
)
_TAKEN = r"(?:eats?|eating|tak(?:es|ing)|consum(?:es|ing)|hogs?|hogging|occup(?:ies|ying)|grabs?|wants|needs)"
MUCH_MEMORY = LineRule(
    rf"(?i)\b{_TAKEN}\b[^.\n]{{0,30}}?\b{_MUCH}\b[^.\n]{{0,20}}?\b{_MEMORY}\b"
    rf"|\bus(?:es?|ing)\b[^.\n]{{0,20}}?\b(?:so|too|that|this) much\b[^.\n]{{0,20}}?\b{_MEMORY}\b"
    rf"|\b{_MEMORY}\b[^.%\n]{{0,40}}?\b(?:is|at|to|reach\w*|hits?|becomes|near\w*)\b[^.%\n]{{0,12}}?"
    r"(?:\b(?:9\d|100) ?%|\bfull\b)"
    rf"|\b{_MEMORY}\b[^.\n]{{0,30}}?\b(?:exhaust|deplet)\w*"
    rf"|\b(?:exhaust|deplet)\w*[^.\n]{{0,20}}?\b{_MEMORY}\b"
    r"|(?<!could )(?<!would )(?<!might )\bfill(?:s|ed|ing)? (?:up )?"
    rf"(?:(?:my|the|all|whole|entire) ){{0,2}}{_MEMORY}\b"
    r"|\b(?:load|read|keep|put|cach)(?:s|es|ed|ing)?\b[^.\n]{0,30}?\b(?:entire|whole|all|everything)\b"
    r"[^.\n]{0,30}?\b(?:in|into|to) (?:\w{1,10} )?(?:memory|RAM)\b"
    rf"|\b{_FIGURE}\b[^.\n]{{0,30}}?\b(?:not enough|too little|not sufficient)\b"
    r"|\b(?:huge|excessive|enormous|insane|crazy|extreme|unexpected(?:ly high)?|very high|massive)"
    rf" (?:\w{{1,12}} ){{0,2}}{_MEMORY} (?:us(?:e|age)|consumption|footprint|requirements?)\b"
    r"|\b(?:machine|computer|PC|laptop|system)\b[^.\n]{0,20}\b(?:freez\w+|froze|hangs?)\b[^.\n]{0,60}"
    r"\binto (?:memory|RAM)\b"
    r"|\b(?:start(?:s|ed)?|begin(?:s)?|began|keep(?:s)?)(?: to)? swap(?:ping)?\b"
    r"|\b(?:it|machine|system|computer|box|laptop|server|PC|everything) (?:\w+ )?swaps\b"
    r"(?! (?:in|out|with)\b)"
    rf"|(?:\bnot|n't|\bnever) fit in(?:to|side)? (?:(?:my|the|GPU|its) ){{0,2}}{_MEMORY}\b"
    rf"|\b(?:can ?not|can't|unable to|could(?:n't| not)) (?:\w{{1,10}} )?fit\b[^.\n]{{0,30}}? (?:in|into|on) "
    rf"(?:\w{{1,10}} ){{0,2}}?(?:{_MEMORY}\b|GPUs?\b(?! (?:cluster|server|node|machine)))"
    r"|\b(?:us(?:es?|ing)|tak(?:es|ing)|needs?|requires?|consum(?:es|ing)|allocat(?:es|ing)) (?:an? |up )?"
    r"(?:huge|massive|enormous|insane|crazy|ridiculous|excessive|unreasonable|very large|large) amounts? of "
    rf"(?:\w{{1,10}} ){{0,2}}?{_MEMORY}\b"
    rf"|\b{_MEMORY} (?:us(?:e|age)|consumption|footprint) (?:is|was|gets|becomes) (?:\w{{1,9}} ){{0,2}}?"
    r"(?:high|huge|large|enormous|excessive|insane)\b"
    rf"|\b{_MEMORY}(?: \w{{1,12}})? (?:goes|going|shoots|went) through the roof\b"
    rf"|\bsaturat(?:es?|ed|ing)\b[^.\n]{{0,24}}\b{_MEMORY}\b|\b{_MEMORY} (?:is |gets )?saturat(?:es|ed)\b"
    r"|\bhit(?:s|ting)? (?:the )?swap\b|\bmemory (?:constraints?|limitations?)\b"
    r"|(?<!never )(?<!not )(?<!n't )\b(?:met|meet|have|had|got|get|getting|face|facing|encounter\w*"
    r"|ran into|run into)\b[^.\n]{0,16}"
    r"\bmemory (?:issue|problem)s?\b",
    "TF takes 60GB of RAM for a set of 2GB",
    "why does it use so much host memory when compiling?",
    "My PC freezes as training begins, RAM is at 99%",
    "it hangs and I restart it; swap is full",
    "RAM exhaustion while training throws no exception",
    "a machine with 128GB is not enough",
    "jit_compile keeps filling GPU memory until it crashes",
    "cache(filename) loads the entire data set into memory",
    "Unexpectedly high memory usage of Conv2D",
    "I cannot fit the model in GPU memory",
    "train() uses a huge amount of memory",
    "Memory usage is way too high",
    "I also met the memory issue when I used it",
    "the machine has 32 GB and starts swapping",
    "the box freezes, it swaps like mad",
    "my images don't fit into RAM",
    "My machine freezes when I load the images into memory",
    needs=("ram", "memory", "swap", "gb", "gib"),
)
"""The text says that memory is full or much used: less than that it ran out, so it is asked last."""
KILLED_IN_WORDS = LineRule(
    r"(?i)\b(?:system|OS|server|cluster|kernel|linux|node|machine|box|scheduler|slurm)(?: \([^)\n]{1,20}\))?"
    r" kill(?:s|ed)? (?:this|the|my|it|our)\b"
    r"|(?<!not )(?<!n't )(?<!never )\bkilled by (?:the )?(?:OS|operating system|system|kernel|linux)\b"
    r"|\^C\b[^.\n]{0,20}\b(?:not (?:from|by) me|not mine|by itself|on its own)\b"
    r"|\b(?:did not|didn't|never) (?:press|type|hit|send)\w* (?:any |the )?\^C\b"
    r"|(?<!not )(?<!n't )(?<!never )(?<!without )\b(?:gets?|got|getting) (?:(?:just|always|then|simply) )?"
    r"[\"'`*\u2018\u201c]{0,3}killed\b(?![^.\n]{0,20}\bby (?:me|us|hand|(?:the |a )?user)\b)"
    r"(?![^.\n]{0,30}\b(?:time ?(?:limit|out)|wall))"
    r"|\b(?:just|only|then|prints?|says?|shows?|outputs?|with|message):? (?:just |only |then )?"
    r"[\"'`\u2018\u201c]{1,3}Killed\b"
    r"|\b(?:dies|died|ends|ended|stops|stopped|crashes|crashed|exits|aborts)(?: with| as)?:?"
    r" [\"'`\u2018\u201c]{1,3}Killed\b"
    r"|\b(?:its|it's|it is|it was) (?!manually |not |never )(?:\w+ )?['\"`]?killed['\"`]?"
    r"(?! (?:manually|it\b|(?:by|with) (?:me|the user|hand|ctrl|another)\b))"
    r"(?![^.\n]{0,30}\b(?:time ?(?:limit|out)|wall|deadline|preempt\w*))"
    r"|\bterminated (?:due to|because of) (?:an? )?memory (?:issue|pressure|limit)"
    r"|\b(?:pods?|containers?)\b[^.\n]{0,30}?\b(?:gets?|got|is|are|was|were|being)"
    r" (?:\w+ )?(?:restarted|evicted)\b|\b(?:kubernetes|docker|k8s) (?:\w+ )?(?:restarts|evicts) (?:it|the)\b"
    rf"|(?i:{IN_OTHER_LANGUAGES})"
    r"|(?<!\bnot )\b(?:(?:process|program|script|job|training|run|it|kernel|python|container|app|command)"
    r" (?:is|was)|gets?|got|being) [\"'`\u201c]{1,3}killed[\"'`\u201d]{1,3}"
    r"(?! by (?:me|us|hand|(?:the |a )?user)\b)"
    r"|(?<!\bno )(?<!\bnot )\b(?:serving|server|pod|container|process|training|script|job|kernel|app"
    r"|conversion) killed\b"
    r"(?! by (?:me|us|hand|(?:the |a )?user)\b)",
    "the app was terminated due to memory issue",
    "at 60 GB the machine (64 GB) kills my job",
    "the last line is ^C, and that is by itself",
    "I did not press ^C",
    'after an hour the job dies: "Killed"',
    "it stops printing and then its killed suddenly",
    "TensorFlow Serving killed when the model is updated",
    'training prints just "Killed" after the first epoch',
    'the process gets "Killed" right after it has loaded the data',
    "and then the system kills this task",
    "I get Killed when running python train.py",
    "where the pod gets restarted by kubernetes",
    "\u8bad\u7ec3\u5230\u4e00\u534a\u7a0b\u5e8f\u88abkilled",
    "el proceso es matado sin aviso",
    "der Prozess wird einfach get\xf6tet",
    needs=("kill", "terminated", "restart", "evict", "^c", *WORDS_OF_THEM),
)
"""The text says that the program was killed."""
IN_A_LOOP = LineRule(
    r"(?i)\b(?:(?:re)?train\w*|fit\w*|(?:build|creat)\w*|models?)\b[^.\n]{0,60}\b(?:in|within|inside) (?:a )?"
    r"(?:for[- ])?loops?\b|\bk-?folds?\b|\bcross[- ]validation\b|\bgrid ?search\b"
    r"|\bhyper-?param\w* (?:search|tuning|optimi[sz]ation)\b|\bkeras[- ]?tuner\b"
    r"|\b(?:several|many|multiple|different|\d+) models\b[^.\n]{0,40}\b(?:one after|sequential|in a row)"
    r"|\bfirst (?:model|fold|training|run|one)\b[^.\n]{0,40}\b(?:fine|ok|okay|well|works?)\b"
    r"[^\n]{0,60}\bsecond\b"
    r"|\bafter (?:the )?\d+(?:st|nd|rd|th)? (?:models?|folds?|trials?)\b"
    r"|\b(?:second|third|fourth|fifth|\d(?:nd|rd|th)) (?:model|net|network)\b[^.\n]{0,40}"
    r"\b(?:same (?:script|process|notebook|session|program)|one after)\b",
    "Resource exhausted when training in a loop",
    "I fit a model for each fold of a 10-fold cross validation",
    "it fails after the 3rd trial",
    "the third model of the same script",
    "The first model trains fine, but during the second training I get it",
    needs=(
        "second", "loop", "fold", "validation", "search", "tuning", "optimi", "tuner", "model", "trial",
        " net",
    ),
)  # fmt: skip
"""The text says that one model after another is trained in one process."""
CLEARING = LineRule(
    r"\bclear_session\b", "tf.keras.backend.clear_session() does not help", needs="clear_session"
)
_TAKES = (
    r"(?:us(?:es?|ing)|tak(?:es?|ing)|alloc\w+|occup\w+|consum\w+|eat(?:s|ing)|hog(?:s|ging)|reserv\w+"
    r"|fills?)"
)
TAKING_ALL = LineRule(
    rf"(?i)\b{_TAKES} (?:up )?(?:(?:nearly|almost) )?"
    r"(?:all|the whole|the entire|entire|whole|full|the full|100 ?%|9\d ?%)(?: of)?"
    r"(?: the| my| available| its)* (?:GPUs?\b|VRAM|video|graphics)"
    r"|\bGPU memory\b[^.\n]{0,40}\b(?:very|too) much\b"
    r"|\bGPU is close to its memory limit\b"
    r"|\bGPU memory usage:? ?(?:is )?\d+ ?Mi?B ?/ ?\d+ ?Mi?B"
    rf"|(?:\btensorflow\b|\bkeras\b|\btf\b)[^.\n]{{0,30}}\b{_TAKES} (?:up )?(?:nearly "
    rf"|almost )?all(?: of)?(?: the| my| its)*"
    r" (?:available )?\d+(?:\.\d)? ?Gi?B?\b(?! (?:of )?(?:system |host |CPU )?RAM)",
    "Why is tensorflow using all of the GPU memory?",
    "but GPU Memory Usage 11201MiB/12288MiB.",
    "Why does TensorFlow allocate all 24 GB for a tiny model?",
    needs=("gpu", "tensorflow", "keras", "tf "),
)
"""The text says that the whole memory of a GPU is taken."""
IN_EVALUATION = LineRule(
    r"(?i)\b(?:during|while|when|at|(?<!\d, )in|upon|on|end of)\b[^.\n]{0,40}"
    r"\b(?:validat(?:ion|ing)|evaluat(?:ion|ing)|predict(?:ion|ing)|inference|testing)\b"
    r"(?![ -](?:sets?|data\w*|images?|samples?|examples?|splits?|folders?|director\w+|files?|loss|acc\w*)\b)"
    r"|\bvalidation\b[^.\n]{0,60}\bout of memory\b|\.(?:predict|evaluate)\b",
    "I get an OOM error at the time of evaluation",
    "out of memory during validation after the first epoch",
    "I use model.predict on an array of 45,000 images and get",
    needs=("validat", "evaluat", "predict", "inference", "testing"),
)
"""The text says that it fails where nothing is trained."""
RANKS = LineRule(
    r"\b(?i:horovod(?!==)\w*)\b(?!==)|\bhvd\.\w|\bmpi(?:run|exec)\b|\btorchrun\b|\bsrun\b[^\n]{0,60} -n ?\d"
    r"|\bMultiWorkerMirroredStrategy\b|\bMPI (?:process|rank)(?:es|s)?\b",
    "mpirun -np 8 python train.py",
    "It starts as many MPI processes as there are environments",
    "I train with Horovod on 4 GPUs",
    needs=(
        "horovod",
        "hvd.",
        "mpirun",
        "mpiexec",
        "torchrun",
        "srun",
        "multiworker",
        "mpi process",
        "mpi rank",
    ),
)
"""Several processes of one program run side by side."""
SMALLER_HELPS = LineRule(
    r"(?i)\b(?:reduc\w+|lower\w*|decreas\w+|smaller|halv\w+)\b[^.\n]{0,20}\bbatch[- _]?sizes?\b"
    r"(?:(?!n['\u2019]t\b|\bnot\b|\bstill\b)[^.\n]){0,60}"
    r"(?<!would )(?<!should )(?<!could )(?<!might )(?<!may )(?<!will )(?<!nothing )(?<!none )(?<!never )"
    r"\b(?:works?|worked|fine|stops?|disappear\w*|goes away|gone|solve[sd]?|runs?|no (?:error|problem))\b"
    r"|\b(?:reduc|lower|decreas|chang)\w*\b[^.\n]{0,12}\bbatch(?:[- _]?size)?\b[^.\n]{0,10}"
    r"\bfrom \d{1,5} to \d{1,5}\b[^.\n]{0,60}\b(?:works?|worked|fine|disappear\w*|gone|solve[sd]?|runs?"
    r"|(?:has|did|does|have)(?:n't| not) (?:happen|occur|appear)\w*|no (?:more|longer))\b"
    r"|\b(?:works|worked|fine|successful\w*|trains|runs (?:fine|well))\b[^.,;\n]{0,40}\bbatch[- _]?size"
    r" ?(?:=|of|is|to|at)? ?[12]\b(?![.,]?\d)"
    r"|\bbatch[- _]?size ?(?:=|of|is|to|at)? ?[12]\b(?![.,]?\d)[^.,;\n]{0,20}\b(?:works|worked|runs fine"
    r"|fits|is fine|trains)\b"
    r"|\b(?:reduced|lowered|decreased|halved|shrank|scaled down)\b[^.\n]{0,16}\bbatch\b[^.;,\n]{0,24}[;,] ?"
    r"(?:and |so )?(?:now )?(?:it|everything) (?:now )?(?:runs|works|trains)\b(?! (?:out|only|until|for a)\b)"
    r"|[\u6539\u8c03\u964d\u51cf\u7f29][^\u3002\n\u4e0d\u6ca1\u8fd8]{0,16}batch"
    r"[^\u3002\n\u4e0d\u6ca1\u8fd8\u4e5f]{0,12}"
    r"(?:\u80fd\u7528|\u80fd\u8dd1|\u53ef\u4ee5\u4e86|\u597d\u4e86|\u89e3\u51b3\u4e86)",
    "when I reduce the batch size, the error stops",
    "We halved the batch-size and the code successfully worked",
    "after change batch from 32 to 16, the OOM issue hasn't happened again",
    "it trains successfully when I set batch size 1",
    "with batch_size=2 it works fine",
    "We scaled down both batch and layers; it trains now, if slowly",
    "\u51cf\u5c0f\u4e86batch\u5c31\u53ef\u4ee5\u4e86",
    needs=("batch",),
)
"""The text says that a smaller batch ends it."""
TWO_STAGES = LineRule(
    r"(?i)\bmask[-_ ]?r-?cnn|\bfaster[-_ ]?r-?cnn|\bkeras[-_]maskrcnn|\bmrcnn\b",
    "I train Mask R-CNN on my own images",
    'File "keras_maskrcnn/bin/train.py", line 314',
    "Model name : faster_rcnn_inception_v2",
    needs=("cnn",),
)
"""A detector whose second stage sees one crop for each box."""
_LESS_ZH = (
    r"(?:\u8c03\u5c0f|\u51cf\u5c0f|\u6539\u5c0f|\u7f29\u5c0f|\u8bbe\u5c0f|\u964d\u4f4e|\u51cf\u5c11"
    r"|\u964d\u5230|\u8c03\u5230|\u6539\u6210)"
)
_STILL_ZH = (
    r"(?:\u4ecd|\u8fd8\u662f|\u4f9d\u7136|\u4f9d\u65e7|\u4e5f(?:\u4e0d|\u6ca1|\u62a5|\u4f1a)"
    r"|\u6ca1\u7528|\u6ca1\u6709\u7528|\u65e0\u6548|\u65e0\u679c)"
)
"""Chinese for a smaller batch, and for what changed nothing."""
SMALLER_IN_VAIN = LineRule(
    r"(?i)\b(?:reduc\w+|lower\w*|decreas\w+|smaller|chang\w+)\b[^.\n]{0,30}\bbatch[- _]?size\b"
    r"(?:(?!\bin case\b)[^.\n]){0,60}"
    r"\b(?:useless|in vain|no (?:help|effect|luck|difference)|(?:did|does|do|is)(?: not|n'?t)"
    r" (?:help|work|change)|still|same (?:error|issue|problem))\b"
    r"|\bbatch(?:es|[- _]?sizes?)?\b[^.\n]{0,12}\b(?:only|just|merely) (?:makes?|delays?|postpones?"
    r"|means?|lets?|takes?|shifts?|moves?)\b[^.\n]{0,40}\b(?:later|longer|more (?:steps|batches|epochs))\b"
    rf"|(?:{_LESS_ZH}[^\u3002\n]{{0,6}}batch|batch[- _]?size[^\u3002\n]{{0,8}}{_LESS_ZH})"
    rf"[^\u3002\n]{{0,16}}{_STILL_ZH}",
    "I already reduced the batch size to 3 but it didn't work",
    "reducing batch_size is useless for me",
    "A smaller batch only makes it fail at a later step",
    "I tried changing the batch size but still it did not solve it",
    "batch_size\u8c03\u5c0f\u4e5f\u8fd8\u662f\u7206\u663e\u5b58",
    "\u51cf\u5c0fbatch size\u4e5f\u6ca1\u7528",
    needs=("batch",),
)
"""The text says that a smaller batch was tried in vain."""
ESTIMATOR = LineRule(
    r"\btf\.(?:compat\.v1\.|contrib\.)?(?:estimator\b|learn\.Estimator)|\bEstimators?\b"
    r"|\bestimator\.(?:train|evaluate)\(",
    "I use a `tf.estimator.Estimator` with my own model_fn",
    "    estimator.train(input_fn=lambda: train_input(data))",
    needs=("stimator",),
)
"""Graphs are run by an Estimator, which makes one for each call."""
_SWITCHED_OFF = r"[`'\"]?,? (?:(?:is|was|being|set|turned|switched) (?:to )?){0,2}(?:off|disabled|False)\b"
WORKERS = LineRule(
    rf"\buse_multiprocessing(?: ?= ?True\b|\b(?!\s*[,)=\u2026]|\.{{2,3}}|{_SWITCHED_OFF}))"
    r"|\bmultiprocessing[/\\](?:popen_fork|managers)\.py\b"
    r"|\bmultiprocessing\b[^.\n]{0,40}\bfit(?:_generator)?\b"
    rf"|\bfit(?:_generator)?\b[^.\n]{{0,40}}(?<!without )(?<!no )\bmultiprocessing\b(?!\.|{_SWITCHED_OFF})",
    "With `use_multiprocessing=True` it grows until the machine is full",
    "Keras Sequence with workers=16 and use_multiprocessing",
    'File "/usr/lib/python3.6/multiprocessing/popen_fork.py", line 19, in __init__',
    "it has to do with multiprocessing in fit_generator",
    needs="multiprocessing",
)
"""Processes of their own read the data."""
RETRACED = LineRule(
    r"(?i)\bre-?trac(?:ing|ed|es)\b(?! by)",
    "there is a retracing warning at each batch of the evaluation",
    needs="trac",
)
"""The text speaks of a function that is traced again."""
_GROWS = r"(?:grow\w*|increas\w+|ris(?:es?|ing)|leak\w*|fill\w*|climb\w*|more (?:RAM|memory))"
_VALIDATION = r"(?:validations?|evaluations?|eval)\b(?! (?:accuracy|loss|set|data|generator))"
AT_VALIDATION = LineRule(
    rf"(?i)\b{_GROWS}\b[^.\n]{{0,60}}\b(?:at|with|after|during|in|on|per) (?:each|every|the)? ?{_VALIDATION}"
    rf"|\b(?:at|with|after|during|in|on) (?:each|every) {_VALIDATION}[^.\n]{{0,60}}\b{_GROWS}\b"
    rf"|\bvalidation (?:data ?set|data|generator)\b[^.\n]{{0,60}}\b{_GROWS}\b",
    "memory grows once at each validation, however many steps it has",
    "after every evaluation the RAM increases by 200 MB",
    "With a validation generator the memory fills gradually",
    needs=("validation", "eval"),
)
"""The text says that memory grows where the model is validated."""
JOINING = LineRule(
    r"(?i)\bmap_structure(?:_up_to)?\(\s*batch_outputs, concat|\ball_outputs = .{0,40}\bconcat"
    r"|\bconcat\w*\b[^.\n]{0,40}\bpredict(?:ions|ed)\b|\bpredictions\b[^.\n]{0,30}\bconcat",
    "-> 1614     all_outputs = nest.map_structure_up_to(batch_outputs, concat, outputs)",
    "it fails when it is concatenating the predictions together",
    needs=("concat",),
)
"""The outputs of all batches of a prediction are joined."""
LAST_CONCAT = LineRule(
    r"(?i)\b(?:final|last) concat(?:enat\w*|s)?"
    r"(?: (?:op(?:eration)?|call|step)\b(?! of)|(?=[.,;:!?)]|\s*\Z))",
    "it runs out of memory on the last concat operation",
    "all batches are computed, it fails at the final concatenation.",
    needs="concat",
)
"""What is joined last, in a prediction the outputs of its batches."""
_GRAPH_LOOP = r"\b(?:tf\.)?while_loops?\b|\bdynamic_rnn\b|\bfold[lr]\b|\btf\.scan\b|\bfold/scan\b"
_BACKWARD = r"\b(?:gradients?\b|back-?prop\w*|backward pass)"
GRADIENT_OF_A_LOOP = LineRule(
    rf"(?i)\A(?=[^\n]{{0,200}}\b(?:memory|memories|OOM)\b)[^\n]{{0,200}}?"
    rf"(?:{_BACKWARD}[^\n]{{0,80}}?(?:{_GRAPH_LOOP})|(?:{_GRAPH_LOOP})[^\n]{{0,80}}?{_BACKWARD})",
    "# Gradients of a while_loop need far too much memory",
    "dynamic_rnn: out of memory in the backward pass only",
    needs=("while_loop", "dynamic_rnn", "foldl", "foldr", "tf.scan", "fold/scan"),
)
"""A gradient through a loop of the graph, told beside memory."""
ADAPTERS = LineRule(
    r"(?i)\b(?<!without )(?<!no )(?<!not )(?<!of )(?<!try )(?<!using )(?:LoRA|low-rank adapt\w+)\b"
    r"[^.?\n]{0,40}\b(?:fine-?tun\w*|train\w*|config\w*|runs?)\b"
    r"|(?<!full )(?<!full-)\b(?:fine-?tun\w*|train\w*)\b(?! (?:a|fewer)\b)[^.?\n]{0,30}"
    r"(?<!without )(?<!no )(?<!not )(?<!of )(?<!than )\bLoRA\b",
    "LoRA fine-tuning of a 3B model",
    "I train only the LoRA matrices",
    needs=("lora", "low-rank"),
)
"""Of the weights only small additions are trained, so that an optimizer keeps little."""
SOME_AT_A_TIME = LineRule(
    r"(?i)(?<![\d.,])\d[\d',]{0,8} [a-z]{3,20} at (?:a time|once)\b"
    r"(?:(?!\bstill\b|n't\b|\bnot\b|\bfail|\bOOM\b|\bruns? out\b|\bcrash)[^.?!\n]){0,30}?"
    r"\b(?:only takes?|takes? (?:only|about|just)|works?|worked|is fine|runs (?:fine|well)|fits?)\b",
    "Giving it 500 rows at a time works",
    "while 2'000 images at a time only takes a minute",
    needs=("at a time", "at once"),
)
"""How many go well at a time, as somebody found."""
PROSE = {
    "some at a time": SOME_AT_A_TIME,
    "training adapters": ADAPTERS,
    "a gradient of a loop": GRADIENT_OF_A_LOOP,
    "joining predictions": JOINING,
    "a last concat": LAST_CONCAT,
    "using an estimator": ESTIMATOR,
    "worker processes": WORKERS,
    "retracing in words": RETRACED,
    "growing at validation": AT_VALIDATION,
    "a smaller batch in vain": SMALLER_IN_VAIN,
    "detecting in two stages": TWO_STAGES,
    "failing in evaluation": IN_EVALUATION,
    "several ranks": RANKS,
    "a smaller batch helps": SMALLER_HELPS,
    "warned of large requests": WARNED,
    "ended in words": ENDED,
    "an error in a title": TITLED,
    "hanging in words": HANGS,
    "going on in words": GOES_ON,
    "ended with code 0": ENDED_WELL,
    "much memory in words": MUCH_MEMORY,
    "killed in words": KILLED_IN_WORDS,
    "models in a loop": IN_A_LOOP,
    "clearing the session": CLEARING,
    "taking the whole GPU": TAKING_ALL,
}
"""What is told, and how a line tells it."""
