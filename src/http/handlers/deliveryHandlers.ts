/**
 * The deliveries of sources. A delivery is authenticated before its JSON is read: its path names the
 * source, and its signature must be that of the body (`Operation.signed`). Then its mappings make
 * events, and the reply is sent once these are durable.
 *
 * A refused event would be refused again, so it does not fail the delivery: the source's receipts have
 * the reason. The service repeats a delivery only if the server failed (5xx), or on 429.
 */
import { Effect, Result } from "effect"
import type { Accounts, Caller } from "../../accounts/Accounts.ts"
import { paysAt } from "../../domain/project/Definition.ts"
import { environmentId, environmentNames } from "../../domain/project/Directory.ts"
import {
  isTracker,
  type SignedSource,
  type Source,
  validSecrets,
} from "../../domain/project/Source.ts"
import type { UserCommand } from "../../domain/record/Record.ts"
import {
  type ErrorCode,
  errorKinds,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import type { Engine, UserMessage } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { Deliveries } from "../api/Deliveries.ts"
import { parseBody } from "../body/Body.ts"
import { type DeliveryHead, headOf, readDelivery } from "../body/SourceDelivery.ts"
import {
  type DeliveryHeaders,
  type SignatureFault,
  verifyDelivery,
} from "../body/SourceSignature.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { reasonOf, type SourceLog } from "./SourceLog.ts"

export const deliveryHandlers = (
  engine: Engine["Service"],
  accounts: Accounts["Service"],
  log: SourceLog,
): Handlers<typeof Deliveries, { readonly receive: Buffer }> => {
  const sourceOf = ({ environment, keyId }: Caller) => {
    const project = engine.projectNow(environment)
    return { source: project.sources.get(keyId), secrets: project.sourceSecrets.get(keyId) }
  }
  return {
    receive: {
      signed: {
        callerOf: ([projectId = "", name = "", sourceId = ""]) => {
          const tier = accounts.tierOf(projectId)
          const environmentName = environmentNames.find((one) => one === name)
          if (tier === undefined || environmentName === undefined) return noSource
          const environment = environmentId(projectId, environmentName)
          const source = engine.projectNow(environment).sources.get(sourceId)
          if (!isOpen(source)) return noSource
          const named = { projectId, environmentName, environment, tier }
          return { kind: "secret", keyId: sourceId, scope: "ingest", ...named }
        },
        verify: (caller, headers, body) => {
          const { secrets, source } = sourceOf(caller)
          // It may have been archived while the body arrived.
          if (!isOpen(source)) return noSource
          const valid = validSecrets(secrets, engine.now())
          if (valid.length === 0) return noSecret
          const given = headers as DeliveryHeaders
          const fault = verifyDelivery(source.kind, given, body, valid, engine.now())
          if (fault === undefined) return undefined
          log.of(source.id).forged++
          return forged[fault]
        },
      },
      decode: (body) => Result.succeed(body),
      // Before the signature is verified, a body costs nothing of the rate limit.
      cost: () => 1,
      handle: ({ caller, headers, payload }) => receive(engine, log, caller, headers, payload),
    },
  }
}

/** Whether the source takes signed deliveries. */
const isOpen = (source: Source | undefined): source is Source & SignedSource =>
  source !== undefined && source.set !== "archived" && !isTracker(source.kind)

const invalidSignature = (detail: string) => laurelError("invalid_signature", detail)

const forged: Readonly<Record<SignatureFault, LaurelError<"invalid_signature">>> = {
  missing: invalidSignature("The header field with the signature is missing."),
  malformed: invalidSignature("The header field with the signature has another form."),
  too_old: invalidSignature(
    `The signature's time is more than ${limits.sourceToleranceMs / 60_000} minutes from the server's.`,
  ),
  wrong: invalidSignature(
    "The signature is not that of the body with a valid secret of the source.",
  ),
}

const noSecret = invalidSignature("The source has no secret yet: set it first.")

const noSource = laurelError("source_not_found", "No source has this address, or it is archived.")

/** Applies a delivery whose signature is valid. */
const receive = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  log: SourceLog,
  { environment, keyId }: Caller,
  headers: DeliveryHeaders,
  payload: Buffer,
) {
  const source = engine.projectNow(environment).sources.get(keyId)
  if (!isOpen(source)) return yield* Effect.fail(noSource)
  const receipts = log.of(keyId)
  receipts.deliveries++
  receipts.lastReceivedAt = engine.now()
  const parsed = parseBody(payload)
  if (Result.isFailure(parsed)) {
    yield* failed(engine, log, source, {}, undefined, parsed.failure)
    return yield* Effect.fail(parsed.failure)
  }
  const head = headOf(source.kind, headers, parsed.success)
  const now = engine.timeIn(environment)
  const mapped = paysAt(source, now) ? readDelivery(source, head, parsed.success, now) : []
  if (mapped.length === 0) receipts.ignored++
  const messages: Array<UserMessage<UserCommand>> = []
  const places: Array<number> = []
  let refused = 0
  for (const { event, mapping } of mapped) {
    if (Result.isSuccess(event)) {
      const { userId, ...members } = event.success
      messages.push({ userId, command: { kind: "event", ...members } })
      places.push(mapping)
    } else {
      refused++
      yield* failed(engine, log, source, head, mapping, invalidRequest(event.failure))
    }
  }
  const answers = yield* engine.askUsers(environment, messages)
  let [duplicates, events] = [0, 0]
  for (const [index, answer] of answers.entries()) {
    if ("_tag" in answer) {
      const refusal = answer as LaurelError
      if (isOurs(refusal)) return yield* Effect.fail(refusal)
      refused++
      yield* failed(engine, log, source, head, places[index], refusal)
    } else if ("duplicate" in answer && answer.duplicate === true) duplicates++
    else events++
  }
  receipts.events += events
  receipts.duplicates += duplicates
  receipts.refused += refused
  return { body: { received: true, events, duplicates, refused } as const }
})

type OurCode = "internal_error" | "overloaded" | "shutting_down" | "storage_unavailable"

/** Whether the service should send the delivery again: what was applied then counts as a repeat. */
const isOurs = (refusal: LaurelError): refusal is LaurelError<OurCode & ErrorCode> =>
  errorKinds[refusal.code].status >= 500

/** Notes a failure in the source's receipts and in the log. */
const failed = (
  engine: Engine["Service"],
  log: SourceLog,
  { id, key }: { readonly id: string; readonly key: string },
  head: Partial<DeliveryHead>,
  mapping: number | undefined,
  refusal: LaurelError,
) => {
  const { code } = refusal
  const detail = reasonOf(refusal)
  const { event, id: deliveryId } = head
  log.failed(id, { at: engine.now(), deliveryId, event, mapping, code, detail })
  return Effect.annotateLogs(Effect.logWarning("A delivery of a source became no event"), {
    source: id,
    key,
    mapping,
    code,
    detail,
  })
}
