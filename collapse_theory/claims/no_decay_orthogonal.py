"""What no feature sees only decays: without decay it never changes, and collapse stops there."""

from ._claim import Claim, Hypothesis

CLAIM = Claim(
    id="no_decay_orthogonal",
    title="The part of D orthogonal to all features only decays; without decay it never changes",
    statement="<z, D_T> = prod (1 - eta_t lam_t) <z, D_0>  for z orthogonal to all features",
    latex=r"\langle z, D_T\rangle = \prod_t (1 - \eta_t\lambda_t)\,\langle z, D_0\rangle",
    source="Every gradient of a row lies in the span of the features.",
    domain="probe_run",
    relation="==",
    hypotheses=(
        Hypothesis(
            "orthogonal",
            r"\langle z, x_i\rangle = 0 \text{ for all } i \quad (\text{each step})",
            lambda run: -run.ops.abs(run.ops.sum(run.probe[..., None, None, :] * run.features)),
        ),
    ),
    lhs=lambda run: run.along(run.last_difference),
    rhs=lambda run: run.ops.prod(run.decay) * run.along(run.first_difference),
    tight=True,
    corollary=(
        "With lam = 0 this part of D never changes. It holds for any two rows, seen or not, and any step sizes."
    ),
)
