/**
 * The groups of users in an environment: one `Grouping` for each attribute by which boards group.
 *
 * A user's group is the attribute as text. It follows the durable state of the user. A closed window keeps the groups that
 * users had when it closed: in memory, `GroupOrder` notes the former group of each user who moves.
 * During recovery, a state that was stored after a window's close may have a later attribute. So the record that
 * changes an attribute names the group before, and recovery puts it back into the windows that closed
 * before that record (`passOver`).
 */
import { Grouping, type GroupWatcher } from "../../domain/board/Grouping.ts"
import type { Leaderboard } from "../../domain/board/Leaderboard.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { groupOf } from "../../domain/user/Group.ts"
import type { UserState } from "../../domain/user/User.ts"

/** The boards of a definition. */
interface GroupedBoards {
  readonly hasFrozen: boolean
  readonly frozenBoards: () => Iterable<{ readonly board: Leaderboard }>
  readonly openBoards: () => Iterable<Leaderboard>
}

/** Follows the groups of members on all boards of a definition. */
export const watcherOf = (set: GroupedBoards): GroupWatcher => {
  const wasIn = (member: number, group: number): void => {
    for (const { board } of set.frozenBoards()) board.groups?.keep(member, group)
  }
  return {
    get keeps(): boolean {
      return set.hasFrozen
    },
    wasIn,
    leavesGroup: (member, group) => {
      wasIn(member, group)
      for (const board of set.openBoards()) board.groups?.leave(member)
    },
    joinsGroup: (member) => {
      for (const board of set.openBoards()) board.groups?.join(member)
    },
  }
}

export class Groupings {
  readonly #groupings = new Map<string, Grouping>()

  /** The groups by an attribute; made if there are none. */
  of(attribute: string): Grouping {
    let grouping = this.#groupings.get(attribute)
    if (grouping === undefined) {
      grouping = new Grouping()
      this.#groupings.set(attribute, grouping)
    }
    return grouping
  }

  /** Drops the groups that no board has any more. */
  prune(): void {
    for (const [attribute, { watchers }] of this.#groupings) {
      if (watchers.size === 0) this.#groupings.delete(attribute)
    }
  }

  /** Follows the attributes of the durable state. */
  follow(member: number | undefined, user: UserState): void {
    if (member === undefined) return
    for (const [attribute, grouping] of this.#groupings) {
      grouping.assign(member, groupOf(user.profile, attribute))
    }
  }

  /** The member has left all boards for good. */
  forget(member: number): void {
    for (const grouping of this.#groupings.values()) grouping.assign(member, null)
  }

  /** Recovery passes a record that the member's stored state already includes. */
  passOver(member: number | undefined, { facts }: JournalRecord): void {
    if (member === undefined) return
    for (const fact of facts) {
      if (fact.kind !== "user.updated") continue
      for (const [attribute, before] of Object.entries(fact.groups ?? {})) {
        this.#groupings.get(attribute)?.keep(member, before)
      }
    }
  }
}
