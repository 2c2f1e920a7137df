"""Lines of Python that keep results in a list, as programs and tracebacks quote them."""

from __future__ import annotations

from tfmemlens.patterns import regex

__all__ = ["keeps_whole_states", "list_that_keeps"]

_KEEPS = regex(
    r"(?<![\w.])(?P<name>[A-Za-z_][\w.]{0,200})(?:\[[^\[\]]{0,200}\])?"
    r"(?:\.(?:append|extend|appendleft)\(|\s{0,9}\+=\s{0,9}[\[(]"
    r"|\s{0,9}=\s{0,9}(?P=name)\s{0,9}\+\s{0,9}[\[(])(?P<what>[^#\n]{0,400})"
)
_AS_NUMBERS = regex(
    r"\A\s*(?:float|int|str|len|np\.\w{1,40}|round)\(|\.(?:numpy|item|tolist|result)\(|float\(|device_get\("
)
"""What leaves the device before it is kept."""


def list_that_keeps(code: str) -> str | None:
    """`losses` of `losses.append(loss)`, `losses += [loss]` and `losses = losses + [loss]`; None for a line
    that adds to no list, or that keeps numbers of Python only, as in `losses.append(float(loss))`.
    """
    keeps = _KEEPS.search(code)
    return keeps["name"] if keeps and not _AS_NUMBERS.search(keeps["what"]) else None


_STATE = regex(
    r"\bnnx\.(?:state|split)\(|(?<![.\w])(?:train_?state|state|params?|opt_state|variables|model|weights)(?![.\w(])"
)
_CALL = regex(
    r"(?<![\w.])(?!nnx\.(?:state|split)\(|(?:copy\.)?(?:deep)?copy\(|tuple\(|dict\()[\w.]{1,80}\([^()]{0,300}\)"
)
"""A call that makes something else of what it is given."""


def keeps_whole_states(code: str) -> bool:
    """Whether a line adds a model's state to a list: `states.append((acc, state))`, and neither
    `accs.append(evaluate(state))` nor `steps.append(state.step)`.
    """
    keeps = _KEEPS.search(code)
    return bool(keeps and _STATE.search(_CALL.sub("", keeps["what"])))
