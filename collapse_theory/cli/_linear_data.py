"""The data on which ``simulate`` trains: made up, or the user's."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from ..errors import InputError


@dataclass(frozen=True)
class Examples:
    """Features [N, n], labels [N] of K, and the pairs to follow (None: all unseen ones)."""

    features: Any
    labels: Any
    count: int
    pairs: list[tuple[int, int]] | None


def examples(options: argparse.Namespace, rng: Any) -> Examples:
    """From ``--data``, or Gaussian features labelled by a random linear teacher. Raises :class:`InputError`."""
    import numpy as np

    if options.data:
        if options.rare is not None:
            raise InputError(f"--rare {options.rare}: --data brings its own labels; leave one out")
        features, labels = _own(options.data)
        count = max(3, int(labels.max()) + 1) if options.labels is None else options.labels
        outside = labels[(labels < 0) | (labels >= count)]
        if len(outside):
            raise InputError(
                f"{options.data}: label {outside[0]} is out of range; labels run from 0 to K - 1, "
                f"and --labels K is {count}"
            )
        return Examples(features, labels, count, None)
    count = 10 if options.labels is None else options.labels
    seen = count - options.unseen
    if seen < 1:
        raise InputError(
            f"--unseen {options.unseen} leaves no target among --labels {count}; lower it"
        )
    features = rng.standard_normal((options.examples, options.dim))
    teacher = rng.standard_normal((seen, options.dim))
    labels = options.unseen + np.argmax(features @ teacher.T, axis=1)
    if options.rare is None:
        return Examples(features, labels, count, None)
    rare = round(options.rare * options.examples)
    if not rare:
        raise InputError(
            f"--rare {options.rare} of --examples {options.examples} is no example; raise one of them"
        )
    labels[rng.permutation(options.examples)[:rare]] = rng.integers(0, 2, size=rare)
    return Examples(features, labels, count, [(0, 1)])


def _own(path: str) -> tuple[Any, Any]:
    """Features [N, n] and labels [N] of the user's file. Raises :class:`InputError`."""
    import numpy as np

    wanted = "give an .npz with features [N, n] (numbers) and labels [N] (whole numbers)"
    try:
        # Opened here: NumPy leaves a damaged archive open.
        with open(path, "rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"{path}: holds one array only; {wanted}")
            features, labels = archive["features"], archive["labels"]
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except Exception as error:  # a damaged zip or array raises half a dozen types
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not usable ({reason}); {wanted}") from error
    for name, array, kinds, axes in (("features", features, "fiu", 2), ("labels", labels, "iu", 1)):
        if array.dtype.kind not in kinds or array.ndim != axes or array.size == 0:
            raise InputError(
                f"{path}: {name} are {array.dtype} of shape {list(array.shape)}; {wanted}"
            )
    return features.astype(np.float64), labels.astype(np.int64)
