/** Why a webhook is disabled: it answered 410; nothing but failures for `webhookFailingMs`; somebody did it. */
export type DisabledReason = "gone" | "failing" | "manual"

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
  readonly previousSecret: { readonly secret: string; readonly until: number } | null
  readonly createdAt: number
  readonly updatedAt: number
}
