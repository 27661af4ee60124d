/**
 * The guide at `/guide`: the pages of the repository for people who build on Laurel or run it. README
 * is the first one. A worker thread (`GuideWorker.ts`) makes their HTML at the first request.
 */
import { readdirSync, readFileSync } from "node:fs"
import { Worker } from "node:worker_threads"
import { Questions } from "../../storage/Channel.ts"
import type { PublicFile } from "./PublicFile.ts"
import { received, shared } from "./ReferenceThread.ts"

/** `path`: of the Markdown file, from the root of the repository. */
export interface GuidePage {
  readonly name: string
  readonly section: Section
  readonly path: string
}

export const sections = ["Start", "Mechanics", "Apps", "Operations"] as const
export type Section = (typeof sections)[number]

export const root = new URL("../../../", import.meta.url)

const fixed: ReadonlyArray<GuidePage> = [
  { name: "", section: "Start", path: "README.md" },
  { name: "features", section: "Start", path: "src/client/features.md" },
  { name: "quickstart", section: "Start", path: "src/client/quickstart.md" },
  { name: "learning-app", section: "Start", path: "src/client/learning-app.md" },
  { name: "language-app", section: "Start", path: "src/client/language-app.md" },
  { name: "season", section: "Start", path: "src/client/season.md" },
  { name: "recipes", section: "Start", path: "src/client/recipes.md" },
  { name: "coming-from", section: "Start", path: "src/client/coming-from.md" },
  { name: "compared", section: "Start", path: "src/client/compared.md" },
  { name: "client", section: "Apps", path: "src/client/README.md" },
  { name: "trackers", section: "Apps", path: "src/client/trackers.md" },
  { name: "webhooks", section: "Apps", path: "src/webhooks/README.md" },
  { name: "keys", section: "Apps", path: "src/accounts/README.md" },
  { name: "agents", section: "Apps", path: "src/cli/mcp/README.md" },
  { name: "dashboard", section: "Operations", path: "src/dashboard/using.md" },
  { name: "deploy", section: "Operations", path: "deploy/README.md" },
  { name: "settings", section: "Operations", path: "deploy/settings.md" },
  { name: "snapshots", section: "Operations", path: "snapshots/README.md" },
  { name: "cluster", section: "Operations", path: "src/cluster/README.md" },
  { name: "metrics", section: "Operations", path: "src/metrics/README.md" },
  { name: "warehouse", section: "Operations", path: "src/cli/warehouse.md" },
]

/** The guides beside the client that `fixed` does not name. */
const mechanics = readdirSync(new URL("src/client/", root))
  .filter((file) => file.endsWith(".md"))
  .map((file): GuidePage => {
    const path = `src/client/${file}`
    return { name: file.slice(0, -".md".length), section: "Mechanics", path }
  })
  .filter(({ path }) => fixed.every((page) => page.path !== path))
  .sort((one, other) => (one.name < other.name ? -1 : 1))

export const guidePages: ReadonlyArray<GuidePage> = [...fixed, ...mechanics]

export const addressOf = ({ name }: Pick<GuidePage, "name">): string =>
  name === "" ? "/guide" : `/guide/${name}`

/** The pages and the style sheet, by address. */
export type GuideFiles = { readonly [address: string]: PublicFile }

const picturesFolder = "src/client/pictures/"

export interface GuidePicture {
  readonly address: string
  /** From the root of the repository. */
  readonly path: string
  readonly text: string
  /** Its style, whose hash the policy of its reply names. */
  readonly style: string
}

/** The pictures of the guide, each an SVG with one style for light and dark. */
export const guidePictures: ReadonlyArray<GuidePicture> = readdirSync(
  new URL(picturesFolder, root),
).map((file) => {
  const path = `${picturesFolder}${file}`
  const text = readFileSync(new URL(path, root), "utf8")
  const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(text) ?? []
  return { address: `/guide/${file}`, path, text, style }
})

export const styleAddress = "/guide/style.css"

export const loadGuide = shared(async (): Promise<GuideFiles> => {
  const start = () => new Worker(new URL("./GuideWorker.ts", import.meta.url))
  const files = await new Questions<"files", GuideFiles>(start, { idleMs: 0 }).ask("files")
  const entries = Object.entries(files).map(([name, file]) => [name, received(file)] as const)
  return Object.fromEntries(entries)
})
