"""Refutations at one instance: 3 labels and exact data, the lines that state both sides there, and the conclusion."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sympy import Integer, Symbol, sqrt

from ..framework.conclude_variants import Setting, contracts
from ..framework.derivation import Derivation, Line, Part, Statement, at_most, equal
from ..framework.inference import Evaluate, Root
from ..framework.monotone import EitherSign
from ..framework.points import EvaluateNamed, Named
from ..framework.rules import Combine, Define
from ..framework.small import real
from ..framework.symbols import Step
from ..framework.types import Expr
from . import printed_lemma
from .logmean import v

Rows = tuple[tuple[Expr | int, ...], ...]

left, right = Symbol("left", nonnegative=True), Symbol("right", real=True)
left_sq = Symbol("left_sq", nonnegative=True)


@dataclass(frozen=True)
class Point:
    """An instance: rows u, v and the third label's, which is every target; features, batch weights, scalars.

    `names` are the claim's symbols for scalars that are called otherwise in the derivation.
    """

    rows: Rows
    features: Rows
    weights: tuple[Expr | int, ...]
    scalars: Mapping[str, Expr | int]
    names: Mapping[str, str] = field(default_factory=dict)
    biases: tuple[Expr | int, ...] | None = None

    def __call__(self, definitions: Iterable[Statement]) -> Named:
        """The instance as `Evaluate` wants it."""
        rows = [[Integer(1) * x for x in row] for row in self.rows]
        features = [[Integer(1) * x for x in row] for row in self.features]
        biases = [Integer(1) * b for b in self.biases or ()]
        table = {
            "w_u": lambda j: rows[0][j - 1],
            "w_v": lambda j: rows[1][j - 1],
            "w": lambda k, j: rows[k - 1][j - 1],
            "x": lambda i, j: features[i - 1][j - 1],
            "a": lambda i: Integer(1) * self.weights[i - 1],
            "y": lambda i: Integer(3),
            "beta_u": lambda: biases[0],
            "beta_v": lambda: biases[1],
            "beta": lambda k: biases[k - 1],
            **{name: (lambda s=value: Integer(1) * s) for name, value in self.scalars.items()},
        }
        dim, examples = len(self.rows[0]), len(self.features)
        return Named(table, definitions, labels=3, dim=dim, examples=examples)

    @property
    def witness(self) -> dict[Symbol, Expr]:
        """The values in the claim's symbols."""
        values = {
            **{f"w_{k}_{j}": x for k, row in enumerate(self.rows) for j, x in enumerate(row)},
            **{f"x_{i}_{j}": x for i, row in enumerate(self.features) for j, x in enumerate(row)},
            **{f"a_{i}": a for i, a in enumerate(self.weights)},
            **{f"b_{k}": b for k, b in enumerate(self.biases or ())},
            **{self.names.get(name, name): value for name, value in self.scalars.items()},
        }
        return {real(name): Integer(1) * value for name, value in values.items()}


def sides(
    q: Step,
    point: Point,
    square: Expr,
    value: Expr,
    unfold: tuple[str, ...] = (),
    known: tuple[str, ...] = (),
) -> list[Line]:
    """The left side at the instance, `square` its square, and the right side, `value`.

    Names in `square` are unfolded, or known as values.
    """
    lhs, rhs = contracts(q)
    return [
        Line(
            "left_sq",
            equal(left_sq, square),
            EvaluateNamed(point, expression=lhs**2, unfold=unfold, known=known),
            "The square of the left side,",
        ),
        Line("left", equal(left, sqrt(left_sq)), Define(("left_sq",)), "the left side,"),
        Line(
            "right",
            equal(right, value),
            Evaluate(point, expression=rhs),
            "and the right side of the claim.",
        ),
    ]


def at_least(value: Expr, unfold: tuple[str, ...], *terms: Expr) -> list[Line]:
    """`value <= left`, from `value**2 <= left**2`: the gap is the sum of `terms`, or 0."""
    state = at_most if terms else equal
    return [
        Line(
            "left_square",
            state(value**2, left**2),
            Combine(tuple(terms), unfold=("left", "left_sq", *unfold)),
            "In squares,",
        ),
        Line("length", at_most(value, left), Root("left_square"), "and as it stands:"),
    ]


def exponential() -> list[Line]:
    """`1 + v <= exp(v)` and `1 - v <= exp(-v)` for v >= 0."""
    return printed_lemma.exponential()[:2]


def exponential_at(name: str, at: Expr, value: Expr, sentence: str) -> Line:
    """`1 + at <= exp(at)` at any real number; `value` is how the right side is written."""
    return Line(name, at_most(1 + at, value), EitherSign("exp_above", "exp_below", v, at), sentence)


def refuted(
    setting: Setting,
    derivation: Derivation,
    point: Point,
    hypotheses: Mapping[str, Sequence[Expr]],
    statement: tuple[Expr, Expr],
) -> Part:
    """The claim as stated, false at the instance, with the hypotheses' general margins."""
    small = replace(setting, dim=len(point.rows[0]), examples=len(point.features))
    part = small.part(derivation, "refuted", hypotheses, at_most(*statement))
    return replace(part, refutes=True, witness=point.witness)
