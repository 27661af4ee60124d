/** Shared by the routes of the admin server. */
import { Effect, Result, type Schema } from "effect"
import { invalidRequest, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { parseBody, readBody } from "../body/Body.ts"
import { inputDecoder } from "../body/InputDecoder.ts"
import type { Exchange } from "../request/Exchange.ts"

/** The reply to a request; no `body` is 204. */
export interface AdminReply {
  readonly status: number
  readonly body?: unknown
}

export type Answer = Effect.Effect<AdminReply, LaurelError>

export const notFound = laurelError(
  "not_found",
  "The admin server has no operation with this method and path.",
)

/** Reads a JSON body by its schema; fails with all that is wrong. */
export const jsonBody = <A>(
  schema: Schema.Top,
): ((exchange: Exchange) => Effect.Effect<A, LaurelError>) => {
  const decode = inputDecoder<A>(schema, { errors: "all", onExcessProperty: "error" })
  const decoded = (value: unknown): Result.Result<A, LaurelError> =>
    Result.mapError(decode(value, "", limits.faultsMax), invalidRequest)
  return (exchange) =>
    Effect.callback((resume) => {
      exchange.askForBody()
      readBody(exchange.request, limits.bodyBytesMax, (body) => {
        resume(Effect.fromResult(Result.flatMap(Result.flatMap(body, parseBody), decoded)))
      })
    })
}
