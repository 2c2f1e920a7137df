"""GPUs that people name in their own words: `on my 2080 Ti`, `a 24 GB card`, `Colab (T4)`.

A model's memory is taken from its maker's sheet where it comes with one amount only; others need the amount
beside the name. What a text says of several cards tells nothing of the one that failed.
"""

from __future__ import annotations

from tfmemlens.model.capture import DeviceInfo
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import LineRule
from tfmemlens.units import GIB, Size

_GIGABYTES = {
    "1050 Ti": 4, "1070": 8, "1080": 8, "1080 Ti": 11, "1660 Ti": 6, "2060": 6, "2070": 8, "2080": 8,
    "2080 Ti": 11, "2060 SUPER": 8, "2070 SUPER": 8, "2080 SUPER": 8, "3060 Ti": 8, "3070": 8, "3070 Ti": 8,
    "3080 Ti": 12, "3090": 24, "3090 Ti": 24, "4060": 8, "4070": 12, "4070 SUPER": 12, "4070 Ti": 12,
    "4070 Ti SUPER": 16, "4080": 16, "4080 SUPER": 16, "4090": 24, "5070": 12, "5070 Ti": 16, "5080": 16,
    "5090": 32, "T4": 16, "P4": 8, "L4": 24, "A10G": 24, "A6000": 48, "A5000": 24, "A4000": 16,
    "H200": 141, "L40S": 48, "L40": 48, "A40": 48, "TITAN RTX": 24, "TITAN Xp": 12,
}  # fmt: skip
"""Models that are sold with one amount of memory."""
_IN_LAPTOPS = {
    "2060": 6, "2070": 8, "2080": 8, "3060": 6, "3070": 8, "3070 Ti": 8, "4050": 6, "4060": 8, "4070": 8,
    "4080": 12, "4090": 16, "5070": 8, "5070 Ti": 12, "5080": 16, "5090": 24,
}  # fmt: skip
"""The same of cards that have less under the same name."""
_LAPTOP = regex(r"(?i)[ (-]{0,2}(?:laptop|mobile|max-?q)\b")
_OTHERS = (
    "A100",
    "H100",
    "V100",
    "P100",
    "K80",
    "M60",
    "3080",
    "3060",
    "1060",
    "1650",
    "980 Ti",
    "4060 Ti",
)
_MODEL = "|".join(sorted((*_GIGABYTES, *_OTHERS), key=len, reverse=True)).replace(" ", " ?")
MODEL = LineRule(
    rf"(?i:\b(?:(?:NVIDIA|GeForce|GTX|RTX|Tesla|Quadro) ?){{0,3}}(?P<model>{_MODEL})\b)"
    r"(?:[ ,(-]{1,3}(?:\w+[ -])?(?P<size>\d{1,3}) ?(?:Gi?B?|gb)\b)?",
    "Hi, I train a UNet on my 2080 Ti and get",
    "The GPU is an A100 40GB.",
    "2 x Tesla V100-SXM2-32GB",
    "auf einer RTX 2070 mit 8GB",
)
CARD = LineRule(
    r"(?i:(?<![\d.,])\b(?P<size>\d{1,3}) ?Gi?B?(?: of)?[ -](?:VRAM|GPU|card|graphics|video|Grafik)"
    r"|(?<!mode )\b(?:GPU|card|VRAM|Grafikkarte)\b"
    r"(?![^\d\n]{0,24}\b(?:us(?:es?|ed|age|ing)|stays?|takes?|at|alloc\w+|fills?|free|left)\b)[^\d\n]{1,24}"
    r"\b(?P<other>\d{1,3}) ?GB\b(?! ?(?:/|(?:out )?of) ?\d))",
    "I have a 24 GB card",
    "my GPU has 8 GB",
    needs=("vram", "gpu", "card", "graphics", "video", "grafik"),
)
_ABOUT = (
    "gtx",
    "rtx",
    "geforce",
    "tesla",
    "titan",
    "gpu",
    "card",
    "colab",
    "on my ",
    " ti",
    "quadro",
    "vram",
    "grafik",
    "graphics",
    "video",
)
"""A number such as 1080 is a card's only where the sentence speaks of one."""
_OF_SERVERS = regex(r"\b(?:[AHPV]100|[HB]200|L40S|A40|A10G|A6000)\b")
"""Names that nothing else has."""
_MAX_GIGABYTES = 192
_MOST_OF_OTHERS = {
    "A100": 80, "H100": 96, "V100": 32, "P100": 16, "K80": 24, "M60": 16, "3080": 12, "3060": 12, "1060": 6,
    "1650": 4, "980 Ti": 6, "4060 Ti": 16,
}  # fmt: skip
"""The most that models are sold with which come with several amounts: what is more is the machine's RAM, or
that of several.
"""
_LEAST_SHARE = 0.85
"""Of what is printed on the box, for a framework's pool."""
_NOT_PROSE = ("|", "name: ", 'File "', "::")
_SPELLED = {name.replace(" ", "").lower(): name for name in (*_GIGABYTES, *_OTHERS)}


_SLICE = regex(r"\b[1-7]g\.(?P<size>\d{1,3})gb\b")
"""A part of a GPU: `A100 MIG 1g.5gb`."""


_SPELLED_NUMBERS = {"two": 2, "three": 3, "four": 4, "eight": 8}
_SEVERAL = regex(
    r"(?i)\b(?P<many>[2-9]|1[0-6]|two|three|four|eight)(?: ?x)? GPUs\b(?![^.\n]{0,60}\b(?:each|per)\b)"
)


def _of_each(total: int, many: int) -> int | None:
    """What each of several GPUs has, where no card is sold with the sum that the text gives."""
    sold = {*_GIGABYTES.values(), *_MOST_OF_OTHERS.values()}
    if total in sold:
        return total
    each, rest = divmod(total, many)
    return each if not rest and each in sold else None


_WANTED = regex(
    r"(?i)\b(?:need|require|buy|get|recommend\w*|suggest|consider|upgrade to|rent)\b[^.!?\n]{0,40}?"
    r"\b(?:\w+-\w+ |better |bigger |larger |newer |more powerful |stronger |higher )?(?:GPU|card)\b"
    r"[^!?\n]{0,20}\Z"
    r"|\b(?:if|when|unless|say|assum\w+|suppose) (?:that )?(?:you|one|someone|somebody)"
    r"(?:'ve| have| has| had| own| use)\b"
    r"[^.!?\n]{0,40}\Z"
)
"""What stands before a GPU that is advised or thought of, and is nobody's: `you need a better GPU (e.g. `,
`for example if you have `.
"""


def named(line: Line) -> DeviceInfo | None:
    """The GPU that a sentence names, with its memory."""
    text = line.text
    small = text.lower()
    if any(mark in text for mark in _NOT_PROSE):
        return None
    if part := _SLICE.search(small):
        near = (
            MODEL.search(text[at : part.start()]) for at in range(max(part.start() - 12, 0), part.start())
        )
        whole = next(filter(None, near), None)
        of = f"{_SPELLED[whole['model'].replace(' ', '').lower()]} " if whole else ""
        most = int(part["size"]) * GIB
        return DeviceInfo("", f"{of}MIG {part[0]}", total=Size(most, most, most), line=line)
    if not (any(word in small for word in _ABOUT) or _OF_SERVERS.search(text)):
        return None
    match, card = MODEL.search(text), CARD.search(text)
    model = _SPELLED[match["model"].replace(" ", "").lower()] if match else None
    stated = (match and match["size"]) or (card and (card["size"] or card["other"]))
    in_laptop = match is not None and _LAPTOP.match(text, match.end()) is not None
    most_of_model = (_GIGABYTES | _MOST_OF_OTHERS).get(model or "")
    beyond = bool(stated and most_of_model and int(stated) > most_of_model)
    if beyond and ((match and match["size"]) or int(stated or 0) % (most_of_model or 1) == 0):
        stated = None  # the machine's RAM, or that of several cards
    gigabytes = int(stated) if stated else (_IN_LAPTOPS if in_laptop else _GIGABYTES).get(model or "")
    named_at = match or card
    if named_at and _WANTED.search(text, 0, named_at.start()):
        return None
    if match is None and stated and (several := _SEVERAL.search(text)):
        gigabytes = _of_each(
            int(stated), _SPELLED_NUMBERS.get(several["many"].lower()) or int(several["many"])
        )
    if not gigabytes or gigabytes > _MAX_GIGABYTES:
        return None
    most = gigabytes * GIB
    return DeviceInfo("", model, total=Size(most, int(most * _LEAST_SHARE), most), line=line)
