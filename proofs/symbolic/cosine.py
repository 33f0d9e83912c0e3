"""`cosine`: `1 - cos(a, b) <= |a - b|^2/(2|a||b|)` for vectors that are not zero."""

from .framework.derivation import Derivation, Line, at_most
from .framework.rules import Combine, Term
from .framework.symbols import Step
from .lines import vectors
from .lines.vectors import SIZES as SIZES


def derive() -> Derivation:
    """From the law of cosines."""
    q = Step()
    a, b = vectors.lengths(q)
    norm = q.name("norm", nonnegative=True)
    return vectors.derivation(
        "cosine",
        Line(
            "cosine_times",
            at_most(2 * a * b * vectors.distance(q), norm**2),
            Combine((Term(1, ("law",)), Term((a - b) ** 2))),
            "The gap is $(|a| - |b|)^2$.",
        ),
        Line(
            "cosine",
            at_most(vectors.distance(q), norm**2 / (2 * a * b)),
            Combine((Term(1 / (2 * a * b), ("cosine_times",)),)),
            "Divide by $2 |a||b| > 0$: the claim.",
        ),
    )
