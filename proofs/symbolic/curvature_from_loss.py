"""`curvature_from_loss`: tr M <= r^2 (1 - exp(-CE))/2, CE the cross-entropy of the batch with hard targets."""

from sympy import exp, sqrt

from .framework.derivation import Derivation, Line, at_most, equal
from .framework.rules import Assume, Combine, Define, Term
from .framework.symbols import Step, i, j, k
from .lines import jensen, logmean, one_step
from .lines.bounds import half


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    lines = [
        *one_step.setting(q),
        *logmean.logmean_below(q),
        *jensen.tangents(q),
        *jensen.jensen(q),
        *share(q),
        *bound(q),
    ]
    return one_step.goal("curvature_from_loss", lines, "radius", also=("loss",))


def share(q: Step) -> list[Line]:
    """`L_i <= (1 - p_{y_i})/2`."""
    p_y, Z = q.name("p_y", i, positive=True), q.name("Z", i, positive=True)
    logit = q.over_j(q.w(q.y(i), j) * q.x(i, j))
    others = q.name("S", i, nonnegative=True)
    return [
        *jensen.targets(q),
        Line(
            "target_of_S",
            at_most(exp(logit), q.over_k(exp(q.over_j(q.w(k, j) * q.x(i, j))))),
            jensen.OneOfSum(q.y(i), "target_least", "target_most"),
            "The target is one of the other labels,",
        ),
        Line(
            "target_below",
            at_most(p_y, others / Z),
            Combine((Term(1 / Z, ("target_of_S",)),), unfold=("p_y", "S")),
            "so its probability is at most theirs together,",
        ),
        Line(
            "share",
            at_most(q.name("L", i), half * (1 - p_y)),
            Combine(
                (Term(1, ("L_below",)), Term(half, ("target_below",)), Term(-half / Z, ("Z",))),
                unfold=("p_u", "p_v"),
            ),
            "and $L_i \\le \\frac12 (p_u + p_v) \\le \\frac12 (1 - p_{y_i})$.",
        ),
    ]


def bound(q: Step) -> list[Line]:
    """The trace, term by term."""
    rho, r, tau = q.name("xnorm", i, nonnegative=True), q.r, q.name("tau")
    p_y = q.name("p_y", i, positive=True)
    return [
        Line(
            "xnorm",
            equal(rho, sqrt(q.over_j(q.x(i, j) ** 2))),
            Define(),
            "The length of a feature;",
        ),
        Line("radius", at_most(rho, r), Assume(), "hypothesis: $r$ bounds it."),
        Line(
            "radius_square",
            at_most(rho**2, r**2),
            Combine((Term((r - rho) ** 2), Term(2 * rho, ("radius",)))),
            "Squares:",
        ),
        Line(
            "tau_bound",
            at_most(tau, half * r**2 * q.over_i(q.a(i) * (1 - p_y))),
            Combine(
                (
                    Term(r**2, ("weights", "share"), over=(i,)),
                    Term(1, ("b_sign", "radius_square"), over=(i,)),
                ),
                unfold=("tau", "b", "xnorm"),
            ),
            "Each $L_i |x_i|^2$ is at most $\\frac12 r^2 (1 - p_{y_i})$,",
        ),
        Line(
            "curvature_from_loss",
            at_most(tau, r**2 * (1 - exp(-q.name("CE"))) / 2),
            Combine((Term(1, ("tau_bound",)), Term(half * r**2, ("jensen",)))),
            "and the sum is bounded by the loss.",
        ),
    ]
