/** Why a webhook is disabled: it answered 410; only failures for `webhookFailingMs`; by hand. */
export type DisabledReason = "gone" | "failing" | "manual"

/** A replaced secret, and the end of its grace period. */
export interface PreviousSecret {
  readonly secret: string
  readonly until: number
}

/** A registered endpoint. Times are epoch milliseconds. */
export interface Webhook {
  readonly id: string
  /** The sequence of the record that created it: it receives later records only. Unique among webhooks. */
  readonly since: number
  readonly url: string
  /** Kinds, families such as `quest.*`, or `*`. */
  readonly events: ReadonlyArray<string>
  readonly description: string | null
  readonly status: "enabled" | "disabled"
  readonly disabledReason: DisabledReason | null
  readonly disabledAt: number | null
  /** Signs its messages (`whsec_…`). */
  readonly secret: string
  /** Also signs until its grace period ends, so that receivers can change over. */
  readonly previousSecret: PreviousSecret | null
  /** Earlier secrets in their grace period, newest first; absent if none. */
  readonly olderSecrets?: ReadonlyArray<PreviousSecret>
  readonly createdAt: number
  readonly updatedAt: number
}
