// Theme: as the system → light → dark, kept in localStorage. Loaded in <head> so that the first paint is right.
(function () {
  "use strict";
  const root = document.documentElement, order = ["auto", "light", "dark"];
  function apply(theme) {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) {
      button.setAttribute("aria-label", button.dataset[theme]);
      button.title = `${button.dataset[theme]} (t)`;
    }
  }
  function next() {
    const theme = order[(order.indexOf(root.dataset.theme) + 1) % order.length];
    try { localStorage.setItem("theme", theme); } catch { /* private window */ }
    apply(theme);
  }
  let saved = "auto";
  try { saved = localStorage.getItem("theme") || "auto"; } catch { /* private window */ }
  apply(order.includes(saved) ? saved : "auto");
  document.addEventListener("DOMContentLoaded", () => {
    apply(root.dataset.theme);
    document.getElementById("theme")?.addEventListener("click", next);
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "t" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) next();
  });
})();
