"""`temperature`: D+ = c D - eta (b/tau^2) M_tau D for logits divided by tau and a loss multiplied by b."""

from sympy import log

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line, equal
from .framework.rules import Combine, Define, Term
from .framework.small import real
from .framework.symbols import LATEX, RANGES, Step, i, j, m
from .framework.types import Expr
from .lines import losses
from .lines.losses import DIFFERENCE

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. The temperature is any real number but 0. Only the conclusion is written out, for 3 labels, "
    "2 coordinates and 2 examples."
)


class Cooled(Step):
    """A step whose logits are divided by the temperature: its features are `x/tau`."""

    @property
    def tau(self) -> Expr:
        """The temperature, not 0."""
        return self.name("temp", real=True, nonzero=True)

    def x(self, i: Expr, j: Expr) -> Expr:
        """Feature i over the temperature."""
        return super().x(i, j) / self.tau


def derive() -> Derivation:
    """The derivation, from the loss at temperature tau to the claim."""
    q = Cooled()
    return Derivation(
        claim="temperature",
        lines=(
            *losses.softmax(q),
            *tempered_loss(q),
            *losses.mean(q),
            *losses.start(q),
            *recursion(q),
        ),
        goals=(Goal("temperature", "recursion", ()),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=SETTING.conclude,
        names=LATEX,
    )


def tempered_loss(q: Cooled) -> list[Line]:
    """Cross-entropy on the logits over tau, times b, and its gradient in rows u and v."""
    p_u, p_v = losses.pair(q)
    scale, p_y = q.name("scale"), q.name("p_y", i, positive=True)
    return [
        losses.loss(
            -scale * q.over_i(q.a(i) * log(p_y)) + losses.decay(q),
            "The loss: $b$ times the weighted cross-entropy of logits over $\\tau$, and weight decay.",
            ("p_y",),
            q,
        ),
        *losses.descent(q, (scale * p_u, scale * p_v)),
    ]


def recursion(q: Cooled) -> list[Line]:
    """Tau enters twice: in the gradient and in the difference of the logits."""
    p_u, p_v = losses.pair(q)
    L, d, plain, scale = q.name("L", i), q.name("d", i), q.name("d_plain", i), q.name("scale")
    return [
        Line(
            "difference",
            equal(
                q.name("Dnext", m),
                q.name("c") * q.name("D", m)
                - q.eta * scale * q.over_i(q.a(i) * (p_u - p_v) * q.x(i, m)),
            ),
            Combine(unfold=DIFFERENCE),
            "in terms of the probabilities.",
        ),
        Line(
            "d_plain",
            equal(plain, q.over_j(q.name("D", j) * q.tau * q.x(i, j))),
            Define(("D",)),
            "The logit of $D$ at temperature 1",
        ),
        Line(
            "d_cooled",
            equal(d, plain / q.tau),
            Combine(unfold=("d", "d_plain")),
            "is $\\tau$ times that at temperature $\\tau$.",
        ),
        Line(
            "MD",
            equal(q.name("MD", m), q.over_i(q.a(i) * L * plain * q.tau * q.x(i, m))),
            Define(("L", "d_plain")),
            "With the operator $M_\\tau = \\sum_i a_i L_i x_i x_i^T$ applied to $D$,",
        ),
        Line(
            "recursion",
            equal(
                q.name("Dnext", m),
                q.name("c") * q.name("D", m) - q.eta * scale / q.tau**2 * q.name("MD", m),
            ),
            Combine(
                (
                    Term(-q.eta * scale * q.a(i) * q.x(i, m), ("mean_value",), over=(i,)),
                    Term(-q.eta * scale * q.a(i) * q.x(i, m) * L, ("d_cooled",), over=(i,)),
                ),
                unfold=("difference", "MD"),
            ),
            "exactly $D^+ = cD - \\eta (b/\\tau^2) M_\\tau D$, the claim.",
        ),
    ]


SETTING = Setting(
    table={"temp": lambda: real("tau"), "scale": lambda: real("b")}, sizes={"mask": 1}
)
