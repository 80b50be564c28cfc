"""A release: what it needs and writes, and that it repeats to the byte."""

import hashlib
import json
import re
import zipfile

import pytest
import yaml

from tools import release

FULL = {
    "repository": "https://github.com/a/b",
    "authors": [
        {"name": "B, A", "affiliation": "C", "orcid": "0000-0002-1825-0097"}
    ],
    "contact": "a@b.test",
    "teaching": "t",
    "disclosure": "d",
}


def test_the_stored_metadata_agree_with_their_sources():
    told = yaml.safe_load((release.ROOT / "CITATION.cff").read_text("utf-8"))
    kept = json.loads((release.ROOT / ".zenodo.json").read_text("utf-8"))
    assert told == yaml.safe_load(release.citation()), "run: make texts"
    assert kept == json.loads(release.zenodo()), "run: make texts"
    assert told["version"] == kept["version"] == release.project()["version"]
    assert told["title"] == kept["title"]


CODE = re.compile(r"```.*?```|`[^`]*`", re.S)  # an example leads nowhere
LINK = re.compile(r"\]\(([^)\s]+)\)")
TEXTS = [
    path
    for folder in (".", "paper", "findings")
    for path in sorted((release.ROOT / folder).glob("*.md"))
]


def anchors(text):
    """The names that GitHub gives the headings of a text."""
    for line in re.findall(r"^#+ (.+)$", text, re.M):
        yield re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_of_the_texts_beside_the_book_lead_somewhere(path):
    for link in LINK.findall(CODE.sub("", path.read_text("utf-8"))):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, place = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        if place:
            assert place in set(anchors(target.read_text("utf-8"))), link


@pytest.fixture
def ready(tmp_path, monkeypatch):
    """A folder in which nothing is missing; `git` answers as told."""
    for name in release.MARKED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text", "utf-8")
    log = "# Log\n\n## 9.9.9, 2026-01-02\n\n* New.\n\n## 9.9.8, 2026-01-01\n"
    (tmp_path / "CHANGELOG.md").write_text(log, "utf-8")
    said = {"status": "", "tag": "", "archive": ""}
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "BUILD", tmp_path / "_build")
    monkeypatch.setattr(release, "MADE", tmp_path / "_build" / "release")
    monkeypatch.setattr(release, "owner", lambda: FULL)
    monkeypatch.setattr(release, "project", lambda: {"version": "9.9.9"})
    monkeypatch.setattr(release, "git", lambda word, *_: said[word])
    monkeypatch.setattr(release.live, "DATA", {"files": {}})
    for path in release.built():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("built", "utf-8")
    return tmp_path, said


def test_nothing_is_missing_where_all_is_filled_in(ready):
    assert release.missing() == []
    assert release.notes() == "* New.\n"


def test_what_the_owner_left_empty_stops_a_release(ready, monkeypatch):
    monkeypatch.setattr(release, "owner", lambda: {**FULL, "authors": []})
    assert release.missing() == ["owner.yml: authors is empty"]


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("SECURITY.md", "to {owner: an address}.", "an address is open"),
        ("CHANGELOG.md", "## 9.9.9, soon\n", "has no date"),
        ("CHANGELOG.md", "## 9.9.8, 2026-01-02\n", "begins with 9.9.8"),
    ],
)
def test_an_open_place_stops_a_release(ready, file, text, told):
    (ready[0] / file).write_text(text, "utf-8")
    assert told in "\n".join(release.missing())


def test_what_is_not_built_stops_a_release_and_no_rehearsal(
    ready, monkeypatch
):
    ready[0].joinpath("_build/html/attention-verified.zip").unlink()
    told = "attention-verified.zip: not built; make release builds it"
    assert release.missing() == [told]
    made = [path.name for path in release.write_files()]
    assert not [name for name in made if name.endswith("site.zip")]
    assert "attention-verified-9.9.9-lessons.pdf" in made


def test_what_runs_pages_is_part_of_a_release(ready, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    listed = {"files": {"a.whl": {"sha256": "0"}}}
    monkeypatch.setattr(release.live, "DATA", listed)
    told = "a.whl: not there; python -m tools.live gets it"
    assert release.missing() == [told]
    assert not [it for it in release.write_files() if "pyodide" in it.name]


@pytest.mark.parametrize(
    ("word", "told"), [("status", "commit"), ("tag", "v9")]
)
def test_a_dirty_folder_or_an_old_tag_stops_a_release(ready, word, told):
    ready[1][word] = "x"
    assert told in "\n".join(release.missing())


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (None, "git status --porcelain failed: fatal: not a git"),
        ("", "not ins"),
    ],
)
def test_a_release_without_a_checkout_or_git_is_said(
    tmp_path, monkeypatch, path, said
):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    if path is not None:
        monkeypatch.setenv("PATH", path)
    with pytest.raises(SystemExit, match=f"^no release: .*{said}"):
        release.git("status", "--porcelain")


def test_files_of_a_release_repeat_to_the_byte(ready, monkeypatch):
    root, _ = ready
    monkeypatch.undo()
    monkeypatch.setattr(release.live, "DATA", {"files": {}})
    monkeypatch.setattr(release, "project", lambda: {"version": "9.9.9"})
    monkeypatch.setattr(release, "BUILD", root / "_build")
    monkeypatch.setattr(release, "MADE", root / "_build" / "release")
    made = [f"html/{release.NAME}.zip", *(f"pdf/{p}" for p in release.PAPERS)]
    for name in made:
        (root / "_build" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "_build" / name).write_text(name, "utf-8")
    first = {path.name: path.read_bytes() for path in release.write_files()}
    second = {path.name: path.read_bytes() for path in release.write_files()}
    assert first == second
    assert len(first) == 6
    sums = first.pop("SHA256SUMS").decode()
    assert sorted(re.findall(r"  (.+)", sums)) == sorted(first)
    for name, data in first.items():
        assert f"{hashlib.sha256(data).hexdigest()}  {name}\n" in sums
    path = root / "_build/release/attention-verified-9.9.9-notebooks.zip"
    names = zipfile.ZipFile(path).namelist()
    top = "attention-verified-9.9.9/"
    assert {f"{top}index.ipynb", f"{top}helpers/softmax.py"} <= set(names)
    assert f"{top}tools/jupyter/labconfig/" in names, "postBuild copies it"
    rights = {"LICENSE", "NOTICE.md", "LICENSES/Apache-2.0.txt"}
    assert {f"{top}{name}" for name in rights} <= set(names)
    assert not [name for name in names if "/_ext/" in name or "tests/" in name]
