"""`twins`: with soft targets, two labels of equal mass on every example contract as unseen ones do."""

from sympy import Abs, exp, log

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.extremes import ZeroSquare
from .framework.rules import Assume, Combine, Define, Term
from .framework.small import real
from .framework.symbols import LATEX, RANGES, Step, i, j, k, m
from .framework.types import Expr
from .lines import logmean, losses, step
from .lines.losses import DIFFERENCE

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples; "
    "there the mass that u and v leave is all on the third label."
)


def derive() -> Derivation:
    """The derivation, from the loss with soft targets to the claim."""
    q = Step()
    lines = (
        *losses.without(losses.softmax(q), "p_y"),
        *soft_loss(q),
        *logmean.logmean(q),
        *losses.start(q),
        *twin_lines(q),
        *step.quadratic(q)[1:],
        *losses.upper(q),
    )
    hypotheses = ("twins", "nonnegative_step", "curvature", "step_size")
    return Derivation(
        claim="twins",
        lines=lines,
        goals=(Goal("twins", "contraction", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=SETTING.conclude,
        names=LATEX,
    )


def masses(q: Step) -> tuple[Expr, Expr]:
    """The target masses of u and v on example i."""
    return q.name("q_u", i), q.name("q_v", i)


def soft_loss(q: Step) -> list[Line]:
    """Cross-entropy with soft targets, and its gradient in rows u and v."""
    (p_u, p_v), (q_u, q_v) = losses.pair(q), masses(q)
    z, p, mass = q.name("z", i, k), q.name("p", i, k, positive=True), q.name("q", i, k)
    z_u, z_v, Z = q.name("z_u", i), q.name("z_v", i), q.name("Z", i, positive=True)
    total = q_u + q_v + q.over_k(mass)
    inside = q_u * log(p_u) + q_v * log(p_v) + q.over_k(mass * log(p))
    linear = q_u * z_u + q_v * z_v + q.over_k(mass * z)
    return [
        Line(
            "z",
            equal(z, q.over_j(q.w(k, j) * q.x(i, j))),
            Define(),
            "The logit of every other label $k = 3, \\dots, K$",
        ),
        Line("p", equal(p, exp(z) / Z), Define(("z", "Z")), "and its probability."),
        losses.loss(
            -q.over_i(q.a(i) * inside) + losses.decay(q),
            "The loss: weighted cross-entropy with soft targets $q$, and weight decay.",
            ("p_u", "p_v", "p"),
            q,
        ),
        losses.logarithm(q, p_u, z_u, "Logarithms of probabilities are logits minus $\\log Z$,"),
        losses.logarithm(q, p_v, z_v, "for $u$, for $v$,"),
        losses.logarithm(q, p, z, "and for every other label,"),
        Line(
            "loss_form",
            equal(q.name("loss"), -q.over_i(q.a(i) * (linear - total * log(Z))) + losses.decay(q)),
            Combine(
                (
                    Term(-q.a(i) * q_u, ("log_p_u",), over=(i,)),
                    Term(-q.a(i) * q_v, ("log_p_v",), over=(i,)),
                    Term(-q.a(i) * mass, ("log_p",), over=(i, k)),
                ),
                unfold=("loss",),
            ),
            "so that the loss is",
        ),
        *losses.descent(q, (total * p_u - q_u, total * p_v - q_v), of="loss_form"),
        Line(
            "targets_sum",
            equal(total, 1),
            Assume("setting", relation="=="),
            "The targets of an example sum to 1.",
        ),
    ]


def twin_lines(q: Step) -> list[Line]:
    """Equal masses leave the recursion as it is for unseen labels."""
    (p_u, p_v), (q_u, q_v) = losses.pair(q), masses(q)
    c, D, L, d = q.name("c"), q.name("D", m), q.name("L", i), q.name("d", i)
    gap = q_u - q_v
    return [
        Line(
            "difference",
            equal(
                q.name("Dnext", m),
                c * D - q.eta * q.over_i(q.a(i) * (p_u - p_v - gap) * q.x(i, m)),
            ),
            Combine(
                (
                    Term(
                        -q.eta * q.a(i) * (p_u - p_v) * q.x(i, m),
                        ("targets_sum",),
                        over=(i,),
                    ),
                ),
                unfold=DIFFERENCE,
            ),
            "in terms of the probabilities and the targets.",
        ),
        step.quadratic(q)[0],
        Line(
            "twins",
            at_most(q.a(i) * Abs(gap), 0),
            Assume(),
            "Hypothesis: where $a_i > 0$ both labels have the same target mass,",
        ),
        Line(
            "gap_sign",
            at_most(0, q.a(i) * Abs(gap)),
            Combine((Term(Abs(gap), ("weights",)),)),
            "and, since no weight is negative,",
        ),
        Line(
            "gap_square",
            at_most((q.a(i) * gap) ** 2, 0),
            Combine((Term(1, ("twins", "gap_sign")),)),
            "the product of the two:",
        ),
        Line(
            "gap_zero",
            equal(q.a(i) * gap, 0),
            ZeroSquare("gap_square"),
            "so that the targets' part of the gradient is zero on every example.",
        ),
        losses.pushed(
            q,
            "MD",
            q.a(i) * L * d,
            ("L", "d"),
            "With the operator $M = \\sum_i a_i L_i x_i x_i^T$ applied to $D$,",
        ),
        losses.recursion(
            q,
            q.eta,
            "MD",
            Term(-q.eta * q.a(i) * q.x(i, m), ("mean_value",), over=(i,)),
            Term(q.eta * q.x(i, m), ("gap_zero",), over=(i,)),
            sentence="exactly $D^+ = cD - \\eta M D$, as for unseen labels.",
        ),
    ]


def _rest(i: int, k: int) -> Expr:
    """What u and v leave is on the last label, the target; there is no label between."""
    return 1 - real(f"q_{i - 1}_0") - real(f"q_{i - 1}_1")


SETTING = Setting(
    table={
        "q_u": lambda i: real(f"q_{i - 1}_0"),
        "q_v": lambda i: real(f"q_{i - 1}_1"),
        "q": _rest,
    },
    structural=(),
    sizes={"mask": 1},
)
