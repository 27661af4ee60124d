/**
 * What a reply says beside xp and points: further currencies, credits that were cut or are pending,
 * freezes, personal boosts, experiments and shared goals.
 */
import type { BoostRef } from "../record/BoostFact.ts"
import { creditedCurrency } from "../record/Past.ts"
import type { Fact, FactOf } from "../record/Record.ts"
import { isoTime } from "../values/isoTime.ts"
import type { MembersOf } from "./FactMembers.ts"

/** What a reply says of further currencies, of cut and pending credits, freezes, boosts, experiments and goals. */
type Further = Pick<
  MembersOf<"event.tracked">,
  | "balances"
  | "boostsEarned"
  | "capped"
  | "currencies"
  | "experiments"
  | "freezes"
  | "goals"
  | "levels"
  | "pending"
>

/** The members of `Further` that a reply has; `undefined`: none. */
export const furtherOf = ({
  balances,
  boostsEarned,
  capped,
  currencies,
  experiments,
  freezes,
  goals,
  levels,
  pending,
}: { readonly [Name in keyof Further]: Further[Name] | undefined }): Further | undefined =>
  balances === undefined &&
  boostsEarned === undefined &&
  capped === undefined &&
  currencies === undefined &&
  experiments === undefined &&
  freezes === undefined &&
  goals === undefined &&
  levels === undefined &&
  pending === undefined
    ? undefined
    : {
        ...(currencies !== undefined && { currencies }),
        ...(capped !== undefined && { capped }),
        ...(freezes !== undefined && { freezes }),
        ...(levels !== undefined && { levels }),
        ...(pending !== undefined && { pending }),
        ...(boostsEarned !== undefined && { boostsEarned }),
        ...(experiments !== undefined && { experiments }),
        ...(goals !== undefined && { goals }),
        ...(balances !== undefined && { balances }),
      }

/** `Further` while facts are added to it. */
export type FurtherChange = { -readonly [Name in keyof Further]: Further[Name] }

type FreezesFact = Extract<Fact, { readonly kind: `streak.freezes_${string}` }>

/** The changes of further currencies, freezes, personal boosts and experiments, with one more. */
export const furtherAfter = (
  before: FurtherChange = {},
  fact:
    | Exclude<
        Extract<Fact, { readonly currency: string; readonly amount: number }>,
        FactOf<"currency.uncounted">
      >
    | FactOf<"boost.earned">
    | FactOf<"experiment.exposed">
    | FreezesFact,
): FurtherChange => {
  if (fact.kind === "boost.earned") {
    return { ...before, boostsEarned: [...(before.boostsEarned ?? []), showOwnBoost(fact)] }
  }
  if (fact.kind === "experiment.exposed") {
    return { ...before, experiments: [...(before.experiments ?? []), showExposed(fact)] }
  }
  if (!("currency" in fact)) return withFreezes(before, fact)
  const { amount, currency } = fact
  if (fact.kind === "currency.capped") {
    const cut = { currency, amount, by: fact.by }
    return { ...before, capped: [...(before.capped ?? []), cut] }
  }
  const known = Object.hasOwn(before.currencies ?? {}, currency)
  const earned = known ? before.currencies![currency]!.earned : 0
  const change = fact.kind === "currency.earned" ? amount : -amount
  const currencies = {
    ...before.currencies,
    [currency]: { earned: earned + change, total: fact.total },
  }
  return { ...before, currencies }
}

/** With a credit that is pending. All credits of a currency by one event wait until one time. */
export const withPending = (
  before: FurtherChange | undefined,
  fact: FactOf<"xp.earned" | "points.earned" | "currency.earned">,
  at: number,
): FurtherChange => {
  const currency = creditedCurrency(fact)
  const spendableAt = isoTime(at)
  const all = before?.pending ?? []
  const same = all.find((one) => one.currency === currency && one.spendableAt === spendableAt)
  const amount = (same?.amount ?? 0) + fact.amount
  const pending = [...all.filter((one) => one !== same), { currency, amount, spendableAt }]
  return { ...before, pending }
}

/** The changes, with one more of freezes. */
const withFreezes = (
  further: FurtherChange,
  { amount, key, kind, total }: FreezesFact,
): FurtherChange => {
  const before = further.freezes ?? {}
  const known = Object.hasOwn(before, key) ? before[key]! : { earned: 0, total }
  if (kind === "streak.freezes_capped") {
    const capped = (known.capped ?? 0) + amount
    return { ...further, freezes: { ...before, [key]: { ...known, total, capped } } }
  }
  const change = kind === "streak.freezes_earned" ? amount : -amount
  const earned = known.earned + change
  return { ...further, freezes: { ...before, [key]: { ...known, earned, total } } }
}

/** A personal boost with its times in ISO 8601. */
export const showOwnBoost = ({ boostId, endsAt, key, name, startsAt }: BoostRef) => ({
  boostId,
  key,
  name,
  startsAt: isoTime(startsAt),
  endsAt: isoTime(endsAt),
})

export const showExposed = ({
  experimentId,
  key,
  name,
  variant,
}: FactOf<"experiment.exposed">): MembersOf<"experiment.exposed"> => ({
  experimentId,
  key,
  name,
  variant,
})

/** The changes, with that of a level in a currency. */
export const withLevel = (
  before: FurtherChange | undefined,
  { currency, from, to }: FactOf<"currency.level_changed">,
): FurtherChange => ({
  ...before,
  levels: { ...before?.levels, [currency]: { before: from, after: to } },
})
