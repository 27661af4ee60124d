/** The bounds of API keys, accounts, sessions and the links that invite; part of `Limits.ts`. */
export const accountLimits = {
  /** Keys in force, of all environments and of one. */
  keysMax: 10_000,
  keysPerEnvironmentMax: 1_000,
  /** Revoked and expired keys to list; those that ended first are dropped first. */
  endedKeysMax: 1_000,
  keyNameCharactersMax: 100,
  keyOriginsMax: 20,
  originCharactersMax: 300,
  keyCidrsMax: 20,
  /** Interval of the records that say when keys were last used, and the time for the last of them at an orderly end. */
  keyUseFlushMs: 3_600_000,
  /** Interval at which a record is tried, once that time is over. */
  keyUseCheckMs: 1_000,
  keyUseLastFlushMs: 2_000,
  /** Lifetimes of user tokens; a token has the longest user id, escaped. */
  userTokenSecondsMin: 60,
  userTokenSeconds: 3_600,
  userTokenSecondsMax: 86_400,
  userTokenCharactersMax: 2_048,
  /** Erased users of an environment whose earlier tokens are refused one by one; beyond, all earlier tokens are. */
  erasedUsersMax: 10_000,
  /** Requests with the tokens of one user, and the users whose requests are counted; those seen first are forgotten first. */
  userRequestsPerMinute: 120,
  usersCountedMax: 100_000,
  accountsMax: 1_000,
  emailCharactersMax: 254,
  accountNameCharactersMax: 100,
  passkeysPerAccountMax: 20,
  passkeyNameCharactersMax: 100,
  /** Base64url: ids have at most 1,023 bytes (WebAuthn Level 3, §7.1), keys at most 2 KiB (RSA with 8,192 bits has half). */
  passkeyIdCharactersMax: 1_364,
  passkeyKeyCharactersMax: 2_731,
  /** Time from the options of a passkey to the browser's answer. */
  passkeyChallengeMs: 300_000,
  /** Challenges that were used and have not expired. */
  passkeyChallengesUsedMax: 10_000,
  /** Checks of a thread (`CheckThread`) under way; time for one, and time without any after which the thread ends. */
  checksMax: 32,
  checkMs: 10_000,
  checkThreadIdleMs: 60_000,
  checkThreadMebibytesMax: 128,
  /** Sessions of one account; the longest unused ends when another starts. */
  sessionsPerAccountMax: 20,
  sessionAgentCharactersMax: 200,
  /** A session ends after so long without use, and after so long in any case. */
  sessionIdleMs: 12 * 3_600_000,
  sessionMs: 30 * 86_400_000,
  /** The use of a session is recorded at most this often. */
  sessionRenewMs: 10 * 60_000,
  /** After signing in or confirming, an account may do for so long what cannot be undone. */
  sessionConfirmedMs: 10 * 60_000,
  passwordCharactersMin: 12,
  passwordCharactersMax: 128,
  /** A password is refused if it is guessed within so many tries, as powers of ten: those of its first characters. */
  passwordGuessesLog10Min: 10,
  passwordEstimatedCharactersMax: 48,
  /**
   * Hashes of passwords at once; running and waiting ones of strangers; how many more may wait for people whom the server
   * knows: by a session, a link, or a device that signed in before.
   */
  passwordHashesConcurrentMax: 2,
  passwordHashesWaitingMax: 34,
  passwordHashesOfKnownMax: 16,
  /** Failed sign-ins that cost nothing: with an account's address, and from a network address. */
  signInFailuresFreePerAccount: 5,
  signInFailuresFreePerAddress: 20,
  signInPauseMsMin: 1_000,
  signInPauseMsMax: 15 * 60_000,
  signInFailuresKeptMs: 86_400_000,
  /** Names whose failures are remembered, of each kind. */
  signInNamesMax: 10_000,
  invitationsMax: 1_000,
  setupLinkMs: 86_400_000,
  joinLinkMs: 3 * 86_400_000,
  resetLinkMs: 3_600_000,
  /** Entries of the audit log, and how long each is kept. */
  auditEntriesMax: 100_000,
  auditKeptMs: 400 * 86_400_000,
  /** Its segments are removed whole; one takes entries for at most this long. */
  auditSegmentBytes: 256 * 1024,
  auditSegmentMs: 30 * 86_400_000,
  auditPruneMs: 3_600_000,
  auditTextCharactersMax: 300,
  /** Changed members of an entry, and the texts of each. */
  auditChangesMax: 10,
  auditChangeCharactersMax: 100,
  /** How long an entry waits for PostgreSQL. */
  auditWriteMs: 15_000,
  /** Entries on a page, and how many are searched for them. */
  auditPageMax: 50,
  auditSearchedMax: 5_000,
  auditReadEntriesMax: 1_000,
  /** Actions of one account, entries of one key, and of failed sign-ins of all visitors: none can push out the rest. */
  auditAccountActionsPerHourMax: 500,
  auditKeyEntriesPerHourMax: 500,
  auditFailuresPerHourMax: 5,
} as const
