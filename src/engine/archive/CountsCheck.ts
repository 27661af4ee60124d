/** Compares the stored counts of each environment with its users. */
import { isMidway } from "../../domain/user/QuestState.ts"
import type { UserState } from "../../domain/user/User.ts"
import { keyParts } from "../../storage/Keys.ts"
import { openValue } from "../../storage/Values.ts"
import { Counts, countsPrefix } from "../actor/Counts.ts"
import type { Fault } from "./JournalTail.ts"
import type { SavedState } from "./SavedState.ts"

interface Counted {
  users: number
  readonly inProgress: Map<string, number>
  readonly completed: Map<string, number>
}

export class CountsCheck {
  readonly #counted = new Map<string, Counted>()

  add(environment: string, { quests }: UserState): void {
    let counted = this.#counted.get(environment)
    if (counted === undefined) {
      counted = { users: 0, inProgress: new Map(), completed: new Map() }
      this.#counted.set(environment, counted)
    }
    counted.users++
    const more = (counts: Map<string, number>, id: string) =>
      counts.set(id, (counts.get(id) ?? 0) + 1)
    for (const [id, state] of quests) {
      if (isMidway(state)) more(counted.inProgress, id)
      if (state.times > 0) more(counted.completed, id)
    }
  }

  /** Compares with the snapshot's counts, plus the journal after its watermark. */
  end(saved: SavedState, fault: Fault): void {
    const all = new Map<string, Counts>()
    const of = (environment: string): Counts => {
      let counts = all.get(environment)
      if (counts === undefined) {
        counts = new Counts()
        all.set(environment, counts)
      }
      return counts
    }
    for (const [key, value] of saved.entries("meta")) {
      const [kind, environment] = keyParts(key)
      const body = kind === countsPrefix ? openValue(value) : ""
      if (typeof body !== "string") of(environment as string).load(body)
    }
    for (const { records } of saved.tail.users()) {
      for (const record of records) {
        if (record.subject.actor === "user") of(record.subject.environment).fold(record)
      }
    }
    for (const environment of new Set([...all.keys(), ...this.#counted.keys()])) {
      const { quests, users } = of(environment)
      const counted = this.#counted.get(environment)
      const differs = (what: string, stored: number, found: number) => {
        if (stored !== found) fault(`${environment} counts ${stored} ${what}, there are ${found}`)
      }
      differs("users", users, counted?.users ?? 0)
      const ids = [quests, counted?.inProgress, counted?.completed].flatMap((map) => [
        ...(map?.keys() ?? []),
      ])
      for (const id of new Set(ids)) {
        const { completed, inProgress } = quests.get(id) ?? { completed: 0, inProgress: 0 }
        differs(`users midway in ${id}`, inProgress, counted?.inProgress.get(id) ?? 0)
        differs(`users who completed ${id}`, completed, counted?.completed.get(id) ?? 0)
      }
    }
  }
}
