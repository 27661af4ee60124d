/**
 * Shared by the loads over HTTP: requests made beforehand, replies read off bare sockets,
 * latencies.
 */
import type { Socket } from "node:net"
import { newEventId, randomEvent, userIdAt } from "./events.ts"

/** Where events go. */
export interface Address {
  readonly host?: string
  readonly port: number
  readonly key: string
}

/** The request of a single event. */
export class PreparedRequest {
  readonly #bytes: Buffer
  readonly #idOffset: number
  readonly #userOffset: number
  readonly #chooseUser: () => number

  constructor({ host = "127.0.0.1", key, port }: Address, chooseUser: () => number) {
    const body = JSON.stringify(randomEvent())
    const head =
      `POST /v1/events HTTP/1.1\r\nHost: ${host}:${port}\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
    this.#bytes = Buffer.from(head + body)
    const after = (text: string) => this.#bytes.indexOf(text, head.length) + text.length
    this.#idOffset = after('"id":"')
    this.#userOffset = after('"userId":"')
    this.#chooseUser = chooseUser
  }

  /**
   * An event with a new id. Call it only after the last reply: the socket may still use the bytes.
   */
  renew(): Buffer {
    this.#bytes.write(newEventId(), this.#idOffset, "latin1")
    this.#bytes.write(userIdAt(this.#chooseUser()), this.#userOffset, "latin1")
    return this.#bytes
  }
}

const longestMicroseconds = 2_000_000

export class Latencies {
  /** Microseconds, the last place for everything longer. */
  readonly #counts = new Uint32Array(longestMicroseconds + 1)
  total = 0
  maxMs = 0

  add(ms: number): void {
    this.total++
    if (ms > this.maxMs) this.maxMs = ms
    this.#counts[Math.min(longestMicroseconds, Math.round(ms * 1_000))]!++
  }

  /** Pairs of an upper bound, each 1.1 times the one before it, and the number of latencies. */
  histogram(): ReadonlyArray<readonly [microseconds: number, count: number]> {
    const buckets: Array<[number, number]> = []
    for (const [microseconds, count] of this.#counts.entries()) {
      if (count === 0) continue
      const bound = Math.floor(1.1 ** (Math.floor(Math.log(microseconds + 1) / Math.log(1.1)) + 1))
      const last = buckets.at(-1)
      if (last?.[0] === bound) last[1] += count
      else buckets.push([bound, count])
    }
    return buckets
  }

  /** 0 if there are none; the maximum where the quantile is beyond what is counted apart. */
  quantileMs(share: number): number {
    let left = Math.ceil(this.total * share)
    if (left === 0) return 0
    let microseconds = -1
    while (left > 0) left -= this.#counts[++microseconds]!
    return microseconds === longestMicroseconds ? this.maxMs : microseconds / 1_000
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
