/** The bounds of the HTTP server, a part of `Limits.ts`. */
const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const httpLimits = {
  /** Addresses of `X-Forwarded-For` that are looked at, from its end. */
  forwardedHopsMax: 32,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** Idle timeout of connections: longer than that of proxies, so that none sends into a closing connection. */
  keepAliveTimeoutMs: 65_000,
  connectionsMax: 20_000,
  connectionsCheckMs: 1_000,
  lingerMs: 1_000,
  // Admission control: see `http/pipeline/Admission.ts`
  /** A queue stands once every turn of the event loop had this many units, over this many connections, and took this long, for this long. */
  overloadCrowdUnits: 64,
  overloadConnectionsMin: 256,
  overloadTurnMs: 25,
  overloadStandingMs: 100,
  /** A turn then admits requests for this long, and at least this many units. */
  overloadBudgetMs: 3,
  overloadTurnUnitsMin: 4,
  /** Further units per turn, divided equally among the environments with requests, and the turns that a share lasts. */
  overloadSharedUnits: 64,
  overloadShareTurnsMax: 4,
  /** Time per turn to send refusals, a third of what they cost: reading them is the rest. */
  overloadRefusalMs: 1,
  overloadCalmMs: 1_000,
  /** A request is one unit, plus one for each of these of its body. */
  admissionUnitBytes: 16 * kibibyte,
  /** Replies that are ready in the same turn are sent together, up to so many. */
  repliesTogetherMax: 32,
  /** Requests in progress, and memory of their bodies. */
  requestsWaitingMax: 10_000,
  bodiesBytesMax: 256 * mebibyte,
  /** Time without progress after which the reader of a chunked reply is disconnected. */
  streamStallMs: 30_000,
  /** A batch counts as its events, or as one request per this much body where that is more. */
  rateLimitUnitBytes: 64 * kibibyte,
  /** Time per turn to decode batch bodies, in total, and the bytes parsed per step. */
  decodeTurnMs: 1,
  decodeStepBytes: 16 * kibibyte,
  /** Pages of the dashboard that are made at once, and a form of one. */
  pagesConcurrentMax: 8,
  /** Of them for one account, for one environment, and kept for signing in and the own account. */
  pagesPerAccountMax: 3,
  pagesPerEnvironmentMax: 4,
  pagesKeptForEntrance: 2,
  pageBodyBytesMax: 64 * kibibyte,
  /** Forms that are received or answered at once, in all and from one network (an address, or a /64 of IPv6). */
  pageBodiesMax: 512,
  pageBodiesOfNetworkMax: 64,
  /** Metadata of events on one page of a history, in all. */
  pageMetadataCharactersMax: 20_000,
  /** How long a secret waits to be shown once, and how many do. */
  secretShownMs: 60_000,
  secretsShownMax: 1_000,
  /** A form that was sent counts as the same for so long, and how many are remembered. */
  sentFormMs: 60_000,
  sentFormsMax: 1_000,
  /** Pages that answered a form, and forms that wait: how long they are kept, how many of a session, and their size in all. */
  keptMs: 3_600_000,
  keptOfSessionMax: 30,
  keptBytesMax: 16 * mebibyte,
  /** A form that a sign-in carries: the form of the sign-in holds it twice encoded. */
  carriedFormBytesMax: 16 * kibibyte,
  /** The numbers of events are kept so often, and so many of them: the newest are compared with the oldest. */
  recentSampleMs: 10_000,
  recentSamplesMax: 6,
  // Streams of messages
  streamsMax: 2_000,
  streamsOfEnvironmentMax: 200,
  /** Of one user's messages. */
  userStreamsMax: 10_000,
  streamsOfUserMax: 10,
  /** Of one account in the dashboard, in all environments: it leaves places for API clients. */
  streamsOfAccountMax: 20,
  /** Records per step: live (their messages fit a stream's queue), and from the journal. */
  streamHubTakeRecordsMax: 16,
  streamTakeRecordsMax: 1_000,
  streamPieceCharactersMax: 256 * kibibyte,
  streamQueueBytesMax: mebibyte,
  userStreamQueueBytesMax: 64 * kibibyte,
  /** Of the messages with which a user's stream resumes. */
  userStreamPastCharactersMax: mebibyte,
  /** Records of the user that are looked at for those messages. */
  userStreamPastRecordsMax: 5_000,
  streamCoalesceMs: 20,
  streamHeartbeatMs: 15_000,
  /** Reconnection delay announced to clients. */
  streamRetryMs: 1_000,
  refusedBodyBytesMax: 16 * mebibyte,
  /** Chunks of a body to hold before they are merged, since a chunk takes far more memory than a few bytes. */
  bodyPiecesMax: 256,
  shutdownGraceMs: 10_000,
  adminGraceMs: 1_000,
  adminConnectionsMax: 100,
  /** Timeout of the command line for a running server. */
  adminRequestMs: 40_000,
  /** A reply that waits for work sends a line at this interval: a server that forwards it gives up a silent one. */
  adminPulseMs: 20_000,
} as const
