/** The turns of the event loop in which a snapshot is prepared, each of `snapshotTurnMs`. */
import type { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import { nextTurn } from "../../storage/yieldToEventLoop.ts"

/** A look at the clock costs a tenth of an entry. */
const looksApart = 16

export class SnapshotTurns {
  #endsAt = 0
  #asked = 0

  /** A turn began. */
  begin(): void {
    markTurn("snapshot")
    this.#endsAt = performance.now() + limits.snapshotTurnMs
  }

  /** Whether the turn has taken its time; to be asked for each entry. */
  get isOver(): boolean {
    return ++this.#asked % looksApart === 0 && performance.now() >= this.#endsAt
  }

  /** Lets the event loop serve others, and begins the next turn. */
  readonly next: Effect.Effect<void> = nextTurn(() => this.begin())
}
