"""Two vectors a and b: what their lengths and their distance say about `1 - cos(a, b)`.

The lines are those about two rows u and v of `runs_rows`, with other names in print.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from sympy import Integer, sqrt

from ..framework.conclude_others import Written
from ..framework.derivation import Derivation, Goal, Line, Part, equal
from ..framework.rules import Combine, Define
from ..framework.small import real
from ..framework.strict import Positive
from ..framework.symbols import RANGES, Step, j
from ..framework.types import Expr
from . import runs_rows

SIZES = (
    "The dimension n is a symbol in every line. Only the conclusion is written out, for 3 coordinates, to be compared "
    "with the claim's own formula. The claim speaks of two vectors, so it starts from them and not from a loss."
)
NAMES = runs_rows.NAMES | {
    "w_u": "a",
    "w_v": "b",
    "normu": "|a|",
    "normv": "|b|",
    "lenu": "|a|_{+}",
    "lenv": "|b|_{+}",
}
HYPOTHESES = ("lenu", "lenv")
DIM = 3


def of_vectors(lines: Iterable[Line]) -> list[Line]:
    """The same lines, whose sentences speak of a and b."""

    def renamed(maths: re.Match[str]) -> str:
        return re.sub(r"\b[uv]\b", lambda name: {"u": "a", "v": "b"}[name[0]], maths[0])

    return [
        replace(line, sentence=re.sub(r"\$[^$]*\$", renamed, line.sentence.replace("row $", "$")))
        for line in lines
    ]


def distance(q: Step) -> Expr:
    """`1 - cos(a, b)`."""
    return q.name("cosdist")


def lengths(q: Step) -> tuple[Expr, Expr]:
    """`|a|` and `|b|`, positive by hypothesis."""
    return runs_rows.positive_length(q, "u"), runs_rows.positive_length(q, "v")


def vectors(q: Step) -> list[Line]:
    """Lengths, the distance, and `1 - cos(a, b)`, first as the library computes it."""
    a, b = lengths(q)
    positive = runs_rows.positive_lengths(q, dict.fromkeys("uv", Positive()))
    return [
        Line("D", equal(q.name("D", j), q.w_u(j) - q.w_v(j)), Define(), "The difference $a - b$."),
        *of_vectors(runs_rows.lengths(q)),
        *(
            replace(line, sentence=f"Hypothesis: ${name} \\ne 0$, so its length is positive.")
            for line, name in zip(positive, "ab", strict=True)
        ),
        *of_vectors(runs_rows.cosine_distance(q)),
        Line(
            "norm",
            equal(q.name("norm", nonnegative=True), sqrt(q.over_j(q.name("D", j) ** 2))),
            Define(("D",)),
            "The distance of the two.",
        ),
        *of_vectors(line for line in runs_rows.cosine(q) if line.name != "cosine"),
        Line(
            "law",
            equal(2 * a * b * distance(q), q.name("norm", nonnegative=True) ** 2 - (a - b) ** 2),
            Combine(unfold=("cosdist=", "lenu", "lenv", "normu", "normv", "norm", "D")),
            "Now $|D|^2 = |a|^2 + |b|^2 - 2\\, a \\cdot b$. So, as an identity,",
        ),
    ]


def derivation(claim: str, *goal: Line) -> Derivation:
    """The lines about two vectors, then those of the claim; the last is its goal."""
    return Derivation(
        claim=claim,
        lines=(*vectors(Step()), *goal),
        goals=(Goal(claim, goal[-1].name, HYPOTHESES),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=NAMES,
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The goal in 3 coordinates."""
    written = Written(
        derivation,
        table={
            "w_u": lambda j: real(f"a_{j - 1}"),
            "w_v": lambda j: real(f"b_{j - 1}"),
        },
        dim=DIM,
        sizes={"n": DIM},
    )
    (goal,) = derivation.goals
    nonzero = tuple(written.small(derivation[name].statement.rhs) for name in HYPOTHESES)
    # The claim's set-up has no loss.
    return (written.part(goal, {"nonzero": nonzero}, start=Integer(0)),)
