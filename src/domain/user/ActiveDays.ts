/**
 * The days on which a user was active: an event of the day was accepted and not undone. A day is that
 * of the user's time zone when the event was decided; a later change of zone changes no day.
 *
 * - `words` has the days of the last 17 words of 27 days, up to the latest day that was ever active:
 *   at least the 432 days before that day. A word is a fixed range of days, so a new day shifts
 *   nothing. An earlier day is kept as `firstDay` alone.
 * - A record names the day of its event (`record/EventDay.ts`), so that neither a replay nor an undo needs a
 *   calendar.
 * - An undo needs to know whether another event of the day stands. The state does not count events:
 *   the undo reads the user's records back to the day, or to another event of the day, whichever
 *   comes first (`decide/Activity.ts`).
 *
 * Cost: 5 to 8 bytes for a user with one active day, 75 bytes at most; 27 days take at most 4 bytes.
 * The first event of a day copies the days; a further one copies nothing.
 */

/** How many days a word has: as many as a number of four bytes holds (`StateBytes.ts`). */
export const wordDays = 27
export const activeWordsMax = 17

export interface ActiveDays {
  readonly firstDay: number
  /** The word `w` has the days from `27 w` on; the last of `words` is this one. */
  readonly lastWord: number
  /** Oldest first. Bit n is day n of the word. Neither the first nor the last is 0. */
  readonly words: ReadonlyArray<number>
}

const wordOf = (day: number): number => Math.floor(day / wordDays)

export const lastDayOf = ({ lastWord, words }: ActiveDays): number =>
  lastWord * wordDays + 31 - Math.clz32(words.at(-1)!)

/** Whether the day is active. A day before the words is not, unless it is the first one. */
export const isActiveOn = ({ firstDay, lastWord, words }: ActiveDays, day: number): boolean => {
  const word = wordOf(day)
  const place = words.length - 1 - lastWord + word
  const bits = place < 0 ? 0 : (words[place] ?? 0)
  return day === firstDay || (bits & (1 << (day - word * wordDays))) !== 0
}

/** The days that the words have, oldest first. */
export const daysOf = ({ lastWord, words }: ActiveDays): ReadonlyArray<number> =>
  words.flatMap((bits, place) => {
    const first = (lastWord - words.length + 1 + place) * wordDays
    return Array.from({ length: wordDays }, (_, n) => n)
      .filter((n) => (bits & (1 << n)) !== 0)
      .map((n) => first + n)
  })

/** The words without zeros at either end, at most `activeWordsMax`; `undefined`: no day is left. */
const trimmed = (
  firstDay: number,
  lastWord: number,
  words: ReadonlyArray<number>,
): ActiveDays | undefined => {
  const end = words.findLastIndex((bits) => bits !== 0) + 1
  if (end === 0) return undefined
  const latest = words.slice(Math.max(0, end - activeWordsMax), end)
  const first = latest.findIndex((bits) => bits !== 0)
  return { firstDay, lastWord: lastWord - (words.length - end), words: latest.slice(first) }
}

/** With the day. The order of days does not matter. */
export const withDay = (before: ActiveDays | null, day: number): ActiveDays => {
  const word = wordOf(day)
  const bit = 1 << (day - word * wordDays)
  if (before === null) return { firstDay: day, lastWord: word, words: [bit] }
  const { lastWord, words } = before
  const place = words.length - 1 - lastWord + word
  if (place >= 0 && ((words[place] ?? 0) & bit) !== 0) return before
  const firstDay = Math.min(before.firstDay, day)
  if (word <= lastWord - activeWordsMax) {
    return firstDay === before.firstDay ? before : { ...before, firstDay }
  }
  const earlier = Math.max(0, -place)
  const after = [...new Array<number>(earlier).fill(0), ...words]
  while (after.length <= place) after.push(0)
  after[place + earlier]! |= bit
  return trimmed(firstDay, Math.max(word, lastWord), after)!
}

/** Without the day; `undefined`: no day of the words is left. */
export const withoutDay = (before: ActiveDays, day: number): ActiveDays | undefined => {
  const { firstDay, lastWord, words } = before
  const word = wordOf(day)
  const place = words.length - 1 - lastWord + word
  if (words[place] === undefined) return before
  const after = [...words]
  after[place]! &= ~(1 << (day - word * wordDays))
  return trimmed(firstDay, lastWord, after)
}

/** The days of two users who became one at a merge. */
export const unitedDays = (mine: ActiveDays | null, theirs: ActiveDays): ActiveDays =>
  daysOf(theirs).reduce<ActiveDays>(withDay, withDay(mine, theirs.firstDay))
