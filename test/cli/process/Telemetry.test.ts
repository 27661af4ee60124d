import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import { TestClock } from "effect/testing"
import { telemetryLayer } from "../../../src/cli/process/Telemetry.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { sampleValue } from "../../metrics/exposition.ts"

type Answer = (
  request: Parameters<Parameters<typeof HttpClient.make>[0]>[0],
) => Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>

const status =
  (code: number): Answer =>
  (request) =>
    Effect.succeed(HttpClientResponse.fromWeb(request, new Response(null, { status: code })))

const refused: Answer = (request) => {
  const cause = new TypeError("fetch failed", {
    cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
  })
  return new HttpClientError.HttpClientError({
    reason: new HttpClientError.TransportError({ request, cause }),
  })
}

const silent: Answer = () => Effect.never

/** A collector whose answers change, with what it was sent and the log that stays in the process. */
class World {
  answer: Answer = status(200)
  /** Attempts under way, and the most there ever were. */
  underWay = 0
  underWayMost = 0
  readonly log: Array<{ readonly level: string; readonly text: string }> = []
  readonly metrics = new Metrics()

  readonly layer = telemetryLayer(
    { endpoint: "http://collector", headers: { authorization: "known-secret" } },
    this.metrics,
    Layer.succeed(
      HttpClient.HttpClient,
      HttpClient.make((request) => {
        this.underWay++
        this.underWayMost = Math.max(this.underWayMost, this.underWay)
        return Effect.onExit(this.answer(request), () => Effect.sync(() => this.underWay--))
      }),
    ),
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Logger.layer([
          Logger.make(({ fiber, logLevel, message }) => {
            const annotations = fiber.getRef(References.CurrentLogAnnotations)
            const text = `${message} ${JSON.stringify(annotations)}`
            if (text.includes("OpenTelemetry export")) this.log.push({ level: logLevel, text })
          }),
        ]),
      ),
    ),
  )

  /** Runs a test; before its end, when the clock stands still, exports under way end. */
  readonly observed = <A>(test: Effect.Effect<A>): Effect.Effect<A> =>
    test.pipe(
      Effect.ensuring(
        Effect.suspend(() => {
          this.answer = status(200)
          return TestClock.adjust("1 minute")
        }),
      ),
      Effect.provide(this.layer),
    )

  count(signal: string, outcome: string): number {
    return sampleValue(this.metrics.text(), "laurel_otlp_exports_total", { signal, outcome })
  }

  get lost(): number {
    return sampleValue(this.metrics.text(), "laurel_otlp_lost_log_lines_total")
  }
}

/** Logs `lines` lines, then lets the exporter do all that it does within a minute. */
const logged = (lines: number) =>
  Effect.gen(function* () {
    for (let n = 0; n < lines; n++) yield* Effect.logInfo("line")
    yield* TestClock.adjust("1 minute")
  })

describe("A collector", () => {
  it.effect("that takes everything causes no log line", () => {
    const world = new World()
    return Effect.gen(function* () {
      yield* logged(5)
      expect(world.log).toEqual([])
      expect([world.count("logs", "succeeded"), world.lost]).toEqual([1, 0])
      expect(world.count("metrics", "succeeded")).toBeGreaterThanOrEqual(3)
    }).pipe(world.observed)
  })

  it.effect(
    "that cannot be reached causes one warning, a count of each lost line, and one line at its return",
    () => {
      const world = new World()
      world.answer = refused
      return Effect.gen(function* () {
        yield* logged(3)
        yield* logged(4)
        expect(world.lost).toBe(7)
        expect(world.count("logs", "failed")).toBe(2)
        expect(world.count("metrics", "failed")).toBeGreaterThanOrEqual(6)
        world.answer = status(200)
        yield* logged(2)
        world.answer = refused
        yield* logged(1)
        expect(world.lost).toBe(8)
        const [first, back, second, ...more] = world.log
        expect(more).toEqual([])
        for (const warning of [first, second]) {
          expect(warning?.level).toBe("Warn")
          expect(warning?.text).toContain('"cause":"ECONNREFUSED"')
          expect(warning?.text).not.toContain("known-secret")
        }
        expect(back).toEqual({
          level: "Info",
          text: 'OpenTelemetry export resumed {"lostLogLines":7}',
        })
      }).pipe(world.observed)
    },
  )

  it.effect(
    "that does not answer holds few exports, each for a limited time; the rest is lost and counted",
    () => {
      const world = new World()
      world.answer = silent
      return Effect.gen(function* () {
        yield* logged(8 * limits.otlpLogsBatchMax)
        expect(world.underWayMost).toBe(limits.otlpExportsUnderWayMax)
        expect(world.lost).toBe(8 * limits.otlpLogsBatchMax)
        expect(world.log).toHaveLength(1)
        yield* logged(1)
        expect(world.lost).toBe(8 * limits.otlpLogsBatchMax + 1)
        world.answer = status(200)
        yield* logged(1)
        expect(world.lost).toBe(8 * limits.otlpLogsBatchMax + 1)
        expect(world.underWay).toBe(0)
        expect(world.log.map(({ level }) => level)).toEqual(["Warn", "Info"])
      }).pipe(world.observed)
    },
  )

  it.effect("is reported as late if it answers late, and with its status if it refuses", () => {
    const world = new World()
    world.answer = silent
    return Effect.gen(function* () {
      yield* logged(1)
      expect(world.log[0]?.text).toContain("no answer within 10 seconds")
      world.answer = status(200)
      yield* logged(1)
      world.answer = status(401)
      yield* logged(1)
      expect(world.log[2]?.text).toContain("status 401")
    }).pipe(world.observed)
  })

  it.effect("that is unavailable for a moment loses nothing", () => {
    const world = new World()
    let attempts = 0
    world.answer = (request) =>
      (attempts++ < limits.otlpRetriesMax ? refused : status(200))(request)
    return Effect.gen(function* () {
      yield* logged(3)
      expect([world.lost, world.count("logs", "succeeded"), world.log.length]).toEqual([0, 1, 0])
    }).pipe(world.observed)
  })
})
