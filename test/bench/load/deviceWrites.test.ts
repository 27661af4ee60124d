import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { deviceNameOf, readDeviceBytes, writtenBytesIn } from "../../../bench/load/deviceWrites.ts"
import { hasProc } from "../../../bench/load/family.ts"

const folder = mkdtempSync(path.join(tmpdir(), "laurel-device-test-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** A folder like /sys/dev/block in which the device of `folder` has this `stat`. */
const devicesWith = (name: string, stat: string): string => {
  const devices = path.join(folder, name)
  const device = path.join(devices, deviceNameOf(statSync(folder, { bigint: true }).dev))
  mkdirSync(device, { recursive: true })
  writeFileSync(path.join(device, "stat"), stat)
  return devices
}

describe("The bytes that a device wrote", () => {
  it("are its written sectors of 512 bytes", () => {
    // Reads, merges, sectors, milliseconds; then the same of writes.
    expect(
      writtenBytesIn(" 1168050   132697 29363138 17461008 18795581  3254495 40 198521\n"),
    ).toBe(20_480)
  })

  it.each(["", "1 2 3 4 5 6", "1 2 3 4 5 6 - 8"])("are unknown where stat is %j", (stat) => {
    expect(writtenBytesIn(stat)).toBeNaN()
  })

  // As `makedev` of the GNU C library makes them.
  it.each([
    [65_024n, "254:0"],
    [2_049n, "8:1"],
    [66_306n, "259:2"],
    [1_050_624n, "8:256"],
    [17_592_186_044_416n, "4096:0"],
    [27n, "0:27"],
  ])("are of the device %d, which is %s", (device, name) => {
    expect(deviceNameOf(device)).toBe(name)
  })

  it("are of the device that holds the folder", () => {
    expect(readDeviceBytes(folder, devicesWith("known", "1 2 3 4 5 6 7 8 9 10 11"))).toBe(3_584)
  })

  it("are unknown where the file system has no device, or one without figures", () => {
    expect(readDeviceBytes(folder, path.join(folder, "none"))).toBeNaN()
    expect(readDeviceBytes(folder, devicesWith("odd", "of another kind"))).toBeNaN()
  })

  it("are no figure of a folder that does not exist", () => {
    expect(() => readDeviceBytes(path.join(folder, "missing"))).toThrow("ENOENT")
  })

  it.runIf(hasProc)("are unknown of /proc, which is on no device", () => {
    expect(readDeviceBytes("/proc/self")).toBeNaN()
  })
})
