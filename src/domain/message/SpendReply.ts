/** The replies to spends and to their revocations. */
import type { Repeat } from "../decide/Repeat.ts"
import type { Amounts } from "../project/Currency.ts"
import type { FactOf, JournalRecord } from "../record/Record.ts"
import { dateOf } from "../values/Calendar.ts"
import { recordId } from "../values/Ids.ts"
import type { MembersOf } from "./FactMembers.ts"

/**
 * `duplicate`: an earlier command with the same id made the record, and the reply is its outcome.
 * Otherwise nothing differs, and nothing is revoked.
 */
export interface Repeated extends Repeat {
  readonly duplicate: boolean
}

/** `amount` and `total`: points spent, and points left. */
export interface SpendReply extends MembersOf<"points.spent">, Repeated {
  readonly kind: "spend"
  readonly userId: string
  readonly spendId: string
  readonly reason: string | null
  /** By currency, of a spend that named currencies or of a user who has further ones. */
  readonly currencies?: {
    readonly [key: string]: { readonly spent: number; readonly total: number }
  }
  readonly balances?: Amounts
  readonly repaired?: RepairedStreak
}

/** The reply to the revocation of a spend. */
export interface RefundReply extends MembersOf<"points.refunded"> {
  readonly kind: "refund"
  readonly userId: string
  readonly spendId: string
  readonly currencies?: {
    readonly [key: string]: {
      readonly refunded: number
      readonly total: number
      readonly shortfall: number
    }
  }
  readonly balances?: Amounts
  readonly repairUndone?: RepairedStreak
}

type RepairedStreak = MembersOf<"streak.repaired">

/** What a spend took. */
export const spendOf = (
  record: JournalRecord,
): Omit<SpendReply, keyof Repeated | "kind" | "userId" | "reason"> => {
  let [amount, total] = [0, 0]
  let balances: Amounts | undefined
  const currencies: Record<string, { readonly spent: number; readonly total: number }> = {}
  let repaired: Pick<SpendReply, "repaired"> | undefined
  for (const fact of record.facts) {
    if (fact.kind === "streak.repaired") repaired = { repaired: repairMembers(fact) }
    if (fact.kind === "points.spent") ({ amount, total } = fact)
    if (fact.kind === "currency.spent") {
      currencies[fact.currency] = { spent: fact.amount, total: fact.total }
    }
    if (fact.kind === "balances.settled") {
      total = fact.points
      balances = allBalances(fact)
    }
  }
  const spent = { spendId: recordId("spd", record), amount, total, ...repaired }
  if (balances === undefined) return spent
  return { ...spent, ...(Object.keys(currencies).length > 0 && { currencies }), balances }
}

/** What the revocation of a spend returned. */
export const refundOf = (
  record: JournalRecord,
  spendId: string,
): Omit<RefundReply, "kind" | "userId"> => {
  let [amount, shortfall, total] = [0, 0, 0]
  let balances: Amounts | undefined
  const currencies: Record<string, NonNullable<RefundReply["currencies"]>[string]> = {}
  let undone: Pick<RefundReply, "repairUndone"> | undefined
  for (const fact of record.facts) {
    if (fact.kind === "streak.repair_undone") undone = { repairUndone: repairMembers(fact) }
    if (fact.kind === "points.refunded") ({ amount, shortfall, total } = fact)
    if (fact.kind === "currency.refunded") {
      const { amount: refunded, currency, shortfall, total } = fact
      currencies[currency] = { refunded, total, shortfall }
    }
    if (fact.kind === "balances.settled") {
      total = fact.points
      balances = allBalances(fact)
    }
  }
  return {
    spendId,
    amount,
    total,
    shortfall,
    ...(Object.keys(currencies).length > 0 && { currencies }),
    ...(balances !== undefined && { balances }),
    ...undone,
  }
}

/** The days of a repair, and the length of the streak afterwards. */
export const repairMembers = ({
  current,
  from,
  key,
  to,
}: FactOf<"streak.repaired" | "streak.repair_undone">): RepairedStreak => ({
  key,
  from: dateOf(from),
  to: dateOf(to),
  current,
})

export const allBalances = ({
  balances,
  points,
  xp,
}: {
  readonly xp: number
  readonly points: number
  readonly balances?: Amounts
}): Amounts => ({ xp, points, ...balances })
