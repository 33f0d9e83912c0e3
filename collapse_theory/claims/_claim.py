"""The claim type: a statement with hypotheses and a conclusion ``lhs <= rhs`` or ``lhs == rhs``."""

from __future__ import annotations

import difflib
import keyword
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from ..arithmetic import Array
from ..errors import InputError


@dataclass(frozen=True)
class Hypothesis:
    """A named margin on instances; the hypothesis holds where every entry of the margin is >= 0 (``strict``: > 0).

    ``margin(batch)`` has the batch's axes, plus any number of further ones (a run's steps). An equality ``e = 0`` is the
    margin ``-|e|``.
    """

    id: str
    latex: str
    margin: Callable[[Any], Array]
    strict: bool = False


@dataclass(frozen=True)
class Claim:
    """A statement about instances of one domain, put to the test by :func:`collapse_theory.examine`.

    ``lhs`` and ``rhs`` map a batch to arrays with the batch's axes, or with one more axis when the statement has several
    ``parts``; in an identity (``==``) without parts that axis may be the coordinates of two vectors. They use operators and
    the batch's ``ops`` alone, so that they run on floats, balls and symbols.

    ``expected`` says what we believe ("holds" or "refuted"); ``tight`` that the constant cannot be improved (every part
    is reached to 0.999 by some admissible instance); ``missing`` are hypotheses that, added, mend a claim expected to be
    refuted. ``statement`` is one line of plain text, ``latex`` the formula. A changed statement gets a new ``revision``.
    """

    id: str
    lhs: Callable[[Any], Array]
    rhs: Callable[[Any], Array]
    hypotheses: tuple[Hypothesis, ...] = ()
    domain: str = "step"
    title: str = ""
    statement: str = ""
    latex: str = ""
    source: str = ""
    relation: Literal["<=", "=="] = "<="
    expected: Literal["holds", "refuted"] = "holds"
    tight: bool = False
    parts: tuple[str, ...] = ()
    missing: tuple[Hypothesis, ...] = ()
    corollary: str = ""
    revision: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.isidentifier() or keyword.iskeyword(self.id):
            raise InputError(
                f"claim id {self.id!r} is not an identifier; use letters, digits and _"
            )
        if self.relation not in ("<=", "=="):
            raise InputError(f"relation {self.relation!r} is unknown; use '<=' or '=='")
        if self.expected not in ("holds", "refuted"):
            raise InputError(f"expected {self.expected!r} is unknown; use 'holds' or 'refuted'")
        ids = [h.id for h in (*self.hypotheses, *self.missing)]
        if len(set(ids)) != len(ids):
            raise InputError(f"claim {self.id}: two hypotheses have one id, among {ids}")

    def __reduce__(self) -> Any:
        # The toolkit's own claims travel to worker processes by id: their functions are lambdas.
        from . import all_claims, get_claim

        if all_claims().get(self.id) is self:
            return get_claim, (self.id,)
        return super().__reduce__()

    def hypothesis(self, hypothesis_id: str) -> Hypothesis:
        """The hypothesis with this id. Raises :class:`InputError` for an unknown one."""
        for h in self.hypotheses:
            if h.id == hypothesis_id:
                return h
        ids = [h.id for h in self.hypotheses]
        near = difflib.get_close_matches(str(hypothesis_id), ids, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(
            f"claim {self.id} has no hypothesis {hypothesis_id!r}; {hint}it has {', '.join(ids)}"
        )

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def drop(self, hypothesis_id: str) -> Self:
        """The claim without one hypothesis: what necessity is about. Raises :class:`InputError` for an unknown id."""
        dropped = self.hypothesis(hypothesis_id)
        return self.replace(
            id=f"{self.id}_without_{hypothesis_id}",
            hypotheses=tuple(h for h in self.hypotheses if h is not dropped),
            expected="refuted",
            tight=False,
        )

    def assume(self, *extra: Hypothesis) -> Self:
        """The claim under further hypotheses."""
        still_missing = tuple(h for h in self.missing if h not in extra)
        return self.replace(hypotheses=(*self.hypotheses, *extra), missing=still_missing)

    def mended(self) -> Self:
        """The claim with its ``missing`` hypotheses: what remains true of a claim that is refuted as stated."""
        return self.assume(*self.missing).replace(id=f"{self.id}_mended", expected="holds")

    def scaled(self, factor: float, *, part: int | None = None) -> Self:
        """The mutated twin: the right side times ``factor``, in every part or in one.

        A tight bound scaled by 0.999 is false; machinery that does not refute it is blind.
        """

        def rhs(batch: Any) -> Array:
            right = self.rhs(batch)
            if part is None or not self.parts:
                return right * factor
            factors = [factor if j == part else 1.0 for j in range(len(self.parts))]
            return right * batch.ops.asarray(factors)

        suffix = "" if part is None or not self.parts else f"_{self.parts[part]}"
        return self.replace(
            id=f"{self.id}_scaled{suffix}", rhs=rhs, expected="refuted", tight=False
        )
