/** Quests, rules, badges, the project and webhooks in replies. */
import {
  badgeId,
  boostId,
  countedBadgeId,
  currencyId,
  deliveryId,
  exampleCursors,
  experimentId,
  goalId,
  itemId,
  later,
  leaderboardId,
  leagueId,
  messageId,
  metricId,
  onlyPage,
  projectId,
  questId,
  ruleId,
  segmentId,
  sourceId,
  streakId,
  time,
  webhookId,
} from "./exampleIds.ts"
import { sourceMapping } from "./sourceExamples.ts"

export const changes = { version: 1, createdAt: time, updatedAt: time } as const
const wellDone = [{ path: "score", op: "gte", value: 90 }] as const

export const reward = { xp: 100, points: 10, badgeId: null } as const

export const quest = {
  id: questId,
  key: "first-steps",
  title: "First steps",
  description: "Finish five lessons with 90 points or more",
  status: "active",
  reward,
  steps: [
    {
      key: "lessons",
      action: "LESSON_DONE",
      where: wellDone,
      target: 5,
      sumPath: null,
      metric: null,
    },
  ],
  startsAt: null,
  endsAt: later,
  segment: null,
  recurrence: "none",
  prerequisites: [],
  optIn: false,
  claim: "auto",
  metadata: { icon: "footprints" },
  ...changes,
} as const

export const countedQuest = { ...quest, counts: { inProgress: 12, completed: 340 } } as const
export const questPage = { quests: [quest], ...onlyPage } as const

export const rule = {
  id: ruleId,
  key: "good-lesson",
  name: "A good lesson",
  description: null,
  status: "active",
  startsAt: null,
  endsAt: null,
  segment: null,
  action: "LESSON_DONE",
  where: wellDone,
  reward: { xp: 50, points: 0, badgeId: null },
  multiplierPath: null,
  multiplierMin: null,
  multiplierMax: null,
  limit: { times: 3, per: "day" },
  cooldownSeconds: null,
  metadata: {},
  ...changes,
} as const

export const rulePage = { rules: [rule], ...onlyPage } as const

const nothing = { xp: 0, points: 0, badgeId: null } as const

export const badge = {
  id: countedBadgeId,
  key: "ten-lessons",
  name: "Ten lessons",
  description: "For ten lessons with 90 points or more",
  icon: "🏅",
  criteria: { kind: "action_count", action: "LESSON_DONE", where: wellDone, target: 10 },
  tiers: [
    { key: "silver", name: "Silver", target: 10, icon: "🥈", reward: nothing },
    { key: "gold", name: "Gold", target: 50, icon: "🥇", reward: { ...nothing, xp: 200 } },
  ],
  reward: nothing,
  secret: false,
  repeatable: false,
  status: "active",
  startsAt: null,
  endsAt: null,
  segment: null,
  metadata: {},
  ...changes,
} as const

export const segment = {
  id: segmentId,
  key: "active-learners",
  name: "Active learners",
  description: null,
  status: "active",
  match: "all",
  conditions: [
    { kind: "attribute", attribute: "plan", op: "in", value: ["pro", "team"] },
    { kind: "level", op: "gte", value: 5 },
  ],
  metadata: {},
  ...changes,
} as const

export const countedSegment = {
  ...segment,
  members: { count: 1204, countedAt: later, counting: false },
} as const

export const segmentPage = { segments: [segment], ...onlyPage } as const

export const segmentPreview = {
  userId: "user-42",
  member: true,
  conditions: [{ holds: true, found: 7 }],
} as const

export const heldBadge = { ...badge, holders: { count: 340, share: 0.34 } } as const
export const badgePage = { badges: [heldBadge], ...onlyPage } as const

export const boost = {
  id: boostId,
  key: "happy-hour",
  name: "Happy hour",
  description: null,
  status: "active",
  startsAt: null,
  endsAt: null,
  currencies: ["xp"],
  factor: 2,
  weekly: [{ days: ["friday"], from: "18:00", to: "20:00" }],
  timeZone: "project",
  personal: false,
  segment: null,
  metadata: {},
  ...changes,
} as const

export const boostPage = { boosts: [boost], ...onlyPage } as const

export const currency = {
  id: currencyId,
  key: "gems",
  name: "Gems",
  description: null,
  metadata: {},
  status: "active",
  spendable: true,
  max: 100,
  earnLimit: null,
  refill: null,
  pendingDays: null,
  expiry: null,
  levels: null,
  ...changes,
} as const

export const currencyPage = { currencies: [currency], ...onlyPage } as const

export const metric = {
  id: metricId,
  key: "kilometres-run",
  name: "Kilometres run",
  description: null,
  status: "active",
  aggregate: "sum",
  actions: ["RUN_DONE"],
  where: [],
  value: "km",
  decimals: 1,
  unit: "km",
  metadata: {},
  ...changes,
} as const

export const metricPage = { metrics: [metric], ...onlyPage } as const

export const startedBackfill = { badgeId: countedBadgeId, notify: false, startedAt: time } as const

export const backfills = [
  {
    ...startedBackfill,
    status: "running",
    checked: 42_000,
    total: 100_000,
    awarded: 1_250,
    finishedAt: null,
  },
] as const

export const startedMetricBackfill = { metricId, startedAt: time } as const

export const metricBackfills = [
  {
    ...startedMetricBackfill,
    status: "running",
    checked: 42_000,
    total: 100_000,
    changed: 31_200,
    finishedAt: null,
  },
] as const

export const streak = {
  id: streakId,
  key: "daily",
  name: "Daily lesson",
  description: null,
  metadata: {},
  status: "active",
  startsAt: null,
  endsAt: null,
  every: "day",
  needs: [{ action: "LESSON_DONE", metric: null, target: 1 }],
  match: "all",
  restDays: [],
  freezes: { initial: 1, max: 3, everyDays: 7 },
  milestones: [{ target: 7, reward: { xp: 0, points: 50, badgeId: null } }],
  atRisk: { hoursBefore: 4 },
  pauses: [{ from: "2026-12-24", to: "2026-12-26", segment: null }],
  repair: { withinDays: 3, price: { points: 50 } },
  ...changes,
} as const

export const streakPage = { streaks: [streak], ...onlyPage } as const

export const project = {
  id: projectId,
  environment: "sandbox",
  name: "Language school",
  timezone: "Europe/Berlin",
  levelCurve: { kind: "quadratic", base: 50 },
  clientActions: ["LESSON_OPENED"],
  reminders: {
    inactiveDays: [3, 7, 30],
    questDays: 2,
    expiryDays: null,
    leagueDays: 1,
    hour: 10,
    unless: "noReminders",
  },
  tier: "free",
  version: 1,
} as const

/* The actions of events: one that a rule uses, and a misspelt one. */

export const actionsSeen = {
  actions: [
    {
      ...{ action: "LESON_DONE", count: 2, lastReceivedAt: time, matched: false },
      metadata: { looked: 2, paths: [], more: false },
    },
    {
      ...{ action: "LESSON_DONE", count: 1204, lastReceivedAt: time, matched: true },
      metadata: {
        looked: 170,
        paths: [
          { path: "score", kinds: ["number"], events: 164 },
          { path: "course.name", kinds: ["text"], events: 91 },
        ],
        more: false,
      },
    },
  ],
  others: { count: 0, lastReceivedAt: null },
  total: 2,
  hasMore: false,
  nextCursor: null,
} as const

/* A file of definitions, and its changes. */

export const definitionsFile = {
  settings: { timezone: "Europe/Berlin" },
  currencies: [{ id: currencyId, key: "gems", name: "Gems", max: 100 }],
  metrics: [
    {
      id: metricId,
      key: "kilometres-run",
      name: "Kilometres run",
      aggregate: "sum",
      actions: ["RUN_DONE"],
      value: "km",
      decimals: 1,
      unit: "km",
    },
  ],
  segments: [
    {
      id: segmentId,
      key: "active-learners",
      name: "Active learners",
      conditions: [{ kind: "level", op: "gte", value: 5 }],
    },
  ],
  streaks: [
    {
      id: streakId,
      key: "daily",
      name: "Daily lesson",
      needs: [{ action: "LESSON_DONE" }],
      freezes: { initial: 1 },
    },
  ],
  badges: [
    {
      id: badgeId,
      key: "first-lesson",
      name: "First lesson",
      criteria: { kind: "xp", target: 50 },
    },
  ],
  quests: [
    {
      id: questId,
      key: "first-steps",
      title: "First steps",
      reward: { xp: 100, badgeId },
      steps: [{ key: "lessons", action: "LESSON_DONE", target: 5 }],
    },
  ],
  rules: [
    {
      id: ruleId,
      key: "good-lesson",
      action: "LESSON_DONE",
      reward: { xp: 50 },
      limit: { times: 20, per: "day" },
    },
  ],
  boosts: [
    {
      id: boostId,
      key: "happy-hour",
      name: "Happy hour",
      currencies: ["xp"],
      factor: 2,
      weekly: [{ days: ["friday"], from: "18:00", to: "20:00" }],
    },
  ],
  leaderboards: [
    {
      id: leaderboardId,
      key: "gem-hunters",
      name: "Gem hunters",
      score: { currency: "gems" },
      windows: ["all_time", "weekly"],
      groupBy: "city",
    },
  ],
  experiments: [
    {
      id: experimentId,
      key: "daily-goal",
      name: "Daily goal",
      variants: [
        { key: "control", weight: 1 },
        { key: "goal", weight: 1 },
      ],
      endsAt: "2026-12-01T00:00:00.000Z",
    },
  ],
  leagues: [
    {
      id: leagueId,
      key: "weekly-league",
      name: "Weekly league",
      score: { currency: "xp" },
      divisions: [
        { key: "bronze", name: "Bronze", promote: 10, demote: 0 },
        { key: "silver", name: "Silver", promote: 0, demote: 5 },
      ],
    },
  ],
  items: [
    {
      id: itemId,
      key: "streak-freeze",
      name: "Streak freeze",
      price: { gems: 5 },
      reward: { freezes: { daily: 1 } },
    },
  ],
  goals: [
    {
      id: goalId,
      key: "thousand-points",
      name: "A thousand points together",
      score: { currency: "points" },
      target: 1_000,
      reward: { xp: 50 },
    },
  ],
  sources: [
    {
      id: sourceId,
      key: "shop",
      name: "Payments",
      kind: "stripe",
      mappings: [sourceMapping],
    },
  ],
} as const

const changedQuest = {
  op: "create",
  kind: "quest",
  id: questId,
  key: "first-steps",
  name: "First steps",
} as const
const changedBadge = {
  op: "update",
  kind: "badge",
  id: badgeId,
  key: "first-lesson",
  name: "First lesson",
} as const
const counts = { created: 1, updated: 1, deleted: 0 } as const

export const appliedFile = { ...counts, changes: [changedBadge, changedQuest] } as const

export const fileDiff = {
  version: 7,
  ...counts,
  changes: [
    {
      ...changedBadge,
      members: [
        {
          name: "criteria",
          before: '{"kind":"xp","target":100}',
          after: '{"kind":"xp","target":50}',
        },
      ],
    },
    {
      ...changedQuest,
      members: [{ name: "title", before: null, after: '"First steps"' }],
    },
  ],
} as const

/* Webhooks and their deliveries in replies. */

/** A secret that signs nothing: the text `example-example-example-example-` in base64. */
export const secret = "whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZS0="

export const webhook = {
  id: webhookId,
  url: "https://example.com/laurel",
  events: ["xp.earned"],
  description: "Badges on the wall",
  status: "enabled",
  disabledReason: null,
  disabledAt: null,
  ...changes,
} as const

export const createdWebhook = { ...webhook, secret } as const

export const countedWebhook = {
  ...webhook,
  deliveries: { pending: 3, succeeded: 48_120, failed: 12, dropped: 0 },
  lastSuccessAt: time,
  failing: false,
} as const

export const webhookPage = { webhooks: [webhook], ...onlyPage } as const

export const rotatedSecret = {
  secret,
  previousSecretExpiresAt: "2026-11-02T09:30:00.000Z",
} as const

export const sent = { deliveryId, messageId } as const

export const recovery = {
  since: "2026-11-01T09:30:00.000Z",
  until: "2026-11-03T08:00:00.000Z",
} as const

const refused = {
  at: "2026-11-01T09:30:05.000Z",
  durationMs: 87,
  status: 503,
  error: null,
} as const
const unreached = {
  at: "2026-11-01T09:30:00.100Z",
  durationMs: 3,
  status: null,
  error: "connection_refused",
} as const

export const delivery = {
  id: deliveryId,
  messageId,
  type: "xp.earned",
  status: "pending",
  attempts: 2,
  nextAttemptAt: "2026-11-01T09:35:05.000Z",
  lastResponse: refused,
  dropReason: null,
  createdAt: time,
} as const

export const deliveryPage = {
  deliveries: [delivery],
  hasMore: true,
  nextCursor: exampleCursors.deliveries,
} as const

export const deliveryDetails = {
  ...delivery,
  responses: [
    { ...unreached, body: "" },
    { ...refused, body: "try again later" },
  ],
} as const
