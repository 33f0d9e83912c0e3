"""Whether two expressions at a small size are the same function, where neither divides by zero.

Exponentials, logarithms of sums, and square roots are replaced from the inside by unknowns, the same unknown wherever
the arguments agree; then two rational functions are compared. This is exact; it can miss an agreement,
never invent one.
"""

from zlib import crc32

from sympy import (
    Abs,
    Add,
    Dummy,
    Max,
    Mul,
    Number,
    Piecewise,
    Poly,
    Pow,
    Rational,
    S,
    exp,
    fraction,
    log,
    sqrt,
    sympify,
    together,
)
from sympy import factor as factorise

from .algebra import branches, is_zero
from .types import Expr

DIGITS, FAR = 40, Rational(1, 10**15)


def agree(first: Expr, second: Expr) -> bool:
    """Whether the two are shown to be equal. Of a `Piecewise` the first case is taken: the generic one."""
    unknowns = _Unknowns()
    return unknowns.same(unknowns.replace(sympify(first)), unknowns.replace(sympify(second)))


class _Unknowns:
    """Replaces what is not rational by unknowns; remembers what they stand for."""

    def __init__(self) -> None:
        self._values: dict[Expr, Expr] = {}
        self._maxima: list[tuple[list[Expr], Dummy]] = []
        self._known: dict[str, list[tuple[Expr, Dummy]]] = {
            "exp": [],
            "log": [],
            "root": [],
            "sum": [],
        }

    def replace(self, node: Expr) -> Expr:
        """`node` as a rational expression in symbols and unknowns."""
        if not node.args:
            return node
        if isinstance(node, Piecewise):
            return self.replace(branches(node)[0][0])
        if isinstance(node, Max):
            return self._maximum([self.replace(argument) for argument in _arguments(node)])
        if isinstance(node, Abs):
            return self._absolute(self.replace(node.args[0]))
        args = [self.replace(argument) for argument in node.args]
        if isinstance(node, exp):
            return self._exp(args[0])
        if isinstance(node, log):
            return self._log(args[0])
        if isinstance(node, Pow) and isinstance(args[1], Rational) and args[1].q == 2:
            return self._unknown("root", args[0]) ** args[1].p
        if isinstance(node, Pow) and isinstance(args[0], Add) and args[1].is_negative:
            return self._denominator(args[0]) ** args[1]
        return node.func(*args)

    def same(self, first: Expr, second: Expr) -> bool:
        """Whether two rational expressions in the unknowns are shown to be equal; a root's square is what it is of."""
        if first == second:
            return True
        gap = first - second
        if self._differs(gap):
            return False
        if is_zero(gap):
            return True
        for argument, root in reversed(self._known["root"]):
            numerator, _ = fraction(together(gap))
            if not numerator.has(root):
                continue
            gap = Add(
                *(
                    number * root ** (power % 2) * argument ** (power // 2)
                    for (power,), number in Poly(numerator, root).terms()
                )
            )
        return is_zero(gap)

    def _differs(self, gap: Expr) -> bool:
        """Whether the gap is far from 0 at one point: then there is no need to look for a proof that it is 0."""
        for symbol in gap.free_symbols - self._values.keys():
            self._values[symbol] = Rational(3 + crc32(symbol.name.encode()) % 97, 101)
        value = gap.xreplace(self._values).evalf(DIGITS)
        return bool(value.is_number and value.is_finite and abs(value) > FAR)

    def _unknown(self, kind: str, argument: Expr) -> Dummy:
        for known, unknown in self._known[kind]:
            if self.same(known, argument):
                return unknown
        sign = {"exp": "positive", "root": "nonnegative"}.get(kind, "real")
        unknown = Dummy(kind, **{sign: True})
        self._known[kind].append((argument, unknown))
        value = {"exp": exp, "log": log, "root": sqrt}.get(kind, lambda x: x)(argument)
        for symbol in value.free_symbols - self._values.keys():
            self._values[symbol] = Rational(3 + crc32(symbol.name.encode()) % 97, 101)
        self._values[unknown] = value.xreplace(self._values).evalf(DIGITS)
        return unknown

    def _absolute(self, argument: Expr) -> Expr:
        """The absolute value, factor by factor."""
        result: Expr = S.One
        for factor in Mul.make_args(factorise(argument)):
            base, power = factor.as_base_exp()
            if not power.is_Integer:
                base, power = factor, 1
            result *= (abs(base) if base.is_number else self._unknown("root", base**2)) ** power
        return result

    def _maximum(self, args: list[Expr]) -> Dummy:
        """An unknown for a maximum, the same one for the same arguments in any order."""
        for known, unknown in self._maxima:
            if len(known) == len(args) and all(
                any(self.same(one, other) for other in args) for one in known
            ):
                return unknown
        unknown = Dummy("max", real=True)
        self._maxima.append((args, unknown))
        self._values[unknown] = Max(*(a.xreplace(self._values).evalf(DIGITS) for a in args))
        return unknown

    def _denominator(self, argument: Expr) -> Expr:
        """A product of powers of unknowns, so that sums of fractions keep small denominators."""
        result: Expr = S.One
        product: Expr = factorise(argument)
        for factor in Mul.make_args(product):
            base, power = factor.as_base_exp()
            result *= (self._unknown("sum", base) if isinstance(base, Add) else base) ** power
        return result

    def _log(self, argument: Expr) -> Expr:
        total: Expr = S.Zero
        for factor in Mul.make_args(argument):
            base, power = factor.as_base_exp()
            base = next((a for a, u in self._known["sum"] if u == base), base)
            inside = next((a for a, u in self._known["exp"] if u == base), None)
            total += power * (self._unknown("log", base) if inside is None else inside)
        return total

    def _exp(self, argument: Expr) -> Expr:
        rest: list[Expr] = []
        result: Expr = S.One
        for term in Add.make_args(argument):
            number, factor = term.as_coeff_Mul()
            inside = next((a for a, u in self._known["log"] if u == factor), None)
            if number.is_Integer and any(factor == u for _, u in self._maxima):
                result *= self._unknown("exp", factor) ** number
            elif inside is None or not isinstance(number, Number):
                rest.append(term)
            else:
                base = self._denominator(inside) if number.is_negative else inside
                result *= base**number
        return result * self._unknown("exp", Add(*rest)) if rest else result


def _arguments(node: Expr) -> list[Expr]:
    """The arguments of a maximum, those of maxima among them in their place."""
    if not isinstance(node, Max):
        return [node]
    return [argument for inner in node.args for argument in _arguments(inner)]
