"""`adamw_stationary`: `eps |A|^2 + lam D.MD <= R.MD` with A the difference of the updates and `R = lam D + A`."""

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.rules import Combine, Define, Term
from .framework.symbols import RANGES, Step, j, m
from .lines import adaptive
from .lines.one_step import SIZES


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    return Derivation(
        claim="adamw_stationary",
        lines=(
            *adaptive.gradients(q),
            *adaptive.updates(q),
            *adaptive.slope(q),
            *rest(q),
        ),
        goals=(Goal("adamw_stationary", "adamw_stationary", ()),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=Setting(table=adaptive.TABLE).conclude,
        names=adaptive.NAMES,
    )


def rest(q: Step) -> list[Line]:
    """R, and the sum over the entries."""
    D, A, y = q.name("D", j), q.name("A", j), q.name("g_u", j) - q.name("g_v", j)
    return [
        Line(
            "R",
            equal(q.name("R", m), q.lam * q.name("D", m) + q.name("A", m)),
            Define(("A", "D")),
            "What is zero where rows $u$ and $v$ are at rest.",
        ),
        Line(
            "adamw_stationary",
            at_most(
                adaptive.eps * q.over_j(A**2) + q.lam * q.over_j(D * y),
                q.over_j(q.name("R", j) * y),
            ),
            Combine((Term(1, (("slope", {m: j}),), over=(j,)),), unfold=("R", "pull")),
            "Summed over the entries, with $MD$ as the difference of the gradients: the claim.",
        ),
    ]
