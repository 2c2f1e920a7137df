"""What a post says works beside what it says fails: one GPU and eight, a part of the data and all of it, with
something and without it; and what it says ended the failure.

A sentence is read clause by clause. A clause works or fails by its own words, else as the next clause of its
sentence does (`with 8 GPUs, it runs out`), and `but not with one` says the contrary of what stands before it.
Where neighbouring clauses name two sides of one thing, one works and the other fails, the thing is the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tfmemlens.model.capture import (
    CAUSED_BY,
    CHANGED,
    ENDED_BY,
    FINE_WITHOUT,
    ISOLATED,
    NOT_THERE,
    SUSPECTED,
    ComparedWays,
)
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.compared import HEAD, Comparisons
from tfmemlens.values import dataclass

"""How names of facts begin that go on with the text's own words."""
_OWN_WORDS = 160
_HINT = "add report_tensor_allocations_upon_oom"
"""Of TensorFlow's own hint, which is no sentence of the writer's."""
_MOST_LINES, _LONGEST, _NEAR = 400, 1500, 7
"""Lines of prose that are read, letters of one, and clauses between the two sides."""
_LONGEST_START = 240
"""Letters of a sentence that a line leaves open."""
_SENTENCE = regex(r"(?<=[.!?\u3002])(?<!e\.g\.)(?<!i\.e\.)[\s)\"'*]+|\s{4,}")
_CLAUSE = regex(
    r"[,;:(\u2014\u2026\uff0c](?!\d)|\s-{1,2}\s|(?<!but )(?<!and )(?<!however )"
    r"(?=\b(?i:but|however|while|whereas|although|though|yet|otherwise|if|when)\b"
    r"|\band `[\w.]{3,40}` \w+(?:s|ed)\b)"
)
_FAILS = regex(
    r"(?i)\bOOM\w*|\bout[- ]of[- ](?:\w+ )?memory\b|\bmemory ?errors?\b|\bmemory leaks?\b"
    r"|\bleak(?:s|ing|ed)?\b|resource[ _]?exhausted|\b(?:fail|crash|hang|freez)(?:s|es|ed|ing)?\b|\bkilled\b"
    r"|\b(?:run|runs|ran) out\b|\bcan(?:'t|not| not)\b|\bcould(?:n't| not)\b|\bunable\b"
    r"|(?<!stack )\boverflow(?:s|ed)?\b"
    r"|\b(?:go(?:es|ing)?|went) up\b|\b(?:do|does|did)(?:n't| not) (?:work|fit|run)\b"
    r"|\b(?:grow|increas|ris|climb)(?:s|es|ing)?\b"
    r"|\berrors?\b|\b(?:larger and larger|more and more|bigger and bigger|higher and higher)\b"
)
_WELL = (
    r"(?:well|fine|continuously|endlessly|ok(?:ay)?|good|perfect\w*|successful\w*|smooth\w*|normal\w*|great"
    r"|properly|correctly)"
)
_WORKS = regex(
    r"(?i)\b(?:works?|worked|working|fits?|(?:runs?|running|ran)(?! out)|trains?|trained) (?:\w+ ){0,2}?"
    rf"{_WELL}\b|\b(?:is|are|was|it's|everything(?:'s)?) (?:\w+ ){{0,2}}?{_WELL}\b|\bstable\b"
    r"|\bconstant\b(?![ -](?:fold|prop|tensor|array|value|op|node|expression|buffer|matri|growth|grow|increas"
    r"|ris|leak|error|crash|out[ -]of|fail|thrash|paging|swap|OOM))"
    r"|(?<!n't )(?<!not )(?<!needed to )(?<!need to )(?<!trying to )(?<!tried to )(?<!want to )(?<!how to )"
    r"(?<!required to )(?<![.\w])(?:works?|worked|fits?)\b(?!\()|\bsuccessful\w*"
    r"|\beverything (?:also |then |just )?(?:trains|runs)\b"
    r"(?! (?:out|into|very|only|until|for (?:a|one|some)|slow\w*)\b)"
    r"|\b(?:uses|used|takes|took|needs|needed) (?:just|only|merely|less than|under|<)"
    r"|\bcan (?!not\b)(?:\w+ ){0,2}?(?:run|train|fit|use|fine|load|predict)\b"
    r"|\bwithout (?:an?y? )?(?:problem|issue|error|failure)s?\b"
    r"|\b(?:I|we) (?:can )?(?:get|got|go|make it) (?:up )?to (?:an? )?(?:\w+ ){0,2}?(?:length|size|batch"
    r"|resolution)"
    r"|(?!not an? (?:problem|issue|bug|error) (?:with|of|in|from) )"
    r"(?:\b(?:no(?! (?:solution|fix|workaround|way|cure|answer|remedy|help|hope))|never|not)|n't)"
    r" (?:\w+ ){0,3}?(?:OOM\w*|leak\w*|memory (?:leak|error|problem|issue)s?"
    r"|problems?|issues?|errors?|out of memory|crash\w*|happen\w*|occur\w*|grow\w*|increas\w*)\b"
    r"|\b(?:as expected|disappear(?:s|ed)?|goes away|went away|is gone|problem is solved)\b"
    r"|\b(?:memory|RAM|it|and|usage) (?:sits|stays|stayed|remains|remained) (?:\w+ )?(?:at|there|flat|below"
    r"|under|around|low|the same)\b|\b(?:go|goes|went|get|gets|got) through\b"
    r"|\b(?:re)?solve[sd]\b|(?<!\ba )(?<!\bthe )(?<!\bof )(?<!\bwith )\bfixe[sd]\b"
)
_CONTRARY = regex(r"(?i)\A\W*(?:but |and |while )?not (?:with|on|for|when|in|if|using|under|at)\b")
_TURNS = regex(r"(?i)\A\W*(?:but|however|yet|otherwise|whereas|and then)\b")
"""How a clause begins that goes with what comes after it."""


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    line: Line
    number: int
    fails: bool | None
    sentence: str


_SAMPLES = (
    r"(?:\w+ )?(?:images?|volumes?|frames?|pictures?|inputs?|tiles?|sequences?|files?|videos?|scans?|songs?"
    r"|documents?)\b"
)
_MODEL = r"(?:[AHLPTV]\d{2,3}|[1-5]0[5-9]0(?: ?ti)?)s?"
"""A GPU's model: `A100`, `4090s`."""
_SIDES = {
    "fails with several GPUs": (
        rf"\b(?:single|one|1|a)[- ](?:[\w-]+ ){{0,2}}?(?:GPU|device|card|core|{_MODEL})\b|\b(?:GPU_COUNT"
        rf"|num_gpus) ?=+ ?1\b",
        rf"\b(?:multiple|multi|several|two|both|three|four|eight|many|all|more|[2-9]|[1-9]\d)[- ]?(?:\w+ )?"
        rf"(?:GPUs?|devices|cards|cores|{_MODEL})\b|\bGPU_COUNT ?(?:>|=+ ?[2-9])|\b\w*Strategy\b",
    ),
    "fails with larger samples": (
        rf"\b(?:small(?:er)?|tiny|low[- ]res\w*|short(?:er)?|reduced) {_SAMPLES}",
        rf"\b(?:large(?:r|st)?|big(?:ger|gest)?|huge|high[- ]res\w*|long(?:er)?|full[- ]res\w*"
        rf"|\d{{3,4}}p|[248]k|UHD) {_SAMPLES}",
    ),
    "fails with more data": (
        r"(?:\b(?:small(?:er)?|tiny|less|fewer|part|subset|portion|limit\w*"
        r"|reduc\w+|few|first|only|just|below|around)\b"
        r"[^.]{0,40}?\b(?:data\w*|samples|images|rows|examples|files|stacks|records|sets?)\b"
        r"|\b(?:subset|fewer (?:data|samples|images|rows))\b)",
        r"(?:\b(?:larger?|bigger|more|whole|entire|full|all|huge|increas\w+"
        r"|above|beyond|over|exceed\w*)\b[^.]{0,30}?"
        r"\b(?:data\w*|samples|images|rows|examples|files|stacks|records"
        r"|sets?|value|amount|number|that|this|\d+)\b)",
    ),
    "fails on the GPU alone": (
        r"\b(?:on|the|my|with|using|installed)\b[^.]{0,12}\bCPU\b",
        r"\bGPU\b|\b(?:GTX|RTX|RX|Tesla|Titan|Quadro)[- ]?[A-Z]?\d",
    ),
    "fails with Adam": (r"\bSGD\b|\bAdafactor\b|\bplain gradient descent\b", r"\bAdam\w*\b|\bLAMB\b"),
}
_COMPILED = {what: tuple(regex(f"(?i:{side})") for side in sides) for what, sides in _SIDES.items()}
_OF_BATCHES = regex(r"(?i)\bbatch")

_THING = r"(?P<thing>(?:the |my |a |any )?[`'\"]?[@A-Za-z_](?:\(\w*\)|[^.;:!?()\n]|\.(?=\w)){1,80}?)"
_ENDS = (
    r"(?=[,;:!?)]| \(|\.(?!\w)|\Z| (?:and|then|it|the|this|everything|memory|RAM|there|all|so|works?|is|are"
    r"|was|(?:re)?solve[sd]?|fix\w*|makes?|made|does|for)\b)"
)
_REMOVING = (
    r"(?:remov(?:e|ed|ing)|disabl(?:e|ed|ing)|turn(?:ed|ing)? off|delet(?:e|ed|ing)|comment(?:ed|ing)? out"
    r"|(?:tak(?:e|ing)|took) (?:out|away)|switch(?:ed|ing)? off|skip(?:ped|ping)?|leav(?:e|ing) out"
    r"|drop(?:ped|ping)?)"
)
_WITHOUT = regex(
    r"(?i)(?:\bwithout (?:us(?:ing|e of) )?|\b(?:if|when|once) (?:i|we|you) (?:do not|don't|not|didn't) use "
    rf"|\b(?:if|when|once|after|by) (?:i |we |you )?{_REMOVING} |\A\W*{_REMOVING} ){_THING}{_ENDS}"
)
_ONLY_WITH = regex(
    r"(?i)\bonly (?:happens?|occurs?|appears?|leaks?|grows?|fails?|crashes) (?:when|if|with|while)"
    rf" (?:using |i use |we use )?{_THING}{_ENDS}"
)
_SWITCHED = regex(
    r"(?i)\b(?:if|when|once|after|by) (?:i |we |you )?set(?:ting)?"
    r" (?P<thing>[`'\"]?[A-Za-z_][\w.]{1,40}[`'\"]?)(?: ?= ?| to )[`'\"]?(?:False|None|0(?!\.\d)|off)\b"
)
_TAKEN_AWAY = regex(
    r"(?i)\b(?:if|when|once|as soon as) (?:i|we|you) (?:take|took|leave|left|comment(?:ed)?|turn(?:ed)?"
    r"|switch(?:ed)?)"
    r" (?P<thing>(?:the |my |a |any )?[`'\"]?[@A-Za-z_](?:\(\w*\)|[^.;:!?()\n]|\.(?=\w)){1,60}?)"
    r" (?:away|out|off)\b"
)
_OFF = regex(
    r"(?i)\A\W*(?:with (?:the )?)?(?P<thing>[A-Za-z][\w-]*(?: [\w-]+){0,3}?)"
    r" (?:(?:turned |switched )?off|disabled|removed)\s?(?:->|=>|:|=|,)\s?(?=[^.;]{0,40}?\b(?:flat|stays?"
    r"|stable|constant|fine|no (?:leak|growth|OOM|rise))\b)"
)
"""`checkpoints off -> flat for hours`, as a list of tests says it."""
_FAILS_WITH = regex(
    r"(?i)\b(?:but|however|while) (?:if|when|once|as soon as) (?:i|we)"
    rf" (?:use|set|add|enable|uncomment|call|pass|turn on) {_THING},? (?:then )?(?:it|the \w+|everything)"
    r" (?:\w+ ){0,2}?(?:fail|crash|die|break|leak|stop|run out|hang|\w*oom)"
)
_NO_THING = regex(
    r"(?i)\A(?:the |my |a |any )?(?:\w+ ){0,2}?(?:problem|issue|error|failure|luck|success|result|help|doubt"
    r"|effect|exception|crash\w*|memory|limit"
    r"|end|bounds?|pause|warning|oom|that|this|it|success\w*|running|gpu|seeing|having"
    r"|knowing)s?\b|\A(?:any|chang|touch|modif|giv|tell|gett|do|writ|finish|los|blow|fill|exceed|overflow"
    r"|exhaust|kill|crash)(?:ing)?\b"
)
_AVOIDED_BY = (
    r"\b(?:can|could) be (?:\w+ly )?(?:avoided|fixed|solved|resolved|prevented|mitigated|worked around)"
    r" (?:\w+ly )?by (?!(?:any|the same|no)\b)\w+ing (?:the |a )?[`'\"]?(?:\w+[._(]\w|\w+\(|\w+=)"
)
_AVOIDED = regex(f"(?i){_AVOIDED_BY}")
"""`this could be avoided by adding tf.f()`: code, which its writer found, and no wish."""
_FIXED = regex(
    r"(?i)(?<!\ba )(?<!\bthe )(?<!\ban )\b(?:(?:fix|solv|resolv)ed"
    r"|(?:(?<=able to )|(?<=managed to ))(?:fix|(?:re)?solve)"
    r"(?! (?:value|size|length|number|batch|seed|shape|amount|point|step|order|set)s?\b)"
    r"|work(?:ed)? around|got rid of|overc[oa]me)\b(?: ['\"`]?[\w-]+['\"`]?){0,5}?"
    r" (?:by|with|using|via|when|after|setting) (?!(?:any|the same|no)\b)\w"
    r"|\b(?:i|we) (?:have |finally |just )*(?:fix|solv|resolv)ed (?:it|this|that|the (?:problem|issue|error))"
    r"\s?[:.,;\u2013-]+ \w"
    r"|\A\W*(?:solved|fixed|solution)\]?\s?:\s?\w"
    r"|\bthe only (?:way|thing|solution|option)(?: that)? (?:(?:i|we) (?:have |could )?(?:found?|know|got)"
    r"|work(?:s|ed)|help(?:s|ed))\b[^.;]{0,50}\b(?:is|was) (?:to )?(?!not\b|no\b|that\b)\w"
    r"|\b(?:decreas|reduc|lower|chang|switch|disabl|remov|updat|upgrad|downgrad|set|add)\w*\b"
    r"(?:(?!batch)(?:[^.;]|\.(?=\w))){3,80}\b(?:then|and|now|so) (?:now )?(?:(?:it|everything|that)"
    r" (?:works?|worked|(?:was|is|got) (?:re)?solved|(?:was|is|got) fixed)"
    r"|the (?:problem|issue|error|leak) (?:is|was|has) (?:now )?(?:gone|solved|fixed|disappeared))\b"
    r"|\b\w{2,20}ing (?:[^.;]|\.(?=\w)){2,80}\b(?:and|then) (?:it|that|this) (?:(?:was|is|got) (?:resolved"
    r"|solved|fixed)|works?|worked)\b(?!-)"
    r"|\b(?:add|sett|us|call|chang|switch|remov|disabl|updat|upgrad|downgrad|reduc|lower|decreas|mov)ing"
    r" (?:(?!batch)(?:[^.;]|\.(?=\w))){2,80}\band (?:it|that|this) (?:has |fully )?(?:solved"
    r"|fixed|resolved) (?:the|my|this|it)\b"
    r"|\b(?:the|my|a) (?:fix|solution|workaround|remedy) (?:is|was|for me (?:is|was))\b"
    r"(?! (?:not|in|on|still|being|merged|released|coming|ready|needed|unclear|unknown|pending)\b)"
    r"|\b(?:this|that|the|your|his) (?:[\w.]+ ){0,2}?(?:update|upgrade|version|release|patch|commit"
    r"|change|fix|PR"
    r"|workaround) (?:\w+ )?(?:fixe[sd]|solve[sd]|resolve[sd]|helped)\b"
    r"|\b(?:this|that|it|which|\w+ing (?:(?!, ?(?:i|we|what) )[^!?;]){1,80}?)"
    r" (?!fixed (?:issue|bug|PR|thread|ticket|report|problem)s?\b)(?<!\bis )(?<!\bare )"
    r"(?<!\bwas )(?<!\bbe )(?<!\bnothing )(?<!\bnone )(?<!\bneither )(?<!\bnever )(?<!\bhardly )(?<!\bnot )"
    r"(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bof )(?<!\bfor )(?<!\bany )(?<!\beach )(?<!\bat )(?<!\bto )"
    r"(?:fixed(?! (?:points?|sizes?|shapes?|lengths?|numbers?|seeds?|steps?|values?|batch\w*)\b)|solved"
    r"|resolved|did the trick|helped)\b"
    r"|\bable to (?:\w+ )?(?:reduc|avoid|prevent|lower|run|train|keep)\w*\b[^.]{0,60}? by (?:not )?\w+ing\b"
    r"|\b(?:using|calling|setting|replacing) [^,;]{1,80}? (?:can |does )?(?:avoid|prevent)(?:s|ed)?\b"
    r"[^.]{0,30}\b(?:leak|memory|OOM)"
    r"|\b(?:seems|seemed|appears) to (?:have )?(?:fix|(?:re)?solve)[ed]{0,2} (?:it|this|that"
    r"|(?:the|my) (?:problem|issue|error|leak))\b"
    r"|\bop te lossen (?:door|met)\b|\bopgelost (?:door|met)\b"
    r"|\b(?:behoben|gel\u00f6st) (?:durch|mit|indem)\b|\b(?:r\u00e9solu|corrig\u00e9)e? (?:en|avec|par) \w"
    r"|\u5c31\u597d\u4e86|\u89e3\u51b3\u4e86\Z"
    rf"|{_AVOIDED_BY}"
)
_CHANGING = (
    r"(?:reduc|lower|decreas|sett|us|switch|add|remov|disabl|enabl|upgrad|downgrad|updat|chang|increas|limit"
    r"|restart|reboot|kill|mov|convert|split|(?:re|un)?install|runn?|pass|call|turn|clos|resiz|shorten"
    r"|cropp|delet|do|export|configur|rais|clear|creat|putt|writ|load|replac)ing"
)
_DOES_WORK = (
    r"(?<!n't )(?<!not )(?<!never )(?<!also )\b(?:works?|worked|helps|helped|fixes|solves|resolves)\b"
    r"(?! (?:on|with|without|until|only|but|if|as|like|around)\b)(?![^.]*\bbut\b"
    r"(?! (?:i|we) (?:do not|don't|dont|have no) (?:know|understand|see|idea)\b))"
)
_WORKS_SO = regex(
    rf"(?i)\A\W*(?:(?:simply|just|only|yes|ok|and|so|finally|by),? )*{_CHANGING}\b"
    rf"(?:(?!batch)(?:[^.;?!]|\.(?=\w))){{3,90}}?{_DOES_WORK}"
    r"|\b(?:(?:able to|managed to|could) (?:get|make|have)|got|have) (?:it|this|that|(?:the|my) \w+) (?:to )?"
    r"(?:run|work|train)(?:ning|ing)?\b[^.]{0,20}?\b(?:with|by|using|after|when)"
    r" (?!no\b|the same\b|an? error\b)\S"
    r"|\A\W*(?!(?:this|that|it|what|which|nothing|none|neither|same|everything|(?:the|your|my|his)"
    r" (?:same|above|code|notebook|example|script|gist|colab|model|program|repro\w*|snippet))\b)"
    r"\w(?:[^.;?!]|\.(?=\w)){5,90} (?:works|worked) for me\b(?![^.]*\b(?:but|before|until|previous\w*)\b)"
)
"""What its writer says works or worked, where no word says that it ended anything: the last such sentence
counts most, since a post tells first what fails and last what did not.
"""
_NOT_SEEN = (
    r"\b(?:I|we) (?:(?:do|did)(?: not|n['\u2019]?t)|never)"
    r" (?:observe|see|saw|get|got|have|had|experience|notice)d? (?:this|that|such|any (?:leak|growth|such)"
    r"|the (?:same )?(?:behaviou?r|issue|problem|leak|error))\b"
)
_NOT_THERE = regex(
    r"(?i)\b(?:and|but|yet|this|it|that|(?:the|this|such)(?: same| memory)? (?:problem|issue|leak\w*"
    r"|error|crash"
    r"|behaviou?r|growth|increase)|(?:memory )?leaks?|OOMs?)"
    r" (?:(?:does|did|do)(?:n['\u2019]?t| not)|never) (?:seem to )?(?:happen|occur|appear|show up|arise)s?\b"
    r"(?! (?:every|always|often|immediately|right away|at (?:first|once)|all the time"
    r"|(?:in|at|from|during) the (?:very )?(?:first|beginning|start)|initially|until|till|again|any ?more))"
    r"(?=[^.;?!]{0,60}\b(?:when|with|on|if|in|using|for|under|while|after|before(?= \w))\b)"
    r"|\A\W*(?:and |but )?(?:in|with|on|under|using|for) [^.;,?!]{3,60},? (?:the |this |that )?(?:memory )?"
    r"(?:leak\w*|problem|issue|error|OOM|growth|it) (?:(?:does|did)(?: not|n['\u2019]?t)|never)"
    r" (?:seem to )?(?:happen|occur|appear|exist)\b"
    r"|\A\W*(?!(?:it|this|that|which|I|we|you|they|there|nothing|nobody|my|our|your|the (?:model|memory|error"
    r"|problem|issue|docs?\w*))\b)"
    r"(?:[^.,;?!]|\.(?=\w)){4,70} (?:do(?:es)?|did)(?: not|n['\u2019]?t) (?:do|show|have|exhibit|suffer from)"
    r" (?:it|this|that|such|(?:the|this|that|any|such an?) (?:memory )?(?:leak\w*|issue|problem|growth"
    r"|behaviou?r))(?=\W*(?:[,.;!]|\Z))"
    rf"|{_NOT_SEEN}(?=[^.;?!]{{0,60}}\b(?:when|with|on|if|in|using|for|under|while)\b)"
    rf"|\b(?:if|when) (?:i|we) (?:[^.;?!]|\.(?=\w)){{3,80}} {_NOT_SEEN}"
    r"|\b(?:if|when) (?:i|we) (?:[^.;?!]|\.(?=\w)){5,90} (?:the|this|that) (?:error|problem|issue|leak|crash)"
    r" (?:(?:does|did)(?: not|n['\u2019]?t)|never) (?:occur|happen|appear|exist)\b"
    r"|\b(?:with|using) (?:[^,;.?!]|\.(?=\w)){2,60} (?:do(?:es)? ?n['\u2019]?t|do(?:es)? not|never)"
    r" (?:increase|grow|leak|rise)\b"
    r"|\b(?:with|using) [^,;.?!]{2,40}(?:\([^)]{1,20}\) )?instead of [^,;.?!]{2,60}?"
    r" (?:it|memory|RAM|everything|usage) (?:stays?|stayed|works?|runs?|is (?:fine|flat|stable|constant))\b"
    r"|\b(?:with|using|in|on) (?!(?:\w+ ){0,2}(?:small\w*|fewer|less|batch\w*)\b)(?:[^,;.?!]|\.(?=\w)){2,60}?"
    r" (?:there (?:is|was|are) |i (?:get|see|have|had) |it has )?no (?:OOM\w*|leaks?|memory (?:leak|error"
    r"|problem)s?|such (?:problem|issue|error)s?)\b"
    r"|\b(?:it|this|that|which|leak|problem|issue|error) (?:\w+ )?only (?:happens|occurs|appears"
    r"|leaks|grows) (?:on|with|in"
    r"|for|under)\b(?! (?:the )?(?:first|second|last|epoch|some|rare))"
)
"""The text says where the failure is not to be seen: with another optimizer, version, machine or call."""
_CHANGES = (
    r"(?:rewrote|rewritten|chang|modif|add|replac|switch|mov|introduc|refactor|enabl|us|swapp|edit"
    r"|convert(?=ed)|start(?=ed (?:us|to use\b|with\b|apply))"
    r"|wrapp|turn)(?:ed|ied)?\b(?!ed)(?![^.;]{0,40}\b(?:tensorflow|keras|tf|cuda|cudnn|driver"
    r"|version|release|batch)\b)"
)
_CHANGED = regex(
    r"(?i)\b(?:used to|bug-?free|(?:ran|worked|trained|runs|works|was) (?:\w+ ){0,2}?(?:well|fine|ok"
    r"|good|smoothly"
    rf"|before)|no (?:such )?(?:problem|issue|error)s?)\b[^.?!]{{0,80}}\b(?:until|till|before) (?:i|we)"
    rf" (?:\w+ ){{0,2}}?{_CHANGES}"
    rf"|\bagain,? because (?:i|we) (?:\w+ ){{0,1}}?{_CHANGES}"
    rf"|\bsince (?:i|we) (?:have |had |'ve )?(?:\w+ ){{0,1}}?{_CHANGES}"
    r"|\b(?:beg[ai]n|began|started|starts|appear(?:s|ed)|happen(?:s|ed|ing)|occurr?(?:s|ed)|g[eo]t|getting)\b"
    rf"[^.?!]{{0,40}}\b(?:after|when|once|as soon as) (?:i|we) (?:\w+ )?{_CHANGES}"
)
"""The text says what its writer changed before the failure began; another release is told elsewhere."""
_SUSPECTS = regex(
    r"(?i)\b(?:i|we) (?:\w+ )?suspect(?:ed)? (?:that )?(?!i\b|you\b|we\b)\w"
    r"|\b(?:it|this|that|there|(?:the|my) (?:problem|issue|leak|cause|reason|culprit)) must (?:be|come|have)"
    r" (?:\w+ ){0,2}?(?:wrong|with|from|in|caused|due|because)\b"
)
_NO_SUSPECT = regex(
    r"(?i)\b(?:(?:new|old|lat)\w* (?:\w+ ){0,2}?(?:versions?|releases?)|out of memory|OOM|bug|not enough"
    r"|should|would|could|can|wrong with me"
    r"|my (?:gpu|card|machine|computer)"
    r"|(?:jax|tensorflow|tf|keras|xla|the (?:framework|library|backend))(?: (?:proper|itself))?"
    r" (?:has|have|had|is|leaks?|keeps?)"
    r"|leak\w*(?: \w+)? (?:in|of|by|from) (?:jax|tensorflow|tf|keras|xla))\b"
    r"|\bleak(?:s|ing|age)?\b(?! (?:in|from|of|by|at|comes|is in) (?:my|our|the|this|that|\w+\())"
    r"|(?:\bnot|\bnever|n't|\bnor) (?:\w+ ){0,3}?(?:de-?allocat|free[ds]?\b|freeing|releas|garbage|collect"
    r"|clean|clear|delet|let go)"
)
"""What tells no part of a program: that memory runs out, that something leaks or is not freed, what would
help.
"""
_ASKS = regex(
    r"(?i)\bwhat (?:was|is) (?:the|your) (?:solution|fix)\b"
    r"|\b(?:find|found|know|have|got) (?:an?y? |the )?(?:\w+ )?(?:solution|fix|workaround)s?\b"
    r"|\bhow (?:did|do|have) you (?:\w+ )?(?:solve|fix|resolve|get)"
    r"|\b(?:did|have|were|was) (?:you|anyone|it)\b[^.]{0,20}\b(?:solve|fix|resolve)d?\b"
)
_DID = regex(
    r"(?i)\A\W*(?:in the end |finally )?(?:i|we) (?:(?:just|simply|have|had to|ended up|finally|then) )*"
    r"(?:reduc|lower|decreas|chang|switch|disabl|remov|updat|upgrad|downgrad|add|us|increas|limit|mov|replac"
    r"|install|split|restart|convert|rais)(?:ed|ing)\b(?!\W{1,3}to\b)"
    r"|\A\W*(?:i|we) (?:(?:just|simply|then|finally) )+(?:wrote|rewrote|made|put|set|ran|built|took)\b"
)
_FOUND = regex(r"(?i)\bfound (?:a|the|my) (?:\w+ )?(?:solution|workaround|fix)\b")
"""What was done stands in the next sentence."""
_STILL = regex(
    r"(?i)\A\W*(?:(?:but|however|yet|though|and|unfortunately|sadly|now)\b[ ,]{1,2}){0,2}"
    r"(?:(?:i|we)(?:'m| am| are)? still (?:(?:can|could|do|did|am|are)(?: ?not|n['\u2019]?t)|get|got|have"
    r"|see|face|run|hit|unable|experienc)\w*"
    r"|(?:it|this|that|(?:the |my )?\w+) (?:still (?:fail|crash|die|leak|grow|increas|happen|occur|run|get"
    r"|does|hang|stop|exist|persist|remain)|persists?\b|remains?\b)\w*"
    r"|(?:(?:the )?same|another|a different|a new|the next) (?:\w+ ){0,2}?(?:error|issue|problem|leak"
    r"|crash)\b)"
)
"""How the sentence begins that follows a cure which left the failure that is asked about."""
_BACK = regex(
    r"(?i)\b(?:this|it|that|the|same) (?:\w+ ){0,2}?(?<!not )(?<!n't )(?<!never )(?:happen|occurr?"
    r"|appear)(?:s|ed)"
    r" again\b|\b(?:problem|issue|leak|error|it|oom) (?:is|came|comes) back\b"
)
"""It was ended before, and not for good."""
_OF_ANOTHER = regex(r"(?i)\b(?:a different|another|an unrelated)\b[^.]{0,30}\b(?:issue|problem|error)\b")
"""What is said of another trouble ends none of this one."""
_NAMES_AN_ERROR = regex(
    r"(?i:\b(?:i|we) (?:was|were|am|are|got|get|had|have|kept|met|faced|saw)\b)"
    r"[^.!?\n]{0,40}\b(?P<error>[A-Z]\w{1,40}(?:Error|Exception)\b[^\n]{0,200})"
)
_OF_MEMORY = regex(r"(?i)memory|\bOOMs?\b|RESOURCE_?\s?EXHAUSTED|\bRAM\b|\balloc|\bleak")


def _of_another_error(text: str, fixed: str) -> bool:
    """Whether a line of prose names an error that is none of memory, before it says what ended it."""
    before = text.partition(fixed)[0]
    match = _NAMES_AN_ERROR.search(before) or _NAMES_AN_ERROR.search(fixed)
    return match is not None and not _OF_MEMORY.search(match["error"])


_NEXT_TURNS = 12
"""Lines within which a question is answered."""
_OWN_CLAUSE = regex(r"(?i)[,;:] ?(?:(?:which|and|but|so|then) )?(?:i|we) (?:have |finally )?\Z")
"""A clause of its own: what the clauses before it deny says nothing of it."""
_WONDERS = regex(r"(?i)\bwonder|\b(?:could|can|may|might|would|should) (?:be|have been)\b")
_NOT_KNOWN = regex(
    r"(?i)(?<!\bnow )\b(?:know|understand|figure out|find out|idea|sure|tell|clear)"
    r" (?:\w+ )?(?:what|why|where|which|whether|if)\b[^,;:\u2013\u2014]*"
)
"""`I would like to know what caused this problem`: a question that is told."""
_CAUSED = regex(
    r"(?i)\broot cause(?: (?:of|for|behind) (?:the |my )?\w+)?(?::| is| was"
    r"| (?:seems|appears|looks) (?:like|to be)\b)"
    r"|\bit turn(?:s|ed) out (?:that )?\w+ \w"
    r"|\b(?:which|that|this) (?:causes?|caused|leads? to|led to|results? in) (?:an? |the |my )?(?:\w+ )?"
    r"(?:OOM|out[- ]of[- ]memory|memory leak)\b"
    r"|\b(?:using|calling|the use of) (?:[^,;.?!]|\.(?=\w)){2,110}? (?:causes?|caused|leads? to|results? in)"
    r" (?:an? |the |my )?(?:\([^()]{1,20}\) )?(?:\w+ ){0,2}?(?:memory leaks?|leaks?|OOM"
    r"|out[- ]of[- ]memory)\b"
    r"|\b(?:thus|hence|therefore) (?:it )?(?:hits?|exceeds?|reach(?:es)?|fills?) (?:the |my "
    r"|all )?(?:memory|RAM)\b"
    r"|\b(?:traced|tracked|narrowed) (?:it|this|(?:the|my) (?:\w+ )?(?:problem|issue|cause|culprit|leak"
    r"|OOM)) (?:down |back )?to (?=\S)"
    r"|\breali[sz]ed (?:that )?(?:I|we|it|my|our|the \w+) (?:was|were|had|did|forgot|am|is)\b"
    r"|\b(?:problem|issue|cause|reason|culprit|leak|error|oom) "
    r"(?:is|was|seems to be|turn(?:s|ed) out to be|comes from|came from)"
    r" (?:that(?= \w)(?! (?:when|whenever|after|every time|each time|as soon as|once|while|during)\b)"
    r"|(?:because of|due to|caused by)\b"
    r"|(?:(?:still|just|simply|really|actually) )?(?:the )?[\w-]{3,30} (?:calculation|computation|evaluation"
    r"|matrix|operation)\b"
    r"|(?:with|in) (?!(?:the |my |your )?(?:memory|RAM|GPU|training|code|model|script|program|tensorflow)\b))"
)
_HAS_CAUSED = regex(
    r"(?i)\b(?:it|this|that|problem|issue|error|leak|crash) (?:had|has) (?:something )?to do with \w"
    r"|\bcaused this (?:\w+ )?(?:error|issue|problem|crash|oom|leak)\b"
    r"|\b(?:pre-?allocat|alloc|load|cop(?:y|ies|ied)|duplicat|cach|materiali[sz]|re-?order|retrac|re-?compil"
    r"|unroll|gather|broadcast)\w*\b[^.;?]{0,60}, causing"
    r" (?:an? |the )?(?:\w+ )?(?:OOM|out[- ]of[- ]memory)\b"
    r"|\b(?:due to|because(?: of)?|since|as) [^.;?]{4,160}\bmemory\b[^.;?]{0,60}"
    r"\b(?:becomes?|scales?|grows?|goes|is|then needs) (?:\w+ ){0,2}?(?:O\(|quadratic|N\^2)"
)
"""The same where a `not` may be a part of the cause."""
_HELD_ON = regex(
    r"(?i)\b(?:referenced|stored|kept|held|registered|cached) (?:alive )?(?:in|by|inside) [^.;?]{1,60}?"
    r"\b(?:and|but|which)"
    r" (?:is |are )?never (?:\w+ )?(?:de-?allocated|freed|released|(?:garbage )?collected|removed|deleted"
    r"|cleared|evicted)\b"
)
"""What holds on to something, and that nothing ever frees it."""
_NOT_FIXED = regex(
    r"(?i)\b(?:not|n't|never|hop(?:e|ing|efully)|maybe|perhaps|how|can(?:not)?|could|would|should|may"
    r"|might|try|anyone|will|until|unless|please|if)\b|\?"
)
_EACH_ITS_OWN = regex(
    r"(?i)\b(?:each|every|all|both|\d+)\b[^.]{0,30}\b(?:process|worker|rank|core|replica)(?:es|s)?\b"
    r"[^.]{0,40}"
    r"\b(?:load|hold|cop[iy]|read|keep)\w*\b[^.]{0,40}\b(?:separate\w*|own|again|independent\w*"
    r"|itself|cop(?:y|ies)"
    r"|times)\b|\b\d+x (?:the |as much )?(?:memory|RAM)\b"
)
_OF_SHORTAGE = regex(
    r"(?i)\b(?:due to|because of|caused by|is|was) (?:the |an? |this )?(?:\w+ ){0,2}?"
    r"(?:OOM|out[- ]of[- ]memory|memory (?:error|shortage)|limited|insufficient|lack)"
)


_RAN_OUT = regex(
    r"(?i)\b(?:memory|V?RAM)\b (?:is |being |was )?(?:running|runs?|ran) (?:out|full|low)\b"
    r"|\bto do with (?:the |my |a )?(?:(?:lack|shortage|amount) of )?(?:(?:GPU|CPU|video|system|host) )?"
    r"(?:memory|V?RAM)\b(?! of| that)"
)
"""That memory ran out is what a cause is looked for, and none itself."""


_TITLE = 1
_REMEMBERED = 2048
"""Sentences of at most 500 letters: what they tell is remembered, with their clauses, in some 2 MiB."""


_SETTING = regex(
    r"(?<![\w.])(?:[\w.]{1,40}\()?(?P<name>[A-Za-z_]\w{2,40}) ?= ?"
    r"(?P<value>['\"][\w.:/-]{1,24}['\"]|True|False|None|\d{1,6}(?![\d.]))"
)
"""`jit_compile=True`, `set_device(device_name='gpu')` in prose."""
_TRAINS_SO = regex(
    r"(?i)\b(?:the same (?:code|model|script|program|net(?:work)?)|it|everything)"
    r" (?:also |then |just )?(?:trains|runs)\b"
    r"(?! (?:out|into|very|only|until|for (?:a|one|some)|a while|at first|slow\w*|on)\b)"
)
"""That a program trains at all, beside a setting of which the quoted code has another value."""
_SWITCHES = ("True", "False")
_SIZES = regex(r"(?i)batch|epoch|seed|step|limit|version|fraction")
"""Settings of which more is more: nothing is wrong with a large one."""
_HEADS_A_LOG = regex(r"(?i)\A\W*(?:but |and |now |while |however,? )*(?:with|when|if|using|for|on)\b.*:\W*\Z")
"""`With jit_compile=True:` above the log of that run."""


_HEADS_A_CURE = regex(
    r"(?i)\A\W{0,6}(?:(?:temporary|current|known|possible|my|the) )?(?:work[- ]?around|fix|solution"
    r"|resolution)s?(?: \(\w[\w ]{1,30}\))?\W{0,4}\Z"
)
"""A heading with nothing else in its line: `## Workaround`."""
_HEADS_A_CAUSE = regex(
    r"(?i)\A(?:#{1,6} |\*\*|\W{0,3}(?=root))[^\n]{0,40}?"
    r"\b(?:root[- ]causes?|causes?|diagnosis|what went wrong"
    r"|why (?:it|this) (?:happens|happened|fails|failed))\b[^\w\n]{0,3}(?:\([^()\n]{1,30}\))?\W{0,4}\Z"
)
"""A heading that announces why: `## Root Causes`."""
_ITEM = regex(
    r"\A\s*(?:[-*+•]|\d{1,2}[.)])?\s*(?!\W{0,4}(?:date|author|status|updated|device|version|file)s?\b)"
    r"(?P<said>\S[^\n]{12,400})\Z",
    re.IGNORECASE,
)
"""What stands below it, a sentence or the first of a list, and none of a report's own data."""
_SETS = regex(
    r"\A[\s$`>]*(?:export |set |setx |env |%env )?[A-Z][A-Z0-9_]{3,60} ?= ?\S+\s*`?\Z"
    r"|\A[\s$`>]*os\.environ\["
)
"""A setting of the environment alone in its line."""
_FENCE = regex(r"\A\s*(?:```|~~~)\w*\s*\Z")


class ContrastCollector:
    """Reads prose for what works beside what fails, and for what is said to have ended it."""

    def __init__(self) -> None:
        self._clauses: list[_Clause] = []
        self._facts: dict[str, Line] = {}
        self._works: tuple[str, Line] | None = None
        """The last sentence that says what works."""
        self._elsewhere: tuple[str, Line] | None = None
        """The first sentence that says where it does not happen."""
        self.thing: tuple[str, Line] | None = None
        """What it is fine without, as the text names it."""
        self._set: dict[str, list[tuple[str, bool, Line]]] = {}
        """Settings that prose names: each value with whether the run fails with it."""
        self._in_code: dict[str, set[str]] = {}
        """Switches of the quoted code, `persistent=True`: what its writer runs."""
        self.left: Line | None = None
        """Where it says that a failure is left, after another one was ended."""
        self._after_a_cure = 0
        """The number of the line whose last sentence says what ended it."""
        self._before = ""
        """The sentence before, in which `this line` was named."""
        self._open = ("", 0)
        """The sentence that a line left open, which one that begins small goes on with, and its number."""
        self._code: Line | None = None
        """The last line of code, which a short `that solved it` is about."""
        self._above: Line | None = None
        """The same, of those that are code alone, which `if I remove it` is about."""
        self._why = 0
        """The number of a heading that announces a cause."""
        self._read = self._number = self._asked = self._cure = 0
        """The last is the number of a heading that announces what helps."""
        self._comparisons = Comparisons()

    def observe(self, line: Line) -> None:
        """Read a line of prose."""
        text = line.text
        self._comparisons.read(line, _of_a_head(text))
        if _HEADS_A_CURE.match(text):
            self._cure = line.number
        elif self._cure and text.strip() and not _FENCE.match(text):
            self._quote(ENDED_BY, line.number - self._cure <= _ABOVE and _SETS.match(text), text, line)
            self._cure = 0
        if line.number != _TITLE and _HEADS_A_CAUSE.match(text):
            self._why = line.number
        elif self._why and text.strip() and not _FENCE.match(text):
            item = _ITEM.match(text)
            if line.number - self._why <= _ABOVE and item and not _CODE.search(text):
                self._forget(CAUSED_BY, _TITLE)
                said = item["said"].replace("**", "").strip()
                self._quote(CAUSED_BY, said, said, line)
            self._why = 0
        if _CODE.search(text):
            self._code = line
            if not _PROSE.search(text):
                self._above = line
            self._note_switches(text)
        if self._read > _MOST_LINES or len(text) > _LONGEST or not _WORDS.search(text) or _HINT in text:
            return
        self._read += 1
        opened, number = self._open
        if opened and number + 1 == line.number and text[:1].islower() and not _like(opened, text):
            text = f"{opened} {text}"
        sentences = _SENTENCE.split(text)
        for sentence in sentences:
            if sentence:
                self._take(sentence[:500], line)
        ends = text.rstrip().endswith((".", "!", "?", ":"))
        self._open = ("" if ends or len(sentences[-1]) > _LONGEST_START else sentences[-1], line.number)

    def compared(self) -> ComparedWays | None:
        """Two ways to run it, of which one works and one fails."""
        return self._comparisons.value()

    def value(self) -> dict[str, Line]:
        """The facts by their names; what it is fine without stands in the name of its fact."""
        fine = {f"{FINE_WITHOUT}{self.thing[0]}": self.thing[1]} if self.thing else {}
        ended = any(name.startswith(ENDED_BY) for name in self._facts)
        works = {f"{ENDED_BY}{self._works[0]}": self._works[1]} if self._works and not ended else {}
        if self._elsewhere and not (ended or works):
            fine |= {f"{NOT_THERE}{self._elsewhere[0]}": self._elsewhere[1]}
        return self._facts | fine | works | dict(self._isolated())

    def _isolated(self) -> Iterator[tuple[str, Line]]:
        """Settings of which one value fails and another is fine."""
        for name, values in self._set.items():
            good = {value: line for value, fails, line in values if not fails}
            bad = {value for value, fails, _ in values if fails}
            if len(good) == 1 and bad and not bad & set(good):
                fine, line = next(iter(good.items()))
                yield f"{ISOLATED}{name}={fine}", line
            elif len(good) == 1 and not bad and self._runs_the_other(name, *good):
                yield f"{ISOLATED}{name}={next(iter(good))}", good[next(iter(good))]

    def _note_switches(self, text: str) -> None:
        """What a line of code, no prose, switches on or off."""
        if not _PROSE.search(text) and ("=True" in text or "=False" in text):
            for match in _SETTING.finditer(text):
                if match["value"] in _SWITCHES:
                    self._in_code.setdefault(match["name"], set()).add(match["value"])

    def _runs_the_other(self, name: str, fine: str) -> bool:
        """Whether the code that is quoted has nothing but the other value of a switch that is fine so."""
        return fine in _SWITCHES and self._in_code.get(name) == {*_SWITCHES} - {fine}

    def _take(self, sentence: str, line: Line) -> None:
        told = _told(sentence)
        self._comparisons.take(sentence, told.clauses, line)
        short = self._code if len(line.text) <= _SHORT else None
        fixed = "" if told.fixed and _of_another_error(line.text, told.fixed) else told.fixed
        works = told.works
        if not short and _ONLY_SO.match(sentence):
            fixed = works = self._before if fixed and _DID.match(self._before) else ""
        self._quote(ENDED_BY, fixed, short.text if short else fixed, short or line)
        if told.caused and line.number != _TITLE:  # a title names what leaks, the text below it why
            self._forget(CAUSED_BY, _TITLE)
        self._quote(CAUSED_BY, told.caused, _from_its_clause(sentence, _HELD_ON) or sentence, line)
        answered = told.did and 0 < line.number - self._asked <= _NEXT_TURNS and self._asked
        if works or answered:
            self._works = _in_short(works or sentence), line
        if told.elsewhere and not self._elsewhere:
            self._elsewhere = _in_short(told.elsewhere), line
        left = told.still and self._after_a_cure and line.number - self._after_a_cure <= 1
        if left:
            self.left = line
        if told.again or left:
            self._facts = {name: at for name, at in self._facts.items() if not name.startswith(ENDED_BY)}
            self._works = None
        self._after_a_cure = line.number if fixed or works else 0
        self._quote(CHANGED, told.changed, sentence, line)
        self._quote(SUSPECTED, told.suspects, told.suspects, line)
        if told.asks:
            self._asked = line.number
        if told.each_its_own:
            self._facts.setdefault("each process holds its own", line)
        above = self._code if self._code and 0 <= line.number - self._code.number <= _ABOVE else None
        if told.without and _PRONOUN.match(told.without):
            above = self._above if self._above and 0 < line.number - self._above.number <= _ABOVE else None
        meant = _meant(told.without, self._before, above) if told.without else ""
        if meant and not self.thing:
            self.thing = meant, line
        self._before = sentence
        for text, fails in told.clauses:
            if fails is None and _HEADS_A_LOG.match(sentence) and line.text.rstrip().endswith(":"):
                fails = True
            bad = False if fails is None and _TRAINS_SO.search(text) else fails
            for match in _SETTING.finditer(text):
                if bad is not None and not _SIZES.search(match["name"]):
                    self._set.setdefault(match["name"], []).append((match["value"], bad, line))
            self._number += 1
            self._clauses.append(_Clause(text, line, self._number, fails, sentence))
        near = _NEAR + len(told.clauses)
        self._clauses = [each for each in self._clauses if self._number - each.number <= near]
        self._compare()

    def _forget(self, what: str, number: int) -> None:
        """Keep nothing of it that the line of this number tells."""
        self._facts = {
            name: line
            for name, line in self._facts.items()
            if line.number != number or not name.startswith(what)
        }

    def _quote(self, what: str, holds: object, words: str, line: Line) -> None:
        """Keep the first sentence that tells it."""
        if holds and not any(name.startswith(what) for name in self._facts):
            self._facts[what + _in_short(words)] = line

    def _compare(self) -> None:
        """Look for one thing of which one side works and the other fails."""
        works = [each for each in self._clauses if each.fails is False]
        fails = [each for each in self._clauses if each.fails]
        for what, (less, more) in _COMPILED.items():
            if what in self._facts:
                continue
            for good in works:
                bad = next(
                    (
                        each
                        for each in fails
                        if abs(each.number - good.number) <= _NEAR
                        and more.search(each.text)
                        and not _same(each, good, more)
                    ),
                    None,
                )
                if (
                    bad
                    and less.search(good.text)
                    and not (what == _OF_DATA and _OF_BATCHES.search(good.text + bad.text))
                ):
                    self._facts[what] = bad.line
                    break


class _Told(NamedTuple):
    """What one sentence tells by itself; lines of a log come again and again."""

    fixed: str
    """What says that it ended, from its clause on; empty where nothing does."""
    works: str
    """What says that something works, and not that it ended anything."""
    elsewhere: str
    """What says where it does not happen."""
    caused: bool
    asks: bool
    """Whether it asks for what ended it."""
    did: bool
    """Whether its writer changed something."""
    again: bool
    """Whether it is back, whatever ended it before."""
    still: bool
    """Whether it says that it fails all the same, after what the sentence before says ended something."""
    changed: bool
    """Whether it says what was changed before it began."""
    suspects: str
    """What it suspects, from its clause on."""
    each_its_own: bool
    without: str | None
    """The thing without which it is fine."""
    clauses: tuple[tuple[str, bool | None], ...]
    """Each with whether it fails."""


@lru_cache(_REMEMBERED)
def _told(sentence: str) -> _Told:
    wonders = _WONDERS.search(sentence) and not _AVOIDED.search(sentence)
    in_doubt = "?" in sentence or wonders or _OF_ANOTHER.search(sentence)
    fixed = "" if in_doubt else _from_its_clause(sentence, _FIXED)
    without = _without(sentence)
    works = "" if in_doubt or fixed or without else _from_its_clause(sentence, _WORKS_SO)
    nowhere = "?" in sentence or fixed or works or without or _FAILS_OTHERWISE.search(sentence)
    elsewhere = "" if nowhere else _from_its_clause(sentence, _NOT_THERE)
    said = _NOT_KNOWN.sub("", sentence)
    caused = not (in_doubt or _RAN_OUT.search(sentence)) and (
        _HELD_ON.search(said) or _HAS_CAUSED.search(said) or _names_a_cause(said)
    )
    clauses = _poles([part for part in _CLAUSE.split(sentence) if part.strip()])
    if all(fails is None for _, fails in clauses) and _TRAINS_SO.search(sentence):
        clauses = [(part, False) for part, _ in clauses]
    own = bool(_EACH_ITS_OWN.search(sentence))
    asks = _ASKS.search(sentence) if "?" in sentence or "let me know" in sentence else None
    did = None if in_doubt else _DID.match(sentence)
    changed = (
        "?" not in sentence and not fixed and _CHANGED.search(sentence) and _goes_wrong(sentence, clauses)
    )
    suspects = (
        "" if "?" in sentence or fixed or works or _NO_SUSPECT.search(sentence) else _suspected(sentence)
    )
    return _Told(
        fixed, works, elsewhere, bool(caused), bool(asks or _FOUND.search(sentence)), bool(did),
        bool(_BACK.search(sentence)), bool(_STILL.match(sentence)), bool(changed), suspects, own, without,
        tuple(clauses),
    )  # fmt: skip


def _goes_wrong(sentence: str, clauses: list[tuple[str, bool | None]]) -> bool:
    """Whether what was changed made it fail: it went well until then, or a clause says that it fails."""
    return (
        bool(_BACK.search(sentence))
        or " until " in sentence
        or " till " in sentence
        or any(fails for _, fails in clauses)
    )


def _suspected(sentence: str) -> str:
    """The clause that names a suspect, with what follows."""
    match = _SUSPECTS.search(sentence)
    if match is None:
        return ""
    start = max(
        sentence.rfind(mark, 0, match.start()) + len(mark) if mark in sentence[: match.start()] else 0
        for mark in (", ", "; ", ": ")
    )
    return sentence if len(sentence) <= _QUOTED else sentence[start:]


def _names_a_cause(sentence: str) -> bool:
    """Whether a clause names the cause, and neither doubts it nor says that memory is short."""
    if _OF_SHORTAGE.search(sentence):
        return False
    if _DEMANDS.search(sentence) and not _NAMES_MEMORY.search(sentence):
        return False  # what something asks for, and no cause
    if _OF_WHAT_STANDS_BEFORE.match(sentence) or _SUPPOSED.search(sentence):
        return False
    return any(
        not (_NOT_FIXED.search(clause) or _OF_A_SYMPTOM.search(clause)) and _CAUSED.search(clause)
        for clause in _PARTED.split(sentence)
    )


_SUPPOSED = regex(r"(?i)\b(?:makes? (?:us|me) (?:think|believe|suspect)|some sort of)\b")
_OF_WHAT_STANDS_BEFORE = regex(
    r"(?i)\A\W*(?:(?:over time|eventually|finally|sometimes|in the end|at some point|often|as a result|so|and"
    r"|then|usually|after (?:a while|some time)),? )*(?:this|that|it|which)"
    r" (?:(?:then|often|eventually|usually|sometimes|finally) )?"
    r"(?:causes?|caused|leads? to|led to|results? in)\b"
)
"""A sentence that says what follows from the one before it."""


_OF_A_SYMPTOM = regex(
    r"(?i)\b(?:problem|issue|trouble) is that (?:\w+ ){1,6}?(?:leak|run(?:s|ning)? out|out of memory|OOM"
    r"|(?:memory|RAM|usage) (?:\w+ ){0,3}?(?:grow|increas|ris|fill|explod))"
    r"|\b(?:problem|issue|trouble|question|error) is that (?:it|this|that|everything|the (?:code|program"
    r"|model|training|script|process)) (?:\w+ ){0,2}?(?:works?|worked|runs?|ran|trains?|happens?|occurs?"
    r"|crash\w*|fails?|stops?|dies|hangs?|gets? killed)\b"
)
"""What is to be explained: `my problem is that something leaks`."""


_DEMANDS = regex(
    r"(?i)\bis that \w[^,;]{0,40}\b(?:must|should|needs? to|has to|have to|requires?|expects?)\b"
)
_NAMES_MEMORY = regex(r"(?i)\bmemory\b|\bRAM\b|\bOOM\b|\bGPUs?\b|\bload|\bkeep|\bkept\b|\bcop(?:y|ies)")


_PARTED = regex(r"(?i)[,;](?!\d)|\s(?=but\b(?![^.]*\b(?:sure|certain|know|confirm\w*|understand|why)\b))")


def _from_its_clause(sentence: str, pattern: re.Pattern[str]) -> str:
    """What the sentence says from the clause on in which the pattern stands undenied: of a long sentence what
    came before is left out, unless the clause speaks of it.
    """
    sentence = _FOUND_THAT.sub("", _ADDRESSED.sub("", sentence))
    for match in () if _NO_WAY.search(sentence) else pattern.finditer(sentence):
        before = sentence[: match.start()]
        if _NOT_FIXED.search(before) and not _OWN_CLAUSE.search(before):
            continue
        if _BUT_NOT_THIS.search(sentence, match.end()) or _SUPPOSES.search(match[0]):
            continue
        if _NOTHING_DID.search(sentence, match.start()):
            continue
        start = max(
            (before.rfind(mark) + len(mark) for mark in (", ", "; ", ": ") if mark in before), default=0
        )
        alone = len(sentence) <= _QUOTED or _OF_BEFORE.match(sentence, start)
        return sentence if alone else sentence[start:]
    return ""


def _in_short(words: str) -> str:
    return " ".join(words.split())[:_OWN_WORDS]


_BUT_NOT_THIS = regex(
    r"(?i)\bbut\b[^.]{0,60}(?:\b(?:cannot|can not|not)|n't) (?:be )?(?:solve|fix|help|work|resolve)\w*"
    r"|\bbut\b[^.]{0,40}\bstill (?:leak|grow|fail|crash|happen|get|have|run)\w*"
)
"""It ended something else, or for a while."""
_NOTHING_DID = regex(
    r"(?i)\b(?:nothing|none|neither|no (?:\w+ ){0,2}?(?:solution|fix|one|suggestion|advice|answer|workaround"
    r"|change|setting|option|method|thing|luck|success|use|avail)s?"
    r"|not? (?:any|a single|one)(?: \w+)?) "
    r"(?:(?:of|from) (?:\w+ ){1,3}?)?(?:(?:has|have|had|really|actually|seems? to|seemed to|ever|yet|also|did"
    r"|that|i|we|you|he|tried|suggested|found|above|online|there|here|else|more) ){0,4}?"
    r"(?:work|help|fix|(?:re)?solv|chang|did|does|made)(?:e?s|e?d|ing)?\b"
    r"(?![^.]{0,30}\b(?:until|till|except|besides|other than|apart from|but)\b)"
    r"|\b(?:in vain|to no avail|without (?:any )?(?:success|luck|effect)|(?:no|not much) luck)\b"
)
"""Nothing ended it: what is told of was tried."""
_FAILS_OTHERWISE = regex(
    r"(?i)\b(?:crash|fail|die|break)(?:e?s|e?d)?\b(?: now)? (?:in|with) (?:another|an? (?:\w+ )?"
    r"(?:new|other|different)) (?:way|manner|fashion|error|message|exception)\b"
)
"""It fails there as well: only its message is another."""
_NO_WAY = regex(
    r"(?i)\b(?:is|was|are)(?:n't| not)(?: really| quite)? (?:ideal|an option|acceptable|feasible|practical"
    r"|possible|what (?:I|we) want)\b|\b(?:far from|less than) ideal\b"
)
"""What its writer says of it: an end that is none for him."""
_ADDRESSED = regex(r"\A\W*(?:@[\w-]{1,40}[:,]? )+")
_FOUND_THAT = regex(r"\A(?:(?!\b(?:not|never|if)\b|n't\b)[^.,;?]){0,60}\bI (?:have )?found (?:out )?that ")
"""How a sentence begins that goes on with what was found."""
_QUOTED = 100
"""Letters of a sentence that is quoted whole."""
_OF_BEFORE = regex(r"(?i)\W*(?:and |so |but )?(?:this|that|it|which|then)\b")
"""How a clause begins that speaks of what was said before it."""


_SUPPOSES = regex(
    r"(?i)\b(?:may|might|could|should|would) (?:have|(?:\w{2,12}ly )?(?:fix|(?:re)?solve|help|do the trick"
    r"|avoid|prevent)\w{0,4})\b|\b(?:hopefully|maybe|perhaps|possibly|temporarily"
    r"|let (?:you|us|everyone) know|(?:see|check|know) (?:if|whether)|if (?:this|that|it))\b"
)
"""Within what would say that it ended: an intention, a guess, or an end for a while."""
_THANKS = (
    r"(?:(?:thanks?(?: you)?|thx|ok(?:ay)?|great|awesome|perfect|yes|yeah|wow|cool|nice|hi|hey|and|so"
    r"|very much|a lot|so much|again|all|for (?:the|your) \w+|@[\w-]{1,40})\W+){0,6}"
)
_ONLY_SO = regex(
    rf"(?i)\A\W*{_THANKS}(?:this|that|it|which|yours?"
    r"|(?:the|your|his|this|that) (?:fix|solution|workaround|answer|suggestion|tip|hint"
    r"|comment|trick|method|approach|advice))"
    r"(?: (?:has|have|really|also|finally|just|indeed|completely|totally|actually|definitely))*"
    r" (?:fixe[sd]|solve[sd]|resolve[sd]|help(?:s|ed)|work(?:s|ed)|did the trick)"
    r"(?:,? (?:it|this|that|the|my|our|for|me|us|problems?|issues?|errors?|a lot|now|too|very|much|well|here"
    rf"|as|same|perfectly|great|nicely|like a charm))*\W*{_THANKS}(?:thanks?(?: you)?[^.;:]{{0,30}})?\W*\Z"
)
"""A line of thanks: what helped stands elsewhere."""
_OF_A_BATCH = regex(r"(?i)(?<=\w) (?:a )?(?:mini)?batch(?:[ _]?sizes?)? (?:of )?\d.*\Z")
"""What follows the thing, and is no part of it: `without accumulation batch 64`."""


def _without(sentence: str) -> str | None:
    for pattern in _SAYS_WITHOUT:
        match = pattern.search(sentence)
        if match is None:
            continue
        thing = _OF_A_BATCH.sub("", _ARTICLE.sub("", match["thing"].strip(" `'\"")))
        rest = sentence[: match.start()] + " " + sentence[match.end("thing") :]
        fine = _ONLY_WITH.search(sentence) or _OFF.search(sentence) or _WORKS.search(rest)
        fine = fine or _TRAINS.match(rest)
        if pattern is _FAILS_WITH and _NEEDED.search(thing):
            continue
        known = _POINTS.match(thing) or _LINE_THAT.match(thing) or _PRONOUN.match(thing)
        nothing = _NO_THING.match(thing) and not known
        if fine and not (nothing or _VAIN.search(rest) or _BUT_WRONG.search(rest)):
            return thing
    return None


_SAYS_WITHOUT = (_ONLY_WITH, _OFF, _WITHOUT, _SWITCHED, _TAKEN_AWAY, _FAILS_WITH)
_TRAINS = regex(
    r"(?i)\A\W*(?:it|everything|this|the (?:same )?(?:code|model|script|program)) (?:also )?"
    r"(?:trains|runs)\W*\Z"
)
"""`Without X it trains.`, and nothing more."""
_NEEDED = regex(r"(?i)\b(?:predict|fit|train|evaluate|inference)\b")
"""What a program is for: `if I use predict it fails` asks nobody to leave it out."""
_POINTS = regex(r"(?i)\A(?:this|that|these|those) (?:line|call|list|part|step|statement|code|layer)s?\Z")
_PRONOUN = regex(r"(?i)\Ait\Z")
"""What `if I remove it` removes: the line of code just above, where one is there."""
_LINE_THAT = regex(
    r"(?i)\b(?P<thing>(?:line|call|list|part|step|statement|code|layer)s? (?:that|which|where|with|of)\b"
    r"[^.,;:]{3,60}?)(?= (?:it|there|memory|the (?:GPU|RAM|memory|process|program))\b|[.,;:]|\Z)"
)


_ABOVE = 3
"""Lines above `this line` in which it may stand."""


def _meant(thing: str, before: str, code: Line | None) -> str:
    """What `this line` is: the line that the sentence before it describes, else the code just above; empty
    where neither is there.
    """
    if _PRONOUN.match(thing):
        return code.text.strip() if code else ""
    if not _POINTS.match(thing):
        return thing
    if described := _LINE_THAT.search(before):
        return described["thing"]
    return code.text.strip() if code else ""


_PROSE = regex(r"(?i)[a-z] (?:the|a|with|it|is|and then|but|i) [a-z]")
_SHORT = 16
_CODE = regex(r"\w ?= ?\S|\w\(")
_OF_DATA = "fails with more data"
_ARTICLE = regex(r"(?i)\A(?:the|my|a|an|any) ")
_BUT_WRONG = regex(
    r"(?i)\bbut\b[^.]{0,60}\b(?:nans?|inf|wrong|incorrect|garbage|unstable|diverg\w*|bad|worse|useless"
    r"|(?:do|does|did)(?: ?n['\u2019]?t| not) (?:converge|learn))\b"
)
"""It fits without it, and is of no use."""
_VAIN = regex(r"(?i)\b(?:still|no (?:help|effect|luck)|n't help|not help)\b")
_WORDS = regex(r"[a-z]{2,} [a-z`'\"]{2,}|[\u4e00-\u9fff]{3}")


def _like(one: str, other: str) -> bool:
    """Whether both begin with the same word, as lines of a list do: `with A it runs`, `with B it fails`."""
    return one.split(None, 1)[:1] == other.split(None, 1)[:1] or one[:4].lower() == other[:4].lower()


_LONGEST_HEAD = 90


def _of_a_head(text: str) -> bool | None:
    """Whether a short line says that what stands below it fails; None where it says neither."""
    if len(text) > _LONGEST_HEAD or not (_WORDS.search(text) and HEAD.search(text)):
        return None
    poles = {pole for _, pole in _told(text).clauses}
    return poles.pop() if len(poles) == 1 else None


def _same(bad: _Clause, good: _Clause, more: re.Pattern[str]) -> bool:
    """Whether both name the same side, so that nothing is compared."""
    return bool(more.search(good.text)) and bad.sentence == good.sentence


def _poles(parts: list[str]) -> list[tuple[str, bool | None]]:
    """Each clause of a sentence, and whether it fails: by its own words, else as the clause it belongs to."""
    own: list[bool | None] = []
    for part in parts:
        before = next((pole for pole in reversed(own) if pole is not None), None)
        if _CONTRARY.match(part) and before is not None:
            own.append(not before)
        elif _NOTHING_DID.search(part):
            own.append(True)
        elif _WORKS.search(part):
            own.append(False)
        else:
            own.append(True if _FAILS.search(part) else None)
    poles = list(own)
    for index, pole in enumerate(own):
        if pole is None:
            after = next((each for each in own[index + 1 :] if each is not None), None)
            before = next((each for each in reversed(own[:index]) if each is not None), None)
            of_next = before is None or _TURNS.match(parts[index])
            poles[index] = after if of_next and after is not None else before
    return list(zip(parts, poles, strict=True))
