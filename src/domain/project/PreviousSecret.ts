/** A replaced secret, and the end of its grace period in epoch milliseconds. */
export interface PreviousSecret {
  readonly secret: string
  readonly until: number
}
