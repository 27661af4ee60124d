/** Decides the commands on segments. `Membership.ts` tells who is in them. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  defaults,
  firstVersion,
  type New,
  nextVersion,
  type Replacement,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Segment, type SegmentCondition, segmentConditionNames } from "../project/Segment.ts"
import { conditionKinds } from "../user/Membership.ts"
import { type Fault, invalidRequest, quotaExceeded, refuse } from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import { claimedKey, metadataFaults, segmentInUse } from "./definitionChecks.ts"
import { archived, archivedCannotChange, liveCount } from "./Lifecycle.ts"

/** A merge patch of a segment. */
export interface SegmentChange
  extends Partial<Pick<Segment, "name" | "description" | "match" | "conditions">> {
  readonly metadata?: Metadata | null
  readonly status?: "active" | "archived"
}

export type SegmentReplacement = Replacement<Segment>

export type SegmentCommand =
  | { readonly kind: "createSegment"; readonly segment: New<Segment> }
  | (Conditional & {
      readonly kind: "updateSegment"
      readonly segmentId: string
      readonly change: SegmentChange
    })
  /** Archives the segment. */
  | (Conditional & { readonly kind: "deleteSegment"; readonly segmentId: string })

type CommandOf<Kind> = Extract<SegmentCommand, { readonly kind: Kind }>

export const createSegment = (
  state: ProjectState,
  command: CommandOf<"createSegment">,
  now: number,
  known?: KnownBadges,
): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> => {
  const { key: given, name } = command.segment
  const key = claimedKey(state.segments, "segment", given, name)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const segment: Segment = {
    ...defaults,
    set: "published",
    ...command.segment,
    key: key.success,
    ...firstVersion(now),
  }
  const faults = segmentFaults(state, segment, known)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (liveCount(state.segments) >= limits.segmentsMax) {
    return quotaExceeded(limits.segmentsMax, "segments per environment")
  }
  return Result.succeed([{ kind: "segment.created", segment }])
}

export const updateSegment = (
  state: ProjectState,
  { change: { metadata, status, ...change }, segmentId }: CommandOf<"updateSegment">,
  now: number,
): Decided<"segment_not_found" | "invalid_request" | "invalid_transition" | "in_use"> => {
  const segment = definitionOf(state.segments, segmentId)
  if (segment === undefined) return notFound
  if (segment.set === "archived") return archivedCannotChange
  const changed: Segment = {
    ...segment,
    ...change,
    metadata: patchedMetadata(segment.metadata, metadata),
    ...nextVersion(segment, now),
  }
  const faults = segmentFaults(state, changed)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (status !== "archived") return Result.succeed([{ kind: "segment.updated", segment: changed }])
  const refusal = segmentInUse(state, segment.key)
  return refusal === undefined
    ? Result.succeed([{ kind: "segment.updated", segment: { ...changed, set: "archived" } }])
    : Result.fail(refusal)
}

export const deleteSegment = (
  state: ProjectState,
  { segmentId }: CommandOf<"deleteSegment">,
  now: number,
): Decided<"segment_not_found" | "in_use"> => {
  const segment = definitionOf(state.segments, segmentId)
  if (segment === undefined || segment.set === "archived") return notFound
  const refusal = segmentInUse(state, segment.key)
  if (refusal !== undefined) return Result.fail(refusal)
  return Result.succeed([{ kind: "segment.updated", segment: archived(segment, now) }])
}

/** Replaces `before` by `members`. No facts if both are equal. */
export const replaceSegment = (
  state: ProjectState,
  before: Segment,
  { id: _, set: __, ...members }: SegmentReplacement,
  now: number,
  known?: KnownBadges,
): Decided<"invalid_request"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const changed: Segment = { ...before, ...defaults, ...members, ...nextVersion(before, now) }
  if (noChange(before, changed)) return Result.succeed([])
  const faults = segmentFaults(state, changed, known)
  return faults.length > 0
    ? Result.fail(invalidRequest(faults))
    : Result.succeed([{ kind: "segment.updated", segment: changed }])
}

/** The keys of badges that a file of definitions makes later, which conditions may name already. */
export type KnownBadges = ReadonlySet<string>

const segmentFaults = (
  state: ProjectState,
  { conditions, metadata }: Segment,
  known?: KnownBadges,
): ReadonlyArray<Fault> => [
  ...metadataFaults(metadata),
  ...conditionFaults(state, conditions, "/conditions", known),
]

/** The faults of the conditions of a segment. */
export const conditionFaults = (
  state: ProjectState,
  conditions: ReadonlyArray<SegmentCondition>,
  pointer: string,
  known?: KnownBadges,
): ReadonlyArray<Fault> =>
  conditions.flatMap((condition, index) =>
    faultsOf(state, condition, known).map((fault) => ({
      ...fault,
      pointer: `${pointer}/${index}${fault.pointer}`,
    })),
  )

const faultsOf = (
  state: ProjectState,
  condition: SegmentCondition,
  known: KnownBadges | undefined,
): ReadonlyArray<Fault> => {
  const { kind, op, value } = condition
  const { name, numbers, operators, unknown } = conditionKinds[kind]
  const faults: Array<Fault> = []
  for (const each of segmentConditionNames) {
    const given = condition[each]
    if (each === name && given === undefined) {
      faults.push({
        pointer: `/${each}`,
        code: "missing",
        detail: `is required for the kind ${kind}`,
      })
    } else if (each !== name && given !== undefined) {
      const detail = `is not allowed for the kind ${kind}`
      faults.push({ pointer: `/${each}`, code: "unknown_member", detail })
    }
  }
  if (!operators.includes(op)) {
    const detail = `must be ${operators.join(", ")} for the kind ${kind}`
    faults.push({ pointer: "/op", code: "invalid_value", detail })
  } else if (numbers !== undefined && op !== "exists") {
    const { max, min } = numbers
    if (typeof value !== "number" || !(value >= min && value <= max)) {
      const detail = `must be a number from ${min} to ${max} for the kind ${kind}`
      faults.push({ pointer: "/value", code: "invalid_type", detail })
    }
  }
  const of = name === undefined ? undefined : condition[name]
  const isKnown = name === "badge" && of !== undefined && known?.has(of) === true
  const detail = of === undefined || isKnown ? undefined : unknown?.(state, of)
  if (detail !== undefined) faults.push({ pointer: `/${name}`, code: "unknown_reference", detail })
  return faults
}

const notFound = refuse("segment_not_found", "No segment of this project has this id or key.")
