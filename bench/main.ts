/**
 * `npm run bench [-- names… --json]`: one comparable line per question, each beside a reference that was
 * measured in the same run. Without names, everything.
 */
import { parseArgs } from "node:util"
import { archives } from "./archives.ts"
import { asks } from "./asks.ts"
import { batchEvents } from "./batchEvents.ts"
import { dashboard } from "./dashboard.ts"
import { definitions } from "./definitions.ts"
import { hostile } from "./hostile.ts"
import { journal } from "./journal.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { leaderboard } from "./leaderboard.ts"
import { describeMachine, formatMachine } from "./machine.ts"
import { overload } from "./overload.ts"
import { pipeline } from "./pipeline.ts"
import { rollover } from "./rollover.ts"
import { singleEvents } from "./singleEvents.ts"
import { millionUsers } from "./users.ts"
import { manyEndpoints, pendingDeliveries, webhooks } from "./webhooks.ts"

const benches: Readonly<Record<string, () => Promise<ReadonlyArray<BenchLine>>>> = {
  single: singleEvents,
  pipeline,
  batch: batchEvents,
  overload,
  hostile,
  asks,
  definitions,
  leaderboard,
  rollover,
  users: millionUsers,
  archives,
  webhooks,
  dashboard,
  endpoints: manyEndpoints,
  pending: pendingDeliveries,
  journal,
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false } },
})
const unknown = positionals.filter((name) => !Object.hasOwn(benches, name))
if (unknown.length > 0) {
  console.error(
    `No bench is called ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}.`,
  )
  process.exit(64)
}

const machine = describeMachine()
if (!values.json) console.log(`${formatMachine(machine)}\n`)
const lines: Array<BenchLine> = []
for (const name of positionals.length > 0 ? positionals : Object.keys(benches)) {
  const measured = await benches[name]!()
  lines.push(...measured)
  if (!values.json) for (const line of measured) console.log(formatLine(line))
}
if (values.json) console.log(JSON.stringify({ machine, lines }, null, 2))
