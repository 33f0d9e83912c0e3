"""Figures: the pictures themselves, what they are drawn from, and the way from a file to a file."""

import json
import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from collapse_theory import TrainingSetup, files, forecast, plots
from collapse_theory.claims import Claim, get_claim
from collapse_theory.errors import InputError
from collapse_theory.examination import Witness
from collapse_theory.instances import DOMAINS, Step, Vectors
from collapse_theory.plots._style import LAYOUTS, STYLE
from tests.ledgers import (
    HISTOGRAM,
    WITNESSES,
    lemma_step,
    lemma_witness,
    plane_witness,
    run_witness,
    small_ledger,
    small_runs,
)

# A picture differs when the root mean square of its pixels' differences passes the tolerance: lines a tenth thinner
# give 1.3, a letter more in a label 3, no hatching 11. After a wanted change, look at the new pictures:
#   python -m pytest tests/test_plots.py -k picture -o mpl-baseline-path= --mpl-generate-path=tests/baseline
picture = pytest.mark.mpl_image_compare(
    style=["default", STYLE], tolerance=1.0, savefig_kwargs={"dpi": 100}
)

DESCENT = TrainingSetup(
    optimizer="sgd", learning_rate=0.1, weight_decay=1e-3, steps=20_000, radius=0.1
)


def drawn(kind, draw, *data, width=plots.COLUMN, **options) -> Figure:
    figure, axes = plots.canvas(kind, width=width)
    draw(*axes, *data, **options)
    return figure


@pytest.fixture(scope="module")
def runs():
    return small_runs()


# ----------------------------------------------------------------------------------------- pictures


@picture
def test_picture_shrinkage(runs):
    return drawn("shrinkage", plots.shrinkage, runs, head=1)


@picture
def test_picture_shrinkage_of_many_pairs():
    many = small_runs(heads=1, labels=7, seen=2, steps=90, record_every=3)
    return drawn("shrinkage", plots.shrinkage, many, width=plots.PAGE)


@picture
def test_picture_curvatures(runs):
    return drawn("curvatures", plots.curvatures, runs)


@picture
def test_picture_forecast_of_descent():
    return drawn("forecast", plots.forecast, forecast(DESCENT))


@picture
def test_picture_forecast_of_adamw():
    """The ball, the decay product that is no bound, and the floor of bfloat16."""
    changes = {"optimizer": "adamw", "dtype": "bfloat16", "initial_scale": 0.02}
    return drawn("forecast", plots.forecast, forecast(DESCENT, **changes))


@picture
def test_picture_one_step():
    return drawn("one_step", plots.one_step, lemma_step())


@picture
def test_picture_counterexample_on_a_line():
    return drawn("counterexample", plots.counterexample, lemma_witness())


@picture
def test_picture_counterexample_in_the_plane():
    return drawn("counterexample", plots.counterexample, plane_witness())


@picture
def test_picture_counterexample_of_a_run():
    return drawn("counterexample", plots.counterexample, run_witness())


@pytest.mark.parametrize("name", WITNESSES)
@picture
def test_picture_counterexample_about(name):
    return drawn("counterexample", plots.counterexample, WITNESSES[name]())


@picture
def test_picture_counterexample_of_vectors():
    pair = Vectors.create(first=[2.0, 0.5, 0.0], second=[0.5, 1.0, 1.0])
    return drawn("counterexample", plots.counterexample, Witness(get_claim("cosine"), pair))


@picture
def test_picture_histogram():
    entry = {
        "id": "c",
        "evidence": {"searched": {"histogram": HISTOGRAM, "worst_ratio": "inf"}},
    }
    return drawn("histogram", plots.ratio_histogram, entry)


# ------------------------------------------------------------------------ what the pictures are of


def line(ax, label):
    """Data of the only line whose label starts so."""
    (found,) = [x for x in ax.get_lines() if str(x.get_label()).startswith(label)]
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def test_shrinkage_shows_the_decay_product_and_the_measured_distances(runs):
    upper, ratio = drawn("shrinkage", plots.shrinkage, runs, head=1).axes
    steps, product = line(upper, "upper bound")
    np.testing.assert_allclose(product, (1 - 0.2 * 0.1) ** steps, rtol=1e-12)
    steps, measured = line(upper, "labels 0, 1")
    np.testing.assert_allclose(measured, runs.distance[1, steps, 0] / runs.distance[1, 0, 0])
    assert steps[0] == 0
    assert steps[-1] == 60
    _, lower = line(upper, "lower bound")
    assert (lower <= product[: len(lower)] * (1 + 1e-12)).all()
    assert 1.0 in {y for x in ratio.get_lines() for y in np.ravel(x.get_ydata())}


def test_a_single_step_above_the_bound_is_drawn_in_the_ratio_panel(runs):
    """Thinning must not hide it: the ratio panel shows the largest of each stretch of steps."""
    distance = runs.distance.copy()
    distance[0, 31, 1] = 10 * distance[0, 0, 1]
    _, ratio = drawn("shrinkage", plots.shrinkage, replace(runs, distance=distance)).axes
    highest = max(np.max(x.get_ydata()) for x in ratio.get_lines())
    np.testing.assert_allclose(highest, 10 / runs.decay_product[0, 31])


def test_shrinkage_has_no_lower_bound_when_steps_between_records_are_unknown():
    upper, _ = drawn("shrinkage", plots.shrinkage, small_runs(steps=40, record_every=4)).axes
    assert not [x for x in upper.get_lines() if str(x.get_label()).startswith("lower")]


def test_curvatures_are_the_runs_own(runs):
    (ax,) = drawn("curvatures", plots.curvatures, runs, head=1).axes
    _, norm = line(ax, "norm")
    np.testing.assert_allclose(norm, runs.radius[1] ** 2 / 2)
    steps, measured = line(ax, "measured")
    np.testing.assert_allclose(measured, runs.trace[1, steps].max(-1))
    _, allowed = line(ax, "most allowed")
    np.testing.assert_allclose(allowed, 2 / 0.2 - 2 * 0.1)


def test_one_step_measures_the_step_anew_at_every_eta():
    step = lemma_step()
    upper, ratio = drawn("one_step", plots.one_step, step).axes
    etas, measured = line(upper, "measured")
    for eta, factor in list(zip(etas, measured, strict=True))[::8]:
        values = {k: v[0] for k, v in step.values.items()} | {"step_size": eta}
        again = Step.create(**values)
        length = np.linalg.norm(again.next_difference[0]) / np.linalg.norm(again.difference[0])
        np.testing.assert_allclose(factor, length, rtol=1e-12, atol=1e-15)
    _, over_general = line(ratio, "over the general bound")
    assert (over_general <= 1 + 1e-12).all()
    assert over_general.max() > 0.999


def test_one_step_shades_where_the_printed_bound_fails():
    upper, _ = drawn("one_step", plots.one_step, lemma_step()).axes
    (shade,) = [p for p in upper.patches if p.get_label() == "printed fails"]
    left, right = shade.get_x(), shade.get_x() + shade.get_width()
    assert left < 1 < right  # the witness's own eta
    assert left > 2 / (2 * 1.25 + 2)  # but not within contraction's condition


def test_a_step_with_pbar_one_half_is_within_every_bound_and_nothing_is_shaded():
    step = Step.create(
        weights=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
        features=[[1.0, 1.0]],
        labels=[2],
        step_size=1.0,
        weight_decay=0.25,
    )
    upper, ratio = drawn("one_step", plots.one_step, step).axes
    assert not [p for p in upper.patches if p.get_label() == "printed fails"]
    _, over_general = line(ratio, "over the general bound")
    np.testing.assert_allclose(over_general[0], 1)


@pytest.mark.parametrize("seed", range(3))
def test_arrows_in_the_plane_of_d_and_d_plus_have_their_true_length(seed):
    rng = np.random.default_rng(seed)
    step = Step.create(
        weights=rng.normal(size=(4, 6)),
        features=rng.normal(size=(3, 6)),
        labels=[2, 3, 2],
        step_size=3.0,
        weight_decay=0.1,
    )
    ax, bars = drawn(
        "counterexample", plots.counterexample, Witness(get_claim("contraction"), step)
    ).axes
    arrows = [a for a in ax.texts if a.arrow_patch is not None]
    lengths = [np.linalg.norm(np.subtract(a.xy, a.xyann)) for a in arrows]
    true = [np.linalg.norm(step.difference[0]), np.linalg.norm(step.next_difference[0])]
    np.testing.assert_allclose(lengths, true, rtol=1e-9)
    widths = [p.get_width() for p in bars.patches]
    np.testing.assert_allclose(widths, [true[1], (1 - 0.3) * true[0]], rtol=1e-9)


def test_rows_far_out_are_drawn_relative_to_v():
    far = [[501.0, 0.0], [500.0, 0.0], [500.0, 1.0]]
    step = Step.create(
        weights=far, features=[[0.0, 1.0]], labels=[2], step_size=0.5, weight_decay=1.0
    )
    ax, _ = drawn(
        "counterexample", plots.counterexample, Witness(get_claim("contraction"), step)
    ).axes
    assert "relative" in ax.get_xlabel()
    assert ax.get_xlim()[1] < 5


@pytest.mark.parametrize("name", ["row_clipping", "undecayed_bias", "soft_capping"])
def test_rows_move_as_in_the_variant_that_the_claim_speaks_of(name):
    """The arrow after the step is as long as the claim's left side, and the bound is drawn."""
    witness = WITNESSES[name]()
    ax, bars = drawn("counterexample", plots.counterexample, witness).axes
    arrows = [a for a in ax.texts if a.arrow_patch is not None]
    after = np.linalg.norm(np.subtract(arrows[1].xy, arrows[1].xyann))
    left = float(np.ravel(witness.claim.lhs(witness.instance))[0])
    np.testing.assert_allclose(after, left, rtol=1e-9)
    np.testing.assert_allclose(bars.patches[0].get_width(), left, rtol=1e-9)
    assert ax.get_legend() is not None or [t for t in ax.texts if "bound" in t.get_text()]


@pytest.mark.parametrize("name", DOMAINS)
def test_an_instance_of_any_domain_can_be_drawn(name):
    where = DOMAINS[name]
    rng = np.random.default_rng(5)
    instance = where.build(where.draw(rng, where.shape(rng, small=True), 4)).take(2)
    claim = Claim(id="any", domain=name, lhs=lambda s: 1.0, rhs=lambda s: 0.0)
    figure = drawn("counterexample", plots.counterexample, Witness(claim, instance))
    figure.canvas.draw()


def test_many_labels_share_a_bar():
    rng = np.random.default_rng(6)
    where = DOMAINS["head"]
    instance = where.build(where.draw(rng, where.shape(rng, large=True), 2)).take(0)
    claim = Claim(id="any", domain="head", lhs=lambda h: 1.0, rhs=lambda h: 0.0)
    ax, _ = drawn("counterexample", plots.counterexample, Witness(claim, instance)).axes
    assert len(ax.patches) == 4
    np.testing.assert_allclose(sum(p.get_height() for p in ax.patches), 1)


def test_a_claim_whose_left_side_is_no_length_has_no_bound_drawn_round_v():
    def largest(vector):
        return abs(vector).max(axis=-1)

    claim = Claim(
        id="maximum_norm",
        lhs=lambda s: largest(s.next_difference),
        rhs=lambda s: s.decay * largest(s.difference),
    )
    ax, _ = drawn(
        "counterexample", plots.counterexample, Witness(claim, plane_witness().instance)
    ).axes
    assert ax.get_legend() is None


# --------------------------------------------------------------------------------------- readability


def test_series_differ_in_marker_as_well_as_in_colour(runs):
    upper, _ = drawn("shrinkage", plots.shrinkage, runs).axes
    dots = [x for x in upper.get_lines() if x.get_linestyle() == "None"]
    assert len({x.get_marker() for x in dots}) == len(dots) == 3
    assert len({to_hex(x.get_color()) for x in dots}) == 3
    assert len(set(plots.MARKERS)) == len(set(plots.COLOURS)) == len(plots.COLOURS)


@pytest.mark.parametrize("width", [plots.COLUMN, plots.PAGE])
@pytest.mark.parametrize("kind", sorted(LAYOUTS))
def test_no_text_is_smaller_than_eight_points(kind, width, runs):
    entry = small_ledger()["claims"][1]
    data = {
        "shrinkage": (plots.shrinkage, runs),
        "curvatures": (plots.curvatures, runs),
        "one_step": (plots.one_step, lemma_step()),
        "counterexample": (plots.counterexample, run_witness()),
        "histogram": (plots.ratio_histogram, entry),
        "forecast": (plots.forecast, forecast(DESCENT)),
    }
    with plots.style():
        figure = drawn(kind, *data[kind], width=width)
        assert figure.get_size_inches()[0] == width
        texts = [t for t in figure.findobj(mpl.text.Text) if t.get_text()]
    assert texts
    assert min(t.get_fontsize() for t in texts) >= 8


def test_drawing_leaves_the_users_settings_alone(runs):
    before = dict(mpl.rcParams)
    with plots.style():
        drawn("shrinkage", plots.shrinkage, runs)
    assert dict(mpl.rcParams) == before


def test_importing_plots_loads_no_matplotlib():
    program = "import sys, collapse_theory.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# ---------------------------------------------------------------------------- from a file to a file


@pytest.fixture(scope="module")
def folder(tmp_path_factory, runs):
    """A run, witnesses and a ledger, as the commands write them."""
    place = tmp_path_factory.mktemp("sources")
    runs.save(place / "run.npz")
    lemma_witness().save(place / "witness.json")
    run_witness().save(place / "run_witness.json")
    files.write_json(place / "ledger.json", small_ledger())
    files.write_json(place / "setup.json", forecast(DESCENT).to_dict())
    return place


SOURCES = [
    ("shrinkage", "run.npz", {}),
    ("shrinkage", "run.npz", {"head": 1}),
    ("curvatures", "run.npz", {}),
    ("one_step", "witness.json", {}),
    ("one_step", "ledger.json", {"claim": "paper_lemma_4_1", "largest": 2.0}),
    ("counterexample", "witness.json", {"claim": None}),
    ("counterexample", "run_witness.json", {}),
    ("counterexample", "ledger.json", {"claim": "paper_lemma_4_1"}),
    ("counterexample", "ledger.json", {"claim": "contraction", "drop": "step_size"}),
    ("histogram", "ledger.json", {"claim": "trajectory"}),
    ("forecast", "setup.json", {}),
]


@pytest.mark.parametrize(("kind", "source", "options"), SOURCES)
def test_every_kind_is_drawn_from_its_files(kind, source, options, folder, tmp_path):
    out = plots.plot(kind, folder / source, tmp_path / "new" / "figure.svg", **options)
    assert out.read_bytes().startswith(b"<?xml")
    assert [p.name for p in out.parent.iterdir()] == ["figure.svg"]


def test_every_kind_is_tried():
    assert {kind for kind, _, _ in SOURCES} == set(plots.KINDS) == set(LAYOUTS)


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".pdf", b"%PDF"), (".svg", b"<?xml"), (".png", b"\x89PNG"), (".PDF", b"%PDF")],
)
def test_a_figure_is_the_same_bytes_each_time(suffix, start, folder, tmp_path, monkeypatch):
    first = plots.plot("one_step", folder / "witness.json", tmp_path / f"a{suffix}").read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    mpl.rcParams["lines.linewidth"] = 9  # a user's own settings
    try:
        again = plots.plot(
            "one_step", folder / "witness.json", tmp_path / f"b{suffix}"
        ).read_bytes()
    finally:
        mpl.rcdefaults()
    assert first.startswith(start)
    assert again == first


BAD = [
    ("shrinkag", "run.npz", "a.pdf", {}, r"'shrinkag' is unknown; did you mean 'shrinkage'\?"),
    ("shrinkage", "run.npz", "a.jpg", {}, r"suffix '.jpg' is unknown; name the figure \*\.pdf"),
    ("shrinkage", "run.npz", "a", {}, "has no suffix"),
    ("shrinkage", "run.npz", "a.pdf", {"head": 2}, "head 2 is not recorded; heads run from 0 to 1"),
    ("shrinkage", "run.npz", "a.pdf", {"head": -1}, "head -1 is not recorded"),
    ("shrinkage", "run.npz", "a.pdf", {"claim": "x"}, "'claim' does not go with shrinkage"),
    ("shrinkage", "run.npz", "a.pdf", {"width": 0.1}, "width 0.1 is not a number of inches"),
    ("shrinkage", "ledger.json", "a.pdf", {}, r"needs a run \(.npz"),
    ("histogram", "run.npz", "a.pdf", {}, r"needs a ledger \(.json"),
    ("histogram", "nowhere.json", "a.pdf", {}, "no such file"),
    ("histogram", "witness.json", "a.pdf", {}, "not a ledger file"),
    ("histogram", "ledger.json", "a.pdf", {}, "give claim=, one of contraction, paper_lemma_4_1"),
    ("histogram", "ledger.json", "a.pdf", {"claim": "no"}, "claim 'no' is not in the ledger"),
    (
        "one_step",
        "run_witness.json",
        "a.pdf",
        {},
        "one_step needs a witness of a claim about steps",
    ),
    ("one_step", "witness.json", "a.pdf", {"largest": -1.0}, "largest step size -1.0"),
    ("counterexample", "witness.json", "a.pdf", {"claim": "x"}, "goes with a ledger"),
    (
        "counterexample",
        "ledger.json",
        "a.pdf",
        {"claim": "contraction"},
        "has no witness of the claim",
    ),
    (
        "counterexample",
        "ledger.json",
        "a.pdf",
        {"claim": "contraction", "drop": "unseen"},
        r"no witness without 'unseen' \(stored: step_size\)",
    ),
]


@pytest.mark.parametrize(("kind", "source", "out", "options", "message"), BAD)
def test_bad_input_is_one_clear_line_and_writes_nothing(
    kind, source, out, options, message, folder, tmp_path
):
    with pytest.raises(InputError, match=message) as caught:
        plots.plot(kind, folder / source, tmp_path / out, **options)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_witness_in_a_ledger_is_refused_by_name(folder, tmp_path):
    ledger = small_ledger()
    witness = ledger["claims"][1]["evidence"]["searched"]["witness"]
    witness["instance"]["values"]["weights"][0][0] = "one"
    path = files.write_json(tmp_path / "ledger.json", ledger)
    with pytest.raises(InputError, match=r"ledger\.json, paper_lemma_4_1: .*weights"):
        plots.plot("counterexample", path, tmp_path / "a.pdf", claim="paper_lemma_4_1")
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.json"]


def test_an_older_figure_survives_a_failure(folder, tmp_path):
    out = tmp_path / "figure.pdf"
    out.write_bytes(b"older")
    (tmp_path / "run.npz").write_bytes((folder / "run.npz").read_bytes()[:-2000])
    with pytest.raises(InputError, match="damaged"):
        plots.plot("shrinkage", tmp_path / "run.npz", out)
    assert out.read_bytes() == b"older"


@pytest.mark.parametrize("histogram", [None, [], [1, "2"], [1, -1], {"a": 1}])
def test_an_entry_without_a_histogram_is_refused(histogram):
    entry = {"id": "c", "evidence": {"searched": {"histogram": histogram}}}
    with pytest.raises(InputError, match="claim c: its entry has no histogram"):
        drawn("histogram", plots.ratio_histogram, entry)


def test_equal_rows_and_several_steps_are_refused():
    same = Step.create(
        weights=[[1.0], [1.0], [0.0]], features=[[1.0]], labels=[2], step_size=1.0, weight_decay=0.0
    )
    with pytest.raises(InputError, match="rows u and v are equal"):
        drawn("one_step", plots.one_step, same)
    two = replace(same, **{k: np.concatenate([v, v]) for k, v in same.values.items()})
    with pytest.raises(InputError, match="takes one instance, not 2"):
        drawn("one_step", plots.one_step, two)


def test_a_ledger_of_one_claim_needs_no_name(folder, tmp_path):
    ledger = small_ledger()
    ledger["claims"] = ledger["claims"][:1]
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps(ledger), encoding="utf-8")
    assert plots.plot("histogram", path, tmp_path / "a.svg").is_file()
