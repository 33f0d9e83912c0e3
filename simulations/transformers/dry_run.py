"""A study's models without their training: how large they are, and that a step's shapes fit."""

from __future__ import annotations

import torch

from simulations.horn import Vocabulary
from simulations.transformers.model import Transformer
from simulations.transformers.studies import Study

__all__ = ["shapes"]


def shapes(study: Study) -> str:
    """A line for each variant: parameters, and the shapes of features and logits of a batch, on torch's meta device.

    Nothing is computed and no memory taken, so that a model for an accelerator can be looked at anywhere.
    """
    lines = []
    for run in {run.variant: run for run in study.runs}.values():
        with torch.device("meta"):
            model = Transformer(run.model, generator=None)
            tokens = torch.zeros(run.train.batch, run.model.context, dtype=torch.int64)
            x, shares = model(tokens)
            context = tokens[:, None].expand(-1, run.model.context, -1)
            logs = model.log_probabilities(x, shares, context)
        size = Vocabulary(seen=run.seen, unseen=run.unseen).size
        count = sum(p.numel() for p in model.parameters())
        lines.append(
            f"{run.variant}: {count:,} parameters, vocabulary {size}, features {list(x.shape)}, logits {list(logs.shape)}"
        )
    return "\n".join(lines)
