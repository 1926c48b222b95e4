// How every live figure looks. The page gives ink, paper and the actors' colours (book/_static/custom.css);
// in JupyterLab, which has no such sheet, they are those of lsa.figures, or lighter ones in its dark theme.
export const DASHES = { layer: "", gd: "10 3.2", bayes: "2 2.4", theory: "12 3.2 2 3.2" };
export const THUMB = 18;

const CSS = `
:host { display: block; container-type: inline-size; }
.live { color: var(--pst-color-text-base, var(--jp-content-font-color1, CanvasText)); font: 15px/1.45 var(--pst-font-family-base, system-ui, sans-serif);
  --paper: var(--pst-color-background, var(--jp-layout-color0, Canvas)); --rule: var(--pst-color-border, var(--jp-border-color2, #8888));
  --muted: var(--pst-color-text-muted, var(--jp-content-font-color2, GrayText));
  --layer: var(--lsa-layer, #0072b2); --gd: var(--lsa-gd, #c55300); --bayes: var(--lsa-bayes, #00805f); --accent: var(--lsa-experiment, #7a4fb5);
  --theory: currentColor; --ink: currentColor; --c: currentColor; }
.live.dark { --layer: var(--lsa-layer, #56b4e9); --gd: var(--lsa-gd, #ff8b3d); --bayes: var(--lsa-bayes, #2fc79b); --accent: var(--lsa-experiment, #bb9af0); }
.layer { --c: var(--layer); } .gd { --c: var(--gd); } .bayes { --c: var(--bayes); } .accent { --c: var(--accent); }
.theory, .ink { --c: var(--ink); } .muted { --c: var(--muted); }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, var(--least, 17rem)), 1fr)); gap: 0.9rem 1.6rem; margin: 0.6rem 0; }
.panel { min-width: 0; }
.title { font-weight: 600; margin: 0; } .panel > small { display: block; color: var(--muted); font-size: 0.87em; }
svg { display: block; width: 100%; overflow: visible; user-select: none; -webkit-user-select: none; }
svg text { fill: var(--c); font-size: 13px; font-variant-numeric: tabular-nums; } svg .tick { font-size: 12px; --c: var(--muted); }
svg .strong { font-weight: 600; } svg .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.axis { stroke: var(--muted); fill: none; } .grid { stroke: currentColor; opacity: 0.1; fill: none; }
.line { stroke: var(--c); fill: none; stroke-linejoin: round; stroke-linecap: butt; }
.fill { fill: var(--c); stroke: none; }
.handle { cursor: grab; touch-action: none; outline: none; } .handle.held { cursor: grabbing; }
.handle .reach { fill: transparent; } .handle .knob { fill: var(--c); stroke: var(--paper); stroke-width: 2; }
.handle .ring { fill: none; stroke: var(--c); stroke-width: 2; opacity: 0; transition: opacity 0.15s; }
.handle:hover .ring { opacity: 0.35; } .handle:focus-visible .ring, .handle.held .ring { opacity: 1; }
.controls { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 10rem), 1fr)); gap: 0.35rem 1.6rem; align-items: start; margin: 0.3rem 0; }
.controls.bar { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; }
.control { display: grid; grid-template-columns: auto 1fr; column-gap: 0.5rem; font-size: 0.93em; align-items: baseline; position: relative; }
.control[hidden] { display: none; }
.control > .track, .control > select { grid-column: 1 / -1; } .track { position: relative; } .track.marked { padding-bottom: 0.55rem; }
.control > .value { font-variant-numeric: tabular-nums; color: var(--c); font-weight: 600; }
.control.inline { grid-template-columns: auto auto; justify-content: start; align-items: center; align-self: center; min-height: 2.2rem; }
input { color: inherit; }
input[type=range] { appearance: none; -webkit-appearance: none; width: 100%; height: 1.7rem; margin: 0; background: none; cursor: pointer; touch-action: pan-y; }
input[type=range]::-webkit-slider-runnable-track { height: 4px; border-radius: 2px; background: linear-gradient(90deg, var(--c) var(--at), var(--rule) var(--at)); }
input[type=range]::-moz-range-track { height: 4px; border-radius: 2px; background: linear-gradient(90deg, var(--c) var(--at), var(--rule) var(--at)); }
input[type=range]::-webkit-slider-thumb { -webkit-appearance: none; width: ${THUMB}px; height: ${THUMB}px; margin-top: -7px; border-radius: 50%; background: var(--c); border: 2px solid var(--paper); box-shadow: 0 0 0 1px var(--c); }
input[type=range]::-moz-range-thumb { width: ${THUMB - 4}px; height: ${THUMB - 4}px; border-radius: 50%; background: var(--c); border: 2px solid var(--paper); box-shadow: 0 0 0 1px var(--c); }
.control.slider { --c: var(--ink); } .control.slider.layer { --c: var(--layer); } .control.slider.gd { --c: var(--gd); } .control.slider.bayes { --c: var(--bayes); }
.mark { position: absolute; bottom: 0; width: 0; font-size: 0.8em; line-height: 1; pointer-events: none; display: flex; flex-direction: column; align-items: center; }
.mark::before { content: ""; flex: none; width: 2px; height: 8px; background: var(--c); } .mark span { white-space: nowrap; color: var(--c); }
button, select, input[type=number] { font: inherit; font-size: 0.93em; color: inherit; background: var(--paper); border: 1px solid var(--muted); border-radius: 6px; padding: 0.3rem 0.7rem; min-height: 2.2rem; }
button { cursor: pointer; } button:hover { border-color: currentColor; } button:disabled { opacity: 0.5; cursor: default; }
button.main { background: var(--layer); border-color: var(--layer); color: var(--paper); font-weight: 600; min-width: 6.5rem; }
input[type=number] { width: 7em; padding: 0.2rem 0.4rem; font-variant-numeric: tabular-nums; } input:invalid { border-color: var(--gd); outline: 1px dashed var(--gd); }
input[type=checkbox] { appearance: none; -webkit-appearance: none; width: 1.15rem; height: 1.15rem; margin: 0; border: 1.5px solid var(--muted); border-radius: 4px; display: grid; place-content: center; cursor: pointer; }
input[type=checkbox]:checked { background: var(--layer); border-color: var(--layer); }
input[type=checkbox]:checked::after { content: ""; width: 0.3rem; height: 0.6rem; margin-top: -0.15rem; border: solid var(--paper); border-width: 0 2px 2px 0; transform: rotate(45deg); }
.choice { display: inline-flex; border: 1px solid var(--muted); border-radius: 6px; overflow: hidden; padding: 0; margin: 0; }
.choice label { position: relative; padding: 0.3rem 0.8rem; font-size: 0.93em; cursor: pointer; min-height: 1.5rem; display: flex; align-items: center; }
.choice label + label { border-left: 1px solid var(--rule); }
.choice input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
.choice label:has(:checked) { background: color-mix(in srgb, var(--layer) 18%, transparent); font-weight: 600; }
:is(button, select, input):focus-visible, .choice label:has(:focus-visible), [tabindex]:not(.handle):focus-visible { outline: 3px solid var(--gd); outline-offset: 2px; }
.choice label:has(:focus-visible) { outline-offset: -3px; }
.wide { grid-template-columns: 1fr; } .group { font-size: 0.93em; font-weight: 600; margin: 0.9rem 0 0; padding-top: 0.5rem; border-top: 1px solid var(--rule); }
.note { color: var(--muted); margin: 0.4rem 0; }
.grids { display: flex; flex-wrap: wrap; gap: 0.6rem 1.2rem; align-items: flex-start; margin-top: 0.5rem; user-select: none; -webkit-user-select: none; } .pair { display: flex; gap: 0.4rem; }
table.grid-of { border-collapse: separate; border-spacing: 1px; } table.grid-of caption { display: block; width: 0; white-space: nowrap; color: var(--muted); font-size: 0.87em; text-align: left; }
table.grid-of td { width: var(--cell); height: var(--cell); min-width: var(--cell); padding: 0; box-shadow: inset 0 0 0 1px var(--rule); border-radius: 2px; } table.own td { cursor: ns-resize; touch-action: none; }
.field { grid-template-columns: 1fr; } .field > input[type=number] { width: 100%; box-sizing: border-box; padding: 0.3rem 0.7rem; } .form { grid-template-columns: repeat(auto-fill, minmax(min(100%, 10.5rem), 1fr)); gap: 0.6rem 1rem; }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 0 1.2rem; margin: 1rem 0 0.4rem; } .answers > div { border-top: 3px solid var(--c); padding-top: 0.3rem; }
.answers dt { font-size: 0.93em; color: var(--muted); } .answers dd { margin: 0; font-size: 1.5em; font-weight: 600; color: var(--c); font-variant-numeric: tabular-nums; }
.says { margin: 0.4rem 0 0; min-height: 2.9em; font-variant-numeric: tabular-nums; } .says b { color: var(--c); }
.heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
sub, sup { line-height: 0; font-size: 0.75em; }
@media (pointer: coarse) { input[type=range] { height: 2.4rem; } button, select, .choice label { min-height: 2.75rem; } .choice label { min-height: 2.2rem; } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
`;

let sheet = null;

/** One constructed sheet for all figures of a page: no style element, so that a strict policy needs no exception. */
export function dress(shadow) {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
  }
  shadow.adoptedStyleSheets = [...shadow.adoptedStyleSheets, sheet];
}
