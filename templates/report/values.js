// How values are shown, the same as hpcbench/report/text/numbers.py shows them, and what a filter says of them.

const UNITS = {
  time: { __proto__: null, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 },
  bytes: { __proto__: null, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
};
const NUMBER = String.raw`[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?`;

/** What a program printed may hold characters that cannot be seen, or turn a line around. */
function printable(text) {
  return text.replace(/[\p{C}\p{Z}]/gu, (character) =>
    "\n\t ".includes(character) ? character : /\s/u.test(character) ? " " : "?");
}

/** With commas between thousands, and so many decimals at most; made once each, which takes long. */
const WITH_DECIMALS = Array.from({ length: 14 }, (_, most) =>
  new Intl.NumberFormat("en-US", { maximumFractionDigits: most }));

/** As toExponential, but halves go to the even digit. */
function rounded(value, digits) {
  const up = value.toExponential(digits - 1);
  const exact = value.toExponential(digits + 20);
  const [mantissa, exponent] = exact.split("e");
  const kept = digits === 1 ? 1 : digits + 1;  // characters, with the point
  if (!/^\.?50*$/.test(mantissa.slice(kept)) || Number(up.split("e")[0].at(-1)) % 2 === 0) return up;
  return `${mantissa.slice(0, kept)}e${exponent}`;
}

/** As %.{digits}g writes it, with commas between thousands. */
function general(value, digits) {
  if (value === 0) return "0";
  if (value < 0) return `-${general(-value, digits)}`;
  const [mantissa, exponent] = rounded(value, digits).split("e").map(Number);
  if (exponent < -4 || exponent >= digits) {
    return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const decimals = Math.max(0, digits - 1 - exponent);
  return WITH_DECIMALS[decimals].format(`${mantissa}e${exponent}`);
}

function whole(value) {
  const below = Math.floor(value);
  const part = value - below;
  return below + (part > 0.5 || (part === 0.5 && below % 2) ? 1 : 0);
}

function figure(value) {
  const size = Math.abs(value);
  return size >= 9999.5 && size < 1e15 ? WITH_DECIMALS[0].format(whole(value)) : general(value, 4);
}

function duration(seconds) {
  for (const unit of ["ns", "us", "ms"]) {
    const factor = UNITS.time[unit];
    if (seconds < 999.5 * factor) return `${general(seconds / factor, 3)} ${unit}`;
  }
  return `${seconds < 999.5 ? general(seconds, 3) : whole(seconds)} s`;
}

function memory(bytes) {
  const unit = ["MiB", "GiB"].find((each) => bytes < 1023.5 * UNITS.bytes[each]) ?? "TiB";
  const count = bytes / UNITS.bytes[unit];
  return `${count < 999.5 ? general(count, 3) : whole(count)} ${unit}`;
}

const WRITTEN = { text: printable, number: figure, time: duration, bytes: memory };

/** A value of the table as its reader sees it. */
function shown(value, kind) {
  if (value === null) return "-";
  return WRITTEN[kind](kind === "text" ? value : Number(value));
}

/** The number, and the unit that stands at its end or else the `usual` one. Sizes and times are shown in several. */
function inUnits(text, kind, usual = "") {
  const [, number, written] = new RegExp(`^(${NUMBER})\\s*([a-z\u00b5\u03bc]*)$`, "iu").exec(text.trim()) ?? [];
  const unit = (written || usual).replace(/^[\u00b5\u03bc]/u, "u");
  const factor = UNITS[kind] ? UNITS[kind][unit] : unit ? undefined : 1;
  return number === undefined || factor === undefined ? null : Number(number.replaceAll(",", "")) * factor;
}

function condition(text, kind) {
  const [, sign, limit] = /^(<=|>=|<|>|=)?(.*)$/s.exec(text);
  const ends = sign ? [] : limit.split("..");
  if (ends.length === 2 && (ends[0].trim() || ends[1].trim())) {
    const [unit] = /[a-z\u00b5\u03bc]*$/iu.exec(ends[1].trim());
    const low = ends[0].trim() ? inUnits(ends[0], kind, unit) : -Infinity;
    const high = ends[1].trim() ? inUnits(ends[1], kind) : Infinity;
    return low === null || high === null ? null : (value) => value >= low && value <= high;
  }
  const wanted = inUnits(limit, kind);
  if (wanted === null) return null;
  const same = shown(wanted, kind);
  return {
    "<": (value) => value < wanted,
    ">": (value) => value > wanted,
    "<=": (value) => value <= wanted,
    ">=": (value) => value >= wanted,
  }[sign] ?? ((value) => shown(value, kind) === same);  // equal, as far as can be seen
}

/** Whether a value passes, as a function, for what was typed; null where that says nothing. */
function filterOf(typed, kind) {
  const text = typed.trim();
  if (kind === "text") return (value) => value !== null && value.toLowerCase().includes(text.toLowerCase());
  const holds = condition(text, kind);
  return holds && ((value) => value !== null && holds(Number(value)));
}
