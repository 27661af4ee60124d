/**
 * A provider and hooks for React 18 and later. A hook reads when its component is mounted, then
 * every `refreshSeconds` while the page is visible, and with `live` at each message about the user.
 * Components that ask for the same share their reads. On a server a hook reads nothing and returns
 * `initial`.
 *
 * ```tsx
 * const Level = ({ user }: { user: string }) => {
 *   const { data } = useProgress(user, { live: true })
 *   return <p>{data ? `Level ${data.level}` : "Nothing yet"}</p>
 * }
 * const App = () => <LaurelProvider client={laurel}><Level user="ada" /></LaurelProvider>
 * ```
 */
import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from "react"
import type {
  BoardEntries,
  LeaderboardPage,
  Message,
  Progress,
  Purchase,
  Recap,
  TeamBoardEntries,
  User,
  UserGoal,
  UserGoals,
  UserItems,
  UserLeague,
  UserStreak,
  UserStreaks,
} from "./generated/types.ts"
import type { Laurel, StreamOptions } from "./Laurel.ts"
import type { LaurelError } from "./LaurelError.ts"
import { uniqueId } from "./uniqueId.ts"
import { type Watch, type WatchOptions, watch } from "./watch.ts"

const Context = createContext<Laurel | undefined>(undefined)

/** Gives the client to the hooks in `children`. */
export const LaurelProvider = ({
  children,
  client,
}: {
  readonly client: Laurel
  readonly children?: ReactNode
}): ReactElement => createElement(Context.Provider, { value: client }, children)

/** The client of the provider. Throws outside of a `LaurelProvider`. */
export const useLaurel = (): Laurel => {
  const laurel = useContext(Context)
  if (laurel === undefined) throw new Error("There is no LaurelProvider around this component")
  return laurel
}

export interface ReadOptions<Data> {
  /** The data until the first read, such as that of the server that rendered the page. */
  readonly initial?: Data
  /** Whether to follow the messages about the user: needs a user token. Default: false. */
  readonly live?: boolean
  /** Seconds between two reads; 0: one read only. Default: 30. */
  readonly refreshSeconds?: number
}

export interface Reading<Data> {
  /** What the latest successful read returned. Undefined: none has, and there is no `initial`. */
  readonly data: Data | undefined
  /** Why the latest read or the stream failed. `data` then is that of the read before. */
  readonly error: LaurelError | undefined
  /** Whether the first read has not ended yet. */
  readonly isLoading: boolean
  /** Reads now. Resolves when done, also after a failure. */
  readonly refresh: () => Promise<void>
}

/** The progress of a user. `data` is null before the first event of the user. */
export const useProgress = (
  userId: string,
  options: ReadOptions<Progress | null> = {},
): Reading<Progress | null> =>
  useReading(["progress", userId], userId, options, ({ users }, signal) =>
    orNull(users.progress(userId, { signal })),
  )

/** A user: balances, level, badges. `data` is null before the first event of the user. */
export const useUser = (
  userId: string,
  options: ReadOptions<User | null> = {},
): Reading<User | null> =>
  useReading(["user", userId], userId, options, ({ users }, signal) =>
    orNull(users.get(userId, { signal })),
  )

type LeaderboardQuery = NonNullable<Parameters<Laurel["leaderboard"]["get"]>[0]>

/** A page of the leaderboard. With `live` it is read at each message about the user `around`. */
export const useLeaderboard = (
  query: LeaderboardQuery = {},
  options: ReadOptions<LeaderboardPage> = {},
): Reading<LeaderboardPage> =>
  useReading(["leaderboard", query], query.around, options, ({ leaderboard }, signal) =>
    leaderboard.get(query, { signal }),
  )

type EntriesQuery = NonNullable<Parameters<Laurel["leaderboards"]["entries"]>[1]>

/**
 * A page of the leaderboard with this id or key, in one of its windows. With `live` it is read at each
 * message about the user `around`.
 */
export const useLeaderboardEntries = (
  idOrKey: string,
  query: EntriesQuery = {},
  options: ReadOptions<BoardEntries> = {},
): Reading<BoardEntries> =>
  useReading(["leaderboards", idOrKey, query], query.around, options, ({ leaderboards }, signal) =>
    leaderboards.entries(idOrKey, query, { signal }),
  )

type TeamEntriesQuery = NonNullable<Parameters<Laurel["leaderboards"]["teams"]>[1]>

/** A page of the leaderboard of teams with this id or key, in one of its windows. */
export const useTeamEntries = (
  idOrKey: string,
  query: TeamEntriesQuery = {},
  options: Omit<ReadOptions<TeamBoardEntries>, "live"> = {},
): Reading<TeamBoardEntries> =>
  useReading(["teams", idOrKey, query], undefined, options, ({ leaderboards }, signal) =>
    leaderboards.teams(idOrKey, query, { signal }),
  )

/** What a user did in a range of days, by default this year. `data` is null before the first event. */
export const useRecap = (
  userId: string,
  range: { readonly from?: string; readonly to?: string } = {},
  options: ReadOptions<Recap | null> = {},
): Reading<Recap | null> =>
  useReading(["recap", userId, range], userId, options, ({ recaps }, signal) =>
    orNull(recaps.get(userId, range, { signal })),
  )

/**
 * The first 100 items that are for a user, with what the user can spend, and why one cannot be
 * bought. `data` is null before the first event of the user. `buy` buys an item, by its id or key,
 * and reads again; with a user token it needs the scope `purchases`.
 */
export const useShop = (
  userId: string,
  options: ReadOptions<UserItems | null> = {},
): Reading<UserItems | null> & { readonly buy: (item: string) => Promise<Purchase> } => {
  const laurel = useLaurel()
  const reading = useReading(["items", userId], userId, options, ({ items }, signal) =>
    orNull(items.ofUser(userId, { limit: 100 }, { signal })),
  )
  const { refresh } = reading
  const buy = useCallback(
    (item: string) =>
      laurel.purchases.create(userId, { item, id: uniqueId() }).finally(() => refresh()),
    [laurel, userId, refresh],
  )
  return useMemo(() => ({ ...reading, buy }), [reading, buy])
}

/**
 * The shared goals of a user: what all, or the user's team, have reached, and what the user contributed.
 * `data` is null before the first event of the user.
 */
export const useGoals = (
  userId: string,
  options: ReadOptions<UserGoals | null> = {},
): Reading<UserGoals | null> =>
  useReading(["goals", userId], userId, options, (laurel, signal) =>
    orNull(laurel.goals.ofUser(userId, { signal })),
  )

/** One of `useGoals`, by its key; by default the first one. `data` is null if there is none. */
export const useGoal = (
  userId: string,
  goal?: string,
  options: ReadOptions<UserGoals | null> = {},
): Reading<UserGoal | null> => useOne(useGoals(userId, options), goals, goal)

/** The streaks of a user. `data` is null before the first event of the user. */
export const useStreaks = (
  userId: string,
  options: ReadOptions<UserStreaks | null> = {},
): Reading<UserStreaks | null> =>
  useReading(["streaks", userId], userId, options, ({ users }, signal) =>
    orNull(users.streaks(userId, { signal })),
  )

/** One of `useStreaks`, by its key; by default the first one. `data` is null if there is none. */
export const useStreak = (
  userId: string,
  streak?: string,
  options: ReadOptions<UserStreaks | null> = {},
): Reading<UserStreak | null> => useOne(useStreaks(userId, options), streaks, streak)

/**
 * The cohort of a user in a league, by its key; by default the first league. `data` is null before the
 * first event of the user, and if there is no league.
 */
export const useLeague = (
  userId: string,
  league?: string,
  options: ReadOptions<UserLeague | null> = {},
): Reading<UserLeague | null> =>
  useReading(["league", userId, league], userId, options, ({ leagues }, signal) =>
    orNull(
      (async () => {
        const key = league ?? (await leagues.ofUser(userId, { signal })).leagues[0]?.league
        return key === undefined ? null : leagues.oneOfUser(userId, key, { signal })
      })(),
    ),
  )

/**
 * Calls `onMessage` with each message while the component is mounted, such as to show a toast for a
 * new badge. `onError` gets the refusal of the server that ends the stream.
 *
 * ```tsx
 * useMessages({ userId: "ada", events: "badge.earned" }, ({ data }) => toast(data.name))
 * ```
 */
export const useMessages = (
  query: Pick<StreamOptions, "events" | "userId">,
  onMessage: (message: Message) => void,
  onError?: (error: unknown) => void,
): void => {
  const laurel = useLaurel()
  const latest = useRef({ onMessage, onError })
  useEffect(() => {
    latest.current = { onMessage, onError }
  })
  const text = JSON.stringify(query)
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const run = async () => {
      const messages = laurel.stream({ ...(JSON.parse(text) as typeof query), signal })
      for await (const message of messages) latest.current.onMessage(message)
    }
    run().catch((error) => latest.current.onError?.(error))
    return () => leaving.abort()
  }, [laurel, text])
}

const orNull = <Data>(read: Promise<Data>): Promise<Data | null> =>
  read.catch((error: LaurelError) => {
    if (error.code === "user_not_found") return null
    throw error
  })

const goals = (all: UserGoals) => all.goals
const streaks = (all: UserStreaks) => all.streaks

/** The one with the key `asked`, by default the first one. */
const useOne = <All, One extends { readonly key: string }>(
  reading: Reading<All | null>,
  list: (all: All) => ReadonlyArray<One>,
  asked: string | undefined,
): Reading<One | null> =>
  useMemo(() => {
    const { data: all, ...rest } = reading
    const isAsked = ({ key }: One) => asked === undefined || key === asked
    const data =
      all === undefined || all === null
        ? (all as null | undefined)
        : (list(all).find(isAsked) ?? null)
    return { ...rest, data }
  }, [reading, list, asked])

type State<Data> = Omit<Reading<Data>, "refresh">

/** What mounted components share: the state of a reading, and the watch that renews it. */
interface Source {
  state: State<unknown>
  readonly watch: Watch
  readonly listeners: Set<() => void>
}

const sources = new WeakMap<Laurel, Map<string, Source>>()

const useReading = <Data>(
  what: ReadonlyArray<unknown>,
  user: string | undefined,
  { initial, live = false, refreshSeconds = 30 }: ReadOptions<Data>,
  read: (laurel: Laurel, signal: AbortSignal) => Promise<Data>,
): Reading<Data> => {
  const laurel = useLaurel()
  const name = JSON.stringify([what, live, refreshSeconds])
  // `name` has all that the others depend on. A later `initial` changes nothing.
  const state = useMemo<State<Data>>(
    () => ({ data: initial, error: undefined, isLoading: initial === undefined }),
    [name],
  )
  const subscribe = useCallback(
    (listener: () => void) =>
      join(laurel, name, state, { live, refreshSeconds, user, read }, listener),
    [laurel, name, state],
  )
  const present = useSyncExternalStore(
    subscribe,
    () => (sources.get(laurel)?.get(name)?.state ?? state) as State<Data>,
    () => state,
  )
  const refresh = useCallback(
    async () => sources.get(laurel)?.get(name)?.watch.refresh(),
    [laurel, name],
  )
  return useMemo(() => ({ ...present, refresh }), [present, refresh])
}

/** Adds a listener to a source. The first one starts it, and the last one ends it. */
const join = <Data>(
  laurel: Laurel,
  name: string,
  state: State<Data>,
  options: Omit<WatchOptions<Data>, "onData" | "onError">,
  listener: () => void,
): (() => void) => {
  const ofClient = sources.get(laurel) ?? new Map<string, Source>()
  sources.set(laurel, ofClient)
  const source = ofClient.get(name) ?? begun(laurel, state, options)
  ofClient.set(name, source)
  source.listeners.add(listener)
  return () => {
    source.listeners.delete(listener)
    if (source.listeners.size > 0) return
    source.watch.end()
    if (ofClient.get(name) === source) ofClient.delete(name)
  }
}

const begun = <Data>(
  laurel: Laurel,
  state: State<Data>,
  options: Omit<WatchOptions<Data>, "onData" | "onError">,
): Source => {
  const become = (next: State<unknown>) => {
    source.state = next
    for (const listener of source.listeners) listener()
  }
  const source: Source = {
    state,
    listeners: new Set(),
    watch: watch<Data>(laurel, {
      ...options,
      onData: (data) => {
        const { error, data: before, isLoading } = source.state
        const isSame = JSON.stringify(data) === JSON.stringify(before)
        if (!isSame || isLoading || error !== undefined) {
          become({ data: isSame ? before : data, error: undefined, isLoading: false })
        }
      },
      onError: (error) =>
        become({ data: source.state.data, error: error as LaurelError, isLoading: false }),
    }),
  }
  return source
}
