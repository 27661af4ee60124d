/**
 * The bytes of teams: of the memberships in a user's state (`UserCodec.ts`), and of the list of
 * teams in the snapshot.
 *
 * The list is in the table `actors` beside the value of its project, one entry for each chunk
 * (`domain/project/Team.ts`): the project's value has no team. The value and the changed chunks are
 * written in one transaction, and read by one range, so they are as of the same record.
 */
import type { ProjectState } from "../../domain/project/Project.ts"
import {
  type TeamChunk,
  type TeamMembership,
  type Teams,
  teamsOf,
} from "../../domain/project/Team.ts"
import { asBuffer, compositeKey } from "../../storage/Keys.ts"
import type { Entry } from "../../storage/Storage.ts"
import { encodeValue } from "../../storage/Values.ts"
import { type Reader, writeNumber, writeText } from "./StateBytes.ts"

export const writeMembership = ({ joinedAt, number, teamId }: TeamMembership): void => {
  writeText(teamId)
  writeNumber(number)
  writeNumber(joinedAt)
}

export const readMembership = (reader: Reader): TeamMembership => {
  const teamId = reader.text()
  const number = reader.number()
  return { teamId, number, joinedAt: reader.number() }
}

const chunkKey = (environment: string, number: number): Uint8Array =>
  compositeKey("project", environment, number)

/** The body of a chunk. */
const chunkBody = ({ teams }: TeamChunk): string => JSON.stringify(teams)

/** The chunk with this number. Throws for bytes that are none. */
export const decodeChunk = (number: number, body: Uint8Array): TeamChunk => {
  const teams: TeamChunk["teams"] = JSON.parse(asBuffer(body).toString("utf8"))
  if (teams.length === 0) throw new RangeError("A chunk has no team")
  return { number, teams }
}

/** The project with the teams of its stored chunks. */
export const withTeamsOf = (project: ProjectState, chunks: Iterable<TeamChunk>): ProjectState => ({
  ...project,
  teams: teamsOf(project.teams.next, chunks),
})

/** Which chunks of an environment the snapshot has. */
export class StoredTeams {
  /** By number; `undefined`: a write failed, so what the snapshot has is not known. */
  readonly #stored = new Map<number, TeamChunk | undefined>()
  /** Those that the last entries removed. */
  #removed: Array<number> = []

  /** The snapshot has exactly these. */
  load({ chunks }: Teams): void {
    this.#stored.clear()
    for (const chunk of chunks) this.#stored.set(chunk.number, chunk)
  }

  /** The entries that make the chunks of the snapshot those of `teams`. */
  *entries(environment: string, { chunks }: Teams): Generator<Entry> {
    const present = new Set<number>()
    this.#removed = []
    for (const chunk of chunks) {
      const { number } = chunk
      present.add(number)
      if (this.#stored.get(number) === chunk) continue
      this.#stored.set(number, chunk)
      const value = encodeValue(chunkBody(chunk))
      yield { table: "actors", key: chunkKey(environment, number), value }
    }
    if (this.#stored.size === present.size) return
    for (const number of this.#stored.keys()) {
      if (present.has(number)) continue
      this.#stored.delete(number)
      this.#removed.push(number)
      yield { table: "actors", key: chunkKey(environment, number), value: null }
    }
  }

  /** Some of the last entries may not be stored: the next ones write all chunks again. */
  failed(): void {
    for (const number of [...this.#stored.keys(), ...this.#removed]) {
      this.#stored.set(number, undefined)
    }
  }
}
