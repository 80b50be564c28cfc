"""The site's extension, part by part, without a browser."""

import hashlib
import re
import shutil
import subprocess
import zipfile
from html import escape
from io import StringIO
from types import SimpleNamespace
from xml.etree import ElementTree

import attention_site
import nbformat
import pytest
from attention_site import (
    about,
    code,
    figures,
    frame,
    host,
    kept,
    launch,
    mathml,
    menu,
    parsed,
    practice,
    sections,
)
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.utils import new_document
from pygments.lexers import PythonLexer
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.errors import ExtensionError

from course import _themed, plotting
from tests.site import address
from tests.site.builds import build
from tools import make_site as make
from tools import website

# A small book with the real theme, the real extension and the real settings.

OWN_ADDRESS = 'html_baseurl = "https://a.example/b/"'
SETTINGS = f"""
import sys, yaml
from pathlib import Path

given = Path({str(website.ROOT / "_config.yml")!r}).read_text("utf-8")
config = yaml.safe_load(given)["sphinx"]["config"]
left_out = ("jupyter_book", "sphinx_comments", "sphinx_external_toc",
            "sphinxcontrib.bibtex", "sphinx.ext.autodoc")
config["extensions"] = [e for e in config["extensions"] if e not in left_out]
globals().update(config)
sys.path.insert(0, "book/_ext")
html_theme = "sphinx_book_theme"
html_title = "A book"
numfig = True
{OWN_ADDRESS}
exclude_patterns = ["book", "_build*", "NOTICE.md"]
"""
FIRST = """# First

A formula ($x$), and code:

```python
from math import pi
```

```{prf:theorem}
Something.
```

```{toctree}
second
third
fourth
```

{ref}`part` {numref}`named`
"""
SECOND = """# Second

(part)=
## A part

```{code-block} python
:caption: Code with a number.
:name: named
1 + 1
```
"""


def write_book(folder):
    for part in ("book/_ext", "book/_static"):
        shutil.copytree(
            website.ROOT / part,
            folder / part,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for name in ("requirements.txt", "LICENSE", "NOTICE.md"):
        shutil.copy(website.ROOT / name, folder)
    shutil.copytree(website.ROOT / "LICENSES", folder / "LICENSES")
    (folder / "conf.py").write_text(SETTINGS, encoding="utf-8")
    (folder / "index.md").write_text(FIRST, encoding="utf-8")
    (folder / "second.md").write_text(SECOND, encoding="utf-8")
    for name in ("third", "fourth"):
        (folder / f"{name}.md").write_text(f"# {name}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = write_book(tmp_path_factory.mktemp("book"))
    run, _ = build(folder)
    assert run.returncode == 0, run.stderr
    return folder


def page(book, name):
    text = (book / "_build" / f"{name}.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser")


def contents(out):
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
        and ".doctrees" not in path.parts
        # The state of Sphinx itself; what it says of the time.
        and path.name not in (".buildinfo", "environment.pickle")
    }


def test_a_label_of_two_pages_stops_the_build(tmp_path):
    """Pages in parallel have processes, of which each sees a label once."""
    index = write_book(tmp_path) / "index.md"
    names = ["fourth", *(f"page-{number}" for number in range(9))]
    text = index.read_text("utf-8").replace("fourth", "\n".join(names))
    index.write_text(text, "utf-8")
    for name in names:
        label = "(twice)=\n## A\n" if name in ("page-0", "page-8") else ""
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{label}", "utf-8")
    run, _ = build(tmp_path)
    assert run.returncode
    assert "duplicate label twice" in run.stderr


def test_the_head_says_what_the_page_is_and_where(book):
    head = page(book, "second")
    said = {
        tag.get("name") or tag.get("property"): tag["content"]
        for tag in head.find_all("meta", content=True)
    }
    assert said["og:title"] == "Second — A book"
    assert said["og:image"] == "https://a.example/b/_static/preview.png"
    assert said["og:url"] == "https://a.example/b/second.html"
    assert page(book, "index").title.text == "A book", "once"
    canonical = head.find("link", rel="canonical")["href"]
    assert canonical == "https://a.example/b/second.html"
    assert head.html["data-theme"] == "light", "without scripts"


def test_pages_of_no_use_are_not_made(book):
    made = parsed.pages_of(book / "_build") - set(website.ALONE)
    assert sorted(made) == [
        "404", "fourth", "index", "search", "second", "third",
    ]  # fmt: skip


def test_the_host_finds_what_it_needs(book):
    out = book / "_build"
    assert (out / ".nojekyll").read_bytes() == b""
    listed = ElementTree.parse(out / "sitemap.xml")
    assert [loc.text for loc in listed.iterfind(".//{*}loc")] == [
        f"https://a.example/b/{name}.html"
        for name in ("fourth", "index", "second", "third")
    ]
    lost = page(book, "404")
    assert lost.base["href"] == "https://a.example/b/"
    assert not lost.find_all(["script", "img"], src=True)
    assert lost.find("link", rel="stylesheet") is None


def test_a_new_style_is_linked_from_every_page(book):
    # Nothing but a style is changed: no page is written, all are linked anew.
    with (book / "book/_static/site.css").open("a") as file:
        file.write("[data-new-to-all] { color: red }\n")
    run, out = build(book)
    assert run.returncode == 0, run.stderr
    css = (out / "_static/bundle.css").read_bytes()
    assert b"[data-new-to-all]" in css
    version = hashlib.sha256(css).hexdigest()[:8]
    for name in ("index", "second"):
        (sheet,) = page(book, name).find_all("link", rel="stylesheet")
        assert sheet["href"].endswith(f"/bundle.css?v={version}")


def test_what_other_pages_show_of_a_page_is_renewed_there(book, tmp_path):
    """Title in the menu, name of a section and number of code in links.

    The page itself has new characters and a new class.
    """
    second = SECOND.replace("Second", "Sécond").replace("A part", "The part")
    second += "\n```{note}\nŁ ($Ω$)\n```\n"
    second = second.replace(
        "## The", "```{code-block}\n:caption: One more.\n1\n```\n## The"
    )
    (book / "second.md").write_text(second, encoding="utf-8")
    try:
        run, out = build(book)
        assert run.returncode == 0, run.stderr
        first, fresh = build(book, str(tmp_path / "fresh"))
        assert first.returncode == 0, first.stderr
        assert contents(out) == contents(fresh)
        assert "Sécond" in (out / "third.html").read_text("utf-8")
        assert "The part" in (out / "index.html").read_text("utf-8")
        assert "Listing 2" in (out / "index.html").read_text("utf-8")
    finally:
        (book / "second.md").write_text(SECOND, encoding="utf-8")


def test_what_is_kept_is_made_once_for_each_cause(tmp_path):
    made = []

    def double(text):
        made.append(text)
        return text * 2

    for state, text, why, times in [
        (1, "a", "", 1), (1, "a", "", 1), (1, "b", "", 2), (2, "a", "", 3),
        (2, "a", "x", 4),
    ]:  # fmt: skip
        results = kept.Kept(tmp_path, state)
        for _ in range(2):
            assert results(double, text, because_of=why) == text * 2
        assert len(made) == times, (state, text, why)
    assert len(list(tmp_path.iterdir())) == 4
    results.forget()
    assert len(list(tmp_path.iterdir())) == 1


def test_what_has_to_be_built_follows_from_what_has_changed():
    given = {"a.ipynb": "1", "b.css": "1", "helpers/c.py": "1", "": "git"}
    given["book/_live/kernel.py"] = "1"
    before = {"given": given, "made": {"a.html": [1, 1]}}
    assert make.to_do(None, before) == "all", "the last build failed"
    assert make.to_do(before, before) == "nothing"
    for changed, todo in [
        ({"a.ipynb": "2", "b.css": "2"}, "some"),
        ({"book/_live/kernel.py": "2"}, "some"),
        ({"helpers/c.py": "2"}, "all"),
        ({"": "another remote"}, "all"),
        ({"new.ipynb": "1"}, "all"),
    ]:
        now = {**before, "given": {**given, **changed}}
        assert make.to_do(before, now) == todo, changed
    assert make.to_do(before, {**before, "made": {}}) == "all"


def test_a_build_is_made_from_the_whole_folder_but_the_checks(tmp_path):
    for name in (
        *("a.ipynb", "book/_ext/b.py", "helpers/c.js", "_toc.yml"),
        *("tests/t.py", "_build/o.html", ".venv/p.py", "book/.x"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    pins = tmp_path / "requirements.txt"
    pins.write_text(
        "accessible-pygments==1 \\\n    --hash=sha256:0\nsphinx==1\n"
        "pytest==1 ; sys_platform == 'another'\n"
    )
    given = make.given(tmp_path)
    assert set(given) == {
        *("", "a.ipynb", "book/_ext/b.py", "helpers/c.js", "_toc.yml"),
        pins.name,
    }
    # The packages that the book needs here count, and not those of the tests.
    named = re.findall(r"'(\w+)-[\w.]+\.dist-info'", given[""])
    assert [name.lower() for name in named] == [
        "accessible_pygments",
        "sphinx",
    ]
    (tmp_path / "a.ipynb").write_text("other")
    changed = make.given(tmp_path)
    assert [n for n in given if given[n] != changed[n]] == ["a.ipynb"]


def test_the_configuration_names_no_folder(tmp_path):
    elsewhere = str(tmp_path.parent / "theme")
    app = SimpleNamespace(confdir=str(tmp_path / "b ü"))
    given = ["_static", f"{app.confdir}/.venv/lib/static", elsewhere]
    config = {"html_static_path": given, "templates_path": []}
    attention_site.name_no_folder(app, config)
    found = [".venv/lib/static", elsewhere]
    assert config["html_static_path"] == ["_static", *found]


def test_the_archive_holds_the_site_and_not_itself(book):
    out = book / "_build"
    first = (out / host.ARCHIVE).read_bytes()
    host.archive(out, host.LEFT_OUT)
    assert (out / host.ARCHIVE).read_bytes() == first
    with zipfile.ZipFile(out / host.ARCHIVE) as file:
        names = file.namelist()
        inside = "attention-verified/index.html"
        assert file.read(inside) == (out / "index.html").read_bytes()
    assert all(name.startswith("attention-verified/") for name in names)
    assert not any(name.endswith(".zip") for name in names)
    # What a page asks for, and what its style sheet and its scripts ask for.
    for part in ("bundle.css", "bundle.js", "site.js", "searchtools.js"):
        assert f"attention-verified/_static/{part}" in names
    css = (out / "_static/bundle.css").read_text(encoding="utf-8")
    asked = re.findall(r"url\([\"']?((?!data:|#)[^)\"']+)", css)
    assert len(asked) > 8
    for file in asked:
        assert f"attention-verified/_static/{file}" in names


def section_of(anchor, *inside):
    return nodes.section("", nodes.title("", anchor), *inside, ids=[anchor])


def figure_of(name, label="a <b>"):
    html = f'data-figure="{name}" aria-label="{escape(label)}"></section>'
    return nodes.raw("", f'<section hidden="hidden" {html}', format="html")


def caption_of(number):
    yield nodes.raw("", '<div class="caption" id="x">', format="html")
    yield nodes.paragraph("", "", nodes.strong("", f"{number}."))
    yield nodes.raw("", "</div>", format="html")


def shown_in(*sections):
    """Return the page with its figures shown, and its contents."""
    page = new_document("page")
    page += sections
    env = SimpleNamespace(docname="page", tocs={}, toc_num_entries={})
    app = SimpleNamespace(env=env)
    TocTreeCollector().process_doc(app, page)
    figures.show(app, page)
    return page, env.tocs["page"]


def test_the_second_figure_of_a_kind_has_an_anchor_of_its_own():
    names = ("film", "step", "film", "film")
    page, _ = shown_in(section_of("top", *map(figure_of, names)))
    anchors = [
        re.search('id="([^"]+)"', raw.astext())[1]
        for raw in page.findall(nodes.raw)
    ]
    assert anchors == [
        f"figure-{name}" for name in ("film", "step", "film-2", "film-3")
    ]


def test_the_contents_name_each_figure_in_its_section():
    _, listed = shown_in(
        section_of(
            "top",
            figure_of("film"),
            *caption_of("Figure 1.1"),
            figure_of("words", "one word"),
            section_of("early"),
            section_of(
                "late",
                nodes.container("", figure_of("film")),
                *caption_of("Figure 1.2"),
                section_of("inner"),
            ),
        )
    )

    def nested(entries):
        return [
            (
                item[0].astext(),
                item[0][0]["anchorname"],
                *(nested(rest) for rest in item[1:]),
            )
            for item in entries
        ]

    film, second = ("Figure 1.1: a <b>", "Figure 1.2: a <b>")
    assert nested(listed) == [
        (
            "top",
            "",
            [
                (film, "#figure-film"),
                ("One word", "#figure-words"),
                ("early", "#early"),
                (
                    "late",
                    "#late",
                    [(second, "#figure-film-2"), ("inner", "#inner")],
                ),
            ],
        )
    ]


# Each part of the theme that the extension counts on, changed once.


# Style sheets.


def test_a_description_is_the_first_paragraph_in_sight():
    first = "This says what the page is about. And more."
    for before in (
        "",
        "<table><tr><td><p>A paragraph that stands in a table.</p></table>",
        "<svg><text><p>Words that stand in a picture, drawn.</p></text></svg>",
        "<div class=cell><p>A paragraph that a program has made.</p></div>",
        "<p>Short.</p>",
    ):
        body = f"<h1>It</h1>{before}<p>{first}</p><p>Another one, as long.</p>"
        assert about.description(body) == first, before
    assert about.description("<p>Short.</p>") == ""


# Code, formulas, figures.


def test_code_has_elements_only_where_it_has_a_colour():
    source = 'from a.b import c\n\n\ndef f(x):\n    return x + 1  # "d"\n'
    out = StringIO()
    code.PlainNames(nowrap=True).format(PythonLexer().get_tokens(source), out)
    soup = BeautifulSoup(f"<pre>{out.getvalue()}</pre>", "html.parser")
    assert soup.text == source
    shown = {(tag["class"][0], tag.text) for tag in soup.find_all("span")}
    assert shown == {
        ("kn", "from"), ("kn", "import"), ("k", "def"), ("nf", "f"),
        ("k", "return"), ("mi", "1"), ("c1", '# "d"'),
    }  # fmt: skip


def folded_cell(label, text, output=None):
    """A cell as MyST-NB leaves it: its code in a fold, its output below."""
    fold = code.HideCodeCellNode("", nodes.literal_block("", text))
    fold["prompt_show"] = label
    below = [nodes.paragraph("", output)] if output else []
    cell = nodes.container("", fold, *below)
    fold.parent = None  # MyST-NB names none where a whole cell is folded
    return cell


def folds_of(*cells):
    """Label and code of each fold once neighbours are joined."""
    document = new_document("page")
    document += cells
    code.join_folds(document)
    return [
        (fold["prompt_show"], [block.astext() for block in fold])
        for fold in document.findall(code.HideCodeCellNode)
    ], document.astext()


def test_neighbouring_folds_with_one_label_are_one():
    cells = [("a", "1"), ("a", "2"), ("a", "3", "seen"), ("b", "4")]
    folds, text = folds_of(*(folded_cell(*cell) for cell in cells))
    assert folds == [("a", ["1", "2", "3"]), ("b", ["4"])]
    assert text.split() == ["1", "2", "3", "seen", "4"]


@pytest.mark.parametrize(
    "between",
    [
        nodes.paragraph("", "prose"),
        nodes.container("", nodes.literal_block("", "code in sight")),
        nodes.container(),
    ],
)
def test_folds_that_something_parts_stay_apart(between):
    around = [folded_cell("a", "1"), between, folded_cell("a", "2")]
    assert len(folds_of(*around)[0]) == 2
    shown = [folded_cell("a", "1", "seen"), folded_cell("a", "2")]
    assert len(folds_of(*shown)[0]) == 2


def cell_of(label, text, output=None, kind="cell_code_output"):
    """A cell as MyST-NB leaves it; without a label its code is in sight."""
    source = nodes.container(
        "", nodes.literal_block("", text), nb_element="cell_code_source"
    )
    parts = [source]
    if label:
        fold = code.HideCodeCellNode(
            prompt_show=f"Show {label}", prompt_hide=f"Hide {label}"
        )
        fold += source
        parts = [fold]
    if output:
        raw = nodes.raw("", output)
        parts.append(nodes.container("", raw, nb_element=kind))
    return nodes.container("", *parts, nb_element="cell_code")


DRAWN, MOVED, TABLE = "<svg></svg>", "<p data-figure=a>", "<table></table>"


def tabs_of(*cells):
    """What a page shows in order, with the code of its tabs in brackets."""
    document = new_document("page")
    document += cells
    code.hang_tabs(document)
    shown = []
    for cell in document:
        for part in cell if cell.get("nb_element") else [cell]:
            text = part.astext().split()
            tab = "tab" in part["classes"]
            shown.append([*text] if tab else " ".join(text))
    return shown, document


def test_code_of_a_picture_hangs_below_it_with_the_folds_before_it():
    before = [cell_of("the imports", "i"), cell_of("the data", "d")]
    shown, document = tabs_of(*before, cell_of("the bars", "b", DRAWN))
    assert shown == [DRAWN, ["i", "d", "b"]]
    fold = next(iter(document.findall(code.HideCodeCellNode)))
    assert fold["prompt_show"] == "the imports; the data; the bars"
    out = SimpleNamespace(body=[])
    code.visit_hidden_cell(out, fold)
    summary = BeautifulSoup("".join(out.body), "html.parser").summary
    assert summary.text.strip() == "Code"
    assert summary["aria-label"].startswith("Code: the imports; the data")
    assert summary["data-paper"].startswith("The imports; the data")


def test_the_call_of_a_moving_figure_is_a_tab_and_of_a_plot_in_sight():
    assert tabs_of(cell_of("", "Film()", MOVED))[0] == [MOVED, ["Film()"]]
    shown = tabs_of(cell_of("the imports", "i"), cell_of("", "c", DRAWN))[0]
    assert shown == ["i", "c", DRAWN], "code that is meant to be read stays"


@pytest.mark.parametrize(
    "between",
    [
        nodes.paragraph("", "prose"),
        cell_of("", "code in sight"),
        cell_of("a table", "t", TABLE),
        cell_of("", "p", DRAWN),
    ],
)
def test_a_tab_takes_no_code_from_beyond_what_is_read(between):
    cells = [cell_of("it", "i"), between.deepcopy(), cell_of("x", "b", DRAWN)]
    shown = tabs_of(*cells)[0]
    assert (shown[0], shown[-1]) == ("i", ["b"])
    assert ["i", "b"] not in shown


def test_a_solution_before_a_picture_keeps_its_output():
    solution = cell_of("the solution", "s")
    solution[0] += nodes.container(
        "", nodes.raw("", TABLE), nb_element="cell_code_output"
    )
    shown = tabs_of(solution, cell_of("the bars", "b", DRAWN))[0]
    assert len(shown) == 3
    assert shown[1:] == [DRAWN, ["b"]]


def test_a_fold_that_is_open_asks_for_no_click():
    text = "# The bars: click to open\nx = 1  # not: click to open\n"
    document = new_document("page")
    document += [folded_cell("a", text), nodes.literal_block("", text)]
    code.shorten_labels(document)
    fold, in_sight = document.findall(nodes.literal_block)
    short = "# The bars\nx = 1  # not: click to open\n"
    assert (fold.astext(), fold.rawsource) == (short, short)
    assert in_sight.astext() == text


def test_a_formula_becomes_mathml():
    html = mathml.mathml(r"\frac{Q K^\top}{\sqrt{d_k}}", True)
    assert html.startswith('<math display="block">')
    assert "<mfrac>" in html
    assert "<msqrt>" in html
    assert "ℝ" in mathml.mathml(r"\mathbb{R}", False)
    assert "𝟏" in mathml.mathml(r"\mathbf{1}", False)
    assert mathml.FORM not in mathml.mathml(r"\mathcal{L}", False)
    assert mathml.mathml(r"f\!\left(x\right)", False) == (
        mathml.mathml(r"f\left(x\right)", False)
    )


def test_a_minus_sign_does_not_touch_the_bar_of_its_fraction():
    html = mathml.mathml(r"-\tfrac12 = a - \tfrac12", False)
    assert html.count('rspace="0.15em">−</mo><mfrac') == 1
    assert html.count("<mo>−</mo><mfrac") == 1


@pytest.mark.parametrize("tex", [r"\frac{1", r"\nonsense", r"\left("])
def test_what_is_no_formula_is_refused(tex):
    with pytest.raises(ValueError, match="at a character of"):
        mathml.mathml(tex, False)


def test_space_that_would_be_printed_as_text_is_refused():
    with pytest.raises(ValueError, match="no space may follow"):
        mathml.mathml(r"\begin{cases} a \\[2ex] b \end{cases}", True)


def test_a_bracket_that_would_be_smaller_than_its_partner_is_refused():
    with pytest.raises(ValueError, match="a bracket with an index"):
        mathml.mathml(r"\bigl[a\bigr]^2", True)


@pytest.mark.parametrize(
    ("tex", "operator"),
    [
        (r"w\ln w", ("ln", "0.1667em", "0.1667em")),
        (r"\ln(w)", ("ln", "0", "0")),
        (r"s\operatorname{Cov}(v)", ("Cov", "0.1667em", "0")),
        (r"x\max_j y", ("max", "0.1667em", "0.1667em")),
        (r"a_{\max}", ("max", "0", "0")),
        (r"= -x", ("−", "0", "0")),
        (r"(-x)", ("−", "0", "0")),
        (r"a - x", ("−", None, None)),
    ],
)
def test_names_of_functions_and_signs_stand_as_in_print(tex, operator):
    soup = BeautifulSoup(mathml.mathml(tex, False), "html.parser")
    shown = [
        (mo.text, mo.get("lspace"), mo.get("rspace"))
        for mo in soup.find_all("mo")
    ]
    assert operator in shown


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("see (", "), then", "(x),"),
        ("", ".", "x."),
        ("(", "", "(x"),
        ("see ", " then", None),
        ("f(a", "b)", None),
    ],
)
def test_a_formula_keeps_its_punctuation(before, after, kept):
    formula = nodes.math("", "x")
    siblings = [nodes.Text(before), formula, nodes.Text(after)]
    line = nodes.paragraph("", "", *[s for s in siblings if len(s.astext())])
    mathml.keep_together(formula)
    assert line.astext() == f"{before}x{after}"
    together = list(line.findall(nodes.inline))
    assert [node.astext() for node in together] == [kept] * bool(kept)
    assert all(node["classes"] == ["with-math"] for node in together)


# The repository.


COLAB = "https://colab.research.google.com"
HUB, LAB = "https://github.com/A/b", "https://gitlab.com/A/b"
AT_HUB, AT_LAB = "https://a.github.io/b/", "https://a.gitlab.io/b/"


@pytest.mark.parametrize(
    ("remote", "repository", "home"),
    [
        ("https://github.com/A/b.git", HUB, AT_HUB),
        ("https://github.com/A/b", HUB, AT_HUB),
        ("https://user:token@github.com/A/b/", HUB, AT_HUB),
        ("git@github.com:A/b.git", HUB, AT_HUB),
        ("ssh://git@github.com/A/b.git", HUB, AT_HUB),
        ("ssh://git@github.com:22/A/b", HUB, AT_HUB),
        ("https://gitlab.com/A/b.git", LAB, AT_LAB),
        ("git@gitlab.com:A/b.git", LAB, AT_LAB),
        ("git@gitlab.com:A/b/c.git", f"{LAB}/c", f"{AT_LAB}c/"),
        (
            "git@github.com:A/A.github.io.git",
            "https://github.com/A/A.github.io",
            "https://a.github.io/",
        ),
        ("", None, ""),
        ("/srv/git/b", None, ""),
        ("file:///srv/git/b", None, ""),
        ("https://example.org/A/b", None, ""),
    ],
)
def test_addresses_follow_the_remote(remote, repository, home):
    """For the site, and for the tests of a site that has any of these."""
    assert launch.web_address(remote) == repository
    assert address.repository_of(remote) == repository
    assert address.home_of(repository) == home
    assert not repository or launch.pages_address(repository) == home


def test_a_copy_without_git_has_no_buttons(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert launch.repository(website.ROOT) is None
    assert launch.branch(website.ROOT) == "HEAD"


@pytest.mark.parametrize("what", ["fill", "stroke"])
def test_a_heat_map_is_brightest_in_the_dark_where_it_is_darkest(what):
    for part, dark in ((0.0, "#1c2b3a"), (1.0, "#e3f2ff")):
        light = plotting.mpl.colors.to_hex(plotting.CMAP(part))
        for color, themed in (
            (light, f"light-dark({light},{dark})"),
            (plotting.TURNS_WHITE, "light-dark(#010101,#ffffff)"),
            ("#123456", "#123456"),
        ):
            style = f'<path style="{what}: {color}; opacity: 1"/>'
            assert _themed.themed(style, "") == style.replace(color, themed)


def test_the_page_colours_the_roles_of_a_figure_by_its_scheme():
    for role, color in plotting.ROLES.items():
        themed = _themed.themed(f'<path style="fill: {color}"/>', "f0-")
        assert themed == f'<path style="fill: var(--av-{role})"/>'


def git(folder, *words):
    name = ["-c", "user.name=n", "-c", "user.email=e@x.example"]
    subprocess.run(
        ["git", *name, *words], cwd=folder, check=True, capture_output=True
    )


@pytest.mark.parametrize(
    ("remote", "repository", "home"),
    [("git@github.com:A/b.git", HUB, AT_HUB), ("/srv/git/b", None, "")],
)
def test_a_site_says_where_it_comes_from_if_that_is_public(
    tmp_path, remote, repository, home
):
    settings = write_book(tmp_path) / "conf.py"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace(OWN_ADDRESS, ""), "utf-8")
    first = (website.ROOT / "tools/first_cell.py").read_text("utf-8")
    cell = nbformat.v4.new_code_cell(first, id="a")
    cells = [nbformat.v4.new_markdown_cell("# Third", id="b"), cell]
    chapter = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    (tmp_path / "third.md").unlink()
    (tmp_path / "third.ipynb").write_text(chapter, "utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", remote)
    run, out = build(tmp_path)
    assert run.returncode == 0, run.stderr
    here = page(tmp_path, "third")
    said = [link["href"] for link in here.find_all(rel="canonical")]
    said += [tag["content"] for tag in here.select('[property="og:url"]')]
    assert said == [f"{home}third.html"] * 2 * bool(home)
    pictures = [it["content"] for it in here.select('[property="og:image"]')]
    assert pictures == [f"{home}_static/preview.png"] * bool(home)
    lost = page(tmp_path, "404").find_all("base", href=True)
    assert [base["href"] for base in lost] == [home] * bool(home)
    assert (out / "sitemap.xml").exists() == bool(home)
    hrefs = {link["href"].split("?")[0] for link in here("a", href=True)}
    away = {href for href in hrefs if href.startswith("https:")}
    buttons = {
        HUB, f"{HUB}/issues/new", "https://mybinder.org/v2/gh/A/b/HEAD",
        f"{COLAB}/github/A/b/blob/HEAD/third.ipynb",
    }  # fmt: skip
    assert away == (buttons if repository else set())
    assert not here.find_all("img"), "a closed menu loads no logos"
    stored = chapter.replace("ADDRESS", repository or "ADDRESS", 1)
    assert (out / "_sources/third.ipynb").read_text("utf-8") == stored
    with zipfile.ZipFile(out / host.ARCHIVE) as file:
        name = "attention-verified/_sources/third.ipynb"
        assert file.read(name).decode() == stored


def test_launch_buttons_follow_the_branch(tmp_path):
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    assert launch.branch(origin) == "HEAD", "no repository"
    git(origin, "init", "-q", "-b", "trunk")
    git(origin, "commit", "-q", "--allow-empty", "-m", "first")
    git(origin, "branch", "a/topic")
    assert launch.branch(origin) == "HEAD", "no remote"
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    assert launch.branch(clone) == "trunk"
    git(clone, "checkout", "-q", "a/topic")
    assert launch.branch(clone) == "a/topic"
    assert address.remote_of(clone) == str(origin)
    git(clone, "checkout", "-q", "-b", "never-pushed", "--no-track")
    assert launch.branch(clone) == "HEAD"
    git(clone, "checkout", "-q", "--detach")
    assert launch.branch(clone) == "HEAD"


def predicted(*after):
    """A section with a prediction in a cell, and what comes after it."""
    raw = nodes.raw("", "<p>Note</p><form data-question=a class=av-predict>")
    cell = nodes.container("", nodes.container("", raw))
    section = nodes.section("", nodes.paragraph("", "Before"), cell, *after)
    document = new_document("page")
    document += section
    return document, section


def test_what_follows_a_prediction_is_folded_up_to_its_end():
    end = nodes.comment("", practice.END)
    parts = [nodes.paragraph("", text) for text in ("one", "two", "three")]
    document, section = predicted(parts[0], parts[1], end, parts[2])
    practice.show(
        SimpleNamespace(env=SimpleNamespace(docname="page")), document
    )
    *_, fold, last = section
    assert [type(node) for node in section][2:] == [
        practice.reveal,
        type(last),
    ]
    assert fold.astext().split() == ["one", "two"]
    assert last.astext() == "three"
    (raw,) = document.findall(nodes.raw)
    assert raw.astext().startswith("<form "), "without the notebook's note"


def asked(name, kind="question"):
    raw = nodes.raw(
        "", f"<p>Note</p><form data-question={name} class=av-{kind}>"
    )
    return nodes.container("", nodes.container("", raw))


def test_a_question_is_one_card_with_its_hint_and_its_solution():
    def exercise(text):
        return nodes.admonition("", nodes.paragraph("", text))

    def solution(text):
        return nodes.container(
            "", nodes.literal_block("", text), nb_element="cell_code"
        )

    hint = nodes.container("", design_component="dropdown")
    section = nodes.section(
        "",
        nodes.paragraph("", "before"), exercise("one"), asked("a"), hint,
        solution("# Solution: x"), exercise("two"), asked("b"),
        solution("other code"), asked("c"), nodes.paragraph("", "after"),
    )  # fmt: skip
    document = new_document("page")
    document += section
    env = SimpleNamespace(docname="page")
    practice.show(SimpleNamespace(env=env), document)
    parts = [
        [type(it).__name__ for it in part]
        if part["classes"] == ["question-card"]
        else part.astext()
        for part in section
    ]
    assert parts == [
        "before",
        ["admonition", "container", "container", "container"],
        ["admonition", "container"],
        "other code",
        ["container"],
        "after",
    ]


@pytest.mark.parametrize("other", ["", "Another comment."])
def test_a_prediction_without_an_end_stops_the_build(other):
    after = [nodes.paragraph("", "one"), nodes.comment("", other)]
    document, _ = predicted(*after)
    app = SimpleNamespace(env=SimpleNamespace(docname="page"))
    with pytest.raises(ExtensionError, match="a prediction without a line"):
        practice.show(app, document)


def test_the_buttons_of_the_menu_have_the_names_of_their_chapters():
    below = "<details><summary><i></i></summary><ul><li><a>c</a></li></ul>"
    html = f"<ul><li><a> 5. b </a>{below}</details></li><li><a>d</a></li></ul>"
    made = menu.name_toggles(BeautifulSoup(html, "html.parser"))
    assert [b["aria-label"] for b in made("summary")] == ["Pages below 5. b"]


def test_a_section_has_its_sentences_and_readable_formulas():
    power = "<msup><mn>10</mn><mrow><mo>−</mo><mn>12</mn></mrow></msup>"
    root = "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"
    article = (
        "<section id=a><h1>2. A<a class=headerlink>#</a></h1>"
        f"<p>Under <math>{power}</math>, by <math><mfrac><mi>x</mi>{root}"
        "</mfrac></math>.</p><div class=cell_input><pre>code</pre></div>"
        "<section class=av-figure id=figure-f><p>0.25</p></section>"
        "<details class=hide><summary>Show b</summary>b</details>"
        "<section id=c><h2>C</h2><p>One<br>two</p></section><p>End</p>"
        "<dl><dt id=term-d>d</dt><dd><p>A word.</p></dd></dl></section>"
    )
    assert sections.sections(article) == [
        ["a", "2. A", "Under 10^−12, by x/√d_k. End"],
        ["c", "C", "One two"],
        ["term-d", "d", "A word."],
    ]


@pytest.mark.parametrize("address", ["https://github.com/a/b", None])
def test_the_last_line_says_where_to_report_an_error(address):
    html = frame.imprint(
        website.ROOT, address, "../book/report.html", "../NOTICE.txt"
    )
    line = BeautifulSoup(html, "html.parser")
    links = {link.text: link["href"] for link in line("a")}
    assert links.get("Source") == address
    there = "../book/report.html"
    assert links["Report an error"] == there
    assert links["Others’ work"] == "../NOTICE.txt"
    assert [it["href"] for it in line.select("a.report")] == [there]
    assert line.select_one("span").text.startswith("Version ")
    assert "Code: BSD 3-Clause" in links
    version = re.search(r'"([^"]+)"', read_project_version())[1]
    assert line.text.startswith(f"Version {version}")


def read_project_version():
    text = (website.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r"^version.*", text, re.M)[0]


@pytest.mark.parametrize("address", ["https://a.example/whole/", ""])
def test_a_book_of_some_chapters_leads_elsewhere_to_the_others(
    tmp_path, address
):
    """It numbers its own chapters, so it names the others by their titles."""
    settings = write_book(tmp_path) / "conf.py"
    text = settings.read_text("utf-8").replace(
        '"_build*", "NOTICE.md"]', '"_build*", "NOTICE.md", "apart/*"]'
    )
    text += f"whole_course = {address!r}\n"
    settings.write_text(text, "utf-8")
    (tmp_path / "apart").mkdir()
    (tmp_path / "apart/one.md").write_text("# Title\n\n## Part\n", "utf-8")
    (tmp_path / "third.md").write_text(
        "# Third\n\nSee [chapter 7](apart/one.md#part), "
        "[its name](apart/one.md), [](apart/one) and "
        "[chapter 2](second.md).\n",
        "utf-8",
    )
    run, _ = build(tmp_path)
    assert run.returncode == 0, run.stderr
    said = page(tmp_path, "third").select_one("article p")
    assert said.text == "See “Title”, its name, “Title” and chapter 2."
    base = f"{address}apart/one.html"
    elsewhere = [f"{base}#part", base, base] if address else []
    assert [a["href"] for a in said("a")] == [*elsewhere, "second.html"]
    if address:
        return
    (tmp_path / "third.md").write_text("# Third\n\n[x](apart/two.md)\n")
    run, _ = build(tmp_path)
    assert "apart/two" in run.stderr, "a page that nobody has"
    assert run.returncode
