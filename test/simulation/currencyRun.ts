/**
 * Steps of one user with a currency `gems`, against the naive model: credits of all ages, spends,
 * refunds and undos in any order, journeys, and edits of currencies, with few other definitions.
 */
import type { JournalRecord, UserCommand } from "../../src/domain/record/Record.ts"
import { randomCurrencyEdit, zones } from "./commands.ts"
import type { DomainRun } from "./DomainRun.ts"

const user = "ada"
const hour = 3_600_000
const day = 24 * hour

const undoOf = ({ at, cause, sequence }: JournalRecord): UserCommand | undefined =>
  cause.kind === "event" || cause.kind === "reward" || cause.kind === "spend"
    ? { kind: "revocation", of: cause.kind, sequence, at }
    : undefined

const commandOf = ({ now, random, records }: DomainRun): UserCommand | undefined => {
  switch (random.integer(0, 9)) {
    case 0:
    case 1:
      return { kind: "event", action: random.pick(["TAP", "TAP", "OTHER"]), occurredAt: now }
    case 2:
      return { kind: "event", action: "TAP", occurredAt: now - random.integer(0, 12) * day }
    case 3:
      return { kind: "reward", reward: { points: 1, currencies: { gems: random.integer(1, 9) } } }
    case 4:
    case 5:
      return { kind: "spend", currencies: { gems: random.integer(1, 9) } }
    case 6:
      return { kind: "spend", amount: random.integer(1, 4) }
    case 7:
      return { kind: "profile", change: { timezone: random.pick(zones) } }
    default:
      return records.length === 0 ? undefined : undoOf(random.pick(records))
  }
}

/** One step: an edit, a while, or a command. */
export const step = (run: DomainRun): void => {
  const { random } = run
  const kind = random.next()
  if (kind < 0.06) run.define(...randomCurrencyEdit(run))
  else if (kind < 0.3) {
    run.now += random.pick([1, hour, 9 * hour, day, day, 3 * day, 8 * day])
    run.compare(user)
    if (random.chance(0.5) && run.users.has(user)) run.command(user, { kind: "tick" })
  } else {
    const command = commandOf(run)
    if (command?.kind === "profile") run.now++
    if (command !== undefined) run.command(user, command)
  }
}
