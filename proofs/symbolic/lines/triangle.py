"""The printed lemma with the hypothesis that it lacks: eta lam <= 1, by the triangle inequality."""

from sympy import sqrt

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Root
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.symbols import Step, i, j
from . import bounds


def corrected(q: Step) -> list[Line]:
    """`|D+| <= (1 - eta (lam - r^2 pbar))|D|` when eta >= 0, eta lam <= 1, r >= |x_i|, pbar >= L_i."""
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    push, rho = q.name("normMD", nonnegative=True), q.name("xnorm", i, nonnegative=True)
    c, tau = q.name("c"), q.name("tau")
    return [
        bounds.nonnegative_step(q),
        Line(
            "decay_at_most_one",
            at_most(q.eta * q.lam, 1),
            Assume(),
            "The hypothesis that the printed lemma lacks:",
        ),
        Line(
            "c_sign",
            at_most(0, c),
            Combine((Term(1, ("decay_at_most_one",)),), unfold=("c",)),
            "so",
        ),
        Line(
            "xnorm",
            equal(rho, sqrt(q.over_j(q.x(i, j) ** 2))),
            Define(),
            "The length of a feature;",
        ),
        Line("radius", at_most(rho, q.r), Assume(), "hypothesis: $r$ bounds it."),
        Line(
            "pbar", at_most(q.name("L", i), q.pbar), Assume(), "Hypothesis: $\\bar p$ bounds $L_i$."
        ),
        Line(
            "weights_sum",
            equal(q.over_i(q.a(i)), 1),
            Assume("setting", relation="=="),
            "The batch weights have sum 1,",
        ),
        Line(
            "pbar_sign",
            at_most(0, q.pbar),
            Combine(
                (
                    Term(1, ("weights", "pbar"), over=(i,)),
                    Term(1, ("weights", "L_sign"), over=(i,)),
                    Term(q.pbar, ("weights_sum",)),
                )
            ),
            "so $\\bar p$ is at least the mean of the $L_i$.",
        ),
        Line(
            "radius_square",
            at_most(rho**2, q.r**2),
            Combine((Term((q.r - rho) ** 2), Term(2 * rho, ("radius",)))),
            "Squares:",
        ),
        Line(
            "tau_bound",
            at_most(tau, q.r**2 * q.pbar),
            Combine(
                (
                    Term(1, ("weights", "pbar_sign", "radius_square"), over=(i,)),
                    Term(rho**2, ("weights", "pbar"), over=(i,)),
                    Term(q.r**2 * q.pbar, ("weights_sum",)),
                ),
                unfold=("tau", "b", "xnorm"),
            ),
            "so the trace of $M$ is at most $r^2 \\bar p$.",
        ),
        bounds.operator_bound(q),
        bounds.form_bound(q),
        Line(
            "normMD",
            equal(push, sqrt(q.over_j(q.name("MD", j) ** 2))),
            Define(("MD",)),
            "The length of $MD$",
        ),
        Line(
            "push_square",
            at_most(push**2, (tau * norm) ** 2),
            Combine(
                (Term(1, ("MD_square",)), Term(1, ("tau_sign", "quad_bound"))), unfold=("normMD",)
            ),
            "has $|MD|^2 \\le (\\operatorname{tr} M)\\, D \\cdot MD \\le (\\operatorname{tr} M)^2 |D|^2$;",
        ),
        Line(
            "push_sign", at_most(0, tau * norm), Combine((Term(norm, ("tau_sign",)),)), "and since"
        ),
        Line("push", at_most(push, tau * norm), Root("push_square", "push_sign"), "take roots."),
        Line(
            "triangle_square",
            at_most(new**2, (c * norm + q.eta * push) ** 2),
            Combine(
                (
                    Term(1, ("next_square",)),
                    Term(2 * norm * push, ("c_sign", "nonnegative_step")),
                    Term(2, ("c_sign", "nonnegative_step", "quad_sign")),
                ),
                unfold=("normMD",),
            ),
            "The triangle inequality, squared,",
        ),
        Line(
            "triangle_sign",
            at_most(0, c * norm + q.eta * push),
            Combine((Term(norm, ("c_sign",)), Term(push, ("nonnegative_step",)))),
            "where",
        ),
        Line(
            "triangle",
            at_most(new, c * norm + q.eta * push),
            Root("triangle_square", "triangle_sign"),
            "and as it stands.",
        ),
        Line(
            "corrected",
            at_most(new, (1 - q.eta * (q.lam - q.r**2 * q.pbar)) * norm),
            Combine(
                (
                    Term(1, ("triangle",)),
                    Term(1, ("nonnegative_step", "push")),
                    Term(norm, ("nonnegative_step", "tau_bound")),
                ),
                unfold=("c",),
            ),
            "Together: the printed bound, under the additional hypothesis.",
        ),
    ]
