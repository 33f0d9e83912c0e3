"""The documentation site: its theory pages are generated from the claims, their derivations and the printed ledger.

python -m docs.site            write the pages into build/site-src and build the site into build/site; warnings are errors
python -m docs.site --pages    write the pages alone
"""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import collapse_theory
from collapse_theory import Claim, all_claims
from collapse_theory.cli import parser
from collapse_theory.examination.checkout import derivation
from collapse_theory.examination.ledger import read_ledger

from .generate import FIGURES, LEDGER, expectation, module_of

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "build" / "site-src"


def claim_page(claim: Claim, entry: dict | None) -> str:
    """The page of a claim: formula, hypotheses, source; its row of the ledger; its derivation; its Python."""
    parts = [f"# {claim.id}", f"{claim.title}.", f"$$\n{claim.latex}\n$$"]
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
    parts += [_text(claim.corollary), about] if claim.corollary else [about]
    parts.append(_ledger_rows(entry))
    if (FIGURES / f"{claim.id}.svg").is_file():
        parts.append(f"![{claim.title}](../figures/{claim.id}.svg)")
    parts += [_derivation(claim), _source(claim)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _text(plain: str) -> str:
    """Plain text with formulas in typewriter, safe in Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|$^~])", r"\\\1", plain)


def _ledger_rows(entry: dict | None) -> str:
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
    lines = [f"## {name}", "", derived.sizes, ""]
    for number, (sentence, formula) in enumerate(derived.formulas(), start=1):
        lines += [f"**({number})** {sentence}", "", "$$", formula, "$$", ""]
    return "\n".join(lines)


def _source(claim: Claim) -> str:
    module = module_of(claim)
    text = inspect.getsource(module)
    path = Path(inspect.getfile(module)).relative_to(ROOT)
    return f"## In Python\n\n`{path}`\n\n```python\n{text.rstrip()}\n```"


def claims_index() -> str:
    """All claims in a table."""
    rows = ["# Claims", "", "| claim | | we expect |", "| --- | --- | --- |"]
    for claim in all_claims().values():
        rows.append(
            f"| [{_text(claim.id)}]({claim.id}.md) | {claim.title} | {expectation(claim)} |"
        )
    return "\n".join(rows) + "\n"


def commands_page() -> str:
    """The help of every command."""
    top = parser()
    commands = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    parts = ["# Command line", f"```text\n{top.format_help().rstrip()}\n```"]
    for name, command in commands.choices.items():
        parts.append(f"## {name}\n\n```text\n{command.format_help().rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def api_page() -> str:
    """The public names with signatures and docstrings."""
    parts = ["# Python", "Everything below is imported from `collapse_theory`."]
    for name in collapse_theory.__all__:
        value = getattr(collapse_theory, name)
        if not callable(value):
            continue
        try:
            signature = f"{name}{inspect.signature(value)}"
        except (TypeError, ValueError):
            signature = name
        text = _docstring(inspect.getdoc(value) or "")
        parts.append(f"## {name}\n\n```python\n{signature}\n```\n\n{text}")
    return "\n\n".join(parts) + "\n"


def _docstring(text: str) -> str:
    """Docstrings are reStructuredText; of its roles and literals the site needs the names only."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    return re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)


def write_pages() -> None:
    """Write every page of the site into build/site-src."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "pages", SOURCE)
    shutil.copytree(FIGURES, SOURCE / "figures")
    entries = {entry["id"]: entry for entry in read_ledger(LEDGER)["claims"]}
    pages = {
        "commands.md": commands_page(),
        "api.md": api_page(),
        "claims/index.md": claims_index(),
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
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
