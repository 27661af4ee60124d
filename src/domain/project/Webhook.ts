/** Why a webhook is disabled: it answered 410; nothing but failures for `webhookFailingMs`; somebody did it. */
export type DisabledReason = "gone" | "failing" | "manual"

/** A secret that was replaced, and until when it signs all the same. */
export interface PreviousSecret {
  readonly secret: string
  readonly until: number
}

/** A registered endpoint. Times are epoch milliseconds. */
export interface Webhook {
  readonly id: string
  /** The record that created it; it is told of later ones only. No other webhook has the same number. */
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
  /** Signs them too, until then: receivers change over while both are right. */
  readonly previousSecret: PreviousSecret | null
  /** Those before it whose time runs too, newest first; absent where there are none. */
  readonly olderSecrets?: ReadonlyArray<PreviousSecret>
  readonly createdAt: number
  readonly updatedAt: number
}
