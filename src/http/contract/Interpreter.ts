/**
 * Compiles the contract to routes. Each endpoint of the `HttpApi` gets its handler; operations are
 * also served under `/api`. An endpoint without a handler does not compile.
 *
 * Effect's `HttpApiBuilder` serves the same declaration, but needs about 90 µs of processor time
 * for an event beyond bare `node:http`; this pipeline needs about 12 µs
 * (`npm run bench -- pipeline`).
 */
import type { Effect } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { version } from "../../Build.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { ApiKey, SourceSigned } from "../api/Common.ts"
import { type CompiledOperation, compileOperation, type Operation } from "./Operation.ts"
import { Router } from "./Router.ts"

/**
 * One operation for each endpoint of a group. `Payloads` has the types of payloads that an
 * operation decodes itself (`Operation.decode`).
 */
export type Handlers<Group extends { readonly endpoints: object }, Payloads = unknown> = {
  readonly [Name in keyof Group["endpoints"]]: Group["endpoints"][Name] extends HttpApiEndpoint.Top
    ? Name extends keyof Payloads
      ? Operation<Group["endpoints"][Name], Payloads[Name]>
      : Operation<Group["endpoints"][Name]>
    : never
}

/** A reply outside the operations. `headers` has names and values in turn. */
export interface PlainReply {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  readonly headers?: ReadonlyArray<string>
}

const ok = (body: object): PlainReply => ({
  status: 200,
  contentType: "application/json",
  body: JSON.stringify({ status: "ok", ...body }),
})

/** The reply of `/healthz`. */
export const alive = ok({ version })

/** The reply of `/readyz` when the server is ready. */
export const readyNow = ok({})

/** Answers a request without a key from its header fields. */
export type PlainHandler = (
  headers: NodeJS.Dict<string | string[]>,
) => PlainReply | LaurelError | Effect.Effect<PlainReply>

export type HttpRoute = { readonly method: string; readonly path: string } & (
  | { readonly kind: "operation"; readonly operation: CompiledOperation }
  | { readonly kind: "plain"; readonly handle: PlainHandler }
)

type AnyOperations = {
  // biome-ignore lint/suspicious/noExplicitAny: operations of all kinds stand side by side
  readonly [group: string]: { readonly [endpoint: string]: Operation<any, any> }
}

/**
 * The operations of `api`: its endpoints with a key or a signature, each with its handler. A missing handler
 * throws.
 */
export const compileOperations = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  operations: AnyOperations,
): ReadonlyArray<CompiledOperation> => {
  const compiled: Array<CompiledOperation> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: (reflected) => {
      const { endpoint, group } = reflected
      const { middlewares } = endpoint
      if (!middlewares.has(ApiKey) && !middlewares.has(SourceSigned)) return
      const found = operations[group.identifier]?.[endpoint.identifier]
      if (found === undefined) {
        throw new Error(`No handler for ${group.identifier}.${endpoint.identifier}`)
      }
      compiled.push(compileOperation(reflected, found))
    },
  })
  return compiled
}

/**
 * The router of the operations and of `plain`, the handlers of all other paths, declared or not.
 */
export const routerOf = (
  operations: ReadonlyArray<CompiledOperation>,
  plain: ReadonlyMap<string, PlainHandler>,
): Router<HttpRoute> => {
  const routes: Array<HttpRoute> = []
  for (const operation of operations) {
    const { method, path } = operation
    routes.push(
      { kind: "operation", method, path, operation },
      { kind: "operation", method, path: `/api${path}`, operation },
    )
  }
  for (const [path, handle] of plain) routes.push({ kind: "plain", method: "GET", path, handle })
  return new Router(routes)
}
