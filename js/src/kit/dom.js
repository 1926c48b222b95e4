// Small helpers for the document: elements, numbers as text, and letters with indices.

export const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};

export const svg = (tag, attributes = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) node.setAttribute(name, value);
  node.append(...children);
  return node;
};

const SIGNS = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((sign, digit) => [digit, sign])) };
export const power = (k) => `10${[...String(k)].map((sign) => SIGNS[sign]).join("")}`;

/** Three digits, a true minus sign, and 3.2·10⁻⁵ for the small and the large. */
export function short(x, digits = 3) {
  if (x === 0) return "0";
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "–" : x > 0 ? "∞" : "−∞";
  if (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5) return String(+x.toPrecision(digits)).replace("-", "−");
  const [head, tail] = x.toExponential(1).split("e");
  return `${head.replace("-", "−")}·${power(+tail)}`;
}

/** "1 example", "2 examples": words that agree with their count. */
export const count = (n, one, more = `${one}s`) => `${short(n)} ${n === 1 ? one : more}`;

/**
 * Nodes for a text in which y_q, w_{GD} and x^2 are an index and an exponent; in a drawing or in the page.
 */
export function rich(text, drawing = false) {
  const nodes = [];
  let rest = 0,
    back = 0;
  const plain = (part) => {
    if (!part) return;
    nodes.push(drawing && back ? svg("tspan", { dy: `${back}em` }, part) : document.createTextNode(part));
    back = 0;
  };
  for (const match of text.matchAll(/([_^])(\{[^}]*\}|.)/gu)) {
    plain(text.slice(rest, match.index));
    const inner = match[2].replace(/^\{|\}$/g, ""),
      low = match[1] === "_";
    if (drawing)
      nodes.push(svg("tspan", { dy: `${(low ? 0.3 : -0.45) + back / 0.75}em`, "font-size": "75%" }, inner));
    else nodes.push(make(low ? "sub" : "sup", {}, inner));
    back = (low ? -0.3 : 0.45) * 0.75;
    rest = match.index + match[0].length;
  }
  plain(text.slice(rest));
  return nodes;
}

/** The same text for those who hear it. */
export const spoken = (text) =>
  text.replace(/[_^](\{[^}]*\}|.)/gu, (_, inner) => ` ${inner.replace(/[{}]/g, "")}`);
