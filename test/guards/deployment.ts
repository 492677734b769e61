import type { Guard } from './guard.js';

const FILES = 'test/support/compose-files.spec.ts';
const RESTORING = 'src/entry/backup/restoring.db-spec.ts';

/** How it is started and stopped, backed up and restored. */
export const DEPLOYMENT: readonly Guard[] = [
  {
    guard: 'Whether the schema is the right one is asked past a pooler.',
    file: 'src/entry/schema.ts',
    find: 'await compareSchema(pastPooler(config, given));',
    replace: 'await compareSchema(given ?? pastPooler(config, given));',
    test: 'src/entry/schema.db-spec.ts',
    name: 'is asked of the server itself',
  },
  {
    guard: 'A backup is taken past a pooler.',
    file: 'src/entry/backup/backing-up.ts',
    find: 'const url = pastPooler(config, config.databaseUrl);',
    replace: 'const url = config.databaseUrl ?? pastPooler(config, config.databaseUrl);',
    test: RESTORING,
    name: 'is what is dumped',
  },
  {
    guard: 'A backup is restored past a pooler.',
    file: 'src/entry/backup/restoring.ts',
    find: 'const database = pastPooler(config, config.databaseUrl);',
    replace: 'const database = config.databaseUrl ?? pastPooler(config, config.databaseUrl);',
    test: RESTORING,
    name: 'is what is loaded',
  },
  {
    guard: 'A restore makes nothing that is for administrators.',
    file: 'src/entry/backup/loading.ts',
    find: '.filter((line) => !HIS.test(line))',
    replace: '.filter((line) => !HIS.test(line) || true)',
    test: RESTORING,
    name: 'leaves to administrators',
  },
  {
    guard: 'An extension of an administrator does not end a restore.',
    file: 'src/entry/backup/restoring.ts',
    find: '.code !== INSUFFICIENT_PRIVILEGE) throw error;',
    replace: '.code !== `${INSUFFICIENT_PRIVILEGE}!`) throw error;',
    test: RESTORING,
    name: 'leaves to administrators',
  },
  {
    guard: 'The first process of the image reaps what agents leave behind.',
    file: 'Dockerfile',
    find: 'ENTRYPOINT ["/usr/bin/tini", "-s", "--"]',
    replace: '',
    test: FILES,
    name: 'a first process in the image',
  },
  {
    guard: 'No process is told to be lost for what one scrape has seen.',
    file: 'deploy/observability/alerts.yml',
    find: 'for: 1m # no process can beat',
    replace: '# no process can beat',
    test: 'test/support/alerts.spec.ts',
  },
  {
    guard: 'A dump of a standby is not cancelled for what the leader cleans up.',
    file: 'deploy/patroni.yml',
    find: "hot_standby_feedback: 'on'",
    replace: "hot_standby_feedback: 'off'",
    test: FILES,
    name: 'gives the nodes',
  },
  {
    guard: 'A replica that is not healthy is not counted as one that is.',
    file: 'docs/how-to/upgrade.md',
    find: 'grep -cx healthy',
    replace: 'grep -c healthy',
    test: FILES,
    name: 'takes none that is not',
  },
  {
    guard: 'A client on an old Node trusts the authority of a context.',
    file: 'bin/svc.js',
    find: ' || ofContext());',
    replace: ');',
    test: 'test/e2e/node-version.e2e-spec.ts',
    name: 'gives way to the pinned one',
  },
  {
    guard: 'A backup that is interrupted cleans up.',
    file: 'src/entry/backup/main.ts',
    find: 'process.once(signal, () => interruption.abort(new Interrupted(signal)));',
    replace: 'void [signal, interruption];',
    test: 'src/entry/backup/interrupted.db-spec.ts',
  },
];
