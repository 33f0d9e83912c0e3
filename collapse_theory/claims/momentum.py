"""SGD with momentum: unseen rows still approach one another, at the rate of the larger root, from a zero buffer.

All three rest on one function that never grows faster than the square of the larger root: with roots rho1 > rho2 of the
recursion without a loss, ``V = N1 |E|^2 + N2 |F|^2``, where ``E+ = rho1 E - eta M D`` and ``F+ = rho2 F - eta M D``.
"""

from collections.abc import Callable
from typing import Any

from ..arithmetic import Array
from ..instances._momentum import Trained
from ._claim import Claim, Hypothesis

UNSEEN = Hypothesis(
    "unseen",
    r"y_i \notin \{u, v\} \text{ for all } i \text{ with } a_i > 0 \quad (\text{each step})",
    lambda run: -run.target_mass,
)
NONNEGATIVE_STEP = Hypothesis("nonnegative_step", r"\eta \ge 0", lambda run: run.step_size)


def _curvature(trained: Callable[[Any], Trained]) -> Hypothesis:
    return Hypothesis(
        "curvature",
        r"T \ge \operatorname{tr} M_t \quad (\text{each step})",
        lambda run: run.curvature[..., None] - trained(run).traces,
    )


def _claim(trained: Callable[[Any], Trained], rate: Callable[[Any], Array], **words: Any) -> Claim:
    """``|D_T| <= rate^T factor |D_0|`` for the runs of one kind; ``rate`` gives both."""

    def rhs(run: Any) -> Array:
        root, factor = rate(run)
        return root ** run.features.shape[-3] * factor * run.ops.norm(trained(run).first)

    own = words.pop("hypotheses")
    return Claim(
        domain="momentum_run",
        hypotheses=(UNSEEN, NONNEGATIVE_STEP, _curvature(trained), *own),
        lhs=lambda run: run.ops.norm(trained(run).last),
        rhs=rhs,
        tight=True,
        **words,
    )


# ---- decoupled decay: the roots are c and beta


def _decoupled(run: Any) -> tuple[Array, Array]:
    c = run.decay
    return c, run.ops.sqrt(c + run.momentum) / run.ops.sqrt(c)


DECOUPLED = _claim(
    lambda run: run.decoupled,
    _decoupled,
    id="momentum_decoupled",
    title="With momentum and decay beside the gradient, unseen rows approach at the decay's own rate",
    statement="|D_T| <= c^T sqrt((c + beta)/c) |D_0|,  c = 1 - eta lam",
    latex=r"|D_T| \le c^T \sqrt{\frac{c+\beta}{c}}\,|D_0|, \qquad c = 1 - \eta\lambda",
    source="A Lyapunov function with multiplier; SGDW (Loshchilov and Hutter 2019) from a zero buffer.",
    hypotheses=(
        Hypothesis(
            "real_roots",
            r"1 - \eta\lambda > \beta",
            lambda run: run.decay - run.momentum,
            strict=True,
        ),
        Hypothesis(
            "step_size",
            r"\eta T \le 2 (c-\beta)^2/(c+\beta)",
            lambda run: (
                2 * (run.decay - run.momentum) ** 2
                - run.step_size * run.curvature * (run.decay + run.momentum)
            ),
        ),
    ),
    corollary="The features and batches may change at every step. beta = 0 is contraction.",
)


# ---- decay in the gradient: the roots of z^2 - a z + beta


def _sum(run: Any) -> Array:
    """``a = 1 + beta - eta lam``."""
    return 1 + run.momentum - run.step_size * run.weight_decay


def _coupled(run: Any) -> tuple[Array, Array]:
    a, beta, sqrt = _sum(run), run.momentum, run.ops.sqrt
    apart = sqrt(a * a - 4 * beta)
    return (a + apart) / 2, sqrt(a) * sqrt(a * (1 + beta) - 4 * beta) / apart


COUPLED = _claim(
    lambda run: run.coupled,
    _coupled,
    id="momentum_coupled",
    title="With torch's momentum, unseen rows approach at the rate of the larger root",
    statement="|D_T| <= rho^T sqrt(a (a(1 + beta) - 4 beta)/(a^2 - 4 beta)) |D_0|,  rho = (a + sqrt(a^2 - 4 beta))/2",
    latex=(
        r"|D_T| \le \rho^T \sqrt{\frac{a\,(a(1+\beta)-4\beta)}{a^2-4\beta}}\,|D_0|, \qquad"
        r" \rho = \tfrac12\bigl(a+\sqrt{a^2-4\beta}\bigr), \quad a = 1+\beta-\eta\lambda"
    ),
    source="A Lyapunov function with multiplier; torch.optim.SGD from a zero buffer.",
    hypotheses=(
        Hypothesis(
            "real_roots",
            r"a > 2\sqrt\beta",
            lambda run: _sum(run) - 2 * run.ops.sqrt(run.momentum),
            strict=True,
        ),
        Hypothesis(
            "step_size",
            r"\eta T \le 2 (a^2 - 4\beta)/a",
            lambda run: (
                2 * (_sum(run) ** 2 - 4 * run.momentum) - run.step_size * run.curvature * _sum(run)
            ),
        ),
    ),
    corollary=(
        "The real roots are eta lam < (1 - sqrt beta)^2. The step size must be far below what a constant M would allow:"
        " batches that come and go can drive an oscillation apart."
    ),
)


# ---- Nesterov's: the roots of z^2 - (1 + beta) c z + beta c


def _nesterov_roots(run: Any) -> tuple[Array, Array, Array]:
    """The larger root, the smaller one, and their difference."""
    c, beta = run.decay, run.momentum
    both = (1 + beta) * c
    apart = run.ops.sqrt(both * both - 4 * beta * c)
    return (both + apart) / 2, (both - apart) / 2, apart


def _nesterov(run: Any) -> tuple[Array, Array]:
    c, beta = run.decay, run.momentum
    large, _, _ = _nesterov_roots(run)
    square = (1 + beta) * (1 + beta) * c
    first, last = square - 2 * beta, c * (1 + beta * beta) - 2 * beta
    return large, run.ops.sqrt(first) * run.ops.sqrt(last) / run.ops.sqrt(c * (square - 4 * beta))


def _nesterov_step_size(run: Any) -> Array:
    beta = run.momentum
    large, small, apart = _nesterov_roots(run)
    ahead, behind = (1 + beta) * large - beta, (1 + beta) * small - beta
    room = ahead * apart + 2 * large * behind
    return 2 * large * apart * apart - run.step_size * run.curvature * room


NESTEROV = _claim(
    lambda run: run.nesterov,
    _nesterov,
    id="nesterov",
    title="With Nesterov's momentum, unseen rows approach at the rate of the larger root",
    statement=(
        "|D_T| <= rho^T C |D_0|,  C^2 = ((1+beta)^2 c - 2 beta)(c(1 + beta^2) - 2 beta)/(c((1+beta)^2 c - 4 beta)),"
        "  rho the larger root of z^2 - (1+beta) c z + beta c"
    ),
    latex=(
        r"|D_T| \le \rho_1^T \sqrt{\frac{((1+\beta)^2c-2\beta)(c(1+\beta^2)-2\beta)}{c((1+\beta)^2c-4\beta)}}\,|D_0|,"
        r" \qquad \rho_{1,2} \text{ the roots of } z^2-(1+\beta)cz+\beta c, \quad c = 1-\eta\lambda"
    ),
    source="A Lyapunov function with multiplier; torch.optim.SGD(nesterov=True) from a zero buffer.",
    hypotheses=(
        Hypothesis("some_momentum", r"\beta > 0", lambda run: run.momentum, strict=True),
        Hypothesis(
            "real_roots",
            r"(1+\beta)^2 c > 4\beta",
            lambda run: (1 + run.momentum) * (1 + run.momentum) * run.decay - 4 * run.momentum,
            strict=True,
        ),
        Hypothesis(
            "step_size",
            r"\eta T \bigl(N_1(\rho_1-\rho_2) + 2\rho_1 N_2\bigr) \le 2\rho_1(\rho_1-\rho_2)^2,"
            r" \quad N_i = (1+\beta)\rho_i - \beta",
            _nesterov_step_size,
        ),
    ),
    corollary="torch asks for beta > 0 here; without momentum the step is that of contraction.",
)

CLAIMS = (DECOUPLED, COUPLED, NESTEROV)
