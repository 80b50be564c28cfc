"""The figure that trains: its gradients, its numbers, its later data.

What it shows of a state is tested with the other figures. Here the module
that computes is taken apart, and the page's own training is run.
"""

import gzip

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


@pytest.fixture
def net(page):
    """Call a function of js/transformer.js with the module and with data."""
    # As a worker is given it: the function's text, in a place of its own.
    source = joined(figures.FOLDER, "transformer.js")
    page.visit(
        f"<script>{source}; const text = String(transformer); "
        "const net = eval(`(${text})()`);</script>"
    )
    return lambda function, *given: page.run(f"transformer.{function}", *given)


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
    assert net("unpack", packed) == row(unpack(packed, INDUCTION))
    assert net("count") == parameter_count(INDUCTION)


@pytest.mark.parametrize(("step", "far"), [(0, 1), (100, 1), (None, 60)])
def test_loss_and_gradients_are_the_helpers(net, rng, step, far):
    """At the start, on the way, and with scores of many hundreds."""
    params = {
        name: (far if name.endswith(("W_Q", "W_K")) else 1) * x
        for name, x in trained_induction(step).items()
    }
    batch = induction_batch(rng, (3,))
    if far > 1:
        Q, K = forward(batch.tokens, params, INDUCTION).layers[1].attended[1:3]
        scores = Q @ K.swapaxes(-1, -2) / np.sqrt(K.shape[-1])
        assert scores.max() > 800
    result = net("lossAndGradients", row(params), sequences(batch))
    loss, gradients = loss_and_gradients(
        batch.tokens, batch.targets, params, INDUCTION, where=batch.where
    )
    assert result["loss"] == pytest.approx(loss, abs=1e-10)
    np.testing.assert_allclose(result["gradients"], row(gradients), atol=1e-9)
    logits = transformer(batch.tokens, params, INDUCTION)
    assert result["right"] == pytest.approx(accuracy(logits, batch))


@pytest.mark.parametrize(
    ("n", "T", "steps"), [(3, 14, 20), (2, 32, 4), (64, 32, 2)]
)
def test_trainer_has_the_losses_of_train(net, rng, n, T, steps):
    params = init_transformer(rng, INDUCTION)
    batches = [induction_batch(rng, (n,), T=T) for _ in range(steps)]
    losses = net("losses", row(params), [sequences(b) for b in batches])
    expected = [loss for loss, _ in train(params, INDUCTION, batches)]
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-6)
    assert len(set(expected)) == steps, "each step has a loss of its own"


# --- the module's own random numbers --------------------------------------


def test_generator_is_mulberry32(net):
    for seed in (0, 1, 2**31, 2**32 - 1):
        with np.errstate(over="ignore"):
            expected = mulberry32(seed, 50)
        np.testing.assert_array_equal(net("randoms", seed), expected)


def test_sequences_repeat_letters_that_are_shuffled_evenly(net):
    with np.errstate(over="ignore"):
        numbers = iter(mulberry32(7, 4 * 12))
    for drawn in net("sequences", 7, 4):
        period, letters = 6 + int(7 * next(numbers)), list(range(12))
        for k in range(11, 0, -1):  # Fisher and Yates, from the end
            other = int((k + 1) * next(numbers))
            letters[k], letters[other] = letters[other], letters[k]
        following = [letters[t % period] for t in range(33)]
        assert drawn["tokens"] == following[:32]
        assert drawn["targets"] == following[1:]
        assert drawn["where"] == [t >= period for t in range(32)]


def test_initial_weights_are_normal_numbers_in_order(net):
    """By the formula of Box and Muller, with the helpers' spreads."""
    result, _ = net("start", 3, 0)
    expected = init_transformer(np.random.default_rng(0), INDUCTION)
    assert list(result) == list(expected)
    drawn = {name: x for name, x in result.items() if "gain" not in name}
    with np.errstate(over="ignore"):
        u = mulberry32(3, 2 * sum(map(len, drawn.values())))
    normal = np.sqrt(-2 * np.log(u[::2])) * np.cos(2 * np.pi * u[1::2])
    for name, numbers in result.items():
        if "gain" in name:
            assert set(numbers) == {1}
            continue
        here, normal = np.split(normal, [expected[name].size])
        std = 0.01 if name.endswith("W_O") else 0.02
        np.testing.assert_allclose(
            numbers, std * here, atol=1e-12, err_msg=name
        )


def test_serve_tells_each_step(net):
    messages = net("serve", 5, 2, 2)
    assert [message["step"] for message in messages] == [1, 2]
    assert abs(messages[0]["loss"] - np.log(12)) < 0.1, "it starts from chance"
    assert len({message["first"] for message in messages}) == 2
    assert net("serve", 5, 1, 2) == messages[:1], "the same seed, the same"
    assert net("serve", 6, 1, 2)[0]["loss"] != messages[0]["loss"]


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
def tab(page, page_in_a_folder):
    """The page, its figure at work; and what it asked for."""
    tab, tab.asked = page.tab, []
    address = page_in_a_folder("induction")

    def asks(request):
        tab.asked.append(request.url)

    def open_figure(query=""):
        tab.goto(f"{address}{query}")
        tab.wait_for_selector(".av-live")
        return tab.locator(".av-figure")

    tab.open_figure = open_figure
    tab.on("request", asks)
    yield tab
    tab.remove_listener("request", asks)


def wait_for(tab, condition):
    tab.wait_for_function(
        "() => { const el = document.querySelector('.av-figure'); "
        f"return {condition}; }}"
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


def test_load_of_earlier_weights_for_a_link_to_them(tab):
    figure = tab.open_figure("?induction.step=80&induction.symbols=cake,cake")
    state = state_of("induction", step=80, symbols="CAKECAKE")
    expected = EXPECTED["induction"](state)
    assert_same(figure.evaluate("el => el.values"), expected)
    assert len(later(tab)) == 1


def test_load_that_fails_is_named_and_the_picture_stays(tab):
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


def test_module_has_earlier_weights_in_jupyter(page, tab):
    tab.open_figure()
    state = state_of("induction", step=40, symbols="BADGECBAD")
    module = figures.module("induction")
    values = page.run("transformer.openInJupyter", module, state)
    assert_same(values, EXPECTED["induction"](state))
    assert not later(tab)


def test_training_in_a_worker_has_the_helpers_numbers(net, page, tab):
    named, drawn = net("start", 1, 64)
    shapes = parameter_shapes(INDUCTION)
    params = {  # a gain of 1 comes as a whole number
        name: np.array(named[name], float).reshape(shape)
        for name, shape in shapes.items()
    }
    batch = gathered(drawn)
    figure = tab.open_figure()
    before = figure.evaluate("el => el.values.chances")
    page.run("transformer.record")
    figure.get_by_role("button", name="Train", exact=True).click()
    tab.wait_for_function("told.length > 3", timeout=120_000)
    figure.get_by_role("button", name="Stop").click()
    # The worker has the function's text, and takes the same numbers.
    logits = transformer(batch.tokens, params, INDUCTION)
    loss = cross_entropy(logits, batch.targets, where=batch.where)
    (first,) = tab.evaluate("told.filter((text) => /^Step 1 /.test(text))")
    assert first.startswith(
        f"Step 1 of 200, seed 1: loss {loss:.2f}, "
        f"{100 * accuracy(logits, batch):.1f}% right; about "
    )
    wait_for(tab, "el.querySelector('.av-say').textContent.includes('your')")
    own = figure.evaluate("el => el.values")
    assert max(own["chances"]) < 0.3, "it has learnt little yet"
    steps = int(tab.evaluate("told.at(-1)").split()[1])
    sentence = figure.locator(".av-say").inner_text()
    assert sentence.endswith(f" after {steps} steps of your training, seed 1.")
    # A screen reader hears of it once, at the end.
    wait_for(tab, "el.querySelector('[role=status]').textContent !== ''")
    assert figure.locator("[role=status]").text_content() == sentence
    # Stored weights again, and one's own again.
    box = figure.get_by_label("ask the weights trained here")
    box.uncheck()
    wait_for(tab, "!el.querySelector('.av-say').textContent.includes('your')")
    assert figure.evaluate("el => el.values.chances") == before
    box.check()
    wait_for(tab, "el.querySelector('.av-say').textContent.includes('your')")
    assert figure.evaluate("el => el.values.chances") == own["chances"]
    # A link within the page sets every control anew, and changes none.
    tab.evaluate("new Promise(r => { onpopstate = r; location.hash = 'x'; })")
    assert box.is_checked()


def test_induction_on_a_phone_types_and_asks_by_taps(
    browser, page_in_a_folder
):
    context = browser.new_context(
        viewport=PHONE, has_touch=True, is_mobile=True
    )
    tab = context.new_page()
    tab.goto(page_in_a_folder("induction"))
    tab.wait_for_selector(".av-live")
    figure = tab.locator(".av-figure")
    figure.get_by_text("Your own letters").tap()
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
    figure.get_by_text("Settings").tap()
    figure.locator("[name=symbols]").fill("CAB")
    wait_for(tab, "el.values.query === 2")
    box = panel.bounding_box()
    panel.tap(position={"x": box["width"] * 7.5 / 12, "y": box["height"] / 2})
    assert figure.evaluate("el => el.values.query") == 2
    context.close()
