/** Text of servers and models, made fit for a dialog: no control characters, no more than fits. */

/** One paragraph of at most `max` characters. */
export function plain(text: string, max = 500): string {
  const clean = text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g, " ")
  return clean.length > max ? `${clean.slice(0, max - 1)}…` : clean
}

/** Any JSON in one line. */
export function plainJSON(value: unknown, max = 500): string {
  return value === undefined ? "" : plain(JSON.stringify(value), max)
}
