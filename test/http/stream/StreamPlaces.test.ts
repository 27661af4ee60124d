import { describe, expect, it } from "vitest"
import {
  type StreamBounds,
  StreamPlace,
  StreamPlaces,
} from "../../../src/http/stream/StreamPlaces.ts"
import { limits } from "../../../src/Limits.ts"
import { Random, seeds } from "../../simulation/random.ts"

/** Streams of environments. Each is open until it is closed or evicted. */
class Play {
  readonly places: StreamPlaces
  readonly open = new Map<string, Set<StreamPlace>>()

  constructor(bounds: StreamBounds = limits) {
    this.places = new StreamPlaces(bounds)
  }

  /** Opens a stream: "open", or the code of the refusal. */
  take(environment: string): string {
    const place = this.places.take(environment)
    if (!(place instanceof StreamPlace)) return place.code
    const open = this.open.get(environment) ?? new Set()
    this.open.set(environment, open.add(place))
    place.begun(() => open.delete(place))
    return "open"
  }

  takeMany(environment: string, count: number): Record<string, number> {
    const outcomes: Record<string, number> = {}
    for (let taken = 0; taken < count; taken++) {
      const outcome = this.take(environment)
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
    return outcomes
  }

  close(environment: string): void {
    const [place] = this.open.get(environment) ?? []
    this.open.get(environment)?.delete(place!)
    place?.leave()
  }

  get counts(): ReadonlyArray<number> {
    return [...this.open.values()].map(({ size }) => size)
  }
}

const project = (number: number) => `prj_${number}:production`

describe("Places of streams", () => {
  it("are free for one environment up to its cap, whatever others do not use", () => {
    const play = new Play()
    expect(play.takeMany(project(0), limits.streamsOfEnvironmentMax + 1)).toEqual({
      open: limits.streamsOfEnvironmentMax,
      quota_exceeded: 1,
    })
  })

  it("are shared when ten projects have taken all: an eleventh gets as many as each of them keeps", () => {
    const play = new Play()
    for (let number = 0; number < 10; number++) {
      play.takeMany(project(number), limits.streamsOfEnvironmentMax)
    }
    expect(play.places.ofEnvironments.count).toBe(limits.streamsMax)
    const share = Math.floor(limits.streamsMax / 11)
    expect(play.takeMany(project(10), share)).toEqual({ open: share })
    expect(Math.min(...play.counts)).toBe(share)
    expect(play.takeMany(project(10), limits.streamsOfEnvironmentMax).overloaded).toBeGreaterThan(0)
    expect(Math.max(...play.counts) - Math.min(...play.counts)).toBeLessThanOrEqual(1)
    expect(play.places.ofEnvironments.count).toBe(limits.streamsMax)
  })

  it("are given to environments one by one until each of them has one", () => {
    const play = new Play({ ...limits, streamsMax: 20, streamsOfEnvironmentMax: 20 })
    play.takeMany(project(0), 20)
    for (let number = 1; number < 20; number++) expect(play.take(project(number))).toBe("open")
    expect(play.counts).toEqual(Array.from({ length: 20 }, () => 1))
    expect(play.take(project(20))).toBe("overloaded")
  })

  it("are not taken back and forth by environments that hold about as many", () => {
    const play = new Play({ ...limits, streamsMax: 5, streamsOfEnvironmentMax: 5 })
    play.takeMany(project(0), 3)
    play.takeMany(project(1), 2)
    expect([play.take(project(1)), play.take(project(0))]).toEqual(["overloaded", "overloaded"])
    expect(play.counts).toEqual([3, 2])
  })

  it("of one account have a bound over all environments, and come back to it, evicted ones too", () => {
    const places = new StreamPlaces({
      ...limits,
      streamsMax: 3,
      streamsOfEnvironmentMax: 3,
      streamsOfAccountMax: 2,
    })
    const [first, second] = [places.take("a", "acc_1"), places.take("b", "acc_1")]
    expect(places.take("a", "acc_1")).toMatchObject({ code: "quota_exceeded" })
    expect(places.take("a", "acc_2")).toBeInstanceOf(StreamPlace)
    if (!(first instanceof StreamPlace && second instanceof StreamPlace)) throw new Error("refused")
    first.leave()
    first.leave()
    expect(places.take("a", "acc_1")).toBeInstanceOf(StreamPlace)
    // The newest stream of "a", which belongs to the account, is evicted.
    const other = places.take("c")
    if (!(other instanceof StreamPlace)) throw new Error("refused")
    for (const place of [second, other]) place.leave()
    for (const environment of ["d", "e"]) places.take(environment, "acc_1")
    expect(places.take("f", "acc_1")).toMatchObject({ code: "quota_exceeded" })
  })

  it("are taken from the newest stream, which ends once, also when it begins later", () => {
    const places = new StreamPlaces({ ...limits, streamsMax: 2, streamsOfEnvironmentMax: 2 })
    const [oldest, newest] = [places.take("a"), places.take("a")]
    if (!(oldest instanceof StreamPlace && newest instanceof StreamPlace))
      throw new Error("refused")
    const ended: Array<string> = []
    oldest.begun(() => ended.push("oldest"))
    expect(places.take("b")).toBeInstanceOf(StreamPlace)
    expect(ended).toEqual([])
    newest.begun(() => ended.push("newest"))
    expect(ended).toEqual(["newest"])
    newest.leave()
    expect([
      places.ofEnvironments.countOf("a"),
      places.ofEnvironments.countOf("b"),
      places.ofEnvironments.count,
    ]).toEqual([1, 1, 2])
  })

  it("come back once, however often a stream says that it has ended", () => {
    const places = new StreamPlaces({ ...limits, streamsMax: 2, streamsOfEnvironmentMax: 2 })
    const place = places.take("a")
    places.take("a")
    if (!(place instanceof StreamPlace)) throw new Error("refused")
    place.leave()
    place.leave()
    expect([places.ofEnvironments.count, places.ofEnvironments.countOf("a")]).toEqual([1, 1])
  })

  it.each(seeds(20))(
    "never exceed their bounds, and refuse no environment below its share (LAUREL_TEST_SEED=%i)",
    (seed) => {
      const random = new Random(seed)
      const bounds = { ...limits, streamsMax: random.integer(1, 60), streamsOfEnvironmentMax: 12 }
      const play = new Play(bounds)
      for (let step = 0; step < 2_000; step++) {
        const environment = project(random.integer(0, 15))
        if (random.chance(0.3)) {
          play.close(environment)
          continue
        }
        const held = play.places.ofEnvironments.countOf(environment)
        const most = Math.max(0, ...play.counts)
        const outcome = play.take(environment)
        if (outcome === "quota_exceeded") expect(held).toBe(bounds.streamsOfEnvironmentMax)
        if (outcome === "overloaded") expect(held).toBeGreaterThanOrEqual(most - 1)
        const total = play.counts.reduce((sum, count) => sum + count, 0)
        expect(total).toBe(play.places.ofEnvironments.count)
        expect(total).toBeLessThanOrEqual(bounds.streamsMax)
        expect(Math.max(...play.counts)).toBeLessThanOrEqual(bounds.streamsOfEnvironmentMax)
      }
    },
  )
})
