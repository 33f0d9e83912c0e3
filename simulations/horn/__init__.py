"""Random propositional Horn problems for experiments with transformers.

A text is ``BOS C > B ; E > C ; B & F > D ; FACTS E F QUERY D : E C B F D . D TRUE EOS``: rules, facts, the query, ``:``,
the forward-chaining trace, ``.``, the query, the verdict. Structures are made once; every batch gives their variables
new symbols. The order of a trace is stated in :mod:`simulations.horn._structures`.

    python -m simulations.horn --count 20000
"""

from ._batches import Batch, apart, fingerprints, rename
from ._checker import accepts, forward_chain, read_text, trace_of
from ._config import PRESETS, HornConfig
from ._generate import make_structures
from ._grading import ERROR_KINDS, Grades, check_answers
from ._language import Vocabulary
from ._structures import Problem, Structures, pack

__all__ = [
    "ERROR_KINDS",
    "PRESETS",
    "Batch",
    "Grades",
    "HornConfig",
    "Problem",
    "Structures",
    "Vocabulary",
    "accepts",
    "apart",
    "check_answers",
    "fingerprints",
    "forward_chain",
    "make_structures",
    "pack",
    "read_text",
    "rename",
    "trace_of",
]
