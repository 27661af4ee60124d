/** Decides the commands on currencies. `Draft.ts` credits them, `Revocation.ts` spends them. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { type Currency, currencyDefaults, isBuiltIn, type Refill } from "../project/Currency.ts"
import {
  firstVersion,
  type New,
  nextVersion,
  type Replacement,
  type Status,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { withRefillBefore } from "../user/Refill.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  laurelError,
  quotaExceeded,
  refuse,
} from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import { claimedKey, currencyInUse, mergedPart, metadataFaults } from "./definitionChecks.ts"
import { archived, archivedCannotChange, liveCount } from "./Lifecycle.ts"

/** A merge patch of a currency. */
export interface CurrencyChange
  extends Partial<Pick<Currency, "name" | "description" | "spendable" | "max" | "pendingDays">> {
  /** Merged member by member. */
  readonly earnLimit?: Partial<NonNullable<Currency["earnLimit"]>> | null
  readonly refill?: Partial<Refill> | null
  readonly metadata?: Metadata | null
  readonly status?: Extract<Status, "active" | "archived">
}

/** A currency without the members that have defaults. */
type SomeOf<A extends object> = Partial<Pick<A, keyof A & keyof typeof currencyDefaults>> &
  Omit<A, keyof typeof currencyDefaults>

export type CurrencyReplacement = SomeOf<Replacement<Currency>>

export type CurrencyCommand =
  | { readonly kind: "createCurrency"; readonly currency: SomeOf<New<Currency>> }
  | (Conditional & {
      readonly kind: "updateCurrency"
      readonly currencyId: string
      readonly change: CurrencyChange
    })
  /** Archives the currency. */
  | (Conditional & { readonly kind: "deleteCurrency"; readonly currencyId: string })

type CommandOf<Kind> = Extract<CurrencyCommand, { readonly kind: Kind }>

export const createCurrency = (
  state: ProjectState,
  { currency: given }: CommandOf<"createCurrency">,
  now: number,
): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> => {
  const { currencies } = state
  const key = claimedKey(currencies, "currency", given.key, given.name)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const currency: Currency = {
    ...currencyDefaults,
    set: "published",
    ...given,
    key: key.success,
    ...firstVersion(now),
  }
  const faults = faultsOf(currency)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  const live = liveCount(currencies)
  if (live >= limits.currenciesMax) {
    return quotaExceeded(limits.currenciesMax, "currencies per environment")
  }
  if (currencies.size - live >= limits.archivedCurrenciesMax) {
    return quotaExceeded(limits.archivedCurrenciesMax, "archived currencies per environment")
  }
  return Result.succeed([{ kind: "currency.created", currency }])
}

export const updateCurrency = (
  state: ProjectState,
  {
    change: { earnLimit, metadata, refill, status, ...change },
    currencyId,
  }: CommandOf<"updateCurrency">,
  now: number,
): Decided<"currency_not_found" | "invalid_request" | "invalid_transition" | "in_use"> => {
  const currency = definitionOf(state.currencies, currencyId)
  if (currency === undefined) return notFound
  if (currency.set === "archived") return archivedCannotChange
  const missing: Array<Fault> = []
  const changed: Currency = {
    ...currency,
    ...change,
    earnLimit: mergedPart(currency.earnLimit, earnLimit, ["amount", "per"], "/earnLimit", missing),
    refill: mergedPart(currency.refill, refill, ["amount", "everyMinutes"], "/refill", missing),
    metadata: patchedMetadata(currency.metadata, metadata),
    ...nextVersion(currency, now),
  }
  const faults = [...missing, ...faultsOf(changed)]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (status !== "archived") return updated(withRefillBefore(currency, changed, now))
  const refusal = archiveRefusal(state, currency)
  return refusal === undefined ? updated({ ...changed, set: "archived" }) : Result.fail(refusal)
}

export const deleteCurrency = (
  state: ProjectState,
  { currencyId }: CommandOf<"deleteCurrency">,
  now: number,
): Decided<"currency_not_found" | "in_use"> => {
  const currency = definitionOf(state.currencies, currencyId)
  if (currency === undefined || currency.set === "archived") return notFound
  const refusal = archiveRefusal(state, currency)
  return refusal === undefined ? updated(archived(currency, now)) : Result.fail(refusal)
}

/** Replaces `before` by `members`. No facts if both are equal. */
export const replaceCurrency = (
  before: Currency,
  { id: _, set: __, ...members }: CurrencyReplacement,
  now: number,
): Decided<"invalid_request"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const changed: Currency = {
    ...before,
    ...currencyDefaults,
    ...members,
    ...nextVersion(before, now),
  }
  if (noChange(before, changed)) return Result.succeed([])
  const faults = faultsOf(changed)
  return faults.length > 0
    ? Result.fail(invalidRequest(faults))
    : updated(withRefillBefore(before, changed, now))
}

const updated = (currency: Currency) =>
  Result.succeed([{ kind: "currency.updated", currency } as const])

const archiveRefusal = (state: ProjectState, currency: Currency) =>
  isBuiltIn(currency) ? builtInUse(currency) : currencyInUse(state, currency.key)

const builtInUse = ({ key }: Currency): LaurelError<"in_use"> =>
  laurelError("in_use", `The currency ${key} always exists and cannot be archived.`)

const faultsOf = (currency: Currency): ReadonlyArray<Fault> => {
  const faults = [...metadataFaults(currency.metadata)]
  if (isBuiltIn(currency) && currency.spendable !== (currency.key === "points")) {
    const detail = currency.spendable ? "must be false: xp cannot be spent" : "must be true"
    faults.push({ pointer: "/spendable", code: "invalid_value", detail })
  }
  if (currency.pendingDays !== null && !currency.spendable) {
    const detail = "is only for a spendable currency"
    faults.push({ pointer: "/pendingDays", code: "not_allowed", detail })
  }
  if (currency.refill !== null) faults.push(...refillFaults(currency))
  return faults
}

const refillFaults = (currency: Currency): ReadonlyArray<Fault> => {
  if (isBuiltIn(currency)) {
    return [
      { pointer: "/refill", code: "not_allowed", detail: `is not allowed for ${currency.key}` },
    ]
  }
  if (currency.max === null) {
    return [{ pointer: "/max", code: "missing", detail: "is required with refill" }]
  }
  if (currency.max <= limits.refillMaxMax) return []
  const detail = `must be at most ${limits.refillMaxMax} with refill`
  return [{ pointer: "/max", code: "out_of_range", detail }]
}

const notFound = refuse("currency_not_found", "No currency of this project has this id or key.")
