"""The ledger as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..examination.evidence import COLUMNS
from . import _words as words
from ._facts import facts, named
from ._histogram import histogram
from ._instances import describe, side
from ._markup import Content, Figures, Markup, document, formula, join, table, tag

if TYPE_CHECKING:
    from ..trajectories import LinearRuns

NO_WITNESS = {words.UNKNOWN: "not known to be necessary"}
"""Why a hypothesis has no witness, where the ledger's words do not stand well in a table."""


def html_page(ledger: Mapping[str, Any], *, runs: LinearRuns | None = None, head: int = 0) -> str:
    """The ledger as one HTML file: no scripts, nothing loaded from elsewhere, light and dark, readable on paper.

    For each claim: statement, verdict, hypotheses with the witnesses of their necessity, the columns of evidence with
    their figures, the histogram of ratios, and the counterexample of a refuted claim. ``runs`` adds the shrinkage of
    the recorded run's head number ``head`` to claims that have been observed.

    Raises :class:`InputError` if ``head`` is not a recorded head.
    """
    figures = Figures()
    names = ", ".join(str(entry["id"]) for entry in ledger["claims"])
    observed = _observed_run(figures, runs, head) if runs is not None else Markup("")
    body = [
        tag(
            "header",
            tag("h1", "The ledger"),
            tag(
                "p",
                words.provenance(ledger),
                ", ",
                str(ledger.get("environment", {}).get("created", "")),
            ),
        ),
        tag(
            "main",
            _summary(ledger),
            [_claim(e, figures) for group in words.by_subject(ledger).values() for e in group],
            observed,
            _environment(ledger),
        ),
    ]
    return document(f"collapse_theory: the ledger ({names})", body)


def _summary(ledger: Mapping[str, Any]) -> Markup:
    rows: list[list[Content]] = []
    for subject, entries in words.by_subject(ledger).items():
        rows.append([subject])
        for entry in entries:
            link = tag("a", str(entry["id"]), href=f"#claim-{entry['id']}")
            cells = [_status(words.status(entry, c), words.figure(entry, c)) for c in COLUMNS]
            rows.append([link, *cells, _verdict(entry)])
    legend = [
        [tag("dt", words.spoken(word)), tag("dd", words.MEANINGS[word])]
        for word in words.statuses(ledger)
    ]
    return tag(
        "section",
        table(
            ["claim", *COLUMNS, "verdict"],
            rows,
            caption="Every claim, every kind of evidence",
            class_="summary",
        ),
        tag("dl", legend, class_="legend"),
    )


def _status(word: str, below: str = "") -> Markup:
    shown = tag("span", words.spoken(word), class_=f"status {words.tone(word)}")
    return join([shown, tag("small", below)]) if below else shown


def _verdict(entry: Mapping[str, Any]) -> Markup:
    expected = tag(
        "small", words.expectation(entry), class_="unmet" if entry.get("unmet") else None
    )
    return join([_status(words.verdict(entry)), expected])


def _claim(entry: Mapping[str, Any], figures: Figures) -> Markup:
    statement = str(entry.get("statement") or "lhs <= rhs")
    shown = (
        formula(str(entry["latex"]), statement) if entry.get("latex") else tag("code", statement)
    )
    verdict = entry.get("verdict", {})
    unmet = [
        tag("p", "Not as expected: ", str(line), class_="unmet") for line in entry.get("unmet", ())
    ]
    return tag(
        "section",
        tag("h2", str(entry.get("title") or entry["id"])),
        tag(
            "p",
            tag("code", str(entry["id"])),
            f", revision {entry.get('revision', 1)}",
            class_="name",
        ),
        tag("p", shown, class_="statement"),
        tag("p", _verdict(entry), " ", str(verdict.get("reason", "")), class_="verdict"),
        unmet,
        _hypotheses(entry),
        _evidence(entry),
        tag("div", list(_pictures(entry, figures)), class_="figures"),
        id=f"claim-{entry['id']}",
    )


def _hypotheses(entry: Mapping[str, Any]) -> Markup:
    found = words.witnesses(entry.get("evidence", {}).get("necessary", {}))
    rows: list[list[Content]] = []
    for name, latex in entry.get("hypotheses", {}).items():
        row: list[Content] = [tag("code", str(name)), formula(str(latex), str(name))]
        witness = found.get(name, words.UNKNOWN)
        if isinstance(witness, Mapping):
            row += [
                _lines(describe(witness.get("instance", {}), unused=witness.get("unused", ()))),
                *_sides(witness),
            ]
        elif found:
            row += [NO_WITNESS.get(witness, witness), "", ""]
        rows.append(row)
    if not rows:
        return Markup("")
    head = ["hypothesis", "it says", *(["without it, refuted by", "lhs", "rhs"] if found else [])]
    return table(
        head,
        rows,
        caption="Hypotheses" + " and why each is there" * bool(found),
        class_="hypotheses",
    )


def _lines(lines: Iterable[str]) -> list[Markup]:
    return [tag("div", line) for line in lines if line]


def _sides(witness: Mapping[str, Any]) -> list[list[Markup]]:
    """Both sides of the claim, a line for each part."""
    certificate = witness.get("certificate", {})
    return [_lines(side(certificate.get(name))) for name in ("lhs", "rhs")]


def _evidence(entry: Mapping[str, Any]) -> Markup:
    rows: list[list[Content]] = []
    for column in COLUMNS:
        piece = entry.get("evidence", {}).get(column, {})
        word = words.status(entry, column)
        what = _lines([str(piece.get("reason", "")), *facts(piece)])
        label = [column, tag("small", words.COLUMN_MEANINGS[column])]
        rows.append([label, _status(word), what])
    return table(
        ["column", "status", "what was found"], rows, caption="Evidence", class_="evidence"
    )


def _pictures(entry: Mapping[str, Any], figures: Figures) -> Iterator[Markup]:
    from ..examination import Witness
    from ..plots import counterexample

    name, searched = entry["id"], entry.get("evidence", {}).get("searched", {})
    bars = histogram(entry)
    if bars is not None:
        yield bars
    if isinstance(searched.get("witness"), Mapping):
        witness = searched["witness"]
        left, right = (
            ", ".join(side(witness.get("certificate", {}).get(k))) for k in ("lhs", "rhs")
        )
        proof = (
            f"A counterexample to {name}: lhs = {left} is above rhs = {right}, in ball arithmetic."
        )
        caption = [
            proof,
            *_lines(describe(witness.get("instance", {}), unused=witness.get("unused", ()))),
        ]
        try:
            stored = Witness.from_dict(witness, where=str(name))
        except InputError as error:  # of another version or a claim not at hand: the numbers stand, without a picture
            yield tag("figure", tag("figcaption", caption, tag("div", str(error))))
        else:
            yield figures.draw(
                "counterexample",
                counterexample,
                stored,
                title=f"Counterexample to {name}",
                caption=caption,
            )


def _observed_run(figures: Figures, runs: LinearRuns, head: int) -> Markup:
    from ..plots import check_head, curvatures, shrinkage

    check_head(runs, head)
    eta, lam = float(runs.step_size[head, 0]), float(runs.weight_decay[head, 0])
    about = f"Head {head} of {runs.heads}, first step with η = {eta:.4g} and λ = {lam:.4g}."
    pictures = [
        figures.draw(
            "shrinkage",
            shrinkage,
            runs,
            head=head,
            title="Distance of the unseen rows over the observed run, with its bounds",
            caption=f"{about} Distance of every pair of unseen labels, relative to its start.",
        ),
        figures.draw(
            "curvatures",
            curvatures,
            runs,
            head=head,
            title="The three bounds T over the observed run",
            caption=f"{about} What serves as T: measured, from the loss alone, from the norm alone.",
        ),
    ]
    return tag(
        "section",
        tag("h2", "An observed run"),
        tag("div", pictures, class_="figures"),
        id="observed-run",
    )


def _environment(ledger: Mapping[str, Any]) -> Markup:
    known = {k: v for k, v in ledger.items() if k in ("seed", "effort")}
    rows: list[list[Content]] = []
    for key, value in {**known, **ledger.get("environment", {})}.items():
        if isinstance(value, Mapping):
            rows.extend([str(k), str(v)] for k, v in value.items())
        else:
            rows.append([named(key), str(value)])
    return tag(
        "section",
        tag("h2", "How it was made"),
        table(["what", "value"], rows, caption="Seed, effort, environment"),
    )
