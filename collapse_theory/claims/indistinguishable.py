"""Rows that have come together cannot be told apart by sampling: each gets at most its share of the unseen mass."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis


def _sides(h: Any) -> tuple[list[Array], list[Array]]:
    """Left and right sides of the three parts."""
    p_u, p_v = h.probabilities[..., 0], h.probabilities[..., 1]
    others = (h.unseen - 1) * h.ops.exp(-h.radius * h.distance)
    from_center = h.ops.norm(h.weights[..., 0, :] - h.unseen_center)
    left = [
        p_u * h.ops.exp(-h.radius * h.ops.norm(h.difference)),
        p_u,
        p_u * h.ops.exp(-h.radius * from_center),
    ]
    right = [p_v, h.unseen_mass / (1 + others), 1 / h.ops.asarray(h.unseen)]
    return left, right


CLAIM = Claim(
    id="indistinguishable",
    title="Unseen labels with close rows share their probability nearly evenly",
    statement=(
        "p_u exp(-r|D|) <= p_v;  p_u <= (1 - p_seen)/(1 + (k - 1) exp(-r delta));"
        "  p_u exp(-r|w_u - mean|) <= 1/k"
    ),
    latex=(
        r"p_u \le e^{r|D|} p_v, \qquad p_u \le \frac{1 - p_{\mathrm{seen}}}{1 + (k-1) e^{-r\delta}},"
        r" \qquad p_u \le \tfrac1k\, e^{r|w_u - \bar w|}"
    ),
    source="<w_u - w_k, x> <= r |w_u - w_k| for each unseen k; the last by Jensen's inequality.",
    domain="head",
    hypotheses=(
        Hypothesis("radius", r"r \ge |x|", lambda h: h.radius - h.ops.norm(h.feature)),
        Hypothesis(
            "within",
            r"\delta \ge |w_u - w_k| \text{ for all unseen } k",
            lambda h: h.distance[..., None] - h.distances,
        ),
    ),
    lhs=lambda h: h.ops.stack(_sides(h)[0]),
    rhs=lambda h: h.ops.stack(_sides(h)[1]),
    parts=("pair", "group", "center"),
    tight=True,
    corollary="It bounds what sampling can tell apart. Greedy decoding can separate any positive gap.",
)
