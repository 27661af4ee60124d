/** Decides the commands on segments. `Membership.ts` tells who is in them. */
import { limits } from "../../Limits.ts"
import { defaults, type New } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Segment, type SegmentCondition, segmentConditionNames } from "../project/Segment.ts"
import { conditionKinds } from "../user/Membership.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { type Known, knownAs, metadataFaults, segmentInUse } from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"

/** A merge patch of a segment. */
export interface SegmentChange
  extends Partial<Pick<Segment, "name" | "description" | "match" | "conditions">> {
  readonly metadata?: Metadata | null
  readonly status?: "active" | "archived"
}

export const segments = new Decisions<"segment", New<Segment>, SegmentChange, "in_use">({
  noun: "segment",
  max: limits.segmentsMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...defaults, ...given }),
  faults: (state, segment, { known }) => segmentFaults(state, segment, known),
  inUse: (state, { key }) => segmentInUse(state, key),
})

const segmentFaults = (
  state: ProjectState,
  { conditions, metadata }: Segment,
  known?: Known,
): ReadonlyArray<Fault> => [
  ...metadataFaults(metadata),
  ...conditionFaults(state, conditions, "/conditions", known),
]

/** The faults of the conditions of a segment. */
export const conditionFaults = (
  state: ProjectState,
  conditions: ReadonlyArray<SegmentCondition>,
  pointer: string,
  known?: Known,
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
  known: Known | undefined,
): ReadonlyArray<Fault> => {
  const { kind, op, value } = condition
  const { name, numberOf, numbers, operators, unknown, unknownValue } = conditionKinds[kind]
  const of = name === undefined ? undefined : condition[name]
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
    const meant =
      typeof value === "string" && of !== undefined ? numberOf?.(state, of, value) : value
    if (typeof meant !== "number" || !(meant >= min && meant <= max)) {
      const other = numberOf === undefined ? "" : ", or the key of a level,"
      const detail = `must be a number from ${min} to ${max}${other} for the kind ${kind}`
      faults.push({ pointer: "/value", code: "invalid_type", detail })
    }
  }
  const isOfFile = name === "experiment" && known?.has(knownAs(name, of ?? "")) === true
  const isKnown = isOfFile || (name === "badge" && of !== undefined && known?.has(of) === true)
  if (of !== undefined && op !== "exists") {
    const inFile = (one: unknown) => known?.has(knownAs("experiment", `${of} ${one}`)) === true
    const detail = isOfFile
      ? [value].flat().every(inFile)
        ? undefined
        : "must be a variant of the experiment in the file"
      : unknownValue?.(state, of, value)
    if (detail !== undefined) faults.push({ pointer: "/value", code: "invalid_value", detail })
  }
  const detail = of === undefined || isKnown ? undefined : unknown?.(state, of)
  if (detail !== undefined) faults.push({ pointer: `/${name}`, code: "unknown_reference", detail })
  return faults
}
