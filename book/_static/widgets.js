// Runs before every deferred script, on pages that hold widgets.
(() => {
  // html-manager finds its icon font beside itself, and not with a content-delivery network.
  const here = document.currentScript.src;
  window.__jupyter_widgets_assets_path__ = new URL("html-manager/dist/", here).href;

  // The theme's FontAwesome would go on turning <i> into <svg>, also those of the Play widget, which then
  // throws.
  window.FontAwesomeConfig = { observeMutations: false };

  // html-manager speaks the language of MathJax 2: it queues ["Typeset", MathJax.Hub, element].
  document.addEventListener("DOMContentLoaded", () => {
    const typeset = ([, , element]) => MathJax.startup.promise.then(() => MathJax.typesetPromise([element]));
    if (window.MathJax && !MathJax.Hub) MathJax.Hub = { Queue: typeset };
  });

  // Screen readers hear the name of each slider and the value that is shown, not its index, and what a button
  // does.
  const describe = () => {
    for (const button of document.querySelectorAll(".widget-play button")) {
      const icon = button.firstElementChild?.className.match(/fa-(\w+)/);
      if (icon) button.setAttribute("aria-label", icon[1]);
    }
    for (const slider of document.querySelectorAll(".widget-slider")) {
      const handle = slider.querySelector("[role=slider]");
      const label = slider.querySelector(".widget-label");
      const readout = slider.querySelector(".widget-readout");
      if (handle && label) handle.setAttribute("aria-label", label.textContent);
      if (handle && readout) handle.setAttribute("aria-valuetext", readout.textContent);
    }
  };
  window.addEventListener("load", () => {
    describe();
    const changes = { childList: true, subtree: true, characterData: true }; // not attributes: those are set here
    new MutationObserver(describe).observe(document.querySelector("main") ?? document.body, changes);
  });
})();
