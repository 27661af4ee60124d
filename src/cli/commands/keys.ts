/** `laurel keys` */

import { Clock, Console, Duration, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  environmentNames,
  keyKinds,
  projectNamePattern,
  rotationOverlaps,
  scopes,
} from "../../domain/project/Directory.ts"
import { parseIsoTime } from "../../domain/values/isoTime.ts"
import { limits } from "../../Limits.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { keyTable, printCreated } from "../output/KeyWords.ts"
import { withKeys } from "../process/KeyAccess.ts"

/* Flags that commands about keys share. */

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print the key and its details as JSON"),
  Flag.withDefault(false),
)

/* `laurel keys create` */

const project = Flag.String("project").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription("Project name; a new name creates a project"),
  Flag.filter(
    (name) => projectNamePattern.test(name),
    () =>
      "a project name has 1 to 63 lower-case letters, digits or dashes, and begins with a letter or digit",
  ),
)

const environment = Flag.Literals("environment", environmentNames).pipe(
  Flag.withDescription("Environment of the key"),
)

const kind = Flag.Literals("kind", keyKinds).pipe(
  Flag.withDescription(
    "secret, for servers; or publishable, for web pages and apps: reads leaderboards, badges and active quests",
  ),
  Flag.withDefault("secret"),
)

const scope = Flag.Literals("scope", scopes).pipe(
  Flag.withDescription(
    "full, ingest (send events only) or read (GET only); of a secret key. Default: full",
  ),
  Flag.optional,
)

const expiresIn = Flag.String("expires-in").pipe(
  Flag.withMetavar("DURATION"),
  Flag.withDescription('Lifetime of the key, such as "90 days". Default: unlimited'),
  Flag.filterMap(
    (text) => Option.filter(Duration.fromInput(text as Duration.Input), Duration.isPositive),
    () => 'a duration is such as "90 days" or "12 hours"',
  ),
  Flag.optional,
)

const expiresAt = Flag.String("expires-at").pipe(
  Flag.withMetavar("TIME"),
  Flag.withDescription("End of the key, such as 2027-01-31T00:00:00Z"),
  Flag.filterMap(
    (text) => Option.fromUndefinedOr(parseIsoTime(text)),
    () => "a time has a date and a zone, such as 2027-01-31T00:00:00Z",
  ),
  Flag.optional,
)

const name = Flag.String("name").pipe(
  Flag.withMetavar("TEXT"),
  Flag.withDescription("Name of the key in lists. Default: from its kind or scope"),
  Flag.optional,
)

const origins = Flag.String("origin").pipe(
  Flag.withMetavar("ORIGIN"),
  Flag.withDescription(
    "Origin of web pages that may use the key, such as https://app.example:8443; repeat it for more",
  ),
  Flag.atMost(limits.keyOriginsMax),
)

const cidrs = Flag.String("cidr").pipe(
  Flag.withMetavar("CIDR"),
  Flag.withDescription(
    "Address or range that the key may be used from, such as 203.0.113.0/24; repeat it for more",
  ),
  Flag.atMost(limits.keyCidrsMax),
)

const createKey = Command.make(
  "create",
  {
    project,
    environment,
    name,
    kind,
    scope,
    expiresIn,
    expiresAt,
    origins,
    cidrs,
    json,
  },
  Effect.fnUntraced(function* (given) {
    const { cidrs, expiresAt, expiresIn, json, kind, name, origins, scope, ...wish } = given
    if (Option.isSome(expiresIn) && Option.isSome(expiresAt)) {
      const words = "--expires-in and --expires-at exclude each other."
      return yield* commandFailed(exitCodes.usage, words)
    }
    if (Option.isSome(scope) && kind === "publishable") {
      const words =
        "--scope requires --kind secret; the permissions of a publishable key are fixed."
      return yield* commandFailed(exitCodes.usage, words)
    }
    const now = yield* Clock.currentTimeMillis
    const endsAt = Option.orElse(expiresAt, () =>
      Option.map(expiresIn, (lifetime) => now + Duration.toMillis(lifetime)),
    )
    const created = yield* withKeys(
      (keys) =>
        keys.create({
          ...wish,
          kind,
          scope: kind === "publishable" ? "read" : Option.getOrElse(scope, () => "full" as const),
          ...(Option.isSome(endsAt) && { expiresAt: new Date(endsAt.value).toISOString() }),
          ...(Option.isSome(name) && { name: name.value }),
          ...(origins.length > 0 && { allowedOrigins: origins }),
          ...(cidrs.length > 0 && { allowedCidrs: cidrs }),
        }),
      { makes: true },
    )
    yield* printCreated(created, json)
  }),
).pipe(
  Command.withDescription(
    "Create a key and print it. The key works at once and is shown only once",
  ),
  Command.withExamples([
    {
      command: "laurel keys create --project shop --environment production",
      description: "A key for a shop's server",
    },
    {
      command:
        "laurel keys create --project shop --environment production --kind publishable --origin https://shop.example",
      description: "A key for the shop's web pages",
    },
    {
      command:
        "laurel keys create --project shop --environment production --name Import --scope ingest --cidr 203.0.113.0/24 --expires-in '90 days'",
      description: "A key that only one network may use, for three months",
    },
  ]),
)

/* `laurel keys list` */

const listAsJson = Flag.Boolean("json").pipe(
  Flag.withDescription("Print a JSON array"),
  Flag.withDefault(false),
)

const listKeys = Command.make(
  "list",
  { json: listAsJson },
  Effect.fnUntraced(function* ({ json: listAsJson }) {
    const keys = yield* withKeys((keys) => keys.list, { makes: false })
    yield* Console.log(listAsJson ? JSON.stringify(keys) : keyTable(keys))
  }),
).pipe(Command.withDescription("List all keys, oldest first. The keys' texts are not stored"))

/* `laurel keys revoke` */

const id = Argument.String("ID").pipe(
  Argument.withDescription("Id of the key, as `laurel keys list` shows it"),
)

const revokeKey = Command.make(
  "revoke",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    yield* withKeys((keys) => keys.revoke(id), { makes: false })
    yield* Console.error(`Revoked ${id}.`)
  }),
).pipe(Command.withDescription("Revoke a key at once and permanently"))

/* `laurel keys rotate` */

const overlap = Flag.Literals("overlap", rotationOverlaps).pipe(
  Flag.withDescription("How long the old key stays in force; an earlier expiry stays"),
  Flag.withDefault("24h"),
)

const rotateKey = Command.make(
  "rotate",
  { id, overlap, json },
  Effect.fnUntraced(function* ({ id, json, overlap }) {
    const created = yield* withKeys((keys) => keys.rotate(id, overlap), { makes: false })
    const old = overlap === "0" ? "has expired" : `expires within ${overlap}`
    yield* printCreated(created, json, `${id} ${old}.`)
  }),
).pipe(
  Command.withDescription(
    "Create a key with the same properties in place of another, which expires after the overlap",
  ),
)

export const keys = Command.make("keys").pipe(
  Command.withDescription(
    "Manage API keys, through the running server or directly in the data directory",
  ),
  Command.withSubcommands([createKey, listKeys, rotateKey, revokeKey]),
)
