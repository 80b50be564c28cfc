/** Bundle the editor: `make editor`. The banner says of what it is made. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { build } from "esbuild";

const sum = createHash("sha256");
for (const file of ["package-lock.json", "editor.js", "build.js"]) sum.update(readFileSync(file));

await build({
  entryPoints: ["editor.js"],
  outfile: process.argv[2],
  banner: { js: `/*! CodeMirror 6 and Lezer (MIT): NOTICE.txt. Made of ${sum.digest("hex")} */` },
  bundle: true,
  charset: "utf8",
  format: "iife",
  legalComments: "none",
  minify: true,
  target: "es2022",
});
