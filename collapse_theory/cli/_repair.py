"""``repair``: a copy of a checkpoint whose unused rows are new: pairwise distinct, at trained norm."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from ._common import check_outputs, command, progress, real

EXAMPLE = """\
collapse-theory repair model --out model-repaired --dry-run
  collapse-theory repair model --out model-repaired
  collapse-theory repair model --out model-repaired --rows 3,7-16 --direction orthogonal --norm q0.25
  collapse-theory repair model --out model-repaired --rows ids.txt --from-tokens call,tool --spread 0.2"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "repair",
        run,
        "write a copy of a checkpoint in which unused rows of the (un)embedding are new: pairwise distinct, at "
        "trained norm; everything else keeps its bytes",
        EXAMPLE,
    )
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="a Hugging Face folder, or a .safetensors, torch, .npz or .npy file; it is only read",
    )
    add(
        "--out", required=True, metavar="DIR",
        help="the new folder; it must not exist, or be empty",
    )  # fmt: skip
    add("--dry-run", action="store_true", help="say what would be written, and write nothing")
    add(
        "--copy", action="store_true", help="copy untouched shards (default: link them if possible)"
    )
    which = parser.add_argument_group("which rows")
    add = which.add_argument
    add(
        "--rows", metavar="IDS|FILE",
        help="ids and ranges as 3,7-16, or a file of them (default: the unused rows that audit finds, but for "
        "the padding token's)",
    )  # fmt: skip
    add(
        "--max-share", type=real, default=0.5, metavar="SHARE",
        help="refuse to replace a larger share of all rows (default 0.5)",
    )  # fmt: skip
    add("--only", choices=("input", "output"), help="change one matrix of an untied pair")
    add("--tensor-name", metavar="NAME", help="the one matrix to change, by its tensor's name")
    how = parser.add_argument_group("the new rows")
    add = how.add_argument
    add(
        "--direction", choices=("mean", "random", "orthogonal", "tokens"),
        help="mean (default): Gaussian with the mean and covariance of trained rows; random: uniform; orthogonal: to "
        "one another, as far as the dimension goes; tokens: around those of --from-tokens",
    )  # fmt: skip
    add(
        "--from-tokens", type=texts, default=(), metavar="TEXT,TEXT",
        help="start from the mean of these tokens' rows (a comma in a text is written \\,)",
    )  # fmt: skip
    add(
        "--norm", default="trained", metavar="trained|qX|VALUE",
        help="the length of new rows: the median of trained rows (default), their quantile X as q0.25, or a number",
    )  # fmt: skip
    add(
        "--spread", type=real, metavar="SHARE",
        help="scatter of mean (default 1) and tokens (default 0.3), as a share of that of trained rows",
    )  # fmt: skip


def texts(text: str) -> tuple[str, ...]:
    found = tuple(part.replace("\\,", ",") for part in re.split(r"(?<!\\),", text))
    if not all(found):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected texts with commas between")
    return found


def run(options: argparse.Namespace) -> int:
    from ..checkpoint import repair
    from ..files import write_json

    rows = options.rows if options.rows and Path(options.rows).is_file() else None
    check_outputs({"--json": options.json}, (options.model, rows))
    with progress(options.quiet) as bar:
        result = repair(
            options.model,
            options.out,
            rows=options.rows,
            direction=options.direction,
            tokens=options.from_tokens,
            norm=options.norm,
            spread=options.spread,
            max_share=options.max_share,
            only=options.only,
            tensor_name=options.tensor_name,
            seed=options.seed,
            copy=options.copy,
            dry_run=options.dry_run,
            progress=bar,
        )
    if options.json:
        write_json(options.json, result.to_dict())
    print(result)
    return 0
