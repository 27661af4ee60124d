/**
 * Checks between definitions: a reference must match a definition, and protects the definition from
 * removal; the number of text searches of an action is bounded.
 */

import { limits } from "../../Limits.ts"
import type { Condition, Quest } from "../project/Definition.ts"
import { isCounting } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, type LaurelError, laurelError } from "../values/Errors.ts"

const unknownReference = (pointer: string, detail: string): ReadonlyArray<Fault> => [
  { pointer, code: "unknown_reference", detail },
]

const noFaults: ReadonlyArray<Fault> = []

/** The fault of a `badgeId` in the reward of a rule or a quest. */
export const badgeReferenceFaults = (
  { badges }: ProjectState,
  badgeId: string | null,
  pointer: string,
): ReadonlyArray<Fault> => {
  if (badgeId === null) return noFaults
  const badge = badges.get(badgeId)
  if (badge === undefined) return unknownReference(pointer, "matches no badge of this project")
  return badge.archived ? unknownReference(pointer, "matches an archived badge") : noFaults
}

/** The faults of the prerequisites of `quest`. */
export const prerequisiteFaults = (
  state: ProjectState,
  { id, prerequisites }: Pick<Quest, "id" | "prerequisites">,
): ReadonlyArray<Fault> =>
  prerequisites.flatMap((prerequisite, index) => {
    const pointer = `/prerequisites/${index}`
    const quest = state.quests.get(prerequisite)
    if (quest === undefined) return unknownReference(pointer, "matches no quest of this project")
    if (quest.set === "archived") {
      return unknownReference(pointer, "matches an archived quest")
    }
    return leadsTo(state, prerequisite, id)
      ? [{ pointer, code: "cycle", detail: "leads back to this quest" }]
      : noFaults
  })

/** Whether `to` is a direct or indirect prerequisite of `from`; visits each quest once. */
const leadsTo = ({ quests }: ProjectState, from: string, to: string): boolean => {
  const seen = new Set([from])
  for (const id of seen) {
    if (id === to) return true
    for (const next of quests.get(id)?.prerequisites ?? []) seen.add(next)
  }
  return false
}

const shownMax = 5

type InUse = LaurelError<"in_use">

/** The refusal to remove a definition that `referrers` use. */
const inUse = (thing: string, referrers: ReadonlyArray<string>): InUse | undefined => {
  if (referrers.length === 0) return undefined
  const more = referrers.length - shownMax
  const shown = referrers.slice(0, shownMax).join(", ")
  const names = more > 0 ? `${shown} and ${more} more` : shown
  return laurelError("in_use", `The ${thing} is used by ${names}. Change or delete these first.`)
}

const nameQuest = ({ id, title }: Quest): string => `quest ${id} (${title})`

const liveQuests = ({ quests }: ProjectState, refers: (quest: Quest) => boolean) =>
  [...quests.values()].filter((quest) => quest.set !== "archived" && refers(quest)).map(nameQuest)

/** The refusal to archive a badge that rules or quests give. */
export const badgeInUse = (state: ProjectState, badgeId: string): InUse | undefined =>
  inUse("badge", [
    ...[...state.rules.values()]
      .filter(({ reward }) => reward.badgeId === badgeId)
      .map(({ action, id }) => `rule ${id} (${action})`),
    ...liveQuests(state, ({ reward }) => reward.badgeId === badgeId),
  ])

/** The refusal to archive a prerequisite: the quests that need it could never be completed. */
export const questInUse = (state: ProjectState, questId: string): InUse | undefined =>
  inUse(
    "quest",
    liveQuests(state, ({ prerequisites }) => prerequisites.includes(questId)),
  )

/**
 * The refusal to remove streaks that badges depend on. `kept` are the keys of the remaining
 * streaks.
 */
export const streaksInUse = (
  { badges }: ProjectState,
  kept: ReadonlySet<string>,
): InUse | undefined =>
  inUse(
    "streak",
    [...badges.values()]
      .filter(
        ({ archived, criteria }) =>
          !archived &&
          criteria.kind === "streak" &&
          criteria.streak !== null &&
          !kept.has(criteria.streak),
      )
      .map(({ id, name }) => `badge ${id} (${name})`),
  )

/** The fault of a badge's reference to a streak. */
export const streakReferenceFaults = (
  { settings }: ProjectState,
  key: string | null,
  pointer: string,
): ReadonlyArray<Fault> =>
  key === null || settings.streaks.some((streak) => streak.key === key)
    ? noFaults
    : unknownReference(pointer, "matches no streak of this project")

/*
 * The limit of `contains` conditions per action. One search of 16 KiB of text takes up to 0.1 ms,
 * so without a limit one event could block the event loop for seconds. All other conditions cost at
 * most 0.1 µs.
 */

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
 * ones. All rules count, and all quests and badges that are not archived. `clauses` replace the
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
  quests,
  rules,
}: ProjectState): Generator<Pick<Clause, "action" | "where"> & { readonly id: string }> {
  yield* rules.values()
  for (const { id, set, steps } of quests.values()) {
    if (set === "archived") continue
    for (const { action, where } of steps) yield { id, action, where }
  }
  for (const { archived, criteria, id } of badges.values()) {
    if (archived || !isCounting(criteria)) continue
    yield { id, action: criteria.action, where: criteria.where }
  }
}

/** The fault of a target that is too large for an exact sum. */
export const sumTargetFaults = (
  { sumPath, target = 0 }: { readonly sumPath?: string; readonly target?: number },
  pointer: string,
): ReadonlyArray<Fault> => {
  if (sumPath === undefined || target <= limits.sumTargetMax) return []
  const detail = `must be at most ${limits.sumTargetMax} where numbers are summed`
  return [{ pointer, code: "out_of_range", detail }]
}
