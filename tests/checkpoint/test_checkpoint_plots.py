"""Figures of audits: the pictures, and what cannot be drawn.

After a wanted change, look at the new pictures:
python -m pytest tests/checkpoint -k picture -o mpl-baseline-path= --mpl-generate-path=tests/baseline
"""

import matplotlib as mpl
import numpy as np
import pytest

from collapse_theory import InputError, plots
from collapse_theory.checkpoint import audit
from collapse_theory.plots._style import AUDIT_LAYOUTS, STYLE
from tests.checkpoint.models import trained_rows, vocabulary, write

picture = pytest.mark.mpl_image_compare(
    style=["default", STYLE], tolerance=1.0, savefig_kwargs={"dpi": 100}
)


def audited(folder, diagnosis, *, noise=0.0):
    rng = np.random.default_rng(4)
    words = vocabulary(diagnosis, rng, vocab=600, unused=40)
    words.rows[560:] += rng.normal(0, noise, (40, 64)) if noise else 0
    return audit(write(folder, words.rows, texts=words.texts))


@pytest.fixture(scope="module")
def collapsed(tmp_path_factory):
    return audited(tmp_path_factory.mktemp("m") / "collapsed", "collapse", noise=0.005)


def drawn(kind, draw, *data):
    figure, (ax,) = plots.canvas(kind)
    draw(ax, *data)
    return figure


@picture
def test_picture_audit_distances(collapsed):
    return drawn("distances", plots.audit_distances, collapsed)


@picture
def test_picture_audit_cosines(collapsed):
    return drawn("cosines", plots.audit_cosines, collapsed)


@picture
def test_picture_audit_plane(collapsed):
    return drawn("plane", plots.audit_plane, collapsed)


@picture
def test_picture_audits_over_training(tmp_path):
    found = [audited(tmp_path / "start", "initialisation")]
    found += [
        audited(tmp_path / f"{noise}", "collapse", noise=noise) for noise in (0.01, 0.003, 0.001)
    ]
    return drawn("training", plots.audits_over_training, [0, 1000, 2000, 3000], found)


def test_nothing_is_drawn_without_unused_rows(tmp_path, collapsed):
    bare = audit(write(tmp_path / "m", trained_rows(np.random.default_rng(0), 60, 16)))
    for kind, draw in (("distances", plots.audit_distances), ("plane", plots.audit_plane)):
        with pytest.raises(InputError, match="there is nothing to draw"):
            drawn(kind, draw, bare)
    for found in ([collapsed], [collapsed, bare]):
        with pytest.raises(InputError):
            drawn("training", plots.audits_over_training, list(range(len(found))), found)


@pytest.mark.parametrize("width", [plots.COLUMN, plots.PAGE])
@pytest.mark.parametrize("kind", sorted(AUDIT_LAYOUTS))
def test_no_text_is_smaller_than_eight_points(kind, width, collapsed):
    draw, data = {
        "distances": (plots.audit_distances, [collapsed]),
        "cosines": (plots.audit_cosines, [collapsed]),
        "plane": (plots.audit_plane, [collapsed]),
        "training": (plots.audits_over_training, [[0, 1], [collapsed, collapsed]]),
    }[kind]
    with plots.style():
        figure, (ax,) = plots.canvas(kind, width=width)
        draw(ax, *data)
        texts = [t for t in figure.findobj(mpl.text.Text) if t.get_text()]
        assert texts
        assert min(t.get_fontsize() for t in texts) >= 8
