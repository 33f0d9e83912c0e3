"""What a study's runs say, as tidy rows and as means over seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.transformers.evaluation import CONDITIONS
from simulations.transformers.studies import Study

__all__ = [
    "Mean",
    "csv_text",
    "last_records",
    "mean",
    "records",
    "results",
    "shares",
    "table",
    "watches",
]

Row = dict[str, Any]
Done = Mapping[str, Mapping[str, Any]]

CONDITION_WORDS = {"none": "all seen", "query": "query unseen", "all": "all unseen"}
WAYS = ("plain", "restricted", "restored")


def results(study: Study, done: Done) -> list[Row]:
    """A row for each run, condition and way of testing: counts of problems."""
    return _entries(study, done, "results")


def records(study: Study, done: Done) -> list[Row]:
    """A row for each recorded step of each run."""
    return _entries(study, done, "records")


def _entries(study: Study, done: Done, kind: str) -> list[Row]:
    return [
        {"variant": run.variant, "seed": run.seed, **row}
        for run in study.runs
        if run.key in done
        for row in done[run.key][kind]
    ]


def last_records(study: Study, done: Done) -> list[Row]:
    """The last recorded step of each run, with its first distance beside it."""
    return [
        {
            "variant": run.variant,
            "seed": run.seed,
            "first_distance": done[run.key]["records"][0]["unseen_distance"],
            **done[run.key]["records"][-1],
        }
        for run in study.runs
        if run.key in done
    ]


def watches(study: Study, done: Done) -> list[Row]:
    """A row for each run whose steps were followed: what they say of the bounds."""
    rows = []
    for run in study.runs:
        watch = done.get(run.key, {}).get("watch")
        if watch:
            flat = {"variant": run.variant, "seed": run.seed}
            for key, value in watch.items():
                if isinstance(value, dict):
                    flat |= {f"{key}_{name}": entry for name, entry in value.items()}
                else:
                    flat[key] = value
            rows.append(flat)
    return rows


def csv_text(rows: Sequence[Row]) -> str:
    """CSV with a header of the first row's keys; empty for no rows."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
        writer.writerows([row[key] for key in rows[0]] for row in rows)
    return out.getvalue()


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with a 95 % interval: Student's t over the seeds' own values, cut to [least, most].

    With one seed the interval is all of [least, most].
    """

    value: float
    low: float
    high: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def mean(values: Sequence[float], *, least: float = 0.0, most: float = 1.0) -> Mean:
    """The mean of one value for each seed."""
    from scipy.stats import t

    array = np.asarray(values, dtype=float)
    middle, count = float(array.mean()), len(array)
    if count < 2:
        return Mean(middle, least, most, count)
    half = float(t.ppf(0.975, count - 1) * array.std(ddof=1) / np.sqrt(count))
    return Mean(middle, max(least, middle - half), min(most, middle + half), count)


def shares(
    rows: Sequence[Row], variant: str, unseen: str, *, way: str = "plain", key: str = "exact"
) -> list[float]:
    """The share of problems, one for each seed, in the order of the rows."""
    return [
        row[key] / row["problems"]
        for row in rows
        if (row["variant"], row["unseen"], row["way"]) == (variant, unseen, way)
    ]


def table(study: Study, done: Done) -> str:
    """Markdown: exact matches under each condition, and what became of the unseen rows; means over seeds, 95 % intervals."""
    rows, last = results(study, done), last_records(study, done)
    lines = [
        "| variant | seeds | exact: all seen | query unseen | all unseen | same, output in context | same, rows restored "
        "| distance left | cosine | centred | norm |",
        "|" + " --- |" * 11,
    ]
    for variant in dict.fromkeys(run.variant for run in study.runs):
        own = [row for row in last if row["variant"] == variant]
        if not own:
            continue
        exact = [str(mean(shares(rows, variant, name))) for name in CONDITIONS]
        exact += [
            str(mean(shares(rows, variant, "all", way=way))) for way in ("restricted", "restored")
        ]
        left = np.mean([row["unseen_distance"] / row["first_distance"] for row in own])
        facts = [
            np.mean([row[f"unseen_{k}"] for row in own])
            for k in ("cosine", "centred_cosine", "norm")
        ]
        cells = [
            variant,
            str(len(own)),
            *exact,
            f"{left:.2f}",
            *(f"{value:.2f}" for value in facts),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def errors(study: Study, done: Done) -> str:
    """Markdown: kinds of the first error with all symbols unseen, in per cent of the problems, means over seeds."""
    rows = [row for row in results(study, done) if (row["unseen"], row["way"]) == ("all", "plain")]
    if not rows:
        return ""
    first = ("variant", "seed", "unseen", "way", "problems", "exact", "verdict", "teacher")
    kinds = [key for key in rows[0] if key not in first and any(row[key] for row in rows)]
    lines = [f"| variant | right | {' | '.join(kinds)} |", "|" + " --- |" * (2 + len(kinds))]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        own = [row for row in rows if row["variant"] == variant]
        cells = [
            f"{100 * np.mean([row[key] / row['problems'] for row in own]):.1f}"
            for key in ("exact", *kinds)
        ]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)
