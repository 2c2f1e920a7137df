"""What a post says was tried in vain, or is done already: whoever advises it again has not read the post.

A sentence tells it where it names an action and says that its writer did it, or that it changed nothing, and
not that it helped. Below `I also tried:` each line of the list is such a sentence; `I tried that, same error`
is of the actions that the lines before it named, a question or another's advice among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_LESS = r"(?:reduc|lower|decreas|shrink|cut|small|less|fewer|halv|minimi[sz])\w*"
_OF_BATCH = r"\b(?:mini-?)?batch(?:es\b|[- _]?sizes?\b|\b)"
_NO_RELEASE = (
    r"(?:Pro\b|plans?\b|subscription|account|tier|RAM\b|memory\b|GPUs?\b|cards?\b|hardware|machine|instance"
    r"|computer|PC\b)"
)
"""What is upgraded that is no program."""
_ACTIONS = {
    "a smaller batch in vain": (
        rf"(?!small\b)\b(?:{_LESS}|chang\w+|vary\w*|different|other|several)\b[^.;,:]{{0,30}}?{_OF_BATCH}"
        rf"|{_OF_BATCH}[^.;,:]{{0,20}}\b(?:reduc|lower|decreas|small)\w*"
        r"|\bbatch[- _]?sizes? (?:of )?\d+(?:, ?\d+)+"
        r"|\bbatch[- _]?sizes?\W{0,3}(?:tried )?(?:from )?\d+ (?:to|-) \d+"
    ),
    "a smaller evaluation batch in vain": (
        rf"\b(?:{_LESS}|half|quarter|1/\d)\b[^.;]{{0,40}}?{_OF_BATCH}[^.;]{{0,30}}\b(?:evaluat|validat)\w*"
        r"|\b(?:evaluat|validat|eval|val)\w*[^.;]{0,20}?\b(?:mini-?)?batch(?:[- _]?sizes?\b| (?:of|to) \d)"
    ),
    "a smaller sample in vain": (
        rf"\b(?:{_LESS}|resiz\w+|downscal\w+|downsampl\w+)\b[^.;,:]{{0,24}}?\b(?:images?|inputs?|resolutions?"
        r"|crops?|patch(?:es)?|sequences?|seq[_ ]?len\w*|tiles?)\b"
    ),
    "a smaller model in vain": (
        rf"\b{_LESS}\b(?:(?!\bbatch)[^.;,:]){{0,24}}?\b(?:models?|networks?|nets?|architectures?|layers|units"
        r"|filters|neurons|parameters)\b"
    ),
    "growth in vain": r"\b(?:allow|memory)[_ ]growth\b",
    "a fraction in vain": r"\bgpu[_ ]memory[_ ]fraction\b|\bmemory_limit\b",
    "a part for JAX in vain": r"\bXLA_(?:PYTHON_)?CLIENT_MEM_FRACTION\b",
    "clearing in vain": r"\bclear_?session\b|\breset_default_graph\b|\bclearing (?:the )?sessions?\b",
    "collecting in vain": r"\bgc\.collect\b|\bgarbage[- ]collect\w*|\bcalling gc\b",
    "deleting in vain": (
        r"\bdel(?:et\w+)? (?:the )?(?:model|dataset|variable|session)s?\b"
        r"(?! (?:\w+ )?(?:director|folder|file|cache))"
        r"|\bdel \w+"
    ),
    "tidying in vain": r"\btidy\w*|\btidied\b|\bdispos\w+",
    "predicting a batch in vain": r"\bpredict_on_batch\b|\bmodel\(x",
    "reading in parts in vain": (
        r"\bgenerators?\b|\b(?:fit|predict|evaluate)_generator\b|\bImageDataGenerator\b"
        r"|\bflow_from_d\w+|\bbatch by batch\b|\bnp\.memmap\b|\bmmap_mode\b|\btf\.?records?\b"
    ),
    "ending others in vain": (
        r"\breboot\w*|\brestart\w*|\bkill(?:ed|ing)?\b[^.;,]{0,20}\bprocess\w*"
        r"|\bclos(?:ed|ing)\b[^.;,]{0,20}\b(?:programs?|applications?|apps|processes|notebooks?|kernels?)\b"
    ),
    "another release in vain": (
        rf"\b(?:up|down)grad\w+\b(?! (?:\w+ ){{0,2}}{_NO_RELEASE})|\bnightly\b"
        r"|\b(?:other|different|several|older|newer|newest|latest|all|many)"
        r" (?:[\w-]+ ){0,2}(?:versions?|releases?)\b|\breinstall\w*"
    ),
    "16 bits in vain": r"\bmixed[-_ ]precision\b|\b(?:b?float16|b?fp16|half[- ]precision)\b",
    "threads in vain": (
        r"\bworkers ?= ?[01]\b|\buse_multiprocessing ?= ?False\b"
        r"|\b(?:without|no|disabl\w+|turn\w* off|remov\w+) multi-?processing\b"
    ),
    "smaller buffers in vain": (
        rf"\b(?:{_LESS}|without|no|disabl\w+|turn\w* off|remov\w+)\b[^.;,]{{0,24}}?"
        r"\b(?:shuffl\w+|cach(?:e|ing)|prefetch\w*|buffer_size|max_queue_size|queue)\b"
    ),
    "a process of its own in vain": r"\b(?:separate|own|new|different)[- ]process\b|\bsub-?process\w*",
    "without XLA in vain": r"\bjit_compile ?= ?False\b|\b(?:without|disabl\w+|turn\w* off) XLA\b",
    "more RAM in vain": (
        r"\b(?:(?:add|enlarg|rais)\w+|increas(?:ed|ing))\b[^.;,]{0,16}"
        r"\b(?:swap|RAM|memory (?:limit|size)|container|pod)\b"
        r"|\b(?:more|larger|bigger) (?:\w+ )?(?:swap|RAM|machine|instance)\b"
    ),
    "numbers in vain": r"\.numpy\(\)|\bfloat\(|\.item\(\)|\bto (?:numpy|floats?)\b",
    "another malloc in vain": r"\b(?:je|tc)malloc\b",
    "recomputing in vain": r"\bgradient[- ]checkpoint\w*|\brecompute_grad\b|\bremat\b",
    "accumulating in vain": r"\bgradient[- ]accumulation\b|\baccumulat\w+ (?:the )?gradients\b",
}
_COMPILED = {name: regex(f"(?i){pattern}") for name, pattern in _ACTIONS.items()}
_LOGS = r"(?:\b(?:OS|system|kernel) ?logs?\b|\bdmesg\b|\bsyslog\b|\bjournalctl\b|/var/log/)"
_CANNOT = (
    r"\b(?:can(?:'t|not| not)(?! even)|could(?:n't| not)(?! even)|must(?:n't| not)"
    r"|not (?:possible|allowed|an option)|impossible|(?:do not|don't|would rather not) want)\b"
)
_LOWER = r"(?:reduc|lower|decreas|shrink|cut|small|shorten|resiz|downscal|downsampl|crop)\w*"
_SAMPLE = r"\b(?:images?|inputs?|pictures?|resolutions?|sequences?|volumes?|texts?|image[- ]size)\b"
_CHANGED = "(?:\u6539|\u51cf|\u964d|\u8c03|\u8abf|\u7f29|\u5c0f)"
_BATCH_IN_SIGNS = r"batch(?:[ _-]?size)?"
_IN_VAIN_IN_SIGNS = (
    "(?:\u4e5f|\u8fd8\u662f|\u90fd|\u4f9d\u7136|\u4ecd)[^\u3002\uff0c\\n]{0,4}"
    "(?:\u4e0d(?:\u7ba1\u7528|\u884c|\u8d77\u4f5c\u7528)"
    "|\u6ca1\u6709?(?:\u7528|\u6548\u679c)|\u62a5\u9519|(?i:OOM)|\u7206|\u4e00\u6837)"
)
"""Of Chinese: that it changed nothing."""
_IN_OTHER_TONGUES = (
    rf"{_CHANGED}[^\u3002\n]{{0,12}}(?i:{_BATCH_IN_SIGNS})[^\u3002\n]{{0,12}}?{_IN_VAIN_IN_SIGNS}"
    rf"|(?i:{_BATCH_IN_SIGNS})[^\u3002\n]{{0,4}}{_CHANGED}[^\u3002\n]{{0,12}}?{_IN_VAIN_IN_SIGNS}"
    r"|\u30d0\u30c3\u30c1\u30b5\u30a4\u30ba\u3092?[^\u3002\n]{0,8}"
    r"(?:\u5c0f\u3055\u304f|\u6e1b\u3089|\u4e0b\u3052)[^\u3002\n]{0,6}(?:\u3066\u3082|\u3067\u3082)"
    r"|\ubc30\uce58[^.\n]{0,10}"
    r"(?:\uc904\uc5ec\ub3c4|\uc904\uc600\ub294\ub370\ub3c4|\ub0ae\ucdb0\ub3c4)"
    r"|(?i:\u0443\u043c\u0435\u043d\u044c\u0448)\w*[^.\n]{0,16}(?i:batch|\u0431\u0430\u0442\u0447)\w*"
    r"[^.\n]{0,24}(?i:\u043d\u0435 \u043f\u043e\u043c\u043e\u0433)"
)
"""That a smaller batch changed nothing, in Chinese, Japanese, Korean and Russian."""
_STATED = {
    "a smaller batch in vain": regex(_IN_OTHER_TONGUES),
    "a smaller sample in vain": regex(
        rf"(?i){_CANNOT}[^.;?]{{0,40}}\b{_LOWER}[^.;,?]{{0,24}}?{_SAMPLE}"
        rf"|{_SAMPLE}[^.;,?]{{0,24}}?{_CANNOT}[^.;,?]{{0,24}}?\b{_LOWER}"
    ),
    "a sample that must stay": regex(
        r"(?i)\b(?:have|need|want|like|must)(?: to)? (?:keep|use|stay (?:at|with)) (?:the |my |our |a )?"
        rf"(?:(?:(?:input|full|original|large|high)|{_SAMPLE}) (?:at |size |resolution )?)?"
        r"(?:\d{3,4}(?!\d)(?! (?:images|samples|epochs|steps|frames))|resolution\b|size\b)"
    ),
    "a batch that must stay": regex(
        rf"(?i){_CANNOT}[^.;?]{{0,30}}\b{_LOWER}[^.;,?]{{0,24}}?{_OF_BATCH}"
        rf"|{_OF_BATCH}[^.;,?]{{0,24}}?{_CANNOT}[^.;,?]{{0,24}}?\b{_LOWER}"
        r"|\b(?:need|want|have|must|require)\b(?: to (?:keep|have|use))? (?:the|a|this|that|my) (?:large )?"
        r"(?:mini-?)?batch(?:[- _]?size)? of \d+"
        r"|\b(?:need to|have to|must) (?:keep|stay (?:at|with)) (?:the |a |my |this )?"
        r"(?:\w{1,20}_)?batch(?:[- _]?size)? ?(?:=|at|of) ?\d"
    ),
    "ending others in vain": regex(
        r"(?i)\b(?:no|without any) other (?:\w+ ){0,2}(?:process|program|application|job|script|user)\w*"
        r"|\b(?:nothing|no ?(?:one|body)) else (?:is |was )?(?:running|us(?:es|ing)|on)\b"
        r"|\bnvidia-smi\b[^.;]{0,40}\b(?:nothing(?! (?:useful|helpful|about|of|new|more|wrong)\b)"
        r"|no (?:\w+ )?process\w*|empty)\b"
    ),
    "enough RAM in words": regex(
        r"(?i)\bRAM\b[^.;]{0,40}(?<!not )(?<!n't )(?<!never )\b(?:has|have|had|having|is|with|shows?)"
        r" (?:more than |still )?(?:enough|plenty|sufficient|half empty|mostly (?:free|empty))\b"
        r"|(?<!not )(?<!n't have )\b(?:plenty|enough|lots) (?:of )?(?:free |available )?"
        r"(?<!GPU )(?:RAM|(?:host|system) memory)\b(?! (?:to|for)\b)"
    ),
    "the kernel's log in vain": regex(
        rf"(?i)(?:\b(?:no|nothing|not|without)\b|n't\b)[^.;]{{0,60}}{_LOGS}"
        rf"|{_LOGS}[^.;]{{0,40}}(?:\b(?:no|nothing|not|clean)\b|n't\b)"
    ),
    "recomputing in vain": regex(
        r"(?i)\b(?:remat|jax\.checkpoint|gradient checkpointing|checkpointing)\b[^.;\n]{0,40}?"
        r"\b(?:(?:does|do|did)(?:n't| not)|never) (?:\w+ ){0,2}?(?:save|reduce|decrease|lower|help)\b"
    ),
    "a graph of another thread": regex(r"(?i)\bnot an element of (?:this|the) graph\b"),
    "blocks in vain": regex(
        r"(?i)\b(?:chunk\w*|blocks?|batching|(?:vmap|lax\.map|\bmap)\b[^.;\n]{0,40}\bbatch_size)\b"
        r"[^.;\n]{0,50}?"
        r"\b(?:(?:is|are|seems?|becomes?) (?:\w+ )?(?:ineffective|ignored|useless|without effect)"
        r"|(?:has|have|had) no effect"
        r"|(?:does|do)(?:n't| not) (?:\w+ ){0,3}?(?:have an effect|make a difference|help|matter))\b"
        r"|\bbatch_size\b[^.;\n]{0,50}?\b(?:is|are|seems?|becomes?) (?:\w+ )?(?:ineffective|ignored)\b"
    ),
    "compared with the CPU": regex(
        r"(?i)\A(?=.*(?:\b(?:not|no|never|fine|stable|flat|also|too|as well|same|either)\b|n't\b))"
        r".*\b(?:run|running|runs|when|train\w*|us(?:e|es|ing)|tested)\b[^.;]{0,24}"
        r"\b(?:on|with) (?:the |a |an |my )?(?:\w+ )?CPU\b(?! (?:RAM|memory|usage))"
    ),
}
"""What rules an action out as a fact, whoever did anything."""
_TRIED = r":\s*tried\b|\b(?:i|we|i've|we've|have|had|also|already|even) (?:\w+ ){0,2}?tried\b|\A\W*tried\b"
_DID = (
    r"\b(?:i|we)(?:'ve| have| had)? (?:\w+ ){0,2}?(?:call(?:ed)?|us(?:e|ed)|set|did|add(?:ed)?|put"
    r"|enabled|wrapped)\b"
    r"|\b(?:already|also|have) (?:\w+ )?(?:call(?:ed)?|us(?:e|ed|ing)|set)\b"
    r"|\b(?:i am|i'm|we are|we're|am) (?:\w+ )?(?:using|calling|setting)\b|\bwrapped\b|\A\W*using\b"
)
_DONE = frozenset(
    f"{what} in vain"
    for what in (
        "growth", "a fraction", "clearing", "collecting", "deleting", "tidying", "predicting a batch",
        "reading in parts", "16 bits", "without XLA", "numbers", "another malloc", "recomputing",
        "accumulating", "threads",
    )
)  # fmt: skip
"""What a program that does it has done already, whatever came of it."""
_NO_CHANGE = regex(
    r"(?i)n't (?:\w+ ){0,2}(?:help|solve|work|fix|change|stop|make|do|seem)"
    r"|\bnot (?:\w+ )?(?:help|solve|work|fix|change)"
    r"|\b(?:no|any) (?:help|effect|luck|difference|change|improvement)|\buseless\b|\bin vain\b"
    r"|\bnothing help\w*|\b(?:none|neither|nor) (?:of \w+ )?(?:work|help|solv|made)\w*"
    r"|\bfail(?:s|ed)? to (?:solve|help|fix)|\beven (?:after|when|with|if|deleting|though)\b|\bstill\b"
    r"|\bsame (?:\w+ )?(?:error|issue|problem|result|thing|behaviou?r|story|OOM)\b"
    r"|\bdespite\b|\bkeep(?:s)? (?:on )?increasing even\b|\bhilft nicht\b|\bno (?:ayuda|sirve)\b"
    r"|\bn\u00e3o (?:ajuda|adianta)\b|\bto no avail\b|\bwithout (?:any )?success\b"
)
_FOUND = regex(
    r"(?i)\b(?:found|noticed|realis?z?ed|discovered|figured|saw)(?: out)? that\b|\bturn(?:s|ed) out\b"
)
"""What was tried told its writer more than whether it helps."""
_TRIED_OR_NOT = regex(f"(?i){_TRIED}")
_DOES = regex(f"(?i){_DID}")
_WELL = regex(
    r"(?i)(?<!n't )(?<!not )(?<!never )(?<!nothing )(?<!none )"
    r"\b(?:work(?:s|ed)|help(?:s|ed)|fix(?:es|ed)?|solve[sd]) (?:it|this|the|for me|fine|well|now)"
    r"|(?<!n't )(?<!not )(?<!never )(?<!none )(?<!neither )\bworked\b|\bmitigat\w+"
    r"|(?<!n't )(?<!not )\bwork(?:s|ing|ed)? (?:\w+ )?(?:fine|well|properly)\b"
    r"|\b(?:did|do)(?:n'?t| not) (?:get|see|have) (?:the|that|this|any|an) (?:\w+ ){0,2}?"
    r"(?:errors?|OOM|crash\w*)\b"
    r"|\b(?:is|was|runs?) (?:fine|ok)\b|\b(?:it|that|this|everything) (?:now )?works?\b(?! (?:on|only|with"
    r"|until|for|but)\b)"
    r"|(?<!n't )(?<!not )(?<!never )\b(?:made|got|get|makes) (?:it|this|that|everything|mine)"
    r" (?:to )?work(?:ing)?\b"
    r"|(?<!n't )(?<!not )\b(?:solved|fixed|resolved) (?:\w+ )?by\b|\bdid the trick\b"
    r"|\b(?:goes|went) away\b|\bdisappear\w*|\bno longer\b|\b(?:is|was|got|are) (?:now )?(?:gone"
    r"|resolved|fixed|solved)\b|\bmakes? it (?:run|work)\b|\b(?:can|could|able to) (?:\w+ )?(?:run|train"
    r"|fit)\b|\bin case (?:any|some)(?:one|body)\b|\bin case you\b"
)
_KEPT = regex(
    r"(?i)(?:\bnot\b|n't|\bnever\b)[^.;]{0,30}\b(?:releas|free|clear|give)\w*"
    r"|\b(?:still|keeps?|continues?)\b[^.;]{0,20}\b(?:tak|hold|us|occup|consum)(?:es?|ing|y|ies|ied)?\b"
    r"[^.;]{0,30}\b(?:memory|VRAM|RAM|GPUs?)\b|\b(?:memory|VRAM|RAM|GPUs?)\b[^.;]{0,20}\b(?:still|stays?"
    r"|remains?)\b[^.;]{0,20}\b(?:taken|used|in use|occupied|full|held)\b"
)
"""What an ended process still holds, which others than the writer's own may be asked about."""
_FROM_OTHERS = regex(
    r"(?i)\A(?!.*\b(?:i|we|i've|we've)\b)(?:.*\byou(?:r)?\b|.*\b(?:please|should|could|may|might|must)\b"
    r"|\W*(?:@\S+ )?(?:try|use|set|add|reduce|call|just|maybe|perhaps|did|do|does)\b)"
)
"""Advice, which its reader has yet to take."""
_NOT_YET = regex(
    r"(?i)\b(?:will|going to|gonna|want(?:ed)? to|plan\w* to|thinking (?:of|about)|consider\w*|before"
    r"|never|not|yet to) (?:\w+ )?(?:tr(?:y|ied|ying)|us(?:e|ed|ing)|set|call\w*|do)\b"
    r"|\b(?:needs?|requires?|follow[- ]?ups?|to-?do|deferred)\b"
    r"|n't (?:\w+ )?(?:tr(?:y|ied)|us(?:e|ed|ing)|set|call\w*|want|have to)\b"
    r"|\bwithout (?:us(?:e|ing)|a|any)\b"
    r"|\binstead of (?:the |a |an |using )|\b(?:should|could) (?:have|'ve)\b"
)
_REPRODUCES = regex(r"(?i)\b(?:replicat|reproduc)\w+")
"""What is made small so that others can run it is no remedy that was tried."""
_OF_THESE = regex(
    r"(?i)\b(?:tried|did|done|used|followed|applied|implemented) (?:\w+ )?(?:that|this|it|both|these|those"
    r"|them|all|your|the (?:suggest|solution|fix|above)\w*)\b"
    r"|\A\W*(?:unfortunately|sadly|no|nope|but|still|sorry)\b"
)
_IT_CHANGED_NOTHING = regex(
    r"(?i)\A\W*(?:@\S+ )?(?:this|that|it|both|these|none)\b(?: of \w+)? (?:(?:do|does|did)(?:n't| not)|never)"
    r" (?:\w+ ){0,2}(?:help|work|solve|fix|change)"
)
_LIST = regex(
    r"(?i)\b(?:i|we|have|also|already|what|and)\b[^.!?]{0,40}\btried\b[^.!?]{0,40}:\W*\Z"
    r"|\btried the (?:following|suggestions?|solutions?|steps|fixes)\b[^.!?]{0,80}:\W*\Z"
    r"|\b(?:things|what) (?:that )?(?:i|we)(?:'ve| have)? (?:already )?tried\b[^.!?]{0,40}:?\W*\Z"
)
_YES = regex(r"(?i)\A\W*yes\W*\Z")
_LONGEST, _LONGEST_SENTENCE, _MOST_LINES, _NEAR, _LONGEST_LIST, _REMEMBERED = 1500, 500, 400, 8, 10, 2048
"""Letters of a line and of a sentence, lines that are read, lines within which `that` finds what it means,
lines of a list, and sentences that are remembered.
"""
_SENTENCE = regex(r"(?<=[.!?])(?<!\btf\.)(?<!e\.g\.)(?<!i\.e\.)\s+|\s{4,}|;\s")
_LIKE_PROSE = regex(
    r"[\u0400-\u04ff]{3}|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2}|[A-Za-z]{2,} [a-z]{2,}"
    r"|[A-Za-z]_?[a-z]{3,} [a-z]{3,}|\A\W*[Yy]es\W*\Z|\A\s*(?:[-*+]|\d+[.)])\s"
)
_CLEARS = regex(r"\s*(?:[\w.]+\.)?clear_session\(\)\s*(?:#.*)?\Z")
"""Code that clears the session, in a program that fails."""
_CODE = regex(
    r"\A\s*(?:[\w.\[\]'\"]+(?:, ?[\w.]+)* ?[-+*/]?=(?!=) ?\S|[\w.]+\([^?!]*\)\s*(?:#.*)?\Z|@\w+\Z|>>> "
    r"|(?:def|class|with|for|while|if|import|from)\b[^.?!]*[:(]\s*\Z|(?:import|from) )"
)


_STATES_A_BATCH = regex(
    rf"(?i){_OF_BATCH}[^.;?\n]{{0,24}}\b(?:already|only|just|currently|now|set)\b[^.;?\n]{{0,12}}?(?<![\d.,])"
    r"(?:[2-9]|[1-9]\d{1,3})(?![\d.,]?\d)"
)
"""`The batch size is already 8`: how large it is, which is no answer that a smaller one was tried."""


_OF_A_PROGRAM = 'op_name="'
"""In a listing of XLA's: the scopes of an operation are no words of a person."""


class AttemptCollector:
    """Reads prose for what was tried in vain."""

    def __init__(self) -> None:
        self._facts: dict[str, Line] = {}
        self._named: tuple[str, ...] = ()
        """The actions that were named last."""
        self._where = self._list = self._read = 0

    def observe(self, line: Line) -> None:
        """Read a line that no C++ file logged."""
        text = line.text
        if _CLEARS.match(text):
            self._facts.setdefault("clearing in vain", line)
        if self._read > _MOST_LINES or len(text) > _LONGEST or not _LIKE_PROSE.search(text):
            return
        if _OF_A_PROGRAM in text:
            return
        self._read += 1
        listed = 0 < line.number - self._list <= _LONGEST_LIST and bool(self._list)
        for sentence in () if _CODE.match(text) and not listed else _SENTENCE.split(text):
            self._take(sentence[:_LONGEST_SENTENCE], line, listed)
        if _LIST.search(text):
            self._list = line.number
        elif listed and text.rstrip().endswith(":"):
            self._list = 0

    def value(self) -> dict[str, Line]:
        """The facts by their names, each with the first line that tells it."""
        return self._facts

    def _take(self, sentence: str, line: Line, listed: bool) -> None:
        told = _told(sentence)
        if _IS_SET.search(sentence) or (not told.facts and _STATES_A_BATCH.search(sentence)):
            self._named = tuple(name for name in self._named if name != "a smaller batch in vain")
        before = self._named if line.number - self._where <= _NEAR else ()
        vain = (*told.facts, *(told.named if listed and not told.well else ()))
        for name in (*vain, *(before if told.of_these and not told.named else ())):
            self._facts.setdefault(name, line)
        if told.named:
            self._named, self._where = told.named, line.number


_IS_SET = regex(
    rf"(?i){_OF_BATCH}[^.;,:]{{0,30}}\b(?:is|was) (?:already |currently |now )?(?:set (?:to|at) |at )?"
    r"(?:[2-9]|[1-9]\d{1,5})\b"
)
"""Who says what batch was used answers an advice to lower it, and did not follow it."""


class _Told(NamedTuple):
    """What one sentence tells by itself; lines of a log come again and again."""

    named: tuple[str, ...]
    """The actions that it names."""
    facts: tuple[str, ...]
    """Those of them that were done or changed nothing, and what rules others out."""
    of_these: bool
    """Whether it says of actions that were named before that they changed nothing."""
    well: bool


@lru_cache(_REMEMBERED)
def _told(sentence: str) -> _Told:
    named = tuple(name for name, pattern in _COMPILED.items() if _names(sentence, pattern))
    if "?" in sentence:
        return _Told(named, (), False, False)
    stated = tuple(name for name, pattern in _STATED.items() if pattern.search(sentence))
    these, changed_nothing = _OF_THESE.search(sentence), _IT_CHANGED_NOTHING.match(sentence)
    if not (named or stated or these or changed_nothing or _YES.match(sentence)):
        return _Told((), (), False, False)
    well, others = bool(_WELL.search(sentence)), bool(_FROM_OTHERS.search(sentence))
    if well or others or _REPRODUCES.search(sentence) or _NOT_YET.search(sentence):
        return _Told(named, stated, False, well)
    no_change = _NO_CHANGE.search(sentence)
    of_these = _YES.match(sentence) or changed_nothing or (these and no_change)
    vain = _in_vain(sentence, named, no_change is not None)
    return _Told(named, (*stated, *vain), bool(of_these), False)


def _names(sentence: str, pattern: re.Pattern[str]) -> bool:
    """Whether the sentence names the action, and not that it was left out: `without memory_growth`."""
    return any(not _WITHOUT.search(sentence, 0, match.start()) for match in pattern.finditer(sentence))


_WITHOUT = regex(r"(?i)\bwithout (?:the |setting )?[`'\"]?\Z")


def _in_vain(sentence: str, named: tuple[str, ...], no_change: bool) -> Iterator[str]:
    """Those of the actions that the sentence says were tried, are done, or changed nothing."""
    tried, does = no_change or _TRIED_OR_NOT.search(sentence), _DOES.search(sentence)
    found = not no_change and _FOUND.search(sentence)
    for name in named:
        if found and name == "a smaller batch in vain":
            continue  # which batches go well follows
        of_others = name == "ending others in vain" and _KEPT.search(sentence)
        if not of_others and (tried or (does and name in _DONE)):
            yield name
