import { Option, type Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, contextOf, flagsOf, pathOf, printJson, withExamples, type CityContext } from '../command.js';
import { showDuration } from '../duration.js';
import { nameOf } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { plain } from '../table.js';
import { durationText } from '../values.js';
import { totalsTable, usersTable } from './view.js';

interface UsageFlags {
  readonly json?: boolean;
  readonly allCities?: boolean;
  readonly since?: string;
  readonly bucket?: string;
  readonly by?: string;
}
const GROUPS = ['agent', 'model', 'session'] as const;
type Group = (typeof GROUPS)[number];

export function addUsage(program: Command, io: Io): void {
  const usage = cityCommand(program, 'usage', 'show what a city or a session has used: tokens and what they cost')
    .argument('[session]', 'only of this session: an id, a name or an alias')
    .option('--since <duration>', 'over time: what was used since then, such as 24h')
    .option('--bucket <duration>', 'over time: so long at once, such as 1h')
    .addOption(new Option('--by <what>', 'over time: who used it').choices(GROUPS))
    .option('--all-cities', 'each city, today')
    .option('--json', 'print the answer as one JSON line');
  withExamples(
    usage,
    'svc usage',
    'svc usage al-7',
    'svc usage --since 24h --bucket 1h --by agent',
    'svc usage --all-cities',
    'svc usage --json',
  );
  usage.action(async (name: string | undefined, _options, action: Command) => {
    const asked = flagsOf<UsageFlags>(action);
    const overTime = asked.since !== undefined || asked.bucket !== undefined || asked.by !== undefined;
    if ([name !== undefined, overTime, asked.allCities === true].filter(Boolean).length > 1)
      throw new CliError('a session, --all-cities and what is over time are mutually exclusive');
    if (asked.allCities === true) return allCities(action, io);
    const context = await cityContextOf<UsageFlags>(action, io);
    const { api, city, flags, path } = context;
    if (overTime) return series(context);
    if (name !== undefined) {
      const params = { path: { cityName: city, id: nameOf('a session', name) } };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}/usage', { params, signal }));
      const spans = [
        ['last 24 h', data.last_24h],
        ['in all', data.total],
      ] as const;
      return flags.json === true ? printJson(io, data) : io.out(totalsTable(spans, io));
    }
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/usage', { params, signal }));
    if (flags.json === true) return printJson(io, data);
    for (const why of data.partial_reasons ?? []) io.err(`${path}: not all is counted: ${plain(why)}\n`);
    const recent = `last ${showDuration(data.recent_window_secs * 1_000)}`;
    await io.out(
      totalsTable(
        [
          [recent, data.recent],
          ['today', data.today],
          ['last 24 h', data.last_24h],
        ],
        io,
      ),
    );
    const agents = (data.by_agent ?? []).map((of) => [of.agent, of] as const);
    if (agents.length > 0) await io.out(`\n${usersTable('AGENT, LAST 24 H', agents, io)}`);
    const sessions = (data.recent_by_session ?? []).map((of) => [of.session_id ?? of.session, of] as const);
    if (sessions.length > 0) await io.out(`\n${usersTable(`SESSION, ${recent.toUpperCase()}`, sessions, io)}`);
  });
}

/** What was used, a bucket of time a line. */
async function series({ api, city, flags, io, path }: CityContext<UsageFlags>): Promise<void> {
  const { since, bucket, by } = flags;
  const query = {
    ...(since === undefined ? {} : { since: durationText('--since', since) }),
    ...(bucket === undefined ? {} : { bucket: durationText('--bucket', bucket) }),
    ...(by === undefined ? {} : { by: by as Group }),
  };
  const params = { path: { cityName: city }, query };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/usage/series', { params, signal }));
  if (flags.json === true) return printJson(io, data);
  for (const why of data.partial_reasons ?? []) io.err(`${path}: not all is counted: ${plain(why)}\n`);
  if (data.points.length === 0) return io.err('nothing was used\n');
  const named = ({ of, others }: Schemas['UsagePoint']): string =>
    others === true ? ' (others)' : of === undefined ? '' : ` ${plain(of)}`;
  await io.out(
    totalsTable(
      data.points.map((point) => [`${point.at.replace(/\.\d+Z$/, 'Z')}${named(point)}`, point] as const),
      io,
    ),
  );
}

async function allCities(action: Command, io: Io): Promise<void> {
  const context = { ...contextOf(action, io), city: '', flags: flagsOf<AllFlags>(action), path: pathOf(action) };
  const { api } = context;
  await listAll<Schemas['CityUsage']>(context, {
    empty: 'no cities yet',
    show: (cities) =>
      totalsTable(
        cities.map(({ city, today }) => [city, today] as const),
        io,
      ),
    page: async ({ cursor }) => {
      const query = { limit: 1_000, ...(cursor === undefined ? {} : { cursor }) };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/usage', { params: { query }, signal }));
      for (const why of data.partial_reasons ?? []) io.err(`${context.path}: not all is counted: ${plain(why)}\n`);
      return data;
    },
  });
}
