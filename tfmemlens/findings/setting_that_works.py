"""The text says that a run goes through with a setting: then that is the first thing to do.

What it means: the writer has found what helps. What else a log suggests (smaller matrices, other types) may
be true as well, and costs more.
When it fires: a request failed, and a sentence says that with a variable of JAX's, XLA's or TensorFlow's, or
with a flag of the program's own, the same run works, or gets through.
What to do: keep the setting, and know what it does: a larger part of the GPU leaves libraries less.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes: the writer's own test"

_SETTING = regex(
    r"(?i)\b(?:with|set(?:ting)?) `?(?P<setting>(?:XLA|TF|JAX|LIBTPU)_\w+=[\w.,=/-]+"
    r"|(?P<call>[a-z_]\w{2,40}(?:\.\w{2,40}){0,2}\((?:\w{1,20}=)?\d{1,6}\)))"
)
_PART = "XLA_PYTHON_CLIENT_MEM_FRACTION="


_FLAG = regex(r"(?i)(?P<flag>--[a-z][\w-]{1,30}(?:[ =](?!(?:is|it|are|works?|runs?)\b)[\w.]{1,20})?)")


def _of_a_flag(case: Case) -> Iterator[Finding]:
    """The same of a flag of the program, such as one for a lighter model."""
    line = case.capture.surroundings.shows("works with a flag")
    match = _FLAG.search(line.text) if line else None
    for index, moment, request in list(requests(case))[:1]:
        if line is None or match is None or on_host(moment):
            continue
        restored = "Restore" in (request.failed.node or "")
        of_checkpoints = "; a checkpoint must have been made with it, too" if restored else ""
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{line.place} says that with `{match['flag']}` it goes through",
            evidence=(Evidence("what the text says", line),),
            remedies=(
                Remedy(
                    f"run it with `{match['flag']}`, with which it goes through"
                    f" ({line.place}){of_checkpoints}",
                    slug="setting-that-works",
                ),
            ),
            moment=index,
            explains=None,
        )


def check(case: Case) -> Iterator[Finding]:
    yield from _of_a_flag(case)
    line = case.capture.surroundings.shows("works with a setting")
    match = _SETTING.search(line.text) if line else None
    if line is None or match is None:
        return
    for index, moment, request in list(requests(case))[:1]:
        if on_host(moment):
            continue
        setting = match["setting"].rstrip(".,")
        more = ""
        if setting.startswith(_PART):
            more = ": it lacked less than JAX leaves unused; some hundred MiB must stay for cuDNN"
            if request.failed.kind is RequestKind.WORKSPACE:
                more = (
                    ": libraries such as cuDNN take their memory outside of JAX's pool, which left them none"
                )
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{line.place} says that it goes through with {setting}",
            evidence=(Evidence("what the text says", line),),
            remedies=(
                Remedy(
                    f"keep {setting}, with which it goes through ({line.place}){more}",
                    None if match["call"] else f"export {setting}",
                    slug="setting-that-works",
                ),
            ),
            moment=index,
            explains=None,
        )
