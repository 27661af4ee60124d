/** Decides the commands on items. `Purchases.ts` sells them. */

import { limits } from "../../Limits.ts"
import { type Amounts, activeCurrency } from "../project/Currency.ts"
import { changedReward, type New, type RewardChange, type Status } from "../project/Definition.ts"
import { type Item, itemDefaults } from "../project/Item.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { LimitPeriod } from "../values/Periods.ts"
import {
  currencyReferenceFaults,
  givenReferenceFaults,
  mergedPart,
  metadataFaults,
  segmentReferenceFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"

/** A merge patch of an item. */
export interface ItemChange
  extends Partial<
    Pick<Item, "name" | "description" | "stock" | "startsAt" | "endsAt" | "segment">
  > {
  readonly limit?: { readonly times?: number; readonly per?: LimitPeriod } | null
  /** Amounts that are merged; null removes one. */
  readonly price?: { readonly [key: string]: number | null }
  readonly reward?: RewardChange
  readonly status?: Status
  readonly metadata?: Metadata | null
}

type Defaulted = "limit" | "stock"

/** An item without the members that have defaults. */
type NewItem = Partial<Pick<Item, Defaulted>> & Omit<New<Item>, Defaulted>

export const items = new Decisions<"item", NewItem, ItemChange>({
  noun: "item",
  max: limits.itemsMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...itemDefaults, ...given }),
  changed: (before, { limit, price, reward, ...change }, faults) => ({
    ...change,
    limit: patchedLimit(before.limit, limit, faults),
    price: patchedPrice(before.price, price),
    reward: changedReward(before.reward, reward),
  }),
  faults: (state, item) => [
    ...periodFaults(item),
    ...metadataFaults(item.metadata),
    ...segmentReferenceFaults(state, item.segment),
    ...faultsOf(state, item),
    ...givenReferenceFaults(state, item.reward, "/reward", () => false),
  ],
})

const patchedLimit = (
  before: Item["limit"],
  change: ItemChange["limit"],
  faults: Array<Fault>,
): Item["limit"] => {
  const per = change?.per ?? before?.per ?? "ever"
  const whole = change && { ...change, per }
  return mergedPart(before, whole, ["times", "per"], "/limit", faults)
}

const patchedPrice = (before: Item["price"], patch: ItemChange["price"]): Item["price"] =>
  patch === undefined
    ? before
    : Object.fromEntries(
        Object.entries({ ...before, ...patch }).filter(
          (entry): entry is [string, number] => entry[1] !== null,
        ),
      )

const faultsOf = (state: ProjectState, { price }: Item): ReadonlyArray<Fault> => {
  const keys = Object.keys(price)
  const faults = [...priceFaults(state, price)]
  if (keys.length === 0) {
    faults.push({ pointer: "/price", code: "too_short", detail: "must have at least one amount" })
  }
  if (keys.length > limits.itemPricesMax) {
    const detail = `must have at most ${limits.itemPricesMax} currencies`
    faults.push({ pointer: "/price", code: "too_long", detail })
  }
  return faults
}

/** The faults of the currencies of a price. */
export const priceFaults = (state: ProjectState, price: Amounts): ReadonlyArray<Fault> => [
  ...currencyReferenceFaults(state, price, "/price"),
  ...Object.keys(price).flatMap((key) => {
    if (activeCurrency(state.currencies, key)?.spendable !== false) return []
    const detail = "matches a currency that cannot be spent"
    return [{ pointer: `/price/${key}`, code: "not_allowed", detail }]
  }),
]
