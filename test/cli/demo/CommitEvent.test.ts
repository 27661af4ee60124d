import { describe, expect, it } from "vitest"
import { authorFault, commitEvent } from "../../../src/cli/commands/demo.ts"
import type { Commit } from "../../../src/cli/demo/GitHistory.ts"

const now = Date.parse("2026-11-21T12:00:00.000Z")
const day = 86_400_000

const commit = (more: Partial<Commit> = {}): Commit => ({
  hash: "0123456789012345678901234567890123456789",
  authorEmail: "ada@example.org",
  authoredAt: now - day,
  subject: "Work",
  insertions: 3,
  deletions: 1,
  ...more,
})

describe("commitEvent", () => {
  it("has the date of a recent commit as occurredAt", () => {
    expect(commitEvent(commit(), now)).toEqual({
      id: "0123456789012345678901234567890123456789",
      userId: "ada@example.org",
      action: "COMMIT_PUSHED",
      occurredAt: "2026-11-20T12:00:00.000Z",
      metadata: { insertions: 3, deletions: 1, subject: "Work" },
    })
  })

  it("has an older date in the metadata", () => {
    for (const authoredAt of [now - 30 * day, now + 1, Date.parse("1969-07-20T20:17:40Z")]) {
      const event = commitEvent(commit({ authoredAt }), now)
      expect(event).not.toHaveProperty("occurredAt")
      expect(event.metadata.authoredAt).toBe(new Date(authoredAt).toISOString())
    }
  })

  it("has no date if the commit has none", () => {
    const event = commitEvent(commit({ authoredAt: undefined }), now)
    expect(event).not.toHaveProperty("occurredAt")
    expect(event.metadata).not.toHaveProperty("authoredAt")
  })

  it("cuts a long subject between characters", () => {
    const { subject } = commitEvent(commit({ subject: `${"x".repeat(499)}🏆` }), now).metadata
    expect(subject).toBe(`${"x".repeat(499)}\ufffd`)
  })
})

describe("authorFault", () => {
  it("names the fault of an e-mail that cannot be a user's id", () => {
    expect(authorFault("ada@example.org")).toBeUndefined()
    expect(authorFault("🏆".repeat(128))).toBeUndefined()
    expect(authorFault("🏆".repeat(129))).toBe("a user's id must have at most 128 characters")
    expect(authorFault("")).toBe("a user's id must not be empty")
  })
})
