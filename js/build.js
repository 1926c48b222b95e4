// Bundles the live figures into lsa/show/live/figures.js (or the file that is named): `make js`. The package
// ships that file, so that nobody needs node to use it. It is a classic script, for a page opened from a file
// may load no modules.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const path = (place) => fileURLToPath(new URL(place, import.meta.url));
const names = readdirSync(path("src/figures"))
  .map((file) => file.replace(".js", ""))
  .sort();

buildSync({
  stdin: {
    contents: `
      ${names.map((name) => `import { render as ${name} } from "./figures/${name}.js";`).join("\n")}
      const figures = { ${names} };
      export const render = (given) => figures[given.model.get("figure")](given);`,
    resolveDir: path("src"),
  },
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "iife",
  globalName: "lsaFigures",
  loader: { ".css": "text" },
  banner: { js: `// Made by js/build.js from js/src: do not edit. Figures: ${names.join(", ")}` },
  outfile: process.argv[2] ?? path("../lsa/show/live/figures.js"),
});
