/**
 * Who joined and left teams since the last snapshot. The snapshot has a row for each membership, in
 * the table `teamMembers`; `read/TeamMemberList.ts` merges both.
 *
 * Invariants:
 * - Each durable record of a user is folded once, also during recovery, from the watermark on.
 * - A snapshot has the rows as of its watermark, in the transaction that sets the watermark.
 * - A row names a user who may be a member, or may have a share of a prize that the team won
 *   (`user/TeamShares.ts`) or of the reward of its goal (`user/GoalPart.ts`): the user's state decides. The rows of a deleted team stay until
 *   their users join another team of the kind or are gone, so a deletion costs the same for any
 *   number of members.
 */
import type { JournalRecord } from "../../domain/record/Record.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Entry } from "../../storage/Storage.ts"
import { encodeValue } from "../../storage/Values.ts"

/** By the number of the team: each user who joined (true) or left (false). */
type Changes = Map<number, Map<string, boolean>>

export const memberKey = (environment: string, team: number, userId: string): Uint8Array =>
  compositeKey(environment, team, userId)

const noValue = encodeValue(new Uint8Array())

export class TeamMembers {
  /** Of the snapshot that is being written. */
  #written: Changes = new Map()
  #latest: Changes = new Map()

  fold({ facts }: JournalRecord, userId: string): void {
    for (const fact of facts) {
      switch (fact.kind) {
        case "team.joined":
          if (fact.replaces !== undefined) this.#set(fact.replaces, userId, false)
          this.#set(fact.number, userId, true)
          break
        case "team.left":
          this.#set(fact.number, userId, false)
          break
        case "user.merged":
          for (const number of fact.teamsLeft ?? []) this.#set(number, userId, false)
          for (const [, { number }] of fact.parts.teams ?? []) this.#set(number, userId, true)
          for (const [, { kept = [] }] of fact.boards ?? []) {
            for (const { team } of kept) this.#set(team, userId, true)
          }
          for (const [, parts] of fact.parts.goals ?? []) {
            for (const { claim, team } of parts) {
              if (claim === "kept") this.#set(team, userId, true)
            }
          }
          break
        case "goal.claim_changed":
          if (fact.claim === "kept") this.#set(fact.team ?? 0, userId, true)
          else if (fact.released === true) this.#set(fact.team ?? 0, userId, false)
          break
        case "board.shares_kept":
          for (const number of fact.released ?? []) this.#set(number, userId, false)
          for (const { team } of fact.kept) this.#set(team, userId, true)
          break
        case "user.aliased":
        case "user.deleted":
          for (const number of fact.teams ?? []) this.#set(number, userId, false)
          break
      }
    }
  }

  #set(number: number, userId: string, member: boolean): void {
    const users = this.#latest.get(number) ?? new Map<string, boolean>()
    this.#latest.set(number, users.set(userId, member))
  }

  /** What changed for a team since the last snapshot. */
  of(number: number): ReadonlyMap<string, boolean> {
    const latest = this.#latest.get(number)
    const written = this.#written.get(number)
    if (written === undefined) return latest ?? nobody
    return latest === undefined ? written : new Map([...written, ...latest])
  }

  /** A snapshot begins. Returns its rows. */
  *begin(environment: string): Generator<Entry> {
    // A snapshot that failed left its changes.
    for (const [number, users] of this.#latest) {
      const before = this.#written.get(number)
      this.#written.set(number, before === undefined ? users : new Map([...before, ...users]))
    }
    this.#latest = new Map()
    for (const [number, users] of this.#written) {
      for (const [userId, member] of users) {
        const key = memberKey(environment, number, userId)
        yield { table: "teamMembers", key, value: member ? noValue : null }
      }
    }
  }

  /** The snapshot that began last has ended. */
  ended(): void {
    this.#written = new Map()
  }
}

const nobody: ReadonlyMap<string, boolean> = new Map()
