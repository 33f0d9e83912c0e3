"""Runs of AdamW: the ball that holds every difference of rows, with and without the help of eps."""

from collections.abc import Callable
from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis

BETAS = Hypothesis(
    "betas", r"\beta_1^2 < \beta_2", lambda run: run.beta2 - run.beta1 * run.beta1, strict=True
)
SOME_DECAY = Hypothesis(
    "some_decay",
    r"\lambda \ne 0",
    lambda run: run.ops.abs(run.weight_decay),
    strict=True,
)
NONNEGATIVE_STEP = Hypothesis(
    "nonnegative_step", r"\eta_t \ge 0 \quad (\text{each step})", lambda run: run.step_size
)
DECAY_AT_MOST_ONE = Hypothesis(
    "decay_at_most_one",
    r"\eta_t\lambda \le 1 \quad (\text{each step})",
    lambda run: run.decay,
)
GRADIENT_BOUND = Hypothesis(
    "gradient_bound",
    r"g \ge |g_{kj}| \text{ for } k \in \{u, v\} \quad (\text{each step})",
    lambda run: run.ops.stack(
        [
            run.gradient_bound[..., None, None] - run.ops.abs(gradient)
            for gradient in run.trained.gradients
        ]
    ),
)


def _largest(run: Any, vectors: Array) -> Array:
    """The largest absolute entry of rows u and v [..., 2, n]."""
    return run.ops.max(run.ops.max(run.ops.abs(vectors)))


def _lhs(run: Any) -> Array:
    size = run.ops.max(run.ops.abs(run.difference(-1)))
    return run.ops.stack([_largest(run, run.last_update), size])


def _rhs(at_last: Callable[[Any], Array], at_any: Callable[[Any], Array]) -> Callable[[Any], Array]:
    """The bound on an update of the last step, and the ball that one for all steps gives."""

    def rhs(run: Any) -> Array:
        left = run.ops.prod(run.decay)
        start = run.ops.max(run.ops.abs(run.difference(0)))
        ball = left * start + 2 * at_any(run) / run.weight_decay * (1 - left)
        return run.ops.stack([at_last(run), ball])

    return rhs


BALL = Claim(
    id="adamw_ball",
    title="AdamW keeps rows within a ball of its own size",
    statement="|U_T| <= C_T;  |D_T| <= P |D_0| + (2C/lam)(1 - P)  (largest entries),  P = prod (1 - eta_t lam)",
    latex=(
        r"|U_T|_\infty \le C_T, \quad |D_T|_\infty \le P |D_0|_\infty + \tfrac{2C}{\lambda}(1-P), \quad"
        r" P = \prod_t (1 - \eta_t\lambda), \; C_t = \tfrac{1-\beta_1}{1-\beta_1^t}"
        r"\sqrt{\tfrac{(1-\beta_2^t)(1-s^t)}{(1-\beta_2)(1-s)}}, \; s = \tfrac{\beta_1^2}{\beta_2}, \; C = \lim C_t"
    ),
    source="Cauchy-Schwarz for the two moments; whatever the gradients are.",
    domain="adam_run",
    hypotheses=(BETAS, SOME_DECAY, NONNEGATIVE_STEP, DECAY_AT_MOST_ONE),
    lhs=_lhs,
    rhs=_rhs(lambda run: run.largest_update, lambda run: run.any_update),
    parts=("update", "ball"),
    tight=True,
    corollary=(
        "Targets may be of any kind. C = 7.27 for betas 0.9 and 0.999. With amsgrad the updates are no longer. The ball does"
        " not shrink with the loss: that gradients vanish is what adamw_eps needs."
    ),
)


def _damped(run: Any, most: Array) -> Array:
    """``C g/(g + C eps)``."""
    g = run.gradient_bound
    return most * g / (g + most * run.epsilon)


EPS = Claim(
    id="adamw_eps",
    title="Where gradients are below eps, AdamW's ball shrinks with them",
    statement="|U_T| <= C_T g/(g + C_T eps);  |D_T| <= P |D_0| + (2/lam) C g/(g + C eps) (1 - P)  (largest entries)",
    latex=(
        r"|U_T|_\infty \le \frac{C_T\, g}{g + C_T\varepsilon}, \qquad"
        r" |D_T|_\infty \le P |D_0|_\infty + \frac{2}{\lambda} \frac{C g}{g + C\varepsilon} (1-P)"
    ),
    source="m is an average of gradients, so |m_hat| <= g; and |m_hat| <= C sqrt(v_hat).",
    domain="adam_run",
    hypotheses=(BETAS, SOME_DECAY, NONNEGATIVE_STEP, DECAY_AT_MOST_ONE, GRADIENT_BOUND),
    lhs=_lhs,
    rhs=_rhs(
        lambda run: _damped(run, run.largest_update), lambda run: _damped(run, run.any_update)
    ),
    parts=("update", "ball"),
    tight=True,
    corollary=(
        "g = max p_u max|x_ij| serves for unseen rows: where their probability is far below eps, decay alone rules."
    ),
)


def _range(run: Any) -> Array:
    """omega: the range of ``<D_t, x_i>`` over the history, 0 included."""
    ops = run.ops
    seen = ops.stack([ops.max(d) for d in run.trained.logits])
    below = ops.stack([ops.max(-d) for d in run.trained.logits])
    zero = ops.asarray(0.0)
    return ops.maximum(ops.max(seen), zero) + ops.maximum(ops.max(below), zero)


SIGN = Claim(
    id="constant_sign",
    title="Where a feature never changes sign, AdamW updates unseen rows alike",
    statement="|U_u - U_v|_1 <= C_T (1 - exp(-omega))  (first entry),  omega the range of <D_t, x_i> and 0 over the run",
    latex=(
        r"|U_u - U_v|_1 \le C_T\,(1 - e^{-\omega}), \qquad"
        r" \omega = \max(0, \max_{t,i} \langle D_t, x_{ti}\rangle) - \min(0, \min_{t,i} \langle D_t, x_{ti}\rangle)"
    ),
    source="The gradients of u and v in that entry differ by a factor between exp(-omega) and exp(omega).",
    domain="adam_run",
    hypotheses=(
        Hypothesis(
            "unseen",
            r"y_{ti} \notin \{u, v\} \text{ for all } i \text{ with } a_{ti} > 0 \quad (\text{each step})",
            lambda run: -run.target_mass,
        ),
        BETAS,
        Hypothesis(
            "constant_sign",
            r"x_{ti1} \ge 0 \quad (\text{all } t, i)",
            lambda run: run.features[..., 0],
        ),
    ),
    lhs=lambda run: run.ops.abs(run.last_update[..., 0, 0] - run.last_update[..., 1, 0]),
    rhs=lambda run: run.largest_update * (1 - run.ops.exp(-_range(run))),
    tight=True,
    corollary=(
        "The entry may be any, and its sign. As rows approach one another their updates become alike. With signSGD the"
        " updates are the same: D_j+ = c D_j exactly."
    ),
)


def _rows(run: Any, t: int) -> tuple[Array, Array]:
    rows = run.trained.rows[t]
    return rows[..., 0, :], rows[..., 1, :]


def _norms(run: Any, t: int) -> tuple[Array, Array]:
    u, v = _rows(run, t)
    return run.ops.norm(u), run.ops.norm(v)


def _gap(run: Any, t: int) -> Array:
    """``|u||v| (1 - cos)`` = ``|u||v| - <u, v>``."""
    u, v = _rows(run, t)
    a, b = _norms(run, t)
    return a * b - run.ops.sum(u * v)


def _product(run: Any, t: int) -> Array:
    a, b = _norms(run, t)
    return a * b


def _unequal(run: Any, t: int) -> Array:
    """``(|w_u| - |w_v|)^2``."""
    a, b = _norms(run, t)
    return (a - b) * (a - b)


def _square(run: Any, t: int) -> Array:
    return run.ops.sum(run.difference(t) * run.difference(t))


COSINE = Claim(
    id="cosine_implies_collapse",
    title="A cosine that goes to 1 does not show that the distance goes to 0",
    statement="|D_T|^2 (1 - cos_0) <= |D_0|^2 (1 - cos_T)",
    latex=r"|D_T|^2\,(1 - \cos_0) \le |D_0|^2\,(1 - \cos_T)",
    source="What a reader of cosines takes for granted: that the squared distance falls with 1 - cos.",
    domain="adam_run",
    hypotheses=(
        Hypothesis(
            "nonzero_rows",
            r"|w_u|, |w_v| > 0 \text{ before and after}",
            lambda run: run.ops.stack([_product(run, 0), _product(run, -1)]),
            strict=True,
        ),
    ),
    lhs=lambda run: _square(run, -1) * _gap(run, 0) * _product(run, -1),
    rhs=lambda run: _square(run, 0) * _gap(run, -1) * _product(run, 0),
    expected="refuted",
    missing=(
        Hypothesis(
            "norms_do_not_grow",
            r"|w_u||w_v| \text{ is no larger after}",
            lambda run: _product(run, 0) - _product(run, -1),
        ),
        Hypothesis(
            "unequal_norms",
            r"(|w_u|-|w_v|)^2 \text{ falls at least as } 1-\cos \text{ does}",
            lambda run: (
                _unequal(run, 0) * _gap(run, -1) * _product(run, 0)
                - _unequal(run, -1) * _gap(run, 0) * _product(run, -1)
            ),
        ),
    ),
    corollary=(
        "Both rows may move far in one direction: the cosine goes to 1 and the distance stays. So look at distance, centred"
        " cosine and norm together."
    ),
)

CLAIMS = (BALL, EPS, SIGN, COSINE)
