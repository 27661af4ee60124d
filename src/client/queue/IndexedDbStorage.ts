import { eventsMax, type QueueStorage, queueFull } from "./QueueStorage.ts"

/** Keeps the events of all tabs of an origin in one IndexedDB database. Browsers only. */
export const indexedDbStorage = (name: string): QueueStorage => {
  let opened: Promise<IDBDatabase> | undefined

  const open = () =>
    new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open(`laurel-queue:${name}`, 1)
      request.onupgradeneeded = () => {
        request.result.createObjectStore("events", { autoIncrement: true, keyPath: "key" })
      }
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })

  /**
   * Resolves with the result of `work` when the transaction is durable. After a failure, reopens
   * the database.
   */
  const transact = async (
    // biome-ignore lint/suspicious/noExplicitAny: the results of a request are
    work: (store: IDBObjectStore) => IDBRequest<any> | undefined,
  ) => {
    try {
      opened ??= open()
      const transaction = (await opened).transaction("events", "readwrite", {
        durability: "strict",
      })
      // biome-ignore lint/suspicious/noExplicitAny: as above
      return await new Promise<any>((resolve, reject) => {
        const request = work(transaction.objectStore("events"))
        transaction.oncomplete = () => resolve(request?.result)
        // `add` aborts a transaction without an error when the queue is full.
        transaction.onabort = () => reject(transaction.error ?? queueFull())
      })
    } catch (error) {
      opened = undefined
      throw error
    }
  }

  return {
    add: (event) =>
      transact((store) => {
        const count = store.count()
        count.onsuccess = () => {
          if (count.result < eventsMax) store.add({ event })
          else store.transaction.abort()
        }
        return count
      }),
    first: (count) => transact((store) => store.getAll(null, count)),
    remove: (keys) =>
      transact((store) => {
        for (const key of keys) store.delete(key)
        return undefined
      }),
  }
}
