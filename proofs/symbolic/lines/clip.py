"""Gradients of the loss without decay that are clipped entry by entry or row by row, and the step with them."""

from collections.abc import Callable

from sympy import Abs, Max, Symbol, log, sqrt

from ..framework.derivation import Line, at_most, equal
from ..framework.extremes import MaxIs
from ..framework.inference import Root
from ..framework.rules import Assume, Combine, Define, Differentiate, Term
from ..framework.small import Table, real
from ..framework.symbols import Step, i, j, m
from ..framework.types import Expr
from . import losses, step

TABLE: Table = {"clip": lambda: real("C")}
NAMES = {"clip": "C"}
any_limit = Symbol("clip", real=True)
limit = Symbol("clip", positive=True)


def gradients(q: Step) -> list[Line]:
    """The loss without decay and its gradient in rows u and v."""
    p_y = q.name("p_y", i, positive=True)
    value = -q.over_i(q.a(i) * log(p_y))
    lines = [
        *losses.softmax(q),
        losses.loss(
            value,
            "The loss: weighted cross-entropy; the decay is applied apart from it.",
            ("p_y",),
            q,
        ),
    ]
    for row, w, p in zip(("u", "v"), (q.w_u, q.w_v), losses.pair(q), strict=True):
        lines.append(
            Line(
                f"g_{row}",
                equal(q.name(f"g_{row}", m), q.over_i(q.a(i) * p * q.x(i, m))),
                Differentiate("loss", by=w(m)),
                f"Its derivative with respect to coordinate $m$ of row ${row}$.",
            )
        )
    return lines


def clipped_step(q: Step, row: str, clipped: Expr, uses: tuple[str, ...]) -> Line:
    """One step with the clipped gradient, and decay."""
    w = {"u": q.w_u, "v": q.w_v}[row]
    return Line(
        f"next_{row}",
        equal(q.name(f"next_{row}", m), (1 - q.eta * q.lam) * w(m) - q.eta * clipped),
        Define(uses),
        f"One step with the clipped gradient and decay on row ${row}$.",
    )


def by_value(q: Step) -> list[Line]:
    """Every entry cut to [-C, C], first from below, then from above."""
    lines = []
    for row in ("u", "v"):
        g, low, both = (q.name(f"{s}_{row}", m) for s in ("g", "low", "cut"))
        lines += [
            Line(
                f"low_{row}",
                equal(low, Max(g, -any_limit)),
                Define((f"g_{row}",)),
                "Its entries cut from below",
            ),
            Line(
                f"cut_{row}",
                equal(both, -Max(-low, -any_limit)),
                Define((f"low_{row}",)),
                "and from above.",
            ),
            clipped_step(q, row, cut(q)(row), (f"cut_{row}",)),
        ]
    return lines


def by_row(q: Step) -> list[Line]:
    """Every row times C/max(C, its length)."""
    lines = []
    for row in ("u", "v"):
        length = q.name(f"len_{row}", nonnegative=True)
        top = q.name(f"top_{row}", positive=True)
        lines += [
            Line(
                f"len_{row}",
                equal(length, sqrt(q.over_j(q.name(f"g_{row}", j) ** 2))),
                Define((f"g_{row}",)),
                "Its length,",
            ),
            Line(
                f"top_{row}",
                equal(top, Max(limit, length)),
                Define((f"len_{row}",)),
                "and that or $C$, whichever is larger: the row is multiplied by $C$ over it.",
            ),
            clipped_step(q, row, scaled(q)(row), (f"g_{row}", f"top_{row}")),
        ]
    return lines


def after(q: Step, clipped: Callable[[str], Expr]) -> list[Line]:
    """The difference after the step, whatever is clipped."""
    value = (1 - q.eta * q.lam) * (q.w_u(m) - q.w_v(m)) - q.eta * (clipped("u") - clipped("v"))
    return [
        *losses.named(step.recursion(q), "Dnext"),
        Line(
            "after",
            equal(q.name("Dnext", m), value),
            Combine(unfold=("Dnext", "next_u", "next_v")),
            "in terms of the clipped gradients.",
        ),
    ]


def cut(q: Step) -> Callable[[str], Expr]:
    """The gradient of a row with its entries cut."""
    return lambda row: q.name(f"cut_{row}", m)


def scaled(q: Step) -> Callable[[str], Expr]:
    """The gradient of a row, scaled down."""
    return lambda row: limit / q.name(f"top_{row}", positive=True) * q.name(f"g_{row}", m)


def entries_kept(q: Step, row: str) -> list[Line]:
    """Where no entry exceeds C, cutting changes none."""
    g, low, both = (q.name(f"{s}_{row}", m) for s in ("g", "low", "cut"))
    lines = [
        Line(
            f"nothing_clipped_{row}",
            at_most(Abs(g), any_limit),
            Assume(),
            f"The hypothesis that the claim lacks, for row ${row}$: no entry exceeds $C$.",
        ),
        Line(
            f"abs_{row}",
            at_most(g**2, Abs(g) ** 2),
            Combine(),
            "A number is at most its absolute value,",
        ),
    ]
    for name, value in (("up", g), ("down", -g)):
        lines += [
            Line(f"{name}_{row}", at_most(value, Abs(g)), Root(f"abs_{row}"), "of either sign,"),
            Line(
                f"{name}_most_{row}",
                at_most(-any_limit, -value),
                Combine((Term(1, (f"{name}_{row}",)), Term(1, (f"nothing_clipped_{row}",)))),
                "so",
            ),
        ]
    return [
        *lines,
        Line(
            f"low_max_{row}",
            equal(Max(g, -any_limit), g),
            MaxIs(f"down_most_{row}"),
            "and cutting from below changes nothing,",
        ),
        Line(
            f"low_is_{row}",
            equal(low, g),
            Combine((Term(1, (f"low_max_{row}",)),), unfold=(f"low_{row}",)),
            "that is,",
        ),
        Line(
            f"cut_max_{row}",
            equal(Max(-g, -any_limit), -g),
            MaxIs(f"up_most_{row}"),
            "nor does it from above:",
        ),
        Line(
            f"kept_{row}",
            equal(both, g),
            Combine((Term(-1, (f"cut_max_{row}",)),), unfold=(f"cut_{row}", f"low_is_{row}")),
            "the row is not clipped.",
        ),
    ]


def row_kept(q: Step, row: str) -> list[Line]:
    """A row whose length is at most C is not scaled."""
    length, top = q.name(f"len_{row}", nonnegative=True), q.name(f"top_{row}", positive=True)
    return [
        Line(
            f"nothing_clipped_{row}",
            at_most(length, limit),
            Assume(),
            f"The hypothesis that the claim lacks, for row ${row}$: its length is at most $C$.",
        ),
        Line(
            f"top_max_{row}",
            equal(Max(limit, length), limit),
            MaxIs(f"nothing_clipped_{row}"),
            "Then the larger of the two is $C$:",
        ),
        Line(
            f"kept_{row}",
            equal(top, limit),
            Combine((Term(1, (f"top_max_{row}",)),), unfold=(f"top_{row}",)),
            "the row is not clipped.",
        ),
    ]


def recursion(q: Step) -> list[Line]:
    """With nothing clipped, D+ = c D - eta M D."""
    rule = Combine(unfold=("Dnext", "next_u", "next_v", "kept_u", "kept_v", "g_u", "g_v", "c", "D"))
    lines = losses.without(step.recursion(q), "Dnext")
    return losses.changed(lines, "difference", rule=rule)
