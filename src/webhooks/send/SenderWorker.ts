/**
 * The sender thread: a worker that `SenderThread.ts` starts. It signs messages and keeps
 * connections. It does not know deliveries. The main thread resolves host names; this thread checks
 * their addresses.
 */
import type { KeyObject } from "node:crypto"
import { parentPort, workerData } from "node:worker_threads"
import { limits } from "../../Limits.ts"
import { AllowedRanges } from "./AddressGuard.ts"
import { makeConnector } from "./Connector.ts"
import { Sender } from "./Sender.ts"
import {
  outcomeLength,
  pushOutcome,
  type SenderOrder,
  type SenderOutcomes,
  type SenderReports,
  type SenderSettings,
} from "./SenderProtocol.ts"
import { SlotMap } from "./SenderThread.ts"

const { allowed, timeoutMs, trusted } = workerData as SenderSettings
const port = parentPort!

// Waking the main thread costs more than signing a message, so outcomes are reported in batches.
let outcomes: SenderOutcomes = []
let questions: Array<readonly [question: number, host: string]> = []
let due: NodeJS.Timeout | undefined
const flush = (): void => {
  clearTimeout(due)
  due = undefined
  const reports: SenderReports = { outcomes, questions }
  outcomes = []
  questions = []
  port.postMessage(reports)
}
const flushSoon = (): void => {
  due ??= setTimeout(flush, limits.webhookOutcomesMs)
}
const outcomesLength = limits.webhookOutcomesTogether * outcomeLength

let asked = 0
const asking = new Map<number, (addresses: ReadonlyArray<string> | null) => void>()
const resolve = (host: string): Promise<ReadonlyArray<string>> =>
  new Promise((answered, failed) => {
    asking.set(++asked, (addresses) => {
      if (addresses === null) failed(new Error(`${host} could not be looked up`))
      else answered(addresses)
    })
    questions.push([asked, host])
    flushSoon()
  })

const options = {
  connect: makeConnector({
    allowed: new AllowedRanges(allowed),
    resolve,
    timeoutMs: Math.min(timeoutMs, limits.webhookConnectTimeoutMs),
    ...(trusted !== undefined && { trusted }),
  }),
  timeoutMs,
  connectionsMax: limits.webhookConcurrencyMax,
}

interface Open {
  readonly sender: Sender
  keys: ReadonlyArray<KeyObject>
}
const senders = new Map<number, Open>()
/** The functions that abort attempts. */
const attempts = new SlotMap<() => void>()

const obey = (order: SenderOrder): void => {
  switch (order[0]) {
    case "send": {
      const [, number, attempt, message, timestampSeconds, trace] = order
      const { keys, sender } = senders.get(number)!
      const giveUp = sender.send({ message, timestampSeconds, trace, keys }, (outcome) => {
        attempts.take(attempt)
        const length = pushOutcome(outcomes, attempt, outcome)
        if (attempts.size === 0 || length >= outcomesLength) flush()
        else flushSoon()
      })
      attempts.set(attempt, giveUp)
      break
    }
    case "giveUp":
      attempts.take(order[1])?.()
      break
    case "open":
      senders.set(order[1], { sender: new Sender(order[2], options), keys: [] })
      break
    case "keys":
      senders.get(order[1])!.keys = order[2]
      break
    case "close":
      senders.get(order[1])!.sender.close()
      senders.delete(order[1])
      break
    case "resolved":
      asking.get(order[1])?.(order[2])
      asking.delete(order[1])
      break
  }
}

port.on("message", (orders: ReadonlyArray<SenderOrder>) => {
  for (const order of orders) obey(order)
})
