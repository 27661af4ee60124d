/** A server under overload. The test simulates the turns of the event loop. */
import { once } from "node:events"
import { Effect, Latch } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Admission, type AdmissionBounds } from "../../../src/http/pipeline/Admission.ts"
import { limits } from "../../../src/Limits.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import { Random } from "../../simulation/random.ts"
import { received, startServer, type TestServer, type TestServerOptions } from "../fixture.ts"

/** A server whose event loop takes `costMs` for each admitted request. */
class Play {
  now = 1_000
  connections = 2_000
  /** The number of look-ups of a request's environment. */
  lookedUp = 0
  readonly admission: Admission
  #end: Array<() => void> = []

  constructor(bounds: Partial<AdmissionBounds> = {}) {
    this.admission = new Admission({ ...limits, ...bounds }, () => this.connections, {
      now: () => this.now,
      atEnd: (callback) => {
        this.#end.push(callback)
      },
    })
  }

  /** One turn with a number of requests; returns the number of admitted ones. */
  turn(requests: number, costMs: number, refusalMs = 0, bodyBytes = 0): number {
    const senders = Array.from({ length: requests }, () => "prj_test:sandbox")
    const accepted = this.turnOf(senders, costMs, refusalMs, bodyBytes)
    return accepted.get("prj_test:sandbox") ?? 0
  }

  /**
   * One turn with a request from each of `senders` (environments; `""`: no key), in order. Returns
   * the number of admitted requests of each.
   */
  turnOf(
    senders: ReadonlyArray<string>,
    costMs: number,
    refusalMs = 0,
    bodyBytes = 0,
  ): Map<string, number> {
    const { admission } = this
    const accepted = new Map<string, number>()
    for (const sender of senders) {
      const refused = admission.refusal(bodyBytes, sender, (environment) => {
        this.lookedUp++
        return environment === "" ? undefined : admission.shares.of(environment)
      })
      this.now += refused === undefined ? costMs : refusalMs
      if (refused === undefined) accepted.set(sender, (accepted.get(sender) ?? 0) + 1)
    }
    const ends = this.#end
    this.#end = []
    for (const end of ends) end()
    return accepted
  }

  /**
   * An open loop with a number of requests of each environment per millisecond. Returns the numbers
   * of sent and admitted requests of each.
   */
  mix(perMs: Readonly<Record<string, number>>, durationMs: number, random = new Random(1)) {
    const offered: Record<string, number> = {}
    const accepted: Record<string, number> = {}
    const due: Record<string, number> = {}
    const until = this.now + durationMs
    let lastMs = 1
    while (this.now < until) {
      const startedAt = this.now
      const senders: Array<string> = []
      for (const [environment, rate] of Object.entries(perMs)) {
        due[environment] = (due[environment] ?? 0) + lastMs * rate
        for (; due[environment]! >= 1; due[environment]!--) senders.push(environment)
      }
      for (let last = senders.length - 1; last > 0; last--) {
        const other = random.integer(0, last)
        ;[senders[last], senders[other]] = [senders[other]!, senders[last]!]
      }
      for (const sender of senders) offered[sender] = (offered[sender] ?? 0) + 1
      for (const [sender, count] of this.turnOf(senders, costMs, refusalMs)) {
        accepted[sender] = (accepted[sender] ?? 0) + count
      }
      // An event loop without requests waits for the next one.
      lastMs = Math.max(0.2, this.now - startedAt)
      this.now = startedAt + lastMs
    }
    return { offered, accepted }
  }

  pause(durationMs: number): void {
    this.now += durationMs
  }

  /** Turns of an open loop: each has the requests that arrived during the turn before. */
  load(perMs: number, costMs: number, refusalMs: number, durationMs: number): Array<Turn> {
    const turns: Array<Turn> = []
    const until = this.now + durationMs
    let lastMs = 1
    while (this.now < until) {
      const startedAt = this.now
      const offered = Math.max(1, Math.round(lastMs * perMs))
      const accepted = this.turn(offered, costMs, refusalMs)
      lastMs = this.now - startedAt
      turns.push({ startedAt, offered, accepted, durationMs: lastMs })
    }
    return turns
  }
}

interface Turn {
  readonly startedAt: number
  readonly offered: number
  readonly accepted: number
  readonly durationMs: number
}

/** At 0.1 ms for each request, an event loop can answer ten requests per millisecond. */
const costMs = 0.1
const refusalMs = 0.02
const saturation = 10

const refusedIn = (turns: ReadonlyArray<Turn>) =>
  turns.reduce((sum, { accepted, offered }) => sum + offered - accepted, 0)

describe("Admission", () => {
  it("admits all requests while turns are short, however many there are", () => {
    const play = new Play()
    expect(refusedIn(play.load(0.9 * saturation, costMs, refusalMs, 10_000))).toBe(0)
    expect(play.admission.overloaded).toBe(false)
  })

  it("keeps turns short at three times saturation after a tenth of a second, and still admits requests", () => {
    const play = new Play()
    const begun = play.now
    const turns = play.load(3 * saturation, costMs, refusalMs, 5_000)
    const [settled] = turns.filter(({ accepted, offered }) => accepted < offered)
    expect(settled!.startedAt - begun).toBeGreaterThanOrEqual(limits.overloadStandingMs / 2)
    expect(settled!.startedAt - begun).toBeLessThan(4 * limits.overloadStandingMs)
    const later = turns.filter(({ startedAt }) => startedAt > settled!.startedAt + 2_000)
    // Refusals take their part of each turn; the rest is for admitted requests.
    const most = limits.overloadBudgetMs / (1 - 3 * saturation * refusalMs)
    for (const { durationMs } of later) expect(durationMs).toBeLessThan(1.5 * most)
    const acceptedPerMs =
      later.reduce((sum, { accepted }) => sum + accepted, 0) / (play.now - later[0]!.startedAt)
    expect(acceptedPerMs).toBeGreaterThan(0.35 * saturation)
  })

  it("spends most of its time on admitted requests, however many callers retry at once", () => {
    const play = new Play()
    /** The cost of reading a refused request and of sending its refusal. */
    const [readMs, sendMs] = [0.026, 0.014]
    const until = play.now + 5_000
    let asking = play.connections
    let accepted = 0
    while (play.now < until) {
      const taken = play.turn(asking, costMs, readMs)
      accepted += taken
      for (let refused = asking - taken; refused > 0; refused--) {
        play.admission.refusals.add(() => {
          play.now += sendMs
          asking++
        })
      }
      asking = taken
      play.turn(0, 0)
    }
    expect(play.admission.refused.queue).toBeGreaterThan(0)
    expect(accepted / 5_000).toBeGreaterThan(0.4 * saturation)
  })

  it("admits all requests again a second after the last refusal", () => {
    const play = new Play()
    expect(refusedIn(play.load(3 * saturation, costMs, refusalMs, 2_000))).toBeGreaterThan(0)
    play.load(0.5 * saturation, costMs, refusalMs, limits.overloadCalmMs + 200)
    expect(play.admission.overloaded).toBe(false)
    expect(play.turn(1_000, costMs)).toBe(1_000)
  })

  it("admits a burst that is worked off at once", () => {
    const play = new Play()
    expect(play.turn(5_000, costMs)).toBe(5_000)
    expect(refusedIn(play.load(0.5 * saturation, costMs, refusalMs, 1_000))).toBe(0)
  })

  it("admits the requests that arrive after a pause of the machine", () => {
    const play = new Play()
    expect(refusedIn(play.load(0.5 * saturation, costMs, refusalMs, 200))).toBe(0)
    // The pause falls into a turn. The requests sent during the pause come next, and then those
    // sent during that turn.
    for (const requests of [1, 2_000, 1_000, 500, 250, 125, 60, 30]) {
      if (requests === 1) play.pause(400)
      expect(play.turn(requests, requests === 1 ? 400 : costMs)).toBe(requests)
    }
    expect(play.admission.overloaded).toBe(false)
  })

  it("never refuses requests of a turn below overloadCrowdUnits, however long they take", () => {
    const play = new Play()
    for (let turn = 0; turn < 50; turn++) {
      expect(play.turn(limits.overloadCrowdUnits, 20)).toBe(limits.overloadCrowdUnits)
    }
    const accepted = [1, 2, 3].map(() => play.turn(limits.overloadCrowdUnits + 1, 20))
    expect(accepted).toEqual([
      limits.overloadCrowdUnits + 1,
      limits.overloadCrowdUnits + 1,
      limits.overloadTurnUnitsMin,
    ])
  })

  it("refuses no request while there are few connections, and stops refusing when only few are left", () => {
    const play = new Play()
    play.connections = limits.overloadConnectionsMin
    expect(refusedIn(play.load(3 * saturation, costMs, refusalMs, 1_000))).toBe(0)
    play.connections++
    expect(refusedIn(play.load(3 * saturation, costMs, refusalMs, 1_000))).toBeGreaterThan(0)
    play.connections--
    // From the first turn on.
    expect(play.turn(limits.overloadConnectionsMin, 1)).toBe(limits.overloadConnectionsMin)
  })

  it("counts a large body as several requests", () => {
    const play = new Play()
    play.load(3 * saturation, costMs, refusalMs, 1_000)
    const most = limits.overloadTurnUnitsMin
    expect(play.turn(2 * most, 50, 0, limits.admissionUnitBytes - 1)).toBe(most)
    expect(play.turn(2 * most, 50, 0, limits.admissionUnitBytes)).toBe(most / 2)
  })
})

/** The admitted share of each environment's requests, in whole percent. */
const percent = ({ accepted, offered }: ReturnType<Play["mix"]>) =>
  Object.fromEntries(
    Object.entries(offered).map(([environment, count]) => [
      environment,
      Math.round((100 * (accepted[environment] ?? 0)) / count),
    ]),
  )

describe("Fair shares of an overloaded server", () => {
  const flooded = 3 * saturation

  it("give a project with few requests all of them, whatever another project sends", () => {
    const play = new Play()
    play.mix({ flood: flooded, quiet: 1 }, 2_000)
    expect(play.admission.overloaded).toBe(true)
    for (const flood of [flooded, 1.3 * flooded]) {
      const outcome = percent(play.mix({ flood, quiet: 1 }, 5_000))
      expect(outcome.quiet).toBe(100)
      expect(outcome.flood).toBeLessThan(50)
    }
  })

  it("give ten such projects all their requests, and the flood the rest", () => {
    const play = new Play()
    const quiet = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`quiet_${n}`, 0.1]))
    play.mix({ flood: flooded, ...quiet }, 2_000)
    const { flood, ...others } = percent(play.mix({ flood: flooded, ...quiet }, 5_000))
    expect(Object.values(others)).toEqual(Array.from({ length: 10 }, () => 100))
    expect(flood).toBeGreaterThan(0)
  })

  it("give about the same to projects that all send too much", () => {
    const play = new Play()
    const rates = { one: flooded / 6, two: flooded / 3, three: flooded / 2 }
    play.mix(rates, 2_000)
    const { accepted } = play.mix(rates, 5_000)
    const counts = Object.values(accepted)
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.5)
  })

  it("take no more of a turn than the shared units, however many projects there are", () => {
    const play = new Play({ overloadBudgetMs: 0 })
    play.load(flooded, costMs, refusalMs, 1_000)
    expect(play.admission.overloaded).toBe(true)
    const senders = Array.from({ length: 2_000 }, (_, n) => `prj_${n % 200}`)
    const taken = Array.from({ length: 80 }, () => {
      const accepted = play.turnOf(senders, costMs, refusalMs)
      return [...accepted.values()].reduce((sum, count) => sum + count, 0)
    })
    const most = limits.overloadSharedUnits + limits.overloadTurnUnitsMin
    const mean = taken.slice(16).reduce((sum, count) => sum + count, 0) / (taken.length - 16)
    expect(mean).toBeLessThanOrEqual(most)
    // The reserve of several turns may be used in one turn.
    const kept = limits.overloadSharedUnits * limits.overloadShareTurnsMax
    expect(Math.max(...taken)).toBeLessThanOrEqual(kept + limits.overloadTurnUnitsMin)
  })

  it("give nothing extra to one project alone", () => {
    const alone = new Play()
    const without = new Play({ overloadSharedUnits: 0 })
    const outcomes = [alone, without].map((play) => play.mix({ flood: flooded }, 3_000))
    expect(outcomes[0]).toEqual(outcomes[1])
  })

  it("leave callers without a key the rest, in order of arrival", () => {
    const play = new Play()
    play.mix({ "": flooded, quiet: 1, other: 1 }, 2_000)
    const { "": nobody, ...others } = percent(play.mix({ "": flooded, quiet: 1, other: 1 }, 5_000))
    expect(others).toEqual({ quiet: 100, other: 100 })
    expect(nobody).toBeLessThan(50)
  })

  it("cost no look-up of keys while there is no standing queue", () => {
    const play = new Play()
    play.mix({ one: saturation / 4, two: saturation / 4 }, 5_000)
    expect(play.lookedUp).toBe(0)
  })
})

describe("Fair shares of memory and places", () => {
  const waitFor = (admission: Admission, environment: string, most: number) => {
    const share = admission.shares.of(environment)
    let waiting = 0
    for (; waiting < most && admission.shareRefusal(share, 0) === undefined; waiting++) {
      admission.wait(share)
    }
    return waiting
  }

  it("leave one project half of the places, two projects a third each, and a new project always some", () => {
    const { admission } = new Play({ requestsWaitingMax: 1_200 })
    expect(waitFor(admission, "flood", 10_000)).toBe(600)
    expect(waitFor(admission, "second", 10_000)).toBe(300)
    expect(waitFor(admission, "third", 10_000)).toBe(150)
    expect(admission.refused.waiting).toBe(3)
    // Free places go to the projects that hold fewer.
    const flood = admission.shares.of("flood")
    for (let answers = 0; answers < 300; answers++) admission.answered(flood)
    expect(admission.shareRefusal(admission.shares.of("third"), 0)).toBeUndefined()
    expect(waitFor(admission, "third", 10_000)).toBe(75 + 75)
    expect(admission.shareRefusal(flood, 0)?.code).toBe(
      admission.waiting + flood.waiting >= 1_200 ? "overloaded" : undefined,
    )
  })

  it("let a project have as much memory for bodies as is free", () => {
    const { admission } = new Play({ bodiesBytesMax: 1_000 })
    const [flood, quiet] = [admission.shares.of("flood"), admission.shares.of("quiet")]
    expect(admission.hold(flood, 500)).toBeUndefined()
    expect(admission.hold(flood, 1)?.code).toBe("overloaded")
    expect(admission.shareRefusal(flood, 1)?.code).toBe("overloaded")
    // A request without a body needs no memory.
    expect(admission.shareRefusal(flood, 0)).toBeUndefined()
    expect(admission.hold(quiet, 250)).toBeUndefined()
    expect(admission.hold(quiet, 1)?.code).toBe("overloaded")
    admission.release(flood, 500)
    expect([flood.bodiesBytes, admission.bodiesBytes]).toEqual([0, 250])
    expect(admission.hold(quiet, 250)).toBeUndefined()
  })
})

describe("Refusals", () => {
  it("are sent in order, in the turn in which they are made, within their share of the turn", () => {
    const play = new Play({ overloadRefusalMs: 4 })
    const sent: Array<number> = []
    const send = (number: number) => () => {
      play.now += 1
      sent.push(number)
    }
    for (let number = 0; number < 10; number++) play.admission.refusals.add(send(number))
    const counts = [0, 1, 2].map(() => {
      play.turn(0, 0)
      return sent.length
    })
    expect(counts).toEqual([4, 8, 10])
    expect(sent).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    play.admission.refusals.add(send(10))
    play.turn(0, 0)
    expect(sent.length).toBe(11)
  })

  it("are never lost, however many wait", () => {
    const play = new Play({ overloadRefusalMs: 4 })
    let sent = 0
    for (let number = 0; number < 5_000; number++) {
      play.admission.refusals.add(() => {
        play.now += 0.5
        sent++
      })
    }
    let turns = 0
    for (; play.admission.refusals.size > 0; turns++) play.turn(0, 0)
    expect([sent, turns]).toEqual([5_000, 625])
  })
})

let server: TestServer
const start = async (options?: TestServerOptions) => {
  server = await startServer(options)
}
afterEach(() => server?.stop())

const refusals = (reason: string) =>
  sampleValue(server.metrics.text(), "laurel_overload_refusals_total", { reason })

/** Events whose commit waits until `gate` opens. */
const startSlow = async (bounds: TestServerOptions["bounds"]) => {
  const gate = Latch.makeUnsafe()
  await start({ storageOptions: { onAppend: () => Latch.await(gate) }, ...(bounds && { bounds }) })
  return () => Effect.runPromise(Latch.open(gate))
}

/**
 * Twenty connections that pipeline the same request, twenty at a time. Counts the statuses of the
 * replies.
 */
const openFlood = async (request: string) => {
  const counts: Record<number, number> = {}
  let stopping = false
  const together = 20
  const ends = Array.from({ length: together }, async () => {
    const socket = await server.connect()
    let left = 0
    const send = () => {
      left = together
      socket.write(request.repeat(together))
    }
    socket.on("data", (chunk: Buffer) => {
      for (const [, status] of chunk.toString().matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        counts[Number(status)] = (counts[Number(status)] ?? 0) + 1
        left--
      }
      if (left > 0) return
      if (stopping) socket.end()
      else send()
    })
    send()
    await once(socket, "close")
  })
  return {
    counts,
    stop: async () => {
      stopping = true
      await Promise.all(ends)
    },
  }
}

const event = (userId: string) => ({ body: { userId, action: "A" } })

describe("A server whose storage does not answer", () => {
  it("refuses requests above the maximum with 503 and Retry-After, and answers all waiting ones", async () => {
    const open = await startSlow({ requestsWaitingMax: 3 })
    const other = server.accounts.addKey("other", { environment: "prj_other:sandbox" })
    const waiting = ["a", "b"].map((userId) => server.call("POST", "/v1/events", event(userId)))
    const unanswered = () => sampleValue(server.metrics.text(), "laurel_commands_unanswered")
    await expect.poll(unanswered).toBe(2)
    // The last place is for other environments.
    expect((await server.call("POST", "/v1/events", event("d"))).status).toBe(503)
    waiting.push(server.call("POST", "/v1/events", { ...event("c"), key: other }))
    await expect.poll(unanswered).toBe(3)
    for (const [method, path] of [
      ["POST", "/v1/events"],
      ["POST", "/v1/events/batch"],
      ["GET", "/v1/users/a"],
    ] as const) {
      const more = method === "POST" ? event("d") : {}
      const { headers, json, status } = await server.call(method, path, more)
      expect([status, json.code, headers["retry-after"]]).toEqual([503, "overloaded", "1"])
    }
    // A request without a key gets the same reply, since keys are not looked up.
    const looked = server.accounts.authentications
    expect((await server.call("POST", "/v1/events", { ...event("d"), key: "x" })).status).toBe(503)
    expect(server.accounts.authentications).toBe(looked)
    expect((await server.call("GET", "/healthz")).status).toBe(200)
    expect((await server.call("GET", "/readyz")).status).toBe(200)
    expect(refusals("waiting")).toBe(5)
    await open()
    for (const reply of await Promise.all(waiting)) expect(reply.status).toBe(200)
    expect((await server.call("GET", "/v1/users/d")).status).toBe(404)
    expect((await server.call("POST", "/v1/events", event("d"))).status).toBe(200)
  })

  it("frees the place of a request that failed with a defect", async () => {
    await start({
      bounds: { requestsWaitingMax: 4 },
      wrapEngine: (engine) => ({
        ...engine,
        askUserWithCallback: (...args) => {
          if (args[1].userId === "defect") throw new Error("a defect")
          engine.askUserWithCallback(...args)
        },
      }),
    })
    for (let time = 0; time < 5; time++) {
      expect((await server.call("POST", "/v1/events", event("defect"))).status).toBe(500)
    }
    expect((await server.call("POST", "/v1/events", event("a"))).status).toBe(200)
    expect(server.errors.length).toBe(5)
  })

  it("bounds the memory of bodies, and frees it when they are answered", async () => {
    const bodyBytes = 1_000
    const open = await startSlow({ bodiesBytesMax: 2 * bodyBytes })
    const other = server.accounts.addKey("other", { environment: "prj_other:sandbox" })
    const send = (userId: string, key?: string) => {
      const body = JSON.stringify({ userId, action: "A" }).padEnd(bodyBytes)
      return server.call("POST", "/v1/events", { body, ...(key !== undefined && { key }) })
    }
    const held = () => sampleValue(server.metrics.text(), "laurel_request_bodies_bytes")
    const waiting = [send("a"), send("b", other)]
    await expect.poll(held).toBe(2 * bodyBytes)
    const refused = await send("c")
    expect([refused.status, refused.json.code]).toEqual([503, "overloaded"])
    // A request that does not announce its size is refused when the body arrives.
    const chunked = { body: "{}", headers: { "transfer-encoding": "chunked" } }
    expect((await server.call("POST", "/v1/events", chunked)).status).toBe(503)
    expect((await server.call("GET", "/v1/users/a")).status).toBe(404)
    expect(refusals("bodies")).toBe(2)
    await open()
    for (const reply of await Promise.all(waiting)) expect(reply.status).toBe(200)
    expect(held()).toBe(0)
    expect((await send("c")).status).toBe(200)
  })
})

/** Every turn counts as long and admits one request. */
const oneRequestPerTurn = {
  overloadCrowdUnits: 0,
  overloadConnectionsMin: 0,
  overloadTurnMs: -1,
  overloadStandingMs: 0,
  overloadBudgetMs: 0,
  overloadTurnUnitsMin: 1,
  overloadCalmMs: 60_000,
}

describe("A server with a standing queue", () => {
  it("refuses late requests with 503 and Retry-After, and answers health checks", async () => {
    await start({ bounds: oneRequestPerTurn })
    const sent: Array<string> = []
    const together = () =>
      Promise.all(
        Array.from({ length: 30 }, () => {
          sent.push(`u${sent.length}`)
          return server.call("POST", "/v1/events", event(sent.at(-1)!))
        }),
      )
    const replies = await together()
    while (!replies.some(({ status }) => status === 503)) replies.push(...(await together()))
    expect(sampleValue(server.metrics.text(), "laurel_overloaded")).toBe(1)
    for (const { headers, json, status } of replies) {
      if (status !== 200)
        expect([status, json.code, headers["retry-after"]]).toEqual([503, "overloaded", "1"])
    }
    expect(refusals("queue")).toBe(replies.filter(({ status }) => status === 503).length)
    expect((await server.call("GET", "/healthz")).status).toBe(200)
    expect((await server.call("GET", "/readyz")).status).toBe(200)
    // A refused request had no effect. A request alone in its turn is admitted.
    for (const [index, { status }] of replies.entries()) {
      const { status: found } = await server.call("GET", `/v1/users/u${index}`)
      expect([index, found]).toEqual([index, status === 200 ? 200 : 404])
    }
  })
})

describe("A project beside the flood of another one", () => {
  it("has all its events accepted while the flood's are refused", async () => {
    await start({ bounds: { ...oneRequestPerTurn, overloadSharedUnits: 4 } })
    const quietKey = server.accounts.addKey("quiet", { environment: "prj_quiet:sandbox" })
    const head = (key: string, body: string) =>
      `POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const flooder = await openFlood(head("lk_test_full", '{"userId":"f","action":"A"}'))
    await expect.poll(() => flooder.counts[503] ?? 0).toBeGreaterThan(0)
    const statuses: Array<number> = []
    for (let sent = 0; sent < 100; sent++) {
      const body = { userId: "q", action: "A" }
      statuses.push((await server.call("POST", "/v1/events", { body, key: quietKey })).status)
    }
    expect(statuses.filter((status) => status === 200).length).toBe(100)
    const refusedOfFlood = flooder.counts[503]!
    await flooder.stop()
    expect(flooder.counts[200]).toBeGreaterThan(0)
    expect(refusedOfFlood).toBeGreaterThan(flooder.counts[200]! / 2)
    expect(refusals("queue")).toBe(flooder.counts[503])
  })

  it("has all its events accepted while preflights, which have no share, are refused", async () => {
    await start({ bounds: { ...oneRequestPerTurn, overloadSharedUnits: 4 } })
    const flooder = await openFlood(
      "OPTIONS /v1/events HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
    )
    await expect.poll(() => flooder.counts[503] ?? 0).toBeGreaterThan(0)
    for (let sent = 0; sent < 100; sent++) {
      expect((await server.call("POST", "/v1/events", event("q"))).status).toBe(200)
    }
    await flooder.stop()
    expect(flooder.counts[204]).toBeGreaterThan(0)
    expect(refusals("queue")).toBe(flooder.counts[503])
  })
})

describe("Bodies that arrive slowly", () => {
  it("are admitted again at their end", async () => {
    const open = await startSlow({ requestsWaitingMax: 1 })
    const body = JSON.stringify({ userId: "slow", action: "A" })
    const socket = await server.connect()
    const reply = received(socket)
    socket.write(
      `POST /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer lk_test_full\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    )
    await expect
      .poll(() => sampleValue(server.metrics.text(), "laurel_request_bodies_bytes"))
      .toBe(5)
    const waiting = server.call("POST", "/v1/events", event("first"))
    await expect
      .poll(() => sampleValue(server.metrics.text(), "laurel_commands_unanswered"))
      .toBe(1)
    socket.write(body.slice(5))
    expect(await reply).toMatch(/^HTTP\/1\.1 503 /)
    await open()
    expect((await waiting).status).toBe(200)
    expect((await server.call("GET", "/v1/users/slow")).status).toBe(404)
  })

  it("take memory for the part that has arrived, and none after their senders disconnect", async () => {
    await start()
    const head = `POST /v1/events/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer lk_test_full\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n`
    const held = () => sampleValue(server.metrics.text(), "laurel_request_bodies_bytes")
    const sockets = await Promise.all(Array.from({ length: 20 }, () => server.connect()))
    for (const socket of sockets) socket.write(head + "x".repeat(500))
    await expect.poll(held).toBe(20 * 500)
    for (const socket of sockets) {
      socket.resetAndDestroy()
      await once(socket, "close")
    }
    await expect.poll(held).toBe(0)
  })
})
