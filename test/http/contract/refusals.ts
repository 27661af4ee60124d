/**
 * Compiled and never run. It checks which codes the handlers of an endpoint may have: a directive
 * that expects an error fails when there is none.
 */
import { Effect, Result, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { type ErrorCode, type LaurelError, laurelError } from "../../../src/domain/values/Errors.ts"
import type { Engine, EngineCode, Idempotency } from "../../../src/engine/Engine.ts"
import { ApiKey } from "../../../src/http/api/Common.ts"
import { readProblems, UserNotFound } from "../../../src/http/api/Problems.ts"
import type { Handlers } from "../../../src/http/contract/Interpreter.ts"

const Declaring = HttpApiGroup.make("declaring")
  .add(
    HttpApiEndpoint.get("get", "/v1/things", {
      success: Schema.String,
      error: [...readProblems, UserNotFound],
    }),
  )
  .middleware(ApiKey)

const questNotFound = laurelError("quest_not_found", "")
const refusing = <Code extends ErrorCode>(code: Code) => ({
  get: { handle: () => Effect.fail(laurelError(code, "")) },
})
export const declared: Handlers<typeof Declaring> = refusing("user_not_found")
export const ofThePipeline: Handlers<typeof Declaring> = refusing("storage_unavailable")
// @ts-expect-error: not declared by the endpoint.
export const undeclared: Handlers<typeof Declaring> = refusing("quest_not_found")
// @ts-expect-error: any code.
export const any: Handlers<typeof Declaring> = refusing("user_not_found" as ErrorCode)
export const called: Handlers<typeof Declaring> = {
  get: {
    handle: () => Effect.never,
    // @ts-expect-error: not declared, in a callback.
    handleWithCallback: (_request, _annotations, done) => done(() => questNotFound),
  },
}
export const decoded: Handlers<typeof Declaring, { get: unknown }> = {
  get: {
    handle: () => Effect.never,
    // @ts-expect-error: not declared, from a decoder.
    decode: () => Result.fail(questNotFound),
  },
}
declare const engine: Engine["Service"]
export const asked = (idempotency: Idempotency) => {
  const badge = { kind: "deleteBadge", badgeId: "b" } as const
  const tick = { userId: "u", command: { kind: "tick" } } as const
  type Verb<Code extends ErrorCode> = Effect.Effect<unknown, LaurelError<Code>>
  const project: Verb<EngineCode | "badge_not_found" | "in_use" | "version_conflict"> =
    engine.askProject("e", badge)
  // @ts-expect-error: a code of another kind of command.
  const other: Verb<EngineCode | "quest_not_found"> = engine.askProject("e", badge)
  // @ts-expect-error: also the codes of keys.
  const keyed: typeof project = engine.askProject("e", badge, idempotency)
  type TickCode = EngineCode | "body_too_large" | "user_not_found" | "conflict"
  const user: Verb<TickCode> = engine.askUser("e", tick)
  return [project, other, keyed, user]
}
