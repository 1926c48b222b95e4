// Small repairs for those who read with a keyboard, with a screen reader or on a narrow screen.
(() => {
  // MathJax's MathML for screen readers counts on a menu, which these pages do without.
  const ready = () => {
    delete MathJax.config.options?.menuOptions;
    MathJax.startup.defaultReady();
  };
  if (window.MathJax) window.MathJax.startup = { ready };
  const repair = () => {
    // Two of the theme's buttons have names that leave out what is written on them.
    document.querySelector(".search-button-field")?.removeAttribute("aria-label");
    document
      .querySelector(".theme-switch-button")
      ?.setAttribute("aria-label", "Colours: Light, Dark or System Settings");
    // What scrolls sideways must be reached by keyboard.
    for (const box of document.querySelectorAll("mjx-container[display=true], div.math, div.cell_output")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  // Formulas are broken into lines for one width of the window; at another they are set again.
  const root = document.documentElement;
  const settle = () => {
    root.dataset.setFor = innerWidth;
    repair();
  };
  let later;
  window.addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(async () => {
      const formulas = window.MathJax?.startup?.document;
      if (formulas && root.dataset.setFor !== String(innerWidth)) {
        // back to what was written: a formula in its place would be measured with its old width
        formulas.state(0, true);
        await MathJax.typesetPromise();
      }
      settle();
    }, 150);
  });
  window.addEventListener("load", () => {
    const typeset = window.MathJax?.startup?.promise ?? Promise.resolve();
    typeset.then(settle);
  });
})();
