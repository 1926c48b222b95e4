// Brings the live figures of a page to life: lsaFigures draws each; its place holds the values it begins
// with. Deferred, so that all places are there. The model is what anywidget gives a figure in JupyterLab,
// without a kernel.
(() => {
  const model = (values, onPage) => {
    const listeners = new EventTarget();
    return {
      onPage,
      get: (name) => values[name],
      set: (name, value) => {
        values[name] = value;
        listeners.dispatchEvent(new Event(`change:${name}`));
      },
      on: (name, call) => listeners.addEventListener(name, call),
      off: (name, call) => listeners.removeEventListener(name, call),
      save_changes() {},
    };
  };
  for (const [k, place] of document.querySelectorAll(".lsa-live").entries()) {
    const values = JSON.parse(place.querySelector("script").text);
    const words = place.querySelector(".lsa-live-alt");
    const name = place.closest("figure")?.id ?? values.figure; // as an address names it
    lsaFigures.render({ model: model(values, { name, first: k === 0 }), el: place });
    words.remove(); // last: where drawing failed, the words stay
  }
})();
