/**
 * Events as an app for learning sends them: about 230 bytes, an id that was never used before
 * (UUIDv7), one of `userCount` users, and six members of metadata.
 */
import { randomUUIDv7 } from "node:crypto"

export const lessonAction = "LESSON_DONE"
/** The xp that the benches' rule gives for one event. */
export const lessonXp = 10
export const userCount = 10_000

/** The command that creates this rule. */
export const lessonRule = {
  kind: "createRule",
  rule: {
    id: "rul_1",
    action: lessonAction,
    where: [],
    reward: { xp: lessonXp, points: 0, badgeId: null },
    multiplier: null,
    limit: null,
    cooldownSeconds: null,
  },
} as const

const courses = ["algebra-1", "spanish-a2", "music-theory", "world-history", "typescript-basics"]
const devices = ["iphone-15", "pixel-8", "web-chrome", "web-safari", "ipad-air"]

export const newEventId = randomUUIDv7

const any = (below: number): number => Math.floor(Math.random() * below)

/**
 * The id of the `n`-th user, always as long; neighbours are far apart. `load/requests.lua` makes
 * the same.
 */
export const userIdAt = (n: number): string =>
  `user_${(Math.imul(n, 1_103_515_245) >>> 0).toString(16).padStart(8, "0")}`

/**
 * Draws numbers of users: all equally often, or by Zipf's law with exponent 0.99 (Gray's method, as
 * YCSB does).
 */
export const userChooser = (users: number, choice: "uniform" | "zipf"): (() => number) => {
  if (choice === "uniform") return () => any(users)
  const theta = 0.99
  let zeta = 0
  for (let rank = 1; rank <= users; rank++) zeta += rank ** -theta
  const second = 1 + 0.5 ** theta
  const eta = (1 - (2 / users) ** (1 - theta)) / (1 - second / zeta)
  return () => {
    const share = Math.random()
    if (share * zeta < 1) return 0
    if (share * zeta < second) return 1
    return Math.floor(users * (eta * share - eta + 1) ** (1 / (1 - theta)))
  }
}

export const lessonDone = (userId: string) => ({
  userId,
  action: lessonAction,
  metadata: {
    lessonId: `lesson-${any(2_000)}`,
    course: courses[any(courses.length)]!,
    score: any(101),
    durationSeconds: 30 + any(1_800),
    device: devices[any(devices.length)]!,
    appVersion: `4.${any(20)}.${any(10)}`,
  },
})

/** A new event of a random user; without `withId` the service gives it an id of its own. */
export const randomEvent = (withId = true) => ({
  ...(withId && { id: newEventId() }),
  ...lessonDone(userIdAt(any(userCount))),
})
