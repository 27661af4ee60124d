import { describe, expect, it } from "@effect/vitest"
import { ActionCount } from "../../../src/domain/record/ActionCount.ts"
import type { Cause, JournalRecord } from "../../../src/domain/record/Record.ts"
import { badgeWith } from "../definitions.ts"

const record = (sequence: number, cause: Cause, facts: JournalRecord["facts"]): JournalRecord => ({
  sequence,
  at: 0,
  subject: { actor: "user", environment: "p:sandbox", userId: "u" },
  cause,
  facts,
})
const tracked = { kind: "event.tracked", xp: 0, points: 0, level: 1 } as const
const tap = (sequence: number, metadata: Record<string, unknown> = {}) =>
  record(sequence, { kind: "event", action: "TAP", metadata }, [tracked])
const undo = (sequence: number, of: number, kind: "event" | "reward" = "event") =>
  record(sequence, { kind: "revocation", of: kind, sequence: of, at: 0 }, [tracked])

const where = [{ path: "hard", op: "eq", value: true }] as const
const count = (...records: ReadonlyArray<JournalRecord>) => {
  const criteria = { kind: "action_count", action: "TAP", where, target: 9 } as const
  const counted = new ActionCount({ ...badgeWith({}), criteria })
  for (const each of records.toReversed()) counted.add(each)
  return [counted.current, counted.open]
}

describe("The count of a user's actions", () => {
  it("is of events with the action that satisfy the conditions", () => {
    const other = record(2, { kind: "event", action: "SWIPE", metadata: { hard: true } }, [tracked])
    expect(count(tap(1, { hard: true }), other, tap(3, { hard: false }), tap(4))).toEqual([
      1,
      false,
    ])
  })

  it("is without revoked events, but with rewards of the same number", () => {
    const hard = { hard: true }
    expect(count(tap(1, hard), tap(2, hard), undo(3, 1))).toEqual([1, false])
    expect(count(tap(1, hard), undo(3, 1, "reward"))).toEqual([1, false])
  })

  it("is open until every revoked event was read", () => {
    expect(count(tap(5, { hard: true }), undo(6, 2))).toEqual([1, true])
  })

  it("ignores a refused revocation", () => {
    const refused = { ...undo(3, 1), facts: [] }
    expect(count(tap(1, { hard: true }), refused)).toEqual([1, false])
  })
})
