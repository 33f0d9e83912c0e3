"""collapse_theory: theorems about softmax collapse, put to the test.

Labels that never occur in training have output rows that move towards one another. The toolkit states how fast (*claims*),
tries to break each statement (*examine*), derives and proves it, and watches it happen in real training runs.

    from collapse_theory import examine, get_claim
    print(examine(get_claim("contraction")))

Importing the package loads none of the heavy libraries; each name below loads its module when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .arithmetic import FLOAT, SYMBOLIC, ball
    from .claims import Claim, Hypothesis, all_claims, get_claim
    from .errors import InputError
    from .examination import Result, Status, Verdict, assert_claim, examine, falsify
    from .forecast import Forecast, TrainingSetup, forecast
    from .instances import Run, Step
    from .normalization import feature_radius
    from .trajectories import LinearConfig, LinearRuns, train_linear_heads

_HOME = {
    "FLOAT": "arithmetic",
    "SYMBOLIC": "arithmetic",
    "ball": "arithmetic",
    "Claim": "claims",
    "Hypothesis": "claims",
    "all_claims": "claims",
    "get_claim": "claims",
    "InputError": "errors",
    "Result": "examination",
    "Status": "examination",
    "Verdict": "examination",
    "assert_claim": "examination",
    "examine": "examination",
    "falsify": "examination",
    "Forecast": "forecast",
    "TrainingSetup": "forecast",
    "feature_radius": "normalization",
    "forecast": "forecast",
    "Run": "instances",
    "Step": "instances",
    "LinearConfig": "trajectories",
    "LinearRuns": "trajectories",
    "train_linear_heads": "trajectories",
}

__all__ = [
    "FLOAT",
    "SYMBOLIC",
    "Claim",
    "Forecast",
    "Hypothesis",
    "InputError",
    "LinearConfig",
    "LinearRuns",
    "Result",
    "Run",
    "Status",
    "Step",
    "TrainingSetup",
    "Verdict",
    "__version__",
    "all_claims",
    "assert_claim",
    "ball",
    "examine",
    "falsify",
    "feature_radius",
    "forecast",
    "get_claim",
    "train_linear_heads",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_HOME[name]}", __name__)
    # The package `forecast` is called as the function of its name: an imported submodule is an attribute in any case.
    value = module if name == _HOME[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
