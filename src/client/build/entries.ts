import path from "node:path"
import { type OutputChunk, rolldown } from "rolldown"

/** The folder of the package. */
export const folder = path.resolve(import.meta.dirname, "..")

/** The entries of the package: the goal of each for its bytes, minified and gzipped. */
export const entries = {
  index: 4_000,
  elements: 11_000,
  queue: 1_250,
  react: 2_000,
  "react-elements": 11_500,
  recap: 1_650,
  "text-storage": 500,
  webhook: 700,
} as const

export type Entry = keyof typeof entries

/** The modules of the package: one for each of `names`, and what several of them share. */
export const bundle = async (names: ReadonlyArray<Entry>): Promise<ReadonlyArray<OutputChunk>> => {
  const input = Object.fromEntries(names.map((name) => [name, path.join(folder, `${name}.ts`)]))
  const bundled = await rolldown({ input, platform: "browser", external: ["react"] })
  const { output } = await bundled.generate({
    format: "esm",
    minify: true,
    // Notes for bundlers, too: an app's own bundler drops what it does not use by modules.
    comments: false,
    chunkFileNames: "[name].js",
    // Next.js renders hooks in the browser only for modules that say so.
    banner: ({ name }) => (name.startsWith("react") ? '"use client";' : ""),
  })
  await bundled.close()
  return output.filter((file) => file.type === "chunk")
}
