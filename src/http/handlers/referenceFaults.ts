/** The faults of references in the bodies of definitions. */
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import {
  badgeMetricFaults,
  badgeReferenceFaults,
  boostReferenceFaults,
  currencyFaults,
  currencyReferenceFaults,
  freezeReferenceFaults,
  listedBadgeFaults,
  metricReferenceFaults,
  prerequisiteFaults,
  rankedFaults,
  segmentReferenceFaults,
  streakReferenceFaults,
} from "../../domain/decide/definitionChecks.ts"
import { priceFaults } from "../../domain/decide/ItemDefinitions.ts"
import type { Amounts } from "../../domain/project/Currency.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { Fault } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { memberOf } from "./Shapes.ts"

/** The faults of references in the body of a rule, quest, badge, boost, leaderboard or item, for `Operation.moreFaults`. */
export const referenceFaults =
  (engine: Engine["Service"]) =>
  (body: unknown, { environment }: Caller): ReadonlyArray<Fault> => {
    const state = Effect.runSync(engine.readProject(environment))
    const faults: Array<Fault> = []
    const badgeId = memberOf(memberOf(body, "reward"), "badgeId")
    if (typeof badgeId === "string") {
      faults.push(...badgeReferenceFaults(state, badgeId, "/reward/badgeId"))
    }
    const currencies = memberOf(body, "currencies")
    if (Array.isArray(currencies)) {
      const keys = currencies.slice(0, limits.boostCurrenciesMax)
      if (keys.every((key) => typeof key === "string")) {
        faults.push(...currencyFaults(state, keys, "/currencies"))
      }
    }
    const paid = memberOf(memberOf(body, "reward"), "currencies")
    if (typeof paid === "object" && paid !== null && !Array.isArray(paid)) {
      const named = Object.entries(paid).filter(([, amount]) => amount !== null)
      const amounts = Object.fromEntries(named.slice(0, limits.currenciesMax)) as Amounts
      faults.push(...currencyReferenceFaults(state, amounts, "/reward/currencies"))
    }
    const gift = memberOf(memberOf(body, "reward"), "boost")
    const key = memberOf(gift, "key")
    if (typeof key === "string") {
      faults.push(...boostReferenceFaults(state, { key, minutes: 0 }, "/reward/boost/key"))
    }
    const frozen = memberOf(memberOf(body, "reward"), "freezes")
    if (typeof frozen === "object" && frozen !== null && !Array.isArray(frozen)) {
      const named = Object.entries(frozen).filter(([, amount]) => amount !== null)
      const amounts = Object.fromEntries(named.slice(0, limits.streaksMax)) as Amounts
      faults.push(...freezeReferenceFaults(state, amounts, "/reward/freezes"))
    }
    const criteria = memberOf(body, "criteria")
    const streak = memberOf(criteria, "streak")
    if (memberOf(criteria, "kind") === "streak" && typeof streak === "string") {
      faults.push(...streakReferenceFaults(state, streak, "/criteria/streak"))
    }
    faults.push(...scoreFaults(state, memberOf(body, "score")))
    const compared = memberOf(body, "metric")
    if (typeof compared === "string")
      faults.push(...metricReferenceFaults(state, compared, "/metric"))
    faults.push(...pricedFaults(state, memberOf(body, "price")))
    const segment = memberOf(body, "segment")
    if (typeof segment === "string") faults.push(...segmentReferenceFaults(state, segment))
    const steps = memberOf(body, "steps")
    if (Array.isArray(steps)) {
      for (const [index, step] of steps.slice(0, limits.questStepsMax).entries()) {
        const metric = memberOf(step, "metric")
        if (typeof metric !== "string") continue
        faults.push(...metricReferenceFaults(state, metric, `/steps/${index}/metric`))
      }
    }
    const metric = memberOf(criteria, "metric")
    if (memberOf(criteria, "kind") === "metric" && typeof metric === "string") {
      faults.push(...badgeMetricFaults(state, metric, "/criteria/metric"))
    }
    faults.push(
      ...namedFaults(body, "prerequisites", limits.prerequisitesMax, (name) =>
        prerequisiteFaults(state, { key: "", prerequisites: [name] }),
      ),
    )
    if (memberOf(criteria, "kind") === "badges") {
      faults.push(
        ...namedFaults(criteria, "badges", limits.listedBadgesMax, (name) =>
          listedBadgeFaults(state, "", [name]),
        ).map((fault) => ({ ...fault, pointer: `/criteria${fault.pointer}` })),
      )
    }
    return faults
  }

/** The faults of what a leaderboard ranks by. */
const scoreFaults = (state: ProjectState, score: unknown): ReadonlyArray<Fault> => {
  const currency = memberOf(score, "currency")
  if (typeof currency === "string") return rankedFaults(state, { currency })
  const metric = memberOf(score, "metric")
  if (typeof metric === "string") return rankedFaults(state, { metric })
  const streak = memberOf(score, "streak")
  return typeof streak === "string" ? rankedFaults(state, { streak }) : []
}

/** The faults of the currencies of a price of any form. */
const pricedFaults = (state: ProjectState, price: unknown): ReadonlyArray<Fault> => {
  if (typeof price !== "object" || price === null || Array.isArray(price)) return []
  const named = Object.entries(price).filter(([, amount]) => amount !== null)
  const amounts = Object.fromEntries(named.slice(0, limits.itemPricesMax)) as Amounts
  return priceFaults(state, amounts)
}

/** The faults of the texts of a list, at most `max` of them. */
const namedFaults = (
  body: unknown,
  member: string,
  max: number,
  faultsOf: (name: string) => ReadonlyArray<Fault>,
): ReadonlyArray<Fault> => {
  const names = memberOf(body, member)
  return (Array.isArray(names) ? names.slice(0, max) : []).flatMap((name, index) =>
    typeof name === "string"
      ? faultsOf(name).map((fault) => ({ ...fault, pointer: `/${member}/${index}` }))
      : [],
  )
}
