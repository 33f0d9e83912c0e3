"""The command line: exit statuses, one line for bad input, nothing half-written, interruptions."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from collapse_theory import __version__, cli
from collapse_theory.cli import main
from collapse_theory.examination import EFFORTS, Effort
from collapse_theory.examination.ledger import read_ledger
from collapse_theory.schedules import schedule
from collapse_theory.trajectories import LinearRuns

ROOT = Path(__file__).resolve().parents[1]
TINY = Effort(
    "quick", step=4000, run=200, enclosed=20, enclosed_runs=20, starts=2, copies=8, rounds=4
)
SHORT = ("--steps", "5", "--examples", "20", "--dim", "3", "--labels", "5", "--quiet")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run a command in this process: its status, and the lines on stdout and stderr."""

    def run(*arguments):
        status = main([str(a) for a in arguments])
        caught = capsys.readouterr()
        return status, caught.out, caught.err

    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run and a witness, as the commands make them."""
    folder, back = tmp_path_factory.mktemp("made"), Path.cwd()
    os.chdir(folder)
    try:
        assert main(["simulate", "linear", *SHORT, "--out", "run.npz"]) == 0
        assert main(["falsify", "paper_lemma_4_1", "--out", "."]) == 0
    finally:
        os.chdir(back)
    return folder


def files(folder="."):
    return sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*"))


def subprocess_environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


COMMAND = (sys.executable, "-W", "error", "-m", "collapse_theory.cli")


# -------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["verify"],
        ["falsify"],
        ["simulate"],
        ["simulate", "linear"],
        ["simulate", "sweep"],
        ["plot"],
        ["forecast"],
        ["repair"],
    ],
)
def test_every_help_has_an_example_that_parses(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*command, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    examples = re.findall(r"^  collapse-theory (.*?)(?:   .*)?$", text, re.M)
    assert examples
    for example in examples:
        if not example.endswith("--help"):
            cli.parser().parse_args(example.split())


def test_the_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"collapse-theory {__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        ["verify"],
        ["falsify"],
        ["simulate", "linear"],
        ["simulate", "sweep"],
        ["plot"],
        ["forecast"],
        ["repair"],
    ],
)
def test_every_command_has_the_common_options(command, capsys):
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    text = capsys.readouterr().out
    for option in ("--json PATH", "--seed", "--quiet"):
        assert option in text


# --------------------------------------------------------------------------------------- bad input


def bad_files():
    """Files that are of no use, and one that is, in the working folder."""
    Path("in_the_way").write_text("a file")
    Path("folder").mkdir()
    good, labels = np.ones((4, 3)), np.array([2, 3, 3, 2])
    data = {
        "good": {"features": good, "labels": labels},
        "nan": {"features": good * np.nan, "labels": labels},
        "inf": {"features": good * np.inf, "labels": labels},
        "empty": {"features": np.zeros((0, 3)), "labels": np.zeros(0, int)},
        "flat": {"features": np.ones(4), "labels": labels},
        "text": {"features": good, "labels": np.array(list("abcd"))},
        "words": {"features": np.array([["a", "b"]] * 4), "labels": labels},
        "halves": {"features": good, "labels": labels / 2},
        "negative": {"features": good, "labels": labels - 5},
        "short": {"features": good, "labels": labels[:3]},
        "square": {"features": good, "labels": labels.reshape(1, 4)},
        "nameless": {"x": good},
    }
    for name, arrays in data.items():
        np.savez(f"{name}.npz", **arrays)
    np.save("array.npy", good)
    Path("damaged.npz").write_bytes(b"PK\x03\x04 and no more")
    Path("pickled.npz").write_bytes(b"\x80\x04K\x01.")
    Path("damaged.json").write_text('{"kind": ')
    Path("foreign.json").write_text('{"kind": "something else", "schema": 1}')


DATA = "simulate linear --quiet --steps 1 --data"
BAD = {
    # commands and options
    "": ["COMMAND"],
    "verfy": ["'verfy'", "verify"],
    "verify --claims contraction --nonsense": ["--nonsense"],
    "verify --seed -1": ["--seed", "'-1'", "whole number >= 0"],
    "verify --seed 1.5": ["--seed", "'1.5'"],
    "verify --workers 0": ["--workers", "'0'", ">= 1"],
    "verify --workers two": ["--workers", "'two'"],
    "verify --effort hasty": ["'hasty'", "quick, default, thorough"],
    "verify --claim contractoin": ["'contractoin'", "did you mean 'contraction'?"],
    "verify --claim contraction --claim nothing": ["'nothing'", "claims are"],
    "falsify": ["CLAIM", "--replay"],
    "falsify contractoin": ["'contractoin'", "did you mean 'contraction'?"],
    "falsify contraction --drop stepsize": ["'stepsize'", "did you mean 'step_size'?"],
    "falsify contraction --effort hasty": ["'hasty'"],
    "simulate": ["KIND"],
    "simulate cubic": ["'cubic'", "linear"],
    # numbers
    "simulate linear --labels 1": ["--labels", "'1'", ">= 3"],
    "simulate linear --labels ten": ["--labels", "'ten'"],
    "simulate linear --steps -5": ["--steps", "'-5'", ">= 0"],
    "simulate linear --steps many": ["--steps", "'many'"],
    "simulate linear --examples 0": ["--examples", "'0'", ">= 1"],
    "simulate linear --dim 0": ["--dim", "'0'"],
    "simulate linear --learning-rate nan": ["--learning-rate", "'nan'", "finite"],
    "simulate linear --learning-rate 0.1 inf": ["--learning-rate", "'inf'"],
    "simulate linear --weight-decay much": ["--weight-decay", "'much'"],
    "simulate linear --scale -1": ["--scale", "'-1'", ">= 0"],
    "simulate linear --batch-size 0": ["--batch-size", "'0'"],
    "simulate linear --quiet --steps 1 --batch-size 10000": ["10000", "256 examples"],
    "simulate linear --unseen 1": ["--unseen", "'1'", ">= 2"],
    "simulate linear --unseen 10": ["--unseen 10", "lower it"],
    "simulate linear --record-every 0": ["--record-every", "'0'"],
    "simulate linear --quiet --steps 1 --dtype float16": ["float16", "float64"],
    "simulate linear --quiet --steps 9 --learning-rate 1e200": ["step_size"],
    # own data
    f"{DATA} none.npz": ["none.npz", "no such file"],
    f"{DATA} folder": ["folder", "give an .npz"],
    f"{DATA} in_the_way": ["in_the_way", "give an .npz"],
    f"{DATA} damaged.npz": ["damaged.npz", "give an .npz"],
    f"{DATA} pickled.npz": ["pickled.npz", "give an .npz"],
    f"{DATA} array.npy": ["array.npy", "give an .npz"],
    f"{DATA} nameless.npz": ["nameless.npz", "features"],
    f"{DATA} nan.npz": ["features", "nan"],
    f"{DATA} inf.npz": ["features", "inf"],
    f"{DATA} empty.npz": ["empty.npz", "[0, 3]", "[N, n]"],
    f"{DATA} flat.npz": ["flat.npz", "[4]", "[N, n]"],
    f"{DATA} text.npz": ["text.npz", "labels", "whole numbers"],
    f"{DATA} words.npz": ["words.npz", "features", "numbers"],
    f"{DATA} halves.npz": ["halves.npz", "labels", "whole numbers"],
    f"{DATA} square.npz": ["square.npz", "labels", "[1, 4]"],
    f"{DATA} short.npz": ["labels", "(3,)"],
    f"{DATA} negative.npz": ["negative.npz", "label -3 is out of range"],
    f"{DATA} good.npz --labels 3": ["good.npz", "label 3 is out of range", "--labels"],
    # places to write to
    "verify --out in_the_way": ["in_the_way", "a file is in the way"],
    "verify --out in_the_way/below": ["in_the_way", "a file is in the way"],
    "verify --json folder": ["folder", "is a folder; give a file name"],
    "verify --json in_the_way/x.json": ["in_the_way", "a file is in the way"],
    "falsify contraction --out in_the_way": ["in_the_way", "a file is in the way"],
    "falsify contraction --json in_the_way/x": ["in_the_way", "a file is in the way"],
    "simulate linear --out folder": ["folder", "is a folder; give a file name"],
    "simulate linear --out in_the_way/run.npz": ["in_the_way", "a file is in the way"],
    "simulate linear --json in_the_way/x.json": ["in_the_way", "a file is in the way"],
    # files to read
    "falsify --replay none.json": ["none.json", "no such file"],
    "falsify --replay folder": ["folder", "cannot be read"],
    "falsify --replay damaged.json": ["damaged.json", "not valid JSON"],
    "falsify --replay foreign.json": ["foreign.json", "not a witness"],
    "falsify --replay good.npz": ["good.npz", "cannot be read"],
    "plot shrinkage": ["-o/--output"],
    "plot shrinking good.npz -o x.pdf": ["'shrinking'", "shrinkage"],
    "plot shrinkage good.npz -o x.doc": ["x.doc", ".pdf"],
    "plot shrinkage none.npz -o x.pdf": ["none.npz", "no such file"],
    "plot shrinkage good.npz -o x.pdf": ["good.npz", "damaged or not a record"],
    "plot shrinkage damaged.npz -o x.pdf": ["damaged.npz", "damaged"],
    "plot shrinkage damaged.json -o x.pdf": ["damaged.json", "needs a run"],
    "plot histogram damaged.json -o x.pdf": ["damaged.json", "not valid JSON"],
    "plot histogram foreign.json -o x.pdf": ["foreign.json", "not a ledger file"],
    "plot counterexample damaged.json -o x.pdf": ["damaged.json", "not valid JSON"],
    "plot counterexample foreign.json -o x.pdf": ["foreign.json", "not a witness"],
    "plot one_step good.npz -o x.pdf": ["good.npz", "witness"],
    "plot shrinkage good.npz --head -1 -o x.pdf": ["--head", "'-1'"],
}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_line_and_exit_2(line, call):
    bad_files()
    before = files()
    status, out, err = call(*line.split())
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("collapse-theory: ")
    for said in BAD[line]:
        assert said in err
    assert files() == before  # nothing written, nothing half-written
    assert Path("in_the_way").read_text() == "a file"


def test_sizes_beyond_memory_are_bad_input_too(call, monkeypatch):
    import collapse_theory.trajectories as trajectories

    def greedy(*_args, **_options):
        raise MemoryError("Unable to allocate 20. TiB")

    monkeypatch.setattr(trajectories, "train_linear_heads", greedy)
    status, _, err = call("simulate", "linear", *SHORT)
    assert status == 2
    assert err == "collapse-theory: Unable to allocate 20. TiB; make the sizes smaller\n"


def test_bad_input_in_a_process_of_its_own():
    done = subprocess.run(
        [*COMMAND, "verify", "--claim", "nothing"],
        env=subprocess_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert files() == []


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.99])
def test_a_cut_run_is_refused(made, call, cut):
    content = (made / "run.npz").read_bytes()
    Path("cut.npz").write_bytes(content[: int(cut * len(content))])
    status, out, err = call("plot", "shrinkage", "cut.npz", "-o", "x.pdf")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "cut.npz" in err
    assert files() == ["cut.npz"]


def test_a_figure_cannot_be_written_over_a_folder(made, call):
    Path("x.pdf").mkdir()
    status, out, err = call("plot", "shrinkage", made / "run.npz", "-o", "x.pdf")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert files() == ["x.pdf"]


# ----------------------------------------------------------------------------------------- simulate


def test_simulate_writes_a_run_that_is_read_back(call):
    status, out, err = call(
        *("simulate", "linear", "--steps", "6", "--examples", "20", "--dim", "3"),
        *("--learning-rate", "0.1", "0.2", "--weight-decay", "0.5", "--json", "x.json"),
    )
    assert status == 0
    assert err == "training (6)\n"
    assert "training" not in out
    runs = LinearRuns.load("results/linear.npz")
    assert runs.heads == 2
    rows = [json.loads(row) for row in out.splitlines() if row.startswith("{")]
    assert json.loads(Path("x.json").read_text())["heads"] == rows
    assert [row["learning_rate"] for row in rows] == [0.1, 0.2]
    assert rows[1]["decay_product"] == pytest.approx(0.9**6)
    assert files() == ["results", "results/linear.npz", "x.json"]


def test_quiet_says_nothing_on_stderr_and_the_seed_fixes_the_run(call):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        status, _, err = call("simulate", "linear", *SHORT, "--seed", seed, "--out", f"{name}.npz")
        assert (status, err) == (0, "")
    a, b, c = (LinearRuns.load(f"{name}.npz").final_weights for name in "abc")
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_simulate_on_own_data(call):
    bad_files()
    status, out, _ = call(*DATA.split(), "good.npz", "--out", "run.npz")
    assert status == 0
    assert LinearRuns.load("run.npz").final_weights.shape == (1, 4, 3)
    assert "plot shrinkage run.npz" in out


# ------------------------------------------------------------------------------------------ falsify


def test_a_false_claim_is_expected_to_be_falsified(call):
    status, out, err = call("falsify", "paper_lemma_4_1", "--json", "x.json")
    assert status == 0
    assert err == ""
    assert out.startswith("paper_lemma_4_1 is refuted: ")
    path = "results/witness_paper_lemma_4_1.json"
    assert f"replay    collapse-theory falsify --replay {path}" in out
    assert files("results") == ["witness_paper_lemma_4_1.json", "witness_paper_lemma_4_1.pdf"]
    assert json.loads(Path("x.json").read_text())["witness"] == json.loads(Path(path).read_text())
    status, out, _ = call("falsify", "--replay", path)
    assert status == 0
    assert out.endswith("CONFIRMED in ball arithmetic\n")


def test_a_claim_without_a_hypothesis(call):
    status, out, _ = call("falsify", "contraction", "--drop", "step_size", "--out", "out")
    assert status == 0
    assert "contraction_without_step_size is refuted" in out
    path = "out/witness_contraction_without_step_size.json"
    status, out, _ = call("falsify", "contraction", "--replay", path, "--json", "x.json")
    assert status == 0
    assert json.loads(Path("x.json").read_text()) == {
        "claim": "contraction_without_step_size",
        "outcome": "VIOLATED",
    }


def test_a_true_claim_is_not_falsified(call):
    status, out, err = call("falsify", "contraction")
    assert status == 0
    assert err == ""
    assert "no counterexample among" in out
    assert "This is no proof." in out
    assert files() == []


def test_a_true_claim_expected_to_be_refuted_exits_1(call, monkeypatch):
    from collapse_theory import claims

    wrong = claims.get_claim("contraction").replace(expected="refuted")
    monkeypatch.setattr(claims, "get_claim", lambda _: wrong)
    assert call("falsify", "contraction")[0] == 1


def test_a_tampered_witness_is_not_confirmed(made, call):
    data = json.loads((made / "witness_paper_lemma_4_1.json").read_text())
    data["instance"]["values"]["step_size"] = 0.0
    Path("tampered.json").write_text(json.dumps(data))
    status, out, _ = call("falsify", "--replay", "tampered.json", "--json", "x.json")
    assert status == 1
    assert out.startswith("paper_lemma_4_1 is not refuted by this: ")
    assert "CONFIRMED in ball" not in out.replace("NOT CONFIRMED", "")
    assert json.loads(Path("x.json").read_text())["outcome"] != "VIOLATED"


def test_a_certificate_is_computed_anew_and_not_believed(made, call):
    data = json.loads((made / "witness_paper_lemma_4_1.json").read_text())
    data["instance"]["values"]["labels"] = [0]  # the pair is seen: a hypothesis fails
    Path("tampered.json").write_text(json.dumps(data))
    status, out, _ = call("falsify", "--replay", "tampered.json")
    assert status == 1
    assert "NOT CONFIRMED: INADMISSIBLE" in out


def test_a_witness_against_another_claim_is_refused(made, call):
    path = made / "witness_paper_lemma_4_1.json"
    status, out, err = call("falsify", "contraction", "--replay", path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "is a witness against paper_lemma_4_1" in err


# -------------------------------------------------------------------------------------------- plot


def test_plots_from_files(made, call):
    for kind, source in (
        ("shrinkage", "run.npz"),
        ("counterexample", "witness_paper_lemma_4_1.json"),
    ):
        status, out, err = call(
            "plot", kind, made / source, "-o", f"{kind}.svg", "--json", "x.json"
        )
        assert (status, err) == (0, "")
        assert out == f"figure    {kind}.svg\n"
        assert Path(f"{kind}.svg").read_text().startswith("<?xml")
        assert json.loads(Path("x.json").read_text())["kind"] == kind


# ------------------------------------------------------------------------------------------- verify


@pytest.fixture
def tiny(monkeypatch):
    """The quick effort made smaller, and nothing looked up in a checkout."""
    from collapse_theory.examination import checkout

    monkeypatch.setitem(EFFORTS, "quick", TINY)
    monkeypatch.setattr(checkout, "root", lambda: None)


VERIFY = ("verify", "--claim", "contraction", "--effort", "quick", "--workers", "1")


def test_verify_writes_the_ledger_the_page_and_the_witnesses(call, tiny):
    status, out, err = call(*VERIFY, "--out", "out", "--json", "copy.json")
    assert status == 0
    assert "searching: step (4,000)" in err
    assert "searching" not in out
    assert "contraction" in out
    assert "not falsified" in out
    assert "UNMET" not in out
    assert files() == [
        "copy.json",
        "out",
        "out/ledger.html",
        "out/ledger.json",
        "out/witnesses",
        *(
            f"out/witnesses/contraction_without_{name}.json"
            for name in ("curvature", "nonnegative_step", "step_size", "unseen")
        ),
    ]
    book = read_ledger("out/ledger.json")
    assert read_ledger("copy.json") == book
    assert [entry["id"] for entry in book["claims"]] == ["contraction"]
    for path in Path("out/witnesses").iterdir():
        assert call("falsify", "--replay", path)[0] == 0
    status, _, err = call("plot", "histogram", "out/ledger.json", "-o", "x.pdf")
    assert (status, err) == (0, "")


@pytest.mark.slow
def test_verify_quietly_and_the_seed_fixes_the_ledger(call, tiny):
    books = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        status, _, err = call(*VERIFY, "--out", name, "--quiet", "--seed", seed)
        assert (status, err) == (0, "")
        books.append(read_ledger(f"{name}/ledger.json") | {"environment": None})
    assert books[0] == books[1]
    assert books[0] != books[2]


def test_verify_exits_1_where_an_expectation_is_not_met(call, tiny, monkeypatch):
    from collapse_theory import claims

    loose = claims.get_claim("contraction").scaled(2.0).replace(id="contraction", tight=True)
    monkeypatch.setattr(claims, "get_claim", lambda _: loose.replace(expected="holds"))
    status, out, _ = call(*VERIFY, "--out", "out", "--quiet")
    assert status == 1
    assert "UNMET     contraction: called tight, but the worst ratio reached is 0.5" in out
    assert read_ledger("out/ledger.json")["claims"][0]["unmet"]


@pytest.mark.slow
def test_a_claim_named_twice_is_examined_once(call, tiny):
    call(*VERIFY, "--claim", "contraction", "--out", "out", "--quiet")
    assert len(read_ledger("out/ledger.json")["claims"]) == 1


# ------------------------------------------------------------------------------------ interruptions


@pytest.mark.parametrize("command", ["verify", "simulate linear", "falsify contraction"])
def test_an_interruption_exits_130(call, monkeypatch, command):
    from collapse_theory import examination, trajectories
    from collapse_theory.examination import ledger

    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ledger, "verify", interrupt)
    monkeypatch.setattr(examination, "falsify", interrupt)
    monkeypatch.setattr(trajectories, "train_linear_heads", interrupt)
    status, out, err = call(*command.split(), "--quiet")
    assert (status, out) == (130, "")
    assert err == "collapse-theory: interrupted; no partial file was left\n"
    assert files() == []


@pytest.mark.slow
@pytest.mark.parametrize("to_all", [True, False], ids=["to all as a terminal does", "to the first"])
@pytest.mark.parametrize(
    ("arguments", "begun"),
    [
        (("verify", "--effort", "default", "--workers", "1"), "searching: biased_step"),
        (("verify", "--effort", "default", "--workers", "2"), "searching: biased_step"),
        (("simulate", "linear", "--steps", "2000000", "--record-every", "2000"), "training"),
    ],
    ids=["verify", "verify on two", "simulate"],
)
def test_ctrl_c_leaves_nothing_behind(arguments, begun, to_all):
    with subprocess.Popen(
        [*COMMAND, *arguments],
        env=subprocess_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said = []
            for line in process.stderr:
                said.append(line)
                if line.startswith(begun):
                    break
            else:
                pytest.fail("".join(said))
            (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
            # Ends when the last process that holds the pipes has ended, the workers among them.
            out, err = process.communicate(timeout=120)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 130
    assert out == ""
    assert err.endswith("collapse-theory: interrupted; no partial file was left\n")
    assert "Traceback" not in err
    assert files() == []


@pytest.mark.slow
def test_a_pipe_that_closes_early_is_no_error():
    command = shlex.join(COMMAND)
    line = (
        f"set -o pipefail; {command} simulate linear --steps 1 --repeats 5000 --quiet | head -n 1"
    )
    done = subprocess.run(
        ["bash", "-c", line],
        env=subprocess_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith('{"head": 0')


def test_rows_that_are_equal_from_the_start_have_no_factor(call):
    status, _, _ = call(
        "simulate", "linear", *SHORT, "--scale", "0", "--out", "r.npz", "--json", "r.json"
    )
    assert status == 0
    text = Path("r.json").read_text(encoding="utf-8")
    assert "NaN" not in text
    assert '"largest_factor": null' in text


@pytest.mark.parametrize("option", ["--dim", "--labels", "--examples", "--repeats", "--steps"])
def test_absurd_sizes_are_refused(call, option):
    status, out, err = call("simulate", "linear", option, "99999999999999999999", "--out", "r.npz")
    assert (status, out) == (2, "")
    assert option in err
    assert "expected at most 1,000,000,000" in err
    assert files() == []


def test_an_empty_hypothesis_is_unknown(call):
    status, _, err = call("falsify", "contraction", "--drop", "")
    assert status == 2
    assert "contraction" in err


@pytest.mark.parametrize("more", ["--momentum 0.9 --nesterov", "--optimizer adamw --betas 0.8 0.9"])
def test_simulate_with_another_optimiser_names_no_bound(call, more):
    code, out, err = call(*shlex.split("simulate linear --quiet --steps 5 --out run.npz " + more))
    assert (code, err) == (0, "")
    row = json.loads(out.splitlines()[0])
    assert row["decay_product"] is None
    assert row["distance_last"] > 0
    assert "plot shrinkage" not in out
    config = LinearRuns.load("run.npz").config
    assert (config.momentum, config.nesterov) == (
        (0.9, True) if "nesterov" in more else (0.0, False)
    )
    assert config.betas == ((0.9, 0.999) if "nesterov" in more else (0.8, 0.9))


@pytest.mark.parametrize(
    ("more", "name", "options"),
    [
        ("--schedule cosine --warmup 2", "cosine", {"warmup": 2}),
        ("--warmup 3", "constant", {"warmup": 3}),
        ("--schedule wsd --decay-steps 4", "wsd", {"decay": 4}),
        ("--schedule wsd", "wsd", {"decay": 2}),
        ("--schedule restarts", "restarts", {"cycles": 2}),
    ],
)
def test_simulate_follows_a_schedule(call, more, name, options):
    code, _, err = call(
        *shlex.split("simulate linear --quiet --steps 10 --learning-rate 0.5 --out run.npz " + more)
    )
    assert (code, err) == (0, "")
    wanted = schedule(name, 0.5, 10, **options)
    assert np.allclose(LinearRuns.load("run.npz").step_size[0], wanted, rtol=1e-15)


def test_simulate_with_rare_labels(call):
    code, out, _ = call(
        *shlex.split("simulate linear --quiet --steps 5 --examples 50 --rare 0.1 --out run.npz")
    )
    assert code == 0
    runs = LinearRuns.load("run.npz")
    assert np.isin(runs.labels, (0, 1)).sum() == 5
    assert runs.pairs.tolist() == [[0, 1]]
    assert runs.unseen[0] == 2
    np.testing.assert_allclose(runs.target_mass, 0.1, rtol=1e-12)
    assert json.loads(out.splitlines()[0])["decay_product"] is None
    assert "plot shrinkage" not in out
    code, _, err = call(*shlex.split("plot shrinkage run.npz -o f.pdf"))
    assert code == 2
    assert "--rare" in err


def test_simulate_with_masked_logits_is_pure_decay(call):
    code, out, _ = call(*shlex.split("simulate linear --quiet --steps 50 --masked --out run.npz"))
    assert code == 0
    row = json.loads(out.splitlines()[0])
    assert row["largest_factor"] == pytest.approx(row["decay_product"], rel=1e-12)


LONG = (
    "--steps 6000 --batch-size 8 --optimizer adamw --schedule cosine --warmup 100 "
    "--learning-rate 0.01 0.03 --record-every 500 --checkpoint-every 200"
)


def test_simulate_killed_goes_on_to_the_same_bytes(call):
    """SIGKILL as soon as there is a checkpoint: no handler runs, nothing is tidied up."""
    arguments = ["simulate", "linear", *shlex.split(LONG), "--seed", "3"]
    saved = Path("run.npz.checkpoint")
    with subprocess.Popen(
        [*COMMAND, *arguments, "--out", "run.npz"],
        env=subprocess_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None and not saved.exists():
            pass
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert saved.exists()
    assert not Path("run.npz").exists()
    code, _, err = call(*arguments, "--learning-rate", "0.01", "0.02", "--out", "run.npz")
    assert code == 2
    assert "run.npz.checkpoint: the checkpoint of a training with other step_size" in err
    assert len(err.splitlines()) <= 3
    code, out, err = call(*arguments, "--out", "run.npz")
    assert code == 0
    assert "going on from run.npz.checkpoint" in err
    assert not saved.exists()
    code, whole, _ = call(*arguments, "--out", "whole.npz")
    assert code == 0
    assert Path("run.npz").read_bytes() == Path("whole.npz").read_bytes()
    assert out.replace("run.npz", "whole.npz") == whole


@pytest.mark.parametrize(
    "more",
    [
        "--rare 2",
        "--rare 0",
        "--rare 0.001",
        "--rare 0.1 --data mine.npz",
        "--checkpoint-every 0",
        "--dtype bfloat16",
        "--dtype float16",
        "--optimizer lion",
        "--optimizer adam --momentum 0.9",
        "--nesterov",
        "--schedule sawtooth",
        "--warmup 999",
        "--cycles 3",
        "--schedule cosine --decay-steps 3",
    ],
)
def test_simulate_refuses_settings_that_do_not_fit(call, more):
    code, _, err = call(*shlex.split("simulate linear --quiet --steps 10 --out run.npz " + more))
    assert code == 2
    assert more.split()[0].removeprefix("--") in err
    assert len(err.splitlines()) == 1
