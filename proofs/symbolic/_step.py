"""From the loss to the recursion `D+ = c D - eta M D`, for symbolic sizes."""

from sympy import Expr, Max, Ne, Piecewise, Rational, Sum, Symbol, cosh, exp, log, sinh, sqrt

from ._derivation import Line, at_most, equal
from ._inference import Cancel, Even, MaxCases, Monotone, Root
from ._rules import Assume, Branches, Combine, Define, Differentiate, Term
from ._symbols import Step, i, j, k, l, m, n

half = Rational(1, 2)
v = Symbol("v", nonnegative=True)


def phi(h: Expr) -> Expr:
    """`sinh(h)/h`, continued by 1 at 0."""
    return Piecewise((sinh(h) / h, Ne(h, 0)), (1, True))


def loss(q: Step) -> list[Line]:
    """Softmax, the loss, its gradient in rows u and v, one step of gradient descent."""
    z_u, z_v, S = q.name("z_u", i), q.name("z_v", i), q.name("S", i, nonnegative=True)
    Z = q.name("Z", i, positive=True)
    p_u, p_v, p_y = (q.name(s, i, positive=True) for s in ("p_u", "p_v", "p_y"))
    ell = q.name("loss")
    lines = [
        Line(
            "z_u",
            equal(z_u, q.over_j(q.w_u(j) * q.x(i, j))),
            Define(),
            "Logit of label $u$ on example $i$;",
        ),
        Line("z_v", equal(z_v, q.over_j(q.w_v(j) * q.x(i, j))), Define(), "that of label $v$;"),
        Line(
            "S",
            equal(S, q.over_k(exp(q.over_j(q.w(k, j) * q.x(i, j))))),
            Define(),
            "the exponentials of all other labels $k = 3, \\dots, K$;",
        ),
        Line("Z", equal(Z, exp(z_u) + exp(z_v) + S), Define(("z_u", "z_v", "S")), "the normaliser."),
        Line("p_u", equal(p_u, exp(z_u) / Z), Define(("z_u", "Z")), "Softmax probability of $u$,"),
        Line("p_v", equal(p_v, exp(z_v) / Z), Define(("z_v", "Z")), "of $v$,"),
        Line(
            "p_y",
            equal(p_y, exp(q.over_j(q.w(q.y(i), j) * q.x(i, j))) / Z),
            Define(("Z",)),
            "and of the target $y_i$, which is neither $u$ nor $v$: both are unseen.",
        ),
        Line(
            "loss",
            equal(
                ell,
                q.over_i(q.a(i) * -log(p_y))
                + q.lam / 2 * q.over_j(q.w_u(j) ** 2 + q.w_v(j) ** 2)
                + q.lam / 2 * q.over_k(q.over_j(q.w(k, j) ** 2)),
            ),
            Define(("p_y",)),
            "The loss: weighted cross-entropy and weight decay.",
        ),
    ]
    for row, w, p in (("u", q.w_u, p_u), ("v", q.w_v, p_v)):
        grad, new = q.name(f"grad_{row}", m), q.name(f"next_{row}", m)
        lines += [
            Line(
                f"grad_{row}",
                equal(grad, q.over_i(q.a(i) * p * q.x(i, m)) + q.lam * w(m)),
                Differentiate("loss", by=w(m)),
                f"Its derivative with respect to coordinate $m$ of row ${row}$.",
            ),
            Line(
                f"next_{row}",
                equal(new, w(m) - q.eta * grad),
                Define((f"grad_{row}",)),
                f"One step of gradient descent on row ${row}$.",
            ),
        ]
    return lines


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
            "L",
            equal(L, Piecewise(((p_u - p_v) / (log(p_u) - log(p_v)), Ne(h, 0)), (p_u, True))),
            Define(("p_u", "p_v", "h")),
            "The logarithmic mean of $p_u$ and $p_v$; $h = 0$ means that they are equal.",
        ),
        Line(
            "L=phi",
            equal(L, exp(s) / Z * phi(h)),
            Branches(h, unfold=("L", "p_u", "p_v", "z_u=s+h", "z_v=s-h")),
            "It is the geometric mean $e^s/Z$ times $\\sinh(h)/h$.",
        ),
        Line(
            "mean_value",
            equal(p_u - p_v, L * d),
            Branches(h, unfold=("L=phi", "d=2h", "p_u", "p_v", "z_u=s+h", "z_v=s-h")),
            "The logarithmic mean turns the difference of the probabilities into that of the logits.",
        ),
        *shape(),
        Line("phi_h", at_most(1, phi(h)), Even("phi_above", v, h), "Both sides are even: so at any $h$."),
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


def recursion(q: Step) -> list[Line]:
    """One step gives exactly `D+ = c D - eta M D`."""
    p_u, p_v = (q.name(s, i, positive=True) for s in ("p_u", "p_v"))
    L, d, c = q.name("L", i), q.name("d", i), q.name("c")
    new = q.name("Dnext", m)
    return [
        Line("c", equal(c, 1 - q.eta * q.lam), Define(), "The decay of one step."),
        Line(
            "Dnext",
            equal(new, q.name("next_u", m) - q.name("next_v", m)),
            Define(("next_u", "next_v")),
            "The difference of the two rows after the step,",
        ),
        Line(
            "difference",
            equal(new, c * q.name("D", m) - q.eta * q.over_i(q.a(i) * (p_u - p_v) * q.x(i, m))),
            Combine(unfold=("Dnext", "next_u", "next_v", "grad_u", "grad_v", "c", "D")),
            "in terms of the probabilities,",
        ),
        Line(
            "MD",
            equal(q.name("MD", m), q.over_i(q.a(i) * L * d * q.x(i, m))),
            Define(("L", "d")),
            "and, with the operator $M = \\sum_i a_i L_i x_i x_i^T$ applied to $D$,",
        ),
        Line(
            "recursion",
            equal(new, c * q.name("D", m) - q.eta * q.name("MD", m)),
            Combine(
                (Term(-q.eta * q.a(i) * q.x(i, m), ("mean_value",), over=(i,)),),
                unfold=("difference", "MD"),
            ),
            "exactly $D^+ = cD - \\eta M D$.",
        ),
    ]


def quadratic(q: Step) -> list[Line]:
    """The scalars |D|, |D+|, D.MD, |MD|^2, tr M, and what positive semidefiniteness says about them."""
    L, d, D, MD = q.name("L", i), q.name("d", i), q.name("D", j), q.name("MD", j)
    b = q.name("b", i)
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    quad, tau = q.name("quad"), q.name("tau")
    return [
        Line("weights", at_most(0, q.a(i)), Assume("setting"), "Batch weights are not negative."),
        Line("b", equal(b, q.a(i) * L), Define(("L",)), "Weights of the operator $M$:"),
        Line(
            "b_sign",
            at_most(0, b),
            Combine((Term(1, ("weights", "L_sign")),), unfold=("b",)),
            "none is negative, so $M$ is positive semidefinite.",
        ),
        Line("norm", equal(norm, sqrt(q.over_j(D**2))), Define(("D",)), "The length of $D$,"),
        Line(
            "nextnorm",
            equal(new, sqrt(q.over_j(q.name("Dnext", j) ** 2))),
            Define(("Dnext",)),
            "that of $D^+$,",
        ),
        Line("quad", equal(quad, q.over_i(b * d**2)), Define(("b", "d")), "the form $D \\cdot MD$,"),
        Line(
            "tau",
            equal(tau, q.over_i(b * q.over_j(q.x(i, j) ** 2))),
            Define(("b",)),
            "and the trace of $M$.",
        ),
        Line(
            "quad=D.MD",
            equal(q.over_j(D * MD), quad),
            Combine(unfold=("MD", "quad", "b", "d")),
            "Indeed $D \\cdot MD = \\sum_i b_i d_i^2$,",
        ),
        Line(
            "quad_sign",
            at_most(0, quad),
            Combine((Term(d**2, ("b_sign",), over=(i,)),), unfold=("quad",)),
            "a sum of squares.",
        ),
        Line(
            "tau_sign",
            at_most(0, tau),
            Combine((Term(q.over_j(q.x(i, j) ** 2), ("b_sign",), over=(i,)),), unfold=("tau",)),
            "So is the trace.",
        ),
        Line(
            "next_square",
            equal(
                new**2, q.name("c") ** 2 * norm**2 - 2 * q.name("c") * q.eta * quad + q.eta**2 * q.over_j(MD**2)
            ),
            Combine(
                (Term(-2 * q.name("c") * q.eta, ("quad=D.MD",)),),
                unfold=("nextnorm", "norm", "recursion"),
            ),
            "The square of the new length.",
        ),
    ]


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
        Line("right_sign", at_most(0, c * norm), Combine((Term(norm, ("c_sign",)),)), "With $c \\ge 0$,"),
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
            "curvature", at_most(q.name("tau"), q.T), Assume(), "Hypothesis: $T$ bounds the trace of $M$."
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
        Line("inner_bound", at_most(inner, norm * new), Root("inner_square"), "it is at most $|D||D^+|$."),
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
