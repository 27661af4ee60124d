/** Preferences of a request (RFC 7240). One that is not understood, or not well-formed, is ignored. */

/**
 * A quoted string, a token, or a separator, each where the last one ended: a quotation that is not closed ends the reading.
 * To go on after its quotation mark would scan the rest once more for each further mark.
 */
const lexeme = /\s*("(?:[^"\\]|\\.)*"|[^\s",;=]+|[,;=])/gy

/**
 * Whether a `Prefer` field asks for `return=minimal`. Of preferences with the same name the first one counts; its
 * parameters, and spaces around separators, do not matter.
 */
export const prefersMinimal = (field: string | undefined): boolean => {
  if (field === undefined) return false
  let preference: Array<string> = []
  for (const [, text] of `${field},`.matchAll(lexeme)) {
    if (text !== ",") {
      preference.push(text!)
      continue
    }
    const [name, equals, value, after] = preference
    if (name?.toLowerCase() === "return") {
      const isWhole = equals === "=" && (after === undefined || after === ";")
      return isWhole && minimal.test(value ?? "")
    }
    preference = []
  }
  return false
}

const minimal = /^("?)minimal\1$/i
