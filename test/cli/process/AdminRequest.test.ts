import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { streamAdmin } from "../../../src/cli/process/AdminRequest.ts"

/** The lines that a server which answers as `listener` does has sent, and how it ended. */
const streamed = (listener: RequestListener) =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<ReturnType<typeof createServer>>((listening) => {
            const made = createServer(listener)
            made.listen(0, "127.0.0.1", () => listening(made))
          }),
      ),
      (made) => Effect.sync(() => made.close()),
    )
    const adminUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const file = { pid: 1, url: "", adminUrl, token: "t", startedAt: "" }
    const lines: Array<unknown> = []
    const take = (line: unknown) => lines.push(line)
    const result = yield* Effect.result(streamAdmin(file, "POST", "/admin/archives", take))
    return { lines, result }
  })

describe("A reply of the admin server in lines", () => {
  it.live("is read in order, wherever its chunks are cut", () =>
    Effect.gen(function* () {
      const text = Array.from({ length: 5 }, (_, n) => `${JSON.stringify({ n, ä: "𝄞" })}\n`).join(
        "",
      )
      const bytes = Buffer.from(text)
      for (const size of [1, 7, bytes.length]) {
        const { lines, result } = yield* streamed((_, response) => {
          for (let at = 0; at < bytes.length; at += size)
            response.write(bytes.subarray(at, at + size))
          response.end()
        })
        expect(result._tag).toBe("Success")
        expect(lines).toEqual([0, 1, 2, 3, 4].map((n) => ({ n, ä: "𝄞" })))
      }
    }),
  )

  it.live("that breaks off fails, after its lines were passed on", () =>
    Effect.gen(function* () {
      const { lines, result } = yield* streamed((_, response) => {
        response.write('{"n":0}\n{"n":', () => response.destroy())
      })
      expect(lines).toEqual([{ n: 0 }])
      expect(result).toMatchObject({ failure: { _tag: "AdminUnavailable", reached: true } })
    }),
  )

  it.live("fails if another server refuses, or if it is not Laurel's", () =>
    Effect.gen(function* () {
      const other = yield* streamed((_, response) => {
        response.writeHead(401).end('{"code":"unauthorized","detail":"no"}')
      })
      expect(other.result).toMatchObject({ failure: { reached: false } })
      const unusableReply = yield* streamed((_, response) => {
        response.end("<html>\n")
      })
      expect(unusableReply.result).toMatchObject({ failure: { reached: true } })
      const busy = yield* streamed((_, response) => {
        response.writeHead(503).end('{"code":"starting","detail":"Soon."}')
      })
      expect(busy.result).toMatchObject({ failure: { _tag: "LaurelError", code: "starting" } })
    }),
  )
})
