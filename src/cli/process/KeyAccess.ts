/**
 * Access to keys, projects and accounts: through the running server of the data directory, or by
 * opening the data directory.
 */

import fs from "node:fs/promises"
import path from "node:path"
import { Console, Effect, Schema, type Scope } from "effect"
import { AccountDetails, CreatedLink, type LinkRequest } from "../../accounts/AccountAdmin.ts"
import type { Accounts } from "../../accounts/Accounts.ts"
import { ApiKeys, CreatedKey, KeyDetails, type KeyRequest } from "../../accounts/ApiKeys.ts"
import { type LimitRequest, limitNamed, ProjectDetails, Projects } from "../../accounts/Projects.ts"
import type { Config } from "../../config/Config.ts"
import type { RotationOverlap } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"
import {
  type CommandFailed,
  commandFailed,
  exitCodes,
  noData,
  refused,
} from "../output/ExitCode.ts"
import { type AdminUnavailable, askAdmin, type ServerFile } from "./AdminRequest.ts"
import { loadConfig, printAlone, serverFileFolder, viaServerOrAlone } from "./DataDirectory.ts"
import { loggingLayer } from "./Logging.ts"

/* Keys through the admin address of a running server. */

/** `ApiKeys`, with the errors `E` of the connection to the server. */
interface AdminClient<E = AdminUnavailable> {
  readonly create: (request: KeyRequest) => Effect.Effect<CreatedKey, LaurelError | E>
  readonly list: Effect.Effect<ReadonlyArray<KeyDetails>, LaurelError | E>
  readonly rotate: (
    keyId: string,
    overlap: RotationOverlap,
  ) => Effect.Effect<CreatedKey, LaurelError | E>
  readonly revoke: (keyId: string) => Effect.Effect<void, LaurelError | E>
}

const KeyList = Schema.Struct({ keys: Schema.Array(KeyDetails) })

/** A client of the server that wrote `file`. */
export const makeAdminClient = (file: ServerFile): AdminClient => ({
  create: (request) => askAdmin(file, "POST", "/admin/keys", CreatedKey, request),
  list: Effect.map(askAdmin(file, "GET", "/admin/keys", KeyList), ({ keys }) => keys),
  rotate: (keyId, overlap) =>
    askAdmin(file, "POST", `/admin/keys/${encodeURIComponent(keyId)}/rotate`, CreatedKey, {
      overlap,
    }),
  revoke: (keyId) =>
    askAdmin(file, "DELETE", `/admin/keys/${encodeURIComponent(keyId)}`, Schema.Undefined),
})

type Use<A> = <E extends AdminUnavailable>(
  keys: AdminClient<E>,
) => Effect.Effect<A, LaurelError | E>

/**
 * Runs `use` with the keys of the configured data directory, which is created if `makes` is set.
 */
export const withKeys = <A>(
  use: Use<A>,
  { makes }: { readonly makes: boolean },
): Effect.Effect<A, CommandFailed> =>
  reachOrOpen({
    makes,
    beside: (server) => use(makeAdminClient(server)),
    alone: (config) => Effect.flatMap(keysAlone(config), (keys) => use<never>(keys)),
  })

/** Changes of keys are in the audit log, unless the dashboard is off. */
const keysAlone = Effect.fnUntraced(function* (config: Config) {
  if (config.dashboard === "off") return yield* ApiKeys
  const { openAudit } = yield* Effect.promise(() => import("./OpenAudit.ts"))
  return (yield* openAudit(config)).keys
})

/* Managing projects. */

/** `Projects` as the operator uses them, with the errors `E` of the way to the server. */
interface ProjectClient<E> {
  readonly list: Effect.Effect<ReadonlyArray<ProjectDetails>, LaurelError | E>
  readonly limit: (
    name: string,
    request: LimitRequest,
  ) => Effect.Effect<ProjectDetails, LaurelError | E>
}

const ProjectList = Schema.Struct({ projects: Schema.Array(ProjectDetails) })

const projectClientOf = (file: ServerFile): ProjectClient<AdminUnavailable> => ({
  list: Effect.map(
    askAdmin(file, "GET", "/admin/projects", ProjectList),
    ({ projects }) => projects,
  ),
  limit: (name, request) =>
    askAdmin(
      file,
      "PUT",
      `/admin/projects/${encodeURIComponent(name)}/limit`,
      ProjectDetails,
      request,
    ),
})

/** Runs `use` with the projects of the configured data directory, which has to be there. */
export const withProjects = <A>(
  use: <E extends AdminUnavailable>(
    projects: ProjectClient<E>,
  ) => Effect.Effect<A, LaurelError | E>,
): Effect.Effect<A, CommandFailed> =>
  reachOrOpen({
    makes: false,
    beside: (server) => use(projectClientOf(server)),
    alone: (config) =>
      Effect.flatMap(projectsAlone(config), (projects) =>
        use<never>({
          list: projects.list,
          limit: (name, request) => limitNamed(projects, name, request),
        }),
      ),
  })

/** Logged, unless there is no dashboard. */
const projectsAlone = Effect.fnUntraced(function* (config: Config) {
  if (config.dashboard === "off") return yield* Projects
  const { openAudit } = yield* Effect.promise(() => import("./OpenAudit.ts"))
  return (yield* openAudit(config)).projects
})

interface Access<A> {
  /** Creates the data directory if there is none. */
  readonly makes: boolean
  readonly beside: (
    server: ServerFile,
    config: Config,
  ) => Effect.Effect<A, LaurelError | AdminUnavailable>
  readonly alone: (
    config: Config,
  ) => Effect.Effect<
    A,
    LaurelError | CommandFailed,
    Engine | Accounts | ApiKeys | Projects | Scope.Scope
  >
}

/**
 * Runs `beside` with the running server of the configured data directory, or `alone` after opening
 * the directory.
 */
const reachOrOpen = <A>({ alone, beside, makes }: Access<A>) =>
  Effect.gen(function* () {
    const config = yield* loadConfig
    const directory = config.dataDirectory
    const opened = Effect.scoped(
      Effect.gen(function* () {
        if (config.cluster !== undefined) return yield* besideServerOnly(config)
        const isThere = yield* hasData(directory)
        if (!isThere && !makes) return yield* noData(directory)
        // The engine is most of the program; a command beside a server does not need it.
        const { openEngine } = yield* Effect.promise(() => import("./OpenEngine.ts"))
        const { services } = yield* openEngine(config)
        if (isThere) yield* printAlone(config)
        else {
          yield* Console.error(
            `Created a new data directory in ${path.resolve(directory)}. Only a server with this LAUREL_DATA_DIR knows the key.`,
          )
        }
        return yield* Effect.mapError(Effect.provide(alone(config), services), (error) =>
          error._tag === "LaurelError" ? refused(error) : error,
        )
      }),
    )
    return yield* viaServerOrAlone(config, (server) => beside(server, config), opened)
  }).pipe(Effect.provide(loggingLayer()))

/** A command that opened the data of a cluster would take it from its owner, on any machine. */
const besideServerOnly = (config: Config): CommandFailed =>
  commandFailed(
    exitCodes.unavailable,
    `No server runs on ${serverFileFolder(config)}. In a cluster, run this command beside a running server.`,
  )

const hasData = (directory: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fs.access(path.join(directory, "journal")).then(
      () => true,
      () => false,
    ),
  )

/*
 * Access to accounts: through the running server of the data directory, or by opening the data
 * directory.
 */

/**
 * `AccountAdmin`, with the errors `E` of the connection to the server. `address` is the server's
 * public address.
 */
interface AccountClient<E> {
  readonly address: string
  readonly list: Effect.Effect<ReadonlyArray<AccountDetails>, LaurelError | E>
  readonly createLink: (request: LinkRequest) => Effect.Effect<CreatedLink, LaurelError | E>
  readonly remove: (email: string) => Effect.Effect<void, LaurelError | E>
}

const AccountList = Schema.Struct({ accounts: Schema.Array(AccountDetails) })

const clientOf = (file: ServerFile, address: string): AccountClient<AdminUnavailable> => ({
  address,
  list: Effect.map(
    askAdmin(file, "GET", "/admin/accounts", AccountList),
    ({ accounts }) => accounts,
  ),
  createLink: (request) => askAdmin(file, "POST", "/admin/accounts/links", CreatedLink, request),
  remove: (email) =>
    askAdmin(file, "DELETE", `/admin/accounts/${encodeURIComponent(email)}`, Schema.Undefined),
})

/** Runs `use` with the accounts of the configured data directory, which must exist. */
export const withAccounts = <A>(
  use: <E extends AdminUnavailable>(
    accounts: AccountClient<E>,
  ) => Effect.Effect<A, LaurelError | E>,
): Effect.Effect<A, CommandFailed> =>
  reachOrOpen({
    makes: false,
    beside: (server, { publicUrl }) =>
      use(
        clientOf(server, addressOf(publicUrl, server.url.replace("//127.0.0.1:", "//localhost:"))),
      ),
    alone: Effect.fnUntraced(function* (config) {
      const { port, publicUrl } = config
      const { openAccounts } = yield* Effect.promise(() => import("./OpenAccounts.ts"))
      const { admin } = yield* openAccounts(config)
      return yield* use<never>({
        address: addressOf(publicUrl, `http://localhost:${port}`),
        ...admin,
      })
    }),
  })

const addressOf = (publicUrl: string | undefined, local: string): string =>
  publicUrl?.replace(/\/$/, "") ?? local
