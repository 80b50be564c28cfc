"""The figure that trains: its gradients, its numbers, its later data.

What it shows of a state is tested with the other figures. Here the module
that computes is taken apart, and the page's own training is run.
"""

import gzip
import json

import numpy as np
import pytest

from course import figures
from course.evidence import stored, trained_induction, unpack
from course.figures._modules import joined
from helpers.training import INDUCTION, Batch, accuracy, induction_batch, train
from helpers.transformer import (
    cross_entropy,
    forward,
    init_transformer,
    loss_and_gradients,
    parameter_count,
    parameter_shapes,
    transformer,
)
from tests import budgets
from tests.empty_page import PHONE, state_of
from tests.figures.agreement import assert_same
from tests.figures.expected_figures import EXPECTED
from tests.figures.test_saturation import mulberry32
from tools import website


def source():
    """The module that computes, alone."""
    return joined(figures.FOLDER, "transformer.js")


# JSON has no typed arrays.
PLAIN = "(_, x) => x instanceof Float64Array ? [...x] : x"


@pytest.fixture
def net(page):
    """Call a function of arrow syntax with the module and with data."""
    # As a worker is given it: the function's text, in a place of its own.
    page.visit(
        f"<script>{source()}; const text = String(transformer); "
        "const net = eval(`(${text})()`);</script>"
    )

    def call(function, *arguments):
        found = page.tab.evaluate(
            f"(all) => JSON.stringify(({function})(...all), {PLAIN})",
            arguments,
        )
        return json.loads(found)

    return call


def row(params):
    """All parameters in a row, as the module keeps them."""
    return np.concatenate([x.ravel() for x in params.values()]).tolist()


def sequences(batch):
    """A batch as the module takes it: a list of sequences."""
    return [
        {"tokens": a.tolist(), "targets": b.tolist(), "where": c.tolist()}
        for a, b, c in zip(*batch, strict=True)
    ]


def gathered(drawn):
    """The other way round."""
    return Batch(*(np.array([s[k] for s in drawn]) for k in Batch._fields))


@pytest.mark.parametrize("step", [0, 60, 150, None])
def test_unpack_gives_the_stored_weights(net, step):
    packed = stored("induction")["weights"]
    if step is not None:
        checkpoints = stored("induction-steps")["checkpoints"]
        (packed,) = (c["weights"] for c in checkpoints if c["step"] == step)
    assert net("net.unpack", packed) == row(unpack(packed, INDUCTION))
    assert net("() => net.COUNT") == parameter_count(INDUCTION)


GRADIENTS = """(numbers, batch) =>
  net.lossAndGradients(Float64Array.from(numbers), batch)"""


@pytest.mark.parametrize("step", [0, 100])
def test_loss_and_gradients_are_the_helpers(net, rng, step):
    params = trained_induction(step)
    batch = induction_batch(rng, (3,))
    found = net(GRADIENTS, row(params), sequences(batch))
    loss, gradients = loss_and_gradients(
        batch.tokens, batch.targets, params, INDUCTION, where=batch.where
    )
    assert found["loss"] == pytest.approx(loss, abs=1e-12)
    np.testing.assert_allclose(found["gradients"], row(gradients), atol=1e-12)
    logits = transformer(batch.tokens, params, INDUCTION)
    assert found["right"] == pytest.approx(accuracy(logits, batch))


def test_loss_and_gradients_of_scores_of_many_hundreds(net, rng):
    params = {
        name: (60 if name.endswith(("W_Q", "W_K")) else 1) * x
        for name, x in trained_induction().items()
    }
    batch = induction_batch(rng, (1,))
    Q, K = forward(batch.tokens, params, INDUCTION).layers[1].attended[1:3]
    assert np.max(Q @ K.swapaxes(-1, -2)) / np.sqrt(K.shape[-1]) > 800
    found = net(GRADIENTS, row(params), sequences(batch))
    loss, gradients = loss_and_gradients(
        batch.tokens, batch.targets, params, INDUCTION, where=batch.where
    )
    assert found["loss"] == pytest.approx(loss, abs=1e-10)
    np.testing.assert_allclose(found["gradients"], row(gradients), atol=1e-9)


LOSSES = """(numbers, batches) => {
  const take = net.trainer(Float64Array.from(numbers));
  return batches.map((batch) => take(batch).loss);
}"""


@pytest.mark.parametrize(
    ("n", "T", "steps"), [(3, 14, 20), (2, 32, 4), (64, 32, 2)]
)
def test_trainer_has_the_losses_of_train(net, rng, n, T, steps):
    params = init_transformer(rng, INDUCTION)
    batches = [induction_batch(rng, (n,), T=T) for _ in range(steps)]
    found = net(LOSSES, row(params), [sequences(b) for b in batches])
    wanted = [loss for loss, _ in train(params, INDUCTION, batches)]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
    assert len(set(wanted)) == steps, "each step has a loss of its own"


# --- the module's own random numbers --------------------------------------


def test_generator_is_mulberry32(net):
    for seed in (0, 1, 2**31, 2**32 - 1):
        found = net(
            """(seed) => {
              const random = net.generator(seed);
              return Array.from({ length: 50 }, random);
            }""",
            seed,
        )
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(found, mulberry32(seed, 50))


def test_sequence_is_of_the_kind_that_the_helpers_draw(net):
    found = net(
        """() => {
          const random = net.generator(7);
          return Array.from({ length: 700 }, () => net.sequence(random));
        }"""
    )
    batch = gathered(found)
    assert batch.tokens.shape == (700, 32)
    periods = 32 - batch.where.sum(axis=1)
    counts = np.bincount(periods, minlength=13)
    assert counts[:6].sum() == 0
    assert (abs(counts[6:] - 100) < 40).all(), "all lengths alike"
    for period, tokens, targets, where in zip(periods, *batch, strict=True):
        assert len(set(tokens[:period])) == period, "no token twice in a row"
        np.testing.assert_array_equal(tokens[period:], tokens[:-period])
        np.testing.assert_array_equal(targets[:-1], tokens[1:])
        assert targets[-1] == tokens[32 - period]
        np.testing.assert_array_equal(where, np.arange(32) >= period)
    first = np.bincount(batch.tokens[:, 0], minlength=12)
    assert (abs(first - 700 / 12) < 35).all(), "all tokens alike"


def test_sequence_takes_its_numbers_in_order(net):
    found = net(
        """() => {
          const random = net.generator(7);
          return Array.from({ length: 4 }, () => net.sequence(random));
        }"""
    )
    with np.errstate(over="ignore"):
        numbers = iter(mulberry32(7, 4 * 12))
    for drawn in found:
        period, letters = 6 + int(7 * next(numbers)), list(range(12))
        for k in range(11, 0, -1):  # Fisher and Yates, from the end
            other = int((k + 1) * next(numbers))
            letters[k], letters[other] = letters[other], letters[k]
        assert drawn["tokens"] == [letters[t % period] for t in range(32)]


def test_initial_weights_are_of_the_helpers_kind(net):
    found = net("() => net.named(net.initial(net.generator(3)))")
    wanted = init_transformer(np.random.default_rng(0), INDUCTION)
    assert list(found) == list(wanted)
    for name, x in wanted.items():
        numbers = np.array(found[name])
        assert numbers.size == x.size, name
        if name.endswith("gain"):
            assert (numbers == 1).all()
            continue
        std = 0.01 if name.endswith("W_O") else 0.02
        assert abs(numbers.mean()) < 4 * std / np.sqrt(x.size), name
        assert abs(numbers.std() / std - 1) < 4 / np.sqrt(2 * x.size), name
        assert 2 < abs(numbers).max() / std < 5, "normal numbers"
    # All of them, in order, by the formula of Box and Muller.
    drawn = {name: x for name, x in found.items() if "gain" not in name}
    with np.errstate(over="ignore"):
        u = mulberry32(3, 2 * sum(map(len, drawn.values())))
    normal = np.sqrt(-2 * np.log(u[::2])) * np.cos(2 * np.pi * u[1::2])
    for name, x in drawn.items():
        here, normal = np.split(normal, [len(x)])
        std = 0.01 if name.endswith("W_O") else 0.02
        np.testing.assert_allclose(x, std * here, atol=1e-12, err_msg=name)


SERVED = """(seed, steps, size) => {
  const told = [];
  const scope = { postMessage: ({ numbers, ...rest }) =>
    told.push({ ...rest, first: numbers[0] }) };
  net.serve(scope);
  scope.onmessage({ data: { seed, steps, size } });
  return told;
}"""


def test_serve_tells_each_step(net):
    told = net(SERVED, 5, 2, 2)
    assert [message["step"] for message in told] == [1, 2]
    assert all(set(m) == {"step", "loss", "right", "first"} for m in told)
    assert abs(told[0]["loss"] - np.log(12)) < 0.1, "it starts from chance"
    assert len({message["first"] for message in told}) == 2
    assert net(SERVED, 5, 1, 2) == told[:1], "the same seed, the same training"
    assert net(SERVED, 6, 1, 2)[0]["loss"] != told[0]["loss"]


# --- what a page loads ----------------------------------------------------


def test_scripts_hold_earlier_weights_apart():
    first, later = figures.scripts("induction").values()
    size = {text: len(gzip.compress(text.encode())) for text in (first, later)}
    budgets.keep("bytes of induction.js", size[first], 50_000)
    budgets.keep("bytes of induction-steps.js", size[later], 100_000)
    untrained, *others, _ = stored("induction-steps")["checkpoints"]
    weights = [c["weights"] for c in others] + [stored("induction")["weights"]]
    for data in (one["data"] for one in weights):
        assert data in later
        assert data not in first
        assert data in figures.module("induction"), "a kernel sends them"
    assert untrained["weights"]["data"] in first
    assert list(figures.scripts("causal")) == ["causal.js"]


@pytest.fixture
def folder(tmp_path):
    """A page that is opened from a folder, with no server."""
    (tmp_path / "figures").mkdir()
    for name, text in figures.scripts("induction").items():
        (tmp_path / "figures" / name).write_text(text, encoding="utf-8")
    script = website.ROOT / "book" / "_static" / "site.js"
    (tmp_path / "site.js").write_text(script.read_text("utf-8"))
    css = figures.styles("induction")
    (tmp_path / "index.html").write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>F</title>"
        '<meta name="viewport" content="width=device-width">'
        f"<style>{css}</style><main>{figures.Induction().html()}</main>"
        "<script defer src=site.js></script></html>",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def tab(page, folder):
    """The page, its figure at work; and what it asked for."""
    tab, tab.asked = page.tab, []

    def asks(request):
        tab.asked.append(request.url)

    def open_figure(query=""):
        tab.goto(f"{(folder / 'index.html').as_uri()}{query}")
        tab.wait_for_selector(".av-live")
        return tab.locator(".av-figure")

    tab.open_figure = open_figure
    tab.on("request", asks)
    yield tab
    tab.remove_listener("request", asks)


def wait_for(tab, condition, arg=None):
    tab.wait_for_function(
        f"(arg) => {{ const el = document.querySelector('.av-figure'); "
        f"return {condition}; }}",
        arg=arg,
    )


def later(tab):
    return [url for url in tab.asked if "induction-steps" in url]


def test_load_of_earlier_weights_when_they_are_asked_for(tab):
    figure = tab.open_figure()
    assert not later(tab)
    figure.locator("[name=step]").press("ArrowRight")
    wait_for(tab, "el.values.accuracy > 0.12")
    figure.locator("[name=step]").press("End")
    wait_for(tab, "el.values.accuracy > 0.99")
    assert len(later(tab)) == 1
    expected = EXPECTED["induction"](state_of("induction", step=300))
    assert_same(figure.evaluate("el => el.values"), expected)
    said = figure.locator(".av-say").inner_text()
    assert said.endswith(
        "% of the time in new sequences (300 steps of training)."
    )


def test_load_of_earlier_weights_for_a_link_to_them(tab):
    figure = tab.open_figure("?induction.step=80&induction.symbols=cake,cake")
    expected = EXPECTED["induction"](
        state_of("induction", step=80, symbols="CAKECAKE")
    )
    assert_same(figure.evaluate("el => el.values"), expected)
    assert len(later(tab)) == 1


def test_load_that_fails_is_said_and_the_picture_stays(tab):
    tab.route("**/induction-steps.js", lambda route: route.abort())
    figure = tab.open_figure()
    shown = figure.locator(".av-result").inner_html()
    figure.locator("[name=step]").press("End")
    wait_for(tab, "el.querySelector('.av-error').textContent !== ''")
    error = figure.locator(".av-error").inner_text()
    assert error.startswith("The data of this state did not load.")
    assert figure.locator(".av-result").inner_html() == shown
    tab.unroute("**/induction-steps.js")
    figure.locator("[name=step]").press("ArrowLeft")
    wait_for(tab, "el.values.accuracy > 0.5")
    assert figure.locator(".av-error").inner_text() == ""


IN_JUPYTER = """async ([text, state]) => {
  const address = URL.createObjectURL(
    new Blob([text], { type: "text/javascript" }));
  const { default: widget } = await import(address);
  const model = { get: (key) => state[key], set() {}, save_changes() {},
    on() {}, off() {} };
  const el = document.createElement("div");
  document.body.append(el);
  widget.render({ model, el });
  return el.values;
}"""


def test_module_has_earlier_weights_in_jupyter(tab):
    tab.open_figure()
    state = state_of("induction", step=40, symbols="BADGECBAD")
    module = figures.module("induction")
    found = tab.evaluate(IN_JUPYTER, [module, state])
    assert_same(found, EXPECTED["induction"](state))
    assert not later(tab)


RECORD = """() => {
  globalThis.told = [];
  const line = document.querySelector(".av-told");
  new MutationObserver(() => told.push(line.textContent))
    .observe(line, { childList: true });
}"""


def first_batch(net, seed, size):
    """What a training starts with: its weights and its first batch."""
    numbers, drawn = net(
        """(seed, size) => {
          const random = net.generator(seed);
          const numbers = net.initial(random);
          return [net.named(numbers),
            Array.from({ length: size }, () => net.sequence(random))];
        }""",
        seed,
        size,
    )
    shapes = parameter_shapes(INDUCTION)
    params = {  # a gain of 1 comes as a whole number
        name: np.array(numbers[name], float).reshape(shape)
        for name, shape in shapes.items()
    }
    return params, gathered(drawn)


def test_training_in_a_worker_has_the_helpers_numbers(net, tab):
    params, batch = first_batch(net, seed=1, size=64)
    figure = tab.open_figure()
    before = figure.evaluate("el => el.values.chances")
    tab.evaluate(RECORD)
    figure.get_by_role("button", name="Train", exact=True).click()
    tab.wait_for_function("told.length > 3", timeout=120_000)
    figure.get_by_role("button", name="Stop").click()
    assert figure.get_by_role("button", name="Train again").is_visible()
    # The worker has the function's text, and takes the same numbers.
    loss = cross_entropy(
        logits := transformer(batch.tokens, params, INDUCTION),
        batch.targets,
        where=batch.where,
    )
    starting, first = tab.evaluate(
        "told.filter((text) => /^(Seed|Step 1 )/.test(text)).slice(0, 2)"
    )
    assert starting == "Seed 1: starting."
    assert first.startswith(
        f"Step 1 of 200, seed 1: loss {loss:.2f}, "
        f"{100 * accuracy(logits, batch):.1f}% right; about "
    )
    wait_for(tab, "el.querySelector('.av-say').textContent.includes('your')")
    own = figure.evaluate("el => el.values")
    assert max(own["chances"]) < 0.3, "it has learnt little yet"
    told = tab.evaluate("told.at(-1)")
    told_step = int(told.split()[1])
    said = figure.locator(".av-say").inner_text()
    assert said.endswith(
        f" here and {100 * own['accuracy']:.1f}% of the time in new "
        f"sequences ({told_step} steps of your training, seed 1)."
    )
    assert figure.locator(".av-below .av-line").count() == 2
    # A screen reader hears of it once, at the end.
    spoken = figure.locator("[role=status]")
    wait_for(tab, "el.querySelector('[role=status]').textContent !== ''")
    assert spoken.text_content() == said
    # Stored weights again, and one's own again.
    box = figure.get_by_label("ask the weights trained here")
    assert box.is_checked()
    box.uncheck()
    wait_for(tab, "!el.querySelector('.av-say').textContent.includes('your')")
    assert figure.evaluate("el => el.values.chances") == before
    box.check()
    wait_for(tab, "el.querySelector('.av-say').textContent.includes('your')")
    assert figure.evaluate("el => el.values.chances") == own["chances"]
    # A link within the page sets every control anew, and changes none.
    tab.evaluate("new Promise(r => { onpopstate = r; location.hash = 'x'; })")
    assert box.is_checked()
    slider = figure.locator("[name=step]")
    assert not slider.is_visible()
    box.uncheck()
    slider.press("ArrowRight")
    wait_for(tab, "!el.querySelector('.av-say').textContent.includes('your')")
    # Once more: other random numbers.
    figure.get_by_role("button", name="Train again").click()
    tab.wait_for_function("told.at(-1).includes('Step 1 of 200, seed 2')")


def test_induction_on_a_phone_types_and_asks_by_taps(browser, folder):
    context = browser.new_context(
        viewport=PHONE, has_touch=True, is_mobile=True
    )
    tab = context.new_page()
    tab.goto((folder / "index.html").as_uri())
    tab.wait_for_selector(".av-live")
    figure = tab.locator(".av-figure")
    figure.get_by_role("button", name="E", exact=True).tap()
    wait_for(tab, "el.values.query === 12")
    panel = figure.locator(".av-arcs").first
    box = panel.bounding_box()
    panel.tap(position={"x": box["width"] * 5.5 / 13, "y": box["height"] / 2})
    wait_for(tab, "el.values.query === 5")
    assert tab.evaluate("document.body.scrollWidth") <= PHONE["width"]
    # The four heads, what they say, and the button fit on one screen.
    button = figure.locator("[data-train]").bounding_box()
    foot = button["y"] + button["height"]
    assert 0 < foot - panel.bounding_box()["y"] < PHONE["height"]
    # A place beyond the last letter is no query.
    figure.locator("[name=symbols]").fill("CAB")
    wait_for(tab, "el.values.query === 2")
    box = panel.bounding_box()
    panel.tap(position={"x": box["width"] * 1.5 / 12, "y": box["height"] / 2})
    wait_for(tab, "el.values.query === 1")
    panel.tap(position={"x": box["width"] * 7.5 / 12, "y": box["height"] / 2})
    assert figure.evaluate("el => el.values.query") == 1
    context.close()
