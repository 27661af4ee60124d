/**
 * The faults of meaning in the body of a new definition, or of a merge patch of one, that has faults of form
 * as well, so that one reply lists both.
 *
 * The members with faults of form are left out, and required ones among them are replaced by valid ones;
 * then the kind decides. A fault of such a member, or one that rests on such a member, is left out: it would be
 * about a value that the caller did not send.
 *
 * Cost: nothing for a body without faults; else two decodes of the body and a decision.
 */
import { Result, type Schema } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { Decided } from "../../domain/decide/Decided.ts"
import { type ChangeOf, kindOf, type NewOf } from "../../domain/decide/Kinds.ts"
import type { Noun } from "../../domain/project/Kinds.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { Fault } from "../../domain/values/Errors.ts"
import { pointerPath } from "../../domain/values/jsonPointer.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { strictInput } from "../body/EventDecoder.ts"
import { inputDecoder } from "../body/InputDecoder.ts"

/** What is known of the bodies of a kind. */
export interface Bodies {
  /** The bodies that create a definition, and those that change one. */
  readonly schemas: { readonly created: Schema.Top; readonly changed: Schema.Top }
  /** A valid value for each member that a new definition needs. */
  readonly valid: Readonly<Record<string, unknown>>
  /** The members on which the faults of a member rest, beside the member itself. Absent: none. */
  readonly restsOn: Readonly<Record<string, ReadonlyArray<string>>>
}

const memberOf = ({ pointer }: Fault): string | undefined => pointerPath(pointer)[0]

/** The body without these members, or with valid ones in their place; `undefined`: it is no object. */
const mended = (
  body: unknown,
  members: ReadonlySet<string | undefined>,
  valid: Bodies["valid"],
): object | undefined => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return undefined
  const kept = Object.entries(body).filter(([name]) => !members.has(name))
  const replaced = Object.entries(valid).filter(([name]) => members.has(name))
  return Object.fromEntries([...kept, ...replaced])
}

/** Decides on a body. `params`: those of the path, `undefined` if they have faults. */
type Decide<Body> = (state: ProjectState, body: Body, now: number, params: unknown) => Decided

/** The faults that a decision on the mended body finds. */
const faultsBy = <Body>(
  engine: Engine["Service"],
  schema: Schema.Top,
  { restsOn, valid }: Pick<Bodies, "restsOn" | "valid">,
  decide: Decide<Body>,
) => {
  const decode = inputDecoder<Body>(schema, strictInput)
  return (body: unknown, { environment }: Caller, params: unknown): ReadonlyArray<Fault> => {
    const formed = decode(body, "", limits.faultsMax)
    const faulty = new Set(Result.isFailure(formed) ? formed.failure.map(memberOf) : [])
    const whole = mended(body, faulty, valid)
    if (whole === undefined) return []
    const decoded = decode(whole, "", limits.faultsMax)
    if (Result.isFailure(decoded)) return []
    const now = engine.timeIn(environment)
    const decided = decide(engine.projectNow(environment), decoded.success, now, params)
    if (Result.isSuccess(decided)) return []
    return (decided.failure.errors ?? []).filter((fault) => {
      const member = memberOf(fault)
      const all = [member, ...(restsOn[member ?? ""] ?? [])]
      return !all.some((one) => faulty.has(one))
    })
  }
}

/** For `Operation.moreFaults` of the operations that create and change a definition. */
export const meaningFaults = <N extends Noun, New, Patch>(
  engine: Engine["Service"],
  noun: N,
  {
    changed,
    made,
  }: {
    readonly made: (payload: New, id: string) => NewOf<N>
    readonly changed: (patch: Patch) => ChangeOf<N>
  },
  { restsOn, schemas, valid }: Bodies,
) => ({
  created: faultsBy<New>(engine, schemas.created, { restsOn, valid }, (state, body, now) => {
    // A key that is taken would hide the other faults.
    const given = { ...made(body, ""), key: undefined } as NewOf<N>
    return kindOf(noun).create(state, given, now)
  }),
  changed: faultsBy<Patch>(
    engine,
    schemas.changed,
    { restsOn, valid: {} },
    (state, body, now, params) => {
      // A path with a fault names no definition.
      const { id = "" } = (params ?? {}) as { readonly id?: string }
      return kindOf(noun).update(state, id, changed(body), now)
    },
  ),
})
