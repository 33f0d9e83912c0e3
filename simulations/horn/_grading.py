"""Grades of predicted answers, all problems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import whole_numbers
from collapse_theory.errors import InputError

from ._batches import Batch
from ._language import FALSE, TRUE, WORDS
from ._masks import Bools

ERROR_KINDS = (
    "none",
    "wrong token type",
    "wrong verdict",
    "seen instead of unseen",
    "unseen instead of seen",
    "wrong unseen",
    "wrong step",
)
"""What the first wrong token is, by code (0 = the answer is right). Let ``due`` be the right token there.

- ``wrong token type``: a variable where a special token is due, the reverse, or another special token.
- ``wrong verdict``: TRUE where FALSE is due, or the reverse.
- ``seen instead of unseen``, ``unseen instead of seen``: a variable from the wrong vocabulary.
- ``wrong unseen``: an unseen symbol is due, and an unseen symbol that does not occur in the problem is written.
- ``wrong step``: right type and vocabulary, wrong variable: one of the problem's, or a seen one for a seen one.
"""


@dataclass(frozen=True, kw_only=True)
class Grades:
    """Grades of ``B`` predicted answers.

    Attributes:
        exact: ``[B]``, whether every answer token is right.
        verdict_right: ``[B]``, whether the first TRUE or FALSE in the answer is the right one.
        kind: ``[B]`` int8, code of the first error in :data:`ERROR_KINDS`.
        position: ``[B]``, the column of the first error, -1 where there is none.
        in_problem: ``[B]``, whether the first wrong token is a variable of the problem.
    """

    exact: Bools
    verdict_right: Bools
    kind: NDArray[np.int8]
    position: NDArray[np.int64]
    in_problem: Bools

    def kinds(self) -> dict[str, int]:
        """How many answers have each kind of first error, ``"none"`` included."""
        counts = np.bincount(self.kind, minlength=len(ERROR_KINDS))
        return dict(zip(ERROR_KINDS, counts.tolist(), strict=True))


def check_answers(batch: Batch, predicted: Any) -> Grades:
    """Grade predicted tokens against a batch.

    Args:
        batch: ``B`` problems.
        predicted: ``[B, L]`` token ids; column t is the token written at position t (already shifted), and columns
            outside the answer are not read.

    Raises:
        InputError: when the shape is not the batch's, or a token in an answer is out of the vocabulary.
    """
    written = whole_numbers("predicted", predicted)
    if written.shape != batch.tokens.shape:
        raise InputError(f"predicted: got shape {written.shape}, expected {batch.tokens.shape}")
    read = written[batch.answer_mask]
    size = batch.vocabulary.size
    if read.size and (read.min() < 0 or read.max() >= size):
        bad = read[(read < 0) | (read >= size)][0]
        raise InputError(f"predicted: {bad} is out of range; ids run from 0 to {size - 1}")
    each = np.arange(len(batch))
    wrong = (written != batch.tokens) & batch.answer_mask
    exact = ~wrong.any(1)
    place = wrong.argmax(1)
    got, due = written[each, place], batch.tokens[each, place]
    in_problem = ~exact & (batch.symbols == got[:, None]).any(1) & (got >= len(WORDS))
    verdicts = batch.answer_mask & ((written == TRUE) | (written == FALSE))
    first = written[each, verdicts.argmax(1)]
    right = np.where(batch.verdict, TRUE, FALSE)
    return Grades(
        exact=exact,
        verdict_right=verdicts.any(1) & (first == right),
        kind=np.where(exact, 0, _kinds(got, due, in_problem, batch)).astype(np.int8),
        position=np.where(exact, -1, place),
        in_problem=in_problem,
    )


def _kinds(
    got: NDArray[np.int64], due: NDArray[np.int64], in_problem: Bools, batch: Batch
) -> NDArray[np.int64]:
    code = {name: i for i, name in enumerate(ERROR_KINDS)}
    first_unseen = len(WORDS) + batch.vocabulary.seen_symbols
    got_variable, due_variable = got >= len(WORDS), due >= len(WORDS)
    got_unseen, due_unseen = got >= first_unseen, due >= first_unseen
    got_verdict = (got == TRUE) | (got == FALSE)
    due_verdict = (due == TRUE) | (due == FALSE)
    return np.select(
        [
            got_verdict & due_verdict,
            ~got_variable | ~due_variable,
            due_unseen & ~got_unseen,
            ~due_unseen & got_unseen,
            due_unseen & ~in_problem,
        ],
        [
            code["wrong verdict"],
            code["wrong token type"],
            code["seen instead of unseen"],
            code["unseen instead of seen"],
            code["wrong unseen"],
        ],
        code["wrong step"],
    )
