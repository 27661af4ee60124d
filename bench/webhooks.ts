/**
 * Webhooks: the rate of deliveries, their cost for the senders of events, whether hanging endpoints
 * slow the others, and the cost of a million pending deliveries.
 */
import { inProcess, type Running, startProcess } from "./children.ts"
import { randomEvent } from "./events.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { type Laurel, startLaurel } from "./laurel.ts"
import { openLoop } from "./loads.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { ManyEndpointsReport } from "./processes/manyEndpoints.ts"
import type { PendingOptions, PendingReport } from "./processes/pendingDeliveries.ts"
import type { UndiciLoopOptions } from "./processes/undiciLoop.ts"
import type { ReceiverCount } from "./processes/webhookReceiver.ts"
import { median } from "./statistics.ts"

const settings = { LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8" }
const rounds = 11
const backlog = 10_000
const batch = 1_000
const fanOut = 10
const flowMs = 4_000
/** Interval of questions to the receiver, which cost it time. */
const pollMs = 20
/** Where the receiver reports the time of the last message. */
const drainPollMs = 100
/** At once to one endpoint. */
const connectionsEach = 10

type Receiver = Running<{ readonly port: number }>

const told = async ({ answer: { port } }: Receiver, path = "/"): Promise<ReceiverCount> =>
  (await (await fetch(`http://127.0.0.1:${port}${path}`)).json()) as ReceiverCount

const untilReceived = async (
  receiver: Receiver,
  count: number,
  everyMs = pollMs,
): Promise<ReceiverCount> => {
  while (true) {
    const found = await told(receiver)
    if (found.count >= count) return found
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

const track = (laurel: Laurel, count: number) =>
  laurel.request("/v1/events/batch", {
    events: Array.from({ length: count }, () => randomEvent()),
  })

/** How many a second arrive of those that wait when all events are acknowledged. */
const drained = async (laurel: Laurel, receiver: Receiver): Promise<number> => {
  const before = await told(receiver)
  for (let sent = 0; sent < backlog; sent += batch) await track(laurel, batch)
  const from = await told(receiver)
  const end = await untilReceived(receiver, before.count + backlog, drainPollMs)
  return ((end.count - from.count) * 1_000) / (end.lastAt - from.now)
}

/** Deliveries per second while events arrive at the rate of deliveries. */
const flowing = async (laurel: Laurel, receiver: Receiver): Promise<number> => {
  const from = await told(receiver)
  let found = from
  let sent = 0
  while (found.now - from.now < flowMs) {
    if (sent - (found.count - from.count) < 150 * fanOut) {
      await track(laurel, 50)
      sent += 50 * fanOut
    } else await new Promise((resolve) => setTimeout(resolve, pollMs))
    found = await told(receiver)
  }
  await untilReceived(receiver, from.count + sent)
  return ((found.count - from.count) * 1_000) / (found.now - from.now)
}

/** Measures both in turn with a bare loop, which stands for the least that sending them takes. */
const deliveries = async (directory: string): Promise<ReadonlyArray<BenchLine>> => {
  const laurel = await startLaurel({ directory, settings })
  const receiver = await startProcess<{ readonly port: number }>("webhookReceiver")
  try {
    const { port } = receiver.answer
    const url = `http://127.0.0.1:${port}/hook`
    const register = () => laurel.request("/v1/webhooks", { url, events: ["event.tracked"] })
    const bare = async (connections: number): Promise<number> => {
      const { kept: messages } = await told(receiver, "/kept")
      laurel.pause()
      const options: UndiciLoopOptions = { port, messages, connections, count: 2 * backlog }
      const { perSecond } = await inProcess<{ readonly perSecond: number }>("undiciLoop", options)
      laurel.resume()
      return perSecond
    }
    const compared = async (question: string, connections: number, use: typeof drained) => {
      await use(laurel, receiver)
      const ours: Array<number> = []
      const reference: Array<number> = []
      for (let round = 0; round < rounds; round++) {
        ours.push(await use(laurel, receiver))
        reference.push(await bare(connections))
      }
      return {
        question: `webhooks: ${question}`,
        value: median(ours),
        unit: "/s",
        reference: { name: "bare undici loop", value: median(reference), unit: "/s" },
        // Of what came one after the other: the machine's speed changes from minute to minute.
        ratio: median(ours.map((rate, round) => rate / reference[round]!)),
        goal: "≥ 0.7×",
      }
    }
    await register()
    const one = await compared("a backlog, to one local receiver", connectionsEach, drained)
    for (let more = 1; more < fanOut; more++) await register()
    const connections = fanOut * connectionsEach
    const ten = await compared(`as it happens, ${fanOut} to each event`, connections, flowing)
    return [one, ten]
  } finally {
    await receiver.stop()
    await laurel.stop()
  }
}

const perSecond = 1_000

/** Events at a steady rate, without webhooks, then with one that gets each. */
const latency = async (directory: string): Promise<ReadonlyArray<BenchLine>> => {
  const laurel = await startLaurel({ directory, settings })
  const receiver = await startProcess<{ readonly port: number }>("webhookReceiver")
  try {
    const load = () =>
      openLoop(laurel.answer, { perSecond, connections: 500, warmUpSeconds: 2, measureSeconds: 8 })
    const without = await load()
    const url = `http://127.0.0.1:${receiver.answer.port}/hook`
    await laurel.request("/v1/webhooks", { url, events: ["event.tracked"] })
    const withThem = await load()
    await untilReceived(receiver, withThem.acceptedInAll)
    const line = (question: string, value: number, reference: number): BenchLine => ({
      question: `webhooks: ${question}`,
      value,
      unit: "ms",
      reference: { name: "no webhook", value: reference, unit: "ms" },
      ratio: value / reference,
    })
    const rate = `of ${perSecond.toLocaleString("en-US")} events/s, all sent`
    return [
      line(`99 % ${rate}, answered within`, withThem.whole.p99Ms, without.whole.p99Ms),
      line(`median ${rate}`, withThem.whole.p50Ms, without.whole.p50Ms),
    ]
  } finally {
    await receiver.stop()
    await laurel.stop()
  }
}

/** Measures the lines of one receiver; about three minutes. */
export const webhooks = async (): Promise<ReadonlyArray<BenchLine>> => [
  ...(await withTemporaryFolder(deliveries)),
  ...(await withTemporaryFolder(latency)),
]

/** Measures those of 10,000 endpoints; about half a minute. */
export const manyEndpoints = (): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const report = await inProcess<ManyEndpointsReport>("manyEndpoints", { directory })
    const { allAnswer, endpoints, hanging, quiet, someHang } = report
    const [of, some] = [endpoints, hanging].map((count) => count.toLocaleString("en-US"))
    const reference = (value: number, name: string) => ({ name, value, unit: "ms" })
    return [
      {
        question: `${of} endpoints, ${some} hang: a message at the others`,
        value: someHang.roundMs,
        unit: "ms",
        reference: reference(allAnswer.roundMs, "none hangs"),
        ratio: someHang.roundMs / allAnswer.roundMs,
      },
      {
        question: `${of} endpoints, ${some} hang: 99 % of asks within`,
        value: someHang.askP99Ms,
        unit: "ms",
        reference: reference(allAnswer.askP99Ms, "none hangs"),
        ratio: someHang.askP99Ms / allAnswer.askP99Ms,
      },
      {
        question: `${of} endpoints: 99 % of asks within while all are sent`,
        value: allAnswer.askP99Ms,
        unit: "ms",
        reference: reference(quiet.askP99Ms, "nothing to send"),
        ratio: allAnswer.askP99Ms / quiet.askP99Ms,
      },
      {
        question: `${of} endpoints, ${some} hang: memory beyond none`,
        value: (someHang.bytes - allAnswer.bytes) / 2 ** 20,
        unit: "MiB",
      },
    ]
  })

/** Measures those of 1,000,000 deliveries that wait; about a minute and a half. */
export const pendingDeliveries = (): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const options: PendingOptions = { directory, webhooks: 10, events: 100_000 }
    const { bytes, pending } = await inProcess<PendingReport>("pendingDeliveries", options)
    return [
      {
        question: `${pending.toLocaleString("en-US")} pending deliveries: memory beyond none`,
        value: bytes / 1e6,
        unit: "MB",
        goal: "< 200 MB",
      },
    ]
  })

if (import.meta.main) {
  for (const measure of [webhooks, manyEndpoints, pendingDeliveries]) {
    for (const line of await measure()) console.log(formatLine(line))
  }
}
