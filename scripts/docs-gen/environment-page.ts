import { z } from 'zod';
import { DURATION_PATTERN } from '../../src/contract/duration.js';
import { EnvSchema } from '../../src/platform/config/environment.js';
import { anchor, code, GENERATED, page, table } from './markdown.js';

type Variable = readonly [name: string, values: string, fallback: string, about: string];

/** What the client reads, beside its flags. */
const CLIENT: readonly Variable[] = [
  [
    'SVC_API_URL',
    'addresses',
    'the context, `server.json`, `http://127.0.0.1:8372`',
    'The server, or its replicas with commas between; `--api` wins.',
  ],
  ['SVC_CONTEXT', 'name', 'the one in use', 'The context of `svc context`: a server, a key file and a city.'],
  ['SVC_API_KEY', 'key', '`$SVC_DATA_DIR/admin.key`', 'The key; `--key-file` wins.'],
  ['SVC_KEY_FILE', 'file', '', 'A file that holds the key; `SVC_API_KEY` wins, and the token of a session.'],
  ['SVC_CITY', 'name', 'the city whose directory you are in', 'The city; `--city` wins.'],
  ['SVC_CA_CERT', 'file', '', 'PEM file of an authority to trust beside the usual ones; `--ca-cert` wins.'],
  ['SVC_PAGER', 'command', '`PAGER`, then `less`', 'What long lists are read with, on a terminal only.'],
  ['NO_COLOR', 'text', '', 'Anything: no colours.'],
  [
    'FORCE_COLOR',
    'text',
    '',
    'Anything but `0` and `false`: colours also in files and pipes, whatever `NO_COLOR` says. `0` and `false`: none.',
  ],
  ['SVC_DATA_DIR', 'directory', 'the nearest `.svc` upwards', 'Where `server.json` and `admin.key` of a server lie.'],
];

/** What the processes of sessions find. */
const SESSIONS: readonly Variable[] = [
  ['SVC_SESSION_ID', 'id', '', 'The session.'],
  ['SVC_SESSION_NAME', 'name', '', 'Its name.'],
  ['SVC_SESSION_TOKEN', 'token', '', 'With it `svc` and requests are the session’s; it may what `operate` may, in its city.'],
  ['SVC_AGENT', 'name', '', 'Who acts: `[rig/]agent`, or a member of a pool.'],
  ['SVC_CITY_PATH', 'directory', '', 'The city.'],
  ['SVC_RIG', 'name', '', 'The rig, if it works in one.'],
  ['SVC_RIG_ROOT', 'directory', '', 'Its repository.'],
  ['SVC_DIR', 'directory', '', 'The working directory.'],
  ['SVC_TRIGGER_BEAD_ID', 'id', '', 'The bead that the session was started for.'],
];

/** Every variable of the service, of the client and of sessions. */
export function environmentPage(): string {
  return page(
    GENERATED,
    '# Environment',
    'Everything about a process is an environment variable. A wrong one stops the start with a message that names it.',
    '## The service',
    variables([
      ...service(),
      ['SVC_WEBHOOK_SECRET_…', 'texts', '', 'Of apis: what senders of webhooks sign with, or show; each of 16 characters or more.'],
    ]),
    '## The client',
    'Which server `svc` calls is said by the first of these that is there; `svc doctor` tells which it is:',
    [
      '1. `--api`',
      '2. `SVC_API_URL`',
      '3. the context in use',
      '4. `server.json` of `SVC_DATA_DIR`, or of the nearest `.svc` from the working directory upwards. Its process has to run, and nobody else may be able to write the file. The nearest `.svc` also has to name this machine, and to lie in no directory of a city',
      '5. the default address',
    ].join('\n'),
    'A key of the environment is not sent to an address that only the nearest `.svc` names, unless its `admin.key` is the same: set `SVC_API_URL` or `SVC_DATA_DIR` then.',
    variables(CLIENT, 'client-'),
    '## The processes of sessions',
    variables(SESSIONS, 'session-'),
  );
}

export function service(): Variable[] {
  const { properties = {} } = z.toJSONSchema(EnvSchema, { io: 'input', unrepresentable: 'any' }) as { properties?: Record<string, Member> };
  return Object.entries(properties).map(([name, member]) => [
    name,
    valuesOf(member),
    member.default === undefined || member.default === '' ? '' : code(String(member.default)),
    member.description ?? '',
  ]);
}

interface Member {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: string;
  readonly anyOf?: readonly Member[];
  readonly format?: string;
  readonly pattern?: string;
  readonly default?: string | number;
  readonly description?: string;
}

function valuesOf(member: Member): string {
  if (member.enum !== undefined) return member.enum.map((one) => code(String(one))).join(', ');
  if (member.anyOf !== undefined) return member.anyOf.map(valuesOf).join(', ');
  if (member.const !== undefined) return code(member.const);
  if (member.format === 'uri') return 'address';
  if (member.pattern === DURATION_PATTERN) return 'such as `30d`';
  return member.type === 'number' || member.type === 'integer' || member.type === undefined ? 'number' : 'text';
}

const variables = (all: readonly Variable[], prefix = ''): string =>
  table(
    ['Variable', 'Values', 'Default', 'Meaning'],
    all.map(([name, values, fallback, about]) => [`${anchor(`${prefix}${name.replace('…', '')}`)}${code(name)}`, values, fallback, about]),
  );
