import type { Event } from "../generated/types.ts"

/** An event with its id, which makes every further copy of it a duplicate. */
export interface QueuedEvent extends Event {
  readonly id: string
}

/** A stored event; keys increase. */
export interface QueueEntry {
  readonly key: number
  readonly event: QueuedEvent
}

/** Where a queue keeps its events until the server has them. */
export interface QueueStorage {
  /** Resolves once the event is stored. */
  add(event: QueuedEvent): Promise<unknown>
  /** The oldest entries, at most `count`. */
  first(count: number): Promise<ReadonlyArray<QueueEntry>>
  remove(keys: ReadonlyArray<number>): Promise<unknown>
}

/** The most events that a queue keeps. */
export const eventsMax = 10_000

/** As a browser calls it where its storage has no room. */
export const queueFull = (): Error =>
  Object.assign(new Error("Queue full"), { name: "QuotaExceededError" })
