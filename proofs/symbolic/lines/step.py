"""From the loss to the recursion `D+ = c D - eta M D`, for symbolic sizes."""

from sympy import exp, log, sqrt

from ..framework.derivation import Line, at_most, equal
from ..framework.rules import Assume, Combine, Define, Differentiate, Term
from ..framework.symbols import Step, i, j, k, m


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
        Line(
            "Z", equal(Z, exp(z_u) + exp(z_v) + S), Define(("z_u", "z_v", "S")), "the normaliser."
        ),
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
                -q.over_i(q.a(i) * log(p_y))
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
        Line(
            "quad", equal(quad, q.over_i(b * d**2)), Define(("b", "d")), "the form $D \\cdot MD$,"
        ),
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
                new**2,
                q.name("c") ** 2 * norm**2
                - 2 * q.name("c") * q.eta * quad
                + q.eta**2 * q.over_j(MD**2),
            ),
            Combine(
                (Term(-2 * q.name("c") * q.eta, ("quad=D.MD",)),),
                unfold=("nextnorm", "norm", "recursion"),
            ),
            "The square of the new length.",
        ),
    ]
