// Small repairs for those who read with a keyboard or a screen reader.
(() => {
  const repair = () => {
    // Two of the theme's buttons have names that leave out what is written on them.
    document.querySelector(".search-button-field")?.removeAttribute("aria-label");
    document.querySelector(".theme-switch-button")?.setAttribute("aria-label", "Colours: Light, Dark or System Settings");
    // What scrolls sideways must be reached by keyboard.
    for (const box of document.querySelectorAll("mjx-container[display=true], div.math, div.cell_output")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  window.addEventListener("resize", repair);
  window.addEventListener("load", () => {
    const typeset = window.MathJax?.startup?.promise ?? Promise.resolve();
    typeset.then(repair);
  });
})();
