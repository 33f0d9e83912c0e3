"""`norm_clipping`: D+ = c D - eta s M D with s = C/max(C, |G|), G the gradient of the loss without decay."""

from sympy import Max, Symbol, exp, log, sqrt

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line, equal
from .framework.rules import Combine, Define, Differentiate, Term
from .framework.small import real
from .framework.symbols import LATEX, RANGES, K, Step, i, j, k, m
from .framework.types import Expr
from .lines import losses

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 1 coordinate and 2 examples."
)

h = Symbol("k_1", integer=True)  # a label among 3..K


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    return Derivation(
        claim="norm_clipping",
        lines=(
            *losses.softmax(q),
            *clipped_step(q),
            *losses.mean(q),
            *losses.start(q),
            *recursion(q),
        ),
        goals=(Goal("norm_clipping", "recursion", ()),),
        sizes=SIZES,
        ranges={**RANGES, h: (3, K)},
        conclude=SETTING.conclude,
        names=LATEX,
    )


def share(q: Step) -> Expr:
    """The factor by which the gradient is multiplied."""
    return q.name("share")


def clipped_step(q: Step) -> list[Line]:
    """The gradient of the cross-entropy in every row, its norm, and the step with the gradient scaled down."""
    p_u, p_v = losses.pair(q)
    Z, p_y = q.name("Z", i, positive=True), q.name("p_y", i, positive=True)
    total, limit = q.name("total", nonnegative=True), q.name("clip", positive=True)
    g_u, g_v, g = q.name("g_u", m), q.name("g_v", m), q.name("g", h, m)
    squares = q.over_j(q.name("g_u", j) ** 2 + q.name("g_v", j) ** 2)
    squares += q.over_k(q.over_j(q.name("g", k, j) ** 2))
    of_row = exp(q.over_j(q.w(h, j) * q.x(i, j))) / Z - losses.hit(q, h)
    value = -q.over_i(q.a(i) * log(p_y))
    lines = [
        losses.loss(
            value,
            "The loss: weighted cross-entropy; the decay is applied apart from it.",
            ("p_y",),
            q,
        ),
        *losses.linear_form(q, value, -q.a(i)),
    ]
    for name, grad, by, residual, of in (
        ("g_u", g_u, q.w_u(m), p_u, "row $u$,"),
        ("g_v", g_v, q.w_v(m), p_v, "row $v$,"),
        ("g", g, q.w(h, m), of_row, "every other row $h$."),
    ):
        lines.append(
            Line(
                name,
                equal(grad, q.over_i(q.a(i) * residual * q.x(i, m))),
                Differentiate("loss_form", by=by),
                f"Its derivative with respect to coordinate $m$ of {of}",
            )
        )
    lines += [
        Line("total", equal(total, sqrt(squares)), Define(("g_u", "g_v", "g")), "Its length $|G|$"),
        Line(
            "share",
            equal(share(q), limit / Max(limit, total)),
            Define(("total",)),
            "and the factor $s = \\min(1, C/|G|)$ that brings it down to length $C$.",
        ),
    ]
    for row, w in (("u", q.w_u), ("v", q.w_v)):
        lines.append(
            Line(
                f"next_{row}",
                equal(
                    q.name(f"next_{row}", m),
                    (1 - q.eta * q.lam) * w(m) - q.eta * share(q) * q.name(f"g_{row}", m),
                ),
                Define((f"g_{row}", "share")),
                f"One step with the clipped gradient and decay on row ${row}$.",
            )
        )
    return lines


def recursion(q: Step) -> list[Line]:
    """The factor multiplies M."""
    p_u, p_v = losses.pair(q)
    L, d = q.name("L", i), q.name("d", i)
    scale = q.eta * share(q)
    return [
        Line(
            "difference",
            equal(
                q.name("Dnext", m),
                q.name("c") * q.name("D", m) - scale * q.over_i(q.a(i) * (p_u - p_v) * q.x(i, m)),
            ),
            Combine(unfold=("Dnext", "next_u", "next_v", "g_u", "g_v", "c", "D")),
            "in terms of the probabilities.",
        ),
        losses.pushed(
            q,
            "MD",
            q.a(i) * L * d,
            ("L", "d"),
            "With the operator $M = \\sum_i a_i L_i x_i x_i^T$ applied to $D$,",
        ),
        losses.recursion(
            q,
            scale,
            "MD",
            Term(-scale * q.a(i) * q.x(i, m), ("mean_value",), over=(i,)),
            sentence="exactly $D^+ = cD - \\eta s M D$, the claim.",
        ),
    ]


SETTING = Setting(table={"clip": lambda: real("C")}, sizes={"mask": 1}, dim=1)
