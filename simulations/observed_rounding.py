"""Torch's own roundings as instances of the claims about number formats: weights of few digits times 1 - delta."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from collapse_theory.arithmetic import FLOAT
from collapse_theory.instances import Batch, Rounding
from collapse_theory.instances._rounding import neighbour

FORMATS = {"bfloat16": 8, "float16": 11, "float32": 24}
"""Significant bits."""


def observed_rounding(*, seed: int) -> Iterator[tuple[str, Batch, dict[str, Any]]]:
    """For each format: random weights and powers of two, multiplied in place by torch with delta below and above 2^-(p+1).

    delta has few digits, so that 1 - delta is exact in float32 and the product is rounded once.
    """
    import torch

    rng = np.random.default_rng([seed, 19])
    for name, bits in FORMATS.items():
        dtype = getattr(torch, name)
        count = 2.0 ** (bits - 1) + np.floor(2.0 ** (bits - 1) * rng.uniform(0, 1, 64))
        count[::2] = 2.0 ** (bits - 1)
        weight = np.ldexp(count, rng.integers(-8, 1, 64) - bits + 1)
        shares = (0.25, 0.5, 0.75, 1.5) if bits < 24 else (1.0, 2.0)
        for share in shares:
            delta = share * 2.0**-bits
            rows = torch.tensor(weight, dtype=torch.float64).to(dtype)
            rounded = rows.mul(1 - delta).double().numpy()
            fixed = np.full(64, 1.0)
            batch = Rounding(
                ops=FLOAT,
                weight=weight,
                below=neighbour(weight, np.full(64, bits)),
                rounded=rounded,
                shrinkage=delta * fixed,
                unit=2.0**-bits * fixed,
            )
            facts = {"unmoved": int((rounded == weight).sum()), "weights": 64, "delta": delta}
            yield f"torch, {name} times 1 - {share:g} 2^-{bits}", batch, facts
