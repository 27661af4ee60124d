/**
 * The teams of an environment. A team is data of a caller, as a user is, and no definition: no file
 * of definitions has it. A user is in at most one team of each kind.
 *
 * `Teams` is part of the state of the project, so that the decision on a user sees either the whole
 * of a change or nothing of it. It is immutable: chunks of at most `teamChunkMax` teams, in the order
 * of the ids by code points. A change copies one chunk and the list of chunks, and no other team. So
 * a snapshot finds the chunks that changed by comparing objects (`engine/records/TeamBytes.ts`).
 *
 * `number` distinguishes a team from a former one with the same id: memberships name it
 * (`user/TeamMembership.ts`). So the deletion of a team ends all memberships at once, and a new team
 * with the id begins empty.
 *
 * Cost: a look-up is two binary searches; a change copies 64 teams and, with 100,000 teams, about
 * 2,000 chunks, as references.
 */
import { limits } from "../../Limits.ts"
import { countWhile } from "../values/countUpTo.ts"
import { compareCodePoints } from "../values/Ids.ts"
import type { Versioned } from "./Definition.ts"

/** Times are epoch milliseconds. */
export interface Team extends Versioned {
  /** The caller's id. */
  readonly id: string
  /** Unique among all teams that the environment ever had. */
  readonly number: number
  /** It never changes. */
  readonly kind: string
  readonly name: string
  readonly attributes: { readonly [name: string]: string | number | boolean }
  /** The ids of the leaderboards on which the team is disqualified; absent: none. */
  readonly disqualifiedOn?: ReadonlyArray<string>
}

export const isOffBoard = ({ disqualifiedOn }: Team, boardId: string): boolean =>
  disqualifiedOn?.includes(boardId) === true

/** A user's membership, which holds as long as the team with this number exists. */
export interface TeamMembership {
  readonly teamId: string
  readonly number: number
  /** Epoch milliseconds. */
  readonly joinedAt: number
}

export interface TeamChunk {
  /** Names the chunk in the snapshot. */
  readonly number: number
  /** At least one. */
  readonly teams: ReadonlyArray<Team>
}

export interface Teams {
  /** The number of the next team. */
  readonly next: number
  readonly count: number
  /** How many teams there are of each kind; a kind without teams is absent. */
  readonly kinds: ReadonlyMap<string, number>
  readonly chunks: ReadonlyArray<TeamChunk>
}

export const noTeams: Teams = { next: 1, count: 0, kinds: new Map(), chunks: [] }

/** The index of the chunk that has the id, or would have it. */
const chunkOf = ({ chunks }: Teams, id: string): number =>
  Math.max(
    0,
    countWhile(chunks.length, (n) => compareCodePoints(chunks[n]!.teams[0]!.id, id) <= 0) - 1,
  )

/** How many teams of a chunk come before the id. */
const placeIn = (teams: ReadonlyArray<Team>, id: string): number =>
  countWhile(teams.length, (n) => compareCodePoints(teams[n]!.id, id) < 0)

export const teamWithId = (teams: Teams, id: string): Team | undefined => {
  const there = teams.chunks[chunkOf(teams, id)]?.teams
  const team = there?.[placeIn(there, id)]
  return team?.id === id ? team : undefined
}

/** The teams behind the id, in order; `undefined`: all teams. */
export function* teamsAfter(teams: Teams, id: string | undefined): Generator<Team> {
  const { chunks } = teams
  for (let n = id === undefined ? 0 : chunkOf(teams, id); n < chunks.length; n++) {
    for (const team of chunks[n]!.teams) {
      if (id === undefined || compareCodePoints(team.id, id) > 0) yield team
    }
  }
}

const counted = (
  kinds: ReadonlyMap<string, number>,
  kind: string,
  by: 1 | -1,
): ReadonlyMap<string, number> => {
  const after = new Map(kinds)
  const count = (after.get(kind) ?? 0) + by
  if (count === 0) after.delete(kind)
  else after.set(kind, count)
  return after
}

/** With the team added, or in the place of the one with its id, which has its kind. */
export const withTeam = (teams: Teams, team: Team): Teams => {
  const at = chunkOf(teams, team.id)
  const chunk = teams.chunks[at] ?? { number: 1, teams: [] }
  const place = placeIn(chunk.teams, team.id)
  const isNew = chunk.teams[place]?.id !== team.id
  const all = chunk.teams.toSpliced(place, isNew ? 0 : 1, team)
  const parts: Array<TeamChunk> = [{ ...chunk, teams: all }]
  if (all.length > limits.teamChunkMax) {
    const half = all.length >>> 1
    const number = teams.chunks.reduce((max, each) => Math.max(max, each.number), 0) + 1
    parts[0] = { ...chunk, teams: all.slice(0, half) }
    parts.push({ number, teams: all.slice(half) })
  }
  return {
    next: Math.max(teams.next, team.number + 1),
    count: teams.count + Number(isNew),
    kinds: isNew ? counted(teams.kinds, team.kind, 1) : teams.kinds,
    chunks: teams.chunks.toSpliced(at, 1, ...parts),
  }
}

export const withoutTeam = (teams: Teams, id: string): Teams => {
  const at = chunkOf(teams, id)
  const chunk = teams.chunks[at]
  const team = teamWithId(teams, id)
  if (chunk === undefined || team === undefined) return teams
  const rest = chunk.teams.filter((each) => each.id !== id)
  return {
    ...teams,
    count: teams.count - 1,
    kinds: counted(teams.kinds, team.kind, -1),
    chunks: teams.chunks.toSpliced(at, 1, ...(rest.length > 0 ? [{ ...chunk, teams: rest }] : [])),
  }
}

/** The teams of stored chunks, in any order. Throws if they do not fit together. */
export const teamsOf = (next: number, stored: Iterable<TeamChunk>): Teams => {
  const chunks = [...stored].sort((one, other) =>
    compareCodePoints(one.teams[0]!.id, other.teams[0]!.id),
  )
  let count = 0
  let last: string | undefined
  const kinds = new Map<string, number>()
  for (const { teams } of chunks) {
    for (const { id, kind, number } of teams) {
      if (number >= next) throw new RangeError(`Team ${number} is not below ${next}`)
      if (last !== undefined && compareCodePoints(id, last) <= 0) {
        throw new RangeError("Two teams are out of order")
      }
      last = id
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      count++
    }
  }
  return { next, count, kinds, chunks }
}
