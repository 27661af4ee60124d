import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { NewAuditEntry } from "../../../src/accounts/audit/AuditLog.ts"
import { logFailedSignIns } from "../../../src/accounts/audit/failedSignIns.ts"
import { limits } from "../../../src/Limits.ts"
import { logInMemory } from "./logInMemory.ts"

const guessing = { account: undefined, address: "192.0.2.1", pauseMs: 1_000 }
const details = (entries: ReadonlyArray<NewAuditEntry>) => entries.map(({ detail }) => detail)

describe("Wrong passwords from many addresses", () => {
  it.effect(
    `fill ${limits.auditFailuresPerHourMax} entries an hour, and the next entry counts the rest`,
    () =>
      Effect.gen(function* () {
        const { entries, log } = logInMemory()
        let now = 0
        const watch = logFailedSignIns(log, () => now)
        for (let count = 0; count < 1_000; count++) yield* watch(guessing)
        const one = "wrong passwords, a pause of 1 s"
        const hour = Array.from({ length: limits.auditFailuresPerHourMax }, () => one)
        expect(details(entries)).toEqual(hour)
        now = 3_600_000
        yield* watch(guessing)
        yield* watch(guessing)
        const unlogged = 1_000 - limits.auditFailuresPerHourMax
        expect(details(entries)).toEqual([
          ...hour,
          `${one}, and ${unlogged} more since the entry before`,
          one,
        ])
      }),
  )
})
