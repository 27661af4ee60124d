import { describe, expect, it } from "vitest"
import { textOrLink, titled, visible } from "../../../src/dashboard/view/Html.ts"

describe("A text of an app", () => {
  it("is a link where it is an address of the web, and nowhere else", () => {
    for (const address of ["https://cdn.example/a.png", "HTTP://cdn.example"]) {
      expect(textOrLink(address).text).toContain(`<a href="${address}"`)
    }
    const others = [
      "javascript:alert(1)",
      " javascript:alert(1)",
      "java\nscript:alert(1)",
      "data:text/html,x",
      "//evil.example",
      "https://",
      "https:evil",
    ]
    for (const text of others) expect(textOrLink(text).text).not.toContain("<a")
  })

  it("cannot leave the attribute of its link", () => {
    const { text } = textOrLink('https://x.example/" onclick="alert(1)')
    expect(text).toContain('href="https://x.example/&quot; onclick=&quot;alert(1)"')
  })
})

describe("A name in a title", () => {
  it("shows the controls of its direction, and at most 40 characters", () => {
    expect(titled("a\u202e\u2066b")).toBe("a\\u202e\\u2066b")
    expect(titled("x".repeat(40))).toBe("x".repeat(40))
    expect(titled("x".repeat(41))).toBe(`${"x".repeat(40)}…`)
  })

  it("is never cut within a character", () => {
    expect(visible("\u{1f600}\u{1f600}", 3)).toBe("\u{1f600}…")
    expect(visible("\u{1f600}\u{1f600}", 4)).toBe("\u{1f600}\u{1f600}")
  })
})
