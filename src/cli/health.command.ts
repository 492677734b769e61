import type { Command } from 'commander';
import { ask } from './api.js';
import { contextOf, flagsOf, printJson, withExamples, withTarget } from './command.js';
import { showDuration } from './duration.js';
import type { Io } from './io.js';
import { facts } from './table.js';

export function addHealth(program: Command, io: Io): void {
  const health = program
    .command('health')
    .description('tell whether the supervisor answers')
    .option('--json', 'print the answer as one JSON line');
  withTarget(health);
  withExamples(health, 'svc health', 'svc health --json');
  health.action(async (_options, command: Command) => {
    const { api } = contextOf(command, io);
    const { data } = await ask(api, (signal) => api.http.GET('/health', { signal }));
    if (flagsOf<{ json?: boolean }>(command).json === true) return printJson(io, data);
    return io.out(
      facts([
        ['status', data.status],
        ['address', `${api.url}, ${api.source}`],
        ['version', data.version],
        ['up', showDuration(data.uptime_sec * 1_000)],
        [
          'cities',
          data.cities_total < 0
            ? data.startup?.phase === undefined
              ? 'told to keys that are not limited to cities'
              : 'unknown: the database does not answer'
            : `${data.cities_running} of ${data.cities_total} running`,
        ],
      ]),
    );
  });
}
