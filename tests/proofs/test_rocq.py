"""The Rocq proofs: they compile, rest on known axioms, say what the claims say, and nothing unproved passes for proved."""

import os
import shutil
from pathlib import Path

import pytest

from collapse_theory import all_claims, get_claim
from collapse_theory.examination import Status, checkout
from proofs import rocq
from proofs.rocq import compiler, source

CLAIMS = all_claims()
STATED = [name for name in CLAIMS if name in rocq.stated()]
needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None and not os.environ.get("CI"),
    reason="coqc is not installed; make proofs says how to get it",
)


@pytest.fixture(scope="module")
def theorems():
    return rocq.proofs()


@needs_coq
@pytest.mark.parametrize("name", STATED)
def test_a_theorem_has_the_hypotheses_of_its_claim(theorems, name):
    assert rocq.problems(CLAIMS[name], theorems) == []
    assert set(theorems[name].axioms) <= rocq.ALLOWED


@needs_coq
@pytest.mark.parametrize("name", STATED)
def test_the_ledger_has_it(name):
    evidence = checkout.formal(CLAIMS[name])
    refuted = CLAIMS[name].expected == "refuted"
    assert evidence.status is (Status.REFUTED if refuted else Status.PROVED)
    assert evidence.figures["theorem"] == name
    assert (source.SOURCES / evidence.figures["file"]).is_file()


@needs_coq
def test_a_claim_that_lacks_a_hypothesis_is_not_called_proved(theorems):
    claim = get_claim("contraction")
    fewer = claim.replace(hypotheses=claim.hypotheses[1:])
    assert rocq.problems(fewer, theorems) == [
        "contraction has unseen, unlike the claim",
        "contraction_met has unseen, unlike the claim",
    ]
    assert checkout.formal(fewer).status is Status.UNDECIDED


@needs_coq
def test_a_claim_with_one_more_hypothesis_is_not_called_proved(theorems):
    claim = get_claim("contraction")
    more = claim.assume(get_claim("no_decay_nonexpansive").hypothesis("nonnegative_decay"))
    assert "contraction lacks nonnegative_decay, unlike the claim" in rocq.problems(more, theorems)


@needs_coq
def test_hypotheses_in_another_order_are_told(theorems):
    claim = get_claim("contraction")
    turned = claim.replace(hypotheses=claim.hypotheses[::-1])
    assert rocq.problems(turned, theorems)[0] == (
        "contraction has its hypotheses in another order, unlike the claim"
    )


@needs_coq
def test_a_claim_that_the_theorem_refutes_is_not_called_proved(theorems):
    lemma = get_claim("paper_lemma_4_1").replace(expected="holds", missing=())
    assert rocq.problems(lemma, theorems) == ["paper_lemma_4_1 refutes it"]
    contraction = get_claim("contraction").replace(expected="refuted")
    assert rocq.problems(contraction, theorems) == ["contraction does not refute it"]


@needs_coq
def test_another_claim_of_the_same_id_is_not_called_proved():
    evidence = checkout.formal(get_claim("contraction").scaled(0.5).replace(id="contraction"))
    assert evidence.status is Status.UNDECIDED
    assert evidence.reason == "the theorem is about the library's claim of this id"


@needs_coq
def test_a_theorem_without_an_instance_is_not_taken(theorems):
    fewer = {name: theorem for name, theorem in theorems.items() if name != "contraction_met"}
    assert rocq.problems(get_claim("contraction"), fewer) == [
        "no instance is shown to meet its hypotheses: there is no contraction_met"
    ]


@needs_coq
def test_a_refuted_claim_without_its_mended_form_is_not_taken(theorems):
    name = "paper_lemma_4_1_mended"
    fewer = {other: theorem for other, theorem in theorems.items() if other != name}
    assert rocq.problems(get_claim("paper_lemma_4_1"), fewer) == [f"there is no theorem {name}"]


# ---- nothing unproved passes for proved


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A checkout of its own, with the first source alone."""
    folder = tmp_path / "proofs" / "rocq"
    folder.mkdir(parents=True)
    for name in ("_CoqProject", "Sums.v"):
        shutil.copy(source.SOURCES / name, folder)
    monkeypatch.setattr(source, "SOURCES", folder)
    return folder


def add(folder: Path, text: str) -> None:
    (folder / "More.v").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "Theorem t : 1 = 2. Admitted.",
        "Theorem t : 1 = 2. Proof. admit. Qed.",
        "Axiom a : 1 = 2.",
        "Parameter p : nat.",
        "Conjecture c : 1 = 2.",
        "Unset Guard Checking.",
        "(* a (* nested *) comment *) Axioms a b : 1 = 2.",
    ],
)
def test_what_is_not_proved_is_found(sources, text):
    add(sources, text)
    assert len(source.untrusted(sources / "More.v")) == 1


def test_comments_may_say_anything(sources):
    add(
        sources,
        "(** No [Admitted], (* no *) Axiom. *)\nTheorem t : 1 = 1. Proof. reflexivity. Qed.",
    )
    assert source.untrusted(sources / "More.v") == []


@needs_coq
def test_an_admitted_proof_fails_the_build(sources):
    add(sources, "Theorem t : 1 = 2.\nAdmitted.\n")
    with pytest.raises(rocq.BuildError, match=r"More\.v, line 2: Admitted"):
        rocq.proofs()


@needs_coq
def test_a_false_proof_fails_the_build(sources):
    add(sources, "Theorem t : 1 = 2.\nProof. reflexivity. Qed.\n")
    with pytest.raises(rocq.BuildError, match="make fails"):
        rocq.proofs()


@needs_coq
def test_a_foreign_axiom_fails_the_build(sources):
    add(sources, "Variable lie : 1 = 2.\nTheorem t : 1 = 2.\nProof. exact lie. Qed.\n")
    with pytest.raises(rocq.BuildError, match=r"rest on More\.lie"):
        rocq.proofs()


def test_two_theorems_of_one_name_are_refused(sources):
    for name in ("One", "Two"):
        text = "Theorem t : 1 = 1.\nProof. reflexivity. Qed.\n"
        (sources / f"{name}.v").write_text(text, encoding="utf-8")
    with pytest.raises(rocq.BuildError, match=r"t is a theorem of One\.v and of Two\.v"):
        rocq.stated()


@needs_coq
def test_what_is_up_to_date_is_not_compiled_again(sources):
    add(sources, "Theorem t : 1 = 1.\nProof. reflexivity. Qed.\n")
    assert set(rocq.proofs()) == {"t"}
    compiled = sources.parents[1] / "build" / "rocq" / "More.vo"
    first = compiled.stat().st_mtime_ns
    assert set(rocq.proofs()) == {"t"}
    assert compiled.stat().st_mtime_ns == first
    (sources / "More.v").unlink()
    assert rocq.proofs() == {}


# ---- without coqc


def test_without_coqc_the_ledger_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    monkeypatch.setattr(checkout, "_theorems", rocq.proofs)
    evidence = checkout.formal(get_claim("contraction"))
    assert evidence.status is Status.UNDECIDED
    assert evidence.reason == f"coqc is not installed; on Debian: {compiler.INSTALL}"
    assert not evidence.figures


@needs_coq
def test_without_a_library_the_ledger_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "call", lambda command, folder: str(tmp_path))
    monkeypatch.setattr(checkout, "_theorems", rocq.proofs)
    evidence = checkout.formal(get_claim("contraction"))
    assert evidence.status is Status.UNDECIDED
    assert evidence.reason == f"Coquelicot is not installed; on Debian: {compiler.INSTALL}"
    assert not evidence.figures


def test_where_nothing_can_be_written_the_ledger_says_so(monkeypatch):
    def refuse():
        raise PermissionError(13, "Permission denied", "build/rocq")

    monkeypatch.setattr(checkout, "_theorems", refuse)
    evidence = checkout.formal(get_claim("contraction"))
    assert evidence.status is Status.UNDECIDED
    assert evidence.reason.startswith("the proofs cannot be compiled here: ")
    assert not evidence.figures


def test_the_command_says_how_to_get_coqc(monkeypatch, capsys):
    from proofs.rocq.__main__ import main

    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    assert main([]) == 2
    assert compiler.INSTALL in capsys.readouterr().err
