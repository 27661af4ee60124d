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
 * The call of a list: the promise of a page, and the items of that page and of all pages after it.
 *
 * ```ts
 * const { users, nextCursor } = await laurel.users.list({ limit: 100 })
 * for await (const user of laurel.users.list({ limit: 100 })) console.log(user.id)
 * ```
 */
export interface List<Page, Item> extends Promise<Page>, AsyncIterable<Item> {}

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

/**
 * Options of a change that may depend on the version: it is made only if nobody has changed the
 * definition since.
 *
 * ```ts
 * const rule = await laurel.rules.get(id)
 * await laurel.rules.update(id, { status: "paused" }, { ifMatch: rule.version })
 * ```
 */
export interface ChangeCallOptions extends KeyedCallOptions {
  /**
   * The version that the change is based on. With another present version the call rejects with the
   * code `version_conflict`, and `error.version` is the present one.
   */
  readonly ifMatch?: number
}
