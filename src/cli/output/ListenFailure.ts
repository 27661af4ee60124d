/** The failure to listen on an address: its setting, its use, and the remedy. */
import type { Config } from "../../config/Config.ts"
import { splitAddress } from "../../config/SettingForms.ts"
import type { Address, ServeError } from "../../http/server/Listener.ts"
import { type CommandFailed, commandFailed, exitCodes } from "./ExitCode.ts"

type Addresses = Pick<Config, "host" | "port" | "adminHost" | "adminPort" | "clusterAddress">

/** A listener of this process. */
export type Service = "api" | "admin" | "cluster"

const services = {
  api: { name: "the API", host: "LAUREL_HOST", port: "LAUREL_PORT" },
  admin: { name: "the admin server", host: "LAUREL_ADMIN_HOST", port: "LAUREL_ADMIN_PORT" },
  cluster: {
    name: "the port for other servers",
    host: "LAUREL_CLUSTER_ADDRESS",
    port: "LAUREL_CLUSTER_ADDRESS",
  },
} as const

/** The failure of a start whose `service` cannot listen: one line, exit code 69. */
export const listenFailure = (
  service: Service,
  config: Addresses,
  { cause }: ServeError,
): CommandFailed => commandFailed(exitCodes.unavailable, lineFor(service, config, cause))

const allAddresses = ["0.0.0.0", "::"]

/** Whether both services use the same port of the same address. */
const collide = ({ adminHost, adminPort, host, port }: Addresses): boolean =>
  port === adminPort &&
  (host === adminHost || [host, adminHost].some((each) => allAddresses.includes(each)))

const anotherPort = "another port; 0 takes any free one."

const addressOf = (service: Service, config: Addresses): Address => {
  switch (service) {
    case "api":
      return config
    case "admin":
      return { host: config.adminHost, port: config.adminPort }
    case "cluster": {
      const { hostname, port } = splitAddress(config.clusterAddress)
      return { host: hostname, port }
    }
  }
}

const lineFor = (service: Service, config: Addresses, cause: NodeJS.ErrnoException): string => {
  const { host: hostVariable, name, port: portVariable } = services[service]
  const { host, port } = addressOf(service, config)
  const itsAddress = `to an address of this machine, such as 127.0.0.1, or to 0.0.0.0 for all of them.`
  switch (cause.code) {
    case "EADDRINUSE":
      return service === "admin" && collide(config)
        ? `LAUREL_PORT and LAUREL_ADMIN_PORT are both ${port}: the API and the admin server need one each. Set ${portVariable} to ${anotherPort}`
        : `Port ${port} of ${host} is in use by another program, and ${name} needs it (${portVariable}). Stop that program, or set ${portVariable} to ${anotherPort}`
    case "EACCES":
      return `This user may not listen on port ${port} of ${host}, which ${name} needs (${portVariable}). Set ${portVariable} to 1024 or more, or let this user listen on lower ports.`
    case "EADDRNOTAVAIL":
      return `This machine does not have the address ${host} of ${name} (${hostVariable}). Set ${hostVariable} ${itsAddress}`
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `The host name ${host} of ${name} (${hostVariable}) does not resolve (${cause.code}). Set ${hostVariable} ${itsAddress}`
    default:
      return `Cannot listen on ${host}, port ${port}, for ${name} (${hostVariable}, ${portVariable}): ${cause.message}.`
  }
}
