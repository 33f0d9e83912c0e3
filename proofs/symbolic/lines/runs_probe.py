"""What no feature sees: the part of D along a probe z that is orthogonal to the features."""

from dataclasses import dataclass

from sympy import Abs, Integer, Product, S

from ..framework.derivation import Context, Line, Refused, Statement, at_most, equal
from ..framework.inference import Induction
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.signs import is_real
from ..framework.symbols import Step, i, j, t
from ..framework.types import Expr
from .any_targets import NAMES as SEEN
from .any_targets import hot
from .products import s

NAMES = SEEN | {"probe": "z", "along": r"\langle z, D\rangle"}


@dataclass(frozen=True)
class Vanishes:
    """From `|X| <= 0` (line `of`), X real, to `X == 0`."""

    of: str

    @property
    def uses(self) -> tuple[str, ...]:
        """The line about the absolute value."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The line bounds the absolute value of the left side by 0."""
        known = so_far[self.of].statement
        if statement.relation != "==" or statement.rhs != 0 or not is_real(statement.lhs):
            raise Refused("should say that a real number is 0")
        if known.relation != "<=" or known.rhs != 0 or not isinstance(known.lhs, Abs):
            raise Refused(f"{self.of!r} does not bound an absolute value by 0")
        if not so_far.zero(known.lhs.args[0] - statement.lhs):
            raise Refused(f"{self.of!r} is about another number")


def along(time: Expr) -> Expr:
    """`<z, D>`."""
    return Step(time=time).name("along")


def probe(q: Step) -> list[Line]:
    """One step multiplies `<z, D>` by c."""
    z = Step().name("probe", j)
    seen = q.over_j(z * q.x(i, j))
    p_u, p_v = (q.name(name, i, positive=True) for name in ("p_u", "p_v"))
    push = p_u - hot(q, "u") - p_v + hot(q, "v")
    return [
        Line("c", equal(q.name("c"), 1 - q.eta * q.lam), Define(), "The decay of one step."),
        Line("D", equal(q.name("D", j), q.w_u(j) - q.w_v(j)), Define(), "The rows' difference"),
        Line(
            "along",
            equal(along(t), q.over_j(z * q.name("D", j))),
            Define(("D",)),
            "and its inner product with the vector $z$.",
        ),
        Line(
            "orthogonal",
            at_most(Abs(seen), 0),
            Assume(),
            "Hypothesis: $|\\langle z, x_i\\rangle| \\le 0$ for every feature,",
        ),
        Line("unseen_by_all", equal(seen, 0), Vanishes("orthogonal"), "that is, it is zero."),
        Line(
            "one_step",
            equal(along(t + 1), q.name("c") * along(t)),
            Combine(
                (Term(-q.eta * q.a(i) * push, ("unseen_by_all",), over=(i,)),),
                unfold=(
                    "along",
                    "D",
                    "run_u",
                    "run_v",
                    "next_u",
                    "next_v",
                    "grad_u",
                    "grad_v",
                    "c",
                ),
            ),
            "Every gradient of a row lies in the span of the features, so $z$ sees the decay alone.",
        ),
    ]


def induction() -> list[Line]:
    """Over the steps."""

    def claim(time: Expr) -> tuple[Expr, Expr]:
        decay = Product(Step(time=s).name("c"), (s, 0, time - 1))
        return along(time), decay * along(S.Zero)

    zero = Integer(0)
    decays = Product(1 - Step(time=s).eta * Step(time=s).lam, (s, 0, t - 1))
    return [
        Line("along_0", equal(*claim(zero)), Combine(), "Before the first step: the same."),
        Line(
            "along_t",
            equal(*claim(t)),
            Assume("induction", relation="=="),
            "Induction hypothesis: it holds at step $t$.",
        ),
        Line(
            "along_next",
            equal(*claim(t + 1)),
            Combine((Term(1, ("one_step",)), Term(Step(time=t).name("c"), ("along_t",)))),
            "One more step multiplies both sides by $c_t$.",
        ),
        Line(
            "along_all",
            equal(*claim(t)),
            Induction(t, "along_0", "along_t", "along_next"),
            "By induction it holds at every step:",
        ),
        Line(
            "no_decay_orthogonal",
            equal(along(t), decays * along(S.Zero)),
            Combine((Term(1, ("along_all",)),), unfold=("c",)),
            "the claim.",
        ),
    ]
