// Draws the charts over time with uPlot, from the numbers that each figure carries; its table works without.
(() => {
  "use strict";
  const HEIGHT = 168;
  const lang = document.documentElement.lang || undefined;
  const drawn = new Map(); // the area -> {u, raw}
  const whole = new Intl.NumberFormat(lang, { notation: "compact", maximumFractionDigits: 1 });
  const clock = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const day = new Intl.DateTimeFormat(lang, { month: "short", day: "numeric" });
  const both = new Intl.DateTimeFormat(lang, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

  const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    ...[1, 2, 5, 10, 20, 50, 100].map((days) => days * 86400)]; // round ages on the axis
  const SIZES = [86400, 3600, 60, 1];
  function seconds(value, units) { // units: day, hour, minute, second, millisecond, in the page's language
    if (!value) return "0";
    if (value < 1) return `${Math.round(value * 1000)} ${units[4]}`;
    if (value < 60) return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ${units[3]}`;
    const first = SIZES.findIndex((size) => value >= size), high = Math.floor(value / SIZES[first]);
    const rest = Math.floor((value % SIZES[first]) / SIZES[first + 1]);
    return `${high} ${units[first]}${rest ? ` ${rest} ${units[first + 1]}` : ""}`;
  }
  const told = (data, value) => value == null ? "–" : data.unit === "seconds" ? seconds(value, data.units) : whole.format(value);
  const ink = (element) => getComputedStyle(element).color;
  const thin = (colour, alpha) => colour.replace(/^rgba?\(([^)]+)\)$/, (_, parts) => `rgba(${parts.split(",").slice(0, 3).join(",")}, ${alpha})`);

  function probe(area, name) {
    const one = document.createElement("i");
    one.className = `key t-${name}`;
    one.hidden = true;
    area.append(one);
    return ink(one);
  }

  function columns(data) {
    const length = data.values[0].length, xs = Array.from({ length }, (_, i) => data.start + i * data.step);
    if (!data.stacked) return [xs, ...data.values];
    let below = Array(length).fill(0);
    return [xs, ...data.values.map((track) => (below = track.map((v, i) => v == null || below[i] == null ? null : below[i] + v)))];
  }

  // What the pointer, or the arrow keys, stand on is told beside the names; else the newest.
  function tell(figure, data, index) {
    const at = index == null ? data.values[0].length - 1 : index;
    const value = (track) => index == null ? track.findLast((v) => v != null) : track[at];
    figure.querySelectorAll("[data-v]").forEach((cell, n) => { cell.textContent = told(data, value(data.values[n])); });
    const note = figure.querySelector("[data-note]");
    if (!note) return;
    const time = data.start + at * data.step;
    const marks = data.marks.filter(([when]) => when >= time && when < time + data.step).map(([, text]) => text);
    note.textContent = index == null ? "" : [both.format(time * 1000), ...marks].join(" · ");
  }

  function build(area, figure, data) {
    const axis = probe(area, "axis"), grid = probe(area, "grid"), bad = probe(area, "limit");
    const colours = [...figure.querySelectorAll("figcaption .key")].map(ink);
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const lines = { // marks and the line to compare with, over the tracks
      hooks: { draw: [(u) => {
        const { ctx, bbox } = u, ratio = devicePixelRatio || 1;
        ctx.save();
        ctx.lineWidth = ratio;
        ctx.setLineDash([3 * ratio, 3 * ratio]);
        ctx.strokeStyle = ctx.fillStyle = axis;
        for (const [when] of data.marks) {
          const x = Math.round(u.valToPos(when, "x", true));
          if (x < bbox.left || x > bbox.left + bbox.width) continue;
          ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
          ctx.beginPath(); ctx.moveTo(x - 4 * ratio, bbox.top); ctx.lineTo(x + 4 * ratio, bbox.top); ctx.lineTo(x, bbox.top + 6 * ratio); ctx.fill();
        }
        if (data.limit != null && data.limit <= u.scales.y.max) {
          const y = Math.round(u.valToPos(data.limit, "y", true));
          ctx.strokeStyle = bad;
          ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
        }
        ctx.restore();
      }], setCursor: [(u) => tell(figure, data, u.cursor.idx)] },
    };
    const many = data.values.length > 1;
    return new uPlot({
      width: Math.max(200, area.clientWidth), height: HEIGHT, plugins: [lines],
      legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } },
      scales: { y: { range: (u, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
      axes: [
        { stroke: axis, font, size: 28, grid: { stroke: grid, width: 1 }, ticks: { show: false }, space: 64,
          values: (u, splits, n, space, step) => splits.map((at) => step >= 86400 || new Date(at * 1000).getHours() + new Date(at * 1000).getMinutes() === 0 ? day.format(at * 1000) : clock.format(at * 1000)) },
        { stroke: axis, font, size: 58, grid: { stroke: grid, width: 1 }, ticks: { show: false }, space: 36,
          ...(data.unit === "seconds" ? { incrs: STEPS } : {}),
          values: (u, splits) => splits.map((value) => told(data, value)) },
      ],
      series: [{}, ...data.values.map((_, n) => ({
        stroke: colours[n], width: data.stacked ? 0 : 1.5, points: { show: (u, i, from, to, gaps) => !data.stacked && to - from < 60 && undefined, size: 4 },
        dash: many && !data.stacked && n ? [5, 3] : undefined, fill: data.stacked ? (n ? undefined : thin(colours[n], 0.6)) : many ? undefined : thin(colours[n], 0.14),
      }))],
      bands: data.stacked ? data.values.slice(1).map((_, n) => ({ series: [n + 2, n + 1], fill: thin(colours[n + 1], 0.75) })) : [],
    }, columns(data), area);
  }

  function draw(area) {
    const figure = area.closest("[data-chart]"), raw = figure.dataset.chart, known = drawn.get(area);
    if (known && known.raw === raw) return;
    const data = JSON.parse(raw);
    known?.u.destroy();
    area.replaceChildren();
    const u = build(area, figure, data);
    drawn.set(area, { u, raw });
    sizes.observe(area);
    tell(figure, data, null);
    area.onkeydown = (event) => {
      const length = data.values[0].length, now = u.cursor.idx;
      const to = { ArrowLeft: (now ?? length) - 1, ArrowRight: (now ?? -1) + 1, Home: 0, End: length - 1 }[event.key];
      if (event.key === "Escape") { u.setCursor({ left: -10, top: -10 }); return; }
      if (to === undefined) return;
      event.preventDefault();
      u.setCursor({ left: u.valToPos(u.data[0][Math.min(length - 1, Math.max(0, to))], "x"), top: 10 });
    };
  }
  function drawAll() {
    for (const [area, { u }] of drawn) if (!area.isConnected) { u.destroy(); sizes.unobserve(area); drawn.delete(area); }
    document.querySelectorAll("[data-plot]").forEach(draw);
  }
  function again() {
    for (const known of drawn.values()) known.raw = null;
    drawAll();
  }
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const { u } = drawn.get(target) || {};
    if (u && target.clientWidth && Math.abs(u.width - target.clientWidth) > 1) u.setSize({ width: Math.max(200, target.clientWidth), height: HEIGHT });
  }));

  drawAll();
  document.addEventListener("htmx:afterSwap", drawAll);
  new MutationObserver(again).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
})();
