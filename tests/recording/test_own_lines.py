"""TensorFlow's lines on its profiler are left out where our recording is their cause, and no others."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tfmemlens.recording.beside.own_lines import LinesToLeaveOut
from tfmemlens.recording.inside import own_lines
from tfmemlens.recording.inside.own_lines import BEGIN, END

OLD = (
    b"2031-02-03 04:05:06.700001: I tensorflow/core/profiler/lib/profiler_session.cc:136] Profiler session"
    b" started.\n"
)
NEW = b"I0000 00:00:1795922436.604074   10656 profiler_session.cc:117] Profiler session initializing.\n"
FILES = (
    b"2031-02-03 04:05:06.700002: I tensorflow/core/profiler/rpc/client/capture_profile.cc:251] Creating"
    b" directory: /d/.window-7/plugins/profile/tDumped tool data for xplane.pb to /d/.window-7/a.xplane.pb\n"
    b"Dumped tool data for overview_page.pb to /d/.window-7/plugins/profile/t/a.overview_page.pb\n\n"
)
MATH = b"2031-02-03 04:05:06.700003: W tensorflow/core/framework/op_kernel.cc:1763] OP_REQUIRES failed\n"


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_between_marks_the_profilers_lines_are_left_out(size: int) -> None:
    written = b"".join((b"a\n", OLD, BEGIN, OLD, NEW, b"b\n", MATH, FILES, b"\nc", END, b"d\n", NEW))
    stream = LinesToLeaveOut()
    pieces = (written[at : at + size] for at in range(0, len(written), size))
    passed = b"".join(map(stream.passed, pieces)) + stream.rest()
    assert passed == b"".join((b"a\n", OLD, b"b\n", MATH, b"\nc", b"d\n", NEW))


def test_a_line_of_the_programs_does_not_wait_for_its_end() -> None:
    stream = LinesToLeaveOut()
    assert stream.passed(BEGIN + b"\r 50 % of the epoch") == b"\r 50 % of the epoch"
    assert stream.passed(b", done\n" + END) == b", done\n"


def test_what_is_held_back_is_not_lost() -> None:
    stream = LinesToLeaveOut()
    assert stream.passed(b"x" + BEGIN + b"2031") + stream.passed(b"-02") == b"x"
    assert stream.rest() == b"2031-02"


def test_marks_reach_nobody_else(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import os, sys
        sys.path.insert(0, {str(Path(own_lines.__file__).parents[1])!r})
        from inside.own_lines import OwnLines
        def step():
            with OwnLines(os.environ):
                os.write(2, b"I tensorflow/core/profiler/lib/profiler_session.cc:1] Profiler session x\\n")
                os.write(2, b"mine\\n")
        step()
        os.dup2(os.open({str(tmp_path / "own")!r}, os.O_CREAT | os.O_WRONLY), 2)
        step()
        """
    )
    words = "import os, sys\nfrom tfmemlens.recording.beside import relay\n"
    words += "relay.run(sys.argv[1:], os.environ, lambda *_: None, records_itself=True)\n"
    command = [sys.executable, "-c", words, sys.executable, "-c", program]
    told = subprocess.run(command, capture_output=True, check=True)
    assert told.stderr == b"mine\n"
    assert b"\0" not in (tmp_path / "own").read_bytes()
    assert (tmp_path / "own").read_bytes().endswith(b"session x\nmine\n")
