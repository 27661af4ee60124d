/** Operations on sources: services whose signed webhooks become events, and trackers. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { sourceKinds } from "../../domain/project/Source.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  BodyBytesMax,
  idempotencyHeaders,
  integer,
  list,
  OpenTo,
  oneOf,
  pageFields,
  pattern,
  Time,
  text,
} from "./Common.ts"
import {
  listQuery,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  shownMembers,
  statusWords,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { sourceId } from "./examples/exampleIds.ts"
import {
  addressedSource,
  createdSource,
  previewedMerge,
  previewedProfile,
  receipts,
  rotatedSourceSecret,
  sampleBody,
  secretState,
  source,
  sourceFailure,
  sourceMapping,
  sourcePage,
  sourcePath,
  sourcePreview,
  sourceSecret,
  watchedSource,
} from "./examples/sourceExamples.ts"
import {
  ArchivedConflict,
  bodyProblems,
  Fault,
  IdempotencyKeyReused,
  KeyInProgress,
  readProblems,
  writeProblems,
} from "./Problems.ts"
import { SourceNotFound, SourceSecretConflict } from "./SourceProblems.ts"
import { SourceMapping, SourceTracker } from "./SourceShapes.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Payments"],
})

const Kind = oneOf(sourceKinds).annotate({
  description:
    "The service. It determines the signature of deliveries, and the places of their ids and kinds. `stripe`: `Stripe-Signature`; `id`, `type` and `created` of the body. `github`: `X-Hub-Signature-256`; `X-GitHub-Delivery` and `X-GitHub-Event`. `json`: any service that signs by Standard Webhooks (`webhook-signature`); `webhook-id`, and `type` and `timestamp` of the body. `segment` and `posthog`: the messages of these trackers, which come with an API key; the source has no secret. Of several active sources of a tracker, the one that was created first applies. The kind never changes.",
  examples: ["stripe"],
})

const Mappings = list(SourceMapping, 0, limits.sourceMappingsMax).annotate({
  description:
    "The mappings. Each that matches a delivery makes one event; a user gets each action once for a delivery. For a tracker, the first one that matches makes the event of a message.",
  examples: [[sourceMapping]],
})

const { segment: _, ...ownMembers } = newMembers("name")

const newFields = {
  ...ownMembers,
  name: Name,
  kind: Kind,
  mappings: Mappings,
  tracker: Schema.optionalKey(SourceTracker),
}

/** A source in a file, which has no secret. */
export const NewSource = Schema.Struct(newFields)

export const SourceSecret = pattern(
  new RegExp(
    `^[\\x21-\\x7e]{${limits.sourceSecretCharactersMin},${limits.sourceSecretCharactersMax}}$`,
  ),
  `${limits.sourceSecretCharactersMin} to ${limits.sourceSecretCharactersMax} printable ASCII characters without spaces`,
)

const CreateSource = Schema.Struct({
  ...newFields,
  secret: Schema.optionalKey(
    SourceSecret.annotate({
      description:
        "The secret with which the service signs. Stripe makes its own once it has the address: create the source without one, and set it then. The default is a new random secret, except for Stripe and trackers; the reply shows it once.",
      examples: [sourceSecret],
    }),
  ),
}).annotate({
  identifier: "NewSource",
  description: "A source to create.",
  examples: [{ key: "shop", name: "Payments", kind: "stripe", mappings: [sourceMapping] }],
})

const { segment: __, ...patchedMembers } = patchMembers

export const SourcePatch = Schema.Struct({
  ...patchedMembers,
  name: Schema.optionalKey(Name),
  mappings: Schema.optionalKey(Mappings),
  tracker: Schema.optionalKey(SourceTracker),
}).annotate({
  identifier: "SourcePatch",
  examples: [{ status: "paused" }],
})

const { segment: ___, ...shown } = shownMembers

const fields = {
  id: Schema.String.annotate({
    description: "Laurel's id of the source, which its address has.",
    examples: [sourceId],
  }),
  ...shown,
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Payments"] }),
  kind: Kind,
  mappings: Schema.Array(SourceMapping).annotate({
    description: "The mappings, without members that have their default.",
    examples: [source.mappings],
  }),
  tracker: Schema.optionalKey(SourceTracker),
}

export const Source = Schema.Struct(fields).annotate({
  identifier: "IngestSource",
  description: "A service whose signed webhooks, or a tracker whose messages, become events.",
  examples: [source],
})

const PreviousValidUntil = Schema.NullOr(Time).annotate({
  description: "When the last of the previous secrets ends; null: none is valid.",
  examples: [null],
})

const addressed = {
  ...fields,
  path: Schema.String.annotate({
    description:
      "The path at which the service's deliveries arrive: give the service its URL. For a tracker, the path of all its messages.",
    examples: [sourcePath],
  }),
  secretState: Schema.Struct({
    set: Schema.Boolean.annotate({
      description: "Whether the source has a secret. Without one, every delivery is refused.",
      examples: [true],
    }),
    previousValidUntil: PreviousValidUntil,
  }).annotate({
    identifier: "SourceSecretState",
    description: "What is known of the secrets, which are never shown again.",
    examples: [secretState],
  }),
}

export const AddressedSource = Schema.Struct(addressed).annotate({
  identifier: "AddressedSource",
  description: "A source with its address.",
  examples: [addressedSource],
})

export const CreatedSource = Schema.Struct({
  ...addressed,
  secret: Schema.NullOr(Schema.String).annotate({
    description: "The secret, shown only once; null: it has none yet.",
    examples: [sourceSecret],
  }),
}).annotate({
  identifier: "CreatedSource",
  description: "The new source.",
  examples: [createdSource],
})

const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })

const SourceFailure = Schema.Struct({
  at: Time.annotate({ description: "When the delivery arrived." }),
  deliveryId: Schema.NullOr(Schema.String).annotate({
    description: "The service's id of the delivery; null: it has none.",
    examples: [sourceFailure.deliveryId],
  }),
  event: Schema.NullOr(Schema.String).annotate({
    description: "The service's name of the kind of event; null: it has none.",
    examples: [sourceFailure.event],
  }),
  mapping: Schema.NullOr(Schema.Int).annotate({
    description: "The place of the mapping, from 0; null: the whole delivery failed.",
    examples: [0],
  }),
  code: Schema.String.annotate({
    description: "The code of the refusal.",
    examples: [sourceFailure.code],
  }),
  detail: Schema.String.annotate({
    description: "The reason, without values of the body.",
    examples: [sourceFailure.detail],
  }),
}).annotate({
  identifier: "SourceFailure",
  description: "A delivery, or a mapping, that made no event.",
  examples: [sourceFailure],
})

const Receipts = Schema.Struct({
  since: Time.annotate({ description: "The start of the server, since which it counts." }),
  deliveries: count("Deliveries with a valid signature.", receipts.deliveries),
  events: count("Events made of them.", receipts.events),
  duplicates: count("Events that were there already.", receipts.duplicates),
  ignored: count("Deliveries that matched no mapping.", receipts.ignored),
  refused: count("Mappings that matched, and whose event was refused.", receipts.refused),
  forged: count("Deliveries without a valid signature.", receipts.forged),
  lastReceivedAt: Schema.NullOr(Time).annotate({
    description: "The latest delivery with a valid signature; null: none.",
  }),
  failures: Schema.Array(SourceFailure).annotate({
    description: `The latest ${limits.sourceFailuresMax} failures, the newest first.`,
  }),
}).annotate({
  identifier: "SourceReceipts",
  description: "What the server that answers has received. A restart begins at 0.",
  examples: [receipts],
})

export const WatchedSource = Schema.Struct({ ...addressed, receipts: Receipts }).annotate({
  identifier: "WatchedSource",
  description: "A source, and what arrived.",
  examples: [watchedSource],
})

export const SourcePage = Schema.Struct({
  sources: Schema.Array(AddressedSource).annotate({ description: "In the order of creation." }),
  ...pageFields("sources"),
}).annotate({
  identifier: "SourcePage",
  description: "A page of the sources.",
  examples: [sourcePage],
})

const Rotation = Schema.Struct({
  secret: Schema.optionalKey(
    SourceSecret.annotate({
      description:
        "The new secret. Required for Stripe, which makes its own. The default is a new random secret.",
      examples: [sourceSecret],
    }),
  ),
  graceSeconds: Schema.optionalKey(
    integer(0, limits.sourceGraceSecondsMax).annotate({
      description:
        "Seconds for which the previous secret stays valid. 0: all previous secrets end now. Default 86,400.",
      examples: [86_400],
    }),
  ),
}).annotate({
  identifier: "SourceSecretRotation",
  examples: [{ secret: sourceSecret, graceSeconds: 3_600 }],
})

export const RotatedSourceSecret = Schema.Struct({
  secret: Schema.String.annotate({
    description: "The new secret, shown only once.",
    examples: [sourceSecret],
  }),
  previousValidUntil: PreviousValidUntil,
}).annotate({
  identifier: "RotatedSourceSecret",
  description: "The secret is in force.",
  examples: [rotatedSourceSecret],
})

const AnyBody = Schema.Record(Schema.String, Schema.Unknown)

const PreviewRequest = Schema.Struct({
  source: Schema.Struct({
    kind: Kind,
    mappings: Mappings,
    tracker: Schema.optionalKey(SourceTracker),
  }).annotate({
    identifier: "SourceDraft",
    description: "The part of a source that reads deliveries.",
  }),
  event: Schema.optionalKey(
    text(1, limits.sourceEventCharactersMax).annotate({
      description: "The kind of event, for a service that states it in a header, as GitHub does.",
      examples: ["pull_request"],
    }),
  ),
  deliveryId: Schema.optionalKey(
    text(1, limits.idCharactersMax).annotate({
      description:
        "The id of the delivery, for a service that states it in a header. Default: `delivery-1`.",
      examples: ["72d3162e-cc78-11e3-81ab-4c9367dc0958"],
    }),
  ),
  body: AnyBody.annotate({
    description: "The body of a delivery; for a tracker, a batch or one message.",
    examples: [sampleBody],
  }),
}).annotate({
  identifier: "SourcePreviewRequest",
  description: "A draft of a source, and the body of a delivery.",
  examples: [{ source: { kind: "stripe", mappings: [sourceMapping] }, body: sampleBody }],
})

const PreviewedEvent = Schema.Struct({
  userId: Schema.String.annotate({ description: "The user.", examples: ["user-42"] }),
  action: Schema.String.annotate({ description: "The action.", examples: ["ORDER_PAID"] }),
  id: Schema.NullOr(Schema.String).annotate({
    description: "The id of the event; null: a tracker's message without an id.",
    examples: ["evt_1SNxYz:ORDER_PAID"],
  }),
  occurredAt: Schema.NullOr(Time).annotate({ description: "The time; null: that of receipt." }),
  metadata: AnyBody.annotate({ description: "The metadata.", examples: [{ amount: 1_900 }] }),
}).annotate({ identifier: "PreviewedEvent", description: "An event that a delivery would become." })

const PreviewedProfile = Schema.Struct({
  userId: Schema.String.annotate({ description: "The user.", examples: ["user-42"] }),
  displayName: Schema.optionalKey(
    Schema.String.annotate({ description: "The new display name.", examples: ["Ada"] }),
  ),
  attributes: AnyBody.annotate({
    description: "The attributes that are set; others stay.",
    examples: [{ plan: "pro" }],
  }),
}).annotate({
  identifier: "PreviewedProfile",
  description: "A change of a profile that a message would become.",
  examples: [previewedProfile],
})

const PreviewedMerge = Schema.Struct({
  userId: Schema.String.annotate({ description: "The former id.", examples: ["visitor-1"] }),
  into: Schema.String.annotate({
    description: "The user into whom it is merged.",
    examples: ["user-42"],
  }),
}).annotate({
  identifier: "PreviewedMerge",
  description: "A merge that an alias would become.",
  examples: [previewedMerge],
})

export const SourcePreview = Schema.Struct({
  deliveryId: Schema.NullOr(Schema.String).annotate({
    description: "The id of the delivery; null: it has none.",
    examples: [sourcePreview.deliveryId],
  }),
  event: Schema.NullOr(Schema.String).annotate({
    description: "The kind of event; null: the delivery states none.",
    examples: [sourcePreview.event],
  }),
  results: Schema.Array(
    Schema.Struct({
      message: Schema.optionalKey(
        count("The place of the tracker's message in its batch, from 0.", 0),
      ),
      mapping: Schema.NullOr(Schema.Int).annotate({
        description:
          "The place of the mapping, from 0; null: a tracker's message that none matched.",
        examples: [0],
      }),
      event: Schema.NullOr(PreviewedEvent).annotate({
        description: "The event; null: it has faults, or a tracker's message becomes no event.",
      }),
      profile: Schema.optionalKey(PreviewedProfile),
      merge: Schema.optionalKey(PreviewedMerge),
      faults: Schema.Array(Fault).annotate({
        description:
          "The faults that prevent the event. Pointers lead into the mapping; for a tracker, into the body.",
        examples: [[]],
      }),
    }).annotate({ identifier: "PreviewedMapping" }),
  ).annotate({
    description:
      "A result for each mapping that matches; for a tracker, for each message. A message without event, profile, merge and faults is ignored.",
  }),
}).annotate({
  identifier: "SourcePreview",
  description: "What the delivery would become.",
  examples: [sourcePreview],
})

const params = pathOf("source", sourceId)

export const Sources = HttpApiGroup.make("sources")
  .add(
    ...definitionEndpoints({
      path: "/v1/sources",
      params,
      readers: ["read"],
      notFound: SourceNotFound,
      create: {
        payload: CreateSource,
        success: CreatedSource,
        summary: "Create a source",
        description: `Deliveries of the service arrive at \`path\`, without an API key: each is signed with the secret. While the source is not active, deliveries are accepted and ignored. A source of a tracker has the rules for messages that arrive with an API key at the path of the tracker. While no such source is active, the default rules apply. An environment holds at most ${limits.sourcesMax} sources that are not archived.`,
      },
      list: {
        query: listQuery("sources"),
        success: SourcePage,
        summary: "List sources",
        description:
          "Lists the sources of the key's project and environment, without secrets: all except archived ones, or all with the given status.",
      },
      get: {
        success: WatchedSource,
        summary: "Read a source",
        description:
          "Returns a source by its id or key, without its secret, with counts of what arrived and the latest failures.",
      },
      update: {
        payload: SourcePatch,
        success: Source,
        error: [...writeProblems, SourceNotFound, ArchivedConflict],
        summary: "Change a source",
        description: `${patchWords}

Changed mappings apply to deliveries from now on.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The source is archived." }),
        error: [...readProblems, SourceNotFound, KeyInProgress],
        summary: "Archive a source",
        description:
          "Its address is gone, and its secrets are forgotten. Events that it made stay. It still reads by its id or key and in the list with `status=archived`. Archiving twice returns 404.",
      },
    }),
  )
  .add(
    HttpApiEndpoint.post("rotateSecret", "/v1/sources/:id/rotate-secret", {
      params,
      headers: idempotencyHeaders,
      payload: Rotation,
      success: RotatedSourceSecret,
      error: [
        ...readProblems,
        ...bodyProblems,
        SourceNotFound,
        SourceSecretConflict,
        IdempotencyKeyReused,
      ],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Set or replace the secret of a source",
          description: `From now on deliveries that are signed with the new secret are accepted, and for \`graceSeconds\` also those that are signed with the previous one. Older secrets keep their own grace periods; at most ${limits.sourceSecretsMax} secrets are valid at once. \`graceSeconds\` 0 ends all previous secrets.`,
        }),
      ),
    HttpApiEndpoint.post("preview", "/v1/sources/preview", {
      payload: PreviewRequest,
      success: SourcePreview,
      error: writeProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotate(BodyBytesMax, limits.sourceBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Try mappings on a delivery",
          description:
            "Returns the events that a delivery with this body would become, and changes nothing. No signature is needed. `POST /v1/project/preview` tells what an event earns. An `Idempotency-Key` is ignored.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Sources",
      description:
        "Other services whose signed webhooks, and trackers whose messages, become events.",
    }),
  )
