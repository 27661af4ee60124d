/**
 * The groups of users in an environment: one `Grouping` for each attribute by which boards group.
 *
 * A user's group is the attribute as text. It follows the durable state of the user. A closed window keeps the groups that
 * users had when it closed: in memory, `GroupOrder` notes the former group of each user who moves.
 * A state is stored only when all windows that closed before its last record are stored (`snapshot/UserPart.ts`), so
 * recovery freezes no window with a later group.
 */
import { Grouping, type GroupWatcher } from "../../domain/board/Grouping.ts"
import type { Leaderboard } from "../../domain/board/Leaderboard.ts"
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
  return {
    get keeps(): boolean {
      return set.hasFrozen
    },
    leavesGroup: (member, group) => {
      for (const { board } of set.frozenBoards()) board.groups?.keep(member, group)
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
}
