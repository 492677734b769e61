import { Option, type Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { contextOf, flagsOf, pathOf, printJson, withCity, withExamples, withTarget } from '../command.js';
import type { Io } from '../io.js';
import { table } from '../table.js';
import { durationOf } from './options.js';
import { tellSlip } from './slip.js';

const GROUPS = ['type', 'actor'] as const;
interface HistogramFlags {
  readonly type?: string;
  readonly since?: string;
  readonly until?: string;
  readonly bucket?: string;
  readonly by?: (typeof GROUPS)[number];
  readonly payloadMatch?: string[];
  readonly json?: boolean;
}
const BAR = 40;

export function addHistogram(events: Command, io: Io): void {
  const histogram = withCity(withTarget(events.command('histogram').description('count events over time, of a city or of all')))
    .option('--since <duration>', 'where it begins: so long ago (default 24h)')
    .option('--until <duration>', 'where it ends: so long ago (default now)')
    .option('--bucket <duration>', 'so long at once, such as 15m')
    .addOption(new Option('--by <what>', 'which they are').choices(GROUPS))
    .option('--json', 'print the answer as one JSON line');
  withExamples(
    histogram,
    'svc events histogram',
    'svc events histogram --since 168h --bucket 24h --by type',
    'svc events histogram --no-city --json',
  );
  histogram.action(async (_options, command: Command) => {
    const context = contextOf(command, io);
    const { api } = context;
    const { type, since, until, bucket, by, payloadMatch, json } = flagsOf<HistogramFlags>(command);
    for (const [flag, text] of Object.entries({ since, until, bucket })) if (text !== undefined) durationOf(`--${flag}`, text);
    const given = { type, since, until, bucket, by, payload_match: payloadMatch };
    const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const { city } = await context.scope();
    const { data } =
      city === undefined
        ? await ask(api, (signal) => api.http.GET('/v0/events/histogram', { params: { query }, signal }))
        : await ask(api, (signal) =>
            api.http.GET('/v0/city/{cityName}/events/histogram', { params: { path: { cityName: city }, query }, signal }),
          );
    if (data.points.length === 0) tellSlip(pathOf(command), type, io);
    if (json === true) return printJson(io, data);
    if (data.total_is_estimate === true) io.err(`${pathOf(command)}: too many to look at each: the counts are estimates\n`);
    if (data.points.length === 0) return io.err('no events\n');
    await io.out(shown(data, io));
  });
}

function shown({ points }: Schemas['EventHistogramBody'], io: Io): string {
  const most = Math.max(...points.map(({ count }) => count));
  const rows = points.map(({ at, count, of, others }) => [
    at.replace(/\.\d+Z$/, 'Z'),
    others === true ? '(others)' : (of ?? ''),
    String(count),
    '#'.repeat(Math.ceil((count / most) * BAR)),
  ]);
  return table(['FROM', 'OF', 'EVENTS', ''], rows, io);
}
