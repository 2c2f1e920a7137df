"""HTML that tfmemlens wrote itself, pages and cards of notebooks: it quotes logs, and is none."""

from __future__ import annotations

import html

from tfmemlens.errors import UnreadableInput
from tfmemlens.patterns import regex

HEAD = 1 << 16
"""Bytes at the start of a file among which its mark stands."""
ENDINGS = (".html", ".htm")
_GENERATOR = regex(rb'<meta\s+name="?generator"?\s+content="?tfmemlens\b')
"""Every page says what made it; browsers that save a page may drop the quotes."""
_CARD = regex(rb'<div style="[^"]*" data-tfmemlens="([^"]*)"')
_CARD_WITHIN = 1 << 10
"""Bytes before a card in a file that is one: tags around it. A notebook that holds cards has more."""
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_SOURCE = regex(rb'<p class="source"><bdi title="([^"]*)"')


def is_html(head: bytes) -> bool:
    """Whether a file that begins like this is a web page, of whoever."""
    return head.lstrip(_BLANKS)[:200].lower().startswith((b"<!doctype html", b"<html", b"<!--"))


def is_page(head: bytes) -> bool:
    """Whether a file that begins like this is a page of ours."""
    return is_html(head) and bool(_GENERATOR.search(head))


def is_own(head: bytes) -> bool:
    """Whether it is a page or a card."""
    return is_page(head) or _card_source(head) is not None


def refuse(head: bytes, name: str) -> None:
    """Raises UnreadableInput for a page or a card, and says what it was made from."""
    if not is_own(head):
        return
    source = _card_source(head)
    if source is None:
        source = next(iter(_SOURCE.findall(head)), b"")
    told = html.unescape(source.decode("utf-8", "replace"))
    file = "" if told.startswith(("(", "-")) else told  # a pasted text and standard input have no file
    raise UnreadableInput(
        f"{name} is a page that tfmemlens wrote, not a log or trace",
        f"give the file that it was made from, {file}" if file else "give the file that it was made from",
    )


def _card_source(head: bytes) -> bytes | None:
    """What a card was made from; None for what is no card."""
    if not head.lstrip(_BLANKS).startswith(b"<"):
        return None
    match = _CARD.search(head[: _CARD_WITHIN + 4096])
    return match[1] if match and match.start() <= _CARD_WITHIN else None
