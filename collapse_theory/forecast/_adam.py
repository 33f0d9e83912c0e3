"""Adam and AdamW: the ball that the rows stay in, and why the decay product is no bound."""

from __future__ import annotations

import math

import numpy as np

from ._finding import Bounds, Finding, not_known, observed, plain, proved, share
from ._schedule import Decay
from ._setup import TrainingSetup

__all__ = ["adam", "drift", "update_bound"]


HALF_NOTHING = 2.0**-25
"""Half of float16's smallest number: what is no larger rounds to 0."""


def update_bound(beta1: float, beta2: float) -> float | None:
    """C with ``|m_hat|/(sqrt(v_hat) + eps) <= C`` at all times, for any gradients; None unless ``beta1^2 < beta2``."""
    if beta1 * beta1 >= beta2:
        return None
    return (1 - beta1) / math.sqrt((1 - beta2) * (1 - beta1 * beta1 / beta2))


def drift(beta1: float, beta2: float) -> float | None:
    """How far one gradient late in a run moves a row in all, in learning rates, whatever its size (eps 0); None where the
    sum diverges."""
    if beta2 == 0 or beta1 >= math.sqrt(beta2):
        return None
    return (1 - beta1) / math.sqrt(1 - beta2) / (1 - beta1 / math.sqrt(beta2))


def adam(setup: TrainingSetup, decay: Decay) -> Bounds:
    """What is proved, observed and not known of Adam and AdamW."""
    if setup.gradient == "zero":
        return _zero_gradient(setup, decay)
    constant = update_bound(*setup.betas)
    numbers: dict = {"update_bound": constant, "condition_met": None, "upper": None, "lower": None}
    findings, upper = [], None
    decoupled = setup.optimizer == "adamw" and setup.weight_decay > 0
    if setup.optimizer == "adamw":
        findings.append(
            proved(
                "no bound",
                "the decay product does not bound the distance: a step can drive unseen rows apart",
                "adamw_contraction",
            )
        )
    if constant is None:
        text = "none: beta1^2 is not below beta2, so one update has no bound"
        findings.append(not_known("ball", text))
    elif decoupled and decay.delta.max() > 1:
        findings.append(not_known("ball", "none: learning rate times weight decay is above 1"))
    else:
        findings += _ball(setup, decay, constant, numbers, decoupled)
        upper = _relative(setup, decay, constant, decoupled)
        numbers["upper"] = None if upper is None else float(upper[-1])
    findings += _speed(setup)
    return Bounds(_verdict(setup, decay, numbers), tuple(findings), numbers, upper)


def _ball(
    setup: TrainingSetup, decay: Decay, constant: float, numbers: dict, decoupled: bool
) -> list[Finding]:
    """``|D_T| <= P |D_0| + (2 C/lam)(1 - P)``, in every entry; with bounded gradients C becomes ``C g/(g + C eps)``."""
    kept = decay.total if decoupled else 1.0
    reach = _reach(setup, decay, constant, decoupled)
    numbers["ball_kept"], numbers["ball_radius"] = kept, reach
    rule = "(2C/lam)(1 - P)" if decoupled else "2C times the sum of the learning rates"
    text = (
        f"every entry of the difference stays below {share(kept)} of the largest at the start plus {plain(reach)} "
        f"({rule}, C = {plain(constant)})"
    )
    if setup.initial_scale is not None and reach > 2 * setup.initial_scale:
        text += f"; entries of fresh rows have standard deviation {plain(setup.initial_scale)}, so this promises nothing"
    found = [proved("ball", text, "adamw_ball")]
    g, bounded = setup.gradient_bound, _bounded(setup, constant)
    if bounded is not None:
        near = _reach(setup, decay, bounded, decoupled)
        numbers["ball_radius"] = near
        text = f"with gradient entries below {plain(g or 0)}: plus {plain(near)} instead"
        found.append(proved("ball", text, "adamw_eps"))
    return found


def _bounded(setup: TrainingSetup, constant: float) -> float | None:
    """C in view of epsilon, where the whole gradient is bounded: Adam's has ``lam w`` in it, which is not counted."""
    g = setup.gradient_bound
    if g is None or (setup.optimizer == "adam" and setup.weight_decay):
        return None
    return constant * g / (g + constant * setup.epsilon)


def _reach(setup: TrainingSetup, decay: Decay, constant: float, decoupled: bool) -> float:
    if decoupled:
        return 2 * constant / setup.weight_decay * (1 - decay.total)
    return 2 * constant * float(decay.eta.sum())


def _relative(
    setup: TrainingSetup, decay: Decay, constant: float, decoupled: bool
) -> np.ndarray | None:
    """The ball as a bound on ``|D_t|/|D_0|`` in the Euclidean norm: entries are ``sqrt(n)`` times fewer at most, and
    ``|D_0|`` is taken as ``sqrt(2 n) std``."""
    if setup.initial_scale is None:
        return None
    scale = math.sqrt(2) * (_bounded(setup, constant) or constant) / setup.initial_scale
    if decoupled:
        return decay.product + scale / setup.weight_decay * (1 - decay.product)
    return 1 + scale * np.concatenate([[0.0], np.cumsum(decay.eta)])[decay.states]


def _speed(setup: TrainingSetup) -> list[Finding]:
    found = [
        not_known("rate", "how fast unseen rows come together, if they do"),
        not_known("lower bound", "none is proved"),
    ]
    if setup.optimizer == "adam" and setup.weight_decay:
        found.insert(0, _coupled())
    elif setup.optimizer == "adamw":
        found.insert(
            0,
            observed(
                "growth",
                "in a run of 2,000 steps single steps lengthened a distance although decay shortened it; "
                "it ended above the decay product",
            ),
        )
    return found


def _coupled() -> Finding:
    return observed(
        "decay",
        "Adam takes weight decay into the gradient and normalises it: a row without other gradient moves towards 0 by "
        "about one learning rate per step, whatever lambda is",
    )


def _verdict(setup: TrainingSetup, decay: Decay, numbers: dict) -> str:
    if setup.optimizer == "adam":
        return (
            "Nothing proves that unseen rows come together under Adam, and its weight decay is no decay by a factor: "
            "use AdamW for that."
            if setup.weight_decay
            else "Nothing proves that unseen rows come together under Adam."
        )
    start = "Nothing proves that unseen rows come together under AdamW."
    if setup.weight_decay == 0:
        return f"{start} There is no weight decay either."
    alone = f"Weight decay alone would leave {share(decay.total)} of their size; gradients can make that more or less."
    return f"{start} {alone}"


def _zero_gradient(setup: TrainingSetup, decay: Decay) -> Bounds:
    late = drift(*setup.betas)
    findings: list[Finding] = []
    numbers: dict = {"late_drift": late, "condition_met": None, "upper": None, "lower": None}
    if late is not None:
        text = (
            f"one gradient late in the run, whatever its size, moves a row by up to {plain(late)} learning rates in all: "
            "unseen means unseen since the optimiser's state began"
        )
        findings.append(observed("late gradient", text))
    if setup.dtype == "float16" and not setup.master_weights and setup.epsilon <= HALF_NOTHING:
        text = f"epsilon {setup.epsilon:g} is 0 in float16: a row with gradient 0 becomes NaN at the first step (0/0)"
        findings.append(observed("epsilon", text))
    if setup.optimizer == "adam" and setup.weight_decay:
        verdict = "Unseen rows move towards 0 by about one learning rate per step, whatever the weight decay is."
        return Bounds(verdict, (_coupled(), *findings), numbers)
    if setup.optimizer == "adam" or setup.weight_decay == 0:
        text = "gradient 0 and no weight decay: rows stay as they are"
        return Bounds(
            "Unseen rows do not move.",
            (observed("decay", text), *findings),
            numbers | {"upper": 1.0, "lower": 1.0},
            np.ones(len(decay.states)),
            np.ones(len(decay.states)),
        )
    text = f"rows with gradient 0 shrink to {share(decay.total)}, each by the same factor; directions stay"
    return Bounds(
        f"Unseen rows shrink to {share(decay.total)} by weight decay alone; their directions stay as they are: no collapse.",
        (observed("decay", text), *findings),
        numbers | {"upper": decay.total, "lower": decay.total},
        decay.product,
        decay.product,
    )
