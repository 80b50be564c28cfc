"""Check the English of everything that readers see: `make prose`.

Texts are written into `_build/prose`, one file per page, where textlint reads
them: the prose of pages and notebooks, the questions, hints and replies of
practice pages, the messages of the helpers, and the texts of the figures.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
OUT = ROOT / "_build" / "prose"
# A text has a space between words, unlike a name, a pattern or a path.
SENTENCE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")
APART = re.compile(r'<(\w+) lang="es">.*?</\1>', re.S)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
PAGES = ("README.md", "CONTRIBUTING.md", "index.ipynb")
# Derived, and examples of how not to write.
LEFT_OUT = ("book/bibliography.md", "docs/writing.md")


def strings(source):
    """Yield the strings of a Python program that are texts."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell that shows a syntax error
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if SENTENCE.search(node.value):
                yield node.value


def of_notebook(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield APART.sub("", source)
        else:
            yield from strings(source)


def of_script(path):
    """Yield the literals of a JavaScript module that are texts."""
    for quoted, template in LITERAL.findall(path.read_text(encoding="utf-8")):
        text = re.sub(
            r"\$\{[^}]*\}|<[^>]*>|^color-mix", "7", quoted or template
        )
        if SENTENCE.search(text):
            yield text


def texts():
    """Yield each file that readers see, with its texts."""
    book = [p for p in (ROOT / "book").rglob("*") if "_ext" not in p.parts]
    docs = (ROOT / "docs").glob("*.md")
    for path in [*map(ROOT.joinpath, PAGES), *sorted([*book, *docs])]:
        name = path.relative_to(ROOT).as_posix()
        if ".ipynb_checkpoints" in name or name in LEFT_OUT:
            continue
        if path.suffix == ".ipynb":
            yield name, of_notebook(path)
        elif path.suffix == ".md":
            yield name, [APART.sub("", path.read_text(encoding="utf-8"))]
    own = (ROOT / name for name in ("helpers", "course"))
    for path in sorted(p for folder in own for p in folder.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        yield name, strings(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "course" / "figures").rglob("*.js")):
        yield path.relative_to(ROOT).as_posix(), of_script(path)


def main(names):
    folder = OUT / "texts"
    shutil.rmtree(folder, ignore_errors=True)
    for name, found in texts():
        if names and not any(part in name for part in names):
            continue
        to = folder / f"{name}.md"
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text("\n\n".join(found) + "\n", encoding="utf-8")
    command = ["npx", "--no-install", "textlint", "--format", "unix"]
    config = ["--config", "textlintrc.json", "texts/**/*.md"]
    run = subprocess.run([*command, *config], cwd=OUT, check=False)
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
