"""The opening figure: what one word asks for, and what it gets."""

import itertools
import re

import numpy as np

from course import figures
from course.figures.words.data import ASKED as TRAINED
from course.sentences import WORD_MODEL, WORDS, token_ids_of, trained_words
from helpers.attention import attention, attention_scores
from helpers.softmax import softmax
from helpers.transformer import forward, transformer
from tests.figures.reading import (
    all_say,
    captions,
    chance_says,
    in_proportion,
    narrow,
    on_one_scale,
    path_of,
    says,
    sentence,
    sizes,
    spot,
    tells,
)

KEYS_OF_WORDS = {
    "the": (-1, 0),
    "cat": (2, 0),
    "drank": (1, 1),
    "milk": (0, 2),
    "because": (-1, -1),
    "it": (0.5, 0.5),
}
HAND = "the cat drank milk because it (toy)"
CASES = [
    *({"sentence": text} for text in TRAINED),
    {"sentence": TRAINED[1], "asks": 3},
    {"sentence": TRAINED[2], "asks": 0},
    {"x": 0, "y": 0},
    {"x": 3, "y": 3},
    {"x": -3, "y": -3},
    {"x": 0, "y": 2.2},
    {"x": -0.25, "y": -1.5},
    {"x": 0, "y": 1},
]


def trained(state):
    """One row of the head that gives most to a word, by the helpers."""
    words = state["sentence"].split(" ")
    ids = np.array(token_ids_of(words))
    i = min(state["asks"], len(words) - 1)
    kept = forward(ids, trained_words(), WORD_MODEL)
    maps = [x.attended.weights for x in kept.layers if x.attended]
    block, head = np.unravel_index(
        np.array(maps)[:, :, -1].max(axis=-1).argmax(), (2, 2)
    )
    weights = maps[block][head][i, : i + 1]
    # Without the later words the model predicts the same.
    shares = softmax(transformer(ids[: i + 1], trained_words(), WORD_MODEL))[
        -1
    ]
    likely = sorted(range(len(WORDS)), key=lambda k: -shares[k])[:4]
    numbers = {
        "weights": weights,
        "most": int(weights.argmax()),
        "next": [shares[k] for k in likely],
        "head": [int(block), int(head)],
    }
    return numbers, [WORDS[k] for k in likely]


def expected(state):
    """One query over the keys of six words, by the helpers."""
    if state["sentence"] != HAND:
        return trained(state)[0]
    query = np.array([[state["x"], state["y"]]], float)
    keys = np.array(list(KEYS_OF_WORDS.values()), float)
    weights = attention(query, keys, keys).weights[0]
    return {
        "dots": attention_scores(query, keys, scale=1.0)[0],
        "exponentials": np.exp(attention_scores(query, keys)[0]),
        "weights": weights,
        "most": int(weights.argmax()),
    }


def row_shows(weights, svg):
    """Arcs, weights and the mixture, of any sentence; returns the words."""
    texts = svg.select("text[data-word]")
    all_say([t.text for t in svg.select(".av-weight")], weights, 2)
    places = sizes(texts, "x")
    apart = [4.5 * (len(a.text) + len(b.text)) for a, b in
             itertools.pairwise(texts)]  # fmt: skip
    assert (np.diff(places) - apart > 4).all(), "in their order, and apart"
    asks = len(weights) - 1
    assert texts[asks]["class"] == ["av-query"]
    for j, (link, w) in enumerate(
        zip(svg.select(".av-link"), weights, strict=True)
    ):
        says(link["stroke-width"], max(17 * w, 0.8), 2)
        start, *_, end, _ = path_of(link)
        if j != asks:  # no loop: from the word that asks to this one
            assert end == places[j]
            assert abs(start - places[asks]) < 18
    parts = svg.select("rect.av-value")
    in_proportion(sizes(parts), weights)
    starts = np.cumsum([0, *weights])[:-1]
    on_one_scale([*sizes(parts, "x"), float(svg["viewbox"].split()[2])],
                 [*starts, 1])  # fmt: skip
    return [t.text for t in texts]


def next_shows(state, expected, shown):
    """The likeliest next words, and the sentence on the one that asks."""
    words = state["sentence"].split(" ")
    weights = expected["weights"]
    names, chances = trained(state)[1], expected["next"]
    svg, bars = shown.select("svg")
    assert row_shows(weights, svg) == words
    texts = [t.text for t in bars.select("text")][1:]
    assert texts[::2] == names
    for text, p in zip(texts[1::2], chances, strict=True):
        chance_says(text, p)
    in_proportion(sizes(bars.select("rect")), chances)
    text = sentence(shown)
    most, best = expected["most"], chances[0]
    assert ("above 0.99" in text) == (best >= 0.995)

    def bounded(p):
        return (np.clip(p, 0.01, 0.99) if not 0.005 <= p < 0.995 else p), 2

    tells(text, *expected["head"], (weights[most], 2), bounded(best))
    quoted = re.findall("“(.*?)”", text)
    assert quoted == [words[len(weights) - 1], words[most], names[0]]
    first, second = captions(shown)
    tells(first, *((w, 2) for w in weights))
    tells(second, *map(bounded, chances))


def shows(state, expected, shown):
    if state["sentence"] != HAND:
        next_shows(state, expected, shown)
        return
    weights = expected["weights"]
    svg, plane = shown.select("svg")
    assert row_shows(weights, svg) == list(KEYS_OF_WORDS)
    # On one scale: the keys and the query, which an arrow reaches.
    dots = plane.select("circle.av-key, circle.av-query, .av-reach")
    points = np.array(
        [*KEYS_OF_WORDS.values(), *[[state["x"], state["y"]]] * 2]
    )
    tip = path_of(plane.select_one("path.av-query"))[2:]
    places = [*map(spot, dots), tip]
    x, y = np.transpose(places)
    a, b = np.array([*points, [state["x"], state["y"]]], float).T
    on_one_scale(x, a)
    on_one_scale(y, b, up=True)
    most = expected["most"]
    word, key = list(KEYS_OF_WORDS.items())[most]
    text = sentence(shown)
    dot = (expected["dots"][most], 5)
    exps = expected["exponentials"]
    tells(
        text,
        *((state["x"], 4), (key[0], 4), (state["y"], 4), (key[1], 4), dot),
        *(dot, 2, (exps[most], 2), (exps.sum(), 2), (weights[most], 2)),
    )
    assert f"key of {word} =" in text
    tells(captions(shown)[0], *((w, 2) for w in weights))
    names = [t.text for t in plane.select("text.av-key")]
    assert names == list(KEYS_OF_WORDS)


def test_a_word_of_the_trained_model_asks_once_it_is_pressed(page):
    """The data of its sentences is a script that comes when one is chosen."""
    scripts = figures.scripts("words")
    assert list(scripts) == ["words.js", "words-trained.js"]
    page.open("words")
    page.tab.add_script_tag(content=scripts["words-trained.js"])
    assert page.run("words.askTrainedModel", TRAINED[0]) == [1, 2, True]


def test_names_of_the_plane_keep_away_from_the_query_and_each_other():
    """Wherever the query is dragged, a name is on no other one, nor on it."""
    covered = []
    for x, y in itertools.product(np.arange(-3, 3.1, 0.5), repeat=2):
        state = {"sentence": HAND, "x": float(x), "y": float(y)}
        plane = narrow("words", state).select_one("svg.av-ask")
        u, v = spot(plane.select_one(".av-reach"))
        boxes = [
            (float(t["x"]) - half, float(t["x"]) + half,
             float(t["y"]) - 11, float(t["y"]) + 4, t.text)
            for t in plane.select("text.av-key")
            for half in [4.2 * len(t.text)]
        ]  # fmt: skip
        for k, (left, right, top, bottom, word) in enumerate(boxes):
            if left - 8 < u < right + 8 and top - 8 < v < bottom + 8:
                covered.append((word, "query", x, y))
            for other in boxes[k + 1 :]:
                if (left < other[1] and other[0] < right
                        and top < other[3] and other[2] < bottom):  # fmt: skip
                    covered.append((word, other[4], x, y))
    assert not covered
