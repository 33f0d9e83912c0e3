"""`constant_sign`: where a feature never changes sign, AdamW's updates of u and v differ by at most `C_t (1 - e^-omega)`."""

from collections.abc import Callable

from sympy import Abs, Max, Symbol, exp
from sympy import S as Numbers

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.inference import Induction, Instance, Root
from .framework.rules import Assume, Combine, Define, Term
from .framework.small import Table
from .framework.strict import DefineNonnegative
from .framework.symbols import RANGES, Step, i, m
from .framework.symbols import j as j_
from .framework.types import Expr
from .lines import adam_runs, clip, losses
from .lines.adam_ball import SIGNS
from .lines.adam_runs import ROWS, age, at, b1, b2, eps, later, most, mu, nu, q, rest1, rest2, start
from .lines.bounds import half
from .lines.conclude_adam import SIZES, conclude_adam
from .lines.logmean import v
from .lines.losses_point import exponential

low, high = Symbol("low", real=True), Symbol("high", real=True)
fall, rise = Symbol("fall", nonnegative=True), Symbol("rise", nonnegative=True)
least, largest = exp(-high), exp(-low)
"""What g_v is at least and at most, times g_u."""
omega = 1 - least / largest


def derive() -> Derivation:
    """The gradients of u and v in one entry, then their moments, by induction, then the updates."""
    lines = (
        *clip.gradients(q),
        *adam_runs.betas(),
        *(line for row in ROWS for line in adam_runs.moments(row)),
        *(line for row in ROWS for line in adam_runs.first_below_second(row)),
        *adam_runs.limits(),
        *(line for row in ROWS for line in adam_runs.mean_below(row)),
        *(
            line
            for row in ROWS
            for line in adam_runs.update_below(row)
            if line.name in (f"square_last_{row}", f"last_{row}")
        ),
        *setting(),
        *probabilities(),
        *gradients(),
        *moments(),
        *(line for row in ROWS for line in one_side(row)),
        *both(),
    )
    return Derivation(
        claim="constant_sign",
        lines=lines,
        goals=(Goal("constant_sign", "constant_sign", ("betas", "constant_sign_of_x")),),
        sizes=SIZES.format(steps="2 steps"),
        ranges=RANGES,
        conclude=conclude_adam(
            steps=2,
            each=("constant_sign",),
            ids={"constant_sign": ("constant_sign_of_x",)},
            structural=("unseen",),
            entries=_range,
        ),
        names=adam_runs.NAMES
        | {
            "low": r"\underline{d}",
            "high": r"\bar d",
            "fall": r"|\underline{d}|",
            "rise": r"\bar d_{+}",
            "above": r"\epsilon^{+}",
            "below": r"\epsilon^{-}",
            "d": "d",
        },
    )


def _range(value: Callable[[Expr, int], Expr]) -> Table:
    """The range of the logits' differences, 0 included, as the claim takes it."""
    seen = [value(q.name("d", i), time) for time in (0, 1)]
    return {
        "high": lambda: Max(Max(*seen), 0),
        "low": lambda: -Max(Max(*(-d for d in seen)), 0),
    }


def setting() -> list[Line]:
    """Weights, the sign of the feature, and the range of `<D_t, x_i>` with 0 in it."""
    d = q.name("d", i)
    return [
        Line("weights", at_most(0, q.a(i)), Assume("setting"), "Batch weights are not negative."),
        Line(
            "constant_sign_of_x",
            at_most(0, q.x(i, m)),
            Assume(fixed=(m,)),
            "Hypothesis: in entry $m$ no feature is negative, at any step.",
        ),
        Line(
            "D", equal(q.name("D", m), q.w_u(m) - q.w_v(m)), Define(), "The difference of the rows,"
        ),
        Line(
            "d",
            equal(d, q.over_j(q.name("D", j_) * q.x(i, j_))),
            Define(("D",)),
            "and of the logits.",
        ),
        Line(
            "range_low",
            at_most(low, d),
            Assume("setting"),
            "The range of these over the run: none is below $\\underline{d}$,",
        ),
        Line("range_high", at_most(d, high), Assume("setting"), "and none above $\\bar d$,"),
        Line("low_sign", at_most(0, -low), Assume("setting"), "and 0 lies between"),
        Line("high_sign", at_most(0, high), Assume("setting"), "the two."),
        Line("fall", equal(fall, -low), DefineNonnegative("low_sign"), "Names that say so,"),
        Line("rise", equal(rise, high), DefineNonnegative("high_sign"), "of both ends."),
        *exponential(),
        Line(
            "exp_fall",
            at_most(1 + fall, exp(fall)),
            Instance("exp_above", {v: fall}),
            "Their exponentials",
        ),
        Line(
            "exp_rise",
            at_most(1 + rise, exp(rise)),
            Instance("exp_above", {v: rise}),
            "are at least 1:",
        ),
        Line(
            "largest",
            at_most(1, largest),
            Combine((Term(1, ("exp_fall",)), Term(fall)), unfold=("fall",)),
            "so $e^{-\\underline{d}}$ is at least 1",
        ),
        Line(
            "least",
            at_most(least, 1),
            Combine((Term(least, ("exp_rise",)), Term(least * rise)), unfold=("rise",)),
            "and $e^{-\\bar d}$ at most.",
        ),
    ]


def probabilities() -> list[Line]:
    """`e^-high p_u <= p_v <= e^-low p_u`."""
    d = q.name("d", i)
    p_u, p_v = losses.pair(q)
    above, below = q.name("above", i, nonnegative=True), q.name("below", i, nonnegative=True)
    return [
        Line(
            "logits",
            equal(d, q.name("z_u", i) - q.name("z_v", i)),
            Combine(unfold=("d", "D", "z_u", "z_v")),
            "The difference of the logits once more:",
        ),
        Line(
            "p_ratio",
            equal(p_v, p_u * exp(-d)),
            Combine(unfold=("p_u", "p_v", "logits")),
            "the probabilities differ by its exponential.",
        ),
        Line(
            "below_high",
            at_most(0, high - d),
            Combine((Term(1, ("range_high",)),)),
            "How far below the one end",
        ),
        Line("above", equal(above, high - d), DefineNonnegative("below_high"), "it lies,"),
        Line(
            "above_low",
            at_most(0, d - low),
            Combine((Term(1, ("range_low",)),)),
            "and how far above the other",
        ),
        Line("below", equal(below, d - low), DefineNonnegative("above_low"), "end."),
        Line(
            "exp_above_d",
            at_most(1 + above, exp(above)),
            Instance("exp_above", {v: above}),
            "The exponential of the one",
        ),
        Line(
            "exp_below_d",
            at_most(1 + below, exp(below)),
            Instance("exp_above", {v: below}),
            "and of the other.",
        ),
        Line(
            "p_least",
            at_most(least * p_u, p_v),
            Combine(
                (Term(least * p_u, ("exp_above_d",)), Term(least * p_u * above)),
                unfold=("p_ratio", "above"),
            ),
            "So $p^v$ is at least $e^{-\\bar d} p^u$",
        ),
        Line(
            "p_largest",
            at_most(p_v, largest * p_u),
            Combine(
                (
                    Term(largest * p_u * exp(-below), ("exp_below_d",)),
                    Term(largest * p_u * exp(-below) * below),
                ),
                unfold=("p_ratio", "below"),
            ),
            "and at most $e^{-\\underline{d}} p^u$.",
        ),
    ]


def gradients() -> list[Line]:
    """The same for the gradients in the entry, none of which is negative, and for their squares."""
    p = dict(zip(ROWS, losses.pair(q), strict=True))
    g_u, g_v = at("g", "u"), at("g", "v")
    x = ("weights", "constant_sign_of_x")
    return [
        *(
            Line(
                f"g_sign_{row}",
                at_most(0, at("g", row)),
                Combine((Term(p[row], x, over=(i,)),), unfold=(f"g_{row}",)),
                f"The gradient of row ${row}$ is not negative in the entry.",
            )
            for row in ROWS
        ),
        Line(
            "g_least",
            at_most(least * g_u, g_v),
            Combine((Term(1, (*x, "p_least"), over=(i,)),), unfold=("g_u", "g_v")),
            "That of $v$ is at least $e^{-\\bar d}$ times that of $u$,",
        ),
        Line(
            "g_largest",
            at_most(g_v, largest * g_u),
            Combine((Term(1, (*x, "p_largest"), over=(i,)),), unfold=("g_u", "g_v")),
            "and at most $e^{-\\underline{d}}$ times it.",
        ),
        *(
            Line(
                f"g_sum_{name}",
                at_most(0, factor * g_u + g_v),
                Combine((Term(factor, ("g_sign_u",)), Term(1, ("g_sign_v",)))),
                "The sum is not negative,",
            )
            for name, factor in (("least", least), ("largest", largest))
        ),
        Line(
            "gg_least",
            at_most(least**2 * g_u**2, g_v**2),
            Combine((Term(1, ("g_least", "g_sum_least")),)),
            "so the same holds for the squares, from below",
        ),
        Line(
            "gg_largest",
            at_most(g_v**2, largest**2 * g_u**2),
            Combine((Term(1, ("g_largest", "g_sum_largest")),)),
            "and from above.",
        ),
    ]


def moments() -> list[Line]:
    """The same for the moments, by induction: they are averages."""
    lines = []
    for row in ROWS:
        lines += by_induction(
            f"m_sign_{row}",
            lambda f, w: (Numbers.Zero, f[w or "u"]),
            row,
            ("first", f"g_sign_{row}", b1, rest1),
        )
    for name, fact, moment, keep, add, power in (
        ("m", "g", "first", b1, rest1, 1),
        ("v", "gg", "second", b2, rest2, 2),
    ):
        lines += by_induction(
            f"{name}_least",
            lambda f, _, power=power: (least**power * f["u"], f["v"]),
            None,
            (moment, f"{fact}_least", keep, add),
        )
        lines += by_induction(
            f"{name}_largest",
            lambda f, _, power=power: (f["v"], largest**power * f["u"]),
            None,
            (moment, f"{fact}_largest", keep, add),
        )
    return lines


def by_induction(
    name: str,
    sides: Callable[[dict[str, Expr], str | None], tuple[Expr, Expr]],
    row: str | None,
    of: tuple[str, str, Expr, Expr],
) -> list[Line]:
    """An inequality that is linear in the moments of one kind, from that for gradients: before every step, then after it."""
    moment, fact, keep, add = of
    rows = ROWS if row is None else (row,)

    def stated(kind: str, step: Step) -> tuple[Expr, Expr]:
        return sides({r: at(kind, r, step=step) for r in ROWS}, row)

    opened = tuple(f"next{moment}_{r}" for r in rows)
    moved = tuple(f"run_{moment}_{r}" for r in rows)
    zero = tuple(f"zero_{moment}_{r}" for r in rows)
    always = f"{name}_always"
    return [
        Line(
            f"{name}_0",
            at_most(*stated(moment, start)),
            Combine(unfold=zero),
            "The moments: at first both sides are 0.",
        ),
        Line(
            f"{name}_t",
            at_most(*stated(moment, q)),
            Assume("induction"),
            "Induction hypothesis.",
        ),
        Line(
            f"{name}_next",
            at_most(*stated(moment, later)),
            Combine((Term(keep, (f"{name}_t",)), Term(add, (fact,))), unfold=(*moved, *opened)),
            "One more gradient is added.",
        ),
        Line(
            always,
            at_most(*stated(moment, q)),
            Induction(age, f"{name}_0", f"{name}_t", f"{name}_next"),
            "By induction it holds before every step,",
        ),
        Line(
            name,
            at_most(*stated(f"next{moment}", q)),
            Combine((Term(keep, (always,)), Term(add, (fact,))), unfold=opened),
            "and after it.",
        ),
    ]


def one_side(row: str) -> list[Line]:
    """`e^-omega U_u <= U_v`, or the same with u and v exchanged."""
    other = "v" if row == "u" else "u"
    mine = at("mhat", row)
    root, that = at("vroot", row, nonnegative=True), at("vroot", other, nonnegative=True)
    U, V = at("U", row), at("U", other)
    share = least / largest
    if row == "u":
        roots = (that, largest * root, "v_largest", 1 / nu)
        mean, gain = Term(1 / (that + eps) / mu, ("m_least",)), least / largest
        terms = (
            Term(gain / ((root + eps) * (that + eps)), ("mean_sign_u", "roots_u")),
            Term(gain * eps / ((root + eps) * (that + eps)), ("mean_sign_u", "largest")),
        )
    else:
        roots = (least * that, root, "v_least", 1 / nu)
        mean, gain = Term(1 / (largest * (that + eps)) / mu, ("m_largest",)), 1 / largest
        terms = (
            Term(gain / ((root + eps) * (that + eps)), ("mean_sign_v", "roots_v")),
            Term(gain * eps / ((root + eps) * (that + eps)), ("mean_sign_v", "least")),
        )
    opened = tuple(f"{part}_{r}" for part in ("vroot", "vhat", "var") for r in ROWS)
    return [
        Line(
            f"mean_sign_{row}",
            at_most(0, mine),
            Combine((Term(1 / mu, (f"m_sign_{row}",)),), unfold=(f"mhat_{row}",)),
            f"The mean gradient of row ${row}$ is not negative.",
        ),
        Line(
            f"roots_square_{row}",
            at_most(roots[0] ** 2, roots[1] ** 2),
            Combine((Term(roots[3], (roots[2],)),), unfold=opened),
            "The root mean squares, squared",
        ),
        Line(
            f"roots_{row}",
            at_most(roots[0], roots[1]),
            Root(f"roots_square_{row}"),
            "and as they are.",
        ),
        Line(
            f"updates_{row}",
            at_most(share * U, V),
            Combine((mean, *terms), unfold=("U_u", "U_v", "mhat_u", "mhat_v")),
            f"So the update of ${other}$ is at least $e^{{-\\omega}}$ times that of ${row}$.",
        ),
        Line(f"abs_{row}", at_most(U**2, Abs(U) ** 2), Combine(), "And that is"),
        Line(f"up_{row}", at_most(U, Abs(U)), Root(f"abs_{row}"), "at most its absolute value,"),
        Line(
            f"below_{row}",
            at_most(U, most),
            Combine((Term(1, (f"up_{row}",)), Term(1, (f"last_{row}",)))),
            "at most $C_{t+1}$.",
        ),
    ]


def both() -> list[Line]:
    """The difference of the updates, either sign."""
    gap = at("U", "u") - at("U", "v")
    bound = most * omega
    sides = {"up": "u", "down": "v"}
    return [
        Line(
            "omega_sign",
            at_most(0, omega),
            Combine((Term(1, ("least",)), Term(least / largest, ("largest",)))),
            "$1 - e^{-\\omega}$ is not negative.",
        ),
        *(
            Line(
                f"gap_{name}",
                at_most(sign * gap, bound),
                Combine(
                    (
                        Term(1, (f"updates_{sides[name]}",)),
                        Term(1, ("omega_sign", f"below_{sides[name]}")),
                    )
                ),
                "So the difference is at most that,",
            )
            for name, sign in SIGNS.items()
        ),
        Line(
            "gap_square",
            at_most(gap**2, bound**2),
            Combine((Term(1, ("gap_up", "gap_down")),)),
            "of either sign,",
        ),
        Line(
            "gap_sign",
            at_most(0, bound),
            Combine((Term(half, ("gap_up",)), Term(half, ("gap_down",)))),
            "and that is not negative:",
        ),
        Line(
            "constant_sign", at_most(Abs(gap), bound), Root("gap_square", "gap_sign"), "the claim."
        ),
    ]
