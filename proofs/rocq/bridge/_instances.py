"""Instances in dyadic numbers, which floats hold exactly: hypotheses are met by some and not by others."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from collapse_theory.instances import DOMAINS, Batch

COUNT = 20
"""Instances for each domain."""
SHAPES = ((1, 1, 2), (2, 2, 1), (1, 2, 2), (2, 1, 2))
"""Of runs in turn: dimension, examples, steps."""

Draw = Callable[[np.random.Generator, int], dict[str, Any]]


def _parts(rng: np.random.Generator, low: int, high: int, shape: Any = (), unit: int = 4) -> Any:
    """Multiples of 1/unit, from low/unit to high/unit."""
    return rng.integers(low, high + 1, shape) / unit


def _weights(rng: np.random.Generator, examples: int) -> list[float]:
    if examples == 1:
        return [1.0]
    first = rng.integers(1, 8) / 8
    return [first, 1 - first]


def _labels(rng: np.random.Generator, shape: Any) -> Any:
    return rng.choice([0, 1, *[2] * 10], shape)


def _step(rng: np.random.Generator, place: int, dim: int = 2) -> dict[str, Any]:
    rows, features = _parts(rng, -8, 8, (3, dim)), _parts(rng, -8, 8, (2, dim))
    labels = _labels(rng, 2)
    if place == 3:  # the logarithmic mean of equal numbers is another formula
        rows[1], labels[:] = rows[0], 2
    return {
        "weights": rows,
        "features": features,
        "labels": labels,
        "example_weights": _weights(rng, 2),
        "step_size": _parts(rng, -1, 8, unit=8),
        "weight_decay": _parts(rng, -2, 16, unit=8),
        "radius": _parts(rng, 4, 24, unit=8),
        "pbar": _parts(rng, 1, 8, unit=16),
        "curvature": _parts(rng, 1, 32, unit=16),
    }


def _training(rng: np.random.Generator, place: int, least: int = 1) -> dict[str, Any]:
    dim, examples, steps = SHAPES[place % len(SHAPES)]
    dim = max(dim, least)
    return {
        "weights": _parts(rng, -6, 6, (3, dim)),
        "features": _parts(rng, -6, 6, (steps, examples, dim)),
        "labels": _labels(rng, (steps, examples)),
        "example_weights": [_weights(rng, examples) for _ in range(steps)],
    }


def _each(rng: np.random.Generator, v: dict[str, Any], low: int, high: int, unit: int) -> Any:
    return _parts(rng, low, high, len(v["labels"]), unit)


def _run(rng: np.random.Generator, place: int, least: int = 1) -> dict[str, Any]:
    v = _training(rng, place, least)
    return v | {
        "step_size": _each(rng, v, -1, 8, 8),
        "weight_decay": _each(rng, v, -1, 8, 8),
        "radius": _each(rng, v, 4, 24, 8),
        "pbar": _each(rng, v, 1, 8, 16),
        "curvature": _each(rng, v, 2, 32, 16),
    }


def _probe(rng: np.random.Generator, place: int) -> dict[str, Any]:
    v = _run(rng, place, least=2)
    if place % 3:  # features along the first axis, the probe along the second
        v["features"][..., 1] = 0
    return v | {"probe": [0.0 if place % 3 else 0.5, float(_parts(rng, 1, 8))]}


def _steady(rng: np.random.Generator, place: int) -> dict[str, Any]:
    v = _training(rng, place)
    if place % 2:
        v["labels"][:] = 2
    if place == 11:
        v["weights"][0] = v["weights"][1]
    if place == 13:
        v["weights"][0] = 0
    return v | {
        "step_size": _each(rng, v, 0 if place % 4 else -2, 8, 8),
        "weight_decay": _parts(rng, -1, 10, unit=8) if place % 5 != 2 else 0.0,
        "radius": _parts(rng, 6, 24, unit=8),
        "pbar": _parts(rng, 1, 8, unit=16),
        "curvature": _parts(rng, 2, 16, unit=16),
        "distance": _parts(rng, 1, 24, unit=8) if place % 8 != 7 else (8 - place) / 8,
        "floor": _parts(rng, -1, 6, unit=8),
    }


def _reset(rng: np.random.Generator, place: int) -> dict[str, Any]:
    v = _training(rng, place)
    if place % 2:
        v["labels"][:] = 2
    steps, dim = len(v["labels"]), v["weights"].shape[1]
    return v | {
        "fresh": _parts(rng, -6, 6, (steps, 2, dim)),
        "step_size": _parts(rng, -1, 6, unit=8),
        "weight_decay": _parts(rng, -2, 8, unit=8),
        "curvature": _parts(rng, 2, 16, unit=16),
        "distance": _parts(rng, 1, 8, unit=8),
        "period": 1 + place % 2,
    }


def _momentum(rng: np.random.Generator, place: int) -> dict[str, Any]:
    v = _training(rng, place)
    if place % 2:
        v["labels"][:] = 2
    if place == 4:  # too long a step for each of the claims
        return v | {"step_size": 1.0, "weight_decay": 0.0, "momentum": 0.25, "curvature": 4.0}
    if place == 9:  # no real roots
        return v | {"step_size": 0.5, "weight_decay": 1.0, "momentum": 0.75, "curvature": 1.0}
    return v | {
        "step_size": _parts(rng, -1, 8, unit=16),
        "weight_decay": _parts(rng, -4, 16, unit=16),
        "momentum": _parts(rng, 0, 12, unit=16) if place % 3 else 0.0,
        "curvature": _parts(rng, 1, 24, unit=16),
    }


def _adam_run(rng: np.random.Generator, place: int) -> dict[str, Any]:
    v = _training(rng, place)
    if place % 2:
        v["labels"][:] = 2
    if place % 4 == 1:
        v["features"] = np.abs(v["features"])
    if place in (6, 7):
        v["weights"][place % 2] = 0
    sizes = _each(rng, v, 0, 12, 16)
    sizes[-1] = {0: -1 / 8, 3: 3.0}.get(place % 5, sizes[-1])
    return v | {
        "step_size": sizes,
        "weight_decay": _parts(rng, -2, 16, unit=8) if place % 4 else 0.0,
        "beta1": _parts(rng, 0, 14, unit=16),
        "beta2": _parts(rng, 1, 15, unit=16),
        "epsilon": _parts(rng, 1, 16, unit=16),
        "gradient_bound": _parts(rng, 2, 24, unit=16),
    }


def _head(rng: np.random.Generator, place: int) -> dict[str, Any]:
    return {
        "weights": _parts(rng, -6, 6, (4, 2)),
        "feature": _parts(rng, -6, 6, 2),
        "radius": _parts(rng, 4, 16, unit=8),
        "distance": _parts(rng, 4, 24, unit=8),
        "unseen": 2 + place % 2,
    }


def _vectors(rng: np.random.Generator, place: int) -> dict[str, Any]:
    v = {"first": _parts(rng, -8, 8, 3), "second": _parts(rng, -8, 8, 3)}
    if place in (2, 3):
        v["first" if place == 2 else "second"][:] = 0
    return v


def _equilibrium(rng: np.random.Generator, place: int) -> dict[str, Any]:
    return {
        "seen": _parts(rng, -4, 4, (2, 2)),
        "feature": _parts(rng, -4, 4, 2) if place != 3 else np.zeros(2),
        "weight_decay": _parts(rng, -2, 8),
        "level": _parts(rng, -2, 5),
        "unseen": 1 + place % 3,
    }


def _loss(rng: np.random.Generator, place: int) -> dict[str, Any]:
    targets = np.repeat(_parts(rng, 0, 3, (2, 1), unit=8), 2, axis=1)
    if place % 4 == 0:
        targets[1, 1] += 1 / 8
    return _step(rng, place) | {
        "pair_targets": targets,
        "mask": rng.integers(0, 2, 2),
        "smoothing": _parts(rng, 0, 8, unit=8),
        "temperature": _parts(rng, 2, 12),
        "scale": _parts(rng, 1, 12),
        "clip": _parts(rng, 1, 24, unit=32) if place % 2 else _parts(rng, 8, 16, unit=8),
    }


def _adam_step(rng: np.random.Generator, place: int) -> dict[str, Any]:
    v = _step(rng, place) | {"epsilon": _parts(rng, 1, 24, unit=16)}
    if place in (0, 5):  # where the update points away from the other row
        v |= {
            "weights": [[0.75, 0.0], [-0.75, 0.75], [0.0, place / 32]],
            "features": [[1.0, 1.0], [-1.0, -1.75]],
            "labels": [2, 2],
            "example_weights": [0.625, 0.375],
            "epsilon": 1 / 16,
        }
        v["weights"] = np.asarray(v["weights"])
        v["features"] = np.asarray(v["features"])
    return v


def _rounding(rng: np.random.Generator, place: int) -> dict[str, Any]:
    unit = 1 / 8
    weight = float(rng.choice([1, 1, 2, -1]))
    below = weight * (1 - rng.choice([1, 1, 1, 2, 0]) * unit)
    delta = rng.choice([1, 2, 3, 4, 5, 6, 7, 12]) * unit / 8
    rounded = rng.choice([weight, below, weight * (1 - delta), 2 * below - weight])
    return {
        "weight": weight,
        "below": below,
        "rounded": rounded,
        "shrinkage": delta,
        "unit": unit,
    }


DRAWS: dict[str, Draw] = {
    "step": _step,
    "run": _run,
    "head": _head,
    "vectors": _vectors,
    "spectral_step": lambda rng, place: (
        _step(rng, place)
        | {"lowest": _parts(rng, -8, 1, unit=8), "highest": _parts(rng, -2, 16, unit=8)}
    ),
    "equilibrium": _equilibrium,
    "steady_run": _steady,
    "probe_run": _probe,
    "reset_run": _reset,
    "momentum_run": _momentum,
    "adam_step": _adam_step,
    "adam_run": _adam_run,
    "preconditioned_step": lambda rng, place: (
        _step(rng, place) | {"preconditioner": _parts(rng, 1, 12, 2)}
    ),
    "rounding": _rounding,
    "loss_step": _loss,
    "z_loss_step": lambda rng, place: (
        _step(rng, place) | {"zeta": _parts(rng, -6, 6, unit=8) if place != 5 else 0.0}
    ),
    "capped_step": lambda rng, place: _step(rng, place) | {"cap": _parts(rng, 1, 12)},
    "biased_step": lambda rng, place: _step(rng, place, dim=1) | {"biases": _parts(rng, -6, 6, 3)},
}
"""By domain, the fields of one instance."""


def _generic(v: dict[str, Any], place: int) -> bool:
    """Whether the logarithmic means are those of different numbers, or of equal rows."""
    if "weights" not in v:
        return True
    difference = v["weights"][0] - v["weights"][1]
    if "biases" not in v and not np.any(difference) and np.all(v.get("labels", 2) == 2):
        return True  # the rows stay equal
    gaps = np.asarray(v.get("features", v.get("feature"))) @ difference
    if "biases" in v:
        gaps = gaps + v["biases"][0] - v["biases"][1]
    return bool(np.all(gaps != 0))


def instances(domain: str, count: int = COUNT, seed: int = 0) -> list[Batch]:
    """Instances of a domain, each a batch of one. Same seed, same instances."""
    rng = np.random.default_rng([zlib.crc32(domain.encode()), seed])
    found: list[Batch] = []
    while len(found) < count:
        place = len(found)
        v = DRAWS[domain](rng, place)
        if _generic(v, place):
            found.append(DOMAINS[domain].batch_type.create(**v))
    return found
