"""``audit``: have the unused rows of a checkpoint collapsed?"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ._common import check_folder, check_outputs, command, nonnegative, whole

if TYPE_CHECKING:
    from ..checkpoint import Audit

TRAINING = ("optimizer", "learning_rate", "weight_decay", "steps", "schedule", "warmup_steps")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "audit",
        _audit,
        "say which rows of a model's (un)embedding matrix are unused, and what has happened to them",
        "collapse-theory audit path/to/model\n"
        "  collapse-theory audit model.gguf --unused 5,7-16 --csv tokens.csv --figures figures\n"
        "  collapse-theory audit path/to/model --token-counts counts.npy --html audit.html\n"
        "  collapse-theory audit run/checkpoint-1000 run/checkpoint-2000 --figures figures\n"
        "  collapse-theory audit path/to/model --training-args training_args.json --fail-on collapse\n\n"
        "exit status: 0 audited, 1 a diagnosis of --fail-on was found, 2 bad input",
    )
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="a Hugging Face folder, .safetensors, pytorch_model.bin, .gguf, .npz or .npy; several for a plot over training",
    )
    parser.add_argument(
        "--tensor-name", metavar="NAME", help="the matrix, where the usual names do not find it"
    )
    rows = parser.add_argument_group(
        "which rows are unused (names and zeros are found by themselves)"
    )
    rows.add_argument(
        "--unused",
        action="append",
        metavar="IDS",
        help="ids and ranges (5,7-16), a token's text, or a pattern ('<extra*>'); may be repeated",
    )
    rows.add_argument(
        "--token-counts",
        metavar="FILE",
        help="how often each id was a target: .npy, .json or lines of id and count; outranks names",
    )
    about = parser.add_argument_group("what is known of the training (adds what the theory says)")
    about.add_argument("--training-args", metavar="FILE", help="JSON or YAML, as for forecast")
    about.add_argument("--optimizer", metavar="NAME", help="sgd, adam or adamw (default)")
    about.add_argument("--learning-rate", type=nonnegative, metavar="ETA")
    about.add_argument("--weight-decay", type=nonnegative, metavar="LAM")
    about.add_argument("--steps", type=whole(1), metavar="N")
    about.add_argument("--schedule", metavar="NAME", help="as for forecast")
    about.add_argument("--warmup-steps", type=whole(0), metavar="N")
    about.add_argument(
        "--initial-scale",
        type=nonnegative,
        metavar="STD",
        help="of an entry of fresh rows (default: initializer_range of config.json)",
    )
    out = parser.add_argument_group("output")
    out.add_argument(
        "--features",
        metavar="FILE",
        help=".npy of final hidden states [N, n]: also say what probability unused rows take",
    )
    out.add_argument("--csv", metavar="PATH", help="a line for each token")
    out.add_argument("--html", metavar="PATH", help="a page with figures")
    out.add_argument("--figures", metavar="DIR", help="figures as PDF")
    out.add_argument(
        "--fail-on",
        metavar="NAMES",
        help="exit 1 if one of these is found: collapse, hidden, duplicates, mean_resized, "
        "initialisation, decay, zero, trained, undecided (commas)",
    )


def _audit(options: argparse.Namespace) -> int:
    from .. import files
    from ..checkpoint import DIAGNOSES, SCHEMA, audit

    watched = set(filter(None, (options.fail_on or "").split(",")))
    for name in sorted(watched - set(DIAGNOSES)):
        raise InputError(f"--fail-on: {name!r:.40} is unknown; it is one of {', '.join(DIAGNOSES)}")
    outputs = {"--json": options.json, "--csv": options.csv, "--html": options.html}
    check_outputs(
        outputs, (*options.models, options.token_counts, options.features, options.training_args)
    )
    if options.figures:
        check_folder(options.figures)
    if options.csv and len(options.models) > 1:
        raise InputError("--csv: goes with one model; call audit for each")
    training, features = _training(options), _features(options.features)
    found: list[Audit] = []
    for path in options.models:
        result = audit(
            path,
            tensor_name=options.tensor_name,
            unused=options.unused,
            token_counts=options.token_counts,
            initial_scale=options.initial_scale,
            training=training,
            features=features,
            seed=options.seed,
        )
        found.append(result)
    print(*found, sep="\n\n")  # after the last: a model that is refused leaves no half of an answer
    wide = [a.to_dict() for a in found]
    if options.json:
        whole_run = {"kind": "audits", "schema": SCHEMA, "audits": wide}
        files.write_json(options.json, wide[0] if len(wide) == 1 else whole_run)
    if options.csv:
        from ..checkpoint import write_csv

        write_csv(found[0], options.csv)
        print(f"\ntokens    {options.csv}")
    if options.html:
        from ..report import audit_page

        files.write_text(options.html, audit_page(found))
        print(f"\npage      {options.html}")
    for path in _figures(options.figures, found) if options.figures else ():
        print(f"figure    {path}")
    return int(any(watched & set(a.diagnoses) for a in found))


def _training(options: argparse.Namespace) -> dict[str, Any] | None:
    given = {n: getattr(options, n) for n in TRAINING if getattr(options, n) is not None}
    if options.training_args:
        from ..forecast import read_config

        return {**read_config(options.training_args), **given}
    if not given:
        return None
    for name in ("learning_rate", "steps"):
        if name not in given:
            raise InputError(
                f"--{name.replace('_', '-')}: is needed, too, for what the theory says"
            )
    return {"optimizer": "adamw"} | given


def _features(path: str | None) -> Any:
    if path is None:
        return None
    import numpy as np

    try:
        return np.load(path, allow_pickle=False, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}); save features by numpy.save"
        ) from error


def step_of(path: str, place: int) -> int:
    """The training step in a checkpoint's name (the last number of ``checkpoint-1000``), else its place."""
    digits = re.findall(r"\d+", Path(path).name)
    return int(digits[-1]) if digits else place


def _figures(folder: str, audits: list[Audit]) -> list[Path]:
    from .. import plots

    made: list[Path] = []
    with plots.style():
        for place, audit in enumerate(audits):
            if len(audit.unused_rows) < 2 or len(audit.used_rows) < 2:
                continue
            prefix = f"{place + 1}_" if len(audits) > 1 else ""
            for kind, draw in (
                ("distances", plots.audit_distances),
                ("cosines", plots.audit_cosines),
                ("plane", plots.audit_plane),
            ):
                figure, (ax,) = plots.canvas(kind)
                draw(ax, audit)
                made.append(plots.write(figure, Path(folder) / f"{prefix}{kind}.pdf"))
        audits = [a for a in audits if a.groups and a.groups[0].measures and a.used]
        if len(audits) > 1:
            figure, (ax,) = plots.canvas("training")
            steps = [step_of(a.path, place) for place, a in enumerate(audits)]
            if len(set(steps)) < len(steps):
                steps = list(range(len(steps)))
            order = sorted(range(len(steps)), key=steps.__getitem__)
            plots.audits_over_training(ax, [steps[k] for k in order], [audits[k] for k in order])
            made.append(plots.write(figure, Path(folder) / "over_training.pdf"))
    return made
