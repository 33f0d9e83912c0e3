"""Rounding up or down at random, so that the mean is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    import torch


def stochastic_round(values: torch.Tensor, *, generator: torch.Generator) -> torch.Tensor:
    """bfloat16 of float32 ``values`` (any shape), each rounded to one of its two neighbours with the probability that keeps
    its mean.

    Where rounding to nearest leaves a weight as it is (claim ``precision_floor``), this moves it now and then.

    Raises :class:`~collapse_theory.errors.InputError` for values of another type.
    """
    import torch

    if values.dtype != torch.float32:
        raise InputError(f"values are of type {values.dtype}: give torch.float32")
    # bfloat16 is the upper half of float32: noise below the cut, then cut.
    noise = torch.randint(0, 1 << 16, values.shape, dtype=torch.int32, generator=generator)
    bits = (values.contiguous().view(torch.int32) + noise) & -(1 << 16)
    rounded = bits.view(torch.float32).to(torch.bfloat16)
    return torch.where(values.isfinite(), rounded, values.to(torch.bfloat16))
