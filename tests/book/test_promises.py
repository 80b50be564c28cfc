"""What the introduction and the notation page say of the book is so."""

import re
from pathlib import Path

import nbformat
import numpy as np

from helpers.attention import attention_scores
from helpers.cache import KVCache
from helpers.heads import (
    init_projections,
    merge_heads,
    multi_head_attention,
    repeat_kv,
    split_heads,
)
from helpers.masks import padding_mask
from tools import refresh

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"


def paragraphs(name):
    return (BOOK / name).read_text(encoding="utf-8").split("\n\n")


def outputs():
    """Everything that a cell of the book printed, as one text."""
    return "\n".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "")
        for path in refresh.notebooks()
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", [])
    )


def test_the_introduction_names_the_chapters_that_measure():
    measuring = {
        path.relative_to(BOOK).as_posix()
        for path in refresh.notebooks()
        for cell in nbformat.read(path, as_version=4).cells
        if "nbval-ignore-output" in cell.metadata.get("tags", [])
    }
    (paragraph,) = (
        p for p in paragraphs("intro.md") if "**not compared**" in p
    )
    assert set(re.findall(r"\(([\w/-]+\.ipynb)\)", paragraph)) == measuring


def test_the_introduction_quotes_what_is_stored():
    intro = (BOOK / "intro.md").read_text(encoding="utf-8")
    (quoted,) = re.findall(r"```text\n(.+?)```", intro, flags=re.S)
    entries = re.split(r"\n(?=\S)", quoted.strip())
    stored = outputs()
    assert len(entries) == 2
    for entry in entries:
        assert entry in stored, f"no audit prints this any more:\n{entry}"


def test_the_answers_on_shapes_are_the_shapes_of_arrays():
    rng = np.random.default_rng(0)
    B, T, d_model, H, H_kv, d_k, d_v = 2, 5, 12, 6, 3, 4, 7
    P = init_projections(rng, d_model, H, H_kv, d_k=d_k, d_v=d_v)
    X = rng.normal(size=(B, T, d_model))
    Q, K = split_heads(X @ P.W_Q, H), split_heads(X @ P.W_K, H_kv)
    V = repeat_kv(split_heads(X @ P.W_V, H_kv), H // H_kv)
    mask = padding_mask([5, 3], T)
    cache = KVCache(T + 1, H_kv, d_k, d_v, batch=(B,))
    multi_head_attention(X, P, cache=cache)
    step = multi_head_attention(X[:, :1], P, cache=cache)
    scores = attention_scores(Q, repeat_kv(K, H // H_kv))
    heads = scores @ V
    arrays = [P.W_Q, P.W_V, Q, K, mask, scores, heads, merge_heads(heads)]
    shapes = [a.shape for a in (*arrays, P.W_O, step.weights)]
    page = (BOOK / "notation.md").read_text(encoding="utf-8")
    (answers,) = re.findall(r"```{dropdown} Answers\n(.+?)```", page, re.S)
    result = re.findall(r"^\d+\. \$\(([\d, ]+)\)\$", answers, flags=re.M)
    assert [tuple(map(int, f.split(", "))) for f in result] == shapes
