"""The difference of two softmax probabilities is their logarithmic mean times the difference of their logits."""

from ._claim import Claim

IDENTITY = Claim(
    id="logmean_identity",
    title="Probabilities differ by their logarithmic mean times the logit difference",
    statement="p_u - p_v = L(p_u, p_v) <D, x>",
    latex=r"p_u(x) - p_v(x) = L\bigl(p_u(x), p_v(x)\bigr)\,\langle D, x\rangle",
    source="L(a, b) = (a - b)/(ln a - ln b), and ln p_u - ln p_v = <D, x> since both share the normaliser.",
    domain="head",
    relation="==",
    lhs=lambda h: h.probabilities[..., 0] - h.probabilities[..., 1],
    rhs=lambda h: h.mean * h.logit_difference,
    tight=True,
    corollary="So the gradients of two unseen rows differ by M D: the difference D moves by itself.",
)

BOUNDS = Claim(
    id="logmean_bounds",
    title="The logarithmic mean lies between the geometric and the arithmetic mean, and below 1/2",
    statement="sqrt(p_u p_v) <= L <= (p_u + p_v)/2 <= 1/2",
    latex=r"\sqrt{p_u p_v} \le L(p_u, p_v) \le \tfrac12 (p_u + p_v) \le \tfrac12",
    source="With d = <D, x>: L = (p_u + p_v) tanh(d/2)/d, and 1/cosh(d/2) <= tanh(d/2)/(d/2) <= 1.",
    domain="head",
    lhs=lambda h: h.ops.stack(
        [
            h.ops.sqrt(h.probabilities[..., 0] * h.probabilities[..., 1]),
            h.mean,
            (h.probabilities[..., 0] + h.probabilities[..., 1]) / 2,
        ]
    ),
    rhs=lambda h: h.ops.stack(
        [h.mean, (h.probabilities[..., 0] + h.probabilities[..., 1]) / 2, h.ops.asarray(0.5)]
    ),
    parts=("geometric", "arithmetic", "half"),
    tight=True,
    corollary="The last inequality is strict: a third label always has some probability.",
)

CLAIMS = (IDENTITY, BOUNDS)
