"""The paper's experimental claims, held against the shipped studies.

A claim is a few checks, each a number with its 95 % interval over seeds and a line to be above or below. A check holds or
fails where the whole interval is on one side, and is open otherwise. All hold: reproduced; some do: partly; none holds and
one fails: not reproduced; all open: open. A number from fewer than five seeds decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.transformers.tables import Mean, mean, shares

__all__ = ["CLAIMS", "Check", "PaperClaim", "conclude", "page"]

Row = dict[str, Any]
LEAST_SEEDS = 5


@dataclass(frozen=True)
class Check:
    """``measure`` gives a value for each seed, of rows by study name; it is to be ``above`` the line, or below it."""

    text: str
    measure: Callable[[Data], list[float]]
    line: float
    above: bool
    least: float = 0.0
    most: float = 1.0

    def look(self, data: Data) -> tuple[Mean | None, str]:
        """The mean, and "holds", "fails", "open", or why it says nothing."""
        values = self.measure(data)
        if not values:
            return None, "not run"
        found = mean(values, least=self.least, most=self.most)
        if found.seeds < LEAST_SEEDS:
            return found, f"only {found.seeds} seeds"
        if found.low > self.line or found.high < self.line:
            return found, "holds" if (found.low > self.line) == self.above else "fails"
        return found, "open"


@dataclass(frozen=True)
class Data:
    """Of each study by name: the rows of `results`, and those of `last_records`."""

    results: Mapping[str, Sequence[Row]]
    last: Mapping[str, Sequence[Row]]

    def exact(self, study: str, variant: str, unseen: str, way: str = "plain") -> list[float]:
        """Shares of exact answers, one for each seed."""
        return shares(self.results.get(study, ()), variant, unseen, way=way)

    def by_seed(self, study: str, variant: str, unseen: str) -> dict[int, float]:
        """The same shares by seed: two variants are compared seed by seed, also where runs are missing."""
        rows = self.results.get(study, ())
        seeds = {row["seed"] for row in rows if row["variant"] == variant}
        found = {s: shares([r for r in rows if r["seed"] == s], variant, unseen) for s in seeds}
        return {seed: values[0] for seed, values in sorted(found.items()) if values}

    def final(self, study: str, variant: str, key: str) -> list[float]:
        """A number of the last record, one for each seed."""
        return [row[key] for row in self.last.get(study, ()) if row["variant"] == variant]


@dataclass(frozen=True)
class PaperClaim:
    """A claim in our words, the checks that stand for it here, and the figure that shows it."""

    name: str
    text: str
    checks: tuple[Check, ...]
    figure: str


GOOD, BAD = 0.9, 0.1
"""Shares of exact answers that are called working and failing."""


def exact(variant: str, unseen: str, line: float, above: bool, *, study: str = "table") -> Check:
    words = {"none": "all symbols seen", "query": "query unseen", "all": "all symbols unseen"}
    side = "above" if above else "below"
    return Check(
        f"{variant}, {words[unseen]}: exact answers {side} {line:g}",
        lambda data: data.exact(study, variant, unseen),
        line,
        above,
    )


def change(first: str, then: str, *, line: float = 0.1, study: str = "table") -> Check:
    """By how much ``then`` has more exact answers than ``first``, all symbols unseen."""

    def measure(data: Data) -> list[float]:
        before, after = data.by_seed(study, first, "all"), data.by_seed(study, then, "all")
        return [after[seed] - before[seed] for seed in before if seed in after]

    return Check(
        f"{then} over {first}, all symbols unseen: more by {line:g}", measure, line, True, -1.0, 1.0
    )


def final(
    variant: str, key: str, line: float, above: bool, text: str, *, share: bool = False
) -> Check:
    def measure(data: Data) -> list[float]:
        values = data.final("table", variant, key)
        if not share:
            return values
        return [
            float(v / f)
            for v, f in zip(values, data.final("table", variant, "first_distance"), strict=True)
        ]

    return Check(
        f"{variant}: {text}", measure, line, above, 0.0 if share else -1.0, np.inf if share else 1.0
    )


CLAIMS = (
    PaperClaim(
        "unseen",
        "Models fail on variable names that training never showed.",
        (
            exact("standard, trainable", "none", GOOD, True),
            exact("standard, trainable", "query", BAD, False),
            exact("standard, trainable", "all", BAD, False),
        ),
        "table",
    ),
    PaperClaim(
        "collapse",
        "The rows of unseen symbols collapse towards one another; those of seen ones do not.",
        (
            final(
                "standard, trainable",
                "unseen_centred_cosine",
                0.5,
                True,
                "centred cosine of unseen rows above 0.5",
            ),
            final(
                "standard, trainable",
                "seen_centred_cosine",
                0.1,
                False,
                "centred cosine of seen rows below 0.1",
            ),
            final(
                "standard, trainable",
                "unseen_distance",
                0.5,
                False,
                "distance of unseen rows below half of the first",
                share=True,
            ),
        ),
        "collapse",
    ),
    PaperClaim(
        "diversity alone",
        "More symbols in training alone let the standard model name unseen ones.",
        (
            exact("standard, 2048 symbols", "none", GOOD, True, study="diversity"),
            exact("standard, 2048 symbols", "all", GOOD, True, study="diversity"),
        ),
        "diversity",
    ),
    PaperClaim(
        "copy and diversity",
        "With copy attention, more symbols in training help.",
        (
            change("copy, 16 symbols", "copy, 2048 symbols", study="diversity"),
            exact("copy, 2048 symbols", "all", GOOD, True, study="diversity"),
        ),
        "diversity",
    ),
    PaperClaim(
        "freezing",
        "Freezing the embeddings repairs it.",
        (
            change("standard, trainable", "standard, frozen"),
            change("copy, trainable", "copy, frozen"),
            exact("copy, frozen", "all", GOOD, True),
        ),
        "table",
    ),
    PaperClaim(
        "reset",
        "Periodic resets repair it, with copy attention.",
        (change("copy, trainable", "copy, reset"), exact("copy, reset", "all", GOOD, True)),
        "table",
    ),
    PaperClaim(
        "temporary reset",
        "Resets that stop halfway are enough with copy attention, and only with it.",
        (
            exact("copy, temporary reset", "all", GOOD, True),
            exact("standard, temporary reset", "all", 0.5, False),
        ),
        "table",
    ),
)


def conclude(outcomes: Sequence[str]) -> str:
    """The verdict on a claim from the outcomes of its checks."""
    if any(outcome not in ("holds", "fails", "open") for outcome in outcomes):
        return "not decided: runs are missing"
    if all(outcome == "holds" for outcome in outcomes):
        return "reproduced at this scale"
    if "holds" in outcomes:
        return "partly reproduced"
    return "not reproduced" if "fails" in outcomes else "open"


def page(data: Data) -> str:
    """Markdown: a table of verdicts, then each claim with its checks."""
    lines = ["| claim of the paper | verdict | figure |", "| --- | --- | --- |"]
    parts = []
    for claim in CLAIMS:
        looks = [check.look(data) for check in claim.checks]
        verdict = conclude([outcome for _, outcome in looks])
        looked = any(found is not None for found, _ in looks)
        link = f"[{claim.figure}](#{claim.figure})" if looked else ""
        lines.append(f"| {claim.text} | {verdict} | {link} |")
        parts += ["", f"**{claim.text}** {verdict[0].upper()}{verdict[1:]}.", ""]
        for check, (found, outcome) in zip(claim.checks, looks, strict=True):
            shown = "" if found is None else f": {found}, {found.seeds} seeds"
            parts.append(f"- {check.text}{shown}: {outcome}")
    return "\n".join(lines + parts)
