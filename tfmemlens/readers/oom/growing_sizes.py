"""Memory that grows with a size, and not with time: more layers, samples or particles need more.

`As we increase the number of layers, the memory increases` tells of no leak; `memory grows with the number of
epochs` does. What *scales* with the number of iterations that a call is asked for is made for all of them.
"""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

_OF_TIME = (
    r"(?!(?:\w+ )?(?:epochs?|steps?|iterations?|calls?|requests?|runs?|trials?|folds?|models|predictions?"
    r"|episodes?|times|inferences)\b)"
)
_SIZE = (
    rf"(?:(?:number|amount|count) of {_OF_TIME}\w"
    r"|(?:size|length|depth|width|resolution|dimension\w*) of|\w{1,20}[ _](?:size|length|count|resolution)\b"
    r"|num_\w|n_\w|batch[_ ]?size|layers\b|particles\b|resolution\b)"
)
WITH_A_SIZE = (
    r"(?:\b(?:as|when|if|while) (?:we|i|you|one)? ?(?:increas|rais|add)\w* (?:the )?"
    rf"(?:\w+ )?[`'\"]?{_SIZE}"
    r"|\b(?:scal|grow|increas|ris|linear|quadratic)\w* (?:\w+ ){0,3}?(?:with|in|by) (?:the |an? )?"
    rf"(?:\w+ )?[`'\"]?{_SIZE}"
    r"|\bscal\w* (?:\w+ ){0,2}?(?:with|in) (?:the |an? )?(?:total )?(?:number|amount|count) of"
    r" (?:\w+ )?(?:steps|iterations|draws)\b"
    r"|\b(?:scal|grow|increas|ris)\w* (?:\w+ly )?(?:with|in|as|like) [`'\"$(]?(?-i:[A-HJ-Z]|[a-hj-z])"
    r"(?:\b|(?=[_^*]))(?! \w)"
    rf"|\bfor (?:very )?(?:large|larger|big|bigger|high|higher"
    rf"|increasing) {_OF_TIME}[`'\"$]?\w{{1,20}}[`'\"$]?,?"
    r" (?=(?:\w+ ){0,3}(?:memory|RAM|usage|it)\b)(?:\w+ ){0,6}?(?:grow|increas|ris|explod|blow)\w*"
    rf"|\b(?:for|with) (?P<first>\d{{1,6}}) (?P<thing>{_OF_TIME}[a-z]\w{{1,20}})\b[^\n]{{0,40}}?\d ?[GM]i?B\b"
    r"[^\n]{0,40}?\b(?:for|with) (?!(?P=first)\b)\d{1,6} (?:of them|(?P=thing))\b[^\n]{0,30}?\d ?[GM]i?B\b)"
)
"""Growth with a size, inside a sentence."""
GROWING_WITH_A_SIZE = LineRule(
    rf"(?i)\A(?=[^\n]*(?:\bmemory\b|\bRAM\b|\balloc|\bbuffers?\b))[^\n]*?{WITH_A_SIZE}",
    "As we increase the number of layers, the number of buffers stays, and the memory increases",
    'the memory seems to be scaling almost linearly with "num_samples"',
    "the memory that it asks for scales with the number of iterations",
    "Much RAM is needed: for 8 actors around 30GB, for 4 actors about 16GB",
    needs=("increas", "scal", "grow", "ris", "rais", "add", "linear", "quadratic", "gb", "gib", "mb", "mib"),
)
"""The text says that memory grows with a size."""
UNCHANGED = (
    r"\b(?:V?RAM|memory)\b[^.,;:\n]{0,30}(?:n['\u2019]t|\bnot|\bnever) "
    r"(?:(?!stop|cease|only|just)\w+ ){0,2}?"
    r"(?:grow|increase|rise|climb|change|go up)\b"
    "|(?:\u663e\u5b58|\u5185\u5b58)[^\u3002,\uff0c.\\n]{0,10}"
    "(?:\u6ca1\u6709?(?:\u53d8|\u589e|\u6da8)|\u4e0d\u53d8|\u4e0d\u589e|\u7a33\u5b9a)[\u5316\u52a0\u957f]?"
)
"""That memory stays as it is: `VRAM did not increase`, and the same in Chinese."""
