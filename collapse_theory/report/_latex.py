"""Claims for a paper: theorems with their derivations, and a table of them, in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..claims import Claim

PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[a4paper,margin=27mm]{geometry}
\usepackage{amsmath,amssymb,amsthm,graphicx,booktabs,longtable,array}
"""
"""Everything is in a basic TeX distribution."""

DEFINITIONS = r"""\theoremstyle{plain}
\newtheorem{theorem}{Theorem}
\newtheorem*{refuted}{Refuted statement}
\theoremstyle{remark}
\newtheorem*{remark}{Remark}
\newsavebox{\formulabox}
% A formula that is wider than the line is scaled down to it.
\newcommand{\fitline}[1]{\sbox{\formulabox}{$\displaystyle #1$}%
  \ifdim\wd\formulabox>0.9\linewidth
    \resizebox{0.9\linewidth}{!}{\usebox{\formulabox}}%
  \else\usebox{\formulabox}\fi}
% Derivations are long: little space around their lines.
\newcommand{\tightdisplays}{\small\setlength{\abovedisplayskip}{2pt plus 1pt}%
  \setlength{\belowdisplayskip}{2pt plus 1pt}\setlength{\abovedisplayshortskip}{0pt plus 1pt}%
  \setlength{\belowdisplayshortskip}{2pt plus 1pt}}
"""

NO_DERIVATION = (
    r"\noindent\emph{No derivation is at hand.} Derivations are in the source checkout, under "
    r"\texttt{proofs/symbolic}; not every claim has one."
)

NOTATION = (
    r"Rows $w_k$, features $x_i$ with batch weights $a_i$, step size $\eta$, weight decay $\lambda$; for a pair $u, v$: "
    r"$D = w_u - w_v$, $L_i$ the logarithmic mean of $p_u(x_i)$ and $p_v(x_i)$, "
    r"$M = \sum_i a_i L_i x_i x_i^{\mathsf T}$, $T$ a bound on $\operatorname{tr} M$; a plus marks values after a step."
)

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
}


def escaped(text: str) -> str:
    """Plain text, safe in LaTeX."""
    return re.sub(r"[\\{}#$%&_~^<>|\"]", lambda m: SPECIAL[m[0]], text)


def prose(text: str) -> str:
    """Plain text with `names` in typewriter, safe in LaTeX."""
    plain, *rest = re.split(r"`([^`]+)`", text)
    shown = [escaped(plain)]
    for name, after in zip(rest[::2], rest[1::2], strict=True):
        shown += [rf"\texttt{{{escaped(name)}}}", escaped(after)]
    return "".join(shown)


def pieces(formula: str) -> list[str]:
    """A formula cut at its ``\\qquad``, where that is outside braces: statements that may stand on lines of their own."""
    found, depth, start = [], 0, 0
    for mark in re.finditer(r"\\[{}]|[{}]|\\qquad(?![a-zA-Z])", formula):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if mark[0] == r"\qquad" and depth == 0:
            found.append(formula[start : mark.start()])
            start = mark.end()
    return [piece.strip() for piece in (*found, formula[start:])]


def readable(formula: str) -> str:
    r"""SymPy's ``{w^{u}}_{j}`` with both indices above one another, and its square in brackets, so that 2 is no index."""
    indexed = re.compile(
        r"\{(\\?[A-Za-z]+(?: [A-Za-z]|\{[A-Za-z]\})?'?)\^\{([^{}]*)\}\}_\{([^{}]*)\}(\^)?"
    )

    def joined(match: re.Match[str]) -> str:
        letter = f"{match[1]}^{{{match[2]}}}_{{{match[3]}}}"
        return f"({letter})^" if match[4] else letter

    return indexed.sub(joined, formula)


def theorem(claim: Claim, derivation: Any = None) -> str:
    """A claim as a theorem environment with hypotheses, formula, remark and source, and its derivation if given; of a claim
    that is expected to be refuted the refutation, and what would mend it."""
    refuted = claim.expected == "refuted"
    name = "refuted" if refuted else "theorem"
    parts = [
        rf"\begin{{{name}}}[{prose(claim.title)}]\label{{thm:{claim.id}}}",
        # Ragged: names in typewriter do not break, and wide formulas go below theirs.
        rf"\raggedright (\texttt{{{escaped(claim.id)}}})",
    ]
    if claim.hypotheses:
        parts += ["If", _items(claim.hypotheses), "then"]
    parts += [_display(claim.latex), rf"\end{{{name}}}"]
    if refuted and claim.missing:
        parts += [r"\noindent It becomes true with", _items(claim.missing)]
    remark = " ".join(filter(None, [claim.corollary, claim.source]))
    if remark:
        parts.append(rf"\begin{{remark}}{prose(remark)}\end{{remark}}")
    parts.append(_proof(claim, derivation))
    return "\n".join(parts) + "\n"


def _display(formula: str) -> str:
    """A formula on a line of its own, or on several if it has several pieces."""
    lines = [rf"\fitline{{{piece}}}" for piece in pieces(formula)]
    if len(lines) == 1:
        return rf"\[{lines[0]}\]"
    return "\n".join([r"\begin{gather*}", " \\\\\n".join(lines), r"\end{gather*}"])


def _items(hypotheses: Sequence[Any]) -> str:
    lines = [rf"\item \texttt{{{escaped(h.id)}}}: \fitline{{{h.latex}}}" for h in hypotheses]
    return "\n".join([r"\begin{itemize}", *lines, r"\end{itemize}"])


def _proof(claim: Claim, derivation: Any) -> str:
    if derivation is None:
        return NO_DERIVATION
    name = "Refutation" if claim.expected == "refuted" else "Proof sketch"
    lines = [rf"\begin{{proof}}[{name}]", r"\tightdisplays", escaped(derivation.sizes)]
    for number, (sentence, formula) in enumerate(derivation.formulas(), start=1):
        lines.append(rf"\par {sentence} \[\fitline{{{readable(formula)}}}\tag{{{number}}}\]")
    return "\n".join([*lines, r"\end{proof}"])


def theorem_table(claims: Sequence[Claim], ledger: Mapping[str, Any] | None = None) -> str:
    """A table of claims for a paper: formula, hypotheses, whether tight, and the verdict from a ledger."""
    rows = {entry["id"]: entry for entry in ledger["claims"]} if ledger else {}
    lines = [
        r"\begin{longtable}{@{}>{\raggedright\arraybackslash}p{0.2\linewidth}"
        r">{\raggedright\arraybackslash}p{0.44\linewidth}>{\raggedright\arraybackslash}p{0.27\linewidth}@{}}",
        r"\toprule",
        r"claim & statement and hypotheses & verdict \\",
        r"\midrule\endhead",
    ]
    for claim in claims:
        assumed = ", ".join(h.id for h in claim.hypotheses) or "none"
        formulas = r"\newline ".join(rf"\fitline{{{piece}}}" for piece in pieces(claim.latex))
        said = rf"{formulas}\newline under: {_breakable(assumed)}"
        cells = [
            rf"{{\small\texttt{{{_breakable(claim.id)}}}}}",
            rf"{prose(claim.title)}.\newline {{\footnotesize {said}}}",
            _verdict(claim, rows.get(claim.id)),
        ]
        lines.append(" & ".join(cells) + r" \\[2pt]")
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def _breakable(text: str) -> str:
    """Escaped text that may break after an underscore."""
    return escaped(text).replace(r"\_", r"\_\allowbreak{}")


def _verdict(claim: Claim, entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return "not examined"
    verdict = entry["verdict"]
    shown = str(verdict["status"]).lower().replace("_", " ")
    found = [shown, str(verdict["reason"])]
    if entry["evidence"]["tight"]["verdict"] == "TIGHT":
        found.append("tight")
    return "; ".join(escaped(text) for text in found if text)


def latex_document(body: str) -> str:
    """A whole document around fragments."""
    parts = (PREAMBLE, DEFINITIONS, r"\begin{document}", rf"\noindent {NOTATION}\medskip", body)
    return "\n".join([*parts, r"\end{document}", ""])


def latex_fragment(body: str) -> str:
    """Fragments with a comment that says what they need in the preamble."""
    needed = [*PREAMBLE.splitlines()[3:], *DEFINITIONS.splitlines()]
    comment = "\n".join(f"% {line}" for line in needed)
    return f"% In the preamble:\n{comment}\n\n{body}"
