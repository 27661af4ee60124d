/**
 * `npm run test:hostile -- [rounds] [seed]`: decodes all hostile bodies, prints those that took the most processor time
 * in one turn, and fails where one took more than a generous bound.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Result } from "effect"
import { batchSteps } from "../../../src/http/body/BatchDecoder.ts"
import { parseBody } from "../../../src/http/body/Body.ts"
import type { BatchStep } from "../../../src/http/body/EventDecoder.ts"
import { inputDecoder } from "../../../src/http/body/InputDecoder.ts"
import { limits } from "../../../src/Limits.ts"
import { randomOf } from "../random.ts"
import { hostileBodies } from "./HostileBodies.ts"

const rounds = Number(process.argv[2] ?? 1)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1e9))
const boundMs = 250
const json = "application/json"

const cpuMs = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1_000
}

const slowest: Array<{ readonly name: string; readonly turnMs: number; readonly totalMs: number }> =
  []
let bodies = 0
for (let round = 0; round < rounds; round++) {
  for (const { bytesMax, name, operation, schema, text } of hostileBodies(randomOf(seed + round))) {
    bodies++
    const body = Buffer.from(text())
    let turnMs = 0
    let totalMs = 0
    const turn = (work: () => void): void => {
      const took = cpuMs(work)
      turnMs = Math.max(turnMs, took)
      totalMs += took
    }
    if (bytesMax > limits.bodyBytesMax) {
      let step: BatchStep = () => undefined
      let result: ReturnType<BatchStep>
      turn(() => {
        step = batchSteps(body, json)
      })
      while (result === undefined) {
        turn(() => {
          result = step()
        })
      }
    } else {
      const decode = inputDecoder(schema, { errors: "all", onExcessProperty: "error" })
      turn(() => {
        const value = parseBody(body)
        if (Result.isSuccess(value)) decode(value.success, "", limits.faultsMax)
      })
    }
    slowest.push({ name: `${operation} ${name}`, turnMs, totalMs })
    slowest.sort((a, b) => b.turnMs - a.turnMs)
    slowest.length = Math.min(slowest.length, 10)
  }
}
process.stdout.write(`seed ${seed}, ${bodies} bodies; the slowest by processor time in one turn:\n`)
for (const { name, totalMs, turnMs } of slowest) {
  process.stdout.write(`${turnMs.toFixed(1)} ms of ${totalMs.toFixed(1)} ms: ${name}\n`)
}
process.exit(slowest[0]!.turnMs > boundMs ? 1 : 0)
