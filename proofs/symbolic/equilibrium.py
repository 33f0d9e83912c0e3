"""`equilibrium`: the pull `<x, grad_u>` of the loss of one feature where all unseen rows lie at `-(z/r^2) x`.

The gradient is taken with the rows free; only then are they put at that point.
"""

from sympy import Integer, Sum, Symbol, exp, log

from .framework.conclude_others import Written
from .framework.derivation import Derivation, Goal, Line, Part, equal
from .framework.rules import Assume, Combine, Define, Differentiate, Term
from .framework.small import Table, real
from .framework.strict import Positive
from .framework.symbols import K, j, k, m, n
from .framework.types import Expr
from .lines.heads import (
    HEAD_RANGES,
    NAMES,
    Z,
    count,
    head,
    logit,
    others,
    over_g,
    p_u,
    q,
    seen_from,
    w_o,
    x,
    z_o,
    z_u,
)

SIZES = (
    "The number of labels K, the number of unseen labels and the dimension n are symbols in every line; no size is fixed. "
    "Without loss of generality the target is the first seen label. Only the conclusion is written out, for 2 unseen "
    "labels, 2 seen ones (1 if that is trained as well) and 2 coordinates, to be compared with the claim's own formula."
)
level, square = Symbol("level", real=True), Symbol("square", real=True)
r2 = Symbol("squarepos", positive=True)
S, rest = Symbol("S", positive=True), Symbol("rest", nonnegative=True)
z_y, p_y = q.name("z_y"), q.name("p_y", positive=True)
pull, s = Symbol("pull", real=True), (others + 2) * level
row_u = -level / r2 * x(j)


def w_y(index: Expr) -> Expr:
    """The row of the target."""
    return q.name("w_y", index)


def derive() -> Derivation:
    """From the loss to the pull at the point, in three forms."""
    return Derivation(
        claim="equilibrium",
        lines=(*head(seen(), S), *loss(), *point(), *forms(), *trained()),
        goals=tuple(
            Goal(name, name, ("nonzero_feature",))
            for name in ("given", "normaliser", "all_trained")
        ),
        sizes=SIZES,
        ranges=HEAD_RANGES,
        conclude=conclude,
        names=NAMES
        | {
            "level": "z",
            "square": "|x|^{2}",
            "squarepos": "r^{2}",
            "rest": r"S'",
            "pull": r"\langle x, \nabla_u\rangle",
        },
    )


def seen() -> list[Line]:
    """The seen labels: the target, and all others."""
    return [
        Line("z_y", equal(z_y, logit(w_y(j))), Define(), "that of the target $y$, which is seen;"),
        Line(
            "rest",
            equal(rest, seen_from(others + 3)),
            Define(),
            "the exponentials of the seen labels besides the target,",
        ),
        Line("S", equal(S, exp(z_y) + rest), Define(("z_y", "rest")), "of all seen labels,"),
    ]


def loss() -> list[Line]:
    """The loss of the one feature with decay, and its derivative by row u."""
    ell, grad = Symbol("loss", real=True), q.name("grad_u", m)
    squares = [q.w_u(j) ** 2 + w_y(j) ** 2 + over_g(w_o(j) ** 2)]
    squares += [Sum(q.w(k, j) ** 2, (k, others + 3, K))]
    return [
        Line("p_y", equal(p_y, exp(z_y) / Z), Define(("z_y", "Z")), "Probability of the target."),
        Line(
            "loss",
            equal(ell, -log(p_y) + q.lam / 2 * Sum(sum(squares), (j, 1, n))),
            Define(("p_y",)),
            "The loss of the single feature, with weight decay.",
        ),
        Line(
            "grad_u",
            equal(grad, p_u * x(m) + q.lam * q.w_u(m)),
            Differentiate("loss", by=q.w_u(m)),
            "Its derivative with respect to coordinate $m$ of row $u$.",
        ),
        Line(
            "pull",
            equal(pull, Sum(x(m) * grad, (m, 1, n))),
            Define(("grad_u",)),
            "The pull of the gradient along the feature.",
        ),
    ]


def point() -> list[Line]:
    """The point: all unseen rows at `-(z/r^2) x`."""
    line = Sum(x(j) ** 2, (j, 1, n))
    return [
        Line("square", equal(square, line), Define(), "The square of the feature's length;"),
        Line(
            "nonzero_feature",
            equal(r2, square),
            Positive(),
            "hypothesis: the feature is not zero, so this is positive.",
        ),
        Line(
            "at_u",
            equal(q.w_u(j), row_u),
            Assume("setting", relation="=="),
            "The point in question: row $u$ lies at $-(z/r^2) x$,",
        ),
        Line(
            "at_o",
            equal(w_o(j), row_u),
            Assume("setting", relation="=="),
            "and so do all other unseen rows.",
        ),
        *(
            Line(
                f"{name}_at",
                equal(z, -level),
                Combine((Term(level / r2, ("nonzero_feature",)),), unfold=(name, at, "square")),
                sentence,
            )
            for name, z, at, sentence in (
                ("z_u", z_u, "at_u", "So the logit of $u$ is $-z$,"),
                ("z_o", z_o, "at_o", "as are those of the other unseen labels,"),
            )
        ),
        Line(
            "Z_at",
            equal(Z, S + count * exp(-level)),
            Combine(unfold=("Z", "z_u_at", "z_o_at")),
            "and all $\\kappa$ of them add the same to the normaliser.",
        ),
        Line(
            "pull_at",
            equal(pull, exp(-level) / Z * r2 - q.lam * level),
            Combine(
                (Term(-(exp(-level) / Z - q.lam * level / r2), ("nonzero_feature",)),),
                unfold=("pull", "grad_u", "at_u", "p_u", "z_u_at", "square"),
            ),
            "The pull there.",
        ),
    ]


def forms() -> list[Line]:
    """The pull with the seen rows given, and with the normaliser given."""
    up, down = exp(level), exp(-level)
    total = S + count * down
    return [
        Line(
            "given",
            equal(
                pull,
                S * down / total * (square / S - q.lam * (level * up + count * level / S)),
            ),
            Combine(unfold=("pull_at", "nonzero_feature", "Z_at")),
            "With the seen rows given: the first form of the claim,",
        ),
        Line(
            "normaliser",
            equal(pull, down / total * (square - q.lam * total * level * up)),
            Combine(unfold=("pull_at", "nonzero_feature", "Z_at")),
            "and with the normaliser $Z = S + \\kappa e^{-z}$: the second.",
        ),
    ]


def trained() -> list[Line]:
    """The pull where the only seen row has been trained as well."""
    return [
        Line(
            "only_seen",
            equal(rest, 0),
            Assume("setting", relation="=="),
            "Now let the target be the only seen label, so that the sum over the others is empty,",
        ),
        Line(
            "at_y",
            equal(w_y(j), -count * row_u),
            Assume("setting", relation="=="),
            "with its row at $(\\kappa z/r^2) x$, so that all rows sum to $0$.",
        ),
        Line(
            "z_y_at",
            equal(z_y, count * level),
            Combine(
                (Term(-count * level / r2, ("nonzero_feature",)),), unfold=("z_y", "at_y", "square")
            ),
            "Its logit is $\\kappa z$,",
        ),
        Line(
            "Z_trained",
            equal(Z, exp(count * level) + count * exp(-level)),
            Combine(unfold=("Z_at", "S", "only_seen", "z_y_at")),
            "and so the normaliser is known.",
        ),
        Line(
            "all_trained",
            equal(
                pull,
                ((others + 2) * square - q.lam * (s * exp(s) + count * s))
                / ((others + 2) * (count + exp(s))),
            ),
            Combine(unfold=("pull_at", "nonzero_feature", "Z_trained")),
            "With $K = \\kappa + 1$ labels: the third form.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The goals for 2 unseen labels and 2 coordinates, with 2 given seen rows, or one that is trained as well."""
    unseen, dim = 2, 2
    feature = [real(f"x_{c}") for c in range(dim)]
    row = [-real("z") / sum(c**2 for c in feature) * c for c in feature]
    table: Table = {
        "w_u": lambda j: row[j - 1],
        "w_o": lambda g, j: row[j - 1],
        "w_y": lambda j: real(f"w_0_{j - 1}"),
        "w": lambda k, j: real(f"w_{k - unseen - 1}_{j - 1}"),
        "x": lambda j: feature[j - 1],
        "lam": lambda: real("lam"),
        "level": lambda: real("z"),
        "others": lambda: Integer(unseen - 1),
    }

    def written(table: Table, seen: int) -> Written:
        sizes = {"S": seen, "n": dim, "unseen": unseen}
        return Written(derivation, table=table, dim=dim, labels=unseen + seen, sizes=sizes)

    at = {
        "given": written(table, 2),
        "normaliser": written(table, 2),
        "all_trained": written({**table, "w_y": lambda j: -unseen * row[j - 1]}, 1),
    }
    return tuple(
        at[goal.id].part(
            goal,
            {"nonzero_feature": (at[goal.id].small(square),)},
            start=derivation["loss"].statement.rhs,
        )
        for goal in derivation.goals
    )
