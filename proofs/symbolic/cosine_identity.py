"""`cosine_identity`: `1 - cos(a, b) = (|a - b|^2 - (|a| - |b|)^2)/(2|a||b|)` for vectors that are not zero."""

from .framework.derivation import Derivation, Line, equal
from .framework.rules import Combine, Term
from .framework.symbols import Step
from .lines import vectors
from .lines.vectors import SIZES as SIZES


def derive() -> Derivation:
    """The law of cosines, divided."""
    q = Step()
    a, b = vectors.lengths(q)
    norm = q.name("norm", nonnegative=True)
    return vectors.derivation(
        "cosine_identity",
        Line(
            "cosine_identity",
            equal(vectors.distance(q), (norm**2 - (a - b) ** 2) / (2 * a * b)),
            Combine((Term(1 / (2 * a * b), ("law",)),)),
            "Divide by $2 |a||b| > 0$: the claim.",
        ),
    )
