"""A head with any number of unseen labels and one feature: rows, logits and the normaliser.

The unseen labels are u, with row `w_u[j]`, and `others` >= 0 further ones, with rows `w_o[g, j]`, g = 2..others + 1.
"""

from collections.abc import Iterable

from sympy import Integer, Rational, Sum, Symbol, exp, sqrt

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Root
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.symbols import LATEX, RANGES, K, Step, j, k, m, n
from ..framework.types import Expr

others = Symbol("others", integer=True, nonnegative=True)
count = others + 1
"""All unseen labels."""
g = Symbol("g", integer=True)
HEAD_RANGES = RANGES | {g: (Integer(2), others + 1)}
NAMES = LATEX | {
    "others": r"\kappa'",
    "w_o": "w^{o}",
    "z_o": "z^{o}",
    "p_o": "p^{o}",
    "w_y": "w^{y}",
    "z_y": "z^{y}",
}
q = Step()
z_u, p_u = q.name("z_u"), q.name("p_u", positive=True)
z_o, p_o = q.name("z_o", g), q.name("p_o", g, positive=True)
Z = q.name("Z", positive=True)
xnorm = Symbol("xnorm", nonnegative=True)
half = Rational(1, 2)


def x(index: Expr) -> Expr:
    """The feature."""
    return q.name("x", index)


def w_o(index: Expr) -> Expr:
    """Row g of the other unseen labels."""
    return q.name("w_o", g, index)


def over_g(body: Expr) -> Expr:
    """Sum over the other unseen labels."""
    return Sum(body, (g, 2, others + 1))


def logit(row: Expr) -> Expr:
    """The logit of a row (an expression in j)."""
    return Sum(row * x(j), (j, 1, n))


def seen_from(first: Expr) -> Expr:
    """The exponentials of the seen labels from `first` to K."""
    return Sum(exp(logit(q.w(k, j))), (k, first, K))


def head(seen: Iterable[Line], S: Expr) -> list[Line]:
    """Logits, normaliser and the probability of u; `seen` defines S, the exponentials of all seen labels."""
    return [
        Line(
            "z_u",
            equal(z_u, logit(q.w_u(j))),
            Define(),
            "Logit of the unseen label $u$ on the feature $x$;",
        ),
        Line(
            "z_o",
            equal(z_o, logit(w_o(j))),
            Define(),
            "logits of the other unseen labels $g = 2, \\dots, \\kappa' + 1$, so that $\\kappa = \\kappa' + 1$ are unseen;",
        ),
        *seen,
        Line(
            "Z",
            equal(Z, exp(z_u) + over_g(exp(z_o)) + S),
            Define(("z_u", "z_o", "S")),
            "the normaliser.",
        ),
        Line("p_u", equal(p_u, exp(z_u) / Z), Define(("z_u", "Z")), "Softmax probability of $u$."),
    ]


def features() -> list[Line]:
    """`|x|` and its bound."""
    return [
        Line("xnorm", equal(xnorm, sqrt(Sum(x(j) ** 2, (j, 1, n)))), Define(), "The feature"),
        Line("radius", at_most(xnorm, q.r), Assume(), "has length at most $r$, by hypothesis."),
    ]


def product(name: str, row: Expr, row_m: Expr, length: Expr, of: tuple[str, ...]) -> list[Line]:
    """`<row, x> <= r |row|`, where the line `of[0]` defines the length."""
    square = Sum((row * x(m) - row_m * x(j)) ** 2, (j, 1, n), (m, 1, n))
    return [
        Line(
            f"{name}_square",
            at_most(logit(row) ** 2, (length * xnorm) ** 2),
            Combine((Term(half * square),), unfold=(*of, "xnorm")),
            "By Cauchy-Schwarz (Lagrange's identity)",
        ),
        Line(
            f"{name}_product",
            at_most(logit(row), length * xnorm),
            Root(f"{name}_square"),
            "the difference of the logits is at most the product of the lengths,",
        ),
    ]
