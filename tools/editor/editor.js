/** The editor of a cell: CodeMirror with what Python needs, and nothing more.
 *
 * `make editor` bundles it into book/_live/editor.js, which a page loads at the
 * first press on Edit.
 */

import {
  defaultKeymap,
  history,
  historyKeymap,
  indentLess,
  indentMore,
} from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tagHighlighter, tags } from "@lezer/highlight";

// The classes of the site's own code, whose colours follow the page's scheme.
const classes = syntaxHighlighting(
  tagHighlighter([
    { tag: tags.comment, class: "c1" },
    { tag: [tags.string, tags.special(tags.string)], class: "s1" },
    { tag: tags.number, class: "mi" },
    { tag: [tags.keyword, tags.bool, tags.null], class: "k" },
    { tag: tags.operatorKeyword, class: "ow" },
    { tag: tags.self, class: "bp" },
    { tag: tags.meta, class: "nd" },
    { tag: tags.definition(tags.className), class: "nc" },
    { tag: tags.function(tags.definition(tags.variableName)), class: "nf" },
  ]),
);

// As the code that it replaces, so that nothing moves; on a phone larger.
const looks = EditorView.theme({
  "&.highlight.live-editor": {
    background: "var(--pst-color-surface)",
    borderRadius: "0.25rem",
    color: "var(--pst-color-text-base)",
    fontSize: "0.8rem",
  },
  "&.cm-focused": { outline: "2px solid var(--pst-color-link, currentColor)" },
  ".cm-scroller": { fontFamily: "var(--pst-font-family-monospace, monospace)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "currentColor", padding: "1rem 0.6rem" },
  ".cm-line": { padding: "0" },
  "@media (max-width: 768px)": {
    "&.highlight.live-editor": { fontSize: "0.75rem" },
    ".cm-content": { paddingInline: "0.25rem" },
  },
  "&.cm-focused .cm-matchingBracket": { background: "none", outline: "1px solid" },
  "&.cm-focused .cm-nonmatchingBracket": { background: "none", outline: "1px dotted" },
});

/** An editor of a text inside `parent`.
 *
 * Shift+Enter calls `onRun`, Escape `onLeave`, and each change `onChange` with
 * the text. Tab goes on to the next control until the reader has typed.
 */
globalThis.liveEditor = (parent, text, { onRun, onLeave, onChange, label }) => {
  let typed = false;
  const done = (call) => () => {
    call?.(view.state.doc.toString());
    return true;
  };
  const leave = () => {
    typed = false;
    return done(onLeave)();
  };
  const ifTyped = (command) => (target) => typed && command(target);
  const keys = [
    { key: "Shift-Enter", run: done(onRun) },
    { key: "Mod-Enter", run: done(onRun) },
    { key: "Escape", run: leave },
    { key: "Tab", run: ifTyped(indentMore), shift: ifTyped(indentLess) },
  ];
  const noticed = EditorView.updateListener.of((update) => {
    if (!update.docChanged) return;
    typed ||= update.transactions.some((it) => it.isUserEvent("input") || it.isUserEvent("delete"));
    onChange?.(update.state.doc.toString());
  });
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        keymap.of([...keys, ...historyKeymap, ...defaultKeymap]),
        history(),
        indentUnit.of("    "),
        indentOnInput(),
        bracketMatching(),
        pythonLanguage,
        classes,
        looks,
        noticed,
        EditorView.editorAttributes.of({ class: "highlight live-editor" }),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set(next) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    focus(at) {
      view.focus();
      if (at !== undefined) view.dispatch({ selection: { anchor: at } });
    },
    destroy: () => view.destroy(),
  };
};
