"""Where the unseen rows of a single feature come to rest: on its line, away from 0."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis


def _pulls(e: Any) -> list[Array]:
    """``<x, grad_u>`` at the candidate: with given seen rows (twice), and with one seen row that is trained as well."""
    seen = [e.seen[..., s, :] for s in range(e.seen.shape[-2])]
    given = e.pull(seen, e.unseen_row, e.unseen)
    trained = e.unseen[..., None] * -e.unseen_row
    return [given, given, e.pull([trained], e.unseen_row, e.unseen)]


def _forms(e: Any) -> list[Array]:
    """The same, as positive factors times what vanishes at rest."""
    z, lam, k, S, Z = e.level, e.weight_decay, e.unseen, e.exponential_sum, e.normaliser
    up, down = e.ops.exp(z), e.ops.exp(-z)
    s = (k + 1) * z
    return [
        S * down / Z * (e.square / S - lam * (z * up + k * z / S)),
        down / Z * (e.square - lam * Z * z * up),
        ((k + 1) * e.square - lam * (s * e.ops.exp(s) + k * s)) / ((k + 1) * (k + e.ops.exp(s))),
    ]


CLAIM = Claim(
    id="equilibrium",
    title="The pull on unseen rows that have met on the line of the feature",
    statement=(
        "<x, grad_u> = S e^-z/Z (r^2/S - lam(z e^z + (k/S) z)) = e^-z/Z (r^2 - lam Z z e^z);"
        "  all trained: (K r^2 - lam(s e^s + (K-1) s))/(K (K-1 + e^s)), s = K z"
    ),
    latex=(
        r"\langle x, \nabla_u\rangle"
        r" = \tfrac{S e^{-z}}{Z}\Bigl(\tfrac{r^2}{S} - \lambda\bigl(z e^z + \tfrac kS z\bigr)\Bigr)"
        r" = \tfrac{e^{-z}}{Z}\bigl(r^2 - \lambda Z z e^z\bigr), \qquad"
        r" \langle x, \nabla_u\rangle = \frac{K r^2 - \lambda(s e^s + (K-1)s)}{K(K - 1 + e^s)},\ s = Kz"
    ),
    source="The gradient of the softmax loss with decay at rows w_u = -(z/r^2) x.",
    domain="equilibrium",
    relation="==",
    hypotheses=(Hypothesis("nonzero_feature", r"x \ne 0", lambda e: e.square, strict=True),),
    lhs=lambda e: e.ops.stack(_pulls(e)),
    rhs=lambda e: e.ops.stack(_forms(e)),
    parts=("given", "normaliser", "all_trained"),
    tight=True,
    corollary=(
        "With lam > 0 the bracket falls from r^2/S > 0 without end, so exactly one z is at rest, z > 0: the root of"
        " z e^z + (k/S) z = r^2/(lam S); with the normaliser Z given it is Lambert's W: z = W(r^2/(lam Z)). The rows do"
        " not shrink to 0, which is why their cosine goes to 1."
    ),
)
