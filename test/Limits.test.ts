import { describe, expect, it } from "vitest"
import { checkLimits, limits } from "../src/Limits.ts"

describe("The bounds of webhooks", () => {
  it("equal the documented ones", () => {
    const { messageBytesMax, webhookReplyKeptBytesMax } = limits
    expect([messageBytesMax, webhookReplyKeptBytesMax]).toEqual([20 * 1_024, 1_024])
    expect(limits.webhookTimeoutMs).toBe(15_000)
    expect(limits.webhookFailingMs).toBe(5 * 24 * 3_600_000)
    expect([limits.webhookGraceSeconds, limits.webhookGraceSecondsMax]).toEqual([86_400, 604_800])
    expect([limits.urlCharactersMax, limits.webhookKindsMax]).toEqual([2_048, 50])
  })
})

describe("Bounds that disagree", () => {
  it("end the start, and are named", () => {
    expect(() => checkLimits(limits)).not.toThrow()
    const cases = [
      [{ bodyBytesMax: limits.metadataBytesMax }, "a body holds the largest metadata"],
      [{ erasureMs: limits.erasureRunMs }, "erased data leaves the journal in time"],
      [{ partitionHeartbeatStepMs: 700_000 }, "the heartbeats of all partitions are rare"],
      [{ userTokenSeconds: 86_401 }, "the default lifetime of user tokens is allowed"],
      [{ userTokenCharactersMax: 1_324 }, "a user token holds the longest user id"],
      [{ auditFailuresPerHourMax: 6 }, "failed sign-ins fill at most half of the audit log"],
      [
        { runnerForgottenMs: limits.lockExpirationMsMax },
        "the row of a runner stays as long as the runner counts",
      ],
      [
        { openingsAtOnceMax: limits.postgresOtherSessions },
        "partitions that upload their journals leave a session to the others",
      ],
      [
        { webhookAttemptsOfHostMax: 199 },
        "one webhook that answers quickly has all its attempts in its host's share",
      ],
      [
        { pageBodiesMax: 2_048 },
        "forms of the dashboard leave most of the room for bodies to the API",
      ],
      [{ webhooks: 1_001 }, "the default number of webhooks is allowed"],
      [{ boardChunkSlotsMax: 500 }, "chunk sizes and table counts are powers of two"],
    ] as const
    for (const [change, words] of cases) {
      expect(() => checkLimits({ ...limits, ...change })).toThrow(`Limits disagree: ${words}`)
    }
  })
})
