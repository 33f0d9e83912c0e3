"""How the free variables of an instance are drawn: numbers of few digits that meet the hypotheses where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..instances import Domain, Shape

DIGITS = st.integers(-300, 300).map(lambda k: k / 100)
"""Numbers in [-3, 3] with two decimals; shrinks to 0."""
SCALES = st.sampled_from([1.0, 0.1, 10.0, 1e-3, 1e3, 1e-6, 1e6])
SLACK = (1.0, 1.5, 10.0)
KNOBS: dict[str, tuple[float, ...]] = {
    "decay_relative": (0.0, 1.0, 0.01, 100.0, -0.1),
    "decay_absolute": (0.0, 0.0, 1.0, 0.01),
    "step_fraction": (1.0, 0.5, 0.1, 1e-3, 0.0),
    "step_inverse_decay": (0.0,),
    "step_by_radius": (0.0,),
    "smoothing": (0.1, 0.0, 0.5),
    "temperature": (1.0, 2.0, 0.5),
    "scale": (1.0, 4.0, 0.25),
    "clip_relative": (1.0, 0.5, 0.1, 10.0),
    "zeta_relative": (0.01, 0.1, 1.0),
    "cap_relative": (0.0, 2.0, 10.0),
    "cap_absolute": (1.0, 30.0),
    "level": (1.0, 0.5, 2.0, 0.01, -1.0),
    "decay": (1.0, 0.01, 0.0, -0.1),
    "measured": (1.0, 0.0),
    "by_decay": (1.0, 0.0),
    "by_pair": (1.0, 0.0),
    "tilted": (0.0,),
    "swapped": (0.0,),
    "beta": (0.5, 0.9, 0.3, 0.0),
    "drift": (0.5, 0.1, 0.01, 0.0),
    "beyond": (0.0,),
    "fraction": (0.5, 1.0, 0.1, 1e-3),
    "by": (0.0,),
    "beta1": (0.9, 0.5, 0.0),
    "beta2": (0.95, 0.999, 0.5),
    "epsilon_relative": (1.0, 1e-3, 1e-6),
    "ball": (0.5, 0.1, 0.0),
    "bits": (8.0, 11.0, 24.0, 4.0),
    "mantissa": (0.0, 0.5, 0.25, 0.9),
    "exponent": (0.0, -3.0, 10.0),
    "sign": (1.0,),
    "digits": (2.0, 4.0),
    "numerator": (1.0, 3.0, 4.0, 20.0),
    "error": (0.0,),
    "slack_unit": (1.0,),
    "unrounded": (0.0,),
}
"""Values of the free variables that say how an instance lies to its margins, the simplest first; else :data:`SLACK`."""
LONG_STEPS = ("step_size", "step_size_from_largest", "step_size_from_radius")
VIOLATING: tuple[tuple[str, tuple[float, ...], tuple[str, ...]], ...] = (
    ("step_fraction", (2.0, 30.0), (*LONG_STEPS, "factor", "positive_lower_factor")),
    ("step_fraction", (-0.5,), ("nonnegative_step", "factor")),
    ("zeta_relative", (-1.0,), ("nonnegative_factor", "factor_at_most_one")),
    ("tilted", (1.0,), ("orthogonal",)),
    ("swapped", (1.0,), ("ordered",)),
    ("slack_radius", (0.5,), ("radius",)),
    ("slack_pbar", (0.5,), ("pbar",)),
    ("slack_curvature", (0.5,), ("curvature",)),
    ("slack_distance", (0.5,), ("within", "long_enough", "reached", "drawn_apart")),
    ("slack_floor", (0.5,), ("norms",)),
    ("slack_lowest", (0.5,), ("between",)),
    ("slack_highest", (0.5,), ("between",)),
)
"""Further values of free variables, which break a hypothesis; drawn where none of those named beside them is assumed."""
NARROWED: dict[str, dict[str, tuple[float, ...]]] = {
    "positive_factor": {"step_fraction": (0.9, 0.5, 0.1, 1e-3, 0.0)},
    "positive_lower_factor": {"step_fraction": (0.5, 0.1, 1e-3, 0.0)},
    "factor": {"step_fraction": (0.5, 0.1, 1e-3, 0.0)},
    "step_size_from_radius": {"step_by_radius": (1.0,)},
    "factor_at_most_one": {"zeta_relative": (0.0, -0.01, -0.1)},
    "some_decay": {"decay_absolute": (1.0, 0.01), "decay": (1.0, 0.01)},
    "power_of_two": {"mantissa": (0.0,)},
    "small": {"numerator": (1.0, 0.0)},
    "large": {"numerator": (3.0, 20.0), "digits": (2.0,)},
    "some_momentum": {"beta": (0.5, 0.9, 0.3)},
    "betas": {"beta1": (0.5, 0.0, 0.7)},
    "inside_ball": {"ball": (0.5, 0.1)},
    "long_enough": {"by_decay": (1.0,)},
    "reached": {"by_decay": (0.0, 1.0)},
}
"""Values under a hypothesis that the others would seldom meet."""
NONZERO = frozenset({"nonzero", "nonzero_feature", "nonzero_rows", "positive_floor"})


def apart(rows: np.ndarray, assumed: frozenset[str]) -> np.ndarray:
    """Rows in which u and v differ, or are not 0, where that is assumed."""
    if assumed & {"different_rows", "long_enough"} and np.array_equal(rows[0], rows[1]):
        rows[0, 0] += np.maximum(1.0, np.abs(rows[0, 0]))
    if assumed & NONZERO:
        rows[:2, 0] += ~rows[:2].any(axis=1)
    return rows


def value(
    draw: Callable[..., Any],
    name: str,
    template: np.ndarray,
    where: Domain,
    shape: Shape,
    head: np.ndarray,
    assumed: frozenset[str],
) -> np.ndarray:
    """A free variable of one instance, of the shape and kind of ``template``. Hypotheses are met by construction where that
    is possible, so that few draws are thrown away."""
    if name == "weights":
        return head
    if name in where.arrays:
        scale = {"fresh": np.abs(head).max() or 1.0, "seen": 1.0, "biases": 1.0}.get(name)
        entries = array(draw, template.shape) * (draw(SCALES) if scale is None else scale)
        if name == "features" and "constant_sign" in assumed:
            entries = np.abs(entries)
        if assumed & NONZERO and entries.ndim == 1 and not entries.any():
            entries[0] = 1.0
        return entries
    if name == "labels":
        lowest = 2 if "unseen" in assumed else 0
        seen = st.integers(lowest, shape.labels - 1)
        return array(draw, template.shape, seen).astype(np.int64)
    if name == "example_weights":  # multiples of 1/1024 that sum to 1 exactly
        counts = array(draw, template.shape, st.integers(1, 8)).astype(np.int64)
        parts = counts * (1024 // counts.sum(axis=-1, keepdims=True))
        parts[..., 0] += 1024 - parts.sum(axis=-1)
        return parts / 1024
    if name in WHOLE:
        return array(draw, template.shape, WHOLE[name](shape)).astype(template.dtype)
    if name == "pair_targets":
        mass = array(draw, template.shape, st.sampled_from([0.0, 0.125, 0.25]))
        return np.repeat(mass[..., :1], 2, axis=-1) if "twins" in assumed else mass
    values = KNOBS.get(name, SLACK)
    for hypothesis in sorted(assumed):
        values = NARROWED.get(hypothesis, {}).get(name, values)
    for broken, more, by in VIOLATING:
        if broken == name and assumed.isdisjoint(by):
            values += more
    return array(draw, template.shape, st.sampled_from(values))


WHOLE: dict[str, Callable[[Shape], st.SearchStrategy[int]]] = {
    "unseen": lambda shape: st.integers(2, shape.labels - 1),
    "period": lambda shape: st.integers(1, shape.steps),
    "mask": lambda shape: st.integers(0, 1),
    "probe": lambda shape: st.integers(-2, 2).filter(bool),
}
"""Free variables that are whole numbers."""


def array(
    draw: Callable[..., Any], shape: tuple[int, ...], elements: st.SearchStrategy[Any] = DIGITS
) -> np.ndarray:
    size = int(np.prod(shape))
    numbers = draw(st.lists(elements, min_size=size, max_size=size))
    return np.array(numbers, np.float64).reshape(shape)
