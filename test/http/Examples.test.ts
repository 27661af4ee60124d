/**
 * Every example in the reference is real: those of bodies are sent to a server, which must take them, and
 * every other one must be a value that its own schema takes.
 */
import { Result, Schema, SchemaAST, SchemaIssue, SchemaParser } from "effect"
import { HttpApi } from "effect/http-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Api } from "../../src/http/api/Api.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON
type Json = any

const ids = /^(qst|bdg|rul|whk|evt|rwd|dlv|msg)_/

/** The body with ids that exist here: those of examples can not. */
const withRealIds = (node: Json, real: Readonly<Record<string, string>>): Json => {
  if (typeof node === "string") return real[ids.exec(node)?.[1] ?? ""] ?? node
  if (Array.isArray(node)) return node.map((child) => withRealIds(child, real))
  if (typeof node !== "object" || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, child]) => [key, withRealIds(child, real)]),
  )
}

const post = async (path: string, body: unknown): Promise<Json> => {
  const { json, status, text } = await server.call("POST", path, { body })
  if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`)
  return json
}

/** Makes one thing of each kind, and answers their ids. */
const makeWorld = async (): Promise<Readonly<Record<string, string>>> => {
  const streaks = [{ key: "daily" }]
  const { status, text } = await server.call("PATCH", "/v1/project", { body: { streaks } })
  if (status !== 200) throw new Error(`The project was not changed: ${status} ${text}`)
  const badge = await post("/v1/badges", { name: "Rich", criteria: { kind: "xp", target: 1_000 } })
  const quest = await post("/v1/quests", { title: "Before", reward: { xp: 1 } })
  const limit = { times: 1, per: "day" }
  const rule = await post("/v1/rules", { action: "TAP", reward: { xp: 1 }, limit })
  const webhook = await post("/v1/webhooks", { url: "https://example.com/hook", events: ["*"] })
  const event = await post("/v1/events", { userId: "user-42", action: "TAP" })
  const reward = await post("/v1/users/user-42/rewards", { type: "xp", amount: 1 })
  return {
    bdg: badge.id,
    qst: quest.id,
    rul: rule.id,
    whk: webhook.id,
    evt: event.eventId,
    rwd: reward.rewardId,
  }
}

const kindOf: Readonly<Record<string, string>> = {
  quests: "qst",
  rules: "rul",
  badges: "bdg",
  webhooks: "whk",
}

/** The path with what exists in place of its parameters. */
const realPath = (path: string, real: Readonly<Record<string, string>>): string =>
  path
    .replace("{eventId}", real.evt!)
    .replace("{rewardId}", real.rwd!)
    .replace("{id}", real[kindOf[path.split("/")[2]!] ?? ""] ?? "user-42")

describe("Every example of a body", () => {
  it("is taken by the operation that it stands at", async () => {
    const { json } = await server.call("GET", "/openapi.json", { key: null })
    const refused: Array<unknown> = []
    let sent = 0
    for (const [path, item] of Object.entries<Json>(json.paths)) {
      for (const [method, { requestBody }] of Object.entries<Json>(item)) {
        if (requestBody === undefined) continue
        for (const [mediaType, { schema }] of Object.entries<Json>(requestBody.content)) {
          const { examples = [] } =
            json.components.schemas[schema.$ref?.split("/").at(-1)] ?? schema
          expect([method, path, examples.length]).not.toEqual([method, path, 0])
          for (const example of examples) {
            const real = await makeWorld()
            const body = withRealIds(example, real)
            const { status, text } = await server.call(method.toUpperCase(), realPath(path, real), {
              headers: { "Content-Type": mediaType },
              body: JSON.stringify(body),
            })
            sent++
            if (status >= 300) refused.push({ method, path, mediaType, body, status, text })
          }
        }
      }
    }
    expect(refused).toEqual([])
    expect(sent).toBeGreaterThan(20)
  })
})

describe("Every other example", () => {
  it("is a value that its schema takes", () => {
    const wrong: Array<unknown> = []
    const seen = new Set<SchemaAST.AST>()
    let checked = 0
    const walk = (ast: SchemaAST.AST, path: string): void => {
      if (seen.has(ast)) return
      seen.add(ast)
      for (const example of SchemaAST.resolveAt<ReadonlyArray<unknown>>("examples")(ast) ?? []) {
        checked++
        const schema = Schema.make<Schema.ConstraintDecoder<unknown>>(SchemaAST.toType(ast))
        const decode = SchemaParser.decodeUnknownResult(schema, { onExcessProperty: "error" })
        const result = decode(example)
        if (Result.isSuccess(result)) continue
        const words = SchemaIssue.makeFormatterDefault()(result.failure)
        wrong.push({ path, example, words })
      }
      if (SchemaAST.isObjects(ast)) {
        for (const { name, type } of ast.propertySignatures) walk(type, `${path}.${String(name)}`)
        for (const { type } of ast.indexSignatures) walk(type, `${path}[]`)
      } else if (SchemaAST.isArrays(ast)) {
        for (const each of [...ast.elements, ...ast.rest]) walk(each, `${path}[]`)
      } else if (SchemaAST.isUnion(ast)) {
        for (const each of ast.types) walk(each, path)
      } else if (SchemaAST.isSuspend(ast)) {
        walk(ast.thunk(), path)
      }
    }
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, errors, successes }) => {
        const name = `${endpoint.method} ${endpoint.path}`
        for (const { schemas } of endpoint.payload.values()) {
          for (const { ast } of schemas) walk(ast, `${name} body`)
        }
        for (const [status, schemas] of [...successes, ...errors]) {
          for (const { ast } of schemas) walk(ast, `${name} ${status}`)
        }
        for (const schema of [endpoint.params, endpoint.query, endpoint.headers]) {
          if (schema !== undefined) walk(schema.ast, name)
        }
      },
    })
    expect(wrong).toEqual([])
    expect(checked).toBeGreaterThan(100)
  })
})
