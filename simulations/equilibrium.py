"""Where weight decay brings unseen rows: together, but not to 0. Roots of scalar equations beside trained heads.

One feature x of norm r, mean cross-entropy, weight decay lam > 0. At the minimum all unseen rows equal ``-c x``; with
``z = c r^2``, minus the unseen logit:

- seen rows fixed, S the sum of their ``exp<w, x>``, k unseen rows: ``z e^z + (k/S) z = r^2/(lam S)``;
- the same from the full normaliser Z: ``z = W0(r^2/(lam Z))``, Lambert's W;
- all K rows trained, one of them seen: ``s e^s + (K - 1) s = K r^2/lam``, ``z = s/K``.

All three say ``lam z = r^2 p`` with p the probability of an unseen label. Two unit features +x and -x of equal weight and
mirrored seen rows pull the unseen rows equally to both sides: they meet at 0.

The cosine of two unseen rows thus tends to 1 while their length tends to ``c r > 0``: collapse is not shrinking.

    python -m simulations.equilibrium
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory import softmax
from collapse_theory.arithmetic import FLOAT
from collapse_theory.checks import integer, numbers
from collapse_theory.errors import InputError
from collapse_theory.files import write_json
from collapse_theory.optimizers import gradient_descent
from collapse_theory.trajectories import LinearConfig, train_linear_heads

__all__ = [
    "Meeting",
    "all_trained",
    "all_trained_root",
    "fixed_seen",
    "fixed_seen_root",
    "lambert_root",
    "main",
    "meetings",
    "opposite_features",
    "table",
]

Rows = NDArray[np.float64]


def fixed_seen_root(*, radius: float, weight_decay: float, seen_sum: float, unseen: int) -> float:
    """z with ``z e^z + (k/S) z = r^2/(lam S)``: minus the logit at which k unseen rows meet, seen rows fixed.

    Raises :class:`InputError` unless r >= 0, lam > 0, S > 0 and k >= 1.
    """
    count = integer("unseen", unseen, least=1)
    r, lam = _positive("radius", radius, zero=True), _positive("weight_decay", weight_decay)
    total = _positive("seen_sum", seen_sum)

    def excess(
        z: float,
    ) -> float:  # lam z/r^2 less the probability, times r^2/lam; exp(-z) does not overflow
        return z - r * r / lam * math.exp(-z) / (total + count * math.exp(-z))

    return _root(excess, r * r / (lam * count))


def lambert_root(*, radius: float, weight_decay: float, normaliser: float) -> float:
    """``z = W0(r^2/(lam Z))`` from the full normaliser Z, the sum of ``exp<w, x>`` over all rows, at the minimum."""
    from scipy.special import lambertw

    r, lam = _positive("radius", radius, zero=True), _positive("weight_decay", weight_decay)
    return float(np.real(lambertw(r * r / (lam * _positive("normaliser", normaliser)))))


def all_trained_root(*, radius: float, weight_decay: float, classes: int) -> float:
    """``z = s/K`` with ``s e^s + (K - 1) s = K r^2/lam``: all K rows trained, one label seen."""
    count = integer("classes", classes, least=2)
    r, lam = _positive("radius", radius, zero=True), _positive("weight_decay", weight_decay)

    def excess(z: float) -> float:
        return z - r * r / lam * math.exp(-count * z) / (1 + (count - 1) * math.exp(-count * z))

    return _root(excess, r * r / (lam * (count - 1)))


def _positive(name: str, value: Any, *, zero: bool = False) -> float:
    array = numbers(name, value)
    if array.ndim or not (array > 0 or (zero and array == 0)):
        raise InputError(f"{name}: got {value!r:.60}, expected a number {'>=' if zero else '>'} 0")
    return float(array)


def _root(f: Callable[[float], float], most: float) -> float:
    """The root in [0, most] of an increasing f with ``f(0) <= 0 <= f(most)``."""
    from scipy import optimize

    if f(0.0) >= 0:  # r = 0
        return 0.0
    if f(most) <= 0:  # rounding: the probability is its largest value, 1/k
        return most
    brentq: Any = optimize.brentq
    return float(brentq(f, 0.0, most, xtol=1e-300, rtol=1e-15, maxiter=1000))


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """Where unseen rows were trained to, beside the theory.

    Attributes:
        case: "seen rows fixed", "all rows trained" or "opposite features".
        radius, weight_decay, unseen: r, lam, k.
        seen_sum: S at the end of the training.
        trained: ``-<w_u, x>`` of the unseen rows, their mean.
        expected: z from the case's root.
        lambert: z from Lambert's W and the trained normaliser; NaN for opposite features.
        apart: the largest distance of an unseen row from ``-(z/r^2) x``, all directions.
        start_cosine, cosine: the least cosine of two unseen rows, before and after; NaN where the rows are 0.
        start_length, length: the mean norm of an unseen row, before and after.
        steps: gradient steps taken.
    """

    case: str
    radius: float
    weight_decay: float
    unseen: int
    seen_sum: float
    trained: float
    expected: float
    lambert: float
    apart: float
    start_cosine: float
    cosine: float
    start_length: float
    length: float
    steps: int


def fixed_seen(
    *, radius: float = 1.5, weight_decay: float = 0.1, unseen: int = 4, seen: int = 3, seed: int = 0
) -> Meeting:
    """One feature in R^5, seen rows fixed, the unseen rows trained by gradient descent to convergence."""
    _positive("radius", radius)
    rng = np.random.default_rng(integer("seed", seed, least=0))
    integer("unseen", unseen, least=1)
    weights, x = _start(rng, unseen + integer("seen", seen, least=1), radius)
    labels, one = np.array([unseen]), np.ones(1)
    first, square = weights[:unseen].copy(), radius**2
    eta, steps = _steps(weight_decay, square)
    for _ in range(steps):
        grad = softmax.gradient(FLOAT, weights, x[None], labels, one)[:unseen]
        weights[:unseen] = gradient_descent(
            weights[:unseen], grad, step_size=eta, weight_decay=weight_decay
        )
    total = float(np.exp(weights[unseen:] @ x).sum())
    z = fixed_seen_root(radius=radius, weight_decay=weight_decay, seen_sum=total, unseen=unseen)
    return _meeting("seen rows fixed", weights, first, x, weight_decay, unseen, z, steps)


def all_trained(
    *, radius: float = 1.5, weight_decay: float = 0.1, unseen: int = 4, seed: int = 0
) -> Meeting:
    """One feature in R^5 and one seen label; all rows trained with `train_linear_heads`."""
    _positive("radius", radius)
    rng = np.random.default_rng(integer("seed", seed, least=0))
    weights, x = _start(rng, integer("unseen", unseen, least=1) + 1, radius)
    # Moving all rows, the loss curves at most r^2/2 in any direction: the largest eigenvalue of diag p - p p^T is 1/2.
    final, steps = _train(weights, x[None], [unseen], weight_decay)
    z = all_trained_root(radius=radius, weight_decay=weight_decay, classes=unseen + 1)
    return _meeting("all rows trained", final, weights[:unseen], x, weight_decay, unseen, z, steps)


def opposite_features(*, weight_decay: float = 0.1, unseen: int = 4, seed: int = 0) -> Meeting:
    """Unit features +x and -x in R^5, a seen label for each; all rows trained. The unseen rows meet at 0."""
    rng = np.random.default_rng(integer("seed", seed, least=0))
    weights, x = _start(rng, integer("unseen", unseen, least=1) + 2, 1.0)
    final, steps = _train(weights, np.stack([x, -x]), [unseen, unseen + 1], weight_decay)
    return _meeting(
        "opposite features", final, weights[:unseen], x, weight_decay, unseen, 0.0, steps
    )


def _start(rng: np.random.Generator, rows: int, radius: float) -> tuple[Rows, Rows]:
    """Normal rows [rows, 5] and a feature [5] of norm ``radius``."""
    x = rng.standard_normal(5)
    return rng.standard_normal((rows, 5)), x * (radius / np.linalg.norm(x))


def _steps(weight_decay: float, square: float) -> tuple[float, int]:
    """A step size below ``1/(lam + r^2/2)``, the inverse of the largest curvature, and steps enough for ``e^-40``."""
    eta = 1 / (_positive("weight_decay", weight_decay) + square / 2)
    return eta, math.ceil(40 / (eta * weight_decay))


def _train(
    weights: Rows, features: Rows, labels: list[int], weight_decay: float
) -> tuple[Rows, int]:
    eta, steps = _steps(weight_decay, float((features**2).sum(-1).max()))
    config = LinearConfig(steps=steps, step_size=eta, weight_decay=weight_decay, record_every=None)
    return train_linear_heads(weights, features, labels, config=config).final_weights[0], steps


def _meeting(
    case: str,
    weights: Rows,
    first: Rows,
    x: Rows,
    weight_decay: float,
    unseen: int,
    z: float,
    steps: int,
) -> Meeting:
    """The measurements on trained rows; the unseen ones come first."""
    rows, square = weights[:unseen], float(x @ x)
    scores = np.exp(weights @ x)
    opposite = case == "opposite features"
    return Meeting(
        case=case,
        radius=math.sqrt(square),
        weight_decay=weight_decay,
        unseen=unseen,
        seen_sum=float(scores[unseen:].sum()),
        trained=float(-(rows @ x).mean()),
        expected=z,
        lambert=math.nan
        if opposite
        else lambert_root(
            radius=math.sqrt(square), weight_decay=weight_decay, normaliser=float(scores.sum())
        ),
        apart=float(np.linalg.norm(rows + z / square * x, axis=-1).max()),
        start_cosine=_least_cosine(first),
        cosine=math.nan if opposite else _least_cosine(rows),
        start_length=float(np.linalg.norm(first, axis=-1).mean()),
        length=float(np.linalg.norm(rows, axis=-1).mean()),
        steps=steps,
    )


def _least_cosine(rows: Rows) -> float:
    unit = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return float((unit @ unit.T).min())


def meetings(*, seed: int = 0) -> list[Meeting]:
    """The table's cases: two settings of one feature, seen rows fixed and all trained; opposite features."""
    integer("seed", seed, least=0)
    settings: list[dict[str, Any]] = [
        {"radius": 1.5, "weight_decay": 0.1, "unseen": 4},
        {"radius": 3.0, "weight_decay": 0.01, "unseen": 2},
        {"radius": 0.5, "weight_decay": 1.0, "unseen": 8},
    ]
    one = [kind(**s, seed=seed) for kind in (fixed_seen, all_trained) for s in settings]
    return [*one, opposite_features(seed=seed)]


def table(found: Sequence[Meeting]) -> str:
    """One line for each case; cosines and lengths of the unseen rows are shown before -> after training."""
    lines = [
        "case               r     lam   k  z trained     z theory      Lambert's W   rows off  "
        "cosine            length",
    ]
    for m in found:
        lambert = "-" if math.isnan(m.lambert) else f"{m.lambert:.10f}"
        cosine = "-" if math.isnan(m.cosine) else f"{m.cosine:.8f}"
        lines.append(
            f"{m.case:<17}  {m.radius:.1f}  {m.weight_decay:5.2f}  {m.unseen:d}  "
            f"{m.trained:<12.10f}  {m.expected:.10f}  {lambert:<12}  {m.apart:.1e}   "
            f"{m.start_cosine:5.2f} -> {cosine:<10}  {m.start_length:.2f} -> {m.length:.4f}"
        )
    lines.append(
        "One feature: the cosine of unseen rows goes to 1, their length to z/r, which is not 0."
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train all cases and print the table; 0, or 2 with one line for bad input."""
    parser = argparse.ArgumentParser(prog="python -m simulations.equilibrium", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="PATH", help="the table as JSON")
    options = parser.parse_args(arguments)
    try:
        found = meetings(seed=options.seed)
        if options.json:
            # JSON has no NaN: what does not apply is null.
            shown = [{k: None if v != v else v for k, v in asdict(m).items()} for m in found]
            write_json(options.json, {"seed": options.seed, "meetings": shown})
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
