"""Conclusions of derivations at a small size, in the symbols of the claims' instances."""

from collections.abc import Callable

from sympy import Dummy, Integer, expand_log

from .derivation import Derivation, Part
from .small import Small, real, step_table
from .symbols import i, t
from .types import Expr

LABELS = 3
STEPS = 2


def small_step(derivation: Derivation, *, dim: int, examples: int) -> Small:
    """One step with 3 labels, in the symbols of the claims' instances."""
    definitions = derivation.context().meanings().values()
    return Small(step_table(LABELS), definitions, labels=LABELS, dim=dim, examples=examples)


def conclude_step(*, dim: int, examples: int) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goals of a derivation about one step: 3 labels, `dim` coordinates, `examples` examples."""

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        small = small_step(derivation, dim=dim, examples=examples)

        def margins(name: str) -> tuple[Expr, ...]:
            margin = derivation[name].statement.margin
            if i not in margin.free_symbols:
                return (small(margin),)
            return tuple(small(margin, {i: number + 1}) for number in range(examples))

        return tuple(
            Part(
                id=goal.id,
                hypotheses={name: margins(name) for name in goal.hypotheses},
                structural=("unseen",),
                loss=small(derivation["loss"].statement.rhs),
                lhs=small(derivation[goal.line].statement.lhs),
                rhs=small(derivation[goal.line].statement.rhs),
                sizes={"K": LABELS, "n": dim, "N": examples},
            )
            for goal in derivation.goals
        )

    return conclude


def conclude_run(derivation: Derivation) -> tuple[Part, ...]:
    """The goals of a derivation about runs: 2 steps, 3 labels, 1 coordinate, 1 example."""
    definitions = tuple(derivation.context().meanings().values())
    loss = derivation["loss"].statement.rhs
    rows = [[real(f"w_{k}_0") for k in range(LABELS)]]

    def run(rows_at: Callable[[int, int], Expr]) -> Small:
        table = {
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
        return Small(table, definitions, labels=LABELS, dim=1, examples=1)

    # Every row takes the gradient step on the derivation's loss, the seen one too.
    unknowns = [Dummy(f"w_{k}", real=True) for k in range(LABELS)]
    for time in range(STEPS):
        at_step = expand_log(run(lambda _, k: unknowns[k])(loss, {t: time}))
        values = dict(zip(unknowns, rows[-1], strict=True))
        new = [w - real(f"eta_{time}") * at_step.diff(w) for w in unknowns]
        rows.append([w.xreplace(values) for w in new])

    small = run(lambda time, k: rows[time][k])
    return tuple(
        Part(
            id=goal.id,
            hypotheses={
                name: tuple(
                    small(derivation[name].statement.margin, {t: time}) for time in range(STEPS)
                )
                for name in goal.hypotheses
            },
            structural=("unseen",),
            loss=small(loss, {t: 0}),
            lhs=small(derivation[goal.line].statement.lhs, {t: STEPS}),
            rhs=small(derivation[goal.line].statement.rhs, {t: STEPS}),
            sizes={"T": STEPS, "K": LABELS, "n": 1, "N": 1},
        )
        for goal in derivation.goals
    )
