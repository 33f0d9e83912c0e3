"""One training run: a model, problems with fresh names in each batch, an optimiser, an intervention on the embeddings.

The loss is the mean cross-entropy of the answers' tokens. Decay is decoupled and applied by name: matrices decay, biases and
gains do not. Every draw of step t comes from generators seeded with (seed, t), so that a run taken up again in the middle
ends in the same numbers.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from collapse_theory import schedules
from collapse_theory.checks import choice, integer, numbers
from collapse_theory.errors import InputError
from collapse_theory.files import write_whole
from simulations.horn import Batch, Structures, Vocabulary, rename
from simulations.transformers.interventions import Intervention, matrices, redraw
from simulations.transformers.measures import (
    curvature,
    heads_facts,
    pair_distances,
    rows_facts,
)
from simulations.transformers.model import ModelConfig, Transformer

__all__ = ["PRECISIONS", "Run", "TrainConfig", "Trainer", "train"]

PRECISIONS = ("float32", "float64", "bfloat16")
Record = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained.

    Attributes:
        steps, batch: optimiser steps, problems in each.
        optimizer: "adamw", or "sgd" without momentum.
        step_size: the peak; ``warmup`` steps lead to it, half a cosine from it to ``floor`` times it.
        embedding_rate: the embeddings' learning rate in units of the others'.
        betas, epsilon: of AdamW.
        weight_decay, embedding_decay: decoupled decay of matrices and of the embeddings; None: the same.
        clip: largest norm of the whole gradient; 0 for none.
        precision: "float32", "float64", or "bfloat16" (autocast of float32 weights).
        record_every: steps between two records.
        watched: unseen symbols whose pairs are followed at every step, against the bounds; 0 for none.
    """

    steps: int = 2400
    batch: int = 64
    optimizer: str = "adamw"
    step_size: float = 3e-3
    warmup: int = 200
    floor: float = 0.05
    embedding_rate: float = 0.15
    betas: tuple[float, float] = (0.9, 0.95)
    epsilon: float = 1e-8
    weight_decay: float = 0.1
    embedding_decay: float | None = None
    clip: float = 1.0
    precision: str = "float32"
    record_every: int = 100
    watched: int = 0

    def __post_init__(self) -> None:
        integer("steps", self.steps, least=1)
        integer("batch", self.batch, least=1)
        integer("warmup", self.warmup, least=0)
        integer("record_every", self.record_every, least=1)
        integer("watched", self.watched, least=0)
        choice("optimizer", self.optimizer, ("adamw", "sgd"))
        choice("precision", self.precision, PRECISIONS)
        if self.warmup > self.steps:
            raise InputError(
                f"warmup is {self.warmup}, steps {self.steps}: warm up for at most as many"
            )
        for name in ("step_size", "embedding_rate", "weight_decay", "clip", "floor", "epsilon"):
            if float(numbers(name, getattr(self, name))) < 0:
                raise InputError(f"{name} is {getattr(self, name)}: give a number of at least 0")

    @property
    def rows_decay(self) -> float:
        """lam of the embeddings."""
        return self.weight_decay if self.embedding_decay is None else self.embedding_decay


def factors(config: TrainConfig, intervention: Intervention) -> tuple[np.ndarray, np.ndarray]:
    """The learning rate's factor at each step [steps], and that of the embeddings (other only under replay)."""

    def wave(steps: int, warmup: int) -> np.ndarray:
        # Step 0 moves too: the warm-up is (t + 1)/warmup.
        up = np.minimum(1.0, (np.arange(steps) + 1) / max(1, warmup))
        down = schedules.cosine(1.0, steps, warmup=warmup)
        shaped = config.floor + (1 - config.floor) * down
        return np.where(np.arange(steps) < warmup, up, shaped)

    whole = wave(config.steps, config.warmup)
    if not intervention.replay:
        return whole, whole
    period = intervention.period
    once = wave(period, min(config.warmup, period // 10))
    last = config.steps if intervention.stop is None else min(intervention.stop, config.steps)
    resets = [t for t in range(config.steps) if t == 0 or intervention.due(t)]
    own = whole.copy()
    for start in resets:
        stop = min(start + period, config.steps)
        if start <= last:
            own[start:stop] = once[: stop - start]
    return whole, own


@dataclass
class Run:
    """A finished (or stopped) training: the model, its embeddings at the start, the records.

    Attributes:
        records: one for each recorded step, from 0 (before the first) to the last. "decay_product" is prod (1 - eta lam)
            since the start or the last reset; of the watched pairs "pair_most" and "pair_least" are the largest and the
            least |D| over its value then; "lower_product" is prod (1 - eta (lam + s tr M)), 0 where a factor is not above 0.
        watch: for each step, where ``watched``: what was measured of the pairs, arrays of [steps].
    """

    model: Transformer
    start_rows: list[Tensor]
    records: Record = field(default_factory=list)
    watch: dict[str, np.ndarray] = field(default_factory=dict)


WATCHED = ("factor_most", "factor_least", "decay", "trace", "from_loss", "scale", "rate")


def train(
    model_config: ModelConfig,
    config: TrainConfig,
    intervention: Intervention,
    structures: Structures,
    vocabulary: Vocabulary,
    *,
    seed: int,
    device: str = "cpu",
    look: Callable[[Transformer], dict[str, Any]] | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 1000,
    progress: Callable[[int, float], None] | None = None,
) -> Run:
    """Train a fresh model.

    Args:
        structures: problems to draw from, with replacement; names are drawn from the seen symbols for each batch.
        seed: of the model, the batches and the resets.
        look: called with the model at each record; what it returns goes into the record.
        checkpoint: a file for the state, written every ``checkpoint_every`` steps. A run that finds one there goes on from
            it, if it is of the same settings, and ends in the same numbers; delete it once the result is safe.
        progress: called with the step and the loss at each record.
    """
    trainer = Trainer(model_config, config, intervention, structures, vocabulary, seed, device)
    if checkpoint is not None and Path(checkpoint).exists():
        trainer.load(Path(checkpoint))
    while trainer.step < config.steps:
        if trainer.step % config.record_every == 0 and not trainer.recorded():
            trainer.record(look)
            if progress:
                progress(trainer.step, trainer.run.records[-1]["loss"])
        trainer.advance()
        if checkpoint is not None and trainer.step % checkpoint_every == 0:
            trainer.save(Path(checkpoint))
    if not trainer.recorded():
        trainer.record(look)
    if progress:
        progress(trainer.step, trainer.run.records[-1]["loss"])
    trainer.run.watch = {
        name: np.array(column)
        for name, column in zip(WATCHED, zip(*trainer.watch, strict=True), strict=False)
    }
    return trainer.run


class Trainer:
    """State of a run between two steps."""

    def __init__(
        self,
        model_config: ModelConfig,
        config: TrainConfig,
        intervention: Intervention,
        structures: Structures,
        vocabulary: Vocabulary,
        seed: int,
        device: str,
    ) -> None:
        self.config, self.intervention = config, intervention
        self.structures, self.vocabulary = structures, vocabulary
        self.seed, self.device, self.step = integer("seed", seed, least=0), device, 0
        if model_config.vocabulary != vocabulary.size:
            raise InputError(
                f"the model has {model_config.vocabulary} rows, the vocabulary {vocabulary.size}: make them equal"
            )
        self.settings = repr(
            (model_config, config, intervention, vocabulary, len(structures), seed)
        )
        generator = torch.Generator().manual_seed(seed)
        model = Transformer(model_config, generator=generator).to(device)
        if config.precision == "float64":
            model = model.double()
        self.run = Run(model, [m.detach().clone() for m in matrices(model)])
        self.watch: list[tuple[float, ...]] = []
        self.rates = factors(config, intervention)
        self.unseen = torch.as_tensor(vocabulary.unseen)
        self.seen = torch.as_tensor(vocabulary.seen)
        self.chosen = intervention.chosen(vocabulary)
        self.pairs = torch.combinations(self.unseen[: config.watched])
        self.optimizer = self._optimizer()
        self.log_product = self.log_lower = 0.0
        self.first = pair_distances(self.run.model.rows.detach(), self.pairs)

    def _optimizer(self) -> torch.optim.Optimizer:
        """Embeddings, other matrices, the rest. The embeddings' decay is applied by `_decay`: it may leave rows out."""
        model, config = self.run.model, self.config
        embeddings = matrices(model)
        for matrix in embeddings:
            matrix.requires_grad_(not self.intervention.freeze)
        named = [p for p in model.parameters() if not any(p is m for m in embeddings)]
        groups = [
            {"params": [] if self.intervention.freeze else embeddings, "weight_decay": 0.0},
            {"params": [p for p in named if p.dim() >= 2], "weight_decay": config.weight_decay},
            {"params": [p for p in named if p.dim() < 2], "weight_decay": 0.0},
        ]
        if config.optimizer == "sgd":
            return torch.optim.SGD(groups, lr=0.0)
        return torch.optim.AdamW(groups, lr=0.0, betas=config.betas, eps=config.epsilon, fused=True)

    def batch(self, step: int) -> Batch:
        """The problems of a step, under fresh names."""
        rng = np.random.default_rng((self.seed, 1, step))
        chosen = rng.integers(len(self.structures), size=self.config.batch)
        return rename(self.structures.take(chosen), rng, self.vocabulary)

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """The mean cross-entropy of answers, the features there [N, n], the log-probabilities [N, K]."""
        tokens = torch.as_tensor(batch.tokens).to(self.device)
        at = torch.as_tensor(batch.answer_mask).to(self.device)[:, 1:]
        half = self.config.precision == "bfloat16"
        with torch.autocast(self.device, torch.bfloat16) if half else nullcontext():
            x, shares = self.run.model(tokens[:, :-1])
            x = x[at]
            if shares is not None:
                shares = shares[at]
            seen = (
                tokens[:, None, :-1].expand(-1, tokens.shape[1] - 1, -1)[at]
                if shares is not None
                else tokens
            )
            logs = self.run.model.log_probabilities(x, shares, seen)
        return F.nll_loss(logs.float() if half else logs, tokens[:, 1:][at]), x, logs

    def advance(self) -> None:
        """One step."""
        model, config, step = self.run.model, self.config, self.step
        if self.intervention.due(step):
            draws = torch.Generator().manual_seed(_mixed(self.seed, step))
            redraw(model, self.optimizer, self.intervention, self.chosen, draws)
            self.log_product = self.log_lower = 0.0
            self.first = pair_distances(model.rows.detach(), self.pairs)
        rate, embedding_rate = (float(f[step]) * config.step_size for f in self.rates)
        embedding_rate *= config.embedding_rate
        for group, value in zip(
            self.optimizer.param_groups, (embedding_rate, rate, rate), strict=True
        ):
            group["lr"] = value
        loss, x, _ = self.loss(self.batch(step))
        self.optimizer.zero_grad()
        loss.backward()
        scale = 1.0
        if config.clip:
            norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip))
            scale = min(1.0, config.clip / (norm + 1e-6))
        facts = None
        if len(self.pairs):
            rows = model.rows.detach()
            before = pair_distances(rows, self.pairs)
            facts = before, curvature(rows, x.detach(), self.pairs, float(loss.detach()))
        self._decay(embedding_rate)
        self.optimizer.step()
        if facts is not None:
            before, bounds = facts
            growth = pair_distances(model.rows.detach(), self.pairs) / before
            decay = 0.0 if self.intervention.freeze else embedding_rate * config.rows_decay
            trace, from_loss = float(bounds["trace"].max()), bounds["from_loss"]
            most, least = float(growth.max()), float(growth.min())
            lower = 1 - decay - embedding_rate * scale * trace
            self.log_lower += math.log(lower) if lower > 0 else -math.inf
            self.watch.append((most, least, decay, trace, from_loss, scale, embedding_rate))
        self.step += 1

    @torch.no_grad()
    def _decay(self, rate: float) -> None:
        shrink = 1 - rate * self.config.rows_decay
        if self.intervention.freeze or not self.config.rows_decay:
            return
        for matrix in matrices(self.run.model):
            if self.intervention.decay_unseen:
                matrix.mul_(shrink)
            else:
                matrix[: len(matrix) - len(self.unseen)].mul_(shrink)
        if self.intervention.decay_unseen:
            self.log_product += math.log1p(-rate * self.config.rows_decay)

    def recorded(self) -> bool:
        return bool(self.run.records) and self.run.records[-1]["step"] == self.step

    def record(self, look: Callable[[Transformer], dict[str, Any]] | None) -> None:
        """Measure rows, and the head on a batch that is not trained on."""
        model = self.run.model
        with torch.no_grad():
            loss, x, logs = self.loss(self.batch(self.config.steps + self.step))
            rows = model.rows.detach().cpu()
            row: dict[str, Any] = {"step": self.step, "loss": float(loss)}
            row["decay_product"] = math.exp(self.log_product)
            for name, ids in (("unseen", self.unseen), ("seen", self.seen)):
                facts = rows_facts(rows[ids], rows.mean(0))
                row |= {f"{name}_{key}": value for key, value in facts.items()}
            row |= heads_facts(x, logs, self.unseen.to(self.device))
            if len(self.pairs):
                left = pair_distances(model.rows.detach(), self.pairs) / self.first
                row |= {"pair_most": float(left.max()), "pair_least": float(left.min())}
                row["lower_product"] = math.exp(self.log_lower)
            if look is not None:
                row |= look(model)
        self.run.records.append(row)

    def save(self, path: Path) -> None:
        """The whole state, in one file."""
        state = {
            "settings": self.settings,
            "step": self.step,
            "log_product": self.log_product,
            "log_lower": self.log_lower,
            "first": self.first,
            "model": self.run.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "start_rows": self.run.start_rows,
            "records": self.run.records,
            "watch": self.watch,
        }
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_whole(path, lambda out: out.write(buffer.getbuffer()))

    def load(self, path: Path) -> None:
        """Go on from a file of `save`. Raises :class:`InputError` where it is of another run, or damaged."""
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            settings = state["settings"]
        except Exception as error:  # torch names many kinds for a damaged file
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"{path}: damaged ({reason:.80}); delete it to start afresh"
            ) from error
        if settings != self.settings:
            raise InputError(f"{path}: of a run with other settings; delete it to start afresh")
        self.step, self.log_product = state["step"], state["log_product"]
        self.log_lower, self.first = state["log_lower"], state["first"]
        self.run.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.run.start_rows = state["start_rows"]
        self.run.records, self.watch = state["records"], state["watch"]


def _mixed(seed: int, step: int) -> int:
    """A seed for torch from two numbers, as NumPy mixes them."""
    return int(np.random.SeedSequence((seed, 2, step)).generate_state(1, np.uint64)[0] >> 1)
