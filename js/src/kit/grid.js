import { make } from "./dom.js";
import { tint } from "./marks.js";

// A matrix as a grid of coloured cells. If `move` is given, a cell is changed by dragging it up or down, or
// by + and −; the grid is one stop for the keyboard, and arrow keys walk in it.

export class Grid {
  /**
   * `says(row, column)` is what a cell is called, with its value; `done` is called when the hand lets go.
   * @param {{ rows: number, columns: number, name: string, title: string,
   *   move?: false | ((row: number, column: number, by: number) => void),
   *   says: (row: number, column: number) => string, done: () => void }} options
   */
  constructor({ rows, columns, name, title, move, says, done }) {
    this.cells = [];
    const body = make("tbody");
    for (let r = 0; r < rows; r++) {
      const row = make("tr");
      for (let c = 0; c < columns; c++) {
        const cell = Object.assign(make("td"), { at: [r, c] });
        if (move) cell.tabIndex = this.cells.length ? -1 : 0;
        this.cells.push(cell);
        row.append(cell);
      }
      body.append(row);
    }
    this.node = make(
      "table",
      { className: move ? "grid-of own" : "grid-of" },
      make("caption", { textContent: title }),
      body,
    );
    this.node.setAttribute("role", move ? "grid" : "img");
    this.node.setAttribute("aria-label", name);
    this.says = says;
    this.done = done;
    this.columns = columns;
    if (move) this.listen(move);
  }

  /** Colours, full at ±1, and the sign of what is negative. */
  paint(values) {
    this.cells.forEach((cell, k) => {
      cell.style.background = tint(values[k]);
      cell.textContent = values[k] < -0.03 ? "−" : "";
    });
  }

  tell(cell) {
    const [row, column] = cell.at,
      words = this.says(row, column);
    cell.setAttribute("aria-label", words);
    return words;
  }

  /** @param {(row: number, column: number, by: number) => void} move */
  listen(move) {
    let held = null;
    const change = (cell, by) => {
      const [row, column] = cell.at;
      move(row, column, by);
      this.tell(cell);
    };
    const find = (event) => event.target.closest("td");
    this.node.addEventListener("focusin", (event) => {
      const now = find(event);
      if (!now) return;
      for (const cell of this.cells) cell.tabIndex = cell === now ? 0 : -1;
      this.tell(now);
    });
    this.node.addEventListener("pointerdown", (event) => {
      const cell = find(event);
      if (!cell) return;
      event.preventDefault();
      cell.focus({ preventScroll: true });
      this.node.setPointerCapture(event.pointerId);
      held = { cell, y: event.clientY };
    });
    this.node.addEventListener("pointermove", (event) => {
      if (!held) return;
      change(held.cell, (held.y - event.clientY) / 80);
      held.y = event.clientY;
    });
    for (const kind of ["pointerup", "pointercancel"])
      this.node.addEventListener(kind, () => {
        if (held) this.done();
        held = null;
      });
    this.node.addEventListener("keydown", (event) => {
      const cell = find(event),
        at = this.cells.indexOf(cell);
      const walk = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns }[
        event.key
      ];
      const by = { "+": 0.1, "=": 0.1, PageUp: 0.5, "-": -0.1, PageDown: -0.5 }[event.key];
      if (!cell || (walk === undefined && by === undefined)) return;
      event.preventDefault();
      event.stopPropagation();
      if (by === undefined) this.cells[at + walk]?.focus();
      else {
        change(cell, by);
        this.done();
      }
    });
  }
}
