"""What people tell of a failure in their own words, sentence by sentence.

No phrase is known by heart: a sentence has words of a few classes (memory, growth, shortage, what is done
again and again), and a fact is told where words of two classes stand near each other and nothing denies it.
Facts take the names by which `Surroundings.shows` is asked, so that rules ask for them like for any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from tfmemlens.knowledge.denials import denies_a_leak, without_earlier
from tfmemlens.knowledge.gpu_memory import with_vram
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.growing_sizes import GROWING_WITH_A_SIZE, UNCHANGED

_NEAR = 70
"""Letters between two words of one fact."""
_MOST_SENTENCES = 400
_LONGEST, _LONGEST_SENTENCE, _LONGEST_START = 1500, 500, 200
"""Letters of a line, of a sentence, and of the start that a line before left open: one line's, whatever it
went on from, so that a log of small letters is no sentence without end.
"""
_SENTENCE = regex(r"(?<=[.!?\u3002])(?<!\btf\.)(?<!\be\.g\.)(?<!\bi\.e\.)[\s)\]\"'`*]+|\s{4,}|[;|]\s")
_MEMORY = regex(
    r"(?i)(?<!short-term )(?<!short term )(?<!replay )(?<!shared )(?<!external )(?<!associative )"
    r"\b(?:v?ram|memory|memories|swap)\b"
    r"(?![-_ ]?(?:growth ?[=(]|growth option|cell|network|profiler|bank|requirement))"
    r"|\brss\b|\bcontainer_memory_\w{1,40}"
    r"|\bGPU resources?\b|\bmem[o\u00f3]ria\b|\b\w{0,12}speicher\b|\bm\u00e9moire\b"
    r"|\u5185\u5b58|\u663e\u5b58|\u8a18\u61b6\u9ad4|\u30e1\u30e2\u30ea|\uba54\ubaa8\ub9ac"
)
_OF_DEVICE = regex(
    r"(?i)\u663e\u5b58|\bvram\b"
    r"|\bvideo (?:memory|ram)\b|(?<!\bnot )(?<!\bnot the )(?<!\bnot my )(?<!\bnot on )"
    r"(?<!\bnot on the )(?<!\bnot in the )\bGPUs?(?:'s)?\b|\bcuda\b"
    r"|\bwebgl\b|\bgraphics? (?:card|memory)\b"
    r"|\bgrafik\w{0,12}"
)
_OF_CPU = regex(r"(?i)\bcpu\b")
_A_NODE = r"(?:docker|worker|executor|pod|node|container|driver)s?(?: (?:node|pod|process)s?)?"
MEMORY_OF_A_NODE = (
    rf"\b(?<!GPU )(?<!\.){_A_NODE}(?:'s|')? (?:\w+ )?(?:memory|RAM)\b"
    rf"|(?<!GPU )\b(?:memory|RAM)(?: (?:usage|consumption|use|limit))? (?:of|on|at|in) "
    rf"(?:(?:the|each|every|all|my|our) )?(?:\w+ )?{_A_NODE}\b"
)
"""What a node of a cluster has is the host's RAM, unless the GPU is named."""
_OF_HOST = regex(
    r"(?i)(?<!gpu )(?<!video )(?<!graphics )\bram\b|\bswap\b|\brss\b|\bcontainer_memory_\w"
    r"|\b(?:cpu(?:'s)?|host|system|main|application) (?:\w+ )?memory\b|\b(?:arbeits|haupt)speicher\b"
    r"|\b(?:machine|server|computer|pc|laptop)(?:'s)? memory\b|\bnot (?:(?:the|my) )?gpu(?:'s)? memory\b"
    rf"|{MEMORY_OF_A_NODE}"
)
_GROWTH = regex(
    r"(?i)\b(?:grow(?:s|ing|n)?|multipl(?:y|ies|ied)|(?<!memory )(?<!memory_)growth"
    r"|(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bbe )increas(?:e|es|ed|ing)"
    r"(?! (?:the |my |our )?(?:\w+ )?(?:swap\w*|heap|limits?|quota|batch|shm|(?:number|count) of"
    r"|(?:free|available|physical)\b))"
    r"|ris(?:e|es|ing)|climb(?:s|ing)?|accumulat(?:e|es|ed|ing|ion)"
    r"|(?:doubl|tripl)(?:es|ed|ing)(?= (?:\w+ )?(?:after|with|at|in|on) (?:each|every)\b)"
    r"|balloon(?:s|ing)?|soar(?:s|ing)?|leak(?:s|y|ed|ing|age)?|creep(?:s|ing)?|explod(?:e|es|ing)"
    r"|(?:go(?:es|ing)?|add(?:s|ing)?|pil(?:es|ing)|build(?:s|ing)?|shoot(?:s|ing)?) up|more and more"
    r"|more(?= (?:memory|RAM)\b[^.]{0,12}\b(?:after|with|at|in) (?:each|every)\b)"
    r"|exponential(?:ly)?"
    r"|out of control|getting (?:bigger|larger|higher)|slower and slower"
    r"|w\u00e4chst|steigt|immer mehr|crece|cresce|aumenta|augmente)\b|\b(?:wird"
    r"|braucht) mehr (?=\w{0,12}speicher)"
    r"|\u589e\u957f|\u589e\u52a0|\u4e0a\u5347|\u4e0a\u6da8|\u66b4\u6da8"
    r"|\u5728\u6da8|\u72c2\u6da8|\u98d9\u5347|\u6301\u7eed\u6da8|\u4e00\u76f4\u6da8"
    r"|\u6cc4[\u6f0f\u9732]|\u8d8a\u6765\u8d8a"
    r"|\u5897\u3048|\u5897\u52a0|\u30ea\u30fc\u30af|\uc99d\uac00|\ub204\uc218"
)
"""Growth; also `grows, rises, leaks, more and more` in Chinese, Japanese and Korean, which part no words."""
_LEAKS = regex(r"\bleaks\b(?! (?:info|data\b|labels?|tracers?|the (?:label|answer|future|test)))")
"""A verb that tells of memory without naming it."""
_SHORTAGE = regex(
    r"(?i)\b(?:exhaust(?:s|ed|ing)?|deplet\w+|r[ua]n(?:s|ning)? out|used up|overflow(?:s|ed)?|insufficient"
    r"|not enough|maxe[sd]|lack of|too (?:little|small)|sin (?=memoria)|sem (?=mem)|insuficiente"
    r"|insuffisante|desbordamiento"
    r"|reicht nicht|zu wenig)(?!\w)"
    r"|(?<=\bmemory )(?<!the memory )crash(?:es|ed|ing)\b"
    r"|\u4e0d\u8db3|\u4e0d\u591f|\u6ea2\u51fa|\u8017\u5c3d|\u7206|\ubd80\uc871"
)
_FULL = regex(
    r"(?i)\b(?:exhaustion|se llena|est[a\u00e1] llena|full"
    r"|(?<!could )(?<!would )(?<!might )fill(?:s|ed|ing)?(?: up)?|exceed(?:s|ed)?"
    r"|blow(?:s|ing|n)? up|too much"
    r"|(?:take|use|consume|eat|hog)(?:s|n|d|ing)? (?:up )?(?:all|the whole|whole|everything|the entire))\b"
    r"|\b(?:9\d|100) ?%|% ?(?:9\d|100)\b"
)
_NAMED_SHORTAGE = regex(
    r"(?<![A-Za-z_.])(?<!import )(?<!except )(?:OOM(?:s|ed|Killed)?|"
    r"(?:CUDA_)?OUT_OF_MEMORY|OutOfMemory(?:Error|Exception)?"
    r"|(?i:resource[ _]?exhausted(?: ?error)?"
    r"|resources?(?: \w+)? (?:as |is |are |was |were |being )?exhausted"
    r"|memory ?error|out[- ]of[- ]memory|bad_alloc))(?![A-Za-z_])"
    r"(?!(?: \w+)? (?:is|are|was|were) (?:gone|solved|fixed))"
)
_KEPT = regex(
    r"(?i)(?:\bnot?\b|n't\b|\bnever\b|\bcannot\b|\bwithout\b|\bunable to\b|\bfails? to\b|\binstead of\b)"
    r"(?: \w+){0,3}? (?:releas|free|freed|deallocat|clear|emptied|empty|giv(?:en|es?|ing)(?: \w+){0,4} back"
    r"|reclaim)\w*"
    r"|(?:\bnot|n't|\bnever) (?:give|hand)s? (?:\w+ ){0,6}back\b"
    r"|\bhow (?:to|can i|do i) (?:\w+ )?(?:release|free|clear)\b"
    r"|\b(?:stays?|remains?) (?:full|allocated|occupied|in use|reserved)\b"
    r"|\b(?:finish|end|complet|don|ov|clos|train)\w{1,3}\b[^.]{0,30}\b(?:memory|RAM)\b[^.]{0,12}\bstill"
    r" (?:be |is |are |remains? |stays? )?(?:full|allocated|occupied|in use|reserved|taken|used)\b"
)
_BUFFER_KEPT = regex(rf"(?i)\bbuffers?\b[^.]{{0,20}}(?:{_KEPT.pattern[4:]})")
_DENIED = regex(
    r"(?i)(?:\bnot?\b|n't\b|\bnever\b|\bwithout\b|\bno (?:more|longer)\b|\bavoid\w*|\bprevent\w*"
    r"|\bneither\b|\bstop(?:s|ped)?\b)(?: \w+){0,2}\s*\Z"
    r"|(?:n't|\bnot?) (?:see|find|notice|observe|have|think)(?:\s+\w+){0,6}\s*\Z"
    r"|(?:n't|\bnot) (?:raise|throw|give|report|print|show|end in|fail with)s?(?:\s+\w+){0,3}\s*\Z"
)
_NEVER_WITHOUT = regex(r"(?i)(?:\bcan(?:'?t|not)|\bunable to|\bnever)\b[^.]{0,80}\bwithout(?: \w+){0,3}\s*\Z")
"""`I cannot save it without running out`: denied twice."""
_ASKED = regex(
    r"(?i)\b(?:see(?:ing)?|check(?:ing)?|know|tell|find out|watch|look)(?: \w+){0,2}? (?:if|whether)\b"
    r"[^.,]{0,40}\Z"
    r"|(?<!why )(?<!how )\b(?:will|would|should|shall) (?:\w+ ){0,3}\Z"
)
"""`to see whether its memory increases`, `will the memory add up`: nobody says that it does."""
_ASKS_WHETHER = regex(
    r"(?i)\s*(?:(?:so|and|but|or),? )?"
    r"(?:(?:(?:is|was) (?:it|this|that|there)|(?:could|can|might|may) (?:it|this|that) be"
    r"|(?:do|did|does|am|are|is|was) (?:I|we|it|they|you)(?: running)?(?: run)?)(?: \w+){0,3}? )?"
    r"(?:an? )?(?:out[- ]of[- ](?:\w+ )?memory|OOM|(?:lack|shortage) of (?:\w+ )?memory"
    r"|memory (?:error|problem))"
    r"(?: (?:error|problem|issue|here|again|then))?\s*\?[\s)\"']*\Z"
)
"""`Is it out of memory?`, `Out of memory?`: whoever asks only that does not know it."""
_RISES = regex(
    r"(?i)\b(?:go(?:es|ing)?|went|gone|ris(?:es|en|ing)|rose|climb\w{0,3}|increas\w{1,3}|grew"
    r"|grow\w{0,3}|up) from (?P<first>\d{1,6}(?:\.\d{1,3})?) ?(?P<unit>[MGT]i?B?)? to"
    r" (?P<last>\d{1,6}(?:\.\d{1,3})?) ?(?P<of_last>[MGT])i?B?\b"
    r"[^.!?]{0,30}?\b(?:with)?(?:in|over|after|during|by|until|each|every|per)\b[^.!?]{0,24}?"
    r"\b(?:(?:second|minute|hour|day|week|night|epoch|step|iteration|request|call|prediction)s?|batches)\b"
)
"""`RAM goes from 1.1 GB to 7 GB within two days`."""
_POWERS = {"M": 1, "G": 1 << 10, "T": 1 << 20}
_OTHER_SUBJECT = regex(r"(?i)\b(?:loss|accuracy|learning rate|speed|(?<!same )time|score|reward)\b")
_OF_ANOTHER = regex(rf"{_OTHER_SUBJECT.pattern}(?: \w+)?\s*\Z")
_TAKES = regex(
    r"(?i)\b(?:tak(?:e|es|en|ing)|us(?:e|es|ing|ed)|allocat(?:e|es|ed|ing)|occup(?:y|ies|ied|ying)"
    r"|consum(?:e|es|ed|ing)|reserv(?:e|es|ed|ing)|eat(?:s|ing)|hog(?:s|ging)?|fill(?:s|ed|ing)?"
    r"|grab(?:s|bing)?"
    r"|cost)\b"
)
_ALL = regex(
    r"(?i)\b(?:all|whole|entire(?:ty)?|totality|everything|fully|completely|full(?: amount| size)?"
    r"|nearly all|(?:larger|more) than(?! \d[\d.,]*K\b| \d[\d.,]* (?!(?:[KMGT]i?B?|giga|mega)\b)[a-z]))\b"
    r"|100 ?%|[89]\d ?%"
)
_AGAIN = (
    r"(?:\beach\b|\bjede[mnrs]?\b|\bcada\b|\bchaque\b|\bevery ?(?:time)?\b|\bper\b|(?<!\bin )\bbetween\b"
    r"|\bin[- ]between\b(?! the \w{1,20} (?:is|are|was|were|gets?|has|have)\b)|\bover\b|\bacross\b"
    r"|\bin (?:a|the|an) (?:\w+ )?loop\b|\bloops?\b|\brepeat\w*|\bmultiple\b|\bmany\b|\bseveral\b"
    r"|\bhundreds\b|\bsequentially\b|\bnumber of\b|\bagain\b|\ba lot of\b"
    r"|\bconsecutive\w*|\bsuccessive\w*|\bonce for\b|\bnew instances?\b)"
)
_NUMBERED = r"(?:\b\d+(?:st|nd|rd|th)?|\blast|\bsecond|\bthird|\bnext|\ba few|\bsome)"


def _just(what: str) -> re.Pattern[str]:
    """The thing alone: the title of a post names what matters in it."""
    return regex(rf"(?i)(?<![\w.])(?:{what})(?!\w)")


def _repeated(what: str) -> re.Pattern[str]:
    """A thing that is done again and again: `each trial`, `between trials`, `at the last fold`."""
    return regex(
        rf"(?i){_AGAIN}[^.]{{0,40}}?\b(?:{what})\b|\b(?:{what})\b[^.]{{0,40}}?{_AGAIN}"
        rf"|{_NUMBERED} (?:(?!to\b|and\b|for\b|when\b)\w+ )?(?:{what})\b|\b(?:{what}) \d+\b"
        rf"|\bfrom (?:one )?(?:{what}) to (?:the next|another|{what})\b"
    )


_UNITS = {
    "trial": r"trials?",
    "fold": r"(?:k-?)?folds?|cross[- ]validation\w*",
    "loaded model": (
        r"(?:re-?)?(?:load|restor|clon|cop[iy](?!(?:es)? of)|instantiat|initiali[sz])\w*(?: \w+){0,4}?"
        r" models?(?! once)"
        r"|load_model\w*|saved_model\.load|clone_model|models? (?:is|are|gets?) (?:loaded|cloned|copied)"
    ),
    "model": (
        r"(?:(?:re-?)?(?:train|fit|creat|build|mak|compil)\w*|new)(?: \w+){0,3}? models?|models"
        r"|call(?:ing)? the models?"
    ),
    "request": r"(?:inference )?requests?|calls? (?:to|of) (?:the |my )?(?:api|server|service|app)"
    r"|(?:I|we) (?:hit|call|query) (?:the |my )?(?:\w+ ){0,2}?(?:serving|server|api|endpoint|service)",
    "episode": r"episodes?",
    "data set": r"(?:iterators?|data ?sets?|from_tensor_slices|[\w.]*make_initializer)(?! of)",
    "run of a session": (
        r"\w*(?:sess|session|runner)[\w.]*\.run\b(?:\( ?-?\w* ?\))?"
        r"|(?:creat|clos|open)\w*(?: \w+){0,2} sessions?|session (?:clos|creat)\w*"
        r"|graphs? (?:is|are|gets?|being) (?:\w+ )?(?:created|built|made|rebuilt|imported|loaded)"
    ),
    "prediction": r"[\w.]*predict(?:ion|ions|ing|s|_on_batch|_generator)?(?:\(\))?|inferences?",
    "call of a function": r"calls?[^.]{0,20} tf\.? ?functions?|tf\.functions?",
    "epoch": r"epochs?",
    "step": r"iterations?|(?:training )?steps?|batch(?:es)?(?![-_ ]?size)",
}
"""What is done again and again, the most particular first."""
UNITS = tuple(_UNITS)
_WITHOUT_BLANKS = {
    "fold": r"\u6298|\u4ea4\u53c9\u9a8c\u8bc1|\u4ea4\u53c9\u9a57\u8b49|\uad50\ucc28"
    " ?\uac80\uc99d|\ud3f4\ub4dc",
    "model": (
        r"\u5faa\u73af[^\u3002]{0,12}\u8bad\u7ec3|\u91cd\u65b0(?:\u521b\u5efa|\u5efa\u7acb"
        r"|\u52a0\u8f7d)\u6a21\u578b"
        r"|\u591a\u4e2a\u6a21\u578b|\uc5ec\ub7ec \ubaa8\ub378|\ubc18\ubcf5 ?\ud559\uc2b5"
        r"|\uc5ec\ub7ec ?\ubc88 ?\ud559\uc2b5"
    ),
    "prediction": (
        r"\u5faa\u73af[^\u3002]{0,12}(?:predict|\u9884\u6d4b|\u63a8\u7406)"
        r"|(?:\u9884\u6d4b|\u63a8\u7406|\u8bc6\u522b)(?:\u7684)?(?:\u65f6|\u8fc7\u7a0b|\u9636\u6bb5)"
        r"|\u591a\u6b21(?:\u8c03\u7528)? ?(?:predict|\u9884\u6d4b)"
        r"|\ubc18\ubcf5[^.]{0,12}(?:predict|\uc608\uce21)"
    ),
    "epoch": r"\u6bcf\u4e00?(?:\u4e2a|\u8f6e)? ?epoch|\u6bcf\u4e00?\u8f6e|\uc5d0\ud3ed\ub9c8\ub2e4|\ub9e4"
    " \uc5d0\ud3ed",
}
"""The same in Chinese and Korean, whose words no blank parts: folds, models in a loop, predict in a loop,"
" epochs."""
_REPEATED = {
    unit: regex(f"{_repeated(what).pattern}|{_WITHOUT_BLANKS[unit]}")
    if unit in _WITHOUT_BLANKS
    else _repeated(what)
    for unit, what in _UNITS.items()
}
_NAMED_ALONE = (
    "trial",
    "fold",
    "loaded model",
    "episode",
    "run of a session",
    "prediction",
    "call of a function",
)
_IN_TITLES = {unit: _just(_UNITS[unit]) for unit in _NAMED_ALONE}
_ONE_BY_ONE = ("trial", "fold", "loaded model", "episode")
"""What comes in numbers by its nature: a title that names another beside a shortage, and no growth, may tell
of one large call.
"""
_GROWS = ("growing in words", "kept in words")
_LATER = r"(?:[2-9]|[1-9]\d+)(?:st|nd|rd|th)? (?:\w+ )?(?:epochs?|steps?|iterations?|batches|hours|days)\b"
_MINUTES_LATER = (
    r"\bafter (?:(?:the|about|around|almost|nearly|some|over) ){0,2}(?:[5-9]|[1-9]\d{1,2})"
    r"(?: ?(?:-|to|or) ?\d{1,3})? ?min(?:ute)?s?\b"
    r"(?!.{0,80}\b(?:load|compil|buil|start|convert|read|download|import)\w*)"
)
"""Not of what comes before the first step, which may take minutes, too."""
_OURS = r"\b(?:tensorflow|tf|keras|jax|flax)\b"
_ANOTHER = r"\b(?:(?:py|lib)?torch|onnx ?runtime|cupy|mxnet|paddle\w{0,8})\b"
_CIRCUMSTANCES = {
    "joining predictions": regex(
        r"(?i)\A(?=.*\b(?:concat\w*|join(?:s|ed|ing)|stack(?:s|ed|ing)))(?=.*\bpredict\w*)"
        r".*\b(?:end|after|complet\w*|together|finish\w*|done)\b"
    ),
    "failing late": regex(
        r"(?i)\A(?!.*\bfirst epoch\b)"
        rf"(?=.*\b(?:happen|fail|crash|error|stop|die|kill|memory|oom|exhaust)\w*).*"
        rf"(?:\b(?:after|until|at|on|in|during) (?:(?:the|about|around|almost|nearly|some|over) )*{_LATER}"
        rf"|\b(?:runs?|trains?|works?|running|training)\b.{{0,40}}\bfor (?:\w+ ){{0,2}}{_LATER}"
        r".{0,20}\bbefore\b"
        rf"|{_MINUTES_LATER}"
        r"|\b(?:last|second|third) (?:training )?(?:epoch|fold|trial|run)\b"
        r"|\b(?:at|on|in|during|after|until|with|train\w*|fit\w*) (?:the|my|a)"
        r" (?:last|second|third) (?:training )?model\b)"
    ),
    "one call alone": regex(
        r"(?i)\A(?=.*(?:\bmemory\b|\d ?GB\b)).*\b(?:one|single|very first)"
        r" (?:inference|prediction|forward pass)\b"
    ),
    "evaluating a whole set": regex(
        r"(?i)\b(?:entire|whole|full|all)\b.{0,40}\b(?:validation|dev|test|evaluation)\b"
        r".{0,20}\b(?:set|data|images)"
        r"|\bevaluat\w+ on (?:the )?(?:dev|test|validation|whole|entire)"
        r"|\bvalidat\w+\b.{0,40}\b(?:entire|whole|full|at once)\b"
    ),
    "compiling with XLA": regex(r"(?i)\bjit_compile\b|\bXLA\b"),
    "shuffling": regex(r"(?i)\bshuffl\w*"),
    "beside another framework": regex(
        r"(?i)\b(?:py)?torch\b|\btheano\b|\bcupy\b|\bcaffe\b|\bopencv\b|\bdarknet\b"
    ),
    "making a strategy": regex(
        r"(?i)\b(?:happens?|occurs?|fail\w*|crash\w*|hangs?|stuck|OOMs?|memory|grow\w*|kill\w*)\b"
        r"[^.;?!]{0,60}?\b(?:in|during|while|when|at|on|upon|as) (?:\w+ ){0,2}?(?:creat|construct"
        r"|initiali[sz]|instantiat|mak|build)\w*(?: of)? (?:the |a |an |my )?`?(?:[\w.]{1,30}\.)?"
        r"\w*Strategy\b(?!\.\w| scope)"
    ),
    "two frameworks on one GPU": regex(
        rf"(?i)\A(?!.*\?)(?=.*{_OURS})(?=.*{_ANOTHER}).*\b(?:compet(?:e[sd]?|ing|ition)|fight(?:s|ing)?"
        r"|contend(?:s|ing)?|contention)\b[^.]{0,30}\b(?:GPUs?|VRAM|memory)\b"
    ),
    "a framework takes the GPU": regex(
        rf"(?i){_OURS}(?! ?\?)[^.?!;]{{0,60}}?\b(?:reserv|pre-?allocat|grab|hog|claim|tak|allocat|occup|eat)"
        r"(?:e?s|ing|ed|ies|es)? (?:\w+ ){0,2}?(?:all|most|nearly|almost|whole|entire|[789]\d ?%)"
        r"[^.?!;]{0,30}\b(?:GPU|VRAM)\b(?![^.!]*\?)"
    ),
    "before training": regex(
        r"(?i)\bpre-?training\b(?= (?:where|when|that)\b)"
        r"|\bbefore (?:\w+ )?(?:training|the first|starting|it (?:even )?(?:starts|begins))"
        r"|\b(?:while|when) (?:loading|reading|preparing) (?:\w+ ){0,3}(?:data|images|files)"
    ),
    "serving requests": regex(
        r"(?i)\bflask\b|\bdjango\b|\bfast ?api\b|\bgunicorn\b|\brest api\b|\bweb ?(?:server|service|app)\b"
    ),
    "evaluating": regex(
        r"(?i)\A(?!.*\b(?:during|while) training\b).*\b(?:validat|evaluat|predict|inference|testing)\w*"
    ),
    "side by side": regex(
        r"(?i)\bconcurrent\w*|\bsimultaneous\w*|\bin parallel\b|\bat the same time\b|\bsecond process\b"
        r"|\bother process\w*"
        r"|\b(?:two|several|multiple) (?:\w+ )?(?:scripts|process(?:es)?|programs|predictions)\b"
    ),
    "training under a strategy": regex(
        r"(?s)\A(?=.*\b(?:[Ii]|[Ww]e|my|[Uu]sing|use[ds]?|with|under|[Ww]hen|[Tt]rain\w*)\b"
        r"|.*(?<![`\w])\w+ = \w|.*(?:\u4f7f\u7528|\u91c7\u7528|\u7528\u4e86?) ?[\w.]*Strategy)"
        r"(?!.*\byou\b)"
        r".*(?:\b\w*(?:Mirrored|ParameterServer|TPU)\w*Strategy|\bmulti_gpu_model\b)"
    ),
    "replaying": regex(
        r"(?i)\breplay[_ ](?:buffer|memory)|\bexperience (?:pool|replay)|\bdqn\w*|\bdeepq\b"
        r"|\bmemory[_ ]capacity\b"
    ),
    "a small replay buffer": regex(
        r"(?i)\breplay(?:[_ ](?:buffer|memory))?\b[^.?!]{0,40}?\b(?:only|just|merely|small(?:er)?"
        r"|even (?:of|at|if|when|with (?:a )?(?:size|capacity|\d)))\b"
        r"|\breplay[_ ](?:buffer|memory)\b[^.?!]{0,60}?(?:size|length|capacity)\D{0,12}\d{1,4}\b"
        r"(?![.,]?\d|k\b)"
        r"[^.?!]{0,60}\b(?:only|too|also|as well|still|same)\b"
        r"|\b(?:replay )?(?:buffer|memory) (?:is|was|were|gets) (?:full|filled)\b[^.?!]{0,80}"
        r"\b(?:but|continues?|still|keeps?|past|beyond|further|after)\b"
        r"|\b(?:limit|reduc|lower|decreas|set)\w*\b[^.?!]{0,24}\breplay\b[^.?!]{0,60}"
        r"\b(?:still|same|too|as well|not|killed)\b"
    ),
    "failing in prediction": regex(
        r"(?i)\A(?!.*\btrain)(?=.*(?:\b(?:prediction|inference|predict|predicting)"
        r" (?:notebook|cell|step|script|stage|phase)\b"
        r"|\b(?:during|in|while|when(?: I| we)?|at) (?:the )?(?:prediction|inference|predict(?:ing)?"
        r"|inferring)\b"
        r"|\b(?:when|while) (?:I |we )?(?:\w+ ){0,2}?(?:running|run|calling|call|executing|execute|using)"
        r" (?:the )?[`'\"]?(?:\w+\.)?(?:predict(?:ions?|ing)?|inference)\b))"
    ),
    "searching": regex(
        r"(?i)\bkeras[- _]?tuner\b|\bhyperband\b|\bbayesianoptimization\b|\boptuna\b|\bhyperopt\b|\btalos\b"
        r"|\brandomsearch\b"
    ),
}
"""Where and how it happens, told together with the failure."""
_WHEREVER = (
    "making a strategy",
    "two frameworks on one GPU",
    "a framework takes the GPU",
    "failing late",
    "one call alone",
    "serving requests",
    "training under a strategy",
    "replaying",
    "a small replay buffer",
    "failing in prediction",
    "searching",
)
"""What counts wherever it is told."""


_REMEMBERED = 4096
"""Sentences whose facts are remembered: less than 2 MiB, since none is longer than `_LONGEST_SENTENCE`."""
_VALIDATION = regex(
    r"(?i)\bvalidation[_ ]data\w*|\b(?:each|every|after|during) (?:\w+ )?(?:validation|evaluation)\b"
)


class AccountCollector:
    """Collects what sentences of people tell."""

    def __init__(self) -> None:
        self._facts: dict[str, Line] = {}
        self._weak: dict[str, Line] = {}
        self._read = 0
        self._before = ("", 0)

    def observe(self, line: Line) -> None:
        """Read a line that no C++ file logged, and the sentence that the line before left open."""
        text = line.text
        if self._read > _MOST_SENTENCES or len(text) > _LONGEST or not _LIKE_PROSE.search(text):
            return
        if _OF_A_PROGRAM.search(text):
            return
        opened, number = self._before
        begins = opened if number + 1 == line.number and text[:1].islower() else ""
        text = without_earlier(_ADDRESS.sub(" ", _GUESS.sub("", text)))
        sentences = _SENTENCE.split(f"{begins} {text}" if begins else text)
        if _frees_less(text):
            self._facts.setdefault("growing in words", line)
        of_size, of_code = bool(GROWING_WITH_A_SIZE.search(text)), bool(_OF_CODE.match(text))
        for sentence in sentences:
            if sentence and not _asks_another(sentence):
                self._read += 1
                self._take(sentence[:_LONGEST_SENTENCE], line, of_size, of_code)
        ends = text.rstrip().endswith((".", "!", "?", ":"))
        self._before = ("" if ends else _SENTENCE.split(text)[-1][-_LONGEST_START:], line.number)

    def value(self) -> dict[str, Line]:
        """The facts by their names, each with the first line that tells it. What is done again counts where
        it is told together with the failure, or in the line that tells of growth; else where no sentence does
        that.
        """
        grows = self._facts.get("growing in words")
        besides = any(name in self._facts for name in map(again, UNITS))
        near = {
            name: line
            for name, line in self._weak.items()
            if name not in self._facts and not (besides and line is not grows)
        }
        return self._facts | near

    def _take(self, sentence: str, line: Line, of_size: bool, of_code: bool) -> None:
        facts, weak = _told(sentence)
        for name in facts:
            if not (of_size and name == "growing in words") and not (of_code and name == AT_ISSUE):
                self._facts.setdefault(name, line)
        for name in () if of_code else weak:
            self._weak.setdefault(name, line)


@lru_cache(_REMEMBERED)
def _told(sentence: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the facts that a sentence tells, and of those that count where no other tells any. Lines
    of a log come again and again, and three dozen patterns are asked about each.
    """
    told, titled = list(_course(sentence)), sentence.startswith("# ")
    whose = _whose(_UNCHANGED.sub(" ", sentence)) if told else None
    facts = [*told, *filter(None, (whose,))]
    grows = any(each in told for each in _GROWS)
    repeated = [
        again(unit)
        for unit in UNITS
        if _repeats(unit, sentence, titled and (grows or (bool(told) and unit in _ONE_BY_ONE)))
    ]
    if told:
        facts += repeated
    if "growing in words" in told and _VALIDATION.search(sentence):
        facts.append("growing at validation")
    if _stays(sentence):
        facts.append("room that stays")
    if denies_a_leak(sentence):
        facts.append("no leak seen")
    if _OF_A_CARD.search(sentence) and _has_room(sentence):
        facts.append("room on the device")
    for name, pattern in _CIRCUMSTANCES.items():
        if (told or name in _WHEREVER) and pattern.search(sentence):
            facts.append(name)
    if not told and _BUFFER_OF.search(sentence):
        facts.append("a buffer of shuffle")
    if not told and _is_at_issue(sentence):
        facts.append(AT_ISSUE)
    return tuple(facts), () if told else tuple(repeated)


AT_ISSUE = "memory at issue"
"""That the writer's trouble is memory, in words of no known class: enough beside code that shows a cause."""
_TROUBLE = regex(
    r"(?i)\bswapping\b"
    r"|\b(?:v?ram|memory|memories|swap|rss)\b[^.?!]{0,80}\b(?:more|higher|larger|bigger|up|keeps?|kept|holds?"
    r"|back|lost|never|still|always|slow\w*|crash\w*|kill\w*|die[sd]?|eat\w*|eaten|huge|enormous"
    r"|the same way|likewise|problems?|issues?|troubles?|errors?|exponential\w*|unbounded|limit)\b"
    r"|\b(?:takes?|uses?|needs?|requires?|consumes?) (?:about |around |~ ?)?\d[\d.,]* ?[MGT]i?B\b"
    r"|\b(?:all (?:this|that)|so much|that much|lots? of|insane amounts? of)\b[^.?!]{0,30}"
    r"\b(?:v?ram|memory)\b"
    r"|\b(?:more|higher|larger|bigger|keeps?|kept|holds?|back|loses?|lost|never|crash\w*|kill\w*|die[sd]?"
    r"|eat\w*|hogs?|huge|enormous|exponential\w*|problems?|issues?|troubles?)\b"
    r"[^.?!]{0,60}\b(?:v?ram|memory|memories|swap|rss)\b"
)


def _is_at_issue(sentence: str) -> bool:
    """Whether memory is what the sentence complains of: no denial and no mere question."""
    match = _TROUBLE.search(sentence)
    if match is None or _NO_LONGER.search(sentence):
        return False
    return not (_denied(sentence, match) or _ASKS_WHETHER.match(sentence))


_NO_LONGER = regex(r"(?i)\bany ?more\b|\bno longer\b|\b(?:is|are|was|were) (?:gone|solved|fixed)\b")


_BUFFER_OF = regex(
    r"(?i)\bshuffl\w*\b[^.]{0,40}\bbuffer\w*\b[^.]{0,20}\d{3}"
    r"|\bbuffer\w*\b[^.]{0,20}\d{3}[^.]{0,40}\bshuffl"
)
"""A buffer of shuffle with its size, told elsewhere than with the failure."""
_OF_CODE = regex(
    r"\A\s*(?:[\w.\[\]'\"]+(?:, ?[\w.]+)* ?[-+*/]?=(?!=) ?\S"
    r"|(?:def|class|with|for|while|if|elif|else|try|except|return|import|from|yield|raise|print)\b[^.?!]*[:(]"
    r"|[\w.]+\([^?!]*\)\s*(?:#.*)?\Z|@\w|>>> )"
)
"""A line of code: a noun in it, or in its comment, tells nothing of what is done again and again."""
_OF_A_PROGRAM = regex(
    r"\bAllocator \(|\bwhen OOM happens\b|\btrying to allocate\b|\bnot a failure\b|_bfc\b"
    r"|\bexceeds \d+% of|\bbytes_limit\b"
)
"""Words of TensorFlow's own messages, which other readers know: no one tells anything with them."""
_GUESS = regex(
    r"(?:\A|(?<=[.!:] ))[^.!?:]{1,80}\? (?=(?:[A-Z]+_[A-Z_]+|INTERNAL|UNKNOWN|ABORTED|UNAVAILABLE"
    r"|UNIMPLEMENTED): )(?!RESOURCE_EXHAUSTED)"
)
"""What a program asks before it prints another error: `Not enough memory? INTERNAL: ...`."""
_LIKE_PROSE = regex(r"[A-Za-z]{2,} [a-z]{2,}|\bleak|#|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{3}")
"""Some words in a row."""


def _repeats(unit: str, sentence: str, titled: bool) -> bool:
    if unit == "model" and _ONE_MODEL.search(sentence):
        return False
    named = _IN_TITLES.get(unit) if titled else None
    if named and named.search(sentence):
        return True
    once = _IMPORT.match(sentence) or (unit in _MADE and _ONCE.search(sentence))
    match = None if once else _REPEATED[unit].search(sentence)
    if match is None or unit != "model":
        return match is not None
    at_once = _AT_ONCE.match(match[0]) and not _DONE.search(sentence[: match.start()])
    return not (at_once or _OF_TRAINING.search(match[0]) or _TRAINING_GOES_ON.match(sentence, match.end()))


_ONE_MODEL = regex(
    r"(?i)\b(?:the|one and the|a) (?:very )?(?:same|single|one) (?:\w+ )?model\b(?! (?:type|class|archi))"
)
"""That is trained again and again, and none that is made anew."""
_MADE = ("data set", "model", "loaded model")
_ONCE = regex(r"(?i)\bonce\b(?! (?:per|for|in|an?) )|\b(?:before|above|outside(?: of)?) (?:the|my) loop\b")
"""What is made so is not made again."""
_IMPORT = regex(r"\s*(?:from [\w.]+ )?import ")
_AT_ONCE = regex(r"(?i)\A\d+ (?:\w+ )?models?\Z")
_DONE = regex(r"(?i)\b(?:after|every|train\w*|fit\w*|build\w*|creat\w*|mak\w*|compil\w*|first|past)\s+\Z")
"""Before a number of models that were made one after another, and are not there at once."""
_OF_TRAINING = regex(r"(?i)\b(?:epochs?|steps?|iterations?|batch(?:es)?)\b")
"""What is done again while one model is trained."""
_TRAINING_GOES_ON = regex(r"(?i) (?:epochs?|steps?|iterations?|batch(?:es)?)\b")


_ADDRESS = regex(r"\bhttps?://[^\s)>\]]{1,400}")
"""Words of an address are none of its writer's."""


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a line; of one that is too long to be prose, none."""
    return tuple(_SENTENCE.split(text)) if len(text) <= _LONGEST else ()


_ABOUT_ANOTHER = regex(
    r"(?i)\A\W*(?:@[\w-]{1,40}\W+)?(?:(?:also|and|so|but|or|hi|hello|hey|thanks),? ){0,2}"
    r"(?:(?:could|can|would|will) you\b[^?]*\byour?\b|(?:did|have|had|are|were) you\b"
    r"|do you (?!know\b|think\b|see\b|guess\b|have an?y? (?:idea|clue|hint|thought))"
    r"|(?:how|what|which|where|when|why) (?:\w+ ){0,2}?(?:do|did|are|were|have) you\b)"
)


def _asks_another(sentence: str) -> bool:
    """Whether a question asks somebody about their program: `could you share how you make your data set?`."""
    return "?" in sentence and _ABOUT_ANOTHER.match(sentence) is not None


def without_questions(text: str) -> str:
    """The text without sentences that only ask whether memory ran out, and without what denies it."""
    if "either" in text and len(text) <= _LONGEST:
        text = _NEITHER.sub(" ", text)
    if "?" not in text or len(text) > _LONGEST:
        return text
    return " ".join(each for each in _SENTENCE.split(text) if not _ASKS_WHETHER.match(each))


_UNCHANGED = regex(f"(?i){UNCHANGED}")
_NEITHER = regex(
    r"(?i)\bneither\b(?: \w+){1,6}? (?:exhausted|full|depleted|short|used up|out of (?:memory|RAM))\b"
    r"|\bit(?:'s| is| was) not (?:\w+ ){1,4}?(?:and not |nor |or )?(?:the |our )?(?:host |system )?"
    r"(?:RAM|memory)\b(?=\W*(?:[.;,]|\Z))"
)
"""`although neither VRAM nor RAM is exhausted`, `it is not the rollout and not host RAM`."""


def without_wishes(text: str) -> str:
    """The text without sentences that ask to use the host's RAM as well, which do not say that it is full."""
    if len(text) > _LONGEST or not _WISHES.search(text):
        return text
    return " ".join(each for each in _SENTENCE.split(text) if not _WISHES.search(each))


_WISHES = regex(
    r"(?i)\b(?:can|could|how (?:do|can|to|could)|is it possible|possible to|would like|want|wish|way to)\b"
    r"[^.!?]{0,60}\b(?:us(?:e|ing)|offload(?:ing)?|spill(?:ing)?|extend(?:ing)?|borrow(?:ing)?)\b[^.!?]{0,40}"
    r"\b(?:CPU(?:'s)?|host|system|main|(?:machine|server|computer|PC|laptop)(?:'s)?) (?:RAM|memory)\b"
)


def without_gifts(text: str) -> str:
    """The text without the words that somebody gives a program more memory, which tell of no growth."""
    return _GIVES.sub(" ", text) if "emory" in text or "RAM" in text else text


_GIVES = regex(
    r"(?i)\b(?:(?:I|we|you|they)(?:'ve| have| had)?|tried|try|trying|by|after|even|despite|can|could|should"
    r"|to|and|or)"
    r" (?:also |even |just |then |already )?(?:increas|rais|bump|enlarg)(?:e|ed|ing)"
    r"(?: (?:up|the|my|its|our|lambda|function|container|instance|pod|available|total|allocated)){0,3}"
    r" (?:RAM|memory)\b(?! (?:usage|use|consumption|footprint|pressure|load|demand|until|over|each|every|with"
    r"|after|constantly|steadily|slowly|linearly)\b)"
)


def again(unit: str) -> str:
    """The name of the fact that something is done again and again."""
    return f"again at each {unit}"


def _course(sentence: str) -> Iterator[str]:
    """What the sentence tells of memory: that it grows, runs short, is kept, is taken as a whole."""
    sentence = without_gifts(_UNCHANGED.sub(" ", _NEITHER.sub(" ", sentence)))
    memory = [match.span() for match in _MEMORY.finditer(sentence)]
    if _FLAT_ON_CPU.search(sentence):
        yield "flat on the CPU"
    if _rises_in_figures(sentence, bool(memory)):
        yield "growing in words"
    asks = _ASKS_WHETHER.match(sentence)
    named = _NAMED_SHORTAGE.search(sentence)
    if named and not (asks or _denied(sentence, named)):
        yield "running short"
    if _BUFFER_KEPT.search(sentence) or any(True for _ in _apart(sentence, memory, _KEPT)):
        yield "kept in words"
    if not memory:
        if _LEAKS.search(sentence):
            yield "growing in words"
        return
    once = rose_once(sentence)
    if not (once or _EXPONENTIAL.search(sentence)) and (
        _near(sentence, memory, _GROWTH) or any(map(_is_more, _apart(sentence, memory, _RISES)))
    ):
        yield "growing in words"
    elif once:
        yield "rising once"
    if _near(sentence, memory, _SHORTAGE) and not asks and not _has_room(sentence):
        yield "running short"
    if _OF_DEVICE.search(sentence) and all(_near(sentence, memory, words) for words in (_TAKES, _ALL)):
        yield "taking the whole GPU"
    elif _near(sentence, memory, _FULL) and not _has_room(sentence):
        yield "much memory in words"


_EXPONENTIAL = regex(
    r"(?i)\bexponential(?:ly)?\b"
    r"(?![^.\n]{0,80}\b(?:until|over time|each|every|after|during|epochs?|steps?|iterations?|calls?"
    r"|requests?)\b)"
)
"""Growth with a number of things (qubits, particles, nested maps), which no step adds to."""


def rose_once(sentence: str) -> bool:
    """Whether it tells of memory that goes up to a figure and stays there, which is no growth."""
    return bool(_THEN_FLAT.search(sentence)) and not _EVER_AGAIN.search(sentence)


def _rises_in_figures(sentence: str, of_memory: bool) -> bool:
    """Whether it tells figures of memory at several times, each above the one before: `610 MB at the start,
    1.4 GB after 100 requests, 3.9 GB after 400`; or what each turn adds.
    """
    if not (of_memory or _WATCHED.search(sentence)) or _OTHER_SUBJECT.search(sentence):
        return False
    if _ADDS.search(sentence):
        return True
    figures = [float(match["size"]) * _POWERS[match["unit"].upper()] for match in _AMOUNT.finditer(sentence)]
    if len(figures) < _LEAST_FIGURES or len(_AT_A_TIME.findall(sentence)) < len(figures) - 1:
        return False
    return all(one < other for one, other in pairwise(figures)) and figures[-1] >= _FAR_MORE * figures[0]


def _frees_less(text: str) -> bool:
    """Whether a line tells how much is free at several times, each time less: `4 GB are free at the start,
    1.1 GB are free after 90 epochs, 300 MB are free after 180`.
    """
    if not (_TURNS.search(text) and "free" in text):
        return False
    figures = [float(match["size"]) * _POWERS[match["unit"].upper()] for match in _FREE.finditer(text)]
    if len(figures) < _LEAST_FIGURES or not all(one > other for one, other in pairwise(figures)):
        return False
    return figures[0] >= _FAR_MORE * figures[-1]


_FREE = regex(
    r"(?<![\w.])(?P<size>\d{1,6}(?:\.\d{1,3})?) ?(?P<unit>[MGmg])i?[Bb]\b"
    r"(?: (?:of \w+|is|are|was|were|still)){0,2}"
    r" (?:free|available|left)\b"
)
_TURNS = regex(
    r"(?i)\b(?:after|at|by|for) (?:\w+ ){0,2}?\d{1,6} (?:epochs?|steps?|iterations?|batches|calls|trials)\b"
)
_THEN_FLAT = regex(
    r"(?i)\d ?[GM]i?B?\b,? (?:and|but|then)(?: then| it)? (?:stays?|remains?|stayed|remained|is)"
    r" (?:there|so|at that|flat|constant|stable|steady|like (?:that|this)|the same)\b"
    r"|\b(?:before and after|once|this line|that line)\b[^.\n]{0,80}\b(?:goes|went|jumps|rises"
    r"|increases) (?:up )?by (?:about |around |some |roughly |~ ?)?\d[\d.,]* ?[GMK]i?B?\b"
)
_EVER_AGAIN = regex(rf"(?i){_AGAIN}")
"""It rose once, to a figure, and no more."""
_FLAT_ON_CPU = regex(
    r"(?i)\b(?:on|with|using) (?:the |my )?cpu\b.{0,80}?\b(?:(?:stays?|remains?|is|stayed) (?:at \d|flat"
    r"|constant|stable|steady|the same)|(?:not|n't|never) (?:grow|leak|increas|rise)\w*|no (?:leak|growth)\b)"
)
"""The writer's own test: the same program, and nothing grows on the CPU."""
_AMOUNT = regex(r"(?<![\w.])(?P<size>\d{1,6}(?:\.\d{1,3})?)\+? ?(?P<unit>[MGTmgt])(?:i?[Bb])?\b(?!/s)")
_AT_A_TIME = regex(
    r"(?i)\b(?:first|start|begin\w*|(?:the |epoch |step )?\d{1,3}(?:st|nd|rd|th)|(?:by|after|epoch|step"
    r"|at step|iteration|run|trial|fold) \d{1,9}|after (?:an?|one|two|three|ten|some) \w+"
    r"|(?:by|after|at) (?:epoch|step|iteration|run|trial) \d{1,9}|\d{1,2}:\d{2}(?::\d{2})?)\b"
)
_WATCHED = regex(
    r"(?i)\b(?:activity monitor|task manager|docker stats|kubectl top|htop|psutil|memory_info|container"
    r"|(?:python|process) (?:is |was )?at \d)"
)
_ADDS = regex(
    r"(?i)\b(?:each|every|per) (?:\w+ )?(?:epoch|step|iteration|batch|request|call|trial|fold|run|frame"
    r"|model)s? (?:eats|adds|leaks|loses|costs another|takes another)"
    r" (?:up )?(?:about |around |another |roughly |some |an extra |~ ?)?\d{1,6}(?:\.\d{1,3})? ?[KMG]i?B\b"
)
_LEAST_FIGURES, _FAR_MORE = 3, 1.5


def _is_more(match: re.Match[str]) -> bool:
    """Whether the second figure of a rise is larger than the first, which may leave out its unit."""
    unit = (match["unit"] or match["of_last"])[0].upper()
    first, last = (
        float(match[name]) * _POWERS[of] for name, of in (("first", unit), ("last", match["of_last"].upper()))
    )
    return first < last


_OF_WHOLE = regex(
    r"(?i)\b(?P<used>\d{1,4}(?:\.\d{1,2})?) ?(?P<unit>[GT]i?B? )?(?:out )?(?:of|/) ?(?:the )?"
    r"(?P<whole>\d{1,4}(?:\.\d{1,2})?)(?: ?[GT]i?B?\b| (?:is |are )?(?:used|in use)\b"
    r"|(?(unit)(?![\w%])|(?!)))"
)
_MOST_WITH_ROOM = 0.6


def _has_room(sentence: str) -> bool:
    """Whether it states how much of the memory is in use, and that is far from all: `9 of 64 GB`."""
    stated = [(float(match["used"]), float(match["whole"])) for match in _OF_WHOLE.finditer(sentence)]
    return bool(stated) and all(used <= _MOST_WITH_ROOM * whole for used, whole in stated)


def _stays(sentence: str) -> bool:
    """Whether it states figures with much room, and that they stay as they are."""
    return _has_room(sentence) and _FLAT.search(sentence) is not None


_OF_A_CARD = regex(r"(?i)\bnvidia-smi\b|\bVRAM\b|\bGPU memory\b|\bGPU (?:is|uses|shows|has)\b")
_FLAT = regex(
    r"(?i)\b(?:the same|flat|constant|stable|steady|unchanged)\b|\bno (?:growth|increase)\b"
    r"|(?:\bnot|n't|\bnever) (?:grow|increas|ris)\w*"
)


def _whose(sentence: str) -> str | None:
    """Which memory a sentence is about; one that somebody would like to use is not the one that is full."""
    sentence = with_vram(_WISHES.sub(" ", sentence))
    of_device = _OF_DEVICE.search(sentence)
    if _OF_HOST.search(sentence) and (_OF_CPU.search(sentence) or not of_device):
        return "host RAM in words"
    return "device memory in words" if of_device and not _OF_HOST.search(sentence) else None


def _near(sentence: str, memory: list[tuple[int, int]], pattern: re.Pattern[str]) -> bool:
    """Whether words of a class stand near those of memory, undenied, and of no other subject."""
    return any(not _denied(sentence, match) for match in _apart(sentence, memory, pattern))


def _apart(sentence: str, memory: list[tuple[int, int]], pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    for match in pattern.finditer(sentence):
        for start, end in memory:
            low, high = (end, match.start()) if match.start() >= end else (match.end(), start)
            if high - low <= _NEAR and not _OTHER_SUBJECT.search(sentence, low, max(low, high)):
                yield match
                break


def _denied(sentence: str, match: re.Match[str]) -> bool:
    """Whether the words just before deny it, or say it of something else than memory."""
    before = max(0, match.start() - 40), match.start()
    if _NEVER_WITHOUT.search(sentence, 0, match.start()):
        return False
    return any(words.search(sentence, *before) for words in (_DENIED, _OF_ANOTHER, _ASKED))
