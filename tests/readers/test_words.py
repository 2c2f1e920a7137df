"""The words by which texts without a failure are passed over: no message of a failure is without one."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.mangling import MANGLERS
from tfmemlens import pipeline
from tfmemlens.readers.oom import compiler, disguises, dump, report, sentence, words

SAMPLES = sorted((ROOT / "sample_traces" / "oom_log").glob("*.txt"))
DISGUISES = [rule for name, rule in vars(disguises).items() if name.isupper() and hasattr(rule, "examples")]
RULES = [
    *(sentence.SENTENCE, sentence.OP_REQUIRES),
    *(dump.START, dump.HEAD, dump.BIN, dump.WANT, dump.BIN_CHUNK, dump.REGION, dump.CHUNK, dump.SUMMARY_HEAD),
    *(dump.SUMMARY, dump.TOTAL, dump.POOL, dump.HEADLESS, dump.MAP, dump.ENDED, dump.EMPTY_MAP, dump.ASYNC),
    *(report.HEADER, report.ENTRY, report.REMAINING),
    *(compiler.XLA, compiler.REQUEST, compiler.ALLOCATING, compiler.REMAT, compiler.DEBUGGING),
    *(compiler.SECTION, compiler.PEAK_BUFFERS, compiler.BUFFER, compiler.TPU, compiler.ON_STACK),
    *(compiler.TWO_CORES, compiler.ON_CHIP, compiler.TPU_RESERVE, compiler.TPU_LEDGER, compiler.TPU_TOTAL),
    *(compiler.EARLY, compiler.ESTIMATED, compiler.TPU_ENTRY, compiler.TPU_UNPADDED, compiler.TPU_EXTRA),
    *DISGUISES,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.examples[0][:40])
def test_every_message_has_a_word(rule: sentence.LineRule) -> None:
    for example in rule.examples:
        assert any(word in example.lower().encode() for word in words.WORDS), example


@pytest.mark.parametrize("rule", DISGUISES, ids=lambda rule: rule.examples[0][:40])
def test_every_indirect_failure_has_a_phrase(rule: sentence.LineRule) -> None:
    for example in rule.examples:
        assert words.names_a_failure(example.encode()), example


def test_every_failure_has_a_phrase() -> None:
    for sample in SAMPLES:
        raw = sample.read_bytes()
        assert words.names_a_failure(raw) or not words.may_tell(raw), sample


@pytest.mark.whole
def test_a_text_is_passed_over_where_the_reader_finds_nothing() -> None:
    told = {sample.stem: words.may_tell(sample.read_bytes()) for sample in SAMPLES}
    found = {sample.stem: bool(words.failures(pipeline.capture(sample))) for sample in SAMPLES}
    assert told == found


@pytest.mark.parametrize("mangler", sorted(MANGLERS))
def test_no_mangler_hides_a_failure(mangler: str) -> None:
    for sample in SAMPLES[::10]:
        lines = sample.read_text(encoding="utf-8").split("\n")
        if words.may_tell("\n".join(lines).encode()):
            assert words.may_tell(MANGLERS[mangler](lines)), sample


@pytest.mark.parametrize(
    "line",
    [
        "2022-03-09 12:51:51.361123: I gpu_device.cc:1] Created device GPU:0 with 14000 MB memory",
        "2022-03-09 12:51:51.361123: W cpu_allocator_impl.cc:83] Allocation of 4096 exceeds 10% of memory",
        "Successfully opened dynamic library libcudnn.so.8",
        "epoch 3: skilled model, exit of 137 samples, status ok",
    ],
)
def test_such_words_alone_are_no_failure(line: str) -> None:
    assert not words.may_tell(line.encode())
