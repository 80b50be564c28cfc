// What a page does after the first press on Run, Edit, Run all or Check: it runs
// the cells of its notebook in a worker, shows what they give, and compares.
// site.js draws the buttons and loads this script; worker.js runs Python.
"use strict";

globalThis.attentionLive = (() => {
  const own = document.currentScript.src;
  const { page } = document.body.dataset;
  const bar = document.querySelector(".av-python");
  const here = (name) => new URL(`${name}?v=${bar.dataset.version}`, own);
  const make = (tag, className, text = "") => {
    const el = document.createElement(tag);
    el.className = className;
    el.textContent = text;
    return el;
  };
  const button = (text, onPress, className = "") => {
    const el = make("button", className, text);
    el.type = "button";
    el.addEventListener("click", onPress);
    return el;
  };
  const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const joined = (text) => [text ?? ""].flat().join("");

  // --- the notebook ----------------------------------------------------------

  // A cell has the published code (`source`) and the reader's (`text`). What it
  // has shown is fresh, or stale because something above has changed since. One
  // that failed is run again before those below.
  let notebook;
  const cells = new Map();
  const read = async () => {
    if (notebook) return;
    const answer = await fetch(here(`../../_sources/${page}.ipynb`), { cache: "no-cache" }).catch(
      () => null,
    );
    if (!answer?.ok) throw new Error("The notebook of this page did not arrive.");
    notebook = await answer.json();
    notebook.cells.forEach((raw, at) => {
      if (raw.cell_type !== "code") return;
      const source = joined(raw.source);
      cells.set(at, { at, raw, source, text: source, tags: raw.metadata.tags ?? [], state: "new" });
    });
  };
  const placeOf = (kind, at) => document.querySelector(`.${kind}-${at}`);
  const isEdited = (cell) => cell.text !== cell.source;
  const nameOf = ({ at }) => `cell ${[...cells.keys()].indexOf(at) + 1}`;

  // --- the worker ------------------------------------------------------------

  const PATIENCE = 60; // seconds without a sign of life, while Python starts
  class Python {
    constructor() {
      this.waiting = new Map();
      this.count = 0;
      this.share = 0;
      this.worker = new Worker(here("worker.js"));
      this.worker.onmessage = ({ data }) => {
        if (data.arrived) {
          this.share += data.arrived;
          this.alive();
          return;
        }
        if (data.printed) {
          hear(data.printed);
          return;
        }
        const { resolve, reject } = this.waiting.get(data.id);
        this.waiting.delete(data.id);
        if (data.failed === undefined) resolve(data.ok);
        else reject(new Error(data.failed));
        if (data.fatal) this.end(STOPPED);
      };
      this.worker.onerror = (event) => {
        event.preventDefault();
        this.end(event.message || "The worker did not start.");
      };
      this.alive();
      this.ready = this.ask("start").then((versions) => {
        clearTimeout(this.timer);
        this.versions = versions;
        mention(versions);
        return versions;
      });
    }
    alive() {
      clearTimeout(this.timer);
      if (this.versions) return;
      strip.say(`Loading Python: ${Math.min(100, Math.round(100 * this.share))} %`);
      this.timer = setTimeout(
        () => this.end(`Python did not start: nothing happened for ${PATIENCE} seconds.`),
        PATIENCE * 1000,
      );
    }
    ask(what, more) {
      this.count += 1;
      const id = this.count;
      const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
      this.worker.postMessage({ id, what, ...more });
      return answer;
    }
    end(why) {
      clearTimeout(this.timer);
      this.worker.terminate();
      this.ended = true;
      for (const { reject } of this.waiting.values()) reject(new Error(why));
      this.waiting.clear();
    }
  }
  const STOPPED = "Stopped.";
  let session = null; // runs what the reader asks for
  let checking = null; // runs the page as published, in a Python of its own
  const python = async () => {
    if (!session || session.ended) session = new Python();
    await session.ready;
    return session;
  };

  // --- what is said ----------------------------------------------------------

  const look = document.createElement("link");
  look.rel = "stylesheet";
  look.href = here("page.css");
  document.head.append(look);
  const said = make("p", "av-run-said");
  said.setAttribute("role", "status");
  const found = make("div", "av-run-found");
  bar.append(said, found);
  const tell = (text) => {
    said.textContent = text;
  };
  const unkept = make(
    "p",
    "av-unkept",
    "This browser keeps no edits, because its storage is full or closed. " +
      "Save the page before you leave.",
  );
  unkept.setAttribute("role", "alert");
  // What one cell gives stands below it, so it is only spoken.
  const spoken = make("p", "av-spoken");
  spoken.setAttribute("role", "status");
  bar.append(spoken);
  // NumPy does not say that an array overflowed.
  const SMALL = "Integers in NumPy arrays have 32 bits here";
  const large = ({ bits }) =>
    bits === 32
      ? `${SMALL}, so beyond 2,147,483,647 they overflow silently. dtype=np.int64 has 64.`
      : "";
  const mention = (versions) => {
    if (bar.querySelector(".av-bits") || !large(versions)) return;
    bar.querySelector("span").after(make("span", "av-bits", `${SMALL}.`));
  };
  // A strip at the foot of the window, while something runs.
  const strip = (() => {
    const box = make("div", "av-strip");
    const text = make("span", "");
    box.append(
      text,
      button("Stop", () => stop()),
    );
    box.hidden = true;
    document.body.append(box);
    return {
      say: (words) => {
        text.textContent = words;
        box.hidden = false;
      },
      hide: () => {
        box.hidden = true;
      },
    };
  })();
  const note = (cell, text, kind = "") => {
    const code = placeOf("in", cell.at);
    if (!code || (!text && !code.querySelector(".av-cell-tools"))) return;
    const place = toolsOf(code).querySelector(".av-cell-said");
    place.textContent = text;
    place.dataset.kind = kind;
    while (place.nextSibling) place.nextSibling.remove();
  };

  // --- showing outputs -------------------------------------------------------

  const pre = (className, text) => {
    const box = make("div", `output ${className} av-ran notranslate`);
    const inner = make("div", "highlight");
    inner.append(make("pre", "", text));
    box.append(inner);
    return box;
  };
  const html = (text) => {
    const box = make("div", "output text_html");
    box.innerHTML = text;
    const shown = box.querySelector("section.av-figure, form.av-question");
    if (shown) {
      // The notebook's note for JupyterLab stands before it.
      shown.hidden = false;
      box.replaceChildren(shown);
    }
    return box;
  };
  const drawn = (output) => {
    if (output.output_type === "stream") return pre("stream highlight-myst-ansi", output.text);
    if (output.output_type === "error")
      return pre("traceback highlight-ipythontb", output.traceback.join("\n"));
    const { data } = output;
    if (data.drawing) return html(data.drawing);
    if (data["text/html"]) return html(data["text/html"]);
    const box = pre("text_plain highlight-myst-ansi", data["text/plain"]);
    const [reply] = /^(Not answered yet|✓|✗)/.exec(data["text/plain"]) ?? [];
    if (reply) box.classList.add("av-said");
    box.dataset.kind = { "✓": "right", "✗": "wrong" }[reply] ?? "";
    return box;
  };
  const enliven = (box) => {
    for (const el of box.querySelectorAll("[data-figure]")) start(el);
    for (const form of box.querySelectorAll("form[data-question]"))
      attentionFigures.practice.attach(form);
  };
  const outputOf = (cell) => {
    const place = placeOf("out", cell.at);
    if (place) return place;
    const code = placeOf("in", cell.at);
    if (!code) return null;
    const made = make("div", `cell_output docutils container out-${cell.at}`);
    code.after(made);
    return made;
  };
  // The outputs as stored stay in the page, to be put back.
  const show = (cell, outputs, ...remarks) => {
    const place = outputOf(cell);
    if (!place) return;
    cell.own = true;
    cell.stored ??= [...place.childNodes];
    const below = remarks.filter(Boolean).map((text) => make("p", "av-remark", text));
    place.replaceChildren(...outputs.map(drawn), ...below);
    enliven(place);
    reach();
  };
  const putBack = (cell) => {
    if (!cell.stored) return;
    placeOf("out", cell.at).replaceChildren(...cell.stored);
    delete cell.stored;
    delete cell.own;
  };

  // --- running ---------------------------------------------------------------

  const mark = (cell, state) => {
    cell.state = state;
    placeOf("out", cell.at)?.classList.toggle("av-stale", state === "stale");
  };
  const spoil = (at) => {
    for (const cell of cells.values())
      if (cell.at > at && cell.state === "fresh") {
        mark(cell, "stale");
        note(cell, "from before a change above", "stale");
      }
  };
  // What a cell prints comes piece by piece, and is shown if the cell takes longer.
  // So a stop loses none of it. The worker counts what is too much to show.
  const PAUSE = 300;
  const leftOut = (count) => (count ? `${plural(count, "more character")} left out.` : "");
  const showPrinted = (cell, ...remarks) => {
    clearTimeout(cell.soon);
    delete cell.soon;
    show(cell, cell.printed, ...remarks, leftOut(cell.left));
    const [last] = [...placeOf("out", cell.at).querySelectorAll("pre")].slice(-1);
    last.scrollTop = last.scrollHeight;
  };
  const hear = ({ name, text, left }) => {
    const cell = running;
    if (!cell) return;
    const last = cell.printed.at(-1);
    if (text && last?.name === name) last.text += text;
    else if (text) cell.printed.push({ output_type: "stream", name, text });
    cell.left = left;
    cell.soon ??= setTimeout(showPrinted, PAUSE, cell);
  };
  const cutOff = (cell, why) => {
    clearTimeout(cell.soon);
    if (!cell.printed.length) return;
    showPrinted(cell, `Cut off here: ${why}.`);
    cell.outputs = cell.printed;
  };
  const failed = (outputs) => outputs.find(({ output_type: kind }) => kind === "error");
  const errorOf = (cell) => {
    const { ename, evalue } = failed(cell.outputs);
    return evalue ? `${ename}: ${evalue}` : ename;
  };
  const seenOf = ({ at }) => placeOf("in", at) ?? placeOf("out", at);
  const unfold = (cell) => {
    for (let el = seenOf(cell); el; el = el.parentElement)
      if (el.matches("details")) el.open = true;
  };
  const goTo = (cell) => {
    unfold(cell);
    seenOf(cell).scrollIntoView({ block: "center" });
    const code = placeOf("in", cell.at);
    if (code) toolsOf(code).querySelector("button").focus({ preventScroll: true });
  };
  const goButton = (cell) =>
    seenOf(cell) ? [button(`Go to ${nameOf(cell)}`, () => goTo(cell))] : [];
  // What a run says of itself. Drawings and exercises get no tick: the text of a
  // drawing may agree where its lines do not, and an exercise has its own check.
  const verdict = (cell, { different, drawings, count, seconds }) => {
    const took = `${seconds.toFixed(1)} s`;
    if (isEdited(cell)) {
      const later =
        !placeOf("out", cell.at)?.dataset.task &&
        [...cells.values()].some((it) => it.at > cell.at && it.state === "new");
      return [`ran, ${took}${later ? "; results below are still as published" : ""}`];
    }
    if (different.length && cell.tags.includes("nbval-ignore-output")) return [`ran, ${took}`];
    if (different.length) {
      const above = [...cells.values()].some((it) => it.at < cell.at && isEdited(it));
      if (above) return [`not as published, because of a change above, ${took}`];
      return [`not as published, ${took}`, "wrong"];
    }
    if (drawings) return [`drawn here, ${took}`];
    return placeOf("out", cell.at)?.dataset.task || !count
      ? [`ran, ${took}`]
      : [`✓ as published, ${took}`, "right"];
  };
  // Run one cell; false if it ended with an error that the page does not show.
  const runCell = async (cell) => {
    const { text } = cell;
    const worker = await python();
    running = cell;
    strip.say(`Running ${nameOf(cell)} of ${cells.size}`);
    note(cell, "running");
    mark(cell, "new");
    cell.printed = [];
    const result = await worker.ask("run", { cell: cell.raw, source: text, name: nameOf(cell) });
    running = null;
    clearTimeout(cell.soon);
    delete cell.soon;
    const { outputs, different, drawings } = result;
    const published = text === cell.source;
    const error = failed(outputs);
    const expected = published && cell.tags.includes("raises-exception");
    const broken = error && !expected;
    if (published && !different.length && !drawings) putBack(cell);
    // A question whose code the page does not show keeps its place.
    else if (!broken || placeOf("in", cell.at))
      show(
        cell,
        outputs,
        leftOut(result.left),
        result.large && !published && large(worker.versions),
      );
    if (cell.ran !== text) spoil(cell.at);
    Object.assign(cell, { ran: text, outputs, seen: true });
    if (cell.text !== text) {
      mark(cell, "stale");
      note(cell, "ran with the text before your change", "stale");
    } else {
      mark(cell, broken ? "failed" : "fresh");
      if (broken) note(cell, "stopped with an error", "wrong");
      else note(cell, ...verdict(cell, result));
    }
    judge(cell, outputs);
    return !broken;
  };
  let running = null;
  let busy = false;
  const alone = async (work, at) => {
    if (busy) {
      tell("Something is running. Wait for it, or press Stop.");
      if (at !== undefined && at !== running?.at)
        note({ at }, "not run: something else is running", "stale");
      return;
    }
    busy = true;
    tell("");
    found.replaceChildren();
    try {
      await read();
      await work();
    } catch (error) {
      const stopped = error.message === STOPPED;
      if (!stopped) tell(error.message);
      if (session?.ended) outdate();
      if (!stopped && !running && at !== undefined) note({ at }, "not run", "wrong");
      if (running) {
        cutOff(running, stopped ? "you stopped the cell" : "Python ended");
        if (!stopped) note(running, session.ended ? "Python ended here" : "not run", "wrong");
      }
      for (const cell of cells.values())
        if (cell.state === "new" && cell !== running && (stopped || cell.at !== at)) note(cell, "");
    } finally {
      running = null;
      busy = false;
      checking?.end(STOPPED);
      checking = null;
      strip.hide();
    }
  };
  // Why a cell above should not run unasked, or "".
  const objection = (cell) =>
    cell.stopped === cell.text ? "was stopped: change it, or run it by itself" : "";
  // Edits of an earlier visit run after a look, or all together when asked.
  const unseen = (some) => some.filter((cell) => isEdited(cell) && !cell.seen);
  const named = (some) => {
    const names = some.map(nameOf);
    const [last] = names.slice(-1);
    return names.length === 1 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
  };
  const warning = (edits) =>
    edits.length === 1
      ? `${named(edits)} has your edit of an earlier visit: look at it first`
      : `${named(edits)} have your edits of an earlier visit: look at them first`;
  // Run a cell, after the cells above it that have not run.
  const run = (at) =>
    alone(async () => {
      const asked = cells.get(at);
      const before = [...cells.values()].filter((it) => it.at < at && it.state !== "fresh");
      const edits = unseen(before);
      if (edits.length) {
        note(asked, `not run: ${warning(edits)}`, "stale");
        toolsOf(placeOf("in", at)).append(...edits.flatMap(goButton), anyway(edits, at));
        spoken.textContent = `Not run: ${warning(edits)}`;
        return;
      }
      note(asked, session?.versions && !session.ended ? "waiting" : "waiting for Python");
      for (const cell of before) {
        const why = objection(cell);
        if (!why && (await runCell(cell))) continue;
        const name = placeOf("in", cell.at) ? nameOf(cell) : `${nameOf(cell)}, which is not shown,`;
        const end = why || `stopped with an error: ${errorOf(cell)}`;
        note(asked, `not run: ${name} ${end}`, why ? "stale" : "wrong");
        toolsOf(placeOf("in", at)).append(...goButton(cell));
        spoken.textContent = `Not run: ${name} ${end}`;
        return;
      }
      delete asked.stopped;
      const ran = await runCell(asked);
      const texts = asked.outputs.map((it) => it.text ?? it.data?.["text/plain"] ?? it.evalue);
      spoken.textContent = ran
        ? `The cell has run. ${texts.join(" ").slice(0, 200)}`
        : `The cell stopped with an error. ${errorOf(asked)}`;
    }, at);
  // One press lets them run; their folds open, so that they can be seen.
  const anyway = (edits, at) =>
    button("Run with my edits", () => {
      for (const cell of edits) {
        unfold(cell);
        cell.seen = true;
      }
      run(at);
    });
  const runAll = () =>
    alone(async () => {
      const edits = unseen([...cells.values()]);
      if (edits.length) {
        tell(`${warning(edits)}.`);
        found.replaceChildren(...edits.flatMap(goButton));
        return;
      }
      for (const cell of cells.values()) {
        const why = objection(cell);
        if (why) {
          tell(`${nameOf(cell)} ${why}.`);
          found.replaceChildren(...goButton(cell));
          return;
        }
        if (await runCell(cell)) continue;
        tell(`Stopped at ${nameOf(cell)} of ${cells.size}: ${errorOf(cell)}`);
        found.replaceChildren(...goButton(cell));
        return;
      }
      tell(`All ${cells.size} cells have run.`);
    });
  const outdate = () => {
    for (const cell of cells.values()) {
      if (cell === running) continue;
      if (cell.state === "fresh") mark(cell, "stale");
      if (cell.state === "stale") note(cell, "from before the stop", "stale");
    }
  };
  const stop = () => {
    if (checking) {
      checking.end(STOPPED);
      tell("Stopped: the check is not finished.");
      return;
    }
    const cell = running;
    session?.end(STOPPED);
    outdate();
    if (cell) {
      cell.stopped = cell.text;
      note(cell, "you stopped this", "stale");
    }
    tell("Stopped. Python’s variables are gone; what you typed is still here.");
  };

  // --- exercises -------------------------------------------------------------

  // An exercise in code is right when its check says so, and counts as other
  // questions do.
  const judge = (cell, outputs) => {
    const place = placeOf("out", cell.at);
    const reply = outputs
      .map(({ data }) => data?.["text/plain"] ?? "")
      .find((t) => /^[✓✗N]/.test(t));
    if (!place?.dataset.task || reply === undefined) return;
    // Once solved, it stays so until the reader clears the answers.
    if (!reply.startsWith("✓")) return;
    localStorage.setItem(place.dataset.task, JSON.stringify(["right"]));
    place.dataset.right = true;
    document.dispatchEvent(new Event("practice-changed"));
  };

  // --- editing ---------------------------------------------------------------

  const keyOf = ({ at }) => `code/${page}/${at}`;
  const keep = (cell) => {
    if (!isEdited(cell)) localStorage.removeItem(keyOf(cell));
    else {
      const { source, text } = cell;
      localStorage.setItem(keyOf(cell), JSON.stringify({ of: source, text }));
      if (document.documentElement.dataset.kept === "no" && !unkept.parentNode) bar.append(unkept);
    }
  };
  const changed = (cell, text) => {
    cell.text = text;
    cell.seen = true;
    cell.undo?.remove();
    keep(cell);
    const tools = placeOf("in", cell.at);
    tools.classList.toggle("av-edited", isEdited(cell));
    if (cell.ran === undefined) return;
    const stale = cell.ran !== text;
    mark(cell, stale ? "stale" : "fresh");
    note(cell, stale ? "edited since it ran" : "", "stale");
    if (stale) spoil(cell.at);
  };
  let editor = null;
  const bringEditor = () => (editor ??= bring(here("editor.js")));
  // `end` is how far from the end of the code the caret goes.
  const edit = async (at, text, end) => {
    try {
      await Promise.all([read(), bringEditor()]);
    } catch {
      tell("The editor did not load. Try again when there is a connection.");
      editor = null;
      return;
    }
    const cell = cells.get(at);
    const place = placeOf("in", at);
    if (!cell.editor) {
      const box = make("div", "av-editor");
      // The keys of the page, such as "/" for the search, are letters here.
      box.addEventListener("keydown", (event) => event.stopPropagation());
      place.prepend(box);
      place.classList.add("av-editing");
      addReset(cell);
      cell.editor = liveEditor(box, cell.text, {
        label: `Code of ${nameOf(cell)}`,
        onChange: (now) => changed(cell, now),
        onRun: () => run(at),
        onLeave: () => place.querySelector(".av-edit").focus(),
      });
    }
    if (text !== undefined) cell.editor.set(text);
    cell.editor.focus(end === undefined ? end : cell.text.length - end);
  };
  const addReset = ({ at }) => {
    const tools = toolsOf(placeOf("in", at));
    if (!tools.querySelector(".av-reset"))
      tools.querySelector(".av-edit").after(button("Reset", () => reset(at), "av-reset"));
  };
  // A text in the place of the published code, before the editor is there.
  const display = (cell, text) => {
    const code = placeOf("in", cell.at).querySelector(".highlight pre");
    cell.code ??= [...code.childNodes];
    code.replaceChildren(...(text === cell.source ? cell.code : [text]));
  };
  const close = (cell) => {
    if (cell.code) display(cell, cell.source);
    if (!cell.editor) return;
    cell.editor.destroy();
    delete cell.editor;
    const place = placeOf("in", cell.at);
    place.querySelector(".av-editor").remove();
    place.classList.remove("av-editing");
  };
  const reset = async (at) => {
    await read();
    const cell = cells.get(at);
    const before = cell.text;
    close(cell);
    changed(cell, cell.source);
    putBack(cell);
    note(cell, cell.ran === undefined ? "" : "as published; not run again yet", "stale");
    const tools = toolsOf(placeOf("in", at));
    cell.undo = button("Undo the reset", () => edit(at, before));
    tools.querySelector(".av-reset").after(cell.undo);
    tools.querySelector(".av-edit").focus();
    spoken.textContent = "The cell is as published.";
  };
  // The reader's text of a cell, from an earlier visit, or null.
  const earlier = (cell) => {
    try {
      const kept = JSON.parse(localStorage.getItem(keyOf(cell)));
      return typeof kept?.text === "string" ? kept : null;
    } catch {
      return null; // another program wrote it
    }
  };
  // Edits of an earlier visit are shown in their cells, and run only when asked. If
  // the published cell has changed since, its edit is offered instead.
  const offer = async () => {
    await read();
    for (const cell of cells.values()) {
      const code = placeOf("in", cell.at);
      const kept = code && earlier(cell);
      if (!kept || isEdited(cell)) continue;
      if (kept.of === cell.source) {
        cell.text = kept.text;
        display(cell, kept.text);
        addReset(cell);
        code.classList.add("av-edited");
        note(cell, "your edit of an earlier visit; not run yet", "stale");
      } else {
        const give = button("Show your earlier edit (the cell has changed since)", () => {
          give.remove();
          edit(cell.at, kept.text);
        });
        toolsOf(code).querySelector(".av-cell-said").before(give);
      }
    }
  };
  const forget = () => {
    tell("");
    spoken.textContent = "";
    found.replaceChildren();
    // The variables are those of the reader's code, so they go as well.
    if (running) running.printed = [];
    for (const one of [session, checking]) one?.end(STOPPED);
    for (const cell of cells.values()) {
      close(cell);
      cell.undo?.remove();
      for (const key of ["ran", "outputs", "stopped", "seen"]) delete cell[key];
      cell.text = cell.source;
      putBack(cell);
      mark(cell, "new");
      note(cell, "");
      placeOf("in", cell.at)?.classList.remove("av-edited");
    }
  };

  // --- checking the page -----------------------------------------------------

  const difference = (cell, pairs) => {
    const box = make("details", "av-differs");
    const seen = placeOf("in", cell.at) ?? placeOf("out", cell.at);
    box.append(
      make("summary", "", `${nameOf(cell)} differs${seen ? "" : " (not shown on the page)"}`),
    );
    for (const [stored, now] of pairs) {
      box.append(make("p", "", "published"), pre("", stored ?? "(nothing)"));
      box.append(make("p", "", "in this browser"), pre("", now ?? "(nothing)"));
    }
    box.append(...goButton(cell));
    return box;
  };
  const report = () => {
    const link = document.querySelector(".imprint a.report")?.cloneNode(true);
    if (!link) return "";
    link.textContent = "Report a difference";
    return link;
  };
  const LEFT = "as published, the cell gives the same; your edit was left out";
  const check = () =>
    alone(async () => {
      checking = new Python();
      const { numpy } = await checking.ready;
      let all = 0;
      let equal = 0;
      let silent = 0;
      let edited = false;
      let drawings = 0;
      const wrong = [];
      const apart = new Map();
      for (const cell of cells.values()) {
        strip.say(`Checking ${nameOf(cell)} of ${cells.size}`);
        const result = await checking.ask("check", { cell: cell.raw, name: nameOf(cell) });
        const theirs = cell.own || isEdited(cell);
        edited ||= theirs;
        if (result.why) {
          apart.set(result.why, (apart.get(result.why) ?? 0) + 1);
          note(cell, `not compared: ${result.why}`);
          continue;
        }
        all += result.count;
        equal += result.same;
        drawings += result.drawings;
        if (result.different.length) {
          wrong.push(difference(cell, result.different));
          note(cell, "not as published in this browser", "wrong");
        } else if (theirs)
          note(
            cell,
            cell.own ? "as published, the cell gives the same; below is yours" : LEFT,
            "stale",
          );
        else if (result.count) note(cell, "✓ the same in this browser", "right");
        silent += !result.count;
      }
      const stored = bar.dataset.numpy;
      tell(
        `${equal} of ${plural(all, "output")} are the same in this browser ` +
          `(NumPy ${numpy}; published with ${stored}).${edited ? " Your changes were left out." : ""}`,
      );
      const parts = [];
      if (silent) parts.push(`${plural(silent, "cell")} without output ran without an error`);
      if (drawings)
        parts.push(`${plural(drawings, "drawing")} compared by description, not by lines`);
      for (const [why, count] of apart)
        parts.push(`not compared: ${plural(count, "cell")} (${why})`);
      if (parts.length) found.append(make("p", "", `${parts.join("; ")}.`));
      found.append(...wrong, ...(wrong.length ? [report()] : []));
    });

  // --- the page as a notebook ------------------------------------------------

  const stored = (output) => {
    const { drawing: _, ...data } = output.data ?? {};
    if (output.output_type === "execute_result")
      return { ...output, data, metadata: {}, execution_count: null };
    return output.data ? { ...output, data, metadata: {} } : output;
  };
  const download = () =>
    alone(async () => {
      const copy = structuredClone(notebook);
      for (const cell of cells.values()) {
        copy.cells[cell.at].source = cell.text;
        // What an edited cell would show is known when it has run.
        if (isEdited(cell) && cell.ran !== cell.text) copy.cells[cell.at].outputs = [];
        else if (cell.outputs) copy.cells[cell.at].outputs = cell.outputs.map(stored);
      }
      const link = make("a", "");
      link.href = URL.createObjectURL(new Blob([JSON.stringify(copy, null, 1)]));
      link.download = `${page.replace(/^book\//, "").replace("/", "-")}-mine.ipynb`;
      link.click();
      URL.revokeObjectURL(link.href);
      tell(`Saved as ${link.download}: the page as a notebook, with your changes.`);
    });

  return { run, runAll, check, edit, reset, offer, forget, download };
})();
