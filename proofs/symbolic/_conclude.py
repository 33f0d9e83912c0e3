"""Conclusions of derivations at a small size, in the symbols of the claims' instances."""

from collections.abc import Callable

from sympy import Dummy, Expr, Integer

from ._algebra import substitute
from ._derivation import Derivation, Goal, Part
from ._small import evaluator, real, step_table
from ._symbols import i, t

LABELS = 3
STEPS = 2


def conclude_step(*, dim: int, examples: int) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goals of a derivation about one step: 3 labels, `dim` coordinates, `examples` examples."""

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        context = derivation.context()
        evaluate = evaluator(step_table(LABELS), labels=LABELS, dim=dim, examples=examples)

        def small(expression: Expr) -> Expr:
            return evaluate(context.unfold_all(expression))

        return tuple(part(derivation, goal, small, examples) for goal in derivation.goals)

    return conclude


def part(
    derivation: Derivation, goal: Goal, small: Callable[[Expr], Expr], examples: int
) -> Part:
    """A goal and the hypotheses it rests on, written out by `small`."""
    statement = derivation[goal.line].statement
    return Part(
        id=goal.id,
        hypotheses={
            name: tuple(map(small, margins(derivation, name, examples))) for name in goal.hypotheses
        },
        structural=("unseen",),
        loss=small(derivation["loss"].statement.rhs),
        lhs=small(statement.lhs),
        rhs=small(statement.rhs),
    )


def margins(derivation: Derivation, name: str, examples: int) -> tuple[Expr, ...]:
    """The margin of a hypothesis, once for each example if it speaks of one."""
    margin = derivation[name].statement.margin
    if i not in margin.free_symbols:
        return (margin,)
    return tuple(substitute(margin, {i: Integer(number + 1)}) for number in range(examples))


def conclude_run(derivation: Derivation) -> tuple[Part, ...]:
    """The goals of a derivation about runs: 2 steps, 3 labels, 1 coordinate, 1 example."""
    context = derivation.context()
    rows = [[real(f"w_{k}_0") for k in range(LABELS)]]

    def table(rows_at: Callable[[int, int], Expr]) -> dict[str, Callable[..., Expr]]:
        return {
            "w_u": lambda time, j: rows_at(time, 0),
            "w_v": lambda time, j: rows_at(time, 1),
            "w": lambda time, k, j: rows_at(time, k - 1),
            "x": lambda time, i, j: real(f"x_{time}_{i - 1}_{j - 1}"),
            "a": lambda time, i: real(f"a_{time}_{i - 1}"),
            "y": lambda time, i: Integer(LABELS),
            **{
                name: (lambda time, s=name: real(f"{s}_{time}"))
                for name in ("eta", "lam", "r", "pbar", "T")
            },
        }

    def small(expression: Expr, time: int, rows_at: Callable[[int, int], Expr]) -> Expr:
        evaluate = evaluator(table(rows_at), labels=LABELS, dim=1, examples=1)
        return evaluate(substitute(context.unfold_all(expression), {t: Integer(time)}))

    # Every row takes the gradient step on the derivation's loss, the seen one too.
    loss = derivation["loss"].statement.rhs
    for time in range(STEPS):
        unknowns = [Dummy(f"w_{k}", real=True) for k in range(LABELS)]
        at_step = small(loss, time, lambda _, k, u=unknowns: u[k])
        values = dict(zip(unknowns, rows[-1], strict=True))
        new = [w - real(f"eta_{time}") * at_step.diff(w) for w in unknowns]
        rows.append([w.xreplace(values) for w in new])

    def at(time: int) -> Callable[[Expr], Expr]:
        return lambda expression: small(expression, time, lambda step, k: rows[step][k])

    def run_part(goal: Goal) -> Part:
        per_step = {
            name: tuple(at(time)(derivation[name].statement.margin) for time in range(STEPS))
            for name in goal.hypotheses
        }
        statement = derivation[goal.line].statement
        sides = (at(STEPS)(statement.lhs), at(STEPS)(statement.rhs))
        return Part(goal.id, per_step, ("unseen",), at(0)(loss), *sides)

    return tuple(map(run_part, derivation.goals))
