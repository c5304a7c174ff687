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
    // a session that ended answers with the login page: go there rather than show it inside this one
    if (event.detail.xhr && event.detail.xhr.responseURL && new URL(event.detail.xhr.responseURL).pathname.startsWith("/login")) location.reload();
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

  // New lines of the changelog wait behind a button.
  let waiting = "";
  function hold(doc) {
    const old = new Set([...document.querySelectorAll("#live tbody[data-log] > tr")].map((row) => row.id));
    const rows = [...doc.querySelectorAll("tbody[data-log] > tr")];
    const added = rows.filter((row) => !old.has(row.id)).length;
    const button = document.getElementById("newrows");
    if (!button || !old.size || !added) return false;
    waiting = doc.getElementById("live").outerHTML;
    button.hidden = false;
    button.textContent = text.newText.replace("{n}", added === rows.length ? `${added}+` : added);
    return true;
  }
  document.addEventListener("click", (event) => {
    if (!event.target.closest("#newrows") || !waiting) return;
    const template = document.createElement("template");
    template.innerHTML = waiting;
    waiting = "";
    Idiomorph.morph(live(), template.content.firstElementChild, { morphStyle: "outerHTML" });
    document.getElementById("newrows").hidden = true;
    localTimes(live());
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "live") return;
    if (event.detail.xhr.status === 404) event.detail.shouldSwap = true;
    if (held()) { event.detail.shouldSwap = false; return; } // asked before, answered after the first tick
    const doc = new DOMParser().parseFromString(event.detail.serverResponse, "text/html");
    if (!doc.getElementById("live")) { event.detail.shouldSwap = false; return; }
    if ("hold" in live().dataset && hold(doc)) { event.detail.shouldSwap = false; return; }
    keepOrder(doc);
    event.detail.serverResponse = doc.body.innerHTML;
  });
  document.addEventListener("htmx:afterSettle", () => localTimes(document));

  // What the viewer opened stays open.
  document.addEventListener("DOMContentLoaded", () => {
    if (window.Idiomorph) {
      Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
        !(name === "open" && node.tagName === "DETAILS") && !(node.id === "newrows" && name === "hidden");
    }
    localTimes(document);
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
