"""`stationary_rows`: the gradients of two unseen rows differ by at least lam |D|."""

from sympy import Sum, sqrt

from .framework.derivation import Derivation, Line, at_most, equal
from .framework.inference import Cancel, Root
from .framework.rules import Combine, Define, Term
from .framework.symbols import Step, j, m, n
from .lines import one_step
from .lines.bounds import half


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    lines = [*one_step.setting(q), *one_step.pull(q), *bound(q)]
    return one_step.goal("stationary_rows", lines)


def bound(q: Step) -> list[Line]:
    """`lam |D|^2 <= D.g <= |D||g|`, divided by |D|."""
    norm, length = q.name("norm", nonnegative=True), q.name("normg", nonnegative=True)
    D, g, Dm, gm = q.name("D", j), q.name("g", j), q.name("D", m), q.name("g", m)
    square = Sum((D * gm - Dm * g) ** 2, (j, 1, n), (m, 1, n))
    return [
        Line("normg", equal(length, sqrt(q.over_j(g**2))), Define(("g",)), "Its length."),
        Line(
            "D.g_square",
            at_most(q.over_j(D * g) ** 2, (norm * length) ** 2),
            Combine((Term(half * square),), unfold=("norm", "normg")),
            "Cauchy-Schwarz (Lagrange's identity):",
        ),
        Line(
            "D.g_bound",
            at_most(q.over_j(D * g), norm * length),
            Root("D.g_square"),
            "the product is at most $|D||g|$,",
        ),
        Line(
            "product",
            at_most(norm * (q.lam * norm), norm * length),
            Combine((Term(1, ("D.g_bound",)), Term(-1, ("D.g",)), Term(1, ("quad_sign",)))),
            "and at least $\\lambda |D|^2$, since $D \\cdot MD \\ge 0$.",
        ),
        Line(
            "stationary_rows",
            at_most(q.lam * norm, length),
            Cancel("product", norm),
            "Divide by $|D|$; if $|D| = 0$ the left side is $0$.",
        ),
    ]
