"""What training settings promise of unused rows, beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...forecast import forecast
from ._groups import Group

__all__ = ["Theory", "theory_of"]


@dataclass(frozen=True, kw_only=True)
class Theory:
    """The forecast for the run, and how far apart the rows are against their start.

    Attributes:
        verdict: of the forecast.
        decay_product: ``prod |1 - eta_t lam|``: what decay alone leaves of distances and norms.
        upper: the proved bound on distances relative to the start; None where none is proved.
        initial_distance: about how far apart two fresh rows are, ``scale sqrt(2 n)``; None if the scale is not known.
        measured: reason of each set to the measured factor, its median distance over the initial distance.
        lines: the comparison in words.
    """

    verdict: str
    decay_product: float
    upper: float | None
    initial_distance: float | None
    measured: Mapping[str, float]
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"lines": list(self.lines), "measured": dict(self.measured)}


def theory_of(
    training: Mapping[str, Any], groups: tuple[Group, ...], scale: float | None, dim: int
) -> Theory:
    """Forecast the run and set the measured factors beside it. Raises :class:`InputError` for unusable settings."""
    extra: dict[str, Any] = {"hidden_size": dim}
    if scale is not None and training.get("initial_scale") is None:
        extra["initial_scale"] = scale
    promised = forecast(training, **extra)
    product, upper = promised.numbers["decay_product"], promised.numbers["upper"]
    start = None if scale is None else scale * (2 * dim) ** 0.5
    lines = [f"decay alone leaves {product:.3g} of distances and of norms"]
    if upper is not None and upper != product and upper < 1:
        lines.append(f"proved: distances end at {upper:.3g} of their start at most")
    measured: dict[str, float] = {}
    if start is None:
        lines.append("the initial scale is not known: give it to compare")
    for group in groups:
        if start is None or group.core is None or group.diagnosis is None:
            continue
        factor = group.core.distance.median / start
        measured[group.reason] = factor
        lines.append(
            f"{group.reason}: median distance is {factor:.3g} of that of fresh rows, {_said(factor, product)}"
        )
    return Theory(
        verdict=promised.verdict,
        decay_product=product,
        upper=upper,
        initial_distance=start,
        measured=measured,
        lines=tuple(lines),
    )


def _said(factor: float, product: float) -> str:
    # Both sides are estimates: the median of random distances, and the configuration's scale.
    if factor > 1.1 * product:
        return "more than decay alone leaves"
    if factor < 0.9 * product:
        return "less than decay alone leaves"
    return "as decay alone leaves"
