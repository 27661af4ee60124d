import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { decideRepeat } from "../../../src/domain/decide/Repeat.ts"
import type { JournalRecord, Named } from "../../../src/domain/record/Record.ts"
import { limits } from "../../../src/Limits.ts"

const recordOf = (cause: Named): JournalRecord => ({
  sequence: 1,
  at: 0,
  subject: { actor: "user", environment: "p:sandbox", userId: "u1" },
  // As it comes from the journal.
  cause: JSON.parse(JSON.stringify(cause)),
  facts: [],
})
const repeat = (command: Named, first: Named, revoked = false) =>
  decideRepeat(command, recordOf(first), revoked)
/** Where a repeat of an event differs from the first one. */
const differs = (more: object, before: object) => {
  const event = { kind: "event", id: "e1", action: "TAP" } as const
  return Result.getOrThrow(repeat({ ...event, ...more }, { ...event, ...before })).differs
}

describe("A repeat", () => {
  it("of an event names action and members of the metadata that differ, and nothing for a retry", () => {
    const metadata = { lesson: 7, tags: ["a"] }
    expect(differs({ metadata }, { metadata: { tags: ["a"], lesson: 7 } })).toEqual([])
    expect(differs({ metadata }, { metadata: { ...metadata, lesson: 8 } })).toEqual([
      "/metadata/lesson",
    ])
    expect(differs({ action: "SWIPE", metadata }, {})).toEqual(["/action", "/metadata"])
    expect(differs({}, { metadata })).toEqual(["/metadata"])
    expect(differs({ metadata: undefined }, {})).toEqual([])
  })

  it("counts occurredAt only if both have it, and never whether the event was imported", () => {
    expect(differs({ occurredAt: 1 }, { occurredAt: 2 })).toEqual(["/occurredAt"])
    expect(differs({ occurredAt: 1 }, { occurredAt: 1 })).toEqual([])
    expect(differs({ occurredAt: 1 }, {})).toEqual([])
    expect(differs({}, { occurredAt: 2 })).toEqual([])
    expect(differs({ imported: true }, {})).toEqual([])
  })

  it("names at most differencesMax members", () => {
    const metadata = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]))
    for (const [count, named] of [
      [limits.differencesMax - 1, limits.differencesMax - 1],
      [limits.differencesMax, limits.differencesMax],
      [limits.differencesMax + 1, limits.differencesMax],
    ] as const) {
      expect(differs({ metadata: metadata(count) }, { metadata: {} })).toHaveLength(named)
    }
  })

  it("of a reward names type, amount, badge and reason", () => {
    const first = { kind: "reward", id: "r", type: "xp", amount: 5 } as const
    const outcomes = [
      [first, []],
      [{ ...first, amount: 6, reason: "Again" }, ["/amount", "/reason"]],
      [{ ...first, type: "points" }, ["/type"]],
      [{ kind: "reward", id: "r", type: "badge", badgeId: "b" }, ["/type", "/badgeId", "/amount"]],
    ] as const
    for (const [command, pointers] of outcomes) {
      const expected = Result.succeed({ differs: pointers, revoked: true })
      expect(repeat(command, first, true)).toEqual(expected)
    }
  })

  it("of a spend is refused if the content differs, revoked or not", () => {
    const first = { kind: "spend", id: "s", amount: 5, reason: "A" } as const
    for (const revoked of [false, true]) {
      expect(repeat({ ...first }, first, revoked)).toEqual(Result.succeed({ differs: [], revoked }))
      const refused = repeat({ kind: "spend", id: "s", amount: 6 }, first, revoked)
      expect(Result.isFailure(refused) && refused.failure).toMatchObject({
        code: "id_reused",
        differs: ["/amount", "/reason"],
        detail: expect.stringContaining("other content: /amount, /reason."),
      })
    }
  })
})
