"""What every domain's batch has in common: fields with named axes, conversion, selection, validation, JSON."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from ..arithmetic import FLOAT, Array, Ops
from ..checks import labels_below, numbers, whole_numbers
from ..errors import InputError


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of instances of one shape. Subclasses add array fields; axis 0 of each field is the instance.

    ``AXES`` names each field's trailing axes, in the order of the arrays; ``INTEGERS`` are the fields that hold labels or
    counts (always NumPy integers, in every arithmetic). ``SYMBOLS`` are the fields' names in formulas. ``LEAST`` gives, for
    each axis that may be shortened, the first index that may go and the smallest size; ``BOUNDS`` are fields that bound
    something from above and stay true when they grow.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {}
    INTEGERS: ClassVar[frozenset[str]] = frozenset()
    SYMBOLS: ClassVar[dict[str, str]] = {}
    LEAST: ClassVar[dict[str, tuple[int, int]]] = {
        "K": (2, 3),
        "n": (0, 1),
        "N": (0, 1),
        "T": (0, 1),
    }
    BOUNDS: ClassVar[frozenset[str]] = frozenset({"radius", "pbar", "curvature"})
    domain: ClassVar[str] = ""

    ops: Ops

    @property
    def values(self) -> dict[str, Array]:
        """The fields' arrays by name, without the arithmetic."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "ops"}

    @property
    def lead(self) -> tuple[int, ...]:
        """The batch axes' sizes."""
        name, axes = next(iter(self.AXES.items()))
        shape = getattr(self, name).shape
        return tuple(shape[: len(shape) - len(axes)])

    def __len__(self) -> int:
        return self.lead[0]

    def take(self, index: Any) -> Self:
        """The instances at ``index`` (an integer gives a batch of one)."""
        if isinstance(index, (int, np.integer)):
            index = [int(index)]
        return replace(self, **{name: array[index] for name, array in self.values.items()})

    @property
    def sizes(self) -> dict[str, int]:
        """The size of every axis, by its name."""
        found: dict[str, int] = {}
        for name, axes in self.AXES.items():
            shape = getattr(self, name).shape
            found.update(zip(axes, shape[len(shape) - len(axes) :], strict=True))
        return found

    def without(self, axis: str, index: int) -> Self | None:
        """The instances with one entry of an axis left out; labels and batch weights mended, None where that is impossible.
        For float batches with one batch axis."""
        values: dict[str, Any] = {}
        for name, array in self.values.items():
            axes = self.AXES[name]
            values[name] = np.delete(array, index, 1 + axes.index(axis)) if axis in axes else array
        if "labels" in values and axis == "K":
            labels, last = values["labels"], self.sizes["K"] - 2
            values["labels"] = np.where(labels > index, labels - 1, np.minimum(labels, last))
        if "example_weights" in values:
            total = values["example_weights"].sum(axis=-1, keepdims=True)
            if np.any(total == 0):
                return None
            values["example_weights"] = at_most_one(values["example_weights"] / total)
        return replace(self, **values)

    def to(self, ops: Ops) -> Self:
        """The same instances in another arithmetic; floats convert to balls exactly."""
        convert = {k: v for k, v in self.values.items() if k not in self.INTEGERS}
        return replace(self, ops=ops, **{k: ops.asarray(v) for k, v in convert.items()})

    def to_dict(self) -> dict[str, Any]:
        """Plain lists that JSON keeps exactly (``repr`` of a float is exact). Only for float batches of one."""
        if len(self) != 1:
            raise ValueError(f"to_dict takes a batch of one instance, not {len(self)}")
        return {
            "domain": self.domain,
            "values": {name: np.asarray(array)[0].tolist() for name, array in self.values.items()},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`. Raises :class:`InputError` on missing, unknown or malformed values."""
        if not isinstance(data, dict) or data.get("domain") != cls.domain:
            raise InputError(f"instance: expected an object with domain {cls.domain!r}")
        values = data.get("values")
        if not isinstance(values, dict):
            raise InputError("instance: 'values' is missing; it must map field names to numbers")
        names = set(cls.AXES)
        if set(values) != names:
            odd = ", ".join(sorted(map(str, set(values) ^ names)))
            raise InputError(
                f"instance: fields {odd} are missing or unknown; expected {sorted(names)}"
            )
        return cls.create(**values)

    @classmethod
    def create(cls, **values: Any) -> Self:
        """One instance from plain numbers and nested lists, checked. Raises :class:`InputError`.

        Shapes are those of ``AXES`` without a batch axis. Subclasses fill in defaults.
        """
        for name in values:
            if name not in cls.AXES:
                near = difflib.get_close_matches(name, cls.AXES, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise InputError(
                    f"{cls.domain}: field {name!r} is unknown; {hint}fields are {', '.join(cls.AXES)}"
                )
        sizes: dict[str, int] = {}
        arrays: dict[str, np.ndarray] = {}
        for name, axes in cls.AXES.items():
            if name not in values:
                raise InputError(
                    f"{cls.domain}: {name} is missing; give all of {', '.join(cls.AXES)}"
                )
            check = whole_numbers if name in cls.INTEGERS else numbers
            array = check(name, values[name])
            if array.size == 0:
                raise InputError(f"{name}: is empty, shape {array.shape}; give at least one entry")
            if array.ndim != len(axes):
                wanted = "[" + ", ".join(axes) + "]" if axes else "a single number"
                raise InputError(f"{name}: got shape {array.shape}, expected {wanted}")
            for axis, size in zip(axes, array.shape, strict=True):
                if sizes.setdefault(axis, size) != size:
                    raise InputError(
                        f"{name}: axis {axis} has {size} entries, other fields have {sizes[axis]}"
                    )
            arrays[name] = array[None]
        batch = cls(ops=FLOAT, **arrays)
        batch.check()
        if "example_weights" in arrays:
            arrays["example_weights"] = at_most_one(arrays["example_weights"])
            batch = cls(ops=FLOAT, **arrays)
        return batch

    @property
    def nontrivial(self) -> np.ndarray:
        """Float instances [B] in which something happens; tightness is to be shown on these."""
        return np.ones(len(self), dtype=bool)

    def check(self) -> None:
        """Well-formedness beyond shapes; hypotheses are margins and are not checked here."""


def check_head(labels: np.ndarray, example_weights: np.ndarray, count: int) -> None:
    """Labels in range, K >= 3, batch weights nonnegative with sum 1. Raises :class:`InputError`."""
    if count < 3:
        raise InputError(
            f"weights: K = {count} labels, but a pair of unseen labels and a target need K >= 3"
        )
    labels_below(count, labels)
    if example_weights.min() < 0:
        raise InputError(f"example_weights: {example_weights.min()} is negative; weights are >= 0")
    with np.errstate(over="ignore"):
        total = example_weights.sum(axis=-1)
    if np.any(np.abs(total - 1) > 1e-9):
        raise InputError(f"example_weights: sum {total.flat[0]:.6g}; batch weights must sum to 1")


def at_most_one(weights: np.ndarray) -> np.ndarray:
    """Batch weights [..., N] with rows whose exact sum exceeds 1 scaled down by 2^-45.

    Floats near 1/N can sum to 1 + 1e-16, which in exact arithmetic breaks bounds that use ``sum a_i <= 1``.
    """
    rows = weights.reshape(-1, weights.shape[-1])
    over = [sum(map(Fraction, row.tolist())) > 1 for row in rows]
    scale = np.where(over, 1 - 2.0**-45, 1.0).reshape(*weights.shape[:-1], 1)
    return weights * scale
