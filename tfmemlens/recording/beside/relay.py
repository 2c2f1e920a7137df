"""Run a command as if nobody stood beside it: its output passes through, a copy is kept, signals reach it.

Standard input is the caller's own. Standard output and error become a pseudo-terminal where they are a
terminal, else a pipe; where both are the same file they stay one, so that nothing changes its order.

On a terminal the command stays in our process group, so that Ctrl-C, Ctrl-Z and a closed terminal reach it
without us; signals sent to us alone are handed on. Elsewhere it has a group of its own, which gets them all.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import pty
import resource
import selectors
import signal
import subprocess
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from tfmemlens.recording.beside.own_lines import LinesToLeaveOut
from tfmemlens.recording.inside import own_lines as marks
from tfmemlens.values import dataclass

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGTSTP,
    signal.SIGCONT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_KEYBOARD = {signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP}
"""What a terminal sends to its whole process group. That it was closed is told to the session's leader only,
which may be we.
"""
_FROM_KERNEL = 0x80
"""`si_code` SI_KERNEL of Linux: the terminal sent it, nobody's `kill`."""
_STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_PR_SET_PDEATHSIG = 1
_PIECE = 1 << 18
SILENCE_SECONDS = 1.0
"""When the command has ended and what it left running has written nothing for so long, we end, too."""


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    returncode: int
    """As `subprocess` has it: negative is the signal that killed it."""
    seconds: float
    peak_bytes: int
    """The largest resident size of the command or of a child that it waited for."""
    lost_bytes: int = 0
    """Of its output, what the disk behind our own output had no space for."""

    @property
    def exit_status(self) -> int:
        """As a shell has it: 128 and the signal's number for one that was killed."""
        return 128 - self.returncode if self.returncode < 0 else self.returncode


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    keep: Callable[[int, bytes], None],
    records_itself: bool = False,
) -> Ending:
    """Run the command to its end; `keep` gets each piece of output with its stream's number (1 or 2; 1 where
    both are one). What TensorFlow's profiler writes for a command that `records_itself` is left out. Raises
    OSError where it cannot be started.
    """
    start = time.monotonic()
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signals = [each for each in FORWARDED if signal.getsignal(each) is not signal.SIG_IGN]
    watched = {*signals, signal.SIGCHLD, signal.SIGWINCH}
    before = {each: signal.signal(each, _nothing) for each in watched}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    streams = _Streams()
    if records_itself:
        environment = {**environment, marks.READER: streams.leave_out_own_lines()}
    own_group = not os.isatty(0)  # asked once: the terminal may be closed at any moment
    try:
        process = _start(command, environment, streams, mask, own_group)
        listener = _Listener(process.pid, streams, watched, woken, own_group)
        listener.thread.start()
        try:
            status, usage = _attend(process.pid, streams, wake, keep)
        finally:
            listener.stop()
    finally:
        streams.close()
        os.close(wake)
        os.close(woken)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for each, handler in before.items():
            signal.signal(each, handler if handler is not None else signal.SIG_DFL)
    process.returncode = os.waitstatus_to_exitcode(status)  # it was waited for here, not by subprocess
    unit = 1 if sys.platform == "darwin" else 1024
    seconds = time.monotonic() - start
    return Ending(process.returncode, seconds, usage.ru_maxrss * unit, streams.lost_bytes)


def _nothing(*_: object) -> None:
    """A handler of its own keeps a signal that would be ignored waiting for the listener."""


class _Streams:
    """The command's output: the ends that it writes to, and where each end that we read goes on to."""

    def __init__(self) -> None:
        self.outputs: dict[int, int] = {}
        """Our end → the file descriptor of ours that it goes on to."""
        self.terminals: dict[int, int] = {}
        self.inner: dict[int, int] = {}
        self._own_lines: dict[int, LinesToLeaveOut] = {}
        self.lost_bytes = 0
        one, two = (marks.identity(number) for number in (1, 2))
        for number, identity in ((1, one), (2, two)):
            if number == 2 and identity and identity == one:
                self.inner[2] = self.inner[1]
                continue
            self._open(number)

    def _open(self, number: int) -> None:
        if os.isatty(number):
            ours, inner = pty.openpty()
            tty.setraw(inner)  # the terminal behind us translates line ends
            self.terminals[ours] = number
        else:
            ours, inner = os.pipe()
        self.outputs[ours], self.inner[number] = number, inner
        self.resize()

    def resize(self) -> None:
        """Give the pseudo-terminals the size of the terminal."""
        for ours, number in tuple(self.terminals.items()):
            with suppress(OSError):
                fcntl.ioctl(ours, termios.TIOCSWINSZ, fcntl.ioctl(number, termios.TIOCGWINSZ, b"\0" * 8))

    def leave_out_own_lines(self) -> str:
        """Look for marks in standard error; its identity, by which the command knows it, is given."""
        number = 2 if 2 in self.outputs.values() else 1
        self._own_lines = {ours: LinesToLeaveOut() for ours, each in self.outputs.items() if each == number}
        return marks.identity(self.inner[2])

    def passed(self, ours: int, data: bytes) -> bytes:
        """What of a piece is the program's; of none, at the end, what was held back."""
        own_lines = self._own_lines.get(ours)
        if own_lines is None:
            return data
        return own_lines.passed(data) if data else own_lines.rest()

    def started(self) -> None:
        """The command has its ends; ours of them would keep the streams open for ever."""
        for inner in set(self.inner.values()):
            os.close(inner)
        self.inner = {}

    def drop(self, ours: int) -> None:
        """A stream that has ended, or that nobody reads any more: the command is told as it would be."""
        os.close(ours)
        del self.outputs[ours]
        self.terminals.pop(ours, None)

    def close(self) -> None:
        """Close whatever is open."""
        for each in {*self.outputs, *self.inner.values()}:
            os.close(each)
        self.outputs, self.inner, self.terminals = {}, {}, {}


def _start(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: _Streams,
    mask: Iterable[int],
    own_group: bool,
) -> subprocess.Popen[bytes]:
    us = os.getpid()
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None) if sys.platform == "linux" else None

    def prepare() -> None:
        """In the child, before the command: it ends when we are killed."""
        if own_group:
            os.setpgid(0, 0)
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != us:
                os._exit(128 + signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    process = subprocess.Popen(
        list(command),
        stdout=streams.inner[1],
        stderr=streams.inner[2],
        env=dict(environment),
        preexec_fn=prepare,  # no thread of ours runs yet
    )
    streams.started()
    return process


class _Listener:
    """A thread that waits for signals: they reach the command even while its output cannot be passed on."""

    def __init__(
        self, child: int, streams: _Streams, watched: set[signal.Signals], woken: int, own_group: bool
    ) -> None:
        self._child, self._streams, self._watched, self._woken = child, streams, watched, woken
        self._own_group = own_group
        self._ended = False
        self.thread = threading.Thread(target=self._listen, daemon=True)

    def stop(self) -> None:
        """End the thread: the command has ended."""
        self._ended = True
        if self.thread.ident is not None:
            signal.pthread_kill(self.thread.ident, signal.SIGCHLD)
            self.thread.join()

    def _listen(self) -> None:
        while True:
            number, from_terminal = _wait(self._watched)
            if self._ended:
                return
            if number == signal.SIGCHLD:
                with suppress(BlockingIOError):
                    os.write(self._woken, b"!")
            elif number == signal.SIGWINCH:
                self._streams.resize()
                self._send(number)
            elif self._own_group or not (from_terminal and number in _KEYBOARD):
                self._send(number)

    def _send(self, number: signal.Signals) -> None:
        """Not waited for yet, the command keeps its number, so that nobody else is hit."""
        with suppress(ProcessLookupError, PermissionError):
            if self._own_group:
                os.killpg(self._child, number)
            else:
                os.kill(self._child, number)


def _wait(watched: set[signal.Signals]) -> tuple[signal.Signals, bool]:
    """The next signal, and whether the terminal sent it: where the system does not say, its keys did."""
    if not hasattr(signal, "sigwaitinfo"):
        return signal.Signals(signal.sigwait(watched)), True
    told = signal.sigwaitinfo(watched)
    return signal.Signals(told.si_signo), told.si_code == _FROM_KERNEL


def _attend(
    child: int, streams: _Streams, wake: int, keep: Callable[[int, bytes], None]
) -> tuple[int, resource.struct_rusage]:
    """Pass output on until the command has ended and its streams are drained."""
    ended: tuple[int, resource.struct_rusage] | None = None
    with selectors.DefaultSelector() as selector:
        selector.register(wake, selectors.EVENT_READ)
        for ours in streams.outputs:
            selector.register(ours, selectors.EVENT_READ)
        while ended is None or streams.outputs:
            ready = selector.select(SILENCE_SECONDS if ended else None)
            if ended and not ready:
                break
            for key, _ in ready:
                if key.fd == wake:
                    os.read(wake, _PIECE)
                    ended = ended or _look_after(child)
                elif not _pass_on(key.fd, streams, keep):
                    selector.unregister(key.fd)
                    streams.drop(key.fd)
    return ended


def _look_after(child: int) -> tuple[int, resource.struct_rusage] | None:
    """How the command ended, None while it runs; one that a terminal stopped stops us, too."""
    while True:
        try:
            pid, status, usage = os.wait4(child, os.WNOHANG | os.WUNTRACED)
        except InterruptedError:
            continue
        if pid == 0:
            return None
        if not os.WIFSTOPPED(status):
            return status, usage
        if os.WSTOPSIG(status) in _STOPS:
            os.kill(os.getpid(), signal.SIGSTOP)


def _pass_on(ours: int, streams: _Streams, keep: Callable[[int, bytes], None]) -> bool:
    """Hand a piece on, and keep it; False at the end of the stream, and when nobody takes it any more."""
    try:
        data = os.read(ours, _PIECE)
    except OSError as error:
        if error.errno != errno.EIO:  # how Linux ends a pseudo-terminal
            raise
        data = b""
    passed = streams.passed(ours, data)
    if passed:
        keep(streams.outputs[ours], passed)
    return _wrote(ours, streams, passed) and bool(data)


def _wrote(ours: int, streams: _Streams, data: bytes) -> bool:
    """Whether a piece was handed on, or lost for want of space on a disk."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(streams.outputs[ours], view) :]
        except BlockingIOError:
            _wait_for_room(streams.outputs[ours])
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                return False
            streams.lost_bytes += len(view)
            return True
    return True


def _wait_for_room(number: int) -> None:
    """Until a descriptor that does not block takes more."""
    with selectors.DefaultSelector() as selector:
        selector.register(number, selectors.EVENT_WRITE)
        selector.select()
