"""TensorFlow warned that a tf.function is traced again and again.

What it means: a tf.function is traced anew for every new shape, dtype or Python value among its arguments,
and each time it is created. Every trace keeps a graph, its constants and what it captured, so memory grows
with the number of traces; the warning comes after the fifth.
When it fires: the log has the warning before the failure.
What to do: give the function one signature, pass tensors instead of Python numbers, create it outside the
loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes: what the traces hold is unknown"

_NAME = regex(r"<function (?P<name>[\w.<>]+) at ")
_SIGNATURE = Remedy(
    "give the function one signature, and pass tensors instead of Python numbers",
    "@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])",
    slug="one-signature",
)
_MODELS = Remedy(
    "compile a model once and reuse it; forget old models before you build the next",
    "tf.keras.backend.clear_session()",
    slug="clear-session",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings.retraced
    if told is None:
        return
    times, line = told
    for index, _, request in list(requests(case))[:1]:
        failed = request.failed.line
        if failed and failed.source == line.source and failed.number < line.number:
            continue
        warnings = f"{times} warnings" if times > 1 else "a warning"
        named = _NAME.search(line.text)
        of_keras = named is not None and "make_" in named["name"]
        function = f"the tf.function `{named['name']}`" if named and not of_keras else "a tf.function"
        if of_keras:
            function = "Keras's function for a step"
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{function} is traced again and again ({warnings}): each trace keeps its graph",
            because=f"{function} is traced again and again, and each trace keeps its graph",
            evidence=(Evidence("the first warning", line),),
            remedies=(_MODELS if of_keras else _SIGNATURE,),
            moment=index,
        )
