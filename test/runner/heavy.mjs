/**
 * Files that start servers, browsers or many processes, or ask each operation for everything: a third of the processor time of all tests.
 * `npm test` leaves them to `npm run test:heavy`, which `.ci/run` runs right after it. A path that is named runs anyway.
 */
const HEAVY = [
  /\/test\/chaos\/.*checker\.spec\.ts$/,
  /\/test\/scenarios\//,
  /\/test\/e2e\/(embedded|rig-clones|runners|telemetry|tls|docs|checks|orders-hosts|isolation(-users)?|network|orders-walls|operations|rigs|private-rigs|packs|cli-commands|ui(-\w+)?)\.e2e-spec\.ts$/,
  /\/test\/e2e\/(session-wedges|session-runs|session-messages|cli-sessions|service-proxy|service-takeover|service-walls|extmsg-connected|extmsg-examples)\.e2e-spec\.ts$/,
  /\/test\/e2e\/(fuzz|attacks|front-door|audit|client)\.e2e-spec\.ts$/,
  /\/src\/platform\/runtime\/(acp|exec|pty)\/\w+-runtime\.spec\.ts$/,
  /\/(packs\/installer\.spec|(git-runner|git-credentials|ssh-line)\.spec|probes\.spec|config-edit-crashes\.db-spec)\.ts$/,
];

const isHeavy = (path) => HEAVY.some((files) => files.test(path));

export const only = (paths) => ({ filtered: paths.filter(isHeavy) });
export const without = (paths) => ({ filtered: paths.filter((path) => !isHeavy(path)) });
