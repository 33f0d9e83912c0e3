"""Softmax regression trained by torch itself, step by step, with a trick: what the library's formulas are held against.

Every trick uses torch's own function for it where there is one: ``cross_entropy(label_smoothing=)``, ``clip_grad_norm_``,
``clip_grad_value_``, masking by minus infinity; the update is ``torch.optim.SGD(weight_decay=)``, in float64 on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trick:
    """A variant of training. ``loss(logits, labels)`` is the loss of torch; ``clip`` changes the gradients in place.

    ``bias`` is "none", "decayed" or "undecayed"; ``mask`` says for which examples the logits of labels 0 and 1 take part,
    by their place in the batch; ``period`` is that of resets (0: none), ``late`` whether row 1 is reset half a period later.
    """

    name: str
    loss: Callable[[Any, Any], Any] | None = None
    clip: Callable[[Any], Any] | None = None
    bias: str = "none"
    mask: bool = False
    period: int = 0
    late: bool = False


@dataclass(frozen=True)
class TorchRun:
    """What was recorded of S steps: rows before and after each [S, K, n], batches [S, B, n] and [S, B], biases [S, K] before
    and after, fresh rows [S, 2, n] for resets, the step size and the decay."""

    before: Floats
    after: Floats
    features: Floats
    labels: NDArray[np.int64]
    step_size: float
    weight_decay: float
    biases: Floats = field(default_factory=lambda: np.zeros(0))
    next_biases: Floats = field(default_factory=lambda: np.zeros(0))
    fresh: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def mask(self) -> NDArray[np.int8]:
        """1 where the pair's logits take part under ``Trick.mask`` [S, B]: every other example."""
        places = np.arange(self.labels.shape[1]) % 2
        return np.broadcast_to(places.astype(np.int8), self.labels.shape)


def train(
    trick: Trick,
    features: Floats,
    labels: NDArray[np.int64],
    *,
    classes: int,
    seed: int,
    steps: int = 40,
    batch_size: int = 32,
    step_size: float = 0.1,
    weight_decay: float = 0.02,
    scale: float = 0.3,
) -> TorchRun:
    """Train a head of ``classes`` labels on features [N, n] with labels [N] and record every step."""
    import torch

    rng = np.random.default_rng([seed, 7])
    rows = torch.tensor(scale * rng.standard_normal((classes, features.shape[1])))
    rows.requires_grad_(True)
    bias = torch.tensor(scale * rng.standard_normal(classes), requires_grad=True)
    groups: list[dict[str, Any]] = [{"params": [rows], "weight_decay": weight_decay}]
    if trick.bias != "none":
        decay = weight_decay if trick.bias == "decayed" else 0.0
        groups.append({"params": [bias], "weight_decay": decay})
    optimizer = torch.optim.SGD(groups, lr=step_size)
    fresh = scale * rng.standard_normal((steps, 2, features.shape[1]))
    seen: dict[str, list[Any]] = {
        name: [] for name in ("before", "after", "x", "y", "biases", "next_biases")
    }
    loss = trick.loss or torch.nn.functional.cross_entropy
    for t in range(steps):
        _reset(trick, rows, fresh, t)
        chosen = rng.choice(len(labels), batch_size, replace=False)
        x, y = torch.tensor(features[chosen]), torch.tensor(labels[chosen])
        seen["before"].append(rows.detach().numpy().copy())
        seen["biases"].append(bias.detach().numpy().copy())
        logits = x @ rows.T + (bias if trick.bias != "none" else 0.0)
        if trick.mask:
            left_out = torch.zeros_like(logits)
            left_out[::2, :2] = -torch.inf
            logits = logits + left_out
        optimizer.zero_grad()
        loss(logits, y).backward()
        if trick.clip is not None:
            trick.clip(rows)
        optimizer.step()
        seen["after"].append(rows.detach().numpy().copy())
        seen["next_biases"].append(bias.detach().numpy().copy())
        seen["x"].append(features[chosen])
        seen["y"].append(labels[chosen])
    stacked = {name: np.stack(values) for name, values in seen.items()}
    return TorchRun(
        before=stacked["before"],
        after=stacked["after"],
        features=stacked["x"],
        labels=stacked["y"],
        step_size=step_size,
        weight_decay=weight_decay,
        biases=stacked["biases"],
        next_biases=stacked["next_biases"],
        fresh=fresh,
    )


def _reset(trick: Trick, rows: Any, fresh: Floats, t: int) -> None:
    """Redraw rows 0 and 1 before step t where it is time for it."""
    import torch

    if not trick.period:
        return
    for k in (0, 1):
        shift = (trick.period + 1) // 2 if trick.late and k == 1 else 0
        if t > shift and (t - shift) % trick.period == 0:
            with torch.no_grad():
                rows[k] = torch.tensor(fresh[t, k])


SMOOTHING, TEMPERATURE, ZETA, CAP, CLIP = 0.1, 2.0, 0.01, 5.0, 0.02
"""The settings of the tricks in the observed runs."""


def tricks() -> dict[str, Trick]:
    """The tricks that are observed, by name, with the settings above."""
    import torch
    from torch.nn import functional

    def z_loss(logits: Any, labels: Any) -> Any:
        log_z = torch.logsumexp(logits, dim=-1)
        return functional.cross_entropy(logits, labels) + ZETA * (log_z**2).mean()

    def clip_rows(rows: Any) -> None:
        with torch.no_grad():
            norms = rows.grad.norm(dim=1, keepdim=True)
            rows.grad *= (CLIP / norms).clamp(max=1.0)

    all_of_them = (
        Trick("plain"),
        Trick(
            "label smoothing",
            lambda z, y: functional.cross_entropy(z, y, label_smoothing=SMOOTHING),
        ),
        Trick("temperature", lambda z, y: functional.cross_entropy(z / TEMPERATURE, y)),
        Trick("masked logits", mask=True),
        Trick("norm clipping", clip=lambda w: torch.nn.utils.clip_grad_norm_([w], CLIP)),
        Trick("value clipping", clip=lambda w: torch.nn.utils.clip_grad_value_([w], CLIP)),
        Trick("row clipping", clip=clip_rows),
        Trick("z-loss", z_loss),
        Trick(
            "soft-capping",
            lambda z, y: functional.cross_entropy(CAP * torch.tanh(z / CAP), y),
        ),
        Trick("decayed bias", bias="decayed"),
        Trick("undecayed bias", bias="undecayed"),
        Trick("reset together", period=10),
        Trick("reset one at a time", period=10, late=True),
    )
    return {trick.name: trick for trick in all_of_them}
