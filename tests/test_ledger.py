"""The ledger: what is in it, the schemas that describe it, and that a seed fixes it."""

import copy
import json
import math
from importlib import resources
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from referencing import Registry, Resource

from collapse_theory import InputError, Status, all_claims, get_claim
from collapse_theory.examination import COLUMNS, Effort, checkout, examine_all
from collapse_theory.examination.ledger import ledger, read_ledger, verify, write_ledger
from collapse_theory.instances import DOMAINS, Step

TINY = Effort(
    "quick", step=4000, run=200, enclosed=20, enclosed_runs=20, starts=2, copies=8, rounds=4
)
ROOT = Path(__file__).resolve().parents[1]
CLAIMS = tuple(
    get_claim(name)
    for name in (
        "contraction",
        "trajectory",
        "paper_lemma_4_1",
        "difference_recursion",
        "cosine",
        "alignment_without_norms",
    )
)
"""Of steps, runs and vectors; tight, refuted and mended; an identity; with a hypothesis that gives its sides a meaning."""


def schema(name: str) -> dict:
    """A schema as it ships with the package."""
    folder = resources.files("collapse_theory.examination")
    return json.loads(folder.joinpath(f"{name}.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def check():
    """Validate a ledger or a witness."""
    schemas = {name: schema(name) for name in ("ledger", "witness")}
    registry = Registry().with_resources(
        (s["$id"], Resource.from_contents(s)) for s in schemas.values()
    )

    def validate(name: str, data: dict) -> None:
        kind = jsonschema.Draft202012Validator
        kind.check_schema(schemas[name])
        kind(schemas[name], registry=registry).validate(data)

    return validate


@pytest.fixture(scope="module")
def results():
    return examine_all(CLAIMS, seed=3, effort=TINY)


@pytest.fixture
def nothing_observed(monkeypatch):
    """Derivations and observed runs take seconds and are tested where they are made."""
    monkeypatch.setattr(checkout, "root", lambda: None)


@pytest.fixture
def book(results, nothing_observed):
    whole = [
        r.adding(checkout.formal(r.claim), checkout.symbolic(r.claim), *_observed(r.claim))
        for r in results
    ]
    return ledger(whole, seed=3, effort="quick", seconds=1.25)


def _observed(claim):
    return checkout.observed([claim], seed=3, thorough=False)[0].values()


def outcome(data: dict) -> dict:
    """All of a ledger but times and versions."""
    return {name: value for name, value in data.items() if name != "environment"}


# ------------------------------------------------------------------------------ what is in a ledger


def test_every_claim_and_every_column_is_there(book):
    assert [entry["id"] for entry in book["claims"]] == [claim.id for claim in CLAIMS]
    for entry in book["claims"]:
        assert tuple(entry["evidence"]) == COLUMNS
        assert all(Status(piece["verdict"]) for piece in entry["evidence"].values())
    assert book["seed"] == 3
    assert book["environment"]["seconds"] == 1.2
    assert set(book["environment"]["versions"]) >= {"collapse_theory", "numpy", "python-flint"}


def test_outside_a_checkout_the_ledger_says_so(book):
    for entry in book["claims"]:
        for column in ("formal", "symbolic", "observed"):
            assert entry["evidence"][column]["verdict"] == "UNDECIDED"
            assert "in the source checkout only" in entry["evidence"][column]["reason"]
        assert entry["unmet"] == []  # what could not be gathered is not a failed expectation


def test_a_ledger_is_read_as_it_was_written(book, tmp_path):
    path = write_ledger(tmp_path / "deep" / "ledger.json", book)
    assert read_ledger(path) == book
    assert [p.name for p in path.parent.iterdir()] == ["ledger.json"]


# ---------------------------------------------------------------------------------------- the schema


def test_the_ledger_is_as_its_schema_says(book, check):
    check("ledger", json.loads(json.dumps(book, allow_nan=False)))


def test_the_printed_ledger_of_all_claims_is_as_its_schema_says(check):
    printed = json.loads((ROOT / "docs" / "ledger.json").read_text(encoding="utf-8"))
    check("ledger", printed)
    assert [entry["id"] for entry in printed["claims"]] == list(all_claims())


def test_every_witness_in_it_is_as_its_schema_says(book, check):
    found = 0
    for entry in book["claims"]:
        evidence = entry["evidence"]
        witnesses = [evidence["searched"].get("witness")]
        witnesses += evidence["necessary"].get("witnesses", {}).values()
        for witness in witnesses:
            if isinstance(witness, dict):
                check("witness", json.loads(json.dumps(witness)))
                found += 1
    assert found >= 9


def test_the_schemas_know_every_domain_and_its_fields():
    described = schema("witness")["$defs"]
    assert set(described["instance"]["properties"]["domain"]["enum"]) == set(DOMAINS)
    assert set(schema("ledger")["$defs"]["entry"]["properties"]["domain"]["enum"]) == set(DOMAINS)
    for name, domain in DOMAINS.items():
        fields = set(domain.batch_type.AXES)
        assert set(described[name]["properties"]) == set(described[name]["required"]) == fields


def test_the_schema_knows_every_column():
    described = schema("ledger")["$defs"]["entry"]["properties"]["evidence"]
    assert tuple(described["properties"]) == tuple(described["required"]) == COLUMNS
    statuses = set()
    for column in COLUMNS:
        statuses |= set(schema("ledger")["$defs"][column]["properties"]["verdict"]["enum"])
    assert statuses == set(Status)


def _set(value, *path):
    def change(data):
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value

    return change


def _drop(*path):
    def change(data):
        for step in path[:-1]:
            data = data[step]
        del data[path[-1]]

    return change


ENTRY = ("claims", 0)
EVIDENCE = (*ENTRY, "evidence")


@pytest.mark.parametrize(
    "change",
    [
        _set(2, "schema"),
        _set("witness", "kind"),
        _set(-1, "seed"),
        _set(1, "more"),
        _drop("environment", "created"),
        _set("yesterday", "environment", "created"),
        _drop(*ENTRY, "revision"),
        _set("two words", *ENTRY, "id"),
        _set("maybe", *ENTRY, "expected"),
        _set(True, *ENTRY, "verdict", "status"),
        _set("TIGHT", *ENTRY, "verdict", "status"),
        _drop(*EVIDENCE, "observed"),
        _set("PROVED", *EVIDENCE, "searched", "verdict"),
        _set("REFUTED", *EVIDENCE, "searched", "verdict"),  # without a witness
        _set(1, *EVIDENCE, "searched", "confirmed"),  # but not refuted
        _set("none", *EVIDENCE, "searched", "worst_ratio"),
        _set(-1, *EVIDENCE, "searched", "instances"),
        _set(1.5, *EVIDENCE, "tight", "worst_ratio"),
        _drop(*EVIDENCE, "tight", "attained"),
        _set(True, *EVIDENCE, "necessary", "witnesses", "unseen"),
        _drop(*EVIDENCE, "necessary", "witnesses", "unseen", "certificate"),
        _set([], *EVIDENCE, "necessary", "witnesses", "unseen", "instance", "values", "weights"),
    ],
)
def test_the_schema_refuses_another_ledger(book, check, change):
    changed = copy.deepcopy(book)
    change(changed)
    with pytest.raises(jsonschema.ValidationError):
        check("ledger", changed)


# -------------------------------------------------------------------------------------- damaged files


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set(2, "schema"), "schema 2 is not understood; this version reads 1"),
        (_set("witness", "kind"), "not a ledger file"),
        (_set(None, "claims"), "'claims' is not a list"),
        (_set({}, "claims"), "'claims' is not a list"),
        (_set("contraction", *ENTRY), "an entry of 'claims' lacks evidence or its verdict"),
        (_drop(*ENTRY, "verdict"), "an entry of 'claims' lacks evidence or its verdict"),
        (_drop(*EVIDENCE, "tight"), "an entry of 'claims' lacks evidence or its verdict"),
        (_drop(*EVIDENCE, "tight", "verdict"), "an entry of 'claims' lacks evidence"),
        (_set("TIGHT", *EVIDENCE, "tight"), "an entry of 'claims' lacks evidence"),
    ],
)
def test_a_damaged_ledger_is_refused(book, tmp_path, change, says):
    changed = copy.deepcopy(book)
    change(changed)
    refused(write_ledger(tmp_path / "ledger.json", changed), says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "not a ledger file"),
        (b"null", "not a ledger file"),
        (b'{"kind": "ledger", "schema": 1, "claims": [], "seed": NaN}', "NaN"),
    ],
)
def test_a_file_that_is_no_ledger_is_refused(tmp_path, content, says):
    path = tmp_path / "ledger.json"
    path.write_bytes(content)
    refused(path, says)


def test_a_cut_ledger_is_refused(book, tmp_path):
    path = write_ledger(tmp_path / "ledger.json", book)
    path.write_bytes(path.read_bytes()[:-100])
    refused(path, "not valid JSON")


def test_a_missing_ledger_is_refused(tmp_path):
    refused(tmp_path / "none.json", "no such file")


def refused(path, says):
    with pytest.raises(InputError) as caught:
        read_ledger(path)
    message = str(caught.value)
    assert says in message
    assert str(path) in message
    assert "\n" not in message


# --------------------------------------------------------------------------------- a seed fixes it


@pytest.mark.slow
def test_the_same_seed_gives_the_same_ledger(book, nothing_observed):
    again, _ = verify(CLAIMS, seed=3, effort=TINY)
    assert outcome(ledger(again, seed=3, effort="quick", seconds=9)) == outcome(book)


def test_two_workers_give_the_same_ledger(results):
    on_two = examine_all(CLAIMS, seed=3, effort=TINY, workers=2)
    assert [r.to_dict() for r in on_two] == [r.to_dict() for r in results]


def test_another_seed_gives_another_ledger(results):
    other = examine_all(CLAIMS[:1], seed=4, effort=TINY)[0].to_dict()
    same = results[0].to_dict()
    assert other["evidence"]["searched"]["histogram"] != same["evidence"]["searched"]["histogram"]


@pytest.mark.slow
def test_the_whole_ledger_is_the_same_on_two_workers(check):
    """With derivations and observed runs, where this is a checkout."""
    books = [
        ledger(
            verify(CLAIMS, seed=1, effort=TINY, workers=workers)[0],
            seed=1,
            effort="quick",
            seconds=0,
        )
        for workers in (1, 2)
    ]
    assert outcome(books[0]) == outcome(books[1])
    check("ledger", json.loads(json.dumps(books[0], allow_nan=False)))
    assert all(entry["unmet"] == [] for entry in books[0]["claims"])


def test_progress_is_told_and_ends_at_the_total(results):
    said: dict[str, tuple[int, int]] = {}

    def progress(what: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        assert done >= said.get(what, (0, 0))[0]
        said[what] = (done, total)

    examine_all(CLAIMS[:1], seed=3, effort=TINY, progress=progress)
    assert set(said) == {"searching: step", "enclosing in balls, blocks", "tightness and necessity"}
    assert all(done == total for done, total in said.values())


def test_two_claims_of_one_id_are_refused():
    claim = get_claim("contraction")
    with pytest.raises(InputError, match="two claims have one id"):
        examine_all([claim, claim.scaled(2).replace(id="contraction")], effort=TINY)


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True, None])
def test_a_useless_number_of_workers_is_refused(workers):
    with pytest.raises(InputError, match=r"workers: got .*, expected a whole number"):
        examine_all(CLAIMS[:1], effort=TINY, workers=workers)


# --------------------------------------------------------------------------- the column *observed*


class Observation:
    """What an observed run hands over."""

    def __init__(self, batch, name="a run"):
        self.batch, self.name, self.facts = batch, name, {"heads": 1}


def step(**changes):
    values = {
        "weights": [[0.5], [-0.5], [1.0]],
        "features": [[1.0]],
        "labels": [2],
        "step_size": 0.1,
        "weight_decay": 0.5,
    }
    return Step.create(**values | changes)


def test_recorded_steps_within_the_bound_are_observed():
    piece = checkout.observe(get_claim("contraction"), [Observation(step())])
    assert piece.status is Status.OBSERVED
    assert (piece.figures["instances"], piece.figures["above_bound"]) == (1, 0)
    assert 0 < piece.figures["worst_ratio"] <= 1


def test_recorded_steps_outside_the_hypotheses_show_nothing():
    piece = checkout.observe(get_claim("contraction"), [Observation(step(step_size=100.0))])
    assert piece.status is Status.UNDECIDED
    assert piece.figures["hypotheses_met"] == 0


def test_recorded_instances_of_another_domain_do_not_count():
    piece = checkout.observe(get_claim("trajectory"), [Observation(step())])
    assert piece.figures["instances"] == 0


def test_a_recorded_step_above_the_bound_refutes():
    claim = get_claim("contraction").scaled(0.5).replace(id="too_good", expected="holds")
    piece = checkout.observe(claim, [Observation(step(), "day"), Observation(step(), "night")])
    assert piece.status is Status.REFUTED
    assert piece.figures["above_bound"] == 2
    assert piece.figures["confirmed"] == {"run": "day", "index": 0}
    assert piece.figures["failed"]


def test_an_infinite_ratio_is_written_as_text():
    claim = get_claim("contraction").scaled(-1.0)
    piece = checkout.observe(claim, [Observation(step())])
    assert piece.figures["worst_ratio"] == "inf"
    assert math.isinf(float(piece.figures["worst_ratio"]))
    assert np.isfinite(piece.figures["above_bound"])


def test_a_claim_has_the_same_row_alone_and_in_company(results):
    for claim, together in zip(CLAIMS, results, strict=True):
        alone = examine_all([claim], seed=3, effort=TINY)[0]
        assert alone.to_dict() == together.to_dict()
