/** The bounds of archives in a bucket, a part of `Limits.ts`. */
const mebibyte = 1024 * 1024

export const bucketLimits = {
  /** A file of an archive is sent in pieces of this size. */
  bucketPieceBytes: 8 * mebibyte,
  /** Requests at once, each with a piece in memory. */
  bucketRequestsMax: 4,
  bucketBytesPerSecond: 32 * mebibyte,
  /** The largest object that is read: the index of an archive, some 250 bytes a file. */
  bucketObjectBytesMax: 64 * mebibyte,
  /** Deadline of a request. */
  bucketRequestMs: 120_000,
  /** The same where a person waits, for small objects. */
  bucketCommandMs: 15_000,
  bucketCommandTries: 3,
  /** Times that a request is sent when its failures may pass, and the delay before the second. */
  bucketTries: 6,
  bucketRetryMs: 500,
  /** Time in which an archive must be sent. */
  bucketSendMs: 86_400_000,
  /** Time that a piece stays after the last archive that needs it was removed. */
  bucketKeptMs: 2 * 86_400_000,
  /** Interval at which pieces that no archive needs are looked for. */
  bucketCollectMs: 86_400_000,
  bucketPrefixCharactersMax: 512,
} as const
