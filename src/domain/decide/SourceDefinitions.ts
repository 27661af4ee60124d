/**
 * Decides the commands on sources of events. The secrets of a source are a fact of their own, so that
 * the fact of the definition has none.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { defaults, type New, type Status } from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { isTracker, type Mapping, type Source, type TrackerRules } from "../project/Source.ts"
import type { Fact } from "../record/Record.ts"
import { type Fault, invalidRequest, refuse } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { Decided } from "./Decided.ts"
import { metadataFaults } from "./definitionChecks.ts"
import { Decisions, definitionNotFound } from "./Kind.ts"
import { archivedCannotChange, periodFaults } from "./Lifecycle.ts"

/** A merge patch of a source. Its kind never changes. */
export interface SourceChange
  extends Partial<
    Pick<Source, "name" | "description" | "startsAt" | "endsAt"> & {
      readonly mappings: ReadonlyArray<Mapping>
      readonly tracker: TrackerRules
    }
  > {
  readonly status?: Status
  readonly metadata?: Metadata | null
}

/** What a caller gives of a source. Without a secret, deliveries are refused until it has one. */
export interface NewSource extends New<Source> {
  readonly secret?: string
}

export const sources = new Decisions<"source", NewSource, SourceChange>({
  noun: "source",
  max: limits.sourcesMax,
  nameOf: ({ name }) => name,
  members: ({ secret: _, ...given }) => ({ ...defaults, ...given }),
  faults: (_, source, { before }) => [
    ...periodFaults(source),
    ...metadataFaults(source.metadata),
    ...(before === undefined || before.kind === source.kind ? [] : [kindFault]),
    ...(isTracker(source.kind) ? [] : signedFaults(source)),
  ],
})

/** Members that only sources of trackers have, or may lack. */
const signedFaults = ({ mappings, tracker }: Source): ReadonlyArray<Fault> => [
  ...(tracker === undefined ? [] : [trackerFault]),
  ...mappings.flatMap(({ userId }, place) =>
    userId === null
      ? [{ pointer: `/mappings/${place}/userId`, code: "missing", detail: "is required" } as const]
      : [],
  ),
]

const trackerFault: Fault = {
  pointer: "/tracker",
  code: "invalid_value",
  detail: "is for the kinds segment and posthog alone",
}

const trackerSecretFault = Result.fail(
  invalidRequest([
    {
      pointer: "/secret",
      code: "invalid_value",
      detail: "is not for a tracker, whose messages come with an API key",
    },
  ]),
)

const kindFault: Fault = {
  pointer: "/kind",
  code: "invalid_value",
  detail: "cannot change, since the service of a source stays: use another key",
}

/** A new source, with its secret if it has one. */
export const createSource = (
  state: ProjectState,
  { source }: { readonly source: NewSource },
  now: number,
) => {
  if (source.secret !== undefined && isTracker(source.kind)) return trackerSecretFault
  return Result.map(sources.create(state, source, now), (facts): ReadonlyArray<Fact> => {
    const { id: sourceId, secret } = source
    return secret === undefined
      ? facts
      : [...facts, { kind: "source.secret_set", sourceId, secrets: { secret, previous: [] } }]
  })
}

/** The previous secret stays valid for `graceSeconds`. 0 ends all earlier secrets. */
export interface RotateSourceSecret {
  readonly kind: "rotateSourceSecret"
  /** Its id or key. */
  readonly sourceId: string
  readonly secret: string
  readonly graceSeconds: number
}

/** `now` is the server's time. */
export const rotateSourceSecret = (
  { sourceSecrets, sources: all }: ProjectState,
  { graceSeconds, secret, sourceId }: RotateSourceSecret,
  now: number,
): Decided<"source_not_found" | "invalid_transition" | "quota_exceeded"> => {
  const source = definitionOf(all, sourceId)
  if (source === undefined) return Result.fail(definitionNotFound("source"))
  if (source.set === "archived") return archivedCannotChange
  if (isTracker(source.kind)) return signsNothing
  const before = sourceSecrets.get(source.id)
  const isFirst = before === undefined || before.secret === secret
  const replaced = isFirst ? [] : [{ secret: before.secret, until: now + graceSeconds * 1_000 }]
  const earlier = before?.previous.filter((each) => each.until > now && each.secret !== secret)
  const previous = graceSeconds === 0 ? [] : [...replaced, ...(earlier ?? [])]
  if (previous.length + 1 > limits.sourceSecretsMax) return tooManySecrets
  return Result.succeed([
    { kind: "source.secret_set", sourceId: source.id, secrets: { secret, previous } },
  ])
}

const signsNothing = refuse(
  "invalid_transition",
  "A tracker has no secret: its messages come with an API key.",
)

const tooManySecrets = refuse(
  "quota_exceeded",
  `A source has at most ${limits.sourceSecretsMax} valid secrets. Wait until one ends, or end all previous ones with graceSeconds 0.`,
)
