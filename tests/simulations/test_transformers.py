"""Training, interventions, evaluation and studies, on models that are small enough for a second."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from collapse_theory.errors import InputError
from simulations.horn import HornConfig, Vocabulary, fingerprints, make_structures, rename
from simulations.transformers import execution, pages, tables, verdicts, views
from simulations.transformers.__main__ import main
from simulations.transformers.evaluation import evaluate, generate, restored, teacher_forced
from simulations.transformers.experiment import Experiment, perform, problems
from simulations.transformers.interventions import Intervention, matrices
from simulations.transformers.measures import curvature, pair_distances, rows_facts
from simulations.transformers.model import ModelConfig, Transformer
from simulations.transformers.studies import STUDIES, Study, study
from simulations.transformers.training import TrainConfig, factors, train

ROOT = Path(__file__).resolve().parents[2]
SMALL = HornConfig(variables=(6, 8), facts=(1, 2), premises=(1, 2), firing=None)
VOCABULARY = Vocabulary(seen=40, unseen=12)
MODEL = ModelConfig(vocabulary=VOCABULARY.size, width=16, heads=2, hidden=32, layers=1)
STRUCTURES = make_structures(SMALL, 200, np.random.default_rng(0))
SHORT = TrainConfig(steps=12, batch=8, warmup=3, record_every=4, step_size=1e-2)
TINY = Experiment(
    variant="tiny",
    seed=0,
    problems=SMALL,
    structures=200,
    tests=20,
    seen=40,
    unseen=12,
    model=MODEL,
    train=SHORT,
    glances=10,
)


def trained(intervention=None, model=MODEL, seed=0, **options):
    config = dataclasses.replace(SHORT, **options.pop("config", {}))
    return train(
        model, config, intervention or Intervention(), STRUCTURES, VOCABULARY, seed=seed, **options
    )


def weights(run):
    return torch.cat([p.detach().ravel() for p in run.model.parameters()])


# -------------------------------------------------------------------------------------- interventions


def test_training_moves_seen_and_unseen_rows():
    run = trained()
    moved = (run.model.embedding - run.start_rows[0]).detach().abs().amax(1)
    assert (moved > 0).all()


@pytest.mark.parametrize("tied", [True, False])
def test_frozen_rows_do_not_move_nor_decay(tied):
    run = trained(Intervention(freeze=True), dataclasses.replace(MODEL, tied=tied))
    for matrix, start in zip(matrices(run.model), run.start_rows, strict=True):
        assert torch.equal(matrix, start)
    assert run.records[-1]["decay_product"] == 1


def test_without_decay_of_unseen_rows_sgd_moves_them_by_gradients_alone():
    """With SGD the two ways differ by the decay of the unseen rows, exactly at the first step."""
    config = {
        "optimizer": "sgd",
        "steps": 1,
        "warmup": 0,
        "embedding_decay": 0.5,
        "precision": "float64",
    }
    with_decay = trained(config=config).model.embedding.detach()
    without = trained(Intervention(decay_unseen=False), config=config)
    start, rows = without.start_rows[0], without.model.embedding.detach()
    unseen = torch.as_tensor(VOCABULARY.unseen)
    shrink = SHORT.step_size * SHORT.embedding_rate * 0.5
    torch.testing.assert_close(
        rows[unseen] - with_decay[unseen], shrink * start[unseen], rtol=1e-9, atol=0
    )
    assert torch.equal(rows[: unseen[0]], with_decay[: unseen[0]])
    assert without.records[-1]["decay_product"] == 1


@pytest.mark.parametrize(("rows", "first"), [("all", 0), ("variables", 12), ("unseen", 52)])
def test_resets_draw_the_rows_and_clear_their_moments(rows, first):
    intervention = Intervention(period=12, rows=rows, scale=3.0, bias_correction=True)
    assert [t for t in range(40) if intervention.due(t)] == [12, 24, 36]
    assert int(intervention.chosen(VOCABULARY)[0]) == first
    assert len(intervention.chosen(VOCABULARY)) == VOCABULARY.size - first
    # The twelfth step is not taken any more: look at what comes just before it.
    from simulations.transformers.interventions import redraw
    from simulations.transformers.training import Trainer

    trainer = Trainer(MODEL, SHORT, intervention, STRUCTURES, VOCABULARY, 0, "cpu")
    for _ in range(12):
        trainer.advance()
    before = trainer.run.model.embedding.detach().clone()
    chosen = intervention.chosen(VOCABULARY)
    redraw(
        trainer.run.model, trainer.optimizer, intervention, chosen, torch.Generator().manual_seed(1)
    )
    after, state = trainer.run.model.embedding, trainer.optimizer.state[trainer.run.model.embedding]
    assert torch.equal(after[:first], before[:first])
    assert (after[first:] != before[first:]).all()
    assert float(after[first:].detach().std()) == pytest.approx(3.0 / 4, rel=0.15)
    assert not state["exp_avg"][first:].any()
    assert not state["exp_avg_sq"][first:].any()
    assert state["exp_avg"][:first].any() or not first
    assert float(state["step"]) == 0


def test_moments_stay_where_that_is_asked_for():
    clear, keep = (
        trained(Intervention(period=6, moments=moments)).model.embedding.detach()
        for moments in (True, False)
    )
    assert not torch.equal(clear, keep)


def test_temporary_resets_stop():
    intervention = Intervention(period=3, stop=7)
    assert [t for t in range(12) if intervention.due(t)] == [3, 6]
    forever, halted = trained(Intervention(period=3)), trained(intervention)
    assert forever.records[-1]["decay_product"] > halted.records[-1]["decay_product"]


def test_replay_repeats_the_schedule_of_embeddings():
    config = TrainConfig(steps=100, warmup=10)
    whole, own = factors(config, Intervention(period=25, replay=True))
    assert np.array_equal(own[:25], own[25:50])
    assert own[25] < own[30]
    assert whole[30] > whole[60] > whole[99] > config.floor * 0.99
    assert np.array_equal(*factors(config, Intervention(period=25)))
    _, stopped = factors(config, Intervention(period=25, stop=60, replay=True))
    assert np.array_equal(stopped[75:], whole[75:])


def test_bad_interventions():
    for options, said in [
        ({"freeze": True, "period": 3}, "choose freeze, or a period"),
        ({"replay": True}, "give a period"),
        ({"rows": "some"}, "choices are"),
        ({"scale": 0.0}, "above 0"),
        ({"period": -1}, "period: got -1"),
    ]:
        with pytest.raises(InputError, match=said):
            Intervention(**options)


# ------------------------------------------------------------------------------------------ training


def test_same_seed_same_numbers_other_seed_others():
    one, two, other = trained(), trained(), trained(seed=1)
    assert torch.equal(weights(one), weights(two))
    assert one.records == two.records
    assert not torch.equal(weights(one), weights(other))


def test_a_run_broken_off_goes_on_with_the_same_numbers(tmp_path):
    class Stop(Exception):
        pass

    def look(model):
        calls.append(1)
        if len(calls) == 3:
            raise Stop
        return {}

    calls, path = [], tmp_path / "state.pt"
    intervention = Intervention(period=5)
    options = {"checkpoint": path, "checkpoint_every": 3, "config": {"watched": 4}}
    with pytest.raises(Stop):
        trained(intervention, look=look, **options)
    assert path.exists()
    calls = [1] * 10
    resumed = trained(intervention, look=lambda model: {}, **options)
    whole = trained(intervention, look=lambda model: {}, config={"watched": 4})
    assert torch.equal(weights(resumed), weights(whole))
    assert resumed.records == whole.records
    assert all(np.array_equal(resumed.watch[k], whole.watch[k]) for k in whole.watch)
    with pytest.raises(InputError, match="other settings"):
        trained(intervention, seed=9, **options)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="damaged"):
        trained(intervention, **options)


def test_sgd_stays_within_the_proved_bounds_at_every_step():
    """Claims contraction (with norm_clipping) and lower_bound, T the trace or from the loss, in float64."""
    config = {"optimizer": "sgd", "steps": 60, "step_size": 0.3, "embedding_rate": 1.0, "clip": 0.5}
    experiment = dataclasses.replace(
        TINY,
        train=dataclasses.replace(
            SHORT, **config, embedding_decay=0.01, precision="float64", watched=12, warmup=5
        ),
    )
    made = perform(experiment)
    for row in made["records"]:
        assert row["lower_product"] <= row["pair_least"] * (1 + 1e-9)
        assert row["pair_most"] <= row["decay_product"] * (1 + 1e-9)
    watch = made["watch"]
    assert watch["trace"]["within"] == 60
    assert watch["from_loss"]["within"] > 0
    assert watch["trace"]["above"] == watch["trace"]["below"] == watch["from_loss"]["above"] == 0
    assert watch["trace"]["largest"] <= watch["from_loss"]["largest"]
    assert watch["factor_product_most"] <= watch["decay_product"] * (1 + 1e-9)


def test_the_recursion_of_the_theory_is_the_training_step():
    """Claim difference_recursion: D+ = (1 - eta lam) D - eta s M D, to rounding, on the transformer's own features."""
    from simulations.transformers.training import Trainer

    config = dataclasses.replace(
        SHORT, optimizer="sgd", precision="float64", clip=0.3, embedding_decay=0.2, step_size=0.1
    )
    trainer = Trainer(MODEL, config, Intervention(), STRUCTURES, VOCABULARY, 3, "cpu")
    u, v = (int(i) for i in VOCABULARY.unseen[:2])
    for step in range(5):
        loss, x, logs = trainer.loss(trainer.batch(step))
        rows = trainer.run.model.rows.detach().clone()
        d, x, p = rows[u] - rows[v], x.detach(), logs.detach().exp()
        grads = torch.autograd.grad(loss, list(trainer.run.model.parameters()))
        norm = torch.sqrt(sum(g.square().sum() for g in grads))
        scale = min(1.0, config.clip / (float(norm) + 1e-6))
        rate = float(trainer.rates[1][step]) * config.step_size * config.embedding_rate
        pull = ((p[:, u] - p[:, v])[:, None] * x).mean(0)
        trainer.advance()
        now = trainer.run.model.rows.detach()
        expected = (1 - rate * config.rows_decay) * d - rate * scale * pull
        torch.testing.assert_close(now[u] - now[v], expected, rtol=1e-11, atol=1e-13)


def test_bfloat16_and_rms_and_untied_and_pointer_run():
    for model in ({"pointer": True, "copy": True}, {"norm": "rms", "tied": False}):
        run = trained(model=dataclasses.replace(MODEL, **model), config={"precision": "bfloat16"})
        assert np.isfinite(run.records[-1]["loss"])


def test_measures_against_plain_sums():
    rows = torch.randn(7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    centre = torch.full((5,), 0.3, dtype=torch.float64)
    facts = rows_facts(rows, centre)
    pairs = torch.combinations(torch.arange(7))
    distances = pair_distances(rows, pairs)
    cos = torch.nn.functional.cosine_similarity
    assert facts["distance"] == pytest.approx(float(distances.square().mean().sqrt()), rel=1e-12)
    assert facts["farthest"] == pytest.approx(float(distances.max()), rel=1e-7)
    u, v = rows[pairs[:, 0]], rows[pairs[:, 1]]
    assert facts["cosine"] == pytest.approx(float(cos(u, v).mean()), rel=1e-12)
    assert facts["centred_cosine"] == pytest.approx(float(cos(u - centre, v - centre).mean()))
    x = torch.randn(11, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    p = (x @ rows.T).softmax(1)
    a, b = p[:, 0], p[:, 1]
    means = (a - b) / (a.log() - b.log())
    trace = (means * x.square().sum(1)).mean()
    found = curvature(rows, x, pairs, loss=1.0)
    assert float(found["trace"][0]) == pytest.approx(float(trace), rel=1e-10)
    assert found["from_loss"] == pytest.approx(
        float(x.square().sum(1).max()) * (1 - np.exp(-1)) / 2
    )


# ---------------------------------------------------------------------------------------- evaluation


@given(st.integers(0, 2**16), st.sampled_from(["none", "query", "all"]))
@settings(max_examples=15)
def test_greedy_generation_writes_what_repeated_argmax_writes(seed, unseen):
    """Cached decoding in groups is the plain loop over whole sequences; and both agree with teacher forcing."""
    model = Transformer(
        dataclasses.replace(MODEL, copy=True), generator=torch.Generator().manual_seed(seed)
    )
    rng = np.random.default_rng(seed)
    batch = rename(STRUCTURES.take(rng.integers(200, size=6)), rng, VOCABULARY, unseen=unseen)
    written = generate(model, batch, VOCABULARY)
    for i, length in enumerate(batch.prompt_length):
        tokens = batch.tokens[i, :length].tolist()
        while len(tokens) < batch.tokens.shape[1] and tokens[-1] != VOCABULARY.specials["EOS"]:
            with torch.no_grad():
                x, _ = model(torch.tensor([tokens]))
                tokens.append(int((x[0, -1] @ model.rows.T).argmax()))
        assert written[i, : len(tokens)].tolist() == tokens
        assert not written[i, len(tokens) :].any()
    exact = ((written == batch.tokens) | ~batch.answer_mask).all(1)
    assert np.array_equal(exact, teacher_forced(model, batch))


def test_restricted_output_has_tokens_of_the_problem_alone():
    model = Transformer(MODEL, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():  # it would like to write one seen symbol always
        model.norm.bias.copy_(20 * model.embedding[VOCABULARY.seen[5]])
    batch = rename(
        STRUCTURES.take(np.arange(30)), np.random.default_rng(1), VOCABULARY, unseen="all"
    )
    written = generate(model, batch, VOCABULARY, restricted=True)
    free = generate(model, batch, VOCABULARY)
    for i, length in enumerate(batch.prompt_length):
        allowed = {*VOCABULARY.specials.values(), *batch.tokens[i, :length].tolist()}
        assert set(written[i].tolist()) <= allowed
    assert not np.array_equal(written, free)


def test_restored_rows_are_those_of_the_start_inside_the_block_alone():
    run = trained()
    before = run.model.embedding.detach().clone()
    ids = torch.as_tensor(VOCABULARY.unseen)
    with restored(run.model, run.start_rows, ids):
        assert torch.equal(run.model.embedding[ids], run.start_rows[0][ids])
        assert torch.equal(run.model.embedding[:12], before[:12])
    assert torch.equal(run.model.embedding, before)


def test_counts_add_up():
    model = Transformer(MODEL, generator=torch.Generator().manual_seed(1))
    row = evaluate(model, STRUCTURES.take(np.arange(50)), VOCABULARY, seed=0, unseen="query")
    mistakes = sum(
        v for k, v in row.items() if k not in ("problems", "exact", "verdict", "teacher")
    )
    assert row["exact"] + mistakes == row["problems"] == 50
    assert row["exact"] == row["teacher"]


def test_tests_share_no_shape_with_training():
    train_on, tests = problems(dataclasses.replace(TINY, structures=500, tests=60))
    assert (len(train_on), len(tests)) == (500, 60)
    assert not np.isin(fingerprints(tests), fingerprints(train_on)).any()
    assert tests.verdict.sum() == 30
    few = HornConfig(
        variables=(3, 3), rules=(2, 2), premises=(1, 1), facts=(1, 1), depth=(1, 2), firing=None
    )
    with pytest.raises(InputError, match=r"larger problems|widen"):
        problems(dataclasses.replace(TINY, problems=few))


# ------------------------------------------------------------------------------------------- studies


def tiny_study(count=3):
    return Study(
        "tiny", "For tests.", tuple(dataclasses.replace(TINY, seed=s) for s in range(count))
    )


def test_a_study_is_the_same_on_two_workers_and_when_taken_up_again(tmp_path):
    chosen = tiny_study()
    alone = execution.run_study(chosen, tmp_path / "a")
    assert execution.run_study(chosen, tmp_path / "b", limit=1).keys() == {"tiny.0"}
    execution.run_study(chosen, tmp_path / "b", workers=2)
    texts = [
        [(tmp_path / folder / "runs" / f"tiny.{s}.json").read_bytes() for s in range(3)]
        for folder in "ab"
    ]
    assert texts[0] == texts[1]
    assert execution.finished(chosen, tmp_path / "a") == alone
    assert not (tmp_path / "a" / "running").exists()  # states are for runs that are long
    for folder in "ab":
        views.publish(chosen, execution.finished(chosen, tmp_path / folder), tmp_path / folder)
    for name in (
        "results.csv",
        "records.csv",
        "page.md",
        "accuracy.svg",
        "collapse.svg",
        "remaining.svg",
    ):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_folder_of_other_settings_is_refused(tmp_path):
    execution.run_study(tiny_study(1), tmp_path)
    other = Study("tiny", "", (dataclasses.replace(TINY, structures=201),))
    with pytest.raises(InputError, match="other settings"):
        execution.run_study(other, tmp_path)
    (tmp_path / "study.json").unlink()
    with pytest.raises(InputError, match="delete it to make it again"):
        execution.run_study(other, tmp_path)


KILLED = """
import sys
from tests.simulations.test_transformers import TINY, dataclasses, execution, Study
long = dataclasses.replace(TINY, train=dataclasses.replace(TINY.train, steps={steps}))
execution.run_study(Study("tiny", "", (long,)), sys.argv[1])
"""


@pytest.mark.slow
def test_kill_in_the_middle_then_the_same_numbers(tmp_path):
    """SIGKILL once a state is on the disk; the second start goes on from it and ends as an undisturbed run."""
    script = KILLED.format(steps=3000)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script, str(tmp_path / "killed")]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    state = tmp_path / "killed" / "running" / "tiny.0.pt"
    while not state.exists():
        assert process.poll() is None, "ended before its first state was written"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "runs").exists()
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    command[-1] = str(tmp_path / "whole")
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    killed, whole = (
        (tmp_path / name / "runs" / "tiny.0.json").read_bytes() for name in ("killed", "whole")
    )
    assert killed == whole


@pytest.mark.parametrize("name", STUDIES)
def test_studies_are_well_formed(name):
    chosen = study(name)
    assert chosen.reason.endswith(".")
    assert len({run.key for run in chosen.runs}) == len(chosen.runs)


def test_studies_have_shapes_enough():
    """The problems of all runs can be drawn, in their own sizes; tests are balanced, and of many shapes."""
    runs = [run for name in STUDIES if name != "gpu" for run in study(name).runs]
    for run in {(run.problems, run.structures, run.tests): run for run in runs}.values():
        train_on, tests = problems(run)
        assert len(train_on) == run.structures
        assert len(tests) == run.tests == 2 * int(tests.verdict.sum())
        assert len(np.unique(fingerprints(tests))) >= run.tests // 4


def test_the_table_has_eight_variants_and_five_seeds():
    runs = study("table").runs
    assert len({run.variant for run in runs}) == 8
    assert len(runs) == 40
    assert {run.seed for run in runs} == set(range(5))


def test_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(STUDIES, "smoke", lambda: tiny_study(2))
    assert main(["smoke", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "2 of 2 runs" in printed.err
    assert f"written: {tmp_path}/page.md" in printed.out
    assert json.loads((tmp_path / "study.json").read_text())["name"] == "tiny"
    assert main(["smoke", "--out", str(tmp_path), "--workers", "0"]) == 2
    assert "workers: got 0" in capsys.readouterr().err
    assert main(["smoke", "--device", "cuda:77"]) == 2
    assert "device cuda:77: not usable" in capsys.readouterr().err


def test_a_dry_run_says_how_large_the_models_are(capsys):
    assert main(["gpu", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    for line in lines:
        count = int(line.split(": ")[1].split()[0].replace(",", ""))
        assert 60e6 <= count <= 75e6
        assert "features [256," in line


# ----------------------------------------------------------------------------------- tables, verdicts


def test_means_have_students_interval():
    found = tables.mean([0.2, 0.4, 0.6])
    assert (found.value, found.seeds) == (pytest.approx(0.4), 3)
    assert found.low == 0.0  # .4 - 4.303 * .2/sqrt 3 is below
    assert found.high == pytest.approx(0.4 + 4.302653 * 0.2 / np.sqrt(3), rel=1e-6)
    assert tables.mean([0.5]).low == 0


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        (["holds", "holds"], "reproduced at this scale"),
        (["holds", "fails"], "partly reproduced"),
        (["holds", "open"], "partly reproduced"),
        (["fails", "open"], "not reproduced"),
        (["open", "open"], "open"),
        (["holds", "only 3 seeds"], "not decided: runs are missing"),
        (["not run"], "not decided: runs are missing"),
    ],
)
def test_verdicts(outcomes, verdict):
    assert verdicts.conclude(outcomes) == verdict


def fake(values, seeds=5):
    """Rows of the table study in which each variant's exact share under each condition is as given."""
    jitter = np.linspace(-0.004, 0.004, seeds)
    return [
        {
            "variant": variant, "seed": s, "unseen": unseen, "way": "plain", "problems": 1000,
            "exact": 1000 * float(np.clip(share + jitter[s], 0, 1)),
        }
        for (variant, unseen), share in values.items()
        for s in range(seeds)
    ]  # fmt: skip


def test_a_claim_is_reproduced_only_where_its_numbers_say_so():
    claim = next(c for c in verdicts.CLAIMS if c.name == "unseen")
    good = {
        ("standard, trainable", c): v for c, v in (("none", 0.98), ("query", 0.02), ("all", 0.0))
    }

    def outcomes(values, seeds=5):
        data = verdicts.Data(results={"table": fake(values, seeds)}, last={})
        return [check.look(data)[1] for check in claim.checks]

    assert outcomes(good) == ["holds"] * 3
    assert outcomes({**good, ("standard, trainable", "all"): 0.5})[2] == "fails"
    assert outcomes({**good, ("standard, trainable", "all"): 0.1})[2] == "open"
    assert outcomes(good, seeds=4) == ["only 4 seeds"] * 3
    assert verdicts.page(verdicts.Data(results={}, last={})).count("not run") >= 3


def test_a_change_is_that_of_the_second_over_the_first():
    values = {("bad", "all"): 0.1, ("good", "all"): 0.9}
    data = verdicts.Data(results={"table": fake(values)}, last={})
    more, less = verdicts.change("bad", "good"), verdicts.change("good", "bad")
    assert more.measure(data) == pytest.approx([0.8] * 5)
    assert more.look(data)[1] == "holds"
    assert less.look(data)[1] == "fails"
    rows = [row for row in fake(values) if (row["variant"], row["seed"]) != ("bad", 0)]
    for row in rows:  # each seed its own level, which is no part of the change
        row["exact"] += 10 * row["seed"]
    assert more.measure(verdicts.Data({"table": rows}, {})) == pytest.approx([0.8] * 4)


def test_generated_parts_of_pages(tmp_path, monkeypatch):
    """From a folder of finished runs: tables, association, verdicts that say what is missing, figures."""
    chosen = tiny_study(2)
    monkeypatch.setitem(STUDIES, "table", lambda: chosen)
    execution.run_study(chosen, tmp_path / "table")
    loaded = pages.load(tmp_path)
    assert list(loaded) == ["table"]
    made = pages.blocks(loaded)
    assert made["table"].startswith("2 of 2 runs are finished, seeds 0, 1.")
    assert "| tiny | 2 |" in made["table"]
    assert made["paper"].count("not decided: runs are missing") == len(verdicts.CLAIMS)
    written = pages.figures(loaded, tmp_path)
    assert {path.name for path in written} == {
        f"transformers_{name}.svg" for name in ("table_accuracy", "table_collapse", "remaining")
    }
    assert all(path.read_bytes().startswith(b"<?xml") for path in written)


def test_association_is_the_rank_correlation():
    rows = {"variant": "copy, x", "unseen": "all", "way": "plain", "problems": 10}
    runs = [dataclasses.replace(TINY, variant="copy, x", seed=s) for s in range(4)]
    done = {
        run.key: {
            "records": [{"unseen_distance": 1.0}, {"unseen_distance": 1.0, "r": 2.0, "unseen_farthest": s + 1.0}],
            "results": [{**{k: v for k, v in rows.items() if k != "variant"}, "exact": 2 * s}],
        }
        for s, run in enumerate(runs)
    }  # fmt: skip
    said = pages.association({"table": (Study("table", "For tests.", tuple(runs)), done)})
    assert "all runs (4): rank correlation 1.00" in said
    assert "standard" not in said


def test_the_ceiling():
    """Claim indistinguishable: at reach 0 all of k share evenly; far apart there is none."""
    assert views.ceiling(np.array([0.0]), 64)[0] == pytest.approx(1 / 64)
    assert views.ceiling(np.array([50.0]), 64)[0] == pytest.approx(1)
