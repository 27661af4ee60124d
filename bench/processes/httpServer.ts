/**
 * A server that takes single events and stores none: it parses each body and answers a fixed reply.
 * `bare` is `node:http` alone, `pipeline` Laurel's own HTTP, `builder` Effect's `HttpApiBuilder`;
 * the two latter serve one declaration. A message to the process asks for its processor time in
 * microseconds.
 */
// First: schemas that are made before the compiler stay slow.
import "effect/schema/SchemaJITCompiler/enable"

import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Accounts } from "../../src/accounts/Accounts.ts"
import { ApiKey, idempotencyHeaders } from "../../src/http/api/Common.ts"
import { Event, EventOutcome } from "../../src/http/api/Events.ts"
import { writeProblems } from "../../src/http/api/Problems.ts"
import { JsonText } from "../../src/http/body/Body.ts"
import { decodeEventBody, type EventInput } from "../../src/http/body/EventDecoder.ts"
import { compileOperations, type Handlers, routerOf } from "../../src/http/contract/Interpreter.ts"
import { Pipeline } from "../../src/http/pipeline/Pipeline.ts"
import { RequestMetrics } from "../../src/http/request/RequestMetrics.ts"
import { Listener } from "../../src/http/server/Listener.ts"
import { limits } from "../../src/Limits.ts"
import { Metrics } from "../../src/metrics/Metrics.ts"
import { answer } from "../children.ts"

export interface HttpServerOptions {
  readonly kind: "bare" | "pipeline" | "builder"
  /** The body of each reply: the JSON of an event's outcome. */
  readonly reply: string
}

const Events = HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.post("track", "/v1/events", {
      headers: idempotencyHeaders,
      payload: Event,
      success: EventOutcome,
      error: [...writeProblems],
    }),
  )
  .middleware(ApiKey)
const Api = HttpApi.make("bench")
  .add(Events)
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })

const bare = (reply: string): Server => {
  const bytes = Buffer.from(reply)
  const headers = { "content-type": "application/json", "content-length": bytes.length }
  return createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      if (chunks.length > 0) JSON.parse(Buffer.concat(chunks).toString())
      response.writeHead(200, headers)
      response.end(bytes)
    })
  })
}

const caller = {
  kind: "secret",
  keyId: "key_1",
  projectId: "prj_1",
  environmentName: "sandbox",
  environment: "prj_1:sandbox",
  scope: "full",
  tier: "enterprise",
} as const
const unlimited = {
  limited: false,
  limit: null,
  remaining: 1,
  resetSeconds: 1,
  tier: caller.tier,
} as const
const accounts: Accounts["Service"] = {
  authenticate: () => caller,
  makeToken: () => undefined,
  isInForce: () => true,
  tierOf: () => caller.tier,
  version: 0,
  consume: () => unlimited,
  look: () => unlimited,
}

const pipeline = (reply: string): Server => {
  const metrics = new RequestMetrics(new Metrics())
  const body = new JsonText<typeof EventOutcome.Type>(reply)
  const events: Handlers<typeof Events, { readonly track: EventInput }> = {
    track: {
      decode: decodeEventBody,
      handle: () => Effect.succeed({ body }),
      handleWithCallback: (_request, _annotations, done) => done(() => ({ body })),
    },
  }
  const handler = new Pipeline({
    router: routerOf(compileOperations(Api, { events }), new Map()),
    accounts,
    metrics,
    run: (effect) => Effect.runFork(effect),
    streamStallMs: limits.streamStallMs,
  })
  return new Listener(handler, limits).server
}

const builder = (reply: string): Server => {
  const body = JSON.parse(reply) as typeof EventOutcome.Type
  const server = createServer()
  const handlers = HttpApiBuilder.group(Api, "events", (group) =>
    group.handle("track", () => Effect.succeed(body)),
  )
  const routes = HttpApiBuilder.layer(Api).pipe(
    Layer.provide(handlers),
    Layer.provide(Layer.succeed(ApiKey, { apiKey: (request) => request })),
  )
  const serve = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(NodeHttpServer.layer(() => server, { port: 0, host: "127.0.0.1" })),
  )
  Effect.runFork(Layer.launch(serve))
  return server
}

const servers = { bare, pipeline, builder }

await answer(async ({ kind, reply }: HttpServerOptions) => {
  const server = servers[kind](reply)
  if (kind !== "builder") server.listen(0, "127.0.0.1")
  if (!server.listening) await new Promise((resolve) => server.once("listening", resolve))
  return { port: (server.address() as AddressInfo).port }
})
process.on("message", () => {
  const { system, user } = process.cpuUsage()
  process.send!(system + user)
})
