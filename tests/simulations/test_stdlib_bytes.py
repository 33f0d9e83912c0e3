"""Bytes of source code: what cannot be a target is none, and no SGD step leaves its bounds."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collapse_theory.errors import InputError
from docs import generate
from simulations import stdlib_bytes, stdlib_bytes_views

PAGE = generate.STUDIES.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found():
    return stdlib_bytes.study(stdlib_bytes.QUICK)


@given(st.text())
def test_no_text_has_an_invalid_byte(text):
    encoded = text.encode("utf-8", errors="ignore")
    assert not set(encoded) & set(stdlib_bytes.INVALID)


def test_every_other_byte_occurs_in_some_text():
    possible = {b for point in range(0x110000) if not 0xD800 <= point < 0xE000
                for b in (chr(point).encode() if point < 0x800 or point % 64 == 0 else b"")}  # fmt: skip
    assert possible | set(stdlib_bytes.INVALID) == set(range(256))
    assert not possible & set(stdlib_bytes.INVALID)


def test_unseen_bytes_are_never_targets(found):
    runs = found.runs["sgd"]
    text, _ = stdlib_bytes.read_text(found.config.size)
    assert runs.labels.tolist() == list(text[found.config.context :])
    assert set(stdlib_bytes.INVALID) <= set(runs.unseen.tolist())
    invalid, absent = (runs.pairs[found.pairs(kind)] for kind in stdlib_bytes.KINDS)
    assert len(invalid) == 78
    assert np.isin(invalid, stdlib_bytes.INVALID).all()
    assert not np.isin(absent, stdlib_bytes.INVALID).any()
    assert not np.isin(absent, runs.labels).any()


def test_a_feature_is_made_of_the_bytes_before_its_label_alone():
    config = dataclasses.replace(stdlib_bytes.QUICK, batch_size=1)
    first, labels, _ = stdlib_bytes.features(b"abcdefgh", config)
    other, _, _ = stdlib_bytes.features(b"abcdXfgh", config)
    assert bytes(labels.tolist()) == b"efgh"
    np.testing.assert_array_equal(first[0], other[0])
    assert all((first[i] != other[i]).any() for i in (1, 2, 3))


def test_the_radius_from_gamma_holds_for_every_feature(found):
    assert found.runs["sgd"].radius.max() <= found.radius
    assert found.runs["sgd"].radius.max() >= 0.5 * found.radius


def test_no_sgd_step_leaves_its_bounds(found):
    runs = found.runs["sgd"]
    assert len(runs.recorded) == found.config.steps
    assert (2 - runs.step_size * (2 * runs.weight_decay + found.radius**2 / 2) > 0).all()
    slack = 4 * runs.rounding
    assert (runs.ratio <= runs.decay[:, :, None] + slack).all()
    assert (runs.ratio >= runs.lower_factor("measured") - slack).all()
    relative = runs.distance / runs.distance[:, :1]
    np.testing.assert_allclose(stdlib_bytes.product(runs), runs.decay_product[0], rtol=1e-12)
    assert (relative <= runs.decay_product[:, :, None] * (1 + 1e-12)).all()
    assert (relative >= stdlib_bytes.lower(runs) * (1 - 1e-12)).all()
    bounds = stdlib_bytes_views.facts(found)["sgd_bounds"]
    assert bounds["above_decay"] == bounds["below_lower"] == 0
    assert bounds["least_margin"] == pytest.approx(2 - 2 * found.config.edge)


def test_adamw_stays_in_its_ball(found):
    runs = found.runs["adamw"]
    start = np.abs(runs.distance[:, 0]).max()
    ball = stdlib_bytes.ball(runs, found.config.dim, start)
    assert (runs.distance <= ball[None, :, None]).all()
    assert np.isnan(runs.decay_product).all()


def test_the_text_is_a_prefix_and_too_little_is_refused():
    short, _ = stdlib_bytes.read_text(100)
    longer, _ = stdlib_bytes.read_text(20_000)
    assert longer.startswith(short)
    assert len(short) == 100
    with pytest.raises(InputError, match="size: got 100000000000, but"):
        stdlib_bytes.read_text(10**11)


def test_text_that_is_not_utf8_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_bytes(b"# latin-1: \xff\n")
    (tmp_path / "b.py").write_bytes(b"pass\n")
    monkeypatch.setattr(stdlib_bytes.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    assert stdlib_bytes.read_text(4) == (b"pass", 1)


def test_the_command_writes_facts_and_figure(found, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(stdlib_bytes, "study", lambda _config, progress: found)
    assert stdlib_bytes.main(["--quick", "--out", str(tmp_path)]) == 0
    data = json.loads((tmp_path / "stdlib_bytes.json").read_text())
    assert data == stdlib_bytes_views.facts(found)
    assert stdlib_bytes_views.table(data) in capsys.readouterr().out
    picture = (tmp_path / "stdlib_bytes.svg").read_bytes()
    stdlib_bytes_views.draw(found, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == picture
    (tmp_path / "file").write_text("")
    assert stdlib_bytes.main(["--quick", "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.count("error:") == 1


def test_the_page_says_what_the_shipped_numbers_say():
    data = json.loads((generate.RESULTS / "stdlib_bytes.json").read_text())
    assert stdlib_bytes_views.table(data) in PAGE
    # The sentences around the table.
    assert data["sgd_bounds"]["above_decay"] == data["sgd_bounds"]["below_lower"] == 0
    assert all(r["over_product"] > 1 for r in data["runs"] if r["optimizer"] == "adamw")
    assert all(r["largest_over_product"] <= 1 for r in data["runs"] if r["optimizer"] == "sgd")
    assert data["sgd_bounds"]["least_margin"] == pytest.approx(1)
    assert data["labels"]["never in UTF-8"] == len(stdlib_bytes.INVALID) == 13
