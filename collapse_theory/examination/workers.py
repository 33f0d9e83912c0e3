"""Running independent pieces of work in order, in this process or on several."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Self

from ..errors import InputError


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Ctrl-C waits until the end of the block; processes started within it inherit that, until :func:`_begin`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Stop:
    """Whether this worker has work in hand, and whether it was told to stop."""

    working = told = False


def _begin() -> None:
    """In a worker: Ctrl-C, which a terminal sends to every process, ends the work in hand and nothing else.

    A worker that died while it sends a result would leave half a message, for the end of which the pool waits for ever.
    """
    signal.signal(signal.SIGINT, _stop)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _stop(_signal: int, _frame: object) -> None:
    _Stop.told = True
    if _Stop.working:
        raise KeyboardInterrupt


def _do(work: Callable[..., Any], *arguments: Any) -> Any:
    """In a worker: one piece of work, unless it was told to stop."""
    if _Stop.told:
        raise KeyboardInterrupt
    _Stop.working = True
    try:
        return work(*arguments)
    finally:
        _Stop.working = False


class Workers:
    """``count`` processes (1: this one). Results come in the order of the work, so their number changes nothing."""

    def __init__(self, count: int = 1) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"workers: got {count!r}, expected a whole number of at least 1")
        self.count = count
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self.count > 1:
            # A spawned process inherits no threads or locks, and starts from the same state everywhere.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.count, mp_context=context, initializer=_begin)
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._pool is not None:
            if error is not None and hasattr(signal, "pthread_sigmask"):
                # What is under way is of no use any more; an interruption must not wait for it.
                for pid in list(getattr(self._pool, "_processes", None) or ()):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGINT)
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def map(self, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """``work(*a)`` for each ``a``, lazily and in order; at most a few pieces are ahead of the consumer."""
        if self._pool is None:
            for a in arguments:
                yield work(*a)
            return
        pending: deque[Future[Any]] = deque()
        source = iter(arguments)
        try:
            while True:
                for a in islice(source, 3 * self.count - len(pending)):
                    with _interrupt_held():  # the pool starts its processes as work comes in
                        pending.append(self._pool.submit(_do, work, *a))
                if not pending:
                    return
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
