/** The memory of a body is bounded by its bytes, however small its pieces are. */
import { EventEmitter } from "node:events"
import type { IncomingMessage } from "node:http"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { readBody } from "../../src/http/body/Body.ts"
import { limits } from "../../src/Limits.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

describe("A body in pieces of one byte", () => {
  it("is kept in a bounded number of pieces, and is read whole", async () => {
    const count = 20 * limits.bodyPiecesMax + 7
    const request = new EventEmitter()
    const read = Promise.withResolvers<Buffer>()
    readBody(request as IncomingMessage, count, (body) => read.resolve(Result.getOrThrow(body)))
    const pieces: Array<WeakRef<Buffer>> = []
    for (let index = 0; index < count; index++) {
      const piece = Buffer.alloc(1, index % 251)
      pieces.push(new WeakRef(piece))
      request.emit("data", piece)
    }
    // A WeakRef made in this turn still holds its target.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    const kept = pieces.filter((piece) => piece.deref() !== undefined)
    expect(kept.length).toBeLessThanOrEqual(limits.bodyPiecesMax + 1)
    request.emit("end")
    const body = await read.promise
    expect(body).toEqual(Buffer.from(Uint8Array.from({ length: count }, (_, index) => index % 251)))
  })
})
