"""Jensen's inequality for the logits of the unseen labels, and the bound that it gives for the label u."""

from sympy import Sum, Symbol, exp, sqrt

from ..framework.derivation import Line, at_most, equal
from ..framework.monotone import EitherSign
from ..framework.ranges import Exponentials
from ..framework.rules import Combine, Define, Term
from ..framework.symbols import j, m, n
from . import printed_lemma
from .heads import Z, count, g, over_g, p_u, product, q, w_o, z_o, z_u
from .logmean import v

r, center = q.r, q.name("center", j)
mean, off = Symbol("zbar", real=True), Symbol("off", nonnegative=True)
NAMES = {"zbar": r"\bar z", "center": r"\bar w", "off": r"|w^{u} - \bar w|"}


def tangents() -> list[Line]:
    """`1 + y <= exp(y)` for `y = z - zbar`, z the logit of any unseen label."""
    lines = [
        Line(
            "zbar",
            equal(mean, (z_u + over_g(z_o)) / count),
            Define(("z_u", "z_o")),
            "The mean of the unseen logits,",
        ),
        Line(
            "mean",
            equal(count * mean, z_u + over_g(z_o)),
            Combine(unfold=("zbar",)),
            "that is,",
        ),
        *(line for line in printed_lemma.exponential() if line.name in {"exp_above", "exp_below"}),
    ]
    for row, z, of in (("u", z_u, "the logit of $u$"), ("o", z_o, "those of the others")):
        y = z - mean
        lines += [
            Line(
                f"tangent_{row}",
                at_most(1 + y, exp(y)),
                EitherSign("exp_above", "exp_below", v, y),
                f"So at {of}, of either sign,",
            ),
            Line(
                f"above_{row}",
                at_most(exp(mean) * (1 + y), exp(z)),
                Combine((Term(exp(mean), (f"tangent_{row}",)),)),
                "times $e^{\\bar z}$.",
            ),
        ]
    return lines


def jensen(seen: Symbol) -> list[Line]:
    """`k exp(zbar) <= Z`, and the third bound; `seen` are the exponentials of the seen labels."""
    row, row_m = (q.w_u(index) - q.name("center", index) for index in (j, m))
    return [
        Line(
            "jensen",
            at_most(count * exp(mean), Z),
            Combine(
                (
                    Term(1, ("above_u",)),
                    Term(1, ("above_o",), over=(g,)),
                    Term(exp(mean), ("mean",)),
                    Term(seen),
                ),
                unfold=("Z",),
            ),
            "Sum over the unseen labels: the terms $z - \\bar z$ cancel (Jensen's inequality).",
        ),
        Line(
            "center",
            equal(center, (q.w_u(j) + over_g(w_o(j))) / count),
            Define(),
            "The mean of the unseen rows,",
        ),
        Line(
            "off",
            equal(off, sqrt(Sum(row**2, (j, 1, n)))),
            Define(("center",)),
            "and how far $u$ is from it.",
        ),
        *product("off", row, row_m, off, ("off",)),
        Line(
            "center_logits",
            at_most(z_u - r * off, mean),
            Combine(
                (Term(1, ("off_product",)), Term(off, ("radius",))),
                unfold=("zbar", "center", "z_u", "z_o"),
            ),
            "so with $|x| \\le r$ it is at most $r$ times that.",
        ),
        Line(
            "center_exp",
            at_most(exp(z_u - r * off), exp(mean)),
            Exponentials("center_logits"),
            "Take exponentials",
        ),
        Line(
            "center_bound",
            at_most(p_u * exp(-r * off), 1 / count),
            Combine(
                (Term(1 / Z, ("center_exp",)), Term(1 / (Z * count), ("jensen",))),
                unfold=("p_u",),
            ),
            "and divide by $Z$: the third bound.",
        ),
    ]
