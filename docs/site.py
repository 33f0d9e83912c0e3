"""The documentation site: its theory pages are generated from the claims, their derivations and the printed ledger.

python -m docs.site            write the pages into build/site-src and build the site into build/site; warnings are errors
python -m docs.site --pages    write the pages alone
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collapse_theory import Claim, all_claims
from collapse_theory.examination.checkout import derivation
from collapse_theory.examination.ledger import read_ledger
from collapse_theory.report._latex import readable
from proofs import rocq

from .generate import FIGURES, LEDGER, expectation, module_of
from .reference import api_page, commands_page

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "build" / "site-src"


def claim_page(claim: Claim, entry: Mapping[str, Any] | None) -> str:
    """The page of a claim: formula, hypotheses, source; its row of the ledger; its derivation; its Python."""
    parts = [f"# {claim.id}", f"{_text(claim.title)}.", f"$$\n{claim.latex}\n$$"]
    if claim.parts:
        parts.append("Parts: " + ", ".join(f"`{part}`" for part in claim.parts) + ".")
    for title, hypotheses in (
        ("Hypotheses", claim.hypotheses),
        ("Missing, and enough to mend it", claim.missing),
    ):
        if hypotheses:
            lines = [f"- `{h.id}`: ${h.latex}$" for h in hypotheses]
            parts.append(f"## {title}\n\n" + "\n".join(lines))
    about = f"About: `{claim.domain}`. We expect: {expectation(claim)}. {_text(claim.source)}"
    parts += [_text(claim.corollary), about]
    parts.append(_ledger_rows(entry))
    if (FIGURES / f"{claim.id}.svg").is_file():
        parts.append(f"![{claim.title}](../figures/{claim.id}.svg)")
    parts += [_derivation(claim), _source(claim), _theorems(claim)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _text(plain: str) -> str:
    """Plain text, safe in Markdown and its tables; `names` stay code, and those of claims become links."""
    plain, *rest = re.split(r"`([^`]+)`", plain)
    shown = [_entities(plain)]
    for name, after in zip(rest[::2], rest[1::2], strict=True):
        code = f"`{name}`"
        shown += [f"[{code}]({name}.md)" if name in all_claims() else code, _entities(after)]
    return "".join(shown)


def _entities(plain: str) -> str:
    # A backslash would not do: Markdown knows it before some of these characters only.
    return re.sub(r"[^\w\s.,:;()/=+-]", lambda m: f"&#{ord(m[0])};", plain).replace("_", "&#95;")


def _ledger_rows(entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return "## In the ledger\n\nNot examined yet: the printed ledger has no row of it."
    rows = ["## In the ledger", "", "| column | verdict | |", "| --- | --- | --- |"]
    for column, piece in entry["evidence"].items():
        rows.append(f"| {column} | {_text(piece['verdict'])} | {_text(piece['reason'])} |")
    verdict = entry["verdict"]
    rows.append(f"| **verdict** | **{_text(verdict['status'])}** | {_text(verdict['reason'])} |")
    return "\n".join(rows)


def _derivation(claim: Claim) -> str:
    derived = derivation(claim)
    if derived is None:
        return ""
    name = "Refutation" if claim.expected == "refuted" else "Derivation"
    lines = [f"## {name}", "", _text(derived.sizes), ""]
    for number, (sentence, formula) in enumerate(derived.formulas(), start=1):
        lines += [f"**({number})** {sentence}", "", "$$", readable(formula), "$$", ""]
    return "\n".join(lines)


def _source(claim: Claim) -> str:
    module = module_of(claim)
    text = inspect.getsource(module)
    path = Path(inspect.getfile(module)).relative_to(ROOT)
    return f"## In Python\n\n`{path}`\n\n```python\n{text.rstrip()}\n```"


def _theorems(claim: Claim) -> str:
    """The Rocq statements that speak of a claim, as they stand in their file."""
    stated = rocq.stated()
    if claim.id not in stated:
        return ""
    names = [claim.id, f"{claim.id}_mended", f"{claim.id}_met"]
    file = stated[claim.id][0]
    there = [name for name in names if name in stated]
    defined = dict.fromkeys(text for name in there for text in rocq.hypotheses_of(name))
    texts = "\n\n".join([*defined, *(stated[name][1] for name in there)])
    return f"## In Rocq\n\n`proofs/rocq/{file}`\n\n```coq\n{texts}\n```"


def claims_index(entries: Mapping[str, Any]) -> str:
    """All claims in a table, with their verdicts where the printed ledger has them."""
    rows = [
        "# Claims",
        "",
        "| claim | statement | we expect | verdict |",
        "| --- | --- | --- | --- |",
    ]
    for claim in all_claims().values():
        name = claim.id.replace("_", "&#95;<wbr>")  # folds on narrow pages
        entry = entries.get(claim.id)
        status = entry["verdict"]["status"].lower().replace("_", " ") if entry else "not examined"
        cells = (f"[{name}]({claim.id}.md)", _text(claim.title), expectation(claim), status)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def write_pages() -> None:
    """Write every page of the site into build/site-src."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "pages", SOURCE)
    shutil.copytree(FIGURES, SOURCE / "figures")
    entries = {entry["id"]: entry for entry in read_ledger(LEDGER)["claims"]}
    pages = {
        "commands.md": commands_page(),
        "api.md": api_page(),
        "claims/index.md": claims_index(entries),
    }
    for claim in all_claims().values():
        pages[f"claims/{claim.id}.md"] = claim_page(claim, entries.get(claim.id))
    (SOURCE / "claims").mkdir()
    for name, text in pages.items():
        (SOURCE / name).write_text(text, encoding="utf-8")


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--pages", action="store_true")
    chosen = options.parse_args()
    write_pages()
    if chosen.pages:
        return 0
    # Not --quiet: it hides warnings from --strict, too. The variable silences an advertisement of the theme's.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
