"""What a witness stores, for reading: the instance in a few lines, and the sides as plain numbers."""

from __future__ import annotations

import re
from typing import Any

from ..instances._describe import describe

__all__ = ["describe", "side"]


def side(enclosures: Any) -> list[str]:
    """Enclosures ``[mid +/- rad]`` of a side of a claim, one for each part, as plain numbers where they are that sharp."""
    return [_sure(str(text)) for text in enclosures] if isinstance(enclosures, list) else []


def _sure(text: str) -> str:
    found = re.fullmatch(r"\[(\S+) \+/- (\S+)\]", text)
    middle = found[1] if found else text
    try:
        number = float(middle)
    except ValueError:
        return text
    radius = float(found[2]) if found else 0.0
    return f"{number:.6g}" if radius <= 1e-6 * abs(number) else text
