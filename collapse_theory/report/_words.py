"""What a ledger's statuses are called and mean, and a column of evidence in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..examination.columns import UNDEFINED, UNKNOWN
from ..examination.evidence import COLUMNS

Entry = Mapping[str, Any]

MISSING = "-"

MEANINGS = {
    "PROVED": "a machine-checked proof",
    "DERIVED": "every line of a symbolic derivation checked",
    "ENCLOSED": "no sampled instance violates it in ball arithmetic",
    "NOT_FALSIFIED": "no counterexample among so many instances; not a proof",
    "REFUTED": "a counterexample is confirmed in ball arithmetic",
    "TIGHT": "an instance reaches 0.999 of the bound",
    "LOOSE": "the best instance found stays below 0.999 of the bound",
    "NECESSARY": "each hypothesis, left out, lets a counterexample in, or leaves the sides undefined",
    "PARTLY_NECESSARY": "so for some hypotheses, not known for others",
    "OBSERVED": "met in recorded training runs",
    "UNDECIDED": "not settled; the reason is in the ledger",
    "NOT_APPLICABLE": "the column does not apply",
    MISSING: "not gathered",
}
"""Statuses in the order of the legend."""

COLUMN_MEANINGS = {
    "formal": "a machine-checked proof",
    "symbolic": "a derivation checked line by line",
    "enclosed": "sampled instances in ball arithmetic, so that rounding cannot fake the result",
    "searched": "sampling and optimisation of lhs/rhs over admissible instances",
    "tight": "how close an admissible instance comes to the bound",
    "necessary": "whether each hypothesis is needed",
    "observed": "recorded training runs on real data",
}

SUBJECTS = {
    "One step": ("step", "spectral_step"),
    "Losses and tricks": ("loss_step", "z_loss_step", "capped_step", "biased_step"),
    "Runs": ("run", "steady_run", "probe_run", "reset_run"),
    "Momentum": ("momentum_run",),
    "Adam and AdamW": ("adam_step", "adam_run", "preconditioned_step"),
    "Number formats": ("rounding",),
    "Probabilities, vectors, equilibria": ("head", "vectors", "equilibrium"),
}
"""What claims speak of, in the order of the page, and the domains of each."""

GOOD = frozenset(
    {"PROVED", "DERIVED", "ENCLOSED", "NOT_FALSIFIED", "TIGHT", "NECESSARY", "OBSERVED"}
)


def status(entry: Entry, column: str) -> str:
    """The status in a column of an entry, MISSING if there is none."""
    piece = entry.get("evidence", {}).get(column)
    return str(piece["verdict"]) if isinstance(piece, Mapping) and "verdict" in piece else MISSING


def verdict(entry: Entry) -> str:
    """The status of the entry as a whole."""
    return str(entry.get("verdict", {}).get("status", MISSING))


def spoken(word: str) -> str:
    """A status as words: lower case, blanks for underscores."""
    return word.lower().replace("_", " ")


def expectation(entry: Entry) -> str:
    """Whether the entry is as its claim says it should be."""
    return "unexpected" if entry.get("unmet") else "expected"


def tone(word: str) -> str:
    """good, bad, open or none: the colour of a status, always beside its word."""
    if word == "REFUTED":
        return "bad"
    if word in GOOD:
        return "good"
    return "none" if word in (MISSING, "NOT_APPLICABLE") else "open"


def figure(entry: Entry, column: str) -> str:
    """The number that matters most in a column, as short text; empty if there is none."""
    piece = entry.get("evidence", {}).get(column)
    if not isinstance(piece, Mapping):
        return ""
    if column == "symbolic":
        return f"{piece['lines']} lines" if "lines" in piece else ""
    if column == "enclosed":
        # No ball proves an identity: its instances are consistent, both sides equal to many bits.
        part = piece.get("refuted") or piece.get("enclosed") or piece.get("consistent")
        whole = piece.get("instances")
        if not isinstance(part, int) or not isinstance(whole, int):
            return ""
        return f"{short(part)} of {short(whole)}"
    if column == "searched":
        count = piece.get("instances")
        return f"in {short(count)}" if isinstance(count, int) else ""
    if column == "tight":
        return f"ratio {ratio(piece['worst_ratio'])}" if "worst_ratio" in piece else ""
    if column == "necessary":
        found = witnesses(piece)
        needed = sum(isinstance(w, Mapping) or w == UNDEFINED for w in found.values())
        return f"{needed} of {len(entry.get('hypotheses', found))}" if found else ""
    if column == "observed":
        met = piece.get("hypotheses_met")
        return f"in {short(met)}" if isinstance(met, int) and met else ""
    return ""


def witnesses(piece: Entry) -> dict[str, Entry | str]:
    """Necessity witnesses by hypothesis, or why there is none."""
    found = piece.get("witnesses", {})
    if not isinstance(found, Mapping):
        return {}
    return {
        str(name): w if isinstance(w, Mapping) else str(w or UNKNOWN) for name, w in found.items()
    }


def by_subject(ledger: Entry) -> dict[str, list[Entry]]:
    """The ledger's entries by what they speak of; each group in the ledger's own order."""
    groups: dict[str, list[Entry]] = {name: [] for name in (*SUBJECTS, "Others")}
    for entry in ledger["claims"]:
        found = (name for name, domains in SUBJECTS.items() if entry.get("domain") in domains)
        groups[next(found, "Others")].append(entry)
    return {name: entries for name, entries in groups.items() if entries}


def folded(name: str, most: int = 16) -> str:
    """A long name in lines of about ``most`` letters, broken after underscores only."""
    lines = [""]
    for piece in name.replace("_", "_ ").split():
        if lines[-1] and len(lines[-1]) + len(piece) > most:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def ratio(value: Any) -> str:
    """A ratio lhs/rhs; one just below 1 is not shown as 1."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    if 0.9999995 <= number < 1:
        return "1 - " + f"{1 - number:.0e}".replace("e-0", "e-")
    return f"{number:.6g}"


def short(count: int) -> str:
    """A count in at most five characters or so: 9,352, 101k, 1.01M."""
    if count < 10_000:
        return f"{count:,}"
    if count < 1_000_000:
        return f"{count / 1000:.3g}k"
    return f"{count / 1e6:.3g}M"


def statuses(ledger: Entry) -> Iterator[str]:
    """Statuses that occur in the ledger, in the order of MEANINGS."""
    seen = {status(e, c) for e in ledger["claims"] for c in COLUMNS} | {
        verdict(e) for e in ledger["claims"]
    }
    return (word for word in MEANINGS if word in seen)


def provenance(ledger: Entry) -> str:
    """Version, effort and seed, as one line: the same for the same ledger, whenever it was made."""
    environment = ledger.get("environment", {})
    version = environment.get("versions", {}).get("collapse_theory")
    parts = [f"collapse_theory {version}" if version else "collapse_theory"]
    for name in ("effort", "seed"):
        if name in ledger:
            parts.append(f"{name} {ledger[name]}")
    return ", ".join(parts)
