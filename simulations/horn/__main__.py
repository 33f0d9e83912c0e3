"""Examples, statistics and leaks of random Horn problems, beside SimpleLogic's.

python -m simulations.horn --count 20000
python -m simulations.horn --config medium --trace until_query --compare 0 --json leaks.json
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from collapse_theory.checks import integer
from collapse_theory.errors import InputError
from collapse_theory.files import write_json

from ._batches import fingerprints, rename
from ._config import PRESETS, TRACES
from ._generate import make_structures
from ._language import Vocabulary
from ._structures import Structures
from .baselines import baselines, query_is_fact, trace_length
from .simplelogic import KINDS, simplelogic

EXAMPLES = 4


def statistics(structures: Structures) -> dict[str, float]:
    """Means and shares over all problems."""
    body = (structures.premises >= 0).sum(2)
    every = {
        "TRUE": structures.verdict,
        "a conjunction fires": firing(structures),
        "query is a fact": query_is_fact(structures),
        "variables": structures.variables,
        "rules": (structures.heads >= 0).sum(1),
        "rules with 2 or 3 premises": (body >= 2).sum(1),
        "facts": (structures.facts >= 0).sum(1),
        "depth, where there is one": structures.depth[structures.depth >= 0],
        "variables in the trace": trace_length(structures),
        "tokens": structures.lengths,
    }
    out = {name: float(np.mean(values)) for name, values in every.items()}
    out["different up to renaming"] = len(np.unique(fingerprints(structures))) / len(structures)
    return out


def firing(structures: Structures) -> np.ndarray:
    """``[N]``, whether a rule with two or three premises has all of them in the trace."""
    written = np.zeros((len(structures), structures.width + 1), bool)
    np.put_along_axis(written, structures.trace.astype(np.int64), True, axis=1)
    written[:, -1] = True  # where the padding -1 points
    each = np.arange(len(structures))[:, None, None]
    ready = written[each, structures.premises].all(2)
    return (ready & ((structures.premises >= 0).sum(2) >= 2)).any(1)


def describe(structures: Structures, rng: np.random.Generator) -> dict[str, Any]:
    """Statistics, shares of depths and baselines, ready for JSON."""
    depths = np.unique(structures.depth, return_counts=True)
    return {
        "problems": len(structures),
        "statistics": statistics(structures),
        "depths": {
            str(d): int(c) for d, c in zip(depths[0].tolist(), depths[1].tolist(), strict=True)
        },
        "baselines": {score.name: score.accuracy for score in baselines(structures, rng)},
        "scored_on": len(structures) - len(structures) // 2,
    }


def table(columns: dict[str, dict[str, Any]], part: str, *, percent: bool) -> str:
    """One row for each entry of ``part``, one column for each set of problems."""
    names = list(next(iter(columns.values()))[part])
    first = max(map(len, names)) + 2
    widths = [max(len(c), 8) + 2 for c in columns]
    lines = [" " * first + "".join(f"{c:>{w}}" for c, w in zip(columns, widths, strict=True))]
    for name in names:
        cells = [column[part][name] for column in columns.values()]
        share = percent or name in SHARES
        texts = [f"{100 * x:.1f} %" if share else f"{x:.2f}" for x in cells]
        lines.append(
            f"{name:<{first}}" + "".join(f"{t:>{w}}" for t, w in zip(texts, widths, strict=True))
        )
    return "\n".join(lines)


SHARES = ("TRUE", "a conjunction fires", "query is a fact", "different up to renaming")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print examples, statistics and baselines; 0, or 2 with one line for bad input."""
    parser = argparse.ArgumentParser(prog="python -m simulations.horn", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--count", type=int, default=20000, metavar="N", help="problems")
    parser.add_argument("--config", choices=sorted(PRESETS), default="easy")
    parser.add_argument("--trace", choices=TRACES, default="closure", help="format of answers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--compare",
        type=int,
        default=4000,
        metavar="N",
        help="problems of each of SimpleLogic's kinds to set beside (0: none)",
    )
    parser.add_argument("--json", metavar="PATH", help="write the numbers there")
    options = parser.parse_args(arguments)
    try:
        integer("count", options.count, least=100)
        integer("seed", options.seed, least=0)
        if options.compare:
            integer("compare", options.compare, least=100)
        _report(options)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _report(options: argparse.Namespace) -> None:
    config = dataclasses.replace(PRESETS[options.config], trace=options.trace)
    rng = np.random.default_rng(options.seed)
    start = time.perf_counter()
    structures = make_structures(config, options.count, rng)
    seconds = time.perf_counter() - start
    vocabulary = Vocabulary()
    some = structures.take(slice(0, EXAMPLES))
    for row in rename(some, rng, vocabulary).tokens:
        print(vocabulary.text(row))
    print("made", options.count, f"problems in {seconds:.1f} s", file=sys.stderr)
    columns = {options.config: describe(structures, rng)}
    for kind in KINDS if options.compare else ():
        columns[kind] = describe(simplelogic(kind, options.compare, rng), rng)
    print(f"\nMeans and shares of {options.count} problems" + _beside(options))
    print(table(columns, "statistics", percent=False))
    print("\nAccuracy of shortcuts on the half they were not fitted on")
    print(table(columns, "baselines", percent=True))
    errors = [f"{name} {50 / column['scored_on'] ** 0.5:.1f}" for name, column in columns.items()]
    print("Standard error in points: " + ", ".join(errors))
    if options.json:
        data = {"schema": 1, "seed": options.seed, "config": dataclasses.asdict(config)}
        print(f"written: {write_json(options.json, {**data, 'sets': columns})}")


def _beside(options: argparse.Namespace) -> str:
    return f", {options.compare} of each of SimpleLogic's kinds" if options.compare else ""


if __name__ == "__main__":
    sys.exit(main())
