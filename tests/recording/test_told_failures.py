"""Failures that a program prints itself, and those of its threads and processes, are gathered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
START = f"""
import os, sys
sys.path.insert(0, {str(HERE / "tfmemlens" / "recording")!r})
import logging, multiprocessing, threading, traceback
from inside.recorder import Recorder
from inside import after_import, told_failures
own = Recorder(os.environ["OUT"], {{}}, None)
after_import.watch(told_failures.attach(own))
def fails():
    raise MemoryError("Unable to allocate 8.00 GiB for an array with shape (1, 2)")
def child():
    try:
        fails()
    except MemoryError as error:
        raise RuntimeError("the epoch failed") from error
"""
WAYS = {
    "printed": "try: fails()\nexcept MemoryError: traceback.print_exc()",
    "formatted": "try: fails()\n"
    "except MemoryError as e: traceback.format_exception(type(e), e, e.__traceback__)",
    "logged": "try: child()\nexcept RuntimeError: logging.exception('training failed')",
    "thread": "one = threading.Thread(target=fails); one.start(); one.join()",
    "pool": "from concurrent.futures import ProcessPoolExecutor as P\n"
    "with P(1, mp_context=multiprocessing.get_context('fork')) as pool: pool.submit(child).exception()",
    "forked": "one = multiprocessing.get_context('fork').Process(target=child); one.start(); one.join()",
}


def gathered(code: str, out: Path) -> list[str]:
    """The files of the bundle after the program."""
    program = START + "own.describe_models = lambda **told: own.bundle.write_json('model.json', {})\n" + code
    environment = {**os.environ, "OUT": str(out)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return sorted(str(each.relative_to(out)) for each in out.rglob("*") if each.is_file())


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_that_never_reaches_the_top_is_gathered(way: str, tmp_path: Path) -> None:
    assert any(each.endswith("model.json") for each in gathered(WAYS[way], tmp_path))


def test_a_process_that_failed_says_what_it_was(tmp_path: Path) -> None:
    records = [each for each in gathered(WAYS["forked"], tmp_path) if each.endswith("recorder.json")]
    assert len(records) == 1
    assert json.loads((tmp_path / records[0]).read_text())["pid"] != os.getpid()


@pytest.mark.parametrize(
    "code",
    [
        "try: int('x')\nexcept ValueError: traceback.print_exc()",
        "try: fails()\nexcept MemoryError: pass",
        "one = multiprocessing.get_context('fork').Process(target=int); one.start(); one.join()",
        "try: fails()\nexcept MemoryError as e: traceback.TracebackException(type(e), e, None)",
    ],
)
def test_nothing_is_gathered_of_others(code: str, tmp_path: Path) -> None:
    """Another error, one that the program goes on from, a process that ended well, one without a trace."""
    assert gathered(code, tmp_path) == []


def test_the_arguments_may_have_their_names(tmp_path: Path) -> None:
    code = (
        "try: fails()\nexcept MemoryError as e: traceback.TracebackException("
        "exc_type=type(e), exc_value=e, exc_traceback=e.__traceback__)"
    )
    assert gathered(code, tmp_path)


def test_names_of_the_functions_that_an_inner_error_left_are_known(tmp_path: Path) -> None:
    """The frame that keeps the tensors is in the traceback of the error that another was raised from."""
    code = """
from types import SimpleNamespace
class EagerTensor:
    __module__ = "tensorflow.python.framework.ops"
    dtype, shape = SimpleNamespace(name="float32", size=4), (1024, 256)
def keeps():
    kept = [EagerTensor() for _ in range(3)]
    fails()
def epoch():
    try:
        keeps()
    except MemoryError as error:
        raise RuntimeError("the epoch failed") from error
try:
    epoch()
except RuntimeError:
    logging.exception("training failed")
"""
    gathered(code, tmp_path)
    (living,) = tmp_path.rglob("living.json")
    (group,) = json.loads(living.read_text())["groups"]
    assert (group["count"], [each["name"] for each in group["held_by"]]) == (3, ["kept"])
