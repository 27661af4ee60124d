/**
 * The agenda of an environment: when a user is due for a change without an event, as when a streak
 * breaks or a quest ends. So the passing of time costs a look at the users who are due, not at all
 * users every day.
 *
 * Invariants:
 * - A member's due time is a second of epoch time. It is `never` if only an edit of definitions can
 *   make the user due, as with a quest without an end, and 0 if nothing can. `recheck` looks again
 *   at all members whose due time is not 0.
 * - A member with a due time is listed under one second that is not later (`#homes`). Listings
 *   under other seconds do not count.
 * - When the due time moves later, as activity does, the listing stays: when its second comes, the
 *   member is listed again. When the due time moves earlier, the member is listed there, and the
 *   old listing no longer counts. So a member has one listing, and one more for each time that the
 *   due time moved earlier.
 *
 * Cost: 8 bytes a member, and 4 for its listing. A change costs two reads and two writes in arrays.
 */
import { MemberTable } from "../../domain/board/Members.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { isInLeagues } from "../../domain/user/LeagueReminder.ts"
import { dueAt } from "../../domain/user/Progress.ts"
import type { UserState } from "../../domain/user/User.ts"
import { isMidway, recountedMetric } from "../../domain/user/User.ts"
import { limits } from "../../Limits.ts"

/** The due second of a user whom only an edit of definitions can make due. */
export const never = 0xffff_ffff

/**
 * The second from which on a tick would change `user`, which may be past, or now if a metric must be
 * recounted. A tick goes on with a merge or an erasure that was cut off. `never` or 0 as in `Agenda`.
 */
export const dueSecond = (user: UserState, project: ProjectState, now: number): number => {
  const at = changesAt(user, project, now)
  if (at === Number.POSITIVE_INFINITY) return mayComeDue(user) ? never : 0
  // A user who is due now is due at the begin of this second: rounded up, it would move again each
  // time.
  const second = at <= now ? Math.floor(at / 1_000) : Math.ceil(at / 1_000)
  return Math.min(never - 1, Math.max(1, second))
}

const changesAt = (user: UserState, project: ProjectState, now: number): number => {
  const { erasing, leadsTo, updatedAt } = user
  if (erasing > 0) return updatedAt + limits.mergeRetryMs
  if (leadsTo !== null)
    return leadsTo.done ? Number.POSITIVE_INFINITY : leadsTo.at + limits.mergeRetryMs
  return recountedMetric(user) === undefined ? dueAt(user, project, now) : now
}

const mayComeDue = (user: UserState): boolean => {
  // A pause may revive a streak that is over, and settings may begin to remind active users.
  if (user.streaks.size > 0 || user.activity !== null || isInLeagues(user)) return true
  for (const quest of user.quests.values()) if (isMidway(quest)) return true
  return false
}

export class Agenda {
  readonly #dues = new MemberTable()
  /** The second under which a member is listed; 0: none. */
  readonly #homes = new MemberTable()
  readonly #lists = new Map<number, Array<number>>()
  #earliest = Number.POSITIVE_INFINITY
  #highest = -1
  /** The next member to recheck, whatever its due time. */
  #recheckFrom = Number.POSITIVE_INFINITY
  readonly #sooner: () => void

  /** `sooner` is called when `nextSecond` has become earlier. */
  constructor(sooner: () => void = () => {}) {
    this.#sooner = sooner
  }

  /** The second at which the next member may be due; 0: now. */
  get nextSecond(): number {
    return this.#recheckFrom <= this.#highest ? 0 : this.#earliest
  }

  dueOf(member: number): number {
    return this.#dues.get(member)
  }

  /** Sets the due second of `member`: a second, `never` or 0. */
  set(member: number, second: number): void {
    this.#dues.set(member, second)
    this.#highest = Math.max(this.#highest, member)
    if (second === 0 || second === never) return
    const home = this.#homes.get(member)
    if (home !== 0 && home <= second) return
    this.#list(member, second)
  }

  /** The definitions have changed: due times may have moved. */
  recheck(): void {
    this.#recheckFrom = 0
    this.#sooner()
  }

  /**
   * Takes up to `limit` members that are due at `second` or must be rechecked. The caller must
   * `set` each of them again. May return none although `nextSecond` has come: the caller then calls
   * again.
   */
  take(second: number, limit: number): ReadonlyArray<number> {
    const taken: Array<number> = []
    this.#recheck(taken, limit)
    for (
      let looked = 0;
      looked < limit && taken.length < limit && this.#earliest <= second;
      looked++
    ) {
      const listed = this.#earliest
      const list = this.#lists.get(listed)!
      const member = list.pop()!
      if (list.length === 0) this.#unlist(listed)
      if (this.#homes.get(member) !== listed) continue
      this.#homes.set(member, 0)
      const due = this.#dues.get(member)
      if (due === 0 || due === never) continue
      if (due > second) this.#list(member, due)
      else taken.push(member)
    }
    return taken
  }

  #recheck(taken: Array<number>, limit: number): void {
    const end = Math.min(this.#highest + 1, this.#recheckFrom + limits.agendaScanMembersMax)
    while (this.#recheckFrom < end && taken.length < limit) {
      const member = this.#recheckFrom++
      if (this.#dues.get(member) !== 0) taken.push(member)
    }
    if (this.#recheckFrom > this.#highest) this.#recheckFrom = Number.POSITIVE_INFINITY
  }

  #list(member: number, second: number): void {
    this.#homes.set(member, second)
    const list = this.#lists.get(second)
    if (list !== undefined) {
      list.push(member)
      return
    }
    this.#lists.set(second, [member])
    if (second >= this.#earliest) return
    this.#earliest = second
    this.#sooner()
  }

  #unlist(second: number): void {
    this.#lists.delete(second)
    let earliest = Number.POSITIVE_INFINITY
    for (const other of this.#lists.keys()) earliest = Math.min(earliest, other)
    this.#earliest = earliest
  }
}
