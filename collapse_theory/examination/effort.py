"""How much an examination does, counted in instances and never in seconds, so that a seed fixes the result."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from ..instances import domain as domain_named


@dataclass(frozen=True)
class Effort:
    """Sizes of an examination, per claim: admissible instances searched (whole ``run``s or single ``step``s and the like),
    those enclosed in balls, and the optimiser's starts, copies per start and rounds."""

    name: str
    step: int
    run: int
    enclosed: int
    enclosed_runs: int
    starts: int = 12
    copies: int = 48
    rounds: int = 40

    def instances(self, domain: str) -> int:
        """Admissible instances of a domain to be searched."""
        return self.run if domain_named(domain).runs else self.step

    def enclosures(self, domain: str) -> int:
        """Admissible instances of a domain to be enclosed."""
        return self.enclosed_runs if domain_named(domain).runs else self.enclosed


EFFORTS = {
    "quick": Effort("quick", step=20_000, run=1_000, enclosed=500, enclosed_runs=100, rounds=20),
    "default": Effort("default", step=1_000_000, run=20_000, enclosed=4_000, enclosed_runs=1_000),
    "thorough": Effort(
        "thorough",
        step=10_000_000,
        run=200_000,
        enclosed=100_000,
        enclosed_runs=20_000,
        rounds=200,
    ),
}


def effort(name: str | Effort) -> Effort:
    """The effort called ``name``. Raises :class:`InputError` for an unknown one."""
    if isinstance(name, Effort):
        return name
    if name not in EFFORTS:
        raise InputError(f"effort {name!r} is unknown; efforts are {', '.join(EFFORTS)}")
    return EFFORTS[name]
