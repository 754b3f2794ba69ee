"""What is shipped, and the house rules that a machine can check: imports, folders, texts."""

import ast
import csv
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("core", "envs", "agents", "experiments", "notebooks")
SIDES = ("top", "right", "bottom", "left")
# Which packages a package may import from; the arrows run one way.
ARROWS = {
    "core": {"core"},
    "envs": {"core", "envs"},
    "agents": {"core", "agents"},
    "experiments": {"core", "envs", "agents", "experiments"},
    "notebooks": set(FOLDERS),
}


def sources(*folders):
    """All Python files of the packages."""
    return [path for folder in folders or FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def imports(path):
    """Every module named by an import statement of the file, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Names of the files in a wheel built from a copy of the sources, so that nothing old or foreign gets in."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    built = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    [path] = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_source_and_data_file(wheel):
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    shipped = {
        f"trilithon/{path.relative_to(ROOT).as_posix()}"
        for path in files
        if path.suffix in {".py", ".csv", ".txt", ".yaml"} or path.name == "py.typed"
        if not any(part.startswith((".", "__pycache__")) for part in path.relative_to(ROOT).parts)
    }
    assert len(shipped) > 20
    assert "trilithon/core/aeroliths/catalogues/standard.csv" in shipped
    assert "trilithon/core/aether/board_files/standard.txt" in shipped
    assert shipped - wheel == set()


def test_the_wheel_holds_nothing_else(wheel):
    tops = {name.split("/")[0] for name in wheel}
    assert {top for top in tops if not re.fullmatch(r"trilithon-[\w.]+\.dist-info", top)} == {"trilithon"}
    seconds = {name.split("/")[1] for name in wheel if name.startswith("trilithon/")}
    assert seconds == set(FOLDERS)


def test_no_folder_shadows_the_package():
    assert not (ROOT / "trilithon").exists()


def test_numba_is_imported_in_two_files_alone():
    users = {
        str(path.relative_to(ROOT)) for path in sources() if any(n.split(".")[0] == "numba" for n in imports(path))
    }
    assert users <= {"core/jit.py", "core/verbs.py"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_run_one_way(folder):
    for path in sources(folder):
        for name in imports(path):
            parts = name.split(".")
            assert parts[0] not in FOLDERS, f"{path}: import trilithon.{name}"
            if parts[0] == "trilithon" and len(parts) > 1:
                assert parts[1] in ARROWS[folder], f"{path} imports {name}"


def test_no_file_runs_what_it_reads():
    """Nothing that could run a stranger's code: no pickle, no evaluation, no unsafe loaders."""
    for path in sources():
        names = {name.split(".")[0] for name in imports(path)}
        assert not names & {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}, path
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            assert called not in {"eval", "exec", "yaml.load", "yaml.unsafe_load", "torch.load"}, f"{path}: {called}"
            given = {
                word.arg for word in node.keywords if isinstance(word.value, ast.Constant) and word.value.value is True
            }
            assert not given & {"allow_pickle", "shell"}, f"{path}: {called}"


def test_no_agent_names_a_game():
    for path in sources("agents"):
        assert not re.search("aeroliths|aether|selenolyth", path.read_text(), re.IGNORECASE), path


def test_importing_rules_and_environments_does_not_import_torch():
    script = """if True:
        import sys, trilithon.core
        heavy = {"torch", "pettingzoo", "gymnasium", "matplotlib", "tensorboard", "ray"} & set(sys.modules)
        assert not heavy, heavy
        import trilithon.envs
        heavy = {"torch", "matplotlib", "tensorboard", "ray"} & set(sys.modules)
        assert not heavy, heavy
    """
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def text_files():
    """Files of the project that are text: what git knows or would take, else everything outside built folders."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
        paths = [ROOT / name for name in names if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [*ROOT.glob("*.*"), *(p for f in (*FOLDERS, "tests", "docs") for p in (ROOT / f).rglob("*"))]
    endings = {".py", ".md", ".toml", ".yaml", ".yml", ".cfg", ".csv", ".json", ".svg", ".ipynb", ".txt", ""}
    return [path for path in paths if path.is_file() and not path.is_symlink() and path.suffix in endings]


def test_no_path_of_one_machine():
    folders = "|".join(("work", "root", "home", "tmp", "Users"))
    pattern = re.compile(rf"(?<![\w.~/)>}}-])/({folders})/\w")
    found = []
    for path in text_files():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert len(text_files()) > 30
    assert not found


def test_the_standard_catalogue_is_fair():
    with open(ROOT / "core/aeroliths/catalogues/standard.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["name", *SIDES, "element"]
    assert len(rows) >= 80
    assert len({row["name"] for row in rows}) == len(rows)
    lithos = [(tuple(int(row[side]) for side in SIDES), row["element"]) for row in rows]
    assert len(set(lithos)) == len(lithos)  # a Litho's values tell its name
    assert all(1 <= value <= 10 for sides, _ in lithos for value in sides)
    sums = [sum(sides) for sides, _ in lithos]
    assert sum(18 <= total <= 22 for total in sums) > 0.9 * len(sums)
    for specialist in (sides for sides, _ in lithos if max(sides) == 10):
        assert sum(specialist) <= 20
        assert sorted(specialist)[2] <= 4
    counts = Counter(element for _, element in lithos)
    assert counts.keys() == {"fire", "wind", "earth", "water", "none"}
    assert len({counts[element] for element in ("fire", "wind", "earth", "water")}) == 1
    means = [sum(sum(s) for s, e in lithos if e == element) / count for element, count in counts.items()]
    assert max(means) - min(means) < 0.5
