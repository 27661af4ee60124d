/**
 * A delivery: one message for one endpoint. Its name is the endpoint's number (`Webhook.since`) and
 * the message's place in the journal, so expanding a record again makes the same delivery. The
 * store does not have the message, which is read from the journal.
 */

import { hash } from "node:crypto"
import { factId, factNameOf, type MessageName, messageId } from "../../domain/message/Message.ts"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { FeedEntry } from "../../engine/commit/Feed.ts"
import { compositeKey } from "../../storage/Keys.ts"
import { jsonOf } from "../../storage/SealedValue.ts"

export const deliveryStatuses = ["pending", "succeeded", "failed", "dropped"] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** The outcome of one attempt. */
export interface AttemptResult {
  /** When the attempt began, in epoch milliseconds. */
  readonly at: number
  readonly durationMs: number
  /** The HTTP status; null if there was none: then `error` says why. */
  readonly status: number | null
  readonly error: string | null
  /** The start of the reply. */
  readonly body: string
}

type EarlierAttempts = ReadonlyArray<readonly [number: number, result: AttemptResult]>
const none: EarlierAttempts = []

/**
 * Why a delivery was dropped: its user was erased, its record is gone from the journal, or it was
 * pending for too long.
 */
export type DropReason = "erased" | "gone" | "expired"

/**
 * The stage of a delivery (drawn in `Dispatcher.ts`). Only the `Queue` of its endpoint changes it.
 */
export type DeliveryStage = "stored" | "ready" | "sending" | "revoked" | "leaving" | "overdue"

/** The stored part of a delivery. Times are epoch milliseconds. */
export interface DeliveryState {
  status: DeliveryStatus
  /**
   * All attempts so far (`attempts`), and the attempts since the delivery last became pending
   * (`tries`).
   */
  attempts: number
  tries: number
  /** When the next attempt is due. The first attempt is due at the time of the record. */
  dueAt: number
  last: AttemptResult | null
  reason: DropReason | null
}

export interface DeliveryName extends MessageName {
  readonly endpoint: number
}

/** The place of a delivery in the log of its endpoint. */
export interface LogPlace {
  readonly sequence: number
  readonly index: number
}

/** A place as a string: the key of a delivery among the deliveries of its endpoint in memory. */
export const placeName = ({ index, sequence }: LogPlace): string => `${sequence}.${index}`

export class Delivery implements DeliveryName, DeliveryState {
  readonly endpoint: number
  readonly sequence: number
  readonly index: number
  /** The time of the record. */
  readonly at: number
  readonly kind: MessageKind
  /** The hash of its user (`userHash`); empty if it has none. */
  readonly user: string
  /** Its key among the deliveries of its endpoint (`placeName`). */
  readonly place: string
  status: DeliveryStatus = "pending"
  attempts = 0
  tries = 0
  dueAt = 0
  last: AttemptResult | null = null
  reason: DropReason | null = null

  /**
   * The status and due time in the store, which are parts of its keys; `undefined` if the store
   * does not have it.
   */
  stored: { readonly status: DeliveryStatus; readonly dueAt: number } | undefined
  /** Attempts before the last, by number, that are not written yet. */
  earlier: EarlierAttempts = none
  /** Its record, while it is in memory to be sent. */
  entry: FeedEntry | undefined
  /**
   * When the outbox of this process expanded it; after a crash before its write, the record is
   * expanded again. `undefined`: another process expanded it.
   */
  expandedAt: number | undefined
  /** A person requested it: it overtakes other deliveries and ignores the circuit breaker. */
  urgent = false
  stage: DeliveryStage = "stored"

  constructor(name: DeliveryName, kind: MessageKind, user: string) {
    this.endpoint = name.endpoint
    this.sequence = name.sequence
    this.index = name.index
    this.at = name.at
    this.kind = kind
    this.user = user
    this.place = placeName(name)
  }

  get messageId(): string {
    return messageId(this)
  }

  /** Records the outcome of an attempt. */
  record(result: AttemptResult): void {
    if (this.last !== null) this.earlier = [...this.earlier, [this.attempts, this.last]]
    this.attempts++
    this.tries++
    this.last = result
  }

  /** Blanks the receiver's replies, also in the `earlier` attempts that the store has. */
  blank(earlier: EarlierAttempts): void {
    const empty = (result: AttemptResult): AttemptResult => ({ ...result, body: "" })
    if (this.last !== null) this.last = empty(this.last)
    this.earlier = [...earlier.filter(([, { body }]) => body !== ""), ...this.earlier].map(
      ([number, result]) => [number, empty(result)],
    )
  }

  /** Makes it pending again. */
  renew(dueAt: number): void {
    this.status = "pending"
    this.tries = 0
    this.dueAt = dueAt
    this.reason = null
  }
}

/** A hash that identifies a user but does not reveal the id. */
export const userHash = (environment: string, userId: string): string =>
  hash("sha256", `${environment}\n${userId}`, "buffer").toString("base64url", 0, 12)

/** The hash of a record's user; empty if it has none. */
export const userOf = ({ subject }: JournalRecord): string =>
  subject.actor === "user" ? userHash(subject.environment, subject.userId) : ""

/** The id of a delivery, unique within its endpoint, such as `dlv_0mi8k3f2a4c92_1`. */
export const deliveryId = (name: MessageName): string => factId("dlv", name)

/** The message of the delivery with this id; `undefined` if the text is no such id. */
export const messageOfDelivery = (id: string): MessageName | undefined => factNameOf("dlv", id)

const statusNumber = (status: DeliveryStatus): number => deliveryStatuses.indexOf(status)

export const deliveryKey = (
  endpoint: number,
  status: DeliveryStatus,
  ...place: ReadonlyArray<number>
): Uint8Array => compositeKey(endpoint, statusNumber(status), ...place)

/** The key of a pending delivery in `due`. */
export const dueKey = (
  endpoint: number,
  dueAt: number,
  sequence: number,
  index: number,
): Uint8Array => compositeKey(endpoint, dueAt, sequence, index)

export const attemptKey = (
  { endpoint, index, sequence }: Pick<DeliveryName, "endpoint" | "sequence" | "index">,
  ...number: ReadonlyArray<number>
): Uint8Array => compositeKey(endpoint, sequence, index, ...number)

type Stored = Pick<Delivery, "at" | "kind" | "user" | keyof DeliveryState>

export const encodeDelivery = (delivery: Delivery): string => {
  const { at, attempts, dueAt, kind, last, reason, status, tries, user } = delivery
  const stored: Stored = { at, kind, user, status, attempts, tries, dueAt, last, reason }
  return JSON.stringify(stored)
}

export const decodeDelivery = (
  body: Uint8Array,
  place: Pick<DeliveryName, "endpoint" | "sequence" | "index">,
): Delivery => {
  const stored: Stored = jsonOf(body)
  const { dueAt, status } = stored
  const delivery = new Delivery({ ...place, at: stored.at }, stored.kind, stored.user)
  delivery.status = status
  delivery.attempts = stored.attempts
  delivery.tries = stored.tries
  delivery.dueAt = dueAt
  delivery.last = stored.last
  delivery.reason = stored.reason
  delivery.stored = { status, dueAt }
  return delivery
}

/* A job is work of a record beside its deliveries; `outbox/Jobs.ts` runs it. */

/** A job and its progress, named by the sequence of its record. */
export type Job = { readonly record: number } & (
  | { readonly kind: "purge"; readonly endpoint: number }
  /**
   * Expand the records from `next` to `record` again; `next` 0 stands for the first record since
   * `since`.
   */
  | {
      readonly kind: "recover"
      readonly endpoint: number
      readonly since: number
      readonly next: number
    }
  /** Erase the messages about a user from before `record`. */
  | { readonly kind: "erase"; readonly environment: string; readonly user: string }
)

export const jobPrefix = compositeKey("job")
export const jobKey = (record: number): Uint8Array => compositeKey("job", record)
