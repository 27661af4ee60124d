/**
 * Options of a single call, the last argument of each operation.
 *
 * ```ts
 * await laurel.users.get("ada", { timeoutMs: 2_000, signal })
 * ```
 */
export interface CallOptions {
  /**
   * Cancels the call; its promise rejects with the reason of the signal. The server may have
   * applied a write.
   */
  readonly signal?: AbortSignal | undefined
  /** Time limit of each attempt in milliseconds, in place of the client's `timeoutMs`. */
  readonly timeoutMs?: number
  /** Additional header fields, such as `prefer: "return=minimal"` for a batch. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Options of a call to an operation that takes an `Idempotency-Key`.
 *
 * ```ts
 * await laurel.users.spend("ada", { amount: 15 }, { idempotencyKey: "order-1" })
 * ```
 */
export interface KeyedCallOptions extends CallOptions {
  /**
   * The server applies all requests with this key once and replies to each with the first outcome.
   * Default: a random key for the attempts of this call; none if every item has an `id` of the
   * caller.
   */
  readonly idempotencyKey?: string
}
