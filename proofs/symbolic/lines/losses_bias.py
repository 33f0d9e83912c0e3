"""A head with biases: sums over coordinates gain the bias, as a coordinate in which every feature is 1."""

from sympy import Indexed, Integer, log

from ..framework.derivation import Line, equal
from ..framework.rules import Combine, Define, Differentiate, Term
from ..framework.small import Table, real
from ..framework.symbols import Step, base_name, i, j
from ..framework.types import Expr
from . import losses, step

TABLE: Table = {
    "beta_u": lambda: real("b_0"),
    "beta_v": lambda: real("b_1"),
    "beta": lambda k: real(f"b_{k - 1}"),
}


class Biased(Step):
    """A step of a head with biases; `over_j` sums over the coordinates of the weights and adds the bias's."""

    @property
    def beta_u(self) -> Expr:
        """Bias u."""
        return self.name("beta_u")

    @property
    def beta_v(self) -> Expr:
        """Bias v."""
        return self.name("beta_v")

    @property
    def push(self) -> Expr:
        """The bias's coordinate of `M (D, b)`."""
        return self.over_i(self.a(i) * self.name("L", i) * self.name("d", i))

    def over_j(self, body: Expr) -> Expr:
        """The sum over coordinates j of the weights, and the term of the bias."""
        return super().over_j(body) + body.replace(
            lambda node: isinstance(node, Indexed) and node.indices[-1] == j, self.of_bias
        )

    def of_bias(self, node: Expr) -> Expr:
        """What stands for the entry j in the bias's coordinate. Raises `KeyError` for an unknown name."""
        values = {
            "w_u": self.beta_u,
            "w_v": self.beta_v,
            "w": self.name("beta", node.indices[0]),
            "x": Integer(1),
            "D": self.beta_u - self.beta_v,
            "MD": self.push,
            "Dnext": self.name("Bnext"),
        }
        return values[base_name(node)]


def loss(q: Biased, *, decayed: bool) -> list[Line]:
    """Softmax with biases, the loss, its gradient in rows and biases u and v, and one step."""
    p_y = q.name("p_y", i, positive=True)
    p_u, p_v = losses.pair(q)
    decay, which = losses.decay(q), "weight decay, of the biases too."
    if not decayed:
        decay, which = losses.decay(Step()), "weight decay of the rows, not of the biases."
    value = -q.over_i(q.a(i) * log(p_y)) + decay
    lines = [
        *losses.softmax(q),
        losses.loss(value, f"The loss: weighted cross-entropy and {which}", ("p_y",), q),
        *losses.linear_form(q, value, -q.a(i)),
        *losses.descent(q, (p_u, p_v), of="loss_form"),
    ]
    for row, beta, p in (("u", q.beta_u, p_u), ("v", q.beta_v, p_v)):
        grad, new = q.name(f"grad_beta_{row}"), q.name(f"beta_next_{row}")
        own = q.lam * beta if decayed else 0
        lines += [
            Line(
                f"grad_beta_{row}",
                equal(grad, q.over_i(q.a(i) * p) + own),
                Differentiate("loss_form", by=beta),
                f"Its derivative with respect to the bias of ${row}$.",
            ),
            Line(
                f"beta_next_{row}",
                equal(new, beta - q.eta * grad),
                Define((f"grad_beta_{row}",)),
                f"One step of gradient descent on the bias of ${row}$.",
            ),
        ]
    return lines


def bias_after(q: Biased) -> Line:
    """The difference of the biases after the step."""
    value = q.name("beta_next_u") - q.name("beta_next_v")
    return Line(
        "Bnext",
        equal(q.name("Bnext"), value),
        Define(("beta_next_u", "beta_next_v")),
        "The difference of the two biases after the step.",
    )


def recursion(q: Biased, *, decayed: bool) -> list[Line]:
    """D+ = c D - eta M D for the rows, and the same for the biases, with or without c."""
    factor = q.name("c") if decayed else 1
    kept = factor * (q.beta_u - q.beta_v)
    unfold = ("Bnext", "beta_next_u", "beta_next_v", "grad_beta_u", "grad_beta_v")
    return [
        *step.recursion(q),
        bias_after(q),
        Line(
            "recursion_b",
            equal(q.name("Bnext"), kept - q.eta * q.push),
            Combine(
                (Term(-q.eta * q.a(i), ("mean_value",), over=(i,)),),
                unfold=(*unfold, "c") if decayed else unfold,
            ),
            "The recursion of the biases, whose feature is $1$.",
        ),
    ]


def quadratic(q: Biased) -> list[Line]:
    """The scalars of a plain step; the new length has the bias in it."""
    lines = step.quadratic(q)
    (square,) = losses.named(lines, "next_square")
    rule = Combine(
        (Term(-2 * q.name("c") * q.eta, ("quad=D.MD",)),),
        unfold=("nextnorm", "norm", "recursion", "recursion_b"),
    )
    return losses.changed(lines, "next_square", rule=rule, sentence=square.sentence)
