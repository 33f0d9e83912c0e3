"""A claim as an assertion, for users' own tests."""

from __future__ import annotations

from ..claims import Claim, get_claim
from ..errors import InputError
from ..instances import Batch
from .evaluation import Outcome, certify, evaluate
from .witness import sides


def assert_claim(claim: Claim | str, instance: Batch) -> float:
    """Assert that ``claim`` (or the registered claim of that id) holds on ``instance``; return lhs/rhs, the worst over the
    batch and the parts, for ``hypothesis.target``.

    Floats decide where they are clear; where lhs > rhs on floats, ball arithmetic decides, so rounding never fails a
    test. Raises AssertionError with both sides on a certified violation, and
    :class:`~collapse_theory.errors.InputError` when an instance does not meet the claim's hypotheses: such a test would
    assert nothing. (Draw instances with ``strategies.steps(claim=...)``, which always meet them.)
    """
    if isinstance(claim, str):
        claim = get_claim(claim)
    if not isinstance(instance, Batch) or len(instance) == 0:
        raise InputError(
            f"instance: got {instance!r:.80}, expected a batch of at least one instance, as Step.create makes"
        )
    evaluation = evaluate(claim, instance)
    for hypothesis, holds in zip(claim.hypotheses, evaluation.holds, strict=True):
        if not holds.all():
            raise InputError(
                f"claim {claim.id} says nothing here: hypothesis {hypothesis.id!r} fails on instance "
                f"{int(holds.argmin())}; draw admissible instances or drop the hypothesis"
            )
    if not evaluation.finite.all():
        raise InputError(f"claim {claim.id}: a side overflows; scale the instance down")
    for i in (evaluation.worst > 1).nonzero()[0]:
        one = instance.take(int(i))
        if certify(claim, one).outcome[0] == Outcome.VIOLATED:
            shown = sides(claim, one)
            raise AssertionError(
                f"claim {claim.id} is violated: lhs = {shown['lhs']}, rhs = {shown['rhs']} "
                f"on {one.to_dict()['values']}"
            )
    return float(evaluation.worst.max())
