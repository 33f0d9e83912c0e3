"""`masked_logits`: D+ = c D - eta sum_i a_i m_i L_i <D, x_i> x_i where m_i = 0 masks the logits of both labels."""

from sympy import Integer, Sum, exp, log

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line, equal
from .framework.rules import Assume, Combine, Define, Term
from .framework.symbols import LATEX, RANGES, K, Step, i, j, k, m
from .framework.types import Expr
from .lines import losses
from .lines.losses import DIFFERENCE

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples, "
    "the second of them masked."
)
MASK = (1, 0)


def derive() -> Derivation:
    """The derivation, from the loss with masked logits to the claim."""
    q = Step()
    return Derivation(
        claim="masked_logits",
        lines=(
            *softmax(q),
            *masked_loss(q),
            *losses.mean(q),
            *losses.start(q),
            *recursion(q),
        ),
        goals=(Goal("masked_logits", "recursion", ()),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=SETTING.conclude,
        names=LATEX,
    )


def mask(q: Step) -> Expr:
    """1 where the logits of u and v take part, 0 where they are left out."""
    return q.name("mask", i)


def softmax(q: Step) -> list[Line]:
    """The lines of a plain step before its loss. Label 3 is apart in S, so that S is visibly positive."""
    lines = losses.without(losses.softmax(q), "p_y")
    S = q.name("S", i, positive=True)

    def exponential(label: Expr) -> Expr:
        return exp(q.over_j(q.w(label, j) * q.x(i, j)))

    value = exponential(Integer(3)) + Sum(exponential(k), (k, 4, K))
    z_u, z_v, Z = q.name("z_u", i), q.name("z_v", i), q.name("Z", i, positive=True)
    lines = losses.changed(lines, "S", statement=equal(S, value))
    return losses.changed(lines, "Z", statement=equal(Z, exp(z_u) + exp(z_v) + S))


def masked_loss(q: Step) -> list[Line]:
    """Cross-entropy with the logits of u and v left out where the mask is 0, and its gradient."""
    S, Z = q.name("S", i, positive=True), q.name("Z", i, positive=True)
    kept, p_y = q.name("Z_m", i, positive=True), q.name("p_y", i, positive=True)
    z_u, z_v = q.name("z_u", i), q.name("z_v", i)
    both = exp(z_u) + exp(z_v)
    lines = [
        Line(
            "mask",
            equal(mask(q) ** 2, mask(q)),
            Assume("setting", relation="=="),
            "The mask $m_i$ is 0 or 1.",
        ),
        Line(
            "Z_m",
            equal(kept, mask(q) ** 2 * both + S),
            Define(("z_u", "z_v", "S")),
            "The normaliser without the masked labels ($m_i^2 = m_i$),",
        ),
        Line(
            "p_y",
            equal(p_y, exp(q.over_j(q.w(q.y(i), j) * q.x(i, j))) / kept),
            Define(("Z_m",)),
            "and the probability of the target $y_i$, which is neither $u$ nor $v$: both are unseen.",
        ),
        losses.loss(
            -q.over_i(q.a(i) * log(p_y)) + losses.decay(q),
            "The loss: weighted cross-entropy over the labels that are not masked, and weight decay.",
            ("p_y",),
            q,
        ),
        *losses.descent(q, (mask(q) ** 2 * exp(z_u) / kept, mask(q) ** 2 * exp(z_v) / kept)),
    ]
    for row, z in (("u", z_u), ("v", z_v)):
        p = q.name(f"p_{row}", i, positive=True)
        lines.append(
            Line(
                f"kept_{row}",
                equal(mask(q) ** 2 * exp(z) / kept, mask(q) * p),
                Combine(
                    (
                        Term(exp(z) / kept, ("mask",)),
                        Term(-exp(z) * both * (1 + mask(q)) / (Z * kept), ("mask",)),
                    ),
                    unfold=(f"p_{row}", "Z", "Z_m"),
                ),
                f"Where $m_i = 1$ the two normalisers agree, so this is $m_i p_{row}$;",
            )
        )
    return lines


def recursion(q: Step) -> list[Line]:
    """The mask multiplies the logarithmic means."""
    z_u, z_v, kept = q.name("z_u", i), q.name("z_v", i), q.name("Z_m", i, positive=True)
    L, d = q.name("L", i), q.name("d", i)
    gap = mask(q) ** 2 * (exp(z_u) - exp(z_v)) / kept
    factor = q.eta * q.a(i) * q.x(i, m)
    return [
        Line(
            "difference",
            equal(
                q.name("Dnext", m),
                q.name("c") * q.name("D", m) - q.eta * q.over_i(q.a(i) * gap * q.x(i, m)),
            ),
            Combine(unfold=DIFFERENCE),
            "in terms of the exponentials.",
        ),
        losses.pushed(
            q,
            "MD",
            q.a(i) * mask(q) * L * d,
            ("L", "d"),
            "With the operator $M = \\sum_i a_i m_i L_i x_i x_i^T$ applied to $D$,",
        ),
        losses.recursion(
            q,
            q.eta,
            "MD",
            Term(-factor, ("kept_u",), over=(i,)),
            Term(factor, ("kept_v",), over=(i,)),
            Term(-factor * mask(q), ("mean_value",), over=(i,)),
            sentence="exactly $D^+ = cD - \\eta M D$, the claim.",
        ),
    ]


SETTING = Setting(table={"mask": lambda i: Integer(MASK[i - 1])}, sizes={"mask": MASK})
