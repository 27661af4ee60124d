/** The limits of the HTTP server: bodies, admission, pages and streams. `Limits.ts` includes them. */
const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const httpLimits = {
  // HTTP server and dashboard
  /** Addresses of `X-Forwarded-For` that are read, from its end. */
  forwardedHopsMax: 32,
  /** The body of an event tracker's batch; Segment's own limit is 500 KiB. */
  trackerBodyBytesMax: 1 * mebibyte,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /**
   * Idle timeout of connections: longer than that of proxies, so that no proxy sends into a closing
   * connection.
   */
  keepAliveTimeoutMs: 65_000,
  connectionsMax: 20_000,
  connectionsCheckMs: 1_000,
  lingerMs: 1_000,
  // Admission control: see `http/pipeline/Admission.ts`
  /**
   * The server is overloaded once each turn of the event loop had this many units, over this many
   * connections, and took `overloadTurnMs`, for a period of `overloadStandingMs`.
   */
  overloadCrowdUnits: 64,
  overloadConnectionsMin: 256,
  overloadTurnMs: 25,
  overloadStandingMs: 100,
  /** Under overload, a turn admits requests for this time, and at least this many units. */
  overloadBudgetMs: 3,
  overloadTurnUnitsMin: 4,
  /**
   * Further units per turn, divided equally among the environments with requests, and the turns for
   * which a share is kept.
   */
  overloadSharedUnits: 64,
  overloadShareTurnsMax: 4,
  /** Time per turn to send refusals. Reading the refused requests takes about twice as long. */
  overloadRefusalMs: 1,
  overloadCalmMs: 1_000,
  /** A request is one unit, plus one unit for each of these parts of its body. */
  admissionUnitBytes: 16 * kibibyte,
  /** Replies of one turn that are sent together. */
  repliesTogetherMax: 32,
  /** Requests in progress, and memory of their bodies. */
  requestsWaitingMax: 10_000,
  bodiesBytesMax: 256 * mebibyte,
  /** Time without progress after which the reader of a chunked reply is disconnected. */
  streamStallMs: 30_000,
  /**
   * A batch counts as its number of events, or as one request for each of these parts of its body
   * if that is more.
   */
  rateLimitUnitBytes: 64 * kibibyte,
  /** Time per turn to decode batch bodies, in total, and the bytes parsed per step. */
  decodeTurnMs: 1,
  decodeStepBytes: 16 * kibibyte,
  /**
   * Pages of the dashboard that are made at once: in total, for one account, for one environment,
   * and reserved for signing in and the own account.
   */
  pagesConcurrentMax: 8,
  pagesPerAccountMax: 3,
  pagesPerEnvironmentMax: 4,
  pagesReservedForSignIn: 2,
  /** The size of a form of the dashboard. */
  pageBodyBytesMax: 64 * kibibyte,
  /**
   * Forms that are received or answered at once: in total, and from one network (an IPv4 address,
   * or a /64 of IPv6).
   */
  pageBodiesMax: 512,
  pageBodiesOfNetworkMax: 64,
  /** Metadata of all events on one page of a history. */
  pageMetadataCharactersMax: 20_000,
  /** Time for which a secret waits to be shown once, and secrets that wait. */
  secretShownMs: 60_000,
  secretsShownMax: 1_000,
  /** Time in which an equal form counts as a repetition, and forms that are remembered. */
  sentFormMs: 60_000,
  sentFormsMax: 1_000,
  /**
   * Pages that answered a form, and forms that wait for a sign-in: time for which they are kept,
   * number per session, and total size.
   */
  keptPagesMs: 3_600_000,
  keptPagesOfSessionMax: 30,
  keptPagesBytesMax: 16 * mebibyte,
  /** A form that the form of a sign-in contains, encoded twice. */
  carriedFormBytesMax: 16 * kibibyte,
  /**
   * Interval between samples of the number of events, and samples kept. The rate compares the
   * newest with the oldest.
   */
  recentSampleMs: 10_000,
  recentSamplesMax: 6,
  // Streams of messages
  /** Streams of an environment's messages: in total, and of one environment. */
  streamsMax: 2_000,
  streamsOfEnvironmentMax: 200,
  /** Streams of one user's messages: in total, and of one user. */
  userStreamsMax: 10_000,
  streamsOfUserMax: 10,
  /** Streams of one account in the dashboard, in all environments; API clients have the rest. */
  streamsOfAccountMax: 20,
  /** Records per step: live (their messages fit into a stream's queue), and from the journal. */
  streamHubTakeRecordsMax: 16,
  streamTakeRecordsMax: 1_000,
  streamPieceCharactersMax: 256 * kibibyte,
  streamQueueBytesMax: mebibyte,
  userStreamQueueBytesMax: 64 * kibibyte,
  /** Messages with which a user's stream resumes. */
  userStreamPastCharactersMax: mebibyte,
  /** Records of the user that are searched for those messages. */
  userStreamPastRecordsMax: 5_000,
  streamCoalesceMs: 20,
  streamHeartbeatMs: 15_000,
  /** Reconnection delay announced to clients. */
  streamRetryMs: 1_000,
  refusedBodyBytesMax: 16 * mebibyte,
  /** Chunks of a body before they are merged: a small one takes far more memory than its bytes. */
  bodyPiecesMax: 256,
  shutdownGraceMs: 10_000,
  adminGraceMs: 1_000,
  adminConnectionsMax: 100,
  /** Timeout of the command line for a running server. */
  adminRequestMs: 40_000,
  /**
   * A reply that waits for work sends a line at this interval. A server that forwards the reply
   * would end a silent one.
   */
  adminPulseMs: 20_000,
}
