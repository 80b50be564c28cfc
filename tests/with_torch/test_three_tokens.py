"""The exercise with PyTorch: the text of the page, run as it stands.

`make test-torch` runs this where PyTorch is installed; the book does not need
it. The expected numbers are fractions of e, worked out on paper.
"""

import json
import math
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.0")

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "book" / "practice" / "three-tokens.ipynb"
E, H = math.e, math.sqrt(math.e)
S, M = E + 1 + H, E + 2 * H
WEIGHTS = [
    [E / S, 1 / S, H / S],
    [1 / S, E / S, H / S],
    [H / M, H / M, E / M],
]
OUTPUT = [
    [(E + H) / S, (1 + H) / S, E / S, 1 / S],
    [(1 + H) / S, (E + H) / S, 1 / S, E / S],
    [(H + E) / M, (H + E) / M, H / M, H / M],
]


@pytest.fixture(scope="module")
def solution():
    """The names that the page's only block of PyTorch defines."""
    cells = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    text = "\n".join(
        "".join(cell["source"])
        for cell in cells
        if cell["cell_type"] == "markdown"
    )
    fence = re.compile(r"^```python\n(import torch\n.*?)^```", re.M | re.S)
    (block,) = fence.findall(text)
    names = {}
    exec(block, names)
    return names


@pytest.mark.parametrize(
    ("name", "expected"), [("weights", WEIGHTS), ("output", OUTPUT)]
)
def test_solution_gives_the_hand_numbers(solution, name, expected):
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(solution[name], expected, rtol=1e-14, atol=0)


def test_fused_kernel_gives_the_hand_numbers(solution):
    expected = torch.tensor(OUTPUT, dtype=torch.float64)
    torch.testing.assert_close(solution["fused"], expected, rtol=1e-14, atol=0)
