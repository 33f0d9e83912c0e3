"""Claims in LaTeX: every claim can be exported, plain text is escaped, and the document compiles."""

import json
import re
import shutil
import subprocess

import pytest

from collapse_theory import all_claims, get_claim
from collapse_theory.cli import main
from collapse_theory.examination import checkout
from collapse_theory.report import latex_document, theorem, theorem_table
from collapse_theory.report._latex import escaped, pieces, prose, readable
from tests.ledgers import small_ledger

CLAIMS = all_claims()


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_every_claim_is_a_theorem_with_its_hypotheses_and_formula(claim):
    text = theorem(claim)
    refuted = claim.expected == "refuted"
    assert ("Refuted" in text or r"\begin{refuted}" in text) == refuted
    assert all(piece in text for piece in pieces(claim.latex))
    for hypothesis in (*claim.hypotheses, *claim.missing):
        assert hypothesis.latex in text
        assert escaped(hypothesis.id) in text
    for environment in re.findall(r"\\begin\{(\w+)\}", text):
        assert text.count(rf"\begin{{{environment}}}") == text.count(rf"\end{{{environment}}}")


def test_the_derivation_is_the_proof():
    claim = get_claim("contraction")
    derivation = checkout.derivation(claim)
    if derivation is None:
        pytest.skip("derivations are in a checkout only")
    text = theorem(claim, derivation)
    assert text.count(r"\tag{") == len(derivation.lines)
    assert "Cauchy-Schwarz" not in theorem(claim)
    assert all(readable(formula) in text for _, formula in derivation.formulas())


def test_without_a_derivation_the_text_says_where_it_is():
    shown = [line for line in theorem(get_claim("contraction")).splitlines() if line[:1] != "%"]
    assert "No derivation is at hand" in " ".join(shown)


def test_special_characters_are_escaped():
    plain = r"a_b ^c ~ 50% & #1 $x$ {y} \z <= > | "
    assert escaped(plain).count("\\") >= 12
    assert escaped("a_b") == r"a\_b"
    assert prose("x_i, `step_size` & more") == r"x\_i, \texttt{step\_size} \& more"


def test_statements_side_by_side_get_lines_of_their_own():
    assert pieces(r"a \le b") == [r"a \le b"]
    assert pieces(r"a, \qquad b = \frac{1}{2}") == ["a,", r"b = \frac{1}{2}"]
    assert pieces(r"\text{a \qquad b} \{ c \}") == [r"\text{a \qquad b} \{ c \}"]


def test_raised_indices_are_not_powers():
    assert readable(r"{w^{u}}_{t,j} + {x}_{i}") == r"w^{u}_{t,j} + {x}_{i}"
    assert readable(r"{D^{+}}_{j}^{2}") == r"(D^{+}_{j})^{2}"
    assert readable(r"{\tilde g^{u}}_{m}") == r"\tilde g^{u}_{m}"
    assert (
        readable(r"{\underline{g}^{u}}_{m}{\phi'^{u}}_{i}") == r"\underline{g}^{u}_{m}\phi'^{u}_{i}"
    )


def test_the_table_takes_its_verdicts_from_the_ledger():
    data = small_ledger()
    claims = [get_claim(entry["id"]) for entry in data["claims"]]
    text = theorem_table(claims, data)
    for entry in data["claims"]:
        assert entry["verdict"]["status"].lower().replace("_", " ") in text
    assert "not examined" not in text
    assert theorem_table(claims).count("not examined") == len(claims)


def test_the_command_writes_what_it_says(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "contraction", "--latex", "-o", "c.tex", "--json", "c.json"]) == 0
    text = (tmp_path / "c.tex").read_text(encoding="utf-8")
    assert r"\begin{theorem}" in text
    assert r"\documentclass" not in text
    assert json.loads((tmp_path / "c.json").read_text()) == {
        "claims": ["contraction"],
        "latex": text,
    }
    assert main(["export", "contraction", "cosine", "--standalone"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(r"\documentclass")
    assert shown.index("thm:contraction") < shown.index("thm:cosine")
    assert main(["export", "--all", "--table"]) == 0
    assert capsys.readouterr().out.count("not examined") == len(CLAIMS)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name claims, or give --all"),
        (["contraction", "--all"], "name claims, or give --all"),
        (["contractoin"], "did you mean 'contraction'"),
        (["contraction", "--ledger", "x.json"], "--ledger goes with --table"),
        (["contraction", "--table", "--ledger", "none.json"], "none.json"),
        (["contraction", "-o", "."], "is a folder"),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_the_document_compiles(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    claims = list(CLAIMS.values())
    theorems = "\n".join(theorem(claim, checkout.derivation(claim)) for claim in claims)
    (tmp_path / "all.tex").write_text(latex_document(theorems + theorem_table(claims)))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = done.stdout.decode(errors="replace")
    if "File `" in log and "not found" in log:
        pytest.skip("a LaTeX package is not installed")
    assert done.returncode == 0, log[-2000:]
    assert "Overfull" not in log
