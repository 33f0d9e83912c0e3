"""``falsify``: a counterexample, small enough to read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import InputError
from ._common import check_file, check_folder, command


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "falsify",
        _falsify,
        "search for a counterexample, confirm it in ball arithmetic, make it small, save and draw it",
        "collapse-theory falsify paper_lemma_4_1",
    )
    parser.add_argument("claim", metavar="CLAIM", nargs="?", help="the claim's id")
    parser.add_argument(
        "--drop", metavar="HYPOTHESIS", help="search against the claim without this hypothesis"
    )
    parser.add_argument(
        "--replay", metavar="FILE", help="confirm a saved witness instead of searching"
    )
    parser.add_argument(
        "--effort", default="quick", metavar="LEVEL", help="quick (default), default or thorough"
    )
    parser.add_argument(
        "--out",
        default="results",
        metavar="DIR",
        help="where witness and figure go (default: results)",
    )


def _falsify(options: argparse.Namespace) -> int:
    from ..claims import get_claim
    from ..examination import Witness, falsify, read_witness
    from ..examination.effort import effort
    from ..files import write_json

    check_file(options.json)
    if options.replay:
        return _replay(read_witness(options.replay), options)
    if options.claim is None:
        raise InputError("give a CLAIM to search against, or --replay FILE")
    claim = get_claim(options.claim)
    if options.drop is not None:
        claim = claim.drop(options.drop)
    amount = effort(options.effort)
    out = Path(options.out)
    check_folder(out)
    hunt = falsify(claim, seed=options.seed, effort=amount, dropped=options.drop)
    summary = {
        "claim": claim.id,
        "instances": hunt.instances,
        "float_violations": hunt.violations,
        "rounding": hunt.rounding,
        "witness": hunt.witness.to_dict() if hunt.witness else None,
    }
    if options.json:
        write_json(options.json, summary)
    if hunt.witness is None:
        print(f"{claim.id}: no counterexample among {hunt.instances:,} admissible instances.")
        unchecked = hunt.violations - hunt.rounding
        rest = f" {unchecked:,} were not checked." if unchecked else ""
        print(
            f"Of {hunt.violations:,} float violations {hunt.rounding:,} were put to balls, which call them "
            f"rounding.{rest} This is no proof."
        )
        return int(claim.expected == "refuted")
    witness: Witness = hunt.witness
    path = witness.save(out / f"witness_{claim.id}.json")
    print(_shown(witness, "is refuted"))
    figure = _draw_witness(path)
    print(
        f"witness   {path}\nfigure    {figure}\nreplay    collapse-theory falsify --replay {path}"
    )
    return int(claim.expected != "refuted")


def _draw_witness(path: Path) -> Path:
    from .. import plots

    figure = path.with_suffix(".pdf")
    plots.plot("counterexample", path, figure)
    return figure


def _replay(witness: Any, options: argparse.Namespace) -> int:
    from ..examination import Outcome, certify
    from ..files import write_json

    if options.claim and options.claim != witness.to_dict()["claim"]:
        raise InputError(f"{options.replay}: is a witness against {witness.to_dict()['claim']}")
    outcome = Outcome(int(certify(witness.claim, witness.instance).outcome[0]))
    confirmed = outcome == Outcome.VIOLATED
    print(_shown(witness, "is refuted" if confirmed else "is not refuted by this"))
    verdict = "CONFIRMED" if confirmed else f"NOT CONFIRMED: {outcome.name}"
    print(f"{verdict} in ball arithmetic")
    if options.json:
        write_json(options.json, {"claim": witness.claim.id, "outcome": outcome.name})
    return int(not confirmed)


def _shown(witness: Any, what: str) -> str:
    """A witness for reading: the values the claim uses, the margins and both sides."""
    claim, certificate = witness.claim, witness.to_dict()["certificate"]
    values, unused = witness.instance.to_dict()["values"], witness.unused
    lines = [f"{claim.id} {what}: {claim.statement}"]
    lines += [f"  {name:<16} {value}" for name, value in values.items() if name not in unused]
    for hypothesis in claim.hypotheses:
        margin, sign = certificate["margins"][hypothesis.id], ">" if hypothesis.strict else ">="
        lines.append(f"  margin {hypothesis.id:<16} {', '.join(margin)} {sign} 0")
    names = claim.parts or ("",) * len(certificate["lhs"])  # coordinates of vectors have no names
    for name, left, right in zip(names, certificate["lhs"], certificate["rhs"], strict=True):
        lines.append(f"  lhs {left}  rhs {right}  {name}".rstrip())
    return "\n".join(lines)
