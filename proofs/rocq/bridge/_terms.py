"""Instances of the library as Rocq terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from collapse_theory.instances import Batch


def real(value: Any) -> str:
    """An exact number."""
    exact = Fraction(value)
    return (
        f"({exact.numerator})"
        if exact.denominator == 1
        else f"({exact.numerator} / {exact.denominator})"
    )


def _listed(values: Iterable[str]) -> str:
    return "[" + "; ".join(values) + "]"


def row(values: Sequence[Any]) -> str:
    """A vector, or one number for each step."""
    return f"(row {_listed(map(real, values))})"


def rows(values: Sequence[Sequence[Any]]) -> str:
    """One vector for each label, example or step."""
    return f"(rows_of {_listed(_listed(map(real, v)) for v in values)})"


def _batch(features: Any, labels: Any, weights: Any) -> str:
    targets = _listed(str(int(y)) for y in labels)
    return f"(Steps.Batch {len(labels)} {rows(features)} {row(weights)} (labels_of {targets}%nat))"


def _step(v: dict[str, Any]) -> str:
    count, dim = v["weights"].shape
    batch = _batch(v["features"], v["labels"], v["example_weights"])
    names = ("step_size", "weight_decay", "curvature", "radius", "pbar")
    numbers = " ".join(real(v[name]) for name in names)
    return f"(Steps.Step {dim} {count} {rows(v['weights'])} {batch} 0 1 {numbers})"


def _training(v: dict[str, Any]) -> str:
    count, dim = v["weights"].shape
    steps = len(v["labels"])
    batches = [
        _batch(v["features"][t], v["labels"][t], v["example_weights"][t]) for t in range(steps)
    ]
    none = "(Steps.Batch 0 (rows_of []) (row []) (labels_of []))"
    at = f"(fun t => nth t {_listed(batches)} {none})"
    return f"(Runs.Training {dim} {count} {rows(v['weights'])} {at} 0 1 {steps})"


def _run(v: dict[str, Any]) -> str:
    names = ("step_size", "weight_decay", "curvature", "radius", "pbar")
    return f"(Runs.Run {_training(v)} {' '.join(row(v[name]) for name in names)})"


def _reals(v: dict[str, Any], *names: str) -> str:
    return " ".join(real(v[name]) for name in names)


def _loss(v: dict[str, Any]) -> str:
    u, w = row(v["pair_targets"][:, 0]), row(v["pair_targets"][:, 1])
    mask = _listed("true" if m else "false" for m in v["mask"])
    numbers = _reals(v, "smoothing", "temperature", "scale", "clip")
    return f"(LossSteps.LossStep {_step(v)} {u} {w} (flags_of {mask}) {numbers})"


def _head(v: dict[str, Any]) -> str:
    count, dim = v["weights"].shape
    numbers = _reals(v, "radius", "distance")
    return (
        f"(Heads.Head {dim} {count} {rows(v['weights'])} {row(v['feature'])} {numbers}"
        f" {int(v['unseen'])})"
    )


def _rest(v: dict[str, Any]) -> str:
    seen, dim = v["seen"].shape
    numbers = _reals(v, "weight_decay", "level")
    return (
        f"(Equilibrium.Rest {dim} {seen} {rows(v['seen'])} {row(v['feature'])} {numbers}"
        f" {int(v['unseen'])})"
    )


def _reset(v: dict[str, Any]) -> str:
    u, w = rows(v["fresh"][:, 0]), rows(v["fresh"][:, 1])
    numbers = _reals(v, "step_size", "weight_decay", "curvature", "distance")
    return f"(Resets.Reset {_training(v)} {u} {w} {numbers} {int(v['period'])})"


def _steady(v: dict[str, Any]) -> str:
    names = ("weight_decay", "curvature", "radius", "pbar", "distance", "floor")
    return f"(Runs.Steady {_training(v)} {row(v['step_size'])} {_reals(v, *names)})"


def _momentum(v: dict[str, Any]) -> str:
    names = ("step_size", "weight_decay", "momentum", "curvature")
    return f"(Momentum.Momentum {_training(v)} {_reals(v, *names)})"


def _adam_run(v: dict[str, Any]) -> str:
    names = ("weight_decay", "beta1", "beta2", "epsilon", "gradient_bound")
    return f"(AdamRuns.AdamRun {_training(v)} {row(v['step_size'])} {_reals(v, *names)})"


TERMS: dict[str, Callable[[dict[str, Any]], str]] = {
    "step": _step,
    "run": _run,
    "head": _head,
    "vectors": lambda v: f"(Cosine.Vectors {len(v['first'])} {row(v['first'])} {row(v['second'])})",
    "spectral_step": lambda v: f"(Spectral.Spectral {_step(v)} {_reals(v, 'lowest', 'highest')})",
    "equilibrium": _rest,
    "steady_run": _steady,
    "probe_run": lambda v: f"(Orthogonal.Probe {_run(v)} {row(v['probe'])})",
    "reset_run": _reset,
    "momentum_run": _momentum,
    "adam_step": lambda v: f"(AdaptiveSteps.Adam {_step(v)} {_reals(v, 'epsilon')})",
    "adam_run": _adam_run,
    "preconditioned_step": lambda v: (
        f"(AdaptiveSteps.Preconditioned {_step(v)} {row(v['preconditioner'])})"
    ),
    "rounding": lambda v: (
        f"(Precision.Rounding {_reals(v, 'weight', 'below', 'rounded', 'shrinkage', 'unit')})"
    ),
    "loss_step": _loss,
    "z_loss_step": lambda v: f"(ZLoss.ZLossStep {_step(v)} {_reals(v, 'zeta')})",
    "capped_step": lambda v: f"(SoftCapping.CappedStep {_step(v)} {_reals(v, 'cap')})",
    "biased_step": lambda v: f"(Bias.BiasedStep {_step(v)} {row(v['biases'])})",
}
"""By domain, the term for the fields of one instance."""


def term(instance: Batch) -> str:
    """The Rocq record of one instance."""
    fields = {name: np.asarray(array)[0] for name, array in instance.values.items()}
    return TERMS[instance.domain](fields)
