/**
 * The handlers of the operations that every kind of definition has (`api/definitionEndpoints.ts`):
 * create, list, get, update and delete. A kind states the commands that change a definition, and how
 * replies show it. Reads, pages, idempotency and `Location` are the same for all kinds.
 */
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { makeId } from "../../accounts/KeyText.ts"
import type { Conditional, IfMatch } from "../../domain/decide/Decided.ts"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import {
  type ChangeOf,
  createCommand,
  deleteCommand,
  type NewOf,
  updateCommand,
} from "../../domain/decide/Kinds.ts"
import type { ProjectCommand } from "../../domain/decide/Project.ts"
import { type Lifecycle, type Status, statusAt } from "../../domain/project/Definition.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import {
  type DefinitionByNoun,
  definitionIn,
  definitionsOf,
  type Noun,
  type Plural,
  plurals,
  prefixes,
} from "../../domain/project/Kinds.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { decidedAt, type JournalRecord } from "../../domain/record/Record.ts"
import type { ErrorCode, Fault, LaurelError } from "../../domain/values/Errors.ts"
import type { Answer, Engine, Idempotency, ProjectCode } from "../../engine/Engine.ts"
import type { OperationRequest } from "../contract/Operation.ts"
import { askPrepared } from "./askPrepared.ts"
import { type Bodies, meaningFaults } from "./meaningFaults.ts"
import { referenceFaults } from "./referenceFaults.ts"
import {
  foundOr,
  onlyIf,
  type PageAsked,
  type PageQuery,
  pageAsked,
  shownVersion,
} from "./Shapes.ts"

/** A command, or an effect that makes the command and may refuse the request (`askPrepared`). */
type Prepared<Command, Code extends ErrorCode> = Command | Effect.Effect<Command, LaurelError<Code>>

/** The lists of definitions, and of webhooks, which are listed in the same way. */
export type DefinitionList = Plural | "webhooks"

interface Shows {
  readonly version: number
}

interface KnownTags {
  readonly "if-none-match"?: IfMatch
}

interface ExpectedTags {
  readonly "if-match"?: IfMatch
}

interface ById {
  readonly id: string
}

const byId = <Definition>(
  definitions: ReadonlyMap<string, Definition>,
  id: string,
): Definition | undefined => definitions.get(id)

interface StatusQuery extends PageQuery {
  readonly status?: Status
}

/** Whether a list includes a definition with a lifecycle. */
const isOfStatus = (definition: Lifecycle, { status }: StatusQuery, now: number): boolean =>
  status === undefined ? definition.set !== "archived" : statusAt(definition, now) === status

/**
 * The handlers of a kind of definition: `made` makes a definition from a request, `changed` a merge
 * patch, `show` its reply.
 */
export const kindOperations = <
  const N extends Noun,
  New,
  Patch,
  Shown extends Shows & { readonly id: string },
  Found = Shown,
  Listed = Shown,
  Created extends Shown = Shown,
>(
  engine: Engine["Service"],
  noun: N,
  kind: {
    readonly made: (payload: New, id: string) => NewOf<N>
    readonly changed: (patch: Patch) => ChangeOf<N>
    readonly show: (definition: DefinitionByNoun[N], now: number) => Shown
    /** The body of `get`; by default that of a list. */
    readonly found?: (
      definition: DefinitionByNoun[N],
      shown: Shown,
      caller: Caller,
    ) => Effect.Effect<Found>
    /** Adds members to the definitions of a page from one read for all of them. Default: adds none. */
    readonly listed?: (
      environment: string,
      page: ReadonlyArray<DefinitionByNoun[N]>,
    ) => Effect.Effect<(definition: DefinitionByNoun[N], shown: Shown) => Listed>
    readonly isVisible?: (definition: DefinitionByNoun[N], caller: Caller, now: number) => boolean
    /** With these, a reply lists faults of form and of meaning together. Absent: those of form first. */
    readonly bodies?: Bodies
    /** The body of `create`; by default that of a list. */
    readonly created?: (record: JournalRecord, shown: Shown) => Created
  },
) => {
  const { bodies, changed, created, found, isVisible, listed, made, show } = kind
  const showIn = (record: JournalRecord): Shown => {
    const changes = record.facts.map(definitionIn)
    const change = changes.find((one) => one?.noun === noun)
    if (change === undefined) throw new Error(`Record ${record.sequence} has no ${noun}`)
    return show(change.definition as DefinitionByNoun[N], decidedAt(record))
  }
  return definitionOperations(engine, {
    plural: plurals[noun],
    definitionsOf: (state) => definitionsOf(state, noun),
    find: (all, idOrKey) => definitionOf(all, idOrKey),
    isListed: isOfStatus,
    ...(isVisible !== undefined && { isVisible }),
    notFound: definitionNotFound(noun),
    moreFaults: referenceFaults(engine),
    ...(bodies !== undefined && { meaning: meaningFaults(engine, noun, kind, bodies) }),
    showListed: ({ environment }, page) =>
      Effect.gen(function* () {
        const complete = yield* listed?.(environment, page) ?? Effect.undefined
        const now = engine.timeIn(environment)
        return (definition: DefinitionByNoun[N]) => {
          const shown = show(definition, now)
          return complete === undefined ? (shown as unknown as Listed) : complete(definition, shown)
        }
      }),
    showFound: (definition, caller) =>
      Effect.suspend(() => {
        const shown = show(definition, engine.timeIn(caller.environment))
        return found?.(definition, shown, caller) ?? Effect.succeed(shown as unknown as Found)
      }),
    create: (payload: New) => createCommand(noun, made(payload, makeId(prefixes[noun]))),
    showCreated: (record) => {
      const shown = showIn(record)
      return created?.(record, shown) ?? (shown as Created)
    },
    update: (id, patch: Patch) => updateCommand(noun, id, changed(patch)),
    showUpdated: showIn,
    delete: (id) => deleteCommand(noun, id),
  })
}

/** The handlers of create, list, get, update and delete for one kind. */
export const definitionOperations = <
  const Plural extends DefinitionList,
  Definition extends Dated & Shows,
  Query extends PageQuery,
  Listed,
  Found,
  NotFound extends ErrorCode,
  New,
  Create extends ProjectCommand,
  Created extends Shows & { readonly id: string },
  Patch,
  Update extends ProjectCommand & Conditional,
  Updated extends Shows,
  Delete extends ProjectCommand & Conditional,
  CreateCode extends ErrorCode = never,
  UpdateCode extends ErrorCode = never,
>(
  engine: Engine["Service"],
  kind: {
    /** The name of the kind in paths and in the body of a list. */
    readonly plural: Plural
    readonly definitionsOf: (state: ProjectState) => ReadonlyMap<string, Definition>
    /** Whether the caller may see the definition; by default every caller may. */
    readonly isVisible?: (definition: Definition, caller: Caller, now: number) => boolean
    /** Whether a list with this query includes the definition; by default it includes all. */
    readonly isListed?: (definition: Definition, query: Query, now: number) => boolean
    /** The definition that a path names; by default by its id. */
    readonly find?: (
      definitions: ReadonlyMap<string, Definition>,
      idOrKey: string,
    ) => Definition | undefined
    readonly notFound: LaurelError<NotFound>
    readonly moreFaults: (body: unknown, caller: Caller) => ReadonlyArray<Fault>
    /** Further faults of the bodies of `create` and `update`; default: none. */
    readonly meaning?: { readonly created: MoreFaults; readonly changed: MoreFaults }
    /** How a list shows the definitions of a page. */
    readonly showListed: (
      caller: Caller,
      page: ReadonlyArray<Definition>,
    ) => Effect.Effect<(definition: Definition) => Listed>
    /** The body of `get`. */
    readonly showFound: (definition: Definition, caller: Caller) => Effect.Effect<Found>
    readonly create: (payload: New, caller: Caller) => Prepared<Create, CreateCode>
    /** The body of `create`, from the record of its command. */
    readonly showCreated: (record: JournalRecord) => Created
    readonly update: (id: string, payload: Patch, caller: Caller) => Prepared<Update, UpdateCode>
    /** The body of `update`, from the record of its command. */
    readonly showUpdated: (record: JournalRecord) => Updated
    readonly delete: (id: string) => Delete
  },
) => {
  const { find = byId, isListed = () => true, isVisible = () => true, moreFaults } = kind
  return {
    create: {
      moreFaults: united(kind.meaning?.created, moreFaults),
      handle: ({ caller, idempotency, payload }: OperationRequest<unknown, unknown, New>) =>
        Effect.map(
          ask(engine, caller, kind.create(payload, caller), idempotency),
          ({ replayed, reply }) => {
            const body = kind.showCreated(reply)
            const location = `/v1/${kind.plural}/${body.id}`
            return { body, replayed, location, version: body.version }
          },
        ),
    },
    list: {
      handle: ({ caller, query }: OperationRequest<unknown, Query, unknown>) =>
        Effect.gen(function* () {
          const { cursor: _cursor, limit: _limit, ...filters } = query
          const asked = yield* pageAsked<DefinitionList>(
            kind.plural,
            caller.environment,
            filters,
            query,
          )
          const all = kind.definitionsOf(yield* engine.readProject(caller.environment))
          const now = engine.timeIn(caller.environment)
          const { items, ...page } = pageOf(
            all,
            asked,
            (definition) => isVisible(definition, caller, now) && isListed(definition, query, now),
          )
          const shown = items.map(yield* kind.showListed(caller, items))
          return { body: { ...listOf(kind.plural, shown), ...page } }
        }),
    },
    get: {
      handle: ({ caller, headers, params }: OperationRequest<ById, unknown, unknown, KnownTags>) =>
        Effect.gen(function* () {
          const all = kind.definitionsOf(yield* engine.readProject(caller.environment))
          const definition = yield* foundOr(find(all, params.id), kind.notFound)
          if (!isVisible(definition, caller, engine.timeIn(caller.environment))) {
            return yield* Effect.fail(kind.notFound)
          }
          const body = yield* kind.showFound(definition, caller)
          return shownVersion(body, definition.version, headers)
        }),
    },
    update: {
      moreFaults: united(kind.meaning?.changed, moreFaults),
      handle: (request: OperationRequest<ById, unknown, Patch, ExpectedTags>) => {
        const { caller, headers, idempotency, params, payload } = request
        const asked = kind.update(params.id, payload, caller)
        const change = Effect.isEffect(asked)
          ? Effect.map(asked, (command) => onlyIf(headers, command))
          : onlyIf(headers, asked)
        return Effect.map(ask(engine, caller, change, idempotency), ({ replayed, reply }) => {
          const body = kind.showUpdated(reply)
          return { body, replayed, version: body.version }
        })
      },
    },
    delete: {
      handle: (request: OperationRequest<ById, unknown, unknown, ExpectedTags>) => {
        const { caller, headers, idempotency, params } = request
        const command = onlyIf(headers, kind.delete(params.id))
        const asked = engine.askProject(caller.environment, command, idempotency)
        return Effect.map(asked, ({ replayed }) => ({ body: undefined, replayed }))
      },
    },
  }
}

type MoreFaults = (body: unknown, caller: Caller, params: unknown) => ReadonlyArray<Fault>

/** The faults that both find; of two at one place, the first. */
const united = (first: MoreFaults | undefined, second: MoreFaults): MoreFaults => {
  if (first === undefined) return second
  return (...request) => {
    const faults = first(...request)
    const places = new Set(faults.map(({ pointer }) => pointer))
    return [...faults, ...second(...request).filter(({ pointer }) => !places.has(pointer))]
  }
}

interface Dated {
  readonly id: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/**
 * The page of the definitions that satisfy `isChosen`, in the order of creation. If the definition
 * of the cursor no longer exists, the page begins with those created in its millisecond.
 */
export const pageOf = <Definition extends Dated>(
  all: ReadonlyMap<string, Definition>,
  { after, end, limit }: PageAsked<DefinitionList>,
  isChosen: (definition: Definition) => boolean,
) => {
  const [createdAt, id] = after ?? []
  const exists = id !== undefined && all.has(id)
  const items: Array<Definition> = []
  let begun = after === undefined
  let hasMore = false
  let total = 0
  for (const definition of all.values()) {
    if (!exists && !begun) begun = definition.createdAt >= createdAt!
    if (isChosen(definition)) {
      total++
      if (begun && items.length < limit) items.push(definition)
      else if (begun) hasMore = true
    }
    if (definition.id === id) begun = true
  }
  const last = hasMore ? items.at(-1) : undefined
  return { items, total, ...end(last && [last.createdAt, last.id]) }
}

/** TypeScript gives an object with a computed name no more than an index signature. */
const listOf = <Plural extends string, Shown>(plural: Plural, items: ReadonlyArray<Shown>) =>
  ({ [plural]: items }) as unknown as Readonly<Record<Plural, ReadonlyArray<Shown>>>

const ask = <Command extends ProjectCommand, Code extends ErrorCode>(
  engine: Engine["Service"],
  caller: Caller,
  prepared: Prepared<Command, Code>,
  idempotency: Idempotency | undefined,
): Effect.Effect<Answer<JournalRecord>, LaurelError<Code | ProjectCode<Command, Idempotency>>> =>
  Effect.isEffect(prepared)
    ? askPrepared(engine, caller, prepared, idempotency)
    : engine.askProject(caller.environment, prepared, idempotency)
