"""Calls of one function on this process, on several, or on a Dask cluster."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from collapse_theory.checks import integer
from collapse_theory.errors import InputError

__all__ = ["check_workers", "spread"]


def check_workers(workers: int, scheduler: str | None) -> None:
    """Raises :class:`InputError` for a number of workers below 1, or where a package is missing that not everyone needs."""
    integer("workers", workers, least=1)
    wanted = ["joblib"] if workers > 1 or scheduler else []
    wanted += ["distributed"] if scheduler else []
    for name in wanted:
        if find_spec(name) is None:
            extra = "dask" if scheduler else "sweep"
            given = f"scheduler {scheduler}" if scheduler else f"workers {workers}"
            raise InputError(
                f"{given}: {name} is missing; pip install 'collapse_theory[{extra}]', or take 1 worker"
            )


@contextmanager
def spread(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> Iterator[Iterator[Any]]:
    """Results of ``function(*call)``, as they come in and in any order.

    Args:
        function: picklable, as are its arguments and results where there is more than this process.
        calls: the arguments of each call.
        workers: processes on this machine, of one thread each, by joblib where there are more than one.
        scheduler: address of a Dask scheduler, whose workers are used instead; they need this package.
    """
    check_workers(workers, scheduler)
    if scheduler is None and (workers == 1 or len(calls) < 2):
        yield (function(*call) for call in calls)
        return
    import joblib

    work = [joblib.delayed(function)(*call) for call in calls]
    if scheduler is None:
        with _ending(), joblib.parallel_config("loky", n_jobs=workers, inner_max_num_threads=1):
            yield iter(joblib.Parallel(return_as="generator_unordered")(work))
        return
    with _client(scheduler), joblib.parallel_config("dask"):
        yield iter(joblib.Parallel(return_as="generator_unordered")(work))


@contextmanager
def _ending() -> Iterator[None]:
    """What ends the block early, SIGTERM too, ends joblib's workers, which would go on with the work in hand."""
    from joblib.externals.loky import get_reusable_executor  # pyright: ignore[reportMissingTypeStubs]

    def leave(*_: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    # Python lets the main thread alone choose what a signal does; a caller's own choice stays.
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if ours:
        signal.signal(signal.SIGTERM, leave)
    try:
        yield
    except BaseException:
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)  # pyright: ignore[reportArgumentType]
        raise
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _client(scheduler: str) -> Any:
    """A client of the Dask scheduler, closed at the end of its block."""
    from distributed import Client  # pyright: ignore[reportMissingImports]

    try:
        return Client(scheduler, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"scheduler {scheduler}: cannot be reached ({reason}); check the address"
        ) from error
