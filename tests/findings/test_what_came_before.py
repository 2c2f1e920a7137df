"""What a post of JAX says of calls before the failure, of another release, and of another optimizer."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens import pipeline

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
STEP = '  File "/home/u/train.py", line 129, in train_epoch\n    state, m = train_step(state, batch)\n'


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("The script gives an out of memory error a few calls in.", True),
        ("It fails three runs in.", True),
        ("It has a few calls in a loop, and fails.", False),
        ("It fails in the first call.", False),
    ],
)
def test_some_calls_went_well(said: str, named: bool) -> None:
    text = f"{said}\n{STEP}{ASKED} 2147483648 bytes.\n"
    assert ("it went well in earlier calls (line 1)" in explained(text).verdict) is named


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("But if a call errors without being handled, it is not: the GPU fills up.", True),
        ("How do I free what was allocated by the call that crashed?", True),
        ("The call errors, and I do not know why.", False),
    ],
)
def test_a_call_with_an_error_keeps_its_arrays(said: str, named: bool) -> None:
    text = f"import jax\n{said}\n{ASKED} 6442450944 bytes.\n"
    assert ("the frames of its traceback keep their arrays" in explained(text).verdict) is named
    assert ("sys.last_traceback" in first(text)) is named


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Since the 0.4.35 release the jax kernel runs out of memory; 0.4.34 is fine.", True),
        ("Since the 2.35 release the jax kernel runs out of memory; 2.34 is fine.", False),
        ("The jax kernel runs out of memory; 0.4.34 is fine.", False),
    ],
)
def test_two_releases_of_jax_without_its_name(said: str, named: bool) -> None:
    assert ("jax 0.4.34 works" in explained(f"{said}\n{ASKED} 6442450944 bytes.\n").verdict) is named


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("With SGD I get to a sequence length of 4k. With AdamW I can't train at all.", True),
        ("With AdamW I get to a sequence length of 4k.", False),
    ],
)
def test_a_leaner_optimizer_that_fits_tells_what_it_hangs_on(said: str, named: bool) -> None:
    text = f"flax, a full fine-tune.\n{said}\n{ASKED} 6442450944 bytes.\n"
    assert ("it hangs on the state of the optimizer" in explained(text).verdict) is named
    assert ("less-optimizer-state" in offered(text)) is named
    assert not (named and "smaller-batch" in offered(text))


@pytest.mark.parametrize(
    ("said", "late"), [("After some hours it ends.", True), ("After two days of searching I ask.", False)]
)
def test_hours_before_the_end_are_of_a_program_that_runs_only_then(said: str, late: bool) -> None:
    text = f"A run of jax. {said}\n{ASKED} 14296180248 bytes.\n"
    assert ("what-runs-then" in offered(text)) is late


@pytest.mark.parametrize("told", [True, False])
def test_a_constant_that_xla_folds_is_an_array_closed_over(told: bool) -> None:
    alarm = (
        "E external/xla/xla/service/slow_operation_alarm.cc:65] Constant folding an instruction is taking"
        " > 1s:\n"
    )
    text = f"import jax\n{alarm if told else ''}{ASKED} 6593560000 bytes.\n"
    assert ("XLA folded a large constant before" in explained(text).verdict) is told
    assert ("pass-as-argument" in offered(text)) is told


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Memory grows with each step, and it recompiles very often.", True),
        ("Memory grows with each step, and there is no recompilation.", False),
        ("It recompiles once.", False),
    ],
)
def test_programs_that_its_writer_saw_go_before_settings(said: str, named: bool) -> None:
    code = "vs = nk.vqs.MCState(sampler, model, n_samples=4096, chunk_size=256)\n"
    text = f"NetKet on jax. {said}\n{code}{ASKED} 2415919104 bytes.\n"
    assert ("is compiled again and again" in explained(text).verdict) is named
    assert ("chunks-of-samples" in offered(text)) is not named


@pytest.mark.parametrize(("told", "named"), [("nk.hilbert.Spin(0.5, 36)", False), ("bert-base", True)])
def test_a_hilbert_space_is_no_bert(told: str, named: bool) -> None:
    shown = pipeline.capture(f"jax with {told}\n{ASKED} 2415919104 bytes.\n").surroundings
    assert (shown.shows("a transformer") is not None) is named


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("The first epoch is fine, and at the first validation it dies.", True),
        ("It dies in training.", False),
    ],
)
def test_a_validation_is_a_program_of_its_own(said: str, named: bool) -> None:
    text = f"A U-Net in equinox on jax. {said}\n{ASKED} 12884901888 bytes.\n"
    assert ("it is the program of a validation" in explained(text).verdict) is named
    assert "gradient-accumulation" not in offered(text) or not named
