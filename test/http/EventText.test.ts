import { SchemaParser } from "effect"
import { describe, expect, it } from "vitest"
import type { EventReply } from "../../src/domain/message/UserReply.ts"
import { isoTime } from "../../src/domain/values/isoTime.ts"
import { EventOutcome } from "../../src/http/api/Events.ts"
import { eventText } from "../../src/http/handlers/eventHandlers.ts"
import { showBadges } from "../../src/http/handlers/Shapes.ts"
import { randomOf } from "../simulation/random.ts"

const accepts = SchemaParser.decodeUnknownSync(EventOutcome, { onExcessProperty: "error" })

const random = randomOf(20_261_122)
const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(random() * items.length)]!
const some = <A>(make: () => A): ReadonlyArray<A> =>
  Array.from({ length: pick([0, 0, 1, 3]) }, make)
const text = () => pick(["user-42", 'a "quoted" one', "back\\slash", "ü and 😀", "tab\there", " "])
const count = () => pick([0, 1, -30, 2_000_000, Number.MAX_SAFE_INTEGER])
const time = () => pick([0, 1_763_779_999_123, 1_763_779_999_000])

const randomReply = (): EventReply => ({
  kind: "event",
  eventId: `evt_${Math.floor(random() * 2 ** 40).toString(36)}`,
  userId: text(),
  action: pick(["LESSON_DONE", "A", "B_2"]),
  duplicate: random() < 0.5,
  differs: some(() => `/metadata/${text()}`),
  revoked: random() < 0.5,
  occurredAt: time(),
  receivedAt: time(),
  matched: random() < 0.5,
  boosts: some(() => ({ key: pick(["a", "happy-hour"]), factor: pick([0.1, 2]) })),
  withheld: random() < 0.5 ? [] : [{ ruleId: "rul_1", reason: "limit" }],
  xp: { earned: count(), total: count() },
  points: { earned: count(), total: count() },
  level: { before: 1, after: pick([1, 2]) },
  badges: some(() => ({ id: text(), key: text(), name: text(), earnedAt: time() })),
  badgesRevoked: [],
  boostsRevoked: [],
  quests: some(() => ({
    questId: text(),
    key: text(),
    title: text(),
    status: pick(["in_progress", "completed"]),
    progress: pick([0, 0.5, 1 / 3, 1]),
    alreadyCompleted: random() < 0.5,
  })),
  streaks: some(() => ({ key: text(), current: 1, best: 7 })),
  metrics: some(() => ({ key: text(), total: pick([null, 0, -0.5, 42]) })),
})

describe("The text of an event's outcome", () => {
  it("equals JSON.stringify of the outcome in the contract", () => {
    for (let n = 0; n < 2_000; n++) {
      const reply = randomReply()
      const { action, badges, differs, duplicate, eventId, level, points } = reply
      const { metrics, quests, revoked, streaks, userId, xp } = reply
      const outcome = {
        eventId,
        userId,
        action,
        duplicate,
        ...(differs.length > 0 && { differs }),
        ...(revoked && { revoked }),
        occurredAt: isoTime(reply.occurredAt),
        receivedAt: isoTime(reply.receivedAt),
        xp,
        points,
        level,
        badges: showBadges(badges),
        quests,
        streaks,
        ...(reply.boosts.length > 0 && { boosts: reply.boosts }),
        ...(metrics.length > 0 && { metrics }),
        ...(!reply.matched && { matched: false }),
        ...(reply.withheld.length > 0 && { withheld: reply.withheld }),
      }
      expect(eventText(reply, isoTime)).toBe(JSON.stringify(outcome))
    }
  })

  it("matches the contract", () => {
    for (let n = 0; n < 200; n++) {
      const reply = { ...randomReply(), userId: "user-42" }
      accepts(JSON.parse(eventText(reply, isoTime)))
    }
  })
})
