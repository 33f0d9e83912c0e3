"""What the rounding of the weights leaves of weight decay: measured on torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._finding import Finding, not_known, observed, plain, share
from ._schedule import Decay
from ._setup import TrainingSetup

__all__ = ["BITS", "Floor", "floor_of"]

BITS = {"bfloat16": 8, "float16": 11, "float32": 24}
"""Significant bits, the hidden one counted."""
WORTH_TELLING = 0.01
"""The share of all decay that falls to stalled steps before the text speaks of them."""


@dataclass(frozen=True)
class Floor:
    """Where rounding stops weight decay.

    Attributes:
        dtype: of the weights that the optimiser updates.
        stalls: no weight moves in a step whose ``eta lam`` is at most this; 0 with stochastic rounding.
        partly: below this weights of a mantissa below about ``partly/(eta lam)`` do not move.
        stalled: the share of the run's steps at or below ``stalls``, 0 without decay.
        kept: decay alone leaves every weight at least this share of its size: 1, 1/2 (it stays within a power of two), or
            0, no floor.
        visible: with master weights, the fewest and most steps between changes of the copy at the largest ``eta lam``.
        findings: the same in words.
    """

    dtype: str
    stalls: float
    partly: float
    stalled: float
    kept: float
    visible: tuple[float, float] | None
    findings: tuple[Finding, ...]


def floor_of(setup: TrainingSetup, decay: Decay) -> Floor:
    """The floor under the decay of this run.

    The claim is about one rounding of ``w (1 - eta lam)``, which is AdamW's decay. SGD rounds ``lam w`` and its product with
    eta before, so that decay can be larger by some roundings than asked for: the floor holds below that margin.
    """
    copied = setup.master_weights and setup.dtype != "float32"
    dtype = "float32" if copied else setup.dtype
    bits, largest = BITS[dtype], float(decay.delta.max())
    if setup.rounding == "stochastic" and not copied:
        text = f"stochastic rounding of {dtype}: no floor; weights decay in the mean, one by one they jump"
        found = (observed("precision", text),) if largest else ()
        return Floor(dtype, 0.0, 0.0, 0.0, 0.0, None, found)
    stalls, partly = 2.0 ** -(bits + 1), 2.0**-bits
    if setup.momentum:
        # Decay comes through the buffer: no single factor is rounded.
        text = f"where rounding to {dtype} stops decay that comes through momentum"
        unknown = (not_known("precision", text),) if 0 < largest < partly else ()
        return Floor(dtype, stalls, partly, 0.0, 0.0, None, unknown)
    margin = 1 + 2.0 ** (2 - bits) if setup.optimizer == "sgd" else 1.0
    stuck = decay.delta * margin <= stalls
    stalled = float(np.mean(stuck)) if largest else 0.0
    # The scalar 1 - eta lam is rounded to float32 before AdamW multiplies by it: there all weights move or none.
    scalar_first = dtype == "float32" and setup.optimizer == "adamw"
    kept = 0.0
    if largest > 0 and stuck.all():
        kept = 1.0
    elif largest and not scalar_first and largest * margin * (1 + 2.0 ** (1 - bits)) < partly:
        kept = 0.5
    # A schedule's first and last steps are always below the floor: told only where they carry decay.
    lost = float(decay.delta[stuck].sum() / decay.delta.sum()) if largest else 0.0
    told = stalled if lost > WORTH_TELLING else 0.0
    findings = _findings(dtype, bits, largest, told, scalar_first) if largest else []
    visible = None
    if copied and largest > stalls:
        p = BITS[setup.dtype]
        visible = (2.0**-p / largest, 2.0 ** (1 - p) / largest)
        text = (
            f"a {setup.dtype} copy of float32 weights changes by decay once in {int(visible[0]):,} to "
            f"{int(visible[1]):,} steps (at the largest eta lam) and stands still between"
        )
        findings.append(observed("precision", text))
    return Floor(dtype, stalls, partly, stalled, kept, visible, tuple(findings))


def _findings(
    dtype: str, bits: int, largest: float, stalled: float, scalar_first: bool
) -> list[Finding]:
    """Which weights a step's decay moves."""
    stalls, partly = 2.0 ** -(bits + 1), 2.0**-bits
    if stalled == 1:
        text = (
            f"weight decay moves no {dtype} weight: eta lam is at most {plain(largest)}, and up to 2^-{bits + 1} = "
            f"{plain(stalls)} the product rounds back to the weight"
        )
        return [observed("precision", text)]
    found = []
    if stalled > 0:
        text = f"in {share(stalled)} of the steps decay moves no {dtype} weight (eta lam at most 2^-{bits + 1})"
        found.append(observed("precision", text))
    if largest >= partly:
        return found
    if scalar_first:
        text = (
            f"torch rounds 1 - eta lam to float32 first: weights decay by about 2^-24 = {plain(partly)} a step, "
            f"not by {plain(largest)}"
        )
        return [*found, observed("precision", text)]
    text = (
        f"weights stop decaying at a mantissa (1 to 2) of about {partly / largest:.3f}; from eta lam = 2^-{bits} = "
        f"{plain(partly)} on all go on"
    )
    return [*found, observed("precision", text)]
