/** A rule gives its reward for every event with its action, as long as it is enabled. Times are epoch milliseconds. */
export interface Rule {
  readonly id: string
  readonly action: string
  readonly reward: { readonly xp: number }
  readonly enabled: boolean
  readonly createdAt: number
  readonly updatedAt: number
}
