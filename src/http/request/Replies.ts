/**
 * Sends the replies that are ready in one turn of the event loop together, at its end. To send wakes a peer that waits,
 * which costs about as much as the rest of the system call; of replies sent close together, the first wakes the peer
 * and the others find it awake.
 *
 * A reply waits for at most `repliesTogetherMax - 1` others, and for no large body: the caller of `send` gives way before
 * it begins on one. Refusals of the parser, which end a socket, go behind the replies that are due on it the same way.
 */
import type { ServerResponse } from "node:http"
import { limits } from "../../Limits.ts"
import { eventLoop, type Turns } from "../Turns.ts"

export class Replies {
  readonly #turns: Turns
  #ready: Array<{ readonly response: ServerResponse; readonly body: string | Buffer }> = []
  #awaitsEnd = false

  constructor(turns: Turns = eventLoop) {
    this.#turns = turns
  }

  /** How many are ready. */
  get size(): number {
    return this.#ready.length
  }

  /**
   * Sends at the end of this turn. Called for each request as it arrives, before admission asks for the same end, so that
   * the turn that admission measures has the sending.
   */
  awaitEnd(): void {
    if (this.#awaitsEnd) return
    this.#awaitsEnd = true
    this.#turns.atEnd(this.#endTurn)
  }

  /** The body of a reply whose head is written. */
  add(response: ServerResponse, body: string | Buffer): void {
    this.awaitEnd()
    this.#ready.push({ response, body })
    if (this.#ready.length >= limits.repliesTogetherMax) this.send()
  }

  /** Sends what is ready. */
  send(): void {
    if (this.#ready.length === 0) return
    const ready = this.#ready
    this.#ready = []
    for (const { body, response } of ready) if (!response.destroyed) response.end(body)
  }

  readonly #endTurn = (): void => {
    this.#awaitsEnd = false
    this.send()
  }
}

/** Those of all servers of this process. */
export const replies = new Replies()
