"""`adamw_flow`: `eps |w'|^2 <= -dH/dt` along `w' = -lam w - g/(|g| + eps)`, H the loss plus eps times a barrier."""

from sympy import Abs, Integer, S

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.inference import Root
from .framework.rules import Combine, Define, Term
from .framework.strict import Positive
from .framework.symbols import RANGES, K, Step, j, k, m
from .framework.types import Expr
from .lines import adaptive, losses
from .lines.adaptive import eps
from .norm_clipping import clipped_step as all_gradients
from .norm_clipping import h

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 1 example."
)
SETTING = Setting(table=adaptive.TABLE, structural=(), forms=(), examples=1)
ROWS = ("u", "v", "w")
"""Rows u, v, and every other row."""
NAMES = adaptive.NAMES | {
    "room_u": r"\delta^{u}",
    "room_v": r"\delta^{v}",
    "room_w": r"\delta",
    "f_w": "f",
}


def derive() -> Derivation:
    """The same four lines for row u, for row v and for every other row; then the sum over all entries."""
    q = Step()
    return Derivation(
        claim="adamw_flow",
        lines=(
            *adaptive.bare_gradients(q, [*losses.softmax(q), *gradients(q)]),
            *(line for row in ROWS for line in entry(q, row)),
            downhill(q),
        ),
        goals=(Goal("adamw_flow", "adamw_flow", tuple(f"inside_ball_{row}" for row in ROWS)),),
        sizes=SIZES,
        ranges={**RANGES, h: (3, K)},
        conclude=conclude,
        names=NAMES,
    )


def gradients(q: Step) -> list[Line]:
    """The gradient of the cross-entropy in every row."""
    return losses.named(all_gradients(q), "loss", "z_y", "log_p_y", "loss_form", "g_u", "g_v", "g")


def names(q: Step, row: str, label: Expr = h, at: Expr = m) -> tuple[Expr, Expr, Expr, Expr]:
    """Weight, gradient, update and room of an entry."""
    if row == "w":
        where = (label, at)
        weight, gradient = q.w(label, at), q.name("g", label, at)
    else:
        where = (at,)
        weight = {"u": q.w_u, "v": q.w_v}[row](at)
        gradient = q.name(f"g_{row}", at)
    return (
        weight,
        gradient,
        q.name(f"f_{row}", *where),
        q.name(f"room_{row}", *where, positive=True),
    )


def sides(q: Step, row: str, label: Expr = h, at: Expr = m) -> tuple[Expr, Expr]:
    """`eps w'^2` and minus the gradient of H times w', of an entry."""
    w, g, f, room = names(q, row, label, at)
    velocity = -q.lam * w - f
    return eps * velocity**2, -(g + eps * q.lam * w / room) * velocity


def entry(q: Step, row: str) -> list[Line]:
    """`eps w'^2 <= -(g + eps h'(w)) w'` for an entry of a row."""
    w, g, f, room = names(q, row)
    s, P = q.lam * w, Abs(g)
    inside, alpha = Abs(s), Abs(g) + eps
    of = {"u": "row $u$", "v": "row $v$", "w": "every other row"}[row]
    gradient = "g" if row == "w" else f"g_{row}"
    return [
        Line(
            f"inside_ball_{row}",
            equal(room, 1 - inside),
            Positive(),
            f"Hypothesis, for {of}: $|\\lambda w| < 1$.",
        ),
        Line(f"f_{row}", equal(f, g / alpha), Define((gradient,)), "AdamW's update,"),
        Line(
            f"cross_square_{row}",
            equal((-s * g) ** 2, (inside * P) ** 2),
            Combine(),
            "the square of $\\lambda w g$,",
        ),
        Line(
            f"cross_{row}",
            at_most(-s * g, inside * P),
            Root(f"cross_square_{row}"),
            "a bound for it,",
        ),
        Line(
            f"entry_{row}",
            at_most(*sides(q, row)),
            Combine(
                (
                    Term(
                        (alpha * room * P + alpha * eps * inside) / (alpha**2 * room),
                        (f"cross_{row}",),
                    ),
                    Term((room * P - eps * inside) ** 2 * (P + eps * inside) / (alpha**2 * room)),
                ),
                unfold=(f"f_{row}", f"inside_ball_{row}"),
            ),
            "and the slope of the update: at the velocity 0 the gradient of $H$ is 0, and both increase together.",
        ),
    ]


def downhill(q: Step) -> Line:
    """The sum over all entries."""
    left, right = S.Zero, S.Zero
    for row in ("u", "v"):
        a, b = sides(q, row, at=j)
        left, right = left + q.over_j(a), right + q.over_j(b)
    a, b = sides(q, "w", label=k, at=j)
    left, right = left + q.over_k(q.over_j(a)), right + q.over_k(q.over_j(b))
    return Line(
        "adamw_flow",
        at_most(left, right),
        Combine(
            (
                Term(1, (("entry_u", {m: j}),), over=(j,)),
                Term(1, (("entry_v", {m: j}),), over=(j,)),
                Term(1, (("entry_w", {m: j, h: k}),), over=(k, j)),
            )
        ),
        "Summed over all entries: the claim.",
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The claim for 3 labels, 2 coordinates and 1 example."""
    inside = [
        derivation[f"inside_ball_{row}"].statement.rhs.xreplace({h: Integer(3)}) for row in ROWS
    ]
    statement = derivation["adamw_flow"].statement
    return (SETTING.part(derivation, "adamw_flow", {"inside_ball": inside}, statement),)
