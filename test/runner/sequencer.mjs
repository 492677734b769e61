import TestSequencer from '@jest/test-sequencer';

/**
 * These start many processes, and a process is started by copying the page tables of the one that starts it: 2 ms in a young
 * worker, 20 in one that has run half of the suite. They begin, while the workers are small.
 */
const START_PROCESSES = [
  'src/modules/files/composition/packs/installer.spec.ts',
  'test/e2e/embedded.e2e-spec.ts',
  'src/platform/runtime/exec/exec-runtime.spec.ts',
  'src/platform/runtime/acp/acp-runtime.spec.ts',
  'src/platform/git/git.spec.ts',
  'src/modules/sessions/rigs/rig-git.spec.ts',
  'src/platform/runtime/preparation/prepared-start.spec.ts',
  'src/platform/runtime/processes.spec.ts',
  'src/platform/runtime/pty/pty-runtime.spec.ts',
  'test/e2e/packs.e2e-spec.ts',
  'test/e2e/rigs.e2e-spec.ts',
];
/**
 * Files that take longest follow, so that none of them is left alone at the end: seconds of their own, from a run on two busy cores. A new
 * checkout remembers nothing of earlier runs, and jest begins with the files that have the most text.
 */
const LONGEST = [
  ...['cli-commands', 'ui', 'extmsg-connected', 'service-proxy', 'contract', 'cli-sessions', 'audit', 'streams', 'cities', 'operations'],
  ...[
    'ui-exact',
    'extmsg-outbound',
    'front-door',
    'runners',
    'processes',
    'service-takeover',
    'attacks',
    'fan-outs',
    'checks',
    'authorization',
  ],
  ...['storm', 'docs', 'network', 'ui-keyboard', 'ui-browser', 'session-wedges', 'telemetry'],
  ...['rig-clones', 'session-tokens', 'sessions', 'city-races', 'fuzz', 'tls', 'services', 'maintenance', 'extmsg-inbound'],
].map((name) => `test/e2e/${name}.e2e-spec.ts`);
/** Hundreds of processes, one after the other, for as long as all others take: first of all. */
const ALL_ALONG = ['test/scenarios/readme.scenario-spec.ts'];
const OF_ONE_ROOM = [
  'test/scenarios/svc-installed.scenario-spec.ts',
  'test/scenarios/first-minutes.scenario-spec.ts',
  'test/chaos/checker.spec.ts',
  'src/modules/runners/runners/fencing.db-spec.ts',
  'src/modules/runners/runners/runner.db-spec.ts',
  'src/platform/telemetry/telemetry.spec.ts',
  'src/modules/configuration/config/config-edit-crashes.db-spec.ts',
];
const FIRST = [...ALL_ALONG, ...START_PROCESSES, ...LONGEST, ...OF_ONE_ROOM];

export default class InOrder extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const place = FIRST.findIndex((end) => path.endsWith(`/${end}`));
      return place === -1 ? FIRST.length : place;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
}
