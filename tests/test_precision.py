"""Number formats: torch's roundings, one by one, against the claims `precision_floor` and `precision_moves`."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from collapse_theory.errors import InputError
from collapse_theory.instances._rounding import nearest, neighbour
from collapse_theory.optimizers import stochastic_round

FORMATS = {torch.bfloat16: 8, torch.float16: 11, torch.float32: 24}


def every_mantissa(bits):
    """All numbers of the format in [1, 2), or a thousand of them."""
    count = 2 ** (bits - 1)
    steps = np.unique(np.linspace(0, count - 1, min(count, 1000)).astype(int))
    return 1 + steps * 2.0 ** (1 - bits)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("share", [0.125, 0.25, 0.5])
def test_at_half_a_spacing_and_below_no_weight_moves(dtype, share):
    bits = FORMATS[dtype]
    weights = every_mantissa(bits)
    after = torch.tensor(weights).to(dtype).mul_(1 - share * 2.0**-bits)
    assert np.array_equal(after.double().numpy(), weights)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("share", [0.75, 1.0, 2.0, 7.0])
def test_above_it_torch_rounds_to_the_nearest_and_powers_of_two_move(dtype, share):
    bits = FORMATS[dtype]
    # In float32 the factor itself has to be a number of the format.
    share = np.ceil(share) if dtype == torch.float32 else share
    weights = every_mantissa(bits)
    after = torch.tensor(weights).to(dtype).mul_(1 - share * 2.0**-bits).double().numpy()
    assert np.array_equal(after, nearest(weights * (1 - share * 2.0**-bits), np.array(bits)))
    assert after[0] <= neighbour(weights, np.array(bits))[0] < 1
    moved = after < weights
    if share < 1:  # a weight moves as long as delta times it is more than half the spacing 2^(1-p)
        assert np.array_equal(moved[1:], weights[1:] * share > 1)
        assert moved[0]


def test_float32_quantises_the_factor_first():
    """At 2^-25 and below the factor is 1; just above it everything moves, by 2^-24."""
    weights = torch.tensor(every_mantissa(24), dtype=torch.float32)
    assert torch.equal(weights * (1 - 2.0**-25), weights)
    after = weights * (1 - 1.01 * 2.0**-25)
    assert (after < weights).all()
    torch.testing.assert_close(
        after.double() / weights.double() - 1,
        torch.full_like(after, -(2.0**-24)).double(),
        rtol=1.0,
        atol=0,
    )


finite = st.floats(-(2.0**100), 2.0**100, width=32).filter(lambda x: abs(x) > 1e-30)


@given(finite, st.integers(0, 2**31))
def test_stochastic_rounding_gives_one_of_the_two_neighbours(value, seed):
    values = torch.full((64,), value, dtype=torch.float32)
    got = stochastic_round(values, generator=torch.Generator().manual_seed(seed))
    assert got.dtype == torch.bfloat16
    spacing = 2.0 ** (np.floor(np.log2(abs(value))) - 7)
    assert ((got.double() - value).abs() < spacing).all()
    if float(torch.tensor(value).bfloat16()) == value:
        assert (got.double() == value).all()


def test_stochastic_rounding_has_no_floor_in_the_mean():
    """Decay at a quarter of bfloat16's floor: to nearest nothing moves, at random the mean decays as it should."""
    delta, steps, many = 2.0**-11, 400, 4000
    generator = torch.Generator().manual_seed(0)
    at_random = torch.full((many,), 1.5, dtype=torch.bfloat16)
    to_nearest = at_random.clone()
    for _ in range(steps):
        at_random = stochastic_round(at_random.float() * (1 - delta), generator=generator)
        to_nearest.mul_(1 - delta)
    assert (to_nearest == 1.5).all()
    values = at_random.double()
    error = float(values.std() / np.sqrt(many))
    assert abs(float(values.mean()) - 1.5 * (1 - delta) ** steps) < 5 * error
    assert error < 0.01


def test_other_types_are_refused():
    with pytest.raises(InputError, match=r"values are of type torch\.float64: give torch\.float32"):
        stochastic_round(torch.ones(2).double(), generator=torch.Generator())


def test_what_is_not_finite_stays():
    values = torch.tensor([np.inf, -np.inf, np.nan])
    got = stochastic_round(values, generator=torch.Generator())
    assert got[0] == np.inf
    assert got[1] == -np.inf
    assert got[2].isnan()
