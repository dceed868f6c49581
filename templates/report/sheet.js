// The table as text for other programs: CSV (RFC 4180) and, for the clipboard, tab-separated values.

/** The names and texts are other people's: a spreadsheet must not take one of them for a formula. */
function harmless(text) {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

/** Raw: numbers as they are, nothing for what is not known. */
function raw(value, kind) {
  if (value === null) return "";
  return kind === "text" ? harmless(value) : String(value);
}

function csvOf(columns, rows) {
  const field = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = columns.map((column) => field(harmless(column.key)));
  const lines = rows.map((row) => columns.map((column) => field(raw(row[column.index], column.kind))));
  return [head, ...lines].map((fields) => `${fields.join(",")}\r\n`).join("");
}

function tsvOf(columns, rows) {
  const field = (text) => text.replace(/[\t\r\n]+/g, " ");
  const head = columns.map((column) => field(harmless(column.key)));
  const lines = rows.map((row) => columns.map((column) => field(raw(row[column.index], column.kind))));
  return [head, ...lines].map((fields) => fields.join("\t")).join("\n");
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Copies, and says so on the button for a moment. */
async function copy(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a browser that has no clipboard for files
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const usual = button.dataset.usual ??= button.textContent;
  button.textContent = done ? "Copied" : "Not copied";
  setTimeout(() => { button.textContent = usual; }, 1500);
}
