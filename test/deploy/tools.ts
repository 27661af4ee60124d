/** Programs beside Laurel, from Debian's packages. */
import { execFile, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { promisify } from "node:util"

/** Where a program of a package is. A missing one fails the run, and the error names its package. */
export const programOf = (name: string, debianPackage: string): string => {
  const found = spawnSync("sh", ["-c", 'PATH="$PATH:/usr/sbin:/sbin" command -v "$1"', "sh", name])
  if (found.status !== 0) throw new Error(`${name} is missing: apt-get install ${debianPackage}`)
  return found.stdout.toString().trim()
}

/** Runs a program to its end; resolves with its output, and fails with it. */
export const execute = async (
  program: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> => {
  const { stderr, stdout } = await promisify(execFile)(program, args, options).catch((error) => {
    throw new Error(`${program} failed:\n${error.stdout}${error.stderr}`, { cause: error })
  })
  return stdout + stderr
}

/** A port that was free a moment ago, for a program that cannot pick one itself. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("no port")
  return address.port
}
