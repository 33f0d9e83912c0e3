"""The site: every claim has a page that says what it says; the build has no warnings and loads nothing from elsewhere."""

import html
import importlib.util
import re

import pytest

from collapse_theory import Claim, all_claims, cli, strategies
from docs import reference, site
from docs.mathml import inline, mathml, on_page_content

CLAIMS = all_claims()
NEEDED = ("latex2mathml", "material", "mkdocs", "pymdownx")
absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
with_packages = pytest.mark.skipif(
    bool(absent), reason=f"run make site first: {absent} not installed"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every page as Markdown, by its name."""
    patch = pytest.MonkeyPatch()
    patch.setattr(site, "SOURCE", tmp_path_factory.mktemp("pages") / "site-src")
    site.write_pages()
    found = {
        path.relative_to(site.SOURCE).as_posix(): path.read_text(encoding="utf-8")
        for path in site.SOURCE.rglob("*.md")
    }
    patch.undo()
    return found


def plain(markdown):
    """Markdown with its entities and links read as text."""
    return html.unescape(re.sub(r"\[([^\]]+)\]\(\w+\.md\)", r"\1", markdown))


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_every_claim_has_a_page(pages, claim):
    text = plain(pages[f"claims/{claim.id}.md"])
    assert text.startswith(f"# {claim.id}\n\n{claim.title}.\n")
    for said in (claim.latex, claim.source, claim.corollary, *claim.parts):
        assert said in text
    for hypothesis in (*claim.hypotheses, *claim.missing):
        assert f"- `{hypothesis.id}`: ${hypothesis.latex}$" in text
    assert f'id="{claim.id}"' in text  # its Python
    assert "## In the ledger" in text
    assert f"]({claim.id}.md)" in pages["claims/index.md"]


def test_derivations_are_shown(pages):
    text = pages["claims/contraction.md"]
    assert "## Derivation" in text
    assert "**(1)**" in text
    assert "## Refutation" in pages["claims/paper_lemma_4_1.md"]


def test_a_claim_that_was_not_examined_says_so():
    claim = CLAIMS["contraction"]
    assert "Not examined yet" in site.claim_page(claim, None)
    row = {"verdict": "DERIVED", "reason": "a | b_c"}
    verdict = {"status": "NOT_FALSIFIED", "reason": "5 instances"}
    text = site.claim_page(claim, {"evidence": {"symbolic": row}, "verdict": verdict})
    assert "| symbolic | DERIVED | a &#124; b&#95;c |" in text
    assert "5 instances" in text
    assert "not falsified" in site.claims_index({"contraction": {"verdict": verdict}})


def test_commands_and_names_are_documented(pages, monkeypatch):
    for command in (
        "verify",
        "falsify",
        "simulate linear",
        "simulate sweep",
        "plot",
        "export",
        "forecast",
        "repair",
    ):
        assert re.search(rf"^##+ {command}$", pages["commands.md"], re.MULTILINE)
    monkeypatch.setenv("COLUMNS", reference.COLUMNS)
    assert cli.parser().format_help().rstrip() in pages["commands.md"]
    for name in (
        "Claim",
        "Claim.drop",
        "examine",
        "forecast",
        "TrainingSetup",
        "get_claim",
        *strategies.__all__,
    ):
        assert re.search(rf"^##+ {name}$", pages["api.md"], re.MULTILINE)
    assert "``" not in pages["api.md"].replace("```", "")
    assert ":class:" not in pages["api.md"]


def test_signatures_are_shown_as_one_writes_them():
    def short(a: "int", *, b: "Claim | None" = None) -> "str":
        return f"{a}{b}"

    assert reference.signature("f", short) == "f(a: int, *, b: Claim | None = None) -> str"
    assert reference.signature("Claim", Claim).startswith("Claim(\n    id: str,\n")


def test_sections_of_docstrings_become_lists():
    shown = reference.docstring("One.\n\nArgs:\n    a: first\n        more\n    b: second\n\nEnd.")
    assert shown == "One.\n\n**Args**\n\n- `a`: first\n  more\n- `b`: second\n\nEnd."


@with_packages
def test_formulas_become_mathml():
    assert "<math" in mathml(r"|D^+| \le (1 - \eta\lambda)\,|D|")
    assert "&#x02254;" in mathml("a := b")
    block = on_page_content(r'<div class="arithmatex">\[a \le b, \qquad c &lt; d\]</div>')
    assert block.count("<math") == 2
    assert on_page_content("<p>no formula</p>") == "<p>no formula</p>"


@with_packages
def test_words_in_a_formula_can_fold():
    shown = inline(r"y_i \notin \{u, v\} \text{ for all } i \quad (\text{each step})")
    assert re.sub(r"<math.*?</math>", "M", shown) == "M for all M (each step)"
    assert inline(r"\text{only words}") == "only words"
    assert inline(r"a_{\text{max}}").count("<math") == 1


HOOKS = [site.ROOT / "docs" / name for name in ("mathml.py", "navigation.py")]
