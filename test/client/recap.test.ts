/** The picture of a recap, made without a browser. */
import { describe, expect, it } from "vitest"
import type { Recap } from "../../src/client/generated/types.ts"
import { recapPicture } from "../../src/client/recap.ts"

const example = {
  userId: "ada",
  displayName: null,
  from: "2026-01-01",
  to: "2026-12-31",
  truncated: false,
  totals: { events: 3, activeDays: 2, currencies: { xp: 120, points: 0 }, badges: 1, quests: 0 },
  level: { from: 1, to: 2 },
  bestDay: null,
  streaks: [],
  actions: [],
  firsts: [],
  badges: [],
  standing: null,
} satisfies Recap

/** The texts of the picture of a recap with other members. */
const textsOf = (more: Partial<Recap>): ReadonlyArray<string> => {
  const picture = recapPicture({ ...example, ...more }, { language: "en" })
  return [...picture.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text]) => text!)
}

describe("The picture of a recap", () => {
  it.each([
    ["Ada Lovelace, the Countess", "Ada Lovelace, the Countess"],
    ["W".repeat(128), `${"W".repeat(17)}…`],
    ["名".repeat(128), `${"名".repeat(17)}…`],
    ["EXERCISE_COMPLETED", "EXERCISE_COMPLETED"],
    ["EXERCISE_COMPLETED_TWICE_A_DAY", "EXERCISE_COMPLETED_TWIC…"],
  ])("has as much of the name %s as fits", (displayName, shown) => {
    expect(textsOf({ displayName })[0]).toBe(shown)
  })

  it("has as much of its notes as fits, although actions are capital letters", () => {
    const firsts = ["LESSON_DONE", "EXERCISE_COMPLETED", "REVIEW_FINISHED"].map((action) => ({
      action,
      at: "2026-01-01T00:00:00.000Z",
    }))
    const note = textsOf({ firsts, level: { from: 1, to: 1 }, standing: null }).at(-1)!
    expect(note).toMatch(/^New this time: LESSON_DONE, EXERCISE_COMPLETED, REV.*…$/)
  })

  it("takes every text as text, and leaves out what XML forbids", () => {
    const displayName = `</text><a href="x">&'\u0001\ud800]]>`
    expect(textsOf({ displayName })[0]).toBe(
      "&#60;/text&#62;&#60;a href=&#34;x&#34;&#62;&#38;&#39;\ufffd\ufffd]]&#62;",
    )
  })

  it.each([1_720, 99_999, 12_345_678])(
    "has %i xp in its column, also in a font with wide digits",
    (xp) => {
      const totals = { ...example.totals, currencies: { xp, points: 0 }, quests: 5 }
      const picture = recapPicture({ ...example, totals }, { language: "en" })
      const texts = [
        ...picture.matchAll(/<text x="(\d+)" y="330" font-size="([\d.]+)"[^>]*>([^<]*)</g),
      ]
      const [, shown, next] = texts.map(([, x, size, text]) => ({
        x: +x!,
        size: +size!,
        text: text!,
      }))
      expect(shown!.text).toBe(xp.toLocaleString("en"))
      // Bold digits of DejaVu Sans are 0.7 of the font size wide, commas 0.38.
      const digits = shown!.text.replaceAll(",", "").length
      const width = shown!.size * (0.7 * digits + 0.38 * (shown!.text.length - digits))
      expect(shown!.x + width + 16).toBeLessThanOrEqual(next!.x)
    },
  )
})
