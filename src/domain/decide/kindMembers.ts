/**
 * Objects whose `kind` determines their members. A request may send or patch any of the members of
 * all kinds; a null member counts as absent.
 */
import type { Fault } from "../values/Errors.ts"

export interface KindMembers {
  readonly required: ReadonlyArray<string>
  readonly optional?: ReadonlyArray<string>
}

type Parts = { readonly kind?: string | undefined }

/** `before` with the members of `change`; a change of kind replaces all members. */
export const patchedParts = <P extends Parts>(before: P | undefined, change: P): P =>
  before === undefined || (change.kind !== undefined && change.kind !== before.kind)
    ? change
    : { ...before, ...change }

/**
 * The faults of `parts`: members that their kind requires and lacks, and members of other kinds.
 */
export const partFaults = <Kind extends string>(
  parts: Parts,
  kinds: Readonly<Record<Kind, KindMembers>>,
  pointer: string,
): ReadonlyArray<Fault> => {
  if (parts.kind === undefined) {
    return [{ pointer: `${pointer}/kind`, code: "missing", detail: "is required" }]
  }
  const { optional = [], required } = kinds[parts.kind as Kind]
  const there = Object.entries(parts).flatMap(([name, value]) =>
    name === "kind" || value === undefined || value === null ? [] : [name],
  )
  const missing = required.filter((name) => !there.includes(name))
  const foreign = there.filter((name) => !required.includes(name) && !optional.includes(name))
  return [
    ...missing.map((name) => ({
      pointer: `${pointer}/${name}`,
      code: "missing",
      detail: `is required for the kind ${parts.kind}`,
    })),
    ...foreign.map((name) => ({
      pointer: `${pointer}/${name}`,
      code: "unknown_member",
      detail: `is not allowed for the kind ${parts.kind}`,
    })),
  ]
}
