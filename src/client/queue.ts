import { type EventQueue, makeQueue, type QueueOptions } from "./queue/EventQueue.ts"
import { indexedDbStorage } from "./queue/IndexedDbStorage.ts"
import type { QueueStorage } from "./queue/QueueStorage.ts"

export type { EventQueue, QueueOptions } from "./queue/EventQueue.ts"
export type { QueuedEvent, QueueEntry, QueueStorage } from "./queue/QueueStorage.ts"

/** A queue of events in `storage`; in browsers IndexedDB by default. */
export const createQueue = ({
  name = "laurel",
  storage = indexedDbStorage(name),
  ...options
}: QueueOptions & { readonly storage?: QueueStorage }): EventQueue =>
  makeQueue(storage, { ...options, name })
