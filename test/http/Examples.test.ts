/**
 * Every example in the reference is real: those of bodies are sent to a server, which must take them, and
 * every other one must be a value that its own schema takes.
 */
import { Result, Schema, SchemaAST, SchemaIssue, SchemaParser } from "effect"
import { HttpApi } from "effect/http-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Api } from "../../src/http/api/Api.ts"
import { type Json, makeWorld, realPath, withRealIds } from "./exampleWorld.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

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
            const real = await makeWorld(server)
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
