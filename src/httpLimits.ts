/** The bounds of the HTTP server; `Limits.ts` has them with all others. */
const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const httpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** How long an idle connection is kept: longer than proxies keep theirs, so that none sends into a closing one. */
  keepAliveTimeoutMs: 65_000,
  connectionsMax: 20_000,
  connectionsCheckMs: 1_000,
  lingerMs: 1_000,
  // Admission control: see `http/pipeline/Admission.ts`
  /** A queue stands when so much was asked in each turn of the event loop, over so many connections, and took so long, for so long. */
  overloadCrowdUnits: 64,
  overloadConnectionsMin: 256,
  overloadTurnMs: 25,
  overloadStandingMs: 100,
  /** Then a turn takes requests for so long, and so many units in any case. */
  overloadBudgetMs: 1,
  overloadTurnUnitsMin: 4,
  /** Beyond that, units that a turn divides equally among the environments that ask, and for how many turns each keeps them. */
  overloadSharedUnits: 32,
  overloadShareTurnsMax: 8,
  /** How long a turn sends refusals. */
  overloadRefusalMs: 2,
  overloadCalmMs: 1_000,
  /** A request is a unit; one with a body is one more for each of these. */
  admissionUnitBytes: 16 * kibibyte,
  /** Requests that wait for their reply, and what is in memory of bodies. */
  requestsWaitingMax: 10_000,
  bodiesBytesMax: 256 * mebibyte,
  /** How long the caller of a reply that is sent in pieces may take nothing of it. */
  streamStallMs: 30_000,
  /** A batch counts as its events, or as one request for each of these of its body where that is more. */
  rateLimitUnitBytes: 64 * kibibyte,
  /** How long a turn decodes bodies of batches, all together, and how much of one is parsed in one step. */
  decodeTurnMs: 5,
  decodeStepBytes: 16 * kibibyte,
  // Streams of messages
  streamsMax: 2_000,
  streamsOfEnvironmentMax: 200,
  /** At once: live, of which all messages fit a stream's queue; and from the journal. */
  streamHubTakeRecordsMax: 16,
  streamTakeRecordsMax: 1_000,
  streamPieceCharactersMax: 256 * kibibyte,
  streamQueueBytesMax: mebibyte,
  streamCoalesceMs: 20,
  streamHeartbeatMs: 15_000,
  /** How soon a client that was cut off comes back. */
  streamRetryMs: 1_000,
  refusedBodyBytesMax: 16 * mebibyte,
  /** Pieces of a body that are kept as they arrive; so many are copied into one, since each takes far more memory than a few bytes. */
  bodyPiecesMax: 256,
  shutdownGraceMs: 10_000,
  adminGraceMs: 1_000,
  adminConnectionsMax: 100,
  /** How long the command line waits for a running server. */
  adminRequestMs: 40_000,
} as const
