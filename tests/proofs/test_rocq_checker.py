"""What coqchk says of the compiled proofs is read in full, and nothing unproved passes."""

import pytest

from proofs import rocq
from proofs.rocq import checker

SUMMARY = """
CONTEXT SUMMARY
===============

* Theory: Set is predicative

* Axioms:
    Coq.Logic.Classical_Prop.classic
    Coq.Logic.FunctionalExtensionality.functional_extensionality_dep
    Coq.Reals.ClassicalDedekindReals.sig_forall_dec
    Coq.Reals.ClassicalDedekindReals.sig_not_dec

* Constants/Inductives relying on type-in-type: <none>

* Constants/Inductives relying on unsafe (co)fixpoints: <none>

* Inductives whose positivity is assumed: <none>

"""
LAST = "    Coq.Reals.ClassicalDedekindReals.sig_not_dec\n"


def test_the_axioms_are_read():
    assert len(checker.summary(SUMMARY)) == len(rocq.ALLOWED)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (LAST, f"{LAST}    Collapse.Sums.lie\n", r"the axioms Collapse\.Sums\.lie"),
        (LAST, f"{LAST}    Coq.Logic.Lie.lie\n", r"the axioms Coq\.Logic\.Lie\.lie"),
        (LAST, "", "does not list"),
        ("type-in-type: <none>", "type-in-type: Collapse.Sums.x", "type-in-type"),
        ("assumed: <none>", "assumed: Collapse.Sums.x", "positivity"),
        ("CONTEXT SUMMARY", "", "no summary"),
    ],
)
def test_what_is_not_trusted_is_refused(old, new, message):
    with pytest.raises(rocq.BuildError, match=message):
        checker.summary(SUMMARY.replace(old, new))


def test_without_coqchk_the_checker_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(checker.shutil, "which", lambda name: None)
    with pytest.raises(rocq.MissingCoq, match="apt-get install"):
        checker.check(tmp_path)
