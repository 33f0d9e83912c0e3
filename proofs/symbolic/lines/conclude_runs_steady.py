"""Conclusions about runs with the same decay and bounds at every step, in the symbols of their instances."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from sympy import Abs, Integer, Max, Symbol

from collapse_theory.instances import symbolic

from ..framework.agree import agree
from ..framework.derivation import Derivation, Part
from ..framework.small import Small, Table, real
from ..framework.strict import Positive
from ..framework.symbols import i, t
from ..framework.types import Expr
from .conclude_runs import LABELS, Rows, Written
from .resets_apart import Choose

EVERY_STEP = ("nonnegative_step", "curvature", "step_size")
"""Hypotheses on every step of a run."""
ENTRIES: Table = {"floor": lambda: real("m"), "eps": lambda: real("eps")}
UNSEEN: Table = {f"hot_{row}": lambda time, i: Integer(0) for row in ("u", "v")}
"""In the library's instances every target is the last label."""


def written_steady(derivation: Derivation, *, steps: int, dim: int, forms: bool) -> Small:
    """A run whose step sizes vary, and its general expressions written out.

    The derivation's own rows are gradient steps on its loss. With `forms`, where the library's rows after the last step
    agree with them, entry by entry, the library's form is written: longer formulas are then compared in the same pieces.
    """
    written = Written(derivation, steps=steps, dim=dim, varying=frozenset({"eta"}), entries=ENTRIES)
    before, after = written.history()
    if not forms:
        return written.small(lambda time: before[time] if time < steps else after[-1])
    library = symbolic("steady_run", T=steps, K=LABELS, n=dim, N=1)
    own = after[-1]
    own_difference = [u - v for u, v in zip(own[0], own[1], strict=True)]
    u, v = (_form(row, x) for row, x in zip(own, library.last_pair, strict=False))
    difference = _form(own_difference, library.last_difference)

    def rows_at(time: int) -> Rows:
        return before[time] if time < steps else [u, v, *own[2:]]

    def D(time: int, j: int) -> Expr:
        if time == steps:
            return difference[j - 1]
        return rows_at(time)[0][j - 1] - rows_at(time)[1][j - 1]

    return replace(written, entries={**ENTRIES, "D": D}).small(rows_at)


def _form(own: Sequence[Expr], library: Iterable[Expr]) -> list[Expr]:
    """The library's entries where they agree with the derivation's own, else those."""
    pairs = zip(own, library, strict=True)
    return [theirs if agree(mine, theirs) else mine for mine, theirs in pairs]


def conclude_steady(
    *,
    steps: int,
    dim: int,
    each: Mapping[str, tuple[str, ...]] | None = None,
    at_the_end: Mapping[str, tuple[str, ...]] | None = None,
    strict: tuple[str, ...] = (),
    forms: bool = False,
) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goals after `steps` steps: 3 labels, `dim` coordinates, 1 example.

    `each` and `at_the_end` map a hypothesis of the claim to the lines that state it, of every step or of the run as a whole.
    The margin of a strict hypothesis is the right side of its line; `strict` names such lines that are no assumption.
    """
    each = {name: (name,) for name in EVERY_STEP} if each is None else each

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        small = written_steady(derivation, steps=steps, dim=dim, forms=forms)

        symbol = derivation["loss"].statement.lhs.indices[0]

        def at(time: int) -> dict[Symbol, int]:
            return {symbol: time}

        def margin(name: str, time: int) -> Expr:
            line = derivation[name]
            is_strict = isinstance(line.rule, Positive) or name in strict
            return small(line.statement.rhs if is_strict else line.statement.margin, at(time))

        hypotheses = {
            id: tuple(margin(name, time) for name in lines for time in range(steps))
            for id, lines in each.items()
        } | {
            id: tuple(margin(name, steps) for name in lines)
            for id, lines in (at_the_end or {}).items()
        }
        return tuple(
            Part(
                id=goal.id,
                hypotheses=hypotheses,
                structural=("unseen",),
                loss=small(derivation["loss"].statement.rhs, at(0)),
                lhs=small(derivation[goal.line].statement.lhs, at(steps)),
                rhs=small(derivation[goal.line].statement.rhs, at(steps)),
                sizes={"T": steps, "K": LABELS, "n": dim, "N": 1},
            )
            for goal in derivation.goals
        )

    return conclude


def still_witness(derivation: Derivation) -> dict[Symbol, Expr]:
    """What the derivation chooses, for one step in one coordinate; what it leaves open is 0, or 1 for the batch weight."""
    chosen = {
        line.name: line.statement.rhs for line in derivation.lines if isinstance(line.rule, Choose)
    }
    values = {
        "w_0_0": chosen["u_first"],
        "w_1_0": chosen["v_first"],
        "x_0_0_0": chosen["blank"],
        "eta_0": chosen["eta"],
        "lam": chosen["lam"],
        "T": chosen["T"],
        "a_0_0": Integer(1),
    }
    open_names = ("w_2_0", "r", "pbar", "eps", "m")
    values |= {name: Integer(0) for name in open_names}
    return {real(name): value for name, value in values.items()}


def conclude_probe(*, steps: int, dim: int) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goal of `no_decay_orthogonal`: 3 labels, `dim` coordinates, 1 example, whose target is the third label."""

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        written = Written(
            derivation,
            steps=steps,
            dim=dim,
            varying=frozenset({"eta", "lam", "r", "pbar", "T"}),
            entries={"probe": lambda j: real(f"z_{j - 1}"), **UNSEEN},
        )
        before, after = written.history()
        small = written.small(lambda time: before[time] if time < steps else after[-1])
        (goal,) = derivation.goals
        line = derivation[goal.line].statement
        orthogonal = derivation["orthogonal"].statement.margin
        return (
            Part(
                id=goal.id,
                hypotheses={
                    "orthogonal": tuple(small(orthogonal, {t: time, i: 1}) for time in range(steps))
                },
                structural=(),
                loss=small(derivation["loss"].statement.rhs, {t: 0}),
                lhs=small(line.lhs, {t: steps}),
                rhs=small(line.rhs, {t: steps}),
                sizes={"T": steps, "K": LABELS, "n": dim, "N": 1},
            ),
        )

    return conclude


def conclude_rare(*, target: int, steps: int) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goal of `rare_labels_run`: 3 labels, 1 coordinate, 1 example, always with this target (u is 1, v is 2)."""

    def hit(row: int) -> Callable[..., Expr]:
        return lambda time, i: Integer(row == target)

    def conclude(derivation: Derivation) -> tuple[Part, ...]:
        entries: Table = {"hot_u": hit(1), "hot_v": hit(2)}
        written = Written(
            derivation, steps=steps, target=target, varying=frozenset({"eta"}), entries=entries
        )
        before, after = written.history()

        def rows_at(time: int) -> Rows:
            return before[time] if time < steps else after[-1]

        mass = derivation["mass"].statement.lhs
        masses = [written.small(rows_at)(mass, {t: time}) for time in range(steps)]
        entries = {**entries, "fmax": lambda: Max(*masses)}
        small = replace(written, entries=entries).small(rows_at)
        line = derivation["rare_labels_run"].statement

        def margins(name: str) -> tuple[Expr, ...]:
            margin = derivation[name].statement.margin
            return tuple(small(margin, {t: time, i: 1}) for time in range(steps))

        each = ("nonnegative_step", "radius", "curvature", "step_size")
        return (
            Part(
                id="rare_labels_run",
                hypotheses={name: margins(name) for name in each}
                | {"some_decay": (Abs(small(derivation["some_decay"].statement.rhs)),)},
                structural=(),
                loss=small(derivation["loss"].statement.rhs, {t: 0}),
                lhs=small(line.lhs, {t: steps}),
                rhs=small(line.rhs, {t: steps}),
                sizes={"T": steps, "K": LABELS, "n": 1, "N": 1},
            ),
        )

    return conclude
