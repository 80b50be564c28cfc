// Heads and groups: which columns a head owns, and whose keys it reads.

const TINTS = ["#cde4f2", "#f8d3bd", "#bfe7da", "#f2d6e6", "#fae3b0", "#d9d9f3"];
const tint = (g) => TINTS[g % TINTS.length];
const DRAWN = 24; // columns that still fit in a picture
const BYTES = 2; // float16, as caches are kept

const divisors = (n) =>
  range(n)
    .map((i) => i + 1)
    .filter((i) => n % i === 0);

const figure = {
  name: "heads",
  controls: [
    { key: "T", kind: "range", label: "tokens T", min: 1, max: 6, step: 1 },
    { key: "d_k", kind: "range", label: "width of a head d_k", min: 1, max: 128, step: 1 },
    { key: "H", kind: "range", label: "query heads H", min: 1, max: 64, step: 1 },
    { key: "H_kv", kind: "range", label: "key/value heads H_kv", min: 1, max: 64, step: 1 },
    {
      key: "column",
      kind: "range",
      label: "column to follow",
      min: 0,
      max: 8191,
      step: 1,
      upTo: ({ H, d_k }) => H * d_k - 1,
    },
  ],
  check: ({ H, H_kv }) =>
    H % H_kv
      ? `H_kv must divide H: ${H} query heads can share ${divisors(H).join(", ")} key/value ` +
        `heads; got ${H_kv}`
      : "",

  // One layer with d_model = H d_k and d_v = d_k, without biases.
  compute: ({ H, H_kv, d_k, column }) => {
    const shared = H / H_kv;
    const at = Math.min(column, H * d_k - 1);
    const head = Math.floor(at / d_k);
    const query = H * d_k * H * d_k;
    const key = H * d_k * H_kv * d_k;
    return {
      split: range(H).map((h) => range(d_k).map((j) => h * d_k + j)),
      kv_head: range(H).map((h) => Math.floor(h / shared)),
      followed: [at, head, at % d_k, Math.floor(head / shared)],
      parameters: { W_Q: query, W_K: key, W_V: key, W_O: query, total: 2 * query + 2 * key },
      cache: 2 * H_kv * d_k * BYTES,
      multi_head: { total: 4 * query, cache: 2 * H * d_k * BYTES },
    };
  },

  view: ({ H, H_kv, d_k, T }, { split, kv_head, followed, parameters, cache, multi_head }) => {
    const [at, head, place, group] = followed;
    const shared = H / H_kv;
    const tokens = "abcdef".slice(0, T).split("");
    const cell = (token, c) => {
      const style = `style="background:${tint(kv_head[Math.floor(c / d_k)])};color:#000"`;
      return c === at
        ? `<td ${style}><mark>${token}${c}</mark></td>`
        : `<td ${style}>${token}${c}</td>`;
    };
    const table = (caption, columns, names, above = "") => {
      const top = names.map((n) => `<th scope="col">${n}</th>`).join("");
      const rows = tokens.map(
        (t) => `<tr><th scope="row">${t}</th>${columns.map((c) => cell(t, c)).join("")}</tr>`,
      );
      return (
        `<table class="av-grid"><caption>${caption}</caption><thead>${above}<tr><td></td>${top}` +
        `</tr></thead><tbody>${rows.join("")}</tbody></table>`
      );
    };
    const owners = range(H)
      .map((h) => `<th scope="colgroup" colspan="${d_k}">Q${h}</th>`)
      .join("");
    const all = split.flat();
    const drawn =
      all.length > DRAWN
        ? `<p class="av-caption">${whole(all.length)} columns are too many to draw. Head h ` +
          `owns columns h · ${d_k} to h · ${d_k} + ${d_k - 1}.</p>`
        : table(
            `Merged (${T}, ${all.length}): one row a token`,
            all,
            all,
            `<tr><td></td>${owners}</tr>`,
          ) +
          `<p class="av-caption">Split (${H}, ${T}, ${d_k}): the same entries, one table a ` +
          `query head</p><div class="av-row">` +
          split
            .map((columns, h) =>
              table(`Q${h} reads K${kv_head[h]} V${kv_head[h]}`, columns, range(d_k)),
            )
            .join("") +
          "</div>";

    const owned = (h) => (d_k > 1 ? `${h * d_k}–${h * d_k + d_k - 1}` : `${h}`);
    const groups = range(H_kv).map((g) => {
      const readers = range(H).filter((h) => kv_head[h] === g);
      const chips = readers.map((h) => `<span>Q${h} (${owned(h)})</span>`).join(" ");
      return (
        `<li style="background:${tint(g)}"><b>K${g} V${g} (${owned(g)})</b> read by ${chips}` +
        "</li>"
      );
    });

    const line = (name, here, there) =>
      `<tr><th scope="row">${name}</th><td>${whole(here)}</td><td>${whole(there)}</td></tr>`;
    const full = multi_head.total / 4;
    const counts =
      `<table class="av-grid"><caption>One layer with d_model = ${whole(H * d_k)}: ` +
      "parameters, and bytes to cache in float16</caption>" +
      `<thead><tr><td></td><th scope="col">H_kv = ${H_kv}</th><th scope="col">H_kv = ${H}` +
      "</th></tr></thead><tbody>" +
      ["W_Q", "W_K", "W_V", "W_O"].map((name) => line(name, parameters[name], full)).join("") +
      line("all four", parameters.total, multi_head.total) +
      line("cache, bytes a token", cache, multi_head.cache) +
      "</tbody></table>";

    const kind = H_kv === H ? "Multi-head" : H_kv === 1 ? "Multi-query" : "Grouped-query";
    return (
      drawn +
      `<p class="av-caption">Who reads whose keys and values, and the columns of each</p>` +
      `<ul class="av-groups">${groups.join("")}</ul>` +
      counts +
      say(
        `${kind} attention: ${shared} query head${shared > 1 ? "s" : ""} to a key/value head. ` +
          `Column ${at} is place ${place} of query head ${head}, since ${at} = ${head} · ` +
          `${d_k} + ${place}; that head reads K${group} and V${group}. ` +
          `The cache takes ${whole(cache)} bytes a ` +
          `token${shared > 1 ? `, 1/${shared} of what multi-head attention takes` : ""}.`,
      )
    );
  },
};

export default figureModule(figure);
