import { describe, expect, it } from "vitest"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import type { Fact, JournalRecord } from "../../../src/domain/record/Record.ts"
import type { UserState } from "../../../src/domain/user/User.ts"
import { type QuestState, stepCountOf } from "../../../src/domain/user/User.ts"
import { decodePage, decodeRecord } from "../../../src/engine/records/Codec.ts"
import { decodeUser, encodeUser } from "../../../src/engine/records/UserCodec.ts"

/** Version 1's count of a step whose key objects inherit. */
const wrong = (key: string, times: number): never =>
  `${({} as Record<string, unknown>)[key]}${"1".repeat(times)}` as never

const quest = { questId: "q", title: "Q", period: 0 }
const recordOf = (...facts: ReadonlyArray<Fact>): JournalRecord => ({
  sequence: 4,
  at: 5,
  subject: { actor: "user", environment: "p:sandbox", userId: "ada" },
  cause: { kind: "event", action: "A" },
  facts: [{ kind: "user.created" }, { kind: "quest.started", ...quest }, ...facts],
})
const bytesOf = (record: JournalRecord) => Buffer.from(JSON.stringify(record))
const progressed = (step: string, current: number, progress: number): Fact => ({
  kind: "quest.progressed",
  ...quest,
  step,
  current,
  target: 4,
  progress,
})
const nan = Number.NaN

describe.each(["constructor", "__proto__"])(
  "A step with the key %s, as it was counted wrongly",
  (key) => {
    it("has as many events as its count ends with ones, in a record, a page of history and the state they make", () => {
      const record = recordOf(
        progressed(key, wrong(key, 1), nan),
        progressed(key, wrong(key, 2), nan),
        progressed("other", 3, nan),
      )
      const repaired = recordOf(
        progressed(key, 1, 0.25),
        progressed(key, 2, 0.5),
        progressed("other", 3, 0.75),
      )
      expect(decodeRecord(bytesOf(record))).toEqual(repaired)
      const page = Buffer.concat([bytesOf(record), Buffer.from("\n"), bytesOf(repaired)])
      expect(decodePage(page)).toEqual([repaired, repaired])
      const { steps } = applyUser(undefined, decodeRecord(bytesOf(record)))!.quests.get("q")!
      expect([stepCountOf(steps, key), stepCountOf(steps, "other")]).toEqual([2, 3])
    })

    it("has them in a user's stored value; the other quests are as they were", () => {
      const state = (steps: Iterable<readonly [string, number]>): QuestState => ({
        period: 0,
        steps: Object.fromEntries(steps),
        startedAt: 1,
        completedAt: null,
        expired: false,
        times: 0,
      })
      const user = applyUser(undefined, recordOf())!
      const stored: UserState = {
        ...user,
        quests: new Map([
          [
            "q",
            state([
              [key, wrong(key, 12)],
              ["other", 11],
            ]),
          ],
          ["r", state([["other", 1]])],
        ]),
      }
      expect(decodeUser(encodeUser(stored, 0)).quests).toEqual(
        new Map([
          [
            "q",
            state([
              [key, 12],
              ["other", 11],
            ]),
          ],
          ["r", state([["other", 1]])],
        ]),
      )
      const alone = { ...stored, quests: new Map([["q", state([[key, wrong(key, 2)]])]]) }
      expect(decodeUser(encodeUser(alone, 0)).quests.get("q")).toEqual(state([[key, 2]]))
    })

    it("has a share of 0 and numbers where an undo was recorded", () => {
      const reverted = (count: number, progress: number): Fact => ({
        kind: "quest.reverted",
        ...quest,
        from: "in_progress",
        to: "in_progress",
        progress,
        steps: Object.fromEntries([[key, count]]),
        times: 0,
      })
      const decoded = decodeRecord(bytesOf(recordOf(reverted(wrong(key, 3), nan))))
      expect(decoded).toEqual(recordOf(reverted(3, 0)))
    })
  },
)

describe("A record that is right", () => {
  it("is read as it was written", () => {
    const record = recordOf(progressed("one", 1, 0.125), progressed("two", 7, 1))
    expect(decodeRecord(bytesOf(record))).toEqual(record)
  })
})
