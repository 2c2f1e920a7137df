"""Lines of Python that keep results or models in a list, as programs and tracebacks quote them."""

from __future__ import annotations

from tfmemlens.patterns import regex

__all__ = [
    "collects_results",
    "holds_weights",
    "keeps_a_number",
    "keeps_each_result",
    "keeps_model",
    "keeps_whole_states",
    "list_that_keeps",
]

_KEEPS = regex(
    r"(?<![\w.])(?P<name>[A-Za-z_][\w.]{0,200})(?:\[[^\[\]]{0,200}\])?"
    r"(?:\.(?:append|extend|appendleft)\(|\s{0,9}\+=\s{0,9}[\[(]"
    r"|\s{0,9}=\s{0,9}(?P=name)\s{0,9}\+\s{0,9}[\[(])(?P<what>[^#\n]{0,400})"
)
_COMPREHENDS = regex(
    r"(?:(?P<name>[A-Za-z_][\w.]{0,60})\s{0,9}=\s{0,9})?"
    r"\[\s{0,9}(?P<what>[A-Za-z_][\w.]{0,200}\([^\[\]]{0,200}\)) for [\w, ]{1,40} in"
    r" (?:(?:tqdm(?:\.\w{1,20})?|enumerate|zip)\(\s{0,4})?"
    r"(?:range\(|\w{0,40}(?:batch|dataset|loader|chunks|(?:\b|_)ds\b|(?:\b|_)gen(?:erator)?\b))"
)
"""`[model(x, training=True) for _ in range(100)]`: as many results as turns."""
_CALLS = regex(r"\A[(\s\[]{0,9}[A-Za-z_][\w.]{0,200}\(")
_OFF_THE_DEVICE = regex(
    r"\A[(\s\[]{0,9}(?:float|int|str|len|round|(?:np|numpy)\.\w{1,40})\("
    r"|\.(?:numpy|item|tolist|result|predict\w{0,40}|evaluate|fit\w{0,40}|run|eval)\(|float\(|device_get\("
)
"""What leaves the device before it is kept, or never was on it."""


def list_that_keeps(code: str) -> str | None:
    """`losses` of `losses.append(loss)`, `losses += [loss]` and `losses = losses + [loss]`; None for a line
    that adds to no list, or that keeps numbers of Python only, as in `losses.append(float(loss))`.
    """
    keeps = _KEEPS.search(code)
    return keeps["name"] if keeps and not _OFF_THE_DEVICE.search(keeps["what"]) else None


_NUMBER = regex(
    r"\A[(\s\[]{0,9}(?:\w{0,40}_)?(?:loss|losses|acc|accuracy|metric|metrics|lr|step|epoch|reward"
    r"|score|time)\d?\s{0,9}[)\]]"
)


def keeps_a_number(code: str) -> bool:
    """Whether what a line adds to a list is one number by its name, as in `losses.append(loss)`: the least of
    what a program keeps.
    """
    keeps = _KEEPS.search(code)
    return bool(keeps and _NUMBER.match(keeps["what"]))


def keeps_each_result(code: str) -> str | None:
    """The list to which a line adds what a call returns, `""` for a list that it makes of many calls; None
    where it adds no call's result, or where that does not stay on the device.
    """
    keeps = _COMPREHENDS.search(code) or _KEEPS.search(code)
    if not keeps or not _CALLS.match(keeps["what"]) or _OFF_THE_DEVICE.search(keeps["what"]):
        return None
    return keeps.groupdict().get("name") or ""


_COLLECTS = regex(
    r"\A\s*(?:(?P<name>[A-Za-z_][\w.]{0,60})\s*=\s*|return\s+)?(?:[\w.]{1,20}\(\s*)?"
    r"(?:(?:list|tuple)\(\s*(?P<made>[\w.]{1,80}\.predict\([^\n]{0,200})"
    r"|\[\s*(?P<each>[A-Za-z_]\w{0,40})(?:\[['\"][^'\"\n]{0,60}['\"]\])? for (?P=each) in\s+"
    r"(?P<of>[\w.]{1,80}\.predict\([^\n]{0,200})"
    r"|\[\s*(?P<ran>[\w.]{1,80}\.(?:run|predict_on_batch)\([^\n]{0,160}) for )"
)
"""Code that holds on to each result of many runs: `list(net.predict(input_fn))`, of an Estimator, whose
predictions come one by one, `[p["x"] for p in net.predict(...)]`, `[sess.run(y, feed) for feed in feeds]`.
"""


def collects_results(code: str) -> tuple[str, str] | None:
    """The name under which a line keeps the results of all runs, empty where it has none, and whose they
    are: `("predictions", "net.predict")`.
    """
    found = _COLLECTS.search(code)
    if found is None:
        return None
    call = found["made"] or found["of"] or found["ran"]
    return found["name"] or "", call.partition("(")[0]


_HOLDS_WEIGHTS = regex(
    r"(?i)(?:\A|[._])(?:all_|old_|saved_|kept_)?"
    r"(?:params?|weights?|ensembles?|members?|models?|networks?|snapshots?"
    r"|teachers?|checkpoints?|ema|swa|state_dicts?|variables|population)(?:_\w+)?(?:\[|\Z)"
)


def holds_weights(name: str) -> bool:
    """Whether a container is called after weights: an ensemble, snapshots, a model's parameters."""
    return bool(_HOLDS_WEIGHTS.search(name))


_STATE = regex(
    r"\bnnx\.(?:state|split)\(|(?<![.\w])(?:train_?state|state|params?|opt_state|variables|model"
    r"|weights)(?![.\w(])"
)
_CALL = regex(
    r"(?<![\w.])(?!nnx\.(?:state|split)\(|(?:copy\.)?(?:deep)?copy\(|tuple\("
    r"|dict\()[\w.]{1,80}\([^()]{0,300}\)"
)
"""A call that makes something else of what it is given."""


def keeps_whole_states(code: str) -> bool:
    """Whether a line adds a model's state to a list: `states.append((acc, state))`, and neither
    `accs.append(evaluate(state))` nor `steps.append(state.step)`.
    """
    keeps = _KEEPS.search(code)
    return bool(keeps and _STATE.search(_CALL.sub("", keeps["what"])))


_A_MODEL = regex(r"(?i)(?:append|add)\(\s{0,9}\w{0,40}(?:model|net|clf)\b|=\s{0,9}\w{0,40}model\b")


def keeps_model(code: str) -> bool:
    """Whether a line puts a model where it is kept: `models.append(model)`, `registry[name] = model`."""
    return bool(_A_MODEL.search(code))


OF_A_LAYER = frozenset(
    {"call", "__call__", "build", "forward", "apply", "build_model", "create_model", "make_model", "__init__"}
)
"""Functions in which a list takes the parts of a network, each once."""
