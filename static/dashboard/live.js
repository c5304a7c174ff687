// Live pages: a socket tells that there is a new snapshot, htmx fetches the part of the page that shows it. Polling is
// the fallback. The age of the data ticks every second and turns loud when nobody renews it.
(() => {
  "use strict";
  const STALE = 5000, QUIET = 3000, RETRY_MIN = 1000, RETRY_MAX = 30000;
  const fresh = document.getElementById("fresh");
  if (!fresh) return;
  const text = fresh.dataset;
  const live = () => document.getElementById("live");
  const clock = () => performance.now();

  // --- age ------------------------------------------------------------------------------------------------------------
  // Only differences of this browser's steady clock are used: its wall clock may be wrong.
  let socket = null;
  let bornAt = clock() - Number(text.age || 0), known = text.known === "1", heardAt = -Infinity, nextTry = 0;
  // a socket over which nothing comes is no better than none
  const told = () => socket !== null && clock() - heardAt < QUIET;

  function setAge(ms) { bornAt = clock() - ms; known = true; tick(); }

  function ageText(ms) {
    const s = ms / 1000;
    if (s < 10) return `${s.toFixed(1)} ${text.unit}`;
    if (s < 120) return `${Math.round(s)} ${text.unit}`;
    return `${Math.round(s / 60)} ${text.minute}`;
  }

  function tick() {
    const age = clock() - bornAt, stale = !known || age > STALE;
    document.body.classList.toggle("is-stale", stale);
    fresh.textContent = !known ? text.neverText
      : (stale ? text.oldText : told() ? text.liveText : text.pollText).replace("{age}", ageText(age));
    const bar = document.getElementById("stalebar");
    bar.hidden = !stale;
    if (stale) {
      bar.querySelector("[data-stale-age]").textContent = known ? text.staleText.replace("{age}", ageText(age)) : text.noneText;
      const left = nextTry - clock();
      bar.querySelector("[data-stale-retry]").textContent = left > 500 ? text.retryText.replace("{age}", ageText(left)) : "";
    }
  }
  setInterval(tick, 1000);

  // --- moments in the viewer's zone ---------------------------------------------------------------------------------
  const language = document.documentElement.lang || undefined;
  const format = (options) => new Intl.DateTimeFormat(language, { hourCycle: "h23", ...options });
  const hms = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const formats = {
    clock: format(hms), ms: format({ ...hms, fractionalSecondDigits: 3 }), minute: format({ hour: "2-digit", minute: "2-digit" }),
    day: format({ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" }),
    exact: format({ dateStyle: "full", timeStyle: "long" }),
  };
  function localTimes(root) {
    for (const el of root.querySelectorAll("time[data-when]")) {
      const moment = new Date(el.dateTime);
      if (isNaN(moment)) continue;
      el.textContent = (formats[el.dataset.when] || formats.clock).format(moment);
      el.title = `${formats.exact.format(moment)} · ${el.dateTime}`;
    }
  }

  // Without this script the times are UTC, and the page says so.
  function localZone(root) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const el of root.querySelectorAll("[data-zone]")) if (zone) el.textContent = zone;
  }

  // A moment in a filter is typed in the viewer's zone; the address carries UTC.
  function localFields(root) {
    for (const word of root.querySelectorAll("[data-utc-word]")) word.hidden = true;
    for (const input of root.querySelectorAll("input[data-utc]")) {
      const moment = new Date(`${input.dataset.utc}Z`);
      if (!isNaN(moment)) input.setAttribute("value", new Date(moment - moment.getTimezoneOffset() * 60000).toISOString().slice(0, 19).replace(/:00$/, ""));
    }
  }
  document.addEventListener("formdata", (event) => {
    if (event.target.method !== "get") return;
    for (const input of event.target.querySelectorAll("input[data-utc]")) if (input.value) {
      event.formData.set(input.name, new Date(input.value).toISOString().replace(".000", ""));
      event.formData.delete("span");
    }
    // short addresses: an empty field says nothing, an empty hidden one may be a name
    for (const field of event.target.elements) if (field.name && field.type !== "hidden" && field.value === "") event.formData.delete(field.name);
  });

  // --- refresh --------------------------------------------------------------------------------------------------------
  let refreshedAt = clock(), running = false, due = false;

  // The viewer is in the middle of something that a refresh would undo.
  function held() {
    const region = live(), selection = getSelection();
    return document.querySelector("dialog[open]") !== null
      || region.querySelector("[data-select]:checked, [data-select-all]:checked") !== null
      || [...region.querySelectorAll('form[method="get"] input')].some((input) => input.value !== input.defaultValue)
      || (region.contains(document.activeElement) && /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName))
      || (selection && !selection.isCollapsed && region.contains(selection.anchorNode));
  }

  function refresh() {
    if (!live() || !("live" in live().dataset) || document.hidden || running || held()) return;
    const every = Number(live().dataset.every || 3) * 1000;
    if (clock() - refreshedAt < every - 100) return;
    due = false;
    running = true;
    refreshedAt = clock();
    const url = location.pathname + location.search;
    htmx.ajax("GET", url, { target: "#live", swap: "morph:outerHTML", source: "#live" }).finally(() => { running = false; });
  }

  // The socket tells when; while it does not, the page asks at its own pace.
  setInterval(() => { if (due || !told()) refresh(); }, 500);

  document.addEventListener("htmx:afterRequest", (event) => {
    const age = event.detail.xhr && event.detail.xhr.getResponseHeader("QO-Data-Age");
    if (event.detail.successful && age !== null && age !== "") setAge(Number(age));
  });

  // Rows under the pointer stay where they are: new ones go to the end until the pointer leaves.
  function keepOrder(doc) {
    for (const body of document.querySelectorAll("#live tbody[data-keep]:hover")) {
      const first = body.rows[0];
      const same = first && doc.querySelector(`tbody[data-keep] > tr[id="${CSS.escape(first.id)}"]`);
      const next = same ? same.parentElement : doc.querySelectorAll("tbody[data-keep]")[[...document.querySelectorAll("#live tbody[data-keep]")].indexOf(body)];
      if (!next) continue;
      const rows = new Map([...next.rows].map((row) => [row.id, row]));
      const known = [...body.rows].map((row) => rows.get(row.id)).filter(Boolean);
      const added = [...next.rows].filter((row) => !known.includes(row));
      next.replaceChildren(...known, ...added);
    }
  }

  // A list with the newest first (tbody[data-log]): its rows stay where they are, new ones wait behind a button.
  let wanted = false;
  function hold(doc) {
    const body = document.querySelector("#live tbody[data-log]"), next = doc.querySelector("tbody[data-log]"), button = doc.getElementById("newrows");
    if (!body || !next || !button) return;
    const shown = [...body.rows], rows = [...next.rows], fresh = new Map(rows.map((row) => [row.id, row]));
    const known = new Set(shown.map((row) => row.id)), tail = rows.findLastIndex((row) => known.has(row.id));
    const isNew = (row) => !known.has(row.id), added = rows.filter((row, i) => isNew(row) && (i < tail || tail < 0)).length;
    if (!added) return;
    // what stood below the last row that both know was pushed off the page, it is not gone
    const last = shown.findLastIndex((row) => fresh.has(row.id));
    const kept = shown.map((row, i) => fresh.get(row.id) || (i > last ? row.cloneNode(true) : null)).filter(Boolean);
    next.replaceChildren(...kept, ...(tail < 0 ? [] : rows.slice(tail + 1)));
    button.hidden = false;
    button.textContent = text.newText.replace("{n}", added === rows.length ? `${added}+` : added);
  }
  document.addEventListener("click", (event) => {
    if (!event.target.closest("#newrows")) return;
    wanted = true;
    refreshedAt = -Infinity;
    refresh();
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "live") return;
    if (held()) { event.detail.shouldSwap = false; return; } // asked before, answered after the first tick
    const doc = new DOMParser().parseFromString(event.detail.serverResponse, "text/html");
    if (!doc.getElementById("live")) { event.detail.shouldSwap = false; return; }
    if (!wanted) hold(doc);
    wanted = false;
    keepOrder(doc);
    localTimes(doc);
    localZone(doc);
    localFields(doc);
    event.detail.serverResponse = doc.body.innerHTML;
  });
  // What the viewer opened stays open.
  document.addEventListener("DOMContentLoaded", () => {
    if (window.Idiomorph) {
      // what a chart has drawn stays; it is drawn anew when its numbers change
      Idiomorph.defaults.callbacks.beforeNodeMorphed = (node) => !(node.matches && node.matches("[data-plot]"));
      Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
        !(name === "open" && node.tagName === "DETAILS");
    }
    localTimes(document);
    localZone(document);
    localFields(document);
    tick();
    connect();
  });

  // --- socket -----------------------------------------------------------------------------------------------------------
  let failures = 0;

  function connect() {
    if (!text.socket || document.hidden) return;
    const url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${text.socket}`;
    try { socket = new WebSocket(url); } catch { return later(); }
    socket.onopen = () => { failures = 0; };
    socket.onmessage = (event) => {
      let message;
      try { message = JSON.parse(event.data); } catch { return; }
      if (message.t === "ping") { socket.send('{"t":"pong"}'); return; }
      if (message.t !== "snapshot") return;
      heardAt = clock() - (Number(message.age) || 0);
      setAge(Number(message.age) || 0);
      due = true;
      refresh();
    };
    socket.onclose = (event) => {
      socket = null;
      tick();
      // 4401, 4403: logged out or no longer allowed; the page says so itself when it is asked again
      if (event.code !== 4401 && event.code !== 4403) later(event.code === 4429 ? RETRY_MAX : 0);
    };
  }

  function later(least = 0) {
    failures += 1;
    const most = Math.min(RETRY_MAX, RETRY_MIN * 2 ** Math.min(failures, 6));
    const wait = Math.max(least, most * (0.5 + Math.random() / 2));
    nextTry = clock() + wait;
    setTimeout(() => { if (!socket) connect(); }, wait);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    if (!socket) connect();
    refreshedAt = -Infinity;
    due = true;
  });
})();
