"""Whether two expressions at a small size are the same function, where neither divides by zero.

Exponentials, logarithms of sums, and square roots are replaced from the inside by unknowns, the same unknown wherever
the arguments agree; then two rational functions are compared. This is exact; it can miss an agreement,
never invent one.
"""

from sympy import Abs, Add, Dummy, Mul, Number, Piecewise, Pow, Rational, S, exp, log, sympify
from sympy import factor as factorise

from .algebra import branches, is_zero
from .types import Expr


def agree(first: Expr, second: Expr) -> bool:
    """Whether the two are shown to be equal. Of a `Piecewise` the first case is taken: the generic one."""
    unknowns = _Unknowns()
    return is_zero(unknowns.replace(sympify(first)) - unknowns.replace(sympify(second)))


class _Unknowns:
    """Replaces what is not rational by unknowns; remembers what they stand for."""

    def __init__(self) -> None:
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
        if isinstance(node, Abs):
            return self._unknown("root", self.replace(node.args[0]) ** 2)
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

    def _unknown(self, kind: str, argument: Expr) -> Dummy:
        for known, unknown in self._known[kind]:
            if is_zero(known - argument):
                return unknown
        sign = {"exp": "positive", "root": "nonnegative"}.get(kind, "real")
        unknown = Dummy(kind, **{sign: True})
        self._known[kind].append((argument, unknown))
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
            if inside is None or not isinstance(number, Number):
                rest.append(term)
            else:
                base = self._denominator(inside) if number.is_negative else inside
                result *= base**number
        return result * self._unknown("exp", Add(*rest)) if rest else result
