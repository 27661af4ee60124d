/**
 * How many events an environment has had of each action, and when the last one was received: folded from durable records
 * like the other counts (`Counts.ts`), one look-up in a map for an event. An undo or the erasure of a user changes
 * nothing here: the events were seen.
 *
 * The first actions keep a place each, up to `actionsCountedMax`. Those that no definition named when they were
 * first seen take at most `actionsUnmatchedMax` of the places: no number of random actions takes the room of defined ones. Events of
 * actions without a place are counted together.
 */
import { limits } from "../../Limits.ts"

/** Events: their number, and the time of the last one, epoch milliseconds. */
export interface Seen {
  readonly count: number
  readonly lastAt: number
}

export interface EnvironmentActions {
  readonly actions: ReadonlyMap<string, Seen>
  /** All actions without a place, together; a count of 0 if there are none. */
  readonly others: Seen
}

interface Counted {
  count: number
  lastAt: number
  /** Whether a definition named the action when it was first seen. */
  readonly matched: boolean
}

export type StoredActions = ReadonlyArray<
  readonly [action: string, count: number, lastAt: number, matched: 0 | 1]
>

export type StoredOthers = readonly [count: number, lastAt: number]

export class ActionCounts {
  readonly #byAction = new Map<string, Counted>()
  readonly #others: Counted = { count: 0, lastAt: 0, matched: false }
  /** Places of actions that no definition named. */
  #unmatched = 0

  /** Counts an event that was received at `at`. */
  add(action: string, at: number, matched: boolean): void {
    const counted = this.#byAction.get(action) ?? this.#admit(action, matched)
    counted.count++
    counted.lastAt = at
  }

  #admit(action: string, matched: boolean): Counted {
    const isFull = this.#byAction.size >= limits.actionsCountedMax
    if (isFull || (!matched && this.#unmatched >= limits.actionsUnmatchedMax)) return this.#others
    return this.#set(action, { count: 0, lastAt: 0, matched })
  }

  #set(action: string, counted: Counted): Counted {
    if (!counted.matched) this.#unmatched++
    this.#byAction.set(action, counted)
    return counted
  }

  /** As of this moment, for others to keep. */
  copy(): EnvironmentActions {
    const actions = new Map<string, Seen>()
    for (const [action, { count, lastAt }] of this.#byAction) actions.set(action, { count, lastAt })
    const { count, lastAt } = this.#others
    return { actions, others: { count, lastAt } }
  }

  load(actions: StoredActions, [count, lastAt]: StoredOthers): void {
    for (const [action, count, lastAt, matched] of actions) {
      this.#set(action, { count, lastAt, matched: matched === 1 })
    }
    this.#others.count = count
    this.#others.lastAt = lastAt
  }

  /** Members for the snapshot; none while no event was counted. */
  stored(): { readonly actions?: StoredActions; readonly others?: StoredOthers } {
    const { count, lastAt } = this.#others
    if (this.#byAction.size === 0) return {}
    const actions: StoredActions = Array.from(
      this.#byAction,
      ([action, { count, lastAt, matched }]) => [action, count, lastAt, matched ? 1 : 0],
    )
    return count === 0 ? { actions } : { actions, others: [count, lastAt] }
  }
}
