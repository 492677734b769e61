import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { unusable } from '../config/view.js';
import { contextOf, flagsOf, pathOf, printJson, withCity, withExamples, withTarget } from '../command.js';
import { showDuration } from '../duration.js';
import { ApiError, CliError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { meantBy } from '../meant.js';
import { asked } from '../sessions/questions.js';
import { restLine } from '../sessions/rest.js';
import { facts, plain, table } from '../table.js';
import { citiesOf } from './cities-of.js';
import { cityName } from './city-name.js';

export function addReads(city: Command, io: Io): void {
  addList(city, io);
  addStatus(city, io);
}

function addList(city: Command, io: Io): void {
  const list = city.command('list').description('list the registered cities').option('--json', 'print one JSON line for each');
  withTarget(list);
  withExamples(list, 'svc city list', 'svc city list --json');
  list.action(async (_options, command: Command) => {
    const context = { ...contextOf(command, io), city: '', flags: flagsOf<AllFlags>(command), path: pathOf(command) };
    await listAll<Schemas['CityInfo']>(context, {
      empty: 'no cities yet: make one with `svc city create alpha --provider loopback`',
      show: (cities) => cityTable(cities, io),
      page: async (query) => (await ask(context.api, (signal) => context.api.http.GET('/v0/cities', { params: { query }, signal }))).data,
    });
  });
}

function addStatus(city: Command, io: Io): void {
  const status = city
    .command('status')
    .alias('show')
    .argument('[name]', 'the city (default: as --city)')
    .description('show one city: its state and what it has')
    .option('--json', 'print the answer as one JSON line');
  withCity(withTarget(status));
  withExamples(status, 'svc city status alpha', 'svc city status alpha --json');
  status.action(async (given: string | undefined, _options, command: Command) => {
    const context = contextOf(command, io);
    const name = await cityName(given, context);
    const json = flagsOf<{ json?: boolean }>(command).json === true;
    const { api } = context;
    const params = { path: { cityName: name } };
    const answer = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/status', { params, signal })).catch(notRunning);
    if (answer !== undefined)
      return json ? printJson(io, answer.data) : io.out(running(answer.data) + waiting((await asked(api, name)).total));
    const cities = await citiesOf(api);
    const entry = cities.find((item) => item.name === name);
    if (entry === undefined) {
      const meant = meantBy(
        name,
        cities.map((item) => item.name),
      );
      const next = meant === undefined ? ': see `svc city list`' : `; did you mean ${meant}?`;
      throw new CliError(`city ${name} is not registered${next}`, EXIT.notFound);
    }
    return json ? printJson(io, entry) : io.out(listed(entry));
  });
}

function cityTable(cities: readonly Schemas['CityInfo'][], { colour }: Io): string {
  const rows = cities.map((c) => [c.name, statusOf(c), c.path, c.error ?? '']);
  return table(['NAME', 'STATUS', 'PATH', 'ERROR'], rows, { colour });
}

function notRunning(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 404) return undefined;
  throw error;
}

export function statusOf(city: Schemas['CityInfo']): string {
  return city.running ? 'running' : (city.status ?? 'waiting');
}

function listed(city: Schemas['CityInfo']): string {
  return facts([
    ['name', city.name],
    ['status', statusOf(city)],
    ['error', city.error],
    ['failure', city.failure_class],
    ['next try', city.next_retry_at],
    ['path', city.path],
  ]);
}

/** People are waited for. */
function waiting(questions: number): string {
  if (questions === 0) return '';
  return facts([['questions', `${questions} ${questions === 1 ? 'waits' : 'wait'} for an answer: see \`svc session pending\``]]);
}

function running(status: Schemas['StatusBody']): string {
  const { agents, rigs, work, mail, resting } = status;
  const about = facts([
    ['name', status.name],
    ['status', status.suspended ? 'running, suspended' : 'running'],
    ['path', status.path],
    ['up', showDuration(status.uptime_sec * 1_000)],
    ['agents', `${agents.total} (${agents.running} running, ${agents.suspended} suspended, ${agents.quarantined} quarantined)`],
    ['rigs', `${rigs.total} (${rigs.suspended} suspended)`],
    ['work', `${work.open} open, ${work.in_progress} in progress, ${work.ready} ready`],
    ['mail', `${mail.total} (${mail.unread} unread)`],
    ['resting', resting === undefined ? undefined : counted(resting)],
    ...(status.waiting ?? []).map(({ what, count, reason }): [string, string] => ['waiting', `${count} ${what}: ${reason}`]),
    ['files', refused(status)],
    ['maintenance', trouble(status.store_health)],
    ['incomplete', status.partial === true ? (status.partial_errors ?? []).join('; ') : undefined],
  ]);
  return about + (resting?.items ?? []).map(restingLine).join('');
}

/** The city goes on with what its files were. */
function refused({ name, config_rejected: rejected }: Schemas['StatusBody']): string | undefined {
  return rejected === undefined ? undefined : `${unusable(rejected)}; see \`svc config validate --city ${name}\``;
}

/** Only what somebody should look at. */
function trouble(health: Schemas['StatusStoreHealth'] | undefined): string | undefined {
  if (health === undefined || (health.last_gc_status !== 'failed' && !health.warning)) return undefined;
  const what = health.last_gc_status === 'failed' ? 'the last cycle has failed' : 'there are warnings';
  return `${what}: see \`svc maintenance status\``;
}

function counted({ total, items }: NonNullable<Schemas['StatusBody']['resting']>): string {
  const pools = items.filter(({ session_id: id }) => id === undefined).length;
  const many = (n: number, of: string): string[] => (n === 0 ? [] : [`${n} ${of}${n === 1 ? '' : 's'}`]);
  return [...many(total - pools, 'session'), ...many(pools, 'pool')].join(', ');
}

function restingLine({ session_id: id, name, detail, ...rest }: NonNullable<Schemas['StatusBody']['resting']>['items'][number]): string {
  return `  ${plain(`${name} ${restLine(rest, id)}${detail === undefined ? '' : `: ${detail}`}`)}\n`;
}
