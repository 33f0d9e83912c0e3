"""The three arithmetics agree, balls enclose, and nothing about a ball is decided behind the formula's back."""

import math
import operator

import mpmath
import numpy as np
import pytest
import sympy
from flint import arb, ctx
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from collapse_theory.arithmetic import FLOAT, SYMBOLIC, BallArray, SymbolArray, ball, symbols
from collapse_theory.softmax import logarithmic_mean

B = ball(128)
ULP = 2.0**-52


def balls(*values, bits=128):
    """A BallArray of the given arbs."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return BallArray(out, bits)


def exact(value):
    """An arb that holds an mpmath number, with room for the error of 60 digits."""
    value = value if isinstance(value, mpmath.mpf) else mpmath.mpf(value)  # mpf(mpf) would round
    sign, mantissa, exponent, _ = value._mpf_
    with ctx.workprec(400):
        centre = arb(int(mantissa)) * arb(2) ** arb(int(exponent))
        return (-centre if sign else centre) * arb(1, arb(2) ** arb(-180))


def assert_encloses(got: BallArray, values, *, within=None):
    """Every ball contains the value; with ``within``, its radius is at most that share of the value."""
    for one, value in zip(got.balls.flat, values, strict=True):
        assert one.is_finite()
        assert one.overlaps(exact(value)), (one, value)
        if within is not None:
            assert float(one.rad()) <= within * abs(float(value))


# ---------------------------------------------------------------------------------------------------------------------
# One formula, three arithmetics

FORMULAS = {
    "add": lambda ops, x, y: x + y,
    "subtract": lambda ops, x, y: x - y,
    "multiply": lambda ops, x, y: x * y,
    "divide": lambda ops, x, y: x / (1 + y * y),
    "negate": lambda ops, x, y: -x,
    "power": lambda ops, x, y: x**3,
    "numbers_on_the_left": lambda ops, x, y: 1 - 2 * x + 3 / (1 + y * y),
    "arrays_on_the_left": lambda ops, x, y: np.array([1, 2, 3]) * x - np.array([0.5, 1, 2]),
    "matmul": lambda ops, x, y: (x[:, None] @ y[None, :]) @ x,
    "matmul_on_the_left": lambda ops, x, y: np.array([[1, 2, 3], [0, 1, 0]]) @ x,
    "exp": lambda ops, x, y: ops.exp(x),
    "expm1": lambda ops, x, y: ops.expm1(x),
    "log": lambda ops, x, y: ops.log(1 + x * x),
    "log1p": lambda ops, x, y: ops.log1p(x * x),
    "tanh": lambda ops, x, y: ops.tanh(x),
    "sqrt": lambda ops, x, y: ops.sqrt(1 + x * x),
    "abs": lambda ops, x, y: ops.abs(x),
    "sum": lambda ops, x, y: ops.sum(x * y),
    "prod": lambda ops, x, y: ops.prod(x),
    "max": lambda ops, x, y: ops.max(x),
    "maximum": lambda ops, x, y: ops.maximum(x, y),
    "maximum_of_zero": lambda ops, x, y: ops.maximum(x, ops.asarray(0.0)),
    "stack": lambda ops, x, y: ops.stack([x, y, x[0]]),
    "norm": lambda ops, x, y: ops.norm(x),
    "logsumexp": lambda ops, x, y: ops.logsumexp(x),
    "logarithmic_mean": lambda ops, x, y: ops.logarithmic_mean(x, y, x - y),
}

number = st.integers(-512, 512).map(lambda k: k / 64)
triple = st.lists(number, min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=12)
@given(x=triple, y=triple)
def test_one_formula_on_floats_balls_and_symbols(name, x, y):
    formula = FORMULAS[name]
    if name == "logarithmic_mean":
        assume((x != y).all())  # symbols have no case distinction
    symbolic = np.asarray(formula(SYMBOLIC, SYMBOLIC.asarray(x), SYMBOLIC.asarray(y)))
    with mpmath.workdps(60):
        values = [mpmath.mpf(sympy.N(v, 60)) for v in symbolic.flat]
    floats = np.asarray(formula(FLOAT, x, y))
    assert floats.shape == symbolic.shape
    np.testing.assert_allclose(floats.ravel(), np.array(values, dtype=float), 1e-13, 1e-13)
    for bits in (30, 53, 128, 300):
        ops = ball(bits)
        got = formula(ops, ops.asarray(x), ops.asarray(y))
        assert isinstance(got, BallArray)
        assert got.shape == symbolic.shape
        assert got.bits == bits
        assert_encloses(got, values)
        limit = 2.0 ** (12 - min(bits, 53)) * (1 + np.abs(floats).max() + np.abs(x).max() ** 3)
        assert got.radii().max() <= limit


@pytest.mark.parametrize("axis", [-1, -2, -3])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "norm", "logsumexp"])
def test_reductions_along_each_axis(name, axis):
    x = np.random.default_rng(0).integers(-4, 5, (2, 3, 4)) / 4
    floats = getattr(FLOAT, name)(x, axis=axis)
    enclosed = getattr(B, name)(B.asarray(x), axis=axis)
    assert enclosed.shape == floats.shape
    np.testing.assert_allclose(enclosed.midpoints(), floats, 1e-14, 1e-14)
    if name != "logsumexp":  # slow in SymPy, and the same code
        symbolic = getattr(SYMBOLIC, name)(SYMBOLIC.asarray(x), axis=axis)
        np.testing.assert_allclose(symbolic.astype(float), floats, 1e-14, 1e-14)
    parts = [x, x[:1], x[..., :1]]
    stacked = np.stack(np.broadcast_arrays(*parts), axis=axis)
    for ops in (FLOAT, B, SYMBOLIC):
        got = ops.stack([ops.asarray(p) for p in parts], axis=axis)
        got = got.midpoints() if isinstance(got, BallArray) else got.astype(float)
        np.testing.assert_array_equal(got, stacked)


def test_an_empty_axis_is_refused_by_balls():
    with pytest.raises(ValueError, match="empty axis"):
        B.sum(B.asarray(np.zeros((2, 0))))


# ---------------------------------------------------------------------------------------------------------------------
# Conversion

any_float = st.floats(allow_nan=False, allow_infinity=False)


@given(x=st.lists(any_float, min_size=1, max_size=4))
def test_floats_convert_exactly_to_balls_and_symbols(x):
    converted = ball(20).asarray(np.array(x))
    assert all(b.is_exact() and float(b) == v for b, v in zip(converted.balls, x, strict=True))
    assert [sympy.Rational(v) for v in x] == list(SYMBOLIC.asarray(np.array(x)))


@pytest.mark.parametrize("value", [2**53 + 1, -(2**63), 2**63 - 1, np.uint64(2**64 - 1), True])
def test_integers_convert_exactly_to_balls(value):
    assert ball(20).asarray(np.array([value])).balls[0] == arb(int(value))


@pytest.mark.parametrize(
    "value", ["3", 1j, None, [None], [], object(), np.longdouble(1) / 3, sympy.pi, 2**70]
)
def test_what_would_be_rounded_or_cut_is_refused(value):
    array = np.array(value, dtype=object) if isinstance(value, list) else value
    with pytest.raises(TypeError, match="into balls"):
        B.asarray(array)


def test_symbols_pass_through():
    x = sympy.Symbol("x")
    assert list(SYMBOLIC.asarray([x, 2])) == [x, 2]


def test_the_working_precision_does_not_leak():
    before = ctx.prec
    x = ball(300).asarray(np.array([1.0, 3.0]))
    _ = x / x, ball(300).exp(x)
    with pytest.raises(ValueError, match="mismatch"):
        _ = x @ np.ones(3)
    assert ctx.prec == before


def test_indexing_keeps_balls():
    x = B.asarray(np.arange(6.0).reshape(2, 3))
    assert x.ndim == 2
    assert len(x) == 2
    assert x[0, 1].shape == ()
    assert x[..., None].shape == (2, 3, 1)
    assert x.swapaxes(-1, -2).shape == (3, 2)
    assert x.reshape(3, 2).shape == (3, 2)
    assert x.reshape(-1)[np.array([5, 0])].midpoints().tolist() == [5, 0]
    assert [row.midpoints().tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert "bits=128" in repr(x)


# ---------------------------------------------------------------------------------------------------------------------
# What balls refuse. Each of these would otherwise pick a ball, or treat "undecided" as false.

X, Y, ONE = balls(arb(1, 2), arb(2, 2)), balls(arb(1, 1), arb(3, 3)), B.asarray(1.0)
ARRAY = np.array([1.0, 2.0])

COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("other", [X, Y, ONE, ARRAY, 1.0, 0, np.float64(1), np.array(1.0), None])
def test_comparisons_raise_on_both_sides(compare, other):
    with pytest.raises(TypeError, match="not defined for balls"):
        compare(X, other)
    with pytest.raises(TypeError, match="not defined for balls"):
        compare(other, X)


REFUSED = {
    "bool": lambda: bool(ONE),
    "not": lambda: not ONE,
    "and": lambda: X and Y,
    "if": lambda: 1 if ONE else 0,
    "float": lambda: float(ONE),
    "int": lambda: int(ONE),
    "complex": lambda: complex(ONE),
    "round": lambda: round(ONE),
    "abs": lambda: abs(X),
    "floor": lambda: math.floor(ONE),
    "isclose": lambda: math.isclose(ONE, 1.0),
    "hash": lambda: hash(X),
    "index": lambda: [1, 2][ONE],
    "range": lambda: range(ONE),
    "floor_divide": lambda: X // 2,
    "modulo": lambda: X % 2,
    "float_power": lambda: X**0.5,
    "zeroth_power": lambda: X**0,
    "power_of_a_number": lambda: 2**X,
    "max": lambda: max(X),
    "max_of_two": lambda: max(X[0], X[1]),
    "min": lambda: min(X, Y),
    "sorted": lambda: sorted(X),
    "any": lambda: any(X),
    "in": lambda: 1.0 in X,
    "in_a_single_ball": lambda: 1.0 in ONE,
    "in_a_list": lambda: X in [Y],
    "iterate_a_single_ball": lambda: list(ONE),
    "np.maximum": lambda: np.maximum(X, Y),
    "np.maximum_left": lambda: np.maximum(ARRAY, X),
    "np.minimum": lambda: np.minimum(X, 1.0),
    "np.fmax": lambda: np.fmax(X, ARRAY),
    "np.max": lambda: np.max(X),
    "np.amin": lambda: np.amin(X),
    "np.max_of_list": lambda: np.max([X[0], X[1]]),
    "np.sort": lambda: np.sort(X),
    "np.argmax": lambda: np.argmax(X),
    "np.argsort": lambda: np.argsort(X),
    "np.clip": lambda: np.clip(X, 0, 1),
    "np.where_condition": lambda: np.where(X, 1, 2),
    "np.where_value": lambda: np.where(ARRAY > 1, X, 0),
    "np.asarray": lambda: np.asarray(X),
    "np.array": lambda: np.array(X),
    "np.array_object": lambda: np.array(X, dtype=object),
    "np.array_of_list": lambda: np.array([X, Y]),
    "np.float64": lambda: np.float64(ONE),
    "np.sum": lambda: np.sum(X),
    "np.exp": lambda: np.exp(X),
    "np.sqrt": lambda: np.sqrt(X),
    "np.abs": lambda: np.abs(X),
    "np.less": lambda: np.less(ARRAY, X),
    "np.isfinite": lambda: np.isfinite(X),
    "np.allclose": lambda: np.allclose(X, ARRAY),
    "np.array_equal": lambda: np.array_equal(X, X),
    "np.all": lambda: np.all(X),
    "np.linalg.norm": lambda: np.linalg.norm(X),
    "np.einsum": lambda: np.einsum("i,i", X, X),
    "in_place": lambda: operator.iadd(ARRAY.copy(), X),
}


@pytest.mark.parametrize("name", REFUSED)
def test_conversions_and_numpy_raise(name):
    with pytest.raises(TypeError):
        REFUSED[name]()


def test_membership_says_why():
    for x in (X, ONE):
        with pytest.raises(TypeError, match="membership is not defined for balls"):
            _ = 1.0 in x


@pytest.mark.parametrize(
    "operation", [operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul]
)
def test_an_array_on_the_left_gives_balls(operation):
    got = operation(ARRAY, B.asarray(ARRAY))
    assert isinstance(got, BallArray)
    np.testing.assert_array_equal(got.midpoints(), operation(ARRAY, ARRAY))


def test_maximum_of_overlapping_balls_encloses_every_choice():
    low, high = arb(0, 1), arb(0.5, 1)  # [-1, 1] and [-1/2, 3/2]
    for got in (
        B.maximum(balls(low), balls(high)),
        B.maximum(balls(high), balls(low)),
        B.max(balls(low, high)).reshape(1),
    ):
        one = got.balls[0]
        assert all(one.contains(arb(v)) for v in (-0.5, 0, 1, 1.5))
        assert not one.contains(arb(-0.51))
        assert not one.contains(arb(1.51))
    assert B.maximum(balls(arb(3, 1)), balls(arb(0, 1))).balls[0].contains(arb(3, 1))


@given(x=st.tuples(number, number), y=st.tuples(number, number), s=st.tuples(number, number))
def test_balls_enclose_every_value_of_their_operands(x, y, s):
    """For points inside the operands the result holds the point's result."""
    px, py = (m + r * t / 8 for (m, r), t in zip((x, y), s, strict=True))
    bx, by = balls(arb(x[0], abs(x[1]))), balls(arb(y[0], abs(y[1])))
    for name in ("add", "subtract", "multiply", "divide", "abs", "maximum", "exp"):
        points = FORMULAS[name](B, B.asarray([px]), B.asarray([py]))
        assert FORMULAS[name](B, bx, by).balls[0].overlaps(points.balls[0]), name


# ---------------------------------------------------------------------------------------------------------------------
# Signs


def test_signs_are_three_valued():
    x = balls(arb(2, 1), arb(-2, 1), arb(0, 1), arb(0), arb("nan"))
    assert B.sign(x).tolist() == [1, -1, 0, 0, 0]
    assert B.nonnegative(x).tolist() == [1, -1, 0, 1, 0]
    floats = np.array([5e-324, -5e-324, 0.0, -0.0, np.inf, -np.inf, np.nan])
    assert FLOAT.sign(floats).tolist() == [1, -1, 0, 0, 1, -1, 0]
    assert FLOAT.nonnegative(floats).tolist() == [1, -1, 1, 1, 1, -1, 0]
    real, positive = sympy.Symbol("x", real=True), sympy.Symbol("p", positive=True)
    known = np.array([positive, -positive, real, sympy.Integer(0), real**2, -(real**2)])
    assert SYMBOLIC.sign(known).tolist() == [1, -1, 0, 0, 0, 0]
    assert SYMBOLIC.nonnegative(known).tolist() == [1, -1, 0, 1, 1, 0]
    for ops in (FLOAT, B):
        assert ops.sign(ops.asarray(2.0)) == 1
        assert ops.nonnegative(ops.asarray(np.zeros((2, 3)))).shape == (2, 3)


# ---------------------------------------------------------------------------------------------------------------------
# Norm and logsumexp


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1.0, 5e-324, 2.0**-1022, 2.0**1020, 3e307])
def test_norm_neither_overflows_nor_underflows(scale):
    x = scale * np.array([[3.0, 4.0], [0.0, -1.0], [0.0, 0.0]])
    np.testing.assert_allclose(FLOAT.norm(x), scale * np.array([5.0, 1, 0]), 4 * ULP)
    assert_encloses(B.norm(B.asarray(x)), _norms(x))


def _norms(x):
    with mpmath.workdps(60):
        return [mpmath.sqrt(sum(mpmath.mpf(v) ** 2 for v in row)) for row in x]


@given(x=st.lists(st.floats(-1, 1), min_size=1, max_size=5), exponent=st.integers(-1000, 1000))
def test_norm_is_accurate_at_every_magnitude(x, exponent):
    vector = np.ldexp(x, exponent)
    (expected,) = _norms([vector])
    got = FLOAT.norm(vector)
    with mpmath.workdps(60):
        assert abs(mpmath.mpf(float(got)) - expected) <= 4 * ULP * expected + mpmath.mpf(5e-324)
    assert_encloses(B.norm(B.asarray(vector)).reshape(1), [expected])


def test_norm_of_balls_around_zero():
    got = B.norm(balls(arb(0, 1e-30), arb(0, 1e-30))).balls.item()
    assert got.is_finite()
    assert got.contains(arb(0))
    assert got.contains(arb(1.41e-30))
    assert float(got.upper()) < 1.5e-30
    exactly = B.norm(B.asarray(np.zeros(3)))
    assert exactly.balls.item().is_zero()
    assert B.nonnegative(exactly) == 1


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4, 700.0, -745.0])
def test_logsumexp_at_any_shift(shift):
    x = np.array([[0.0, 1, -2], [5, 5, 5], [0, -800, 800]]) + shift
    with mpmath.workdps(400):
        values = [mpmath.log(sum(mpmath.exp(mpmath.mpf(v)) for v in row)) for row in x]
    np.testing.assert_allclose(FLOAT.logsumexp(x), np.array(values, float), 4 * ULP, 4 * ULP)
    assert_encloses(B.logsumexp(B.asarray(x)), values)


@pytest.mark.parametrize("x", [1e-20, -1e-20, 1e-300])
def test_expm1_does_not_cancel(x):
    assert FLOAT.expm1(np.array(x)) == x
    with mpmath.workdps(60):
        value = mpmath.expm1(mpmath.mpf(x))
    assert_encloses(B.expm1(B.asarray([x])), [value], within=2.0**-100)


# ---------------------------------------------------------------------------------------------------------------------
# log1p and tanh


def wide(count=400):
    """Numbers of both signs from 1e-300 to 1e3."""
    rng = np.random.default_rng(6)
    return 10.0 ** rng.uniform(-300, 3, count) * rng.choice([-1, 1], count)


ACCURATE = {
    "log1p": (
        mpmath.log1p,
        np.concatenate([wide()[wide() > -1], [2.0**-53 - 1, -0.5, -1e-8, 1e-8, 1e17, 1e300, 0.75]]),
    ),
    "tanh": (mpmath.tanh, np.concatenate([wide(), [-0.5, 1e-8, 0.01, 1.0, -3.0, 19.0, 22.0]])),
}


@pytest.mark.parametrize("name", ACCURATE)
def test_accurate_to_a_few_ulp_at_every_magnitude(name):
    """Near 0 too, where ``log(1 + x)`` would be 0."""
    reference, x = ACCURATE[name]
    with mpmath.workdps(400):
        values = [reference(mpmath.mpf(v)) for v in x]
    got = getattr(FLOAT, name)(x)
    assert max(map(ulps, got, values)) <= 4
    for bits in (30, 128):
        assert_encloses(getattr(ball(bits), name)(ball(bits).asarray(x)), values, within=2.0**-20)
    assert getattr(B, name)(B.asarray(x)).radii().max() <= 2.0**-100 * 700


@given(
    middle=number, radius=st.sampled_from([0.0, 1e-30, 1e-3, 0.25]), place=st.floats(-0.99, 0.99)
)
def test_log1p_and_tanh_of_wide_balls_enclose_every_point(middle, radius, place):
    wide_ball, point = balls(arb(middle, radius)), mpmath.mpf(middle) + radius * place
    with mpmath.workdps(120):
        assert_encloses(B.tanh(wide_ball), [mpmath.tanh(point)])
        if middle - radius > -1:
            assert_encloses(B.log1p(wide_ball), [mpmath.log1p(point)])


def test_log1p_and_tanh_at_their_edges():
    for ops in (FLOAT, B):
        for function in (ops.log1p, ops.tanh):
            assert not as_floats(function(ops.asarray(np.zeros(2)))).any()
    assert not B.log1p(balls(arb(-1))).balls[0].is_finite()
    assert not B.log1p(balls(arb(-1, 0.5))).balls[0].is_finite()
    with pytest.raises(FloatingPointError):
        FLOAT.log1p(np.array(-1.0))
    assert FLOAT.tanh(np.array([1e300, -1e300])).tolist() == [1, -1]
    assert_encloses(B.tanh(B.asarray([1e3, -1e3])), [1, -1])


def as_floats(x):
    return x.midpoints() if isinstance(x, BallArray) else x


def test_log1p_and_tanh_of_symbols():
    x = sympy.Symbol("x", real=True)
    assert SYMBOLIC.log1p(symbols([x, 0, 1])).tolist() == [sympy.log(1 + x), 0, sympy.log(2)]
    assert SYMBOLIC.tanh(symbols([x, 0, -x])).tolist() == [sympy.tanh(x), 0, -sympy.tanh(x)]


# ---------------------------------------------------------------------------------------------------------------------
# Arrays of symbols without axes stay arrays

S = sympy.Symbol("x", real=True)

WITHOUT_AXES = {
    "plus": (lambda x: x + 1, S + 1),
    "plus_on_the_left": (lambda x: 1 + x, S + 1),
    "minus_on_the_left": (lambda x: 2 - x, 2 - S),
    "negate": (lambda x: -x, -S),
    "times": (lambda x: x * x, S**2),
    "times_a_numpy_number": (lambda x: np.int64(2) * x, 2 * S),
    "times_an_array_without_axes": (lambda x: np.array(3) * x, 3 * S),
    "divide": (lambda x: x / 2, S / 2),
    "divide_on_the_left": (lambda x: 1 / x, 1 / S),
    "power": (lambda x: x**2, S**2),
    "abs": (abs, sympy.Abs(S)),
    "ellipsis": (lambda x: x[...], S),
    "there_and_back": (lambda x: x[..., None][..., 0], S),
    "reshape": (lambda x: x[None].reshape(()), S),
    "matmul": (lambda x: x[None] @ x[None], S**2),
    "np.sum": (lambda x: np.sum(x[None]), S),
    "asarray": (SYMBOLIC.asarray, S),
    "exp": (SYMBOLIC.exp, sympy.exp(S)),
    "expm1": (SYMBOLIC.expm1, sympy.exp(S) - 1),
    "log": (SYMBOLIC.log, sympy.log(S)),
    "log1p": (SYMBOLIC.log1p, sympy.log(1 + S)),
    "tanh": (SYMBOLIC.tanh, sympy.tanh(S)),
    "sqrt": (SYMBOLIC.sqrt, sympy.sqrt(S)),
    "ops.abs": (SYMBOLIC.abs, sympy.Abs(S)),
    "maximum": (lambda x: SYMBOLIC.maximum(x, SYMBOLIC.asarray(0.0)), sympy.Max(S, 0)),
    "sum": (lambda x: SYMBOLIC.sum(SYMBOLIC.stack([x, x])), 2 * S),
    "prod": (lambda x: SYMBOLIC.prod(SYMBOLIC.stack([x, x])), S**2),
    "max": (lambda x: SYMBOLIC.max(SYMBOLIC.stack([x, 2 * x])), sympy.Max(S, 2 * S)),
    "norm": (lambda x: SYMBOLIC.norm(x[None]), sympy.Abs(S)),
    "logsumexp": (
        lambda x: SYMBOLIC.logsumexp(SYMBOLIC.stack([x, x])),
        sympy.log(2 * sympy.exp(S)),
    ),
    "logarithmic_mean": (
        lambda x: SYMBOLIC.logarithmic_mean(x, 0 * x, x),
        (sympy.exp(S) - 1) / S,
    ),
}


@pytest.mark.parametrize("name", WITHOUT_AXES)
def test_arithmetic_on_an_array_without_axes_stays_an_array(name):
    operation, expected = WITHOUT_AXES[name]
    got = operation(symbols(S))
    assert isinstance(got, SymbolArray)
    assert got.shape == ()
    assert sympy.simplify(got.item() - expected) == 0
    # So an axis can be added, as a formula does with every scalar of a batch.
    assert got[..., None].shape == (1,)


def test_arrays_of_symbols_broadcast_and_convert():
    x = symbols([[S, 1], [2, S]])
    assert x.shape == (2, 2)
    assert isinstance(x[0], SymbolArray)
    assert isinstance(x + np.ones(2, np.int64), SymbolArray)
    assert isinstance(SYMBOLIC.sum(x), SymbolArray)
    assert symbols(symbols(S)).item() is S
    assert SYMBOLIC.stack([symbols(S), SYMBOLIC.asarray([1.0, 2.0])]).tolist() == [[S, 1], [S, 2]]
    assert SYMBOLIC.asarray(0.1).item() == sympy.Rational(0.1)


# ---------------------------------------------------------------------------------------------------------------------
# The logarithmic mean


def reference_mean(log_a, log_b):
    """L = b (a/b - 1)/ln(a/b), to 120 digits."""
    with mpmath.workdps(120):
        log_a, log_b = mpmath.mpf(float(log_a)), mpmath.mpf(float(log_b))
        if log_a == log_b:
            return mpmath.exp(log_a)
        return mpmath.exp(log_b) * mpmath.expm1(log_a - log_b) / (log_a - log_b)


def ulps(got, expected):
    with mpmath.workdps(60):
        return float(abs(mpmath.mpf(float(got)) - expected) / expected) / ULP


def pairs(count=3000):
    """Logarithms of pairs: relative gaps from 1e-16 to 690, values down to 1e-300, exact corners."""
    rng = np.random.default_rng(5)
    log_a = -rng.uniform(0, 690, count)
    log_a[::3] = -(10.0 ** rng.uniform(-16, 0, len(log_a[::3])))
    gap = 10.0 ** rng.uniform(-16, 2.8, count)
    log_b = np.maximum(log_a - gap, -690.7)
    tiny = np.log(1e-300)
    corners = [(0.0, tiny), (tiny, 0.0), (tiny, tiny), (0.0, 0.0), (-1.0, -1.0), (-5e-324, 0.0)]
    log_a, log_b = np.concatenate([np.stack([log_a, log_b]), np.array(corners).T], axis=1)
    swap = rng.random(len(log_a)) < 0.5
    return np.where(swap, log_b, log_a), np.where(swap, log_a, log_b)


def test_logarithmic_mean_is_accurate_to_a_few_ulp():
    log_a, log_b = pairs()
    got = logarithmic_mean(FLOAT, log_a, log_b)
    expected = [reference_mean(a, b) for a, b in zip(log_a, log_b, strict=True)]
    worst = max(map(ulps, got, expected))
    assert worst <= 4
    assert np.array_equal(got, logarithmic_mean(FLOAT, log_b, log_a))  # symmetric to the last bit
    some = slice(None, None, 10)
    enclosed = logarithmic_mean(B, B.asarray(log_a[some]), B.asarray(log_b[some]))
    assert_encloses(enclosed, expected[some], within=2.0**-100)


def test_logarithmic_mean_of_equal_numbers_is_the_number():
    log_a = np.array([0.0, -1.0, -690.0, np.log(1e-300)])
    assert np.array_equal(logarithmic_mean(FLOAT, log_a, log_a), np.exp(log_a))
    x = B.asarray(log_a)
    difference = (logarithmic_mean(B, x, x) - B.exp(x)).midpoints()
    assert not difference.any()


logarithm = st.integers(-690 * 64, 0).map(lambda k: k / 64)  # sums and differences are exact
gaps = st.one_of(st.integers(1, 64 * 600).map(lambda k: k / 64), st.floats(1e-12, 1e-3))


@given(a=logarithm, gap=gaps)
def test_logarithmic_mean_lies_between_geometric_and_arithmetic_mean(a, gap):
    ops = ball(256)
    log_a, log_b = ops.asarray(np.array([a])), ops.asarray(np.array([a])) - gap
    mean = logarithmic_mean(ops, log_a, log_b)
    geometric = ops.exp((log_a + log_b) / 2)
    arithmetic = (ops.exp(log_a) + ops.exp(log_b)) / 2
    assert ops.sign(mean - geometric) == 1
    assert ops.sign(arithmetic - mean) == 1


@given(a=logarithm, b=logarithm, shift=st.integers(-64, 64).map(lambda k: k / 64))
def test_logarithmic_mean_is_homogeneous(a, b, shift):
    """L(ca, cb) = c L(a, b)."""
    there = logarithmic_mean(FLOAT, np.array(a + shift), np.array(b + shift))
    here = logarithmic_mean(FLOAT, np.array(a), np.array(b)) * np.exp(shift)
    np.testing.assert_allclose(there, here, 8 * ULP)
    x, y = B.asarray([a]), B.asarray([b])
    residual = logarithmic_mean(B, x + shift, y + shift) - logarithmic_mean(B, x, y) * B.exp(
        B.asarray(shift)
    )
    assert residual.balls[0].contains(arb(0))


@given(a=logarithm, b=logarithm, step=st.one_of(gaps, st.just(0.0)))
def test_logarithmic_mean_is_monotone(a, b, step):
    """Raising one argument raises the mean: in balls for certain, on floats up to rounding."""
    ops = ball(256)
    x, y = ops.asarray([a]), ops.asarray([b])
    rise = logarithmic_mean(ops, x + step, y) - logarithmic_mean(ops, x, y)
    assert ops.sign(rise) == 1 if step else rise.balls[0].contains(arb(0))
    higher = logarithmic_mean(FLOAT, np.array(min(a + step, 0)), np.array(b))
    assert higher >= logarithmic_mean(FLOAT, np.array(a), np.array(b)) * (1 - 8 * ULP)


@given(
    a=logarithm,
    middle=st.sampled_from([0.0, 1e-20, 1e-3, 1.0, 40.0]),
    radius=st.sampled_from([0.0, 1e-30, 1e-20, 1e-3, 0.9, 2.0]),
    place=st.floats(-0.99, 0.99),  # clear of the rounding of d
    sign=st.sampled_from([-1, 1]),
)
def test_logarithmic_mean_of_wide_balls_encloses_every_point(a, middle, radius, place, sign):
    """``d`` known only up to a radius, around zero too: the mean of each d inside is inside."""
    d = sign * middle + radius * place
    log_a = balls(arb(a), bits=128) + balls(arb(sign * middle, radius))
    got = B.logarithmic_mean(log_a, balls(arb(a)), balls(arb(sign * middle, radius)))
    with mpmath.workdps(120):
        t = abs(mpmath.mpf(d))
        phi = -mpmath.expm1(-t) / t if t else mpmath.mpf(1)
        top = mpmath.mpf(a) + max(mpmath.mpf(d), 0)
        expected = mpmath.exp(top) * phi
    assert_encloses(got, [expected])
