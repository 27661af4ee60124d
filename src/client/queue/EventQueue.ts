/**
 * A queue that keeps events until the server has them.
 *
 * Invariant: each stored event counts exactly once. An event gets its id before it is stored, is
 * sent until the server replies, and is removed only then. After a crash between the reply and the
 * removal the queue sends the event again, and the server answers it as a duplicate.
 *
 * The queue sends events in the order of `add`, in batches. One tab of an origin sends at a time,
 * under a lock of the browser (Web Locks). Without such locks two tabs may send the same event,
 * which the ids make harmless. A failure of the network or of a removal leaves the events stored.
 */
import type { BatchRefusal, BatchSummary, Event } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import type { LaurelError } from "../LaurelError.ts"
import { uniqueId } from "../uniqueId.ts"
import type { QueuedEvent, QueueStorage } from "./QueueStorage.ts"

/** Options of `createQueue`. */
export interface QueueOptions {
  /** The client that sends the events. */
  readonly laurel: { readonly events: Pick<Laurel["events"], "track" | "trackBatch"> }
  /**
   * Queues of the same name share their events. Default: `laurel`. With user tokens, use one name
   * per user.
   */
  readonly name?: string
  /**
   * Set it if the key of the client is a user token. A token may send neither batches nor times, so
   * the queue sends events one by one, and each counts at the time it arrives. Otherwise a delayed
   * event counts at the time of `add`. Default: false.
   */
  readonly userToken?: boolean
  /**
   * Called for each event that the server refused for good, which the queue has removed.
   * `refusal.code` says why.
   */
  readonly onRefused?: (event: QueuedEvent, refusal: BatchRefusal | LaurelError) => void
  /**
   * Called when the queue could not send, with the error of the client or the storage. The queue
   * tries again.
   */
  readonly onError?: (error: unknown) => void
}

/** A queue that `createQueue` started. */
export interface EventQueue {
  /**
   * Stores the event and resolves with its id: `event.id`, or a new one. Rejects with the error of
   * the storage if the event could not be stored; a `QuotaExceededError` means no space, or 10,000
   * events in the queue.
   *
   * ```ts
   * const id = await queue.add({ userId: "ada", action: "LESSON_DONE" })
   * ```
   */
  add(event: Event): Promise<string>
  /**
   * Sends all stored events now and resolves when none is left. Rejects with the first error; the
   * events stay and the queue tries again. The queue also sends by itself.
   *
   * ```ts
   * await queue.flush().catch(() => showOffline())
   * ```
   */
  flush(): Promise<void>
  /** Stops sending. Stored events stay for the next queue of this name. */
  close(): void
}

const batchMax = 100
/**
 * An event younger than this is sent without its time: a wrong clock of the device then does no
 * harm.
 */
const promptMs = 5_000
const minimal = { headers: { prefer: "return=minimal" } }
const firstDelayMs = 1_000
const longestDelayMs = 60_000

/**
 * Codes that a repeat would get again. All other codes concern the key, the address or the network:
 * events stay.
 */
const final = /^(invalid_r|body_t|batch_t|quest_|balance_)/
const finalForTokens = "insufficient_scope"

/** On a server the global object has no events. */
const page = globalThis as object as Partial<EventTarget>

const untimed = (event: QueuedEvent): QueuedEvent => ({ ...event, occurredAt: undefined! })

/**
 * Sends a batch, or with a user token one event. Returns true if the server refused the whole batch
 * for one event.
 */
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
  // The server's storage failed at an event, so its outcome is unknown: the whole batch is sent
  // again.
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

  /** Sends events, oldest first; removes those that the server accepted or refused for good. */
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
      // An event that JSON cannot hold fails here, not when it is sent.
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
