"""A number of steps in a line that tells of no failure: a row of a log, or when something is saved."""

from __future__ import annotations

from tfmemlens.patterns import regex

_ROW = regex(
    r"\A\W{0,4}(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S{0,12}[:,]? ?(?:[IW]\b|\[?(?:INFO|DEBUG|WARN(?:ING)?)\b)"
    r"|\[?(?:INFO|DEBUG|WARN(?:ING)?)\b\]? ?[:|-])"
)
"""The head of a row that a logger wrote, of information or a warning."""
_DOES = regex(
    r"(?i)\b(?:sav(?:es?|ed|ing)|checkpoint\w*|restor\w+|load(?:s|ed|ing)?|evaluat\w+|validat\w+|logs?|logged"
    r"|logging|print\w*|warm\w*|sampl(?:es?|ed|ing)|decay\w*|summar\w+|updat\w+|stop(?:s|ped|ping)? early"
    r"|early stop\w*|produc\w+|wr(?:ites?|ote|iting)|render\w*|loss|accuracy|reward|fps)\b"
)
_ENDS = regex(
    r"(?i)\b(?:fail\w*|crash\w*|OOM|out of|memory|RAM|kill\w*|die[sd]?|dying|errors?|exhaust\w*|until|before"
    r"|then|fine|well|ok(?:ay)?|normal\w*|smooth\w*|works?|worked|hang\w*|freez\w*|stuck|exception|abort\w*"
    r"|it (?:stops?|happens?|ends?|starts?|begins?)|happens|occurs|appears|comes)\b"
)


def only_counts_steps(text: str) -> bool:
    """Whether a line names a number of steps without a word of how the run went: a logger's row, or when
    something is saved, printed or reached.
    """
    return bool(_ROW.search(text)) or bool(_DOES.search(text) and not _ENDS.search(text))
