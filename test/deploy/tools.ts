/** Programs beside Laurel, from Debian's packages. */
import { execFile, spawnSync } from "node:child_process"
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
