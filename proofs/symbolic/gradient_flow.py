"""`gradient_flow`: lam |D|^2 <= -1/2 d/dt |D|^2 <= (lam + T)|D|^2 for rows that follow the negative gradient."""

from .framework.conclude import conclude_step
from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.rules import Combine, Define, Differentiate, Term
from .framework.symbols import LATEX, RANGES, Step, j, m
from .lines import bounds, one_step

NAMES = LATEX | {
    "square": r"|D|^{2}",
    "slope_u": r"\partial^{u}|D|^{2}",
    "slope_v": r"\partial^{v}|D|^{2}",
    "flow_u": r"\dot w^{u}",
    "flow_v": r"\dot w^{v}",
    "rate": r"\varrho",
}


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    lines = (
        *one_step.setting(q),
        one_step.curvature(q),
        bounds.form_bound(q),
        *one_step.pull(q),
        *flow(q),
        *both(q),
    )
    return Derivation(
        claim="gradient_flow",
        lines=lines,
        goals=(Goal("slowest", "slowest", ()), Goal("fastest", "fastest", ("curvature",))),
        sizes=one_step.SIZES,
        ranges=RANGES,
        conclude=conclude_step(dim=2, examples=2),
        names=NAMES,
    )


def flow(q: Step) -> list[Line]:
    """`-1/2 d/dt |D|^2 = D.g`, by the chain rule; g is the difference of the gradients."""
    square, rate, D, g = q.name("square"), q.name("rate"), q.name("D", j), q.name("g", j)
    lines = [
        Line(
            "square",
            equal(square, q.over_j(D**2)),
            Define(("D",)),
            "The square of the length of $D$,",
        ),
    ]
    change = 0
    for row, sign, w in (("u", 1, q.w_u), ("v", -1, q.w_v)):
        slope, velocity = f"slope_{row}", f"flow_{row}"
        lines += [
            Line(
                slope,
                equal(q.name(slope, m), 2 * sign * q.name("D", m)),
                Differentiate("square", by=w(m)),
                f"its derivative with respect to coordinate $m$ of row ${row}$,",
            ),
            Line(
                velocity,
                equal(q.name(velocity, m), -q.name(f"grad_{row}", m)),
                Define((f"grad_{row}",)),
                f"and the velocity of row ${row}$ under gradient flow.",
            ),
        ]
        change += q.name(slope, j) * q.name(velocity, j)
    return [
        *lines,
        Line(
            "rate",
            equal(rate, -q.over_j(change) / 2),
            Define(("slope_u", "slope_v", "flow_u", "flow_v")),
            "By the chain rule the rate $\\varrho = -\\frac12 \\frac{d}{dt}|D|^2$ is",
        ),
        Line(
            "rate=D.g",
            equal(rate, q.over_j(D * g)),
            Combine(unfold=("rate", "slope_u", "slope_v", "flow_u", "flow_v", "g")),
            "and so the product of $D$ with the difference of the gradients.",
        ),
    ]


def both(q: Step) -> list[Line]:
    """Both parts, from `0 <= D.MD <= T|D|^2`."""
    square, rate = q.name("square"), q.name("rate")
    return [
        Line(
            "slowest",
            at_most(q.lam * square, rate),
            Combine(
                (Term(-1, ("rate=D.g",)), Term(-1, ("D.g",)), Term(1, ("quad_sign",))),
                unfold=("square", "norm"),
            ),
            "It is at least the decay, since $D \\cdot MD \\ge 0$,",
        ),
        Line(
            "fastest",
            at_most(rate, (q.lam + q.T) * square),
            Combine(
                (
                    Term(1, ("rate=D.g",)),
                    Term(1, ("D.g",)),
                    Term(1, ("quad_bound",)),
                    Term(q.name("norm", nonnegative=True) ** 2, ("curvature",)),
                ),
                unfold=("square", "norm"),
            ),
            "and at most decay and $T$ together.",
        ),
    ]
