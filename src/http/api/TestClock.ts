/** Operations on the test clock of a sandbox. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { ApiKey, idempotencyHeaders, OpenTo, oneOf, Time, TimeIn } from "./Common.ts"
import { later } from "./examples/exampleIds.ts"
import { readProblems, SandboxOnly, TestClockConflict, writeProblems } from "./Problems.ts"

const AdvanceRequest = Schema.Struct({
  advanceTo: TimeIn.annotate({
    description: `The time to which the sandbox advances: after its present time, and at most ${limits.testClockAheadMsMax / 86_400_000} days ahead of the server's.`,
    examples: [later],
  }),
}).annotate({
  identifier: "AdvanceRequest",
  description: "An advance of a test clock.",
  examples: [{ advanceTo: later }],
})

const TestClock = Schema.Struct({
  now: Time.annotate({ description: "The sandbox's time.", examples: [later] }),
  advancedByMs: Schema.Int.annotate({
    description: "How far the sandbox's time is ahead of the server's, in milliseconds.",
    examples: [2_557_800_000],
  }),
  advancedTo: Schema.NullOr(Time).annotate({
    description: "The `advanceTo` of the latest advance; null: there was none.",
    examples: [later],
  }),
  status: oneOf(["ready", "advancing"]).annotate({
    description: "`advancing`: not all that became due by `advancedTo` is decided yet.",
    examples: ["ready"],
  }),
}).annotate({
  identifier: "TestClock",
  description: "The test clock of a sandbox.",
  examples: [{ now: later, advancedByMs: 2_557_800_000, advancedTo: later, status: "ready" }],
})

export const TestClocks = HttpApiGroup.make("testClock")
  .add(
    HttpApiEndpoint.get("get", "/v1/test-clock", {
      success: TestClock,
      error: [...readProblems, SandboxOnly],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the test clock",
          description:
            "Returns the sandbox's time, and whether an advance is under way. Production has no test clock (403 `sandbox_only`).",
        }),
      ),
    HttpApiEndpoint.post("advance", "/v1/test-clock", {
      headers: idempotencyHeaders,
      payload: AdvanceRequest,
      success: TestClock,
      error: [...writeProblems, SandboxOnly, TestClockConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Advance the test clock",
          description: `Moves the time of the sandbox to \`advanceTo\`, so that streaks, windows of leaderboards, quests, limits and cooldowns can be tried in minutes. The clock runs on from there. What becomes due on the way is decided in the order of its times, at these times: streaks break, quests expire, windows close, each with its messages. Events that arrive meanwhile are decided at the time that the advance has reached.

The reply comes when all of it is decided, or after ${limits.testClockWaitMs / 1_000} seconds with \`status\` \`advancing\`: read the clock until it is \`ready\`. The message \`test_clock.advanced\` tells of the end, after those of all that became due. An advance survives a restart. A second one during an advance gets 409 \`conflict\`; the same \`advanceTo\` again waits for the same advance.

The time never goes back, and nothing resets the clock: use another project for a new beginning. Times of users and definitions are the sandbox's (\`receivedAt\`, \`createdAt\`, the \`timestamp\` of messages, the bounds of \`occurredAt\`). The server's time stays for rate limits, keys and tokens, idempotency keys, attempts and signatures of webhooks, and erasures. Production and other sandboxes keep their time; production has no test clock (403 \`sandbox_only\`).`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Test clock",
      description: "Moves the time of a sandbox forward, for tests.",
    }),
  )
