"""One-step update rules as pure functions, with the semantics of ``torch.optim``.

A rule maps weights, gradient and state to new weights and new state. The rules here use ``+ - * /`` and the square root of
the arithmetic alone, so they run on floats, torch tensors, balls and symbols, on whole matrices or on single rows.

`sgd_step`, `adam_step`, `sign_step` and `optimizer_step` take torch tensors and are torch's to the last bit, on each of its
three code paths (``path``). They refuse what they do not have: sparse and complex tensors, other devices, and ``maximize``,
``capturable`` and ``differentiable``. Importing this package imports no torch.
"""

from __future__ import annotations

from ._options import OPTIMIZERS, PATHS
from ._rules import adam, adam_update, gradient_descent, heavy_ball
from ._state import OptimizerState
from ._stochastic import stochastic_round
from ._torch import adam_step, optimizer_step, sgd_step, sign_step

__all__ = [
    "OPTIMIZERS",
    "PATHS",
    "OptimizerState",
    "adam",
    "adam_step",
    "adam_update",
    "gradient_descent",
    "heavy_ball",
    "optimizer_step",
    "sgd_step",
    "sign_step",
    "stochastic_round",
]
