"""Shortcuts that know nothing of inference, and how often they are right: how far a set of problems leaks its verdicts.

Each is fitted on one half of the problems and scored on the other; the halves share no rules with facts. Problems made
by :func:`~simulations.horn.make_structures` leave every one of them at chance; SimpleLogic's do not (Zhang et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collapse_theory.errors import InputError

from ._masks import Bools, Ints, Masks, mixed, union
from ._structures import Structures

FEATURES = (
    "rules",
    "facts",
    "variables",
    "prompt tokens",
    "premises",
    "rules with 1 premise",
    "rules with 2 premises",
    "rules with 3 premises",
    "query as a premise",
    "query as a head",
    "query as a fact",
    "premises of the query's rules",
    "facts among those",
    "premises that are facts",
    "variables never a head",
    "variables never a premise",
    "place of the query's first rule",
    "place of the query's first use",
)
"""Columns of :func:`counts`."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """A shortcut's accuracy on ``problems`` problems it was not fitted on."""

    name: str
    accuracy: float
    problems: int

    @property
    def standard_error(self) -> float:
        """Of the accuracy, for independent problems at chance."""
        return 0.5 / float(np.sqrt(self.problems))


def counts(structures: Structures) -> NDArray[np.float64]:
    """``[N, len(FEATURES)]``: what can be counted in the prompts without inference. A place that is absent is -1."""
    premises, heads, facts, query = (
        structures.premises,
        structures.heads,
        structures.facts,
        structures.query,
    )
    body = (premises >= 0).sum(2)
    own = heads == query[:, None]
    uses = (premises == query[:, None, None]).any(2)
    rules = Masks.of(premises, heads, facts)
    fact_premises = np.bitwise_count(rules.premises & rules.facts[:, None]).astype(np.int64)
    columns = [
        (heads >= 0).sum(1),
        (facts >= 0).sum(1),
        structures.variables,
        structures.prompt_length,
        body.sum(1),
        *((body == k).sum(1) for k in (1, 2, 3)),
        uses.sum(1),
        own.sum(1),
        query_is_fact(structures),
        (own * body).sum(1),
        (own * fact_premises).sum(1),
        fact_premises.sum(1),
        structures.variables - np.bitwise_count(rules.concluded),
        structures.variables - np.bitwise_count(union(rules.premises)),
        _first(own),
        _first(uses),
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def query_is_fact(structures: Structures) -> Bools:
    """``[N]``, whether the query is among the facts."""
    return (structures.facts == structures.query[:, None]).any(1)


def query_is_never_head(structures: Structures) -> Bools:
    """``[N]``, whether no rule concludes the query."""
    return ~(structures.heads == structures.query[:, None]).any(1)


def fact_one_step_away(structures: Structures) -> Bools:
    """``[N]``, whether all premises of some rule for the query are facts."""
    rules = Masks.of(structures.premises, structures.heads, structures.facts)
    ready = (rules.premises & rules.facts[:, None]) == rules.premises
    return (ready & (structures.heads == structures.query[:, None])).any(1)


def trace_length(structures: Structures) -> Ints:
    """``[N]``, variables written in the answer before ``.`` or the verdict."""
    return (structures.trace >= 0).sum(1)


def baselines(structures: Structures, rng: np.random.Generator) -> tuple[Score, ...]:
    """The shortcuts' scores.

    Raises:
        InputError: when there are fewer than 100 problems or scikit-learn is not installed.
    """
    count = len(structures)
    if count < 100:
        raise InputError(f"structures: {count} problems are too few to fit on; give at least 100")
    fit, test = _halves(structures, rng)
    verdict = structures.verdict

    def score(name: str, guess: Bools) -> Score:
        right = float((guess[test] == verdict[test]).mean())
        return Score(name=name, accuracy=right, problems=len(test))

    def rule(name: str, holds: Bools) -> Score:
        """The better of 'TRUE where it holds' and 'TRUE where it does not', or one verdict for all."""
        return score(name, _best_for_each_value(holds, verdict, fit))

    length = trace_length(structures)
    return (
        rule("majority", np.zeros(count, bool)),
        rule("query is a fact", query_is_fact(structures)),
        rule("query is never a head", query_is_never_head(structures)),
        rule("query follows in one step", fact_one_step_away(structures)),
        score("number of rules, threshold", _threshold(counts(structures)[:, 0], verdict, fit)),
        score("trace length, threshold", _threshold(length, verdict, fit)),
        score("logistic on counts", _logistic(counts(structures), verdict, fit)),
        score("logistic on one-hot counts", _logistic(_one_hot(structures), verdict, fit)),
    )


def _halves(structures: Structures, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Positions of two halves, all problems of the same rules and facts in one of them.

    Were a TRUE problem fitted on and its FALSE twin scored, a model that remembers would do worse than chance.
    """
    count = len(structures)
    parts = (structures.premises.reshape(count, -1), structures.heads, structures.facts)
    _, group = np.unique(mixed(np.concatenate(parts, axis=1)), return_inverse=True)
    order = np.argsort(rng.permutation(int(group.max()) + 1)[group], kind="stable")
    return order[: count // 2], order[count // 2 :]


def _first(places: Bools) -> Ints:
    return np.where(places.any(1), places.argmax(1), -1)


def _best_for_each_value(holds: Bools, verdict: Bools, fit: Ints) -> Bools:
    guess = np.empty(len(holds), bool)
    for value in (False, True):
        known = verdict[fit][holds[fit] == value]
        guess[holds == value] = bool(known.size and known.mean() > 0.5)
    return guess


def _threshold(values: Ints | NDArray[np.float64], verdict: Bools, fit: Ints) -> Bools:
    """TRUE above or below the cut that is best on the fitted half."""
    cuts = np.unique(values[fit])
    above = values[fit][:, None] >= cuts
    right = (above == verdict[fit][:, None]).mean(0)
    best = int(np.abs(right - 0.5).argmax())
    return (values >= cuts[best]) == (right[best] >= 0.5)


def _one_hot(structures: Structures) -> NDArray[np.float64]:
    """Every value of every count as a column: what a threshold or a table on single counts can use."""
    table = counts(structures)
    columns = [column[:, None] == np.unique(column) for column in table.T]
    return np.concatenate(columns, axis=1).astype(np.float64)


def _logistic(table: NDArray[np.float64], verdict: Bools, fit: Ints) -> Bools:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise InputError(
            "baselines: scikit-learn is not installed; pip install 'collapse_theory[data]'"
        ) from error
    spread = table[fit].std(0)
    table = table[:, spread > 0]
    scaled = (table - table[fit].mean(0)) / table[fit].std(0)
    if not scaled.shape[1] or len(np.unique(verdict[fit])) < 2:
        return np.full(len(verdict), bool(verdict[fit].mean() > 0.5))
    model = LogisticRegression(max_iter=500).fit(scaled[fit], verdict[fit])
    return np.asarray(model.predict(scaled), bool)
