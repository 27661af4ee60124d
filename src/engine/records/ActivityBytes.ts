/**
 * The bytes of a user's active days (`UserCodec.ts`): the last word, the days from `firstDay` to the
 * end of this word, how many words there are, and the words, oldest first.
 */
import { type ActiveDays, activeWordsMax, wordDays } from "../../domain/user/ActiveDays.ts"
import { bad, type Reader, writeNumber } from "./StateBytes.ts"

export const writeActivity = ({ firstDay, lastWord, words }: ActiveDays): void => {
  writeNumber(lastWord)
  writeNumber((lastWord + 1) * wordDays - firstDay)
  writeNumber(words.length)
  for (const bits of words) writeNumber(bits)
}

/** The active days of one state after the other, without an object for each. */
export class DaysRead {
  firstDay = 0
  lastWord = 0
  count = 0
  /** As many as `count` says. */
  readonly words = new Int32Array(activeWordsMax)

  /** Throws `BadState` for bytes that `writeActivity` does not write. */
  read(reader: Reader): void {
    this.lastWord = reader.number()
    this.firstDay = (this.lastWord + 1) * wordDays - reader.number()
    this.count = reader.count()
    if (this.count > activeWordsMax) throw bad("it has too many active days")
    for (let place = 0; place < this.count; place++) {
      const bits = reader.number()
      if ((bits | 0) !== bits || bits >>> wordDays !== 0)
        throw bad("a word of active days is too long")
      this.words[place] = bits
    }
    if (!this.#isInOrder()) throw bad("the active days are out of order")
  }

  #isInOrder(): boolean {
    const { count, firstDay, lastWord, words } = this
    if ((lastWord | 0) !== lastWord || (firstDay | 0) !== firstDay) return false
    if (count === 0 || words[0] === 0 || words[count - 1] === 0) return false
    const lowest = 31 - Math.clz32(words[0]! & -words[0]!)
    return firstDay <= (lastWord - count + 1) * wordDays + lowest
  }
}

const read = new DaysRead()

/** Goes past the active days. */
export const skipActivity = (reader: Reader): void => read.read(reader)

export const readActivity = (reader: Reader): ActiveDays => {
  read.read(reader)
  const { count, firstDay, lastWord } = read
  // A loop is several times as fast as a copy of a part of the typed array.
  const words: Array<number> = []
  for (let place = 0; place < count; place++) words.push(read.words[place]!)
  return { firstDay, lastWord, words }
}
