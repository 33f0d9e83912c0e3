"""`rare_labels_run`: `|D_T| <= P |D_0| + (r f_max/lam)(1 - P)`, `P = prod (1 - eta_t lam)`."""

from sympy import Product, Symbol
from sympy import S as Numbers

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.inference import Induction
from .framework.rules import Assume, Combine, Term
from .framework.strict import Nonzero
from .framework.symbols import RANGES, Step, t
from .framework.types import Expr
from .lines import any_targets, bounds, logmean, products, runs, runs_rare, step
from .lines.conclude_runs_steady import conclude_rare
from .lines.products import s
from .lines.runs import constant

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line, and targets are of any kind; no size is fixed. Only the conclusion is written out, for 2 steps, 3 labels, "
    "1 coordinate and 1 example, to be compared with the claim's own formula; there the target is neither u nor v, "
    "as in all of the library's symbolic instances (a test does so for the target u)."
)
NAMES = any_targets.NAMES | {
    "Dseen": "D^{+}",
    "Dnext": r"\hat D",
    "nextnorm": r"|\hat D|",
    "seennorm": "|D^{+}|",
    "push": "g",
    "pushnorm": "|g|",
    "mass": "f",
    "fmax": r"f_{\max}",
    "lamnz": r"\lambda_{*}",
}


def derive() -> Derivation:
    """One step with targets of any kind, then induction."""
    q = Step(time=t)
    lines = (
        *any_targets.loss(q),
        *logmean.logmean(q),
        *runs_rare.recursion(q),
        *runs_rare.without_targets(step.quadratic(q)),
        *bounds.hypotheses(q),
        *runs_rare.without_targets(runs.upper(q)),
        *runs_rare.mass(q),
        *runs_rare.step(q),
        *(line for line in products.run(q) if line.name != "run"),
        *runs.steady(q, ("lam", "r")),
        *run(q),
    )
    hypotheses = ("nonnegative_step", "radius", "curvature", "step_size", "some_decay")
    return Derivation(
        claim="rare_labels_run",
        lines=lines,
        goals=(Goal("rare_labels_run", "rare_labels_run", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_rare(target=3, steps=2),
        names=NAMES,
    )


def run(q: Step) -> list[Line]:
    """Induction over the steps."""
    lam, nonzero = constant("lam"), Symbol("lamnz", real=True, nonzero=True)
    r, most = constant("r"), Symbol("fmax", real=True)
    steady = ("steady_lam", "steady_r")

    def norm(time: Expr) -> Expr:
        return Step(time=time).name("norm", nonnegative=True)

    def claim(time: Expr, decay: Expr) -> tuple[Expr, Expr]:
        left: Expr = Product(1 - Step(time=s).eta * decay, (s, 0, time - 1))
        return norm(time), left * norm(Numbers.Zero) + r * most / decay * (1 - left)

    return [
        Line(
            "run",
            equal(norm(t + 1), runs_rare.length(q)),
            Combine(unfold=("norm", "D", "run_u", "run_v", "seennorm", "Dseen")),
            "So the new length of step $t$ is the length at step $t + 1$.",
        ),
        Line(
            "fmax",
            at_most(q.name("mass"), most),
            Assume("setting"),
            "$f_{\\max}$ is the largest of the batch masses.",
        ),
        Line(
            "some_decay",
            equal(nonzero, lam),
            Nonzero(),
            "Hypothesis: $\\lambda$ is not zero; it may be divided by.",
        ),
        Line(
            "rare_run_step",
            at_most(norm(t + 1), (1 - q.eta * nonzero) * norm(t) + q.eta * r * most),
            Combine(
                (
                    Term(1, ("rare_step",)),
                    Term(1, ("nonnegative_step", "r_sign", "fmax")),
                ),
                unfold=("run", "c", *steady, "some_decay"),
            ),
            "One step of the run.",
        ),
        Line(
            "rare_0",
            at_most(*claim(Numbers.Zero, nonzero)),
            Combine(),
            "Before the first step: equality.",
        ),
        Line(
            "rare_t",
            at_most(*claim(t, nonzero)),
            Assume("induction"),
            "Induction hypothesis: it holds at step $t$.",
        ),
        Line(
            "rare_next",
            at_most(*claim(t + 1, nonzero)),
            Combine(
                (Term(1, ("rare_run_step",)), Term(1, ("c_sign", "rare_t"))),
                unfold=("c", *steady, "some_decay"),
            ),
            "One more step: $c_t (1 - P)/\\lambda + \\eta_t = (1 - c_t P)/\\lambda$, and $c_t \\ge 0$.",
        ),
        Line(
            "rare_labels_run",
            at_most(*claim(t, nonzero)),
            Induction(t, "rare_0", "rare_t", "rare_next"),
            "By induction it holds at every step: the claim.",
        ),
    ]
