"""What runs pages in the browser: each file the published one, or refused."""

import base64
import gzip
import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from fnmatch import fnmatch
from types import SimpleNamespace

import pytest
from attention_site import served

from tests import budgets
from tools import live

ROOT = live.ROOT


@pytest.fixture
def stand_ins(tmp_path, monkeypatch):
    """Small files with their sums, and a folder that has them all."""
    texts = {
        "core.js": b"js",
        "a-1-py3-none-any.whl": b"wheel",
        "b-2-py3-none-any.whl": b"of PyPI",
    }
    files = {
        name: {"size": len(it), "sha256": hashlib.sha256(it).hexdigest()}
        for name, it in texts.items()
    }
    last = files["b-2-py3-none-any.whl"]
    last.update(index="PyPI", package="b", version="2")
    data = {"carrier": "carrier==1", "files": files}
    monkeypatch.setattr(live, "DATA", data)
    sent = tmp_path / "sent"
    sent.mkdir()
    for name, it in texts.items():
        (sent / name).write_bytes(it)

    def by_pip(requirement, into):
        """A carrier with other files besides, and the wheel of PyPI."""
        if requirement == "b==2":
            return sent / "b-2-py3-none-any.whl"
        assert requirement == "carrier==1"
        with zipfile.ZipFile(tmp_path / "carrier.whl", "w") as file:
            for path in sent.iterdir():
                file.write(path, f"carrier/assets/{path.name}")
            file.writestr("carrier/__init__.py", "raise SystemExit")
        return tmp_path / "carrier.whl"

    monkeypatch.setattr(live, "by_pip", by_pip)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("LIVE", "LIVE_FROM"):
        monkeypatch.delenv(name, raising=False)
    return SimpleNamespace(sent=sent, texts=texts)


def kept():
    return {path.name: path.read_bytes() for path in live.cache().glob("*")}


@pytest.mark.parametrize("source", ["carrier", "folder", "archive"])
def test_only_the_listed_files_are_kept(
    stand_ins, source, tmp_path, monkeypatch
):
    if source == "folder":
        monkeypatch.setenv("LIVE_FROM", stand_ins.sent.as_uri() + "/")
    if source == "archive":
        archive = live.by_pip("carrier==1", None).rename(tmp_path / "x.zip")
        monkeypatch.setenv("LIVE_FROM", archive.as_uri())
    live.get(live.cache())
    assert kept() == stand_ins.texts


def test_nothing_else_is_taken_out_of_an_archive(stand_ins, tmp_path):
    (tmp_path / "into").mkdir()
    carrier = live.by_pip("carrier==1", None)
    live.unpacked(carrier, ["core.js"], tmp_path / "into")
    assert [it.name for it in (tmp_path / "into").rglob("*")] == ["core.js"]


@pytest.mark.parametrize("name", ["core.js", "b-2-py3-none-any.whl"])
@pytest.mark.parametrize("from_folder", [False, True])
def test_a_wrong_byte_is_refused_by_name(
    stand_ins, name, from_folder, monkeypatch, capsys
):
    text = bytearray(stand_ins.texts[name])
    text[0] ^= 1
    (stand_ins.sent / name).write_bytes(text)
    if from_folder:
        monkeypatch.setenv("LIVE_FROM", stand_ins.sent.as_uri())
    monkeypatch.setenv("LIVE", "required")
    with pytest.raises(live.Missing, match=f"{name} is not the published"):
        live.ready()
    assert name not in kept()
    # Without the wish, a site is built that does not run.
    monkeypatch.delenv("LIVE")
    assert live.ready() is None
    said = capsys.readouterr().out
    assert f"Pages will not run in the browser: {name} is not" in said


def test_a_file_that_is_not_sent_is_named(stand_ins):
    (stand_ins.sent / "core.js").unlink()
    with pytest.raises(live.Missing, match=r"core\.js is missing"):
        live.get(live.cache())


def test_what_is_wrong_or_half_in_the_cache_is_fetched_again(stand_ins):
    live.get(live.cache())
    (live.cache() / "core.js").write_bytes(b"j")
    asked = []
    live.get(live.cache(), asked.append)
    assert kept() == stand_ins.texts
    assert asked == ["Getting files to run pages: 1, of 0.0 MB ..."]
    live.get(live.cache(), asked.append)
    assert len(asked) == 1, "nothing is asked for twice"


def test_the_archive_of_a_release_can_be_built_from(
    stand_ins, tmp_path, monkeypatch
):
    live.get(live.cache())
    live.archive(live.cache(), tmp_path / "pyodide.zip")
    first = (tmp_path / "pyodide.zip").read_bytes()
    live.archive(live.cache(), tmp_path / "pyodide.zip")
    assert first == (tmp_path / "pyodide.zip").read_bytes()
    monkeypatch.setenv("LIVE_FROM", (tmp_path / "pyodide.zip").as_uri())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    live.get(live.cache())
    assert kept() == stand_ins.texts


def test_without_a_network_a_build_goes_on_and_a_release_does_not(
    stand_ins, monkeypatch, capsys
):
    def by_pip(requirement, into):
        raise live.Missing("pip could not download: no network")

    monkeypatch.setattr(live, "by_pip", by_pip)
    assert live.ready() is None
    assert "Pages will not run in the browser: pip could" in (
        capsys.readouterr().out
    )
    monkeypatch.setenv("LIVE", "required")
    with pytest.raises(live.Missing, match="no network"):
        live.ready()
    monkeypatch.setenv("LIVE", "off")
    assert live.ready() is None
    monkeypatch.setenv("LIVE", "yes")
    with pytest.raises(live.Missing, match="off or required"):
        live.ready()


def test_the_listed_files_fit_one_another():
    """What needs what, and which names are imported, without a browser."""
    packages = {
        it["package"]: it
        for it in live.DATA["files"].values()
        if "package" in it
    }
    for it in packages.values():
        assert it["depends"] == [d for d in it["depends"] if d in packages]
    pins = (ROOT / "requirements.txt").read_text("utf-8")
    for name, it in live.DATA["files"].items():
        assert re.fullmatch(r"[0-9a-f]{64}", it["sha256"]), name
        assert it["licence"], name
        assert it["source"].startswith("https://"), name
        if it.get("index") == live.PYPI:
            pin = pins.split(f"\n{it['package']}==")[1].split("\n")
            assert pin[0].split()[0] == it["version"], name
            assert any(it["sha256"] in line for line in pin[:4]), name


@pytest.mark.weekly
@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not there")
def test_the_sums_are_those_that_pyodide_publishes(tmp_path):
    reference = live.DATA["reference"]
    command = ["npm", "pack", reference["package"], "--silent"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (packed,) = tmp_path.iterdir()
    digest = hashlib.sha512(packed.read_bytes()).digest()
    said = base64.b64encode(digest).decode()
    assert reference["integrity"] == f"sha512-{said}"
    with tarfile.open(packed) as file:
        texts = {
            member.name.removeprefix("package/"): file.extractfile(
                member
            ).read()
            for member in file.getmembers()
        }
    lock = json.loads(texts["pyodide-lock.json"])
    assert lock["info"] == live.DATA["info"]
    assert lock["info"]["version"] == live.DATA["pyodide"]
    for name, it in live.DATA["files"].items():
        if it.get("index") == live.PYPI:
            continue
        if "package" not in it:
            known = hashlib.sha256(texts[name]).hexdigest()
        else:
            entry = lock["packages"][it["package"]]
            known = entry["sha256"]
            assert name == entry["file_name"]
            assert it["version"] == entry["version"]
            assert it["imports"] == entry["imports"]
            assert set(it["depends"]) <= set(entry["depends"])
        assert it["sha256"] == known, name


@pytest.fixture(scope="module")
def files():
    """The folder of the real files, or none: then a test is skipped."""
    folder = live.cache()
    for name, it in live.DATA["files"].items():
        if live.fault(folder / name, it):
            pytest.skip("python -m tools.live has not fetched the files")
    return folder


@pytest.fixture(scope="module")
def made(files, tmp_path_factory):
    """What the site serves, made twice."""
    folders = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTENTION_LIVE", str(files))
        for name in ("one", "two"):
            out = tmp_path_factory.mktemp(name)
            served.write(SimpleNamespace(outdir=out))
            folders.append(out / "_static/live")
    return folders


def test_two_builds_serve_the_same_bytes(made):
    one, two = made
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in two.iterdir())
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_the_sums_are_of_what_is_served(made):
    said = json.loads((made[0] / "files.json").read_text())
    names = {path.name for path in made[0].iterdir()} - {"files.json"}
    assert set(said["files"]) == names
    for name, it in said["files"].items():
        text = (made[0] / name).read_bytes()
        assert it["size"] == len(text)
        assert it["sha256"] == hashlib.sha256(text).hexdigest()
    lock = json.loads((made[0] / "pyodide-lock.json").read_text())
    for it in lock["packages"].values():
        assert it["sha256"] == said["files"][it["file_name"]]["sha256"]
    assert said["pyodide"] == lock["info"]["version"]


def test_others_files_are_served_as_published(made, files):
    """Whole, or with members left out, each other one as in the wheel."""
    for name, it in live.DATA["files"].items():
        if "without" not in it:
            assert (made[0] / name).read_bytes() == (files / name).read_bytes()
            continue
        with (
            zipfile.ZipFile(files / name) as whole,
            zipfile.ZipFile(made[0] / name) as cut,
        ):
            gone = set(whole.namelist()) - set(cut.namelist())
            assert gone
            for pattern in it["without"]:
                assert any(fnmatch(member, pattern) for member in gone)
            assert not [m for m in gone if "LICENSE" in m or m.endswith(".py")]
            ours = it.get("instead", {})
            for member in cut.namelist():
                text = cut.read(member)
                if member in ours:
                    assert text == (served.OWN / ours[member]).read_bytes()
                else:
                    assert text == whole.read(member), member


def test_the_list_of_fonts_is_of_the_fonts_that_are_served(made):
    listed = json.loads((served.OWN / "fontlist.json").read_text())
    (wheel,) = made[0].glob("matplotlib-*.whl")
    with zipfile.ZipFile(wheel) as file:
        code = file.read("matplotlib/font_manager.py").decode()
        fonts = [n for n in file.namelist() if n.endswith(".ttf")]
    found = [f"matplotlib/mpl-data/{it['fname']}" for it in listed["ttflist"]]
    assert sorted(found) == sorted(fonts)
    assert f"__version__ = {listed['_version']}\n" in code, "else it is remade"


def test_the_archive_has_the_modules_as_they_are(made):
    """All of `helpers` and `course`, and nothing that a page cannot use."""
    with zipfile.ZipFile(made[0] / "course.zip") as file:
        texts = {name: file.read(name) for name in file.namelist()}
    own = {n for n in texts if n.split("/")[0] in ("course", "helpers")}
    modules = {
        path.relative_to(ROOT).as_posix()
        for package in ("course", "helpers")
        for path in (ROOT / package).rglob("*.py")
    }
    assert {name for name in own if name.endswith(".py")} == modules
    assert {name.rpartition(".")[2] for name in own} == {
        "py", "yml", "json", "txt",
    }  # fmt: skip
    for name in own:
        assert texts[name] == (ROOT / name).read_bytes(), name
    for path in served.OWN.rglob("*.py"):
        assert texts[path.relative_to(served.OWN).as_posix()]
    python = importlib.metadata.distribution("ipython")
    pretty = python.locate_file("IPython/lib/pretty.py").read_bytes()
    assert texts["IPython/lib/pretty.py"] == pretty


def test_evidence_is_there_where_something_asks_for_it():
    """Each literal argument of `stored`, and no file that is never named."""
    asked = set()
    notebooks = [ROOT / "index.ipynb", *(ROOT / "book").rglob("*.ipynb")]
    for path in notebooks:
        for code in served.cells(path):
            if "from course.evidence import" in code or "stored(" in code:
                asked |= set(re.findall(r'\bstored\("([\w-]+)"\)', code))
    files = {path.split("/")[-1] for path in served.evidence()}
    assert len(asked) > 10
    assert {f"{name}.json" for name in asked} <= files
    assert "alice.txt" in files
    assert "induction-steps.json" in files, "trained_induction(step) reads it"
    assert not [name for name in files if name.startswith("heads-")]


EDITOR = ROOT / "tools/editor"
BUNDLE = served.OWN / "editor.js"


def test_the_editor_is_made_of_what_is_here_and_is_small():
    digest = hashlib.sha256()
    for name in ("package-lock.json", "editor.js", "build.js"):
        digest.update((EDITOR / name).read_bytes())
    first = BUNDLE.read_text("utf-8").partition("\n")[0]
    assert f"Made of {digest.hexdigest()} " in first, "run: make editor"
    size = len(gzip.compress(BUNDLE.read_bytes(), 9))
    budgets.keep("editor.js, compressed", size, 130_000)
    lock = (EDITOR / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock, "no address of a registry"


@pytest.mark.weekly
@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not there")
def test_the_editor_is_made_again_to_the_byte(tmp_path):
    made = tmp_path / "editor.js"
    command = ["make", "editor", f"EDITOR_FILE={made}"]
    subprocess.run(command, cwd=ROOT, check=True)
    assert made.read_bytes() == BUNDLE.read_bytes()


OPEN = """() => {
  globalThis.told = [];
  const tell = (what) => (text) => told.push([what, text]);
  globalThis.editor = liveEditor(document.querySelector("#place"), "x = 1", {
    label: "Code of cell 3",
    onRun: tell("run"),
    onLeave: tell("leave"),
    onChange: tell("change"),
  });
  editor.focus();
}"""


def test_the_editor_takes_no_tab_before_the_reader_types(page):
    page.visit('<div id="place"></div><button id="next">Next</button>')
    tab = page.tab
    tab.add_script_tag(content=BUNDLE.read_text("utf-8"))
    tab.evaluate(OPEN)
    field = tab.get_by_role("textbox", name="Code of cell 3", exact=True)
    at = "document.activeElement.id"
    tab.keyboard.press("Tab")
    assert tab.evaluate(at) == "next"
    tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("Control+End")
    tab.keyboard.type("\nif x:\ny = 2")
    tab.keyboard.press("Tab")
    wanted = "x = 1\nif x:\n        y = 2"
    assert tab.evaluate("editor.text()") == wanted
    assert tab.evaluate("told.splice(0).at(-1)") == ["change", wanted]
    tab.keyboard.press("Shift+Enter")
    assert tab.evaluate("told.splice(0)") == [["run", wanted]]
    tab.keyboard.press("Escape")
    assert tab.evaluate("told.splice(0)") == [["leave", wanted]]
    tab.keyboard.press("Tab")
    assert tab.evaluate(at) == "next"
    # A text that the page sets is no typing.
    tab.evaluate("editor.set('z'); editor.focus()")
    tab.keyboard.press("Tab")
    assert tab.evaluate(at) == "next"
    assert tab.evaluate("editor.text()") == "z"
    assert field.count() == 1
    tab.evaluate("editor.destroy()")
    assert field.count() == 0
    assert not page.errors
