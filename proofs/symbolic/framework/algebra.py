"""Exact algebra of finite sums with symbolic sizes, and signs: what the rules ask SymPy.

SymPy decides equality of rational functions well but does not by itself recognise that
`Sum(a[i], i)*Sum(b[i], i)` and `Sum(Sum(a[k]*b[i], i), k)` are the same. `terms` brings an expression
to a normal form that uses only the laws of finite sums: linearity, exchange of the order, renaming of
bound indices, and contraction of a Kronecker delta whose other index lies in the range of the sum.
A "no" from any function here means "not shown", never "false".
"""

from collections.abc import Iterable, Mapping
from itertools import permutations, product
from typing import Any, TypeAlias

from sympy import (
    Add,
    Derivative,
    Dummy,
    Indexed,
    Integer,
    KroneckerDelta,
    Mul,
    Ne,
    Piecewise,
    Pow,
    Product,
    S,
    Sum,
    Symbol,
    cosh,
    exp,
    expand,
    expand_log,
    fraction,
    sinh,
    sympify,
    tanh,
    together,
)

from .types import Expr

Range: TypeAlias = tuple[Expr, Expr]
Limit: TypeAlias = tuple[Symbol, Expr, Expr]
Term: TypeAlias = tuple[Expr, tuple[Limit, ...]]
Ranges: TypeAlias = Mapping[Symbol, Range]

_CANONICAL = "_index_"


def rewrite(expression: Expr, left: Expr, right: Expr, ranges: Ranges | None = None) -> Expr:
    """Replace `left` by `right` wherever it occurs; a symbol used as an index of `left` stands for any index.

    Bound indices of `right` are renamed first, so that no index is captured. With `ranges`, an index that has a range
    there stands for those in the same range only, and any other place where `left` fits raises `ValueError`.
    """
    if isinstance(left, Symbol):
        return expression.xreplace({left: right})
    if not isinstance(left, Indexed):
        raise TypeError(f"only a symbol or an indexed symbol can be rewritten, not {left}")
    if len(set(left.indices)) < len(left.indices):
        raise ValueError(f"{left} has the same index twice")

    def matches(node: Any) -> bool:
        return (
            isinstance(node, Indexed)
            and node.base == left.base
            and all(
                isinstance(pattern, Symbol) or pattern == actual
                for pattern, actual in zip(left.indices, node.indices, strict=True)
            )
        )

    def replacement(node: Any) -> Expr:
        pairs = {
            pattern: actual
            for pattern, actual in zip(left.indices, node.indices, strict=True)
            if isinstance(pattern, Symbol)
        }
        for pattern, actual in pairs.items():
            if pattern in known and known[pattern] != known.get(actual):
                raise ValueError(f"{left} is not known at {actual}, which has another range")
        return substitute(right, pairs)

    known: dict[Symbol, Range] = {}
    if ranges is not None:
        expression = fresh_bound(expression)
        bound = {v: (a, b) for node in expression.atoms(Sum, Product) for v, a, b in node.limits}
        known = {**ranges, **bound}

    return expression.replace(matches, replacement)


def substitute(expression: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """Substitute for free symbols, simultaneously and without capture."""
    return fresh_bound(expression).xreplace(dict(values))


def fresh_bound(expression: Expr) -> Expr:
    """The same expression with new names for the bound indices of its sums and products."""
    if not expression.has(Sum, Product):
        return expression
    if isinstance(expression, (Sum, Product)):
        body, limits = _open(expression)
        return expression.func(fresh_bound(body), *reversed(limits))
    return expression.func(*(fresh_bound(argument) for argument in expression.args))


def _open(node: Sum | Product) -> tuple[Expr, tuple[Limit, ...]]:
    """Body and limits (outermost first) of a sum or product, with new bound indices."""
    body, limits = node.function, []
    for variable, low, high in reversed(node.limits):
        if {low, high} & set(node.variables) or len(set(node.variables)) < len(node.variables):
            raise ValueError(f"limits that depend on bound indices are not handled: {node}")
        name = "q" if variable.name.startswith(_CANONICAL) else variable.name
        dummy = Dummy(name, integer=True)
        # `subs`, not `xreplace`: an inner sum over the same name keeps its own index.
        body = body.subs(variable, dummy)
        limits.append((dummy, low, high))
    return body, tuple(limits)


def terms(expression: Expr, ranges: Ranges | None = None) -> dict[Term, Expr]:
    """Normal form: rational coefficients of (monomial, limits), zero coefficients left out."""
    result: dict[Term, Expr] = {}
    for coefficient, limits in _flatten(expression, ranges or {}):
        number, key = _canonical(*_contract(coefficient, limits, ranges or {}))
        result[key] = result.get(key, S.Zero) + number
    return {key: number for key, number in result.items() if number != 0}


def _flatten(expression: Expr, ranges: Ranges) -> list[Term]:
    if isinstance(expression, Sum):
        body, limits = _open(expression)
        return [(c, limits + inner) for c, inner in _flatten(body, ranges)]
    if isinstance(expression, Product):
        peeled = _peel(expression)
        return [(peeled, ())] if isinstance(peeled, Product) else _flatten(peeled, ranges)
    if isinstance(expression, Add):
        return [term for part in expression.args for term in _flatten(part, ranges)]
    if isinstance(expression, Mul):
        return _multiply([_flatten(part, ranges) for part in expression.args], ranges)
    if _is_whole_power(expression) and expression.base.has(Sum, Add, Product):
        # Flattened anew for each factor, so that bound indices of the factors differ.
        factors = [_flatten(expression.base, ranges) for _ in range(int(expression.exp))]
        return _multiply(factors, ranges)
    return [(_atom(expression, ranges), ())]


def _is_whole_power(expression: Expr) -> bool:
    return (
        isinstance(expression, Pow) and isinstance(expression.exp, Integer) and expression.exp > 1
    )


def _multiply(factors: list[list[Term]], ranges: Ranges) -> list[Term]:
    result: list[Term] = []
    for choice in product(*factors):
        coefficient = Mul(*(c for c, _ in choice))
        limits = tuple(limit for _, part in choice for limit in part)
        if _is_flat(coefficient):
            result.append((coefficient, limits))
        else:  # sqrt(A)*sqrt(A) has become A, say
            result.extend((c, limits + more) for c, more in _flatten(coefficient, ranges))
    return result


def _is_flat(coefficient: Expr) -> bool:
    for factor in Mul.make_args(coefficient):
        base, exponent = factor.as_base_exp()
        if isinstance(base, (Add, Sum)) and isinstance(exponent, Integer) and exponent > 0:
            return False
    return True


def _atom(expression: Expr, ranges: Ranges) -> Expr:
    """A factor that is not taken apart; what stands inside it is brought to normal form."""
    if not expression.args or isinstance(expression, (Indexed, Piecewise, KroneckerDelta)):
        return expression
    if isinstance(expression, Pow):
        return Pow(_rebuild(expression.base, ranges), _rebuild(expression.exp, ranges))
    return expression.func(*(_rebuild(argument, ranges) for argument in expression.args))


def _rebuild(expression: Expr, ranges: Ranges) -> Expr:
    if not expression.args:
        return expression
    return Add(
        *(
            number * (Sum(monomial, *limits) if limits else monomial)
            for (monomial, limits), number in terms(expression, ranges).items()
        )
    )


def _peel(node: Product) -> Expr:
    """`prod_{s=a}^{t} f(s) = f(t) prod_{s=a}^{t-1} f(s)`: upper limits are brought to the form `symbol - 1`."""
    if len(node.limits) != 1:
        raise ValueError(f"only products over one index are handled: {node}")
    variable, low, high = node.limits[0]
    constant, symbol = high.as_coeff_Add()
    if not isinstance(symbol, Symbol):
        return node.doit()
    standard = Symbol(f"{_CANONICAL}product", integer=True)
    body = substitute(node.function, {variable: standard})
    if constant < -1:
        raise ValueError(f"cannot bring the upper limit to the form symbol - 1: {node}")
    result: Expr = Product(body, (standard, low, symbol - 1))
    for step in range(int(constant) + 1):
        result *= substitute(node.function, {variable: symbol + step})
    return result


def _contract(coefficient: Expr, limits: tuple[Limit, ...], ranges: Ranges) -> Term:
    """Use up Kronecker deltas between a bound index and an index known to lie in the same range."""
    for delta in coefficient.atoms(KroneckerDelta):
        for bound, other in (delta.args[:2], delta.args[1::-1]):
            of = {variable: (low, high) for variable, low, high in limits}
            if bound in of and of[bound] == {**ranges, **of}.get(other):
                rest = tuple(limit for limit in limits if limit[0] != bound)
                return _contract(coefficient.xreplace({bound: other}), rest, ranges)
    return coefficient, limits


def _canonical(coefficient: Expr, limits: tuple[Limit, ...]) -> tuple[Expr, Term]:
    """The term under the smallest of all namings of its bound indices."""
    number, monomial = coefficient.as_coeff_Mul()
    for variable, low, high in limits:
        if variable not in monomial.free_symbols:
            monomial *= high - low + 1  # a sum of a constant
    if not _is_flat(monomial):
        monomial = expand(monomial)
    limits = tuple(limit for limit in limits if limit[0] in monomial.free_symbols)
    if not limits:
        return number, (monomial, ())
    inner = [s for s in monomial.atoms(Symbol) if s.name.startswith(_CANONICAL)]
    level = 1 + max((int(s.name.split("_")[2]) for s in inner if s.name[7:8].isdigit()), default=0)
    best: tuple[str, Term] | None = None
    for order in permutations(sorted(limits, key=lambda limit: str(limit[0]))):
        if [str(limit[1:]) for limit in order] != sorted(str(limit[1:]) for limit in order):
            continue
        names = [Symbol(f"{_CANONICAL}{level}_{k}", integer=True) for k in range(len(order))]
        renamed = monomial.xreplace({v: s for (v, _, _), s in zip(order, names, strict=True)})
        new = tuple((s, low, high) for (_, low, high), s in zip(order, names, strict=True))
        if best is None or str(renamed) < best[0]:
            best = (str(renamed), (renamed, new))
    assert best is not None
    return number, best[1]


def is_zero(expression: Expr, ranges: Ranges | None = None) -> bool:
    """Whether `expression` is shown to vanish identically.

    First the normal form of sums; then, with every sum that is left replaced by a fresh unknown,
    common denominator, expanded numerator, expanded logarithms.
    """
    expression = sympify(expression).rewrite([sinh, cosh, tanh], exp)
    normal = _rebuild(expression, ranges or {})
    if normal == 0:
        return True
    sums = sorted((s for s in normal.atoms(Sum)), key=lambda s: -len(str(s)))
    for node in sums:
        normal = normal.xreplace({node: Dummy(real=True)})
    numerator, _ = fraction(together(expand(expand_log(normal))))
    return expand(expand_log(numerator)) == 0


def split(expression: Expr, variable: Expr) -> tuple[Expr, Expr]:
    """`expression` for `variable != 0`, and its value for `variable == 0`, by its `Piecewise` parts."""

    def guarded(node: Any) -> bool:
        if not isinstance(node, Piecewise) or len(node.args) != 2:
            return False
        (_, condition), (_, otherwise) = branches(node)
        gap = unequal(condition)
        if otherwise is not S.true or gap is None:
            return False
        factor = gap / variable
        return bool(factor.is_Number and factor != 0)

    away = expression.replace(guarded, lambda node: branches(node)[0][0])
    at = expression.replace(guarded, lambda node: branches(node)[1][0])
    return away, at.xreplace({variable: S.Zero})


def unequal(condition: Any) -> Any:
    """`a - b` for the condition `a != b`, None for any other."""
    if not isinstance(condition, Ne):
        return None
    left: Any = condition.lhs
    return left - condition.rhs


def branches(node: Any) -> list[tuple[Expr, Any]]:
    """Values and conditions of a `Piecewise`."""
    return [tuple(branch.args) for branch in node.args]


def derivative(expression: Expr, variable: Expr) -> Expr:
    """The derivative, which must come out without an unevaluated part."""
    result = expression.diff(variable)
    if result.has(Derivative):
        raise ValueError(f"SymPy left a derivative unevaluated: {result}")
    return result


def heads(expression: Expr) -> set[Any]:
    """The symbols and the bases of indexed symbols that occur in `expression`."""
    found: Iterable[Any] = expression.atoms(Symbol) | {
        node.base for node in expression.atoms(Indexed)
    }
    return set(found)
