/**
 * The body of a request that is forwarded: kept until the reply as long as it is small, so that it can be sent again; else
 * streamed, with what has arrived already in front.
 */
import type { IncomingMessage } from "node:http"
import { hasBody } from "../http/body/Body.ts"
import { limits } from "../Limits.ts"

/** Bytes of all bodies that are kept now. */
let keptBytes = 0

export interface Body {
  /** All of it; `undefined`: it is streamed. */
  readonly kept: Buffer | undefined
  /** For one attempt to send it; `null`: there is none. */
  readonly source: Buffer | AsyncIterable<Buffer> | null
  readonly release: () => void
}

const none: Body = { kept: Buffer.alloc(0), source: null, release: () => {} }

/** Calls `done` once the body is kept, or too large for that; never where the client leaves before. */
export const receiveBody = (request: IncomingMessage, done: (body: Body) => void): void => {
  if (!hasBody(request)) {
    done(none)
    return
  }
  const chunks: Array<Buffer> = []
  let bytes = 0
  const settle = (): void => {
    request.off("data", take)
    request.off("end", end)
    request.off("close", left)
  }
  const take = (chunk: Buffer): void => {
    chunks.push(chunk)
    bytes += chunk.length
    keptBytes += chunk.length
    if (bytes <= limits.forwardKeptBytesMax && keptBytes <= limits.forwardKeptTotalBytesMax) return
    request.pause()
    settle()
    keptBytes -= bytes
    done({ kept: undefined, source: streamed(chunks, request), release: () => {} })
  }
  const end = (): void => {
    settle()
    const kept = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)
    let isKept = true
    const release = (): void => {
      if (isKept) keptBytes -= bytes
      isKept = false
    }
    done({ kept, source: kept, release })
  }
  const left = (): void => {
    settle()
    keptBytes -= bytes
  }
  request.on("data", take)
  request.on("end", end)
  request.on("close", left)
}

async function* streamed(chunks: Array<Buffer>, request: IncomingMessage): AsyncGenerator<Buffer> {
  yield* chunks.splice(0)
  yield* request as AsyncIterable<Buffer>
}
