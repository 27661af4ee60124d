/**
 * `laurel limits`: every limit of this version with its unit. A setting replaces the value of a
 * limit that is its default.
 */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { limits as all } from "../../Limits.ts"
import { type Column, formatTable } from "../output/Table.ts"
import { json } from "./flags.ts"

interface Limit {
  readonly name: string
  readonly value: number
  readonly unit: string
}

/** The first pattern that matches a name decides. A limit without a match is a number of things. */
const units: ReadonlyArray<readonly [RegExp, string]> = [
  [/BytesPerSecond/, "bytes/s"],
  [/PerMinute/, "per minute"],
  [/PerHour/, "per hour"],
  [/Ms(?=$|[A-Z])/, "ms"],
  [/Seconds/, "s"],
  [/Minutes/, "minutes"],
  [/Hours/, "hours"],
  [/Days/, "days"],
  [/[Mm]ebibytes/, "MiB"],
  [/Bytes/, "bytes"],
  [/Characters/, "characters"],
  [/Share$|Rate$|Factor|GapTimes$|^multiplier/, "ratio"],
  [/Log10/, "power of 10"],
]

export const unitOf = (name: string): string =>
  units.find(([pattern]) => pattern.test(name))?.[1] ?? "count"

const rows: ReadonlyArray<Limit> = Object.entries(all).map(([name, value]) => ({
  name,
  value,
  unit: unitOf(name),
}))

const columns: ReadonlyArray<Column<Limit>> = [
  { title: "limit", align: "left", text: ({ name }) => name },
  { title: "value", align: "right", text: ({ value }) => String(value) },
  { title: "unit", align: "left", text: ({ unit }) => unit },
]

export const limits = Command.make("limits", { json }, ({ json }) =>
  Effect.suspend(() =>
    Console.log(json ? JSON.stringify(rows, null, 2) : formatTable(columns, rows)),
  ),
).pipe(
  Command.withShortDescription("Print all limits"),
  Command.withDescription(
    "Print all limits of this version with value and unit. The settings that `laurel serve --help` lists replace some of them.",
  ),
)
