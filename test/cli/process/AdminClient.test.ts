import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeAdminClient } from "../../../src/cli/process/KeyAccess.ts"

/** A client of a server that answers as `listener` does. */
const clientOf = (listener: RequestListener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<ReturnType<typeof createServer>>((listening) => {
            const server = createServer(listener)
            server.listen(0, "127.0.0.1", () => listening(server))
          }),
      ),
      (server) => Effect.sync(() => server.close()),
    ),
    (server) => clientAt((server.address() as AddressInfo).port),
  )

const clientAt = (port: number) =>
  makeAdminClient({
    pid: 1,
    url: "",
    adminUrl: `http://127.0.0.1:${port}`,
    token: "t",
    startedAt: "",
  })

/** A port that was free a moment ago. */
const freePort = Effect.promise(
  () =>
    new Promise<number>((closed) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        server.close(() => closed(port))
      })
    }),
)

describe("The client of the admin server", () => {
  it.live("reports that nothing was executed if no server or another server answers", () =>
    Effect.gen(function* () {
      const nobody = yield* Effect.flip(clientAt(yield* freePort).revoke("key_1"))
      expect(nobody).toMatchObject({ _tag: "AdminUnavailable", reached: false })
      const other = yield* clientOf((_, response) => {
        response.writeHead(401).end('{"code":"unauthorized","detail":"no"}')
      })
      expect(yield* Effect.flip(other.list)).toMatchObject({ reached: false })
    }),
  )

  it.live("reports an unknown outcome if the reply is lost or is not Laurel's", () =>
    Effect.gen(function* () {
      const lost = yield* clientOf((request) => request.socket.destroy())
      expect(yield* Effect.flip(lost.revoke("key_1"))).toMatchObject({ reached: true })
      for (const [status, text] of [
        [200, "<html>"],
        [200, "{}"],
        [200, '{"keys":[{}]}'],
        [500, "{}"],
        [404, '{"code":"never_heard","detail":"x"}'],
      ] as const) {
        const unusableReply = yield* clientOf((_, response) => {
          response.writeHead(status).end(text)
        })
        const error = yield* Effect.flip(unusableReply.list)
        expect(error).toMatchObject({ _tag: "AdminUnavailable", reached: true })
      }
    }),
  )

  it.live("passes refusals of the server on", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const client = yield* clientOf((request, response) => {
        asked.push(`${request.method} ${request.url} ${request.headers.authorization}`)
        response.writeHead(404).end('{"code":"key_not_found","detail":"No such key."}')
      })
      expect(yield* Effect.flip(client.revoke("a/b"))).toMatchObject({
        _tag: "LaurelError",
        code: "key_not_found",
        detail: "No such key.",
      })
      expect(asked).toEqual(["DELETE /admin/keys/a%2Fb Bearer t"])
    }),
  )
})
