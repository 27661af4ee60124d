/**
 * Finds the browser of the browser tests: the one that `LAUREL_TEST_BROWSER` names, the one inside
 * `@sparticuz/chromium`, which needs Linux on x64, no root and no libraries, or else an installed
 * Chromium or Chrome (`installed` asks for that). The bundled one is a headless shell: a tab costs
 * two thirds of the processor time that an installed Chromium takes.
 */
import { access, constants, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import path from "node:path"
import { type Browser, chromium } from "playwright-core"
import { waitMs } from "../../waitMs.ts"

/** How to start a browser, or one sentence that says why there is none. */
export type Chromium =
  | { readonly executablePath: string; readonly env: Readonly<Record<string, string>> }
  | { readonly missing: string }

/** Starts the browser. Fails with the sentence that says why there is none. */
export const launch = async (found: Chromium): Promise<Browser> => {
  if ("missing" in found) throw new Error(found.missing)
  const { env, executablePath } = found
  return chromium.launch({
    executablePath,
    timeout: waitMs,
    env: { ...(process.env as Record<string, string>), ...env },
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  })
}

const installedNames = [
  "chromium",
  "chromium-browser",
  "chromium-headless-shell",
  "google-chrome",
  "google-chrome-stable",
]
const macApplications = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
]

const cache = path.resolve(import.meta.dirname, "../../../node_modules/.cache")

export const findChromium = async (variables: NodeJS.ProcessEnv): Promise<Chromium> => {
  const { LAUREL_TEST_BROWSER: wish = "", PATH = "" } = variables
  if (wish !== "" && wish !== "installed") {
    return (await mayRun(wish))
      ? { executablePath: wish, env: {} }
      : { missing: `LAUREL_TEST_BROWSER names ${wish}, which is no program.` }
  }
  const bundled = process.platform === "linux" && process.arch === "x64"
  if (bundled && wish === "") return bundledChromium(cache)
  const inPath = PATH.split(path.delimiter).flatMap((folder) =>
    installedNames.map((name) => path.join(folder, name)),
  )
  for (const file of [...inPath, ...macApplications]) {
    if (await mayRun(file)) return { executablePath: file, env: {} }
  }
  return {
    missing:
      "The browser tests need Chromium or Chrome: install one, or set LAUREL_TEST_BROWSER to its path.",
  }
}

const mayRun = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  )

/** The browser inside `@sparticuz/chromium`, extracted once per version. */
export const bundledChromium = async (folder: string): Promise<Chromium> => {
  const manifest = path.resolve(cache, "../@sparticuz/chromium/package.json")
  const { version } = JSON.parse(await readFile(manifest, "utf8"))
  const extracted = path.join(folder, `chromium-${version}`)
  const executablePath = path.join(extracted, "chromium")
  if (!(await mayRun(executablePath))) await extractTo(extracted)
  const env = {
    LD_LIBRARY_PATH: path.join(extracted, "al2023/lib"),
    FONTCONFIG_PATH: path.join(extracted, "fonts"),
    XDG_CACHE_HOME: path.join(extracted, "cache"),
  }
  return { executablePath, env }
}

/** The package's own settings look for its fonts below /tmp only. */
const fontSettings = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`

/**
 * Extracts into another folder and renames it, so that an interruption or a second run leaves no
 * half browser.
 */
const extractTo = async (target: string): Promise<void> => {
  const beside = `${target}-${process.pid}`
  const { TMPDIR } = process.env
  await mkdir(beside, { recursive: true })
  try {
    // The package extracts only to the folder for temporary files.
    process.env.TMPDIR = beside
    const { default: bundle, inflate } = await import("@sparticuz/chromium")
    await bundle.executablePath()
    await inflate(path.resolve(cache, "../@sparticuz/chromium/bin/al2023.tar.br"))
    await writeFile(path.join(beside, "fonts/fonts.conf"), fontSettings)
    await rename(beside, target)
  } catch (error) {
    // Another run has extracted it meanwhile.
    if (!(await mayRun(path.join(target, "chromium")))) throw error
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
    await rm(beside, { recursive: true, force: true })
  }
}
