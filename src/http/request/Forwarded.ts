/**
 * The elements of `Forwarded` (RFC 7239), read from the end, which trusted proxies wrote. The elements before came from
 * outside, and must not spoil the reading, such as by a quote that is never closed.
 */

/** Where the element that ends at `end` begins: behind a comma that stands in no quotes of its own. */
export const forwardedStart = (field: string, end: number): number => {
  let quoted = false
  for (let at = end - 1; at >= 0; at--) {
    const mark = field[at]
    if (mark === '"' && field[at - 1] !== "\\") quoted = !quoted
    else if (mark === "," && !quoted) return at + 1
  }
  return 0
}

const pair =
  /[ \t]*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([\w!#$%&'*+.^`|~-]+))[ \t]*(?:;|$)/y

/** The client of an element (`for=`) as it is written; "" where it names none, or breaks the form. */
export const forwardedClient = (element: string): string => {
  let client = ""
  pair.lastIndex = 0
  while (pair.lastIndex < element.length) {
    const [, name, quoted, token] = pair.exec(element) ?? []
    if (name === undefined) return ""
    if (name.toLowerCase() === "for") client = quoted ?? token!
  }
  return client
}
