"""The generated parts of the documentation: written anew, or checked against what is committed.

    python -m docs.generate            write generated parts of README, claims, forecasts and studies; the witness schema
    python -m docs.generate --check    exit 1 if something is out of date, naming it
    python -m docs.generate --ledger results/ledger.json    take over a new ledger to print
    python -m docs.generate --figures  draw the figures of README and transformers anew

Sources: the claims themselves, and docs/ledger.json, the ledger of `make verify` (default effort, seed 0).
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from collapse_theory import Claim, all_claims, claims, forecast
from collapse_theory.errors import InputError
from collapse_theory.examination.ledger import read_ledger
from collapse_theory.files import read_json, write_text
from collapse_theory.instances import DOMAINS
from docs.demo import shown
from proofs import rocq, symbolic
from proofs.rocq import bridge

ROOT = Path(__file__).resolve().parents[1]
LEDGER = ROOT / "docs" / "ledger.json"
WITNESS_SCHEMA = ROOT / "collapse_theory" / "examination" / "witness.schema.json"
FIGURES = ROOT / "docs" / "figures"
FORECASTS = ROOT / "docs" / "pages" / "forecast"
STUDIES = ROOT / "docs" / "pages" / "studies.md"
TRANSFORMERS = ROOT / "docs" / "pages" / "transformers.md"
RESULTS = ROOT / "simulations" / "results"
HEAD = 20
"""The digits run's head that the figures show: lam = 0.03 and a step size just within the condition."""


def claims_table() -> str:
    """One Markdown row for each claim."""
    rows = ["| claim | | we expect |", "| --- | --- | --- |"]
    for claim in all_claims().values():
        title = claim.title.replace("|", "\\|")
        rows.append(
            f"| [`{claim.id}`](docs/claims.md#{claim.id}) | {title} | {expectation(claim)} |"
        )
    return "\n".join(rows)


def expectation(claim: Claim) -> str:
    """What the claim's file says of it, in words."""
    if claim.expected == "refuted":
        return "refuted"
    return "holds, tight" if claim.tight else "holds"


def ledger_block() -> str:
    """The ledger in short: one row for each claim."""
    book = read_ledger(LEDGER)
    head = ("claim", "formal", "symbolic", "enclosed", "searched", "tight", "necessary", "observed")
    rows = ["| " + " | ".join((*head, "verdict")) + " |", "| --- " * (len(head) + 1) + "|"]
    for entry in book["claims"]:
        evidence = entry["evidence"]
        cells = [_cell(column, evidence[column]) for column in head[1:]]
        verdict = entry["verdict"]["status"].lower().replace("_", " ")
        rows.append("| " + " | ".join((f"`{entry['id']}`", *cells, f"**{verdict}**")) + " |")
    made = f"Effort {book['effort']}, seed {book['seed']}, {len(book['claims'])} claims."
    return "\n".join([*rows, "", made])


def _cell(column: str, piece: dict[str, Any]) -> str:
    """One piece of evidence in a word or a number."""
    status = piece["verdict"].lower().replace("_", " ")
    if status in ("undecided", "not applicable"):
        return {"undecided": "open", "not applicable": "n/a"}[status]
    if column == "symbolic":
        return f"{piece['lines']} lines"
    if column == "enclosed" and status == "enclosed":
        return f"{piece['enclosed'] + piece.get('consistent', 0):,}"
    if column == "searched" and status == "not falsified":
        return f"{piece['instances']:,}"
    if column == "tight":
        return f"{float(piece['worst_ratio']):.4f}"
    if column == "necessary" and "witnesses" in piece:
        found = piece["witnesses"].values()
        return f"{sum(w != 'not known necessary' for w in found)} of {len(found)}"
    if column == "observed" and status == "observed":
        return f"{piece['hypotheses_met']:,}"
    return status


def derivations_table() -> str:
    """What the derivation of each claim shows, from its module's first line."""
    rows = ["| claim | derived |", "| --- | --- |"]
    for name in symbolic.derivations():
        module = importlib.import_module(f"proofs.symbolic.{name}")
        first = (module.__doc__ or "").strip().splitlines()[0]
        said = first.partition(": ")[2] or first
        rows.append(f"| `{name}` | {said.replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def forecast_of(name: str) -> str:
    """The command for one of the example setups, and what it prints."""
    from collapse_theory.forecast import read_config

    file = FORECASTS / f"{name}.json"
    command = f"$ collapse-theory forecast {file.relative_to(ROOT).as_posix()}"
    return f"```text\n{command}\n{forecast(read_config(file))}"


def theorems_table() -> str:
    """Claim, theorems and file, from the Rocq sources."""
    stated = rocq.stated()
    rows = ["| claim | theorems | file |", "| --- | --- | --- |"]
    for claim in sorted(all_claims()):
        if claim in stated:
            names = [n for n in (claim, f"{claim}_mended") if n in stated]
            shown = ", ".join(f"`{name}`" for name in names)
            file = stated[claim][0]
            rows.append(f"| `{claim}` | {shown} | [{file}](rocq/{file}) |")
    return "\n".join(rows)


def studies_page() -> str:
    """docs/pages/studies.md with the tables of the studies whose results are shipped."""
    from simulations import plateau_views, stdlib_bytes_views

    rows = plateau_views.read((RESULTS / "plateau.csv").read_text(encoding="utf-8"))
    facts = read_json(RESULTS / "stdlib_bytes.json")
    text = STUDIES.read_text(encoding="utf-8")
    text = filled(text, "stdlib_bytes", stdlib_bytes_views.table(facts))
    return filled(text, "plateau", plateau_views.table(rows))


def transformers_page() -> str:
    """docs/pages/transformers.md with the tables and verdicts of the studies whose runs are shipped."""
    from simulations.transformers import pages

    text = TRANSFORMERS.read_text(encoding="utf-8")
    for name, block in pages.blocks(pages.load()).items():
        text = filled(text, name, block)
    return text


def claims_page() -> str:
    """docs/claims.md: every claim with its hypotheses, formulas and source."""
    parts = [
        "# The claims",
        "Generated from `collapse_theory/claims/` by `python -m docs.generate`. Words and symbols: "
        "K labels with weight rows `w_k`, examples `x_i` with batch weights `a_i`, step size `eta`, "
        "weight decay `lam`; for an unseen pair `u, v`: `D = w_u - w_v`, "
        "`L_i` the logarithmic mean of `p_u(x_i)` and `p_v(x_i)`, "
        "`M = sum a_i L_i x_i x_i^T`, `c = 1 - eta lam`.",
    ]
    for claim in all_claims().values():
        parts.append(f"## {claim.id}\n\n{claim.title}.")
        parts.append(f"$${claim.latex}$$")
        if claim.hypotheses:
            lines = [f"- `{h.id}`: ${h.latex}$" for h in claim.hypotheses]
            parts.append("Hypotheses:\n\n" + "\n".join(lines))
        if claim.missing:
            lines = [f"- `{h.id}`: ${h.latex}$" for h in claim.missing]
            parts.append("Missing, and enough to mend it:\n\n" + "\n".join(lines))
        if claim.corollary:
            parts.append(claim.corollary)
        parts.append(
            f"About a {claim.domain}; we expect: {expectation(claim)}. {claim.source}\n"
            + sources(claim)
        )
    return "\n\n".join(parts) + "\n"


def module_of(claim: Claim) -> ModuleType:
    """The module whose file states the claim; a file may state several."""
    for info in pkgutil.iter_modules(claims.__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"{claims.__name__}.{info.name}")
            if claim in (getattr(module, "CLAIMS", None) or (module.CLAIM,)):
                return module
    raise LookupError(claim.id)


def sources(claim: Claim) -> str:
    """Links to what the checkout holds of a claim."""
    places = {
        "Statement": Path(str(module_of(claim).__file__)).relative_to(ROOT).as_posix(),
        "Derivation": f"proofs/symbolic/{claim.id}.py",
    }
    if claim.id in rocq.stated():
        places["Rocq"] = f"proofs/rocq/{rocq.stated()[claim.id][0]}"
    links = [f"[{name}](../{path})" for name, path in places.items() if (ROOT / path).exists()]
    return ", ".join(links) + "."


def witness_schema() -> str:
    """The witness schema with the fields of every domain as its batch type has them."""
    schema = json.loads(WITNESS_SCHEMA.read_text(encoding="utf-8"))
    described = schema["$defs"]
    described["instance"]["properties"]["domain"]["enum"] = list(DOMAINS)
    described["instance"]["allOf"] = [
        {
            "if": {"properties": {"domain": {"const": name}}},
            "then": {"properties": {"values": {"$ref": f"#/$defs/{name}"}}},
        }
        for name in DOMAINS
    ]
    for name, where in DOMAINS.items():
        kind = where.batch_type
        fields = {
            field: _nested(len(axes), field in kind.INTEGERS) for field, axes in kind.AXES.items()
        }
        axes = "; ".join(
            f"{field} [{', '.join(names)}]" for field, names in kind.AXES.items() if names
        )
        described[name] = {
            "description": axes,
            "type": "object",
            "required": list(fields),
            "additionalProperties": False,
            "properties": fields,
        }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _nested(depth: int, whole: bool) -> dict[str, Any]:
    """Lists in lists of numbers."""
    if depth:
        return {"type": "array", "minItems": 1, "items": _nested(depth - 1, whole)}
    return {"type": "integer", "minimum": 0} if whole else {"type": "number"}


def filled(text: str, name: str, block: str) -> str:
    """``text`` with the part between the markers of ``name`` replaced."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    replaced, count = re.subn(pattern, lambda m: m[1] + block + "\n" + m[2], text, flags=re.DOTALL)
    if count != 1:
        raise InputError(
            f"the markers of {name} are missing in a README.md or a page; put them back"
        )
    return replaced


def documents() -> dict[Path, str]:
    """Every generated document and what it should say."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    text = filled(text, "claims", claims_table())
    text = filled(text, "ledger", ledger_block())
    text = filled(text, "forecast", forecast_of("sgd").partition("\n\nDecay or")[0] + "\n```")
    repaired = shown(
        "collapse-theory audit model",
        "collapse-theory repair model --out model-repaired",
        "collapse-theory audit model-repaired",
    )
    text = filled(text, "repair", repaired)
    page = FORECASTS.with_suffix(".md")
    forecasts = page.read_text(encoding="utf-8")
    for file in sorted(FORECASTS.glob("*.json")):
        forecasts = filled(forecasts, file.stem, f"{forecast_of(file.stem)}\n```")
    repairs = ROOT / "docs" / "pages" / "repair.md"
    proofs = ROOT / "proofs" / "README.md"
    proved = filled(proofs.read_text(encoding="utf-8"), "derivations", derivations_table())
    return {
        readme: text,
        page: forecasts,
        repairs: filled(repairs.read_text(encoding="utf-8"), "repair", repaired),
        STUDIES: studies_page(),
        TRANSFORMERS: transformers_page(),
        proofs: filled(filled(proved, "rocq", theorems_table()), "compared", bridge.table()),
        ROOT / "docs" / "claims.md": claims_page(),
        WITNESS_SCHEMA: witness_schema(),
    }


def draw_figures() -> None:
    """The README's figures, from the digits run and from the printed lemma's witness; those of the transformers' page."""
    from collapse_theory import falsify, get_claim, plots
    from simulations.digits import digits_runs
    from simulations.transformers import pages

    pages.figures(pages.load(), FIGURES)

    build = ROOT / "build"
    digits_runs(seed=0, steps=200).save(build / "digits.npz")
    plots.plot("shrinkage", build / "digits.npz", FIGURES / "shrinkage.svg", head=HEAD)
    plots.plot("curvatures", build / "digits.npz", FIGURES / "curvatures.svg", head=HEAD)
    lemma, contraction = get_claim("paper_lemma_4_1"), get_claim("contraction")
    for kind, claim, dropped in (
        ("counterexample", lemma, None),
        ("one_step", contraction.drop("step_size"), "step_size"),
    ):
        witness = falsify(claim, dropped=dropped).witness
        if witness is None:
            raise RuntimeError(f"no witness against {claim.id}")
        witness.save(build / f"{kind}.json")
        plots.plot(kind, build / f"{kind}.json", FIGURES / f"{kind}.svg")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--ledger", metavar="PATH")
    parser.add_argument("--figures", action="store_true")
    options = parser.parse_args()
    if options.ledger:
        write_text(LEDGER, json.dumps(read_ledger(options.ledger), indent=1) + "\n")
    if options.figures:
        draw_figures()
    stale = []
    for path, text in documents().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT))
        if not options.check:
            write_text(path, text)
    for path in stale:
        print(f"{path}: {'out of date; run: make docs' if options.check else 'written'}")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
