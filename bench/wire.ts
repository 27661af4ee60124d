/** What the loads over HTTP share: requests made beforehand, replies read off bare sockets, latencies. */
import type { Socket } from "node:net"
import { newEventId, randomEvent } from "./events.ts"

/** Where a request goes, and what it carries. */
export interface RequestShape {
  readonly port: number
  readonly path: string
  readonly key: string
  /** 1: the body is the event itself; more: a batch. */
  readonly eventsPerRequest: number
  readonly withIds: boolean
}

const idLength = newEventId().length

export class PreparedRequest {
  readonly bytes: Buffer
  readonly #idOffsets: ReadonlyArray<number>

  constructor({ eventsPerRequest, key, path, port, withIds }: RequestShape) {
    const events = Array.from({ length: eventsPerRequest }, () => randomEvent(withIds))
    const body = JSON.stringify(eventsPerRequest === 1 ? events[0] : { events })
    const head =
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
    this.bytes = Buffer.from(head + body)
    const offsets: Array<number> = []
    const before = '"id":"'
    let at = this.bytes.indexOf(before, head.length)
    while (at >= 0) {
      offsets.push(at + before.length)
      at = this.bytes.indexOf(before, at + before.length + idLength)
    }
    this.#idOffsets = offsets
  }

  /** Gives every event an id that was never used. Only when the last reply is in: the socket may hold the bytes until then. */
  renew(): Buffer {
    for (const offset of this.#idOffsets) this.bytes.write(newEventId(), offset, "latin1")
    return this.bytes
  }
}

export class Latencies {
  /** Microseconds, the last place for everything longer. */
  readonly #counts = new Uint32Array(2_000_001)
  total = 0

  add(ms: number): void {
    this.total++
    this.#counts[Math.min(this.#counts.length - 1, Math.round(ms * 1_000))]!++
  }

  quantileMs(share: number): number {
    let left = Math.ceil(this.total * share)
    let microseconds = 0
    while (left > 0) left -= this.#counts[microseconds++]!
    return (microseconds - 1) / 1_000
  }
}

/** Reads replies off one socket; calls back at the end of each. */
export const readReplies = (
  socket: Socket,
  onReply: (status: number, start: string, head: string) => void,
): void => {
  const startLength = 2_048
  let head: Buffer | undefined
  let left = 0
  let status = 0
  let start = ""
  let headText = ""
  socket.on("data", (chunk: Buffer) => {
    let at = 0
    if (left === 0) {
      const received = head === undefined ? chunk : Buffer.concat([head, chunk])
      const end = received.indexOf("\r\n\r\n")
      if (end < 0) {
        head = received
        return
      }
      head = undefined
      chunk = received
      at = end + 4
      const text = received.toString("latin1", 0, at)
      const length = /\r\ncontent-length: *(\d+)/i.exec(text)
      if (length === null) throw new Error(`A reply without Content-Length: ${text}`)
      headText = text
      status = Number(text.slice(9, 12))
      left = Number(length[1])
      start = ""
    }
    if (start.length < startLength) start += chunk.toString("latin1", at, at + startLength)
    left -= chunk.length - at
    if (left < 0) throw new Error("A reply is longer than its Content-Length")
    if (left === 0) onReply(status, start, headText)
  })
}
