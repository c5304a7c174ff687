// Dialogs, selection and keys. A button carries what it is about in data attributes; its dialog's form takes it over.
(() => {
  "use strict";
  const text = (document.getElementById("fresh") || document.body).dataset;

  // --- dialogs ------------------------------------------------------------------------------------------------------
  function open(button) {
    const dialog = document.getElementById(`d-${button.dataset.dialog}`);
    if (!dialog) return;
    const form = dialog.querySelector("form");
    for (const input of form.querySelectorAll('input[type="hidden"]')) {
      if (["csrfmiddlewaretoken", "next"].includes(input.name) || form.hasAttribute("data-bulk")) continue;
      input.value = button.dataset[input.name] ?? "";
      input.disabled = !(input.name in button.dataset);
    }
    if (button.dataset.action) form.action = button.dataset.action;
    for (const el of form.querySelectorAll("[data-fill]")) el.textContent = button.dataset[el.dataset.fill] ?? "";
    const value = form.querySelector("[data-value]");
    if (value) value.value = button.dataset.value ?? "";
    if (form.hasAttribute("data-bulk")) fillBulk(form);
    dialog.showModal();
    (form.querySelector("[data-value]") || form.querySelector("textarea") || form).focus();
  }

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener && !opener.disabled) return open(opener);
    if (event.target.closest("[data-close]")) return event.target.closest("dialog").close();
    if (event.target.closest("[data-dismiss]")) return event.target.closest(".toast").remove();
    const refused = event.target.closest("[data-why]");
    if (refused) return toast(refused.dataset.why);
    if (event.target.tagName === "DIALOG") event.target.close(); // the backdrop
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-form]")) return;
    // once only: a second click must not do it twice
    for (const button of event.target.querySelectorAll('button[type="submit"]')) setTimeout(() => { button.disabled = true; });
  });
  window.addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll('[data-form] button[type="submit"]')) button.disabled = false;
  });

  function toast(words) {
    const box = document.getElementById("messages");
    if (!box) return;
    const item = document.createElement("div");
    item.className = "toast s-warn";
    const mark = document.createElement("span"), line = document.createElement("p");
    line.textContent = words;
    item.append(mark, line);
    box.replaceChildren(item);
    setTimeout(() => item.remove(), 8000);
  }

  // --- selection ----------------------------------------------------------------------------------------------------
  const boxes = () => [...document.querySelectorAll("[data-select]")];
  const all = () => document.querySelector("[data-select-all]");
  const region = () => document.querySelector("[data-selection]");
  let lastTicked = null;

  function count() {
    return all()?.checked ? Number(region().dataset.total) : boxes().filter((box) => box.checked).length;
  }

  function update() {
    if (!region()) return;
    const n = count(), everything = all().checked, label = region().querySelector("[data-selection-text]");
    label.dataset.idle ??= label.textContent;
    const chosen = everything && region().dataset.totalText || text.selectedText.replace("{n}", n.toLocaleString());
    label.textContent = n ? `${chosen} · ${text.heldText}` : label.dataset.idle;
    for (const button of region().querySelectorAll("[data-needs-selection]")) button.disabled = !n;
    region().querySelector("[data-select-none]").hidden = !n;
    for (const box of boxes()) {
      if (everything) box.checked = true;
      box.closest("tr").classList.toggle("on", box.checked);
    }
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-select-all]") && !event.target.checked) for (const box of boxes()) box.checked = false;
    if (event.target.matches("[data-select]") && !event.target.checked) all().checked = false;
    if (event.target.matches("[data-select], [data-select-all]")) update();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-select-none]")) {
      all().checked = false;
      for (const box of boxes()) box.checked = false;
      update();
    }
    if (!event.target.matches("[data-select]")) return;
    if (event.shiftKey && lastTicked) {
      const list = boxes(), [from, to] = [list.indexOf(lastTicked), list.indexOf(event.target)].sort((a, b) => a - b);
      for (const box of list.slice(Math.max(0, from), to + 1)) box.checked = event.target.checked;
      update();
    }
    lastTicked = event.target;
  });
  document.addEventListener("htmx:afterSettle", update);
  document.addEventListener("DOMContentLoaded", update);

  function fillBulk(form) {
    const n = count(), everything = all().checked, chosen = boxes().filter((box) => box.checked);
    form.elements.all.value = everything ? "1" : "";
    const many = everything && region().dataset.totalText || (n === 1 ? text.jobText : text.jobsText).replace("{n}", n.toLocaleString());
    for (const el of form.querySelectorAll("[data-count]")) el.textContent = many;
    form.querySelector("[data-jobs]").replaceChildren(...(everything ? [] : chosen).map((box) => {
      const input = document.createElement("input");
      Object.assign(input, { type: "hidden", name: "job", value: box.value });
      return input;
    }));
    form.querySelector("[data-preview]").replaceChildren(...chosen.slice(0, 20).map((box) => {
      const row = document.createElement("tr");
      for (const [name, look] of [["id", "mono"], ["what", "mono wrap"], ["error", "muted wrap"]]) {
        const cell = row.insertCell();
        cell.className = look;
        cell.textContent = box.dataset[name];
      }
      return row;
    }), ...(n > 20 ? [rest(n - 20)] : []));
  }

  function rest(n) {
    const row = document.createElement("tr"), cell = row.insertCell();
    cell.colSpan = 3;
    cell.className = "muted";
    cell.textContent = `… + ${n.toLocaleString()}`;
    return row;
  }

  // --- keys ---------------------------------------------------------------------------------------------------------
  const place = (key) => (/^[oqlcfxw]$/.test(key) ? document.getElementById("d-keys")?.dataset[key] : undefined);
  let going = 0;
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === "Escape" && typing && event.target.id === "q") return event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "/") { event.preventDefault(); document.getElementById("q")?.focus(); }
    if (event.key === "?") document.getElementById("d-keys")?.showModal();
    if (event.key === "g") going = Date.now();
    else if (Date.now() - going < 1500 && place(event.key)) { going = 0; location.assign(place(event.key)); }
  });
})();
