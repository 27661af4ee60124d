/**
 * Every part of the reference has an example, and every example is valid. Examples of bodies are
 * sent to a server, which must accept them; all others must match their own schemas.
 */
import { Result, Schema, SchemaAST, SchemaIssue, SchemaParser } from "effect"
import { HttpApi } from "effect/http-api"
import Stripe from "stripe"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Api } from "../../src/http/api/Api.ts"
import { time } from "../../src/http/api/examples/exampleIds.ts"
import { withoutExample } from "./exampleCoverage.ts"
import { type Json, makeWorld, realPath, sourceSecret, withRealIds } from "./exampleWorld.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

// The time is that of the examples: a test clock advances from there.
const clock = new RunningClock(time)
let server: TestServer
beforeAll(async () => {
  // Each example of a body has a world of its own, with a webhook.
  server = await startServer({ webhooksMax: 1_000, clock })
})
afterAll(() => server.stop())

describe("The reference", () => {
  it("has an example of every member, parameter, header, body, reply and error code", async () => {
    const { json } = await server.call("GET", "/openapi.json", { key: null })
    expect(withoutExample(json)).toEqual([])
  })

  it("is searched completely for missing examples", () => {
    const schemas = {
      Thing: {
        properties: {
          kind: { enum: ["thing"] },
          own: { type: "string", examples: ["a"] },
          shown: { type: "string" },
          unseen: { type: "string" },
          parts: { type: "array", items: { $ref: "#/components/schemas/Part" } },
        },
        examples: [{ shown: "b", parts: [{ kind: "big", size: 1 }] }],
      },
      Part: {
        anyOf: [
          { properties: { kind: { const: "big" }, size: { type: "integer" } } },
          { properties: { kind: { const: "small" }, size: { type: "integer" } } },
        ],
      },
      Bare: { properties: { own: { type: "null", examples: [null] } } },
      Failure: {
        properties: { status: { type: "integer" }, code: { enum: ["known", "unknown"] } },
        examples: [{ status: 404, code: "known" }],
      },
    }
    const jsonOf = (name: string) => ({
      content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } },
    })
    const operation = {
      parameters: [
        { name: "from", schema: { type: "string", examples: ["a"] } },
        { name: "limit", schema: { type: "integer", default: 20 } },
        { name: "status", schema: { type: "string" } },
      ],
      requestBody: jsonOf("Thing"),
      responses: { 200: jsonOf("Bare"), 404: jsonOf("Failure"), 409: jsonOf("Failure") },
    }
    const headers = { Said: { example: "a" }, Unsaid: {} }
    const document = { components: { headers, schemas }, paths: { "/a": { post: operation } } }
    expect(withoutExample(document)).toEqual([
      "post /a status",
      "post /a 200 application/json",
      "Failure unknown",
      "Failure known",
      "header Unsaid",
      "Thing.unseen",
      "Part#1.size",
    ])
  })
})

/** The signature that a delivery of a source needs. */
const signatureOf = (path: string, payload: string): Record<string, string> => {
  if (!path.startsWith("/v1/ingest/{project}")) return {}
  const timestamp = Math.floor(clock.currentTimeMillisUnsafe() / 1_000)
  const { webhooks } = new Stripe("sk_test_unused")
  const header = webhooks.generateTestHeaderString({ payload, secret: sourceSecret, timestamp })
  return { "Stripe-Signature": header }
}

describe("Every example of a body", () => {
  it("is accepted by its operation", async () => {
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
            const real = await makeWorld(server)
            const body = withRealIds(example, real)
            const payload = JSON.stringify(body)
            const { status, text } = await server.call(method.toUpperCase(), realPath(path, real), {
              headers: { "Content-Type": mediaType, ...signatureOf(path, payload) },
              body: payload,
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

/** The parts of a body; of a stream, its pieces. */
const pieceOf = (body: Schema.Top): Schema.Top => {
  const { _tag, events, schema } = body as Schema.Top & {
    readonly _tag?: string
    readonly events?: Schema.Top
    readonly schema?: Schema.Top
  }
  return (_tag === "StreamSse" ? events : _tag === "StreamNdjson" ? schema : body) ?? body
}

describe("Every other example", () => {
  it("is a value that its schema accepts", () => {
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
          for (const schema of schemas) walk(pieceOf(schema).ast, `${name} body`)
        }
        for (const [status, schemas] of [...successes, ...errors]) {
          for (const schema of schemas) walk(pieceOf(schema).ast, `${name} ${status}`)
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

describe("The examples outside of schemas", () => {
  it("have their declared types", async () => {
    const { json } = await server.call("GET", "/openapi.json", { key: null })
    for (const [name, { example, schema }] of Object.entries<Json>(json.components.headers)) {
      expect([name, typeof example]).toEqual([name, schema.type.replace("integer", "number")])
      if (schema.format === "date-time") expect(example).toBe(new Date(example).toISOString())
    }
  })
})
