"""`indistinguishable`: unseen labels with close rows share their probability nearly evenly.

`p_u exp(-r|D|) <= p_v`, `p_u <= (1 - p_seen)/(1 + (k - 1) exp(-r delta))` and `p_u exp(-r|w_u - mean|) <= 1/k`.
"""

from sympy import Integer, Sum, Symbol, exp, sqrt

from .framework.conclude_others import Written
from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.ranges import Exponentials
from .framework.rules import Assume, Combine, Define, Term
from .framework.small import real
from .framework.symbols import j, m, n
from .lines import heads_jensen
from .lines.heads import (
    HEAD_RANGES,
    NAMES,
    Z,
    features,
    g,
    head,
    others,
    over_g,
    p_o,
    p_u,
    product,
    q,
    seen_from,
    w_o,
    xnorm,
    z_o,
    z_u,
)

SIZES = (
    "The number of labels K, the number of unseen labels and the dimension n are symbols in every line; no size is fixed. "
    "Only the conclusion is written out, for 4 labels of which 3 are unseen and 2 coordinates, to be compared with the "
    "claim's own formula. The claim speaks of probabilities alone, so it starts from the softmax."
)
r, delta = q.r, Symbol("delta", real=True)
seen = Symbol("S", nonnegative=True)
apart = q.name("apart", g, nonnegative=True)
mass = Symbol("mass", real=True)


def derive() -> Derivation:
    """From the softmax to the three bounds."""
    return Derivation(
        claim="indistinguishable",
        lines=(
            *head([_seen()], seen),
            *features(),
            *pair(),
            *group(),
            *heads_jensen.tangents(),
            *heads_jensen.jensen(seen),
        ),
        goals=(
            Goal("pair", "pair", ("radius",)),
            Goal("group", "group", ("radius", "within")),
            Goal("center", "center_bound", ("radius",)),
        ),
        sizes=SIZES,
        ranges=HEAD_RANGES,
        conclude=conclude,
        names=NAMES
        | heads_jensen.NAMES
        | {
            "apart": r"|w^{u} - w^{o}|",
            "mass": r"(1 - p_{\mathrm{seen}})",
            "delta": r"\delta",
        },
    )


def _seen() -> Line:
    return Line(
        "S",
        equal(seen, seen_from(others + 2)),
        Define(),
        "the exponentials of all seen labels $k$;",
    )


def pair() -> list[Line]:
    """`p_u exp(-r|w_u - w_g|) <= p_g` for every other unseen g; v is one of them."""
    row, row_m = q.w_u(j) - w_o(j), q.w_u(m) - w_o(m)
    return [
        Line(
            "p_o",
            equal(p_o, exp(z_o) / Z),
            Define(("z_o", "Z")),
            "Softmax probability of another unseen label $g$; $v$ is one of these.",
        ),
        Line(
            "apart",
            equal(apart, sqrt(Sum(row**2, (j, 1, n)))),
            Define(),
            "The distance of its row from that of $u$.",
        ),
        *product("apart", row, row_m, apart, ("apart",)),
        Line(
            "apart_logits",
            at_most(z_u - r * apart, z_o),
            Combine((Term(1, ("apart_product",)), Term(apart, ("radius",))), unfold=("z_u", "z_o")),
            "so with $|x| \\le r$ it is at most $r$ times the distance.",
        ),
        Line(
            "apart_exp",
            at_most(exp(z_u - r * apart), exp(z_o)),
            Exponentials("apart_logits"),
            "Take exponentials",
        ),
        Line(
            "pair",
            at_most(p_u * exp(-r * apart), p_o),
            Combine((Term(1 / Z, ("apart_exp",)),), unfold=("p_u", "p_o")),
            "and divide by $Z$: the first bound, for any other unseen label.",
        ),
    ]


def group() -> list[Line]:
    """`p_u <= (1 - p_seen)/(1 + (k - 1) exp(-r delta))`."""
    least = exp(-r * delta)
    return [
        Line(
            "within",
            at_most(apart, delta),
            Assume(),
            "Hypothesis: $\\delta$ bounds the distance of every unseen row from that of $u$.",
        ),
        Line(
            "r_sign",
            at_most(0, r),
            Combine((Term(1, ("radius",)), Term(xnorm))),
            "As $r \\ge |x| \\ge 0$,",
        ),
        Line(
            "within_logits",
            at_most(z_u - r * delta, z_o),
            Combine((Term(1, ("apart_logits",)), Term(1, ("r_sign", "within")))),
            "the logits differ by at most $r \\delta$;",
        ),
        Line(
            "within_exp",
            at_most(exp(z_u - r * delta), exp(z_o)),
            Exponentials("within_logits"),
            "take exponentials",
        ),
        Line(
            "share",
            at_most(p_u * least, p_o),
            Combine((Term(1 / Z, ("within_exp",)),), unfold=("p_u", "p_o")),
            "and divide by $Z$.",
        ),
        Line(
            "mass",
            equal(mass, p_u + over_g(p_o)),
            Define(("p_u", "p_o")),
            "All unseen labels together have probability $1 - p_{\\mathrm{seen}}$.",
        ),
        Line(
            "mass_times",
            equal(Z * mass, Z - seen),
            Combine((Term(-1, ("Z",)),), unfold=("mass", "p_u", "p_o")),
            "Times the normaliser it is what the seen labels leave of that,",
        ),
        Line(
            "mass_is_the_rest",
            equal(mass, 1 - seen / Z),
            Combine((Term(1 / Z, ("mass_times",)),)),
            "so all probabilities sum to $1$.",
        ),
        Line(
            "group",
            at_most(p_u, mass / (1 + others * least)),
            Combine((Term(1 / (1 + others * least), ("share",), over=(g,)),), unfold=("mass",)),
            "Sum over the other unseen labels: the second bound.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The goals for 4 labels of which 3 are unseen, in 2 coordinates; v is the first of the others."""
    labels, unseen, dim = 4, 3, 2
    written = Written(
        derivation,
        table={
            "w_u": lambda j: real(f"w_0_{j - 1}"),
            "w_o": lambda g, j: real(f"w_{g - 1}_{j - 1}"),
            "w": lambda k, j: real(f"w_{k - 1}_{j - 1}"),
            "x": lambda j: real(f"x_{j - 1}"),
            "r": lambda: real("r"),
            "delta": lambda: real("delta"),
            "others": lambda: Integer(unseen - 1),
        },
        dim=dim,
        labels=labels,
        sizes={"K": labels, "n": dim, "unseen": unseen},
    )
    rest = [{g: place} for place in range(2, unseen + 1)]
    # For u itself and for seen labels the library lists delta less a distance that it sets to 0.
    trivial = (written.small(delta),)
    margins = {
        "radius": written.margins("radius"),
        "within": trivial + written.margins("within", rest) + trivial * (labels - unseen),
    }
    return tuple(
        written.part(
            goal,
            {name: margins[name] for name in goal.hypotheses},
            start=derivation["Z"].statement.rhs,
            at=rest[0],
        )
        for goal in derivation.goals
    )
