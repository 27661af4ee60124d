/**
 * The handlers of the operations that every kind of definition has (`api/definitionEndpoints.ts`):
 * create, list, get, update and delete. A kind states the commands that change a definition, and how
 * replies show it. Reads, pages, idempotency and `Location` are the same for all kinds.
 */
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { ProjectCommand } from "../../domain/decide/Project.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { ErrorCode, Fault, LaurelError } from "../../domain/values/Errors.ts"
import type { Answer, Engine, Idempotency, ProjectCode } from "../../engine/Engine.ts"
import type { OperationRequest } from "../contract/Operation.ts"
import { askPrepared } from "./askPrepared.ts"
import { foundOr, type PageAsked, type PageQuery, pageAsked } from "./Shapes.ts"

/** A command, or an effect that makes the command and may refuse the request (`askPrepared`). */
type Prepared<Command, Code extends ErrorCode> = Command | Effect.Effect<Command, LaurelError<Code>>

/** The lists of definitions, and of webhooks, which are listed in the same way. */
type DefinitionList = "badges" | "quests" | "rules" | "webhooks"

interface ById {
  readonly id: string
}

/** The handlers of create, list, get, update and delete for one kind. */
export const definitionOperations = <
  const Plural extends DefinitionList,
  Definition extends Dated,
  Query extends PageQuery,
  Shown,
  Found,
  NotFound extends ErrorCode,
  New,
  Create extends ProjectCommand,
  Created extends { readonly id: string },
  Patch,
  Update extends ProjectCommand,
  Updated,
  Delete extends ProjectCommand,
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
    readonly notFound: LaurelError<NotFound>
    readonly moreFaults: (body: unknown, caller: Caller) => ReadonlyArray<Fault>
    /** A definition in a list. */
    readonly show: (definition: Definition, now: number) => Shown
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
  const { isListed = () => true, isVisible = () => true, moreFaults } = kind
  return {
    create: {
      moreFaults,
      handle: ({ caller, idempotency, payload }: OperationRequest<unknown, unknown, New>) =>
        Effect.map(
          askOnce(engine, caller, kind.create(payload, caller), idempotency),
          ({ replayed, reply }) => {
            const body = kind.showCreated(reply)
            return { body, replayed, location: `/v1/${kind.plural}/${body.id}` }
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
          const now = engine.now()
          const { items, ...page } = pageOf(
            all,
            asked,
            (definition) => isVisible(definition, caller, now) && isListed(definition, query, now),
          )
          const shown = items.map((definition) => kind.show(definition, now))
          return { body: { ...listOf(kind.plural, shown), ...page } }
        }),
    },
    get: {
      handle: ({ caller, params }: OperationRequest<ById, unknown, unknown>) =>
        Effect.gen(function* () {
          const all = kind.definitionsOf(yield* engine.readProject(caller.environment))
          const definition = yield* foundOr(all.get(params.id), kind.notFound)
          if (!isVisible(definition, caller, engine.now())) {
            return yield* Effect.fail(kind.notFound)
          }
          return { body: yield* kind.showFound(definition, caller) }
        }),
    },
    update: {
      moreFaults,
      handle: ({ caller, params, payload }: OperationRequest<ById, unknown, Patch>) =>
        Effect.map(ask(engine, caller, kind.update(params.id, payload, caller)), ({ reply }) => ({
          body: kind.showUpdated(reply),
        })),
    },
    delete: {
      handle: ({ caller, params }: OperationRequest<ById, unknown, unknown>) =>
        Effect.as(engine.askProject(caller.environment, kind.delete(params.id)), {
          body: undefined,
        }),
    },
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
const pageOf = <Definition extends Dated>(
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

const askOnce = <Command extends ProjectCommand, Code extends ErrorCode>(
  engine: Engine["Service"],
  caller: Caller,
  prepared: Prepared<Command, Code>,
  idempotency: Idempotency | undefined,
): Effect.Effect<Answer<JournalRecord>, LaurelError<Code | ProjectCode<Command, Idempotency>>> =>
  Effect.isEffect(prepared)
    ? askPrepared(engine, caller, prepared, idempotency)
    : engine.askProject(caller.environment, prepared, idempotency)

const ask = <Command extends ProjectCommand, Code extends ErrorCode>(
  engine: Engine["Service"],
  { environment }: Caller,
  prepared: Prepared<Command, Code>,
): Effect.Effect<Answer<JournalRecord>, LaurelError<Code | ProjectCode<Command>>> =>
  Effect.isEffect(prepared)
    ? Effect.flatMap(prepared, (command) => engine.askProject<Command>(environment, command))
    : engine.askProject<Command>(environment, prepared)
