"""Join ES modules into one text, in the order of what they import.

Jupyter takes one text for each figure, and a page that is opened from a folder
without a server may load scripts but not modules. So the modules of
`course/figures` import one another by name, which editors and the linter
understand, and are joined here without their import lines and the word
"export". Joined modules share one scope, so no two modules of a figure may
declare the same name.
"""

import re
from functools import cache
from graphlib import TopologicalSorter

IMPORT = re.compile(
    r'^import \{\s*\w+(?:,\s*\w+)*,?\s*\} from "\.[./\w-]*/([\w-]+\.js)";\n',
    re.M,
)
EXPORT = re.compile(r"^export (?=(?:const|let|class|function)\b)", re.M)
LEFT = re.compile(r"^(?:import|export)\b.*", re.M)
DECLARED = re.compile(
    r"^(?:const|let|class|function) (\w+|[\[{][^=]+[\]}])", re.M
)
# The names that a pattern such as { a: b, c } declares: b and c.
BOUND = re.compile(r"(\w+)\s*[,\]}]")


@cache
def _places(folder):
    """The path of each file below a folder, by its name."""
    return {path.name: path for path in folder.rglob("*.*")}


def place_of(folder, file):
    """Return the path of a module or a style, of a figure or of the kit.

    No two folders have files of one name.
    """
    return _places(folder).get(file, folder / file)


def joined(folder, file):
    """Return a module and everything that it imports as one text.

    Its own ``export default`` is kept. Two modules that declare the same name,
    or import each other, are refused.
    """
    texts, todo = {}, [file]
    while todo:
        name = todo.pop()
        if name not in texts:
            texts[name] = place_of(folder, name).read_text(encoding="utf-8")
            todo += _imports(texts[name])
    imports = {name: _imports(text) for name, text in texts.items()}
    plain = {
        name: _plain(name, texts[name], whole=name == file)
        for name in TopologicalSorter(imports).static_order()
    }
    _check_clashes(plain)
    return "\n".join(plain.values())


# Most modules are part of many figures, so what depends on a text is kept.
@cache
def _imports(text):
    """The files that a module imports from."""
    return IMPORT.findall(text)


@cache
def _plain(file, text, whole):
    """A module's text without imports and exports; `whole` keeps a default."""
    text = EXPORT.sub("", IMPORT.sub("", text))
    for line in LEFT.findall(text):
        if not (whole and line.startswith("export default ")):
            raise ValueError(
                f"{file} cannot be joined for {line!r}; write "
                'import { a, b } from "./FILE.js", and export before const, '
                "let, class or function"
            )
    return text


@cache
def _declared(text):
    """The names that a module declares."""
    return [
        name
        for target in DECLARED.findall(text)
        for name in BOUND.findall(target) or [target]
    ]


def _check_clashes(texts):
    """Refuse names that two modules declare."""
    owners = {}
    for file, text in texts.items():
        for name in _declared(text):
            if name in owners:
                raise ValueError(
                    f"{owners[name]} and {file} both declare {name}; "
                    "joined they share one scope, so rename one of them"
                )
            owners[name] = file
