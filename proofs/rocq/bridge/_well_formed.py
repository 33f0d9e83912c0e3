"""What the theorems ask of well-formed instances, against what the library takes for an instance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from collapse_theory.instances import Batch

from ._lemmas import Lemma, domains, evaluated
from ._statements import Said, statement
from ._terms import term

HEAD: dict[str, dict[str, Any]] = {
    "label": {"labels": 3},
    "negative_weight": {"example_weights": [-0.25, 1.25]},
    "weights_above_one": {"example_weights": [1.0, 0.5]},
}
ILL_FORMED: dict[str, dict[str, dict[str, Any]]] = {
    "step": HEAD,
    "run": HEAD,
    "head": {"one_unseen": {"unseen": 1}, "more_unseen_than_labels": {"unseen": 5}},
    "spectral_step": HEAD,
    "equilibrium": {"none_unseen": {"unseen": 0}},
    "steady_run": HEAD,
    "probe_run": HEAD,
    "reset_run": HEAD | {"period": {"period": 0}},
    "momentum_run": HEAD | {"momentum": {"momentum": -0.5}},
    "adam_step": HEAD | {"epsilon": {"epsilon": 0.0}},
    "adam_run": HEAD
    | {
        "beta1_negative": {"beta1": -0.125},
        "beta1_one": {"beta1": 1.0},
        "beta2_zero": {"beta2": 0.0},
        "beta2_one": {"beta2": 1.0},
        "epsilon": {"epsilon": 0.0},
    },
    "preconditioned_step": HEAD | {"preconditioner": {"preconditioner": [0.0, 1.0]}},
    "loss_step": HEAD
    | {
        "smoothing_negative": {"smoothing": -0.125},
        "smoothing_above_one": {"smoothing": 1.125},
        "temperature": {"temperature": 0.0},
        "scale": {"scale": 0.0},
        "clip": {"clip": 0.0},
        "target_negative": {"pair_targets": -0.125},
        "targets_above_one": {"pair_targets": 0.625},
    },
    "z_loss_step": HEAD,
    "capped_step": HEAD | {"cap": {"cap": 0.0}},
    "biased_step": HEAD,
}
"""By domain, what makes an instance ill-formed: a field and a value for all of it, or for its last axis."""
PLACE = {
    "run": 2,
    "probe_run": 2,
    "steady_run": 2,
    "reset_run": 2,
    "momentum_run": 2,
    "adam_run": 2,
}
"""The instance that is changed: one with two examples."""


def ill_formed(domain: str) -> dict[str, Batch]:
    """Instances that the library refuses to create, unchecked."""
    instance = evaluated(domain)[PLACE.get(domain, 0)].instance
    found: dict[str, Batch] = {}
    for name, change in ILL_FORMED.get(domain, {}).items():
        values: dict[str, Any] = {}
        for key, value in change.items():
            old = np.asarray(instance.values[key])
            values[key] = np.broadcast_to(np.asarray(value, dtype=old.dtype), old.shape)
        found[name] = replace(instance, **values)
    return found


def premises(domain: str) -> list[Said]:
    """The premises of well-formedness that the theorems of a domain have."""
    found: dict[str, Said] = {}
    for claim in domains()[domain]:
        said = statement(claim.id).well_formed
        if said is not None:
            found.setdefault(said.meaning, said)
    return list(found.values())


def well_formed(domain: str) -> Iterator[tuple[Lemma, str]]:
    """Lemmas that well-formed instances are so for Rocq, and that those which the library refuses are not; each with
    what must be defined before."""
    for said in premises(domain):
        predicate = said.text.split()[0]

        def lemma(
            name: str, *, holds: bool, said: Said = said, predicate: str = predicate
        ) -> Lemma:
            text = said.at(name)
            return Lemma(
                name=f"{name}_{predicate}",
                claims=(),
                about=predicate,
                kind="truth",
                holds=holds,
                file=said.file,
                said=text if holds else f"~ ({text})",
                proof="cbv zeta. holds." if holds else "cbv zeta. intros H; refuted H.",
            )

        for place, _ in enumerate(evaluated(domain)):
            yield lemma(f"at_{place}", holds=True), ""
        for name, instance in ill_formed(domain).items():
            yield lemma(f"ill_{name}", holds=False), f"Definition ill_{name} := {term(instance)}."
