"""Each registered claim is examined once for all of these tests."""

from functools import lru_cache

import pytest

from collapse_theory import examine, get_claim


@pytest.fixture(scope="session")
def quick():
    """The result of a claim, by its id, at the quick effort."""
    return lru_cache(lambda claim_id: examine(get_claim(claim_id)))
