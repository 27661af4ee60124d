/** Sources as definitions, their secrets, and trials of their mappings. */
import { randomBytes } from "node:crypto"
import { Effect, Result } from "effect"
import type { SourceChange } from "../../domain/decide/SourceDefinitions.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import type { Mapping, Source, SourceKind, SourceSecrets } from "../../domain/project/Source.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { invalidRequest } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { makeSecret as makeStandardSecret } from "../../webhooks/send/Signature.ts"
import type { NewSource, SourceMapping, SourcePatch, Sources } from "../api/Sources.ts"
import { headOf, type MappedEvent, readDelivery } from "../body/SourceDelivery.ts"
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
    changed: ({ mappings, ...patch }: typeof SourcePatch.Type): SourceChange =>
      named({ ...patchOf(patch), mappings: mappings?.map(newMapping) }),
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
        const draft = { kind: source.kind, mappings: source.mappings.map(newMapping) }
        const head = headOf(source.kind, headers, body)
        const results = readDelivery(draft, head, body, engine.timeIn(environment))
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

const showMapped = ({ event, mapping }: MappedEvent) => {
  if (Result.isFailure(event)) return { mapping, event: null, faults: event.failure }
  const { action, id, metadata = {}, occurredAt, userId } = event.success
  return {
    mapping,
    event: {
      userId,
      action,
      id: id!,
      occurredAt: isoTimeOrNull(occurredAt ?? null),
      metadata,
    },
    faults: [],
  }
}

/** 32 random bytes, in the form that the service expects. */
const makeSecret = (kind?: SourceKind): string =>
  kind === "json" ? makeStandardSecret() : randomBytes(32).toString("base64url")

const newMapping = (mapping: typeof SourceMapping.Type): Mapping => ({
  event: mapping.event ?? null,
  where: (mapping.where ?? []) as Mapping["where"],
  action: mapping.action,
  userId: mapping.userId,
  id: mapping.id ?? null,
  occurredAt: mapping.occurredAt ?? null,
  metadata: mapping.metadata ?? {},
})

export const newSource = (payload: typeof NewSource.Type, id: string) => {
  const { kind, mappings, name } = payload
  const { segment: _, ...members } = newMembers(payload)
  return { id, ...members, name, kind, mappings: mappings.map(newMapping) }
}

/** A source that a request creates. All but Stripe sign with a secret that somebody gives them. */
const createdSource = (
  { secret, ...payload }: typeof NewSource.Type & { readonly secret?: string },
  id: string,
) => {
  const given = secret ?? (payload.kind === "stripe" ? undefined : makeSecret(payload.kind))
  return { ...newSource(payload, id), ...(given !== undefined && { secret: given }) }
}

/** A mapping without the members that have their default. */
export const showMapping = (mapping: Mapping): typeof SourceMapping.Type => {
  const { action, event, id, metadata, occurredAt, userId, where } = mapping
  return {
    ...(event !== null && { event }),
    ...(where.length > 0 && { where }),
    action,
    userId,
    ...(id !== null && { id }),
    ...(occurredAt !== null && { occurredAt }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

const showSource = (source: Source, now: number) => ({
  ...showDefinition(source, now),
  mappings: source.mappings.map(showMapping),
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

/** An environment's id is its project's id, a colon and its name. */
const addressed = <Shown extends { readonly id: string }>(
  environment: string,
  shown: Shown,
  secrets: SourceSecrets | undefined,
  now: number,
) => ({
  ...shown,
  path: `/v1/ingest/${environment.replace(":", "/")}/${shown.id}`,
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
