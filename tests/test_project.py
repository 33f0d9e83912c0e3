"""The project as a whole: order and cost of imports, version, public names, pins, the wheel."""

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import collapse_theory

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "collapse_theory"

# Imports run one way: a module may import those before it and its own package.
LAYERS = (
    *("_version", "errors", "checks", "files", "arithmetic", "softmax", "schedules"),
    *("optimizers", "losses"),
    "normalization",
    *("instances", "trajectories", "sweeps", "claims", "examination", "strategies", "forecast"),
    "monitor",
    *("checkpoint", "plots", "report", "cli"),
)

SLOW_TO_LOAD = frozenset({"torch", "sympy", "scipy", "matplotlib", "hypothesis", "flint", "rich"})


# --------------------------------------------------------------------------------- order of imports


def imported_modules(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything a module imports, inside functions too.

    `from a import b` counts as `a.b`; relative imports start from `package`, a dotted name.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [base])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def upward_imports(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """What `module` (a dotted name) imports against the order of LAYERS; one line for each."""
    layer = module.split(".")[1]
    package = module if is_package else module.rpartition(".")[0]
    found = []
    for line, name in imported_modules(ast.parse(source), package):
        top, *rest = name.split(".")
        if top in {"proofs", "simulations"}:
            found.append(f"{module}:{line} imports {name}: the library stands alone")
        if top != "collapse_theory":
            continue
        target = rest[0] if rest else ""
        if target not in LAYERS:
            found.append(f"{module}:{line} imports {name}: name the module, not the package's face")
        elif LAYERS.index(target) > LAYERS.index(layer):
            found.append(f"{module}:{line} imports {name}: {target} stands above {layer}")
    return found


def library_modules() -> Iterator[tuple[str, Path]]:
    """Dotted name and file of every module but the package's face, its own `__init__`."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if path != PACKAGE / "__init__.py":
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_every_module_has_a_place_in_the_order() -> None:
    strangers = {module.split(".")[1] for module, _ in library_modules()} - set(LAYERS)
    assert not strangers, f"add to LAYERS, where they belong: {sorted(strangers)}"


def test_no_module_imports_upward() -> None:
    found = [
        line
        for module, path in library_modules()
        for line in upward_imports(
            module, path.read_text(encoding="utf-8"), is_package=path.name == "__init__.py"
        )
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "is_package"),
    [
        ("import collapse_theory.cli", False),
        ("from collapse_theory.examination import examine", False),
        ("from collapse_theory import claims", False),
        ("from collapse_theory import Step", False),
        ("import collapse_theory", False),
        ("from ..examination import examine", False),
        ("from .. import report", True),
        ("def f():\n    from collapse_theory.plots import draw", False),
        ("import proofs.symbolic", False),
        ("from simulations import linear", False),
    ],
)
def test_an_upward_import_is_found(source: str, is_package: bool) -> None:
    module = "collapse_theory.instances" + ("" if is_package else ".domains")
    assert len(upward_imports(module, source, is_package=is_package)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from collapse_theory.softmax import probabilities",
        "from collapse_theory import arithmetic",
        "from ..errors import InputError",
        "from . import _step",
        "from ._step import Step",
    ],
)
def test_a_downward_import_is_allowed(source: str) -> None:
    assert upward_imports("collapse_theory.instances.domains", source) == []


# ---------------------------------------------------------------------------------- cost of imports


def loaded_by(code: str, *arguments: str) -> frozenset[str]:
    """The slow packages that a fresh interpreter has loaded after `code`, which may exit."""
    program = f"""
import atexit, json, sys
sys.argv[0] = "collapse-theory"
slow = {sorted(SLOW_TO_LOAD)}
atexit.register(lambda: print("\\n" + json.dumps([name for name in slow if name in sys.modules])))
{code}
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return frozenset(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_slow() -> None:
    assert loaded_by("import collapse_theory") == set()


def test_help_loads_nothing_slow() -> None:
    # rich is let through: it is what a help text may be drawn with.
    loaded = loaded_by("from collapse_theory.cli import main\nsys.exit(main())", "--help")
    assert loaded <= {"rich"}


def test_a_slow_import_is_seen() -> None:
    assert "flint" in loaded_by("import flint")


# --------------------------------------------------------------------- version, names, declarations


def test_the_version_has_one_source() -> None:
    version = re.compile(rf"\b{re.escape(collapse_theory.__version__)}\b")
    stated = [
        path.relative_to(ROOT).as_posix()
        for path in [*PACKAGE.rglob("*.py"), ROOT / "pyproject.toml", ROOT / "CITATION.cff"]
        if version.search(path.read_text(encoding="utf-8"))
    ]
    assert stated == ["collapse_theory/_version.py"]
    assert metadata.version("collapse_theory") == collapse_theory.__version__


def test_the_changelog_speaks_of_this_version() -> None:
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest
    assert newest[1] == collapse_theory.__version__


def test_every_public_name_resolves() -> None:
    names = collapse_theory.__all__
    assert len(names) == len(set(names))
    missing = [name for name in names if not hasattr(collapse_theory, name)]
    assert not missing
    assert set(names) <= set(dir(collapse_theory))


def test_a_public_name_means_the_same_whatever_was_imported_before() -> None:
    """An imported submodule becomes an attribute of the package: it must not hide a public name."""
    import_all = """
import importlib, pkgutil
for module in pkgutil.walk_packages(collapse_theory.__path__, "collapse_theory."):
    importlib.import_module(module.name)
"""
    show = """
print({name: type(getattr(collapse_theory, name)).__name__ for name in collapse_theory.__all__})
"""
    fresh = run("-c", f"import collapse_theory{show}", cwd=ROOT)
    assert run("-c", f"import collapse_theory{import_all}{show}", cwd=ROOT) == fresh


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = collapse_theory.no_such_name


def declared_requirements(*extras: str) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in extras for line in optional[extra])]
    return [Requirement(line) for line in lines]


def test_what_the_set_up_installs_is_pinned() -> None:
    """All that the declared requirements reach through the installed packages' metadata."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {
        canonicalize_name(line.partition("==")[0])
        for line in lines
        if re.fullmatch(r"[\w.-]+==[\w.]+", line)
    }
    assert len(pins) == sum(bool(line) and not line.startswith("#") for line in lines)

    reached: set[str] = set()
    waiting = [(requirement, "") for requirement in declared_requirements("data", "sweep", "dev")]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if f"{name}[{extra}]" in reached:
                continue
            reached.add(f"{name}[{extra}]")
            waiting += [(Requirement(line), extra) for line in metadata.requires(name) or ()]
    names = {entry.partition("[")[0] for entry in reached}
    assert names <= pins, f"not pinned in constraints.txt: {sorted(names - pins)}"


def test_installed_versions_are_within_the_declared_ranges() -> None:
    outside = {
        str(requirement): found
        for requirement in declared_requirements("data", "sweep", "dev")
        if not requirement.specifier.contains(found := metadata.version(requirement.name))
    }
    assert not outside


# ------------------------------------------------------------------------ what holds for every test


def test_numerical_libraries_use_one_thread() -> None:
    torch = pytest.importorskip("torch")
    threadpoolctl = pytest.importorskip("threadpoolctl")
    _ = np.ones((2, 2)) @ np.ones((2, 2))
    pools = threadpoolctl.threadpool_info()
    assert pools
    assert {pool["num_threads"] for pool in pools} == {1}
    assert torch.get_num_threads() == 1


def test_floating_point_errors_raise_but_underflow_does_not() -> None:
    with pytest.raises(FloatingPointError):
        _ = np.ones(1) / np.zeros(1)
    assert np.exp(np.float64(-800)) == 0


# ---------------------------------------------------------------------------------------- the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout with the installed build backend."""
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def run(*command: str | Path, cwd: Path, program: str | Path = sys.executable) -> str:
    """Standard output of a command that has to succeed."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [program, *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_the_wheel_ships_the_library_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
    information = f"collapse_theory-{collapse_theory.__version__}.dist-info"
    assert {name.partition("/")[0] for name in files} == {"collapse_theory", information}
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".pyo"}
    }
    assert "collapse_theory/py.typed" in sources
    assert {name for name in files if name.startswith("collapse_theory/")} == sources
    assert f"{information}/licenses/LICENSE" in files


@pytest.mark.slow
def test_the_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """The wheel in a new environment, run from a folder outside the checkout.

    What is emulated: the dependencies. They are borrowed, through a path file, from the environment
    that runs the tests; installing them again takes minutes and gigabytes, and is what
    `make wheel-check` does. The library itself cannot come from there: path files that lie on a
    borrowed path are not read, so the checkout's editable install has no effect.
    """
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True, with_pip=False)
    places = {"base": str(environment), "platbase": str(environment)}
    site_packages = Path(sysconfig.get_path("purelib", "venv", vars=places))
    scripts = Path(sysconfig.get_path("scripts", "venv", vars=places))
    borrowed = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    python = scripts / "python"
    run("-m", "pip", "--python", python, "install", "--no-deps", wheel, cwd=tmp_path)
    (site_packages / "borrowed.pth").write_text("\n".join(borrowed), encoding="utf-8")

    where = "import collapse_theory; print(collapse_theory.__file__)"
    assert Path(run("-c", where, cwd=tmp_path, program=python).strip()).is_relative_to(
        site_packages
    )
    for folder in ("proofs", "simulations", "tests"):
        absent = f"import importlib.util; print(importlib.util.find_spec('{folder}'))"
        assert run("-c", absent, cwd=tmp_path, program=python) == "None\n"

    assert "verify" in run("--help", cwd=tmp_path, program=scripts / "collapse-theory")
    examined = run("-c", THREE_LINES, cwd=tmp_path, program=python)
    assert "REFUTED" in examined.upper()


THREE_LINES = """
from collapse_theory import examine, get_claim
print(examine(get_claim("paper_lemma_4_1"), seed=0, effort="quick").verdict)
"""
