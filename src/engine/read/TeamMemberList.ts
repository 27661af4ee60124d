/**
 * Lists the members of a team in the order of their ids (by code points): the rows of the snapshot,
 * merged with who joined and left since (`actor/TeamMembers.ts`). The user's state decides whether it
 * is a member; a list shows each member as of the moment at which it reached that user.
 *
 * Cost: a list reads from the start of its page to the first member after its end, and sorts who
 * joined since the last snapshot.
 */
import { Effect, Stream } from "effect"
import type { Team } from "../../domain/project/Team.ts"
import { isAlias, type UserState } from "../../domain/user/User.ts"
import { compareCodePoints } from "../../domain/values/Ids.ts"
import {
  asBuffer,
  compositeKey,
  lastTextEnd,
  lastTextStart,
  rangeOf,
  successor,
} from "../../storage/Keys.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { Environment } from "../actor/Environments.ts"
import { memberKey } from "../actor/TeamMembers.ts"
import { sortInTurns } from "../users/sortInTurns.ts"

export interface TeamMemberQuery {
  readonly team: Pick<Team, "kind" | "number">
  readonly limit: number
  /** The page begins behind this id; absent: with the first member. */
  readonly after?: string | undefined
  /** Which former members are listed too; absent: none. */
  readonly former?: ((user: UserState) => boolean) | undefined
}

export interface TeamMember {
  readonly user: UserState
  /** Epoch milliseconds; 0: a former member. */
  readonly joinedAt: number
}

export interface TeamMemberPage {
  readonly members: ReadonlyArray<TeamMember>
  readonly hasMore: boolean
}

/** A page of the members of a team. */
export const readTeamMembers = (
  storage: Storage["Service"],
  environment: Environment,
  { after, former, limit, team }: TeamMemberQuery,
): Effect.Effect<TeamMemberPage, Broken> =>
  Effect.gen(function* () {
    const { id, teamMembers } = environment
    const changes = teamMembers.of(team.number)
    const came: Array<string> = []
    for (const [userId, member] of changes) {
      const isBehind = after === undefined || compareCodePoints(userId, after) > 0
      if (member && isBehind) came.push(userId)
    }
    const joined = yield* sortInTurns(came, compareCodePoints)
    const found: Array<TeamMember> = []
    let next = 0
    const look = (userId: string): void => {
      const user = environment.durableOf(userId)
      const membership = user?.teams.get(team.kind)
      if (user === undefined || isAlias(user)) return
      const isMember = membership?.number === team.number
      if (!isMember && former?.(user) !== true) return
      found.push({ user, joinedAt: isMember ? membership.joinedAt : 0 })
    }
    const isFull = () => found.length > limit
    const prefix = compositeKey(id, team.number)
    const { from, until } = rangeOf(prefix)
    const start = after === undefined ? from : successor(memberKey(id, team.number, after))
    const idAt = lastTextStart(prefix)
    const rows = storage.readEntries({ table: "teamMembers", from: start, until })
    yield* Stream.runForEachWhile(rows, (entries) =>
      Effect.sync(() => {
        for (const [key] of entries) {
          const userId = asBuffer(key).toString("utf8", idAt, lastTextEnd(key.length))
          for (; next < joined.length && compareCodePoints(joined[next]!, userId) < 0; next++) {
            if (isFull()) return false
            look(joined[next]!)
          }
          if (joined[next] === userId) next++
          if (isFull()) return false
          look(userId)
        }
        return !isFull()
      }),
    )
    for (; next < joined.length && !isFull(); next++) look(joined[next]!)
    return { members: found.slice(0, limit), hasMore: isFull() }
  })
