/**
 * The limit of `contains` conditions per action. One search of 16 KiB of text takes up to 0.1 ms,
 * so without a limit one event could block the event loop for seconds. All other conditions cost at
 * most 0.1 µs.
 */
import { limits } from "../../Limits.ts"
import { type Condition, isCounting } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fault } from "../values/Errors.ts"

/**
 * The conditions of a definition on events with `action`. `pointer` is their place in the request.
 */
export interface Clause {
  readonly action: string
  readonly where: ReadonlyArray<Condition>
  readonly pointer: string
}

/**
 * The faults of clauses that add a new `contains` condition to an action with too many different
 * ones. All definitions count that are not archived. `clauses` replace the
 * clauses of the definition `id`.
 */
export const textSearchFaults = (
  state: ProjectState,
  id: string,
  clauses: ReadonlyArray<Clause>,
): ReadonlyArray<Fault> => {
  if (!clauses.some(({ where }) => where.some(isContains))) return []
  return clauses.flatMap(({ action, pointer, where }) => {
    const before = new Set<string>()
    const after = new Set<string>()
    for (const clause of clausesOf(state)) {
      if (clause.action !== action) continue
      addSearches(before, clause.where)
      if (clause.id !== id) addSearches(after, clause.where)
    }
    for (const clause of clauses) if (clause.action === action) addSearches(after, clause.where)
    const own = new Set<string>()
    addSearches(own, where)
    const isMore = after.size > Math.max(before.size, limits.textSearchesOfActionMax)
    if (!isMore || own.isSubsetOf(before)) return []
    const detail = `exceeds ${limits.textSearchesOfActionMax} different \`contains\` conditions on the action`
    return [{ pointer, code: "too_long", detail }]
  })
}

const isContains = ({ op }: Condition): boolean => op === "contains"

const addSearches = (searches: Set<string>, where: ReadonlyArray<Condition>): void => {
  for (const one of where) if (isContains(one)) searches.add(JSON.stringify([one.path, one.value]))
}

function* clausesOf({
  badges,
  metrics,
  quests,
  rules,
}: ProjectState): Generator<Pick<Clause, "action" | "where"> & { readonly id: string }> {
  for (const rule of rules.values()) if (rule.set !== "archived") yield rule
  for (const { id, set, steps } of quests.values()) {
    if (set === "archived") continue
    for (const { action, where } of steps) if (action !== undefined) yield { id, action, where }
  }
  for (const { actions, id, set, where } of metrics.values()) {
    if (set === "archived") continue
    for (const action of actions) yield { id, action, where }
  }
  for (const { criteria, id, set } of badges.values()) {
    if (set === "archived" || !isCounting(criteria)) continue
    yield { id, action: criteria.action, where: criteria.where }
  }
}
