"""Instances of every domain: what they accept, that they keep every bit; and steps and runs move as torch does."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from collapse_theory.arithmetic import FLOAT, SYMBOLIC, BallArray, SymbolArray, ball
from collapse_theory.errors import InputError
from collapse_theory.instances import (
    DOMAINS,
    Run,
    Step,
    domain,
    symbolic,
    symbolic_run,
    symbolic_step,
)

B = ball(128)
SCALARS = ("step_size", "weight_decay", "radius", "pbar", "curvature")

STEP = {
    "weights": [[0.01, 1], [-0.01, 1], [-10, 0.5]],
    "features": [[2.0, 0.25], [0.5, -1]],
    "labels": [2, 2],
    "example_weights": [0.25, 0.75],
    "step_size": 0.5,
    "weight_decay": 0.25,
    "radius": 3.0,
    "pbar": 0.5,
    "curvature": 4.5,
}
RUN = {name: value if name == "weights" else [value, value] for name, value in STEP.items()}
STEADY = {name: RUN[name] for name in ("weights", "features", "labels", "example_weights")}
INSTANCES = {
    "step": STEP,
    "run": RUN,
    "head": {name: STEP[name] for name in ("weights", "radius")}
    | {"feature": [2.0, 0.25], "distance": 1.5, "unseen": 2},
    "vectors": {"first": [1.0, -0.0, 3], "second": [0.5, 1e-8, -2]},
    "spectral_step": STEP | {"lowest": 0.125, "highest": 4.5},
    "equilibrium": {
        "seen": [[1.0, 0.5]],
        "feature": [2.0, 0.25],
        "weight_decay": 0.25,
        "level": 0.5,
        "unseen": 3,
    },
    "steady_run": STEADY
    | {name: STEP[name] for name in ("weight_decay", "radius", "pbar", "curvature")}
    | {"step_size": [0.5, 0.25], "distance": 0.125, "floor": 0.5},
    "probe_run": RUN | {"probe": [1.0, -2.0]},
    "reset_run": STEADY
    | {name: STEP[name] for name in ("step_size", "weight_decay", "curvature")}
    | {"fresh": [[[1.0, 2], [3, 4]], [[5, 6], [7, 8.5]]], "distance": 0.5, "period": 1},
    "loss_step": STEP
    | {
        "pair_targets": [[0.25, 0.25], [0.0, 1.0]],
        "mask": [1, 0],
        "smoothing": 0.125,
        "temperature": 2.0,
        "scale": 4.0,
        "clip": 0.5,
    },
    "z_loss_step": STEP | {"zeta": 0.125},
    "capped_step": STEP | {"cap": 30.0},
    "biased_step": STEP | {"biases": [0.5, -0.25, 3.0]},
    "momentum_run": STEADY
    | {name: STEP[name] for name in ("step_size", "weight_decay", "curvature")}
    | {"momentum": 0.9},
    "adam_step": STEP | {"epsilon": 0.125},
    "adam_run": STEADY
    | {"step_size": [0.5, 0.25], "weight_decay": 0.25, "beta1": 0.9, "beta2": 0.95}
    | {"epsilon": 0.125, "gradient_bound": 2.0},
    "rounding": {"weight": 1.0, "below": 0.875, "rounded": 1.0, "shrinkage": 0.03, "unit": 0.125},
    "preconditioned_step": STEP | {"preconditioner": [0.5, 2.0]},
}
"""A well-formed instance of every domain, in plain numbers."""
FIELDS = [(name, field) for name, values in INSTANCES.items() for field in values]


def kind_of(name) -> Any:
    return DOMAINS[name].batch_type


def axes_of(name, field):
    return kind_of(name).AXES[field]


def random_run(seed=0, *, labels=5, dim=4, examples=6, steps=12):
    rng = np.random.default_rng(seed)
    return Run.create(
        weights=rng.standard_normal((labels, dim)),
        features=rng.standard_normal((steps, examples, dim)),
        labels=rng.integers(2, labels, (steps, examples)),
        example_weights=rng.multinomial(64, np.full(examples, 1 / examples), steps) / 64,
        step_size=rng.uniform(0, 0.8, steps),
        weight_decay=rng.uniform(0, 0.5, steps),
        **{name: np.ones(steps) for name in ("radius", "pbar", "curvature")},
    )


def sampled(name, seed=0, size=40, **options) -> Any:
    """A batch from the domain's own sampling, finite instances alone."""
    where, rng = DOMAINS[name], np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        batch = where.build(where.draw(rng, where.shape(rng, **options), size))
    finite = [np.isfinite(x).reshape(len(batch), -1).all(axis=1) for x in batch.values.values()]
    return batch.take(np.flatnonzero(np.all(finite, axis=0)))


def same_values(one, other):
    """Bitwise: signs of zeros too."""
    for name, x in one.values.items():
        y = other.values[name]
        assert x.dtype == y.dtype
        assert np.array_equal(x, y), name
        assert np.array_equal(np.signbit(x), np.signbit(y)), name


# ---------------------------------------------------------------------------------------------------------------------
# What is accepted


def test_create_gives_a_batch_of_one():
    step, run = Step.create(**STEP), Run.create(**RUN)
    assert len(step) == len(run) == 1
    assert step.weights.shape == (1, 3, 2)
    assert run.features.shape == (1, 2, 2, 2)
    assert step.labels.dtype == np.int64
    assert step.step_size.dtype == np.float64
    assert step.decay.tolist() == [0.875]
    assert run.decay.tolist() == [[0.875, 0.875]]


def test_defaults_need_no_knowledge_of_the_probabilities():
    given_alone = ("weights", "features", "labels", "step_size", "weight_decay")
    step = Step.create(**{name: STEP[name] for name in given_alone})
    assert step.example_weights.tolist() == [[0.5, 0.5]]
    assert step.radius == np.sqrt(4.0625)
    assert step.pbar == 0.5
    assert step.curvature == step.radius**2 / 2
    assert Step.create(**{n: STEP[n] for n in (*given_alone, "radius")}).curvature == 4.5


@pytest.mark.parametrize(
    "convert",
    [
        np.array,
        torch.tensor,
        lambda x: np.array(x, np.float32),
        lambda x: torch.tensor(x).bfloat16(),
    ],
)
def test_arrays_and_tensors_are_taken(convert):
    step = Step.create(**(STEP | {"features": convert(STEP["features"])}))
    same_values(step, Step.create(**STEP))
    weights = torch.tensor(STEP["weights"], dtype=torch.float64, requires_grad=True)
    same_values(Step.create(**(STEP | {"weights": weights})), step)


NAN, INF = float("nan"), float("inf")

BAD = [
    ("weights", [[NAN, 1], [2, 3], [4, 5]], "nan", "finite"),
    ("weights", [[1, 1], [2, -INF], [4, 5]], "-inf", "finite"),
    ("weights", [[1, True], [2, 3], [4, 5]], "bool"),
    ("weights", np.ones((3, 2), bool), "True", "expected numbers"),
    ("weights", "12", "'12'", "expected numbers"),
    ("weights", [["a", 1], [2, 3], [4, 5]], "'a'", "expected numbers"),
    ("weights", [[1, 2], [3], [4, 5]], "equal lengths"),
    ("weights", [[1, 2], [3, 4], None], "equal lengths"),
    ("weights", None, "None", "expected numbers"),
    ("weights", {}, "{}", "expected numbers"),
    ("weights", [[1j, 2], [3, 4], [5, 6]], "complex"),
    ("weights", [1, 2, 3], "shape (3,)", "[K, n]"),
    ("weights", 3.0, "shape ()", "[K, n]"),
    ("weights", [], "empty"),
    ("weights", np.ones((3, 0)), "empty"),
    ("weights", [[1, 2]], "K = 1", "K >= 3"),
    ("weights", [[1, 2], [3, 4]], "K = 2", "K >= 3"),
    ("features", [[1, 2, 3]] * 2, "axis n", "3", "2"),
    ("weights", B.asarray(np.ones((3, 2))), "ball"),
    ("weights", [B.asarray(np.ones(2))] * 3, "rectangular array of numbers"),
    ("weights", np.full((3, 2), np.longdouble("1e4000")), "inf", "finite"),
    ("weights", [[10**400, 1], [2, 3], [4, 5]], "expected numbers"),
    ("weights", torch.eye(3).to_sparse(), "rectangular array of numbers"),
    ("weights", [[sympy.Symbol("x"), 1], [2, 3], [4, 5]], "x", "expected numbers"),
    ("features", [], "empty"),
    ("features", np.ones((0, 2)), "empty"),
    ("features", [[1.0], [2.0]], "axis n"),
    ("features", [[1.0, INF], [2, 3]], "inf", "finite"),
    ("features", [1.0, 2.0], "shape (2,)", "[N, n]"),
    ("labels", [], "empty"),
    ("labels", [2, 3], "3", "out of range", "0 to 2"),
    ("labels", [-1, 2], "-1", "out of range"),
    ("labels", [2.0, 2.0], "2.0", "whole numbers"),
    ("labels", [NAN, 2], "nan", "whole numbers"),
    ("labels", [True, 2], "bool"),
    ("labels", [True, False], "True", "expected numbers"),
    ("labels", ["2", "2"], "'2'", "expected numbers"),
    ("labels", [2], "axis N"),
    ("labels", [[2, 2]], "shape (1, 2)", "[N]"),
    ("labels", np.array([2**64 - 1, 2], np.uint64), str(2**64 - 1), "out of range"),
    ("example_weights", [-0.5, 1.5], "-0.5", "negative"),
    ("example_weights", [0.5, 0.25], "0.75", "sum to 1"),
    ("example_weights", [1e308, 1e308], "inf", "sum to 1"),
    ("example_weights", [1.0], "axis N"),
    ("example_weights", [NAN, 1], "nan", "finite"),
    ("step_size", NAN, "nan", "finite"),
    ("step_size", "0.1", "'0.1'", "expected numbers"),
    ("step_size", True, "True", "expected numbers"),
    ("step_size", [0.1, 0.2], "shape (2,)", "number"),
    ("weight_decay", INF, "inf", "finite"),
    ("radius", None, "None", "expected numbers"),
    ("pbar", "a\nb", r"'a\nb'", "expected numbers"),
    ("curvature", [1.0, 1.0], "shape (2,)", "number"),
]


@pytest.mark.parametrize(("field", "value", "words"), [(f, v, w) for f, v, *w in BAD])
def test_bad_input_is_named_with_its_fix(field, value, words):
    with pytest.raises(InputError) as refusal:
        Step.create(**(STEP | {field: value}))
    text = str(refusal.value)
    assert text.startswith(f"{field}: ")
    assert "\n" not in text
    for word in words:
        assert word in text, text
    with pytest.raises(InputError):  # the same value is no better in a run
        Run.create(**(RUN | {field: value if field == "weights" else [value, value]}))


def test_every_domain_has_its_instance_here():
    assert set(INSTANCES) == set(DOMAINS)
    for name, where in DOMAINS.items():
        assert where.name == where.batch_type.domain == name
        assert set(INSTANCES[name]) == set(where.batch_type.AXES)
        assert domain(name) is where


@pytest.mark.parametrize("name", DOMAINS)
def test_create_gives_every_field_its_axes(name):
    one = kind_of(name).create(**INSTANCES[name])
    assert len(one) == 1
    assert one.lead == (1,)
    assert one.ops is FLOAT
    for field, x in one.values.items():
        assert x.shape == (1, *[one.sizes[axis] for axis in axes_of(name, field)])
        assert x.dtype == (np.int64 if field in one.INTEGERS else np.float64)
        assert np.array_equal(x[0], INSTANCES[name][field])
    assert one.nontrivial.shape == (1,)


def grown(value):
    """An array with its first entry once more."""
    return [value[0], *value]


def spoilt(value, entry):
    """``value`` with its first number replaced."""
    return [spoilt(value[0], entry), *value[1:]] if isinstance(value, list) else entry


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_nonsense_in_any_field_is_named(name, field):
    values, good = INSTANCES[name], INSTANCES[name][field]
    integer = field in kind_of(name).INTEGERS
    bad = {
        "text": "12",
        "none": None,
        "object": {},
        "bool": spoilt(good, True),
        "complex": spoilt(good, 1j),
        "letters": spoilt(good, "a"),
        "nan": spoilt(good, NAN),
        "infinite": spoilt(good, INF),
        "huge": spoilt(good, 10**400),
        "too_many_axes": [good],
        "empty": [],
        "balls": B.asarray(np.ones(2)),
    }
    if integer:
        bad["fraction"] = spoilt(good, 0.5)
        bad["whole_float"] = spoilt(good, 2.0)
    for what, value in bad.items():
        with pytest.raises(InputError) as refusal:
            kind_of(name).create(**(values | {field: value}))
        text = str(refusal.value)
        assert text.startswith(f"{field}: "), (what, text)
        assert "\n" not in text, what
        assert len(text) < 200, what


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_axes_that_disagree_are_named(name, field):
    values, axes = INSTANCES[name], axes_of(name, field)
    users = [axis for other in values for axis in axes_of(name, other)]
    array = np.array(values[field])
    for place, axis in enumerate(axes):
        first = np.take(array, [0], axis=place)
        longer = np.concatenate([array, first], axis=place).tolist()
        if users.count(axis) > 1 or axis == "pair":
            with pytest.raises(
                InputError, match=r"axis \w has \d entries|, 2\]|, 2, n\]"
            ) as refusal:
                kind_of(name).create(**(values | {field: longer}))
            assert "\n" not in str(refusal.value)
        else:  # its size is its own
            size = kind_of(name).create(**(values | {field: longer})).sizes[axis]
            assert size == array.shape[place] + 1


DEFAULTS = {"example_weights", "radius", "pbar", "curvature"}
"""Fields that a single step need not be given."""


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_missing_field_is_named(name, field):
    values = {k: v for k, v in INSTANCES[name].items() if k != field}
    if issubclass(kind_of(name), Step) and field in DEFAULTS:
        assert field in kind_of(name).create(**values).values
        return
    with pytest.raises(InputError, match=f"^{name}: {field} is missing; give all of"):
        kind_of(name).create(**values)


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_misspelt_field_is_named(name, field):
    with pytest.raises(InputError, match=f"^{name}: field '{field}_' is unknown; did you mean"):
        kind_of(name).create(**INSTANCES[name], **{f"{field}_": 1.0})


BAD_IN = [
    ("head", "weights", [[1, 2], [3, 4]], "K = 2", "K >= 3"),
    ("head", "unseen", 1, "got 1", "2 to 2"),
    ("head", "unseen", 3, "got 3", "2 to 2"),
    ("head", "unseen", -1, "got -1"),
    ("equilibrium", "unseen", 0, "got 0", "at least 1"),
    ("reset_run", "period", 0, "got 0", "at least 1"),
    ("reset_run", "period", -3, "got -3", "at least 1"),
    ("reset_run", "fresh", [[[1.0, 2]], [[5, 6]]], "(2, 1, 2)", "[T, 2, n]"),
    ("reset_run", "labels", [[2, 2], [2, 3]], "3", "out of range", "0 to 2"),
    ("reset_run", "example_weights", [[0.5, 0.5], [0.5, 0.25]], "sum to 1"),
    ("steady_run", "labels", [[2, 2], [2, -1]], "-1", "out of range", "0 to 2"),
    ("steady_run", "example_weights", [[0.5, 0.5], [1.5, -0.5]], "-0.5", "negative"),
    ("steady_run", "weights", [[1, 2], [3, 4]], "K = 2", "K >= 3"),
    ("steady_run", "step_size", 0.5, "shape ()", "[T]"),
    ("steady_run", "weight_decay", [0.5, 0.5], "shape (2,)", "number"),
    ("momentum_run", "momentum", -0.5, "-0.5", "negative", ">= 0"),
    ("momentum_run", "labels", [[2, 2], [2, 5]], "5", "out of range"),
    ("adam_step", "epsilon", 0.0, "0.0", "> 0", "1e-8"),
    ("adam_run", "beta1", 1.0, "1.0", "< 1"),
    ("adam_run", "beta2", 0.0, "0.0", "> 0 and < 1"),
    ("adam_run", "epsilon", -1.0, "-1.0", "> 0"),
    ("preconditioned_step", "preconditioner", [0.5, 0.0], "0.0", "not positive"),
    ("probe_run", "labels", [[2, 2], [2, 7]], "7", "out of range"),
    ("probe_run", "probe", [[1.0, 2.0]], "shape (1, 2)", "[n]"),
    ("loss_step", "labels", [2, 3], "3", "out of range"),
    ("loss_step", "mask", [1, 2], "[1 2]", "0 or 1"),
    ("loss_step", "mask", [-1, 1], "0 or 1"),
    ("loss_step", "pair_targets", [[0.5], [0.5]], "(2, 1)", "[N, 2]"),
    ("loss_step", "pair_targets", [[0.5, -0.25], [0, 0]], "-0.25", "negative", ">= 0"),
    ("loss_step", "pair_targets", [[0.5, 0.75], [0, 0]], "1.25", "at most"),
    ("loss_step", "pair_targets", [[1e308, 1e308], [0, 0]], "inf", "at most"),
    ("loss_step", "smoothing", -0.125, "-0.125", "from 0 to 1"),
    ("loss_step", "smoothing", 1.5, "1.5", "from 0 to 1"),
    ("loss_step", "temperature", 0, "0.0", "> 0", "give 1"),
    ("loss_step", "temperature", -2.0, "-2.0", "> 0"),
    ("loss_step", "scale", 0.0, "0.0", "> 0", "give 1"),
    ("loss_step", "scale", -4, "-4.0", "> 0"),
    ("loss_step", "clip", 0.0, "0.0", "> 0", "give a large one"),
    ("loss_step", "clip", -1e-300, "-1e-300", "> 0"),
    ("capped_step", "cap", 0.0, "0.0", "> 0", "give a large one"),
    ("capped_step", "cap", -30, "-30.0", "> 0"),
    ("capped_step", "labels", [2, 3], "3", "out of range"),
    ("z_loss_step", "example_weights", [0.5, 0.75], "1.25", "sum to 1"),
    ("spectral_step", "weights", [[1, 2], [3, 4]], "K = 2", "K >= 3"),
    ("biased_step", "biases", [0.5, 0.5], "axis K", "2 entries", "have 3"),
]


@pytest.mark.parametrize(
    ("name", "field", "value", "words"), [(n, f, v, w) for n, f, v, *w in BAD_IN]
)
def test_bad_values_of_a_domain_are_named(name, field, value, words):
    with pytest.raises(InputError) as refusal:
        kind_of(name).create(**(INSTANCES[name] | {field: value}))
    text = str(refusal.value)
    assert text.startswith(f"{field}: ")
    assert "\n" not in text
    for word in words:
        assert word in text, text


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("loss_step", "pair_targets", [[0.0, 0.0], [0.5, 0.5]]),
        ("loss_step", "pair_targets", [[0.1, 0.9], [1.0, 0.0]]),
        ("loss_step", "smoothing", 0.0),
        ("loss_step", "smoothing", 1.0),
        ("loss_step", "clip", 5e-324),
        ("loss_step", "mask", [0, 0]),
        ("z_loss_step", "zeta", -1.0),
        ("spectral_step", "lowest", 9.0),  # above `highest`: a hypothesis says no, not the type
        ("reset_run", "period", 99),
        ("steady_run", "floor", -1.0),
        ("head", "radius", -1.0),
        ("probe_run", "probe", [0.0, 0.0]),
        ("equilibrium", "feature", [0.0, 0.0]),
    ],
)
def test_values_at_an_edge_are_taken(name, field, value):
    one = kind_of(name).create(**(INSTANCES[name] | {field: value}))
    assert np.array_equal(one.values[field][0], value)


def test_a_run_has_no_defaults():
    for name in ("example_weights", "radius", "pbar", "curvature"):
        with pytest.raises(InputError, match=f"{name} is missing"):
            Run.create(**{k: v for k, v in RUN.items() if k != name})


@pytest.mark.parametrize(("kind", "values"), [(Step, STEP), (Run, RUN)])
def test_an_unknown_keyword_is_named(kind, values):
    with pytest.raises(InputError, match=r"'stepsize' is unknown; did you mean 'step_size'\?"):
        kind.create(**values, stepsize=1.0)
    with pytest.raises(InputError, match=r"'ops' is unknown"):
        kind.create(**values, ops=FLOAT)


def test_steps_of_a_run_must_agree():
    with pytest.raises(InputError, match="axis T has 3 entries, other fields have 2"):
        Run.create(**(RUN | {"step_size": [0.1, 0.1, 0.1]}))
    with pytest.raises(InputError, match="equal lengths"):
        Run.create(**(RUN | {"labels": [[2, 2], [2]]}))


def test_features_whose_square_overflows():
    small = {k: v for k, v in STEP.items() if k not in ("radius", "curvature")}
    big = small | {"features": [[1e200, 0], [0, 1]]}
    with pytest.raises(InputError, match="1e\\+200 squared overflows"):
        Step.create(**big)
    assert Step.create(**big, curvature=1.0).radius == 1e200


@given(
    st.fixed_dictionaries(
        {
            name: st.recursive(
                st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
                lambda inner: st.lists(inner, max_size=3),
                max_leaves=8,
            )
            for name in ("weights", "features", "labels", "step_size")
        }
    )
)
@settings(max_examples=50)
def test_nonsense_raises_input_error_alone(values):
    """Any other exception fails the test."""
    for name, instance in INSTANCES.items():
        taken = dict(zip(instance, values.values(), strict=False))  # the first fields
        try:
            kind_of(name).create(**(instance | taken))
        except InputError as error:
            message = str(error)
        else:
            message = ""
        assert "\n" not in message


# ---------------------------------------------------------------------------------------------------------------------
# Saved, selected, converted


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("seed", range(4))
def test_round_trip_through_json_is_exact(name, seed):
    batch = sampled(name, seed)
    for i in range(0, len(batch), 5):
        one = batch.take(i)
        text = json.dumps(one.to_dict(), allow_nan=False)
        same_values(type(batch).from_dict(json.loads(text)), one)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(rows=st.lists(finite, min_size=6, max_size=6), eta=finite, lam=finite)
def test_every_float_survives_the_round_trip(rows, eta, lam):
    """Subnormals, negative zeros and the largest floats too."""
    values = STEP | {"weights": np.reshape(rows, (3, 2)), "step_size": eta, "weight_decay": lam}
    step = Step.create(**values)
    assert step.weights.ravel().tolist() == rows
    same_values(Step.from_dict(json.loads(json.dumps(step.to_dict()))), step)


def test_only_one_instance_is_saved():
    batch = sampled("step")
    with pytest.raises(ValueError, match="one instance, not 2"):
        batch.take([0, 1]).to_dict()


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize(
    "damage",
    [
        lambda d: None,
        lambda d: [d],
        lambda d: "text",
        lambda d: {},
        lambda d: {"domain": d["domain"]},
        lambda d: d | {"domain": "vector"},
        lambda d: d | {"domain": "run" if d["domain"] == "step" else "step"},
        lambda d: d | {"values": None},
        lambda d: d | {"values": list(d["values"])},
        lambda d: d | {"values": d["values"] | {"more": 1}},
        lambda d: d | {"values": d["values"] | {3: 1, "more": 1}},
        lambda d: d | {"values": dict(list(d["values"].items())[1:])},
        lambda d: d | {"values": dict(list(d["values"].items())[:-1])},
        lambda d: d | {"values": dict.fromkeys(d["values"])},
        lambda d: d | {"values": d["values"] | {last(d): None}},
        lambda d: d | {"values": d["values"] | {last(d): [[0.5]]}},
        lambda d: d | {"values": d["values"] | {last(d): [[1, 2], [3]]}},
        lambda d: d | {"values": d["values"] | {last(d): NAN}},
    ],
)
def test_a_damaged_dictionary_is_bad_input(name, damage):
    kind = kind_of(name)
    good = kind.create(**INSTANCES[name]).to_dict()
    same_values(kind.from_dict(json.loads(json.dumps(good))), kind.create(**INSTANCES[name]))
    with pytest.raises(InputError):
        kind.from_dict(damage(good))


def last(data):
    """The name of the last field."""
    return list(data["values"])[-1]


@pytest.mark.parametrize("name", DOMAINS)
def test_take(name):
    batch = sampled(name)
    last = len(batch) - 1
    for index in (0, 3, np.int64(3), -1, -2, last):
        one = batch.take(index)
        assert len(one) == 1
        for field, x in one.values.items():
            assert np.array_equal(x[0], batch.values[field][index])
    for index in (len(batch), -len(batch) - 1):
        with pytest.raises(IndexError):
            batch.take(index)
    chosen = np.arange(len(batch)) % 3 == 1
    some = batch.take(chosen)
    assert len(some) == chosen.sum()
    same_values(some, batch.take(np.flatnonzero(chosen)))
    same_values(batch.take(slice(2, 5)), batch.take([2, 3, 4]))
    assert len(batch.take([])) == 0
    balls = batch.to(B).take(1)
    assert {k: v.shape for k, v in balls.values.items()} == {
        k: v.shape for k, v in batch.take(1).values.items()
    }


@pytest.mark.parametrize("name", DOMAINS)
def test_conversion_to_balls_and_symbols_is_exact(name):
    batch = sampled(name, size=3, small=True)
    balls, symbols = batch.to(ball(30)), batch.to(SYMBOLIC)
    assert balls.ops is ball(30)
    for field, x in batch.values.items():
        if field in batch.INTEGERS:
            assert balls.values[field] is symbols.values[field] is x
            continue
        assert isinstance(balls.values[field], BallArray)
        assert not balls.values[field].radii().any()
        assert np.array_equal(balls.values[field].midpoints(), x)
        assert all(
            map(sympy.Rational.__eq__, map(sympy.Rational, x.flat), symbols.values[field].flat)
        )


@pytest.mark.parametrize("name", DOMAINS)
def test_sizes_are_those_of_the_axes(name):
    batch = sampled(name)
    assert set(batch.sizes) == {axis for axes in batch.AXES.values() for axis in axes}
    for field, x in batch.values.items():
        assert x.shape == (*batch.lead, *[batch.sizes[axis] for axis in batch.AXES[field]])
    assert set(batch.AXES) >= batch.INTEGERS


# ---------------------------------------------------------------------------------------------------------------------
# One entry of an axis left out


@pytest.mark.parametrize("name", DOMAINS)
def test_without_an_entry_of_an_axis(name):
    """Well formed again, with the other entries as they were, or None."""
    kind = kind_of(name)
    tried = dict.fromkeys(kind.LEAST, 0)
    axes = {axis for axes in kind.AXES.values() for axis in axes}
    for seed in range(5):
        batch = sampled(name, seed, 6)
        for i in range(len(batch)):
            one = batch.take(i)
            for axis in axes & set(kind.LEAST):
                first, least = kind.LEAST[axis]
                if one.sizes[axis] <= least:
                    continue
                for index in range(first, one.sizes[axis]):
                    smaller = one.without(axis, index)
                    if smaller is not None:
                        tried[axis] += 1
                        assert_left_out(one, smaller, axis, index)
    for axis in axes & set(kind.LEAST):
        assert tried[axis] > 10, axis
    assert axes - set(kind.LEAST) <= {"pair"}


def assert_left_out(one, smaller, axis, index):
    assert smaller.sizes == one.sizes | {axis: one.sizes[axis] - 1}
    for field, x in one.values.items():
        axes, y = one.AXES[field], smaller.values[field]
        rest = np.delete(x, index, 1 + axes.index(axis)) if axis in axes else x
        if field == "labels":
            assert np.array_equal(y < 2, rest < 2)  # the pair stays what it is
            kept = rest != index if axis == "K" else np.ones(rest.shape, bool)
            shift = (rest > index) if axis == "K" else 0
            assert np.array_equal(y[kept], (rest - shift)[kept])
        elif field == "example_weights":
            rows = y.reshape(-1, y.shape[-1]).tolist()
            assert all(sum(map(Fraction, row)) <= 1 for row in rows)
            assert np.abs(y.sum(axis=-1) - 1).max() < 1e-12
            assert np.array_equal(y == 0, rest == 0)
        elif field == "unseen":
            assert np.array_equal(y, x - (axis == "K" and index < x))
        else:
            assert np.array_equal(y, rest), field
    # What a witness file would hold can be read again.
    read = type(one).from_dict(json.loads(json.dumps(smaller.to_dict())))
    weights = smaller.values.get("example_weights")
    assert weights is None or np.allclose(read.example_weights, weights, 1e-12)


def test_what_cannot_be_left_out():
    step = Step.create(**(STEP | {"labels": [2, 2], "example_weights": [1.0, 0.0]}))
    assert step.without("N", 0) is None  # no batch weight would be left
    assert step.without("N", 1) is not None
    head = kind_of("head").create(
        **INSTANCES["head"] | {"weights": np.arange(8.0).reshape(4, 2), "unseen": 3}
    )
    assert head.without("K", 3) is None  # the only seen label
    assert head.without("K", 2).unseen.tolist() == [2]


# ---------------------------------------------------------------------------------------------------------------------
# One step


def test_a_step_by_hand():
    """The printed lemma's counterexample: n = 1, one example."""
    step = Step.create(
        weights=[[0.01], [-0.01], [-10]], features=[[2]], labels=[2], step_size=1, weight_decay=1.25
    )
    p = np.exp([0.02, -0.02, -20])
    p /= p.sum()
    mean = (p[0] - p[1]) / 0.04
    assert step.difference.tolist() == [[0.02]]
    assert step.logit_differences.tolist() == [[0.04]]
    np.testing.assert_allclose(step.means, [[mean]], 1e-13)
    np.testing.assert_allclose(step.trace, [4 * mean], 1e-13)
    np.testing.assert_allclose(step.operator, [[[4 * mean]]], 1e-13)
    np.testing.assert_allclose(step.next_difference, [[0.02 * (1 - 1.25 - 4 * mean)]], 1e-13)
    assert step.feature_norms.tolist() == [[2]]
    assert step.target_mass.tolist() == [0]
    assert Step.create(**(STEP | {"labels": [1, 0]})).target_mass.tolist() == [1]
    assert Step.create(**(STEP | {"labels": [2, 0]})).target_mass.tolist() == [0.75]


@pytest.mark.parametrize("seed", range(6))
def test_next_difference_is_the_difference_of_the_next_rows(seed):
    """In balls, on sampled steps of every magnitude; the pair are targets in some."""
    step = sampled("step", seed, 60).to(B)
    rows = step.next_weights[..., 0, :] - step.next_weights[..., 1, :]
    got = step.next_difference
    assert all(a.overlaps(b) for a, b in zip(got.balls.flat, rows.balls.flat, strict=True))


def test_next_difference_is_tight():
    step = Step.create(**STEP).to(B)
    for labels in ([[2, 2]], [[0, 1]]):
        step = Step(**(step.values | {"ops": B, "labels": np.array(labels)}))
        rows = step.next_weights[..., 0, :] - step.next_weights[..., 1, :]
        assert (step.next_difference - rows).radii().max() < 2.0**-110
        assert np.abs((step.next_difference - rows).midpoints()).max() < 2.0**-110


def test_next_difference_keeps_its_digits_for_close_rows():
    """A single step with rows 1e-9 apart: floats against balls, to the last few bits."""
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((4, 3))
    weights[0] = weights[1] + 1e-9 * rng.standard_normal(3)
    step = Step.create(
        weights=weights,
        features=rng.standard_normal((5, 3)),
        labels=[2, 3, 2, 3, 2],
        step_size=0.7,
        weight_decay=0.01,
    )
    exact = step.to(B).next_difference.midpoints()
    np.testing.assert_allclose(step.next_difference, exact, 1e-14)
    np.testing.assert_allclose(step.next_weights, step.to(B).next_weights.midpoints(), 1e-13, 1e-14)


def test_next_difference_keeps_the_digits_of_the_decay():
    """Where eta lam is near 1, ``D - eta lam D`` would lose the digits of ``c``; with no gradient ``D+`` is ``c D``."""
    values = STEP | {"features": [[0.0, 0.0]], "labels": [2], "example_weights": [1.0]}
    values |= {"weights": [[0.1, 1 / 3], [0, 0], [0, 0]], "step_size": 1.0}
    step = Step.create(**(values | {"weight_decay": 1 - 2.0**-30}))
    assert np.array_equal(step.next_difference, 2.0**-30 * step.difference)


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_a_step_of_a_batch_is_the_step_alone(seed):
    batch = sampled("step", seed, 5)
    with np.errstate(all="ignore"):
        together = batch.next_difference, batch.next_weights, batch.trace
        for i in range(len(batch)):
            one = batch.take(i)
            alone = one.next_difference, one.next_weights, one.trace
            for x, y in zip(together, alone, strict=True):
                np.testing.assert_allclose(x[i], y[0], 1e-9, 1e-9 * np.abs(x[i]).max())


# ---------------------------------------------------------------------------------------------------------------------
# A run


def close(got, expected, relative=1e-12):
    return np.abs(got - expected).max() <= relative * np.abs(expected).max()


@pytest.mark.parametrize("seed", range(3))
def test_a_run_equals_stepping_by_hand(seed):
    run = random_run(seed)
    assert len(run.steps) == 12
    weights, difference = run.weights, run.weights[:, 0] - run.weights[:, 1]
    for t, step in enumerate(run.steps):
        assert close(step.weights, weights)
        assert close(step.difference, difference)
        assert close(step.difference, step.weights[:, 0] - step.weights[:, 1])
        for name in ("features", "labels", "example_weights", *SCALARS):
            assert np.array_equal(step.values[name], run.values[name][:, t])
        alone = Step(ops=FLOAT, **(step.values | {"weights": weights}))
        weights, difference = alone.next_weights, alone.next_difference
    assert close(run.last_difference, difference)
    assert np.array_equal(run.first_difference, run.weights[:, 0] - run.weights[:, 1])


def test_a_run_equals_torch_sgd():
    run = random_run(7, steps=60)
    parameter = torch.tensor(run.weights[0], requires_grad=True)
    sgd = torch.optim.SGD([parameter], lr=1.0)
    for t, step in enumerate(run.steps):
        assert close(step.weights[0], parameter.detach().numpy())
        for group in sgd.param_groups:
            group["lr"] = float(run.step_size[0, t])
            group["weight_decay"] = float(run.weight_decay[0, t])
        sgd.zero_grad()
        losses = functional.cross_entropy(
            torch.tensor(run.features[0, t]) @ parameter.T,
            torch.tensor(run.labels[0, t]),
            reduction="none",
        )
        (losses * torch.tensor(run.example_weights[0, t])).sum().backward()
        sgd.step()
    rows = parameter.detach().numpy()
    assert np.abs(run.last_difference[0] - (rows[0] - rows[1])).max() <= 1e-12 * np.abs(rows).max()


@pytest.mark.parametrize("seed", range(3))
def test_the_difference_of_a_run_keeps_its_digits(seed):
    """``D_T`` shrunk to 1e-10 and less: floats agree with balls relative to ``D_T`` itself, not to the rows."""
    run = random_run(seed, steps=60)
    run = Run.create(
        **{k: v[0] for k, v in run.values.items()} | {"weight_decay": np.full(60, 0.9)}
    )
    exact = run.to(ball(256))
    assert np.abs(run.last_difference).max() < 1e-8 * np.abs(run.first_difference).max()
    assert close(run.last_difference, exact.last_difference.midpoints(), 1e-11)
    product = exact.ops.asarray(np.eye(4)[None])
    for step in exact.steps:  # D+ = (c - eta M) D
        matrix = (
            step.decay[..., None, None] * np.eye(4)
            - step.step_size[..., None, None] * step.operator
        )
        product = matrix @ product
    again = product @ exact.first_difference[..., None]
    assert all(
        x.overlaps(y)
        for x, y in zip(again.balls.flat, exact.last_difference.balls.flat, strict=True)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Symbols


def names(x):
    return [str(v) for v in np.asarray(x).flat]


def test_names_of_the_symbols_of_a_step():
    step = symbolic_step(labels=4, dim=2, examples=3)
    assert step.lead == ()
    assert step.weights.shape == (4, 2)
    assert names(step.weights)[:4] == ["w_0_0", "w_0_1", "w_1_0", "w_1_1"]
    assert names(step.features)[-1] == "x_2_1"
    assert names(step.example_weights) == ["a_0", "a_1", "a_2"]
    assert [names(getattr(step, s)) for s in SCALARS] == [["eta"], ["lam"], ["r"], ["pbar"], ["T"]]
    assert step.labels.tolist() == [3, 3, 3]
    assert all(v.is_real and v.is_positive is None for v in step.weights.flat)
    assert names(step.decay) == ["-eta*lam + 1"]
    assert names(step.difference) == ["w_0_0 - w_1_0", "w_0_1 - w_1_1"]


def test_names_of_the_symbols_of_a_run():
    run = symbolic_run(steps=2, labels=3, dim=1, examples=2)
    assert names(run.weights) == ["w_0_0", "w_1_0", "w_2_0"]
    assert names(run.features) == ["x_0_0_0", "x_0_1_0", "x_1_0_0", "x_1_1_0"]
    assert names(run.example_weights) == ["a_0_0", "a_0_1", "a_1_0", "a_1_1"]
    assert [names(getattr(run, s)) for s in SCALARS] == [
        [f"{s}_0", f"{s}_1"] for s in ("eta", "lam", "r", "pbar", "T")
    ]
    assert run.labels.tolist() == [[2, 2], [2, 2]]
    assert len(run.steps) == 2


INTEGER_VALUES = {"unseen": 2, "period": 1, "mask": (1, 0)}


@pytest.mark.parametrize("name", DOMAINS)
def test_symbolic_instances_of_every_domain(name):
    kind = kind_of(name)
    axes = {axis for axes in kind.AXES.values() for axis in axes}
    sizes = {k: v for k, v in {"K": 4, "n": 3, "N": 2, "T": 2, "S": 2}.items() if k in axes}
    integers = {k: v for k, v in INTEGER_VALUES.items() if k in kind.INTEGERS}
    one = symbolic(name, **sizes, **integers)
    assert type(one) is kind
    assert one.lead == ()
    assert one.ops is SYMBOLIC
    assert {k: v for k, v in one.sizes.items() if k != "pair"} == sizes
    found = []
    for field, x in one.values.items():
        assert x.shape == tuple(one.sizes[axis] for axis in kind.AXES[field])
        if field == "labels":
            assert (x == 3).all()
        elif field in kind.INTEGERS:
            assert np.array_equal(x, integers[field])
        else:
            assert isinstance(x, SymbolArray)
            symbol = kind.SYMBOLS.get(field, field)
            wanted = ["_".join([symbol, *map(str, i)]) for i in np.ndindex(x.shape)]
            assert names(x) == wanted
            assert all(v.is_real and v.is_positive is None for v in x.flat)
            found += wanted
    assert len(set(found)) == len(found)  # no symbol stands for two numbers


@pytest.mark.parametrize("name", DOMAINS)
def test_an_unknown_size_of_a_symbolic_instance_is_named(name):
    with pytest.raises(InputError, match=f"^{name}: size 'L' is unknown; sizes are"):
        symbolic(name, L=3)


def test_a_symbolic_step_at_numbers_is_the_step():
    symbolic, step = symbolic_step(labels=3, dim=2, examples=2), Step.create(**STEP)
    values = {
        s: v
        for name in step.values
        if name != "labels"
        for s, v in zip(symbolic.values[name].flat, step.values[name].flat, strict=True)
    }
    for name in ("next_difference", "next_weights", "trace", "feature_norms", "operator"):
        formula = np.asarray(getattr(symbolic, name))
        got = [float(f.subs(values)) for f in formula.flat]
        np.testing.assert_allclose(got, np.ravel(getattr(step, name)), 1e-10, err_msg=name)


def test_an_unknown_domain_is_named():
    assert domain("step").batch_type is Step
    assert domain("run").batch_type is Run
    with pytest.raises(InputError, match=r"'stop' is unknown.*did you mean 'step'"):
        domain("stop")
