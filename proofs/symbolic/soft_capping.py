"""`soft_capping`: |D+| <= (1 - eta lam)|D| with soft-capped logits that stay clear of the cap."""

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line
from .framework.symbols import LATEX, RANGES, Step
from .lines import bounds, step
from .lines.losses_cap import TABLE, bound, curvature, even, halves, loss, quotient, recursion
from .lines.losses_cap_shape import shape

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. The cap is any real number but 0. Only the conclusion is written out, for 3 labels, "
    "2 coordinates and 1 example."
)
HYPOTHESES = ("nonnegative_step", "curvature_bound", "step_size", "monotone_u", "monotone_v")
SETTING = Setting(
    table=TABLE,
    ids={
        "curvature_bound": "curvature",
        "monotone_u": "monotone",
        "monotone_v": "monotone",
    },
    forms=("slope_u_form", "slope_v_form", "difference"),
    examples=1,
)


def contraction(q: Step) -> list[Line]:
    """From the shape of the capped gradient to the contraction."""
    return [
        *shape(q),
        *halves(q),
        *quotient(q),
        *recursion(q),
        *step.quadratic(q),
        bounds.nonnegative_step(q),
        *curvature(q),
        *bounds.upper(q),
    ]


def derive() -> Derivation:
    """The derivation, from the loss on capped logits to the claim."""
    q = Step()
    return Derivation(
        claim="soft_capping",
        lines=(*loss(q), *even(q), bound(q), *contraction(q)),
        goals=(Goal("soft_capping", "contraction", HYPOTHESES, also=SETTING.forms),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=SETTING.conclude,
        names=LATEX,
    )
