/**
 * Which users a list shows, and in which order. What the head of a state's bytes tells (id, name,
 * attributes, xp, times) is asked before a decode; badges and segments need the whole state.
 */
import { type ProjectState, timeIn } from "../../domain/project/Project.ts"
import type { Segment } from "../../domain/project/Segment.ts"
import { attributeText } from "../../domain/user/Group.ts"
import { isMember } from "../../domain/user/Membership.ts"
import { isAlias, type UserState } from "../../domain/user/User.ts"
import { attributeOf, UserHead } from "../records/UserHead.ts"

/** Other than by the id. Users with the same value are in the order of their ids. */
export type UserSort = "xp" | "lastEventAt" | "createdAt"

export interface UserConditions {
  /** A part of the id or of the display name; upper and lower case do not matter. */
  readonly search?: string | undefined
  /** Only members. */
  readonly segment?: Segment | undefined
  /** The id of a badge: only its holders. */
  readonly badge?: string | undefined
  /** Only users whose attribute has this value, as text. */
  readonly attribute?: { readonly name: string; readonly value: string } | undefined
  /** Only users with at least `xpFrom` and less than `xpBelow` xp. */
  readonly xpFrom?: number | undefined
  readonly xpBelow?: number | undefined
  /** Only users whose latest event occurred then or later, epoch milliseconds. */
  readonly activeSince?: number | undefined
}

export class UserFilter {
  readonly #conditions: UserConditions
  readonly #search: string | undefined
  readonly #now: () => number
  /** Of the state that `mayPass` was asked for last. */
  readonly head = new UserHead()

  /** `now`: the server's time, epoch milliseconds. */
  constructor(conditions: UserConditions, now: () => number) {
    this.#conditions = conditions
    this.#search = conditions.search?.toLowerCase()
    this.#now = now
  }

  /** Whether users are refused that `mayPass` lets pass. */
  get readsStates(): boolean {
    return this.#conditions.segment !== undefined || this.#conditions.badge !== undefined
  }

  /** Whether the state may pass, as far as the head of its bytes tells. */
  mayPass(bytes: Buffer, at: number, end: number, idOf: () => string): boolean {
    const { activeSince = 0, attribute, xpBelow, xpFrom = 0 } = this.#conditions
    const { head } = this
    head.read(bytes, at, end, this.#search !== undefined)
    if (head.xp < xpFrom || (xpBelow !== undefined && head.xp >= xpBelow)) return false
    if (head.lastEventAt < activeSince) return false
    if (attribute !== undefined && attributeOf(bytes, at, end, attribute.name) !== attribute.value)
      return false
    return this.#isSought(idOf, head.displayName)
  }

  passes(user: UserState, project: ProjectState): boolean {
    const { activeSince = 0, attribute, badge, segment, xpBelow, xpFrom = 0 } = this.#conditions
    const { attributes, displayName } = user.profile
    if (isAlias(user) || user.xp < xpFrom || user.lastEventAt < activeSince) return false
    if (xpBelow !== undefined && user.xp >= xpBelow) return false
    if (attribute !== undefined && attributeText(attributes, attribute.name) !== attribute.value)
      return false
    if (!this.#isSought(() => user.id, displayName)) return false
    if (badge !== undefined && !user.badges.has(badge)) return false
    return (
      segment === undefined ||
      isMember({ userId: user.id, user, project, now: timeIn(project, this.#now()) }, segment)
    )
  }

  #isSought(idOf: () => string, name: string | null): boolean {
    const search = this.#search
    if (search === undefined) return true
    return idOf().toLowerCase().includes(search) || name?.toLowerCase().includes(search) === true
  }
}
