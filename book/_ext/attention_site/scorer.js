// Found first: the page that explains the words of the query. A word of the
// glossary and a name of the reference come behind.
Scorer.score = ((worths) => {
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  const stemmer = new Stemmer();
  const words = splitQuery(asked.toLowerCase())
    .filter((word) => !stopwords.includes(word))
    .map((word) => stemmer.stemWord(word));
  return ([page, , anchor, , score]) => {
    if (!Object.hasOwn(worths, page)) return Math.min(score, 26);
    const own = new Map(Object.entries(worths[page]));
    const worth = words.reduce((sum, word) => sum + (own.get(word) ?? 0), 0);
    return score + worth / Math.max(words.length, 1) / (anchor ? 2 : 1);
  };
})(WORTHS);

// The text around what was found is the page's, without its menus, its title
// and its code; what a word of the glossary means stands below it.
Search.htmlToText = (html, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const silent = "script, style, svg, nav, noscript, h1, .headerlink, annotation, .cell_input";
  for (const part of page.querySelectorAll(silent)) part.remove();
  const article = page.querySelector("article") ?? page.body;
  const found = anchor ? article.querySelector(anchor) : null;
  const meaning = found?.matches("dt") ? found.nextElementSibling : null;
  return [found ?? article, meaning].map((part) => part?.textContent ?? "").join(": ");
};
