/**
 * Keeps data of the server up to date, for the elements and for React.
 *
 * A watch reads at once, then every `refreshSeconds` while the page is visible (0: never), and if it
 * is `live` also when its stream opens and at each message. Reads never overlap. Live watches of one
 * client and one user share a stream.
 */
import type { Laurel } from "./Laurel.ts"
import type { LaurelError } from "./LaurelError.ts"
import { pause } from "./limit.ts"
import type { StreamState } from "./stream.ts"

export interface WatchOptions<Data> {
  readonly read: (laurel: Laurel, signal: AbortSignal) => Promise<Data>
  readonly refreshSeconds: number
  readonly live: boolean
  /** The user whose messages a live watch follows. Default: all messages. */
  readonly user?: string | null | undefined
  readonly onData: (data: Data) => void
  readonly onError: (error: unknown) => void
}

export interface Watch {
  /** Reads now. Resolves when done; a failure calls `onError` and does not reject. */
  readonly refresh: () => Promise<void>
  /** After the end neither `onData` nor `onError` is called. */
  readonly end: () => void
}

/** React Native has no document. */
const page = globalThis as { readonly document?: { readonly hidden: boolean } }

export const watch = <Data>(
  laurel: Laurel,
  { live, onData, onError, read, refreshSeconds, user }: WatchOptions<Data>,
): Watch => {
  const leaving = new AbortController()
  const { signal } = leaving
  let running: Promise<void> | undefined
  let again = false

  const run = async () => {
    // Several calls in one turn cause one read.
    await null
    while (again && !signal.aborted) {
      again = false
      try {
        const data = await read(laurel, signal)
        if (!signal.aborted) onData(data)
      } catch (error) {
        if (!signal.aborted) onError(error)
      }
    }
    running = undefined
  }

  const refresh = () => {
    again = true
    running ??= run()
    return running
  }

  const poll = async () => {
    while (refreshSeconds > 0) {
      await pause(refreshSeconds * 1_000, signal)
      if (signal.aborted) return
      if (!page.document?.hidden) refresh()
    }
  }

  refresh()
  poll()
  if (live) follow(laurel, user ?? "", { onMessage: refresh, onError }, signal)
  return { refresh, end: () => leaving.abort() }
}

interface Listener {
  /** Called when the stream opens, because changes before that send no message, and at messages. */
  readonly onMessage: () => void
  readonly onError: (error: unknown) => void
}

interface Stream {
  readonly listeners: Set<Listener>
  readonly leaving: AbortController
}

/** The stream about each user; under `""` that of all messages. */
const streams = new WeakMap<Laurel, Map<string, Stream>>()

/** Calls the listener until `signal` aborts. The last listener of a stream ends the stream. */
const follow = (laurel: Laurel, user: string, listener: Listener, signal: AbortSignal): void => {
  const ofClient = streams.get(laurel) ?? new Map<string, Stream>()
  streams.set(laurel, ofClient)
  const stream = ofClient.get(user) ?? { listeners: new Set(), leaving: new AbortController() }
  const { leaving, listeners } = stream
  const end = () => {
    leaving.abort()
    if (ofClient.get(user) === stream) ofClient.delete(user)
  }
  listeners.add(listener)
  signal.addEventListener("abort", () => {
    listeners.delete(listener)
    if (listeners.size === 0) end()
  })
  if (ofClient.get(user) === stream) return
  ofClient.set(user, stream)
  run(laurel, user, stream).then(end)
}

/** Resolves when the stream has no listeners, or the server refuses it for good. */
const run = async (laurel: Laurel, user: string, { leaving, listeners }: Stream): Promise<void> => {
  const { signal } = leaving
  const tell = () => {
    for (const { onMessage } of listeners) onMessage()
  }
  const onState = ({ kind }: StreamState) => void (kind === "open" && tell())
  // Several changes in one turn open one stream.
  await null
  while (!signal.aborted) {
    try {
      const query = user ? { userId: user } : {}
      for await (const _ of laurel.stream({ ...query, signal, onState })) tell()
    } catch (error) {
      for (const { onError } of listeners) onError(error)
      // After `gone` the next stream begins now, and its opening causes a read.
      if ((error as LaurelError).code !== "gone") return
    }
  }
}
