/**
 * The decisions that definitions of every kind have: create, update, delete, and replace by a file. A
 * kind describes its members, faults, limits and uses (`Kind`); the decisions follow (`Decisions`).
 *
 * A decision makes the definition as the caller asks for it, and collects all faults. Then it asks for
 * the quota or for the change of status, and for the refusals of the kind. The fact has the whole
 * definition, so that `apply` needs none of this.
 *
 * The cost is that of the faults of the kind, and of a count of its definitions for a new one.
 */
import { Result } from "effect"
import {
  type Definition,
  firstVersion,
  nextVersion,
  type Status,
  type Versioned,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import { type DefinitionByNoun, definitionsOf, type Noun, plurals } from "../project/Kinds.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fact } from "../record/Record.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  laurelError,
  quotaError,
} from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import { claimedKey, type Known } from "./definitionChecks.ts"
import {
  archived,
  archivedCannotChange,
  liveCount,
  moved,
  movedTo,
  overFaults,
} from "./Lifecycle.ts"

/** The members of every new definition. */
export interface AnyNew {
  readonly id: string
  readonly key?: string
  /** Absent: a new definition is published, the status of an existing one stays. */
  readonly set?: Definition["set"] | undefined
}

/** The members of every merge patch. */
export interface AnyChange {
  readonly status?: Status
  readonly metadata?: Metadata | null
}

/** The members of a definition that its kind decides. */
type Members<A extends Definition> = Omit<A, "id" | "key" | "set" | keyof Versioned>

export interface Surroundings<A> {
  /** The definition before a change; `undefined`: it is new. */
  readonly before: A | undefined
  readonly known: Known | undefined
}

/**
 * A kind of definition. `New` is what a caller gives of a new one, `Change` is its merge patch. A kind
 * that others refer to has the code `in_use`, one with a further limit has `quota_exceeded`.
 */
export interface Kind<
  N extends Noun,
  New extends AnyNew,
  Change extends AnyChange,
  InUse extends "in_use" = never,
  Quota extends "quota_exceeded" = never,
> {
  readonly noun: N
  /** The number of definitions that are not archived. */
  readonly max: number
  /** The number of archived ones, for a kind that keeps all; default: the oldest are forgotten. */
  readonly archivedMax?: number
  /** The text from which a key is made. */
  readonly nameOf: (given: New) => string
  /** All members, with defaults for those that `given` lacks. */
  readonly members: (given: New) => Members<DefinitionByNoun[N]>
  /** The members that a merge patch changes. Adds faults of the patch itself. Default: as given. */
  readonly changed?: (
    before: DefinitionByNoun[N],
    change: Omit<Change, keyof AnyChange>,
    faults: Array<Fault>,
  ) => Partial<Members<DefinitionByNoun[N]>>
  /** Brings members to the form in which they are checked. */
  readonly normal?: (state: ProjectState, definition: DefinitionByNoun[N]) => DefinitionByNoun[N]
  readonly faults: (
    state: ProjectState,
    definition: DefinitionByNoun[N],
    surroundings: Surroundings<DefinitionByNoun[N]>,
  ) => ReadonlyArray<Fault>
  /** Adds derived members to a definition that has no faults, such as its terms before an edit. */
  readonly completed?: (
    definition: DefinitionByNoun[N],
    before: DefinitionByNoun[N] | undefined,
    now: number,
  ) => DefinitionByNoun[N]
  /** The refusal to archive a definition that others use. */
  readonly inUse?: (
    state: ProjectState,
    definition: DefinitionByNoun[N],
  ) => LaurelError<InUse> | undefined
  /** Whether the status of the definition never changes: `inUse` refuses that. */
  readonly isFixed?: (definition: DefinitionByNoun[N]) => boolean
  /** The refusal of a status that the definition cannot have. */
  readonly unfit?: (
    state: ProjectState,
    definition: DefinitionByNoun[N],
  ) => LaurelError<"invalid_transition"> | undefined
  /** The refusal of a definition that exceeds a further limit of the kind. */
  readonly tooMany?: (
    state: ProjectState,
    definition: DefinitionByNoun[N],
    now: number,
  ) => LaurelError<Quota> | undefined
}

/** The commands on definitions of a kind: `createQuest`, `updateQuest`, `deleteQuest`. */
export type DefinitionCommand<N extends Noun, New, Change> =
  | ({ readonly kind: `create${Capitalize<N>}` } & { readonly [Name in N]: New })
  | (Conditional & { readonly kind: `update${Capitalize<N>}`; readonly change: Change } & {
      readonly [Name in `${N}Id`]: string
    })
  /** Archives the definition. */
  | (Conditional & { readonly kind: `delete${Capitalize<N>}` } & {
      readonly [Name in `${N}Id`]: string
    })

export const definitionNotFound = <N extends Noun>(noun: N): LaurelError<`${N}_not_found`> =>
  laurelError(`${noun}_not_found`, `No ${noun} of this project has this id or key.`)

/** The decisions on a kind. A definition is named by its id or key. */
export class Decisions<
  N extends Noun,
  New extends AnyNew,
  Change extends AnyChange,
  InUse extends "in_use" = never,
  Quota extends "quota_exceeded" = never,
> {
  /** Whether other definitions may use one of the kind. */
  readonly hasUses: boolean
  readonly #kind: Kind<N, New, Change, InUse, Quota>

  constructor(kind: Kind<N, New, Change, InUse, Quota>) {
    this.#kind = kind
    this.hasUses = kind.inUse !== undefined
  }

  create(
    state: ProjectState,
    given: New,
    now: number,
    known?: Known,
  ): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> {
    const { faults, members, nameOf, noun, tooMany } = this.#kind
    const all = definitionsOf(state, noun)
    const key = claimedKey(all, noun, given.key, nameOf(given))
    if (Result.isFailure(key)) return Result.fail(key.failure)
    const { id, set = "published" } = given
    const made = { ...members(given), ...firstVersion(now), id, key: key.success, set }
    // TypeScript does not see that the members of a kind and these are all.
    const definition = this.#normal(state, made as unknown as DefinitionByNoun[N])
    const found = [
      ...overFaults(definition, now),
      ...faults(state, definition, { before: undefined, known }),
    ]
    if (found.length > 0) return Result.fail(invalidRequest(found))
    const full = quotaRefusal(this.#kind, all) ?? tooMany?.(state, definition, now)
    return full === undefined
      ? factOf(noun, "created", this.#completed(definition, undefined, now))
      : Result.fail(full)
  }

  update(
    state: ProjectState,
    idOrKey: string,
    { metadata, status, ...change }: Change,
    now: number,
  ): Decided<`${N}_not_found` | "invalid_request" | "invalid_transition" | InUse | Quota> {
    const { changed, faults, noun } = this.#kind
    const before = definitionOf(definitionsOf(state, noun), idOrKey)
    if (before === undefined) return Result.fail(definitionNotFound(noun))
    if (before.set === "archived") return archivedCannotChange
    const found: Array<Fault> = []
    const definition = this.#normal(state, {
      ...before,
      ...(changed?.(before, change, found) ?? change),
      metadata: patchedMetadata(before.metadata, metadata),
      ...nextVersion(before, now),
    })
    found.push(...faults(state, definition, { before, known: undefined }))
    if (found.length > 0) return Result.fail(invalidRequest(found))
    return Result.flatMap(moved(definition, status, now), (set) =>
      this.#updated(state, before, { ...definition, set }, now),
    )
  }

  /** Archives the definition. `uses`: the state whose definitions may use it. */
  remove(
    state: ProjectState,
    idOrKey: string,
    now: number,
    uses: ProjectState = state,
  ): Decided<`${N}_not_found` | InUse> {
    const { inUse, noun } = this.#kind
    const before = definitionOf(definitionsOf(state, noun), idOrKey)
    if (before === undefined || before.set === "archived") {
      return Result.fail(definitionNotFound(noun))
    }
    const refusal = inUse?.(uses, before)
    return refusal === undefined
      ? factOf(noun, "updated", archived(before, now))
      : Result.fail(refusal)
  }

  /** Replaces `before` by `given`. No facts if both are equal. */
  replace(
    state: ProjectState,
    before: DefinitionByNoun[N],
    given: New,
    now: number,
    known?: Known,
  ): Decided<"invalid_request" | "invalid_transition" | InUse | Quota> {
    if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
    const { faults, members } = this.#kind
    const { id, key, set } = before
    const own = { ...members(given), ...nextVersion(before, now), id, key, set }
    const definition = this.#normal(state, { ...before, ...own })
    const whole = this.#completed({ ...definition, set: given.set ?? set }, before, now)
    if (noChange(before, whole)) return Result.succeed([])
    const found = faults(state, definition, { before, known })
    if (found.length > 0) return Result.fail(invalidRequest(found))
    return Result.flatMap(movedTo(definition, given.set, now), (set) =>
      this.#updated(state, before, { ...definition, set }, now),
    )
  }

  #updated(
    state: ProjectState,
    before: DefinitionByNoun[N],
    definition: DefinitionByNoun[N],
    now: number,
  ): Decided<"invalid_transition" | InUse | Quota> {
    const { inUse, isFixed, noun, tooMany, unfit } = this.#kind
    const isOut =
      definition.set === "archived" || (definition.set !== before.set && isFixed?.(before) === true)
    const refusal =
      (isOut ? inUse?.(state, before) : undefined) ??
      unfit?.(state, definition) ??
      tooMany?.(state, definition, now)
    return refusal === undefined
      ? factOf(noun, "updated", this.#completed(definition, before, now))
      : Result.fail(refusal)
  }

  #normal(state: ProjectState, definition: DefinitionByNoun[N]): DefinitionByNoun[N] {
    return this.#kind.normal?.(state, definition) ?? definition
  }

  #completed(
    definition: DefinitionByNoun[N],
    before: DefinitionByNoun[N] | undefined,
    now: number,
  ): DefinitionByNoun[N] {
    return this.#kind.completed?.(definition, before, now) ?? definition
  }
}

/** The refusal of one more definition; `undefined`: there is room. */
const quotaRefusal = (
  kind: { readonly noun: Noun; readonly max: number; readonly archivedMax?: number },
  all: ReadonlyMap<string, Definition>,
): LaurelError<"quota_exceeded"> | undefined => {
  const { archivedMax = Number.POSITIVE_INFINITY, max, noun } = kind
  const live = liveCount(all)
  const things = `${plurals[noun]} per environment`
  if (live >= max) return quotaError(max, things)
  return all.size - live >= archivedMax ? quotaError(archivedMax, `archived ${things}`) : undefined
}

/** The one fact of a decision. */
const factOf = <N extends Noun>(
  noun: N,
  change: "created" | "updated",
  definition: DefinitionByNoun[N],
) =>
  // TypeScript does not see that the fact of N has the definition of N.
  Result.succeed([{ kind: `${noun}.${change}`, [noun]: definition } as unknown as Fact])
