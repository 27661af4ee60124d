/**
 * The lifecycle of definitions of every kind: `draft`, then `scheduled`, `active` and `ended` by the
 * clock, `paused` by hand, and at last `archived`. The clock needs no record: a status is that of the
 * moment at which somebody asks.
 */
import { Result } from "effect"
import { type Definition, nextVersion, type Status, statusAt } from "../project/Definition.ts"
import { type Fault, type LaurelError, refuse } from "../values/Errors.ts"

/** The stored status with which the definition has the status `to`, or the refusal. */
export const moved = (
  definition: Definition,
  to: Status | undefined,
  now: number,
): Result.Result<Definition["set"], LaurelError<"invalid_transition">> => {
  const from = statusAt(definition, now)
  if (to === undefined || to === from) return Result.succeed(definition.set)
  switch (to) {
    case "archived":
      return Result.succeed("archived")
    case "active":
      if (from === "scheduled") return cannot(from, to, "It starts at startsAt.")
      if (statusAt({ ...definition, set: "published" }, now) === "ended") {
        return cannot(from, to, "Its endsAt has passed.")
      }
      return Result.succeed("published")
    case "paused":
      return from === "active"
        ? Result.succeed("paused")
        : cannot(from, to, "Only an active one can be paused.")
    case "draft":
      return cannot(from, to, "Pause or archive it instead.")
    case "scheduled":
    case "ended":
      return cannot(from, to, "The clock sets this status: change startsAt or endsAt.")
  }
}

const cannot = (from: Status, to: Status, why: string) =>
  refuse("invalid_transition", `The status cannot change from ${from} to ${to}. ${why}`)

/** As `moved`, for the stored status of a file; `undefined`: the status stays. */
export const movedTo = (
  definition: Definition,
  set: Definition["set"] | undefined,
  now: number,
): Result.Result<Definition["set"], LaurelError<"invalid_transition">> => {
  if (set === undefined || set === definition.set) return Result.succeed(definition.set)
  return moved(definition, set === "published" ? "active" : set, now)
}

/** The definition after its archive. */
export const archived = <A extends Definition>(definition: A, now: number): A => ({
  ...definition,
  set: "archived",
  ...nextVersion(definition, now),
})

export const archivedCannotChange = refuse(
  "invalid_transition",
  "An archived definition cannot change.",
)

const endsAtFault = (detail: string): ReadonlyArray<Fault> => [
  { pointer: "/endsAt", code: "out_of_range", detail },
]

/** The fault of a period that ends before it begins. */
export const periodFaults = ({ endsAt, startsAt }: Definition): ReadonlyArray<Fault> =>
  startsAt !== null && endsAt !== null && endsAt <= startsAt
    ? endsAtFault("must be after startsAt")
    : []

/** The fault of a new definition that is over already. */
export const overFaults = ({ endsAt }: Definition, now: number): ReadonlyArray<Fault> =>
  endsAt !== null && endsAt <= now ? endsAtFault("must be in the future") : []

/** The number of definitions that are not archived. */
export const liveCount = (definitions: ReadonlyMap<string, Definition>): number => {
  let live = 0
  for (const { set } of definitions.values()) if (set !== "archived") live++
  return live
}
