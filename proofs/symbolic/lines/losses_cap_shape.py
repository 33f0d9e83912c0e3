"""The shape of `e(z) = exp(phi(z))` and `g = e phi'`, `phi(z) = kappa tanh(z/kappa)`, left of a logit clear of the cap.

With `t = tanh(z/kappa)`: `g' = e ((1 - t^2)^2 - 2 t (1 - t^2)/kappa)`. To the left of a logit R with
`phi(R) <= sqrt(kappa^2 + 1) - 1` this lies between 0 and `(1 + 1/(2 kappa^2)) e`. So g grows, e is convex, and the mean of e
over an interval is at most the mean of its values at the ends. All of it as statements about `R - v` in one variable
`v >= 0`: so the hypothesis, on R, does not depend on the variable.
"""

from sympy import Rational, cosh, sqrt, tanh

from ..framework.derivation import Line, at_most
from ..framework.inference import Root
from ..framework.monotone import EitherSign, Grows, Opaque
from ..framework.rules import Assume, Combine, Term
from ..framework.symbols import Step, i
from ..framework.types import Expr
from .logmean import v
from .losses_cap import cap, exponential, gradient, logits, steep

half = Rational(1, 2)
edge = sqrt(cap**2 + 1)


def edges() -> list[Line]:
    """`kappa <= sqrt(kappa^2 + 1)`."""
    return [
        Line(
            "edge_square",
            at_most(cap**2, edge**2),
            Combine((Term(1),)),
            "With the positive cap $\\kappa$,",
        ),
        Line("edge", at_most(cap, edge), Root("edge_square"), "in roots,"),
    ]


def monotone(q: Step, row: str) -> Line:
    """The hypothesis on the capped logit."""
    return Line(
        f"monotone_{row}",
        at_most(q.name(f"phi_{row}", i), edge - 1),
        Assume(),
        f"Hypothesis: the capped logit of ${row}$ is at most $\\sqrt{{\\kappa^2 + 1}} - 1$.",
    )


def derivative(t: Expr) -> Expr:
    """`g'/e` at `t = tanh(z/kappa)`."""
    return (1 - t**2) ** 2 - 2 * t * (1 - t**2) / cap


def pointwise(q: Step, row: str, z: Expr) -> list[Line]:
    """`0 <= g'/e <= 1 + 1/(2 kappa^2)` at `z - v`, for all v >= 0."""
    t = tanh((z - v) / cap)
    return [
        monotone(q, row),
        Line(
            f"square_{row}",
            at_most(t**2, 1),
            Combine((Term(1 / cosh((z - v) / cap) ** 2),)),
            f"For $v \\ge 0$ let $t = \\tanh((z - v)/\\kappa)$, $z = z^{row}_i$. It is at most 1 in absolute value,",
        ),
        Line(
            f"falls_{row}",
            at_most(t, tanh(z / cap)),
            Grows(v, (Term(1 / cap, (f"square_{row}",)),)),
            "and falls in $v$, with derivative $-(1 - t^2)/\\kappa$;",
        ),
        Line(
            f"stays_{row}",
            at_most(cap * t, edge - 1),
            Opaque(
                (Term(1, (f"monotone_{row}",)), Term(cap, (f"falls_{row}",))),
                unfold=(f"phi_{row}_even",),
            ),
            "so the bound on the capped logit holds to the left as well.",
        ),
        Line(f"above_{row}", at_most(-t, 1), Root(f"square_{row}"), "From below"),
        Line(
            f"low_{row}",
            at_most(0, edge + 1 + cap * t),
            Opaque((Term(1, ("edge",)), Term(cap, (f"above_{row}",)), Term(1))),
            "it is clear anyway:",
        ),
        Line(
            f"shape_{row}",
            at_most(2 * t, cap * (1 - t**2)),
            Opaque((Term(1 / cap, (f"stays_{row}", f"low_{row}")),)),
            "$(\\kappa t + 1)^2 \\le \\kappa^2 + 1$, that is,",
        ),
        Line(
            f"convex_{row}",
            at_most(0, derivative(t)),
            Opaque((Term(1 / cap, (f"square_{row}", f"shape_{row}")),)),
            "times $(1 - t^2)/\\kappa$: the derivative of $e^\\phi \\phi'$, over $e^\\phi$, is not negative,",
        ),
        Line(
            f"steep_{row}",
            at_most(derivative(t), steep),
            Opaque(
                (
                    Term(2 * (t * (1 - t**2) + 1 / (2 * cap)) ** 2),
                    Term(t**4),
                    Term(2 * t**4, (f"square_{row}",)),
                )
            ),
            "and at most $1 + 1/(2\\kappa^2)$: the gap is "
            "$2(t(1 - t^2) + \\frac{1}{2\\kappa})^2 + t^4(3 - 2t^2)$.",
        ),
    ]


def intervals(row: str, z: Expr) -> list[Line]:
    """What it says about the interval from `z - v` to `z`, times v."""
    e, g, e_0, g_0 = exponential(z - v), gradient(z - v), exponential(z), gradient(z)
    return [
        Line(
            f"rises_{row}",
            at_most(g, g_0),
            Grows(v, (Term(e, (f"convex_{row}",)),)),
            "So $e^\\phi \\phi'$ grows,",
        ),
        Line(
            f"tangent_{row}",
            at_most(e + v * g, e_0),
            Grows(v, (Term(v * e, (f"convex_{row}",)),)),
            "and $e^\\phi$ is convex: it lies above its tangent at $z - v$.",
        ),
        Line(
            f"trapezium_{row}",
            at_most(g_0 - g, steep * v * (e_0 + e) / 2),
            Grows(v, (Term(steep / 2, (f"tangent_{row}",)), Term(e, (f"steep_{row}",)))),
            "The gap has a derivative that is not negative: the mean of $e^\\phi$ over an interval is at most "
            "that of its values at the ends.",
        ),
        Line(
            f"order_{row}",
            at_most(0, (g_0 - g) * v),
            Opaque((Term(v, (f"rises_{row}",)),)),
            "Times $v$,",
        ),
        Line(
            f"chord_{row}",
            at_most((g_0 - g) * v, steep * (e_0 + e) / 2 * v**2),
            Opaque((Term(v, (f"trapezium_{row}",)),)),
            "both bounds.",
        ),
    ]


def shape(q: Step) -> list[Line]:
    """`0 <= (g(z_u) - g(z_v)) (z_u - z_v) <= (1 + 1/(2 kappa^2)) (e(z_u) + e(z_v))/2 (z_u - z_v)^2`."""
    z_u, z_v = logits(q)
    d = z_u - z_v
    product = (gradient(z_u) - gradient(z_v)) * d
    return [
        *edges(),
        *pointwise(q, "u", z_u),
        *intervals("u", z_u),
        *pointwise(q, "v", z_v),
        *intervals("v", z_v),
        Line(
            "order",
            at_most(0, product),
            EitherSign("order_u", "order_v", v, d),
            "One of the two logits is the larger one; so in either order,",
        ),
        Line(
            "chord",
            at_most(product, steep * (exponential(z_u) + exponential(z_v)) / 2 * d**2),
            EitherSign("chord_u", "chord_v", v, d),
            "and likewise.",
        ),
    ]
