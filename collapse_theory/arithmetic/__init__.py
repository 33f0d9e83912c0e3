"""The few operations that claims need, for floats, Arb balls and SymPy symbols.

A formula written with ``+ - * / @``, indexing and the functions of an :class:`Ops` runs unchanged on

* ``FLOAT``: NumPy float64 arrays, batched and vectorised;
* ``ball(bits)``: :class:`BallArray`, rigorous enclosures (python-flint's ``arb``) of the exact value;
* ``SYMBOLIC``: NumPy object arrays of SymPy expressions.

Balls cannot be compared like numbers: an order may be undecided. NumPy's ``maximum``, ``max``, ``sort``, ``where`` and
``<`` on object arrays of balls silently pick one or treat "undecided" as false, and ``bool(arb(0, 1))`` is true. Hence
the wrapper: every comparison, truth value, float conversion or NumPy function on a :class:`BallArray` raises
``TypeError``, and a formula asks :meth:`Ops.sign` instead.
"""

from ._ball import BallArray, BallOps, ball
from ._float import FloatOps
from ._ops import Array, Ops
from ._symbolic import SymbolArray, SymbolicOps, symbols

__all__ = [
    "FLOAT",
    "SYMBOLIC",
    "Array",
    "BallArray",
    "BallOps",
    "FloatOps",
    "Ops",
    "SymbolArray",
    "SymbolicOps",
    "ball",
    "symbols",
]

FLOAT: Ops = FloatOps()
SYMBOLIC: Ops = SymbolicOps()
