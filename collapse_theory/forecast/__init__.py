"""From training hyperparameters to what the theory promises about rows whose labels never occur as targets.

    from collapse_theory import TrainingSetup, forecast
    print(forecast(TrainingSetup(optimizer="sgd", learning_rate=0.1, weight_decay=0.01, steps=10_000, radius=3)))

A :class:`TrainingSetup` goes in, or a mapping with its names or those of Hugging Face's ``TrainingArguments``; further
arguments replace fields of it. A :class:`Forecast` comes out. Raises :class:`InputError` for a value of the wrong kind or
out of range.

The package is called as the function it is named after: ``collapse_theory.forecast(setup)`` works whether or not the package
was imported before. Importing it loads nothing slow.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ._adam import drift, update_bound
from ._descent import largest_rate
from ._files import Reading, read_config, read_setup
from ._finding import Finding
from ._forecast import NUMBERS, SCHEMA, Forecast, forecast
from ._momentum import MomentumBound, momentum_bound
from ._precision import Floor
from ._schedule import learning_rates
from ._setup import TrainingSetup

__all__ = [
    "NUMBERS",
    "SCHEMA",
    "Finding",
    "Floor",
    "Forecast",
    "MomentumBound",
    "Reading",
    "TrainingSetup",
    "drift",
    "forecast",
    "largest_rate",
    "learning_rates",
    "momentum_bound",
    "read_config",
    "read_setup",
    "update_bound",
]


class _Callable(ModuleType):
    """An imported submodule becomes an attribute of its package, and would hide the function of its name there."""

    def __call__(self, config: TrainingSetup | Mapping[str, Any], **changes: Any) -> Forecast:
        return forecast(config, **changes)


sys.modules[__name__].__class__ = _Callable
