/** A school with months of lessons, for pictures of the dashboard. */
import { Random } from "../../simulation/random.ts"
import { ask, type Sample } from "./sample.ts"

/** Names as people have them: short, long, and from right to left. */
const firstNames = [
  ...[
    "Ada",
    "Grace",
    "Alan",
    "Barbara",
    "Edsger",
    "Frances",
    "Donald",
    "Margaret",
    "Tony",
    "Radia",
  ],
  ...[
    "Niklaus",
    "Karen",
    "John",
    "Adele",
    "Robin",
    "Mary",
    "\u05e0\u05d5\u05e2\u05d4",
    "\u0644\u064a\u0644\u0649",
  ],
]
const lastNames = [
  ...["Lovelace", "Hopper", "Turing", "Liskov", "Dijkstra", "Allen", "Knuth", "Hamilton", "Hoare"],
  ...[
    "Perlman",
    "Wirth",
    "Sp\u00e4rck Jones",
    "Backus",
    "Goldberg",
    "Milner",
    "Shaw",
    "\u05db\u05d4\u05df",
  ],
]
const dayMs = 86_400_000
const pupilCount = 320
const daysOfSchool = 120

/**
 * Pupils who join over four months, learn less on weekends, and leave one by one. With `longNames`
 * every ninth has a long one.
 */
export const fillSchool = async (
  { key, server }: Sample,
  { longNames }: { readonly longNames: boolean },
): Promise<void> => {
  const random = new Random(7)
  const now = Date.parse("2026-11-22T10:00:00Z")
  const events: Array<object> = []
  for (let pupil = 0; pupil < pupilCount; pupil++) {
    const first = Math.floor(daysOfSchool * Math.sqrt(pupil / pupilCount))
    const stays = 0.93 + 0.07 * random.next()
    for (let day = first, left = false; day < daysOfSchool && !left; day++) {
      left = !random.chance(stays)
      const at = now - (daysOfSchool - 1 - day) * dayMs - random.integer(0, 9 * 3_600_000)
      const isWeekend = [0, 6].includes(new Date(at).getUTCDay())
      if (day > first && !random.chance(isWeekend ? 0.35 : 0.7)) continue
      for (let lessons = random.integer(1, 4); lessons > 0; lessons--) {
        events.push({
          userId: `pupil-${pupil}`,
          action: random.chance(0.85) ? "LESSON_DONE" : "SHARED",
          metadata: { score: random.integer(40, 100) },
          occurredAt: new Date(at).toISOString(),
        })
      }
    }
  }
  for (let from = 0; from < events.length; from += 1_000) {
    const some = events.slice(from, from + 1_000)
    await ask(server.url, key, "POST", "/events/import", { events: some })
  }
  for (let pupil = 0; pupil < pupilCount; pupil++) {
    const given = firstNames[pupil % firstNames.length]!
    const family = lastNames[(pupil * 7) % lastNames.length]!
    const long = longNames && pupil % 9 === 8 ? " of the Northern and the Southern Provinces" : ""
    const displayName = `${given} ${family}${long}`
    await ask(server.url, key, "PUT", `/users/pupil-${pupil}`, { displayName })
  }
}

/** The receivers of the sample do not exist: an enabled webhook puts an alert on the overview. */
export const setWebhooks = async ({ key, server }: Sample, status: "disabled" | "enabled") => {
  const { webhooks } = await ask(server.url, key, "GET", "/webhooks")
  for (const { id } of webhooks) await ask(server.url, key, "PATCH", `/webhooks/${id}`, { status })
}
