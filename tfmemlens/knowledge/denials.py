"""What the writer of a text says that he does not see, which is no proof of it; and what he saw in a release
that he has left behind.
"""

from __future__ import annotations

from tfmemlens.patterns import regex

_LONGEST = 1500
_DENIALS = regex(
    r"(?i)(?:\b(?:do|does|did)(?: not|n['\u2019]?t)|\bdon['\u2019]?t|\bnever)"
    r" (?:\w+ )?(?:see|saw|notice|observe|detect)(?:d|n)?\b"
    r"(?! (?:why|where|what|how|the (?:reason|cause|source)))[^.;!?,\n]{0,60}?"
    r"\b(?:memory leaks?|leaks?|OOM|out[- ]of[- ]memory|memory (?:errors?|problems?|issues?|growth))\b"
)
"""`I don't see a memory leak`, and not `I don't see why it leaks`."""


def denies_a_leak(text: str) -> bool:
    """Whether it says that no leak or lack of memory is seen."""
    return len(text) <= _LONGEST and _DENIALS.search(text) is not None


def without_denials(text: str) -> str:
    """The text without what its writer does not see."""
    return _DENIALS.sub(" ", text) if len(text) <= _LONGEST else text


_PRE = r"(?<![\d.])\b(?:alpha|beta|rc)[- ]?\d{0,2}\b"
_OLDER = r"\b(?:previous|prior|earlier|older|former) (?:\w+ )?(?:versions?|releases?|builds?)\b"
_WAS = r"\b(?:had|got|gave|was|were|leaked|suffered|showed|saw|used to|kept|caused)\b"
_EARLIER = regex(
    rf"(?i)(?:{_PRE}|{_OLDER})[^.;!?\n]{{0,60}}?{_WAS}|{_WAS}[^.;!?\n]{{0,60}}?(?:{_PRE}|{_OLDER})"
    r"|\b(?:leaks?|OOM|memory (?:problems?|issues?|errors?)) (?:in|of|with|under) (?:the )?"
    rf"(?:{_PRE}|{_OLDER})"
)
_SINCE = regex(
    r"(?i)\b(?:now|final|stable|another|different|new|instead|waited|upgraded|updated|moved|switched)\b"
)
"""What comes after it: another release, another error."""
_ALIKE = regex(
    r"(?i)\b(?:too|also|as well|same|still|even|again|not|never|no|unlike|than|compared|without|neither)\b"
    r"|n't\b|\b(?:flat|constant|stable|fine|ok(?:ay)?|worked)\b"
    r"|\b(?:grows?|leaks?|increases|rises|crashes|fails) now\b"
    r"|\bnow (?:\w+ ){0,3}?(?:grows?|leaks?|increases|rises|OOMs?)\b"
)
"""What says of both releases, denies it of the older one, or says it of the newer."""
_END = regex(r"(?<=[.!?])\s+")


def without_earlier(text: str) -> str:
    """The text without sentences that tell what an earlier release did, where a sentence goes on with what
    came since: no growth of the run in question.
    """
    if len(text) > _LONGEST or not _EARLIER.search(text):
        return text
    sentences = _END.split(text)
    return " ".join(
        each for at, each in enumerate(sentences) if not _of_an_earlier(each, " ".join(sentences[at:]))
    )


def _of_an_earlier(sentence: str, on: str) -> bool:
    return bool(_EARLIER.search(sentence) and _SINCE.search(on) and not _ALIKE.search(sentence))
