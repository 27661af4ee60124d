/** `npm run bench`: one comparable line per question, each beside a reference that was measured in the same run. */
import { readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { archives } from "./archives.ts"
import { asks } from "./asks.ts"
import { batchEvents } from "./batchEvents.ts"
import { compare, formatCompared } from "./compare.ts"
import { dashboard } from "./dashboard.ts"
import { definitions } from "./definitions.ts"
import { growth } from "./growth.ts"
import { hostile } from "./hostile.ts"
import { journal } from "./journal.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { leaderboard } from "./leaderboard.ts"
import { describeMachine, formatMachine } from "./machine.ts"
import type { BenchOptions } from "./options.ts"
import { overload } from "./overload.ts"
import { pageOf, type Results } from "./page.ts"
import { peerTrials } from "./peerTrials.ts"
import { pipeline } from "./pipeline.ts"
import { reads } from "./reads.ts"
import { rollover } from "./rollover.ts"
import { oneCoreEvents, singleEvents, zipfEvents } from "./singleEvents.ts"
import { millionUsers } from "./users.ts"
import { manyEndpoints, pendingDeliveries, webhooks } from "./webhooks.ts"

type Bench = (options: BenchOptions) => Promise<ReadonlyArray<BenchLine>>

/** Over HTTP, beside the peers; they heed all options. */
const overHttp: Readonly<Record<string, Bench>> = {
  single: singleEvents,
  zipf: zipfEvents,
  core: oneCoreEvents,
  batch: batchEvents,
  reads,
}

const benches: Readonly<Record<string, Bench>> = {
  ...overHttp,
  growth,
  pipeline,
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

/** Only by name. */
const trials: Readonly<Record<string, Bench>> = { peers: peerTrials }
const byName = { ...benches, ...trials }

const help = `npm run bench -- [NAME…] [OPTIONS]

Names: ${Object.keys(benches).join(", ")}; all without any.
${Object.keys(trials).join(", ")}: trials that chose how the peers are tuned.
Those over HTTP (${Object.keys(overHttp).join(", ")}) heed these options:

  --quick            short rounds and few users, to try the suite; without names, only those over HTTP
  --url URL          measures a server that runs already, without peers; it keeps the events
  --key KEY          its key, of tier enterprise and without a rate limit; the server needs a rule for LESSON_DONE
  --connections N    of the closed loop
  --rate N           events a second of the open loop, instead of shares of saturation
  --duration S       seconds of each round

  --json FILE        writes all rounds, histograms, machine and commit
  --html FILE        writes charts and lines as one page (later: node bench/page.ts RESULTS.json PAGE.html)
  --compare FILE     says what moved against such a file beyond the spread of the rounds
  --help`

/** Ends with exit code 64: the command line is wrong. */
const refuse = (why: string): never => {
  console.error(`${why}\n\n${help}`)
  process.exit(64)
}

const readArguments = () => {
  try {
    const text = { type: "string" } as const
    return parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
        url: text,
        key: text,
        connections: text,
        rate: text,
        duration: text,
        json: text,
        html: text,
        compare: text,
      },
    })
  } catch (error) {
    return refuse((error as Error).message)
  }
}

const { positionals, values } = readArguments()
if (values.help) {
  console.log(help)
  process.exit(0)
}

const numberOf = (name: "connections" | "rate" | "duration"): number | undefined => {
  const text = values[name]
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,6}$/.test(text)) refuse(`--${name} needs a positive whole number, not ${text}.`)
  return Number(text)
}

const targetOf = (): BenchOptions["target"] => {
  const { key, url } = values
  if (url === undefined && key === undefined) return undefined
  if (url === undefined || key === undefined) return refuse("--url and --key go together.")
  if (!URL.canParse(url) || new URL(url).protocol !== "http:") {
    return refuse(`--url needs an address that begins with http://, not ${url}.`)
  }
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port || 80), key }
}

const connections = numberOf("connections")
const rate = numberOf("rate")
const seconds = numberOf("duration")
const target = targetOf()
const options: BenchOptions = {
  quick: values.quick,
  ...(target !== undefined && { target }),
  ...(connections !== undefined && { connections }),
  ...(rate !== undefined && { rate }),
  ...(seconds !== undefined && { seconds }),
}
const short = values.quick || target !== undefined
const names = positionals.length > 0 ? positionals : Object.keys(short ? overHttp : benches)
const unknown = names.filter((name) => !Object.hasOwn(byName, name))
if (unknown.length > 0) refuse(`No bench is called ${unknown.join(", ")}.`)
const ours = target === undefined ? [] : names.filter((name) => !Object.hasOwn(overHttp, name))
if (ours.length > 0) refuse(`${ours.join(", ")} cannot measure a server that runs already.`)
const earlier =
  values.compare === undefined
    ? undefined
    : (JSON.parse(readFileSync(values.compare, "utf8")) as Results)

const startedAt = new Date().toISOString()
const machine = describeMachine()
console.log(`${formatMachine(machine)}\n`)
const lines: Array<BenchLine> = []
for (const name of names) {
  const measured = await byName[name]!(options)
  lines.push(...measured)
  for (const line of measured) console.log(formatLine(line))
  // After each: a failure of the next loses nothing.
  const { target: _key, ...given } = options
  const results: Results = { startedAt, machine, options: given, lines }
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(results))
  if (values.html !== undefined) writeFileSync(values.html, pageOf(results))
}
if (earlier !== undefined) console.log(`\n${formatCompared(compare(earlier.lines, lines))}`)
