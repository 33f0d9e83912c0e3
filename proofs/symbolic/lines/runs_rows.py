"""The two rows after t steps: their lengths, and the distance of their cosine from 1."""

from collections.abc import Mapping

from sympy import Product, Rational, sqrt
from sympy import S as Numbers

from ..framework.derivation import Line, Rule, at_most, equal
from ..framework.rules import Combine, Define, Term
from ..framework.symbols import LATEX, Step, j, t
from ..framework.types import Expr
from .products import s
from .runs import constant

half = Rational(1, 2)
NAMES = LATEX | {
    "normu": "|u|",
    "normv": "|v|",
    "lenu": "|u|_{+}",
    "lenv": "|v|_{+}",
    "cosdist": r"(1 - \cos)",
    "lenu_o": r"|u|_{\circ}",
    "lenv_o": r"|v|_{\circ}",
    "longer_o": r"\delta_{\circ}",
    "cosdist_o": r"(1 - \cos)_{\circ}",
    "firstpos": r"\pi_0",
    "first_o": r"\pi_{0\circ}",
    "lastpos": r"\pi",
    "longer": r"\delta",
    "floor": "m",
    "floorpos": "m_{+}",
}


def length(q: Step, row: str) -> Expr:
    """The length of row u or v."""
    return q.name(f"norm{row}", nonnegative=True)


def positive_length(q: Step, row: str, mark: str = "") -> Expr:
    """The same where it is known to be positive."""
    return q.name(f"len{row}{mark}", positive=True)


def left_by_decay(time: Expr = t) -> Expr:
    """`prod (1 - eta_s lam) |D_0|`."""
    decay = Product(1 - Step(time=s).eta * constant("lam"), (s, 0, time - 1))
    return decay * Step(time=Numbers.Zero).name("norm", nonnegative=True)


def decayed(q: Step) -> list[Line]:
    """`|D_t| <= prod (1 - eta_s lam)|D_0|` with one lam for all steps, and squared."""
    norm, left = q.name("norm", nonnegative=True), left_by_decay(q.time)
    return [
        Line(
            "decayed",
            at_most(norm, left),
            Combine((Term(1, ("above",)),), unfold=("steady_lam",)),
            "So decay alone bounds the distance.",
        ),
        Line(
            "decayed_square",
            at_most(norm**2, left**2),
            Combine((Term((left - norm) ** 2), Term(2 * norm, ("decayed",)))),
            "Squares:",
        ),
    ]


def lengths(q: Step) -> list[Line]:
    """`|u|` and `|v|`."""
    return [
        Line(
            f"norm{row}",
            equal(length(q, row), sqrt(q.over_j(w(j) ** 2))),
            Define(),
            f"The length of row ${row}$.",
        )
        for row, w in (("u", q.w_u), ("v", q.w_v))
    ]


def positive_lengths(q: Step, rules: Mapping[str, Rule], mark: str = "") -> list[Line]:
    """The lengths as positive numbers, for the reason that `rules` gives for each row."""
    return [
        Line(
            f"len{row}{mark}",
            equal(positive_length(q, row, mark), length(q, row)),
            rules[row],
            f"So the length of row ${row}$ is a positive number.",
        )
        for row in ("u", "v")
    ]


def cosine_distance(q: Step, mark: str = "") -> list[Line]:
    """`1 - cos(u, v)` in the form of the claims; `mark` tells the names of several such quantities apart."""
    u, v = (positive_length(q, row, mark) for row in ("u", "v"))
    distance, longer = q.name(f"cosdist{mark}"), q.name(f"longer{mark}")
    D = q.name("D", j)
    return [
        Line(
            f"longer{mark}",
            equal(longer, q.over_j(D * (q.w_u(j) + q.w_v(j))) / (u + v)),
            Define(("D", f"lenu{mark}", f"lenv{mark}")),
            "The difference of the lengths, as $D \\cdot (u + v)/(|u| + |v|)$,",
        ),
        Line(
            f"cosdist{mark}",
            equal(distance, q.over_j((D * v - q.w_v(j) * longer) ** 2) / (2 * u**2 * v**2)),
            Define(("D", f"lenu{mark}", f"lenv{mark}", f"longer{mark}")),
            "and half the square of $u/|u| - v/|v|$, written without cancellation.",
        ),
    ]


def cosine(q: Step) -> list[Line]:
    """That it is `1 - cos(u, v)`, and `2 |u||v| (1 - cos(u, v)) <= |D|^2`."""
    u, v, norm = positive_length(q, "u"), positive_length(q, "v"), q.name("norm", nonnegative=True)
    distance, longer = q.name("cosdist"), q.name("longer")
    inner = q.over_j(q.w_u(j) * q.w_v(j))
    lengths = ("lenu", "lenv", "normu", "normv")
    return [
        Line(
            "longer_times",
            equal((u + v) * longer, u**2 - v**2),
            Combine(unfold=("longer", "D", *lengths)),
            "Here $D \\cdot (u + v) = |u|^2 - |v|^2$;",
        ),
        Line(
            "longer=",
            equal(longer, u - v),
            Combine((Term(1 / (u + v), ("longer_times",)),)),
            "divide by $|u| + |v| > 0$.",
        ),
        Line(
            "cosdist_times",
            equal(2 * u**2 * v**2 * distance, 2 * u**2 * v**2 - 2 * u * v * inner),
            Combine(unfold=("cosdist", "longer=", "D", *lengths)),
            "Expand the square",
        ),
        Line(
            "cosdist=",
            equal(distance, 1 - inner / (u * v)),
            Combine((Term(1 / (2 * u**2 * v**2), ("cosdist_times",)),)),
            "and divide: it is $1 - \\cos(u, v)$.",
        ),
        Line(
            "cosine",
            at_most(2 * u * v * distance, norm**2),
            Combine(
                (Term((u - v) ** 2),),
                unfold=("cosdist=", *lengths, "norm", "D"),
            ),
            "Now $|D|^2 = |u|^2 + |v|^2 - 2\\, u \\cdot v$, and the gap is $(|u| - |v|)^2$.",
        ),
    ]
