"""An instance in which the cosine stays while the rows decay: zero features, opposite rows, for every size."""

from sympy import Product, Rational, Symbol, sqrt

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Induction
from ..framework.rules import Assume, Combine, Term
from ..framework.strict import DefinePositive
from ..framework.symbols import Step, i, j, n
from ..framework.types import Expr
from . import runs_rows
from .products import s
from .resets import ZERO
from .resets_apart import Choose, S, half, powers
from .runs import age, constant
from .runs_rows import left_by_decay, length

MARK = "_o"
STEADY = ("steady_lam", "lam")
first = Step(time=ZERO)


def shrunk(time: Expr) -> Expr:
    """The length `2^-t sqrt(n)` of either row after t steps."""
    return half**time * sqrt(n)


def still() -> list[Line]:
    """The instance, its hypotheses and its sides."""
    q = Step(time=age)
    return [*chosen(q), *admissible(q), *aged(q), *decay(), *sides(q)]


def chosen(q: Step) -> list[Line]:
    """The data."""
    choices = (
        ("blank", q.x(i, j), 0, "An instance: all features are zero;"),
        ("eta", q.eta, half, "every step size is $1/2$,"),
        ("lam", constant("lam"), 1, "the decay $1$,"),
        ("T", constant("T"), 1, "the bound on the trace $1$;"),
        ("u_first", first.w_u(j), 1, "row $u$ starts with $1$ in each coordinate,"),
        ("v_first", first.w_v(j), -1, "row $v$ with $-1$."),
    )
    return [Line(name, equal(*pair), Choose(), sentence) for name, *pair, sentence in choices]


def admissible(q: Step) -> list[Line]:
    """The hypotheses on every step hold."""
    return [
        Line(
            "nonnegative_step_o",
            at_most(0, q.eta),
            Combine((Term(half),), unfold=("eta",)),
            "The hypotheses hold: for the step size,",
        ),
        Line(
            "curvature_o",
            at_most(q.name("tau"), q.T),
            Combine((Term(1),), unfold=("tau", "blank", "steady_T", "T")),
            "for the trace, which is zero,",
        ),
        Line(
            "step_size_o",
            at_most(q.eta * (2 * q.lam + q.T), 2),
            Combine((Term(half),), unfold=("eta", *STEADY, "steady_T", "T")),
            "and for both together: $\\frac12 (2 + 1) \\le 2$.",
        ),
    ]


def aged(q: Step) -> list[Line]:
    """Both rows halve at every step; their lengths."""
    lines: list[Line] = []
    for row, sign in (("u", 1), ("v", -1)):

        def w(time: Expr, name: str = f"w_{row}") -> Expr:
            return Step(time=time).name(name, j)

        def claim(time: Expr, sign: int = sign, w=w) -> tuple[Expr, Expr]:  # noqa: ANN001
            return w(time), sign * half**time

        lines += [
            Line(
                f"{row}_halved",
                equal(w(age + 1), w(age) / 2),
                Combine(
                    unfold=(f"run_{row}", f"next_{row}", f"grad_{row}", "blank", "eta", *STEADY)
                ),
                f"Without features a step halves row ${row}$:",
            ),
            Line(
                f"{row}_0", equal(*claim(ZERO)), Combine(unfold=(f"{row}_first",)), "at step $0$,"
            ),
            Line(
                f"{row}_t",
                equal(*claim(age)),
                Assume("induction", relation="=="),
                "and if at step $t$",
            ),
            Line(
                f"{row}_next",
                equal(*claim(age + 1)),
                Combine((Term(half, (f"{row}_t",)),), unfold=(f"{row}_halved",)),
                "then at step $t + 1$,",
            ),
            Line(
                f"{row}_aged",
                equal(*claim(age)),
                Induction(age, f"{row}_0", f"{row}_t", f"{row}_next"),
                "so by induction every coordinate is $2^{-t}$, up to its sign.",
            ),
            Line(
                f"norm{row}_o",
                equal(length(q, row), shrunk(age)),
                Combine(unfold=(f"norm{row}", f"{row}_aged")),
                "Its length is $2^{-t} \\sqrt n$,",
            ),
            Line(
                f"above{row}_o",
                equal(shrunk(age), length(q, row)),
                Combine(unfold=(f"norm{row}_o",)),
                "which is positive.",
            ),
        ]
    rules = {row: DefinePositive(f"above{row}_o") for row in ("u", "v")}
    return [*lines, *runs_rows.positive_lengths(q, rules, MARK)]


def decay() -> list[Line]:
    """The product of the decays is `2^-t`."""

    def claim(time: Expr) -> tuple[Expr, Expr]:
        return Product(1 - Step(time=s).eta * constant("lam"), (s, 0, time - 1)), half**time

    return [
        Line("decay_0", equal(*claim(ZERO)), Combine(), "Decay alone leaves $1$ after no step,"),
        Line("decay_t", equal(*claim(age)), Assume("induction", relation="=="), "and if after $t$"),
        Line(
            "decay_next",
            equal(*claim(age + 1)),
            Combine((Term(half, ("decay_t",)),), unfold=("eta", "lam")),
            "then after $t + 1$ steps",
        ),
        Line(
            "decay_o",
            equal(*claim(age)),
            Induction(age, "decay_0", "decay_t", "decay_next"),
            "the share $2^{-t}$.",
        ),
    ]


def sides(q: Step) -> list[Line]:
    """`1 - cos = 2` at every step, while the right side decays."""
    lengths = (f"lenu{MARK}", f"lenv{MARK}", f"normu{MARK}", f"normv{MARK}")
    product, positive = length(first, "u") * length(first, "v"), Symbol("first_o", positive=True)
    rhs = left_by_decay(age) ** 2 / (2 * positive)
    distance, norm = q.name(f"cosdist{MARK}"), first.name("norm", nonnegative=True)
    share, gone = half**age, Product(1 - Step(time=s).eta * constant("lam"), (s, 0, age - 1))
    return [
        *runs_rows.cosine_distance(q, MARK),
        Line(
            "longer_o=",
            equal(q.name(f"longer{MARK}"), 0),
            Combine(unfold=(f"longer{MARK}", "u_aged", "v_aged")),
            "The rows are opposite,",
        ),
        Line(
            "cosdist_o=",
            equal(distance, 2),
            Combine(unfold=(f"cosdist{MARK}", "longer_o=", "D", "u_aged", "v_aged", *lengths)),
            "their cosine is $-1$ at every step.",
        ),
        Line(
            "product_first",
            equal(n, product),
            Combine(unfold=("normu_o", "normv_o")),
            "The last hypothesis holds too: the lengths are positive at first",
        ),
        Line(
            "first_o",
            equal(positive, product),
            DefinePositive("product_first"),
            "(so their product has a name for a positive number)",
        ),
        Line(
            "product_last",
            equal(shrunk(age) ** 2, length(q, "u") * length(q, "v")),
            Combine(unfold=("normu_o", "normv_o")),
            "and after $t$ steps.",
        ),
        Line(
            "rhs",
            equal(rhs, 2 * share**2),
            Combine(
                (Term((gone + share) * norm**2 / (2 * positive), ("decay_o",)),),
                unfold=("first_o", "norm", "D", "u_first", "v_first", "normu_o", "normv_o"),
            ),
            "But the right side decays,",
        ),
        *powers(),
        Line(
            "some_steps",
            equal(age, S),
            Assume("setting", relation="=="),
            "and after at least one step, $t = e + 1$,",
        ),
        Line(
            "refuted",
            at_most(rhs + Rational(3, 2), distance),
            Combine(
                (
                    Term(1, ("rhs",)),
                    Term(-1, ("cosdist_o=",)),
                    Term((1 + 2 * half**S) / 2, ("power",)),
                ),
                unfold=("some_steps",),
            ),
            "the statement fails, by at least $3/2$.",
        ),
    ]
