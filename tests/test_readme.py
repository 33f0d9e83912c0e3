"""The README's Python is run as it stands, and what it promises of each block is checked."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from collapse_theory import Status, cli

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = re.findall(r"^    (collapse-theory .*)$", README, flags=re.MULTILINE)


def run(*blocks: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    return names


def test_the_printed_lemma_is_refuted_and_mended_as_the_readme_says(capsys):
    assert len(BLOCKS) == 3
    names = run(BLOCKS[0])
    assert names["result"].verdict.status is Status.REFUTED
    assert names["result"].witness.instance.weights.shape == (1, 3, 1)
    assert len(BLOCKS[0].strip().splitlines()) <= 13
    run(BLOCKS[0], BLOCKS[1])
    assert capsys.readouterr().out.rstrip().splitlines()[-1].startswith("NOT_FALSIFIED")


def test_the_readmes_property_test_passes(tmp_path):
    file = tmp_path / "test_mine.py"  # Hypothesis reads the source
    file.write_text(BLOCKS[2], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("test_mine", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.test_contraction()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_is_one(command):
    words = command.split("#")[0].split()[1:]
    options = cli.parser().parse_args(words)
    assert callable(options.run)
