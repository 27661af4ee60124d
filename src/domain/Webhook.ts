/** The kinds of message that a webhook can ask for. */
export const messageKinds = [
  "event.tracked",
  "xp.earned",
  "xp.revoked",
  "points.earned",
  "points.revoked",
  "level.changed",
  "badge.earned",
  "badge.revoked",
  "streak.extended",
  "streak.broken",
  "quest.started",
  "quest.progressed",
  "quest.completed",
  "quest.expired",
  "quest.created",
  "quest.updated",
  "reward.granted",
  "reward.revoked",
  "leaderboard.window_closed",
  "user.created",
  "user.deleted",
  "webhook.disabled",
  "webhook.test",
] as const
export type MessageKind = (typeof messageKinds)[number]

const families = new Set(messageKinds.map((kind) => kind.slice(0, kind.indexOf("."))))

/** Whether `text` names a kind, `*`, or a family that exists, such as `quest.*`. */
export const isKindPattern = (text: string): boolean =>
  text === "*" ||
  (messageKinds as ReadonlyArray<string>).includes(text) ||
  (text.endsWith(".*") && families.has(text.slice(0, -2)))

/** A registered endpoint. `secret` (`whsec_…`) signs its messages. Times are epoch milliseconds. */
export interface Webhook {
  readonly id: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly description: string | null
  readonly status: "enabled" | "disabled"
  readonly secret: string
  readonly createdAt: number
}
