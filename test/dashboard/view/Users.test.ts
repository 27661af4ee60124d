import { describe, expect, it } from "vitest"
import { userPath } from "../../../src/dashboard/view/Users.ts"
import { callerIdFault } from "../../../src/domain/values/Ids.ts"

/** Ids with a special meaning in an address, a path, a page or a line of text. */
const ids = [
  "ada",
  "...",
  "a/b",
  "../../account",
  "100%",
  "%2F",
  "%2e%2e",
  "a?b#c&d=e",
  "+ +",
  " ",
  "\\",
  "a;b:c@d",
  "//evil.example",
  "<b>x</b>",
  `"'`,
  "\u202eevil",
  "\u2069\u2028",
  "javascript:alert(1)",
  "__proto__",
  "\u{1f600}".repeat(128),
]

describe("The address of a user", () => {
  it("stays one segment when a browser resolves it, and leads back to the id", () => {
    for (const id of ids) {
      const { origin, pathname } = new URL(userPath("/base", id), "http://here")
      expect({ id, origin }).toEqual({ id, origin: "http://here" })
      const [, base, users, segment, ...more] = pathname.split("/")
      expect({ id, base, users, more }).toEqual({ id, base: "base", users: "users", more: [] })
      expect(decodeURIComponent(segment!)).toBe(id)
      expect(callerIdFault(id)).toBeUndefined()
    }
  })

  it("is another one for each id", () => {
    expect(new Set(ids.map((id) => userPath("", id))).size).toBe(ids.length)
  })
})
