"""`label_smoothing`: D+ = c D - eta M D with smoothed labels, as without."""

from sympy import exp, log

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line, equal
from .framework.rules import Combine, Define, Term
from .framework.small import real
from .framework.symbols import LATEX, RANGES, K, Step, i, j, k, m
from .lines import losses
from .lines.losses import DIFFERENCE

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples."
)


def derive() -> Derivation:
    """The derivation, from the loss with smoothed labels to the claim."""
    q = Step()
    return Derivation(
        claim="label_smoothing",
        lines=(
            *losses.softmax(q),
            *smoothed_loss(q),
            *losses.mean(q),
            *losses.start(q),
            *recursion(q),
        ),
        goals=(Goal("label_smoothing", "recursion", ()),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=SETTING.conclude,
        names=LATEX,
    )


def smoothed_loss(q: Step) -> list[Line]:
    """Cross-entropy with smoothed labels, and its gradient in rows u and v."""
    p_u, p_v = losses.pair(q)
    z_u, z_v = q.name("z_u", i), q.name("z_v", i)
    Z, p_y = q.name("Z", i, positive=True), q.name("p_y", i, positive=True)
    z, p, share = q.name("z", i, k), q.name("p", i, k, positive=True), q.name("s_")
    z_y = q.name("z_y", i)
    every = log(p_u) + log(p_v) + q.over_k(log(p))
    linear = z_u + z_v + q.over_k(z) - K * log(Z)
    return [
        losses.target_logit(q),
        Line(
            "z",
            equal(z, q.over_j(q.w(k, j) * q.x(i, j))),
            Define(),
            "The logit of every other label $k = 3, \\dots, K$",
        ),
        Line("p", equal(p, exp(z) / Z), Define(("z", "Z")), "and its probability."),
        losses.loss(
            -q.over_i(q.a(i) * ((1 - share) * log(p_y) + share / K * every)) + losses.decay(q),
            "The loss: weighted cross-entropy with targets $(1 - s)[y_i = k] + s/K$, and weight decay.",
            ("p_y", "p_u", "p_v", "p"),
            q,
        ),
        losses.logarithm(
            q, p_y, z_y, "Logarithms of probabilities are logits minus $\\log Z$,", "z_y"
        ),
        losses.logarithm(q, p_u, z_u, "for the target, for $u$,"),
        losses.logarithm(q, p_v, z_v, "for $v$,"),
        losses.logarithm(q, p, z, "and for every other label,"),
        Line(
            "every",
            equal(every, linear),
            Combine(
                (
                    Term(1, ("log_p_u",)),
                    Term(1, ("log_p_v",)),
                    Term(1, ("log_p",), over=(k,)),
                )
            ),
            "the sum over all $K$ labels,",
        ),
        Line(
            "loss_form",
            equal(
                q.name("loss"),
                -q.over_i(q.a(i) * ((1 - share) * (z_y - log(Z)) + share / K * linear))
                + losses.decay(q),
            ),
            Combine(
                (
                    Term(q.a(i) * (share - 1), ("log_p_y",), over=(i,)),
                    Term(-q.a(i) * share / K, ("every",), over=(i,)),
                ),
                unfold=("loss",),
            ),
            "so that the loss is",
        ),
        *losses.descent(q, (p_u - share / K, p_v - share / K), of="loss_form"),
    ]


def recursion(q: Step) -> list[Line]:
    """The smoothed targets of u and v are equal and cancel."""
    p_u, p_v = losses.pair(q)
    L, d = q.name("L", i), q.name("d", i)
    return [
        Line(
            "difference",
            equal(
                q.name("Dnext", m),
                q.name("c") * q.name("D", m) - q.eta * q.over_i(q.a(i) * (p_u - p_v) * q.x(i, m)),
            ),
            Combine(unfold=DIFFERENCE),
            "in terms of the probabilities: the targets $s/K$ of the two rows cancel.",
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
            sentence="exactly $D^+ = cD - \\eta M D$, the claim.",
        ),
    ]


SETTING = Setting(table={"s_": lambda: real("s")}, sizes={"mask": 1})
