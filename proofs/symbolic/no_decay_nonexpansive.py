"""`no_decay_nonexpansive`: if eta, lam >= 0, T >= tr M and eta (lam + T) <= 2, then |D+| <= |D|."""

from .framework.derivation import Derivation, Line, at_most
from .framework.inference import Root
from .framework.rules import Assume, Combine, Term
from .framework.symbols import Step
from .lines import bounds, one_step


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    lines = [
        *one_step.setting(q),
        *bounds.hypotheses(q),
        Line("nonnegative_decay", at_most(0, q.lam), Assume(), "Hypothesis: $\\lambda \\ge 0$."),
        Line(
            "step_size_from_largest",
            at_most(q.eta * (q.lam + q.T), 2),
            Assume(),
            "Hypothesis: the step size.",
        ),
        bounds.operator_bound(q),
        bounds.form_bound(q),
        Line(
            "squares",
            at_most(new**2, norm**2),
            Combine(
                (
                    Term(1, ("next_square",)),
                    Term(q.eta**2, ("MD_square",)),
                    Term(q.eta**2, ("curvature", "quad_sign")),
                    Term(
                        norm**2,
                        ("nonnegative_step", "nonnegative_decay", "step_size_from_largest"),
                    ),
                    Term(1, ("nonnegative_step", "step_size_from_largest", "quad_sign")),
                    Term(q.eta**2, ("nonnegative_decay", "quad_bound")),
                    Term(q.eta**2 * norm**2, ("nonnegative_decay", "curvature")),
                ),
                unfold=("c",),
            ),
            "With $k = 2 - \\eta(\\lambda + T) \\ge 0$ the gap is at least $\\eta\\lambda k |D|^2 + \\eta k\\, D \\cdot MD"
            " + \\eta^2 \\lambda (T|D|^2 - D \\cdot MD)$.",
        ),
        Line("no_decay_nonexpansive", at_most(new, norm), Root("squares"), "Take square roots."),
    ]
    hypotheses = ("nonnegative_step", "curvature", "nonnegative_decay", "step_size_from_largest")
    return one_step.goal("no_decay_nonexpansive", lines, *hypotheses)
