/**
 * Compiled endpoints of kinds that are rare in the contract: merge patches, empty replies, optional
 * bodies.
 */
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Result, Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { invalidRequest } from "../../../src/domain/values/Errors.ts"
import {
  ApiKey,
  idempotencyHeaders,
  integer,
  mergePatch,
  text,
} from "../../../src/http/api/Common.ts"
import { completeReference } from "../../../src/http/api/Reference.ts"
import {
  compileOperations,
  type Handlers,
  routerOf,
} from "../../../src/http/contract/Interpreter.ts"
import { Pipeline } from "../../../src/http/pipeline/Pipeline.ts"
import { Exchange } from "../../../src/http/request/Exchange.ts"
import { RequestMetrics } from "../../../src/http/request/RequestMetrics.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { fullKey, TestAccounts } from "../fixture.ts"

const Change = Schema.Struct({
  name: Schema.optionalKey(Schema.NullOr(text(1, 5))),
  size: Schema.optionalKey(integer(1, 9)),
}).annotate({ identifier: "Change" })
const Named = Schema.Struct({ name: text(1, 5) }).annotate({ identifier: "Named" })
const Echo = Schema.Struct({ got: Schema.Unknown, key: Schema.Unknown })

const Things = HttpApiGroup.make("things")
  .add(
    HttpApiEndpoint.patch("update", "/v1/things", { payload: mergePatch(Change), success: Echo }),
    HttpApiEndpoint.post("start", "/v1/things/start", {
      headers: idempotencyHeaders,
      payload: Change,
      success: Echo.pipe(HttpApiSchema.status(202)),
    }),
    HttpApiEndpoint.post("create", "/v1/things", {
      headers: idempotencyHeaders,
      payload: Named,
      success: Echo,
    }),
    HttpApiEndpoint.post("later", "/v1/things/later", { payload: Named, success: Echo }),
    HttpApiEndpoint.post("touch", "/v1/things/touch", {
      headers: idempotencyHeaders,
      success: Echo,
    }),
    HttpApiEndpoint.delete("remove", "/v1/things", { success: HttpApiSchema.NoContent }),
  )
  .middleware(ApiKey)

const Api = HttpApi.make("test")
  .add(Things)
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotateMerge(OpenApi.annotations({ transform: completeReference }))

const echo = {
  handle: ({ idempotency, payload }: { idempotency: unknown; payload: unknown }) =>
    Effect.succeed({ body: { got: payload ?? null, key: idempotency !== undefined } }),
}
const things: Handlers<typeof Things> = {
  update: echo,
  start: echo,
  create: echo,
  later: {
    ...echo,
    decode: async (body) => {
      const name = body.toString()
      if (name === "defect") throw new Error("a defect of the decoder")
      if (name === "fault") return Result.fail(invalidRequest([]))
      return Result.succeed({ name })
    },
  },
  touch: echo,
  remove: { handle: () => Effect.succeed({ body: undefined }) },
}

let port = 0
let stop = () => {}
beforeAll(async () => {
  const accounts = new TestAccounts()
  accounts.addKey(fullKey)
  const pipeline = new Pipeline({
    router: routerOf(compileOperations(Api, { things }), new Map()),
    accounts,
    metrics: new RequestMetrics(new Metrics()),
    run: (effect) => Effect.runFork(effect),
    streamStallMs: 60_000,
  })
  const server = createServer((incoming, response) =>
    pipeline.handle(new Exchange(incoming, response, false, pipeline)),
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  port = (server.address() as AddressInfo).port
  stop = () => {
    server.close()
    server.closeAllConnections()
  }
})
afterAll(() => stop())

const send = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  new Promise<{
    status: number | undefined
    headers: NodeJS.Dict<string | string[]>
    text: string
  }>((resolve, reject) => {
    const authorization = `Bearer ${fullKey}`
    const outgoing = request(
      { host: "127.0.0.1", port, method, path, headers: { authorization, ...headers } },
      (incoming) => {
        let text = ""
        incoming.setEncoding("utf8")
        incoming.on("data", (chunk: string) => {
          text += chunk
        })
        incoming.on("end", () =>
          resolve({ status: incoming.statusCode, headers: incoming.headers, text }),
        )
      },
    )
    outgoing.on("error", reject)
    outgoing.end(body)
  })

const got = async (reply: ReturnType<typeof send>) => JSON.parse((await reply).text).got

describe("a merge patch", () => {
  const patch = (type: string, body: string) =>
    send("PATCH", "/v1/things", { "content-type": type }, body)

  it("may come under its own media type and as JSON", async () => {
    for (const type of ["application/merge-patch+json", "application/json"]) {
      expect(await got(patch(type, '{"name":null,"size":3}'))).toEqual({ name: null, size: 3 })
    }
    const { headers, status } = await patch("text/plain", "{}")
    expect([status, headers["accept-patch"]]).toEqual([
      415,
      "application/merge-patch+json, application/json",
    ])
  })

  it("gets all its faults in one reply, with any media type", async () => {
    for (const type of ["application/merge-patch+json", "application/json"]) {
      const { text } = await patch(type, '{"name":"","size":null,"more":1}')
      const { errors } = JSON.parse(text) as { errors: Array<{ pointer: string; code: string }> }
      expect(errors.map(({ code, pointer }) => [pointer, code]).toSorted()).toEqual([
        ["/more", "unknown_member"],
        ["/name", "too_short"],
        ["/size", "invalid_type"],
      ])
    }
  })

  it("must have a body", async () => {
    expect((await send("PATCH", "/v1/things")).status).toBe(415)
  })
})

describe("a body that is decoded in later turns", () => {
  it("is answered with its reply, its faults, or 500 after a defect", async () => {
    const headers = { "content-type": "application/json" }
    const later = (body: string) => send("POST", "/v1/things/later", headers, body)
    expect(await got(later("n"))).toEqual({ name: "n" })
    expect((await later("fault")).status).toBe(400)
    expect((await later("defect")).status).toBe(500)
  })
})

describe("a body without required members", () => {
  it("may be left out of a POST", async () => {
    expect(await got(send("POST", "/v1/things/start"))).toEqual({})
    const headers = { "content-type": "application/json" }
    expect(await got(send("POST", "/v1/things/start", headers, '{"size":1}'))).toEqual({ size: 1 })
    expect((await send("POST", "/v1/things/start", {}, '{"size":1}')).status).toBe(415)
    expect((await send("POST", "/v1/things")).status).toBe(415)
  })

  it("is optional in the reference", () => {
    const { paths } = OpenApi.fromApi(Api)
    expect([
      paths["/v1/things/start"]?.post?.requestBody?.required,
      paths["/v1/things"]?.post?.requestBody?.required,
    ]).toEqual([false, true])
  })
})

describe("an Idempotency-Key", () => {
  it("works for operations that declare it, even without a body, and for no others", async () => {
    const key = async (method: string, path: string, body?: string) => {
      const headers = { "idempotency-key": "k", "content-type": "application/json" }
      return JSON.parse((await send(method, path, headers, body)).text).key
    }
    expect(await key("POST", "/v1/things", '{"name":"a"}')).toBe(true)
    expect(await key("POST", "/v1/things/start")).toBe(true)
    expect(await key("POST", "/v1/things/touch")).toBe(true)
    expect(await key("PATCH", "/v1/things", "{}")).toBe(false)
    expect(await key("POST", "/v1/things/later", "name")).toBe(false)
    const broken = await send("POST", "/v1/things/touch", { "idempotency-key": "ü" })
    expect([broken.status, JSON.parse(broken.text).errors[0].pointer]).toEqual([
      400,
      "header/idempotency-key",
    ])
  })
})

describe("a reply without a body", () => {
  it("has a status and no header fields of a body", async () => {
    const { headers, status, text } = await send("DELETE", "/v1/things")
    expect([status, text]).toEqual([204, ""])
    expect([headers["content-type"], headers["content-length"]]).toEqual([undefined, undefined])
    expect(headers["x-request-id"]).toMatch(/^req_/)
  })
})
