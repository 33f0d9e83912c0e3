"""Torch's own optimisers on the digits as instances of the claims about momentum, Adam and AdamW.

Every run is trained by torch in float64; the instance is what it was trained on, and the library's formulas train it again:
``facts["residual"]`` is how far the two end apart, relative to the largest entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.arithmetic import FLOAT
from collapse_theory.instances import AdamRun, AdamStep, Batch, MomentumRun, PreconditionedStep
from collapse_theory.instances._momentum import longest
from collapse_theory.instances._steady import crude_curvature

from .observed_tricks import UP

Floats = NDArray[np.float64]
Seen = Iterator[tuple[str, Batch, dict[str, Any]]]
MOMENTA = (0.3, 0.6, 0.9)
SETTINGS = ((0.9, 0.999, 1e-8), (0.9, 0.95, 1e-3), (0.8, 0.99, 1.0))
"""Betas and eps of the runs of AdamW."""


def observed_optimizers(
    features: Floats, labels: NDArray[np.int64], *, classes: int, seed: int, steps: int
) -> Seen:
    """Runs of torch with momentum and of AdamW on features [N, n] with labels [N], and single steps on the way."""
    rng = np.random.default_rng([seed, 17])
    batches = rng.integers(0, len(labels), (steps, 32))
    # The constant comes first: claims about one entry speak of the first one, and the corner pixels are blank.
    x, y = np.roll(features, 1, axis=1)[batches], labels[batches]
    start = 0.3 * rng.standard_normal((classes, features.shape[1]))
    yield from _momentum(start, x, y)
    rows: list[Floats] = []
    yield from _adamw(start, x, y, rows)
    yield from _steps(np.stack(rows[::5]), x[::5], y[::5])


def _same(many: int, start: Floats, x: Floats, y: NDArray[np.int64]) -> dict[str, Any]:
    """What all instances of a batch share: rows, features, targets, equal weights."""
    weights = np.full(y.shape, 1 / y.shape[1])
    values = {"weights": start, "features": x, "labels": y, "example_weights": weights}
    return {name: np.repeat(value[None], many, axis=0) for name, value in values.items()}


def _momentum(start: Floats, x: Floats, y: NDArray[np.int64]) -> Seen:
    """Momentum in torch's way, Nesterov's, and beside the decay, half as fast as the claim about it allows."""
    import torch

    beta = np.array(MOMENTA)
    common = _same(len(beta), start, x, y)
    bound = crude_curvature(common["features"], common["example_weights"]) * UP
    for name, most in (
        ("coupled", (1 - np.sqrt(beta)) ** 2),
        ("decoupled", 1 - beta),
        ("nesterov", ((1 - beta) / (1 + beta)) ** 2),
    ):
        drift = 0.02 * most
        eta = 0.5 * longest(name, drift, beta) / bound
        lam = drift / eta
        run = MomentumRun(
            ops=FLOAT, **common, step_size=eta, weight_decay=lam, momentum=beta, curvature=bound
        )
        last = getattr(run, name).last
        residual = 0.0
        for k in range(len(beta)):
            optimizer = partial(
                torch.optim.SGD,
                lr=eta[k],
                momentum=beta[k],
                weight_decay=0.0 if name == "decoupled" else lam[k],
                nesterov=name == "nesterov",
            )
            beside = 1 - eta[k] * lam[k] if name == "decoupled" else 1.0
            reached = _train(start, x, y, optimizer, beside)[-1]
            residual = max(residual, _apart(last[k], reached))
        yield f"torch, {name} momentum", run, {"steps": len(y), "residual": residual}


def _adamw(start: Floats, x: Floats, y: NDArray[np.int64], rows: list[Floats]) -> Seen:
    """AdamW with several betas and eps; ``rows`` takes what the first run leaves after every step."""
    import torch

    many = len(SETTINGS)
    b1, b2, eps = np.array(SETTINGS).T
    eta, lam = 1e-2, 0.1
    values = _same(many, start, x, y) | {
        "step_size": np.full((many, len(y)), eta),
        "weight_decay": np.full(many, lam),
        "beta1": b1,
        "beta2": b2,
        "epsilon": eps,
    }
    bare = AdamRun(ops=FLOAT, **values, gradient_bound=np.zeros(many))
    largest = np.max([np.abs(g).max(axis=(-1, -2)) for g in bare.trained.gradients], axis=0)
    run = AdamRun(ops=FLOAT, **values, gradient_bound=largest * UP)
    residual = 0.0
    for k in range(many):
        optimizer = partial(
            torch.optim.AdamW, lr=eta, betas=(b1[k], b2[k]), eps=eps[k], weight_decay=lam
        )
        states = _train(start, x, y, optimizer, 1.0)
        rows += states if k == 0 else []
        residual = max(residual, _apart(run.difference(-1)[k], states[-1]))
    yield "torch, AdamW", run, {"steps": len(y), "residual": residual}


def _steps(rows: Floats, x: Floats, y: NDArray[np.int64]) -> Seen:
    """At rows [S, K, n] that AdamW went through: its step from zero moments, and a step with one preconditioner."""
    rows = rows[: len(x)]
    many = len(rows)
    weights = np.full(y.shape, 1 / y.shape[1])
    bound = crude_curvature(x[:, None], weights[:, None]) * UP
    values: dict[str, Any] = {
        "weights": rows,
        "features": x,
        "labels": y,
        "example_weights": weights,
        "weight_decay": np.full(many, 0.01),
        "radius": np.linalg.norm(x, axis=-1).max(axis=-1) * UP,
        "pbar": np.full(many, 0.5),
        "curvature": bound,
    }
    for eps in (1e-4, 1e-2):
        eta = 1.0 / (2 * values["weight_decay"] + bound / eps)
        step = AdamStep(ops=FLOAT, **values, step_size=eta, epsilon=np.full(many, eps))
        grown = FLOAT.norm(step.next_difference) > step.decay * FLOAT.norm(step.difference)
        yield f"AdamW's step at eps {eps:g}", step, {"longer_than_decay": int(grown.sum())}
    gradient = step.gradient
    shared = np.sqrt(np.mean(gradient**2, axis=1)) + 1e-3
    bare = PreconditionedStep(ops=FLOAT, **values, step_size=np.zeros(many), preconditioner=shared)
    trace = bare.trace * UP
    eta = 1.0 / (2 * values["weight_decay"] + trace)
    yield (
        "one preconditioner for all rows",
        PreconditionedStep(
            ops=FLOAT, **values | {"curvature": trace}, step_size=eta, preconditioner=shared
        ),
        {},
    )


def _train(
    start: Floats,
    x: Floats,
    y: NDArray[np.int64],
    optimizer: Callable[[Any], Any],
    beside: float,
) -> list[Floats]:
    """The rows after every step of torch's optimiser on batches x [S, B, n] with targets y; ``beside`` multiplies the rows
    before each step, as decay beside the gradient does."""
    import torch

    rows = torch.tensor(start, requires_grad=True)
    update = optimizer([rows])
    states = []
    for features, targets in zip(torch.tensor(x), torch.tensor(y), strict=True):
        update.zero_grad()
        torch.nn.functional.cross_entropy(features @ rows.T, targets).backward()
        with torch.no_grad():
            rows.mul_(beside)
        update.step()
        states.append(rows.detach().numpy().copy())
    return states


def _apart(difference: Floats, rows: Floats) -> float:
    """How far the library's D [n] is from torch's rows u and v, relative to the largest entry of the rows."""
    return float(np.abs(difference - (rows[0] - rows[1])).max() / np.abs(rows).max())
