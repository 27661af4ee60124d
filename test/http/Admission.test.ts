/** What a server does when more is asked than it can answer. Turns of the event loop are played by hand. */
import { once } from "node:events"
import { Effect, Latch } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Admission, type AdmissionBounds } from "../../src/http/Admission.ts"
import { limits } from "../../src/Limits.ts"
import { sampleValue } from "../metrics/exposition.ts"
import { received, startServer, type TestServer, type TestServerOptions } from "./fixture.ts"

/** A server whose event loop takes `costMs` for each request that it accepts. */
class Play {
  now = 1_000
  connections = 2_000
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

  /** One turn with so many requests; returns how many were accepted. */
  turn(requests: number, costMs: number, refusalMs = 0, bodyBytes = 0): number {
    let accepted = 0
    for (let request = 0; request < requests; request++) {
      const refused = this.admission.refusal(bodyBytes) !== undefined
      this.now += refused ? refusalMs : costMs
      if (!refused) accepted++
    }
    const ends = this.#end
    this.#end = []
    for (const end of ends) end()
    return accepted
  }

  pause(durationMs: number): void {
    this.now += durationMs
  }

  /** Turns of an open loop: each has what came during the one before it. */
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

/** At 0.1 ms a request, ten a millisecond are all that one event loop can take. */
const costMs = 0.1
const refusalMs = 0.02
const saturation = 10

const refusedIn = (turns: ReadonlyArray<Turn>) =>
  turns.reduce((sum, { accepted, offered }) => sum + offered - accepted, 0)

describe("Admission", () => {
  it("takes everything as long as turns are short, however many requests there are", () => {
    const play = new Play()
    expect(refusedIn(play.load(0.9 * saturation, costMs, refusalMs, 10_000))).toBe(0)
    expect(play.admission.overloaded).toBe(false)
  })

  it("at three times saturation keeps turns short from a tenth of a second on, and still accepts", () => {
    const play = new Play()
    const begun = play.now
    const turns = play.load(3 * saturation, costMs, refusalMs, 5_000)
    const [settled] = turns.filter(({ accepted, offered }) => accepted < offered)
    expect(settled!.startedAt - begun).toBeGreaterThanOrEqual(limits.overloadStandingMs / 2)
    expect(settled!.startedAt - begun).toBeLessThan(4 * limits.overloadStandingMs)
    const later = turns.filter(({ startedAt }) => startedAt > settled!.startedAt + 2_000)
    // Refusals take as much of each turn as its load asks for; the rest is for what is accepted.
    const most = limits.overloadBudgetMs / (1 - 3 * saturation * refusalMs)
    for (const { durationMs } of later) expect(durationMs).toBeLessThan(1.5 * most)
    const acceptedPerMs =
      later.reduce((sum, { accepted }) => sum + accepted, 0) / (play.now - later[0]!.startedAt)
    expect(acceptedPerMs).toBeGreaterThan(0.35 * saturation)
  })

  it("takes everything again a second after the last refusal", () => {
    const play = new Play()
    expect(refusedIn(play.load(3 * saturation, costMs, refusalMs, 2_000))).toBeGreaterThan(0)
    play.load(0.5 * saturation, costMs, refusalMs, limits.overloadCalmMs + 200)
    expect(play.admission.overloaded).toBe(false)
    expect(play.turn(1_000, costMs)).toBe(1_000)
  })

  it("lets a burst pass that is worked off at once", () => {
    const play = new Play()
    expect(play.turn(5_000, costMs)).toBe(5_000)
    expect(refusedIn(play.load(0.5 * saturation, costMs, refusalMs, 1_000))).toBe(0)
  })

  it("lets pass what comes of a pause of the machine", () => {
    const play = new Play()
    expect(refusedIn(play.load(0.5 * saturation, costMs, refusalMs, 200))).toBe(0)
    // The pause falls into a turn; then come all that were sent meanwhile, and those sent meanwhile.
    for (const requests of [1, 2_000, 1_000, 500, 250, 125, 60, 30]) {
      if (requests === 1) play.pause(400)
      expect(play.turn(requests, requests === 1 ? 400 : costMs)).toBe(requests)
    }
    expect(play.admission.overloaded).toBe(false)
  })

  it("never refuses so few in a turn as are no crowd, however long they take", () => {
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

  it("refuses nobody while there are few connections, and stops when there are only few left", () => {
    const play = new Play()
    play.connections = limits.overloadConnectionsMin
    expect(refusedIn(play.load(3 * saturation, costMs, refusalMs, 1_000))).toBe(0)
    play.connections++
    expect(refusedIn(play.load(3 * saturation, costMs, refusalMs, 1_000))).toBeGreaterThan(0)
    play.connections--
    play.turn(1, costMs)
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

describe("Refusals", () => {
  it("are sent in order, in the turn that they are made in, as long as they take no more than their share", () => {
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

  it("wait without end of their own when there are very many, and none is lost", () => {
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

/** Events to whose commit the storage says nothing until `gate` opens. */
const startSlow = async (bounds: TestServerOptions["bounds"]) => {
  const gate = Latch.makeUnsafe()
  await start({ storageOptions: { onAppend: () => Latch.await(gate) }, ...(bounds && { bounds }) })
  return () => Effect.runPromise(Latch.open(gate))
}

const event = (userId: string) => ({ body: { userId, action: "A" } })

describe("A server whose storage does not answer", () => {
  it("refuses with 503 and Retry-After what goes beyond the requests that may wait, and loses none of those", async () => {
    const open = await startSlow({ requestsWaitingMax: 3 })
    const waiting = ["a", "b", "c"].map((userId) =>
      server.call("POST", "/v1/events", event(userId)),
    )
    await expect
      .poll(() => sampleValue(server.metrics.text(), "laurel_commands_unanswered"))
      .toBe(3)
    for (const [method, path] of [
      ["POST", "/v1/events"],
      ["POST", "/v1/events/batch"],
      ["GET", "/v1/users/a"],
    ] as const) {
      const more = method === "POST" ? event("d") : {}
      const { headers, json, status } = await server.call(method, path, more)
      expect([status, json.code, headers["retry-after"]]).toEqual([503, "overloaded", "1"])
    }
    // Whoever asks without a key hears the same: keys are not even looked at.
    const looked = server.accounts.authentications
    expect((await server.call("POST", "/v1/events", { ...event("d"), key: "x" })).status).toBe(503)
    expect(server.accounts.authentications).toBe(looked)
    expect((await server.call("GET", "/healthz")).status).toBe(200)
    expect((await server.call("GET", "/readyz")).status).toBe(200)
    expect(refusals("waiting")).toBe(4)
    await open()
    for (const reply of await Promise.all(waiting)) expect(reply.status).toBe(200)
    expect((await server.call("GET", "/v1/users/d")).status).toBe(404)
    expect((await server.call("POST", "/v1/events", event("d"))).status).toBe(200)
  })

  it("keeps only so much of bodies in memory, and has it back when they were answered", async () => {
    const bodyBytes = 1_000
    const open = await startSlow({ bodiesBytesMax: 2 * bodyBytes })
    const send = (userId: string) => {
      const body = JSON.stringify({ userId, action: "A" }).padEnd(bodyBytes)
      return server.call("POST", "/v1/events", { body })
    }
    const held = () => sampleValue(server.metrics.text(), "laurel_request_bodies_bytes")
    const waiting = [send("a"), send("b")]
    await expect.poll(held).toBe(2 * bodyBytes)
    const refused = await send("c")
    expect([refused.status, refused.json.code]).toEqual([503, "overloaded"])
    // One that does not say how large it is, is refused when it comes.
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

describe("A server before which a queue stands", () => {
  it("refuses what is behind with 503 and Retry-After, and answers whoever asks for its health", async () => {
    // Every turn counts as long, and takes one request.
    await start({
      bounds: {
        overloadCrowdUnits: 0,
        overloadConnectionsMin: 0,
        overloadTurnMs: -1,
        overloadStandingMs: 0,
        overloadBudgetMs: 0,
        overloadTurnUnitsMin: 1,
        overloadCalmMs: 60_000,
      },
    })
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
    // What was refused changed nothing; alone in its turn, nobody is refused.
    for (const [index, { status }] of replies.entries()) {
      const { status: found } = await server.call("GET", `/v1/users/u${index}`)
      expect([index, found]).toEqual([index, status === 200 ? 200 : 404])
    }
  })
})

describe("Bodies that arrive slowly", () => {
  it("find out at their end whether there is a place", async () => {
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

  it("are in memory as far as they have come, and no more when their senders are gone", async () => {
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
