import palette from "../../../lsa/show/palette.json" with { type: "json" };
import css from "../style.css";

// The page sets the actors' colours for light and dark as --lsa-…; JupyterLab does not, so there they come
// from here.

const { layer, gd, bayes, theory, experiment } = palette;

/** @type {Record<string, string>} */
export const DASHES = Object.fromEntries(
  // twice the pattern of lsa.figures: a line of 2 points is about 2.5 pixels wide
  Object.entries({ layer, gd, bayes, theory, accent: { dash: [3.5, 1.5] } }).map(([actor, { dash }]) => [
    actor,
    dash.map((x) => 2 * x).join(" "),
  ]),
);

/** @param {"lab" | "dark"} shade */
const colours = (shade) =>
  Object.entries({ layer, gd, bayes, experiment })
    .map(([actor, look]) => `--${actor}: var(--lsa-${actor}, ${look[shade]});`)
    .join(" ");

/** @type {CSSStyleSheet | null} */
let sheet = null;

/**
 * One constructed sheet for all figures of a page: no style element, so that a strict policy needs no exception.
 * @param {ShadowRoot} shadow
 */
export function adoptStyles(shadow) {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(`.live { ${colours("lab")} } .live.dark { ${colours("dark")} } ${css}`);
  }
  shadow.adoptedStyleSheets = [...shadow.adoptedStyleSheets, sheet];
}
