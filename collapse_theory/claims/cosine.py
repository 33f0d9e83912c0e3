"""The cosine of two vectors and their distance."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis

NONZERO = Hypothesis(
    "nonzero", r"a \ne 0,\ b \ne 0", lambda p: p.ops.stack(list(p.norms)), strict=True
)


def _twice_product(p: Any) -> Array:
    """``2 |a| |b|``."""
    first, second = p.norms
    return 2 * first * second


def _exact(p: Any) -> Array:
    """``(|a - b|^2 - (|a| - |b|)^2) / (2 |a| |b|)``."""
    first, second = p.norms
    gap = first - second
    return (p.ops.sum(p.difference * p.difference) - gap * gap) / _twice_product(p)


IDENTITY = Claim(
    id="cosine_identity",
    title="The cosine from the distance and the norms",
    statement="1 - cos(a, b) = (|a - b|^2 - (|a| - |b|)^2)/(2|a||b|)",
    latex=r"1 - \cos(a, b) = \frac{|a - b|^2 - (|a| - |b|)^2}{2\,|a|\,|b|}",
    source="Law of cosines.",
    domain="vectors",
    relation="==",
    hypotheses=(NONZERO,),
    lhs=lambda p: p.cosine_distance,
    rhs=_exact,
    tight=True,
)

CLAIM = Claim(
    id="cosine",
    title="The cosine of two close vectors is near 1, unless they are short",
    statement="1 - cos(a, b) <= |a - b|^2/(2|a||b|)",
    latex=r"1 - \cos(a, b) \le \frac{|a - b|^2}{2\,|a|\,|b|}",
    source="From cosine_identity.",
    domain="vectors",
    hypotheses=(NONZERO,),
    lhs=lambda p: p.cosine_distance,
    rhs=lambda p: p.ops.sum(p.difference * p.difference) / _twice_product(p),
    tight=True,
    corollary="Attained by vectors of equal length. It says nothing about vectors that shrink: see alignment.",
)

CLAIMS = (CLAIM, IDENTITY)
