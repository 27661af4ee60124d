import { Effect } from "effect"
import { makeId } from "../../accounts/KeyText.ts"
import type { CurrencyChange } from "../../domain/decide/CurrencyDefinitions.ts"
import type { Currency } from "../../domain/project/Currency.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Currencies, CurrencyPatch, NewCurrency } from "../api/Currencies.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { definitionOperations, isOfStatus, type StatusQuery } from "./definitionOperations.ts"
import { factOf, named, newMembers } from "./Shapes.ts"

export const currencyHandlers = (engine: Engine["Service"]): Handlers<typeof Currencies> =>
  definitionOperations(engine, {
    plural: "currencies",
    definitionsOf: ({ currencies }) => currencies,
    find: (all, idOrKey) => definitionOf(all, idOrKey),
    isListed: (currency, query: StatusQuery, now) => isOfStatus(currency, query, now),
    notFound: laurelError("currency_not_found", "No currency of this project has this id or key."),
    moreFaults: () => [],
    show: showCurrency,
    showFound: (currency) => Effect.succeed(showCurrency(currency)),
    create: (payload: typeof NewCurrency.Type) =>
      ({ kind: "createCurrency", currency: newCurrency(payload, makeId("cur")) }) as const,
    showCreated: (record) => showCurrency(factOf(record, "currency.created").currency),
    update: (currencyId, payload: typeof CurrencyPatch.Type) =>
      ({ kind: "updateCurrency", currencyId, change: currencyChange(payload) }) as const,
    showUpdated: (record) => showCurrency(factOf(record, "currency.updated").currency),
    delete: (currencyId) => ({ kind: "deleteCurrency", currencyId }) as const,
  })

export const newCurrency = (payload: typeof NewCurrency.Type, id: string) => {
  const { earnLimit = null, max = null, name, pendingDays = null, refill = null } = payload
  const { spendable = id !== "cur_xp" } = payload
  return { id, ...newMembers(payload), name, spendable, max, earnLimit, refill, pendingDays }
}

/** The change of a currency to the one that `payload` describes. Key and metadata stay. */
export const currencyReplacement = (payload: typeof NewCurrency.Type): CurrencyChange => {
  const currency = newCurrency(payload, "")
  const { description, earnLimit, max, name, pendingDays, refill, spendable } = currency
  return { description, earnLimit, max, name, pendingDays, refill, spendable }
}

const currencyChange = ({ spendable, ...patch }: typeof CurrencyPatch.Type): CurrencyChange =>
  named({ ...patch, spendable: spendable === null ? true : spendable })

const showCurrency = (currency: Currency) => {
  const { createdAt, description, earnLimit, id, key, max, metadata, name, set, spendable } =
    currency
  const { pendingDays, refill, updatedAt, version } = currency
  return {
    id,
    key,
    name,
    description,
    metadata,
    status: set === "archived" ? ("archived" as const) : ("active" as const),
    spendable,
    max,
    earnLimit,
    refill,
    pendingDays,
    version,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }
}
