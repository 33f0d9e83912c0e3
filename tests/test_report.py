"""The ledger for people: the tables say what the ledger says, the page stands alone and trusts nothing in the ledger."""

import copy
import re
import subprocess
import sys
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from collapse_theory import report
from collapse_theory.errors import InputError
from collapse_theory.examination import Status
from collapse_theory.examination.columns import UNDEFINED, UNKNOWN
from collapse_theory.examination.evidence import COLUMNS
from collapse_theory.instances import DOMAINS
from collapse_theory.report import _words as words
from collapse_theory.report._instances import describe, side
from collapse_theory.report._markup import formula, tag
from tests.ledgers import WITNESSES, lemma_witness, run_witness, small_ledger, small_runs

NASTY = "<script>alert('x')</script>&\"[bold]"


def printed(ledger, width, **options):
    out = StringIO()
    Console(file=out, width=width, _environ={}, **options).print(report.terminal_table(ledger))
    return out.getvalue()


# --------------------------------------------------------------------------------------- the tables


def test_plain_table():
    """The format, word for word."""
    assert report.plain_table(small_ledger()) == PLAIN


PLAIN = """\

 claim             formal      symbolic   enclosed       searched      tight     necessary      observed   verdict
 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 contraction       undecided   derived    enclosed       not           tight     partly         observed   not
                               14 lines   9,352 of 10k   falsified     ratio 1   necessary      in 4,800   falsified
                                                         in 1M                   1 of 4                    expected
 paper_lemma_4_1   undecided   derived    enclosed       refuted       tight     necessary      observed   refuted
                               14 lines   9,352 of 10k   in 1.11M      ratio 1                  in 4,800   expected
 trajectory        undecided   derived    enclosed       not           tight     partly         observed   not
                               14 lines   9,352 of 10k   falsified     ratio 1   necessary      in 4,800   falsified
                                                         in 1M                   1 of 4                    expected

derived: every line of a symbolic derivation checked; enclosed: no sampled instance violates it in ball arithmetic; not
falsified: no counterexample among so many instances; not a proof; refuted: a counterexample is confirmed in ball
arithmetic; tight: an instance reaches 0.999 of the bound; necessary: each hypothesis, left out, lets a counterexample
in, or leaves the sides undefined; partly necessary: so for some hypotheses, not known for others; observed: met in
recorded training runs; undecided: not settled; the reason is in the ledger.
collapse_theory 0.0.1, effort default, seed 7
"""


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_the_table_fits_and_says_the_same_at_every_width(width):
    text = printed(small_ledger(), width, color_system=None)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    flat = " ".join(text.split())
    for name in ("contraction", "paper_lemma_4_1", "trajectory"):
        assert name in flat
    for column in COLUMNS:
        assert column in flat


def test_a_long_name_is_broken_after_an_underscore_only():
    assert words.folded("soft_capping_unbounded") == "soft_capping_\nunbounded"
    assert words.folded("paper_lemma_4_1") == "paper_lemma_4_1"
    ledger = small_ledger()
    ledger["claims"][0]["id"] = "alignment_without_norms"
    text = report.plain_table(ledger)
    assert " alignment_ " in text
    assert " without_norms " in text
    assert " claim " in text.splitlines()[1]  # still the wide form


def test_an_identity_counts_what_is_consistent():
    ledger = small_ledger()
    ledger["claims"][0]["evidence"]["enclosed"] |= {"enclosed": 0, "consistent": 9350}
    assert words.figure(ledger["claims"][0], "enclosed") == "9,350 of 10k"


def test_a_hypothesis_that_gives_the_sides_a_meaning_is_necessary():
    ledger = small_ledger()
    found = ledger["claims"][0]["evidence"]["necessary"]["witnesses"]
    found |= {"unseen": UNKNOWN, "curvature": UNDEFINED}
    assert words.figure(ledger["claims"][0], "necessary") == "2 of 4"
    page = Page(report.html_page(ledger))
    assert UNDEFINED in page.words
    assert "not known to be necessary" in page.words


@pytest.mark.parametrize("width", [80, 120])
def test_no_word_is_broken(width):
    text = printed(small_ledger(), width, color_system=None)
    table = text[: text.index("derived: every line")]
    spoken = {word for status in Status for word in words.spoken(status).split()}
    assert {"falsified", "necessary", "partly", "undecided"} <= set(table.split())
    known = spoken | set(re.findall(r"[a-z_]+", PLAIN))
    assert set(re.findall(r"\b[a-z_]+\b", table)) <= known | {"claim", "evidence", "verdict"}


def test_colours_repeat_what_the_words_say():
    ledger = small_ledger()
    colourful = printed(ledger, 120, force_terminal=True, color_system="standard")
    assert "\x1b[" in colourful
    assert re.sub(r"\x1b\[[0-9;]*m", "", colourful) == printed(ledger, 120, color_system=None)


def test_what_was_not_gathered_is_a_dash():
    ledger = small_ledger()
    del ledger["claims"][0]["evidence"]["observed"]
    row = next(x for x in report.plain_table(ledger).splitlines() if x.startswith(" contraction"))
    assert " - " in row
    assert "-: not gathered" in report.plain_table(ledger)
    assert "-: not gathered" not in report.plain_table(small_ledger())


def test_what_is_not_as_expected_is_said():
    ledger = small_ledger()
    ledger["claims"][2]["unmet"] = ["called tight, but it is not"]
    text = report.plain_table(ledger)
    assert text.count("unexpected") == 1
    assert "called tight, but it is not" in report.html_page(ledger)


def test_square_brackets_are_no_markup():
    ledger = small_ledger()
    ledger["claims"][0]["id"] = "[red]claim[/]"
    assert "[red]claim[/]" in report.plain_table(ledger)


def test_every_status_has_words():
    assert {str(s) for s in Status} | {"-"} == set(words.MEANINGS)
    assert set(words.COLUMN_MEANINGS) == set(COLUMNS)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "1"), (0.99999999, "1 - 1e-8"), (0.5, "0.5"), ("inf", "inf"), (2.128123456, "2.12812")],
)
def test_a_ratio_just_below_one_is_not_shown_as_one(value, shown):
    assert words.ratio(value) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (9352, "9,352"), (10001, "10k"), (1000510, "1M"), (1105318, "1.11M")],
)
def test_counts_are_short(count, shown):
    assert words.short(count) == shown


def test_importing_reports_loads_neither_rich_nor_matplotlib():
    program = "import sys, collapse_theory.report; sys.exit(bool({'rich', 'matplotlib'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# ----------------------------------------------------------------------------------------- the page


class Page(HTMLParser):
    """What a browser would make of a page: elements with their attributes and text; unbalanced tags are an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        assert len(attributes) == len(dict(attributes)), f"an attribute twice in {name}"
        self.elements.append((name, dict(attributes)))
        if name not in ("meta", "br"):
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)

    def all(self, name):
        return [attributes for found, attributes in self.elements if found == name]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def text():
    return report.html_page(small_ledger(), runs=small_runs(), head=1)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_holds_every_claim_and_all_its_evidence(page):
    sections = {x.get("id") for x in page.all("section")}
    for entry in small_ledger()["claims"]:
        assert f"claim-{entry['id']}" in sections
        assert entry["title"] in page.words
        for piece in entry["evidence"].values():
            assert piece["reason"] in page.words
            assert words.spoken(piece["verdict"]) in page.words
        for hypothesis in entry["hypotheses"]:
            assert hypothesis in page.words
    links = {x["href"] for x in page.all("a")}
    assert links == {f"#claim-{entry['id']}" for entry in small_ledger()["claims"]}
    for value in ("3.11.7", "2.0.0", "30.5", "2026-01-02T03:04:05+00:00"):
        assert value in page.words


def test_the_page_stands_alone(text, page):
    assert not {"script", "link", "img", "iframe", "object", "base"} & {x for x, _ in page.elements}
    for _, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href"):
                assert value.startswith("#")
    assert "http" not in re.sub(r'http-equiv="', "", text)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    (policy,) = [x["content"] for x in page.all("meta") if "http-equiv" in x]
    assert policy.startswith("default-src 'none'")


def test_the_page_has_what_assistive_software_needs(page):
    (root,) = page.all("html")
    assert root["lang"] == "en-GB"
    assert len(page.all("h1")) == 1
    assert all(x.get("scope") in ("row", "col", "colgroup") for x in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    pictures = page.all("svg")
    assert all(x["role"] == "img" and x["aria-label"] for x in pictures)
    assert len(page.all("title")) == 1 + len(pictures)


def test_names_inside_the_pictures_are_unique_and_resolve(text, page):
    names = [x["id"] for _, x in page.elements if "id" in x]
    assert len(names) == len(set(names))
    used = {*re.findall(r'href="#([^"]+)"', text), *re.findall(r"url\(#([^)]+)\)", text)}
    assert used <= set(names)


def test_the_page_has_the_right_figures(page):
    labels = [x["aria-label"] for x in page.all("svg") if "viewbox" in x and "class" not in x]
    assert labels == [
        "Histogram of lhs/rhs for contraction",
        "Histogram of lhs/rhs for paper_lemma_4_1",
        "Counterexample to paper_lemma_4_1",
        "Histogram of lhs/rhs for trajectory",
        "Distance of the unseen rows over the observed run, with its bounds",
        "The three bounds T over the observed run",
    ]
    assert len(page.all("figcaption")) == len(labels)


def test_a_histogram_with_one_bar_is_not_drawn():
    """All ratios of an identity are 1: the picture would say nothing."""
    ledger = small_ledger()
    ledger["claims"][0]["evidence"]["searched"]["histogram"] = [0] * 49 + [1000]
    assert "Histogram of lhs/rhs for contraction" not in report.html_page(ledger)


def test_claims_stand_under_what_they_speak_of(page):
    known = {domain for domains in words.SUBJECTS.values() for domain in domains}
    assert known == set(DOMAINS)
    text = page.words
    places = [text.index(name) for name in ("One step contraction", "Runs trajectory")]
    assert places == sorted(places)
    stranger = small_ledger()
    stranger["claims"][0]["domain"] = "stairs"
    assert "Others" in Page(report.html_page(stranger)).words


def test_every_formula_of_the_claims_is_typeset(text):
    assert "<code" in text
    assert 'code class="formula"' not in text


def test_witnesses_can_be_read_and_checked(page):
    assert "rows u = 0.01, v = −0.01, w₃ = −10" in page.words
    assert "x = 2 with target w₃" in page.words
    assert "η = 1, λ = 1.25, r = 2, p̄ = 0.5" in page.words
    assert "rows u = (1, 0), v = (0, 1), w₃ = (0, 0)" in page.words
    assert "x₁ = (1, 0.5) with target w₃, weight 0.5" in page.words
    assert "step 2: x = 1 with target w₃" in page.words
    assert "not known to be necessary" in page.words


def test_nothing_in_the_ledger_is_taken_for_markup():
    ledger = small_ledger()
    for entry in ledger["claims"]:
        entry.update(title=NASTY, statement=NASTY, latex=NASTY, unmet=[NASTY])
        entry["hypotheses"] = {NASTY: NASTY}
        entry["evidence"]["formal"] = {"verdict": NASTY, "reason": NASTY, NASTY: {NASTY: [NASTY]}}
        entry["verdict"] = {"status": NASTY, "reason": NASTY}
        witness = copy.deepcopy(entry["evidence"]["searched"].get("witness"))
        entry["evidence"]["necessary"]["witnesses"] = {
            NASTY: witness or {"certificate": {"lhs": [NASTY]}}
        }
    ledger["claims"][0]["id"] = NASTY
    ledger["environment"][NASTY] = {NASTY: NASTY}
    page = Page(report.html_page(ledger))
    assert page.all("script") == []
    assert page.words.count(NASTY) > 30
    report.plain_table(ledger)


def test_a_witness_that_cannot_be_drawn_is_still_told():
    ledger = small_ledger()
    ledger["claims"][1]["evidence"]["searched"]["witness"]["revision"] = 99
    page = Page(report.html_page(ledger))
    assert "Counterexample to paper_lemma_4_1" not in {x.get("aria-label") for x in page.all("svg")}
    assert "written for revision 99" in page.words
    assert "rows u = 0.01" in page.words


def test_a_formula_that_cannot_be_typeset_is_shown_as_it_stands():
    assert formula(r"\nosuch{x}", "x") == r'<code class="formula">\nosuch{x}</code>'
    assert formula(r"\bigl(a \le b\bigr)", "a <= b").startswith("<svg ")


def test_an_unrecorded_head_is_refused():
    with pytest.raises(InputError, match="head 2 is not recorded"):
        report.html_page(small_ledger(), runs=small_runs(), head=2)


def test_the_page_is_the_same_text_each_time():
    assert report.html_page(small_ledger()) == report.html_page(small_ledger())


def test_a_ledger_of_nothing_is_still_a_page_and_a_table():
    empty = {**small_ledger(), "claims": []}
    Page(report.html_page(empty))
    assert "claim" in report.plain_table(empty)


# -------------------------------------------------------------------------------- instances in words


def test_instances_in_words():
    assert describe(lemma_witness().instance.to_dict()) == [
        "rows u = 0.01, v = −0.01, w₃ = −10",
        "x = 2 with target w₃",
        "η = 1, λ = 1.25, r = 2, p̄ = 0.5, T = 2",
    ]
    assert len(describe(run_witness().instance.to_dict())) == 4


@pytest.mark.parametrize("name", DOMAINS)
def test_an_instance_of_any_domain_is_told_by_its_fields(name):
    """Every number is shown, with a sign, unless the claim does not read it."""
    kind = DOMAINS[name].batch_type
    sizes = {"K": 3, "n": 2, "N": 2, "T": 2, "S": 2, "pair": 2}
    values, number = {}, iter(range(2, 900))
    for field, axes in kind.AXES.items():
        shape = [sizes[axis] for axis in axes]
        values[field] = np.reshape([next(number) for _ in range(int(np.prod(shape)))], shape)
    if "labels" in values:
        values["labels"][...] = 2
    values = {field: array.tolist() for field, array in values.items()}
    text = "\n".join(describe({"domain": name, "values": values}))
    shown = {int(x) for x in re.findall(r"(?<![\w₀-₉])\d+", text)}
    for field, numbers in values.items():
        if field != "labels":
            assert set(np.ravel(numbers).tolist()) <= shown, field
    assert all(len(line) < 160 for line in text.splitlines())
    scalar = next((f for f, axes in kind.AXES.items() if axes == ()), None)
    if scalar is not None:
        less = "\n".join(describe({"domain": name, "values": values}, unused=[scalar]))
        assert len(less) < len(text)


def test_the_words_for_witnesses_of_several_domains():
    assert describe(WITNESSES["staggered_reset"]().instance.to_dict()) == [
        "rows u = 0, v = 0.036, w₃ = 0",
        "step 0: x = 0 with target w₃; fresh u = 0, v = 0",
        "step 1: x = 0 with target w₃; fresh u = 0.02, v = 0",
        "η = 0.002, λ = 90, T = 0, d = 0.01, S = 1",
    ]
    row_clipping = WITNESSES["row_clipping"]()
    assert str(row_clipping).splitlines() == [
        "witness against row_clipping",
        "  rows u = (1, 0), v = (0, 0), w₃ = (0, 0)",
        "  x₁ = (0.1, 0.2) with target w₃, weight 0.5; x₂ = (0, −0.1) with target w₃, weight 0.5",
        "  η = 100, λ = 0, T = 0.013, C = 0.004",
    ]
    assert str(WITNESSES["indistinguishable"]()).startswith(
        "witness against indistinguishable without radius\n"
    )


@pytest.mark.parametrize(
    "instance", [{}, {"values": 3}, {"values": {"weights": 1, "features": 2, "labels": 3}}]
)
def test_an_instance_that_cannot_be_read_is_one_line(instance):
    (line,) = describe(instance)
    assert "see the ledger file" in line


def test_a_large_instance_is_described_by_its_sizes():
    values = lemma_witness().instance.to_dict()["values"]
    values["weights"] = [[0.0] * 20] * 5
    assert describe({"domain": "step", "values": values}) == [
        "K = 5, n = 20, 101 numbers; see the ledger file"
    ]


def test_enclosures_are_plain_numbers_where_they_are_sharp():
    enclosures = ["[1.73304360525 +/- 4.56e-12]", "0", "[0.5 +/- 0.25]", "odd"]
    assert side(enclosures) == ["1.73304", "0", "[0.5 +/- 0.25]", "odd"]
    assert side(None) == []


def test_elements_escape_what_is_put_into_them():
    assert tag("p", "a < b", tag("b", "&"), class_='"x"') == (
        '<p class="&quot;x&quot;">a &lt; b<b>&amp;</b></p>'
    )
