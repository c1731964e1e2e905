/**
 * opencode's wildcards, as policy.Match of the daemon has them. Patterns come
 * from projects, so matching takes no longer than pattern times text: the host's
 * own regular expressions can take for ever with a few dozen stars.
 */

/**
 * Whether the whole of `text` matches: `*` is any run of characters, line ends
 * included; `?` is any one UTF-16 unit; a backslash reads as a slash on both
 * sides; a pattern that ends in " *" also matches what stands before the blank.
 */
export function matches(pattern: string, text: string): boolean {
  const [wanted, given] = [pattern.replaceAll("\\", "/"), text.replaceAll("\\", "/")]
  return glob(wanted, given) || (wanted.endsWith(" *") && glob(wanted.slice(0, -2), given))
}

/** On a mismatch it goes back to the last star only, which is enough since a star may take any run. */
function glob(pattern: string, text: string): boolean {
  let [p, t, star, from] = [0, 0, -1, 0]
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++
      from = t
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === text[t])) {
      p++
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++from
    } else return false
  }
  while (pattern[p] === "*") p++
  return p === pattern.length
}
