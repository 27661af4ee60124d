/**
 * A source of events: another service, whose signed webhooks or tracked messages become events of users.
 *
 * Webhooks:
 * - The service sends deliveries to an address that names the source. No API key is needed: a
 *   delivery is signed with the source's secret (`http/body/SourceSignature.ts`).
 * - A mapping says which deliveries become an event, and where in the body the members of the event
 *   are. Each mapping that matches makes one event. A delivery that matches none is accepted and
 *   changes nothing.
 * - A delivery has an id, which the service repeats when it sends the delivery again. Unless a mapping
 *   says otherwise, the event's id is that id with the action, so a repeat counts once.
 * - Secrets are no part of the definition, so that nothing that shows or exports definitions has them.
 *   A rotated secret stays valid for a time. An archived source has none.
 *
 * Trackers, such as Segment, send their messages with an API key. Without a source, default rules read a
 * message (`http/body/TrackerMessages.ts`). Mappings and rules of the active source replace them. The first
 * mapping that matches makes the event, which keeps the id of the message: so a message counts once, also if
 * a mapping changes between two deliveries of it.
 *
 * Cost: a delivery costs a hash of its body for each valid secret, one `JSON.parse`, and for each
 * mapping of its kind of event the length of its pointers. Mappings are compiled once per version.
 */
import { type PointerPath, pointerPath } from "../values/jsonPointer.ts"
import { type Condition, type Definition, paysAt, type Test, testOf } from "./Definition.ts"
import type { PreviousSecret } from "./PreviousSecret.ts"

/**
 * The services whose signatures and ids of deliveries are known. `json` is any that signs by Standard
 * Webhooks.
 */
const signedKinds = ["stripe", "github", "json"] as const
export type SignedKind = (typeof signedKinds)[number]

export const trackerKinds = ["segment", "posthog"] as const
export type Tracker = (typeof trackerKinds)[number]

export const sourceKinds = [...signedKinds, ...trackerKinds] as const
export type SourceKind = SignedKind | Tracker

/** Forms have any text as their kind. */
export const isTracker = (kind: string): kind is Tracker =>
  trackerKinds.some((tracker) => tracker === kind)

/** Members that are pointers lead into the body of a delivery, or into a message of a tracker. */
export interface Mapping {
  /** The service's name of the kind of event; null: every kind. */
  readonly event: string | null
  /** Conditions on the body, whose paths are pointers. All must hold. */
  readonly where: ReadonlyArray<Condition>
  readonly action: string
  /** Null, of a tracker alone: the user of the message. */
  readonly userId: string | null
  /** Null: the id of the delivery with the action, or of the message. */
  readonly id: string | null
  /** Null: the time that the service states, or else the time of receipt. */
  readonly occurredAt: string | null
  /** Pointers by the names of the metadata's members. Empty, of a tracker: all properties. */
  readonly metadata: Readonly<Record<string, string>>
}

/** The rules for messages of a tracker that no mapping matches. */
export interface TrackerRules {
  readonly unmapped: "event" | "ignored"
  readonly aliases: "merged" | "ignored"
  /** Null: all traits but those that name or reach a person. */
  readonly traits: TraitRules | null
}

/** Pointers into the traits of a message. */
export interface TraitRules {
  readonly displayName: string | null
  /** By the name of the attribute. */
  readonly attributes: Readonly<Record<string, string>>
}

export interface Source extends Definition {
  readonly name: string
  /** Never changes. */
  readonly kind: SourceKind
  readonly mappings: ReadonlyArray<Mapping>
  /** Of trackers alone. */
  readonly tracker?: TrackerRules
}

/** The part of a source that reads deliveries. */
export type SignedSource = Pick<Source, "mappings"> & { readonly kind: SignedKind }
export type TrackerSource = Pick<Source, "mappings" | "tracker">

/** The secrets of a source. `previous`: replaced ones that may still be valid, newest first. */
export interface SourceSecrets {
  readonly secret: string
  readonly previous: ReadonlyArray<PreviousSecret>
}

/** The secrets that are valid at `now`, the server's time. */
export const validSecrets = (
  secrets: SourceSecrets | undefined,
  now: number,
): ReadonlyArray<string> =>
  secrets === undefined
    ? []
    : [
        secrets.secret,
        ...secrets.previous.flatMap(({ secret, until }) => (until > now ? [secret] : [])),
      ]

/** The source that reads the messages of a tracker: the first active one of its kind. */
export const sourceOfTracker = (
  sources: Iterable<Source>,
  tracker: Tracker,
  now: number,
): Source | undefined => {
  for (const source of sources) if (source.kind === tracker && paysAt(source, now)) return source
  return undefined
}

/** A mapping in the form in which deliveries are read. */
export interface CompiledMapping {
  readonly mapping: Mapping
  /** Its place in the source. */
  readonly place: number
  readonly where: ReadonlyArray<{ readonly path: PointerPath; readonly test: Test }>
  readonly userId: PointerPath | undefined
  readonly id: PointerPath | undefined
  readonly occurredAt: PointerPath | undefined
  readonly metadata: ReadonlyArray<readonly [name: string, path: PointerPath]>
}

const compiled = new WeakMap<
  ReadonlyArray<Mapping>,
  ReadonlyMap<string | null, ReadonlyArray<CompiledMapping>>
>()

const compile = (mapping: Mapping, place: number): CompiledMapping => ({
  mapping,
  place,
  where: mapping.where.map((condition) => ({
    path: pointerPath(condition.path),
    test: testOf(condition),
  })),
  userId: mapping.userId === null ? undefined : pointerPath(mapping.userId),
  id: mapping.id === null ? undefined : pointerPath(mapping.id),
  occurredAt: mapping.occurredAt === null ? undefined : pointerPath(mapping.occurredAt),
  metadata: Object.entries(mapping.metadata).map(([name, pointer]) => [name, pointerPath(pointer)]),
})

/** The mappings for a kind of event, in their order. */
export const mappingsFor = (
  { mappings }: Pick<Source, "mappings">,
  event: string | undefined,
): ReadonlyArray<CompiledMapping> => {
  let byEvent = compiled.get(mappings)
  if (byEvent === undefined) {
    byEvent = Map.groupBy(mappings.map(compile), ({ mapping }) => mapping.event)
    compiled.set(mappings, byEvent)
  }
  const named = event === undefined ? [] : (byEvent.get(event) ?? [])
  const all = byEvent.get(null) ?? []
  if (all.length === 0) return named
  return [...named, ...all].sort((one, other) => one.place - other.place)
}
