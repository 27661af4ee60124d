/** Changes of the recorded document, each at a place of its own, so that one comparison judges all of them. */

// biome-ignore lint/suspicious/noExplicitAny: a document to spoil
type Document = any

/** A change, and the judge's line about it. */
export interface Planted {
  readonly name: string
  readonly line: RegExp
  readonly plant: (document: Document) => void
}

const schema = (document: Document, name: string): Document => {
  const found = document.components.schemas[name]
  if (found === undefined) throw new Error(`There is no schema ${name}`)
  return found
}
const property = (document: Document, name: string, member: string): Document => {
  const found = schema(document, name).properties[member]
  if (found === undefined) throw new Error(`There is no ${member} in ${name}`)
  return found
}
const without = (list: Array<unknown>, value: unknown): void => {
  const at = list.indexOf(value)
  if (at < 0) throw new Error(`There is no ${value}`)
  list.splice(at, 1)
}
const parameter = (document: Document, path: string, method: string, name: string): Document => {
  const found = document.paths[path][method].parameters.find((each: Document) => each.name === name)
  if (found === undefined) throw new Error(`There is no parameter ${name} of ${path}`)
  return found
}
const repoint = (value: Document, from: string, to: string): void => {
  if (typeof value !== "object" || value === null) return
  if (value.$ref === from) value.$ref = to
  for (const member of Object.values(value)) repoint(member, from, to)
}
const removeMember = (document: Document, name: string, member: string): void => {
  property(document, name, member)
  delete schema(document, name).properties[member]
  const { required = [] } = schema(document, name)
  if (required.includes(member)) without(required, member)
}

export const incompatible: ReadonlyArray<Planted> = [
  {
    name: "a member of a reply less",
    line: /GET \/v1\/rules\/\{id\}: .*`action`.*response-required-property-removed/,
    plant: (document) => removeMember(document, "Rule", "action"),
  },
  {
    name: "an optional member of a reply less",
    line: /`errors`.*response-optional-property-removed/,
    plant: (document) => removeMember(document, "BadRequest", "errors"),
  },
  {
    name: "a member of a reply that may be absent",
    line: /`createdAt`.*response-property-became-optional/,
    plant: (document) => without(schema(document, "Rule").required, "createdAt"),
  },
  {
    name: "a member of a reply that may be null",
    line: /`updatedAt`.*response-property-became-nullable/,
    plant: (document) => {
      property(document, "Rule", "updatedAt").type = ["string", "null"]
    },
  },
  {
    name: "a member of a reply of another type",
    line: /`total`.*response-property-type-changed/,
    plant: (document) => {
      property(document, "UserPage", "total").type = "number"
    },
  },
  {
    name: "a time in another format",
    line: /#\/components\/schemas\/Webhook\/properties\/createdAt\/format: was "date-time", is "date"/,
    plant: (document) => {
      property(document, "Webhook", "createdAt").format = "date"
    },
  },
  {
    name: "a variant of a reply less",
    line: /HistoryStreakBroken.*any-of-removed/,
    plant: (document) => {
      const variants = schema(document, "HistoryFact").anyOf
      const at = variants.findIndex(({ $ref }: Document) => $ref.endsWith("/HistoryStreakBroken"))
      variants.splice(at, 1)
    },
  },
  {
    name: "a change inside a variant of a reply",
    line: /`.*amount`.*response-required-property-removed/,
    plant: (document) => removeMember(document, "HistoryXpEarned", "amount"),
  },
  {
    name: "another member that a request must have",
    line: /`planted`.*new-required-request-property/,
    plant: (document) => {
      schema(document, "NewRule").properties.planted = { type: "string" }
      schema(document, "NewRule").required.push("planted")
    },
  },
  {
    name: "a member that a request must have from now on",
    line: /`limit`.*request-property-became-required/,
    plant: (document) => schema(document, "NewRule").required.push("limit"),
  },
  {
    name: "a member of a request less",
    line: /`cooldownSeconds`.*request-property-removed/,
    plant: (document) => removeMember(document, "NewRule", "cooldownSeconds"),
  },
  {
    name: "a member of a request that may not be null any more",
    line: /`multiplierPath`.*request-property-became-not-nullable/,
    plant: (document) => {
      property(document, "RulePatch", "multiplierPath").type = "string"
    },
  },
  {
    name: "a value of a request less",
    line: /`hour`.*request-property-enum-value-removed/,
    plant: (document) => without(property(document, "RuleLimit", "per").enum, "hour"),
  },
  {
    name: "a scope of an operation less",
    line: /v1~1rules\/get\/x-laurel-scopes/,
    plant: (document) => without(document.paths["/v1/rules"].get["x-laurel-scopes"], "read"),
  },
  {
    name: "a value of a query less",
    line: /`weekly`.*request-parameter-enum-value-removed/,
    plant: (document) =>
      without(parameter(document, "/v1/leaderboard", "get", "window").schema.enum, "weekly"),
  },
  {
    name: "a smaller number allowed",
    line: /`multiplierMax`.*request-property-max-decreased/,
    plant: (document) => {
      property(document, "NewRule", "multiplierMax").maximum = 10
    },
  },
  {
    name: "a shorter text allowed",
    line: /`url`.*request-property-max-length-decreased/,
    plant: (document) => {
      property(document, "NewWebhook", "url").maxLength = 100
    },
  },
  {
    name: "fewer elements allowed",
    line: /#\/components\/schemas\/NewWebhook\/properties\/events\/maxItems: was 50, is 49/,
    plant: (document) => {
      property(document, "NewWebhook", "events").maxItems = 49
    },
  },
  {
    name: "more elements needed",
    line: /`where`.*request-property-min-items-increased/,
    plant: (document) => {
      property(document, "NewRule", "where").minItems = 1
    },
  },
  {
    name: "another pattern of a text",
    line: /request-property-pattern-changed/,
    plant: (document) => {
      property(document, "NewQuestStep", "key").pattern = "^[a-z]{1,64}$"
    },
  },
  {
    name: "a variant of a request less",
    line: /request-body-any-of-removed/,
    plant: (document) => {
      schema(document, "RewardGrant").anyOf.splice(1, 1)
    },
  },
  {
    name: "an operation less",
    line: /PATCH \/v1\/badges\/\{id\}: .*api-removed-without-deprecation/,
    plant: (document) => {
      delete document.paths["/v1/badges/{id}"].patch
    },
  },
  {
    name: "a path less",
    line: /GET \/v1\/actions: .*api-path-removed-without-deprecation/,
    plant: (document) => {
      delete document.paths["/v1/actions"]
    },
  },
  {
    name: "another status of success",
    line: /POST \/v1\/quests: .*`201`.*response-success-status-removed/,
    plant: (document) => {
      const { responses } = document.paths["/v1/quests"].post
      responses[200] = responses[201]
      delete responses[201]
    },
  },
  {
    name: "another media type of a reply",
    line: /POST \/v1\/badges: .*response-media-type-removed/,
    plant: (document) => {
      const { content } = document.paths["/v1/badges"].post.responses[201]
      content["application/xml"] = content["application/json"]
      delete content["application/json"]
    },
  },
  {
    name: "a header field of a reply less",
    line: /POST \/v1\/rules: .*`Location`.*optional-response-header-removed/,
    plant: (document) => {
      delete document.paths["/v1/rules"].post.responses[201].headers.Location
    },
  },
  {
    name: "a query parameter less",
    line: /GET \/v1\/users: .*`query`.*request-parameter-removed/,
    plant: (document) => {
      const { get } = document.paths["/v1/users"]
      without(get.parameters, parameter(document, "/v1/users", "get", "query"))
    },
  },
  {
    name: "another query parameter that a request must have",
    line: /GET \/v1\/rules: .*`planted`.*new-required-request-parameter/,
    plant: (document) => {
      const planted = { name: "planted", in: "query", required: true, schema: { type: "string" } }
      document.paths["/v1/rules"].get.parameters.push(planted)
    },
  },
  {
    name: "a lower bound of a query parameter",
    line: /GET \/v1\/quests: .*`limit`.*request-parameter-max-decreased/,
    plant: (document) => {
      parameter(document, "/v1/quests", "get", "limit").schema.maximum = 2
    },
  },
  {
    name: "a body that a request must have from now on",
    line: /POST \/v1\/users\/\{id\}\/tokens: .*request-body-became-required/,
    plant: (document) => {
      document.paths["/v1/users/{id}/tokens"].post.requestBody.required = true
    },
  },
  {
    name: "a key asked for",
    line: /GET \/healthz: .*api-security-added/,
    plant: (document) => {
      document.paths["/healthz"].get.security = [{ apiKey: [] }]
    },
  },
  {
    name: "another name of an operation",
    line: /api-operation-id-removed/,
    plant: (document) => {
      document.paths["/v1/project"].get.operationId = "project.show"
    },
  },
  {
    name: "another name of a schema",
    line: /`Simulation`.*api-schema-removed/,
    plant: (document) => {
      const { schemas } = document.components
      schemas.Trial = schemas.Simulation
      delete schemas.Simulation
      repoint(document, "#/components/schemas/Simulation", "#/components/schemas/Trial")
    },
  },
  {
    name: "a member inside a variant without a name of its own less",
    line: /[cC]urve\/.*xpPerLevel`.*response-required-property-removed/,
    plant: (document) => {
      const linear = schema(document, "LevelCurve").anyOf.find((each: Document) =>
        each.properties.kind.enum.includes("linear"),
      )
      delete linear.properties.xpPerLevel
      without(linear.required, "xpPerLevel")
    },
  },
  {
    name: "an operator of conditions less",
    line: /`exists`.*request-property-enum-value-removed/,
    plant: (document) => without(property(document, "Condition", "op").enum, "exists"),
  },
  {
    name: "other members refused",
    line: /#\/components\/schemas\/Event\/properties\/metadata\/additionalProperties: was true, is false/,
    plant: (document) => {
      property(document, "Event", "metadata").additionalProperties = false
    },
  },
  {
    name: "another default",
    line: /GET \/v1\/badges: .*`limit`.*request-parameter-default-value-changed/,
    plant: (document) => {
      parameter(document, "/v1/badges", "get", "limit").schema.default = 3
    },
  },
  {
    name: "keys sent in another way",
    line: /#\/components\/securitySchemes\/apiKey\/scheme: was "bearer", is "basic"/,
    plant: (document) => {
      document.components.securitySchemes.apiKey.scheme = "basic"
    },
  },
  {
    name: "a header field of another type",
    line: /#\/components\/headers\/X-Request-Id\/schema\/type: was "string", is "integer"/,
    plant: (document) => {
      document.components.headers["X-Request-Id"].schema.type = "integer"
    },
  },
  {
    name: "a server less",
    line: /#\/servers: was .*"\/api"/,
    plant: (document) => document.servers.pop(),
  },
  {
    name: "a kind of message less",
    line: /GET \/message\/streak\.broken: .*api-path-removed/,
    plant: (document) => {
      delete document.webhooks["streak.broken"]
    },
  },
  {
    name: "a member of a message less",
    line: /GET \/message\/xp\.earned: .*data\/total`.*response-required-property-removed/,
    plant: (document) => {
      const { data } = schema(document, "MessageXpEarned").properties
      delete data.properties.total
      without(data.required, "total")
    },
  },
  {
    name: "a header field of a webhook less",
    line: /GET \/message\/user\.created: .*webhook-signature.*response-header-removed/i,
    plant: (document) => {
      const { parameters } = document.webhooks["user.created"].post
      const at = parameters.findIndex(({ $ref }: Document) => /Signature$/.test($ref))
      parameters.splice(at, 1)
    },
  },
]

export const compatible: ReadonlyArray<Planted> = [
  {
    name: "another member of a reply",
    line: /`planted`.*response-required-property-added/,
    plant: (document) => {
      schema(document, "Rule").properties.planted = { type: "string" }
      schema(document, "Rule").required.push("planted")
    },
  },
  {
    name: "another optional member of a reply",
    line: /`planted`.*response-optional-property-added/,
    plant: (document) => {
      schema(document, "Badge").properties.planted = { type: "string" }
    },
  },
  {
    name: "another optional member of a request",
    line: /`planted`.*new-optional-request-property/,
    plant: (document) => {
      schema(document, "NewRule").properties.planted = { type: "string" }
    },
  },
  {
    name: "a member that a request may leave out",
    line: /`action`.*request-property-became-optional/,
    plant: (document) => without(schema(document, "NewRule").required, "action"),
  },
  {
    name: "a larger number allowed",
    line: /`cooldownSeconds`.*request-property-max-increased/,
    plant: (document) => {
      property(document, "NewRule", "cooldownSeconds").maximum = 1e12
    },
  },
  {
    name: "another value of a request and its reply",
    line: /`year`.*request-property-enum-value-added/,
    plant: (document) => property(document, "RuleLimit", "per").enum.push("year"),
  },
  {
    name: "another code of an error",
    line: /`planted_code`.*response-property-enum-value-added/,
    plant: (document) => property(document, "BadRequest", "code").enum.push("planted_code"),
  },
  {
    name: "another optional query parameter",
    line: /`planted`.*new-optional-request-parameter/,
    plant: (document) => {
      const planted = { name: "planted", in: "query", schema: { type: "string" } }
      document.paths["/v1/users"].get.parameters.unshift(planted)
    },
  },
  {
    name: "another operation",
    line: /GET \/v1\/planted: .*endpoint-added/,
    plant: (document) => {
      const { get } = document.paths["/v1/actions"]
      document.paths["/v1/planted"] = { get: { ...get, operationId: "planted" } }
    },
  },
  {
    name: "another kind of message",
    line: /GET \/message\/xp\.planted: .*endpoint-added/,
    plant: (document) => {
      const message = structuredClone(schema(document, "MessageXpEarned"))
      message.properties.type.enum = ["xp.planted"]
      document.components.schemas.MessagePlanted = message
      const $ref = "#/components/schemas/MessagePlanted"
      const all = schema(document, "Message")
      all.oneOf.push({ $ref })
      all.discriminator.mapping["xp.planted"] = $ref
      const webhook = structuredClone(document.webhooks["xp.earned"])
      webhook.post.operationId = "messages.xp.planted"
      webhook.post.requestBody.content["application/json"].schema.$ref = $ref
      document.webhooks["xp.planted"] = webhook
    },
  },
  {
    name: "another member of a message",
    line: /GET \/message\/badge\.earned: .*planted`.*response-required-property-added/,
    plant: (document) => {
      const { data } = schema(document, "MessageBadgeEarned").properties
      data.properties.planted = { type: "string" }
      data.required.push("planted")
    },
  },
  {
    name: "another operator of conditions",
    line: /`planted_op`.*request-property-enum-value-added/,
    plant: (document) => property(document, "Condition", "op").enum.push("planted_op"),
  },
  {
    name: "more elements allowed",
    line: /#\/components\/schemas\/NewWebhook\/properties\/events\/maxItems: was 50, is 51/,
    plant: (document) => {
      property(document, "NewWebhook", "events").maxItems = 51
    },
  },
  {
    name: "another variant of a fact",
    line: /HistoryPlanted.*any-of-added/,
    plant: (document) => {
      const planted = structuredClone(schema(document, "HistoryXpEarned"))
      document.components.schemas.HistoryPlanted = planted
      schema(document, "HistoryFact").anyOf.push({ $ref: "#/components/schemas/HistoryPlanted" })
    },
  },
  {
    name: "another status of refusals",
    line: /`418`.*response-non-success-status-added/,
    plant: (document) => {
      const { responses } = document.paths["/v1/project"].get
      responses[418] = responses[401]
    },
  },
  {
    name: "another scope of an operation",
    line: /v1~1rules\/get\/x-laurel-scopes/,
    plant: (document) => document.paths["/v1/rules"].get["x-laurel-scopes"].push("ingest"),
  },
]
