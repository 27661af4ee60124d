/**
 * Makes any storage fail on demand: a test holds the `Faults`, the layer wraps the given `Storage`.
 * Without faults the wrapped storage behaves as before.
 */
import { Deferred, Effect, Layer, Stream } from "effect"
import {
  Broken,
  type Fenced,
  Storage,
  type StorageError,
  Unavailable,
} from "../../src/storage/Storage.ts"

export type Verb = Exclude<keyof Storage["Service"], "lastSequence" | "firstSequence" | "segments">

/** `before` leaves nothing done; `after` does the work and loses the answer. */
export interface Failure {
  readonly error: "Unavailable" | "Broken"
  readonly when?: "before" | "after"
  /** How many calls fail; one by default. */
  readonly times?: number
}

/** A held call: `reached` once the call arrives; `release` lets it continue. */
export interface Hold {
  readonly reached: Effect.Effect<void>
  readonly release: Effect.Effect<void>
}

interface Planned {
  readonly verb: Verb
  readonly before?: Effect.Effect<void, StorageError>
  readonly after?: Effect.Effect<void, StorageError>
}

export class Faults {
  readonly #planned: Array<Planned> = []
  readonly #calls = new Map<Verb, number>()

  /** The calls of a verb so far. */
  calls(verb: Verb): number {
    return this.#calls.get(verb) ?? 0
  }

  /** Fails the next calls of a verb, after those already planned. A reading verb only knows `Broken`. */
  fail(verb: Verb, failure: Failure): void {
    const error = Effect.suspend(() =>
      Effect.fail(
        failure.error === "Unavailable"
          ? new Unavailable({ operation: verb, reason: "disk_full" })
          : new Broken({ operation: verb, cause: new Error("a fault of the test") }),
      ),
    )
    for (let times = failure.times ?? 1; times > 0; times--) {
      this.#planned.push(
        failure.when === "after" ? { verb, after: error } : { verb, before: error },
      )
    }
  }

  /** Holds the next call of a verb until its release. */
  hold(verb: Verb): Hold {
    const reached = Deferred.makeUnsafe<void>()
    const released = Deferred.makeUnsafe<void>()
    const before = Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(released))
    this.#planned.push({ verb, before })
    return {
      reached: Deferred.await(reached),
      release: Effect.asVoid(Deferred.succeed(released, undefined)),
    }
  }

  /** Delays the next call of a verb by the clock, which a test may hold. */
  delay(verb: Verb, delayMs: number): void {
    this.#planned.push({ verb, before: Effect.sleep(delayMs) })
  }

  /** Cancels the pending faults. */
  clear(): void {
    this.#planned.length = 0
  }

  /** The fault for this call of a verb. */
  take(verb: Verb): Planned | undefined {
    this.#calls.set(verb, this.calls(verb) + 1)
    const index = this.#planned.findIndex((planned) => planned.verb === verb)
    return index < 0 ? undefined : this.#planned.splice(index, 1)[0]
  }
}

/** Never reached: `Faults` gives reading verbs `Broken` only, unless a test asks for the impossible. */
const onlyBroken = <A>(effect: Effect.Effect<A, StorageError>): Effect.Effect<A, Broken> =>
  Effect.catchTag(effect, "Unavailable", (error) => Effect.die(error))

export const make = (storage: Storage["Service"], faults: Faults): Storage["Service"] => {
  const guarded = <A, E extends StorageError | Fenced>(
    verb: Verb,
    call: Effect.Effect<A, E>,
  ): Effect.Effect<A, E | StorageError> =>
    Effect.suspend(() => {
      const fault = faults.take(verb)
      if (fault === undefined) return call
      const struck = Effect.andThen(fault.before ?? Effect.void, call)
      return Effect.tap(struck, () => fault.after ?? Effect.void)
    })
  const streamed = <A, E>(verb: Verb, stream: Stream.Stream<A, E>): Stream.Stream<A, E | Broken> =>
    Stream.unwrap(Effect.as(onlyBroken(guarded(verb, Effect.void)), stream))
  return Storage.of({
    lastSequence: storage.lastSequence,
    firstSequence: storage.firstSequence,
    segments: storage.segments,
    append: (batch) => guarded("append", storage.append(batch)),
    readRecords: (sequence) => streamed("readRecords", storage.readRecords(sequence)),
    readRecord: (sequence) => onlyBroken(guarded("readRecord", storage.readRecord(sequence))),
    writeEntries: (entries) => guarded("writeEntries", storage.writeEntries(entries)),
    readEntry: (table, key) => {
      const read = Effect.suspend(() => storage.readEntry(table, key))
      return onlyBroken(guarded("readEntry", read))
    },
    readEntries: (range) => streamed("readEntries", storage.readEntries(range)),
    readBlocks: (range) => streamed("readBlocks", storage.readBlocks(range)),
    eraseRecords: (sequences) => guarded("eraseRecords", storage.eraseRecords(sequences)),
    prune: (...bounds) => guarded("prune", storage.prune(...bounds)),
  })
}

/** Wraps the storage that is provided to it. */
export const layer = (faults: Faults): Layer.Layer<Storage, never, Storage> =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (storage) => make(storage, faults)),
  )
