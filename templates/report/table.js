// The table: sorting, a filter for each column, search, columns to choose. Whatever comes from data is text content.

const STEP = 200;  // rows at once: more take long
const columns = data.columns.map((column, index) => ({ ...column, index }));
const allRows = Array.from({ length: data.count }, (_, row) => data.values.map(({ of, at }) => {
  if (at === undefined) return of[row];
  return of[at === null ? 0 : at[row]];
}));
const HINTS = { text: "contains", number: "> < 1..4", time: "<30ms", bytes: "<2GiB" };
const collator = new Intl.Collator("en", { numeric: true });
const [head, body] = [found("sheet").tHead, found("sheet").tBodies[0]];

const filters = new Map();  // by the index of a column: what was typed
let chosen = new Set(columns.filter((column) => column.shown).map((column) => column.index));
let sort = null;  // { column, way: "ascending" or "descending" }
let most = STEP;
let matching = allRows;
const searched = new Map();  // by row: its texts, all columns, in lower case

const visible = () => columns.filter((column) => chosen.has(column.index));
const counted = (count) => count.toLocaleString("en-US");

function texts(row) {
  if (!searched.has(row)) {
    searched.set(row, columns.map((column) => shown(row[column.index], column.kind)).join("\n").toLowerCase());
  }
  return searched.get(row);
}

function matches() {
  const wanted = found("search").value.trim().toLowerCase();
  const tests = [...filters].flatMap(([index, typed]) => {
    const passes = filterOf(typed, columns[index].kind);
    return passes ? [(row) => passes(row[index])] : [];
  });
  if (wanted) tests.push((row) => texts(row).includes(wanted));
  return allRows.filter((row) => tests.every((test) => test(row)));
}

/** In place, what is not known last either way. */
function inOrder(rows) {
  if (!sort) return rows;
  const { index, kind } = sort.column;
  const sign = sort.way === "ascending" ? 1 : -1;
  const compare = kind === "text" ? collator.compare : (one, other) => one - other;
  return rows.sort(({ [index]: one }, { [index]: other }) => {
    if (one === null || other === null) return (one === null) - (other === null);
    return sign * compare(one, other);
  });
}

function line(row) {
  const made = document.createElement("tr");
  visible().forEach((column, place) => {
    const value = row[column.index];
    const cell = element(place ? "td" : "th", shown(value, column.kind));
    if (!place) cell.scope = "row";
    if (column.kind === "text") cell.dir = "auto";
    cell.className = `${column.kind === "text" ? "text" : "number"}${value === null ? " unknown" : ""}`;
    made.append(cell);
  });
  return made;
}

function showRows() {
  const rows = matching.slice(0, most);
  body.replaceChildren(...rows.map(line));
  if (!rows.length) {
    body.append(element("tr", element("td", "Nothing matches.", { colspan: Math.max(1, chosen.size), class: "none" })));
  }
  const [here, all] = [counted(matching.length), counted(allRows.length)];
  const of = `${all} ${data.of}${allRows.length === 1 ? "" : "s"}`;
  found("counted").textContent = matching.length === allRows.length ? of : `${here} of ${of}`;
  found("more").hidden = matching.length <= most;
  found("more").textContent = `Show all ${here}`;
  found("reset").disabled = !(sort || filters.size || found("search").value);
}

function update() {
  matching = inOrder(matches());
  showRows();
}

function sortBy(column) {
  const ways = [undefined, "ascending", "descending", undefined];
  const way = ways[ways.indexOf(sort?.column === column ? sort.way : undefined) + 1];
  sort = way ? { column, way } : null;
  showOrder();
  update();
}

function showOrder() {
  visible().forEach((column, place) => {
    head.rows[0].cells[place].setAttribute("aria-sort", sort?.column === column ? sort.way : "none");
  });
}

function widest({ index }) {
  return allRows.reduce((most, row) => Math.max(most, row[index]?.length ?? 0), 6);
}

function heading(column) {
  const button = element("button", printable(column.title), { type: "button" });
  if (column.unit) button.append(" ", element("span", printable(column.unit), { class: "unit" }));
  button.addEventListener("click", () => sortBy(column));
  const kind = column.kind === "text" ? "text" : "number";
  return element("th", button, { scope: "col", class: kind, title: printable(column.key) });
}

function filterField(column) {
  const hint = HINTS[column.kind];
  const name = `Filter ${printable(column.title)}`;
  const field = element("input", "", { type: "search", placeholder: hint, "aria-label": name, autocomplete: "off" });
  if (UNITS[column.kind]) field.title = `with a unit, as ${hint}`;
  field.value = filters.get(column.index) ?? "";
  field.addEventListener("input", () => {
    const typed = field.value.trim();
    field.setAttribute("aria-invalid", String(Boolean(typed) && !filterOf(typed, column.kind)));
    typed ? filters.set(column.index, typed) : filters.delete(column.index);
    update();
  });
  const made = element("td", field);
  if (column.kind === "text") made.style.minWidth = `calc(${Math.min(widest(column), 22)}ch + 1.4rem)`;
  return made;
}

function showColumns() {
  for (const index of [...filters.keys()].filter((each) => !chosen.has(each))) filters.delete(index);
  if (sort && !chosen.has(sort.column.index)) sort = null;
  const [names, fields] = [document.createElement("tr"), element("tr", "", { class: "filters" })];
  names.append(...visible().map(heading));
  fields.append(...visible().map(filterField));
  head.replaceChildren(names, fields);
  for (const box of found("columns").querySelectorAll("input")) box.checked = chosen.has(Number(box.value));
  showOrder();
  update();
}

function choose(indices) {
  chosen = new Set(indices);
  showColumns();
}

for (const column of columns) {
  const box = element("input", "", { type: "checkbox", value: column.index });
  box.addEventListener("change", () => {
    box.checked ? chosen.add(column.index) : chosen.delete(column.index);
    showColumns();
  });
  const label = element("label", box);
  label.append(" ", printable(column.title));
  found("columns").querySelector("fieldset").append(label);
}

found("search").addEventListener("input", update);
found("all-columns").addEventListener("click", () => choose(columns.map((column) => column.index)));
found("first-columns").addEventListener("click", () =>
  choose(columns.filter((column) => column.shown).map((column) => column.index)));
found("reset").addEventListener("click", () => {
  filters.clear();
  found("search").value = "";
  [sort, most] = [null, STEP];
  showColumns();
});
function showAll() {
  most = Infinity;
  showRows();
}
found("more").addEventListener("click", () => {
  showAll();
  found("sheet").parentElement.focus();
});
addEventListener("beforeprint", showAll);
found("copy").addEventListener("click", (event) => copy(tsvOf(visible(), matching), event.target));
found("download").addEventListener("click", () => {
  const text = `\ufeff${csvOf(visible(), matching)}`;  // the mark tells spreadsheets that it is UTF-8
  save(new Blob([text], { type: "text/csv" }), data.file);
});

showColumns();
for (const part of document.querySelectorAll("#table [hidden]:not(#more)")) part.hidden = false;
