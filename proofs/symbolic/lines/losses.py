"""Lines for variants of the loss: the softmax, any loss on it, one step of gradient descent, and the recursion.

Each variant states its own loss and what its derivative is; SymPy computes the derivative again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sympy import KroneckerDelta, log

from ..framework.derivation import Line, Rule, Statement, equal
from ..framework.rules import Combine, Define, Differentiate, Term
from ..framework.symbols import Step, base_name, i, j, k, m
from ..framework.types import Expr
from . import bounds, logmean, step


def softmax(q: Step) -> list[Line]:
    """The lines of a plain step before its loss: logits, normaliser, probabilities."""
    lines = step.loss(q)
    return lines[: [line.name for line in lines].index("loss")]


def pair(q: Step) -> tuple[Expr, Expr]:
    """The probabilities of u and v."""
    return q.name("p_u", i, positive=True), q.name("p_v", i, positive=True)


def decay(q: Step) -> Expr:
    """`(lam/2)|W|^2`, the sum over all rows."""
    return q.lam / 2 * q.over_j(q.w_u(j) ** 2 + q.w_v(j) ** 2) + q.lam / 2 * q.over_k(
        q.over_j(q.w(k, j) ** 2)
    )


def loss(value: Expr, sentence: str, uses: tuple[str, ...], q: Step) -> Line:
    """The loss as a name."""
    return Line("loss", equal(q.name("loss"), value), Define(uses), sentence)


def target_logit(q: Step) -> Line:
    """The logit of the target."""
    value = q.over_j(q.w(q.y(i), j) * q.x(i, j))
    return Line("z_y", equal(q.name("z_y", i), value), Define(), "Its logit.")


def logarithm(q: Step, p: Expr, z: Expr, sentence: str, *unfold: str) -> Line:
    """`log p = z - log Z`, for the probability p of logit z (to be unfolded too if its name is no part of p)."""
    name = base_name(p)
    return Line(
        f"log_{name}",
        equal(log(p), z - log(q.name("Z", i, positive=True))),
        Combine(unfold=(name, *unfold)),
        sentence,
    )


def linear_form(
    q: Step, value: Expr, weight: Expr, sentence: str = "so that the loss is"
) -> list[Line]:
    """The loss with `z_y - log Z` for `log p_y`, whose derivative is short; `weight` is the factor of `log p_y` in it."""
    p_y, z_y = q.name("p_y", i, positive=True), q.name("z_y", i)
    linear = z_y - log(q.name("Z", i, positive=True))
    return [
        target_logit(q),
        logarithm(q, p_y, z_y, "The logarithm of $p_y$ is the logit minus $\\log Z$,", "z_y"),
        Line(
            "loss_form",
            equal(q.name("loss"), value.xreplace({log(p_y): linear})),
            Combine((Term(weight, ("log_p_y",), over=(i,)),), unfold=("loss",)),
            sentence,
        ),
    ]


def descent(
    q: Step,
    residuals: tuple[Expr, Expr],
    of: str = "loss",
    differentiate: Callable[..., Rule] = Differentiate,
) -> list[Line]:
    """Gradients `sum_i a_i residual x_i + lam w` in rows u and v, and the step; the loss has its decay."""
    lines = []
    for row, w, residual in zip(("u", "v"), (q.w_u, q.w_v), residuals, strict=True):
        grad, new = q.name(f"grad_{row}", m), q.name(f"next_{row}", m)
        lines += [
            Line(
                f"grad_{row}",
                equal(grad, q.over_i(q.a(i) * residual * q.x(i, m)) + q.lam * w(m)),
                differentiate(of, by=w(m)),
                f"Its derivative with respect to coordinate $m$ of row ${row}$.",
            ),
            Line(
                f"next_{row}",
                equal(new, w(m) - q.eta * grad),
                Define((f"grad_{row}",)),
                f"One step of gradient descent on row ${row}$.",
            ),
        ]
    return lines


def mean(q: Step) -> list[Line]:
    """The logarithmic mean and the mean value identity alone."""
    lines = logmean.logmean(q)
    return lines[: 1 + [line.name for line in lines].index("mean_value")]


def start(q: Step) -> list[Line]:
    """The decay c and the difference after the step."""
    return named(step.recursion(q), "c", "Dnext")


DIFFERENCE = ("Dnext", "next_u", "next_v", "grad_u", "grad_v", "c", "D")
"""What to unfold so that the difference after the step shows the probabilities."""


def pushed(q: Step, name: str, weight: Expr, uses: tuple[str, ...], sentence: str) -> Line:
    """The definition of `sum_i weight_i x_i`."""
    return Line(name, equal(q.name(name, m), q.over_i(weight * q.x(i, m))), Define(uses), sentence)


def recursion(
    q: Step, scale: Expr, push: str, *more: Term, unfold: tuple[str, ...] = (), sentence: str
) -> Line:
    """`D+ = c D - scale * push`, from the difference in terms of probabilities and the terms given."""
    return Line(
        "recursion",
        equal(q.name("Dnext", m), q.name("c") * q.name("D", m) - scale * q.name(push, m)),
        Combine(more, unfold=("difference", push, *unfold)),
        sentence,
    )


def named(lines: Iterable[Line], *names: str) -> list[Line]:
    """The lines with these names, in their own order."""
    return [line for line in lines if line.name in names]


def without(lines: Iterable[Line], *names: str) -> list[Line]:
    """The lines but those with these names."""
    return [line for line in lines if line.name not in names]


def swapped(lines: Sequence[Line], *new: Line) -> list[Line]:
    """The lines, each of `new` in the place of the one of its name."""
    others = {line.name: line for line in new}
    if not set(others) <= {line.name for line in lines}:
        raise KeyError(f"no line has the name of one of {sorted(others)}")
    return [others.get(line.name, line) for line in lines]


def changed(
    lines: Sequence[Line],
    name: str,
    *,
    statement: Statement | None = None,
    rule: Rule | None = None,
    sentence: str | None = None,
) -> list[Line]:
    """The lines with another statement, rule or sentence for the line `name`."""
    (line,) = named(lines, name)
    if statement is not None:
        line = replace(line, statement=statement)
    if rule is not None:
        line = replace(line, rule=rule)
    if sentence is not None:
        line = replace(line, sentence=sentence)
    return swapped(lines, line)


def hit(q: Step, label: Expr) -> Expr:
    """1 where `label` is the target of example i, else 0."""
    return KroneckerDelta(q.y(i), label)


def upper(q: Step, *, without_hypotheses: bool = False) -> list[Line]:
    """From the recursion to `|D+| <= (1 - eta lam)|D|`; T bounds the trace by hypothesis, or by an earlier line."""
    first = [bounds.nonnegative_step(q)] if without_hypotheses else bounds.hypotheses(q)
    return [*first, *bounds.upper(q)]
