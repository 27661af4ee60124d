/**
 * The name table of an environment: names that the states of many users repeat, such as the ids of
 * definitions, keys of streaks and steps, and time zones, each as a small number.
 *
 * Invariants:
 * - A name keeps its number for ever. `names[0]` is no name: the number 0 stands for a name that
 *   stands inline, because the table was full (`stateNamesMax`).
 * - Names are stored in the transaction of the first state that uses them, or before (`unstored`).
 *
 * Names of attributes are not here: callers choose them.
 */
import { limits } from "../../Limits.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Entry } from "../../storage/Storage.ts"
import { encodeValue, jsonOf } from "../../storage/Values.ts"

/** The first part of the keys in the table `meta`; then the environment and the first number. */
export const namesPrefix = "names"

/** The number of a name that stands inline. */
export const inlineName = 0

/** How many names a stored value has. */
const namesInValue = 256

export class Names {
  readonly #numbers = new Map<string, number>()
  readonly #names: Array<string> = [""]
  /** How many names are stored, including that of the number 0. */
  #stored = 1

  get size(): number {
    return this.#names.length
  }

  /** The number of `name`, which gets one if it has none; `inlineName` if the table is full. */
  numberOf(name: string): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    const number = this.#names.length
    if (number > limits.stateNamesMax) return inlineName
    this.#names.push(name)
    this.#numbers.set(name, number)
    return number
  }

  /** The name with this number; `undefined`: there is none. */
  nameOf(number: number): string | undefined {
    return number === inlineName ? undefined : this.#names[number]
  }

  /** Whether states may use names that are not stored. */
  get hasUnstored(): boolean {
    return this.#names.length > this.#stored
  }

  /** The entries of the names that are not stored. They count as stored from now on. */
  unstored(environment: string): ReadonlyArray<Entry> {
    const entries: Array<Entry> = []
    const end = this.#names.length
    const first = Math.floor(this.#stored / namesInValue) * namesInValue
    for (let from = first; from < end; from += namesInValue) {
      const names = this.#names.slice(from, from + namesInValue)
      const key = compositeKey(namesPrefix, environment, from)
      entries.push({ table: "meta", key, value: encodeValue(JSON.stringify(names)) })
    }
    this.#stored = end
    return entries
  }

  /** A transaction with names failed, or may have: all names are written again. */
  failed(): void {
    this.#stored = 1
  }

  /** Loads the body of a stored value, whose first name has the number `from`. */
  load(from: number, body: Uint8Array): void {
    const names: ReadonlyArray<string> = jsonOf(body)
    for (const [index, name] of names.entries()) {
      const number = from + index
      if (number === inlineName) continue
      this.#names[number] = name
      this.#numbers.set(name, number)
    }
    this.#stored = Math.max(this.#stored, from + names.length)
  }
}
