"""`step_factor`: if T >= tr M, then |D+| <= max(|c|, |c - eta T|)|D| for all real eta and lam."""

from sympy import Abs, Max

from .framework.derivation import Derivation, Line, at_most, equal
from .framework.extremes import MaxAbove
from .framework.inference import MaxCases, Root
from .framework.rules import Combine, Define, Term
from .framework.symbols import Step
from .lines import bounds, one_step


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    lines = [
        *one_step.setting(q),
        one_step.curvature(q),
        bounds.operator_bound(q),
        bounds.form_bound(q),
        *factors(q),
        *bound(q),
    ]
    return one_step.goal("step_factor", lines, "curvature")


def factors(q: Step) -> list[Line]:
    """The larger end factor mu, and the room that it leaves above c^2."""
    c, far, s = q.name("c"), q.name("far"), q.name("slope")
    larger = q.name("mu", nonnegative=True)
    room = larger**2 - c**2
    return [
        Line("far", equal(far, c - q.eta * q.T), Define(("c",)), "The factor at the other end."),
        Line(
            "mu",
            equal(larger, Max(Abs(c), Abs(far))),
            Define(("c", "far")),
            "The larger of the two end factors.",
        ),
        Line(
            "c_below_m",
            at_most(Abs(c), Max(Abs(c), Abs(far))),
            MaxAbove(),
            "It is at least the one",
        ),
        Line(
            "far_below_m",
            at_most(Abs(far), Max(Abs(c), Abs(far))),
            MaxAbove(),
            "and at least the other.",
        ),
        Line(
            "c_square",
            at_most(0, room),
            Combine((Term(larger + Abs(c), ("c_below_m",)),), unfold=("mu",)),
            "So its square is at least $c^2$",
        ),
        Line(
            "far_square",
            at_most(far**2, larger**2),
            Combine((Term(larger + Abs(far), ("far_below_m",)),), unfold=("mu",)),
            "and at least $(c - \\eta T)^2$.",
        ),
        Line(
            "slope",
            equal(s, q.eta * (q.eta * q.T - 2 * c)),
            Define(("c",)),
            "What a unit of $D \\cdot MD$ adds at most:",
        ),
        Line(
            "slope_room",
            at_most(s * q.T, room),
            Combine((Term(1, ("far_square",)),), unfold=("slope", "far")),
            "Times $T$ it is $(c - \\eta T)^2 - c^2$.",
        ),
        Line(
            "room",
            at_most(Max(0, s) * q.T, room),
            MaxCases(("slope_room", "c_square")),
            "The same for the positive part of it.",
        ),
        Line(
            "slope_below", at_most(s, Max(0, s)), MaxAbove(), "That is at least the amount itself."
        ),
    ]


def bound(q: Step) -> list[Line]:
    """Squares, then roots."""
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    larger, up = q.name("mu", nonnegative=True), Max(0, q.name("slope"))
    ends = Max(Abs(1 - q.eta * q.lam), Abs(1 - q.eta * q.lam - q.eta * q.T))
    return [
        Line(
            "squares",
            at_most(new**2, (larger * norm) ** 2),
            Combine(
                (
                    Term(1, ("next_square",)),
                    Term(q.eta**2, ("MD_square",)),
                    Term(q.eta**2, ("curvature", "quad_sign")),
                    Term(1, ("slope_below", "quad_sign")),
                    Term(up, ("quad_bound",)),
                    Term(up * norm**2, ("curvature",)),
                    Term(norm**2, ("room",)),
                ),
                unfold=("slope",),
            ),
            "The terms: $|MD|^2 \\le T\\, D \\cdot MD$, and $0 \\le D \\cdot MD \\le T |D|^2$.",
        ),
        Line("root", at_most(new, larger * norm), Root("squares"), "Take square roots:"),
        Line(
            "step_factor",
            at_most(new, ends * norm),
            Combine((Term(1, ("root",)),), unfold=("mu", "far", "c")),
            "the claim.",
        ),
    ]
