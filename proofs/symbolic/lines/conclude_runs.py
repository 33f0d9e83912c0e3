"""Conclusions of derivations about steady runs and resets, written out for a few steps in the symbols of their instances."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from sympy import Dummy, Integer, Max, Symbol, expand_log

from ..framework.derivation import Derivation, Part
from ..framework.small import Small, Table, real
from ..framework.symbols import base_name, n
from ..framework.types import Expr
from .resets import left
from .resets_apart import Choose
from .runs import age

LABELS = 3
Rows = Sequence[Sequence[Expr]]
Redraw = Callable[[int, Rows], Rows]


@dataclass(frozen=True)
class Written:
    """A derivation about runs at a small size: 3 labels, `dim` coordinates, 1 example; every target is `target`.

    `varying` are the scalars with a value of their own at every step; all others stay the same. `entries` are those of
    further names. `redraw` is what happens to the rows before a step.
    """

    derivation: Derivation
    steps: int
    dim: int = 1
    target: int = LABELS
    varying: frozenset[str] = frozenset()
    entries: Table = field(default_factory=dict)
    redraw: Redraw = lambda time, rows: rows

    def small(self, rows_at: Callable[[int], Rows], start: int = 0) -> Small:
        """General expressions in these rows; time 0 is the step `start` of the run."""

        def scalar(name: str) -> Callable[..., Expr]:
            if name in self.varying:
                return lambda time: real(f"{name}_{start + time}")
            return lambda *time: real(name)

        table: Table = {
            "w_u": lambda time, j: rows_at(time)[0][j - 1],
            "w_v": lambda time, j: rows_at(time)[1][j - 1],
            "w": lambda time, k, j: rows_at(time)[k - 1][j - 1],
            "x": lambda time, i, j: real(f"x_{start + time}_{i - 1}_{j - 1}"),
            "a": lambda time, i: real(f"a_{start + time}_{i - 1}"),
            "y": lambda time, i: Integer(self.target),
            **{name: scalar(name) for name in ("eta", "lam", "r", "pbar", "T")},
            **self.entries,
        }
        definitions = {
            name: d
            for name, d in self.derivation.context().meanings().items()
            if base_name(d.lhs) not in table
        }
        return Small(table, definitions.values(), labels=LABELS, dim=self.dim, examples=1)

    def history(self) -> tuple[list[Rows], list[Rows]]:
        """All rows before and after every step; every row takes the gradient step on the derivation's loss."""
        loss = self.derivation["loss"].statement.rhs
        (time_symbol,) = (s for s in loss.free_symbols if s.name == "t")
        unknown = [[Dummy(f"w_{k}_{j}", real=True) for j in range(self.dim)] for k in range(LABELS)]
        rows: Rows = [[real(f"w_{k}_{j}") for j in range(self.dim)] for k in range(LABELS)]
        before, after = [], []
        for time in range(self.steps):
            rows = list(self.redraw(time, rows))
            before.append(rows)
            at_step = expand_log(self.small(lambda _: unknown, time)(loss, {time_symbol: 0}))
            eta = real(f"eta_{time}" if "eta" in self.varying else "eta")
            values = dict(zip(chain(*unknown), chain(*rows), strict=True))
            rows = [[(w - eta * at_step.diff(w)).xreplace(values) for w in row] for row in unknown]
            after.append(rows)
        return before, after


# ---- resets


def is_drawn(time: int, row: int, period: int, *, late: bool) -> bool:
    """Whether the row (0 is u, 1 is v) is redrawn before a step; v comes half a period later if `late`."""
    shift = (period + 1) // 2 if late and row == 1 else 0
    return time > 0 and time > shift and (time - shift) % period == 0


def with_draws(derivation: Derivation, *, period: int, steps: int, late: bool) -> Written:
    """A run with redrawn rows, in one coordinate."""

    def redraw(time: int, rows: Rows) -> Rows:
        drawn = [
            [real(f"fresh_{time}_{k}_0")] if is_drawn(time, k, period, late=late) else rows[k]
            for k in (0, 1)
        ]
        return [*drawn, *rows[2:]]

    entries: Table = {
        "period": lambda: Integer(period),
        "dist": lambda: real("d"),
        "fresh_u": lambda j: real(f"fresh_{period}_0_{j - 1}"),
    }
    return Written(derivation, steps=steps, entries=entries, redraw=redraw)


def conclude_reset(period: int) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goal of `reset` at all times of a run of `period + 1` steps: 3 labels, 1 coordinate, 1 example.

    The general line holds at any time, so its least right side over all times of the run is what it says of the run.
    """
    steps = period + 1

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        written = with_draws(derivation, period=period, steps=steps, late=False)
        before, after = written.history()

        def since(start: int) -> Small:
            """The stretch that begins with the draw before the step `start`; time t is t steps later."""
            return written.small(lambda t: after[start + t - 1] if t else before[start], start)

        stretches = {start: since(start) for start in range(0, steps, period)}
        places = [(stretches[g - g % period], g % period) for g in range(steps)]
        (goal,) = derivation.goals
        line = derivation[goal.line].statement
        first = stretches[0]

        def margin(name: str, small: Small, at: int) -> Expr:
            return small(derivation[name].statement.margin, {age: at})

        return (
            Part(
                id="reset",
                hypotheses={
                    "nonnegative_step": (margin("nonnegative_step", first, 0),),
                    "curvature": tuple(margin("curvature", s, a) for s, a in places),
                    "factor": tuple(margin(f"factor_{end}", first, 0) for end in ("low", "high")),
                    "drawn_apart": tuple(margin("drawn_apart", s, 0) for s, _ in places),
                },
                structural=("unseen",),
                loss=first(derivation["loss"].statement.rhs, {age: 0}),
                lhs=first(line.lhs),
                rhs=least(s(line.rhs, {age: a + more}) for s, a in places for more in (0, 1)),
                sizes={"T": steps, "period": period, "pair": 2, "K": LABELS, "n": 1, "N": 1},
            ),
        )

    return conclude


def least(lengths: Iterable[Expr]) -> Expr:
    """The minimum, written as the library writes it."""
    return -Max(*(-length for length in lengths))


def conclude_staggered(period: int) -> Callable[[Derivation], tuple[Part, ...]]:
    """The instance of `staggered_reset` with one draw, of row u: `period + 1` steps, 3 labels, 1 coordinate, 1 example."""
    steps = period + 1

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        written = with_draws(derivation, period=period, steps=steps, late=True)
        before, after = written.history()
        at = [written.small(lambda t, g=g: after[g] if t else before[g], g) for g in range(steps)]

        def margin(name: str, small: Small) -> Expr:
            return small(derivation[name].statement.margin, {age: 0})

        refuted = derivation["refuted"].statement
        drawn = ["apart_first"] * period + ["apart_second"]
        length = derivation["norm"].statement.lhs
        return (
            Part(
                id="refuted",
                hypotheses={
                    "nonnegative_step": (margin("nonnegative_step", at[0]),),
                    "curvature": tuple(margin("curvature", small) for small in at),
                    "factor": tuple(margin(f"factor_{end}", at[0]) for end in ("low", "high")),
                    "drawn_apart": tuple(margin(name, at[0]) for name in drawn),
                },
                structural=("unseen",),
                loss=at[0](derivation["loss"].statement.rhs, {age: 0}),
                lhs=at[0](refuted.rhs, {left: period - 1}),
                rhs=least(small(length, {age: more}) for small in at for more in (0, 1)),
                sizes={"T": steps, "period": period, "pair": 2, "K": LABELS, "n": 1, "N": 1},
                refutes=True,
                witness=staggered_witness(derivation, period),
            ),
        )

    return conclude


def staggered_witness(derivation: Derivation, period: int) -> dict[Symbol, Expr]:
    """What the derivation chooses, in one coordinate; what it leaves open is 0, and the only example has weight 1."""
    chosen = {
        line.name: line.statement.rhs.xreplace({n: Integer(1), left: Integer(period - 1)})
        for line in derivation.lines
        if isinstance(line.rule, Choose)
    }
    steps = range(period + 1)
    values = {f"fresh_{t}_{k}_0": Integer(0) for t in steps for k in (0, 1)}
    values |= {f"x_{t}_0_0": chosen["blank"] for t in steps}
    values |= {f"a_{t}_0": Integer(1) for t in steps}
    values |= {"w_0_0": chosen["u_first"], "w_1_0": chosen["v_first"], "w_2_0": Integer(0)}
    values |= {name: chosen[name] for name in ("eta", "lam", "T")}
    values |= {f"fresh_{period}_0_0": chosen["fresh"], "d": chosen["dist"]}
    return {real(name): value for name, value in values.items()}
