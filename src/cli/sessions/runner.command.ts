import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { contextOf, flagsOf, pathOf, withExamples, withTarget } from '../command.js';
import { age, showDuration } from '../duration.js';
import type { Io } from '../io.js';
import { EVERY_MS, listAll, withRereading, type AllFlags } from '../listing.js';
import { table } from '../table.js';
import { defined } from '../values.js';
import { showLimits } from './limits.js';

type Runner = NonNullable<Schemas['ListBodyRunner']['items']>[number];

export function addRunner(program: Command, io: Io): void {
  const runner = program.command('runner').description('worker processes that run agents');
  const list = withTarget(runner.command('list').description('list the runners: their hosts, room and leases'))
    .option('--all', 'also those that have ended')
    .option('--json', 'print one JSON line for each');
  // Events tell that a worker comes and goes, not what room it has.
  withRereading(list);
  withExamples(list, 'svc runner list', 'svc runner list --all --json');
  list.action(async (_options, action: Command) => {
    const { api, ...rest } = contextOf(action, io);
    const flags = flagsOf<AllFlags & { all?: boolean }>(action);
    const params = { query: defined({ all: flags.all }) };
    await listAll<Runner>(
      { ...rest, api, city: '', flags, path: pathOf(action) },
      {
        empty: 'no runners: start a worker with `svc serve`',
        everyMs: EVERY_MS,
        show: (runners) => runnerTable(runners, io),
        page: async () => ({ items: (await ask(api, (signal) => api.http.GET('/v0/runners', { params, signal }))).data.items }),
      },
    );
  });
}

function runnerTable(runners: readonly Runner[], io: Io): string {
  const rows = runners.map((one) => [
    one.id,
    one.state,
    one.host,
    one.isolation,
    one.limits === undefined ? '' : showLimits(one.limits),
    `${one.sessions} of ${one.capacity}`,
    String(one.live),
    showDuration(one.lease_age_s * 1_000),
    age(one.registered_at),
  ]);
  return table(['ID', 'STATE', 'HOST', 'ISOLATION', 'LIMITS', 'SESSIONS', 'LIVE', 'HEARD', 'SINCE'], rows, io);
}
