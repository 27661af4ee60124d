/**
 * The body of a request that is forwarded: kept until the reply as long as it is small, so that it can be sent again; else
 * streamed, with what has arrived already in front. An owner may reply before it has read all: the rest is then read here and
 * dropped, up to `refusedBodyBytesMax`, since many clients read no reply before they have sent their body.
 */
import type { IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import { discardRest, hasBody } from "../http/body/Body.ts"
import { limits } from "../Limits.ts"

/** Bytes of all bodies that are kept now. */
let keptBytes = 0

export interface Body {
  /** All of it; `undefined`: it is streamed. */
  readonly kept: Buffer | undefined
  /** For one attempt to send it; `null`: there is none. A stream takes nothing from the request before it is read. */
  readonly source: () => Buffer | Readable | null
  /** After the last attempt. */
  readonly release: () => void
}

const none: Body = { kept: Buffer.alloc(0), source: () => null, release: () => {} }

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
    done(streamed(chunks, request))
  }
  const end = (): void => {
    settle()
    const kept = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)
    let isKept = true
    const release = (): void => {
      if (isKept) keptBytes -= bytes
      isKept = false
    }
    done({ kept, source: () => kept, release })
  }
  const left = (): void => {
    settle()
    keptBytes -= bytes
  }
  request.on("data", take)
  request.on("end", end)
  request.on("close", left)
}

const streamed = (chunks: Array<Buffer>, request: IncomingMessage): Body => {
  let stream: Readable | undefined
  return {
    kept: undefined,
    source: () => {
      stream = streamOf(chunks, request)
      return stream
    },
    release: () => {
      stream?.destroy()
      if (!request.readableEnded) discardRest(request)
    },
  }
}

/** `chunks`, then what the request still brings. */
const streamOf = (chunks: Array<Buffer>, request: IncomingMessage): Readable => {
  let isListening = false
  const take = (chunk: Buffer): void => {
    if (!stream.push(chunk)) request.pause()
  }
  const end = (): void => {
    stream.push(null)
  }
  const left = (): void => {
    if (!request.readableEnded) stream.destroy(new Error("the client left"))
  }
  const stream = new Readable({
    read: () => {
      if (chunks.length > 0) stream.push(Buffer.concat(chunks.splice(0)))
      else {
        if (!isListening) {
          isListening = true
          request.on("data", take)
          request.on("end", end)
          request.on("close", left)
        }
        request.resume()
      }
    },
    destroy: (error, done) => {
      request.off("data", take)
      request.off("end", end)
      request.off("close", left)
      done(error)
    },
  })
  return stream
}
