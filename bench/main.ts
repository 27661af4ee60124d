/**
 * `npm run bench`: one comparable line per question, each beside a reference that was measured in
 * the same run.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { advance } from "./advance.ts"
import { analytics, experiments, overview } from "./analytics.ts"
import { archives } from "./archives.ts"
import { asks } from "./asks.ts"
import { batchEvents } from "./batchEvents.ts"
import { boardCommits } from "./boardCommits.ts"
import { boardMemory } from "./boardMemory.ts"
import { boards } from "./boards.ts"
import { leagueClose, prizes } from "./closes.ts"
import { cluster } from "./cluster.ts"
import { type Command, type Names, Refusal, readCommand } from "./command.ts"
import { compare, formatCompared } from "./compare.ts"
import { crowd } from "./crowd.ts"
import { dashboard } from "./dashboard.ts"
import { definitions } from "./definitions.ts"
import { disk } from "./disk.ts"
import { failover } from "./failover.ts"
import { forwarding } from "./forwarding.ts"
import { goals } from "./goals.ts"
import { growth } from "./growth.ts"
import { hostile } from "./hostile.ts"
import { journal } from "./journal.ts"
import { type BenchLine, formatLine, notesOf } from "./Line.ts"
import { leaderboard } from "./leaderboard.ts"
import { lists } from "./lists.ts"
import { loading } from "./loading.ts"
import {
  busyWarning,
  describeMachine,
  formatMachine,
  type Machine,
  sampleBusyPercent,
} from "./machine.ts"
import type { BenchOptions } from "./options.ts"
import { overload } from "./overload.ts"
import { pageOf, type Results } from "./page.ts"
import { partitions } from "./partitions.ts"
import { past } from "./past.ts"
import { peerTrials } from "./peerTrials.ts"
import { pipeline } from "./pipeline.ts"
import { reads } from "./reads.ts"
import { rich } from "./rich.ts"
import { rollover } from "./rollover.ts"
import { runners } from "./runners.ts"
import { oneCoreEvents, singleEvents, zipfEvents } from "./singleEvents.ts"
import { sizes } from "./sizes.ts"
import { soak } from "./soak.ts"
import { states } from "./states.ts"
import { steady } from "./steady.ts"
import { missingFrom, renewPages } from "./table.ts"
import { millionUsers } from "./users.ts"
import { manyEndpoints, pendingDeliveries, webhooks } from "./webhooks.ts"
import { year } from "./year.ts"

type Bench = (options: BenchOptions) => Promise<ReadonlyArray<BenchLine>>

/** Benches that use all options. */
const remote: Readonly<Record<string, Bench>> = {
  single: singleEvents,
  zipf: zipfEvents,
  batch: batchEvents,
  reads,
}

/** Further benches that can compare two servers of Laurel. */
const comparing: Readonly<Record<string, Bench>> = { steady, crowd, past }

/** Benches that use `--quick`. */
const short: Readonly<Record<string, Bench>> = {
  ...remote,
  ...comparing,
  core: oneCoreEvents,
  cluster,
  failover,
  forwarding,
  partitions,
  runners,
  loading,
  disk,
  sizes,
  growth,
  boards,
  commits: boardCommits,
  "board-memory": boardMemory,
  goals,
  pipeline,
  overload,
  hostile,
  rich,
  experiments,
  analytics,
  overview,
  advance,
  archives,
  asks,
  states,
  lists,
  "league-close": leagueClose,
  prizes,
  year,
}

const all: Readonly<Record<string, Bench>> = {
  ...short,
  definitions,
  leaderboard,
  rollover,
  users: millionUsers,
  webhooks,
  dashboard,
  endpoints: manyEndpoints,
  pending: pendingDeliveries,
  journal,
}

const onlyByName: Readonly<Record<string, Bench>> = { soak, peers: peerTrials }

const names: Names = {
  all: Object.keys(all),
  short: Object.keys(short),
  remote: Object.keys(remote),
  variants: Object.keys({ ...remote, ...comparing }),
  onlyByName: Object.keys(onlyByName),
}

const help = `npm run bench -- [NAME…] [OPTIONS]

Names: ${names.all.join(", ")}; all without any.
Only by name: soak, an hour of steady load (npm run bench:soak); peers, the trials that chose how the peers are tuned.

  --quick            short rounds and few users, to try ${names.short.join(", ")}; without
                     names, those only
  --url URL          measures a server that runs already, without peers; it keeps the events. Only ${names.remote.join(", ")}
  --key KEY          its key, of a project without a rate limit; the server needs a rule for LESSON_DONE
  --connections N    of the closed loop
  --rate N           events a second of the open loop, instead of shares of the rate of the closed loop
  --duration S       seconds of each round
  --minutes N        of soak; 60 without
  --users N          of single, zipf, batch, steady, crowd and past
  --base PATH        a server of the checkout at PATH takes part, in the same rounds; only ${names.variants.join(", ")}
  --with NAME=VALUE  so does a server with these variables of its environment, comma-separated
  --alone            leaves out the bare server and the peers

  --table            renews the table of README.md and bench/run.md from this run alone; needs a commit without changes
  --json FILE        writes all rounds, histograms, machine and commit
  --html FILE        writes charts and lines as one page (later: node bench/page.ts RESULTS.json PAGE.html)
  --compare FILE     says what moved against such a file beyond the spread of the rounds
  --help`

/** Ends with exit code 64 where the command line is wrong. */
const commandOf = (): Command => {
  try {
    return readCommand(process.argv.slice(2), names)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    console.error(`${error.message}\n\n${help}`)
    process.exit(64)
  }
}

const command = commandOf()
if (command.help) {
  console.log(help)
  process.exit(0)
}
const earlier =
  command.compare === undefined
    ? undefined
    : (JSON.parse(readFileSync(command.compare, "utf8")) as Results)

const startedAt = new Date().toISOString()
let machine: Machine = describeMachine()
if (command.table && !/^[0-9a-f]+$/.test(machine.commit)) {
  console.error(`--table needs a commit without changes, not ${machine.commit}.`)
  process.exit(64)
}
console.log(`${formatMachine(machine)}\n`)
/** Measures the load of other processes before a bench, while nothing of the suite runs. */
const lookForOthers = async (): Promise<void> => {
  const busyPercent = await sampleBusyPercent()
  const warning = busyWarning({ busyPercent })
  if (warning !== "") console.error(`WARNING: ${warning}`)
  machine = { ...machine, busyPercent: Math.max(busyPercent, machine.busyPercent ?? 0) }
}
const lines: Array<BenchLine> = []
const failed: Array<string> = []
let results: Results = { startedAt, machine, options: {}, lines }
for (const [index, name] of command.names.entries()) {
  await lookForOthers()
  const time = new Date().toTimeString().slice(0, 8)
  console.error(`${time}  ${index + 1} of ${command.names.length}: ${name}`)
  if (command.options.quick && short[name] === undefined) {
    console.error(`${name} does not heed --quick: it runs in full.`)
  }
  // A run of all benches takes more than an hour: a failing bench must not end it.
  const measured = await { ...all, ...onlyByName }[name]!(command.options).catch((error) => {
    failed.push(name)
    console.error(`${name} failed:`, error)
    return []
  })
  lines.push(...measured)
  for (const line of measured) console.log(formatLine(line))
  // After each bench, so that an end of this process loses nothing.
  const { target: _key, ...options } = command.options
  results = { startedAt, machine, options, lines }
  if (command.json !== undefined) writeFileSync(command.json, JSON.stringify(results))
  if (command.html !== undefined) writeFileSync(command.html, pageOf(results))
}
for (const note of notesOf(lines)) console.log(note)
const warning = busyWarning(machine)
if (warning !== "") console.error(`WARNING: ${warning}`)
if (command.table) {
  for (const title of missingFrom(results)) console.error(`The run has no line for: ${title}`)
  renewPages(results)
}
if (earlier !== undefined) console.log(`\n${formatCompared(compare(earlier.lines, lines))}`)
if (failed.length > 0) {
  console.error(`Failed: ${failed.join(", ")}`)
  process.exitCode = 1
}
