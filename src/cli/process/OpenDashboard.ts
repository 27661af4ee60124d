/** The dashboard of a server, made and loaded only if the settings ask for it. */
import fs from "node:fs/promises"
import path from "node:path"
import { Effect, type Scope } from "effect"
import type { AccountAdmin } from "../../accounts/AccountAdmin.ts"
import type { Accounts } from "../../accounts/Accounts.ts"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { Projects } from "../../accounts/Projects.ts"
import type { Config } from "../../config/Config.ts"
import { clusterDirectory, partitionNumber } from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Archives } from "../../engine/archive/Archives.ts"
import { Engine } from "../../engine/Engine.ts"
import type { MakePages } from "../../http/pages/Pages.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { CommandFailed } from "../output/ExitCode.ts"
import { writeNew } from "../output/Welcome.ts"

interface OpenedDashboard {
  readonly accounts: AccountAdmin["Service"]
  /** The keys for the operator. Changes are in the audit log. */
  readonly keys: ApiKeys["Service"]
  /** The projects for the operator: logged. */
  readonly projects: Projects["Service"]
  readonly pages: MakePages
  /** The token of the link that makes the first owner; `undefined` once there is one. */
  readonly setupToken: string | undefined
}

/** `archives` and `metrics` are those of the server, for its owners' page. */
export const openDashboard = Effect.fnUntraced(function* (
  config: Config,
  archives: Archives["Service"],
  metrics: Metrics,
): Effect.fn.Return<
  OpenedDashboard | undefined,
  LaurelError | CommandFailed,
  Engine | Accounts | ApiKeys | Projects | Scope.Scope
> {
  if (config.dashboard === "off") return undefined
  const [{ makeDashboard }, { openAccounts }, { makeServerState }] = yield* Effect.promise(() =>
    Promise.all([
      import("../../dashboard/Dashboard.ts"),
      import("./OpenAccounts.ts"),
      import("./ServerState.ts"),
    ]),
  )
  const engine = yield* Engine
  const keys = yield* ApiKeys
  const projects = yield* Projects
  const opened = yield* openAccounts(config)
  const { admin, audit, people } = opened
  const { dashboardInsecure: insecure, publicUrl } = config
  const server = yield* makeServerState({ config, archives, metrics })
  const pages = makeDashboard({
    engine,
    people,
    keys,
    projects,
    audit,
    server,
    publicUrl,
    insecure,
  })
  const isFirst = partitionNumber(config) === firstPartition
  const setupToken = isFirst ? yield* people.setUp : undefined
  return { accounts: admin, keys: opened.keys, projects: opened.projects, pages, setupToken }
})

const fileName = "setup-link"

/**
 * Writes the setup link to the file `setup-link` in the data directory. Only the owner of the file
 * can read it. The file replaces that of an earlier start; without a link the file is removed.
 * Returns its absolute path.
 */
const keepSetupLink = (
  directory: string,
  link: string | undefined,
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const file = path.resolve(directory, fileName)
    yield* Effect.promise(() => fs.rm(file, { force: true }))
    if (link === undefined) return undefined
    const written = Effect.tryPromise(() => writeNew(file, `${link}\n`))
    return yield* Effect.match(written, { onSuccess: () => file, onFailure: () => undefined })
  })

/**
 * The link that creates the first account or, if standard output is not a terminal, the file with
 * the link.
 */
export const setupLink = (config: Config, url: string, dashboard: OpenedDashboard | undefined) =>
  Effect.gen(function* () {
    if (dashboard === undefined) return undefined
    const { setupToken } = dashboard
    const base = config.publicUrl?.replace(/\/$/, "") ?? url.replace("//127.0.0.1:", "//localhost:")
    const link = setupToken && `${base}${dashboard.pages.prefix}/setup#${setupToken}`
    const file = yield* keepSetupLink(clusterDirectory(config), link)
    if (link === undefined) return `${base}${dashboard.pages.prefix}`
    return process.stdout.isTTY || file === undefined ? link : file
  })
