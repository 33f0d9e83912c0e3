"""Updates `f(g) = g/(|g| + eps)`, entry by entry, and what increasing with slope at most 1/eps says of a pair of them."""

from sympy import Abs, Symbol, exp

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Root
from ..framework.rules import Combine, Define, Term
from ..framework.small import Table, real
from ..framework.symbols import LATEX, Step, i, j, m
from ..framework.types import Expr
from . import clip, logmean, losses, step

eps = Symbol("epsilon", positive=True)
"""Positive, as torch demands."""
TABLE: Table = {"epsilon": lambda: real("eps")}
NAMES = LATEX | {
    "epsilon": r"\varepsilon",
    "f_u": "f^{u}",
    "f_v": "f^{v}",
    "A": "A",
    "normA": "|A|",
    "R": "R",
    "inner": r"(D\cdot A)",
}


def gradients(q: Step) -> list[Line]:
    """The loss without decay, its gradient in rows u and v, and the logarithmic mean."""
    return [*clip.gradients(q), *logmean.logmean(q)]


def bare_gradients(q: Step, lines: list[Line] | None = None) -> list[Line]:
    """The lines `gradients` (those of `clip`) with exponentials in the place of the probabilities of u and v."""
    lines = losses.without(clip.gradients(q) if lines is None else lines, "p_u", "p_v")
    for row, p in zip(("u", "v"), losses.pair(q), strict=True):
        own = exp(q.name(f"z_{row}", i)) / q.name("Z", i, positive=True)
        (line,) = losses.named(lines, f"g_{row}")
        spelled = line.statement.map(lambda side, p=p, own=own: side.xreplace({p: own}))
        lines = losses.changed(lines, f"g_{row}", statement=spelled)
    return lines


def updates(q: Step) -> list[Line]:
    """The updates of rows u and v, their difference A, and MD."""
    lines = [
        Line(
            f"f_{row}",
            equal(q.name(f"f_{row}", m), g / (Abs(g) + eps)),
            Define((f"g_{row}",)),
            words,
        )
        for row, g, words in (
            ("u", q.name("g_u", m), "AdamW's update of row $u$, entry by entry,"),
            ("v", q.name("g_v", m), "and of row $v$."),
        )
    ]
    return [
        *lines,
        Line(
            "A",
            equal(q.name("A", m), q.name("f_u", m) - q.name("f_v", m)),
            Define(("f_u", "f_v")),
            "Their difference.",
        ),
        *losses.named(step.recursion(q), "MD"),
        Line(
            "pull",
            equal(q.name("MD", m), q.name("g_u", m) - q.name("g_v", m)),
            Combine(
                (Term(-q.a(i) * q.x(i, m), ("mean_value",), over=(i,)),),
                unfold=("MD", "g_u", "g_v"),
            ),
            "The gradients differ by $MD$.",
        ),
    ]


def slope(q: Step) -> list[Line]:
    """`eps A^2 <= A (g_u - g_v)` for each entry."""
    a, b = q.name("g_u", m), q.name("g_v", m)
    P, Q = Abs(a), Abs(b)
    below = (P + eps) ** 2 * (Q + eps) ** 2
    return [
        Line(
            "product_square",
            equal((a * b) ** 2, (P * Q) ** 2),
            Combine(),
            "The square of a product is that of the product of the absolute values,",
        ),
        Line(
            "product",
            at_most(a * b, P * Q),
            Root("product_square"),
            "so it is at most that product.",
        ),
        Line(
            "slope",
            at_most(eps * q.name("A", m) ** 2, q.name("A", m) * q.name("MD", m)),
            Combine(
                (
                    Term(eps * P * Q * (a - b) ** 2 / below),
                    Term(eps**2 * (P + Q) * (P - Q) ** 2 / below),
                    Term(
                        (eps**2 * (P + Q) + P * Q * (P + Q) + eps * (P**2 + Q**2)) / below,
                        ("product",),
                    ),
                ),
                unfold=("pull", "A", "f_u", "f_v"),
            ),
            "The update increases with the gradient, with slope at most $1/\\varepsilon$.",
        ),
    ]


def after(q: Step) -> list[Line]:
    """One step on both rows, and D+ = c D - eta A."""
    return [
        *(clip.clipped_step(q, row, q.name(f"f_{row}", m), (f"f_{row}",)) for row in ("u", "v")),
        *losses.named(step.recursion(q), "c", "Dnext"),
        Line(
            "after",
            equal(q.name("Dnext", m), q.name("c") * q.name("D", m) - q.eta * q.name("A", m)),
            Combine(unfold=("Dnext", "next_u", "next_v", "A", "c", "D")),
            "The difference after the step is $cD - \\eta A$.",
        ),
    ]


def inner(q: Step) -> Expr:
    """`D.A`."""
    return q.over_j(q.name("D", j) * q.name("A", j))
