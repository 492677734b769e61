/** The oldest release line of Node that runs the server; `devDependencies.node` of package.json pins the one that is tested. */
const NEEDED = 24;

/**
 * Ends a process of a Node that is too old, in one sentence. Entries import this alone and load the rest afterwards: imports come
 * before any statement, and an old Node may not even parse what they bring.
 */
const version = process.versions.node;
if (Number.parseInt(version, 10) < NEEDED) {
  process.stderr.write(
    `the supervisor needs Node.js ${NEEDED} or newer, and this is ${version} (${process.execPath}): start it with \`npm start\` or \`svc serve\`, which bring their own\n`,
  );
  process.exit(1);
}

export {};
