"""Stored instances in a few lines that one can read and check by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .domains import DOMAINS

MOST_NUMBERS = 60
"""Instances with more numbers than this are described by their sizes."""

SIGNS = {
    "eta": "η",
    "lam": "λ",
    "pbar": "p̄",
    "delta": "δ",
    "eps": "ε",
    "tau": "τ",
    "zeta": "ζ",
    "cap": "κ",
    "lowest": "μ",
    "highest": "μ̄",
}
"""Signs as formulas show them, by the name of a symbol or of a field; all others are shown as they are."""

INDICES = str.maketrans("0123456789uv", "₀₁₂₃₄₅₆₇₈₉ᵤᵥ")

Axes = Mapping[str, tuple[str, ...]]


def describe(instance: Mapping[str, Any], *, unused: Collection[str] = ()) -> list[str]:
    """The instance of a witness as a few short lines: rows and vectors, for each step its examples and its numbers, then
    the numbers of the whole instance.

    Fields that the claim does not use are left out. Instances of an unknown domain, or too large to read, give one line
    that says so.
    """
    where = DOMAINS.get(str(instance.get("domain")))
    values = instance.get("values")
    if where is None or not isinstance(values, Mapping):
        return ["see the ledger file"]
    kind = where.batch_type
    try:
        return _Words(kind.AXES, kind.SYMBOLS, frozenset(unused)).lines(values)
    except (TypeError, ValueError, IndexError, KeyError):
        return ["not readable; see the ledger file"]


class _Words:
    """The words for instances of one domain, given what the domain says of its fields."""

    def __init__(self, axes: Axes, symbols: Mapping[str, str], unused: frozenset[str]) -> None:
        self.axes, self.symbols, self.unused = axes, symbols, unused

    def lines(self, values: Mapping[str, Any]) -> list[str]:
        """All lines."""
        vectors = [name for name, axes in self.axes.items() if "n" in axes]
        count = sum(_count(values[name]) for name in vectors)
        if count > MOST_NUMBERS:
            return [f"{self._sizes(values)}, {count} numbers; see the ledger file"]
        lines = list(self._whole(values))
        stepwise = [name for name, axes in self.axes.items() if axes[:1] == ("T",)]
        once = {name: axes for name, axes in self.axes.items() if name not in stepwise}
        if stepwise:
            inner = {name: self.axes[name][1:] for name in stepwise}
            length = len(values[stepwise[0]])
            for t in range(length):
                said = self._step({name: values[name][t] for name in stepwise}, inner)
                lines += said if length == 1 else [f"step {t}: {'; '.join(said)}"]
        return [*lines, *self._step(values, once)]

    def _sizes(self, values: Mapping[str, Any]) -> str:
        sizes: dict[str, int] = {}
        for name, axes in self.axes.items():
            inner = values[name]
            for axis in axes:
                sizes.setdefault(axis, len(inner))
                inner = inner[0]
        return ", ".join(f"{axis} = {size}" for axis, size in sizes.items() if axis in "KSn")

    def _whole(self, values: Mapping[str, Any]) -> Iterator[str]:
        """What belongs to no step and no example: rows, biases and single vectors, a line each."""
        for name, axes in self._used(self.axes):
            value, sign = values[name], self._sign(name)
            if axes == ("K", "n"):
                rows = (f"{_row_name(k)} = {_vector(row)}" for k, row in enumerate(value))
                yield "rows " + ", ".join(rows)
            elif axes == ("S", "n"):
                rows = (f"{_with_index(sign, k + 1)} = {_vector(x)}" for k, x in enumerate(value))
                yield f"{name} rows " + ", ".join(rows)
            elif axes == ("K",):
                labels = ("u", "v", *range(3, len(value) + 1))
                each = zip(labels, value, strict=True)
                shown = (f"{_with_index(sign, k)} = {_number(x)}" for k, x in each)
                yield f"{name} " + ", ".join(shown)
            elif axes == ("n",):
                yield f"{sign} = {_vector(value)}"

    def _step(self, values: Mapping[str, Any], axes: Axes) -> list[str]:
        """Examples, rows and numbers of one step, or those that all steps share."""
        parts = ["; ".join(self._examples(values, axes))]
        numbers = []
        for name, own in self._used(axes):
            if own == ():
                numbers.append(f"{self._sign(name)} = {_number(values[name])}")
            elif own == ("pair", "n"):
                u, v = map(_vector, values[name])
                parts.append(f"{name} u = {u}, v = {v}")
        return [part for part in (*parts, ", ".join(numbers)) if part]

    def _examples(self, values: Mapping[str, Any], axes: Axes) -> Iterator[str]:
        """Each example: its feature, target, weight, and whatever else a field says of it."""
        if axes.get("features") != ("N", "n"):
            return
        count = len(values["features"])
        known = {"features", "labels", "example_weights"}
        others = [(n, a) for n, a in self._used(axes) if a[:1] == ("N",) and n not in known]
        for i in range(count):
            sign = self._sign("features")
            sign = _with_index(sign, i + 1) if count > 1 else sign
            said = [f"{sign} = {_vector(values['features'][i])}"]
            said[0] += f" with target {_row_name(values['labels'][i])}"
            if count > 1:
                said.append(f"weight {float(values['example_weights'][i]):.4g}")
            for name, own in others:
                shown = _vector(values[name][i]) if len(own) > 1 else _number(values[name][i])
                said.append(f"{self._sign(name)} = {shown}")
            yield ", ".join(said)

    def _used(self, axes: Axes) -> Iterator[tuple[str, tuple[str, ...]]]:
        return ((name, own) for name, own in axes.items() if name not in self.unused)

    def _sign(self, name: str) -> str:
        symbol = self.symbols.get(name, name)
        return SIGNS.get(name) or SIGNS.get(symbol, symbol)


def _row_name(k: int) -> str:
    return ("u", "v")[k] if k < 2 else _with_index("w", k + 1)


def _with_index(sign: str, index: int | str) -> str:
    return sign + str(index).translate(INDICES)


def _vector(entries: Any) -> str:
    shown = [_number(x) for x in entries]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def _number(x: Any) -> str:
    return f"{float(x):.6g}".replace("-", "−")


def _count(nested: Any) -> int:
    return sum(map(_count, nested)) if isinstance(nested, list) else 1
