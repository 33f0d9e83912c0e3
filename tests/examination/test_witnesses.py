"""Witnesses: read as they were written, refused when damaged, and right by another way of computing."""

import copy
import json

import mpmath
import numpy as np
import pytest

from collapse_theory import InputError, Step, all_claims, falsify, get_claim
from collapse_theory.examination import Outcome, Witness, certify, read_witness
from collapse_theory.examination.evaluation import unused_fields
from collapse_theory.examination.shrink import complexity, shrink
from collapse_theory.files import write_json


@pytest.fixture(scope="module")
def lemma():
    return falsify(get_claim("paper_lemma_4_1")).witness


@pytest.fixture(scope="module")
def dropped():
    return falsify(get_claim("contraction").drop("step_size"), dropped="step_size").witness


# ------------------------------------------------------------------------------- there and back


def same(first, second):
    assert first.claim.id == second.claim.id
    assert first.dropped == second.dropped
    for name, array in first.instance.values.items():
        np.testing.assert_array_equal(array, second.instance.values[name])
        assert array.dtype == second.instance.values[name].dtype


def test_a_witness_is_read_as_it_was_written(lemma, dropped, tmp_path):
    for witness in (lemma, dropped):
        path = witness.save(tmp_path / "deep" / f"{witness.claim.id}.json")
        again = read_witness(path)
        same(witness, again)
        assert again.to_dict() == witness.to_dict()
        assert certify(again.claim, again.instance).outcome[0] == Outcome.VIOLATED
    assert read_witness(path).to_dict()["claim"] == "contraction"


def test_every_digit_survives(tmp_path):
    claim = get_claim("contraction").drop("step_size")
    odd = Step.create(
        weights=[[0.1 + 0.2], [-1e-300], [np.pi]],
        features=[[1 / 3]],
        labels=[2],
        step_size=5e-324,
        weight_decay=-1e300,
        radius=1 + 2**-52,
    )
    witness = Witness(claim, odd, "step_size")
    same(witness, read_witness(witness.save(tmp_path / "w.json")))


def test_the_certificate_says_what_balls_say(lemma):
    certificate = lemma.to_dict()["certificate"]
    assert set(certificate["margins"]) == {h.id for h in lemma.claim.hypotheses}
    left, right = (float(certificate[s][0].strip("[").split(" ")[0]) for s in ("lhs", "rhs"))
    assert left == pytest.approx(float(lemma.claim.lhs(lemma.instance)[0]), rel=1e-9)
    assert right == pytest.approx(float(lemma.claim.rhs(lemma.instance)[0]), rel=1e-9, abs=1e-12)
    assert left > right


# ----------------------------------------------------------------------------------- damaged files


def put(value, *path):
    def change(data):
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value

    return change


def lose(*path):
    def change(data):
        for step in path[:-1]:
            data = data[step]
        del data[path[-1]]

    return change


VALUES = ("instance", "values")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put(2, "schema"), "schema 2 is not understood; this version reads 1"),
        (lose("schema"), "schema None is not understood"),
        (put("ledger", "kind"), "not a witness"),
        (lose("kind"), "not a witness"),
        (put("no_such_claim", "claim"), "claim 'no_such_claim' is unknown"),
        (put(["contraction"], "claim"), "is unknown"),
        (lose("claim"), "is unknown"),
        (
            put(7, "revision"),
            "written for revision 7 of paper_lemma_4_1, which is now at revision 1",
        ),
        (lose("revision"), "written for revision None"),
        (put("nothing", "dropped"), "no hypothesis 'nothing'"),
        (put(3, "dropped"), "no hypothesis '3'"),
        (put("run", "instance", "domain"), "must be a step instance"),
        (put([], "instance"), "must be a step instance"),
        (lose("instance"), "must be a step instance"),
        (lose(*VALUES), "'values' is missing"),
        (put([], *VALUES), "'values' is missing"),
        (lose(*VALUES, "radius"), "radius"),
        (put(1.0, *VALUES, "colour"), "colour"),
        (put("one", *VALUES, "step_size"), "step_size: got 'one'"),
        (put(True, *VALUES, "step_size"), "step_size: got True"),
        (put(None, *VALUES, "step_size"), "step_size: got None"),
        (put([1.0], *VALUES, "step_size"), "step_size: got shape (1,)"),
        (put(1e400, *VALUES, "step_size"), "Infinity"),
        (put([[1.0], [2.0]], *VALUES, "weights"), "K = 2"),
        (put([[1.0], [2.0, 3.0], [4.0]], *VALUES, "weights"), "weights"),
        (put([], *VALUES, "weights"), "weights"),
        (put([3], *VALUES, "labels"), "labels: 3 is out of range; labels run from 0 to 2"),
        (put([-1], *VALUES, "labels"), "labels: -1 is out of range"),
        (put([2.0], *VALUES, "labels"), "labels: got 2.0, expected whole numbers"),
        (put([2, 2], *VALUES, "labels"), "labels: axis N has 2 entries"),
        (put([0.5], *VALUES, "example_weights"), "sum 0.5; batch weights must sum to 1"),
    ],
)
def test_a_damaged_witness_is_refused(lemma, tmp_path, change, says):
    data = copy.deepcopy(lemma.to_dict())
    change(data)
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    refused(path, says)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused(lemma, tmp_path, text):
    data = copy.deepcopy(lemma.to_dict())
    data["instance"]["values"]["weights"][0][0] = "HERE"
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(data).replace('"HERE"', text), encoding="utf-8")
    refused(path, text)


@pytest.mark.parametrize("kept", [0, 1, 40, 0.5, -2])
def test_a_cut_witness_is_refused(lemma, tmp_path, kept):
    path = lemma.save(tmp_path / "witness.json")
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    refused(path, "not valid JSON")


def test_a_missing_witness_is_refused(tmp_path):
    refused(tmp_path / "none.json", "no such file")
    refused(tmp_path, "cannot be read")


def refused(path, says):
    with pytest.raises(InputError) as caught:
        read_witness(path)
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert str(path) in message


# ----------------------------------------------------------------- right by another way of computing


def independent(instance):
    """|D+|, |D|, L_i and tr M of a step at 50 digits by the formulas of a textbook, nothing of the library's."""
    v = {name: np.asarray(array)[0] for name, array in instance.values.items()}
    number = np.vectorize(lambda x: mpmath.mpf(float(x)), otypes=[object])
    rows, features, weights = (number(v[n]) for n in ("weights", "features", "example_weights"))
    eta, lam = mpmath.mpf(float(v["step_size"])), mpmath.mpf(float(v["weight_decay"]))
    gradient = np.full(rows.shape, mpmath.mpf(0), dtype=object)
    means, trace = [], mpmath.mpf(0)
    for x, y, a in zip(features, v["labels"], weights, strict=True):
        exps = [mpmath.exp(mpmath.fsum(w * x)) for w in rows]
        p = [e / mpmath.fsum(exps) for e in exps]
        for k in range(len(rows)):
            gradient[k] += a * (p[k] - (k == y)) * x
        mean = p[0] if p[0] == p[1] else (p[0] - p[1]) / (mpmath.log(p[0]) - mpmath.log(p[1]))
        means.append(mean)
        trace += a * mean * mpmath.fsum(x * x)
    after = rows - eta * (gradient + lam * rows)

    def length(x):
        return mpmath.sqrt(mpmath.fsum(x * x))

    norms = [length(x) for x in features]
    seen = mpmath.fsum(a for a, y in zip(weights, v["labels"], strict=True) if y in (0, 1))
    bounds = {name: mpmath.mpf(float(v[name])) for name in ("radius", "pbar", "curvature")}
    margins = {
        "unseen": -seen,
        "nonnegative_step": eta,
        "curvature": bounds["curvature"] - trace,
        "step_size": 2 - eta * (2 * lam + bounds["curvature"]),
        "radius": bounds["radius"] - max(norms),
        "pbar": bounds["pbar"] - max(means),
    }
    sides = {
        "after": length(after[0] - after[1]),
        "before": length(rows[0] - rows[1]),
        "decay": 1 - eta * lam,
        "printed": 1 - eta * (lam - bounds["radius"] ** 2 * bounds["pbar"]),
    }
    return margins, sides


STEPS = [("paper_lemma_4_1", None)] + [
    ("contraction", h.id) for h in get_claim("contraction").hypotheses
]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("claim_id", "hypothesis"), STEPS)
def test_a_shrunk_witness_refutes_by_a_naive_computation(claim_id, hypothesis, seed):
    claim = get_claim(claim_id)
    claim = claim.drop(hypothesis) if hypothesis else claim
    witness = falsify(claim, seed=seed, dropped=hypothesis).witness
    with mpmath.workdps(50):
        margins, sides = independent(witness.instance)
        for h in claim.hypotheses:
            assert margins[h.id] >= 0, h.id
        if hypothesis:
            assert margins[hypothesis] < 0
        factor = sides["printed" if claim_id == "paper_lemma_4_1" else "decay"]
        assert sides["after"] > factor * sides["before"]


def test_the_naive_computation_can_fail():
    """On an instance that meets the claim it says so."""
    step = Step.create(
        weights=[[0.5, 1.0], [-0.25, 0.0], [1.0, 1.0]],
        features=[[1.0, 0.5]],
        labels=[2],
        step_size=0.25,
        weight_decay=0.125,
    )
    with mpmath.workdps(50):
        margins, sides = independent(step)
        assert all(margin >= 0 for margin in margins.values())
        assert sides["after"] <= sides["decay"] * sides["before"]
        assert float(sides["after"]) == pytest.approx(float(step.ops.norm(step.next_difference)[0]))


# ----------------------------------------------------------------------------------- of human size


def test_a_shrunk_witness_is_small(lemma, dropped):
    for witness in (lemma, dropped):
        values = witness.instance.values
        assert values["weights"].shape[1:] == (3, 1)
        assert values["features"].shape[1:] == (1, 1)
        for name, array in values.items():
            for x in np.ravel(array):
                assert len(f"{x:.15g}".strip("-").replace(".", "").strip("0")) <= 2, (name, x)


def test_shrinking_keeps_a_witness_and_makes_it_no_larger():
    claim = get_claim("contraction").drop("step_size")
    rng = np.random.default_rng(1)
    large = Step.create(
        weights=rng.normal(size=(5, 3)),
        features=rng.normal(size=(4, 3)),
        labels=[2, 3, 4, 2],
        step_size=50.0,
        weight_decay=0.1,
    )
    assert certify(claim, large).outcome[0] == Outcome.VIOLATED
    small = shrink(claim, large)
    assert certify(claim, small).outcome[0] == Outcome.VIOLATED
    assert complexity(small) < complexity(large) / 5
    assert small.values["weights"].shape == (1, 3, 1)


def test_fields_that_a_claim_does_not_read_are_told(dropped):
    assert set(unused_fields(dropped.claim, dropped.instance)) == {"radius", "pbar"}


def test_a_witness_of_a_run_replays(tmp_path):
    claim = all_claims()["trajectory"]
    for part in range(len(claim.parts)):
        twin = claim.scaled(0.999, part=part)
        witness = falsify(twin).witness
        again = claim.replace(rhs=twin.rhs)
        assert certify(again, witness.instance).outcome[0] == Outcome.VIOLATED
    path = write_json(tmp_path / "w.json", Witness(claim, witness.instance).to_dict())
    same(Witness(claim, witness.instance), read_witness(path))
