"""One run of a study, from its settings to a record that fits a small file."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from collapse_theory.checks import integer
from collapse_theory.errors import InputError
from collapse_theory.files import digest
from simulations.horn import (
    HornConfig,
    Structures,
    Vocabulary,
    fingerprints,
    make_structures,
    rename,
)
from simulations.transformers.evaluation import CONDITIONS, evaluate, restored, teacher_forced
from simulations.transformers.interventions import Intervention
from simulations.transformers.model import ModelConfig, Transformer
from simulations.transformers.training import Run, TrainConfig, train

__all__ = ["Experiment", "perform", "problems"]

HELD = np.uint64(8)
"""One shape in so many is kept for tests."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that decides a run's numbers.

    Attributes:
        variant: what it is called in tables; runs of one variant differ in their seed alone.
        seed: of structures, names, model and resets.
        problems: which problems.
        structures, tests: problems to train on (drawn with replacement), and fresh ones to test on, of which none is
            one of the first up to renaming.
        seen, unseen: sizes of the vocabularies of variables.
        model: its ``vocabulary`` is filled in.
        glances: test problems that are looked at, with the right tokens given, at each record in training; 0 for none.
    """

    variant: str
    seed: int
    problems: HornConfig = field(default_factory=HornConfig)
    structures: int = 20_000
    tests: int = 1_000
    seen: int = 512
    unseen: int = 64
    model: ModelConfig = field(default_factory=lambda: ModelConfig(vocabulary=1))
    train: TrainConfig = field(default_factory=TrainConfig)
    intervention: Intervention = field(default_factory=Intervention)
    glances: int = 200

    def __post_init__(self) -> None:
        for name, least in (("structures", 1), ("tests", 1), ("glances", 0), ("seed", 0)):
            integer(name, getattr(self, name), least=least)
        if self.glances > self.tests:
            raise InputError(
                f"glances are {self.glances}, tests {self.tests}: glance at most at all"
            )
        sized = replace(self.model, vocabulary=Vocabulary(seen=self.seen, unseen=self.unseen).size)
        object.__setattr__(self, "model", sized)

    @property
    def key(self) -> str:
        """A name for files: the variant in letters that every system takes, and the seed."""
        kept = "".join(c if c.isalnum() else "_" for c in self.variant)
        return f"{kept}.{self.seed}"

    def settings(self) -> dict[str, Any]:
        """As plain values, for files."""
        return asdict(self)


def problems(experiment: Experiment) -> tuple[Structures, Structures]:
    """Structures to train on and to test on: one shape in ``HELD`` belongs to the tests, whatever the seed.

    Shapes are problems up to renaming; the tests hold as many TRUE ones as FALSE. Raises :class:`InputError` where too few
    of the problems have a shape of the tests, or of training.
    """
    rng = np.random.default_rng((experiment.seed, 0))
    count = 2 * (experiment.structures + int(HELD) * experiment.tests)
    made = make_structures(experiment.problems, count, rng)
    held = fingerprints(made) % HELD == 0
    kept = np.flatnonzero(~held)[: experiment.structures]
    half = experiment.tests // 2
    true, false = np.flatnonzero(held & made.verdict), np.flatnonzero(held & ~made.verdict)
    chosen = np.sort(np.concatenate([true[:half], false[: experiment.tests - half]]))
    if len(chosen) < experiment.tests or len(kept) < experiment.structures:
        raise InputError(
            f"of {count} problems {len(kept)} have a shape to train on and {int(held.sum())} one to test on: "
            "take larger problems, which have more shapes"
        )
    return made.take(kept), made.take(chosen)


def perform(
    experiment: Experiment,
    *,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    progress: Callable[[int, float], None] | None = None,
    keep_model: str | Path | None = None,
) -> dict[str, Any]:
    """Train, and test in every way.

    Returns:
        "records" (through training); "watch" (summary of the steps that were followed); "results": one entry
        for each condition and way of testing; "model": a digest of the trained weights.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same sums in the same order, wherever this runs
    try:
        return _perform(experiment, device, checkpoint, progress, keep_model)
    finally:
        torch.set_num_threads(threads)


def _perform(
    experiment: Experiment,
    device: str,
    checkpoint: str | Path | None,
    progress: Callable[[int, float], None] | None,
    keep_model: str | Path | None,
) -> dict[str, Any]:
    vocabulary = Vocabulary(seen=experiment.seen, unseen=experiment.unseen)
    train_on, tests = problems(experiment)
    glances = [
        rename(
            tests.take(np.arange(experiment.glances)),
            np.random.default_rng((experiment.seed, 4, at)),
            vocabulary,
            unseen=condition,
        )
        for at, condition in enumerate(CONDITIONS)
    ]

    def look(model: Transformer) -> dict[str, Any]:
        pairs = zip(CONDITIONS, glances, strict=True)
        return {f"exact_{name}": float(teacher_forced(model, b).mean()) for name, b in pairs}

    run = train(
        experiment.model,
        experiment.train,
        experiment.intervention,
        train_on,
        vocabulary,
        seed=experiment.seed,
        device=device,
        look=look if experiment.glances else None,
        checkpoint=checkpoint,
        progress=progress,
    )
    if keep_model is not None:
        import safetensors.torch

        Path(keep_model).parent.mkdir(parents=True, exist_ok=True)
        safetensors.torch.save_file(run.model.state_dict(), keep_model)
    weights = [p.detach().cpu().float().numpy().ravel() for p in run.model.parameters()]
    return {
        "records": run.records,
        "watch": _watched(experiment, run),
        "results": _tests(experiment, run, tests, vocabulary),
        "model": digest(np.concatenate(weights)),
    }


def _tests(
    experiment: Experiment, run: Run, tests: Structures, vocabulary: Vocabulary
) -> list[dict[str, Any]]:
    rows = []
    unseen = torch.as_tensor(vocabulary.unseen)
    for condition in CONDITIONS:
        for way in ("plain", "restricted", "restored"):
            if way == "restored" and condition == "none":
                continue
            options: dict[str, Any] = {"seed": experiment.seed, "unseen": condition}
            if way == "restored":
                with restored(run.model, run.start_rows, unseen):
                    row = evaluate(run.model, tests, vocabulary, **options)
            else:
                row = evaluate(
                    run.model, tests, vocabulary, restricted=way == "restricted", **options
                )
            rows.append({"unseen": condition, "way": way, **row})
    return rows


def _watched(experiment: Experiment, run: Run) -> dict[str, Any] | None:
    """What the steps that were followed say of `contraction` and `lower_bound`.

    With gradient descent a step is within `contraction`'s condition for a bound T if ``eta (2 lam + s T) <= 2``, where s is
    the clip's factor (claim norm_clipping). For each T: steps within it, and those of them with a pair above
    ``1 - eta lam``; for T the trace also pairs below ``1 - eta (lam + s T)``. Beside that 2^-40 for rounding in float64.

    "half_period": steps after which the lower bound of claim `reset`, with the least factor of the run, first allows that
    half of a distance is gone; None where that factor is not positive, or is 1. It promises nothing of AdamW.
    """
    if not run.watch:
        return None
    w = run.watch
    decay = w["decay"]  # eta lam
    out: dict[str, Any] = {"steps": len(decay), "decay_product": float(np.prod(1 - decay))}
    out["factor_product_most"] = float(np.exp(np.log(w["factor_most"]).sum()))
    slack = 2.0**-40
    for name in ("trace", "from_loss"):
        pull = w["rate"] * w["scale"] * w[name]  # eta s T
        within = 2 * decay + pull <= 2
        above = within & (w["factor_most"] > 1 - decay + slack)
        below = w["factor_least"] < 1 - decay - pull - slack
        out[name] = {
            "within": int(within.sum()),
            "above": int(above.sum()),
            "below": int(below.sum()),
            "largest": float(w[name].max()),
        }
    worst = 1 - float((decay + w["rate"] * w["scale"] * w["trace"]).max())
    out["half_period"] = math.ceil(math.log(0.5) / math.log(worst)) if 0 < worst < 1 else None
    out["largest_excess"] = float((w["factor_most"] - (1 - decay)).max())
    return out
