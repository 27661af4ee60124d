/** Managing keys through the admin address of a running server. */
import { Data, Effect, Schema } from "effect"
import { CreatedKey, KeyDetails, type KeyRequest } from "../accounts/ApiKeys.ts"
import { type ErrorCode, errorKinds, type LaurelError, laurelError } from "../domain/Errors.ts"
import { limits } from "../Limits.ts"
import type { ServerFile } from "./ServerFile.ts"

/** `reached: false`: certainly nothing was done; whoever is there now is not the server of the file. */
export class AdminUnavailable extends Data.TaggedError("AdminUnavailable")<{
  readonly reached: boolean
  readonly detail: string
}> {}

type Managed<A> = Effect.Effect<A, LaurelError | AdminUnavailable>

/** The same as `ApiKeys`, but that the server may not answer. */
export interface AdminClient {
  readonly create: (request: KeyRequest) => Managed<CreatedKey>
  readonly list: Managed<ReadonlyArray<KeyDetails>>
  readonly revoke: (keyId: string) => Managed<void>
}

const Problem = Schema.Struct({ code: Schema.String, detail: Schema.String })
const KeyList = Schema.Struct({ keys: Schema.Array(KeyDetails) })

const strange = (detail: string) => new AdminUnavailable({ reached: true, detail })

const notConnected = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"])

const failureOf = (error: unknown): AdminUnavailable => {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  const code = (cause as NodeJS.ErrnoException | null)?.code
  const reached = code === undefined || !notConnected.has(code)
  return new AdminUnavailable({ reached, detail: cause instanceof Error ? cause.message : "" })
}

/** A client of the server that wrote `file`. */
export const makeAdminClient = ({ adminUrl, token }: ServerFile): AdminClient => {
  const ask = (method: string, path: string, body?: unknown): Managed<unknown> =>
    Effect.gen(function* () {
      const { status, text } = yield* Effect.tryPromise({
        try: async (signal) => {
          const response = await fetch(`${adminUrl}${path}`, {
            method,
            headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
            signal: AbortSignal.any([signal, AbortSignal.timeout(limits.adminRequestMs)]),
            ...(body !== undefined && { body: JSON.stringify(body) }),
          })
          return { status: response.status, text: await response.text() }
        },
        catch: failureOf,
      })
      if (status === 204) return undefined
      const value = yield* Effect.try({
        try: (): unknown => JSON.parse(text),
        catch: () => strange("its reply is not JSON"),
      })
      if (status < 300) return value
      const problem = yield* decoded(Problem, value)
      if (problem.code === "unauthorized") {
        return yield* new AdminUnavailable({ reached: false, detail: "it is another server" })
      }
      return yield* Effect.fail(
        problem.code in errorKinds
          ? laurelError(problem.code as ErrorCode, problem.detail)
          : strange(problem.code),
      )
    })
  return {
    create: (request) =>
      Effect.flatMap(ask("POST", "/admin/keys", request), (value) => decoded(CreatedKey, value)),
    list: Effect.flatMap(ask("GET", "/admin/keys"), (value) =>
      Effect.map(decoded(KeyList, value), ({ keys }) => keys),
    ),
    revoke: (keyId) => Effect.asVoid(ask("DELETE", `/admin/keys/${encodeURIComponent(keyId)}`)),
  }
}

const decoded = <A>(
  schema: Schema.ConstraintDecoder<A>,
  value: unknown,
): Effect.Effect<A, AdminUnavailable> =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(value), () =>
    strange("its reply has another form"),
  )
