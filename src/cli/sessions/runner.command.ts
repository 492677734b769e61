import type { Command } from 'commander';
import { ask } from '../api.js';
import { contextOf, flagsOf, printJson, withExamples, withTarget } from '../command.js';
import { age, showDuration } from '../duration.js';
import type { Io } from '../io.js';
import { table } from '../table.js';
import { defined } from '../values.js';
import { showLimits } from './limits.js';

export function addRunner(program: Command, io: Io): void {
  const runner = program.command('runner').description('worker processes that run agents');
  const list = withTarget(runner.command('list').description('list the runners: their hosts, room and leases'))
    .option('--all', 'also those that have ended')
    .option('--json', 'print one JSON line for each');
  withExamples(list, 'svc runner list', 'svc runner list --all --json');
  list.action(async (_options, action: Command) => {
    const { api } = contextOf(action, io);
    const flags = flagsOf<{ all?: boolean; json?: boolean }>(action);
    const params = { query: defined({ all: flags.all }) };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/runners', { params, signal }));
    const items = data.items ?? [];
    if (flags.json === true) {
      for (const item of items) await printJson(io, item);
      return;
    }
    if (items.length === 0) return io.err('no runners: start a worker with `svc serve`\n');
    const rows = items.map((one) => [
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
    await io.out(table(['ID', 'STATE', 'HOST', 'ISOLATION', 'LIMITS', 'SESSIONS', 'LIVE', 'HEARD', 'SINCE'], rows, io.width));
  });
}
