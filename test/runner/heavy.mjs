/**
 * Files that start servers, browsers, threads or many processes, or ask each operation for everything: half of the processor time of all tests.
 * `npm test` leaves them to `npm run test:heavy`, which `.ci/run` runs right after it. A path that is named runs anyway.
 */
const HEAVY = [
  /\/test\/chaos\/.*checker\.spec\.ts$/,
  /\/test\/scenarios\//,
  /\/test\/e2e\/(embedded|fan-outs|storm|processes|rig-clones|runners|telemetry|tls|docs|checks|orders-hosts|isolation(-users)?|network|city-commands-walls|operations|rigs|private-rigs|packs|cli-commands|ui(-\w+)?)\.e2e-spec\.ts$/,
  /\/test\/e2e\/(maintenance|services|pools|cli|cli-(pools|config|contract|doctor)|extmsg-outbound)\.e2e-spec\.ts$/,
  /\/src\/entry\/backup\/(loading|restoring|unfinished)\.db-spec\.ts$/,
  /\/test\/e2e\/(session-wedges|session-runs|session-messages|cli-sessions|service-proxy|service-takeover|service-walls|extmsg-connected|extmsg-examples)\.e2e-spec\.ts$/,
  /\/test\/e2e\/(fuzz|attacks|front-door|audit|client|authorization|session-tokens)\.e2e-spec\.ts$/,
  /\/test\/e2e\/(hooks|mail-races|transcripts|waits)\.e2e-spec\.ts$/,
  /\/src\/platform\/runtime\/(acp|exec|pty)\/\w+-runtime\.spec\.ts$/,
  /\/src\/platform\/(telemetry\/telemetry|runtime\/acp\/acp-output|runtime\/preparation\/prepared-start|git\/git)\.spec\.ts$/,
  /\/src\/modules\/(configuration\/config\/(city-composer\.spec|config-threads\.db-spec)|sessions\/rigs\/rig-git\.spec)\.ts$/,
  /\/src\/modules\/runners\/(runners\/(fencing|runner|claims|work-of-ended|reconfigured)|pools\/named-asked)\.db-spec\.ts$/,
  /\/src\/modules\/orchestration\/runs\/(run-reopenings|runs-of-others)\.db-spec\.ts$/,
  /\/(packs\/installer\.spec|(git-runner|git-credentials|ssh-line)\.spec|probes\.spec|config-edit-crashes\.db-spec)\.ts$/,
];

/**
 * Of each of these lines one has its turn in an hour, so that all of it has run within eleven; `DEEP=1` runs everything, as whoever changes what
 * they are about does. Four lines are proved elsewhere as well: the checkers of chaos and operations under fire by parts of `npm run test:deep`, what follows when a process is
 * killed by other parts of it, and by specs of leases and steps beside the sources; what replicas do at once with hooks, mail, transcripts and waits
 * by db-specs beside the sources, each time. Runners that lose their sessions meet the chaos of sessions, too, a part of `npm run test:deep`.
 */
const IN_TURN = [
  [
    'e2e/ui-admin',
    'e2e/ui-typed',
    'e2e/ui-views',
    'e2e/ui-work',
    'e2e/ui',
    'e2e/ui-exact',
    'e2e/ui-browser',
    'e2e/ui-inbox',
    'e2e/ui-keyboard',
    'e2e/ui-signing',
    'e2e/cli-commands',
  ],
  [
    'e2e/private-rigs',
    'e2e/tls',
    'scenarios/https',
    'e2e/network',
    'e2e/telemetry',
    'e2e/isolation-users',
    'e2e/runners',
    'e2e/orders-hosts',
  ],
  ['e2e/processes', 'e2e/storm'],
  ['scenarios/svc-installed', 'scenarios/client-package', 'scenarios/first-minutes', 'e2e/docs'],
  ['chaos/checker', 'chaos/messages-checker', 'chaos/sessions-checker', 'chaos/orders-checker'],
  ['e2e/audit', 'e2e/fuzz', 'e2e/front-door', 'e2e/attacks', 'e2e/checks', 'e2e/session-tokens'],
  ['e2e/extmsg-connected', 'e2e/session-messages', 'e2e/extmsg-examples', 'e2e/session-wedges', 'e2e/extmsg-outbound'],
  ['backup/unfinished', 'backup/restoring', 'backup/loading'],
  ['e2e/cli', 'e2e/cli-config', 'e2e/cli-pools', 'e2e/cli-contract', 'e2e/cli-doctor'],
  ['e2e/hooks', 'e2e/transcripts', 'e2e/mail-races', 'e2e/waits'],
  ['runners/fencing', 'runners/runner', 'runners/claims', 'runners/work-of-ended', 'runners/reconfigured', 'pools/named-asked'],
  ['runs/run-reopenings', 'runs/runs-of-others'],
  ['e2e/service-proxy', 'e2e/session-runs', 'e2e/services', 'e2e/cli-sessions'],
  [
    'e2e/rigs',
    'e2e/fan-outs',
    'e2e/packs',
    'e2e/service-takeover',
    'e2e/pools',
    'e2e/rig-clones',
    'e2e/maintenance',
    'e2e/operations',
    'e2e/embedded',
  ],
];
const TURN_MS = 3_600_000;

const isHeavy = (path) => HEAVY.some((files) => files.test(path));
const turn = Math.floor(Date.now() / TURN_MS);
const later = process.env.DEEP === '1' ? [] : IN_TURN.flatMap((line) => line.filter((_, n) => n !== turn % line.length));
const isLater = (path) => later.some((name) => path.includes(`/${name}.`));

export function only(paths) {
  if (later.length > 0) console.error(`At other hours of the day: ${later.join(', ')}`);
  return { filtered: paths.filter((path) => isHeavy(path) && !isLater(path)) };
}
export const without = (paths) => ({ filtered: paths.filter((path) => !isHeavy(path)) });
