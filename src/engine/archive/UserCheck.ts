/**
 * Compares users with their records: the fold of all records equals the snapshot's value plus the journal after it, and
 * every total is the previous one plus or minus the change.
 */
import { applyUser } from "../../domain/record/applyUser.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import { encodeUser } from "../records/UserCodec.ts"
import type { ArchiveBase } from "./ArchiveBase.ts"
import type { Fault } from "./JournalTail.ts"
import type { SavedUser } from "./SavedState.ts"

/**
 * Calls `visit` with each record; returns the state after all of them, `undefined` if there is none. With a base, the
 * fold begins with its state, and records up to its last one are only visited.
 */
export const checkUser = (
  user: SavedUser,
  fault: Fault,
  visit: (record: JournalRecord) => void,
  base?: Pick<ArchiveBase, "manifest" | "saved">,
): UserState | undefined => {
  const { environment, records, stored, tail, userId } = user
  const name = `User ${JSON.stringify(userId)} of ${environment}`
  const after = base?.manifest.sequence ?? 0
  let folded = base?.saved.stateOf(user)
  for (const record of records) {
    visit(record)
    if (record.sequence <= after) continue
    // Between the two, the user was erased.
    if (record.facts[0]?.kind === "user.created") folded = undefined
    checkTotals(folded, record, name, fault)
    folded = applyUser(folded, record)
  }
  let state = stored
  for (const record of tail) {
    if (record.sequence > (state?.sequence ?? 0)) state = applyUser(state, record)
  }
  if (!isSame(folded, state)) {
    fault(`${name} differs from its records: ${difference(folded, state)}`)
  }
  if (state !== undefined && state.id !== userId) {
    fault(`${name} says that it is ${JSON.stringify(state.id)}`)
  }
  return state
}

const checkTotals = (
  before: UserState | undefined,
  { facts, sequence }: JournalRecord,
  name: string,
  fault: Fault,
): void => {
  // An erasure may have removed the records before.
  if (before === undefined && facts[0]?.kind !== "user.created") return
  const totals = { xp: before?.xp ?? 0, points: before?.points ?? 0 }
  const moved = (what: "xp" | "points", by: number, total: number) => {
    totals[what] += by
    if (totals[what] === total) return
    fault(`${name}: by record ${sequence} the ${what} should be ${totals[what]}, not ${total}`)
    totals[what] = total
  }
  for (const fact of facts) {
    if (fact.kind === "xp.earned") moved("xp", fact.amount, fact.total)
    else if (fact.kind === "xp.revoked") moved("xp", -fact.amount, fact.total)
    else if (fact.kind === "points.earned") moved("points", fact.amount, fact.total)
    else if (fact.kind === "points.revoked") moved("points", -fact.amount, fact.total)
    else if (fact.kind === "points.spent") moved("points", -fact.amount, fact.total)
    else if (fact.kind === "points.refunded") moved("points", fact.amount, fact.total)
  }
}

const isSame = (one: UserState | undefined, other: UserState | undefined): boolean =>
  one === other || one === undefined || other === undefined
    ? one === other
    : // When something is due again depends on the clock, and is no part of a state.
      Buffer.compare(encodeUser(one, 0), encodeUser(other, 0)) === 0

/** Names the difference, without values, which may be private. */
const difference = (folded: UserState | undefined, stored: UserState | undefined): string => {
  if (folded === undefined) return "there are none"
  if (stored === undefined) return "there is no state"
  if (folded.xp !== stored.xp) return `xp is ${stored.xp}, not ${folded.xp}`
  if (folded.sequence !== stored.sequence) {
    return `its last record is ${stored.sequence}, not ${folded.sequence}`
  }
  return "other members differ"
}
