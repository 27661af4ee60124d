/** What a reply says beyond xp and points: further currencies, cut and pending credits, freezes. */
import { creditedCurrency } from "../record/Past.ts"
import type { Fact, FactOf } from "../record/Record.ts"
import { isoTime } from "../values/isoTime.ts"
import type { MembersOf } from "./FactMembers.ts"

/** What a reply says of further currencies, of cut and pending credits, and of freezes. */
type Further = Pick<
  MembersOf<"event.tracked">,
  "balances" | "capped" | "currencies" | "freezes" | "pending"
>

/** The members of `Further` that a reply has; `undefined`: none. */
export const furtherOf = ({
  balances,
  capped,
  currencies,
  freezes,
  pending,
}: { readonly [Name in keyof Further]: Further[Name] | undefined }): Further | undefined =>
  balances === undefined &&
  capped === undefined &&
  currencies === undefined &&
  freezes === undefined &&
  pending === undefined
    ? undefined
    : {
        ...(currencies !== undefined && { currencies }),
        ...(capped !== undefined && { capped }),
        ...(freezes !== undefined && { freezes }),
        ...(pending !== undefined && { pending }),
        ...(balances !== undefined && { balances }),
      }

export type FurtherChange = { -readonly [Name in keyof Further]: Further[Name] }

/** The changes of further currencies, with one more. */
export const furtherAfter = (
  before: FurtherChange = {},
  fact: Exclude<
    Extract<Fact, { readonly currency: string; readonly amount: number }>,
    FactOf<"currency.uncounted">
  >,
): FurtherChange => {
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
export const withFreezes = (
  further: FurtherChange | undefined,
  { amount, key, kind, total }: Extract<Fact, { readonly kind: `streak.freezes_${string}` }>,
): FurtherChange => {
  const before = further?.freezes ?? {}
  const known = Object.hasOwn(before, key) ? before[key]! : { earned: 0, total }
  if (kind === "streak.freezes_capped") {
    const capped = (known.capped ?? 0) + amount
    return { ...further, freezes: { ...before, [key]: { ...known, total, capped } } }
  }
  const change = kind === "streak.freezes_earned" ? amount : -amount
  const earned = known.earned + change
  return { ...further, freezes: { ...before, [key]: { ...known, earned, total } } }
}
