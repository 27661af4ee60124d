/** Refusals common to all operations. */
import type { CallerScope } from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"

export const internalError = laurelError(
  "internal_error",
  "The server failed; whether the request was applied is unknown.",
)

export const insufficientScope = (scope: CallerScope): LaurelError =>
  laurelError(
    "insufficient_scope",
    scopeWords[scope] ?? `The scope ${scope} does not permit this operation.`,
  )

const scopeWords: { readonly [Scope in CallerScope]?: string } = {
  publishable:
    "A publishable key may only read leaderboards, badges and active quests, without naming a user. Send this request from a server, with a secret key.",
  user: "A user token may only read its own user, leaderboards, badges and active quests, and send events of its own user with actions that the setting clientActions lists. Send this request from a server, with a secret key.",
}
