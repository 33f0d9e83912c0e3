"""Conclusions about runs of AdamW at a small size, in the symbols of their instances."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sympy import Abs, Dummy, Integer, expand_log, sqrt

from ..framework.derivation import Derivation, Part
from ..framework.small import Small, Table, real
from ..framework.strict import Nonzero, Positive
from ..framework.symbols import base_name, i, m
from ..framework.types import Expr
from .adam_runs import q
from .runs import age

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line; no size is fixed. Only the conclusion is written out, for {steps}, 3 labels, 1 coordinate and 1 "
    "example, to be compared with the claim's own formula."
)
LABELS = 3
State = list[Expr]
BETAS = {"beta1": "b1", "beta2": "b2", "epsilon": "eps"}


@dataclass(frozen=True)
class History:
    """Rows, and first and second moments, before every step and after the last: lists over the steps."""

    rows: list[State] = field(default_factory=list)
    firsts: list[State] = field(default_factory=list)
    seconds: list[State] = field(default_factory=list)


def small(derivation: Derivation, past: History, entries: Table) -> Small:
    """General expressions in these rows and moments: one coordinate, one example, every target the last label."""
    table: Table = {
        "w_u": lambda time, j: past.rows[time][0],
        "w_v": lambda time, j: past.rows[time][1],
        "w": lambda time, k, j: past.rows[time][k - 1],
        "first_u": lambda time, j: past.firsts[time][0],
        "first_v": lambda time, j: past.firsts[time][1],
        "second_u": lambda time, j: past.seconds[time][0],
        "second_v": lambda time, j: past.seconds[time][1],
        "x": lambda time, i, j: real(f"x_{time}_{i - 1}_{j - 1}"),
        "a": lambda time, i: real(f"a_{time}_{i - 1}"),
        "y": lambda time, i: Integer(LABELS),
        "eta": lambda time: real(f"eta_{time}"),
        "lam": lambda *time: real("lam"),
        **{name: (lambda s=symbol: real(s)) for name, symbol in BETAS.items()},
        **entries,
    }
    meanings = derivation.context().meanings().values()
    return Small(
        table,
        [d for d in meanings if base_name(d.lhs) not in table],
        labels=LABELS,
        dim=1,
        examples=1,
    )


def history(derivation: Derivation, steps: int) -> History:
    """Every row takes the steps on the derivation's loss, the seen one too; u and v by its own lines, where it has them."""
    loss = derivation["loss"].statement.rhs
    b1, b2, eps, lam = real("b1"), real("b2"), real("eps"), real("lam")
    unknown = [Dummy(f"w_{k}", real=True) for k in range(LABELS)]
    past = History(
        [[real(f"w_{k}_0") for k in range(LABELS)]],
        [[Integer(0)] * LABELS],
        [[Integer(0)] * LABELS],
    )
    for time in range(steps):
        unknown_rows = History([unknown] * (time + 1))
        at_step = expand_log(small(derivation, unknown_rows, {})(loss, {age: time}))
        values = dict(zip(unknown, past.rows[-1], strict=True))
        slopes = [at_step.diff(w).xreplace(values) for w in unknown]
        firsts = [b1 * m + (1 - b1) * g for m, g in zip(past.firsts[-1], slopes, strict=True)]
        seconds = [b2 * v + (1 - b2) * g**2 for v, g in zip(past.seconds[-1], slopes, strict=True)]
        done, eta = time + 1, real(f"eta_{time}")
        after = [
            (1 - eta * lam) * w - eta * g / (1 - b1**done) / (sqrt(v / (1 - b2**done)) + eps)
            for w, g, v in zip(past.rows[-1], firsts, seconds, strict=True)
        ]
        if any(line.name == "next_u" for line in derivation.lines):
            # Rows u and v move as the derivation says.
            written = small(derivation, past, {})
            moved = (q.name(f"next_{row}", m) for row in ("u", "v"))
            after[:2] = [written(row, {age: time, m: 1}) for row in moved]
        past.rows.append(after)
        past.firsts.append(firsts)
        past.seconds.append(seconds)
    return past


def conclude_adam(
    *,
    steps: int,
    each: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
    ids: Mapping[str, tuple[str, ...]] | None = None,
    structural: tuple[str, ...] = (),
    entries: Callable[[Callable[[Expr, int], Expr]], Table] = lambda value: {},
) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goals: 3 labels, 1 coordinate, 1 example. `each` are hypotheses on every step, `after` the goals that speak of
    what `steps` steps lead to; the others speak of the last step. `ids` maps a hypothesis of the claim to the lines that
    state it, where they are not called as it is. `entries` are values of names that the lines take as given; they may be
    computed from values of expressions at a step.
    """

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        past = history(derivation, steps)
        plain = small(derivation, past, {})
        first = past.rows[0]
        given: Table = {
            "sup": lambda: Abs(first[0] - first[1]),
            **entries(lambda expression, time: plain(expression, {age: time, i: 1, m: 1})),
        }
        written = small(derivation, past, given)

        def margins(name: str) -> tuple[Expr, ...]:
            lines = (ids or {}).get(name, (name,))
            found = []
            for line in lines:
                for time in range(steps) if name in each else (0,):
                    rule, statement = derivation[line].rule, derivation[line].statement
                    margin = statement.margin
                    if isinstance(rule, Positive):
                        margin = statement.rhs
                    if isinstance(rule, Nonzero):
                        margin = Abs(statement.rhs)
                    found.append(written(margin, {age: time, i: 1, m: 1}))
            return tuple(found)

        named = {line: name for name, lines in (ids or {}).items() for line in lines}
        parts = []
        for goal in derivation.goals:
            statement = derivation[goal.line].statement
            time = steps if goal.id in after else steps - 1
            stated = dict.fromkeys(named.get(line, line) for line in goal.hypotheses)
            parts.append(
                Part(
                    id=goal.id,
                    hypotheses={name: margins(name) for name in stated},
                    structural=structural,
                    loss=written(derivation["loss"].statement.rhs, {age: 0}),
                    lhs=written(statement.lhs, {age: time, m: 1}),
                    rhs=written(statement.rhs, {age: time, m: 1}),
                    sizes={"T": steps, "K": LABELS, "n": 1, "N": 1},
                )
            )
        return tuple(parts)

    return conclude
