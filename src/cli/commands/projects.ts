/** `laurel projects` */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { limitText, type ProjectDetails } from "../../accounts/Projects.ts"
import { tierRequestsPerMinute, tiers } from "../../domain/project/Directory.ts"
import { limits } from "../../Limits.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { type Column, formatTable } from "../output/Table.ts"
import { withProjects } from "../process/KeyAccess.ts"

/* `laurel projects list` */

const columns: ReadonlyArray<Column<ProjectDetails>> = [
  { title: "NAME", align: "left", text: (project) => project.name },
  { title: "TIER", align: "left", text: (project) => project.tier },
  {
    title: "REQUESTS A MINUTE",
    align: "right",
    text: ({ rateLimit }) => (rateLimit === null ? "no limit" : String(rateLimit)),
  },
  { title: "CREATED", align: "left", text: (project) => project.createdAt.slice(0, 10) },
  {
    title: "STATUS",
    align: "left",
    text: ({ archivedAt }) =>
      archivedAt === null ? "in use" : `archived ${archivedAt.slice(0, 10)}`,
  },
]

const listAsJson = Flag.Boolean("json").pipe(
  Flag.withDescription("Print a JSON array"),
  Flag.withDefault(false),
)

const list = Command.make(
  "list",
  { json: listAsJson },
  Effect.fnUntraced(function* ({ json }) {
    const projects = yield* withProjects((projects) => projects.list)
    yield* Console.log(json ? JSON.stringify(projects) : formatTable(columns, projects))
  }),
).pipe(Command.withDescription("List all projects, oldest first"))

/* `laurel projects limit` */

const name = Argument.String("NAME").pipe(Argument.withDescription("The project's name"))

const tier = Flag.Literals("tier", tiers).pipe(
  Flag.withDescription("free (100 requests per minute), pro (1,000) or enterprise (--rate-limit)"),
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

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print the project as JSON"),
  Flag.withDefault(false),
)

const limit = Command.make(
  "limit",
  { name, tier, rateLimit, json },
  Effect.fnUntraced(function* ({ json, name, rateLimit, tier }) {
    if (Option.isSome(rateLimit) && tier !== "enterprise") {
      const words = `--rate-limit requires --tier enterprise; ${tier} has ${tierRequestsPerMinute[tier]}/min.`
      return yield* commandFailed(exitCodes.usage, words)
    }
    const request = { tier, ...(Option.isSome(rateLimit) && { rateLimit: rateLimit.value }) }
    const project = yield* withProjects((projects) => projects.limit(name, request))
    if (json) yield* Console.log(JSON.stringify(project))
    else yield* Console.error(`${project.name}: ${limitText(project)}.`)
  }),
).pipe(
  Command.withDescription(
    "Set the tier and the rate limit of a project, for each of its two environments, however many keys it has",
  ),
  Command.withExamples([
    {
      command: "laurel projects limit shop --tier pro",
      description: "1,000 requests per minute",
    },
    {
      command: "laurel projects limit shop --tier enterprise --rate-limit 20000",
      description: "20,000 requests per minute",
    },
  ]),
)

export const projects = Command.make("projects").pipe(
  Command.withDescription(
    "List and limit projects, through the running server or directly in the data directory",
  ),
  Command.withSubcommands([list, limit]),
)
