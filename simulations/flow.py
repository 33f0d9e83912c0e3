"""Gradient flow ``W' = -grad`` beside gradient descent: the bounds without a step-size condition, and the limit eta -> 0.

For two labels that are never targets, ``D = w_u - w_v`` obeys ``D' = -(lam D + M D)``, so that for every real lam

    exp(-integral of (lam + tr M)) |D(0)|  <=  |D(t)|  <=  exp(-lam t) |D(0)|      (claim `gradient_flow`)

The flow is solved by DOP853 (a Runge-Kutta method of order 8) to a relative 1e-11. Its state holds ``D`` in place of
``w_v`` and the integral of ``lam + tr M``, so that D keeps its digits when the rows are nearly equal. Gradient descent with
eta -> 0 tends to the flow at first order in eta. Where lam is stiff, gradient descent needs ``eta lam <= 2`` and an
explicit solver as short steps; an implicit one (Radau) does not.

    python -m simulations.flow
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory import softmax
from collapse_theory.arithmetic import FLOAT
from collapse_theory.checks import integer, numbers
from collapse_theory.errors import InputError
from collapse_theory.plots import COLOURS, MARKERS, PAGE, style, write
from collapse_theory.trajectories import LinearConfig, train_linear_heads
from simulations.digits import load_digits

__all__ = [
    "Flow",
    "Problem",
    "converge",
    "digits_problem",
    "draw",
    "main",
    "random_problem",
    "solve",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A head to train: weights [K, n], features [N, n], labels [N]; labels 0 and 1 are no targets."""

    name: str
    weights: Array
    features: Array
    labels: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Flow:
    """At ``times`` [R] |D| and the integral of ``lam + tr M``; the last rows [K, n]; the solver's gradient evaluations."""

    weight_decay: float
    times: Array
    distance: Array
    integral: Array
    weights: Array
    evaluations: int

    @property
    def upper(self) -> Array:
        """``exp(-lam t) |D(0)|``."""
        return np.exp(-self.weight_decay * self.times) * self.distance[0]

    @property
    def lower(self) -> Array:
        """``exp(-integral of (lam + tr M)) |D(0)|``."""
        return np.exp(-self.integral) * self.distance[0]

    def within(self, tolerance: float = 1e-8) -> bool:
        """Whether both bounds hold at all times, up to a relative ``tolerance`` for the solver's error."""
        over = self.distance <= self.upper * (1 + tolerance)
        return bool((over & (self.distance >= self.lower * (1 - tolerance))).all())


@dataclass(frozen=True, kw_only=True, eq=False)
class Convergence:
    """Gradient descent beside the flow at one time: step sizes [S], ``| |D_GD| - |D| |`` [S], the log-log slope."""

    step_sizes: Array
    errors: Array
    slope: float


def random_problem(*, seed: int = 0) -> Problem:
    """Four labels, two of them unseen, and six normal features in R^3."""
    rng = np.random.default_rng(integer("seed", seed, least=0))
    weights, features = rng.standard_normal((4, 3)), rng.standard_normal((6, 3))
    labels = np.array([2, 3, 2, 3, 2, 3], dtype=np.int64)
    return Problem(name="random", weights=weights, features=features, labels=labels)


def digits_problem(*, seed: int = 0, images: int = 100) -> Problem:
    """The first images of the handwritten digits, three classes left out. Needs scikit-learn."""
    data = load_digits()
    rng = np.random.default_rng(integer("seed", seed, least=0))
    weights = 0.3 * rng.standard_normal((data.classes, data.features.shape[1]))
    return Problem(
        name="digits", weights=weights, features=data.features[:images], labels=data.labels[:images]
    )


def solve(
    problem: Problem,
    *,
    weight_decay: float,
    last: float,
    method: str = "DOP853",
    rtol: float = 1e-11,
    atol: float = 1e-14,
) -> Flow:
    """The gradient flow from the problem's weights up to time ``last``, recorded at 41 evenly spaced times.

    ``method``, ``rtol`` and ``atol`` are those of `scipy.integrate.solve_ivp`; "Radau" is for stiff ``weight_decay``,
    which may be any real number. Raises :class:`InputError` when a value is out of range or the solver gives up.
    """
    from scipy.integrate import solve_ivp

    lam = numbers("weight_decay", weight_decay)
    if lam.ndim or numbers("last", last).ndim or last <= 0:
        raise InputError(
            f"weight_decay, last: got {weight_decay}, {last}; give a number, and one > 0"
        )
    shape, x, labels = problem.weights.shape, problem.features, problem.labels
    shares = np.full(len(x), 1 / len(x))

    def down(_time: float, state: Array) -> Array:
        rows, difference = _unpack(state, shape)
        grad = softmax.gradient(FLOAT, rows, x, labels, shares) + lam * rows
        d, means = softmax.pair_means(FLOAT, rows, x, difference)
        pull = softmax.pair_gradient(FLOAT, x, labels, shares, means, d) + lam * difference
        grad[1] = pull  # the state holds D there
        trace = softmax.operator_trace(FLOAT, x, shares, means)
        return np.append(-grad.ravel(), lam + trace)

    start = problem.weights.copy()
    start[1] = start[0] - start[1]
    times = np.linspace(0, last, 41)
    solution: Any = solve_ivp(
        down,
        (0, last),
        np.append(start.ravel(), 0.0),
        method=method,
        t_eval=times,
        rtol=rtol,
        atol=atol,
    )
    if not solution.success:
        raise InputError(f"method: {method} gave up ({solution.message}); try 'Radau'")
    differences = [_unpack(state, shape)[1] for state in solution.y.T]
    return Flow(
        weight_decay=float(lam),
        times=times,
        distance=np.linalg.norm(differences, axis=-1),
        integral=solution.y[-1],
        weights=_unpack(solution.y[:, -1], shape)[0],
        evaluations=int(solution.nfev),
    )


def _unpack(state: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """All rows and D from the state, in which row 1 is D."""
    rows = state[:-1].reshape(shape).copy()
    difference = rows[1].copy()
    rows[1] = rows[0] - difference
    return rows, difference


def descend(problem: Problem, *, weight_decay: float, last: float, steps: int) -> Array:
    """The weights [K, n] after ``steps`` gradient steps of size ``last / steps``."""
    config = LinearConfig(
        steps=steps, step_size=last / steps, weight_decay=weight_decay, record_every=None
    )
    runs = train_linear_heads(problem.weights, problem.features, problem.labels, config=config)
    return runs.final_weights[0]


def converge(problem: Problem, flow: Flow, *, first: int = 100, halvings: int = 5) -> Convergence:
    """Gradient descent to the flow's last time, with ``first`` steps, then twice as many, and so on."""
    last = float(flow.times[-1])
    counts = [first * 2**i for i in range(integer("halvings", halvings, least=1) + 1)]
    errors = []
    for steps in counts:
        rows = descend(problem, weight_decay=flow.weight_decay, last=last, steps=steps)
        errors.append(abs(float(np.linalg.norm(rows[0] - rows[1])) - float(flow.distance[-1])))
    sizes = last / np.array(counts)
    slope = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
    return Convergence(step_sizes=sizes, errors=np.array(errors), slope=slope)


def stiff(problem: Problem, *, weight_decay: float = 1e4, last: float = 1.0) -> dict[str, Any]:
    """Stiff decay, to an absolute 1e-12: Radau beside DOP853; descent with ``eta lam = 2.5``, which blows up."""
    implicit = solve(
        problem, weight_decay=weight_decay, last=last, method="Radau", rtol=1e-9, atol=1e-12
    )
    explicit = solve(problem, weight_decay=weight_decay, last=last, rtol=1e-9, atol=1e-12)
    rows = descend(problem, weight_decay=weight_decay, last=60 * 2.5 / weight_decay, steps=60)
    return {
        "implicit_evaluations": implicit.evaluations,
        "explicit_evaluations": explicit.evaluations,
        "weights_apart": float(np.abs(implicit.weights - explicit.weights).max()),
        "over_upper_bound": float((implicit.distance - implicit.upper).max()),
        "descent_growth": float(np.linalg.norm(rows[0] - rows[1]) / implicit.distance[0]),
    }


def draw(flows: Sequence[Flow], found: Convergence, path: str | Path) -> Path:
    """Left: |D| along flows between their bounds, below as a share of the upper one; right: descent tends to the flow."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    black: dict[str, Any] = {"color": "black", "linewidth": 0.8, "zorder": 1}
    dots: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 0}
    looks = [{"color": c, "marker": m, **dots} for c, m in zip(COLOURS, MARKERS, strict=True)]
    beside: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.01), "borderaxespad": 0}
    with style():
        figure = Figure(figsize=(PAGE, 3.0), layout="constrained")
        upper, lower = figure.subplots(2, 2, sharex="col", height_ratios=(2.6, 1))
        (ax, right), (ratio_ax, right_ratio) = upper, lower
        for i, flow in enumerate(flows):
            first, t = flow.distance[0], flow.times
            for bound, dash, name in (
                (flow.upper, "-", r"upper bound $e^{-\lambda t}$"),
                (flow.lower, "--", "lower bound"),
            ):
                ax.plot(t, bound / first, dash, label=None if i else name, **black)
                ratio_ax.plot(t, bound / flow.upper, dash, **black)
            label = rf"$\lambda={flow.weight_decay:g}$"
            ax.plot(t[::2], flow.distance[::2] / first, label=label, **looks[i])
            ratio_ax.plot(t[::2], (flow.distance / flow.upper)[::2], **looks[i])
        ax.set(yscale="log", ylabel=r"distance $|D(t)|\,/\,|D(0)|$")
        ratio_ax.set(xlabel="time $t$", ylabel="ratio to\nupper bound")
        ax.legend(ncols=3, **beside)
        sizes = found.step_sizes
        line = found.errors[-1] * sizes / sizes[-1]
        right.plot(sizes, line, label="first order, slope 1", **black)
        right.plot(sizes, found.errors, label="gradient descent", **looks[0])
        right.set(xscale="log", yscale="log", ylabel="difference from the flow's $|D|$")
        right.yaxis.set_minor_formatter(NullFormatter())
        right.legend(ncols=2, **beside)
        right_ratio.axhline(1, **black)
        right_ratio.plot(sizes, found.errors / line, **looks[0])
        right_ratio.plot(sizes[:2], [0.95, 1.05], alpha=0)  # at least this range of ratios
        right_ratio.set(xlabel=r"step size $\eta$", ylabel="ratio to\nslope 1")
        return write(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Solve, compare, print the table, write the figure; 0, or 2 with one line for bad input."""
    parser = argparse.ArgumentParser(prog="python -m simulations.flow", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", default="docs/figures/gradient_flow.svg", help="the figure")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        problems = random_problem(seed=options.seed), digits_problem(seed=options.seed)
        print("problem    lam  bounds  |D|/|D(0)|  over upper  over lower  order in eta")
        shown: list[tuple[Flow, Convergence]] = []
        for problem in problems:
            for lam in (-0.3, 0.0, 0.3):
                flow = solve(problem, weight_decay=lam, last=10.0)
                found = converge(problem, flow)
                shown.append((flow, found))
                end, first = flow.distance[-1], flow.distance[0]
                print(
                    f"{problem.name:<7}  {lam:5.2f}  {'hold' if flow.within() else 'FAIL':<6}  "
                    f"{end / first:10.4g}  {end / flow.upper[-1]:10.4f}  "
                    f"{end / flow.lower[-1]:10.4g}  {found.slope:12.4f}"
                )
        far = stiff(problems[0])
        draw([flow for flow, _ in shown[:3]], shown[2][1], options.out)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(
        f"lam = 1e4 up to t = 1: Radau took "
        f"{far['implicit_evaluations']:,} evaluations, DOP853 {far['explicit_evaluations']:,}; "
        f"their weights differ by {far['weights_apart']:.1e}; |D| over its upper bound by at most "
        f"{max(far['over_upper_bound'], 0):.1e}; gradient descent with eta lam = 2.5 "
        f"multiplied |D| by {far['descent_growth']:.1e} in 60 steps"
    )
    print(f"written: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
