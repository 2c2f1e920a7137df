"""What the writer of a post asks beside what failed: whether the memory of several GPUs adds up, whether a
setting that a message names would help.
"""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

_OF_GPUS = r"(?:GPUs|(?:graphics? |video )?cards|devices|replicas)"
_TWO = r"(?:(?:two|both|2|three|3|four|4|eight|8|all|several|multiple|more|different|my) (?:\w+ ){0,2})"
_MEMORY, _ADD = r"\b(?:memory|VRAM)\b", r"\b(?:combine|pool|merge|add up|sum|aggregate|stack)\b"
POOLING = LineRule(
    r"(?i)(?=[^?]{0,300}\?)(?:"
    r"\b(?:memory|VRAM|RAM)\b[^?.]{0,50}\b(?:adds? up|(?:be |is |are |get |gets )?(?:added|summed|combined"
    r"|pooled|merged|stacked)|sums? up)\b"
    rf"|\b(?:memory|VRAM|RAM)\b[^?.]{{0,50}}\baccumulate[sd]?\b[^?.]{{0,30}}\b{_OF_GPUS}\b"
    rf"|{_ADD}[^?.]{{0,40}}{_MEMORY}[^?.]{{0,40}}?\b{_OF_GPUS}\b"
    rf"|{_ADD}[^?.]{{0,30}}\b{_OF_GPUS}\b[^?.]{{0,30}}{_MEMORY}"
    r"|\bmodel (?:is |be |gets? )?(?:split|divided|distributed|spread)\b"
    rf"(?: (?:across|over|between|on) {_TWO}?{_OF_GPUS})"
    r"|\b(?:split|divide|distribute|spread)s? (?:the|my|a|one|this) (?:\w+ )?model\b"
    rf"[^?.]{{0,30}}\b{_OF_GPUS}\b"
    rf"|\b(?:use|using|have) (?:the )?(?:memory|VRAM) of {_TWO}{_OF_GPUS}"
    rf"|\b(?:allocate|use|take|put|spill|spread|move)\b[^?.]{{0,40}}\b(?:on|to|from|of) (?:the "
    rf"|my )?other {_OF_GPUS}\b"
    rf"|\b(?:allocate|use|take|put|spill|spread|move)\b[^?.]{{0,40}}\b(?:on|to|from|of) (?:the "
    rf"|my )?other GPU cards?\b"
    r"|\bsees? (?:them|both) as (?:one|a single)\b[^?.]{0,30}\bmemory\b)",
    "Will the memory of both cards add up to 22 GB?",
    "Can I combine the memory of two GPUs for one model?",
    "does the strategy split the model over the two GPUs?",
    needs=("memory", "vram", "model", "ram"),
)
"""Whether several GPUs have their memory together."""
ASYNC = LineRule(
    r"(?i)\A(?!.*If the cause is memory)(?:(?=[^\n]{0,400}\?)|(?=\W*(?:does|do|should|would|is|can|could)\b))"
    r"[^\n]{0,300}?\b(?:should|does|do|would|will|can|is|could|must|may|what|how|whether|if)\b[^?\n]{0,80}"
    r"(?:\bTF_GPU_ALLOCATOR\b|\bcuda_malloc_async\b|\bfragment(?:ation|ed)\b)",
    "does fragmentation apply to me? should I set that cuda_malloc_async thing",
    "Would TF_GPU_ALLOCATOR=cuda_malloc_async help here?",
    needs=("tf_gpu_allocator", "cuda_malloc_async", "fragment"),
)
"""Whether the hint of TensorFlow's message is about this failure."""
GROWTH = LineRule(
    r"(?i)\b(?:how (?:can|do|to|should|could)|is there (?:a|any) way|can (?:I|we))\b[^.?\n]{0,40}"
    r"\b(?:disabl|turn|switch|prevent|avoid|stop|set|us|enabl)\w*\b[^.?\n]{0,24}"
    r"\b(?:pre-?allocat\w*|allow_?growth|memory growth)\b",
    "how can I turn off the preallocation in Go?",
    "Is there any way to set allow_growth from Java",
    needs=("allocat", "growth"),
)
"""How the pool is kept from taking the whole GPU at its start."""
JAVA_HEAP = LineRule(
    r"(?i)(?=[^?\n]{0,200}\?)(?:-Xm[xs]\d*\w?|\bJVM\b|\bheap\b)",
    "-Xmx is 24g already, does it need more?",
    "do I have to give the JVM a larger heap?",
    needs=("-xm", "jvm", "heap"),
)
"""Whether Java's heap has to be larger."""
SYSTEM_RAM = LineRule(
    r"(?i)(?=[^?\n]{0,300}\?)(?:"
    r"\b(?:use|using|uses|borrow|extend|swap|spill|fall ?back|overflow|access)\b[^?.\n]{0,40}"
    r"\b(?:shared GPU memory|(?:system|host|normal|main|CPU|computer'?s?|my) (?:RAM|memory)|shared memory)\b"
    r"[^?.\n]{0,60}"
    r"|\bshared GPU memory\b"
    r"|\b(?:I have|with|got|there (?:is|are)|has)\b[^?.\n]{0,20}\b(?:16|24|32|48|64|96|128|256|512) ?GB"
    r" (?:of )?"
    r"(?:system |DDR\d )?(?:RAM|memory)\b[^?.\n]{0,60}\b(?:why|how|still|so)\b"
    r"|\bwhy\b[^?.\n]{0,60}\bOOM\b[^?.\n]{0,40}\b(?:I have|with|there is)\b[^?.\n]{0,20}\d+ ?GB"
    r" (?:of )?RAM\b)",
    "can TensorFlow use my system RAM when the GPU is full?",
    "Why is the shared GPU memory not used?",
    needs=("memory", "ram"),
)
"""Whether host RAM counts where a GPU's memory ran out."""
FROZEN_WENT_WELL = LineRule(
    r"(?i)\A(?=.*(?:\btrainable\s*=\s*False\b|\bfroz\w+|\b(?<!un)freez(?:e|ing)\b"
    r"|\bonly (?:the )?(?:\w+ ){0,3}(?:head|top|classifier|last layers?)\b))"
    r"(?=.*\b(?:train(?!ed (?:\w+ )?(?:models?|networks?|graphs?)\b)|fit\b|epochs?\b|batch|layers?\b"
    r"|backbone\b|base\b|encoder\b|heads?\b|phase|stage|fine-?tun|classifier\b))"
    r"(?!.*(?i:frozen_?(?:inference_)?graph|freeze_graph|\bfrozen (?:\w+ )?graph|\.pb\b))"
    r"(?=.*(?<!not )(?<!n't )\b(?:OK|fine|works?|worked|(?<!as )well|trains?|trained|runs|ran"
    r"|no (?:problems?|issues?|errors?)|without (?:any )?(?:problems?|issues?|errors?)|success\w*|fits)\b)",
    "Phase 1 with base.trainable=False: OK, batch 16",
    "When the backbone is frozen it trains without problems",
    needs=("trainable", "froz", "freez", "only"),
)
"""Training went well as long as layers were frozen: a frozen graph, which is a file, is another thing."""
COUNT_RAN_OVER = LineRule(
    r"(?i)\A(?=\W*(?:#\d|frame #\d|\d{1,2}\b|in\b)).*[(, ]_{0,2}"
    r"(?:n|num|len|size|count|bytes|nbytes|length|sz) ?= ?(?P<count>[2-9]\d{18}|1[2-9]\d{17}|1\d{19})\b",
    "#6  0x00005555 in std::vector<char>::_M_default_append (__n=18446744073709551615) at v.tcc:600",
    "frame #4: 0x1000 app`operator new[](size=9223372036854775807)",
    needs=("n=", "n =", "num", "len", "size", "count", "bytes", "sz"),
)
"""A frame of C++ that was given a count which no memory holds."""
MEMORY_OF_A_CALL = LineRule(
    r"\bMemory Size: (?P<limit>\d{1,7}) MB\s+Max Memory Used: (?P<used>\d{1,7}) MB",
    "REPORT RequestId: 8f5 Duration: 8012.12 ms Memory Size: 3008 MB Max Memory Used: 208 MB",
    needs="Max Memory Used",
)
"""What a call of AWS Lambda took of what it may take."""
EAGER_BY_CHOICE = LineRule(
    r"\brun_eagerly ?= ?True\b|\brun_functions_eagerly\(True\)"
    r"|(?<!not )(?<!n't )\b(?i:turn(?:ed|ing)?|switch(?:ed|ing)?|set(?:ting)?|enabl(?:ed|ing)|with|put"
    r"|us(?:ed|ing))"
    r" (?:on )?`?(?:run_eagerly|run_functions_eagerly)\b(?!\W{0,4}False)",
    "model.compile(optimizer, loss, run_eagerly=True)",
    "I turned run_eagerly on to debug my loss",
    "tf.config.run_functions_eagerly(True)",
    needs=("run_eagerly", "run_functions_eagerly"),
)
"""Keras runs each step op by op, because the program says so."""
TENSORS_IN_JAVASCRIPT = LineRule(
    r"\b(?:const|let|var)\s+\w+\s*=\s*(?:await\s+)?tf\.(?:node\.decode\w+|browser\.fromPixels\w*"
    r"|image\.\w+|tensor\w*|expandDims|cast|zeros|ones|stack|concat)\(",
    "  const img = tf.node.decodeJpeg(buf, 3);",
    "let x = tf.browser.fromPixels(video);",
    needs="tf.",
)
"""JavaScript that makes a tensor and gives it a name."""
AWAITING = LineRule(
    r"\bawait\s+[\w.]{1,60}\.(?:executeAsync|predict\w*|array|data|detect\w*|estimate\w*|classify"
    r"|infer\w*)\(",
    "  const out = await model.executeAsync(x);",
    needs="await",
)
"""JavaScript that waits for a model or for values, over which tf.tidy() does not reach."""
MANY_CALLS = LineRule(
    r"(?i)\b(?:after|within|until)\b[^.\n]{0,24}(?:\b\d{2,3}(?:[.,]?\d{3})*|\b(?:a few|some|several|many)"
    r"(?: (?:hundred|thousand)s?)?) (?:\w+ )?(?:frames|images|requests|calls|predictions|pictures"
    r"|inferences|times|detections|minutes|hours|days)\b"
    r"|\b(?:dies|crash(?:es)?|fails|runs out)\b[^.\n]{0,40}?\b(?:at|after|around) ?"
    r"(?:~|about |around )?\d{2,6} (?:\w+ )?(?:calls|commands|assignments|updates|invocations|queries)\b"
    r"|\b(?:calling|running) [^\n]{1,60}\b(?:too many|many) times\b",
    "After ~700 frames:",
    "it crashes after a few hundred requests",
    "the worker dies at ~250 update calls",
    "Calling saver.restore() too many times ends in an error",
    needs=("after", "within", "until", "dies", "crash", "fails", "runs out", "times"),
)
"""It went well for a long while before."""
NO_NATIVE_TENSOR = LineRule(
    r"\bat (?:\S{1,40}/)?org\.tensorflow\.[\w.$]*(?:TensorBuffers\.\w+|[aA]llocateTensor|RawTensor\.allocate"
    r"|Tensor\.allocate\w*)\(",
    "at org.tensorflow.internal.buffer.TensorBuffers.tensorMemory(TensorBuffers.java:180)",
    needs="org.tensorflow.",
)
"""Java's bindings read or made the native memory of a tensor."""
GIVING_BACK = LineRule(
    r"(?i)(?=[^?]{0,400}\?)\b(?:give|giving|get|getting|release|free|clear|empty|flush|return)\b"
    r"(?: \w+){0,3}? (?:GPU |its |the |my )?(?:memory|VRAM)\b(?: back)?[^.?]{0,40}\?",
    "How do I give the memory back?",
    "how can I release the GPU memory after training?",
    needs=("memory", "vram"),
)
"""How a process gives a GPU's memory back without its end."""
CLOSED = LineRule(
    r"(?i)\b(?:sess(?:ion)?\.close\(\)|clos(?:e|es|ing) the session|reset_default_graph|clear_session"
    r"|del model)",
    "although I call session.close()",
    needs=("close", "reset_default_graph", "clear_session", "del model", "closing"),
)
"""What ends a session or a model, and no process."""
RAN_BEFORE = LineRule(
    r"(?i)\b(?:how|why) (?:can|could|come|does|did|is|was)\b[^?]{0,80}\b(?:runs?|running|ran|trains?|trained"
    r"|works?|go|last)\b[^?]{0,40}\b\d{1,7}(?:th)? (?:\w+ )?(?:epochs?|steps|iterations|batches)\b"
    r"[^?]{0,40}\?",
    "If it doesn't fit how can it run for 200 epochs before?",
    needs=("epoch", "steps", "iterations", "batches"),
)
"""Why it fails after so many steps that went well."""
WORKED_FOR_LONG = LineRule(
    r"(?i)\b(?:us(?:ed|ing)|work(?:ed|ing)|r[au]n(?:ning)?) (?:\w+ ){0,6}?(?:for|since) (?:\w+ ){0,3}?"
    r"(?:weeks|months|years)\b[^?\n]{0,60}?\b(?:sudden(?:ly)?|out of (?:nowhere|the blue)|now|today)\b"
    r"|\b(?:work(?:ed|ing)|r[au]n(?:ning)?|(?:able to|could) \w+) (?:\w+ ){0,3}?"
    r"(?:until|till|up to) (?:yesterday|today|last week|this (?:week|morning)|recently|a few days ago)\b"
    r"|\byesterday\b[^.?\n]{0,40}\b(?:work(?:ed|ing)|ran|fine)\b[^?\n]{0,60}\b(?:today|now)\b",
    "I have been using this model for over 8 months and all of a sudden it fails",
    "It worked fine until yesterday",
    "Yesterday the same script ran, today I get this",
    needs=("weeks", "months", "years", "until", "till", "up to", "yesterday"),
)
"""What went well for long fails, and nothing is said to have changed."""
INTEGRATED_IN_USE = LineRule(
    r"(?i)\b(?:us(?:es|ing)|runs? on|running on|picks?|chooses?|takes?|selects?) (?:only )?(?:the |my )?"
    r"(?:intel\b|integrated|on-?board|i-?GPU|UHD|HD Graphics)",
    "in the task manager it uses the Intel one",
    "TensorFlow runs on my integrated GPU instead",
    needs=("intel", "integrated", "board", "gpu", "uhd", "graphics"),
)
"""Somebody takes the GPU that TensorFlow uses for the one within the CPU."""
SUMMED = LineRule(
    r"(?i)(?=[^?]{0,300}\?)(?:"
    r"\b(?:[2-9]|[1-9]\d{1,2}) ?(?:[a-z]{3,8} ?)?[x*\u00d7] ?\d{1,3} ?Gi?B?\b[^?]{0,40}"
    r"\b(?:fit|enough|total|together)\b"
    r"|\bI have \d{2,5} ?GB of (?:total )?(?:GPU|TPU|device|HBM|VRAM)\b[^?]{0,60}\b(?:enough|fit)\w*"
    r"|\b(?:[2-9]|two|four|eight) (?:GPUs? |cores? |chips? |devices? )?(?:would|should|to)"
    r" (?:be|have|give|hold) [^?.]{0,12}\btimes (?:more|as much|the memory)\b"
    r"|\b(?:all|the|other) (?:[2-9]|two|three|four|six|seven|eight|\d{1,3})? ?"
    r"(?:GPUs?|cores?|chips?|devices?)[^?.]{0,30}\b(?:idle|empty|unused|together)\b)",
    "8 cores x 16G = 128G so it should fit?",
    "I have 640 GB of GPU memory, that should nearly be enough?",
    "I thought that 4 would be 4 times more?",
    needs=("fit", "enough", "times", "idle", "empty", "unused", "together", "total"),
)
"""Whether the devices of a program of XLA's have their memory together."""
OWN_POOL = LineRule(
    r"(?i)\bwhy\b[^?\n]{0,60}\b(?:not|n't|more)\b[^?\n]{0,40}\b(?:memory|GB|pool)\b[^?\n]{0,40}"
    r"\b(?:already|pre-?allocat\w+|reserv\w+)\b[^?\n]{0,30}\?"
    r"|\bpre-?allocat\w+\b[^?\n]{0,60}\b(?:but|still|then|why)\b[^?\n]{0,40}\b(?:more|again|another|not)\b"
    r"[^?\n]{0,20}\?",
    "Why does it not use the memory that it already has?",
    "JAX preallocates 90% of 32G but then wants more??",
    needs=("already", "allocat", "reserv"),
)
"""Whether what JAX took at its start is memory that it computes in."""
WHICH_LINE = LineRule(
    r"(?i)\bwhich (?:line|op|operation|array|tensor|buffer|part)s?\b[^.?\n]{0,60}"
    r"\b(?:caus|mak|allocat|tak|us|need|is|was|fail|in)\w*"
    r"|\bnot know which (?:line|op|array|tensor)\b"
    r"|\b(?:see|know|find out|tell) what (?:XLA|it|jit|the program) (?:keeps|holds|allocates|stores)\b",
    'I want to check which line in "update" caused it',
    needs=("which", "what"),
)
"""What of a compiled program needs the memory."""
IS_NORMAL = LineRule(
    r"(?i)\b(?:is|are|was|isn't|aren't) (?:(?:it|this|that|these|all this|such an?) )?(?:\w+ ){0,6}?"
    r"(?:normal|expected|common|usual|ok(?:ay)?|intended|dangerous|wrong|a (?:bug|problem|leak))\b"
    r"[^.?\n]{0,60}\?"
    r"|\b(?:hardly|not|n't|never|probably not) (?:be )?(?:normal|usual|right)\b"
    r"|\bam I (?:missing|doing|reading) (?:something|anything)\b[^?\n]{0,40}\?"
    r"|\bwhy\b[^?\n]{0,80}\b(?:memory|GB|MiB|MB|RAM)\b[^?\n]{0,60}\?|\bshould(?:n't| not)\b[^?\n]{0,40}"
    r"\b0 ?M?i?B?\b[^?\n]{0,30}\?",
    "Am I missing something, or is this normal?",
    "64 gigs of virtual memory is probably not normal",
    "Why does it take 300 MB of memory?",
    needs=("?", "normal", "usual"),
)
"""Whether what a tool shows is a trouble at all."""
ANOTHER_DEVICE = LineRule(
    r"(?i)(?=[^?\n]{0,300}\?)\b(?:should|must|need to|have to|shall|do) (?:I |we |one |you )?(?:\w+ ){0,2}?"
    r"(?:use|run|train|be run)\b[^?.\n]{0,30}\b(?:GPU|TPU)s?\b",
    "Does that mean I should use a GPU to train?",
    "Do I need to run it on a GPU/TPU?",
    needs=("gpu", "tpu"),
)
"""Whether a GPU is what the program wants."""
HARDWARE = LineRule(
    r"(?i)(?=[^?\n]{0,300}\?)\b(?:more powerful|bigger|larger|better|stronger) (?:GPU|card|TPU|machine|device"
    r"|hardware)s?\b"
    r"|\b(?:what|which) (?:(?:kind|sort|type|size)s? of )?(?:\w+ ){0,2}?"
    r"(?:hardware|GPU|TPU|graphics card)s?\b[^.?\n]{0,60}"
    r"\b(?:run|need|requir|handle|recommend|train|use)\w*[^?\n]{0,80}\?"
    r"|\bhow much (?:GPU |video |device )?(?:memory|V?RAM)\b[^.?\n]{0,60}\b(?:need|requir|recommend)\w*"
    r"|\b(?:hardware|GPU|(?:GPU )?memory|VRAM) requirements?\b[^?\n]{0,80}\?",
    "Does it only run on a more powerful GPU?",
    "What kind of hardware do I need to run this?",
    "How much VRAM is required to train it?",
    needs=("gpu", "tpu", "card", "machine", "device", "hardware", "ram", "memory"),
)
"""What device the program needs."""
QUESTIONS = {
    "asked: hardware": HARDWARE,
    "asked: a GPU": ANOTHER_DEVICE,
    "asked: normal": IS_NORMAL,
    "asked: several devices": SUMMED,
    "asked: the pool": OWN_POOL,
    "asked: which line": WHICH_LINE,
    "asked: giving back": GIVING_BACK,
    "closing a session": CLOSED,
    "asked: ran before": RAN_BEFORE,
    "worked for long": WORKED_FOR_LONG,
    "an integrated GPU in use": INTEGRATED_IN_USE,
    "tensors in JavaScript": TENSORS_IN_JAVASCRIPT,
    "awaiting": AWAITING,
    "many calls before": MANY_CALLS,
    "no native tensor": NO_NATIVE_TENSOR,
    "eager by choice": EAGER_BY_CHOICE,
    "a count that ran over": COUNT_RAN_OVER,
    "memory of a call": MEMORY_OF_A_CALL,
    "frozen layers went well": FROZEN_WENT_WELL,
    "asked: pooling": POOLING,
    "asked: fragmentation": ASYNC,
    "asked: Java's heap": JAVA_HEAP,
    "asked: growth": GROWTH,
    "asked: host RAM": SYSTEM_RAM,
}
"""What is asked or told beside the failure, and how a line says it."""
