import { eventsMax, type QueueEntry, type QueueStorage, queueFull } from "./QueueStorage.ts"

/** Texts by name, such as `localStorage` or React Native's `AsyncStorage`. One program at a time may use a name. */
export interface TextItems {
  getItem(name: string): string | null | Promise<string | null>
  setItem(name: string, text: string): unknown
}

type Entries = ReadonlyArray<QueueEntry>

/** Keeps the events in one text. A damaged text is moved to the name with `.damaged`, and the queue begins empty. */
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

  /** One at a time, since reading and writing are two steps. */
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
