/** Partitions changed actors by key range. */
import { Effect } from "effect"
import type { Subject } from "../../domain/record/Record.ts"
import type { SnapshotTurns } from "./SnapshotTurns.ts"

interface OfSubject {
  readonly subject: Subject
}

/**
 * The items in parts of about `size`, by ranges of their keys in the snapshot: all of a part come before all of the next.
 * So a part is written to few pages of LMDB, and sorting it would save none. A sample sets the ends of the parts. Yields
 * to the event loop now and then.
 */
export const partsByKey = Effect.fnUntraced(function* <A extends OfSubject>(
  items: ReadonlyArray<A>,
  size: number,
  turns: SnapshotTurns,
) {
  const parts = Math.max(1, Math.ceil(items.length / size))
  if (parts === 1) return [items]
  const every = Math.max(1, Math.floor(items.length / (parts * samplesPerPart)))
  const sample: Array<A> = []
  for (let index = 0; index < items.length; index += every) sample.push(items[index]!)
  sample.sort(compare)
  const ends = Array.from(
    { length: parts - 1 },
    (_, part) => sample[Math.floor(((part + 1) * sample.length) / parts)]!,
  )
  const divided: Array<Array<A>> = Array.from({ length: parts }, () => [])
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(item, ends[middle]!) < 0) high = middle
      else low = middle + 1
    }
    divided[low]!.push(item)
    if (turns.isOver) yield* turns.next
  }
  return divided
})

// Not quite the order of keys: code points beyond U+FFFF come before U+E000. Here that does not matter.
const compare = ({ subject: one }: OfSubject, { subject: other }: OfSubject): number => {
  if (one.actor !== "user" || other.actor !== "user") return compareTexts(one.actor, other.actor)
  return compareTexts(one.environment, other.environment) || compareTexts(one.userId, other.userId)
}

const samplesPerPart = 16

const compareTexts = (one: string, other: string): number =>
  one === other ? 0 : one < other ? -1 : 1
