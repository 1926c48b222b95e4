// Brings the live figures of a page to life: lsaFigures draws each; its place holds the values it begins
// with. Deferred, so that all places are there. The model is what anywidget gives a figure in JupyterLab,
// without a kernel.
(() => {
  const model = (values) => {
    const listeners = new EventTarget();
    return {
      onPage: true,
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
  for (const place of document.querySelectorAll(".lsa-live")) {
    const values = JSON.parse(place.querySelector("script").text);
    const words = place.querySelector(".lsa-live-alt");
    lsaFigures.render({ model: model(values), el: place });
    words.remove(); // last: where drawing failed, the words stay
  }
})();
