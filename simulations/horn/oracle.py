"""Verdicts from a SAT solver: unit propagation of the rules as clauses, the facts assumed (PySAT, extra ``sat``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from collapse_theory.errors import InputError

from ._masks import Bools
from ._structures import Problem, Structures


def unit_propagation(structures: Structures) -> Bools:
    """``[N]``, whether each query is among the literals that unit propagation yields.

    For Horn rules that is the closure: https://pysathq.github.io. One MiniSat 2.2 solver for each problem.

    Raises:
        InputError: when python-sat is not installed.
    """
    _require()
    return np.array([propagates(structures.problem(i)) for i in range(len(structures))], bool)


def propagates(problem: Problem) -> bool:
    """Whether unit propagation from the facts yields the query. Raises :class:`InputError` without python-sat."""
    solvers = _require()
    clauses = [[*(-p - 1 for p in premises), head + 1] for premises, head in problem.rules]
    with solvers.Solver(name="minisat22", bootstrap_with=clauses) as solver:
        consistent, literals = solver.propagate(assumptions=[f + 1 for f in problem.facts])
    if not consistent:
        raise AssertionError(f"{problem}: Horn rules without negative facts cannot conflict")
    # Without clauses MiniSat knows no variables and leaves the assumptions out.
    return problem.query + 1 in literals or problem.query in problem.facts


def _require() -> Any:
    """PySAT's module of solvers, imported where it is used."""
    try:
        from pysat import solvers
    except ImportError as error:
        raise InputError(
            "oracle: python-sat is not installed; pip install 'collapse_theory[sat]'"
        ) from error
    return solvers
