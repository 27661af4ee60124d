/** Sources as definitions, their secrets, and trials of their mappings. */
import { randomBytes } from "node:crypto"
import { Effect, Result } from "effect"
import type { SourceChange } from "../../domain/decide/SourceDefinitions.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import {
  isTracker,
  type Mapping,
  type Source,
  type SourceKind,
  type SourceSecrets,
  type Tracker,
  type TrackerRules,
  type TrackerSource,
  type TraitRules,
} from "../../domain/project/Source.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { invalidRequest } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { makeSecret as makeStandardSecret } from "../../webhooks/send/Signature.ts"
import { Ingest } from "../api/Ingest.ts"
import type { SourceMapping, SourceTracker } from "../api/SourceShapes.ts"
import type { NewSource, SourcePatch, Sources } from "../api/Sources.ts"
import type { EventInput } from "../body/EventDecoder.ts"
import { headOf, type MappedEvent, readDelivery } from "../body/SourceDelivery.ts"
import { noTrackerRules, readMessage } from "../body/TrackerMessages.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { factOf, named, newMembers, patchOf, showDefinition } from "./Shapes.ts"
import type { SourceFailure, SourceLog } from "./SourceLog.ts"

/* Sources as definitions. */

export const sourceHandlers = (
  engine: Engine["Service"],
  log: SourceLog,
): Handlers<typeof Sources> => {
  const secretsIn = (environment: string) =>
    Effect.map(engine.readProject(environment), ({ sourceSecrets }) => sourceSecrets)
  const operations = kindOperations(engine, "source", {
    made: createdSource,
    changed: ({ mappings, tracker, ...patch }: typeof SourcePatch.Type): SourceChange =>
      named({
        ...patchOf(patch),
        mappings: mappings?.map(newMapping),
        tracker: tracker && newRules(tracker),
      }),
    show: showSource,
    created: (record, shown) => {
      const secrets = secretsOf(record)
      const environment = environmentOf(record)
      return {
        ...addressed(environment, shown, secrets, engine.now()),
        secret: secrets?.secret ?? null,
      }
    },
    found: (source, shown, { environment }) =>
      Effect.map(secretsIn(environment), (secrets) => {
        const known = addressed(environment, shown, secrets.get(source.id), engine.now())
        return { ...known, receipts: showReceipts(log, source.id) }
      }),
    listed: (environment) =>
      Effect.map(
        secretsIn(environment),
        (secrets) => (source, shown) =>
          addressed(environment, shown, secrets.get(source.id), engine.now()),
      ),
  })
  return { ...operations, ...secretHandlers(engine), ...previewHandlers(engine) }
}

const secretHandlers = (
  engine: Engine["Service"],
): Pick<Handlers<typeof Sources>, "rotateSecret"> => ({
  rotateSecret: {
    handle: ({ caller: { environment }, idempotency, params, payload }) =>
      Effect.gen(function* () {
        const { sources } = yield* engine.readProject(environment)
        const kind = definitionOf(sources, params.id)?.kind
        const { graceSeconds = limits.sourceGraceSeconds, secret } = payload
        if (secret === undefined && kind === "stripe") return yield* Effect.fail(stripeMakesIt)
        const command = {
          kind: "rotateSourceSecret",
          sourceId: params.id,
          secret: secret ?? makeSecret(kind),
          graceSeconds,
        } as const
        const { replayed, reply } = yield* engine.askProject(environment, command, idempotency)
        const { secrets } = factOf(reply, "source.secret_set")
        const until = previousUntil(secrets, reply.at)
        return {
          body: { secret: secrets.secret, previousValidUntil: isoTimeOrNull(until) },
          replayed,
        }
      }),
  },
})

const stripeMakesIt = invalidRequest([
  {
    pointer: "/secret",
    code: "missing",
    detail: "is required: Stripe shows it with the endpoint that has the address",
  },
])

const previewHandlers = (engine: Engine["Service"]): Pick<Handlers<typeof Sources>, "preview"> => ({
  preview: {
    handle: ({ caller: { environment }, payload }) =>
      Effect.sync(() => {
        const { body, deliveryId = "delivery-1", event, source } = payload
        const headers = {
          "x-github-delivery": deliveryId,
          "webhook-id": deliveryId,
          ...(event !== undefined && { "x-github-event": event }),
        }
        const now = engine.timeIn(environment)
        const { kind, tracker } = source
        const mappings = source.mappings.map(newMapping)
        if (isTracker(kind)) {
          const draft = { mappings, ...(tracker && { tracker: newRules(tracker) }) }
          return { body: { ...noHead, results: trackerResults(kind, body, now, draft) } }
        }
        const head = headOf(kind, headers, body)
        const results = readDelivery({ kind, mappings }, head, body, now)
        return {
          body: {
            deliveryId: head.id ?? null,
            event: head.event ?? null,
            results: results.map(showMapped),
          },
        }
      }),
  },
})

const noHead = { deliveryId: null, event: null } as const

const showMapped = ({ event, mapping }: MappedEvent) =>
  Result.isFailure(event)
    ? { mapping, event: null, faults: event.failure }
    : { mapping, event: showEvent(event.success), faults: [] }

const showEvent = ({ action, id, metadata = {}, occurredAt, userId }: EventInput) => ({
  userId,
  action,
  id: id ?? null,
  occurredAt: isoTimeOrNull(occurredAt ?? null),
  metadata,
})

/** The results that a batch, or one message, would have. */
const trackerResults = (
  kind: Tracker,
  body: Readonly<Record<string, unknown>>,
  now: number,
  draft: TrackerSource,
) => {
  const messages = Array.isArray(body.batch) ? body.batch.slice(0, limits.batchItemsMax) : [body]
  return messages.map((given, message) => {
    const root = Array.isArray(body.batch) ? `/batch/${message}` : ""
    const item = readMessage(kind, given, root, now, draft)
    const mapping = "mapping" in item ? item.mapping! : null
    const result = { message, mapping, event: null, faults: [] }
    if (item.kind === "event") return { ...result, event: showEvent(item.event) }
    if (item.kind === "refused") return { ...result, faults: item.refusal.errors ?? [] }
    if (item.kind === "ignored") return result
    const { userId } = item
    return item.kind === "profile"
      ? { ...result, profile: { userId, ...item.change } }
      : { ...result, merge: { userId, into: item.into } }
  })
}

/** 32 random bytes, in the form that the service expects. */
const makeSecret = (kind?: SourceKind): string =>
  kind === "json" ? makeStandardSecret() : randomBytes(32).toString("base64url")

const newMapping = (mapping: typeof SourceMapping.Type): Mapping => ({
  event: mapping.event ?? null,
  where: (mapping.where ?? []) as Mapping["where"],
  action: mapping.action,
  userId: mapping.userId ?? null,
  id: mapping.id ?? null,
  occurredAt: mapping.occurredAt ?? null,
  metadata: mapping.metadata ?? {},
})

const newRules = ({
  aliases = noTrackerRules.aliases,
  traits = null,
  unmapped = noTrackerRules.unmapped,
}: typeof SourceTracker.Type): TrackerRules => ({
  unmapped,
  aliases,
  traits: traits && {
    displayName: traits.displayName ?? null,
    attributes: traits.attributes ?? {},
  },
})

export const newSource = (payload: typeof NewSource.Type, id: string) => {
  const { kind, mappings, name } = payload
  const { segment: _, ...members } = newMembers(payload)
  const tracker = payload.tracker ?? (isTracker(kind) ? {} : undefined)
  return {
    id,
    ...members,
    name,
    kind,
    mappings: mappings.map(newMapping),
    ...(tracker !== undefined && { tracker: newRules(tracker) }),
  }
}

/** A source that a request creates. All services but Stripe sign with a secret that somebody gives them. */
const createdSource = (
  { secret, ...payload }: typeof NewSource.Type & { readonly secret?: string },
  id: string,
) => {
  const makesNone = payload.kind === "stripe" || isTracker(payload.kind)
  const given = secret ?? (makesNone ? undefined : makeSecret(payload.kind))
  return { ...newSource(payload, id), ...(given !== undefined && { secret: given }) }
}

/** A mapping without the members that have their default. */
export const showMapping = (mapping: Mapping): typeof SourceMapping.Type => {
  const { action, event, id, metadata, occurredAt, userId, where } = mapping
  return {
    ...(event !== null && { event }),
    ...(where.length > 0 && { where }),
    action,
    ...(userId !== null && { userId }),
    ...(id !== null && { id }),
    ...(occurredAt !== null && { occurredAt }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** The rules of a tracker without the members that have their default. */
export const showRules = ({
  aliases,
  traits,
  unmapped,
}: TrackerRules): typeof SourceTracker.Type => ({
  ...(unmapped !== noTrackerRules.unmapped && { unmapped }),
  ...(aliases !== noTrackerRules.aliases && { aliases }),
  ...(traits !== null && { traits: showTraits(traits) }),
})

const showTraits = ({ attributes, displayName }: TraitRules) => ({
  ...(displayName !== null && { displayName }),
  ...(Object.keys(attributes).length > 0 && { attributes }),
})

const showSource = ({ tracker, ...source }: Source, now: number) => ({
  ...showDefinition(source, now),
  mappings: source.mappings.map(showMapping),
  ...(tracker !== undefined && { tracker: showRules(tracker) }),
})

const environmentOf = ({ subject }: JournalRecord): string =>
  subject.actor === "directory" ? "" : subject.environment

const secretsOf = ({ facts }: JournalRecord): SourceSecrets | undefined => {
  for (const fact of facts) if (fact.kind === "source.secret_set") return fact.secrets
  return undefined
}

const previousUntil = (secrets: SourceSecrets | undefined, now: number): number | null => {
  const ends = (secrets?.previous ?? []).map(({ until }) => until).filter((until) => until > now)
  return ends.length === 0 ? null : Math.max(...ends)
}

const trackerPaths: Readonly<Record<Tracker, string>> = {
  segment: Ingest.endpoints.segment.path,
  posthog: Ingest.endpoints.posthog.path,
}

/** An environment's id is its project's id, a colon and its name. */
const addressed = <Shown extends { readonly id: string; readonly kind: SourceKind }>(
  environment: string,
  shown: Shown,
  secrets: SourceSecrets | undefined,
  now: number,
) => ({
  ...shown,
  path: isTracker(shown.kind)
    ? trackerPaths[shown.kind]
    : `/v1/ingest/${environment.replace(":", "/")}/${shown.id}`,
  secretState: {
    set: secrets !== undefined,
    previousValidUntil: isoTimeOrNull(previousUntil(secrets, now)),
  },
})

const showReceipts = (log: SourceLog, sourceId: string) => {
  const { failures, lastReceivedAt, ...counts } = log.of(sourceId)
  return {
    since: isoTime(log.since),
    ...counts,
    lastReceivedAt: isoTimeOrNull(lastReceivedAt ?? null),
    failures: failures.map(showFailure).reverse(),
  }
}

const showFailure = ({ at, code, deliveryId, detail, event, mapping }: SourceFailure) => ({
  at: isoTime(at),
  deliveryId: deliveryId ?? null,
  event: event ?? null,
  mapping: mapping ?? null,
  code,
  detail,
})
