/**
 * `npm run torture -- --minutes 10 --seed 1`: see `torture.ts`. With `--steps`, instead, `kill -9` before and after
 * each named step, once. With `--cluster --rounds 4 --expiration 3000`, faults of a cluster (`cluster/torture.ts`); there also
 * `--runners 2` or `3`, `--only PART-OF-A-FAULT'S-NAME`, `--hours 1`, and `--log FILE`, with which a run of the same seed goes on. With `--kills 2000`, at most so many `kill -9` in short cycles with webhooks on (`kills.ts`).
 * Ends with 1 when anything was lost.
 */
import { parseArgs } from "node:util"
import { everyStep } from "./faults.ts"
import { kills } from "./kills.ts"
import { torture } from "./torture.ts"

const { values } = parseArgs({
  options: {
    steps: { type: "boolean", default: false },
    minutes: { type: "string", default: "10" },
    cluster: { type: "boolean", default: false },
    rounds: { type: "string", default: "1" },
    expiration: { type: "string", default: "3000" },
    runners: { type: "string" },
    only: { type: "string" },
    hours: { type: "string", default: "24" },
    log: { type: "string" },
    kills: { type: "string", default: "0" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 0x1_0000_0000)) },
  },
})
const minutes = Number(values.minutes)
const seed = Number(values.seed)
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error("Give --minutes a number above 0 and --seed a whole number.")
  process.exit(64)
}
if (values.cluster) {
  const { clusterTorture } = await import("../cluster/torture.ts")
  const { markdownOf, momentsOf, summaryOf, tableOf } = await import("../cluster/table.ts")
  const [rounds, expirationMs] = [Number(values.rounds), Number(values.expiration)]
  console.log(`Expiration ${expirationMs} ms; again with --seed ${seed}`)
  const struck = await clusterTorture({
    seed,
    rounds,
    expirationMs,
    runners: values.runners === undefined ? undefined : Number(values.runners),
    only: values.only,
    durationMs: Number(values.hours) * 3_600_000,
    log: values.log,
    say: console.log,
  })
  const tables = [tableOf(struck), summaryOf(struck), momentsOf(struck)]
  console.log(`\n${tables.map(markdownOf).join("\n\n")}\n`)
  const sum = struck.reduce((total, { acknowledged }) => total + acknowledged, 0)
  const findings = struck.flatMap((each) => each.findings)
  console.log(
    `${struck.length} faults, ${sum} writes acknowledged, ${findings.length} findings; seed ${seed}`,
  )
  process.exit(findings.length > 0 ? 1 : 0)
}
const killsMax = Number(values.kills)
if (killsMax > 0) {
  console.log(`${killsMax} kills in ${minutes} minutes at most; again with --seed ${seed}`)
  const summary = await kills({
    seed,
    kills: killsMax,
    durationMs: minutes * 60_000,
    forgottenMs: 2_000,
    say: console.log,
  })
  console.log(JSON.stringify({ seed, ...summary }, null, 2))
  process.exit(summary.faults.length > 0 ? 1 : 0)
}
const extent = values.steps ? "at every step" : `for ${minutes} minutes`
console.log(`Torture ${extent}; again with --seed ${seed}`)
const summary = await torture({
  seed,
  durationMs: minutes * 60_000,
  ...(values.steps && { order: everyStep }),
  say: console.log,
})
console.log(`
rounds        ${summary.rounds}
sent          ${summary.sent}
acknowledged  ${summary.acknowledged}
verified      ${summary.verified}, repeated with the same reply; the first reply of the other ${summary.acknowledged - summary.verified} came when the
              comparison sent them again
kills         ${summary.kills}
faults        ${Object.entries(summary.faults)
  .map(([name, count]) => `${name}: ${count}`)
  .join(", ")}
lost          ${summary.lost.length}`)
for (const words of summary.lost) console.log(`  ${words}`)
if (summary.lost.length > 0) process.exitCode = 1
