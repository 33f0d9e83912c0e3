"""What derivations about a single step share: their sizes, the hypothesis on T alone, gradients of the whole loss."""

from ..framework.conclude import conclude_step
from ..framework.derivation import Derivation, Goal, Line, at_most, equal
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.symbols import LATEX, RANGES, Step, i, j, m
from . import logmean, step

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples, "
    "to be compared with the claim's own formula."
)


def setting(q: Step) -> list[Line]:
    """From the loss to the recursion and the scalars |D|, |D+|, D.MD, tr M."""
    return [*step.loss(q), *logmean.logmean(q), *step.recursion(q), *step.quadratic(q)]


def curvature(q: Step) -> Line:
    """`T >= tr M`."""
    return Line(
        "curvature",
        at_most(q.name("tau"), q.T),
        Assume(),
        "Hypothesis: $T$ bounds the trace of $M$.",
    )


def pull(q: Step) -> list[Line]:
    """The gradients of rows u and v, decay included, differ by `M D + lam D`."""
    g = q.name("g", m)
    return [
        Line(
            "g",
            equal(g, q.name("grad_u", m) - q.name("grad_v", m)),
            Define(("grad_u", "grad_v")),
            "The difference of the gradients of rows $u$ and $v$, decay included:",
        ),
        Line(
            "pull",
            equal(g, q.name("MD", m) + q.lam * q.name("D", m)),
            Combine(
                (Term(q.a(i) * q.x(i, m), ("mean_value",), over=(i,)),),
                unfold=("g", "grad_u", "grad_v", "MD", "D"),
            ),
            "by the logarithmic mean it is $MD + \\lambda D$.",
        ),
        Line(
            "D.g",
            equal(
                q.over_j(q.name("D", j) * q.name("g", j)),
                q.name("quad") + q.lam * q.name("norm", nonnegative=True) ** 2,
            ),
            Combine((Term(1, ("quad=D.MD",)),), unfold=("pull", "norm")),
            "Its product with $D$.",
        ),
    ]


def goal(claim: str, lines: list[Line], *hypotheses: str, also: tuple[str, ...] = ()) -> Derivation:
    """The derivation of a claim about a step whose last line is called as the claim."""
    return Derivation(
        claim=claim,
        lines=tuple(lines),
        goals=(Goal(claim, claim, hypotheses, also),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_step(dim=2, examples=2),
        names=LATEX,
    )
