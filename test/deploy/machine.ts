/**
 * A new Debian in a folder, made by debootstrap and entered by chroot, with mounts, processes and a network of its own: all
 * of them end with the test. A cable of two addresses leads to this machine; registries are reached through this machine's
 * own network.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import { Output, temporaryFolder } from "../e2e/program.ts"
import { execute, programOf } from "./tools.ts"

const suite = process.env.DEBIAN ?? "bookworm"
const ownAuthorities = "/usr/local/share/ca-certificates"
/** How this machine reaches registries: taken from its environment, written nowhere. */
const reach = Object.entries(process.env).filter(([name]) =>
  /^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|npm_config_registry)$/i.test(name),
)

/** Of the network for documentation (RFC 5737). */
export const addresses = { machine: "198.51.100.2", outside: "198.51.100.1" } as const

/** Programs that need the internet; all others have the network of the machine alone. */
const reaching = ["apt-get", "git", "npm"]

export class Machine {
  readonly folder: string
  readonly #pid: string

  private constructor(folder: string, pid: string) {
    this.folder = folder
    this.#pid = pid
  }

  static async create(): Promise<Machine> {
    const ip = programOf("ip", "iproute2")
    const debootstrap = programOf("debootstrap", "debootstrap")
    const folder = join(await temporaryFolder(), "debian")
    await execute(debootstrap, ["--variant=minbase", suite, folder])
    await cp("/etc/resolv.conf", join(folder, "etc/resolv.conf"))
    const authorities = await readdir(ownAuthorities).catch(() => [])
    await mkdir(join(folder, ownAuthorities), { recursive: true })
    for (const name of authorities) {
      await cp(join(ownAuthorities, name), join(folder, ownAuthorities, name))
    }
    // The machine is gone with the test: packages need not be flushed to its disk.
    await writeFile(join(folder, "etc/dpkg/dpkg.cfg.d/unsafe-io"), "force-unsafe-io\n")
    // Packages must not start their servers: there is no systemd.
    await writeFile(join(folder, "usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n", { mode: 0o755 })
    await cp(join(import.meta.dirname, "systemctl.sh"), join(folder, "usr/local/sbin/systemctl"))
    await execute("chmod", ["755", join(folder, "usr/local/sbin/systemctl")])
    for (const name of reaching) {
      const script = `#!/bin/sh\nexec nsenter --net=/run/internet /usr/bin/${name} "$@"\n`
      await writeFile(join(folder, "usr/local/bin", name), script, { mode: 0o755 })
    }
    // The root must be a mount, so that the unit's process can have it read-only.
    const begin = `
      mount --bind "$1" "$1"
      mount -t proc proc "$1/proc"
      mount --rbind /dev "$1/dev"
      touch "$1/run/internet"
      mount --bind /proc/self/ns/net "$1/run/internet"
      # The first process collects those that ended.
      exec unshare --net sh -c "echo begun; sleep infinity & wait"`
    const apart = ["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    const init = spawn("unshare", [...apart, "sh", "-ec", begin, "sh", folder])
    const ended = once(init, "exit")
    onTestFinished(async () => {
      init.kill("SIGKILL")
      await ended
    })
    await new Output(init.stdout).waitFor(/begun/)
    const [pid] = (await execute("pgrep", ["--parent", String(init.pid)])).split("\n")
    const cable = `
      ip link add laurel-test type veth peer name eth0 netns "$1"
      ip addr add ${addresses.outside}/30 dev laurel-test
      ip link set laurel-test up
      nsenter --target "$1" --net sh -ec "
        ip addr add ${addresses.machine}/30 dev eth0; ip link set eth0 up; ip link set lo up"`
    await execute("sh", ["-ec", cable.replaceAll("ip ", `${ip} `), "sh", pid!])
    return new Machine(folder, pid!)
  }

  /** Runs commands as root in it, in bash; the first that fails fails them. */
  async run(commands: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
    const env = Object.entries({
      HOME: "/root",
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      DEBIAN_FRONTEND: "noninteractive",
      ...Object.fromEntries(reach),
      ...variables,
    }).map(([name, value]) => `${name}=${value}`)
    const enter = ["--target", this.#pid, "--mount", "--net", "--pid", "chroot", this.folder]
    // Output to a file: a server that a command starts would hold a pipe open.
    const script = `exec > /tmp/output 2>&1; set -euo pipefail\n${commands}`
    const args = [...enter, "env", "--ignore-environment", ...env, "bash", "-c", script]
    try {
      await execute("nsenter", args)
    } catch (error) {
      const log = await readFile(join(this.folder, "var/log/laurel.log"), "utf8").catch(() => "")
      throw new Error(`${commands}\n${await this.#output()}\n${log}`, { cause: error })
    }
    return this.#output()
  }

  #output(): Promise<string> {
    return execute("cat", [join(this.folder, "tmp/output")])
  }
}
