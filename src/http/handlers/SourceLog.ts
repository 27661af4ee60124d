/**
 * What sources have received since the server started: counts, and the latest failures of each. It is
 * in memory only, and only of sources that exist, so forged deliveries leave no more than a number.
 */
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"

export interface SourceFailure {
  /** Epoch milliseconds, of the server. */
  readonly at: number
  readonly deliveryId: string | undefined
  readonly event: string | undefined
  readonly mapping: number | undefined
  readonly code: string
  readonly detail: string
}

export interface Receipts {
  deliveries: number
  events: number
  duplicates: number
  ignored: number
  refused: number
  forged: number
  lastReceivedAt: number | undefined
  /** The oldest first. */
  readonly failures: Array<SourceFailure>
}

const nothing = (): Receipts => ({
  deliveries: 0,
  events: 0,
  duplicates: 0,
  ignored: 0,
  refused: 0,
  forged: 0,
  lastReceivedAt: undefined,
  failures: [],
})

/** Why something became no event: the faults, or else the detail. */
export const reasonOf = ({ detail, errors = [] }: Pick<LaurelError, "detail" | "errors">): string =>
  errors.map((fault) => `${fault.pointer} ${fault.detail}`).join("; ") || detail

export class SourceLog {
  /** Epoch milliseconds. */
  readonly since: number
  /** By the id of the source. */
  readonly #receipts = new Map<string, Receipts>()

  constructor(now: number) {
    this.since = now
  }

  /** The receipts of a source that exists, to read and to count. */
  of(sourceId: string): Receipts {
    let found = this.#receipts.get(sourceId)
    if (found === undefined) {
      found = nothing()
      this.#receipts.set(sourceId, found)
    }
    return found
  }

  failed(sourceId: string, failure: SourceFailure): void {
    const { failures } = this.of(sourceId)
    failures.push({
      ...failure,
      deliveryId: failure.deliveryId?.slice(0, limits.idCharactersMax),
      event: failure.event?.slice(0, limits.sourceEventCharactersMax),
    })
    if (failures.length > limits.sourceFailuresMax) failures.shift()
  }

  /** Forgets an archived source. */
  forget(sourceId: string): void {
    this.#receipts.delete(sourceId)
  }
}
