"""Whether a derivation's conclusion is what the claim says today: the claim owns the formula.

The claim's own `lhs`, `rhs` and margins are run on the library's symbols at the small size for which the conclusion is
written out, and compared with it exactly.
"""

import numpy as np

from collapse_theory.claims import Claim
from collapse_theory.instances import symbolic

from .agree import agree
from .derivation import Derivation, Part


def disagreements(derivation: Derivation, claim: Claim) -> list[str]:
    """What in the claim the derivation does not derive, in words; empty when they agree.

    A derivation may use fewer hypotheses than the claim states, never others.
    """
    if derivation.claim != claim.id:
        return [f"it derives {derivation.claim!r}, not {claim.id!r}"]
    if not derivation.lines or not derivation.goals:
        return ["it has no lines or no goals"]
    parts = derivation.conclusion
    missing = set(claim.parts) - {part.id for part in parts}
    found = [f"it has no conclusion for the part {name!r}" for name in sorted(missing)]
    if claim.expected == "refuted" and not any(part.refutes for part in parts):
        found.append("the claim is expected to be refuted, and no conclusion refutes it")
    for part in parts:
        found += _of_part(part, claim)
    return found


def _of_part(part: Part, claim: Claim) -> list[str]:
    found = []
    instance = symbolic(claim.domain, **part.sizes)
    place = claim.parts.index(part.id) if part.id in claim.parts else None
    for name, derived in (("lhs", part.lhs), ("rhs", part.rhs)):
        stated = np.ravel(getattr(claim, name)(instance))
        stated = stated if place is None else stated[place : place + 1]
        derived = derived if isinstance(derived, tuple) else (derived,)
        if len(stated) != len(derived) or not all(map(agree, derived, stated)):
            found.append(f"{part.id}: the claim's {name} is not the derived one")
    mends = claim.expected == "refuted" and not part.refutes
    hypotheses = (*claim.hypotheses, *(claim.missing if mends else ()))
    margins = {h.id: h.margin for h in hypotheses}
    for name in part.structural:
        if name not in margins:
            found.append(f"{part.id}: it assumes {name!r}, which the claim does not")
    for name, derived in part.hypotheses.items():
        if name not in margins:
            found.append(f"{part.id}: it assumes {name!r}, which the claim does not")
            continue
        stated = np.ravel(margins[name](instance))
        if len(stated) != len(derived) or not all(map(agree, derived, stated)):
            found.append(f"{part.id}: the claim's hypothesis {name!r} is not the derived one")
    return found
