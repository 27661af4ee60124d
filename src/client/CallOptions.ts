/** Options of a single call. */
export interface CallOptions {
  /** Ends the call; the promise rejects with the signal's reason. A write may have been applied nevertheless. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for each attempt, instead of the client's. */
  readonly timeoutMs?: number
  /** Further header fields, such as `prefer: "return=minimal"` for a batch. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface KeyedCallOptions extends CallOptions {
  /** The `Idempotency-Key`. By default the client makes one for the attempts of this call. */
  readonly idempotencyKey?: string
}
