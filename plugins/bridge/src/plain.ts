/** Text of servers and models, made fit for a dialog: no control characters, no more than fits. */

/** One paragraph of at most `max` characters; what is no text, though it should be, is none. */
export function plain(given: unknown, max = 500): string {
  const text = typeof given === "string" ? given : typeof given === "number" ? String(given) : ""
  const clean = text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g, " ")
  if (clean.length <= max) return clean
  return `${clean.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…` // no half of a pair
}

/** Any JSON in one line; nothing when it is nested too deeply to be written. */
export function plainJSON(value: unknown, max = 500): string {
  try {
    return plain(JSON.stringify(value), max)
  } catch {
    return ""
  }
}
