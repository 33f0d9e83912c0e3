"""From a file to a figure: what ``collapse-theory plot`` does."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import files
from ..errors import InputError
from ._forecast import forecast
from ._ledger import ratio_histogram
from ._runs import curvatures, shrinkage
from ._steps import one_step
from ._style import COLUMN, canvas, style, suffix_of, write
from ._witness import counterexample

Panels = Any
"""The axes that a drawing function takes, in its order."""


@dataclass(frozen=True)
class Kind:
    """A kind of figure: the files it can be drawn from ("run", "witness", "ledger", "setup"), and the options it takes."""

    sources: tuple[str, ...]
    options: tuple[str, ...]
    title: str
    draw: Callable[[Panels, Path, Mapping[str, Any]], None]


def plot(
    kind: str, source: str | Path, out: str | Path, *, width: float = COLUMN, **options: Any
) -> Path:
    """Draw a figure of ``kind`` (see :data:`KINDS`) from the file ``source`` into ``out`` (.pdf, .svg or .png).

    A run is a .npz that ``simulate`` wrote, a witness or a ledger is .json. Options: ``head`` of a run; ``claim`` in a
    ledger, and ``drop``, the hypothesis whose necessity the witness shows; ``largest`` step size for ``one_step``.
    Options that are None count as not given. The figure is written whole or not at all, and the same bytes each time.

    Raises :class:`InputError` for an unknown kind, option, suffix, or a file of the wrong kind.
    """
    given = {name: value for name, value in options.items() if value is not None}
    chosen = kind_named(kind)
    suffix_of(out)
    for name in given:
        if name not in chosen.options:
            known = ", ".join(chosen.options)
            raise InputError(f"option {name!r} does not go with {kind}; its options are {known}")
    with style():
        figure, panels = canvas(kind, width=width)
        chosen.draw(panels, _source(source, kind, chosen), given)
        return write(figure, out)


def kind_named(kind: str) -> Kind:
    """The kind of figure with this name. Raises :class:`InputError` for an unknown one, naming the nearest."""
    if kind not in KINDS:
        near = difflib.get_close_matches(str(kind), KINDS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"figure kind {kind!r} is unknown; {hint}kinds are {', '.join(KINDS)}")
    return KINDS[kind]


def _source(source: str | Path, kind: str, chosen: Kind) -> Path:
    """The source's path, if its suffix and what it says of itself fit the kind of figure."""
    path = Path(source)
    wanted = " or ".join(_DESCRIBED[name] for name in chosen.sources)
    if not path.is_file():
        raise InputError(f"{path}: no such file; {kind} needs {wanted}")
    is_run = path.suffix.lower() == ".npz"
    fits = "run" in chosen.sources if is_run else chosen.sources != ("run",)
    if not fits:
        raise InputError(f"{path}: {kind} cannot be drawn from this file; it needs {wanted}")
    return path


_DESCRIBED = {
    "run": "a run (.npz, from: collapse-theory simulate)",
    "witness": "a witness (.json, from: collapse-theory falsify)",
    "ledger": "a ledger (.json, from: collapse-theory verify)",
    "setup": "a training setup (.json, for or from: collapse-theory forecast)",
}


def _runs(path: Path) -> Any:
    from ..trajectories import LinearRuns

    return LinearRuns.load(path)


def entry_of(path: Path, claim: str | None) -> Mapping[str, Any]:
    """The entry of ``claim`` in the ledger at ``path``; the only entry if None."""
    from ..examination.ledger import read_ledger

    entries = {entry["id"]: entry for entry in read_ledger(path)["claims"]}
    if claim is None and len(entries) == 1:
        return next(iter(entries.values()))
    if claim not in entries:
        what = "names no claim" if claim is None else f"claim {claim!r} is not in the ledger"
        raise InputError(f"{path}: {what}; give claim=, one of {', '.join(entries)}")
    return entries[claim]


def _witness(path: Path, options: Mapping[str, Any]) -> Any:
    """The witness in a witness file, or the one stored in a ledger's entry."""
    from ..examination import Witness

    data = files.read_json(path)
    if not isinstance(data, dict) or data.get("kind") != "ledger":
        for name in ("claim", "drop"):
            if name in options:
                raise InputError(f"option {name!r} goes with a ledger; {path} is a witness file")
        return Witness.from_dict(data, where=str(path))
    entry, drop = entry_of(path, options.get("claim")), options.get("drop")
    evidence = entry["evidence"]
    if drop is None:
        stored = evidence["searched"].get("witness")
        wanted = "of the claim as it stands; give drop=, a hypothesis to leave out"
    else:
        stored = evidence["necessary"].get("witnesses", {}).get(drop)
        wanted = f"without {drop!r}"
    if stored is None:
        found = evidence["necessary"].get("witnesses", {})
        known = ", ".join(name for name, one in found.items() if one is not None) or "none"
        raise InputError(f"{path}: {entry['id']} has no witness {wanted} (stored: {known})")
    return Witness.from_dict(stored, where=f"{path}, {entry['id']}")


def _shrinkage(panels: Panels, path: Path, options: Mapping[str, Any]) -> None:
    shrinkage(panels[0], panels[1], _runs(path), **options)


def _curvatures(panels: Panels, path: Path, options: Mapping[str, Any]) -> None:
    curvatures(panels[0], _runs(path), **options)


def _one_step(panels: Panels, path: Path, options: Mapping[str, Any]) -> None:
    witness = _witness(path, {k: v for k, v in options.items() if k != "largest"})
    if witness.claim.domain != "step":
        raise InputError(
            f"{path}: one_step needs a witness of a claim about steps, not of {witness.claim.id}; "
            "draw it as a counterexample"
        )
    one_step(panels[0], panels[1], witness.instance, largest=options.get("largest"))


def _counterexample(panels: Panels, path: Path, options: Mapping[str, Any]) -> None:
    counterexample(panels[0], panels[1], _witness(path, options))


def _histogram(panels: Panels, path: Path, options: Mapping[str, Any]) -> None:
    ratio_histogram(panels[0], entry_of(path, options.get("claim")))


def _forecast(panels: Panels, path: Path, options: Mapping[str, Any]) -> None:
    from ..forecast import forecast as forecast_of
    from ..forecast import read_config

    forecast(panels[0], forecast_of(read_config(path)))


_FROM_WITNESS = ("witness", "ledger")

KINDS: dict[str, Kind] = {
    "shrinkage": Kind(
        ("run",), ("head",), "distance of unseen rows over a run, and its bounds", _shrinkage
    ),
    "one_step": Kind(
        _FROM_WITNESS, ("claim", "drop", "largest"), "one-step factor against step size", _one_step
    ),
    "counterexample": Kind(
        _FROM_WITNESS, ("claim", "drop"), "a witness that refutes a claim", _counterexample
    ),
    "histogram": Kind(("ledger",), ("claim",), "ratios lhs/rhs of the sample", _histogram),
    "curvatures": Kind(("run",), ("head",), "the bounds T over a run", _curvatures),
    "forecast": Kind(("setup",), (), "what is proved of unseen rows over a run to come", _forecast),
}
"""Kinds of figures by name."""
