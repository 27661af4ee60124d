/**
 * `npm run test:hostile -- [rounds] [seed]`: measures requests that aim at processor time. It
 * decodes all hostile bodies, runs every regular expression that reads callers' text on texts made
 * against it, and sends hostile heads to a server. It prints the most expensive ones, and fails if
 * one is above a generous bound.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { connect } from "node:net"
import { Effect, Result } from "effect"
import { AddressRanges } from "../../../src/accounts/AddressRanges.ts"
import { batchSteps } from "../../../src/http/body/BatchDecoder.ts"
import { parseBody } from "../../../src/http/body/Body.ts"
import { type BatchStep, type EventInput, eventItems } from "../../../src/http/body/EventDecoder.ts"
import { inputDecoder } from "../../../src/http/body/InputDecoder.ts"
import { type ProxyField, proxyFields } from "../../../src/http/request/ClientAddress.ts"
import { limits } from "../../../src/Limits.ts"
import { startDashboard } from "../../dashboard/fixture.ts"
import { randomOf } from "../../simulation/random.ts"
import { hostileBodies } from "./HostileBodies.ts"
import { type HostileHead, hostileHeads } from "./hostileHeads.ts"
import { attacksOn, callersMeet, useOn } from "./hostileTexts.ts"

const rounds = Number(process.argv[2] ?? 1)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1e9))
const json = "application/json"

interface Cost {
  readonly name: string
  readonly turnMs: number
  readonly totalMs: number
}

/** The ten most expensive ones. */
class Slowest {
  costs: Array<Cost> = []
  count = 0

  add(cost: Cost): void {
    this.count++
    this.costs.push(cost)
    this.costs.sort((a, b) => b.turnMs - a.turnMs)
    this.costs.length = Math.min(this.costs.length, 10)
  }

  /** Prints them; returns whether all are within the bound. */
  report(what: string, boundMs: number): boolean {
    process.stdout.write(`${this.count} ${what}; the slowest by processor time in one turn:\n`)
    for (const { name, totalMs, turnMs } of this.costs) {
      process.stdout.write(`${turnMs.toFixed(1)} ms of ${totalMs.toFixed(1)} ms: ${name}\n`)
    }
    return (this.costs[0]?.turnMs ?? 0) <= boundMs
  }
}

const spentMs = (before: NodeJS.CpuUsage): number => {
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1_000
}

const cpuMs = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  return spentMs(before)
}

const bodies = (slowest: Slowest): void => {
  for (let round = 0; round < rounds; round++) {
    const all = hostileBodies(randomOf(seed + round))
    for (const { bytesMax, name, operation, schema, text } of all) {
      const body = Buffer.from(text())
      let turnMs = 0
      let totalMs = 0
      const turn = (work: () => void): void => {
        const took = cpuMs(work)
        turnMs = Math.max(turnMs, took)
        totalMs += took
      }
      if (bytesMax > limits.bodyBytesMax) {
        let step: BatchStep<EventInput> = () => undefined
        let result: ReturnType<BatchStep<EventInput>>
        turn(() => {
          step = batchSteps(eventItems, body, json)
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
      slowest.add({ name: `${operation} ${name}`, turnMs, totalMs })
    }
  }
}

/** A text as long as a head. If it is slow, a text four times as long shows a quadratic cost. */
const textCharacters = [limits.headerBytesMax, 4 * limits.headerBytesMax]
const suspectMs = 3
const expressionBoundMs = 100

const expressions = (slowest: Slowest): void => {
  for (const { expression, file } of callersMeet().expressions) {
    for (const { piece, start } of attacksOn(expression)) {
      let turnMs = 0
      for (const length of textCharacters) {
        const text = `${start}${piece.repeat(length / piece.length)}\n\0`
        turnMs = Math.max(
          turnMs,
          cpuMs(() => useOn(expression, text)),
        )
        if (turnMs < suspectMs || turnMs > expressionBoundMs) break
      }
      const name = `${file} ${expression} on ${JSON.stringify(start)} and ${JSON.stringify(piece)}…`
      slowest.add({ name, turnMs, totalMs: turnMs })
      // One such text is enough.
      if (turnMs > expressionBoundMs) break
    }
  }
}

/** The request that is sent with each head. */
const requests: ReadonlyArray<readonly [method: string, path: string, body: string]> = [
  ["GET", "/v1/users", ""],
  ["POST", "/v1/events/batch", '{"events":[{"userId":"ada","action":"DONE"}]}'],
  ["GET", "/v1/stream", ""],
  ["GET", "/docs", ""],
  ["GET", "/dashboard", ""],
  ["POST", "/dashboard/sign-in", "email=a"],
]

const heads = async (slowest: Slowest): Promise<void> => {
  for (const field of proxyFields) await headsTo(slowest, field)
}

const headsTo = async (slowest: Slowest, field: ProxyField): Promise<void> => {
  const ranges = new AddressRanges(["127.0.0.1/32"])
  const server = await startDashboard({}, { trustedProxies: { ranges, field } })
  const { key } = await Effect.runPromise(
    server.keys.create({
      project: "shop",
      environment: "sandbox",
      scope: "full",
    }),
  )
  const { host, port } = new URL(server.url)
  const textOf = (method: string, path: string, body: string, { lines, more }: HostileHead) => {
    const own = [
      `host: ${host}`,
      `authorization: Bearer ${key}`,
      "content-type: application/json",
      "sec-fetch-site: same-origin",
    ].filter(
      (line) => !lines.some((given) => given.startsWith(line.slice(0, line.indexOf(":") + 1))),
    )
    const rest = [`content-length: ${body.length}`, "connection: close"]
    const head = [`${method} ${path}${more} HTTP/1.1`, ...own, ...lines, ...rest]
    return `${head.join("\r\n")}\r\n\r\n${body}`
  }
  /** The processor time of this process from the request to the end of its reply. */
  const ask = (text: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), "127.0.0.1", () => {
        const before = process.cpuUsage()
        socket.end(text, "latin1")
        // A stream begins, and does not end.
        socket.once("data", () => socket.destroy())
        socket.once("close", () => resolve(spentMs(before)))
      })
      socket.on("error", reject)
    })
  for (const head of hostileHeads()) {
    for (const [method, path, body] of requests) {
      const text = textOf(method, path, body, head)
      let turnMs = await ask(text)
      // Garbage collection, or the end of other work, may add to one measurement.
      for (let again = 0; again < 3 && turnMs > 10; again++)
        turnMs = Math.min(turnMs, await ask(text))
      slowest.add({ name: `${method} ${path} ${head.name}`, turnMs, totalMs: turnMs })
    }
  }
  await server.stop()
}

process.stdout.write(`seed ${seed}\n`)
const [ofBodies, ofExpressions, ofHeads] = [new Slowest(), new Slowest(), new Slowest()]
bodies(ofBodies)
expressions(ofExpressions)
await heads(ofHeads)
const within = [
  ofBodies.report("bodies", 250),
  ofExpressions.report("texts for regular expressions", expressionBoundMs),
  ofHeads.report("heads", 50),
]
process.exit(within.includes(false) ? 1 : 0)
