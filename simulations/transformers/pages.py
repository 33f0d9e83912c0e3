"""The generated parts of the documentation's pages about the transformers, from the results that are shipped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simulations.transformers import tables, verdicts, views
from simulations.transformers.execution import finished
from simulations.transformers.studies import STUDIES, Study, study

__all__ = ["SHIPPED", "association", "blocks", "figures", "load"]

SHIPPED = Path(__file__).resolve().parents[1] / "results" / "transformers"
"""A folder for each study, as :func:`simulations.transformers.execution.run_study` writes it."""

Loaded = Mapping[str, tuple[Study, dict[str, dict[str, Any]]]]


def load(folder: Path = SHIPPED) -> dict[str, tuple[Study, dict[str, dict[str, Any]]]]:
    """Studies of which runs are shipped, and those runs by key."""
    found = {}
    for name in STUDIES:
        if (folder / name / "runs").is_dir():
            chosen = study(name)
            found[name] = chosen, finished(chosen, folder / name)
    return found


def association(loaded: Loaded) -> str:
    """In words: how far the reach r delta of the unseen rows goes with exact answers on unseen symbols, over all runs."""
    from scipy.stats import spearmanr

    lines = []
    for words, model in (("all runs", ""), ("standard", "standard"), ("copy", "copy")):
        reach, exact = [], []
        for chosen, done in loaded.values():
            rows = tables.results(chosen, done)
            for row in tables.last_records(chosen, done):
                if row["variant"].startswith(model):
                    reach.append(row["r"] * row["unseen_farthest"])
                    own = [r for r in rows if r["seed"] == row["seed"]]
                    exact += tables.shares(own, row["variant"], "all")
        if len(set(reach)) > 2 and len(set(exact)) > 1:
            low, high = _interval(np.array(reach), np.array(exact))
            rank = float(spearmanr(reach, exact)[0])  # pyright: ignore[reportArgumentType]
            lines.append(
                f"- {words} ({len(reach)}): rank correlation {rank:.2f} ({low:.2f} to {high:.2f})"
            )
    return "\n".join(lines)


def _interval(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of Spearman's correlation, runs drawn with replacement."""
    from scipy.stats import bootstrap, spearmanr

    def rank(x: np.ndarray, y: np.ndarray) -> float:
        constant = np.ptp(x) == 0 or np.ptp(y) == 0
        return 0.0 if constant else float(spearmanr(x, y)[0])  # pyright: ignore[reportArgumentType]

    found = bootstrap(
        (a, b),
        rank,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def blocks(loaded: Loaded) -> dict[str, str]:
    """Text by the name of its markers in the page."""
    made = {}
    for name in STUDIES:
        if name not in loaded:
            continue
        chosen, done = loaded[name]
        seeds = sorted({run.seed for run in chosen.runs if run.key in done})
        head = f"{len(done)} of {len(chosen.runs)} runs are finished, seeds {', '.join(map(str, seeds))}."
        made[name] = f"{head}\n\n{tables.table(chosen, done)}"
        if name == "table":
            made["errors"] = tables.errors(chosen, done)
        if name == "sgd":
            made[name] += f"\n\n{_bounds(chosen, done)}"
    made["remaining"] = association(loaded)
    made["paper"] = verdicts.page(
        verdicts.Data(
            results={name: tables.results(*pair) for name, pair in loaded.items()},
            last={name: tables.last_records(*pair) for name, pair in loaded.items()},
        )
    )
    return made


def _bounds(chosen: Study, done: Mapping[str, Mapping[str, Any]]) -> str:
    """What the followed steps say of the bounds, in words."""
    lines = []
    rows = tables.watches(chosen, done)
    for variant in dict.fromkeys(row["variant"] for row in rows):
        own = [row for row in rows if row["variant"] == variant]
        total = {
            key: sum(row[key] for row in own) for key in own[0] if isinstance(own[0][key], int)
        }
        lines.append(
            f"- {variant}: {total['steps']:,} steps, {total['trace_within']:,} within the condition of `contraction` for T "
            f"the trace, of them {total['trace_above']} with a pair above $1 - \\eta\\lambda$; {total['trace_below']} below "
            f"$1 - \\eta(\\lambda + sT)$; for T from the loss {total['from_loss_within']:,} and {total['from_loss_above']}"
        )
    return "\n".join(lines)


def figures(loaded: Loaded, folder: Path) -> list[Path]:
    """The page's figures: of each study its own, and one of all runs."""
    written = []
    for name, (chosen, done) in loaded.items():
        for kind in views.kinds(chosen):
            if kind != "remaining":
                written.append(
                    views.draw(kind, chosen, done, folder / f"transformers_{name}_{kind}.svg")
                )
    return [
        *written,
        views.draw_remaining(list(loaded.values()), folder / "transformers_remaining.svg"),
    ]
