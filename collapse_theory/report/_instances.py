"""Stored instances in a line that one can read and check by hand."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

MOST_NUMBERS = 60
"""Instances with more numbers than this are described by their sizes."""

SCALARS = {
    "step_size": "η",
    "weight_decay": "λ",
    "radius": "r",
    "pbar": "p̄",
    "curvature": "T",
}


def describe(instance: Mapping[str, Any], *, unused: Collection[str] = ()) -> list[str]:
    """The instance of a witness as a few short lines: rows, then for each step its examples and its scalars.

    Bounds that the claim does not use are left out. Instances of an unknown domain,
    or too large to read, give one line that says so.
    """
    values = instance.get("values")
    if not isinstance(values, Mapping) or not {"weights", "features", "labels"} <= set(values):
        return ["see the ledger file"]
    try:
        return _described(values, unused, steps=instance.get("domain") == "run")
    except (TypeError, ValueError, IndexError, KeyError):
        return ["not readable; see the ledger file"]


def _described(values: Mapping[str, Any], unused: Collection[str], *, steps: bool) -> list[str]:
    rows = values["weights"]
    count = _numbers(values["weights"]) + _numbers(values["features"])
    sizes = f"K = {len(rows)}, n = {len(rows[0])}"
    if count > MOST_NUMBERS:
        return [f"{sizes}, {count} numbers; see the ledger file"]
    lines = ["rows " + ", ".join(f"{_row_name(k)} = {_vector(row)}" for k, row in enumerate(rows))]
    if not steps:
        return lines + _step(values, unused)
    length = len(values["labels"])
    for t in range(length):
        at = {name: value[t] for name, value in values.items() if name != "weights"}
        lines += _step(at, unused) if length == 1 else [f"step {t}: {'; '.join(_step(at, unused))}"]
    return lines


def _step(values: Mapping[str, Any], unused: Collection[str]) -> list[str]:
    examples = []
    weights = values["example_weights"]
    for i, (x, y) in enumerate(zip(values["features"], values["labels"], strict=True)):
        name = f"x{_low(i + 1)}" if len(weights) > 1 else "x"
        share = f", weight {weights[i]:.4g}" if len(weights) > 1 else ""
        examples.append(f"{name} = {_vector(x)} with target {_row_name(y)}{share}")
    scalars = [
        f"{sign} = {_number(values[name])}" for name, sign in SCALARS.items() if name not in unused
    ]
    return ["; ".join(examples), ", ".join(scalars)]


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


def _row_name(k: int) -> str:
    return ("u", "v")[k] if k < 2 else f"w{_low(k + 1)}"


def _low(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _vector(entries: Any) -> str:
    shown = [_number(x) for x in entries]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def _number(x: Any) -> str:
    return f"{float(x):.6g}".replace("-", "−")


def _numbers(nested: Any) -> int:
    return sum(map(_numbers, nested)) if isinstance(nested, list) else 1
