"""Measure the heads of SmolLM2-135M-Instruct; the results ship with the book.

    python -m research.head_effects heads     # a quarter of an hour
    python -m research.head_effects check     # the same; writes nothing

The first command writes `course/evidence/head-effects.json`: for each of the
270 heads, the tokens that it attends to in six texts, and the loss of each
text without this head. The second fails if a result differs. `make model`
installs the weights. The last digits of a result, which are float32, depend on
the machine.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from course.checkpoint import load, smollm2_path
from course.evidence import stored
from helpers.training import (
    first_token_score,
    induction_score,
    previous_token_score,
)
from helpers.transformer import forward, token_losses

FOLDER = Path(__file__).resolve().parents[1] / "course" / "evidence"
LENGTH = 64  # tokens of each text
SEED = 1
TEXTS = {
    "story": """\
The lighthouse keeper wound the lamp each evening before he ate his supper. One
night the lamp would not turn, and he climbed down to the cellar for a new
chain. When he came back, a small boat was waiting below the rocks, and the
woman in the boat asked him why the light had stopped. The keeper showed her
the broken chain, and the woman laughed.""",
    "recipe": """\
Wash the rice three times, until the water stays clear. Put the rice into a
heavy pot, add one and a half cups of water and a pinch of salt, and bring it
to the boil. Then turn the heat down, cover the pot and wait for twelve
minutes. Do not lift the lid. Take the pot from the stove and let the rice
rest for ten minutes more.""",
    "facts": """\
Lisbon is the capital of Portugal, and Oslo is the capital of Norway. The
Danube rises in Germany and flows through Vienna and Budapest into the Black
Sea. Water boils at 100 degrees Celsius at the level of the sea, and at a lower
temperature in the mountains, because the pressure of the air is lower there
than on the coast.""",
    "code": """\
def mean(values):
    total = 0
    for value in values:
        total = total + value
    return total / len(values)


def variance(values):
    centre = mean(values)
    squares = [(value - centre) ** 2 for value in values]
    return mean(squares)


def deviation(values):
    return variance(values) ** 0.5
""",
    "Spanish": """\
El tren de la mañana sale a las siete y media de la estación del norte. Mi
abuela siempre llega temprano, compra un café y el periódico, y se sienta cerca
de la ventana. Cuando el tren cruza el río, ella cierra el periódico y mira los
barcos hasta que desaparecen.""",
}


def tokens_of(tokenizer):
    """Return six texts of `LENGTH` tokens; the last repeats random tokens."""
    texts = [tokenizer.encode(text)[:LENGTH] for text in TEXTS.values()]
    rng = np.random.default_rng(SEED)
    row = rng.integers(1000, len(tokenizer), LENGTH // 2).tolist()
    return np.array([*texts, row + row])


def first_row():
    """Return the first row of each text whose next token is predictable."""
    return np.array([4] * len(TEXTS) + [LENGTH // 2])


def loss_of(logits, tokens):
    """Return the mean loss of each text, in nats per token."""
    losses = token_losses(logits[:, :-1], tokens[:, 1:])
    counted = np.arange(LENGTH - 1) >= first_row()[:, None]
    return losses.mean(-1, where=counted)


def scores_of(weights, tokens):
    """Return three scores of a block's heads per text, (3, texts, H)."""
    pairs = list(zip(weights, tokens, strict=True))
    return np.array(
        [
            [previous_token_score(w) for w in weights],
            [induction_score(w, row) for w, row in pairs],
            [first_token_score(w) for w in weights],
        ]
    )


def rest(params, config, block, stream):
    """Return the model from a block upward, with these rows as embeddings."""
    table = params["embedding"].copy()
    rows = stream.reshape(-1, config.d_model)
    table[: len(rows)] = rows
    own = {"embedding": table, "output": params["embedding"].T}
    for name, array in params.items():
        number, _, part = name.partition(".")
        if number == "norm":
            own[name] = array
        elif number.isdigit() and int(number) >= block:
            own[f"{int(number) - block}.{part}"] = array
    left = config.n_layers - block
    return own, replace(config, n_layers=left, tied=False)


def without_each(tokens, model, only=None):
    """Return the loss of each text without each head, (n_layers, H, texts).

    The blocks below a head do not depend on it, so they run only once.
    """
    params, config = model.params, model.config
    whole = forward(tokens, params, config)
    at = np.arange(tokens.size).reshape(tokens.shape)
    losses = np.empty((config.n_layers, config.n_heads, len(tokens)))
    for block in range(config.n_layers) if only is None else only:
        stream = whole.layers[2 * block].normed
        own, left = rest(params, config, block, stream)
        for head in range(config.n_heads):
            heads = np.ones((left.n_layers, left.n_heads))
            heads[0, head] = 0
            logits = forward(at, own, left, heads=heads).logits
            losses[block, head] = loss_of(logits, tokens)
        print(f"block {block}: {losses[block].max(0).round(2)}", flush=True)
    return losses


def rounded(array, digits=4):
    return np.round(np.asarray(array, float), digits).tolist()


def write(name, made, **content):
    made = f"python -m tools.{made}"
    text = json.dumps({"made": made, **content})
    text = text.replace(', "', ',\n "').replace("], [", "],\n  [")
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def measured_heads():
    """Return the content of `head-effects.json`."""
    model = load(smollm2_path())
    tokens = tokens_of(model.tokenizer)
    whole = forward(tokens, model.params, model.config)
    weights = [x.attended.weights for x in whole.layers[::2]]
    scores = np.stack([scores_of(w, tokens) for w in weights], 1)
    previous, induction, first = scores.swapaxes(2, 3)  # blocks, H, texts
    return {
        "texts": [*TEXTS, "repeat"],
        "tokens": tokens.tolist(),
        "from": first_row().tolist(),
        "loss": rounded(loss_of(whole.logits, tokens)),
        "previous": rounded(previous),
        "induction": rounded(induction),
        "first": rounded(first),
        "without": rounded(without_each(tokens, model)),
    }


def heads():
    """Measure all heads, and store the results."""
    write("head-effects", "head_effects heads", **measured_heads())


def furthest(old, new):
    """Return the largest difference of the numbers under each name."""
    return {
        name: float(np.abs(np.subtract(old[name], new[name])).max())
        for name in new
        if name != "texts"
    }


def check():
    """Measure everything again; exit with 1 if a number has changed."""
    off = furthest(stored("head-effects"), measured_heads())
    print(off)
    sys.exit(max(off.values()) > 0.01)


if __name__ == "__main__":
    {"heads": heads, "check": check}[sys.argv[1]]()
