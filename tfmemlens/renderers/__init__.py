"""How does it look? Forms as plug-ins: `renderers/FORM/SUBJECT.py` shows that subject in that form.

A form is a folder that says `SUFFIX`, how its files end; `OPTIONS`, the help of the option `--FORM` for the
subjects that have one; and `VIEWER`, the program that opens its files, where `tfmemlens export` writes them.
A subject is a module in it with `render(content, view) -> str`, or bytes where the form is no text. No sums,
no thresholds, no printing.
`pictures` is no form: matplotlib writes a file, and what it draws is no text.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tfmemlens import discovery
from tfmemlens.renderers.view import View

DEFAULT = "terminal"


def forms(subject: str) -> dict[str, ModuleType]:
    """The forms that show a subject, by slug."""
    rooms = discovery.folders(sys.modules[__name__], subject)
    return {form: room for form, room in rooms.items() if hasattr(room, "SUFFIX")}


def options(subject: str) -> dict[str, str]:
    """The forms of a subject that an option of their own asks for, with its help."""
    return {form: room.OPTIONS[subject] for form, room in forms(subject).items() if subject in room.OPTIONS}


def viewers(*subjects: str) -> dict[str, str]:
    """The forms that `export` writes, each with the first of these subjects that it shows."""
    chosen = {
        form: subject
        for subject in reversed(subjects)
        for form, room in forms(subject).items()
        if getattr(room, "VIEWER", None)
    }
    return dict(sorted(chosen.items()))


def render(content: Any, subject: str, form: str = DEFAULT, view: View = View()) -> str:
    """The content in a form that has this subject."""
    text: str = discovery.member(forms(subject)[form], subject).render(content, view)
    return text


def exported(content: Any, subject: str, form: str) -> str | bytes:
    """The same for a viewer's file, which may be no text."""
    document: str | bytes = discovery.member(forms(subject)[form], subject).render(content, View())
    return document
