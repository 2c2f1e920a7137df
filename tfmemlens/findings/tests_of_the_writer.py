"""The text tells of a test that its writer made: with one value it fails, with another it does not.

What it means: who changes one thing and sees the failure go has found its cause, or what it hangs on, and no
rule knows better.
When it fires: prose names a setting with two values, of which one fails or grows and the other is fine; or,
beside a message, something without which it is fine, another way in which it does not
happen, or what was changed before it began.
What to do: keep the value that is fine, and look for what the other one needs; else go from one side to the
other, one change at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.contrasted import (
    compared,
    contrasted,
    difference,
    isolated,
    left_out,
    left_out_of_xla,
    without,
)
from tfmemlens.findings.support.prose_advice import OF_APPLE
from tfmemlens.findings.support.rise_with import rise_with
from tfmemlens.findings.support.rows import on_host
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, on_a_mac, situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_AS_IN_KERAS_2 = Remedy(
    "compile without XLA, and compare: Keras 3 compiles the whole step with it unless told otherwise,"
    " which Keras 2 did not, and XLA takes all that the step needs at once, with convolutions of its own"
    " choice; see that mixed precision is set for Keras 3, too",
    "model.compile(..., jit_compile=False)   # or Keras 2: pip install tf_keras; TF_USE_LEGACY_KERAS=1",
    slug="what-differs",
)
BASIS = Basis.NAME
_BATCHES = ("smaller-batch", "gradient-accumulation")
"""What helps against nothing that grows with one value of a setting, and stays with another."""
_OF_THE_DATA = ("map-the-file", "smaller-pipeline")
"""What helps against no setting."""
_FAILED = ("growing in words", "running short", "much memory in words")
EXPLAINS = "none: a test tells what it hangs on, and no bytes"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    failed = case.moments or any(map(told.shows, _FAILED))
    if not failed or situation(case).program:
        return
    if framework_of(case) in (JAX, TORCH_XLA):
        yield from _of_xla(case)
        return
    for says, line, advised in _tests(case):
        yield Finding(
            severity=_severity(case),
            headline=says,
            because=says,
            evidence=(Evidence("what the text says", line),),
            remedies=advised,
            moment=0,
            rules_out=(
                *(_BATCHES if told.shows("growing in words") else ()),
                *(_OF_THE_DATA if isolated(case) else ()),
            ),
        )
        return


def _severity(case: Case) -> Severity:
    """A cause where two ways are compared and the message, if any, tells no size and lists no buffers, which
    would tell more.
    """
    request = case.moments[0].request if case.moments else None
    sized = request is not None and request.needed_bytes is not None
    sized = sized or bool(case.moments and len(case.moments[0].attribution.table))
    return Severity.CAUSE if compared(case) and case.moments and not sized else Severity.FACTOR


def _of_xla(case: Case) -> Iterator[Finding]:
    """What a program of JAX or PyTorch/XLA is fine without, where its writer tried it; before that a setting
    that the text says had another value before.
    """
    line = case.capture.surroundings.shows("jax: another value before")
    match = _WAS.search(line.text) if line else None
    if line and match and case.moments:
        name, was = match["name"] or match["name2"], match["was"] or match["was2"]
        says = f"{line.place} says that `{name}` was {was} before"
        yield Finding(
            severity=Severity.FACTOR,
            headline=says,
            because=says,
            evidence=(Evidence("what the text says", line),),
            remedies=(
                Remedy(
                    f"set `{name}` back to {was}, which it was before ({line.place}), and see whether the run"
                    " fits again: then the two differ in what they hold",
                    slug="what-differs",
                ),
            ),
            moment=0,
        )
        return
    if case.moments and (with_adam := case.capture.surroundings.shows("fails with Adam")):
        yield from _of_the_optimizer(case, with_adam)
        return
    several = case.capture.surroundings.shows("fails with several GPUs")
    if several and case.moments and framework_of(case) == JAX and not on_host(case.moments[0]):
        yield _of_several_devices(case, several)
        return
    aside = without(case)
    if aside is None and case.moments and (both := compared(case)):
        yield Finding(
            severity=_severity(case),
            headline=both.said,
            because=both.said,
            evidence=(Evidence("what the text says", both.line),),
            remedies=(both.remedy,),
            moment=0,
        )
    if aside is None or "batch" in aside[0].lower() or rise_with(case) or not case.moments:
        return
    thing, line = aside
    grows = case.capture.surroundings.shows("growing in words") is not None
    says = f"{line.place} says that it is fine without `{thing}`"
    optimizer = _ACCUMULATES.search(thing) is not None
    if optimizer:
        says += ", which keeps a sum of gradients as large as the weights it trains"
    yield Finding(
        severity=Severity.FACTOR,
        headline=says,
        because=says,
        evidence=(Evidence("what the text says", line),),
        remedies=(_STATE_LIKE_THE_WEIGHTS,) if optimizer else left_out_of_xla(case, thing, line),
        moment=0,
        rules_out=(
            *(_BATCHES if optimizer or grows else ()),
            *(("drop-references",) if optimizer else ()),
            "find-what-grows",
            "tell-which",
        ),
    )


def _of_several_devices(case: Case, line: Line) -> Finding:
    """It runs on one device and fails on several: what is not sharded lies on each of them whole."""
    told, request = case.capture.surroundings, case.moments[0].request
    factored = told.shows("jax: a factorization")
    says = f"it runs on one device and fails on several ({line.place})"
    if factored:
        because = f"{says}, so most likely each of them is given the whole: XLA cannot cut a factorization"
        because += f" ({factored.place}) into parts, and gathers its batch on every device"
    else:
        because = f"{says}, and more of them give no more room for what lies on each whole"
    return Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=request.needed_bytes if request else None,
        evidence=(Evidence("what the text says", line),),
        remedies=(_FACTOR_EACH_SHARD, _SEE_GATHERED) if factored else (_SHARD_STATE, _SEE_GATHERED),
        moment=0,
        rules_out=("smaller-batch", "in-pieces") if factored else (),
    )


_FACTOR_EACH_SHARD = Remedy(
    "let each device factor the matrices that it holds: inside shard_map the call sees its own part alone,"
    " and"
    " nothing is gathered (one matrix that no device can hold needs another algorithm)",
    "f = jax.shard_map(jnp.linalg.svd, mesh=mesh, in_specs=P('d'), out_specs=P('d'))"
    "   # older: jax.experimental.shard_map",
    slug="factor-each-shard",
)
_SHARD_STATE = Remedy(
    "shard weights and optimizer state over the devices (FSDP; an option of most trainers, as openpi's"
    " fsdp_devices): pmap, and a jit of arrays that are not sharded, keep all of them on each, and a batch"
    " that is stated for one device may be meant for all, or for each",
    "params = jax.device_put(params, NamedSharding(jax.make_mesh((n,), ('d',)), P('d')))",
    slug="shard-arguments",
)
_SEE_GATHERED = Remedy(
    "see what each device gets: arguments and temporary buffers of one of them, and whether something is"
    " gathered",
    "c = jax.jit(f).lower(*args).compile(); print(c.memory_analysis(), 'all-gather' in c.as_text())",
    slug="see-the-plan",
)


def _of_the_optimizer(case: Case, line: Line) -> Iterator[Finding]:
    """A leaner optimizer fits, so that neither the batch nor the length decides."""
    shown, request = contrasted(case), case.moments[0].request
    if shown is None:
        return
    yield Finding(
        severity=Severity.CAUSE,
        headline=f"it hangs on {shown.what}",
        because=f"it hangs on {shown.what}, whatever the batch and the length",
        explains=request.needed_bytes if request else None,
        evidence=(Evidence("what the text says", line),),
        remedies=shown.remedies,
        moment=0,
        rules_out=(*_BATCHES, "shorter-sequences"),
    )


_WAS = regex(
    r"\b(?:[Cc]hanged|[Rr]aised|[Ii]ncreased|[Ss]et|[Bb]umped|[Ss]witched)\s+`?(?P<name2>[a-z]\w*_\w{1,40})`?"
    r" from `?(?P<was2>\w[\w.-]{0,30}?)`? to `?\w|"
    r"\b(?P<name>[a-z_]\w{1,40}) ?= ?[`'\"]?\w[\w.-]{0,30}[`'\"]? \((?:it )?(?:was|before|previously"
    r"|formerly|used to be):? [`'\"]?(?P<was>\w[\w.-]{0,30})[`'\"]?\)"
)
_ACCUMULATES = regex(r"\bMultiSteps\b|\bapply_every\b")
_STATE_LIKE_THE_WEIGHTS = Remedy(
    "make the optimizer's state in jit, sharded like the weights: made outside of it, each new array of"
    " zeros may lie whole on the first device; give the step its old state (donate), so that no second one is"
    " made; else keep the sum of gradients in bfloat16, or do without it",
    "opt_state = jax.jit(optimizer.init, out_shardings=shardings)(params)",
    slug="restore-sharded",
)


def _tests(case: Case) -> Iterator[tuple[str, Line, tuple[Remedy, ...]]]:
    if found := isolated(case):
        says, line, advised = found
        of_apple = on_a_mac(case) and "cpu" in says.lower()
        yield says, line, (*advised, OF_APPLE) if of_apple else advised
    if both := case.capture.surroundings.shows("Keras 3 after Keras 2"):
        says = f"{both.place} compares Keras 3 with Keras 2, which compiled no step with XLA by itself"
        yield says, both, () if case.capture.surroundings.setting("jit_compile") else (_AS_IN_KERAS_2,)
    if framework_of(case) is None and case.moments and (ways := compared(case)):
        yield ways.said, ways.line, (ways.remedy,)
    if framework_of(case) != TENSORFLOW:
        return
    if not case.moments or case.capture.surroundings.works_in:
        return  # texts without a message have rules that say it
    with_adam = case.capture.surroundings.shows("fails with Adam")
    if with_adam and (shown := contrasted(case)):
        yield f"it hangs on {shown.what}", with_adam, shown.remedies
    if aside := left_out(case):
        yield f"the text says that it is fine without it: {aside.what}", aside.line, aside.remedies
    if (differs := difference(case)) and not differs.suspects:
        yield differs.said, differs.line, (differs.remedy,)
