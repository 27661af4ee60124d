/** Decides the commands on quests. `Quests.ts` advances users by events. */

import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { Gives } from "../project/Definition.ts"
import {
  firstVersion,
  nextVersion,
  type Quest,
  type QuestStatus,
  questStatusAt,
  type Unversioned,
  type Versioned,
} from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  quotaExceeded,
  refuse,
} from "../values/Errors.ts"
import { type Metadata, metadataFault } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import {
  badgeReferenceFaults,
  prerequisiteFaults,
  questInUse,
  sumTargetFaults,
  textSearchFaults,
} from "./definitionChecks.ts"

/* JSON merge patch (RFC 7396). The caller bounds the depth. */

const isObject = (value: unknown): value is Metadata =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** `target` with the members of `patch`: null removes a member, objects are merged recursively. */
export const mergePatch = (target: Metadata, patch: Metadata): Metadata => {
  const members = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key)
    else if (isObject(value)) {
      const before = members.get(key)
      members.set(key, mergePatch(isObject(before) ? before : {}, value))
    } else members.set(key, value)
  }
  // `fromEntries` defines members, so `__proto__` is an ordinary member.
  return Object.fromEntries(members)
}

/** A merge patch of a quest. `reward` and `metadata` are merged. */
export interface QuestChange
  extends Partial<Omit<Quest, "id" | "set" | "reward" | "metadata" | keyof Versioned>> {
  readonly reward?: Partial<Gives>
  readonly metadata?: Metadata | null
  readonly status?: QuestStatus
}

export type QuestCommand =
  | { readonly kind: "createQuest"; readonly quest: Unversioned<Quest> }
  | (Conditional & {
      readonly kind: "updateQuest"
      readonly questId: string
      readonly change: QuestChange
    })
  /** Archives the quest. */
  | (Conditional & { readonly kind: "deleteQuest"; readonly questId: string })

type CommandOf<Kind> = Extract<QuestCommand, { readonly kind: Kind }>

export const createQuest = (
  state: ProjectState,
  command: CommandOf<"createQuest">,
  now: number,
): Decided<"invalid_request" | "quota_exceeded"> => {
  const quest = { ...command.quest, ...firstVersion(now) }
  const over: ReadonlyArray<Fault> =
    quest.endsAt !== null && quest.endsAt <= now
      ? [{ pointer: "/endsAt", code: "out_of_range", detail: "must be in the future" }]
      : []
  const faults = [...over, ...questFaults(state, quest)]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  let live = 0
  for (const { set } of state.quests.values()) if (set !== "archived") live++
  if (live >= limits.questsMax) {
    return quotaExceeded(limits.questsMax, "quests per environment")
  }
  return Result.succeed([{ kind: "quest.created", quest }])
}

export const updateQuest = (
  state: ProjectState,
  { change: { metadata, reward, status, ...change }, questId }: CommandOf<"updateQuest">,
  now: number,
): Decided<"quest_not_found" | "invalid_request" | "invalid_transition" | "in_use"> => {
  const quest = state.quests.get(questId)
  if (quest === undefined) return notFound
  if (quest.set === "archived") return cannot("An archived quest cannot change.")
  const changed: Quest = {
    ...quest,
    ...change,
    reward: { ...quest.reward, ...reward },
    metadata: metadata === null ? {} : mergePatch(quest.metadata, metadata ?? {}),
    ...nextVersion(quest, now),
  }
  const faults = questFaults(state, changed)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (status === "archived") {
    const refusal = questInUse(state, quest.id)
    if (refusal !== undefined) return Result.fail(refusal)
  }
  return Result.map(moved(changed, status, now), (set) => [
    { kind: "quest.updated", quest: published(quest, { ...changed, set }, now) },
  ])
}

/**
 * The quest after an edit, with the time of its publication, and of each step that was added after
 * it.
 */
const published = (before: Quest, quest: Quest, now: number): Quest => {
  if (before.set === "draft") {
    return quest.set === "published" ? { ...quest, publishedAt: now } : quest
  }
  return { ...quest, steps: datedSteps(before, quest.steps, now) }
}

/** Dates new steps. A step that counts other events than before is new. */
const datedSteps = (before: Quest, steps: Quest["steps"], now: number): Quest["steps"] =>
  steps.map(({ since: _, ...step }) => {
    const known = before.steps.find(({ key }) => key === step.key)
    if (known === undefined) return { ...step, since: now }
    const { since, ...counted } = known
    if (!noChange({ ...counted, target: 0 }, { ...step, target: 0 })) return { ...step, since: now }
    return since === undefined ? step : { ...step, since }
  })

export const deleteQuest = (
  state: ProjectState,
  { questId }: CommandOf<"deleteQuest">,
  now: number,
): Decided<"quest_not_found" | "in_use"> => {
  const quest = state.quests.get(questId)
  if (quest === undefined || quest.set === "archived") return notFound
  const refusal = questInUse(state, questId)
  return refusal === undefined
    ? Result.succeed([
        { kind: "quest.updated", quest: { ...quest, set: "archived", ...nextVersion(quest, now) } },
      ])
    : Result.fail(refusal)
}

/** Replaces `before` by `members`, with the status `set` if given. No facts if both are equal. */
export const replaceQuest = (
  state: ProjectState,
  before: Quest,
  { set, ...members }: Omit<Unversioned<Quest>, "set"> & { readonly set: Quest["set"] | undefined },
  now: number,
): Decided<"invalid_request" | "invalid_transition"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const changed: Quest = { ...before, ...members, ...nextVersion(before, now) }
  const edited = published(before, { ...changed, set: set ?? before.set }, now)
  if (noChange(before, edited)) return Result.succeed([])
  const faults = questFaults(state, changed)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  const status = set === "published" ? "active" : set
  const moving = set === before.set ? undefined : status
  return Result.map(moved(changed, moving, now), () => [{ kind: "quest.updated", quest: edited }])
}

const questFaults = (state: ProjectState, quest: Quest): ReadonlyArray<Fault> => {
  const { endsAt, id, metadata, reward, startsAt, steps } = quest
  const faults: Array<Fault> = []
  if (startsAt !== null && endsAt !== null && endsAt <= startsAt) {
    faults.push({ pointer: "/endsAt", code: "out_of_range", detail: "must be after startsAt" })
  }
  const ofMetadata = metadataFault(metadata)
  if (ofMetadata !== undefined) faults.push({ pointer: "/metadata", ...ofMetadata })
  faults.push(...badgeReferenceFaults(state, reward.badgeId, "/reward/badgeId"))
  faults.push(...prerequisiteFaults(state, quest))
  faults.push(...steps.flatMap((step, index) => sumTargetFaults(step, `/steps/${index}/target`)))
  const clauses = steps.map((step, index) => ({ ...step, pointer: `/steps/${index}/where` }))
  faults.push(...textSearchFaults(state, id, clauses))
  return faults
}

/** The stored status with which `quest` has the status `to`, or the refusal. */
const moved = (
  quest: Quest,
  to: QuestStatus | undefined,
  now: number,
): Result.Result<Quest["set"], LaurelError<"invalid_transition">> => {
  const from = questStatusAt(quest, now)
  if (to === undefined || to === from) return Result.succeed(quest.set)
  switch (to) {
    case "archived":
      return Result.succeed("archived")
    case "active":
      if (from === "scheduled") return cannot(`${begin(from, to)} It starts at startsAt.`)
      if (questStatusAt({ ...quest, set: "published" }, now) === "ended") {
        return cannot(`${begin(from, to)} Its endsAt has passed.`)
      }
      return Result.succeed("published")
    case "paused":
      return from === "active"
        ? Result.succeed("paused")
        : cannot(`${begin(from, to)} Only an active quest can be paused.`)
    case "draft":
      return cannot(`${begin(from, to)} Pause or archive it instead.`)
    case "scheduled":
    case "ended":
      return cannot(`${begin(from, to)} The clock sets this status: change startsAt or endsAt.`)
  }
}

const begin = (from: QuestStatus, to: QuestStatus): string =>
  `A quest cannot change from ${from} to ${to}.`

const notFound = refuse("quest_not_found", "No quest of this project has this id.")
const cannot = (detail: string) => refuse("invalid_transition", detail)
