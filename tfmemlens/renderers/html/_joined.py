"""Our modules as one script: in one scope, and without what only readers of the source need.

Comments, indentation and spaces between symbols go. Names stay, so that an error in a browser still names a
function of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tfmemlens.patterns import regex

_IMPORT = regex(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = regex(r"^export (?=(?:async )?(?:function|class|const) )", re.MULTILINE)
_SPACE = regex(r"(?:\s|//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)+")
_TOKEN = regex(r"""[\w$]+|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|.""")
_TEMPLATE = regex(r"(?:[^`\\$]|\\.|\$(?!\{))*(?P<end>`|\$\{)", re.DOTALL)
_PATTERN = regex(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
"""A regular expression; where a value has ended a `/` divides."""
_WORD = regex(r"[\w$]")
_VALUE = regex(r"(?!return\Z)[\s\S]*[\w$)\]}\"'`]\Z")
_OPEN = ("{", "(", "[", ",", ";")
"""After these a line may go on."""


def joined(modules: Iterable[str]) -> str:
    """Modules, each after those that it imports from, as one script; no two may share an outermost name."""
    return '(()=>{"use strict";\n' + "\n".join(map(dense, modules)) + "\n})();"


def dense(code: str) -> str:
    """A module without imports, the word `export`, comments, and spaces that no symbol needs."""
    made = ""
    for token in _tokens(_EXPORT.sub("", _IMPORT.sub("", code)).strip()):
        if not token.isspace():
            made += token
        elif "\n" in token and not made.endswith(_OPEN):
            made += "\n"
        elif "\n" not in token:
            made += " "
    return made


def _tokens(code: str) -> Iterator[str]:
    """The code in pieces; a space only where it keeps two words or two signs apart."""
    at, last, open_braces = 0, "", [0]
    while at < len(code):
        if space := _SPACE.match(code, at):
            at = space.end()
            if "\n" in space[0]:
                yield "\n"
            elif _kept_apart(last[-1:], code[at : at + 1]):
                yield " "
            continue
        pattern = code[at] == "/" and not _VALUE.match(last)
        match = _PATTERN.match(code, at) if pattern else _TOKEN.match(code, at)
        assert match
        at, last = match.end(), match[0]
        if last == "{":
            open_braces[-1] += 1
        elif last == "}" and open_braces[-1]:
            open_braces[-1] -= 1
        elif last in ("`", "}"):  # a template begins, or goes on after one of its values
            part = _TEMPLATE.match(code, at)
            assert part
            if last == "}":
                open_braces.pop()
            if part["end"] == "${":
                open_braces.append(0)
            at = part.end()
            last = last + part[0]
        yield last


def _kept_apart(before: str, after: str) -> bool:
    both_words = _WORD.match(before) and _WORD.match(after)
    return bool(both_words) or (before == after and before in ("+", "-", "/"))
