"""A small ledger, witnesses and a recorded run for tests of figures and reports; all made in milliseconds."""

import numpy as np

from collapse_theory.claims import get_claim
from collapse_theory.examination import Witness, confirm
from collapse_theory.instances import Run, Step, domain
from collapse_theory.trajectories import LinearConfig, train_linear_heads


def lemma_step():
    """The printed lemma's counterexample with a positive right side: at eta 1 left 2.2497, right 1.7497."""
    return Step.create(
        weights=[[0.01], [-0.01], [-10.0]],
        features=[[2.0]],
        labels=[2],
        step_size=1.0,
        weight_decay=1.25,
        pbar=0.5,
    )


def lemma_witness():
    return checked(Witness(get_claim("paper_lemma_4_1"), lemma_step()))


def plane_witness():
    """Rows in the plane, a step far beyond the condition."""
    step = Step.create(
        weights=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
        features=[[1.0, 0.5], [0.0, 1.0]],
        labels=[2, 2],
        step_size=24.0,
        weight_decay=0.0,
        curvature=1.0,
    )
    return checked(Witness(get_claim("contraction").drop("step_size"), step, "step_size"))


def run_witness():
    """Three steps; T = 0 is no bound on tr M, so the lower product is too high."""
    steps = 3
    run = Run.create(
        weights=[[1.0], [0.0], [0.0]],
        features=[[[1.0]]] * steps,
        labels=[[2]] * steps,
        example_weights=[[1.0]] * steps,
        step_size=[1.0] * steps,
        weight_decay=[0.0] * steps,
        radius=[1.0] * steps,
        pbar=[0.5] * steps,
        curvature=[0.0] * steps,
    )
    return checked(Witness(get_claim("trajectory").drop("curvature"), run, "curvature"))


def witness_of(claim_id, dropped=None, **values):
    """A witness from its instance's values; fields that are left out are 0, or what leaves a trick out."""
    claim = get_claim(claim_id)
    kind = domain(claim.domain).batch_type
    examples = np.shape(values.get("labels", [2]))
    rest = dict.fromkeys(kind.AXES, 0.0) | {
        "labels": np.full(examples, 2).tolist(),
        "example_weights": np.ones(examples).tolist(),
        "pair_targets": np.zeros((*examples, 2)).tolist(),
        "mask": np.ones(examples, dtype=int).tolist(),
        **dict.fromkeys(("temperature", "scale", "clip"), 1.0),
    }
    known = {name: values.get(name, rest[name]) for name in kind.AXES}
    claim = claim if dropped is None else claim.drop(dropped)
    return checked(Witness(claim, kind.create(**known), dropped))


LINE = [[0.0], [-1.0], [0.0]]
WITNESSES = {
    "row_clipping": lambda: witness_of(
        "row_clipping",
        weights=[[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        features=[[0.1, 0.2], [0.0, -0.1]],
        labels=[2, 2],
        example_weights=[0.5, 0.5],
        step_size=100.0,
        curvature=0.013,
        clip=0.004,
    ),
    "undecayed_bias": lambda: witness_of(
        "undecayed_bias",
        weights=[[0.5], [-0.5], [0.0]],
        features=[[0.0]],
        step_size=1.0,
        weight_decay=0.2,
        curvature=1.0,
        biases=[0.0, 1.0, 8.0],
    ),
    "soft_capping": lambda: witness_of(
        "soft_capping_unbounded",
        weights=LINE,
        features=[[-0.5]],
        step_size=1.0,
        curvature=1.0,
        cap=0.5,
    ),
    "twins": lambda: witness_of(
        "twins",
        "twins",
        weights=LINE,
        features=[[1.0]],
        step_size=1.0,
        curvature=1.0,
        pair_targets=[[1.0, 0.0]],
    ),
    "label_smoothing": lambda: witness_of(
        "label_smoothing",
        "unseen",
        weights=[[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]],
        features=[[1.0, -0.5]],
        labels=[1],
        step_size=1.0,
        smoothing=0.5,
    ),
    "staggered_reset": lambda: witness_of(
        "staggered_reset",
        weights=[[0.0], [0.036], [0.0]],
        features=[[[0.0]], [[0.0]]],
        labels=[[2], [2]],
        fresh=[[[0.0], [0.0]], [[0.02], [0.0]]],
        step_size=0.002,
        weight_decay=90.0,
        distance=0.01,
        period=1,
    ),
    "alignment": lambda: witness_of(
        "alignment_without_norms",
        weights=[[1.0, 0.5], [-0.5, 1.0], [0.0, 0.0]],
        features=[[[0.0, 0.0]], [[0.0, 0.0]]],
        labels=[[2], [2]],
        step_size=[1.0, 1.0],
        weight_decay=0.3,
    ),
    "rare_labels": lambda: witness_of(
        "rare_labels_run",
        "curvature",
        weights=LINE,
        features=[[[1.0]], [[1.0]]],
        labels=[[2], [2]],
        step_size=[7.0, 0.5],
        weight_decay=0.1,
        radius=1.0,
    ),
    "indistinguishable": lambda: witness_of(
        "indistinguishable",
        "radius",
        weights=[[1.0], [0.0], [0.5], [2.0]],
        feature=[1.0],
        distance=1.0,
        unseen=3,
    ),
}
"""Witnesses of several domains by what they show, each made when it is called."""


def checked(witness):
    """The witness, if balls confirm it: a figure of a false one would show nothing."""
    assert confirm(witness.claim, witness.instance) is not None
    return witness


def small_runs(*, heads=2, labels=5, seen=2, steps=60, record_every=1):
    """Heads on random examples; the last ``seen`` labels are targets, the others unseen."""
    rng = np.random.default_rng(3)
    unseen = labels - seen
    return train_linear_heads(
        rng.normal(size=(heads, labels, 4)),
        rng.normal(size=(20, 4)),
        rng.integers(unseen, labels, size=20),
        config=LinearConfig(
            steps=steps,
            step_size=np.full((heads, 1), 0.2),
            weight_decay=0.05 * (1 + np.arange(heads))[:, None],
            record_every=record_every,
        ),
    )


def entry(claim_id, **columns):
    """A claim's entry, with the given columns of evidence; the other four are filled in."""
    claim = get_claim(claim_id)
    evidence = {
        "formal": {"verdict": "UNDECIDED", "reason": "no machine-checked proof yet"},
        "symbolic": {"verdict": "DERIVED", "reason": "14 lines checked", "lines": 14},
        "enclosed": {
            "verdict": "ENCLOSED",
            "reason": "9,352 enclosed",
            "instances": 10001,
            "enclosed": 9352,
            "refuted": 0,
        },
        "tight": {"verdict": "TIGHT", "reason": "the worst ratio reached is 1", "worst_ratio": 1.0},
        "observed": {"verdict": "OBSERVED", "reason": "4,800 steps", "hypotheses_met": 4800},
        **columns,
    }
    searched = evidence["searched"]
    return {
        "id": claim.id,
        "revision": claim.revision,
        "title": claim.title,
        "statement": claim.statement,
        "latex": claim.latex,
        "domain": claim.domain,
        "hypotheses": {h.id: h.latex for h in claim.hypotheses},
        "expected": claim.expected,
        "evidence": evidence,
        "verdict": {"status": searched["verdict"], "reason": searched["reason"]},
        "unmet": [],
    }


HISTOGRAM = [21047, *(int(900 * 1.09**k) for k in range(48)), 613090]


def small_ledger():
    """Three claims: one that stands, one that is refuted as expected, one about runs."""
    searched = {"reason": "", "drawn": 1257472, "histogram": HISTOGRAM}
    stands = {"verdict": "NOT_FALSIFIED", "instances": 1000510, "worst_ratio": 1.0}
    refuted = {"verdict": "REFUTED", "instances": 1105318, "worst_ratio": "inf"}
    lemma = {**searched, **refuted, "witness": lemma_witness().to_dict()}
    lemma["reason"] = "witness with K = 3, n = 1"
    entries = [
        entry(
            "contraction",
            searched=searched | stands,
            necessary=necessary({"step_size": plane_witness().to_dict(), "unseen": None}),
        ),
        entry(
            "paper_lemma_4_1",
            searched=lemma,
            necessary={"verdict": "NECESSARY", "reason": "missing: decay_at_most_one"},
        ),
        entry(
            "trajectory",
            searched=searched | stands,
            necessary=necessary({"curvature": run_witness().to_dict()}),
        ),
    ]
    return {
        "schema": 1,
        "kind": "ledger",
        "seed": 7,
        "effort": "default",
        "environment": {
            "python": "3.11.7",
            "platform": "Linux",
            "versions": {"collapse_theory": "0.0.1", "numpy": "2.0.0"},
            "created": "2026-01-02T03:04:05+00:00",
            "seconds": 30.5,
        },
        "claims": entries,
    }


def necessary(witnesses):
    return {"verdict": "PARTLY_NECESSARY", "reason": "some", "witnesses": witnesses}
