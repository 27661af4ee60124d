/** The bounds of a cluster, a part of `Limits.ts`. */
const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const clusterLimits = {
  /** Partitions of a cluster, for ever: fewer would lose projects, and more would need all runners at once to know them. */
  clusterPartitions: 16,
  /** The interval of each partition's heartbeats is so much shorter than that of the one before, so that they do not fall together. */
  partitionHeartbeatStepMs: 300_000,
  /** A runner is dead when it was not seen for this long: the default of a setting. */
  lockExpirationMs: 10_000,
  lockExpirationMsMin: 1_000,
  lockExpirationMsMax: 300_000,
  /** Interval at which a runner looks for runners that joined or left. */
  clusterAssignmentsMs: 300,
  clusterConnectionsMax: 3,
  /** The interval at which locks are confirmed, as a share of their expiration. */
  lockRefreshShare: 0.3,
  /** A confirmation that takes longer than the first share is answered by the one before it, whose locks are held for the second. */
  lockWaitShare: 0.15,
  lockHeldShare: 0.8,
  /** After an outage of PostgreSQL, how long a runner waits for the signs of life of others. */
  lockGraceShare: 0.5,
  /** Time before a lost session, or a failed start of a partition, is tried again. */
  clusterRetryMs: 500,
  /** Interval at which owners are read, also without a notification, and its share of the lock's expiration. */
  ownersReadMs: 1_000,
  /** How long a start waits for its address while another session has it. */
  runnerAddressMs: 3_000,
  /** A runner that ends waits so long until PostgreSQL has taken its locks back. */
  clusterLeaveMs: 3_000,
  /** Interval at which an owner asks the fence whether it still is. */
  confirmMs: 500,
  /** A runner with the lock that does not serve gives it away after this time, or so many failures in a row. */
  openingMs: 60_000,
  openingMsMax: 960_000,
  openingFailuresMax: 3,
  /** A runner that could not write to its directory leaves the partition to the others for this long: they begin within half of it. */
  unwritablePauseMs: 5_000,
  /** Partitions that a runner opens at once to own them, and as many to follow them. */
  openingsAtOnceMax: 2,
  /** Runners stay the same, and each partition has an owner, for this long before one moves to a runner that has fewer. */
  movePauseMs: 10_000,
  /** The time between such a move and the next. */
  moveRestMs: 1_000,
  /** The time over which the load of a partition is measured, and the change of it that is published. */
  loadWindowMs: 30_000,
  loadChangeShare: 0.2,
  /** Requests and records of all partitions in a second, below which only the number of partitions counts. */
  loadMin: 1,
  /**
   * A partition moves where the loads of two runners differ by this share of the mean load of a runner, and by so many times its
   * own load.
   */
  loadGapShare: 0.25,
  loadGapTimes: 1.5,
  /** Requests in progress of a partition that is handed over have this long to finish. */
  handoverMs: 500,
  /** An engine whose lock was lost stays open for this long. */
  frozenMs: 60_000,
  /** Interval at which a runner looks for a change of the directory, also without a notification. */
  directoryPollMs: 1_000,
  /** Time between reads of the directory for requests whose keys are not known, and how many of those wait at once. */
  directoryAskedMs: 200,
  directoryWaitingMax: 1_000,
  /** The directory is published again after this time without a change. */
  directoryRepublishMs: 60_000,
  /** A change of the directory waits this long until all runners can read it. */
  directoryPublishedMs: 5_000,
  // Followers
  /** Followers of a partition: the default of a setting. */
  followers: 1,
  followersMax: 8,
  /** Interval at which a follower looks for records of the owner. */
  followIntervalMs: 100,
  /** Interval at which it looks for changes of the tables of webhooks. */
  followWebhooksMs: 1_000,
  /** Interval at which a runner looks whether it is to follow. */
  followCheckMs: 250,
  /** A follower that is none any more goes on for this long: a late sign of life of a runner changes the followers for a moment. */
  followOverMs: 10_000,
  /** A follower goes first as long as it last had all records within this time. */
  followerCaughtUpMs: 5_000,
  /** How long other runners leave a partition without an owner to its followers. */
  followerHeadStartMs: 2_000,
  /** Time before a follower that failed is opened again: twice as long after each further failure, up to the maximum. */
  followRetryMs: 10_000,
  followRetryMsMax: 160_000,
  // Upgrade
  /** A runner that was silent for less than this time counts where formats are raised: it may come back with its old version. */
  formatWaitMs: 600_000,
  /** The row of a runner that was silent for this long is removed. */
  runnerForgottenMs: 86_400_000,
  /** Requests are counted over this time for `laurel cluster status`. */
  requestWindowMs: 60_000,
  /** Archives of a cluster that a command asks for at once: each server makes one at a time. */
  archivesAskedAtOnce: 4,
  // Forwarding
  /**
   * A request waits this long for an owner, and so many wait at once; those of one partition are at most as many as there are
   * free places.
   */
  ownerWaitMs: 15_000,
  /** How long `/readyz` of a server that starts waits for an owner of each partition. */
  readinessPatienceMs: 60_000,
  ownerWaitingMax: 1_000,
  /** An owner that did not take a request is asked again after this time, unless it announces earlier that it takes requests. */
  ownerAvoidedMs: 250,
  /** Header fields of a forwarded request: those of the client, and those that the forwarder adds. */
  forwardedHeaderBytesMax: 17 * kibibyte,
  forwardConnectMs: 2_000,
  /** Longer than a batch waits, and than the pause between heartbeats of a stream. */
  forwardSilenceMs: 60_000,
  /** Idle connections to an owner, shorter than it keeps them. */
  forwardKeepAliveMs: 30_000,
  /** A body that is kept until its reply, to send it again; larger ones are streamed, and all once so much is kept. */
  forwardKeptBytesMax: 256 * kibibyte,
  forwardKeptTotalBytesMax: 64 * mebibyte,
  /** Failures after a request was sent, until it is not repeated again. */
  forwardAttemptsMax: 3,
} as const
