/** Checks that the contract declares a reply, member by member. */
import { Result, type Schema, SchemaIssue, SchemaParser } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../src/http/api/Api.ts"
import { Router } from "../../src/http/contract/Router.ts"

type Decode = (value: unknown) => Result.Result<unknown, SchemaIssue.Issue>

interface DeclaredRoute {
  readonly method: string
  readonly path: string
  readonly replies: ReadonlyMap<number, ReadonlyArray<Decode>>
}

const strict = { errors: "all", onExcessProperty: "error" } as const

const decoders = (schemas: ReadonlyArray<Schema.Top>): ReadonlyArray<Decode> =>
  schemas.map((schema) =>
    SchemaParser.decodeUnknownResult(
      schema as unknown as Schema.ConstraintDecoder<unknown>,
      strict,
    ),
  )

const declared = (): Router<DeclaredRoute> => {
  const routes: Array<DeclaredRoute> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, successes }) => {
      const replies = new Map<number, ReadonlyArray<Decode>>()
      for (const [status, schemas] of [...successes, ...errors]) {
        replies.set(status, decoders(schemas))
      }
      for (const prefix of endpoint.path.startsWith("/v1") ? ["", "/api"] : [""]) {
        routes.push({ method: endpoint.method, path: prefix + endpoint.path, replies })
      }
    },
  })
  return new Router(routes)
}

const router = declared()

/** Statuses of replies to requests that the server could not parse, whose operation is unknown. */
export const beforeOperation: ReadonlySet<number> = new Set([408, 431])

/**
 * Throws if the operation does not declare such a reply. Paths without an operation are not
 * checked.
 */
export const assertDeclared = (
  method: string,
  path: string,
  status: number,
  body: unknown,
): void => {
  const match = router.find(method, path.split("?")[0]!)
  if (match.kind !== "found" || method === "HEAD") return
  const alternatives = match.route.replies.get(status)
  if (alternatives === undefined) {
    if (beforeOperation.has(status)) return
    throw new Error(`${method} ${match.route.path} does not declare the status ${status}`)
  }
  const results = alternatives.map((decode) => decode(body))
  if (results.some(Result.isSuccess)) return
  const [first] = results
  const words = Result.isFailure(first!) ? SchemaIssue.makeFormatterDefault()(first.failure) : ""
  throw new Error(
    `${method} ${match.route.path} answered ${status} with what it does not declare:\n${words}\n${JSON.stringify(body)}`,
  )
}
