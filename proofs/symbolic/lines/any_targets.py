"""The loss with targets of any kind: the pair u, v may be seen."""

from dataclasses import replace

from sympy import log

from ..framework.derivation import Line, equal
from ..framework.rules import Combine, Define, Differentiate, Term
from ..framework.symbols import LATEX, Step, i, j, m
from ..framework.types import Expr
from . import step

NAMES = LATEX | {"hot_u": "[y = u]", "hot_v": "[y = v]"}


def hot(q: Step, row: str) -> Expr:
    """1 where the target is the row, else 0."""
    return q.name(f"hot_{row}", i)


def loss(q: Step) -> list[Line]:
    """Softmax, the loss with any targets, its gradient in rows u and v, one step.

    `hot_u[i]` and `hot_v[i]` say whether u or v is the target; no line uses more about them than that they are real.
    """
    names = ("z_u", "z_v", "S", "Z", "p_u", "p_v", "p_y", "loss")
    lines = {line.name: line for line in step.loss(q)}
    p_u, p_v, p_y = (q.name(name, i, positive=True) for name in ("p_u", "p_v", "p_y"))
    h_u, h_v = hot(q, "u"), hot(q, "v")
    ell, with_decay = q.name("loss"), lines["loss"].statement.rhs + q.over_i(q.a(i) * log(p_y))
    Z = log(q.name("Z", i, positive=True))
    kinds = (
        ("u", h_u, p_u, q.name("z_u", i) - Z),
        ("v", h_v, p_v, q.name("z_v", i) - Z),
        ("y", 1 - h_u - h_v, p_y, q.over_j(q.w(q.y(i), j) * q.x(i, j)) - Z),
    )
    lines["p_y"] = replace(
        lines["p_y"], sentence="and of the target $y_i$, if that is neither $u$ nor $v$."
    )
    lines["loss"] = Line(
        "loss",
        equal(ell, with_decay - q.over_i(q.a(i) * sum(h * log(p) for _, h, p, _ in kinds))),
        Define(("p_u", "p_v", "p_y")),
        "The loss: weighted cross-entropy, with targets of any kind, and weight decay.",
    )
    logits = [
        *(
            Line(
                f"log_{kind}",
                equal(log(p), form),
                Combine(unfold=(f"p_{kind}",)),
                "The logarithm of a probability is the logit less that of the normaliser.",
            )
            for kind, _, p, form in kinds
        ),
        Line(
            "loss_in_logits",
            equal(ell, with_decay - q.over_i(q.a(i) * sum(h * form for _, h, _, form in kinds))),
            Combine(
                tuple(Term(-q.a(i) * h, (f"log_{kind}",), over=(i,)) for kind, h, _, _ in kinds),
                unfold=("loss",),
            ),
            "So the loss in terms of the logits,",
        ),
    ]
    rows: list[Line] = []
    for row, w, p, h in (("u", q.w_u, p_u, h_u), ("v", q.w_v, p_v, h_v)):
        grad, new = q.name(f"grad_{row}", m), q.name(f"next_{row}", m)
        rows += [
            Line(
                f"grad_{row}",
                equal(grad, q.over_i(q.a(i) * (p - h) * q.x(i, m)) + q.lam * w(m)),
                Differentiate("loss_in_logits", by=w(m)),
                f"and its derivative with respect to coordinate $m$ of row ${row}$.",
            ),
            Line(
                f"next_{row}",
                equal(new, w(m) - q.eta * grad),
                Define((f"grad_{row}",)),
                f"One step of gradient descent on row ${row}$.",
            ),
        ]
    return [*(lines[name] for name in names), *logits, *rows]
