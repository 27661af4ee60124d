/**
 * A queue of events that counts each once, whatever happens between: an event gets its id before it is stored, is sent
 * until the server replied, and is removed then. A crash between reply and removal sends it again, as a duplicate.
 *
 * Events leave in the order of `add`, in batches. One tab of an origin sends at a time, under a lock of the browser; without
 * locks the ids make a second copy harmless. Storage and network may fail at any moment: what is stored stays stored.
 */
import type { BatchSummary, Event, EventRefusal } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import type { LaurelError } from "../LaurelError.ts"
import { uniqueId } from "../uniqueId.ts"
import type { QueuedEvent, QueueStorage } from "./QueueStorage.ts"

export interface QueueOptions {
  readonly laurel: { readonly events: Pick<Laurel["events"], "track" | "trackBatch"> }
  /** Queues of the same name share their events. Default: `laurel`. With user tokens: a name for each user. */
  readonly name?: string
  /**
   * Whether the key of the client is a user token: events are sent one by one and count when they arrive, since a token may
   * send neither batches nor times. Otherwise an event that had to wait counts at the time of `add`.
   */
  readonly userToken?: boolean
  /** An event that the server refused for good, and why. It is no longer in the queue. */
  readonly onRefused?: (event: QueuedEvent, refusal: EventRefusal | LaurelError) => void
  /** Sending failed; the queue tries again. */
  readonly onError?: (error: unknown) => void
}

export interface EventQueue {
  /** Resolves with the event's id once it is stored; rejects with the error of the storage where it is not. */
  add(event: Event): Promise<string>
  /** Sends what is stored now; rejects where that fails. The queue also does so by itself. */
  flush(): Promise<void>
  /** Sends no more. */
  close(): void
}

const batchMax = 100
/** An event sent as soon as this needs no time: the clock of its device may be wrong, and the server refuses the future. */
const promptMs = 5_000
const minimal = { headers: { prefer: "return=minimal" } }
const firstDelayMs = 1_000
const longestDelayMs = 60_000

/** Refusals of a request that no repeat changes. Others are faults of key, address or network, and the events stay. */
const final = /^(invalid_r|body_t|batch_t|quest_|balance_)/
const finalForTokens = "insufficient_scope"

/** Servers have no such events. */
const page = globalThis as object as Partial<EventTarget>

const untimed = (event: QueuedEvent): QueuedEvent => ({ ...event, occurredAt: undefined! })

/** Sends a batch, or one event with a user token. Returns true where one event spoils the batch. */
const send = async (
  events: ReadonlyArray<QueuedEvent>,
  { laurel, onRefused, userToken }: QueueOptions,
) => {
  let refusals: BatchSummary["refusals"] = []
  try {
    if (userToken) await laurel.events.track(events[0]!)
    else ({ refusals } = (await laurel.events.trackBatch({ events }, minimal)) as BatchSummary)
  } catch (error) {
    const { code } = error as LaurelError
    if (!final.test(code) && !(userToken && code === finalForTokens)) throw error
    if (events.length > 1) return true
    onRefused?.(events[0]!, error as LaurelError)
  }
  // The storage failed at some event, so its outcome is unknown: all are sent again.
  const unknown = refusals.find(({ status }) => status > 500)
  if (unknown) throw unknown
  for (const refusal of refusals) onRefused?.(events[refusal.index]!, refusal)
}

export const makeQueue = (
  storage: QueueStorage,
  options: QueueOptions & { readonly name: string },
): EventQueue => {
  const { name, onError, userToken } = options
  let running: Promise<void> | undefined
  let again = false
  let closed = false
  let delayMs = firstDelayMs
  let timer: ReturnType<typeof setTimeout> | undefined

  /** Sends the oldest events, and removes those that the server has taken or refused for good. */
  const sendAll = async () => {
    let size = userToken ? 1 : batchMax
    while (!closed) {
      const entries = await storage.first(size)
      const late = Date.now() - promptMs
      const events = entries.map(({ event }) =>
        userToken || Date.parse(event?.occurredAt as string) > late ? untimed(event) : event,
      )
      if (events.length === 0) return
      if (await send(events, options)) size = 1
      else {
        await storage.remove(entries.map(({ key }) => key))
        delayMs = firstDelayMs
      }
    }
  }

  const run = async () => {
    clearTimeout(timer)
    try {
      do {
        again = false
        await (globalThis.navigator?.locks?.request(`laurel-queue:${name}`, sendAll) ?? sendAll())
      } while (again)
    } catch (error) {
      const askedMs = 1_000 * ((error as LaurelError).retryAfterSeconds ?? 0)
      if (!closed) timer = setTimeout(wake, Math.max(askedMs, delayMs))
      delayMs = Math.min(2 * delayMs, longestDelayMs)
      throw error
    } finally {
      running = undefined
    }
  }

  const flush = () => {
    again = true
    running ??= run()
    return running
  }
  const wake = () => {
    flush().catch((error) => onError?.(error))
  }

  page.addEventListener?.("online", wake)
  wake()
  return {
    async add(event) {
      const id = event.id ?? uniqueId()
      // A value that is no JSON fails here, not when it is sent.
      await storage.add(
        JSON.parse(JSON.stringify({ occurredAt: new Date().toISOString(), ...event, id })),
      )
      wake()
      return id
    },
    flush,
    close() {
      closed = true
      clearTimeout(timer)
      page.removeEventListener?.("online", wake)
    },
  }
}
