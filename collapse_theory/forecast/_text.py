"""A forecast for reading: the verdict first, then proved, observed and unknown apart."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._finding import NOT_KNOWN, OBSERVED, PROVED, Finding, plain

if TYPE_CHECKING:
    from ._forecast import Forecast

__all__ = ["WIDTH", "text"]

WIDTH = 100
"""Columns of a terminal."""
NAMES = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW"}


def text(forecast: Forecast) -> str:
    """The whole forecast, at most 100 columns wide."""
    from ._forecast import decay_line

    lines = [*_folded("", forecast.verdict), "", *_folded("  ", _setup_line(forecast))]
    if forecast.setup.gradient in ("softmax", "zero"):
        lines += _folded("  ", decay_line(forecast))
    for status in (PROVED, OBSERVED, NOT_KNOWN):
        found = [finding for finding in forecast.findings if finding.status == status]
        if found:
            lines += ["", status, *(line for finding in found for line in _statement(finding))]
    lines += ["", "Decay or collapse? (OBSERVED)"]
    lines += [line for finding in forecast.diagnosis for line in _statement(finding)]
    if forecast.remedies:
        lines += ["", "Remedies and their price"]
        for remedy in forecast.remedies:
            label = " ".join((remedy.status, *remedy.claims))
            said = f"{remedy.effect}; price: {remedy.price} [{label}]"
            lines += _folded(f"  {remedy.name:<13} ", said, 16)
    lines += ["", *(f"assumed   {line}" for line in forecast.assumed)] if forecast.assumed else []
    lines += ["", *(f"ignored   {line}" for line in forecast.ignored)] if forecast.ignored else []
    return "\n".join(lines)


def _setup_line(forecast: Forecast) -> str:
    s = forecast.setup
    words = [
        NAMES[s.optimizer],
        f"{s.steps:,} steps",
        f"learning rate {plain(s.learning_rate)} ({s.schedule.replace('_', ' ')}"
        + (f", warm-up {s.warmup_steps:,} steps)" if s.warmup_steps else ")"),
        f"weight decay {plain(s.weight_decay)}",
    ]
    if s.momentum:
        words.append(f"{'Nesterov ' if s.nesterov else ''}momentum {plain(s.momentum)}")
    if s.optimizer != "sgd":
        words.append(f"betas {s.betas[0]:g}, {s.betas[1]:g}")
    master = " with float32 master weights" if s.master_weights and s.dtype != "float32" else ""
    words.append(f"{s.dtype} weights{master}")
    radius = s.feature_radius
    if radius is not None and s.gradient == "softmax":
        words.append(f"features no longer than {plain(radius)}")
    if s.gradient != "softmax":
        words.append(f"gradient {s.gradient}")
    return ", ".join(words)


def _statement(finding: Finding) -> Iterator[str]:
    source = f" [{', '.join(finding.claims)}]" if finding.claims else ""
    yield from _folded(f"  {finding.topic:<13} ", finding.text + source, 16)


def _folded(start: str, words: str, indent: int | None = None) -> list[str]:
    after = " " * (len(start) if indent is None else indent)
    return textwrap.wrap(
        words,
        WIDTH,
        initial_indent=start,
        subsequent_indent=after,
        break_long_words=False,
        break_on_hyphens=False,
    )
