"""`rare_labels`: a step with targets of any kind has |D+| <= (1 - eta lam)|D| + eta r f, f the batch mass of u and v."""

from sympy import Integer

from . import _bounds, _logmean, _step, _times_rare, _times_seen
from ._derivation import Derivation, Goal, Line, Part, at_most
from ._rules import Combine, Term
from ._small import Small, step_table
from ._symbols import RANGES, Step, i
from .rare_labels_run import NAMES

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line, and targets "
    "are of any kind; no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples, to "
    "be compared with the claim's own formula; there no target is u or v, as in all of the library's symbolic instances."
)
HYPOTHESES = ("nonnegative_step", "radius", "curvature", "step_size")
DIM, EXAMPLES = 2, 2


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    norm = q.name("norm", nonnegative=True)
    lines = (
        *_times_seen.loss(q),
        *_logmean.logmean(q),
        *_times_rare.recursion(q),
        *_times_rare.without_targets(_step.quadratic(q)),
        *_bounds.hypotheses(q),
        *_times_rare.without_targets(
            line for line in _bounds.upper(q) if line.name != "contraction"
        ),
        *_times_rare.mass(q),
        *_times_rare.step(q),
        Line(
            "rare_labels",
            at_most(
                _times_rare.length(q),
                (1 - q.eta * q.lam) * norm + q.eta * q.r * q.name("mass"),
            ),
            Combine((Term(1, ("rare_step",)),), unfold=("c",)),
            "the claim.",
        ),
    )
    return Derivation(
        claim="rare_labels",
        lines=lines,
        goals=(Goal("rare_labels", "rare_labels", HYPOTHESES),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=NAMES,
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The goal at 3 labels, with the target 3 on every example."""
    never = {"hot_u": lambda i: Integer(0), "hot_v": lambda i: Integer(0)}
    definitions = derivation.context().definitions().values()
    small = Small({**step_table(3), **never}, definitions, labels=3, dim=DIM, examples=EXAMPLES)
    statement = derivation["rare_labels"].statement
    places = {"radius": range(1, EXAMPLES + 1)}

    def margins(name: str) -> tuple:
        margin = derivation[name].statement.margin
        return tuple(small(margin, {i: place}) for place in places.get(name, (1,)))

    return (
        Part(
            id="rare_labels",
            hypotheses={name: margins(name) for name in HYPOTHESES},
            structural=(),
            loss=small(derivation["loss"].statement.rhs),
            lhs=small(statement.lhs),
            rhs=small(statement.rhs),
            sizes={"K": 3, "n": DIM, "N": EXAMPLES},
        ),
    )
