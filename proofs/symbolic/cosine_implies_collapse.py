"""`cosine_implies_collapse`: the cosine can reach 1 with the rows apart; where norms do not grow, it cannot."""

from dataclasses import replace

from sympy import Integer, Rational, Sum, Symbol, log, sqrt

from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.inference import Evaluate, Root
from .framework.points import Named
from .framework.rules import Assume, Combine, Define, Term
from .framework.small import real
from .framework.symbols import RANGES, Step, j, m, n
from .framework.types import Expr
from .lines import adam_runs
from .lines.adam_runs import ROWS, age, q, start
from .lines.bounds import half
from .lines.conclude_adam import history, small
from .lines.losses_point import right

SIZES = (
    "The refutation is one step: 3 labels, 1 coordinate, 1 example, exact data. In the mended form the number of labels "
    "K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in every line; its conclusion "
    "is written out for 1 step, 3 labels, 1 coordinate and 1 example."
)
F = Rational
two = log(2)
DATA: dict[str, Expr | int] = {
    "beta1": F(1, 2),
    "beta2": F(1, 2),
    "epsilon": F(1, 7),
    "eta": 10 * two,
}
ROW = ((two, -7 * two), (-two, -6 * two), (0, 0))
"""Rows u, v and the target's before the step and, as the lines show, after it; the target's is not asked for."""
LACKING = ("norms_do_not_grow", "unequal_norms")


def derive() -> Derivation:
    """One step of AdamW for the refutation; an identity between lengths for the mended form."""
    lines = (
        *adam_runs.gradients(),
        *adam_runs.below_one(),
        *adam_runs.seen(),
        *(line for row in ROWS for line in adam_runs.moments(row)),
        *(line for row in ROWS for line in adam_runs.descent(row) if line.name.startswith("next")),
        *lengths(),
        *mended(),
        *refutation(),
    )
    return Derivation(
        claim="cosine_implies_collapse",
        lines=lines,
        goals=(
            Goal("refuted", "refuted", (), also=("first_apart", "last_apart")),
            Goal("mended", "mended", LACKING),
        ),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=adam_runs.NAMES
        | {
            "len_u": "|u|",
            "len_v": "|v|",
            "along": r"\langle u, v\rangle",
            "gap_uv": "G",
            "square": "|D|^{2}",
            "uneven": r"\Delta",
            "after_u": "u^{+}",
            "after_v": "v^{+}",
            "first_star": r"\pi_0",
            "last_star": r"\pi",
        },
    )


def product(step: Step) -> Expr:
    """`|u||v|`."""
    return step.name("len_u", nonnegative=True) * step.name("len_v", nonnegative=True)


def sides(step: Step) -> tuple[Expr, Expr]:
    """Both sides of the claim, after some steps."""
    return (
        step.name("square") * start.name("gap_uv") * product(step),
        start.name("square") * step.name("gap_uv") * product(start),
    )


def lengths() -> list[Line]:
    """Lengths, inner product, and `|D|^2 = (|u| - |v|)^2 + 2 (|u||v| - <u, v>)`."""
    u, v = q.name("len_u", nonnegative=True), q.name("len_v", nonnegative=True)
    inner, gap = q.name("along"), q.name("gap_uv")
    return [
        Line("len_u", equal(u, sqrt(q.over_j(q.w_u(j) ** 2))), Define(), "The length of row $u$,"),
        Line("len_v", equal(v, sqrt(q.over_j(q.w_v(j) ** 2))), Define(), "of row $v$,"),
        Line(
            "along",
            equal(inner, q.over_j(q.w_u(j) * q.w_v(j))),
            Define(),
            "and their inner product.",
        ),
        Line(
            "gap_uv",
            equal(gap, u * v - inner),
            Define(("len_u", "len_v", "along")),
            "What the cosine lacks of 1, times the lengths.",
        ),
        Line(
            "uneven",
            equal(q.name("uneven"), (u - v) ** 2),
            Define(("len_u", "len_v")),
            "How the lengths differ,",
        ),
        Line(
            "square",
            equal(q.name("square"), q.over_j((q.w_u(j) - q.w_v(j)) ** 2)),
            Define(),
            "and the squared distance.",
        ),
        Line(
            "cosine_law",
            equal(q.name("square"), q.name("uneven") + 2 * gap),
            Combine(unfold=("square", "uneven", "gap_uv", "along", "len_u", "len_v")),
            "It is the sum of the two: the law of cosines.",
        ),
        *cauchy(q, ""),
        *cauchy(start, "_0"),
    ]


def cauchy(step: Step, mark: str) -> list[Line]:
    """`<u, v> <= |u||v|`."""
    other = (step.w_u(j) * step.w_v(m) - step.w_u(m) * step.w_v(j)) ** 2
    inner = step.name("along")
    return [
        Line(
            f"cauchy_square{mark}",
            at_most(inner**2, product(step) ** 2),
            Combine(
                (Term(half * Sum(other, (j, 1, n), (m, 1, n))),),
                unfold=("along", "len_u", "len_v"),
            ),
            "Cauchy-Schwarz (Lagrange's identity),",
        ),
        Line(
            f"cauchy{mark}",
            at_most(inner, product(step)),
            Root(f"cauchy_square{mark}"),
            "that is,",
        ),
        Line(
            f"gap_sign{mark}",
            at_most(0, step.name("gap_uv")),
            Combine((Term(1, (f"cauchy{mark}",)),), unfold=("gap_uv",)),
            "so it is not negative" + (" at the start." if mark else "."),
        ),
    ]


def mended() -> list[Line]:
    """With lengths whose product does not grow, and whose difference falls as 1 - cos does."""
    gap, first = q.name("gap_uv"), start.name("gap_uv")
    return [
        Line(
            "norms_do_not_grow",
            at_most(product(q), product(start)),
            Assume(),
            "Hypotheses that the claim lacks: the product of the lengths is no larger after,",
        ),
        Line(
            "unequal_norms",
            at_most(
                q.name("uneven") * first * product(q),
                start.name("uneven") * gap * product(start),
            ),
            Assume(),
            "and their squared difference falls as $1 - \\cos$ does.",
        ),
        Line(
            "mended",
            at_most(*sides(q)),
            Combine(
                (
                    Term(1, ("unequal_norms",)),
                    Term(2, ("gap_sign", "gap_sign_0", "norms_do_not_grow")),
                ),
                unfold=("cosine_law",),
            ),
            "Then the squared distance does too.",
        ),
    ]


def point(definitions: object) -> Named:
    """The instance as `Evaluate` wants it."""
    table = {
        "w_u": lambda time, j: ROW[0][time],
        "w_v": lambda time, j: ROW[1][time],
        "w": lambda time, k, j: Integer(1) * ROW[k - 1][time],
        "x": lambda time, i, j: Integer(1),
        "a": lambda time, i: Integer(1),
        "y": lambda time, i: Integer(3),
        "lam": lambda time: Integer(0),
        **{
            f"{name}_{row}": lambda time, j: Integer(0)
            for name in ("first", "second")
            for row in ROWS
        },
        "eta": lambda time: DATA["eta"],
        **{name: (lambda value=DATA[name]: value) for name in ("beta1", "beta2", "epsilon")},
        "rest1": lambda: 1 - DATA["beta1"],
        "rest2": lambda: 1 - DATA["beta2"],
    }
    return Named(table, definitions, labels=3, dim=1, examples=1)  # type: ignore[arg-type]


def refutation() -> list[Line]:
    """The rows after the step, and both sides."""
    u, v = Symbol("after_u", real=True), Symbol("after_v", real=True)
    first, last = Symbol("first_star", real=True), Symbol("last_star", real=True)
    lhs, rhs = sides(q)
    known = ("after_u", "after_v")
    words = (
        "The instance: $w_u = \\ln 2$, $w_v = -\\ln 2$, the target's row $0$, $x = 1$, $\\beta_1 = \\beta_2 = 1/2$, "
        "$\\varepsilon = 1/7$, $\\lambda = 0$, $\\eta = 10 \\ln 2$. Row $u$ after the step,"
    )
    return [
        *(
            Line(
                f"after_{row}",
                equal(symbol, value),
                Evaluate(point, expression=q.name(f"next_{row}", m), values={age: 0, m: 1}),
                sentence,
            )
            for row, symbol, value, sentence in (
                ("u", u, -7 * two, words),
                ("v", v, -6 * two, "and row $v$."),
            )
        ),
        Line(
            "first_apart",
            equal(first, two**2),
            Evaluate(point, expression=product(start)),
            "The lengths are not zero before",
        ),
        Line(
            "last_apart",
            equal(last, u * v),
            Evaluate(point, expression=product(q), values={age: 1}, unfold=known),
            "nor after.",
        ),
        Line(
            "leftside",
            equal(Symbol("leftside", real=True), (u - v) ** 2 * 2 * two**2 * (u * v)),
            Evaluate(point, expression=lhs, values={age: 1}, unfold=known),
            "The left side of the claim,",
        ),
        Line(
            "right",
            equal(right, 0),
            Evaluate(point, expression=rhs, values={age: 1}),
            "and the right side: the cosine is 1.",
        ),
        Line(
            "refuted",
            at_most(right + two**6, Symbol("leftside", real=True)),
            Combine((Term(83 * two**6),), unfold=("right", "leftside", "after_u", "after_v")),
            "The rows are apart all the same: the claim is false.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The claim with its witness, and the mended form, after one step."""
    past = history(derivation, 1)
    written = small(derivation, past, {})
    statement = derivation["mended"].statement
    part = Part(
        id="mended",
        hypotheses={
            name: (written(derivation[name].statement.margin, {age: 1}),) for name in LACKING
        },
        structural=(),
        loss=written(derivation["loss"].statement.rhs, {age: 0}),
        lhs=written(statement.lhs, {age: 1}),
        rhs=written(statement.rhs, {age: 1}),
        sizes={"T": 1, "K": 3, "n": 1, "N": 1},
    )
    rows = tuple(written(product(q), {age: time}) for time in (0, 1))
    values = {
        **{f"w_{k}_0": ROW[k][0] for k in range(3)},
        "x_0_0_0": 1,
        "a_0_0": 1,
        "eta_0": DATA["eta"],
        "lam": 0,
        "b1": DATA["beta1"],
        "b2": DATA["beta2"],
        "eps": DATA["epsilon"],
        "g": 0,
    }
    witness = {real(name): Integer(1) * value for name, value in values.items()}
    false = replace(
        part, id="refuted", hypotheses={"nonzero_rows": rows}, refutes=True, witness=witness
    )
    return (false, part)
