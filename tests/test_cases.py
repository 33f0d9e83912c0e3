"""Situations that people met in public projects, reduced to small inputs with the right answer.

Each test names its case and the public issue. The answer comes from the library's public names, and beside it stands what
torch does on real tensors.
"""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from collapse_theory import TrainingSetup, forecast, losses, optimizers, softmax
from collapse_theory.arithmetic import FLOAT
from collapse_theory.forecast import drift
from collapse_theory.trajectories import LinearConfig, train_linear_heads


def setup(**values):
    return TrainingSetup(**{"optimizer": "adamw", "learning_rate": 1e-3, "steps": 1} | values)


def status_of(result, topic):
    """The statuses of all findings on a topic."""
    return {finding.status for finding in result.findings if finding.topic == topic}


def parameter(values, dtype=torch.float32, gradient=0.0):
    """A parameter with a constant gradient; None for a missing one."""
    weight = torch.nn.Parameter(torch.tensor(values, dtype=dtype))
    weight.grad = None if gradient is None else torch.full_like(weight, gradient)
    return weight


def stepped(optimizer, steps):
    for _ in range(steps):
        optimizer.step()


def test_rows_of_unused_tokens_change_once_in_hundreds_of_steps():
    """Case megatron-2994 (NVIDIA/Megatron-LM#2994): a bf16 copy of float32 weights under eta lam = 1e-5 changes once
    per (2^-8 .. 2^-7)/1e-5 = 390 .. 781 steps; 30 changes in 20,000 steps, 612 to 739 apart. Cause is decay."""
    eta_lam = {"learning_rate": 1e-3, "weight_decay": 1e-2}
    result = forecast(
        setup(**eta_lam, steps=20_000, dtype="bfloat16", master_weights=True, gradient="zero")
    )
    fewest, most = result.floor.visible
    assert (int(fewest), int(most)) == (390, 781)
    assert "no collapse" in result.verdict

    weight = parameter([0.02])
    optimizer = torch.optim.AdamW([weight], lr=1e-3, weight_decay=1e-2)
    seen, changes = weight.detach().bfloat16(), []
    for step in range(20_000):
        optimizer.step()
        copy = weight.detach().bfloat16()
        if copy != seen:
            seen, changes = copy, [*changes, step]
    gaps = np.diff(changes)
    assert len(changes) == 30
    assert (gaps.min(), gaps.max()) == (612, 739)
    assert fewest <= gaps.min() <= gaps.max() <= most


def test_rows_with_a_zeroed_gradient_shrink():
    """Case diffusers-1009 (huggingface/diffusers#1009, #507, #855, #1176): AdamW decays rows whose gradient is
    zeroed, by (1 - 2e-5)^3000 = 0.94176."""
    result = forecast(setup(learning_rate=2e-3, weight_decay=0.01, steps=3000, gradient="zero"))
    factor = result.numbers["upper"]
    assert factor == result.numbers["lower"] == pytest.approx(0.94176, abs=5e-6)
    assert "decay alone" in result.verdict

    weight = parameter([0.0368, 0.0221, 0.0262])
    stepped(torch.optim.AdamW([weight], lr=2e-3, weight_decay=0.01), 3000)
    measured = weight.detach().numpy()
    assert measured == pytest.approx(np.array([0.0368, 0.0221, 0.0262]) * factor, rel=2e-4)
    assert measured == pytest.approx([0.0347, 0.0208, 0.0247], abs=5e-5)


@pytest.mark.parametrize(
    ("betas", "whole", "later"), [((0.9, 0.999), 31.77, 28.60), ((0.9, 0.95), 5.84, 5.39)]
)
@pytest.mark.parametrize("size", [1e-3, 10.0])
def test_a_row_that_was_a_target_once_keeps_moving(betas, whole, later, size):
    """Case pytorch-18404 (pytorch/pytorch#18404): one gradient late in training moves a row by 31.77 learning rates
    in all, 28.60 of them in later steps, whatever its size."""
    assert drift(*betas) == pytest.approx(whole, abs=5e-3)
    result = forecast(setup(optimizer="adam", betas=betas, gradient="zero"))
    assert result.numbers["late_drift"] == drift(*betas)
    assert status_of(result, "late gradient") == {"OBSERVED"}

    eta = 1e-3
    weight = parameter([0.0], torch.float64)
    optimizer = torch.optim.Adam([weight], lr=eta, betas=betas, eps=1e-30)
    optimizer.step()
    optimizer.state[weight]["step"].fill_(20_000)  # late: the bias corrections have gone
    weight.grad.fill_(size)
    optimizer.step()
    at_once = -weight.item() / eta
    weight.grad.fill_(0)
    stepped(optimizer, 600)
    assert -weight.item() / eta == pytest.approx(whole, abs=5e-3)
    assert -weight.item() / eta - at_once == pytest.approx(later, abs=7e-3)


@pytest.mark.parametrize(
    ("eta_lambda", "stalls", "per_step"),
    [(1e-8, True, 0), (2e-8, True, 0), (3.1e-8, False, 2**-24)],
)
def test_decay_below_float_precision_does_nothing(eta_lambda, stalls, per_step):
    """Case pytorch-64475 (pytorch/pytorch#64475): eta lam of 1e-8 and 2e-8 leave a float32 weight as it is; 3.1e-8
    decays it by 2^-24 a step, since 1 - eta lam is rounded to float32 first."""
    result = forecast(
        setup(learning_rate=1.0, weight_decay=eta_lambda, steps=10_000, gradient="zero")
    )
    assert (result.floor.kept == 1) is stalls
    assert ("moves no weight" in result.verdict) is stalls
    assert status_of(result, "precision") == {"OBSERVED"}

    weight = parameter([1.0, 1.5, 0.02])
    before = weight.detach().clone()
    optimizer = torch.optim.AdamW([weight], lr=1.0, weight_decay=eta_lambda)
    optimizer.step()
    if stalls:
        stepped(optimizer, 999)
        assert torch.equal(weight.detach(), before)
    else:
        assert 1 - float(weight.detach()[0]) == per_step
        stepped(optimizer, 9)
        assert (weight.detach() < before).all()


def test_decay_in_pure_bfloat16():
    """Case onetrainer-996 (Nerogar/OneTrainer#996, pytorch/ao#1124): below 2^-9 every bf16 weight stalls; at 0.003
    the weight 1.5 stops at 1.2969."""
    pure = {"learning_rate": 1.0, "dtype": "bfloat16", "steps": 2000, "gradient": "zero"}
    none, some = (forecast(setup(weight_decay=lam, **pure)) for lam in (1e-3, 3e-3))
    assert none.floor.kept == 1
    assert "moves no weight" in none.verdict
    assert some.floor.kept == 0.5
    stop = some.floor.partly / 3e-3
    assert any("1.302" in finding.text for finding in some.findings)

    for eta_lambda, last in ((1e-3, 1.5), (3e-3, 1.296875)):
        weight = parameter([1.5], torch.bfloat16)
        optimizer = torch.optim.AdamW([weight], lr=1.0, weight_decay=eta_lambda)
        stepped(optimizer, 2000)
        assert float(weight.detach()) == last
    assert abs(stop - 1.296875) <= 2**-7  # within one unit of bf16 below 2


def test_a_padding_row_decays():
    """Case pytorch-1812 (pytorch/pytorch#1812, #3711, #6411; facebookresearch/fairseq#4633): the padding row's
    gradient is 0, and AdamW decays it to 0.99005 in 10 steps; with the head tied to it the gradient is not 0."""
    result = forecast(setup(learning_rate=1e-2, weight_decay=0.1, steps=10, gradient="zero"))
    tied = forecast(setup(learning_rate=1e-2, weight_decay=0.1, steps=10, tied=True))
    assert result.numbers["upper"] == pytest.approx(0.99005, abs=1e-5)
    assert status_of(tied, "tied") == {"NOT KNOWN"}
    assert tied.upper is None

    torch.manual_seed(0)
    table = torch.nn.Embedding(5, 3, padding_idx=0)
    with torch.no_grad():
        table.weight[0] = 1.0
    optimizer = torch.optim.AdamW(table.parameters(), lr=1e-2, weight_decay=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        table(torch.tensor([0, 1, 2])).square().sum().backward()
        assert (table.weight.grad[0] == 0).all()
        optimizer.step()
    assert table.weight.detach()[0].numpy() == pytest.approx(result.numbers["upper"], rel=1e-5)
    table.weight.grad = None
    F.cross_entropy(table(torch.tensor([1, 2])) @ table.weight.T, torch.tensor([2, 3])).backward()
    assert (table.weight.grad[0] != 0).all()


@pytest.mark.parametrize(
    ("make", "asked", "refused"),
    [
        (lambda p: torch.optim.SGD(p, lr=0.1), {"optimizer": "sgd"}, False),
        (lambda p: torch.optim.SparseAdam(p, lr=0.1), None, False),
        (lambda p: torch.optim.Adam(p, lr=0.1), {"optimizer": "adam"}, True),
        (lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.1), {"weight_decay": 0.1}, True),
        (
            lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.1),
            {"optimizer": "sgd", "weight_decay": 0.1},
            True,
        ),
        (lambda p: torch.optim.Adagrad(p, lr=0.1, weight_decay=0.1), None, True),
    ],
    ids=["sgd", "sparse_adam", "adam", "adamw", "sgd_decay", "adagrad_decay"],
)
def test_sparse_gradients(make, asked, refused):
    """Case pytorch-25560 (pytorch/pytorch#25560, #1305, #30402): SparseAdam and SGD leave rows that a sparse gradient
    does not touch as they are; AdamW, SGD and Adagrad with weight decay raise. No decay is to be forecast."""
    table = torch.nn.Embedding(5, 3, sparse=True)
    before = table.weight.detach().clone()
    optimizer = make(list(table.parameters()))
    table(torch.tensor([1, 2])).sum().backward()
    if refused:
        with pytest.raises(RuntimeError, match="sparse"):
            optimizer.step()
    else:
        optimizer.step()
        assert torch.equal(table.weight.detach()[[0, 3, 4]], before[[0, 3, 4]])
        assert (table.weight.detach()[1] != before[1]).any()
    if asked is not None:
        verdict = forecast(setup(gradient="sparse", steps=100, **asked)).verdict
        assert ("refuses" in verdict) is refused
        assert "shrink" not in verdict


def test_a_missing_gradient_is_not_a_zero_gradient():
    """Case muon-54 (KellerJordan/Muon#54, facebookresearch/moco#14): None leaves the weight as it is, 0 decays it."""
    run = {"learning_rate": 1e-2, "weight_decay": 0.1, "steps": 100}
    for gradient, value in (("missing", None), ("zero", 0.0)):
        result = forecast(setup(gradient=gradient, **run))
        weight = parameter([1.0], torch.float64, gradient=value)
        stepped(torch.optim.AdamW([weight], lr=1e-2, weight_decay=0.1), 100)
        assert float(weight.detach()) == pytest.approx(result.numbers["upper"], rel=1e-12)
        assert (float(weight.detach()) == 1) is (gradient == "missing")


@pytest.mark.parametrize(("weight_decay", "last"), [(0.01, 0.0537), (1e-6, 0.0580)])
def test_adams_weight_decay_is_no_decay(weight_decay, last):
    """Case adam-l2 (a common mix-up of Adam's weight decay with AdamW's): 0.1 goes to 0.0537 or 0.0580 in 50 steps,
    about one learning rate a step, nearly whatever lambda."""
    result = forecast(setup(optimizer="adam", weight_decay=weight_decay, steps=50, gradient="zero"))
    assert "one learning rate per step" in result.verdict
    assert result.upper is None

    weight = parameter([0.1], torch.float64)
    stepped(torch.optim.Adam([weight], lr=1e-3, weight_decay=weight_decay), 50)
    assert float(weight.detach()) == pytest.approx(last, abs=5e-5)
    own, first, second = np.array([0.1]), np.zeros(1), np.zeros(1)
    for count in range(1, 51):
        own, first, second = optimizers.adam(
            FLOAT, own, np.zeros(1), first, second, step_size=1e-3, weight_decay=weight_decay,
            beta1=0.9, beta2=0.999, epsilon=1e-8, count=count, decoupled=False,
        )  # fmt: skip
    assert own[0] == pytest.approx(float(weight.detach()), rel=1e-9)


def test_decay_counts_optimiser_steps():
    """Case pytorch-152279 (pytorch/pytorch#152279): a step that the gradient scaler skips does not decay, and 8
    micro-batches by 10 steps give 0.990045, not 0.923."""
    run = {"learning_rate": 1e-2, "weight_decay": 0.1, "gradient": "zero"}
    ten = forecast(setup(steps=10, **run)).numbers["upper"]
    assert ten == pytest.approx(0.990045, abs=5e-7)
    assert forecast(setup(steps=80, **run)).numbers["upper"] == pytest.approx(0.923, abs=5e-4)
    assert "micro-batches" in str(forecast(setup(steps=10, **run)))

    weight = parameter([1.0], torch.float64)
    optimizer = torch.optim.AdamW([weight], lr=1e-2, weight_decay=0.1)
    for batch in range(80):
        (0 * weight).sum().backward()  # gradients add up
        if batch % 8 == 7:
            optimizer.step()
            optimizer.zero_grad()
    assert float(weight.detach()) == pytest.approx(ten, rel=1e-12)

    # The scaler on the CPU: an infinite gradient makes it skip the step.
    weight = parameter([1.0])
    optimizer = torch.optim.AdamW([weight], lr=1e-2, weight_decay=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for step in range(10):
        scaler.scale((0 * weight).sum()).backward()
        weight.grad.fill_(math.inf if step in (2, 5, 6) else 0.0)
        scaler.step(optimizer)
        scaler.update()
    seven = forecast(setup(steps=7, **run)).numbers["upper"]
    assert float(weight.detach()) == pytest.approx(seven, rel=1e-6)


def test_clipping_does_not_clip_decay():
    """Case clipping (a common question): gradient (100, 0) clipped to norm 1, weights (1, 1), SGD 0.1 with decay 0.1:
    the step leads to (0.89, 0.99)."""
    clipped, share = losses.clip_norm(FLOAT, np.array([[100.0, 0.0]]), np.array(1.0))
    assert share == 0.01
    own = optimizers.gradient_descent(np.ones((1, 2)), clipped, step_size=0.1, weight_decay=0.1)
    assert own[0] == pytest.approx([0.89, 0.99])

    weight = parameter([1.0, 1.0], torch.float64)
    weight.grad = torch.tensor([100.0, 0.0], dtype=torch.float64)
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    torch.optim.SGD([weight], lr=0.1, weight_decay=0.1).step()
    assert weight.detach().numpy() == pytest.approx(
        own[0], rel=1e-6
    )  # torch divides by norm + 1e-6


def test_rows_of_absent_classes_change():
    """Case keras-2312 (keras-team/keras#2312): a softmax classifier on digits with some classes left out; their rows
    get the gradient E[p_k x], never 0, and D follows its recursion exactly."""
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    kept = digits.target >= 3
    features, labels = digits.data[kept][:200] / 16, digits.target[kept][:200]
    weights = np.random.default_rng(0).standard_normal((10, 64)) * 0.1
    shares = np.full(len(labels), 1 / len(labels))
    gradient = softmax.gradient(FLOAT, weights, features, labels, shares)
    p = softmax.probabilities(FLOAT, weights, features)
    for absent in range(3):
        assert gradient[absent] == pytest.approx((p[:, absent, None] * features).mean(0), rel=1e-10)
        assert np.abs(gradient[absent]).max() > 0

    torch_weights = torch.nn.Parameter(torch.tensor(weights))
    F.cross_entropy(torch.tensor(features) @ torch_weights.T, torch.tensor(labels)).backward()
    assert torch_weights.grad.numpy() == pytest.approx(gradient, abs=1e-12)
    config = LinearConfig(steps=50, step_size=0.1, weight_decay=0.01)
    runs = train_linear_heads(weights, features, labels, config=config)
    assert runs.residual.max() <= 1e-13 * runs.distance.max()
    radius = float(np.sqrt((features**2).sum(1)).max())
    result = forecast(
        setup(optimizer="sgd", learning_rate=0.1, weight_decay=0.01, steps=50, radius=radius)
    )
    assert (runs.distance[0] <= result.upper[:, None] * runs.distance[0, 0] * (1 + 1e-12)).all()


# ---------------------------------------------------- a head of 64 labels, 16 of them unseen, d = 16


UNSEEN = 16


def trained(make, *, masked=False, steps=2000):
    """A head trained on 64 fixed examples from seed 0: the first and last rows of the unseen labels, every distance
    of their pairs [steps + 1, pairs]."""
    source = torch.Generator().manual_seed(0)
    weight = torch.nn.Parameter(0.25 * torch.randn(64, 16, generator=source, dtype=torch.float64))
    features = torch.randn(64, 16, generator=source, dtype=torch.float64)
    labels = torch.randint(UNSEEN, 64, (64,), generator=source)
    optimizer = make([weight])
    first = weight.detach()[:UNSEEN].clone()
    rows = [first]
    for _ in range(steps):
        logits = features @ weight.T
        if masked:
            logits = logits.index_fill(1, torch.arange(UNSEEN), -math.inf)
        optimizer.zero_grad()
        F.cross_entropy(logits, labels).backward()
        optimizer.step()
        rows.append(weight.detach()[:UNSEEN].clone())
    distances = torch.stack([torch.pdist(row) for row in rows]).numpy()
    return first, rows[-1], distances


def cosines(rows):
    return F.cosine_similarity(rows[:, None], rows[None], dim=-1).numpy()


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, weight_decay=0.01)


def test_masked_logits_stop_collapse():
    """Case masked-logits (JosephKJ/OWOD#4, mlcommons/training_policies#472): with the logits of unseen labels masked,
    2000 steps of SGD 0.1 with decay 0.01 leave exactly the decay product 0.1352 of every distance, and the cosines;
    unmasked, less is left."""
    run = {"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 0.01, "steps": 2000}
    result = forecast(setup(gradient="zero", **run))
    assert result.numbers["upper"] == result.numbers["lower"] == pytest.approx(0.1352, abs=5e-5)
    assert "no collapse" in result.verdict

    first, last, distances = trained(sgd, masked=True)
    assert distances[-1] / distances[0] == pytest.approx(result.numbers["upper"], rel=1e-10)
    assert np.abs(cosines(last) - cosines(first)).max() < 1e-12

    first, last, distances = trained(sgd)
    assert (distances[-1] / distances[0] < 0.75 * result.numbers["upper"]).all()
    assert np.median(cosines(last)) > np.median(cosines(first)) + 0.1


def test_the_decay_product_does_not_bound_adamw():
    """Case adamw-bound (the set-up of masked-logits with AdamW 0.01, decay 0.1): single steps lengthen a distance and
    a run ends above the decay product 0.1352, with high cosines. The descent bound is not to be claimed."""
    run = {"learning_rate": 0.01, "weight_decay": 0.1, "steps": 2000}
    result = forecast(setup(**run))
    assert result.upper is None
    assert status_of(result, "upper bound") == set()
    assert ("adamw_contraction",) in {finding.claims for finding in result.findings}
    assert "Nothing proves" in result.verdict

    _, last, distances = trained(lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1))
    assert (distances[1:] / distances[:-1]).max() > 1.001
    assert (distances[-1] / distances[0]).max() > 2 * result.numbers["decay_product"]
    assert np.median(cosines(last)) > 0.9


# --------------------------------------------------------------------- rows added to a trained head


@pytest.mark.parametrize(("beta", "expected"), [(10, 0.305), (12, 0.764), (30, 1.0)])
def test_a_zero_row_against_low_logits(beta, expected):
    """Case resize-loss (huggingface/transformers#29219, #8472): a new row with logit 0 against V = 50257 logits at
    -beta gets p = 1/(1 + V exp(-beta)): 0.305, 0.764, about 1; the loss of the other tokens rises by -ln(1 - p)."""
    weights = np.full((50_258, 1), -float(beta))
    weights[0] = 0
    p = softmax.probabilities(FLOAT, weights, np.ones((1, 1)))
    formula = 1 / (1 + 50_257 * math.exp(-beta))
    assert p[0, 0] == pytest.approx(formula, rel=1e-10)
    assert p[0, 0] == pytest.approx(expected, abs=5e-4)
    old, new = (
        F.cross_entropy(torch.tensor(w.T), torch.tensor([w.shape[0] - 1])).item()
        for w in (weights[1:], weights)
    )
    assert new - old == pytest.approx(-math.log1p(-formula), rel=1e-6)


@pytest.mark.parametrize(("count", "z"), [(1, 0.0), (48, -3.0), (7, 5.0)])
def test_padding_rows_change_the_loss_alone(count, z):
    """Case trl-5608 (huggingface/trl#5608): k extra rows at logit z raise the loss by log(1 + k exp(z - lse)), and
    nothing else."""
    logits = torch.randn(4, 30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.tensor([0, 3, 9, 29])
    padded = torch.cat([logits, torch.full((4, count), z, dtype=torch.float64)], 1)
    rise = F.cross_entropy(padded, labels, reduction="none")
    rise = rise - F.cross_entropy(logits, labels, reduction="none")
    expected = torch.log1p(count * torch.exp(z - torch.logsumexp(logits, 1)))
    assert rise.numpy() == pytest.approx(expected.numpy(), rel=1e-9)
    ratio = torch.softmax(padded, 1)[:, :30] / torch.softmax(logits, 1)
    assert ratio.numpy() == pytest.approx(np.exp(-expected.numpy())[:, None].repeat(30, 1))


def test_equal_rows_share_their_mass():
    """Case group-mass (hiyouga/LlamaFactory#3502): identical rows have identical logits, and k of them carry the mass
    k p."""
    rng = np.random.default_rng(0)
    one, features = rng.standard_normal((20, 8)), rng.standard_normal((5, 8))
    copies = np.concatenate([np.repeat(one[:1], 9, axis=0), one[1:]])
    p = softmax.probabilities(FLOAT, copies, features)
    assert (p[:, :9] == p[:, :1]).all()
    alone = softmax.probabilities(FLOAT, one, features)[:, 0]
    assert p[:, :9].sum(1) == pytest.approx(9 * alone / (1 + 8 * alone), rel=1e-10)
    measured = torch.softmax(torch.tensor(features) @ torch.tensor(copies).T, 1).numpy()
    assert measured == pytest.approx(p, rel=1e-10)
    assert "k times the mass" in str(forecast(setup()))
