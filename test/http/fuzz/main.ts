/**
 * `npm run test:fuzz -- [requests] [seed]`: runs the fuzz of `OpenApiFuzz.test.ts` for long, and
 * prints its seed and its findings.
 */
import { startServer } from "../fixture.ts"
import { fuzz } from "./StatefulFuzz.ts"

const requests = Number(process.argv[2] ?? 100_000)
const first = Number(process.argv[3] ?? Math.floor(Math.random() * 1e9))
const requestsOfServer = 5_000

let faults = 0
let asked = 0
const statuses = new Map<string, number>()
for (let run = 0; asked < requests && faults === 0; run++) {
  const seed = first + run
  const server = await startServer()
  const outcome = await fuzz(server, seed, Math.min(requestsOfServer, requests - asked))
  await server.stop()
  asked += outcome.requests
  for (const [reply, count] of outcome.replies) {
    const status = reply.slice(-3)
    statuses.set(status, (statuses.get(status) ?? 0) + count)
  }
  for (const fault of outcome.faults) process.stdout.write(`seed ${seed}: ${fault}\n`)
  faults += outcome.faults.length
}
const told = [...statuses].toSorted().map(([status, count]) => `${status}: ${count}`)
process.stdout.write(
  `seeds from ${first}, ${asked} requests, ${faults} faults; ${told.join(", ")}\n`,
)
process.exit(faults === 0 ? 0 : 1)
