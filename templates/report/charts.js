// The charts, drawn by Vega without eval. Their colours are the page's own, so that dark mode and print need no other.

const SAVED_WIDTH = 720;
const CHARACTER = 6.6; // pixels in a legend
const SYMBOL = 34; // beside its name
const NARROWEST = 90; // column of a legend
const FONT = "system-ui, sans-serif";
const TEXT = { labelColor: "var(--muted)", labelFontSize: 12, titleColor: "var(--ink)", titleFontSize: 12, titleFontWeight: 500 };
const CONFIG = {
  background: null,
  font: FONT,
  padding: 4,
  view: { stroke: null },
  mark: { color: "var(--accent)" },
  rule: { color: "var(--ink)" },
  tick: { color: "var(--ink)" },
  text: { color: "var(--ink)", fontSize: 12 },
  axis: { ...TEXT, gridColor: "var(--line)", domainColor: "var(--line)", tickColor: "var(--line)", labelLimit: 220, labelSeparation: 8, titlePadding: 10 },
  axisXDiscrete: { labelAngle: 0, labelOverlap: "greedy" },
  legend: { ...TEXT, orient: "top", direction: "horizontal", titlePadding: 6, symbolStrokeColor: "var(--muted)" },
  header: TEXT,
  title: { color: "var(--ink)", fontSize: 13, fontWeight: 500, anchor: "start" },
};
const COMPOSED = ["facet", "repeat", "concat", "hconcat", "vconcat"];
const FACETS = ["facet", "row", "column"];

/** Only a single or layered view can be as wide as its place. */
function isOne(spec) {
  return !COMPOSED.some((key) => key in spec) && !FACETS.some((key) => key in (spec.encoding ?? {}));
}

function complete({ spec, datasets }, width) {
  const sized = isOne(spec) ? { width, autosize: { type: "fit-x", contains: "padding" } } : {};
  const own = Object.fromEntries(datasets.map((name) => [name, data.datasets[name]]));
  return { ...spec, ...sized, ...(datasets.length ? { datasets: own } : {}) };
}

/** The same with colours for a reader that does not know the page: those of the light page. */
function withColours(value) {
  const light = getComputedStyle(document.getElementById("light"));
  const text = JSON.stringify(value);
  return JSON.parse(text.replace(/var\((--[\w-]+)\)/g, (whole, name) => light.getPropertyValue(name).trim() || whole));
}

/** The lists of names in legends. */
function legends(part) {
  if (part === null || typeof part !== "object") return [];
  const own = part.legend && part.scale?.domain ? [part.scale.domain] : [];
  return [...own, ...Object.values(part).flatMap(legends)];
}

/** What a legend has room for depends on the width of the chart. */
function configFor(spec, width) {
  const names = legends(spec);
  const longest = Math.max(0, ...names.flat().map((name) => String(name).length));
  const fitting = Math.floor(width / Math.max(NARROWEST, longest * CHARACTER + SYMBOL));
  const most = Math.max(1, ...names.map((each) => each.length));
  const columns = Math.max(1, Math.min(fitting, most));
  return { ...CONFIG, legend: { ...CONFIG.legend, columns, labelLimit: width / columns - SYMBOL } };
}

function embed(place, spec, config) {
  return vegaEmbed(place, spec, {
    mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: showTip, config,
  });
}

const tip = element("dl", "", { class: "tip", hidden: "", role: "status" });
document.body.append(tip);

/** Vega calls it with what the pointer is on, or null. Its own would make HTML of the values. */
function showTip(_handler, event, _item, value) {
  tip.hidden = value === null || value === undefined || value === "";
  if (tip.hidden) return;
  const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
  tip.replaceChildren(...pairs.flatMap(([name, said]) => [
    element("dt", printable(name)), element("dd", printable(String(said))),
  ]));
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, room))}px`;
  tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 10)}px`;
}

async function saveChart(id, kind) {
  const { spec, datasets } = data.charts[id];
  const light = complete({ spec: withColours(spec), datasets }, SAVED_WIDTH);
  const { view } = await embed(document.createElement("div"), light, withColours({ ...configFor(spec, SAVED_WIDTH), background: "white" }));
  const blob = kind === "svg"
    ? new Blob([await view.toSVG()], { type: "image/svg+xml" })
    : await new Promise((made) => view.toCanvas(2).then((canvas) => canvas.toBlob(made)));
  view.finalize();
  save(blob, `${id}.${kind}`);
}

function saveButtons(id) {
  const buttons = element("p", "", { class: "buttons save" });
  for (const kind of ["SVG", "PNG"]) {
    const button = element("button", kind, { type: "button", "aria-label": `Save this chart as ${kind}` });
    button.addEventListener("click", () => saveChart(id, kind.toLowerCase()));
    buttons.append(button);
  }
  return buttons;
}

const AT_ONCE = 6;  // charts that are drawn without scrolling, so that a few are in a screenshot of the whole page
const waiting = new Map();  // places of charts that are not drawn yet

async function draw(place) {
  const id = waiting.get(place);
  if (!waiting.delete(place)) return;
  const inner = element("div", "");  // Vega gives it the role of a graphic
  place.append(inner);
  try {
    await embed(inner, complete(data.charts[id], "container"), configFor(data.charts[id].spec, place.clientWidth));
    place.parentElement.append(saveButtons(id));
  } catch (error) {
    place.textContent = `This chart could not be drawn: ${error.message}`;
  }
  place.dataset.drawn = "";
}

function startCharts() {
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "300px" });
  for (const place of document.querySelectorAll("[data-chart]")) {
    const { height } = data.charts[place.dataset.chart].spec;
    if (typeof height === "number") place.style.minHeight = `${height + 60}px`;  // so that nothing below moves
    waiting.set(place, place.dataset.chart);
    near.observe(place);
  }
  if (waiting.size <= AT_ONCE) [...waiting.keys()].forEach(draw);
  addEventListener("beforeprint", () => [...waiting.keys()].forEach(draw));
}

addEventListener("DOMContentLoaded", startCharts);  // Vega's script comes after this one
