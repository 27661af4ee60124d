/**
 * The bytes of a user's state. They do not contain the id, which is stored beside them
 * (`users/Bucket.ts`).
 *
 *     flags     one byte; bit 0: hidden; bit 1: active days; bit 2: disqualified on the board xp, which
 *               a start reads without a decode; other bits are 0
 *     sequence, due, createdAt, updatedAt − createdAt, 0 or updatedAt − lastEventAt + 1
 *     active days, if bit 1 of the flags is set (`ActivityBytes.ts`)
 *     sections  each: its tag, one byte; how many entries; the entries
 *
 * - `StateBytes.ts` has the form of numbers, texts and names.
 * - Sections come in the order of their tags, and empty ones are left out. An unknown tag is an
 *   error: a version that does not know it would lose the section. So is a number in a longer form
 *   than necessary. So a state has one form, with a given name table and order of its maps.
 * - `scores` and the display name come first: a start reads them of each user, for the boards. The
 *   active days come before them: a pass over all users reads nothing else (`engine/read/Activity.ts`).
 *
 * The bytes have no checksum: the stored value around them has one.
 *
 * Cost: `npm run bench -- states` prints a user's bytes, and times of an encode and a decode.
 */

import { xpBoard } from "../../domain/project/BoardDefinition.ts"
import {
  type Balance,
  emptyProfile,
  isDisqualified,
  noneAbsorbed,
  noneUnanswered,
  noWindows,
  type Profile,
  type RuleReach,
  type RuleUse,
  type UserState,
  type WindowScores,
} from "../../domain/user/User.ts"
import { windowKinds } from "../../domain/values/Calendar.ts"
import type { PeriodCounts } from "../../domain/values/Periods.ts"
import { readActivity, writeActivity } from "./ActivityBytes.ts"
import { awardCount, readBadges, writeBadges } from "./BadgeBytes.ts"
import { readBoard, writeBoard } from "./BoardBytes.ts"
import { readExposure, writeExposure } from "./ExperimentBytes.ts"
import { readGoal, writeGoal } from "./GoalBytes.ts"
import { readLeague, writeLeague } from "./LeagueBytes.ts"
import { readExpiring, readPending, writeExpiring, writePending } from "./LotBytes.ts"
import { mergeTags, readMerges, writeMerges } from "./MergeBytes.ts"
import { readMetric, writeMetric } from "./MetricBytes.ts"
import type { Names } from "./Names.ts"
import { purchaseTags, readPurchases, writePurchases } from "./PurchaseBytes.ts"
import { readQuest, writeQuest } from "./QuestBytes.ts"
import { readUnanswered, writeUnanswered } from "./ReminderBytes.ts"
import {
  BadState,
  bad,
  begin,
  Reader,
  writeByte,
  writeName,
  writeNumber,
  writeOptional,
  writeText,
  written,
} from "./StateBytes.ts"
import { readStreak, readStreakCounts, writeStreak, writeStreakCounts } from "./StreakBytes.ts"
import { readMembership, writeMembership } from "./TeamBytes.ts"

export { BadState }

export const hiddenFlag = 1
export const activityFlag = 2
export const unlistedFlag = 4
export const remindedFlag = 8
export const stateFlags = hiddenFlag | activityFlag | unlistedFlag | remindedFlag

/** The tags of the sections, in their order. */
export const tags = {
  scores: 1,
  profile: 2,
  balances: 3,
  badges: 4,
  badgeCounts: 5,
  badgeRecounts: 6,
  quests: 7,
  pastZones: 8,
  streaks: 9,
  ruleUses: 10,
  latest: 11,
  currencies: 12,
  earnings: 13,
  badgesPaid: 14,
  pending: 15,
  metrics: 16,
  streakCounts: 17,
  expiring: 18,
  boosts: 22,
  ...mergeTags,
  levelsPaid: 23,
  boards: 24,
  teams: 25,
  leagues: 26,
  experiments: 30,
  reminded: 40,
  unanswered: 41,
  ...purchaseTags,
  goals: 32,
  rulesReached: 33,
} as const

/** The place of a score: the all-time board, then the latest window and the one before by kind. */
export const allTimeSlot = 0
const latestSlot = (kind: number): number => 1 + 2 * kind
const beforeSlot = (kind: number): number => 2 + 2 * kind

/** Begins a section with `count` entries; returns whether it has any. */
const begins = (tag: number, count: number): boolean => {
  if (count === 0) return false
  writeByte(tag)
  writeNumber(count)
  return true
}

/**
 * The bytes of a state, as a view that is valid until the next call. `due` is the user's due second
 * (`Agenda.ts`).
 */
export const encodeUser = (user: UserState, due: number, names: Names): Buffer => {
  begin()
  writeByte(
    (user.profile.hidden ? hiddenFlag : 0) |
      (user.activity === null ? 0 : activityFlag) |
      (isDisqualified(user, xpBoard.id) ? unlistedFlag : 0) |
      (user.remindedOn === null ? 0 : remindedFlag),
  )
  writeNumber(user.sequence)
  writeNumber(due)
  writeNumber(user.createdAt)
  writeNumber(user.updatedAt - user.createdAt)
  writeNumber(user.lastEventAt === 0 ? 0 : user.updatedAt - user.lastEventAt + 1)
  if (user.activity !== null) writeActivity(user.activity)
  if (user.remindedOn !== null) writeNumber(user.remindedOn)
  writeScores(user)
  writeProfile(user.profile, names)
  writeBalances(user, names)
  if (begins(tags.badges, awardCount(user))) writeBadges(user, names)
  writeMap(tags.badgeCounts, user.badgeCounts, names, writeNumber)
  writeMap(tags.badgeRecounts, user.badgeRecounts, names, writeNumber)
  writeMap(tags.quests, user.quests, names, writeQuest)
  if (begins(tags.pastZones, user.pastZones.length)) {
    for (const { timezone, until } of user.pastZones) {
      writeByte(timezone === null ? 0 : 1)
      if (timezone !== null) writeName(timezone, names)
      writeNumber(until)
    }
  }
  writeMap(tags.streaks, user.streaks, names, writeStreak)
  writeMap(tags.ruleUses, user.ruleUses, names, writeUse)
  if (begins(tags.latest, Number(user.lastReward > 0 || user.lastSpend > 0))) {
    writeNumber(user.lastReward)
    writeNumber(user.lastSpend)
  }
  if (begins(tags.currencies, user.balances.size)) {
    for (const [key, { amount, since, spent }] of user.balances) {
      writeName(key, names)
      writeNumber(amount)
      writeNumber(spent)
      writeOptional(since)
    }
  }
  writeMap(tags.earnings, user.earnings, names, writePeriods)
  writeMap(tags.badgesPaid, user.badgesPaid, names, writeNumber)
  writeMap(tags.pending, user.pending, names, writePending)
  writeMap(tags.metrics, user.metrics, names, writeMetric)
  writeMap(tags.streakCounts, user.streakCounts, names, writeStreakCounts)
  writeMap(tags.expiring, user.expiring, names, writeExpiring)
  writeMerges(user, names, begins)
  if (begins(tags.boosts, user.boosts.length)) {
    for (const { endsAt, key, startsAt } of user.boosts) {
      writeName(key, names)
      writeNumber(startsAt)
      writeNumber(endsAt - startsAt)
    }
  }
  writeMap(tags.levelsPaid, user.levelsPaid, names, writeNumber)
  writeMap(tags.boards, user.boards, names, writeBoard)
  writeMap(tags.teams, user.teams, names, writeMembership)
  writeMap(tags.leagues, user.leagues, names, writeLeague)
  writeMap(tags.experiments, user.experiments, names, writeExposure)
  writePurchases(user, names, begins)
  writeMap(tags.goals, user.goals, names, writeGoal)
  writeMap(tags.rulesReached, user.rulesReached, names, writeReach)
  writeMap(tags.reminded, user.reminded, names, writeNumber)
  if (begins(tags.unanswered, user.unanswered.length)) writeUnanswered(user.unanswered)
  return written()
}

const writeMap = <A>(
  tag: number,
  all: ReadonlyMap<string, A>,
  names: Names,
  write: (value: A, names: Names) => void,
): void => {
  if (!begins(tag, all.size)) return
  for (const [name, value] of all) {
    writeName(name, names)
    write(value, names)
  }
}

const writePeriods = (counts: PeriodCounts): void => {
  writeNumber(counts.length)
  for (const [period, count] of counts) {
    writeNumber(period)
    writeNumber(count)
  }
}

const readPeriods = (): PeriodCounts =>
  Array.from({ length: reader.count() }, () => [reader.number(), reader.number()] as const)

const writeScores = ({ scoreSequence, windows, xp }: UserState): void => {
  let count = xp !== 0 || scoreSequence !== 0 ? 1 : 0
  for (const kind of windowKinds) {
    const { sequence, sequenceBefore } = windows[kind]
    count += Number(sequence > 0) + Number(sequenceBefore > 0)
  }
  if (!begins(tags.scores, count)) return
  if (xp !== 0 || scoreSequence !== 0) writeScore(allTimeSlot, 0, xp, scoreSequence)
  for (let kind = 0; kind < windowKinds.length; kind++) {
    const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } =
      windows[windowKinds[kind]!]
    if (sequence > 0) writeScore(latestSlot(kind), index, xp, sequence)
    if (sequenceBefore > 0) writeScore(beforeSlot(kind), indexBefore, xpBefore, sequenceBefore)
  }
}

const writeScore = (slot: number, index: number, score: number, sequence: number): void => {
  writeByte(slot)
  writeNumber(index)
  writeNumber(score)
  writeNumber(sequence)
}

/** The kinds of entries in the section `profile`. */
export const parts = { displayName: 1, timezone: 2, text: 3, number: 4, no: 5, yes: 6 } as const

const writeProfile = ({ attributes, displayName, timezone }: Profile, names: Names): void => {
  const others = Object.keys(attributes)
  const count = others.length + Number(displayName !== null) + Number(timezone !== null)
  if (!begins(tags.profile, count)) return
  if (displayName !== null) {
    writeByte(parts.displayName)
    writeText(displayName)
  }
  if (timezone !== null) {
    writeByte(parts.timezone)
    writeName(timezone, names)
  }
  for (const name of others) {
    const value = attributes[name]!
    if (typeof value === "string") writeByte(parts.text)
    else if (typeof value === "number") writeByte(parts.number)
    else writeByte(value ? parts.yes : parts.no)
    writeText(name)
    if (typeof value === "string") writeText(value)
    else if (typeof value === "number") writeNumber(value)
  }
}

const pointsName = "points"
const questsName = "quests"

/** A balance, and how much of it was spent. Completed quests count as a balance of their own. */
const writeBalances = ({ points, pointsSpent, questsCompleted }: UserState, names: Names): void => {
  const hasPoints = points !== 0 || pointsSpent !== 0
  if (!begins(tags.balances, Number(hasPoints) + Number(questsCompleted !== 0))) return
  if (hasPoints) {
    writeName(pointsName, names)
    writeNumber(points)
    writeNumber(pointsSpent)
  }
  if (questsCompleted !== 0) {
    writeName(questsName, names)
    writeNumber(questsCompleted)
    writeNumber(0)
  }
}

const writeUse = ({ firstAt, lastAt, periods, since }: RuleUse): void => {
  writeNumber(lastAt)
  writeNumber(firstAt)
  writeOptional(since)
  writePeriods(periods)
}

const writeReach = ({ firstDay, times }: RuleReach): void => {
  writeNumber(times)
  writeNumber(firstDay)
}

/* Reading. */

const reader = new Reader()

// biome-ignore lint/suspicious/noExplicitAny: it is empty, so it holds values of any kind
const none: ReadonlyMap<string, any> = new Map()

type Building = { -readonly [Part in keyof UserState]: UserState[Part] }

/** The state of the user `id`. Throws `BadState` for bytes that are none. */
export const decodeUser = (id: string, bytes: Buffer, names: Names): UserState => {
  reader.begin(bytes, 0, bytes.length)
  const set = reader.flags(stateFlags)
  const hidden = (set & hiddenFlag) !== 0
  const sequence = reader.number()
  reader.number()
  const createdAt = reader.number()
  const updatedAt = createdAt + reader.number()
  const sinceEvent = reader.number()
  // With the members in the order of `applyUser`, so that all states have one hidden class in V8.
  const state: Building = {
    id,
    sequence,
    xp: 0,
    scoreSequence: 0,
    points: 0,
    pointsSpent: 0,
    balances: none,
    earnings: none,
    pending: none,
    expiring: none,
    windows: noWindows,
    boards: none,
    leagues: none,
    profile: hidden ? { ...emptyProfile, hidden } : emptyProfile,
    badges: none,
    badgesPaid: none,
    levelsPaid: none,
    badgeCounts: none,
    badgeRecounts: none,
    quests: none,
    questsCompleted: 0,
    pastZones: [],
    streaks: none,
    streakCounts: none,
    ruleUses: none,
    rulesReached: none,
    lastReward: 0,
    lastSpend: 0,
    lastPurchase: 0,
    purchases: none,
    goals: none,
    metrics: none,
    teams: none,
    boosts: [],
    experiments: none,
    leadsTo: null,
    absorbed: noneAbsorbed,
    erasing: 0,
    createdAt,
    updatedAt,
    lastEventAt: sinceEvent === 0 ? 0 : updatedAt - sinceEvent + 1,
    activity: (set & activityFlag) === 0 ? null : readActivity(reader),
    remindedOn: (set & remindedFlag) === 0 ? null : reader.number(),
    reminded: none,
    unanswered: noneUnanswered,
  }
  let before = 0
  while (reader.at < reader.end) {
    const tag = reader.byte()
    if (tag <= before) throw bad(`section ${tag} follows section ${before}`)
    before = tag
    const count = reader.count()
    if (count === 0) throw bad(`section ${tag} is empty`)
    readSection(state, tag, count, names)
  }
  return state
}

/** The parts that have a number for each name, by their tags. */
const countParts = new Map(
  (["badgeCounts", "badgeRecounts", "badgesPaid", "levelsPaid", "reminded"] as const).map(
    (part) => [tags[part], part] as const,
  ),
) as ReadonlyMap<number, "badgeCounts" | "badgeRecounts" | "badgesPaid" | "levelsPaid" | "reminded">

const readSection = (state: Building, tag: number, count: number, names: Names): void => {
  const counts = countParts.get(tag)
  if (counts !== undefined) {
    state[counts] = readMap(count, names, readCount)
    return
  }
  switch (tag) {
    case tags.scores:
      readScores(state, count)
      return
    case tags.profile:
      state.profile = readProfile(state.profile.hidden, count, names)
      return
    case tags.balances:
      readBalances(state, count, names)
      return
    case tags.badges:
      state.badges = readBadges(reader, count, names)
      return
    case tags.quests:
      state.quests = readMap(count, names, () => readQuest(reader, names))
      return
    case tags.pastZones:
      state.pastZones = Array.from({ length: count }, () => ({
        timezone: reader.flags(1) === 0 ? null : reader.name(names),
        until: reader.number(),
      }))
      return
    case tags.streaks:
      state.streaks = readMap(count, names, () => readStreak(reader))
      return
    case tags.ruleUses:
      state.ruleUses = readMap(count, names, readUse)
      return
    case tags.latest:
      state.lastReward = reader.number()
      state.lastSpend = reader.number()
      if (count === 1 && (state.lastReward > 0 || state.lastSpend > 0)) return
      throw bad("a latest record has no sequence")
    case tags.currencies:
      state.balances = readMap(count, names, readBalance)
      return
    case tags.earnings:
      state.earnings = readMap(count, names, readPeriods)
      return
    case tags.pending:
      state.pending = readMap(count, names, () => readPending(reader))
      return
    case tags.metrics:
      state.metrics = readMap(count, names, () => readMetric(reader))
      return
    case tags.streakCounts:
      state.streakCounts = readMap(count, names, () => readStreakCounts(reader, names))
      return
    case tags.expiring:
      state.expiring = readMap(count, names, () => readExpiring(reader))
      return
    default:
      readLater(state, tag, count, names)
  }
}

/** Reads one of the sections that came last. */
const readLater = (state: Building, tag: number, count: number, names: Names): void => {
  switch (tag) {
    case tags.boosts:
      state.boosts = Array.from({ length: count }, () => {
        const key = reader.name(names)
        const startsAt = reader.number()
        return { key, startsAt, endsAt: startsAt + reader.number() }
      })
      return
    case tags.rulesReached:
      state.rulesReached = readMap(count, names, readReach)
      return
    case tags.boards:
      state.boards = readMap(count, names, () => readBoard(reader))
      return
    case tags.teams:
      state.teams = readMap(count, names, () => readMembership(reader))
      return
    case tags.leagues:
      state.leagues = readMap(count, names, () => readLeague(reader))
      return
    case tags.goals:
      state.goals = readMap(count, names, () => readGoal(reader))
      return
    case tags.experiments:
      state.experiments = readMap(count, names, () => readExposure(reader, names))
      return
    case tags.unanswered:
      state.unanswered = readUnanswered(reader, count)
      return
    default:
      if (readPurchases(state, tag, reader, count, names)) return
      if (!readMerges(state, tag, reader, count, names)) throw bad(`section ${tag} is unknown`)
  }
}

const readMap = <A>(count: number, names: Names, read: (names: Names) => A): Map<string, A> => {
  const map = new Map<string, A>()
  for (let left = count; left > 0; left--) {
    const name = reader.name(names)
    map.set(name, read(names))
  }
  if (map.size < count) throw bad("a name occurs twice")
  return map
}

const readScores = (state: Building, count: number): void => {
  const windows = { ...noWindows }
  let last = -1
  for (let left = count; left > 0; left--) {
    const slot = reader.byte()
    if (slot <= last || slot > beforeSlot(windowKinds.length - 1)) throw bad("a score has no place")
    last = slot
    const index = reader.number()
    const xp = reader.number()
    const sequence = reader.number()
    if (slot === allTimeSlot) {
      state.xp = xp
      state.scoreSequence = sequence
      continue
    }
    if (sequence <= 0) throw bad("a score has no record")
    const kind = windowKinds[(slot - 1) >>> 1]!
    const scores: WindowScores = windows[kind]
    windows[kind] =
      (slot & 1) === 1
        ? { ...scores, index, xp, sequence }
        : { ...scores, indexBefore: index, xpBefore: xp, sequenceBefore: sequence }
  }
  if (last > allTimeSlot) state.windows = windows
}

const readProfile = (hidden: boolean, count: number, names: Names): Profile => {
  let displayName: string | null = null
  let timezone: string | null = null
  let last: number = 0
  const attributes: Array<readonly [string, string | number | boolean]> = []
  for (let left = count; left > 0; left--) {
    const part = reader.byte()
    const isFirst = part <= parts.timezone ? part > last : last <= parts.yes
    if (part === 0 || part > parts.yes || !isFirst) throw bad("a part of the profile is unknown")
    last = part
    if (part === parts.displayName) displayName = reader.text()
    else if (part === parts.timezone) timezone = reader.name(names)
    else {
      const name = reader.text()
      const value =
        part === parts.text
          ? reader.text()
          : part === parts.number
            ? reader.number()
            : part === parts.yes
      attributes.push([name, value])
    }
  }
  // `fromEntries` makes own members, also of a name that every object inherits.
  return {
    displayName,
    timezone,
    attributes: attributes.length === 0 ? emptyProfile.attributes : Object.fromEntries(attributes),
    hidden,
  }
}

const readBalances = (state: Building, count: number, names: Names): void => {
  for (let left = count; left > 0; left--) {
    const name = reader.name(names)
    const amount = reader.number()
    const spent = reader.number()
    if (name === pointsName) {
      state.points = amount
      state.pointsSpent = spent
    } else if (name === questsName) state.questsCompleted = amount
    else throw bad("a balance is unknown")
  }
}

const readBalance = (): Balance => {
  const amount = reader.number()
  const spent = reader.number()
  const since = reader.optional()
  return since === undefined ? { amount, spent } : { amount, spent, since }
}

const readReach = (): RuleReach => {
  const times = reader.number()
  if (times === 0) throw bad("a rule that reached the user has no event")
  return { times, firstDay: reader.number() }
}

const readCount = (): number => reader.number()

const readUse = (): RuleUse => {
  const lastAt = reader.number()
  const firstAt = reader.number()
  const since = reader.optional()
  const periods = readPeriods()
  return {
    periods,
    lastAt,
    firstAt,
    ...(since !== undefined && { since }),
  }
}
