"""`difference_recursion`: one step maps the difference of two unseen rows linearly, D+ = c D - eta M D."""

from dataclasses import replace

from .framework.conclude import small_step
from .framework.derivation import Derivation, Part
from .framework.symbols import Step, m
from .lines import one_step

DIM, EXAMPLES = 2, 2


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    lines = [line for line in one_step.setting(Step()) if line.name not in QUADRATIC]
    derivation = one_step.goal("recursion", lines)
    return replace(derivation, claim="difference_recursion", conclude=conclude)


QUADRATIC = frozenset(
    {"norm", "nextnorm", "quad", "tau", "quad=D.MD", "quad_sign", "tau_sign", "next_square"}
)
"""Scalars that an identity between vectors has no use for."""


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """Both sides in every coordinate."""
    small = small_step(derivation, dim=DIM, examples=EXAMPLES)
    statement = derivation["recursion"].statement
    lhs, rhs = (
        tuple(small(side, {m: k}) for k in range(1, DIM + 1))
        for side in (statement.lhs, statement.rhs)
    )
    return (
        Part(
            id="recursion",
            hypotheses={},
            structural=("unseen",),
            loss=small(derivation["loss"].statement.rhs),
            lhs=lhs,
            rhs=rhs,
            sizes={"K": 3, "n": DIM, "N": EXAMPLES},
        ),
    )
