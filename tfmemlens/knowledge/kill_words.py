"""The words of those who end processes from outside: a kernel, a container, a batch system, a server."""

from __future__ import annotations

import re

from tfmemlens.patterns import regex

SESSION_ENDED = (
    r"(?i:\b(?:sesi[o\xf3]n|sess[a\xe3]o|session|sessione|sitzung)\b(?=[^.\n]{0,50}\b(?:toda|tutta|toute"
    r"|gesamte\w?|alle[rn]?|todo))[^.\n]{0,80}\b(?:RAM|memoria|mem\xf3ria|Arbeitsspeicher)\b"
    r"|\b\u0441\u0435\u0430\u043d\u0441\w{0,2}\b[^.\n]{0,60}\b\u0432\u0441[\u044f\u044e]\b[^.\n]{0,40}"
    r"\b(?:RAM|\u043e\u043f\u0435\u0440\u0430\u0442\u0438\u0432\w{0,4}|\u043f\u0430\u043c\u044f\u0442\w{0,2})"
    r"|(?:\u4f1a\u8bdd|\u5de5\u4f5c\u9636\u6bb5|\u6703\u8a71)[^\n\u3002]{0,30}RAM[^\n\u3002]{0,12}"
    r"(?:\u5d29\u6e83|\u7ec8\u6b62)|RAM[^\n\u3002]{0,12}\u3059\u3079\u3066[^\n\u3002]{0,20}"
    r"\u30bb\u30c3\u30b7\u30e7\u30f3|RAM[^\n.]{0,12}\ubaa8\ub450[^\n.]{0,20}\uc138\uc158)"
)
"""What Colab says where its users read another language: the session ended after all RAM was used."""
_FOR_MEMORY = regex(
    r"(?i:(?<!perhaps )out.of.me|oom[-_ ]?kill|memory (?:limit|quota|budget|pressure|used)|due to memory"
    r"|more memory than|available ram|low on (?:memory|resource: memory)"
    r"|over memory|exceeding memory|memlimit|badness|killed: v?p?mem)"
    r"|0xC0000017|1073741801|instance type with more memory|RayOutOfMemoryError"
    rf"|{SESSION_ENDED}"
)
"""`Perhaps out of memory?` is what gunicorn adds to every worker that it ended with SIGKILL."""
SHELLS_WORDS = (
    "\u5df2\u6740\u6b7b",
    "\u5df2\u780d\u6389",
    "\u5f37\u5236\u7d42\u4e86",
    "\uc8fd\uc5c8\uc74c",
    "\u0423\u0431\u0438\u0442\u043e",
    "\u0412\u0431\u0438\u0442\u043e",
    "Get\xf6tet",
    "Tu\xe9",
    "Matado",
    "Processus arr\xeat\xe9",
    "Terminado (killed)",
    "Terminato (killed)",
    "Ucciso",
    "Morto",
    "Unicestwiony",
    "Ge\xeblimineerd",
    "D\xf6dad",
)
"""What shells print of a process that SIGKILL ended, in other languages than English."""
_ANY_OF_THEM = "|".join(map(re.escape, SHELLS_WORDS))
SHELLS_LINE = (
    rf"\A\s*(?:\S{{1,60}}: (?:\w{{1,8}} )?\S{{1,8}}: +\d{{1,8}} )?(?:{_ANY_OF_THEM})"
    r"(?:\s+\S*python\b.*)?\s*\Z"
)
"""A line of a terminal that has one of them, with the script's name and the command or alone."""
IN_OTHER_LANGUAGES = "|".join(
    (
        r"\u88ab(?:\u7cfb\u7edf|\u5185\u6838|\u64cd\u4f5c\u7cfb\u7edf|\u7a0b\u5e8f|\u81ea\u52a8)?\s?(?:kill"
        r"|\u6740|\u5f3a\u5236(?:\u7ed3\u675f|\u7ec8\u6b62))"
        r"|\u663e\u793a[\x22\u201c'\u2018\u300c]?(?:\u5df2\u6740\u6b7b|killed)",
        r"(?:kill(?:ed)?|\u5f37\u5236\u7d42\u4e86|\u30ad\u30eb)\s?\u3055\u308c|kill\w{0,3}\s?(?:\ub418"
        r"|\ub2f9)|\uac15\uc81c ?\uc885\ub8cc",
        r"\b(?:proceso|processo|script|programa|programma|entrenamiento|treinamento"
        r"|kernel)\b[^.\n]{0,24}\b(?:fue|ha sido|es|foi|\xe9|viene|\xe8 stato"
        r"|stato) (?:\w{1,12}mente )?(?:matado|eliminado|asesinado|morto|killado|ucciso|killato)\b",
        r"\bmata(?:n|ndo)? (?:el|mi|o|meu) (?:proceso|processo|script|programa)\b",
        r"\b(?:Prozess|Skript|Programm|Training|Kernel)\b[^.\n]{0,24}\b(?:wird"
        r"|wurde)\b[^.\n]{0,24}\b(?:ge-?killt|get\xf6tet|abgeschossen)\b",
        r"\b(?:processus|script|programme|noyau|entra[i\xee]nement)\b[^.\n]{0,24}\b(?:est|a \xe9t\xe9"
        r"|se fait) (?:\w{1,12}ment )?(?:tu\xe9|tuer|kill\xe9|killed)\b",
        r"\b(?:\u043f\u0440\u043e\u0446\u0435\u0441\u0441|\u0441\u043a\u0440\u0438\u043f\u0442"
        r"|\u043f\u0440\u043e\u0433\u0440\u0430\u043c\u043c"
        r"|\u043e\u0431\u0443\u0447\u0435\u043d\u0438)\w{0,3}\b[^.\n]{0,24}\b\u0443\u0431\u0438(?:\u0442"
        r"|\u0432\u0430)\w{0,4}\b",
    )
)
"""Chinese, Japanese, Korean, Spanish, Portuguese, Italian, German, French and Russian for: it was killed."""
WORDS_OF_A_SESSION = (
    "sesi\xf3n",
    "sesion",
    "sess\xe3o",
    "votre session",
    "sessione",
    "sitzung",
    "\u0441\u0435\u0430\u043d\u0441",
    "\u4f1a\u8bdd",
    "\u5de5\u4f5c\u9636\u6bb5",
    "\u6703\u8a71",
    "\u30bb\u30c3\u30b7\u30e7\u30f3",
    "\uc138\uc158",
)
"""What such a line has, in small letters."""
WORDS_OF_THEM = (
    "\u88ab",
    "\u663e\u793a",
    "\u3055\u308c",
    "kill",
    "\uac15\uc81c",
    "matado",
    "eliminado",
    "asesinado",
    "morto",
    "ucciso",
    "mata",
    "ge-killt",
    "gekillt",
    "get\xf6tet",
    "abgeschossen",
    "tu\xe9",
    "tuer",
    "\u0443\u0431\u0438",
)
"""What such a sentence has, in small letters."""


def names_memory(message: str) -> bool:
    """Whether it names memory as the reason: an exit status or a signal alone does not."""
    return _FOR_MEMORY.search(message) is not None


def used_all_alone(message: str) -> bool:
    """Whether all that it says is that a call of a cloud function used all of its memory."""
    return _ACCOUNT.search(message) is not None and _KILL.search(message) is None


_ACCOUNT = regex(r"\bMemory Size: \d+ MB\s+Max Memory Used: \d+ MB")
_KILL = regex(r"(?i)\bkill|\bexit|\bout.of.memory")


def is_a_guess(message: str) -> bool:
    """Whether a server only guesses that it was for memory."""
    return "perhaps out of memory" in message.lower()
