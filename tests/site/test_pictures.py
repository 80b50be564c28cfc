"""How far a reader scrolls through a lesson before the next picture."""

import pytest

from tools import website

FARTHEST = 2_500
# The longest way without a picture, and what stands at its beginning.
LONGEST = """() => {
  const article = document.querySelector("article");
  const { top } = article.getBoundingClientRect();
  const edges = (it) => {
    const box = it.getBoundingClientRect();
    return [box.top - top, box.bottom - top];
  };
  const heads = [...article.querySelectorAll("h2")];
  const [last] = edges(article.querySelector("#on-your-own"));
  const pictures = [...article.querySelectorAll(
    ":is(.figure, .cell_output) :is(svg, img), .av-figure")]
    .map(edges).filter(([from, to]) => to - from > 40 && from < last)
    .sort((a, b) => a[0] - b[0]);
  let [at, far, where] = [0, 0, 0];
  for (const [from, to] of [...pictures, [last, last]]) {
    if (from - at > far) [far, where] = [from - at, at];
    at = Math.max(at, to);
  }
  const head = heads.filter((it) => edges(it)[0] <= where + 200).pop();
  return [Math.round(far), (head?.textContent ?? "the top").replace("#", "")];
}"""


@pytest.mark.weekly
@pytest.mark.parametrize("page", website.LESSONS)
def test_no_way_between_two_pictures_is_longer_than_three_screens(
    host, browser, page
):
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto(f"{host.address}/{page}.html")
    far, head = tab.evaluate(LONGEST)
    tab.close()
    assert far <= FARTHEST, f"{far} px without a picture, from “{head}”"
