// The page that explains the words of the query comes first. Entries of the
// glossary and names of the reference come last.
const worths = WORTHS;
const scorerOf =
  (words) =>
  ([page, , anchor, , score]) => {
    if (!Object.hasOwn(worths, page)) return Math.min(score, 26);
    const own = new Map(Object.entries(worths[page]));
    const worth = words.reduce((sum, word) => sum + (own.get(word) ?? 0), 0);
    return score + worth / Math.max(words.length, 1) / (anchor ? 2 : 1);
  };

// The search finds whole words, with any ending, in the sections that the build
// has put into `Search.texts`: for each page a list of anchor, heading and text.
// A result opens its best section. The texts are in a script, which the first
// query loads, because a page opened from a folder may not fetch other pages.
{
  const site = new URL("..", document.currentScript.src);
  let loading = null;
  const texts = () =>
    (loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.addEventListener("error", reject);
      script.src = new URL("_static/search_texts.js", site);
      script.addEventListener("load", resolve);
      document.head.append(script);
    }).then(countHeadings));
  const stemmer = new Stemmer();
  const stems = new Map();
  const stemOf = (word) => {
    if (!stems.has(word)) stems.set(word, stemmer.stemWord(word.toLowerCase()));
    return stems.get(word);
  };
  // The occurrences of the query's words in a text: start, end and stem.
  const placesIn = (text, terms) =>
    [...text.matchAll(/[\p{L}\p{N}]+/gu)]
      .map(({ 0: word, index }) => [index, index + word.length, stemOf(word)])
      .filter(([, , stem]) => terms.has(stem));
  const kinds = (places) => new Set(places.map(([, , stem]) => stem)).size;
  const HEADING = 5; // as many words of the text
  // A recap contains many words of its page but explains none of them, so
  // sections whose heading occurs on many pages count half.
  const MANY = 6;
  const shared = Object.create(null);
  const countHeadings = () => {
    for (const [, heading] of Object.values(Search.texts).flat())
      shared[heading] = (shared[heading] ?? 0) + 1;
  };

  // The section of a result that best fits the query, and its score.
  const bestSection = ([page, , anchor], terms) => {
    let best = null;
    for (const [id, heading, text] of Search.texts[page] ?? []) {
      if (anchor && `#${id}` !== anchor) continue;
      const [above, below] = [heading, text].map((part) => placesIn(part, terms));
      const often = HEADING * above.length + below.length;
      const fit = 100 * kinds([...above, ...below]) + often / (shared[heading] < MANY ? 1 : 2);
      if (fit > (best?.fit ?? 0)) best = { id, heading, text, places: below, fit };
    }
    return best;
  };
  // Whether all words occur in the section, or in the page if the page was found.
  const fits = ([page, , anchor], terms) => {
    const parts = (Search.texts[page] ?? []).filter(([id]) => !anchor || `#${id}` === anchor);
    return kinds(placesIn(parts.flat().join(" "), terms)) === terms.size;
  };

  // Questions that people asked come first if they have half of a longer query,
  // and their headings a quarter. They need not have all words, because everybody
  // asks in other words; a word counts more, the fewer pages it is on. If no page
  // has all words, a smaller share is better than nothing.
  const asked = ASKED;
  const [LONG, MOST_OF, SOME_OF, FIRST_ONES] = [4, 0.5, 0.3, 2];
  const questions = (terms, least, { docnames, titles, terms: words, titleterms }) => {
    const rarity = (stem) => {
      const pages = new Set([words[stem] ?? [], titleterms[stem] ?? []].flat()).size;
      return pages && Math.log(docnames.length / pages);
    };
    const sum = (all) => [...all].reduce((total, stem) => total + rarity(stem), 0);
    const share = (places) => sum(new Set(places.map(([, , stem]) => stem))) / sum(terms);
    const title = titles[docnames.indexOf(asked)];
    return (terms.size < LONG ? [] : (Search.texts[asked] ?? []))
      .filter(([, heading]) => heading.endsWith("?"))
      .map(([id, heading, text]) => {
        const [above, below] = [heading, text].map((part) => placesIn(part, terms));
        const [inAll, inHeading] = [share([...above, ...below]), share(above)];
        return { id, heading, text, places: below, inAll, inHeading };
      })
      .filter(({ inAll, inHeading }) => inAll >= least && inHeading >= least / 2)
      .toSorted((a, b) => b.inAll - a.inAll + (b.inHeading - a.inHeading) / 4)
      .slice(0, FIRST_ONES)
      .map((section) => [[asked, title], section]);
  };

  const excerpt = ({ text, places }, length) => {
    const first = Math.max(0, (places[0]?.[0] ?? 0) - length / 4);
    const start = first && text.indexOf(" ", first) + 1;
    const cut = text.lastIndexOf(" ", start + length);
    const end = start + length < text.length && cut > start ? cut : text.length;
    const paragraph = document.createElement("p");
    paragraph.className = "context";
    let told = start;
    for (const [from, to] of places) {
      if (from < told || to > end) continue;
      const mark = document.createElement("span");
      mark.className = "highlighted";
      mark.textContent = text.slice(from, to);
      paragraph.append(text.slice(told, from), mark);
      told = to;
    }
    paragraph.append(text.slice(told, end), end < text.length ? " …" : "");
    if (start) paragraph.prepend("… ");
    return paragraph;
  };

  const item = ([page, title, , descr], section, length) => {
    const entry = document.createElement("li");
    const link = document.createElement("a");
    link.href = new URL(`${page}.html${section.id ? `#${section.id}` : ""}`, site);
    link.innerHTML = title;
    const bare = (text) => text.replace(/^[\d.\s]+/, "");
    const inTitle = title.endsWith(bare(section.heading));
    if (!descr && !inTitle) link.append(` > ${section.heading}`);
    entry.append(link, descr ? ` (${descr})` : "", excerpt(section, length));
    return entry;
  };

  // The theme hides the line that moves while the index loads.
  const tell = (text) => {
    Search.status.setAttribute("role", "status");
    Search.status.textContent = text;
  };
  Search.startPulse = () => tell("Searching …");
  const NOTHING =
    "Nothing was found. Each result has all words of the query: ask for fewer words, or spell " +
    "them in another way.";

  // Sphinx looks words up in objects, where every object has "constructor".
  const bare = Object.create(null, { hasOwnProperty: { value: Object.prototype.hasOwnProperty } });
  const { _parseQuery: parse, _performSearch: search } = Search;
  // The indexed word that a beginning may mean: of those that begin with it, and
  // of its own beginnings (the index has "attent" for "attenti"), the one on most pages.
  const completed = (stem, { terms, titleterms }) => {
    const shorter = [stem.slice(0, -1), stem.slice(0, -2)].filter(
      (it) => it.length > 3 && it in terms,
    );
    const longer = Object.keys(terms).filter((it) => it.startsWith(stem));
    const pages = (term) => [terms[term] ?? [], titleterms[term] ?? []].flat().length;
    return [...longer, ...shorter].reduce((a, b) => (pages(b) > pages(a) ? b : a), stem);
  };

  // How many letters are to be changed, added, left out or exchanged with the
  // next to make one word of another.
  const distance = (a, b) => {
    const rows = [[...b, ""].map((_, j) => j)];
    for (let i = 1; i <= a.length; i++) {
      rows.push([i]);
      for (let j = 1; j <= b.length; j++) {
        const same = a[i - 1] === b[j - 1];
        const ways = [rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + !same];
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
          ways.push(rows[i - 2][j - 2] + 1);
        rows[i].push(Math.min(...ways));
      }
    }
    return rows[a.length][b.length];
  };
  // The word that a misspelt one may mean, or one in another spelling, such as
  // "quantization" here, or null: the nearest, and of those the one on most pages.
  let vocabulary = null;
  const RARE = 5; // pages
  const meant = (word, { terms, titleterms }) => {
    const pages = (it) => {
      const stem = stemOf(it);
      return [terms[stem] ?? [], titleterms[stem] ?? []].flat().length;
    };
    const own = pages(word);
    const [, letters] = /^(\p{L}+)\d+$/u.exec(word) ?? [];
    if (letters && own <= RARE && pages(letters) > 3 * own) return letters; // gpt2
    if (word.length < 5 || own > RARE || (own && word.length < 8)) return null;
    vocabulary ??= new Set(
      Object.values(Search.texts)
        .flat(2)
        .join(" ")
        .toLowerCase()
        .match(/\p{L}{4,}/gu),
    );
    const most = own || word.length < 8 ? 1 : 2;
    const [best] = [...vocabulary]
      .filter((it) => it[0] === word[0] && Math.abs(it.length - word.length) <= most)
      .map((it) => [distance(word, it), -pages(it), it])
      .filter(([far, count]) => far > 0 && far <= most && -count > Math.max(1, 3 * own))
      .toSorted(([a, b], [c, d]) => a - c || b - d);
    return best ? best[2] : null;
  };

  // The best result of each section; `typing` says that the last word may be a
  // beginning.
  const find = async (query, typing) => {
    await texts();
    const { _index: index } = Search;
    for (const words of [index.terms, index.titleterms]) Object.setPrototypeOf(words, bare);
    // Split as the texts are: a name such as padding_mask is two words.
    const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const telling = words.filter((word) => !stopwords.includes(word) && !/^\d+$/.test(word));
    const open = typing && query.endsWith(words.at(-1)) ? telling.length - 1 : -1;
    const instead = [];
    let asking = query.toLowerCase();
    const stemmed = telling.map((word, i) => {
      const stem = stemOf(word);
      const whole = i === open ? completed(stem, index) : stem;
      const other = whole === stem ? meant(word, index) : null;
      if (!other) return whole;
      instead.push(`“${other}” in place of “${word}”`);
      asking = asking.replace(word, other);
      return stemOf(other);
    });
    const parsed = parse(instead.length ? asking : query);
    if (open >= 0) parsed[1] = new Set(stemmed);
    // Without this, the opened page would highlight parts of words.
    localStorage.removeItem("sphinx_highlight_terms");
    const terms = new Set(stemmed);
    Scorer.score = scorerOf(stemmed);
    const isLesson = ([page]) => Object.hasOwn(worths, page);
    const found = search(...parsed)
      .toReversed()
      .filter((result) => fits(result, terms))
      .toSorted((a, b) => isLesson(b) - isLesson(a));
    const shown = new Map(
      questions(terms, found.length ? MOST_OF : SOME_OF, index).map((it) => [
        `${asked}#${it[1].id}`,
        it,
      ]),
    );
    for (const result of found) {
      const section = bestSection(result, terms);
      const address = `${result[0]}#${section?.id}`;
      if (section && !shown.has(address)) shown.set(address, [result, section]);
    }
    return Object.assign([...shown.values()], { instead });
  };
  const counted = (found) => {
    const count = `${found.length} ${found.length === 1 ? "result" : "results"}`;
    return found.instead.length ? `${count}, with ${found.instead.join(" and ")}` : count;
  };
  const answer = async (query) => {
    const found = await find(query);
    Search.output.append(...found.map((it) => item(...it, 200)));
    tell(found.length ? counted(found) : NOTHING);
  };

  // The first results of what is being typed, below the field.
  const MOST = 8;
  let latest = null;
  Search.suggest = async (query, list, status) => {
    latest = query;
    const enough = query.trim().length > 1;
    const found = enough ? await find(query.toLowerCase(), true) : [];
    if (latest !== query) return;
    const all = document.createElement("a");
    const address = new URL("search.html", site);
    address.searchParams.set("q", query);
    all.href = address;
    all.textContent = "All results";
    const last = document.createElement("li");
    last.append(all);
    list.replaceChildren(
      ...found.slice(0, MOST).map((it) => item(...it, 100)),
      ...(found.length > MOST ? [last] : []),
    );
    const first = found.length > MOST ? `, the first ${MOST} below` : "";
    status.textContent = !enough ? "" : found.length ? counted(found) + first : "No results";
  };
  Search.query = (query) =>
    answer(query).catch(({ message }) =>
      tell(`The search failed: ${message}. Load the page again, or ask for other words.`),
    );
}
