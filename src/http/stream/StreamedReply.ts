/**
 * Replies that are sent in pieces as fast as the client reads: large replies, which are never whole
 * in memory, and endless ones. The next piece is pulled when the socket has taken the last one. If
 * the client disconnects, the stream ends; if the client reads nothing for `streamStallMs`, the
 * connection is closed. On an error the connection is closed, too, since the head was already sent:
 * the client sees an incomplete body. Such a reply is the last one of its connection.
 */
import type { ServerResponse } from "node:http"
import { Cause, Data, Effect, Stream } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { timeoutOfRunning } from "../../storage/disk/Deadline.ts"
import type { Exchange, HeaderList, RunForRequest } from "../request/Exchange.ts"
import { loggedPath } from "../request/RequestWatch.ts"
import type { StreamPlace } from "./StreamPlaces.ts"

export interface StreamedReply {
  readonly contentType: string
  readonly stream: Stream.Stream<string | Uint8Array, LaurelError>
  /** Further header fields, such as the name of a file. */
  readonly headers?: HeaderList
  /**
   * The place of an endless stream. The stream ends cleanly when the place is lost, when the caller
   * closes its side, or when the server shuts down. The place is returned when the reply has ended,
   * or never began.
   */
  readonly place?: StreamPlace
}

class Stalled extends Data.TaggedError("Stalled") {
  override get message(): string {
    return "The client of a streamed reply stalled"
  }
}

export class Streams {
  readonly #run: RunForRequest
  readonly #stallMs: number
  /** Functions that end the open endless replies. */
  readonly #endless = new Set<() => void>()

  constructor(run: RunForRequest, stallMs: number) {
    this.#run = run
    this.#stallMs = stallMs
  }

  /** Ends all endless replies cleanly. */
  endEndless(): void {
    for (const end of this.#endless) end()
  }

  send(exchange: Exchange, status: number, reply: StreamedReply, headers: HeaderList): void {
    const { request, response } = exchange
    const { place } = reply
    exchange.last = true
    let begun = false
    try {
      begun = exchange.begin(status, reply.contentType, [...headers, ...(reply.headers ?? [])])
    } finally {
      if (!begun || request.method === "HEAD") place?.leave()
    }
    if (!begun) return
    if (request.method === "HEAD") {
      response.end()
      return
    }
    const fiber = this.#run(
      Stream.runForEach(reply.stream, (piece) => {
        exchange.bytes += Buffer.byteLength(piece)
        return write(response, piece, this.#stallMs)
      }),
      exchange,
    )
    const interrupt = () => fiber.interruptUnsafe()
    let orderly = false
    const end = () => {
      orderly = true
      interrupt()
    }
    response.once("close", interrupt)
    if (place !== undefined) {
      this.#endless.add(end)
      // Otherwise a client that closed its side would hold the place until the next heartbeat.
      request.socket.once("end", end)
    }
    fiber.addObserver((exit) => {
      this.#endless.delete(end)
      if (place !== undefined) request.socket.off("end", end)
      response.off("close", interrupt)
      place?.leave()
      if (exit._tag === "Success" || (orderly && Cause.hasInterruptsOnly(exit.cause))) {
        this.#finish(response)
        return
      }
      const gone = response.destroyed
      response.destroy()
      if (gone || Cause.hasInterruptsOnly(exit.cause)) return
      const path = loggedPath(exchange.path)
      this.#run(
        Effect.logError("A streamed reply failed", exit.cause).pipe(Effect.annotateLogs({ path })),
        exchange,
      )
    })
    place?.begun(end)
    if (place !== undefined && request.socket.readableEnded) end()
  }

  /** Ends a reply. If the client does not read the rest in time, the connection is closed. */
  #finish(response: ServerResponse): void {
    const cut = setTimeout(() => response.destroy(), this.#stallMs)
    response.once("close", () => clearTimeout(cut))
    response.end()
  }
}

/** Ends when the client has read enough that more can be written. */
const write = (
  response: ServerResponse,
  piece: string | Uint8Array,
  stallMs: number,
): Effect.Effect<void, Stalled> =>
  Effect.suspend(() => {
    // The end of the connection is about to interrupt this effect.
    if (response.destroyed) return Effect.never
    if (piece.length === 0 || response.write(piece)) return Effect.void
    return timeoutOfRunning(drained(response), stallMs, () => Effect.fail(new Stalled()))
  })

const drained = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const done = () => resume(Effect.void)
    if (!response.writableNeedDrain) done()
    response.once("drain", done)
    return Effect.sync(() => response.off("drain", done))
  })
