"""What to do, best first: the remedies of all findings, each once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.batch_bound import batch_bound
from tfmemlens.findings.support.contrasted import BOTH_WAYS, WHAT_ENDED_IT
from tfmemlens.findings.support.ranking import LEAST_OF_A_FACTOR, whole_bytes
from tfmemlens.findings.support.rows import device_limit
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, has_one_card
from tfmemlens.findings.support.sufficiency import both_at_once, enough_first, shortfall
from tfmemlens.findings.support.tried import SAMPLES, tried_in_vain
from tfmemlens.findings.support.verdict import what_it_is
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Action, Basis, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human, human_size
from tfmemlens.values import replace


def merged(case: Case, findings: Sequence[Finding]) -> tuple[Action, ...]:
    """The actions of the moment that matters most: a remedy that several rules advise is one action of all of
    them, where the first of them stands and in its words, or in those of the rule that knows what the
    request is. The order is that of the findings, which are ranked by what they explain, and within a finding
    that of its rule: what ends the cause comes before what saves more by the way. Where the first finding
    only says that no device holds the request, one that makes it go away altogether goes before. What
    buys nothing or next to nothing is left out, what was tried in vain is last, and what cannot be enough
    gives way to what may be. What the text itself says ended it goes before all, as does a setting with
    which it says that it works, and an earlier process that it says still holds memory before what is said
    of this one.
    """
    ours = [finding for finding in findings if finding.moment == 0]
    particular = what_it_is(case, ours)
    if particular and _goes_away(case, particular):
        ours = [particular, *(each for each in ours if each is not particular)]
    if framework_of(case) in (TENSORFLOW, None):
        ours = _said_first(ours)
    else:
        ours.sort(key=lambda each: each.rule != _TESTS[1])
    in_its_words = {each.change or each.text: each for each in particular.remedies} if particular else {}
    advised: dict[str, tuple[Remedy, list[str]]] = {}
    for finding in ours:
        before = _things(each for each, _ in advised.values())
        for remedy in finding.remedies:
            known = remedy.change or remedy.text
            if known not in advised and _thing(remedy) in before:
                continue  # the same in other words
            remedy, rules = advised.setdefault(known, (in_its_words.get(known, remedy), []))
            if finding.rule not in rules:
                rules.append(finding.rule)
    actions = _one_way_to_know_more([Action(remedy, tuple(rules)) for remedy, rules in advised.values()])
    actions = [action for action in actions if not _puts_the_end_off(action, ours)]
    if _is_named_by_the_program(case, ours):
        actions = [action for action in actions if action.remedy.slug not in _TELLING_MORE] or actions
    if any(action.remedy.slug not in _ONLY_LOOKING for action in actions):
        actions = [action for action in actions if action.remedy.slug != BOTH_WAYS]
    if _says_what_to_change(case, ours, actions):
        actions = [action for action in actions if action.rules != (_NOT_LISTED,)]
    if has_one_card(case):
        actions = [action for action in actions if action.remedy.slug not in _OVER_DEVICES] or actions
    short = shortfall(case, case.moments[0]) if case.moments else None
    least = LEAST_OF_A_FACTOR * whole_bytes(case, case.moments[0]) if case.moments else 0
    tried = tried_in_vain(case)
    actions = [action for action in actions if not _buys_nothing(action, least)] or actions
    actions.sort(key=lambda action: action.remedy.slug in tried and _PATCHES not in action.remedy.text)
    actions = [_with_most(case, _kept(case, _with_known_batch(case, action))) for action in actions]
    actions = list(enough_first(_with_the_constant(case, ours, actions), short))
    if _is_free_at_start(case):
        actions = [action for action in actions if not _guesses_at_others(action)] or actions
    if any(each.rule == _SHOW_OTHERS[0] for each in ours):
        actions.sort(key=lambda action: action.remedy.slug == _SUSPECTED)
    if _holds_it_itself(case):
        actions.sort(key=lambda action: action.remedy.slug in _OF_OTHERS)
        actions = [_set_back(action, _OWN_POOL) for action in actions]
    if any(each.rule == _LARGE_SAMPLE for each in ours):
        actions = list(both_at_once(case, actions))
    held = case.capture.surroundings.shows("held by an earlier run") is not None
    actions.sort(key=lambda each: (each.remedy.slug != WHAT_ENDED_IT, held and each.remedy.slug != _END_IT))
    if not any(each.severity is Severity.CAUSE and each.share >= _MOST for each in ours):
        actions.sort(key=lambda each: each.remedy.slug not in (WHAT_ENDED_IT, _AS_ADVISED))
    if _late_bystander(case, ours) and not any(each.remedy.slug in _OF_BUFFERS for each in actions):
        actions.sort(key=lambda each: each.remedy.slug != "find-what-grows")
    actions.sort(key=lambda each: not each.remedy.text.startswith(_CONTRADICTED))
    actions.sort(key=lambda each: IDLE not in each.remedy.text)
    actions.sort(key=lambda each: not (short and _lets_go_of_enough(each.remedy, short.missing.high)))
    actions.sort(key=lambda each: each.remedy.slug != "setting-that-works")
    if any(each.remedy.slug == "recompute" for each in actions):
        actions.sort(key=lambda each: _BATCH_OF_ONE in each.remedy.text)
    actions = _sides_before_a_few(case, _batch_before_images(case, actions, tried))
    actions = _same_results_first(actions, ours, tried)
    actions = _without_it_first(actions, ours, tried)
    if other := _named_process(case):
        actions.sort(key=lambda each: _SHARED not in each.rules or each.remedy != _first_of(ours, _SHARED))
        actions = [_with_place(each, other) for each in actions]
    return tuple(actions)


def _lets_go_of_enough(remedy: Remedy, missing: int) -> bool:
    """Whether it frees what was missing and takes nothing away: models that nothing reads any more."""
    return remedy.slug == "drop-models" and (remedy.saves_bytes or 0) >= missing


_AS_ADVISED = "as-advised"
_OF_AN_IMAGE = regex(
    r"(?i)\A(?:lower|halve) `[^`]{0,30}(?:im(?:g|age)|resol|height|width|crop|size"
    r"|channels|filters|units|hidden|features)[^`]{0,20}`"
)
_FEW = 4


def _batch_before_images(case: Case, actions: list[Action], tried: frozenset[str]) -> list[Action]:
    """The same with a smaller batch before smaller images where both are settings of the program, as a batch
    changes no result; a batch of less than four leaves little to halve.
    """
    if not actions or _KNOB not in actions[0].rules or not _OF_AN_IMAGE.search(actions[0].remedy.text):
        return actions
    fewer = next((each for each in actions if each.remedy.slug == "smaller-batch"), None)
    batch = remedies.batch_of(case, case.moments[0]) if case.moments else None
    if fewer is None or "smaller-batch" in tried or not batch or batch < _FEW:
        return actions
    return [fewer, *(each for each in actions if each is not fewer)]


_OF_SIDES = ("smaller-input", "shorter-sequences", "lower-setting", "lower-constant", "attention-later")
_A_SETTING = regex(r"(?i)\A(?:(?:lower|halve) `|take [^`]{1,30} out of `)")


def _sides_before_a_few(case: Case, actions: list[Action]) -> list[Action]:
    """The same with smaller samples first, by a setting of the program, where by the guess of what is to come
    not even a batch of one fits; a smaller batch goes with it.
    """
    if not actions or not case.moments or actions[0].remedy.slug != "smaller-batch":
        return actions
    batch = remedies.batch_of(case, case.moments[0])
    bound = batch_bound(case, case.moments[0])
    if not batch or bound is None or not bound.leaves_none(batch):
        return actions
    sides = (each for each in actions if each.remedy.slug in _OF_SIDES and _A_SETTING.match(each.remedy.text))
    smaller = next(sides, None)
    if smaller is None:
        return actions
    first = bound.start(batch)
    too = (
        f"; and the batch with it, {batch} -> {first}: by a guess neither is enough alone"
        if batch > 1
        else ""
    )
    both = Action(replace(smaller.remedy, text=f"{smaller.remedy.text}{too}"), smaller.rules)
    return [both, *(each for each in actions if each is not smaller)]


def _said_first(ours: list[Finding]) -> list[Finding]:
    """The same with what the text itself says before what rules know: its writer's own test, then the setting
    that makes the tensor, unless a rule names that setting, or what each step keeps fills the device.
    """
    tests = [each for rule in _TESTS for each in ours if each.rule == rule]
    knobs = [each for each in ours if each.rule == _KNOB and not _is_named(each, ours)]
    rest = [each for each in ours if each.rule not in (*_TESTS, _KNOB)]
    keeps = bool(rest) and rest[0].rule in _GROWING and bool(rest[0].remedies)
    return [*tests, *rest, *knobs] if keeps else [*tests, *knobs, *rest]


def _same_results_first(
    actions: list[Action], ours: Sequence[Finding], tried: frozenset[str]
) -> list[Action]:
    """The same with what leaves every result as it is before what makes a sample or a batch smaller, where it
    is the remedy of the cause that explains most, and much.
    """
    causes = [each for each in ours if each.rule not in (*_TESTS, _KNOB)]
    if not causes or causes[0].severity is not Severity.CAUSE:
        return actions
    first = causes[0] if causes[0].rule != _TOO_LARGE else next(filter(_is_as_free, causes), causes[0])
    if not first.remedies:
        return actions
    remedy = first.remedies[0]
    most = max((each.explains or 0 for each in ours if each.rule == _KNOB), default=0)
    if remedy.slug not in _SAME_RESULTS or first.share < _MUCH_OF_IT or (first.explains or 0) < most:
        return actions
    ahead = next((each for each in actions if each.remedy.slug not in _SHRINKING), None)
    if ahead is None or ahead.remedy.slug != remedy.slug or remedy.slug in tried:
        return actions
    return [ahead, *(each for each in actions if each is not ahead)]


_TOO_LARGE = "request-larger-than-device"
"""What says that one tensor is too large, and leaves to others how it is made."""


_SPARES_IT = ("unstack-once", "rows-times-numbers", "thin-factors", "broadcast-instead")
"""What makes the same numbers, and the tensor never."""


def _is_as_free(finding: Finding) -> bool:
    """Whether a cause tells of what makes the tensor, and how the same is made without it."""
    makes_none = bool(finding.remedies) and finding.remedies[0].slug in _SPARES_IT
    return finding.severity is Severity.CAUSE and makes_none


def _without_it_first(actions: list[Action], ours: Sequence[Finding], tried: frozenset[str]) -> list[Action]:
    """The same with what looks a short row up instead of making a dense one, before a smaller batch, where
    the dense rows are larger than the device: a batch that fits hides that nobody needs them.
    """
    causes = {each.rule for each in ours if each.severity is Severity.CAUSE and each.share >= 1}
    instead = next((each for each in actions if each.remedy.slug in _INSTEAD_OF_ROWS), None)
    smaller = bool(actions) and actions[0].remedy.slug == "smaller-batch"
    if not smaller or instead is None or instead.remedy.slug in tried or not causes & {*instead.rules}:
        return actions
    return [instead, *(each for each in actions if each is not instead)]


_INSTEAD_OF_ROWS = ("embed-the-feature",)
_SHRINKING = ("smaller-batch", "lower-constant", "lower-setting", "smaller-input", "shorter-sequences")
_SAME_RESULTS = frozenset(
    """
    clear-session clip-per-variable compile-once compile-the-forward data-on-the-host data-out-of-the-graph
    distances-by-product drop-models drop-references drop-results dual-form evaluation-in-batches
    finalize-graph hessian-products in-batches integer-ids integer-labels join-once keep-numbers
    keep-off-the-device keep-the-slices load-once look-up-by-index make-once matrix-product no-jacobian
    no-kept-tape no-persistent-tape one-function one-product ops-once outside-the-tape pass-as-argument
    penalty-on-rows plain-tapes project-before-gather sparse-labels sparse-labels-alone sparse-product
    sparse-updates stay-sparse stop-recording sum-as-you-go sum-in-the-product tape-inside-loop
    tape-per-part unstack-once rows-times-numbers thin-factors broadcast-instead number-the-ids not-trainable
    """.split()
)
"""What makes the same numbers with less memory."""
_MUCH_OF_IT = 0.3


def _is_named(knob: Finding, ours: Sequence[Finding]) -> bool:
    """Whether another rule advises to lower the same setting, and not for its number alone."""
    name = knob.headline.partition("` (")[0] + "`" if knob.headline.startswith("`") else None
    others = (remedy.text for each in ours if each.rule not in (_KNOB, _SIZES) for remedy in each.remedies)
    return name is not None and any(name in text for text in others)


_BATCH_OF_ONE = "the batch is 1 already: "
"""How it begins where no batch is smaller: what is left is the input or the model, after all else."""
IDLE = "says that the GPU does nothing"
"""How the remedy of a GPU that is not used says what the text says."""
_TESTS, _KNOB = ("release-that-works", "tests-of-the-writer"), "setting-of-this-size"
_SIZES = "sizes-of-the-text"


_CONTRADICTED = "the message begins with"
"""How it begins that the failed shape contradicts what the text says is set."""


_RAISED = "raise `"
"""How it begins where a constant is far too small: no batch is at fault."""
_NAMED = regex(r"`(?:[^`]{0,80}\.)?(\w{1,60})`")
_MAKE_NONE = (
    *("look-up-by-index", "matrix-product", "sparse-labels-alone", "integer-ids"),
    *("sum-in-the-product", "the-shorter-side", "look-up-first", "repeat-the-output"),
    "reduce-before-resizing",
    *_SPARES_IT,
)
"""What leaves nothing of the tensor, or makes the same numbers without it."""


def _with_the_constant(case: Case, ours: Sequence[Finding], actions: Sequence[Action]) -> list[Action]:
    """The same with a constant of the program, which a chain from the failing line leads to, first; behind a
    smaller batch where that leaves more than one sample, as it changes no network, and behind what leaves
    nothing of the tensor, or ends what grows from step to step, unless the failing line itself makes that.
    """
    constant = next((each for each in actions if each.remedy.slug == "lower-constant"), None)
    if constant is None or not case.moments:
        return list(actions)
    rest = [each for each in actions if each is not constant]
    if (none := next((each for each in rest if each.remedy.slug in _MAKE_NONE), None)) is not None:
        return [none, constant, *(each for each in rest if each is not none)]
    if rest and (_KNOB in rest[0].rules or _grows_elsewhere(case, ours)):
        return [rest[0], constant, *rest[1:]]
    batch = remedies.batch_of(case, case.moments[0])
    bound = batch_bound(case, case.moments[0])
    fewer = next((each for each in rest if each.remedy.slug == "smaller-batch"), None)
    odd = constant.remedy.text.startswith(_RAISED)
    if fewer and batch and bound and bound.start(batch) > 1 and not odd:
        return [fewer, constant, *(each for each in rest if each is not fewer)]
    return [constant, *rest]


def _grows_elsewhere(case: Case, ours: Sequence[Finding]) -> bool:
    """Whether the first finding is of what the program keeps of each step, by a name that does not stand in
    the failing line.
    """
    first, request = next(iter(ours), None), case.moments[0].request
    if first is None or first.rule not in _GROWING or request is None:
        return False
    names = _NAMED.findall(first.headline)
    return not any(re.search(rf"\b{name}\b", request.failed.source_text or "") for name in names)


def _with_known_batch(case: Case, action: Action) -> Action:
    """The same with the batch that the text says goes well, whichever rule advises a smaller one."""
    if action.remedy.slug != "smaller-batch" or not case.moments:
        return action
    known = remedies.working_batch(case, case.moments[0])
    return Action(known, action.rules) if known else action


_QUADRATIC = "half the length takes about a quarter"


def _with_most(case: Case, action: Action) -> Action:
    """The same with the part of the length that has room, where not even half of it has."""
    request = case.moments[0].request if case.moments else None
    limit = device_limit(case, case.moments[0]) if request else None
    need = request.needed_bytes if request else None
    if _QUADRATIC not in action.remedy.text or not (need and limit and limit.bytes):
        return action
    share = math.sqrt(limit.bytes / need)
    if share >= _HALF:
        return action
    most = (
        f"; {human_size(limit)} has room for about {share:.0%} of this length at the most, as far as all of"
        f" the {human(need)} grows so"
    )
    return Action(replace(action.remedy, text=action.remedy.text + most), action.rules)


_HALF = 0.5


def _set_back(action: Action, why: str) -> Action:
    """The same with a word why it does not come first, where it is of other programs."""
    if action.remedy.slug not in _OF_OTHERS:
        return action
    text = action.remedy.text.removeprefix("first ")
    return Action(replace(action.remedy, text=f"{text} ({why})"), action.rules)


_OWN_POOL = "most likely none does: this program's own pool has nearly all of it"


_PATCHES = "make it smaller, or train on patches"


def _kept(case: Case, action: Action) -> Action:
    """The same with a word why it comes last, where the text says that the batch or the samples must stay;
    patches keep what is on an image as large as it is.
    """
    sample = case.capture.surroundings.shows("a sample that must stay")
    if sample and action.remedy.slug in SAMPLES:
        stays = f"{sample.place} says that the size must stay"
        text = action.remedy.text
        if _PATCHES in text:
            text = text.replace(_PATCHES, f"{stays}: train on patches", 1)
        else:
            text = f"{text}, though {stays}"
        return Action(replace(action.remedy, text=text), action.rules)
    line = case.capture.surroundings.shows("a batch that must stay")
    if line is None or action.remedy.slug != "smaller-batch" or "keeps the effective" in action.remedy.text:
        return action
    text = f"{action.remedy.text}, though {line.place} says that it must stay"
    return Action(replace(action.remedy, text=text), action.rules)


_OF_OTHERS = ("see-device-users", "end-the-process", "close-other-programs")
_SHOW_OTHERS = ("device-held-by-others", "processes-on-one-device", "process-left-behind", "smaller-pool")
"""Rules that advise it by what the text shows of others, and not as a guess."""
_SUSPECTED = "check-the-matrix"
"""What may be larger than its author thought: behind others, of whose device only a part is left."""
_AS_GOOD_AS_FREE = 0.9


def _is_free_at_start(case: Case) -> bool:
    """Whether TensorFlow logged, as it began, that nearly all of each GPU was free: nobody else had it."""
    told = case.capture.surroundings
    if told.shows("sharing the device") or told.device_uses:
        return False
    known = [(each.free, each.total) for each in told.devices if each.free and each.total]
    return bool(known) and all(free.low >= _AS_GOOD_AS_FREE * total.high for free, total in known)


def _guesses_at_others(action: Action) -> bool:
    """Whether it looks for other programs without a sign of them."""
    return action.remedy.slug in _OF_OTHERS and not set(action.rules) & {*_SHOW_OTHERS}


_NEARLY, _OF_ITS_GPU = 0.8, 0.85


def _holds_it_itself(case: Case) -> bool:
    """Whether the program's own pool is nearly full and has nearly all of its GPU: others have little."""
    told, moment = case.capture.surroundings, case.moments[0] if case.moments else None
    if moment is None or told.shows("sharing the device") or len(told.devices) > 1:
        return False
    balance = moment.balance
    limit = balance.limit or next((each.limit for each in told.devices if each.limit), None)
    totals = [each.total for each in (*told.named_devices, *told.devices) if each.total]
    if limit is None or not limit.bytes:
        return False
    of_driver = moment.request is not None and moment.request.failed.kind is RequestKind.DRIVER
    full = balance.in_use is not None and balance.in_use.bytes >= _NEARLY * limit.bytes
    whole = bool(totals) and limit.bytes >= _OF_ITS_GPU * min(each.low for each in totals)
    return (full and (whole or (not totals and limit.bytes >= GIB))) or (of_driver and whole)


_LARGE_SAMPLE = "one-large-sample"
_OVER_DEVICES = ("shard-arguments", "shard-the-batch")
_END_IT = "see-device-users"
_SHARED = "processes-on-one-device"
_ANOTHER = regex(
    r"(?i)\b(?:another|second|other) (?:[\w-]{1,20} ){0,2}(?:notebook|kernel|process|job|run|script)\b"
)


def _named_process(case: Case) -> Line | None:
    """The line in which the text names another process on the same GPU."""
    line = case.capture.surroundings.shows("sharing the device")
    return line if line and case.moments and _ANOTHER.search(line.text) else None


_MANY_EPOCHS = 10
_OF_BUFFERS = ("smaller-shuffle", "shuffle-files", "cache-to-file")
"""What helps against a buffer that the program names, before anything is looked for."""


def _late_bystander(case: Case, ours: Sequence[Finding]) -> bool:
    """Whether so small a request failed after so many epochs went well that something grows, most likely."""
    request = case.moments[0].request if case.moments else None
    if request is None or not {"failing-op-is-a-bystander", "growth-between-steps"} <= {
        each.rule for each in ours
    }:
        return False
    at = case.capture.surroundings.progress_before(request.failed.line)
    return at is not None and (at.epoch or 0) >= _MANY_EPOCHS


def _first_of(ours: Sequence[Finding], rule: str) -> Remedy | None:
    return next((each.remedies[0] for each in ours if each.rule == rule and each.remedies), None)


def _with_place(action: Action, other: Line) -> Action:
    """The same with the line that names the process, where it is to end one."""
    if _SHARED not in action.rules or not action.remedy.text.startswith("end the processes"):
        return action
    text = action.remedy.text.replace(
        "the processes that you do not need", f"the other process that {other.place} names", 1
    )
    return Action(replace(action.remedy, text=text), action.rules)


_GROWING = ("held-by-python", "kept-by-a-loop", "models-kept", "retraced-functions")
"""Rules of what a program keeps, and of which each step adds more."""
_KEPT_ELEMENTS = ("cache-to-file", "shuffle-files")
"""What ends a pipeline's keeping of more and more elements."""
_MOST, _LITTLE, _A_LINE_S = 0.5, 0.1, 0.2


def _puts_the_end_off(action: Action, ours: Sequence[Finding]) -> bool:
    """Whether it is of the step alone and saves little, if anything is known of it, beside what the program
    keeps of every step until the device is full: the next steps fill that, too.
    """
    first, saves = ours[0] if ours else None, action.remedy.saves_bytes or 0
    if first is None or not first.remedies:
        return False
    if first.rule not in _GROWING and first.remedies[0].slug not in _KEPT_ELEMENTS:
        return False
    if action.remedy.slug in (WHAT_ENDED_IT, _END_IT):
        return False
    of_the_step = not any(rule in (*_GROWING, first.rule) for rule in action.rules)
    return of_the_step and first.share >= _MOST and saves < _LITTLE * (first.explains or 0)


def _is_named_by_the_program(case: Case, ours: Sequence[Finding]) -> bool:
    """Whether the first finding says what most of the memory is, in a program that was read: another run
    tells no more of it.
    """
    first = ours[0] if ours else None
    if first is None or first.severity is not Severity.CAUSE or first.basis not in _SURE:
        return False
    much = first.share >= (_A_LINE_S if first.of_code else _MOST)
    return much and len(first.remedies) > 1 and bool(case.capture.surroundings.program())


def _says_what_to_change(case: Case, ours: Sequence[Finding], actions: Sequence[Action]) -> bool:
    """Whether a cause is told, and something to change: how to learn which layers hold the rest helped nobody
    there (of ten such actions in a blind round none was judged useful); `--full` still has it.
    """
    if case.capture.live_model is not None or not ours:
        return False
    if ours[0].severity is not Severity.CAUSE and ours[0].rule not in _TELLING_A_USER:
        return False
    return any(action.remedy.slug not in _ONLY_LOOKING for action in actions)


_NOT_LISTED = "report-not-enabled"
_TELLING_A_USER = ("request-alone", "models-kept")
"""Rules that are sure of no cause, and say what the memory is for."""
_SURE = (Basis.MEASURED, Basis.TRACED, Basis.SHAPE)
_TELLING_MORE = ("read-the-log", "record-a-step", "dump-file", "list-tensors")
"""What changes nothing, and tells more of the next failure."""
_ONLY_LOOKING = (
    BOTH_WAYS,
    *_TELLING_MORE,
    "ask-what-is-in-use",
    "find-the-growth",
    "find-what-grows",
    "list-arguments",
    "read-the-analysis",
    "see-device-users",
    "see-real-use",
    "see-the-plan",
    "shapes-without-running",
    "tell-which",
)
"""What changes nothing."""


def _goes_away(case: Case, finding: Finding) -> bool:
    """Whether the first thing to do leaves nothing of the request."""
    request = case.moments[0].request
    need = request.failed.tensor_bytes if request else None
    saves = finding.remedies[0].saves_bytes if finding.remedies else None
    return bool(need and saves and saves >= need)


def _one_way_to_know_more(actions: list[Action]) -> list[Action]:
    """Beside something to change one way to know more is enough, after it, unless the first rule says that
    nothing else helps before.
    """
    more = [action for action in actions if action.remedy.slug in _TELLING_MORE]
    if actions and actions[0] in more:
        return [action for action in actions if action not in more[1:] or len(more) == len(actions)]
    return [
        *(action for action in actions if action not in more),
        *(more[:1] if len(more) < len(actions) else more),
    ]


_IN_PARTS = ("in-blocks", "in-pieces", "in-batches", "one-batch-at-a-time", "smaller-prediction-batch")
"""Ways to do a thing in parts: what one rule says of it another need not say again."""
_COVERS = {"in-batches": ("smaller-evaluation-batch",)}
"""What a remedy does by the way, so that another need not ask for it."""
_NARROWER = ("smaller-model", "narrower-layer", "smaller-vocabulary")
"""Ways to have fewer weights."""
_BATCHES = ("smaller-batch", "batch-for-the-block")
"""Ways to have a smaller batch."""
_NUMBERS = ("reduce-parts", "keep-numbers")
"""Ways to keep less of each iteration."""
_SHORTER = ("shorter-sequences", "truncate")
"""Ways to have a loop keep fewer iterations."""


def _things(remedies: Iterable[Remedy]) -> set[str]:
    done = set()
    for remedy in remedies:
        done |= {_thing(remedy), *_COVERS.get(remedy.slug, ())}
    return done


def _thing(remedy: Remedy) -> str:
    """What a remedy does, however a rule words it; of one without a slug its words."""
    alike = next(
        (slugs for slugs in (_IN_PARTS, _SHORTER, _NARROWER, _BATCHES, _NUMBERS) if remedy.slug in slugs),
        None,
    )
    return alike[0] if alike else remedy.slug or remedy.text


_OF_ONE = 0.02
"""What a saving of one tensor alone is held to: hardly any net has fifty alike."""


def _buys_nothing(action: Action, least: float) -> bool:
    """Whether it saves next to nothing; one tensor's saving says nothing of all that are alike."""
    saves = action.remedy.saves_bytes
    least *= _OF_ONE if action.remedy.of_one_tensor else 1
    return saves is not None and saves <= least
