/**
 * Ends the process with one sentence if Node is too old for Laurel. In JavaScript, since an old
 * Node cannot load TypeScript.
 */
const majorMin = 26
const unusable = 69

if (Number.parseInt(process.versions.node, 10) < majorMin) {
  console.error(
    `laurel: Node ${majorMin} or newer is required, and this is ${process.versions.node}: run \`npm ci\`, which installs it, and start Laurel with \`npm start\` or \`npm run laurel\``,
  )
  process.exit(unusable)
}
