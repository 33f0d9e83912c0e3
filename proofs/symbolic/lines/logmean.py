"""The logarithmic mean of p_u and p_v: the mean value identity and its bounds."""

from sympy import Ne, Piecewise, Symbol, cosh, exp, log, sinh

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Even, Monotone
from ..framework.rules import Branches, Combine, Define, Term
from ..framework.symbols import Step, i, j
from ..framework.types import Expr

v = Symbol("v", nonnegative=True)


def phi(h: Expr) -> Expr:
    """`sinh(h)/h`, continued by 1 at 0."""
    return Piecewise((sinh(h) / h, Ne(h, 0)), (1, True))


def shape() -> list[Line]:
    """`1 <= sinh(v)/v` for v >= 0."""
    return [
        Line(
            "sinh_above",
            at_most(0, sinh(v) - v),
            Monotone(v, (Term(2 * sinh(v / 2) ** 2),)),
            "For $v \\ge 0$: zero at $0$, with derivative $\\cosh v - 1 = 2 \\sinh^2(v/2) \\ge 0$.",
        ),
        Line(
            "phi_above",
            at_most(1, phi(v)),
            Branches(v, away=(Term(1 / v, ("sinh_above",)),)),
            "Divide by $v$; at $v = 0$ both sides are $1$.",
        ),
    ]


def shape_below() -> list[Line]:
    """`sinh(v)/v <= cosh(v)` for v >= 0."""
    return [
        Line(
            "sinh_below",
            at_most(0, v * cosh(v) - sinh(v)),
            Monotone(v, (Term(v * sinh(v)),)),
            "For $v \\ge 0$: zero at $0$, with derivative $v \\sinh v \\ge 0$.",
        ),
        Line(
            "phi_below",
            at_most(phi(v), cosh(v)),
            Branches(v, away=(Term(1 / v, ("sinh_below",)),)),
            "Divide by $v$; at $v = 0$ both sides are $1$.",
        ),
    ]


def logmean(q: Step) -> list[Line]:
    """The logarithmic mean of p_u and p_v: `p_u - p_v = L d` and `sqrt(p_u p_v) <= L`."""
    z_u, z_v, Z = q.name("z_u", i), q.name("z_v", i), q.name("Z", i, positive=True)
    p_u, p_v = (q.name(s, i, positive=True) for s in ("p_u", "p_v"))
    D, d, h, s, L = q.name("D", j), q.name("d", i), q.name("h", i), q.name("s", i), q.name("L", i)
    ratio = q.name("logratio", i)
    return [
        Line("D", equal(D, q.w_u(j) - q.w_v(j)), Define(), "The difference of the two rows,"),
        Line("d", equal(d, q.over_j(D * q.x(i, j))), Define(("D",)), "its logit on example $i$,"),
        Line("h", equal(h, d / 2), Define(("d",)), "half of that,"),
        Line("d=2h", equal(d, 2 * h), Combine(unfold=("h",)), "that is,"),
        Line("s", equal(s, (z_u + z_v) / 2), Define(("z_u", "z_v")), "and the mean logit."),
        Line(
            "z_u=s+h",
            equal(z_u, s + h),
            Combine(unfold=("s", "h", "d", "D", "z_u", "z_v")),
            "So the two logits are $s + h$",
        ),
        Line(
            "z_v=s-h",
            equal(z_v, s - h),
            Combine(unfold=("s", "h", "d", "D", "z_u", "z_v")),
            "and $s - h$.",
        ),
        Line(
            "logratio",
            equal(ratio, log(p_u) - log(p_v)),
            Define(("p_u", "p_v")),
            "The logarithm of the ratio of the two probabilities",
        ),
        Line(
            "logratio=d",
            equal(ratio, d),
            Combine(unfold=("logratio", "p_u", "p_v", "d", "D", "z_u", "z_v")),
            "is the difference of the logits.",
        ),
        Line(
            "L",
            equal(L, Piecewise(((p_u - p_v) / ratio, Ne(ratio, 0)), (p_u, True))),
            Define(("p_u", "p_v", "logratio")),
            "The logarithmic mean of $p_u$ and $p_v$.",
        ),
        Line(
            "L=phi",
            equal(L, exp(s) / Z * phi(h)),
            Branches(h, unfold=("L", "logratio=d", "d=2h", "p_u", "p_v", "z_u=s+h", "z_v=s-h")),
            "It is the geometric mean $e^s/Z$ times $\\sinh(h)/h$.",
        ),
        Line(
            "mean_value",
            equal(p_u - p_v, L * d),
            Branches(h, unfold=("L=phi", "d=2h", "p_u", "p_v", "z_u=s+h", "z_v=s-h")),
            "The logarithmic mean turns the difference of the probabilities into that of the logits.",
        ),
        *shape(),
        Line(
            "phi_h",
            at_most(1, phi(h)),
            Even("phi_above", v, h),
            "Both sides are even: so at any $h$.",
        ),
        Line(
            "L_above",
            at_most(exp(s) / Z, L),
            Combine((Term(exp(s) / Z, ("phi_h",)),), unfold=("L=phi",)),
            "Hence $L_i$ is at least the geometric mean,",
        ),
        Line(
            "L_sign",
            at_most(0, L),
            Combine((Term(1, ("L_above",)), Term(exp(s) / Z))),
            "and so is not negative.",
        ),
    ]


def logmean_below(q: Step) -> list[Line]:
    """`L <= (p_u + p_v)/2`."""
    p_u, p_v = (q.name(s, i, positive=True) for s in ("p_u", "p_v"))
    factor = exp(q.name("s", i)) / q.name("Z", i, positive=True)
    h = q.name("h", i)
    return [
        *shape_below(),
        Line(
            "phi_h_below",
            at_most(phi(h), cosh(h)),
            Even("phi_below", v, h),
            "Both sides are even: so at any $h$.",
        ),
        Line(
            "L_below",
            at_most(q.name("L", i), (p_u + p_v) / 2),
            Combine(
                (Term(factor, ("phi_h_below",)),),
                unfold=("L=phi", "p_u", "p_v", "z_u=s+h", "z_v=s-h"),
            ),
            "Hence $L_i$ is at most the arithmetic mean of $p_u$ and $p_v$.",
        ),
    ]
