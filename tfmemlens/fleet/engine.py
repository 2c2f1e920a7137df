"""The Dask cluster that a scan runs on: the caller's, the configured one, or one as large as this machine."""

from __future__ import annotations

import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any

from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.fleet import shipping, tasks
from tfmemlens.fleet.extras import load

_CONNECT_SECONDS = 30
_DASHBOARD = "127.0.0.1:8787"


@contextmanager
def connected(client: Any = None, scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """A client of the cluster: `client` itself, of the scheduler at an address or the configured one, or of a
    cluster of this machine, which ends with the block. Raises UsageError, UnreadableInput, MissingExtra.
    """
    if client is not None:
        _check_workers(client)
        yield client
        return
    distributed, dask = load("distributed"), load("dask")
    address = scheduler or (None if workers else dask.config.get("scheduler-address", None))
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        if address:
            try:
                client = stack.enter_context(distributed.Client(address, timeout=_CONNECT_SECONDS))
            except (OSError, ValueError) as problem:
                raise UnreadableInput(
                    f"no scheduler answers at {address}: {problem}",
                    "dask scheduler starts one; without --scheduler this machine alone does the work",
                ) from None
        else:
            client = stack.enter_context(_local(distributed, workers or dask.system.CPU_COUNT))
        _check_workers(client)
        yield client


@contextmanager
def _local(distributed: Any, workers: int) -> Iterator[Any]:
    """A cluster of this machine. Its workers wait for processes that read: what they do themselves tells
    nothing, and Dask would note it a hundred times a second.
    """
    without_profile = load("dask.config").set({"distributed.worker.profile.enabled": False})
    with warnings.catch_warnings(), _without_interrupts(), without_profile:
        warnings.filterwarnings("ignore", "Port .* is already in use", UserWarning)
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=_DASHBOARD,
            silence_logs=logging.CRITICAL,
        )
    with cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Threads and processes that begin in the block get no SIGINT, nor those that they begin later: Ctrl-C is
    for the client, which ends its workers. One that comes meanwhile comes after the block.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # whoever starts it first gets signals again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the lines that Dask logs when workers or its scheduler go: what matters of them is in the
    summary, or in the sentence that a scan ends with.
    """
    with ExitStack() as stack:
        for name in ("distributed", *logging.root.manager.loggerDict):
            logger = logging.getLogger(name)
            if name == "distributed" or (name.startswith("distributed.") and logger.level):
                stack.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL)
        yield


def _check_workers(client: Any) -> None:
    """Give the package to workers that have another version of it, or none. Raises UsageError where that
    does not help: they lack what it needs.
    """
    own = tasks.version()
    others = _others(client, own)
    if others:
        client.register_plugin(shipping.plugin(own))
        others = _others(client, own)
    if others:
        address, answer = next(iter(others.items()))
        raise UsageError(
            f"the worker at {address} has not tfmemlens {own}, but {answer!r}",
            f"pip install 'tfmemlens[fleet]=={own}' where the workers run",
        )


def _others(client: Any, own: str) -> dict[str, Any]:
    """What workers answer that cannot run our tasks, by their address."""
    answers: dict[str, Any] = client.run(tasks.ready, on_error="return")
    return {address: answer for address, answer in answers.items() if answer != own}


def threads(client: Any) -> int:
    """How many tasks run at once now, 1 while no worker is there."""
    return max(sum(map(int, client.nthreads().values())), 1)


def dashboard(client: Any) -> str:
    """Where Dask shows what it does, empty where it does not."""
    return str(getattr(client, "dashboard_link", "") or "")
