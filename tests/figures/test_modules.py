"""The joiner of ES modules, and what the linter cannot see of ours."""

import graphlib
import re

import pytest

from course import figures
from course.figures._modules import joined
from tests.figures.test_shared_tools import TRIAL

SHARED = """// What both need.
export const one = 1;
const own = 2;
export function both(x) {
  return x + own;
}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shared.js").write_text(SHARED, "utf-8")
    return tmp_path


def join(folder, text, file="figure.js"):
    (folder / file).write_text(text, "utf-8")
    return joined(folder, file)


def test_joined_puts_what_is_imported_first_and_once(folder):
    more = (
        'import { one } from "./shared.js";\nexport const two = one + one;\n'
    )
    (folder / "more.js").write_text(more, "utf-8")
    text = join(
        folder,
        'import { two } from "./more.js";\n'
        'import {\n  both,\n  one,\n} from "./shared.js";\n'
        "export default both(one + two);\n",
    )
    assert text == (
        SHARED.replace("export ", "")
        + "\nconst two = one + one;\n"
        + "\nexport default both(one + two);\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "const own = 3;",
        "let one = 3;",
        "function own() {}",
        "const { a: own } = {};",
        "const [a, own] = [];",
    ],
)
def test_joined_refuses_a_name_that_two_modules_declare(folder, line):
    text = f'import {{ both }} from "./shared.js";\n{line}\n'
    with pytest.raises(ValueError, match=r"shared\.js and figure\.js both"):
        join(folder, text)


def test_joined_keeps_names_inside_of_functions(folder):
    text = 'import { one } from "./shared.js";\nconst f = (own) => {\n  const one = own;\n};\n'  # noqa: E501
    assert join(folder, text).endswith("const one = own;\n};\n")


@pytest.mark.parametrize(
    "line",
    [
        'import * as all from "./shared.js";',
        'import { one as other } from "./shared.js";',
        'import "./shared.js";',
        "export { one };",
        "export default 3;",
    ],
)
def test_joined_refuses_other_forms_of_import_and_export(folder, line):
    (folder / "part.js").write_text(f"{line}\n", "utf-8")
    text = 'import { part } from "./part.js";\nexport default part;\n'
    with pytest.raises(ValueError, match=r"part\.js cannot be joined for"):
        join(folder, text)


def test_joined_refuses_modules_that_import_each_other(folder):
    text = 'import { two } from "./figure.js";\n'
    (folder / "other.js").write_text(text, "utf-8")
    with pytest.raises(graphlib.CycleError, match=r"other\.js"):
        join(folder, 'import { two } from "./other.js";\n')


def test_what_modules_export_is_imported():
    """The linter takes every export for used."""
    texts = [p.read_text("utf-8") for p in figures.FOLDER.rglob("*.js")]
    texts.append(TRIAL)  # a figure that stands for all others
    lists = re.findall(r"^import \{([^}]+)\}", "\n".join(texts), re.M)
    imported = set(re.findall(r"\w+", " ".join(lists)))
    exported = set(
        re.findall(r"^export (?:const|function) (\w+)", "\n".join(texts), re.M)
    )
    assert exported
    assert exported <= imported
