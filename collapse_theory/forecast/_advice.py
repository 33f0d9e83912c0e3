"""What holds beside the optimizer: tied and frozen rows, decay told from collapse, remedies and their price."""

from __future__ import annotations

from dataclasses import dataclass

from ._finding import NOT_KNOWN, OBSERVED, PROVED, Bounds, Finding, not_known, observed, proved
from ._schedule import Decay
from ._setup import TrainingSetup

__all__ = ["DIAGNOSIS", "Remedy", "circumstances", "remedies", "still"]

DIAGNOSIS = (
    observed("decay", "norms and distances shrink alike; cosines between rows stay"),
    observed(
        "collapse", "distances fall faster than norms; centred cosines (rows less the mean) go to 1"
    ),
    observed("cosine", "the plain cosine alone shows neither: it can reach 1 at constant distance"),
    observed("gradient", "None leaves a row alone; a gradient of 0 still decays it"),
    observed("steps", "count optimiser steps, not micro-batches, nor steps that a scaler skipped"),
)
"""How to tell decay from collapse in a run of one's own."""


@dataclass(frozen=True)
class Remedy:
    """What keeps unseen rows apart, what speaks for it (status and claims), and what it costs."""

    name: str
    effect: str
    price: str
    status: str
    claims: tuple[str, ...] = ()


def still(setup: TrainingSetup, decay: Decay) -> Bounds | None:
    """The forecast where the rows have no gradient of their own to follow: missing or sparse; None otherwise."""
    if setup.gradient == "missing":
        text = "rows without a gradient (requires_grad=False, or None) are skipped, weight decay included"
        return _unmoved("Unseen rows do not move: they are frozen.", text, decay)
    if setup.gradient != "sparse":
        return None
    if setup.optimizer == "sgd" and not setup.weight_decay:
        text = "SGD leaves rows that a sparse gradient does not touch as they are"
        return _unmoved("Unseen rows do not move.", text, decay)
    if setup.optimizer == "adam" and not setup.weight_decay:
        text = "torch's Adam refuses sparse gradients; SparseAdam leaves untouched rows as they are"
        verdict = "torch.optim.Adam refuses this run; with SparseAdam unseen rows do not move."
    else:
        what = "AdamW" if setup.optimizer == "adamw" else "weight decay"
        text = f"torch refuses {what} with sparse gradients (RuntimeError)"
        verdict = (
            f"torch refuses this run: {what} does not go with sparse gradients. No row decays."
        )
    return Bounds(verdict, (observed("sparse", text),))


def _unmoved(verdict: str, text: str, decay: Decay) -> Bounds:
    level = decay.product * 0 + 1
    numbers = {"upper": 1.0, "lower": 1.0}
    return Bounds(verdict, (observed("frozen", text),), numbers, level, level)


def circumstances(setup: TrainingSetup) -> list[Finding]:
    """What else has to hold, or does not."""
    found = []
    if setup.tied:
        found.append(
            not_known(
                "tied",
                "rows of tokens that occur in the input get a gradient there too, and no claim covers it; all above is "
                "for tokens that occur nowhere",
            )
        )
    if setup.gradient == "softmax" and setup.loss is not None and setup.curvature is not None:
        found.append(
            proved(
                "curvature",
                f"T is r^2 (1 - exp(-CE))/2 as long as no batch's mean loss exceeds {setup.loss:g} nats",
                "curvature_from_loss",
            )
        )
    return found


def remedies(setup: TrainingSetup) -> tuple[Remedy, ...]:
    """What can be done, in the order of effort."""
    if setup.gradient != "softmax":
        return ()
    sgd = setup.optimizer == "sgd" and not setup.momentum

    def told(name: str, effect: str, price: str, claim: str, otherwise: str) -> Remedy:
        """Proved for SGD alone."""
        return Remedy(name, effect, price, *((PROVED, (claim,)) if sgd else (otherwise, ())))

    return (
        told(
            "mask logits",
            "only decay is left",
            "the labels get no probability",
            "masked_logits",
            OBSERVED,
        ),
        Remedy("freeze", "no movement", "rows must be put back after every step", OBSERVED),
        told(
            "no decay",
            "what no feature sees stays",
            "the rest can shrink",
            "no_decay_orthogonal",
            NOT_KNOWN,
        ),
        told("less decay", "slower as 1/lambda", "less regularisation", "collapse_time", NOT_KNOWN),
        told(
            "reset all",
            "every S steps, with optimiser state",
            "a jump in their logits",
            "reset",
            NOT_KNOWN,
        ),
        Remedy(
            "copy",
            "trained rows at the end",
            "k have k times the mass",
            PROVED,
            ("indistinguishable",),
        ),
    )
