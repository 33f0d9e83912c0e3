"""The studies: small frozen settings, each with a line that says why it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from collapse_theory.errors import InputError
from simulations.horn import HornConfig
from simulations.transformers.experiment import Experiment
from simulations.transformers.interventions import Intervention
from simulations.transformers.model import ModelConfig
from simulations.transformers.training import TrainConfig

__all__ = ["STUDIES", "Study", "study"]


@dataclass(frozen=True)
class Study:
    """A name, a reason, runs."""

    name: str
    reason: str
    runs: tuple[Experiment, ...]

    def __post_init__(self) -> None:
        keys = [run.key for run in self.runs]
        if len(set(keys)) < len(keys):
            raise InputError(f"study {self.name}: two runs have one name")


PERIOD = 100
"""Steps between resets in the table."""

PERIODS = (10, 30, 100, 300, 1000)
"""Those that are compared."""

BASE = Experiment(
    variant="",
    seed=0,
    # One fact, so that what is derived is a chain, among rules that do not fire. Of these sizes the sample holds 20,000
    # shapes; where it holds 3,000 (3 to 8 variables), models were better on shapes that they were trained on.
    problems=HornConfig(
        variables=(8, 10), rules=(5, 7), facts=(1, 1), premises=(1, 2), firing=None
    ),
    structures=40_000,
    train=TrainConfig(steps=2400, record_every=100),
)
"""What a core trains in two minutes; 512 seen symbols and 64 unseen ones. The embeddings' learning rate, .15 of the
others', sets how fast they collapse beside how fast the rest learns."""


def variants(base: Experiment) -> list[Experiment]:
    """The table: standard and copy attention, each trainable, frozen, reset, and reset in the first half alone."""
    half = base.train.steps // 2
    interventions = {
        "trainable": Intervention(),
        "frozen": Intervention(freeze=True),
        "reset": Intervention(period=PERIOD),
        "temporary reset": Intervention(period=PERIOD, stop=half),
    }
    return [
        replace(base, variant=f"{name}, {what}", model=model, intervention=intervention)
        for name, model in (("standard", base.model), ("copy", replace(base.model, copy=True)))
        for what, intervention in interventions.items()
    ]


def _seeds(runs: list[Experiment], seeds: int) -> tuple[Experiment, ...]:
    """Each run with each seed; all variants of a seed before the next, so that a study that is cut off is a whole one."""
    return tuple(replace(run, seed=seed) for seed in range(seeds) for run in runs)


def smoke() -> Study:
    # Chains alone, copy attention and fast embeddings: learned, collapsed and repaired within a minute.
    base = Experiment(
        variant="",
        seed=0,
        problems=HornConfig(variables=(5, 8), facts=(1, 1), premises=(1, 1), firing=None),
        structures=4000,
        tests=200,
        seen=128,
        unseen=32,
        train=TrainConfig(steps=800, warmup=80, embedding_rate=0.5, record_every=50),
        glances=50,
    )
    runs = [r for r in variants(base) if r.variant in ("copy, trainable", "copy, reset")]
    return Study("smoke", "Collapse and its repair in a minute.", _seeds(runs, 1))


def table() -> Study:
    return Study(
        "table",
        "The paper's table: which repair lets which model name symbols that it has not seen.",
        _seeds(variants(BASE), 5),
    )


def diversity() -> Study:
    runs = [
        replace(
            BASE,
            variant=f"{name}, {count} symbols",
            seen=count,
            model=replace(BASE.model, copy=name == "copy"),
        )
        for count in (16, 64, 256, 1024, 2048)
        for name in ("standard", "copy")
    ]
    ends = [run for run in runs if run.seen in (16, 2048)]  # verdicts ask for five seeds
    return Study(
        "diversity",
        "Whether training on more symbols is enough, with and without copy attention.",
        _seeds(runs, 3) + _seeds(ends, 5)[3 * len(ends) :],
    )


def reset_period() -> Study:
    runs = [
        replace(
            BASE,
            variant=f"copy, reset every {period}",
            model=replace(BASE.model, copy=True),
            train=replace(BASE.train, watched=16),
            intervention=Intervention(period=period),
        )
        for period in PERIODS
    ]
    return Study(
        "reset_period",
        "How often rows have to be redrawn, against the period that the theory's distances ask for.",
        _seeds(runs, 5),
    )


def sgd() -> Study:
    # Without momentum and in float64, so that every step can be held against the proved bounds up to rounding.
    base = replace(
        BASE,
        train=TrainConfig(
            steps=1600,
            record_every=100,
            optimizer="sgd",
            precision="float64",
            step_size=0.3,
            embedding_rate=1.0,
            weight_decay=1e-3,
            embedding_decay=3e-3,
            watched=16,
        ),
    )
    runs = [
        replace(base, variant=f"{name}, SGD", model=replace(base.model, copy=name == "copy"))
        for name in ("standard", "copy")
    ]
    return Study(
        "sgd",
        "The bounds proved of gradient descent, at every step of a transformer's training.",
        _seeds(runs, 5),
    )


def gpu() -> Study:
    base = Experiment(
        variant="",
        seed=0,
        structures=1_000_000,
        seen=2048,
        unseen=100,
        model=ModelConfig(
            vocabulary=1, width=768, layers=10, heads=12, hidden=3072, activation="gelu"
        ),
        train=TrainConfig(
            steps=20_000,
            batch=256,
            step_size=3e-4,
            warmup=1_000,
            precision="bfloat16",
            record_every=500,
        ),
    )
    return Study(
        "gpu", "The table at the paper's size, on an accelerator.", _seeds(variants(base), 5)
    )


STUDIES: dict[str, Callable[[], Study]] = {
    made.__name__: made for made in (smoke, table, diversity, reset_period, sgd, gpu)
}


def study(name: str) -> Study:
    """The study of that name. Raises :class:`InputError` for an unknown one."""
    if name not in STUDIES:
        raise InputError(f"study {name!r:.60} is unknown; studies are {', '.join(STUDIES)}")
    return STUDIES[name]()
