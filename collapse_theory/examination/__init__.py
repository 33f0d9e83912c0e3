"""Putting claims to the test, and the rule from evidence to verdict.

Nothing here knows any particular claim: a claim says what it claims, a domain how its instances are drawn.
"""

from .assertion import assert_claim
from .effort import EFFORTS, Effort
from .evaluation import Certificate, Evaluation, Outcome, certify, evaluate
from .evidence import COLUMNS, Evidence, Status, Verdict, conclude
from .falsify import Hunt, falsify
from .procedure import examine, examine_all
from .result import Result
from .witness import Witness, confirm, read_witness

__all__ = [
    "COLUMNS",
    "EFFORTS",
    "Certificate",
    "Effort",
    "Evaluation",
    "Evidence",
    "Hunt",
    "Outcome",
    "Result",
    "Status",
    "Verdict",
    "Witness",
    "assert_claim",
    "certify",
    "conclude",
    "confirm",
    "evaluate",
    "examine",
    "examine_all",
    "falsify",
    "read_witness",
]
