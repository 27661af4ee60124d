/** When users enter experiments, with which variant, and what stays of it. */
import { describe, expect, it } from "vitest"
import { type Experiment, variantOf } from "../../../src/domain/project/Experiment.ts"
import { experimentWith } from "../definitions.ts"
import { kindsOf, World } from "./World.ts"

const goal = {
  conditions: [{ kind: "experiment", experiment: "k1", op: "eq", value: "goal" }],
} as const
const control = {
  conditions: [{ kind: "experiment", experiment: "k1", op: "eq", value: "control" }],
} as const

/** Weights with which the user `u1` gets the variant. */
const only = (variant: string): Experiment["variants"] => {
  for (let weight = 1; ; weight *= 2) {
    for (const weights of [
      [1, weight],
      [weight, 1],
    ] as const) {
      const variants = [
        { key: "control", weight: weights[0] },
        { key: "goal", weight: weights[1] },
      ]
      if (variantOf({ id: "exp_1", variants }, "u1") === variant) return variants
    }
  }
}

const worldWith = (experiment: Partial<Experiment> = {}, now?: string): World => {
  const world = new World(now)
  world.define({ kind: "experiment.created", experiment: experimentWith(experiment) })
  return world
}

const edit = (world: World, experiment: Partial<Experiment>): void =>
  world.define({ kind: "experiment.updated", experiment: experimentWith(experiment) })

const exposedIn = ({ facts }: { readonly facts: ReadonlyArray<{ readonly kind: string }> }) =>
  facts.filter(({ kind }) => kind === "experiment.exposed")

describe("A user enters an experiment", () => {
  it("with the first event, which says so, and with no later one", () => {
    const world = worldWith({ variants: only("goal") })
    const { facts, reply } = world.track()
    expect(facts).toEqual([
      { kind: "user.created" },
      {
        kind: "experiment.exposed",
        experimentId: "exp_1",
        key: "k1",
        name: "An experiment",
        variant: "goal",
      },
      expect.objectContaining({ kind: "event.tracked" }),
    ])
    const entered = { experimentId: "exp_1", key: "k1", name: "An experiment", variant: "goal" }
    expect(reply.experiments).toEqual([entered])
    expect(world.user?.experiments).toEqual(
      new Map([["exp_1", { variant: "goal", at: world.now }]]),
    )
    expect(exposedIn(world.track())).toEqual([])
  })

  it("with a reward and with the start of a quest, but not with imported events, spends and profiles", () => {
    const world = worldWith({ set: "paused" })
    world.grant(5, "points")
    world.quest({ id: "qst_q", optIn: true })
    edit(world, {})
    world.track("TAP", { imported: true })
    world.spend(1)
    world.attributes({ plan: "pro" })
    expect(world.user?.experiments.size).toBe(0)
    expect(exposedIn(world.do({ kind: "start", questId: "qst_q" }))).toHaveLength(1)
    const rewarded = worldWith()
    expect(exposedIn(rewarded.grant(1))).toHaveLength(1)
  })

  it("only while it runs: its start is in it, its end and a pause are not", () => {
    const [startsAt, endsAt] = ["2026-11-04T12:00:00Z", "2026-11-05T12:00:00Z"].map(Date.parse)
    const times = { startsAt: startsAt!, endsAt: endsAt! }
    for (const [at, set, enters] of [
      [startsAt! - 1, "published", false],
      [startsAt!, "published", true],
      [startsAt!, "paused", false],
      [startsAt!, "draft", false],
      [endsAt! - 1, "published", true],
      [endsAt!, "published", false],
    ] as const) {
      const world = worldWith({ ...times, set })
      world.now = at
      expect([at, set, exposedIn(world.track()).length === 1]).toEqual([at, set, enters])
    }
  })

  it("by the time of the decision, also with an event that occurred before the start", () => {
    const world = worldWith({ startsAt: Date.parse("2026-11-04T11:00:00Z") })
    expect(exposedIn(world.trackAt("2026-11-04T10:00:00Z"))).toHaveLength(1)
  })

  it("only as a member of its audience before the command", () => {
    const world = worldWith({ segment: "pro" })
    const conditions = [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }] as const
    world.segment({ id: "seg_pro", key: "pro", conditions })
    expect(exposedIn(world.track())).toEqual([])
    world.attributes({ plan: "pro" })
    expect(exposedIn(world.track())).toHaveLength(1)
    world.attributes({ plan: "free" })
    expect(exposedIn(world.track())).toEqual([])
    expect(world.user?.experiments.size).toBe(1)
  })

  it("whose audience is the variant of another, with the event after that of the other", () => {
    const world = worldWith({ variants: only("goal") })
    world.segment({ id: "seg_goal", key: "goal", ...goal })
    const second = experimentWith({ id: "exp_2", segment: "goal" })
    world.define({ kind: "experiment.created", experiment: second })
    expect(exposedIn(world.track())).toMatchObject([{ experimentId: "exp_1" }])
    expect(exposedIn(world.track())).toMatchObject([{ experimentId: "exp_2" }])
  })

  it("not with a command that is refused", () => {
    const world = worldWith()
    world.quest({ id: "qst_q", optIn: true, segment: "none" })
    world.segment({ id: "seg_none", key: "none", ...goal, match: "all" })
    edit(world, { variants: only("control") })
    expect(world.refused({ kind: "start", questId: "qst_q" }).code).toBe("quest_locked")
    expect(world.user).toBeUndefined()
  })
})

const uuidAt = (n: number): string =>
  `0192f5c1-7b3e-7${(n & 0xfff).toString(16).padStart(3, "0")}-a${(n >>> 12).toString(16).padStart(3, "0")}-5e6f7a8b9c0d`

describe("The variant of a user", () => {
  it("follows the weights, within four standard deviations, for 20,000 users", () => {
    const variants = [
      { key: "a", weight: 1 },
      { key: "b", weight: 2 },
      { key: "c", weight: 7 },
    ]
    const counts = new Map<string, number>()
    const users = 20_000
    for (let user = 0; user < users; user++) {
      const variant = variantOf({ id: "exp_1", variants }, `user-${user}`)
      counts.set(variant, (counts.get(variant) ?? 0) + 1)
    }
    for (const { key, weight } of variants) {
      const share = weight / 10
      const deviation = Math.sqrt(users * share * (1 - share))
      expect(Math.abs(counts.get(key)! - users * share)).toBeLessThan(4 * deviation)
    }
  })

  it.each([
    ["numbers", 1_000_000, (n: number) => `${n}`],
    ["numbers of eight digits", 200_000, (n: number) => `${n}`.padStart(8, "0")],
    ["UUIDs that differ in one block", 200_000, uuidAt],
    ["addresses", 200_000, (n: number) => `person.${n}@mail.example.org`],
    ["letters outside ASCII", 200_000, (n: number) => `用户${String.fromCodePoint(0x4e00 + n)}`],
  ])("is one of a hundred for one in a hundred users whose ids are %s", (_, users, idAt) => {
    const variants = [
      { key: "few", weight: 1 },
      { key: "many", weight: 99 },
    ]
    const [first, second] = ["exp_01", "exp_02"].map((id) => {
      const few = new Set<number>()
      for (let n = 0; n < users; n++) if (variantOf({ id, variants }, idAt(n)) === "few") few.add(n)
      return few
    })
    const near = (count: number, share: number) => {
      const deviation = Math.sqrt(users * share * (1 - share))
      expect(Math.abs(count - users * share)).toBeLessThan(4 * deviation)
    }
    near(first!.size, 0.01)
    near(second!.size, 0.01)
    // Those of one experiment are no others in the next one.
    near([...first!].filter((n) => second!.has(n)).length, 0.0001)
    // Neither among the first users nor among the last.
    near(2 * [...first!].filter((n) => n < users / 2).length, 0.01)
  })

  it("says nothing about the variant in another experiment", () => {
    const { variants } = experimentWith({})
    const users = Array.from({ length: 10_000 }, (_, user) => `user-${user}`)
    const same = users.filter(
      (user) =>
        variantOf({ id: "exp_1", variants }, user) === variantOf({ id: "exp_2", variants }, user),
    )
    expect(Math.abs(same.length - 5_000)).toBeLessThan(4 * 50)
  })

  it("is the same for the same experiment and user, on each computer", () => {
    const { variants } = experimentWith({})
    expect(
      ["ada", "bob", "cleo"].map((user) => variantOf({ id: "exp_goal", variants }, user)),
    ).toEqual(["control", "control", "goal"])
  })

  it("stays when weights, times and status change, and after an undo of the first event", () => {
    const world = worldWith({ variants: only("goal") })
    const first = world.track()
    edit(world, { variants: only("control") })
    world.track()
    edit(world, { variants: only("control"), endsAt: world.now })
    world.track()
    world.undo(first)
    expect(world.user?.experiments.get("exp_1")?.variant).toBe("goal")
  })
})

describe("Definitions for a variant", () => {
  it("are met by the event with which the user enters, and by no user of the control", () => {
    for (const variant of ["control", "goal"]) {
      const world = worldWith({ variants: only(variant) })
      world.segment({ id: "seg_goal", key: "in-goal", ...goal })
      world.rule({ id: "rul_goal", reward: { xp: 7 }, segment: "in-goal" })
      expect(world.track().reply.xp.earned).toBe(variant === "goal" ? 7 : 0)
      expect(world.track().reply.xp.earned).toBe(variant === "goal" ? 7 : 0)
    }
  })

  it("hold after the end of the experiment, for those who entered it", () => {
    const world = worldWith({ variants: only("control") })
    world.segment({ id: "seg_c", key: "in-control", ...control })
    world.rule({ id: "rul_c", reward: { xp: 7 }, segment: "in-control" })
    world.track()
    edit(world, { variants: only("control"), endsAt: world.now })
    expect(world.track().reply.xp.earned).toBe(7)
    const late = new World()
    late.project = world.project
    expect(late.track().reply.xp.earned).toBe(0)
  })

  it("see no variant of a user who has not entered: only ne and exists false hold", () => {
    const world = worldWith({ set: "paused" })
    for (const [index, condition] of [
      { op: "eq", value: "goal" },
      { op: "in", value: ["goal", "control"] },
      { op: "exists" },
      { op: "ne", value: "goal" },
      { op: "exists", value: false },
    ].entries()) {
      const of = { kind: "experiment", experiment: "k1", ...condition } as never
      world.segment({ id: `seg_${index}`, key: `s${index}`, conditions: [of] })
      world.rule({ id: `rul_${index}`, reward: { xp: 10 ** index }, segment: `s${index}` })
    }
    expect(world.track().reply.xp.earned).toBe(11_000)
  })
})

describe("What a user had of the experiment's metric", () => {
  const run = { actions: ["RUN"], key: "runs" } as const
  const metricWorld = (aggregate: "count" | "max"): World => {
    const world = worldWith({ set: "paused", metric: "runs" })
    world.metric({ id: "mtr_runs", aggregate, value: aggregate === "max" ? "km" : null, ...run })
    world.track("RUN", { metadata: { km: 4 } })
    world.track("RUN", { metadata: { km: 4 } })
    edit(world, { metric: "runs" })
    return world
  }

  it("is noted with the exposure, without what the event itself adds", () => {
    const world = metricWorld("count")
    expect(exposedIn(world.track("RUN", { metadata: { km: 1 } }))).toMatchObject([{ before: 2 }])
    expect(world.user?.experiments.get("exp_1")).toMatchObject({ before: 2 })
  })

  it("is not noted if the metric does not add up", () => {
    const world = metricWorld("max")
    expect(exposedIn(world.track("RUN"))).toEqual([expect.not.objectContaining({ before: 4 })])
  })
})

describe("Two users who are merged", () => {
  const pair = (mine: string, theirs: string | undefined) => {
    const [into, from] = [worldWith({ variants: only(mine) }), new World()]
    into.track()
    from.now += 60_000
    if (theirs === undefined) from.track()
    else {
      const experiment = experimentWith({ variants: only(theirs) })
      from.define({ kind: "experiment.created", experiment })
      from.track()
    }
    into.now = from.now
    return { into, from, at: into.now }
  }

  it("keep the variant that both have, and the earlier time", () => {
    const { at, from, into } = pair("goal", "goal")
    into.absorb(from, "visitor")
    expect(into.user?.experiments.get("exp_1")).toEqual({ variant: "goal", at: at - 60_000 })
  })

  it("keep that of the user who stays, and are left out of results, if they differ", () => {
    const { from, into } = pair("goal", "control")
    expect(kindsOf(into.absorb(from, "visitor"))).toContain("user.merged")
    expect(into.user?.experiments.get("exp_1")).toMatchObject({ variant: "goal", mixed: true })
    const third = pair("goal", "goal").from
    into.absorb(third, "third")
    expect(into.user?.experiments.get("exp_1")).toMatchObject({ variant: "goal", mixed: true })
  })

  it("have what only the other has entered", () => {
    const { from, into } = pair("goal", undefined)
    from.project = into.project
    from.absorb(into, "visitor")
    expect(from.user?.experiments).toEqual(into.user?.experiments)
  })
})
