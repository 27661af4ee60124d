import { eventsMax, type QueueEntry, type QueueStorage, queueFull } from "./QueueStorage.ts"

/** A store of texts by name, such as `localStorage` or React Native's `AsyncStorage`. */
export interface TextItems {
  getItem(name: string): string | null | Promise<string | null>
  setItem(name: string, text: string): unknown
}

type Entries = ReadonlyArray<QueueEntry>

/**
 * Creates a storage that keeps all events of a queue in one text under `name`. Only one program at
 * a time may use a name: two would overwrite the events of each other. If the text is damaged, the
 * storage moves it to `<name>.damaged` and starts empty. `add` rejects with a `QuotaExceededError`
 * when the queue has 10,000 events, and each method with the errors of `items`.
 *
 * ```ts
 * import AsyncStorage from "@react-native-async-storage/async-storage"
 *
 * const queue = createQueue({ laurel, storage: textStorage(AsyncStorage) })
 * ```
 */
export const textStorage = (items: TextItems, name = "laurel-queue"): QueueStorage => {
  let last: Promise<unknown> = Promise.resolve()

  const read = async (): Promise<Entries> => {
    const text = (await items.getItem(name)) ?? "[]"
    try {
      return JSON.parse(text).map(({ event, key }: QueueEntry) => ({ event, key }))
    } catch {
      await items.setItem(`${name}.damaged`, text)
      return []
    }
  }

  /** Runs one `work` at a time, since reading and writing are two steps. */
  const inTurn = <T>(work: (entries: Entries) => T): Promise<Awaited<T>> => {
    const turn = last.then(async () => work(await read()))
    last = turn.catch(() => {})
    return turn as Promise<Awaited<T>>
  }
  const write = (entries: Entries) => items.setItem(name, JSON.stringify(entries))

  return {
    add: (event) =>
      inTurn((entries) => {
        if (entries.length >= eventsMax) throw queueFull()
        return write([...entries, { event, key: (entries.at(-1)?.key ?? 0) + 1 }])
      }),
    first: (count) => inTurn((entries) => entries.slice(0, count)),
    remove: (keys) => inTurn((entries) => write(entries.filter(({ key }) => !keys.includes(key)))),
  }
}
