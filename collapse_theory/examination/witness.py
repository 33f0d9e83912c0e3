"""Witnesses: instances that refute a claim, certified in ball arithmetic, made small, saved and replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..arithmetic import ball
from ..claims import Claim, get_claim
from ..errors import InputError
from ..instances import Batch, domain
from ..instances._describe import describe
from .evaluation import START_BITS, Certificate, Outcome, certify, per_part, unused_fields

SCHEMA = 1


@dataclass(frozen=True)
class Witness:
    """An instance (float batch of one) on which every hypothesis of ``claim`` holds and its conclusion fails, both for
    certain. ``dropped`` names the hypothesis that was left out of a registered claim, if one was."""

    claim: Claim
    instance: Batch
    dropped: str | None = None

    def __str__(self) -> str:
        """The claim, the hypothesis left out, and the instance as far as the claim reads it."""
        without = f" without {self.dropped}" if self.dropped is not None else ""
        lines = describe(self.instance.to_dict(), unused=self.unused)
        return "\n  ".join([f"witness against {self._base}{without}", *lines])

    @property
    def _base(self) -> str:
        """The id of the registered claim."""
        without = "" if self.dropped is None else f"_without_{self.dropped}"
        return self.claim.id.removesuffix(without)

    @property
    def unused(self) -> list[str]:
        """Fields of the instance that the claim does not read."""
        return [*unused_fields(self.claim, self.instance), *_idle_counts(self.claim, self.instance)]

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": "witness",
            "claim": self._base,
            "revision": self.claim.revision,
            "dropped": self.dropped,
            "statement": self.claim.statement,
            "instance": self.instance.to_dict(),
            "unused": self.unused,
            "certificate": sides(self.claim, self.instance),
        }

    def save(self, path: str | Path) -> Path:
        """Write the witness as JSON, whole or not at all."""
        return files.write_json(path, self.to_dict())

    @classmethod
    def from_dict(cls, data: Any, *, where: str = "witness") -> Witness:
        """A witness of a registered claim from :meth:`to_dict`'s data; ``where`` names the source in errors.

        Raises :class:`InputError` when the data are damaged, foreign, or of another schema or revision.
        """
        if not isinstance(data, Mapping) or data.get("kind") != "witness":
            raise InputError(f"{where}: not a witness; expected an object with kind 'witness'")
        if data.get("schema") != SCHEMA:
            raise InputError(
                f"{where}: schema {data.get('schema')!r} is not understood; this version reads {SCHEMA}"
            )
        try:
            claim = get_claim(str(data.get("claim")))
            if data.get("revision") != claim.revision:
                raise InputError(
                    f"written for revision {data.get('revision')} of {claim.id}, which is now at revision "
                    f"{claim.revision}; search again with: collapse-theory falsify {claim.id}"
                )
            dropped = data.get("dropped")
            if dropped is not None:
                claim = claim.drop(str(dropped))
            instance = data.get("instance")
            if not isinstance(instance, dict) or instance.get("domain") != claim.domain:
                raise InputError(f"'instance' must be a {claim.domain} instance")
            batch = domain(claim.domain).batch_type.from_dict(instance)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        return cls(claim, batch, dropped)


def sides(claim: Claim, instance: Batch) -> dict[str, Any]:
    """Enclosures of both sides and of every margin, as decimal strings ``[mid +/- rad]``."""
    balls = instance.to(ball(START_BITS))

    def show(x: Any) -> list[str]:
        array = ball(START_BITS).asarray(x) if not hasattr(x, "balls") else x
        return [b.str(12) for b in np.ravel(array.balls)]

    return {
        "bits": START_BITS,
        "lhs": show(per_part(claim.lhs(balls), instance)),
        "rhs": show(per_part(claim.rhs(balls), instance)),
        "margins": {h.id: show(h.margin(balls)) for h in claim.hypotheses},
    }


def _idle_counts(claim: Claim, instance: Batch) -> list[str]:
    """Counts and masks that the claim does not read: others change nothing. (Labels are part of any instance.)"""

    def outputs(batch: Batch) -> list[np.ndarray]:
        functions = [claim.lhs, claim.rhs, *(h.margin for h in claim.hypotheses)]
        with np.errstate(all="ignore"):
            return [np.asarray(f(batch)) for f in functions]

    def idle(name: str) -> bool:
        other = replace(instance, **{name: instance.values[name] + 1})
        pairs = zip(outputs(instance), outputs(other), strict=True)
        return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)

    return [name for name in instance.AXES if name in instance.INTEGERS - {"labels"} and idle(name)]


def confirm(claim: Claim, instance: Batch) -> Certificate | None:
    """The certificate if the instance refutes the claim for certain, else None."""
    certificate = certify(claim, instance)
    return certificate if certificate.outcome[0] == Outcome.VIOLATED else None


def read_witness(path: str | Path) -> Witness:
    """A witness of a registered claim from its file. Raises :class:`InputError` on a damaged or foreign file."""
    return Witness.from_dict(files.read_json(path), where=str(path))
