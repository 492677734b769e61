import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { moment } from '../duration.js';
import { nameOf } from '../edits.js';
import { TIMEOUT, waitingOf } from '../ending.js';
import { CliError } from '../errors.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { lookUntil } from '../pauses.js';
import { facts, plain, table } from '../table.js';
import { addLogs } from './logs.command.js';

type Service = Schemas['Status'];

interface Flags {
  readonly json?: boolean;
  readonly wait?: boolean;
  readonly timeout?: string;
}

const JSON_LINE = ['--json', 'print the answer as one JSON line'] as const;
/** Between two looks at a service that is waited for, in milliseconds, and how long that is done unless told. */
const LOOK_MS = 300;
const WAIT_MS = 120_000;

/** What to do where a service is not there. */
export const ofService = hinted(404, 'see `svc service list`');

export function addService(program: Command, io: Io): void {
  const service = program.command('service').description('programs that a city serves beside the contract');

  const list = cityCommand(service, 'list', 'list services, by name, and how each is').option('--json', 'print one JSON line for each');
  withExamples(list, 'svc service list');
  list.action(async (_options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api, city } = context;
    const params = { path: { cityName: city } };
    await listAll<Service>(context, {
      empty: 'no services; write one as [[service]] in city.toml',
      show: (services) => {
        const rows = services.map((one) => [
          one.service_name,
          one.kind ?? '',
          one.local_state,
          one.publication_state,
          one.mount_path,
          why(one),
        ]);
        return table(['NAME', 'KIND', 'STATE', 'PUBLISHED', 'PATH', 'REASON'], rows, io);
      },
      page: async () => ({
        items: (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/services', { params, signal }))).data.items,
      }),
    });
  });

  const show = cityCommand(service, 'show', 'show a service, and how it is')
    .argument('<name>', 'the service')
    .option(...JSON_LINE);
  withExamples(show, 'svc service show board');
  show.action(async (name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, name: nameOf('a service', name) } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/service/{name}', { params, signal })).catch(ofService);
    return flags.json === true ? printJson(io, data) : io.out(details(data, api.url));
  });

  const restart = cityCommand(service, 'restart', 'begin the process of a service anew')
    .argument('<name>', 'the service')
    .option('--wait', 'wait until it is ready, and exit 1 when it fails')
    .option(TIMEOUT[0], `${TIMEOUT[1]} (default: ${WAIT_MS / 60_000}m)`)
    .option(...JSON_LINE);
  withExamples(restart, 'svc service restart board --wait');
  restart.action(async (name: string, _options, action: Command) => {
    const { api, city, flags, path: called } = await cityContextOf<Flags>(action, io);
    const timeoutMs = waitingOf(flags);
    const path = { cityName: city, name: nameOf('a service', name) };
    const { data } = await ask(api, (signal) =>
      api.http.POST('/v0/city/{cityName}/service/{name}/restart', { params: { path }, signal }),
    ).catch(ofService);
    if (flags.wait !== true) return flags.json === true ? printJson(io, data) : io.out(`${name} is restarted\n`);
    const look = async () => {
      const found = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/service/{name}', { params: { path }, signal }));
      return ['ready', 'degraded', 'stopped'].includes(found.data.state ?? '') ? found.data : undefined;
    };
    const goesOn = `${name} goes on to start: see \`svc service show ${name}\``;
    const found = await lookUntil(io, called, look, { everyMs: LOOK_MS, timeoutMs: timeoutMs ?? WAIT_MS, goesOn });
    if (found.state === 'ready') return flags.json === true ? printJson(io, found) : io.out(`${name} is ready\n`);
    throw new CliError(`${name} is ${found.local_state}: ${why(found)}; see \`svc service logs ${name}\``);
  });

  addLogs(service, io);

  const open = cityCommand(service, 'open', 'print the address of a service, for a browser or another program').argument(
    '<name>',
    'the service',
  );
  withExamples(open, 'curl "$(svc service open board)/healthz"');
  open.action(async (name: string, _options, action: Command) => {
    const { api, city } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, name: nameOf('a service', name) } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/service/{name}', { params, signal })).catch(ofService);
    if (data.state !== 'ready') io.err(`${plain(`${name} is ${data.local_state}${why(data) === '' ? '' : `: ${why(data)}`}`)}\n`);
    await io.out(`${addressOf(data, api.url)}\n`);
  });
}

const why = ({ reason, detail }: Service): string => [reason, detail].filter((part) => part !== undefined).join(': ');

/** Under the address that this client has for the supervisor. */
const addressOf = ({ mount_path }: Service, base: string): string => `${base.replace(/\/+$/, '')}${mount_path}`;

function details(one: Service, base: string): string {
  return facts([
    ['name', one.service_name],
    ['kind', one.kind],
    ['contract', one.workflow_contract],
    ['state', one.local_state],
    ['reason', one.reason],
    ['detail', one.detail],
    ['retried', one.retry_at],
    ['starts', one.attempts],
    ['address', addressOf(one, base)],
    ['published', one.publication_state],
    ['url', one.url],
    ['mode', one.publish_mode],
    ['visibility', one.visibility],
    ['websockets', one.allow_websockets],
    ['keeps', one.state_root],
    ['changed', one.updated_at === undefined ? undefined : moment(one.updated_at)],
  ]);
}
