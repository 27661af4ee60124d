/** `laurel keys create` */
import { Clock, Console, Duration, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { CreatedKey } from "../../accounts/ApiKeys.ts"
import {
  environmentNames,
  projectNamePattern,
  scopes,
  tierRequestsPerMinute,
  tiers,
} from "../../domain/project/Directory.ts"
import { limits } from "../../Limits.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { rateLimitText } from "../output/KeyWords.ts"
import { withKeys } from "../process/KeyAccess.ts"

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

const scope = Flag.Literals("scope", scopes).pipe(
  Flag.withDescription("full, ingest (send events only) or read (GET only)"),
  Flag.withDefault("full"),
)

const tier = Flag.Literals("tier", tiers).pipe(
  Flag.withDescription("free (100 requests per minute), pro (1,000) or enterprise (--rate-limit)"),
  Flag.withDefault("free"),
)

const rateLimit = Flag.String("rate-limit").pipe(
  Flag.withMetavar("N|none"),
  Flag.withDescription("Requests per minute, for the enterprise tier only. Default: none"),
  Flag.filterMap(
    (text): Option.Option<number | null> => {
      if (text === "none") return Option.some(null)
      const good = /^[1-9]\d{0,9}$/.test(text) && Number(text) <= limits.requestsPerMinuteMax
      return good ? Option.some(Number(text)) : Option.none()
    },
    () => `a rate limit is a whole number from 1 to ${limits.requestsPerMinuteMax}, or none`,
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

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print the key and its details as JSON"),
  Flag.withDefault(false),
)

export const createKey = Command.make(
  "create",
  { project, environment, scope, tier, rateLimit, expiresIn, json },
  Effect.fnUntraced(function* ({ expiresIn, json, rateLimit, ...wish }) {
    if (Option.isSome(rateLimit) && wish.tier !== "enterprise") {
      const fixed = rateLimitText(tierRequestsPerMinute[wish.tier])
      const words = `--rate-limit requires --tier enterprise; ${wish.tier} has ${fixed}.`
      return yield* commandFailed(exitCodes.usage, words)
    }
    const now = yield* Clock.currentTimeMillis
    const created = yield* withKeys(
      (keys) =>
        keys.create({
          ...wish,
          ...(Option.isSome(rateLimit) && { rateLimit: rateLimit.value }),
          ...(Option.isSome(expiresIn) && {
            expiresAt: new Date(now + Duration.toMillis(expiresIn.value)).toISOString(),
          }),
        }),
      { makes: true },
    )
    if (json) return yield* Console.log(JSON.stringify(created))
    // Standard output has the key alone, for scripts; messages go to standard error.
    yield* Console.log(created.key)
    yield* Console.error(aboutKey(created))
  }),
).pipe(
  Command.withDescription(
    "Create a key and print it. The key works at once and is shown only once",
  ),
  Command.withExamples([
    {
      command: "laurel keys create --project shop --environment production --tier pro",
      description: "A key for a shop's server",
    },
  ]),
)

const aboutKey = (key: CreatedKey): string =>
  [
    `${key.id}: project ${key.project}, ${key.environment}, scope ${key.scope}, tier ${key.tier}, ${rateLimitText(key.rateLimit)}`,
    key.expiresAt === null ? "" : `, until ${key.expiresAt}`,
    ". The key is shown only once.",
  ].join("")
