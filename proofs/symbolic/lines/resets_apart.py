"""Why it matters when rows are redrawn: an instance, for every period, in which a fresh row u meets the aged row v.

All features are zero, so decay halves the rows at every step. S = e + 1 is the period.
"""

from dataclasses import dataclass

from sympy import Indexed, Integer, Rational, Symbol, sqrt

from ..framework.derivation import Context, Kind, Line, Refused, Statement, at_most, equal
from ..framework.inference import Induction, Root
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.symbols import K, N, Step, base_name, i, j, n
from ..framework.types import Expr
from .resets import NAMES, STEADY, ZERO, distance, factor, left, norm
from .runs import age, constant

half, quarter = Rational(1, 2), Rational(1, 4)
S = left + 1
gap = Symbol("gap", nonnegative=True)
INSTANCE_NAMES = NAMES | {"fresh_u": r"\tilde u", "gap": r"|\tilde u - v_0|"}


def fresh_u(j: Expr) -> Expr:
    """The row u that is drawn before step S."""
    return Step().name("fresh_u", j)


@dataclass(frozen=True)
class Choose:
    """A datum of an instance: a name that nothing so far constrains, and a value made of sizes.

    Refused for a defined name, for one in an inequality that is assumed, and for one that an assumed equation or another
    choice gives a value already; so all choices together are met by an instance. `w[0]` may be chosen beside
    `w[t + 1] == ...`: for t >= 0 these are different names.
    """

    uses: tuple[str, ...] = ()
    kind: Kind = "setting"

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is free, the value is one."""
        name, value = statement.lhs, statement.rhs
        if statement.relation != "==" or not isinstance(name, (Symbol, Indexed)):
            raise Refused("chooses no value for a name")
        if not value.free_symbols <= {K, N, n, left} or not value.is_real:
            raise Refused(f"{value} is not made of sizes")
        if not name.is_real or name.is_nonnegative is not None:
            raise Refused(f"something is assumed about {name}")
        for line in so_far:
            given, kind = line.statement, so_far.kind(line.name)
            defined = getattr(line.rule, "defines", False)
            if defined and base_name(given.lhs) == base_name(name):
                raise Refused(f"{name} is defined")
            if kind is None:
                continue
            if given.relation == "<=" and base_name(name) in _names(given):
                raise Refused(f"{line.name!r} constrains {name}")
            if given.relation == "==" and not _differ(given.lhs, name):
                raise Refused(f"{line.name!r} gives {name} a value")


def _names(statement: Statement) -> set[str]:
    atoms = statement.margin.atoms(Symbol, Indexed)
    return {base_name(atom) for atom in atoms}


def _differ(first: Expr, second: Expr) -> bool:
    """Whether these are shown to be different names whatever the values of their free indices."""
    if not isinstance(first, (Symbol, Indexed)):
        return False
    if isinstance(first, Symbol) or isinstance(second, Symbol):
        return first != second
    if first.base != second.base:
        return True
    apart = {
        s: Symbol(f"{base_name(s)}'", **s.assumptions0)
        for index in first.indices
        for s in index.free_symbols
    }
    pairs = zip(first.indices, second.indices, strict=True)
    return any((one.xreplace(apart) - other).is_nonzero is True for one, other in pairs)


def chosen(q: Step) -> list[Line]:
    """The instance."""
    eta, lam, T = map(constant, STEADY)
    choices = (
        ("blank", q.x(i, j), 0, "An instance: all features are zero;"),
        ("eta", eta, quarter, "the step size is $1/4$,"),
        ("lam", lam, 2, "the decay $2$,"),
        ("T", T, 1, "the bound on the trace $1$;"),
        ("u_first", Step(ZERO).w_u(j), 0, "row $u$ starts at zero,"),
        ("v_first", Step(ZERO).w_v(j), 2, "row $v$ with $2$ in each coordinate,"),
        ("fresh", fresh_u(j), 2 * half**S, "the row $u$ drawn before step $S$ has $2^{1 - S}$,"),
        ("dist", distance, sqrt(n), "and $d = \\sqrt n$."),
    )
    return [Line(name, equal(*pair), Choose(), sentence) for name, *pair, sentence in choices]


def draws() -> Line:
    """Before step S row u alone is redrawn."""
    return Line(
        "drawn",
        equal(Step(S).w_u(j), fresh_u(j)),
        Assume("setting", relation="=="),
        "The first draw, of row $u$, is before step $S = e + 1$; row $v$ is drawn later.",
    )


def admissible(q: Step) -> list[Line]:
    """The hypotheses hold at the instance."""
    steady = tuple(f"steady_{name}" for name in STEADY)
    return [
        Line(
            "nonnegative_step",
            at_most(0, q.eta),
            Combine((Term(quarter),), unfold=("steady_eta", "eta")),
            "The hypotheses hold: for the step size,",
        ),
        Line(
            "curvature",
            at_most(q.name("tau"), q.T),
            Combine((Term(1),), unfold=("tau", "blank", "steady_T", "T")),
            "for the trace, which is zero,",
        ),
        Line(
            "q_value",
            equal(factor, quarter),
            Combine(unfold=("q", *steady, *STEADY)),
            "for the factor,",
        ),
        Line("factor_low", at_most(0, factor), Combine((Term(quarter),), ("q_value",)), "which is"),
        Line(
            "factor_high",
            at_most(factor, 1),
            Combine((Term(1 - quarter),), ("q_value",)),
            "in $[0, 1]$,",
        ),
        Line(
            "apart_first",
            at_most(distance, norm(ZERO)),
            Combine((Term(sqrt(n)),), unfold=("norm", "D", "u_first", "v_first", "dist")),
            "and for the distance $2 \\sqrt n$ of the first rows.",
        ),
        *powers(),
        Line(
            "gap",
            equal(gap, sqrt(Step().over_j((fresh_u(j) - Step(ZERO).w_v(j)) ** 2))),
            Define(),
            "The row $u$ drawn before step $S$ and the row $v$ drawn last, the first one,",
        ),
        Line(
            "gap_square",
            at_most(distance**2, gap**2),
            Combine(
                (Term(n * (1 - 2 * half**S) ** 2), Term(2 * n, ("power",))),
                unfold=("gap", "fresh", "v_first", "dist"),
            ),
            "have distance $2 (1 - 2^{-S}) \\sqrt n$;",
        ),
        Line("apart_second", at_most(distance, gap), Root("gap_square"), "it is at least $d$ too."),
    ]


def powers() -> list[Line]:
    """`2 (1/2)^S <= 1`."""

    def claim(steps: Expr) -> tuple[Expr, Expr]:
        return half**steps, Integer(1)

    return [
        Line("power_0", at_most(*claim(ZERO)), Combine(), "Next $2^{-e} \\le 1$: for $0$;"),
        Line("power_e", at_most(*claim(left)), Assume("induction"), "if it holds for $e$,"),
        Line(
            "power_next",
            at_most(*claim(left + 1)),
            Combine((Term(half, ("power_e",)), Term(half))),
            "then for $e + 1$,",
        ),
        Line(
            "power_all",
            at_most(*claim(left)),
            Induction(left, "power_0", "power_e", "power_next"),
            "so by induction for all $e$.",
        ),
        Line(
            "power",
            at_most(2 * half**S, 1),
            Combine((Term(1, ("power_all",)),)),
            "That is, $2 \\cdot 2^{-S} \\le 1$.",
        ),
    ]


def meeting(q: Step) -> list[Line]:
    """Row v halves at every step; the fresh row u meets it."""

    def claim(time: Expr) -> tuple[Expr, Expr]:
        return Step(time).w_v(j), 2 * half**time

    steady = ("steady_eta", "steady_lam", "eta", "lam")
    return [
        Line(
            "halved",
            equal(Step(age + 1).w_v(j), q.w_v(j) / 2),
            Combine(unfold=("run_v", "next_v", "grad_v", "blank", *steady)),
            "Without features a step halves row $v$:",
        ),
        Line("aged_0", equal(*claim(ZERO)), Combine(unfold=("v_first",)), "at step $0$,"),
        Line(
            "aged_t",
            equal(*claim(age)),
            Assume("induction", relation="=="),
            "and if at step $t$",
        ),
        Line(
            "aged_next",
            equal(*claim(age + 1)),
            Combine((Term(half, ("aged_t",)),), unfold=("halved",)),
            "then at step $t + 1$,",
        ),
        Line(
            "aged",
            equal(*claim(age)),
            Induction(age, "aged_0", "aged_t", "aged_next"),
            "so by induction it is $2 \\cdot 2^{-t}$ in each coordinate.",
        ),
        Line(
            "meet",
            equal(norm(S), 0),
            Combine(unfold=("norm", "D", "drawn", "fresh", "aged")),
            "So the fresh row $u$ is where row $v$ has moved to,",
        ),
        Line(
            "refuted",
            equal(norm(S) + quarter**S * sqrt(n), factor**S * distance),
            Combine((Term(1, ("meet",)),), unfold=("q_value", "dist")),
            "and $|D_S| = 0$ is less than $q^S d = 4^{-S} \\sqrt n$, for every period $S$ and every dimension $n$.",
        ),
    ]
