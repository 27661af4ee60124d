/** The sources of an earlier commit with their own packages, in a temporary folder of the test. */
import { root, temporaryFolder } from "../e2e/program.ts"
import { execute } from "./tools.ts"

export const checkedOut = async (commit: string): Promise<string> => {
  const folder = await temporaryFolder()
  await execute("sh", ["-ec", `git archive ${commit} | tar -x -C "$1"`, "sh", folder], {
    cwd: root,
  })
  await execute("npm", ["ci", "--omit=dev"], { cwd: folder })
  return folder
}
