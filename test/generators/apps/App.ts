/** The steps of the app on each client, and the results that it must have seen. */

/** One app: a quest with metadata, a rule made and changed, an event, a profile, reads, an error, messages. */
export type App = (place: {
  readonly url: string
  readonly key: string
  readonly userId: string
  /** The messages about the user so far, as the stream sends them. */
  readonly messages: () => Promise<ReadonlyArray<unknown>>
}) => Promise<Seen>

export interface Seen {
  readonly questIcon: unknown
  readonly earned: number
  readonly plan: string | number | boolean | undefined
  readonly rank: number | undefined
  readonly amountInHistory: number | undefined
  readonly refusal: string | undefined
  /** The sum of the xp in the user's messages. */
  readonly streamed: number
}
