/**
 * The outcome of an event, as JSON. Nearly all replies are made of this, up to a thousand to a batch, and their
 * members are few and known: written one by one, which is faster than making objects for
 * `JSON.stringify`. The text is the same (a test compares them).
 */
import type { EventReply } from "../../domain/message/UserReply.ts"
import type { EventOutcome } from "../api/Events.ts"
import { showBadges } from "./Shapes.ts"

/** The JSON of the contract's `EventOutcome`. `isoTime` writes epoch milliseconds. */
export const eventText = (reply: EventReply, isoTime: (ms: number) => string): string => {
  const { level, points, xp } = reply
  // Laurel's own ids, actions and times have nothing to escape.
  return `{"eventId":"${reply.eventId}","userId":${JSON.stringify(reply.userId)},"action":"${reply.action}","duplicate":${reply.duplicate},"occurredAt":"${isoTime(reply.occurredAt)}","receivedAt":"${isoTime(reply.receivedAt)}","xp":{"earned":${xp.earned},"total":${xp.total}},"points":{"earned":${points.earned},"total":${points.total}},"level":{"before":${level.before},"after":${level.after}},"badges":${badgesText(reply.badges)},"quests":${listText(reply.quests)},"streaks":${listText(reply.streaks)}${reply.matched ? "" : unmatched}${reply.withheld.length === 0 ? "" : `,"withheld":${JSON.stringify(reply.withheld)}`}}`
}

const unmatched = `,"matched":false`

const badgesText = (badges: EventReply["badges"]): string =>
  badges.length === 0 ? "[]" : JSON.stringify(showBadges(badges))

const listText = (
  list: (typeof EventOutcome.Type)["quests"] | (typeof EventOutcome.Type)["streaks"],
): string => (list.length === 0 ? "[]" : JSON.stringify(list))
