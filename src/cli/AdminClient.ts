/** Managing keys through the admin address of a running server. */
import { request } from "node:http"
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

interface RawReply {
  readonly status: number
  readonly text: string
}

/** One request; not by `fetch`, which refuses ports that an operator may choose. */
const send = (
  method: string,
  url: string,
  token: string,
  body: unknown,
): Effect.Effect<RawReply, AdminUnavailable> =>
  Effect.callback((resume) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      const reached = !notConnected.has(error.code ?? "")
      resume(Effect.fail(new AdminUnavailable({ reached, detail: error.message })))
    }
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }
    const signal = AbortSignal.timeout(limits.adminRequestMs)
    const asked = request(url, { method, headers, signal, agent: false }, (reply) => {
      let text = ""
      reply.setEncoding("utf8")
      reply.on("data", (chunk: string) => {
        text += chunk
      })
      reply.on("error", failed)
      reply.on("end", () => resume(Effect.succeed({ status: reply.statusCode ?? 0, text })))
    })
    asked.on("error", failed)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
    return Effect.sync(() => asked.destroy())
  })

/** A client of the server that wrote `file`. */
export const makeAdminClient = ({ adminUrl, token }: ServerFile): AdminClient => {
  const ask = (method: string, path: string, body?: unknown): Managed<unknown> =>
    Effect.gen(function* () {
      const { status, text } = yield* send(method, `${adminUrl}${path}`, token, body)
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
