"""A command runs as if nobody stood beside it: bytes, terminals, signals, its end."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
BESIDE = [
    sys.executable,
    "-c",
    "import os, sys\nfrom tfmemlens.recording.beside import relay\n"
    "kept = open(sys.argv[1], 'ab', buffering=0)\n"
    "def keep(stream, data): kept.write(data)\n"
    "ending = relay.run(sys.argv[2:], os.environ, keep)\n"
    "os._exit(ending.exit_status)",
]
PATIENCE = 30.0
pytestmark = pytest.mark.usefixtures("signals_as_a_terminal_has_them")


def beside(kept: Path, *command: str, **options: object) -> subprocess.Popen[bytes]:
    words = [*BESIDE, str(kept), *command]
    return subprocess.Popen(words, **options)  # type: ignore[call-overload, no-any-return]


def python(code: str) -> tuple[str, str, str]:
    return sys.executable, "-c", code


def until(condition: object, what: str) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@contextmanager
def running(tmp_path: Path, code: str, **options: object) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A program that has written its process number to a file, and what stands beside it."""
    number = tmp_path / "pid"
    start = f"import os, signal, sys, time\nopen({str(number)!r} + '~', 'w').write(str(os.getpid()))\n"
    ready = f"os.rename({str(number)!r} + '~', {str(number)!r})\n"
    process = beside(tmp_path / "kept", *python(start + code.replace("READY", ready)), **options)
    try:
        until(number.exists, "the program did not start")
        yield process, int(number.read_text())
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def test_bytes_streams_and_status_pass_through(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.stdout.buffer.write(bytes(range(256)))\nsys.stderr.write('apart')\n"
        "sys.stdout.write(sys.stdin.read())\nsys.exit(7)"
    )
    process = beside(
        tmp_path / "kept",
        *python(code),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = process.communicate(b"typed")
    assert (process.returncode, out, err) == (7, bytes(range(256)) + b"typed", b"apart")
    assert sorted((tmp_path / "kept").read_bytes()) == sorted(out + err)


def test_one_file_for_both_streams_keeps_their_order(tmp_path: Path) -> None:
    code = (
        "import os\nfor turn in range(200):\n    os.write(1, b'o%d ' % turn)\n    os.write(2, b'e%d ' % turn)"
    )
    process = beside(tmp_path / "kept", *python(code), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out, _ = process.communicate()
    assert out == b"".join(b"o%d e%d " % (turn, turn) for turn in range(200))


def test_output_that_nobody_reads_ends_the_program_as_it_would(tmp_path: Path) -> None:
    process = beside(tmp_path / "kept", "yes", stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(PATIENCE) == 128 + signal.SIGPIPE


def test_a_terminal_stays_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    code = "import os, sys\nprint(sys.stdout.isatty(), sys.stderr.isatty(), os.get_terminal_size(1).columns)"
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 123, 0, 0))
    process = beside(tmp_path / "kept", *python(code), stdout=theirs, stderr=subprocess.DEVNULL)
    assert process.wait(PATIENCE) == 0
    os.close(theirs)
    assert os.read(ours, 100) == b"True False 123\r\n"
    assert (tmp_path / "kept").read_bytes() == b"True False 123\n"
    os.close(ours)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_reaches_the_program_once(tmp_path: Path, number: signal.Signals) -> None:
    code = (
        f"signal.signal({int(number)}, lambda *_: print('got', flush=True))\nREADY\n"
        "signal.pause()\ntime.sleep(0.2)\nsys.exit(5)"
    )
    with running(tmp_path, code, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as (process, _):
        process.send_signal(number)
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (5, b"got\n")


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    code = "print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, flush=True)\nREADY"
    options = {"stdout": subprocess.PIPE, "preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    with running(tmp_path, code, **options) as (process, _):
        out, _ = process.communicate(timeout=PATIENCE)
    assert out == b"True\n"


def test_a_killed_program_is_128_and_the_signal(tmp_path: Path) -> None:
    with running(tmp_path, "READY\nsignal.pause()") as (process, pid):
        os.kill(pid, signal.SIGKILL)
        assert process.wait(PATIENCE) == 137


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the program notices when it next prints")
def test_the_program_dies_with_us(tmp_path: Path) -> None:
    with running(tmp_path, "READY\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)") as (
        process,
        pid,
    ):
        process.kill()
        until(lambda: not alive(pid), "the program is an orphan")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells who is stopped")
def test_stopping_and_going_on(tmp_path: Path) -> None:
    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    code = "READY\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\nsys.exit(3)"
    with running(tmp_path, code.replace("sys.argv[1]", repr(str(tmp_path / "end")))) as (process, pid):
        process.send_signal(signal.SIGTSTP)
        until(lambda: state(pid) == "T" and state(process.pid) == "T", "both stop")
        process.send_signal(signal.SIGCONT)
        until(lambda: state(pid) != "T" and state(process.pid) != "T", "both go on")
        (tmp_path / "end").touch()
        assert process.wait(PATIENCE) == 3


@pytest.mark.whole
def test_what_the_program_leaves_running_does_not_hold_us(tmp_path: Path) -> None:
    process = beside(tmp_path / "kept", "sh", "-c", "echo done; sleep 600 & echo $!", stdout=subprocess.PIPE)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    os.kill(int(out.split()[1]), signal.SIGKILL)


@contextmanager
def on_a_terminal(tmp_path: Path, code: str) -> Iterator[tuple[int, int, int]]:
    """In a session of its own: what stands beside the program, the program, our end of the terminal."""
    number = tmp_path / "pid"
    start = f"import os, signal, sys, time\nopen({str(number)!r} + '~', 'w').write(str(os.getpid()))\n"
    ready = f"os.rename({str(number)!r} + '~', {str(number)!r})\n"
    words = [*BESIDE, str(tmp_path / "kept"), *python(start + code.replace("READY", ready))]
    beside_it, ours = pty.fork()
    if beside_it == 0:
        os.execv(words[0], words)
    try:
        until(number.exists, "the program did not start")
        yield beside_it, int(number.read_text()), ours
    finally:
        with suppress(ProcessLookupError):
            os.kill(beside_it, signal.SIGKILL)
        with suppress(OSError):
            os.close(ours)


def until_ended(beside_it: int) -> int:
    """Its exit status."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        pid, status = os.waitpid(beside_it, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    raise AssertionError("it does not end")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc and si_code")
def test_ctrl_c_reaches_the_program_once(tmp_path: Path) -> None:
    code = (
        "got = []\nsignal.signal(2, lambda *_: got.append(1))\nREADY\n"
        "signal.pause()\ntime.sleep(0.3)\nsys.exit(40 + len(got))"
    )
    with on_a_terminal(tmp_path, code) as (beside_it, _, ours):
        os.write(ours, b"\x03")
        assert until_ended(beside_it) == 41


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells who is alive")
def test_a_silent_program_is_told_that_its_terminal_was_closed(tmp_path: Path) -> None:
    with on_a_terminal(tmp_path, "READY\nsignal.pause()") as (beside_it, program, ours):
        os.close(ours)
        assert until_ended(beside_it) == 128 + signal.SIGHUP
        assert not alive(program)


def test_a_terminal_that_closes_while_the_program_starts_changes_nothing(tmp_path: Path) -> None:
    """Whose group the program is in is asked once: an answer after the terminal has gone is another one."""
    code = (
        "import os, sys\n"
        "from tfmemlens.recording.beside import relay\n"
        "asked = []\n"
        "os.isatty = lambda number: asked.append(number) or False\n"
        "relay.run([sys.executable, '-c', 'pass'], dict(os.environ), lambda stream, data: None)\n"
        "sys.exit(asked.count(0))\n"
    )
    assert subprocess.run(python(code), timeout=PATIENCE).returncode == 1


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells who is alive")
def test_a_closed_terminal_ends_both(tmp_path: Path) -> None:
    code = "READY\nwhile True:\n    print('step', flush=True)\n    time.sleep(0.01)"
    with on_a_terminal(tmp_path, code) as (beside_it, program, ours):
        os.read(ours, 100)
        os.close(ours)
        failed_to_print = 1
        assert until_ended(beside_it) in (failed_to_print, 128 + signal.SIGHUP)
        assert not alive(program)
    assert b"step" in (tmp_path / "kept").read_bytes()
