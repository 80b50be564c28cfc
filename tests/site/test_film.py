"""The film on its page: without scripts, on a phone, by keyboard, on paper.

Its player is tried in `tests/figures/test_figure_motion.py`, the numbers and
sentences of each step in the tests of what the figure shows.
"""

PAGE = "book/project-score-mask-mix"
PHONE = {"width": 390, "height": 844}
FILM = "[data-figure=film]"


def test_film_without_scripts_is_a_strip_of_stills(host, browser):
    with browser.new_context(
        java_script_enabled=False, viewport=PHONE
    ) as context:
        tab = context.new_page()
        tab.goto(f"{host.address}/{PAGE}.html")
        film = tab.locator(FILM)
        stills = film.locator(".av-stills svg")
        assert stills.count() == 7
        for still in stills.all():
            box = still.bounding_box()
            assert box["width"] >= 260, "its text can be read"
            assert 0 <= box["x"]
            assert box["x"] + box["width"] <= PHONE["width"]
        assert film.locator(".av-result").is_hidden(), "not the last one twice"
        assert film.locator("form").is_hidden()
        assert film.locator(".av-steps li").count() == 16, "all is said"


def test_film_answers_to_keys_and_prints_what_is_set(host, browser):
    with browser.new_context(
        viewport=PHONE, reduced_motion="reduce"
    ) as context:
        tab = context.new_page()
        errors = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(f"{host.address}/{PAGE}.html?film.at=0")
        film = tab.locator(f"{FILM}.av-live")
        film.wait_for()
        assert film.locator(".av-stills").is_hidden()
        film.get_by_role("button", name="Next").press("Enter")
        tab.wait_for_function(
            "film => film.values.time === 1", arg=film.element_handle()
        )
        film.locator("summary").click()
        film.locator("input[name=words]").fill("one two three")
        film.locator("textarea[name=W_V]").fill("1 0 0\n0 1 0\n1 1 0\n0 1 2")
        tab.wait_for_function(
            "film => film.values.output.length === 3",
            arg=film.element_handle(),
        )
        assert tab.evaluate(
            "document.documentElement.scrollWidth <= innerWidth"
        )
        tab.pdf()
        tab.emulate_media(media="print")
        strip = film.locator(".av-stills")
        assert strip.is_visible()
        assert film.locator(".av-result").is_hidden()
        assert strip.locator("svg").count() == 7
        steps = strip.locator(".av-steps li").all_inner_texts()
        assert steps[7].startswith("Value of three = ")
        assert not errors
