"""What holds for every test.

One thread per process, floating-point errors raised, figures without a display, and Hypothesis with
the same examples every time in CI.
"""

import os

# Read when numpy and torch are loaded, so set before anything below can load them.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
os.environ["MPLBACKEND"] = "Agg"

from collections.abc import Iterator

import hypothesis
import numpy as np
import pytest

# No deadline: a busy neighbour must not fail a test. In CI the same examples every time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, database=None
)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def floating_point_errors_raise() -> Iterator[None]:
    """Overflow, invalid operations and division by zero are errors; underflow is not."""
    with np.errstate(all="raise", under="ignore"):
        yield
