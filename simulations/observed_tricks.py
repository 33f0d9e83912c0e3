"""Torch's runs with a trick as instances of the claims' domains, and how far the library's formulas are from torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from collapse_theory import losses
from collapse_theory.arithmetic import FLOAT
from collapse_theory.instances import (
    Batch,
    BiasedStep,
    CappedStep,
    LossStep,
    ResetRun,
    SteadyRun,
    Step,
    ZLossStep,
)

from .torch_runs import CAP, CLIP, SMOOTHING, TEMPERATURE, ZETA, TorchRun, train, tricks

UP = 1 + 1e-12
"""What measured bounds are taken up by, lest rounding break them."""


def observed_tricks(
    features: np.ndarray, labels: np.ndarray, *, classes: int, seed: int, steps: int
) -> Iterator[tuple[str, Batch, dict[str, Any]]]:
    """A torch run with every trick on features [N, n] with labels [N]: name, instances, facts.

    ``facts["residual"]`` is the largest difference between torch's ``w_u - w_v`` after a step and the library's, relative
    to the largest entry of the rows. (torch divides by the norm plus 1e-6 when it clips by the norm; that is seen there.)
    """
    for name, trick in tricks().items():
        used = features[:, :-1] if trick.bias != "none" else features  # its constant is the bias
        run = train(trick, used, labels, classes=classes, seed=seed, steps=steps)
        batch, after = _instances(name, run, period=trick.period)
        reached = run.after[:, 0] - run.after[:, 1]
        if trick.bias != "none":
            gap = run.next_biases[:, :1] - run.next_biases[:, 1:2]
            reached = np.concatenate([reached, gap], axis=1)
        residual = np.abs(after - reached).max() / np.abs(run.before).max()
        start, end = (np.linalg.norm(w[0, 0] - w[0, 1]) for w in (run.before, run.after[-1:]))
        facts = {
            "steps": len(run.labels),
            "residual": float(residual),
            "first_distance": float(start),
            "last_distance": float(end),
        }
        yield f"torch, {name}", batch, facts


def rare_labels(*, seed: int, steps: int = 60) -> Iterator[tuple[str, Batch, dict[str, Any]]]:
    """A torch run on the digits in which two labels have 15 images each: its steps, and the whole of it."""
    features, labels = rare_digits()
    run = train(tricks()["plain"], features, labels, classes=10, seed=seed, steps=steps)
    step = _settled(Step(**_common(run)))
    facts = {"steps_with_u_or_v_as_target": int((step.target_mass > 0).sum())}
    yield "torch, two rare labels", step, facts
    scalars = ("weight_decay", "radius", "pbar")
    whole = {name: step.values[name][:1] for name in ("weights", *scalars)}
    whole |= {name: step.values[name][None] for name in STEPWISE}
    left = np.linalg.norm(run.after[-1, 0] - run.after[-1, 1]) * UP
    batch = SteadyRun(
        ops=FLOAT,
        **whole,
        curvature=step.curvature.max(keepdims=True),
        distance=np.full(1, left),
        floor=np.full(1, np.linalg.norm(run.after[-1, :2], axis=1).min() / UP),
    )
    yield "torch, a whole run with two rare labels", batch, facts


STEPWISE = ("features", "labels", "example_weights", "step_size")


def rare_digits() -> tuple[np.ndarray, np.ndarray]:
    """The digits with 15 images only of two classes, which become labels 0 and 1."""
    from sklearn import datasets

    images, digits = datasets.load_digits(return_X_y=True)
    order = np.array([8, 9, *range(8)])
    labels = np.argsort(order)[digits]
    few = [np.flatnonzero(labels == k)[:15] for k in (0, 1)]
    kept = np.concatenate([*few, np.flatnonzero(labels > 1)])
    features = np.column_stack([images / 16.0, np.ones(len(images))])
    return features[kept], labels[kept]


def _instances(name: str, run: TorchRun, *, period: int) -> tuple[Batch, np.ndarray]:
    """The run's instances, and D after each step by the library's formulas [S, n]."""
    if name in ("decayed bias", "undecayed bias"):
        step = _settled(BiasedStep(**_common(run), biases=run.biases))
        whole = step.augmented
        decay = np.full(whole.difference.shape, 1 - run.step_size * run.weight_decay)
        if name == "undecayed bias":
            decay[:, -1] = 1.0
        return step, decay * whole.difference - run.step_size * whole.pair_gradient
    if name == "z-loss":
        step = _settled(ZLossStep(**_common(run), zeta=_full(run, ZETA)))
        return step, step.next_weights[:, 0] - step.next_weights[:, 1]
    if name == "soft-capping":
        step = _settled(CappedStep(**_common(run), cap=_full(run, CAP)))
        return step, step.next_weights[:, 0] - step.next_weights[:, 1]
    if period:
        return _resets(run, period, late=name == "reset one at a time")
    settings = {
        # Label smoothing makes twins of the pair: equal mass on every example.
        "pair_targets": np.full((*run.labels.shape, 2), SMOOTHING / run.before.shape[1]),
        "mask": run.mask,
        "smoothing": _full(run, SMOOTHING),
        "temperature": _full(run, TEMPERATURE),
        "scale": _full(run, 1.0),
        "clip": _full(run, CLIP),
    }
    step = _settled(LossStep(**_common(run), **settings))
    gradients = {
        "plain": step.gradient,
        "label smoothing": step.smoothed,
        "temperature": step.tempered,
        "masked logits": step.masked,
        "norm clipping": step.clipped_by_norm[0],
        "value clipping": losses.clip_values(FLOAT, step.gradient, step.clip),
        "row clipping": losses.clip_rows(FLOAT, step.gradient, step.clip),
    }
    return step, step.pair_after(gradients[name])


def _full(run: TorchRun, value: float) -> np.ndarray:
    return np.full(len(run.labels), value)


def _common(run: TorchRun) -> dict[str, Any]:
    """The fields that every step has; bounds are settled later."""
    count, size = run.labels.shape
    return {
        "ops": FLOAT,
        "weights": run.before,
        "features": run.features,
        "labels": run.labels,
        "example_weights": np.full((count, size), 1 / size),
        "step_size": _full(run, run.step_size),
        "weight_decay": _full(run, run.weight_decay),
        "radius": np.full(count, np.linalg.norm(run.features, axis=-1).max() * UP),
        "pbar": _full(run, 0.5),
        "curvature": np.zeros(count),
    }


def _settled(step: Any) -> Any:
    """The step with T measured, as somebody would who knows the probabilities."""
    values = step.values | {"curvature": step.trace * UP}
    return type(step)(ops=FLOAT, **values)


def _resets(run: TorchRun, period: int, *, late: bool) -> tuple[Batch, np.ndarray]:
    """One reset run, with d the least distance of rows drawn one after the other."""
    size = run.labels.shape[1]
    values: dict[str, Any] = {
        "weights": run.before[:1],
        "features": run.features[None],
        "labels": run.labels[None],
        "example_weights": np.full((1, *run.labels.shape), 1 / size),
        "fresh": run.fresh[None],
        "step_size": np.full(1, run.step_size),
        "weight_decay": np.full(1, run.weight_decay),
        "curvature": np.zeros(1),
        "distance": np.zeros(1),
        "period": np.full(1, period),
    }
    draft = ResetRun(ops=FLOAT, **values)
    both: list[Step] = [*draft.together, *draft.one_at_a_time]
    values["curvature"] = np.max([step.trace for step in both], axis=0) * UP
    drawn = [draft.drawn_distances(k).min(axis=-1) for k in (0, 1)]
    values["distance"] = np.minimum(*drawn) / UP
    steps = draft.one_at_a_time if late else draft.together
    after = np.concatenate([step.next_difference for step in steps])
    return ResetRun(ops=FLOAT, **values), after
