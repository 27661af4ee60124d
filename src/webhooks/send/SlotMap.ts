/**
 * A map of items under way by number. `Numbering` gives the numbers, each once; `SlotMap` holds other data under the same
 * numbers, in another thread.
 *
 * Reused slots instead of a `Map`: one that changes all the time leaves old tables behind, and a table that has reached the
 * old generation keeps everything after it alive.
 */
export class SlotMap<A> {
  readonly #slots: Array<{ readonly number: number; readonly value: A } | undefined> = []
  size = 0

  /** Holds `value` under an unused number. */
  set(number: number, value: A): void {
    this.#slots[slotOf(number)] = { number, value }
    this.size++
  }

  /** Removes and returns the value of a number; `undefined` if it has none any more. */
  take(number: number): A | undefined {
    const slot = slotOf(number)
    const held = this.#slots[slot]
    if (held?.number !== number) return undefined
    this.#slots[slot] = undefined
    this.size--
    return held.value
  }

  /** Removes and returns everything. */
  takeAll(): ReadonlyArray<A> {
    const held = this.#slots.filter((slot) => slot !== undefined)
    for (const { number } of held) this.take(number)
    return held.map(({ value }) => value)
  }
}

/** Gives the numbers, to at most 65,536 at once. */
export class Numbering<A> extends SlotMap<A> {
  readonly #free: Array<number> = []
  #slots = 0
  #given = 0

  /** Keeps `value`; answers its number. */
  add(value: A): number {
    const number = ++this.#given * slotsMax + (this.#free.pop() ?? this.#slots++)
    this.set(number, value)
    return number
  }

  override take(number: number): A | undefined {
    const value = super.take(number)
    if (value !== undefined) this.#free.push(slotOf(number))
    return value
  }
}

const slotsMax = 65_536
const slotOf = (number: number): number => number % slotsMax
