/**
 * Files that take a sixth of the processor time of all tests: they start servers, browsers and kills of their own, or send requests to each
 * operation. `npm test` leaves them to `npm run test:heavy`, which `.ci/run` runs right after it. A path that is named runs anyway.
 */
const HEAVY = [
  /\/test\/chaos\/.*checker\.spec\.ts$/,
  /\/test\/scenarios\//,
  ...['embedded', 'rig-clones', 'runners', 'tls', 'fuzz', 'attacks', 'docs', 'checks'].map(
    (name) => new RegExp(`/test/e2e/${name}\\.e2e-spec\\.ts$`),
  ),
];

const isHeavy = (path) => HEAVY.some((files) => files.test(path));

export const only = (paths) => ({ filtered: paths.filter(isHeavy) });
export const without = (paths) => ({ filtered: paths.filter((path) => !isHeavy(path)) });
