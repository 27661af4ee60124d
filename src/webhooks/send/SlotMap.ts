/**
 * What is under way, under numbers that are never given twice (`Numbering`). Another thread may keep what belongs to
 * the same numbers (`SlotMap`).
 *
 * Slots that are used again, instead of a map: one that changes all the time leaves a trail of old tables, and through
 * a table that has grown old the garbage collector keeps everything that came after it.
 */
export class SlotMap<A> {
  readonly #slots: Array<{ readonly number: number; readonly value: A } | undefined> = []
  size = 0

  /** Keeps `value` under a number under which there is nothing. */
  set(number: number, value: A): void {
    this.#slots[slotOf(number)] = { number, value }
    this.size++
  }

  /** Lets go of what is under a number; `undefined` where that is nothing any more. */
  take(number: number): A | undefined {
    const slot = slotOf(number)
    const held = this.#slots[slot]
    if (held?.number !== number) return undefined
    this.#slots[slot] = undefined
    this.size--
    return held.value
  }

  /** Lets go of everything. */
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
