"""Rules of order and logic: monotone functions, square roots, cases, evaluation, induction."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from sympy import Add, Integer, Max, Mul, Pow, Rational, S, Symbol, cosh, exp, sinh

from .algebra import derivative, fresh_bound, heads, split, substitute
from .derivation import Context, Refused, Statement
from .naming import promise
from .rules import TESTS, Define, Term
from .signs import is_nonnegative, is_real
from .types import Expr


def free(name: str, variable: Symbol, so_far: Context) -> None:
    """Refuse unless line `name` holds for every value of `variable`, the rest being fixed."""
    for assumed in so_far.assumptions(name):
        statement = so_far[assumed].statement
        if variable in heads(statement.lhs) | heads(statement.rhs):
            raise Refused(f"{name!r} rests on {assumed!r}, which speaks of {variable}")


def undefined(variable: Symbol, so_far: Context) -> None:
    """Refuse if a definition so far speaks of `variable`, or if it is an index or of no known sign."""
    if variable in so_far.ranges or variable in so_far.sizes or promise(variable) != "nonnegative":
        raise Refused(f"{variable} is no variable that is >= 0")
    for name, definition in so_far.definitions().items():
        if variable in heads(definition.lhs) | heads(definition.rhs):
            raise Refused(f"the definition {name!r} speaks of {variable}")


@dataclass(frozen=True)
class Monotone:
    """The margin is >= 0 at 0 and its derivative is a combination that is >= 0 for `variable >= 0`."""

    variable: Symbol
    terms: tuple[Term, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        """Facts about the derivative."""
        return tuple(name for term in self.terms for name in term.uses)

    def check(self, statement: Statement, so_far: Context) -> None:
        """Smoothness, the value at 0, and the sign of the derivative."""
        margin = statement.margin
        if statement.relation != "<=" or not self.variable.is_nonnegative:
            raise Refused("needs an inequality in a variable that is >= 0")
        undefined(self.variable, so_far)
        for name in self.uses:
            free(name, self.variable, so_far)
        if not _is_smooth(margin):
            raise Refused("is not visibly smooth")
        if not is_nonnegative(margin.xreplace({self.variable: S.Zero})):
            raise Refused("the margin at 0 is not shown to be >= 0")
        total = sum((term.value(so_far, need_equation=False) for term in self.terms), S.Zero)
        if not so_far.zero(derivative(margin, self.variable) - total):
            raise Refused("the derivative is not the stated combination")


def _is_smooth(expression: Expr) -> bool:
    """Built from symbols and rationals by sums, products, powers, exp, sinh and cosh."""
    if isinstance(expression, Pow):
        return bool(expression.exp.is_Integer and expression.exp > 0) and _is_smooth(
            expression.base
        )
    if isinstance(expression, (Add, Mul, exp, sinh, cosh)):
        return all(_is_smooth(argument) for argument in expression.args)
    return isinstance(expression, (Symbol, Rational))


@dataclass(frozen=True)
class Even:
    """The margin of line `of` is an even function of `variable >= 0`: it holds at every real number `at`."""

    of: str
    variable: Symbol
    at: Expr

    @property
    def uses(self) -> tuple[str, ...]:
        """The line for `variable >= 0`."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The margin at `-variable` is the margin; the statement is the line with `at` put in."""
        original = so_far[self.of].statement
        undefined(self.variable, so_far)
        _universal(self.of, (self.variable,), so_far)
        mirrored = original.margin.xreplace({self.variable: -self.variable})
        away, at = split(original.margin - mirrored, self.variable)
        if not (so_far.zero(away) and so_far.zero(at)):
            raise Refused(f"the margin is not shown to be even in {self.variable}")
        if not is_real(self.at) or self.at.has(self.variable):
            raise Refused(f"{self.at} is not shown to be real")
        _same(statement, original.map(lambda e: substitute(e, {self.variable: self.at})), so_far)


@dataclass(frozen=True)
class Instance:
    """Line `of` with numbers put in for variables that nothing is assumed about except their sign."""

    of: str
    values: Mapping[Symbol, Expr]

    @property
    def uses(self) -> tuple[str, ...]:
        """The general line."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The signs fit, and the statement is the line with the values put in."""
        _universal(self.of, tuple(self.values), so_far)
        for symbol, value in self.values.items():
            if not is_real(value) or not TESTS[promise(symbol)](value):
                raise Refused(f"{value} cannot stand for {symbol}")
        original = so_far[self.of].statement
        _same(statement, original.map(lambda e: substitute(e, self.values)), so_far)


def _universal(name: str, symbols: tuple[Symbol, ...], so_far: Context) -> None:
    """Refuse unless nothing that line `name` rests on, assumption or definition, mentions `symbols`."""
    if so_far.assumptions(name):
        raise Refused(f"{name!r} rests on assumptions")
    statement = so_far[name].statement
    introduced = {getattr(d.lhs, "base", d.lhs) for d in so_far.definitions().values()}
    if introduced & (heads(statement.lhs) | heads(statement.rhs)):
        raise Refused(f"{name!r} contains defined names")
    if any(symbol in so_far.ranges or symbol in so_far.sizes for symbol in symbols):
        raise Refused("an index or a size cannot be replaced by a number here")


def _same(statement: Statement, other: Statement, so_far: Context) -> None:
    """Refuse unless the two statements agree side by side."""
    sides = ((statement.lhs, other.lhs), (statement.rhs, other.rhs))
    if statement.relation != other.relation or not all(so_far.zero(a - b) for a, b in sides):
        raise Refused(f"should read: {other}")


@dataclass(frozen=True)
class Root:
    """From `X**2 <= Y**2` (line `squares`) and `0 <= Y` (line `sign`, or SymPy) to `X <= Y`."""

    squares: str
    sign: str | None = None

    @property
    def uses(self) -> tuple[str, ...]:
        """The two lines."""
        return (self.squares,) if self.sign is None else (self.squares, self.sign)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The lines are what the rule asks for."""
        squared = so_far[self.squares].statement
        wanted = Statement(statement.lhs**2, "<=", statement.rhs**2)
        if statement.relation != "<=":
            raise Refused("is no inequality")
        if squared.relation == "==":  # X**2 == Y**2 serves as well
            wanted = Statement(wanted.lhs, "==", wanted.rhs)
        _same(squared, wanted, so_far)
        if self.sign is None:
            if not is_nonnegative(statement.rhs):
                raise Refused(f"{statement.rhs} is not shown to be >= 0")
        else:
            _same(so_far[self.sign].statement, Statement(S.Zero, "<=", statement.rhs), so_far)


@dataclass(frozen=True)
class Cancel:
    """From `factor*lhs <= factor*rhs` (line `of`), `factor` a symbol >= 0, to `lhs <= rhs`.

    For `factor > 0` divide; for `factor == 0` the statement must be evident.
    """

    of: str
    factor: Expr

    @property
    def uses(self) -> tuple[str, ...]:
        """The line with the factor."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The line is the statement times the factor; the case of a zero factor is evident."""
        original = so_far[self.of].statement
        if not {original.relation, statement.relation} == {"<="} or not self.factor.is_nonnegative:
            raise Refused("needs inequalities and a factor >= 0")
        _same(original, statement.map(lambda side: self.factor * side), so_far)
        if not is_nonnegative(substitute(statement.margin, {self.factor: S.Zero})):
            raise Refused(f"is not evident where {self.factor} = 0")


@dataclass(frozen=True)
class MaxCases:
    """A maximum equals one of its arguments: the statement holds with each of them in its place.

    Each of `lines` shows one case; a case that needs no line follows from signs alone.
    """

    lines: tuple[str, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        """The lines for the cases."""
        return self.lines

    def check(self, statement: Statement, so_far: Context) -> None:
        """Every case is a cited line or evident."""
        statement = statement.map(fresh_bound)
        maxima = statement.margin.atoms(Max)
        if len(maxima) != 1 or statement.relation != "<=":
            raise Refused("needs an inequality with one maximum")
        (maximum,) = maxima
        if not maximum.free_symbols <= statement.margin.free_symbols:
            raise Refused("the maximum stands in a sum: it may be another at each term")
        known = [so_far[name].statement for name in self.lines]
        for argument in maximum.args:
            case = statement.map(lambda side, a=argument: side.xreplace({maximum: a}))
            shown = any(
                line.relation == "<="
                and so_far.zero(line.lhs - case.lhs)
                and so_far.zero(line.rhs - case.rhs)
                for line in known
            )
            if not shown and not (case.lhs == 0 and is_nonnegative(case.rhs)):
                raise Refused(f"the case {case} is not shown")


@dataclass(frozen=True)
class Induction:
    """From the statement at 0 (line `base`), and from its truth at t (assumed in line `given`) to t + 1."""

    variable: Symbol
    base: str
    given: str
    step: str

    @property
    def uses(self) -> tuple[str, ...]:
        """The three lines."""
        return (self.base, self.given, self.step)

    @property
    def discharges(self) -> tuple[str, ...]:
        """The induction hypothesis is no assumption of the result."""
        return (self.given,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The lines are the statement at 0, t and t + 1."""
        if so_far.kind(self.given) != "induction":
            raise Refused(f"{self.given!r} is no induction hypothesis")
        if self.variable in so_far.ranges or self.variable in so_far.sizes:
            raise Refused(f"{self.variable} is an index with a range, or a size")
        if self.given in so_far.assumptions(self.base):
            raise Refused("the base rests on the induction hypothesis")
        t = self.variable
        for name, value in ((self.base, Integer(0)), (self.given, t), (self.step, t + 1)):
            at = statement.map(lambda side, v=value: substitute(side, {t: v}))
            _same(so_far[name].statement, at, so_far)


@dataclass(frozen=True)
class Evaluate:
    """A general statement or expression at one instance, at `values` of its free indices.

    With `of` the line says what that line says at the instance. Without it the line is a definition:
    the name on the left stands for the value of `expression`. Names of values are unfolded with `unfold`.
    """

    instance: Callable[[Iterable[Statement]], Callable[[Expr, Mapping[Symbol, int]], Expr]]
    of: str | None = None
    expression: Expr | None = None
    values: Mapping[Symbol, int] = field(default_factory=dict)
    unfold: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The general line and the names of values."""
        return (*((self.of,) if self.of else ()), *self.unfold)

    @property
    def defines(self) -> bool:
        """Whether the line introduces a name."""
        return self.of is None

    def check(self, statement: Statement, so_far: Context) -> None:
        """Both sides are what the general ones become at the instance."""
        evaluate = self.instance(so_far.definitions().values())
        stated = statement.map(lambda side: so_far.unfold(side, self.unfold))
        if self.of is not None:
            if so_far.assumptions(self.of):
                raise Refused(f"{self.of!r} rests on assumptions, which are not known to hold here")
            general = so_far[self.of].statement
            _same(stated, general.map(lambda side: evaluate(side, self.values)), so_far)
            return
        Define().check(statement, so_far)
        if self.expression is None or not so_far.zero(
            stated.rhs - evaluate(self.expression, self.values)
        ):
            raise Refused(f"is not the value of {self.expression}")
