"""Each file that is not ours has a row in NOTICE.md, and each row a file."""

import base64
import hashlib
import importlib.metadata
import json
import re
import zipfile
from fnmatch import fnmatch

import pytest
from attention_site import host, lean, served
from fontTools.ttLib import TTFont

from tools import cut_fonts, website

ROOT = website.ROOT


def table(heading):
    """The rows of NOTICE.md below a heading, as lists of cells."""
    text = (ROOT / "NOTICE.md").read_text("utf-8")
    lines = text.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()
    rows = [line.strip("|").split("|") for line in lines if line[:3] == "| `"]
    return [[cell.strip() for cell in row] for row in rows]


STORED = table("In the repository and in the package")
BUILT = table("In a built site")
LIVE = "_static/live/"


def named(file, rows):
    """The rows that name a file."""
    return [
        row
        for row in rows
        if any(fnmatch(file, it) for it in re.findall(r"`(\S+)`", row[0]))
    ]


def unnamed(files, rows):
    return sorted(file for file in files if not named(file, rows))


def stored_by_others():
    """Fonts, texts, and what tools measured in the published model."""
    found = [*cut_fonts.WHOLE.glob("*.woff2"), *cut_fonts.CUT.glob("*.woff2")]
    found += (ROOT / "course/evidence").glob("*.txt")
    found += served.OWN.glob("editor.js")
    for path in (ROOT / "course/evidence").glob("*.json"):
        data = json.loads(path.read_text("utf-8"))
        tool = re.match(r"python -m research\.(\w+)", data["made"])
        source = (ROOT / f"research/{tool[1]}.py").read_text() if tool else ""
        if "model" in data or "smollm2" in source:
            found.append(path)
    return [path.relative_to(ROOT).as_posix() for path in found]


def built_by_others(site):
    """The files beside the pages that neither we nor our extension wrote."""
    own = {
        path.relative_to(ROOT / "book").as_posix()
        for path in (ROOT / "book/_static").rglob("*")
        if path.parent.name != "fonts"
    }
    own |= {
        f"_static/{path.name}"
        for path in (ROOT / "course/figures").rglob("*.*")
    }
    own |= {
        path.relative_to(site).as_posix()
        for path in site.glob("_static/figures/*")
    } | {"_static/search_texts.js"}
    own |= {f"{LIVE}{path.name}" for path in served.OWN.iterdir()}
    own |= {f"{LIVE}pyodide-lock.json"}
    own -= {f"{LIVE}editor.js"}
    own -= {
        f"_static/figures/{file.rpartition('/')[2].replace('.json', '.js')}"
        for file in stored_by_others()
    }
    return {
        path.relative_to(site).as_posix()
        for path in site.glob("_static/**/*")
        if path.is_file()
    } - own


def test_every_file_of_others_is_named(site):
    assert len(stored_by_others()) > 15
    assert len(built_by_others(site)) > 60
    assert not unnamed(stored_by_others(), STORED)
    assert not unnamed(built_by_others(site), BUILT)


@pytest.mark.parametrize("row", STORED + BUILT, ids=lambda row: row[1])
def test_a_row_is_needed_and_has_its_licence(site, row):
    rows = STORED if row in STORED else BUILT
    files = stored_by_others() if row in STORED else built_by_others(site)
    if LIVE in row[0] and not any(LIVE in file for file in files):
        pytest.skip("this site was built without what runs its pages")
    assert unnamed(files, [other for other in rows if other != row])
    for pattern in re.findall(r"`(\S+)`", row[0]):
        assert any(fnmatch(file, pattern) for file in files), pattern
    for name in row[3].split(" and "):
        licence = ROOT / "LICENSES" / f"{name}.txt"
        assert name == "public domain" or licence.is_file()
    assert row[2]
    assert row[4]


def test_a_row_names_the_package_that_has_the_file(site):
    """Python's own records say which package installed which bytes."""
    owners = {}
    for package in importlib.metadata.distributions():
        for file in package.files or ():
            if file.hash and file.suffix != ".py":
                name = re.sub("[-_.]+", "-", package.name).lower()
                owners.setdefault(file.hash.value, set()).add(name)
    known = 0
    for file in built_by_others(site):
        digest = hashlib.sha256((site / file).read_bytes()).digest()
        value = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        found = owners.get(value, set()) - {"attention-verified"}
        known += bool(found)
        said = {row[4] for row in named(file, BUILT)}
        assert not found or found & said, f"{file}: {found}, not {said}"
    assert known > 40


OURS = "figures.css", "practice.css", "site.css"


def test_what_is_bundled_is_named_with_its_bundle():
    theirs = [name for name in lean.STYLES if name not in OURS]
    parts = {"bundle.css": theirs, "bundle.js": lean.SCRIPTS}
    for whole, names in parts.items():
        for name in names:
            rows = named(f"_static/{name}", BUILT)
            assert rows, name
            for row in rows:
                assert f"`_static/{whole}`" in row[0], row[1]


def test_the_bundle_keeps_the_notices_of_its_parts(site):
    def words(text):
        return " ".join(re.findall(r"[\w.:/()©,-]+", text))

    kept = words((site / "_static/bundle.css").read_text("utf-8"))
    found = set()
    for name in lean.STYLES:
        text = lean.joined(site / "_static", [name])
        for notice in re.findall(r"/\*.*?\*/", text, re.S):
            if re.search("copyright|licen[sc]e", notice, re.I):
                found.add(words(notice))
    assert len(found) >= 4
    assert not [notice for notice in found if notice not in kept]


@pytest.mark.parametrize("path", [*cut_fonts.ICONS.glob("fa-*-*.woff2")])
def test_a_cut_font_has_no_reserved_name(path):
    """OFL, 3: what was modified may not use the reserved name."""
    assert "Font Awesome" in TTFont(path)["name"].getDebugName(1)
    cut = TTFont(cut_fonts.CUT / path.name)["name"]
    assert "Font Awesome" not in cut.getDebugName(1)
    assert "Font Awesome" in cut.getDebugName(0), "whose it is"


def test_licences_come_with_the_site_and_its_archive(site):
    texts = {f"LICENSES/{it.name}" for it in (ROOT / "LICENSES").iterdir()}
    files = {"NOTICE.txt": "NOTICE.md", "LICENSE.txt": "LICENSE"}
    files |= {name: name for name in texts}
    with zipfile.ZipFile(site / host.ARCHIVE) as archive:
        for built, stored in files.items():
            text = (ROOT / stored).read_bytes()
            assert (site / built).read_bytes() == text
            assert archive.read(f"attention-verified/{built}") == text
