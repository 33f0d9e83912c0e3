"""One-step update rules as pure functions, with the semantics of ``torch.optim``.

A rule maps weights, gradient and state to new weights and new state. The rules here use ``+ - * /`` and the square root of
the arithmetic alone, so they run on floats, torch tensors, balls and symbols, on whole matrices or on single rows.
"""

from __future__ import annotations

from ._rules import adam, adam_update, gradient_descent, heavy_ball

__all__ = ["adam", "adam_update", "gradient_descent", "heavy_ball"]
