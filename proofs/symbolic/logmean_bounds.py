"""`logmean_bounds`: `sqrt(p_u p_v) <= L <= (p_u + p_v)/2 <= 1/2`."""

from sympy import exp, sqrt

from .framework.derivation import Derivation, Line, at_most, equal
from .framework.rules import Combine, Term
from .framework.symbols import Step, i
from .lines import heads_softmax, logmean, losses
from .lines.bounds import half
from .lines.heads_softmax import softmax
from .logmean_identity import SIZES as SIZES

ABOVE = ("sinh_above", "phi_above", "phi_h", "L_above")


def derive() -> Derivation:
    """From the softmax to the three bounds, on any feature."""
    q = Step()
    p_u, p_v = (q.name(s, i, positive=True) for s in ("p_u", "p_v"))
    S, Z = q.name("S", i, nonnegative=True), q.name("Z", i, positive=True)
    L, s = q.name("L", i), q.name("s", i)
    lines = (
        *softmax(q),
        *losses.mean(q),
        *(line for line in logmean.logmean(q) if line.name in ABOVE),
        *logmean.logmean_below(q),
        Line(
            "geometric_mean",
            equal(sqrt(p_u * p_v), exp(s) / Z),
            Combine(unfold=("p_u", "p_v", "z_u=s+h", "z_v=s-h")),
            "The geometric mean of the two probabilities is $e^s/Z$,",
        ),
        Line(
            "geometric",
            at_most(sqrt(p_u * p_v), L),
            Combine((Term(1, ("geometric_mean",)), Term(1, ("L_above",)))),
            "so it is at most $L$: the first bound.",
        ),
        Line(
            "arithmetic",
            at_most(L, (p_u + p_v) / 2),
            Combine((Term(1, ("L_below",)),)),
            "The second was just shown.",
        ),
        Line(
            "half",
            at_most((p_u + p_v) / 2, half),
            Combine((Term(half * S / Z),), unfold=("p_u", "p_v", "Z")),
            "All other labels together have probability $S/Z \\ge 0$: the last one.",
        ),
    )
    goals = ("geometric", "arithmetic", "half")
    return heads_softmax.derivation("logmean_bounds", lines, goals, SIZES)
