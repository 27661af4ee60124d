/** The parts of a source in requests and replies: mappings, and the rules of trackers. */
import { Schema } from "effect"
import { nameFault } from "../../domain/values/Ids.ts"
import { pointerFault } from "../../domain/values/jsonPointer.ts"
import { limits } from "../../Limits.ts"
import { Action, check, faultAt, idFaultCode, list, oneOf, text } from "./Common.ts"
import { conditionOperator, conditionValue, valueFault } from "./DefinitionShapes.ts"
import { sourceMapping, trackerRules } from "./examples/sourceExamples.ts"

const Pointer = text(0, limits.pointerCharactersMax).check(
  check(
    "invalid_format",
    `must be a JSON Pointer (RFC 6901) of at most ${limits.pointerTokensMax} names, such as /data/object/id`,
    (pointer) => pointerFault(pointer) === undefined,
  ),
)

const pointer = (description: string, example: string) =>
  Pointer.annotate({ description, examples: [example] })

/** Pointers by the names of their values. */
const pointersByName = (max: number) =>
  Schema.Record(Schema.String, Pointer).check(
    Schema.makeFilter(
      (members) =>
        Object.keys(members).flatMap((name) => {
          const fault = nameFault(name, limits.attributeNameCharactersMax)
          return fault === undefined
            ? []
            : [faultAt([name], idFaultCode(fault), `its name ${fault}`)]
        }),
      { toJsonSchema: () => [{}, true] },
    ),
    check(
      "too_long",
      `must have at most ${max} members`,
      (members) => Object.keys(members).length <= max,
      { maxProperties: max },
    ),
  )

const SourceCondition = Schema.Struct({
  path: pointer("A JSON Pointer to a value of the body.", "/data/object/payment_status"),
  op: conditionOperator.annotate({
    description: "As in conditions on metadata.",
    examples: ["eq"],
  }),
  value: Schema.optionalKey(conditionValue).annotate({
    description: "Value to compare with, as in conditions on metadata.",
    examples: ["paid"],
  }),
})
  .check(Schema.makeFilter(valueFault, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "SourceCondition",
    description:
      "A condition on the body of a delivery. Where the pointer leads to nothing, only `ne` and `exists: false` hold.",
    examples: [sourceMapping.where[0]],
  })

export const SourceMapping = Schema.Struct({
  event: Schema.optionalKey(
    text(1, limits.sourceEventCharactersMax).annotate({
      description:
        "The service's name of the kind of event, such as Stripe's `invoice.paid` or GitHub's `pull_request`; of a tracker the name of the event, such as `Order Completed`. Segment's page views are `page` and `screen`, PostHog's `$pageview`. Default: every kind; of a tracker every event but page views and the like.",
      examples: [sourceMapping.event],
    }),
  ),
  where: Schema.optionalKey(
    list(SourceCondition, 0, limits.conditionsMax).annotate({
      description: "Conditions on the body; all must hold. Default: none.",
      examples: [sourceMapping.where],
    }),
  ),
  action: Action.annotate({
    description: "The action of the event that the delivery becomes.",
    examples: [sourceMapping.action],
  }),
  userId: Schema.optionalKey(
    pointer(
      "A JSON Pointer to the user's id, a text or a whole number. Required, except for a tracker. Default for a tracker: the user of the message.",
      sourceMapping.userId,
    ),
  ),
  id: Schema.optionalKey(
    pointer(
      "A JSON Pointer to the id of the event, a text or a whole number. Default: the id of the delivery, a colon and the action, so that a delivery that is sent again counts once; of a tracker: the id of the message.",
      "/data/object/id",
    ),
  ),
  occurredAt: Schema.optionalKey(
    pointer(
      "A JSON Pointer to the time of the event, in ISO 8601 with a zone or in seconds since 1970. A time in the future counts as now. Default: `created` of Stripe, `timestamp` of Standard Webhooks and of trackers' messages, and where there is none the time of receipt.",
      "/data/object/created",
    ),
  ),
  metadata: Schema.optionalKey(
    pointersByName(limits.sourceMetadataMax).annotate({
      description:
        "JSON Pointers to the members of the event's metadata, by their names. A pointer that leads to nothing leaves its member out. Default: no metadata; of a tracker: all properties of the message.",
      examples: [sourceMapping.metadata],
    }),
  ),
}).annotate({
  identifier: "SourceMapping",
  description:
    "The deliveries that become an event, and the parts of the body that become its members.",
  examples: [sourceMapping],
})

const Traits = Schema.Struct({
  displayName: Schema.optionalKey(
    pointer("A JSON Pointer into the traits to the display name. Default: no change.", "/name"),
  ),
  attributes: Schema.optionalKey(
    pointersByName(limits.attributesMax).annotate({
      description:
        "JSON Pointers into the traits, by the names of the attributes. Texts, numbers and booleans count; other attributes stay. Default: none.",
      examples: [trackerRules.traits.attributes],
    }),
  ),
}).annotate({
  identifier: "SourceTraits",
  description: "Which traits become the display name and attributes of the user.",
  examples: [trackerRules.traits],
})

export const SourceTracker = Schema.Struct({
  unmapped: Schema.optionalKey(
    oneOf(["event", "ignored"]).annotate({
      description:
        "The result of an event that no mapping matches. `event`, the default: an event whose action is its name in capitals. `ignored`: nothing.",
      examples: ["ignored"],
    }),
  ),
  aliases: Schema.optionalKey(
    oneOf(["merged", "ignored"]).annotate({
      description:
        "The result of an alias. `merged`, the default: the former id is merged into the user. `ignored`: nothing.",
      examples: ["merged"],
    }),
  ),
  traits: Schema.optionalKey(
    Schema.NullOr(Traits).annotate({
      description:
        "Which traits change the profile. Default, or null: `name`, `avatar`, and all traits that do not name or reach a person.",
    }),
  ),
}).annotate({
  identifier: "SourceTracker",
  description:
    "The rules for messages of a tracker that no mapping matches; only of the kinds `segment` and `posthog`. A patch replaces all rules; replies lack members that have their default.",
  examples: [trackerRules],
})
