"""Derivations: numbered lines, each with the rule that justifies it and a check that SymPy performs.

A derivation is data. `Derivation.check` looks at every line in turn; a line may cite earlier lines only. Its
verdict on a line means "shown by this rule", never "true": a true statement with the wrong
justification is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Literal, Protocol, TypeAlias

from sympy import Symbol, latex, sympify

from .algebra import Ranges, heads, is_zero, rewrite
from .signs import is_real
from .types import Expr

Relation: TypeAlias = Literal["==", "<="]
Kind: TypeAlias = Literal["hypothesis", "setting", "induction", "case"]


class Refused(Exception):
    """A line is not justified by its rule; the message says what is missing."""


@dataclass(frozen=True)
class Statement:
    """`lhs == rhs` or `lhs <= rhs`, for all values of the free symbols and of the free indices in their ranges."""

    lhs: Expr
    relation: Relation
    rhs: Expr

    @property
    def margin(self) -> Expr:
        """`rhs - lhs`: zero for an equation, at least zero for an inequality."""
        return self.rhs - self.lhs

    def map(self, function: Callable[[Expr], Expr]) -> "Statement":
        """The statement with `function` applied to both sides."""
        return Statement(function(self.lhs), self.relation, function(self.rhs))

    def __str__(self) -> str:
        return f"{self.lhs} {self.relation} {self.rhs}"


def equal(lhs: object, rhs: object) -> Statement:
    """The statement `lhs == rhs`."""
    return Statement(sympify(lhs), "==", sympify(rhs))


def at_most(lhs: object, rhs: object) -> Statement:
    """The statement `lhs <= rhs`."""
    return Statement(sympify(lhs), "<=", sympify(rhs))


class Rule(Protocol):
    """What justifies a line. `uses` names the lines it rests on."""

    @property
    def uses(self) -> tuple[str, ...]: ...

    def check(self, statement: Statement, so_far: "Context") -> None:
        """Return if the statement follows, else raise `Refused`."""


@dataclass(frozen=True)
class Line:
    """One line: its name, what it states, why it holds, and a sentence for the reader."""

    name: str
    statement: Statement
    rule: Rule
    sentence: str

    def check(self, so_far: "Context") -> None:
        """Raise `Refused` unless the rule justifies the statement from the lines `so_far`."""
        if self.name in so_far:
            raise Refused(f"a second line is called {self.name!r}")
        for cited in self.rule.uses:
            so_far[cited]
        for side in (self.statement.lhs, self.statement.rhs):
            if not is_real(side):
                raise Refused(f"{side} is not shown to be defined and real")
        self.rule.check(self.statement, so_far)


class Context:
    """The lines before the one under check."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self._lines: dict[str, Line] = {}
        self._assumptions: dict[str, frozenset[str]] = {}

    @property
    def sizes(self) -> set[Symbol]:
        """The symbols in the bounds of ranges: the same number throughout."""
        bounds = (sympify(bound) for span in self.ranges.values() for bound in span)
        return set[Symbol]().union(*(bound.free_symbols for bound in bounds))

    def __getitem__(self, name: str) -> Line:
        if name not in self._lines:
            raise Refused(f"cites {name!r}, which is no earlier line")
        return self._lines[name]

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines.values())

    def add(self, line: Line) -> None:
        """Make `line` available to later ones."""
        cited = (self._assumptions.get(name, frozenset()) for name in line.rule.uses)
        rests_on = frozenset[str]().union(*cited)
        if getattr(line.rule, "kind", None) is not None:
            rests_on |= {line.name}
        rests_on -= frozenset(getattr(line.rule, "discharges", ()))
        self._assumptions[line.name] = rests_on
        self._lines[line.name] = line

    def assumptions(self, name: str) -> frozenset[str]:
        """Names of the assumed lines that the line `name` rests on."""
        self[name]
        return self._assumptions[name]

    def kind(self, name: str) -> Kind | None:
        """The kind of an assumed line, or None."""
        return getattr(self[name].rule, "kind", None)

    def local(self, name: str) -> bool:
        """Whether a line rests on an induction hypothesis, or on an assumption at one value of an index."""
        return any(
            self.kind(assumed) == "induction" or self.fixed(assumed)
            for assumed in self.assumptions(name)
        )

    def fixed(self, name: str) -> tuple[Symbol, ...]:
        """The indices at which an assumed line holds at one value only."""
        return getattr(self[name].rule, "fixed", ())

    def unfold(self, expression: Expr, names: tuple[str, ...]) -> Expr:
        """Rewrite with the equations `names` from left to right, one after the other."""
        for name in names:
            statement = self[name].statement
            if statement.relation != "==":
                raise Refused(f"{name!r} is no equation")
            if self.local(name):
                # Rewriting would apply it at every index, and it is assumed at one.
                raise Refused(f"{name!r} rests on what is assumed at one index only")
            everywhere = getattr(self[name].rule, "defines", False)  # a definition is no fact
            ranges = None if everywhere else self.ranges
            expression = rewrite(expression, statement.lhs, statement.rhs, ranges)
        return expression

    def definitions(self) -> dict[str, Statement]:
        """The definitions so far, by name, in order."""
        return {line.name: line.statement for line in self if getattr(line.rule, "defines", False)}

    def meanings(self) -> dict[str, Statement]:
        """The definitions, and the names of numbers that are positive, or not 0, by hypothesis."""
        return {
            line.name: line.statement
            for line in self
            if getattr(line.rule, "defines", False) or getattr(line.rule, "names", False)
        }

    def unfold_all(self, expression: Expr) -> Expr:
        """Unfold every definition, the last one first."""
        return self.unfold(expression, tuple(reversed(self.definitions())))

    def fresh(self, expression: Expr) -> bool:
        """Whether the head of `expression` occurs in no earlier line."""
        head = getattr(expression, "base", expression)
        return all(
            head not in heads(side)
            for line in self
            for side in (line.statement.lhs, line.statement.rhs)
        )

    def zero(self, expression: Expr) -> bool:
        """`is_zero` with the ranges of this derivation."""
        return is_zero(expression, self.ranges)


@dataclass(frozen=True)
class LineResult:
    """Verdict on one line; `reason` is empty when the line stands.

    `role` says what standing means: a line is "assumed", "defined" or "verified", a "goal" rests on the hypotheses
    that it states and no others.
    """

    name: str
    ok: bool
    reason: str
    seconds: float
    role: str

    @property
    def verdict(self) -> str:
        """The role, or "REFUSED"."""
        return self.role if self.ok else "REFUSED"


def _evaluated(line: Line) -> set[object]:
    """The names in the expression that the line evaluates, if it does that."""
    expression = getattr(line.rule, "expression", None)
    return set() if expression is None else heads(expression)


def role(line: Line) -> str:
    """What a line that stands is: "assumed", "defined" or "verified"."""
    if getattr(line.rule, "kind", None) is not None:
        return "assumed"
    return "defined" if getattr(line.rule, "defines", False) else "verified"


@dataclass(frozen=True)
class Part:
    """A part of the conclusion at a small size, in the symbols of the claim's instances.

    `hypotheses` maps a hypothesis id to its margins (one per step or example, >= 0 where it holds);
    `structural` names those that are built into the set-up; `loss` is what the derivation started from (for a run:
    at its first step). `sizes` are the axes' sizes of the claim's domain, as `collapse_theory.instances.symbolic` takes
    them.
    A side of an identity between vectors is a tuple, one entry for each coordinate. A refutation has `refutes` set: then
    `lhs > rhs` at `witness`, where every margin is >= 0.
    """

    id: str
    hypotheses: Mapping[str, tuple[Expr, ...]]
    structural: tuple[str, ...]
    loss: Expr
    lhs: Expr | tuple[Expr, ...]
    rhs: Expr | tuple[Expr, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    refutes: bool = False
    witness: Mapping[Symbol, Expr] = field(default_factory=dict)


@dataclass(frozen=True)
class Goal:
    """A line that is part of the conclusion, and the hypotheses (names of lines) it may rest on.

    `also` are the lines that the conclusion is written with beside it: equations in whose form it is compared with the
    claim, and for a refutation, that its instance meets the hypotheses. They rest on no others.
    """

    id: str
    line: str
    hypotheses: tuple[str, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Derivation:
    """A chain of lines from the loss to a claim."""

    claim: str
    lines: tuple[Line, ...]
    goals: tuple[Goal, ...]
    sizes: str
    ranges: Ranges
    conclude: Callable[["Derivation"], tuple[Part, ...]]
    names: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Line:
        return next(line for line in self.lines if line.name == name)

    def on_path(self) -> "Derivation":
        """The same with the lines that a goal rests on, and what defines the names in them.

        Groups of lines that several derivations share bring more than each needs.
        """
        lines = {line.name: line for line in self.lines}
        defined = self._defined_by()
        needed: set[str] = set()
        ahead = [name for goal in self.goals for name in (goal.line, *goal.also)]
        while ahead:
            name = ahead.pop()
            if name in needed or name not in lines:
                continue
            needed.add(name)
            line = lines[name]
            spoken = heads(line.statement.lhs) | heads(line.statement.rhs) | _evaluated(line)
            ahead += [*line.rule.uses, *(defined[name] for name in spoken & defined.keys())]
        return replace(self, lines=tuple(line for line in self.lines if line.name in needed))

    def _defined_by(self) -> dict[object, str]:
        """The line that says what a name stands for, by the name (without its indices)."""
        meanings = self.context().meanings().items()
        return {getattr(meant.lhs, "base", meant.lhs): line for line, meant in meanings}

    @property
    def conclusion(self) -> tuple[Part, ...]:
        """What the goals say at a small size; computed from the lines, not stated a second time."""
        return self.conclude(self)

    def context(self) -> Context:
        """All lines, unchecked."""
        context = Context(self.ranges)
        for line in self.lines:
            context.add(line)
        return context

    def check(self) -> list[LineResult]:
        """Check every line and every goal. The derivation holds if all results are `ok`."""
        context = Context(self.ranges)
        results = []
        for line in self.lines:
            start, reason = perf_counter(), ""
            try:
                line.check(context)
            except Refused as refusal:
                reason = str(refusal)
            except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
                reason = f"{type(error).__name__}: {error}"
            if not reason and line.name in self._idle():
                reason = "introduced but never used"
            context.add(line)
            results.append(
                LineResult(line.name, not reason, reason, perf_counter() - start, role(line))
            )
        return results + [self._check_goal(goal, context) for goal in self.goals]

    def _idle(self) -> set[str]:
        """Assumed or defined lines that no other line cites: a slip in them would go unseen."""
        cited = {name for line in self.lines for name in line.rule.uses}
        cited |= {name for goal in self.goals for name in goal.also}
        defined = self._defined_by()
        evaluated = set[object]().union(*map(_evaluated, self.lines))
        cited |= {defined[name] for name in evaluated & defined.keys()}
        introduced = {
            line.name
            for line in self.lines
            if getattr(line.rule, "kind", None) or getattr(line.rule, "defines", False)
        }
        return introduced - cited

    def _check_goal(self, goal: Goal, context: Context) -> LineResult:
        reason = ""
        try:
            rests_on = context.assumptions(goal.line)
            needed = {name for name in rests_on if context.kind(name) != "setting"}
            beside = {name for line in goal.also for name in context.assumptions(line)}
            beside = {name for name in beside if context.kind(name) != "setting"}
            if needed != set(goal.hypotheses) or not beside <= needed:
                rest = sorted(needed | beside)
                reason = f"rests on {rest}, states {sorted(goal.hypotheses)}"
        except Refused as refusal:
            reason = str(refusal)
        return LineResult(goal.id, not reason, reason, 0.0, "goal")

    def _latex(self, expression: Expr) -> str:
        symbols = {s: self.names[s.name] for s in expression.atoms(Symbol) if s.name in self.names}
        return latex(expression, symbol_names=symbols)

    def formulas(self) -> list[tuple[str, str]]:
        """Every line as (sentence, formula), in LaTeX; lines are numbered from 1."""
        shown = []
        for line in self.lines:
            lhs, rhs = (self._latex(side) for side in (line.statement.lhs, line.statement.rhs))
            sign = {"==": "=", "<=": r"\le"}[line.statement.relation]
            if getattr(line.rule, "defines", False):
                sign = ":="
            shown.append((line.sentence, rf"{lhs} {sign} {rhs}"))
        return shown

    def latex(self) -> str:
        """The lines as an `align` environment (amsmath), each with its sentence."""
        rows = []
        lines = self.formulas()
        for number, (sentence, formula) in enumerate(lines, start=1):
            end = "" if number == len(lines) else r" \\"
            rows += [rf"\intertext{{{sentence}}}", rf"{formula} \tag{{{number}}}{end}"]
        return "\n".join([r"\begin{align}", *rows, r"\end{align}", ""])
