"""Conclusions about runs with momentum at a small size, in the symbols of their instances."""

from collections.abc import Callable

from sympy import Dummy, Integer, Symbol, expand_log

from ..framework.derivation import Derivation, Part
from ..framework.small import Small, Table, real
from ..framework.strict import Positive
from ..framework.symbols import base_name
from ..framework.types import Expr
from .runs import age

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line; no size is fixed. Only the conclusion is written out, for 2 steps, 3 labels, 1 coordinate and 1 "
    "example, to be compared with the claim's own formula."
)
LABELS, STEPS = 3, 2
EACH = ("curvature",)
"""Hypotheses on every step; all others are on the run as a whole."""
State = list[Expr]


def _table(rows: Callable[[int], State], buffers: Callable[[int], State]) -> Table:
    """One coordinate, one example; every target is the last label."""
    return {
        "w_u": lambda time, j: rows(time)[0],
        "w_v": lambda time, j: rows(time)[1],
        "w": lambda time, k, j: rows(time)[k - 1],
        "buf_u": lambda time, j: buffers(time)[0],
        "buf_v": lambda time, j: buffers(time)[1],
        "x": lambda time, i, j: real(f"x_{time}_{i - 1}_{j - 1}"),
        "a": lambda time, i: real(f"a_{time}_{i - 1}"),
        "y": lambda time, i: Integer(LABELS),
        **{name: (lambda *time, s=name: real(s)) for name in ("eta", "lam", "beta", "T")},
    }


def conclude_momentum(
    *, decoupled: bool = False, nesterov: bool = False
) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goal after 2 steps: 3 labels, 1 coordinate, 1 example."""

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        meanings = derivation.context().meanings().values()

        def small(rows: Callable[[int], State], buffers: Callable[[int], State]) -> Small:
            table = _table(rows, buffers)
            return Small(
                table,
                [d for d in meanings if base_name(d.lhs) not in table],
                labels=LABELS,
                dim=1,
                examples=1,
            )

        # Every row takes the step on the derivation's loss, the seen one too.
        loss = derivation["loss"].statement.rhs
        unknown = [Dummy(f"w_{k}", real=True) for k in range(LABELS)]
        eta, lam, beta = real("eta"), real("lam"), real("beta")
        rows: list[State] = [[real(f"w_{k}_0") for k in range(LABELS)]]
        buffers: list[State] = [[Integer(0)] * LABELS]
        for time in range(STEPS):
            at_step = expand_log(small(lambda _: unknown, lambda t: buffers[t])(loss, {age: time}))
            values = dict(zip(unknown, rows[-1], strict=True))
            slopes = [at_step.diff(w).xreplace(values) for w in unknown]
            if decoupled:
                slopes = [s - lam * w for s, w in zip(slopes, rows[-1], strict=True)]
            after = [beta * old + s for old, s in zip(buffers[-1], slopes, strict=True)]
            pushes = [
                s + beta * new if nesterov else new for s, new in zip(slopes, after, strict=True)
            ]
            kept = 1 - eta * lam if decoupled else Integer(1)
            rows.append([kept * w - eta * push for w, push in zip(rows[-1], pushes, strict=True)])
            buffers.append(after)

        written = small(lambda t: rows[t], lambda t: buffers[t])

        def margins(name: str) -> tuple[Expr, ...]:
            line = derivation[name]
            strict = isinstance(line.rule, Positive)
            margin = line.statement.rhs if strict else line.statement.margin
            times = range(STEPS) if name in EACH else (0,)
            return tuple(written(margin, {age: time}) for time in times)

        (goal,) = derivation.goals
        line = derivation[goal.line].statement
        end: dict[Symbol, int] = {age: STEPS}
        return (
            Part(
                id=goal.id,
                hypotheses={name: margins(name) for name in goal.hypotheses},
                structural=("unseen",),
                loss=written(loss, {age: 0}),
                lhs=written(line.lhs, end),
                rhs=written(line.rhs, end),
                sizes={"T": STEPS, "K": LABELS, "n": 1, "N": 1},
            ),
        )

    return conclude
