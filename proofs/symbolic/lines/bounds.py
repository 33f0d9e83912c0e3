"""The one-step bounds from the recursion: above by the decay, below by `1 - eta (lam + T)`."""

from sympy import Max, Rational, Sum

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Cancel, MaxCases, Root
from ..framework.rules import Assume, Combine, Term
from ..framework.symbols import Step, i, j, l, m, n

half = Rational(1, 2)


def operator_bound(q: Step) -> Line:
    """`|MD|^2 <= tr(M) D.MD`, a sum of squares."""
    d, other = q.name("d", i), q.name("d", l)
    square = (other * q.x(i, j) - d * q.x(l, j)) ** 2
    return Line(
        "MD_square",
        at_most(q.over_j(q.name("MD", j) ** 2), q.name("tau") * q.name("quad")),
        Combine(
            (Term(half * q.over_j(square), ("b_sign", ("b_sign", {i: l})), over=(i, l)),),
            unfold=("MD", "tau", "quad", "b"),
        ),
        "The gap is $\\frac12 \\sum_{i,l} b_i b_l |d_l x_i - d_i x_l|^2$.",
    )


def form_bound(q: Step) -> Line:
    """`D.MD <= tr(M) |D|^2`, a sum of squares (Lagrange's identity)."""
    square = (q.x(i, j) * q.name("D", m) - q.x(i, m) * q.name("D", j)) ** 2
    return Line(
        "quad_bound",
        at_most(q.name("quad"), q.name("tau") * q.name("norm", nonnegative=True) ** 2),
        Combine(
            (Term(half * Sum(square, (j, 1, n), (m, 1, n)), ("b_sign",), over=(i,)),),
            unfold=("quad", "tau", "norm", "d"),
        ),
        "Cauchy-Schwarz: the gap is $\\frac12 \\sum_i b_i \\sum_{j,m} (x_{ij} D_m - x_{im} D_j)^2$.",
    )


def upper(q: Step) -> list[Line]:
    """`|D+| <= (1 - eta lam)|D|` under `eta (2 lam + T) <= 2`."""
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    c = q.name("c")
    return [
        operator_bound(q),
        Line(
            "step_size",
            at_most(q.eta * (2 * q.lam + q.T), 2),
            Assume(),
            "Hypothesis: the step size,",
        ),
        Line(
            "room",
            at_most(q.eta * q.T, 2 * c),
            Combine((Term(1, ("step_size",)),), unfold=("c",)),
            "that is, $\\eta T \\le 2c$.",
        ),
        Line(
            "c_sign",
            at_most(0, c),
            Combine(
                (
                    Term(half, ("room",)),
                    Term(half, ("nonnegative_step", "curvature")),
                    Term(half, ("nonnegative_step", "tau_sign")),
                )
            ),
            "Because $0 \\le \\eta \\operatorname{tr} M \\le \\eta T \\le 2c$, the decay is not negative.",
        ),
        Line(
            "squares",
            at_most(new**2, (c * norm) ** 2),
            Combine(
                (
                    Term(1, ("next_square",)),
                    Term(q.eta**2, ("MD_square",)),
                    Term(q.eta**2, ("curvature", "quad_sign")),
                    Term(1, ("nonnegative_step", "room", "quad_sign")),
                )
            ),
            "The terms: $|MD|^2 \\le (\\operatorname{tr} M)\\, D \\cdot MD \\le T\\, D \\cdot MD$ and "
            "$\\eta T \\le 2c$.",
        ),
        Line(
            "right_sign",
            at_most(0, c * norm),
            Combine((Term(norm, ("c_sign",)),)),
            "With $c \\ge 0$,",
        ),
        Line("root", at_most(new, c * norm), Root("squares", "right_sign"), "take square roots:"),
        Line(
            "contraction",
            at_most(new, (1 - q.eta * q.lam) * norm),
            Combine((Term(1, ("root",)),), unfold=("c",)),
            "the claim.",
        ),
    ]


def nonnegative_step(q: Step) -> Line:
    """`eta >= 0`."""
    return Line("nonnegative_step", at_most(0, q.eta), Assume(), "Hypothesis: $\\eta \\ge 0$.")


def hypotheses(q: Step) -> list[Line]:
    """`eta >= 0` and `T >= tr M`."""
    return [
        nonnegative_step(q),
        Line(
            "curvature",
            at_most(q.name("tau"), q.T),
            Assume(),
            "Hypothesis: $T$ bounds the trace of $M$.",
        ),
    ]


def lower(q: Step) -> list[Line]:
    """`|D+| >= (1 - eta (lam + T))|D|`, and with the positive part of the factor."""
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    D, Dn, Dm, Dnm = (q.name(s, x) for x in (j, m) for s in ("D", "Dnext"))
    factor = 1 - q.eta * (q.lam + q.T)
    square = Sum((D * Dnm - Dm * Dn) ** 2, (j, 1, n), (m, 1, n))
    inner = q.over_j(D * Dn)
    return [
        form_bound(q),
        Line(
            "inner",
            equal(inner, q.name("c") * norm**2 - q.eta * q.name("quad")),
            Combine((Term(-q.eta, ("quad=D.MD",)),), unfold=("recursion", "norm")),
            "For the bound from below, $D \\cdot D^+$;",
        ),
        Line(
            "inner_square",
            at_most(inner**2, (norm * new) ** 2),
            Combine((Term(half * square),), unfold=("norm", "nextnorm")),
            "by Cauchy-Schwarz (Lagrange's identity)",
        ),
        Line(
            "inner_bound",
            at_most(inner, norm * new),
            Root("inner_square"),
            "it is at most $|D||D^+|$.",
        ),
        Line(
            "product",
            at_most(norm * (factor * norm), norm * new),
            Combine(
                (
                    Term(1, ("inner_bound",)),
                    Term(-1, ("inner",)),
                    Term(1, ("nonnegative_step", "quad_bound")),
                    Term(norm**2, ("nonnegative_step", "curvature")),
                ),
                unfold=("c",),
            ),
            "Together with $D \\cdot MD \\le T |D|^2$:",
        ),
        Line(
            "lower_bound",
            at_most(factor * norm, new),
            Cancel("product", norm),
            "divide by $|D|$; if $|D| = 0$ the left side is $0$.",
        ),
        Line(
            "positive_part",
            at_most(Max(0, factor) * norm, new),
            MaxCases(("lower_bound",)),
            "A length is not negative, so the factor may be replaced by its positive part.",
        ),
    ]
