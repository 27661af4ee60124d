/** Every bound of definitions and settings, from both sides. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { weekdays } from "../../src/domain/project/Boost.ts"
import { limits } from "../../src/Limits.ts"
import { faultsOf, inHours, Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
let place: Place
let paths: Record<Kind, string>
beforeAll(async () => {
  server = await startServer()
  place = new Place(server, "input")
  await place.create("/v1/metrics", { key: "m", name: "M", aggregate: "count", actions: ["A"] })
  paths = {
    quest: `/v1/quests/${await place.create("/v1/quests", { title: "T", reward: { xp: 1 } })}`,
    rule: `/v1/rules/${await place.create("/v1/rules", { action: "A", reward: { xp: 1 } })}`,
    badge: `/v1/badges/${await place.create("/v1/badges", { name: "B", criteria: { kind: "manual" } })}`,
    streak: `/v1/streaks/${await place.create("/v1/streaks", { name: "S" })}`,
    project: "/v1/project",
  }
  for (let index = 0; index < limits.listedBadgesMax; index++) {
    await place.create("/v1/badges", { ...required.badge, key: `listed-${index}` })
  }
})
afterAll(() => server.stop())

type Kind = "quest" | "rule" | "badge" | "streak" | "project"

/** The required members of a definition. */
const required: Record<Exclude<Kind, "project">, object> = {
  quest: { title: "T", reward: { xp: 1 } },
  rule: { action: "A", reward: { xp: 1 } },
  badge: { name: "B", criteria: { kind: "manual" } },
  streak: { name: "S" },
}

/** Sends the members with POST, if the operation exists, and with PATCH. */
const send = async (kind: Kind, members: object) => ({
  created:
    kind === "project"
      ? undefined
      : await place.post(`/v1/${kind}s`, { ...required[kind], ...members }),
  patched: await place.patch(paths[kind], members),
})

const emoji = "😀"
const times = <A>(count: number, item: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => item(index))
const step = (more: object = {}) => ({ key: "k", action: "A", target: 1, ...more })
const steps = (count: number) => times(count, (index) => step({ key: `k${index}` }))
const condition = (more: object = {}) => ({ path: "a", op: "eq", value: 1, ...more })
const metadataOf = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) })
const need = (index: number) => ({ action: `A${index}` })
const milestone = (target: number) => ({ target, reward: { points: 1 } })
const listing = (badges: ReadonlyArray<string>) => ({ criteria: { kind: "badges", badges } })
const listed = (index: number) => `listed-${index}`
const curve = (levelCurve: object) => ({ levelCurve })
const criteria = (more: object) => ({
  criteria: { kind: "action_count", target: 1, action: "A", ...more },
})

const summed = (more: object) => ({
  criteria: { kind: "action_sum", target: 1, action: "A", sumPath: "km", ...more },
})

/** A pause of so many days, a year apart. */
const pause = (index: number, days: number) => {
  const dateOf = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10)
  const from = 20_000 + 400 * index
  return { from: dateOf(from), to: dateOf(from + days - 1) }
}

const accepted: ReadonlyArray<readonly [Kind, string, object]> = [
  ["quest", "a title of 1 character", { title: "t" }],
  ["quest", "a title of 200 emoji", { title: emoji.repeat(limits.titleCharactersMax) }],
  ["quest", "a description of 2,000 characters", { description: "d".repeat(2_000) }],
  ["quest", "the largest reward", { reward: { xp: limits.amountMax, points: limits.amountMax } }],
  ["quest", "a reward of nothing", { reward: { xp: 0, points: 0 } }],
  ["quest", "as many steps as there may be", { steps: steps(limits.questStepsMax) }],
  ["quest", "the largest target", { steps: [step({ target: limits.targetMax })] }],
  [
    "quest",
    "the largest target of a sum",
    { steps: [step({ sumPath: "km", target: limits.sumTargetMax })] },
  ],
  [
    "quest",
    "no path to sum, as it is shown",
    { steps: [step({ sumPath: null, target: limits.targetMax })] },
  ],
  [
    "quest",
    "the largest target of a metric",
    {
      steps: [
        {
          key: "k",
          action: null,
          where: [],
          sumPath: null,
          metric: "m",
          target: limits.sumTargetMax,
        },
      ],
    },
  ],
  ["quest", "a key of 64 characters", { steps: [step({ key: "k-_9".repeat(16) })] }],
  [
    "quest",
    "as many conditions as there may be",
    { steps: [step({ where: times(limits.conditionsMax, () => condition()) })] },
  ],
  ["quest", "metadata of 16 KiB", { metadata: metadataOf(limits.metadataBytesMax) }],
  ["quest", "an end in the future", { endsAt: inHours(1), startsAt: inHours(0.5) }],
  ["quest", "an end in the year 9999", { endsAt: "9999-12-31T23:59:59Z" }],
  ["rule", "a path 8 levels deep", { where: [condition({ path: "a.b.c.d.e.f.g.h" })] }],
  ["rule", "a path of 200 characters", { where: [condition({ path: "p".repeat(200) })] }],
  ["rule", "a text of 500 characters", { where: [condition({ value: emoji.repeat(500) })] }],
  [
    "rule",
    "a list of 50",
    { where: [condition({ op: "in", value: times(limits.conditionListMax, (i) => i) })] },
  ],
  [
    "rule",
    "all kinds in a list",
    { where: [condition({ op: "in", value: ["", 1.5, true, null] })] },
  ],
  ["rule", "null to compare with", { where: [condition({ op: "ne", value: null })] }],
  ["rule", "exists without a value", { where: [{ path: "a", op: "exists" }] }],
  ["rule", "texts in order", { where: [condition({ op: "lt", value: "2026-12-01" })] }],
  ["rule", "the smallest multiplier", { multiplierPath: "n", multiplierMin: 0, multiplierMax: 0 }],
  ["rule", "the largest multiplier", { multiplierPath: "n", multiplierMax: limits.multiplierMax }],
  ["rule", "a multiplier that is not whole", { multiplierPath: "n", multiplierMin: 0.25 }],
  ["rule", "the smallest limit", { limit: { times: 1, per: "hour" } }],
  ["rule", "the largest limit", { limit: { times: limits.limitTimesMax, per: "ever" } }],
  ["rule", "the shortest cooldown", { cooldownSeconds: 1 }],
  ["rule", "the longest cooldown", { cooldownSeconds: limits.cooldownSecondsMax }],
  ["badge", "an icon of 2,048 characters", { icon: "i".repeat(limits.iconCharactersMax) }],
  ["badge", "an empty description and icon", { description: "", icon: "" }],
  ["badge", "the smallest target", criteria({ target: 1 })],
  ["badge", "the largest target", criteria({ target: limits.targetMax })],
  ["badge", "the largest target of a sum", summed({ target: limits.sumTargetMax })],
  ["badge", "the longest list of badges", listing(times(limits.listedBadgesMax, listed))],
  ["badge", "the shortest list of badges", listing([listed(0)])],
  ["project", "a name of 200 characters", { name: "n".repeat(200) }],
  ["project", "a time zone that is a link", { timezone: "Asia/Calcutta" }],
  ["project", "the flattest quadratic curve", curve({ kind: "quadratic", base: 1 })],
  ["project", "the steepest quadratic curve", curve({ kind: "quadratic", base: limits.amountMax })],
  ["project", "the flattest linear curve", curve({ kind: "linear", xpPerLevel: 1 })],
  [
    "project",
    "the flattest geometric curve",
    curve({ kind: "geometric", base: 1, factor: limits.levelFactorMin }),
  ],
  [
    "project",
    "the steepest geometric curve",
    curve({ kind: "geometric", base: limits.amountMax, factor: limits.levelFactorMax }),
  ],
  ["project", "a table of one level", curve({ kind: "table", thresholds: [0] })],
  [
    "project",
    "a table of 1,000 levels up to the largest balance",
    curve({
      kind: "table",
      thresholds: times(limits.levelThresholdsMax, (i) => (i === 999 ? limits.balanceMax : i)),
    }),
  ],
  ["streak", "the longest needs", { needs: times(limits.streakNeedsMax, need) }],
  [
    "streak",
    "the most milestones",
    {
      milestones: times(limits.streakMilestonesMax, (index) =>
        milestone(limits.streakMilestoneTargetMax - index),
      ),
    },
  ],
  ["streak", "the largest target", { needs: [{ action: "A", target: limits.sumTargetMax }] }],
  [
    "streak",
    "the largest target of a metric",
    { needs: [{ metric: "m", target: limits.sumTargetMax }, need(1)] },
  ],
  ["streak", "6 rest days", { restDays: weekdays.slice(1) }],
  ["streak", "the most freezes", { freezes: { initial: 366, max: 366, everyDays: 366 } }],
  [
    "streak",
    "the most hours before the end of a day",
    { atRisk: { hoursBefore: limits.streakAtRiskDayHoursMax } },
  ],
  ["streak", "the fewest hours before the end of a day", { atRisk: { hoursBefore: 1 } }],
  [
    "streak",
    "the most pauses, each of the most days",
    { pauses: times(limits.streakPausesMax, (index) => pause(index, limits.streakPauseDaysMax)) },
  ],
  ["streak", "a pause of one day", { pauses: [pause(0, 1)] }],
  [
    "streak",
    "a repair for the most days, for the most",
    { repair: { withinDays: limits.streakRepairDaysMax, price: { points: limits.amountMax } } },
  ],
  ["streak", "a repair for one day, for nothing", { repair: { withinDays: 1 } }],
  ["streak", "the fewest freezes", { freezes: { initial: 0, max: 0, everyDays: 1 } }],
]

const refused: ReadonlyArray<readonly [Kind, string, object, string, string]> = [
  [
    "quest",
    "a sum beyond the largest target",
    { steps: [step(), step({ key: "s", sumPath: "km", target: limits.sumTargetMax + 1 })] },
    "/steps/1/target",
    "out_of_range",
  ],
  [
    "quest",
    "a target with decimals",
    { steps: [step({ sumPath: "km", target: 42.195 })] },
    "/steps/0/target",
    "invalid_type",
  ],
  [
    "quest",
    "an empty path to sum",
    { steps: [step({ sumPath: "" })] },
    "/steps/0/sumPath",
    "too_short",
  ],
  [
    "badge",
    "a sum beyond the largest target",
    summed({ target: limits.sumTargetMax + 1 }),
    "/criteria/target",
    "out_of_range",
  ],
  [
    "badge",
    "a path that is none",
    summed({ sumPath: "a..b" }),
    "/criteria/sumPath",
    "invalid_format",
  ],
  [
    "badge",
    "a path to sum where events are counted",
    criteria({ sumPath: "km" }),
    "/criteria/sumPath",
    "unknown_member",
  ],
  ["quest", "an empty title", { title: "" }, "/title", "too_short"],
  ["quest", "a title of 201 emoji", { title: emoji.repeat(201) }, "/title", "too_long"],
  ["quest", "a line break in a title", { title: "a\nb" }, "/title", "invalid_format"],
  ["quest", "a lone surrogate in a title", { title: "\ud800" }, "/title", "invalid_format"],
  ["quest", "no title", { title: null }, "/title", "invalid_type"],
  [
    "quest",
    "a description of 2,001 characters",
    { description: "d".repeat(2_001) },
    "/description",
    "too_long",
  ],
  ["quest", "a reward below 0", { reward: { xp: -1 } }, "/reward/xp", "out_of_range"],
  [
    "quest",
    "a reward that is too large",
    { reward: { xp: limits.amountMax + 1 } },
    "/reward/xp",
    "out_of_range",
  ],
  ["quest", "half a point", { reward: { xp: 1, points: 0.5 } }, "/reward/points", "invalid_type"],
  ["quest", "another reward", { reward: { xp: 1, gold: 1 } }, "/reward/gold", "unknown_member"],
  [
    "quest",
    "a badge that is not there",
    { reward: { xp: 1, badgeId: "bdg_none" } },
    "/reward/badgeId",
    "unknown_reference",
  ],
  [
    "quest",
    "a step of nothing",
    { steps: [{ key: "k", target: 1 }] },
    "/steps/0/action",
    "missing",
  ],
  [
    "quest",
    "a step of both",
    { steps: [step({ metric: "m" })] },
    "/steps/0/action",
    "unknown_member",
  ],
  [
    "quest",
    "a step by a metric with conditions",
    { steps: [{ key: "k", metric: "m", target: 1, where: [condition()] }] },
    "/steps/0/where",
    "unknown_member",
  ],
  [
    "quest",
    "a step by a metric with a path",
    { steps: [{ key: "k", metric: "m", target: 1, sumPath: "km" }] },
    "/steps/0/sumPath",
    "unknown_member",
  ],
  [
    "quest",
    "a metric that is too far",
    { steps: [{ key: "k", metric: "m", target: limits.sumTargetMax + 1 }] },
    "/steps/0/target",
    "out_of_range",
  ],
  [
    "quest",
    "an unknown metric",
    { steps: [{ key: "k", metric: "none", target: 1 }] },
    "/steps/0/metric",
    "unknown_reference",
  ],
  ["quest", "21 steps", { steps: steps(limits.questStepsMax + 1) }, "/steps", "too_long"],
  ["quest", "a step twice", { steps: [step(), step()] }, "/steps/1/key", "duplicate"],
  [
    "quest",
    "a key of 65 characters",
    { steps: [step({ key: "k".repeat(65) })] },
    "/steps/0/key",
    "invalid_format",
  ],
  ["quest", "a key in capitals", { steps: [step({ key: "K" })] }, "/steps/0/key", "invalid_format"],
  ["quest", "an empty key", { steps: [step({ key: "" })] }, "/steps/0/key", "invalid_format"],
  ["quest", "a target of 0", { steps: [step({ target: 0 })] }, "/steps/0/target", "out_of_range"],
  [
    "quest",
    "a step of QUEST_COMPLETE",
    { steps: [step({ action: "QUEST_COMPLETE" })] },
    "/steps/0/action",
    "invalid_value",
  ],
  [
    "quest",
    "11 conditions",
    { steps: [step({ where: times(limits.conditionsMax + 1, () => condition()) })] },
    "/steps/0/where",
    "too_long",
  ],
  ["quest", "another recurrence", { recurrence: "yearly" }, "/recurrence", "invalid_value"],
  ["quest", "a day as a time", { startsAt: "2026-11-01" }, "/startsAt", "invalid_format"],
  [
    "quest",
    "an end before its start",
    { startsAt: inHours(2), endsAt: inHours(1) },
    "/endsAt",
    "out_of_range",
  ],
  [
    "quest",
    "21 prerequisites",
    { prerequisites: times(limits.prerequisitesMax + 1, (i) => `q${i}`) },
    "/prerequisites",
    "too_long",
  ],
  [
    "quest",
    "a prerequisite that is not there",
    { prerequisites: ["__proto__"] },
    "/prerequisites/0",
    "unknown_reference",
  ],
  [
    "quest",
    "metadata of more than 16 KiB",
    { metadata: metadataOf(limits.metadataBytesMax + 1) },
    "/metadata",
    "too_large",
  ],
  ["quest", "a list as metadata", { metadata: [] }, "/metadata", "invalid_type"],
  ["quest", "another status", { status: "done" }, "/status", "invalid_value"],
  ["quest", "an id", { id: "qst_mine" }, "/id", "unknown_member"],
  ["rule", "an action in small letters", { action: "a" }, "/action", "invalid_format"],
  ["rule", "QUEST_COMPLETE", { action: "QUEST_COMPLETE" }, "/action", "invalid_value"],
  ["rule", "an empty path", { where: [condition({ path: "" })] }, "/where/0/path", "too_short"],
  [
    "rule",
    "a path with nothing between dots",
    { where: [condition({ path: "a..b" })] },
    "/where/0/path",
    "invalid_format",
  ],
  [
    "rule",
    "a path 9 levels deep",
    { where: [condition({ path: "a.b.c.d.e.f.g.h.i" })] },
    "/where/0/path",
    "invalid_format",
  ],
  [
    "rule",
    "a path of 201 characters",
    { where: [condition({ path: "p".repeat(201) })] },
    "/where/0/path",
    "too_long",
  ],
  [
    "rule",
    "another operator",
    { where: [condition({ op: "like" })] },
    "/where/0/op",
    "invalid_value",
  ],
  [
    "rule",
    "no value to compare with",
    { where: [{ path: "a", op: "eq" }] },
    "/where/0/value",
    "missing",
  ],
  [
    "rule",
    "a list to be equal to",
    { where: [condition({ value: [1] })] },
    "/where/0/value",
    "invalid_type",
  ],
  [
    "rule",
    "an object to be equal to",
    { where: [condition({ value: {} })] },
    "/where/0/value",
    "invalid_type",
  ],
  [
    "rule",
    "true to be less than",
    { where: [condition({ op: "lt", value: true })] },
    "/where/0/value",
    "invalid_type",
  ],
  [
    "rule",
    "a number to be in",
    { where: [condition({ op: "in" })] },
    "/where/0/value",
    "invalid_type",
  ],
  [
    "rule",
    "an empty list",
    { where: [condition({ op: "in", value: [] })] },
    "/where/0/value",
    "too_short",
  ],
  [
    "rule",
    "a list of 51",
    { where: [condition({ op: "in", value: times(51, (i) => i) })] },
    "/where/0/value",
    "too_long",
  ],
  [
    "rule",
    "a text of 501 characters",
    { where: [condition({ value: "v".repeat(501) })] },
    "/where/0/value",
    "too_long",
  ],
  [
    "rule",
    "exists with 1",
    { where: [condition({ op: "exists" })] },
    "/where/0/value",
    "invalid_type",
  ],
  [
    "rule",
    "a multiplier below 0",
    { multiplierPath: "n", multiplierMin: -0.1 },
    "/multiplierMin",
    "out_of_range",
  ],
  [
    "rule",
    "a multiplier that is too large",
    { multiplierPath: "n", multiplierMax: limits.multiplierMax + 1 },
    "/multiplierMax",
    "out_of_range",
  ],
  [
    "rule",
    "bounds of a multiplier the wrong way round",
    { multiplierPath: "n", multiplierMin: 2, multiplierMax: 1 },
    "/multiplierMax",
    "out_of_range",
  ],
  ["rule", "a limit of 0", { limit: { times: 0, per: "day" } }, "/limit/times", "out_of_range"],
  [
    "rule",
    "a limit that is too large",
    { limit: { times: limits.limitTimesMax + 1, per: "day" } },
    "/limit/times",
    "out_of_range",
  ],
  ["rule", "a limit per year", { limit: { times: 1, per: "year" } }, "/limit/per", "invalid_value"],
  ["rule", "no cooldown", { cooldownSeconds: 0 }, "/cooldownSeconds", "out_of_range"],
  [
    "rule",
    "a cooldown that is too long",
    { cooldownSeconds: limits.cooldownSecondsMax + 1 },
    "/cooldownSeconds",
    "out_of_range",
  ],
  ["rule", "enabled", { enabled: true }, "/enabled", "unknown_member"],
  ["badge", "an empty name", { name: "" }, "/name", "too_short"],
  ["badge", "an icon of 2,049 characters", { icon: "i".repeat(2_049) }, "/icon", "too_long"],
  ["badge", "a target of 0", criteria({ target: 0 }), "/criteria/target", "out_of_range"],
  ["badge", "another criterion", { criteria: { kind: "luck" } }, "/criteria/kind", "invalid_value"],
  [
    "badge",
    "QUEST_COMPLETE",
    criteria({ action: "QUEST_COMPLETE" }),
    "/criteria/action",
    "invalid_value",
  ],
  [
    "badge",
    "a member of another kind",
    criteria({ streak: "daily" }),
    "/criteria/streak",
    "unknown_member",
  ],
  [
    "badge",
    "a streak that is not there",
    { criteria: { kind: "streak", target: 1, streak: "none" } },
    "/criteria/streak",
    "unknown_reference",
  ],
  [
    "badge",
    "too long a list of badges",
    listing(times(limits.listedBadgesMax + 1, listed)),
    "/criteria/badges",
    "too_long",
  ],
  ["badge", "an empty list of badges", listing([]), "/criteria/badges", "too_short"],
  [
    "badge",
    "a badge twice in its list",
    listing([listed(0), listed(0)]),
    "/criteria/badges/1",
    "duplicate",
  ],
  [
    "badge",
    "a badge in its list that is not there",
    listing([listed(0), "none"]),
    "/criteria/badges/1",
    "unknown_reference",
  ],
  ["badge", "archived", { archived: true }, "/archived", "unknown_member"],
  ["project", "an empty name", { name: "" }, "/name", "too_short"],
  ["project", "a name of 201 characters", { name: "n".repeat(201) }, "/name", "too_long"],
  [
    "project",
    "a zone that is not there",
    { timezone: "Mars/Olympus" },
    "/timezone",
    "invalid_value",
  ],
  ["project", "an offset as zone", { timezone: "+02:00" }, "/timezone", "invalid_value"],
  ["project", "no zone", { timezone: null }, "/timezone", "invalid_type"],
  ["project", "another curve", curve({ kind: "cubic" }), "/levelCurve/kind", "invalid_value"],
  [
    "project",
    "a base of 0",
    curve({ kind: "quadratic", base: 0 }),
    "/levelCurve/base",
    "out_of_range",
  ],
  [
    "project",
    "a base that is too large",
    curve({ kind: "quadratic", base: limits.amountMax + 1 }),
    "/levelCurve/base",
    "out_of_range",
  ],
  [
    "project",
    "levels of nothing",
    curve({ kind: "linear", xpPerLevel: 0 }),
    "/levelCurve/xpPerLevel",
    "out_of_range",
  ],
  [
    "project",
    "a factor of 1",
    curve({ kind: "geometric", base: 1, factor: 1 }),
    "/levelCurve/factor",
    "out_of_range",
  ],
  [
    "project",
    "a factor that is too large",
    curve({ kind: "geometric", base: 1, factor: limits.levelFactorMax + 1 }),
    "/levelCurve/factor",
    "out_of_range",
  ],
  [
    "project",
    "an empty table",
    curve({ kind: "table", thresholds: [] }),
    "/levelCurve/thresholds",
    "too_short",
  ],
  [
    "project",
    "a table of 1,001 levels",
    curve({ kind: "table", thresholds: times(1_001, (i) => i) }),
    "/levelCurve/thresholds",
    "too_long",
  ],
  [
    "project",
    "a table that does not begin at 0",
    curve({ kind: "table", thresholds: [1, 2] }),
    "/levelCurve/thresholds/0",
    "out_of_range",
  ],
  [
    "project",
    "a table that does not rise",
    curve({ kind: "table", thresholds: [0, 5, 5] }),
    "/levelCurve/thresholds/2",
    "out_of_range",
  ],
  [
    "project",
    "a curve without what its kind needs",
    curve({ kind: "geometric", base: 1 }),
    "/levelCurve/factor",
    "missing",
  ],
  [
    "streak",
    "a need too many",
    { needs: times(limits.streakNeedsMax + 1, need) },
    "/needs",
    "too_long",
  ],
  ["streak", "a need twice", { needs: [need(1), need(1)] }, "/needs/1", "duplicate"],
  [
    "streak",
    "a metric twice",
    { needs: [{ metric: "m" }, { metric: "m", target: 2 }] },
    "/needs/1",
    "duplicate",
  ],
  ["streak", "a need of nothing", { needs: [{ target: 2 }] }, "/needs/0/action", "missing"],
  [
    "streak",
    "a need of both",
    { needs: [{ action: "A", metric: "m" }] },
    "/needs/0/action",
    "unknown_member",
  ],
  [
    "streak",
    "a metric that is too far",
    { needs: [{ metric: "m", target: limits.sumTargetMax + 1 }] },
    "/needs/0/target",
    "out_of_range",
  ],
  [
    "streak",
    "an unknown metric",
    { needs: [{ metric: "none" }] },
    "/needs/0/metric",
    "unknown_reference",
  ],
  [
    "streak",
    "a target too large",
    { needs: [{ action: "A", target: limits.sumTargetMax + 1 }] },
    "/needs/0/target",
    "out_of_range",
  ],
  ["streak", "7 rest days", { restDays: weekdays }, "/restDays", "too_long"],
  ["streak", "367 freezes", { freezes: { max: 367 } }, "/freezes/max", "out_of_range"],
  [
    "streak",
    "a freeze every 0 days",
    { freezes: { everyDays: 0 } },
    "/freezes/everyDays",
    "out_of_range",
  ],
  [
    "streak",
    "more freezes than it can hold",
    { freezes: { initial: 3, max: 2 } },
    "/freezes/initial",
    "out_of_range",
  ],
  [
    "streak",
    "a milestone too many",
    { milestones: times(limits.streakMilestonesMax + 1, (index) => milestone(index + 1)) },
    "/milestones",
    "too_long",
  ],
  [
    "streak",
    "a milestone too far",
    { milestones: [milestone(limits.streakMilestoneTargetMax + 1)] },
    "/milestones/0/target",
    "out_of_range",
  ],
  [
    "streak",
    "a milestone twice",
    { milestones: [milestone(1), milestone(1)] },
    "/milestones/1/target",
    "duplicate",
  ],
  [
    "streak",
    "a pause too many",
    { pauses: times(limits.streakPausesMax + 1, (index) => pause(index, 1)) },
    "/pauses",
    "too_long",
  ],
  ["streak", "a pause twice", { pauses: [pause(0, 1), pause(0, 1)] }, "/pauses/1", "duplicate"],
  [
    "streak",
    "a pause of a day too many",
    { pauses: [pause(0, limits.streakPauseDaysMax + 1)] },
    "/pauses/0",
    "out_of_range",
  ],
  [
    "streak",
    "a repair for no day",
    { repair: { withinDays: 0 } },
    "/repair/withinDays",
    "out_of_range",
  ],
  [
    "streak",
    "a repair for a day too many",
    { repair: { withinDays: limits.streakRepairDaysMax + 1 } },
    "/repair/withinDays",
    "out_of_range",
  ],
  [
    "streak",
    "a repair for less than 1",
    { repair: { withinDays: 1, price: { points: 0 } } },
    "/repair/price/points",
    "out_of_range",
  ],
  [
    "streak",
    "a repair for an empty price",
    { repair: { withinDays: 1, price: {} } },
    "/repair/price",
    "out_of_range",
  ],
  [
    "streak",
    "a repair for a currency that is not there",
    { repair: { withinDays: 1, price: { none: 1 } } },
    "/repair/price/none",
    "unknown_reference",
  ],
  [
    "streak",
    "a repair for a currency that cannot be spent",
    { repair: { withinDays: 1, price: { xp: 1 } } },
    "/repair/price/xp",
    "invalid_value",
  ],
  ["streak", "a pause of no day", { pauses: [pause(0, 0)] }, "/pauses/0", "out_of_range"],
  [
    "streak",
    "a pause of a segment that is not there",
    { pauses: [{ ...pause(0, 1), segment: "none" }] },
    "/pauses/0/segment",
    "unknown_reference",
  ],
  [
    "streak",
    "0 hours before the end of a day",
    { atRisk: { hoursBefore: 0 } },
    "/atRisk/hoursBefore",
    "out_of_range",
  ],
  [
    "streak",
    "an hour too many before the end of a day",
    { atRisk: { hoursBefore: limits.streakAtRiskDayHoursMax + 1 } },
    "/atRisk/hoursBefore",
    "invalid_value",
  ],
]

describe("a definition", () => {
  it.each(accepted)("of a %s may have %s", async (kind, _, members) => {
    const { created, patched } = await send(kind, members)
    expect([created?.status ?? 201, patched.status, patched.json.errors]).toEqual([
      201,
      200,
      undefined,
    ])
  })

  it.each(refused)("of a %s may not have %s", async (kind, _, members, pointer, code) => {
    const { created, patched } = await send(kind, members)
    expect(faultsOf(patched)).toEqual([[pointer, code]])
    if (created !== undefined) expect(faultsOf(created)).toEqual([[pointer, code]])
  })

  it("requires its required members", async () => {
    const missing = async (path: string, body: object) => faultsOf(await place.post(path, body))
    expect(await missing("/v1/quests", { reward: {} })).toEqual([
      ["/title", "missing"],
      ["/reward", "missing"],
    ])
    expect(await missing("/v1/rules", {})).toEqual([
      ["/action", "missing"],
      ["/reward", "missing"],
    ])
    expect(await missing("/v1/badges", {})).toEqual([
      ["/name", "missing"],
      ["/criteria", "missing"],
    ])
    expect(await missing("/v1/badges", { name: "B", criteria: {} })).toEqual([
      ["/criteria/kind", "missing"],
    ])
  })

  it("may have bounds of a multiplier only with a multiplier", async () => {
    const reply = await place.post("/v1/rules", {
      ...required.rule,
      multiplierMin: 1,
      multiplierMax: 2,
    })
    expect(faultsOf(reply)).toEqual([
      ["/multiplierMin", "unknown_member"],
      ["/multiplierMax", "unknown_member"],
    ])
  })

  it("is refused at creation if a member is null, or if its end is in the past", async () => {
    for (const member of ["description", "steps", "startsAt", "prerequisites", "metadata"]) {
      const reply = await place.post("/v1/quests", { ...required.quest, [member]: null })
      expect(faultsOf(reply)).toEqual([[`/${member}`, "invalid_type"]])
    }
    const over = await place.post("/v1/quests", { ...required.quest, endsAt: inHours(-1) })
    expect(faultsOf(over)).toEqual([["/endsAt", "out_of_range"]])
    const archived = await place.post("/v1/quests", { ...required.quest, status: "archived" })
    expect(faultsOf(archived)).toEqual([["/status", "invalid_value"]])
  })

  it("gets all faults in one reply", async () => {
    const reply = await place.patch(paths.quest, {
      title: "",
      reward: { xp: "1", points: -1 },
      steps: [step({ key: "K", target: 0 }), step({ where: [condition({ op: "in" })] })],
      tile: 1,
    })
    expect(faultsOf(reply).toSorted()).toEqual([
      ["/reward/points", "out_of_range"],
      ["/reward/xp", "invalid_type"],
      ["/steps/0/key", "invalid_format"],
      ["/steps/0/target", "out_of_range"],
      ["/steps/1/where/0/value", "invalid_type"],
      ["/tile", "unknown_member"],
      ["/title", "too_short"],
    ])
  })

  it("of a quest may not have a prerequisite twice", async () => {
    const id = await place.create("/v1/quests", required.quest)
    const { created, patched } = await send("quest", { prerequisites: [id, id] })
    expect(faultsOf(created!)).toEqual([["/prerequisites/1", "duplicate"]])
    expect(faultsOf(patched)).toEqual([["/prerequisites/1", "duplicate"]])
  })

  it("gets unknown references together with faults of form", async () => {
    const nothing = { reward: { xp: -1, badgeId: "bdg_none" } }
    const of: ReadonlyArray<readonly [Exclude<Kind, "project">, object, ReadonlyArray<string>]> = [
      ["rule", nothing, ["/reward/badgeId", "/reward/xp"]],
      [
        "quest",
        { ...nothing, prerequisites: [7, "qst_none"] },
        ["/prerequisites/0", "/prerequisites/1", "/reward/badgeId", "/reward/xp"],
      ],
      [
        "badge",
        { name: "", criteria: { kind: "streak", target: 1, streak: "none" } },
        ["/criteria/streak", "/name"],
      ],
      [
        "badge",
        { name: "", criteria: { kind: "badges", badges: [listed(0), 1, "none"] } },
        ["/criteria/badges/1", "/criteria/badges/2", "/name"],
      ],
    ]
    for (const [kind, members, pointers] of of) {
      const { created, patched } = await send(kind, members)
      const found = faultsOf(created!).map(([pointer]) => pointer)
      expect([kind, found.toSorted()]).toEqual([kind, pointers])
      if (kind === "badge") continue
      expect(
        faultsOf(patched)
          .map(([pointer]) => pointer)
          .toSorted(),
      ).toEqual(pointers)
    }
  })

  it("keeps __proto__ in its metadata like any other member", async () => {
    const body = '{"title":"T","reward":{"xp":1},"metadata":{"__proto__":{"x":1},"y":2}}'
    const created = await place.call("POST", "/v1/quests", { body })
    expect(created.text).toContain('"metadata":{"__proto__":{"x":1},"y":2}')
    const patched = await place.call("PATCH", `/v1/quests/${created.json.id}`, {
      body: '{"metadata":{"__proto__":{"z":3}}}',
    })
    expect(patched.text).toContain('"metadata":{"__proto__":{"x":1,"z":3},"y":2}')
    expect(({} as { x?: number }).x).toBeUndefined()
  })
})

describe("the query of badges", () => {
  it.each([
    ["archived=true", "query/archived", "unknown_member"],
    ["limit=0", "query/limit", "out_of_range"],
    ["status=", "query/status", "invalid_value"],
  ])("may not be %s", async (query, pointer, code) => {
    expect(faultsOf(await place.get(`/v1/badges?${query}`))).toEqual([[pointer, code]])
  })
})

describe("the id of a definition", () => {
  it("may be as long as any id, and no longer", async () => {
    const longest = "x".repeat(limits.idCharactersMax)
    for (const path of ["/v1/quests", "/v1/rules", "/v1/badges"]) {
      expect((await place.get(`${path}/${longest}`)).status).toBe(404)
      expect(faultsOf(await place.get(`${path}/${longest}x`))).toEqual([["path/id", "too_long"]])
    }
  })
})
