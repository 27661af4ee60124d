/** `laurel definitions` */

import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { confirmation } from "../output/confirmation.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { askApi, printServer, serverFlags, type Target } from "../process/ApiClient.ts"

/* The plan of a file of definitions as text. */

export type Plan = BodyOf<"definitions.diff">
type Applied = BodyOf<"definitions.apply">

const signs = { create: "+", update: "~", delete: "-" } as const

/** A line for each change, followed by the members that differ. */
const planText = ({ changes, created, deleted, updated }: Plan): string =>
  changes.length === 0
    ? "Nothing to change."
    : [
        ...changes.flatMap(({ key, kind, members, name, op }) => [
          `${signs[op]} ${kind}${key === null ? "" : ` ${key} (${visible(name)})`}`,
          ...(op === "update" ? members.map(memberText) : []),
        ]),
        `${created} to create, ${updated} to change, ${deleted} to delete.`,
      ].join("\n")

const memberText = ({ after, before, name }: Plan["changes"][number]["members"][number]): string =>
  `    ${name}: ${visible(before ?? "none")} → ${visible(after ?? "none")}`

/** Text from outside, without characters that move the cursor of a terminal or reorder a line. */
const visible = (text: string): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (mark) => `\\u{${mark.codePointAt(0)!.toString(16)}}`)

const file = Argument.FileText("FILE").pipe(
  Argument.withDescription("A file of definitions, as `laurel definitions export` prints it"),
)

const removes = Flag.Boolean("delete").pipe(
  Flag.withDescription("Archive definitions that the file does not name, of the kinds that it has"),
  Flag.withDefault(false),
)

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print the plan as JSON"),
  Flag.withDefault(false),
)

const yes = Flag.Boolean("yes").pipe(
  Flag.withDescription("Do not ask for confirmation"),
  Flag.withDefault(false),
)

const exportDefinitions = Command.make(
  "export",
  serverFlags,
  Effect.fnUntraced(function* (target) {
    yield* printServer(target)
    const definitions = yield* askApi(target, "GET", "/v1/definitions")
    yield* Console.log(JSON.stringify(definitions, null, 2))
  }),
).pipe(
  Command.withDescription(
    "Print settings, currencies, metrics, segments, streaks, badges, quests, rules, boosts, leaderboards, leagues, experiments, items, goals and sources as JSON",
  ),
)

interface FileFlags extends Target {
  readonly file: string
  readonly removes: boolean
}

const requestOf = ({
  file,
  removes,
}: FileFlags): Effect.Effect<{ definitions: unknown; delete: boolean }, CommandFailed> =>
  Effect.try({
    try: () => ({ definitions: JSON.parse(file) as unknown, delete: removes }),
    catch: (error) =>
      commandFailed(exitCodes.usage, `The file is not JSON: ${(error as Error).message}`),
  })

const planOf = (given: FileFlags): Effect.Effect<Plan, CommandFailed> =>
  Effect.flatMap(requestOf(given), (body) =>
    Effect.map(askApi(given, "POST", "/v1/definitions/diff", body), (plan) => plan as Plan),
  )

const diffDefinitions = Command.make(
  "diff",
  { ...serverFlags, file, removes, json },
  Effect.fnUntraced(function* ({ json, ...given }) {
    yield* printServer(given)
    const plan = yield* planOf(given)
    yield* Console.log(json ? JSON.stringify(plan, null, 2) : planText(plan))
  }),
).pipe(
  Command.withDescription(
    "Print the changes that applying the file would make, and change nothing",
  ),
)

const applyDefinitions = Command.make(
  "apply",
  { ...serverFlags, file, removes, yes },
  Effect.fnUntraced(function* ({ yes, ...given }) {
    yield* printServer(given)
    const plan = yield* planOf(given)
    yield* Console.log(planText(plan))
    if (plan.changes.length === 0) return
    if (!yes) yield* confirmation
    const body = yield* requestOf(given)
    // Only what was printed is applied: if somebody else has changed a definition, nothing is.
    const asked = askApi(given, "POST", "/v1/definitions/apply", body, plan.version)
    const { created, deleted, updated } = (yield* asked) as Applied
    yield* Console.log(`Applied: ${created} created, ${updated} changed, ${deleted} deleted.`)
  }),
).pipe(
  Command.withDescription(
    "Make the definitions those of the file: all at once, or nothing and every fault. Prints the plan first",
  ),
)

export const definitions = Command.make("definitions").pipe(
  Command.withDescription(
    "Keep settings, currencies, metrics, segments, streaks, badges, quests, rules, boosts, leaderboards, leagues, experiments, items, goals and sources in a file, and bring them from one environment to another",
  ),
  Command.withSubcommands([exportDefinitions, diffDefinitions, applyDefinitions]),
)
