"""Steps and runs: what they accept, that they keep every bit, and that they move as torch does."""

import json

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from collapse_theory.arithmetic import FLOAT, SYMBOLIC, BallArray, ball
from collapse_theory.errors import InputError
from collapse_theory.instances import DOMAINS, Run, Step, domain, symbolic_run, symbolic_step

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


def sampled(name, seed=0, size=40, **options):
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


@pytest.mark.parametrize("kind", [Step, Run])
@pytest.mark.parametrize("name", ["weights", "features", "labels", "step_size", "weight_decay"])
def test_a_missing_field_is_named(kind, name):
    values = dict(STEP if kind is Step else RUN)
    del values[name]
    with pytest.raises(InputError, match=f"{name} is missing"):
        kind.create(**values)


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
    for kind in (Step, Run):
        try:
            kind.create(**(STEP | values))
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


@pytest.mark.parametrize("kind", [Step, Run])
@pytest.mark.parametrize(
    "damage",
    [
        lambda d: None,
        lambda d: [d],
        lambda d: "text",
        lambda d: {},
        lambda d: {"domain": d["domain"]},
        lambda d: d | {"domain": "vectors"},
        lambda d: d | {"domain": "run" if d["domain"] == "step" else "step"},
        lambda d: d | {"values": None},
        lambda d: d | {"values": list(d["values"])},
        lambda d: d | {"values": d["values"] | {"more": 1}},
        lambda d: d | {"values": d["values"] | {3: 1, "more": 1}},
        lambda d: d | {"values": {k: v for k, v in d["values"].items() if k != "pbar"}},
        lambda d: d | {"values": d["values"] | {"pbar": None}},
        lambda d: d | {"values": d["values"] | {"labels": [[0.5]]}},
        lambda d: d | {"values": d["values"] | {"weights": [[1, 2], [3]]}},
        lambda d: d | {"values": d["values"] | {"step_size": NAN}},
    ],
)
def test_a_damaged_dictionary_is_bad_input(kind, damage):
    good = kind.create(**(STEP if kind is Step else RUN)).to_dict()
    kind.from_dict(good)
    with pytest.raises(InputError):
        kind.from_dict(damage(good))


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
    assert batch.to(B).take(1).weights.shape == batch.take(1).weights.shape


@pytest.mark.parametrize("name", DOMAINS)
def test_conversion_to_balls_and_symbols_is_exact(name):
    batch = sampled(name, size=3, small=True)
    balls, symbols = batch.to(ball(30)), batch.to(SYMBOLIC)
    assert balls.ops is ball(30)
    for field, x in batch.values.items():
        if field == "labels":
            assert balls.labels is symbols.labels is x
            continue
        assert isinstance(balls.values[field], BallArray)
        assert not balls.values[field].radii().any()
        assert np.array_equal(balls.values[field].midpoints(), x)
        assert all(
            map(sympy.Rational.__eq__, map(sympy.Rational, x.flat), symbols.values[field].flat)
        )


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
