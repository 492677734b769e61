import { z } from 'zod';
import { RIGHTS } from '../../../contract/principal.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';

export const InfoCaller = contract(
  'InfoCaller',
  z.strictObject({
    kind: z.enum(['anybody', 'key', 'session']).meta({ description: '`anybody`: no key was shown, and none is needed.' }),
    name: z.string().meta({ description: 'The actor of the events that the caller causes.' }),
    id: z.string().optional().meta({ description: 'Of the key.' }),
    rights: z.array(z.enum(RIGHTS)).meta({ description: 'What it may change, beside reading.' }),
    cities: z.array(z.string()).nullable().meta({ description: 'The cities that it is limited to; null: all of them.' }),
    expires_at: dateTime.nullable().meta({ description: 'From then on the key is refused.' }),
  }),
  'Who calls, and what he may.',
);
export type InfoCaller = z.infer<typeof InfoCaller>;

export const InfoProcess = contract(
  'InfoProcess',
  z.strictObject({
    id: z.string().describe('The id of the process.'),
    role: z.enum(['all', 'api', 'worker']).describe('`api` answers requests, `worker` runs agents, `all` does both.'),
    host: z.string(),
    version: z.string(),
  }),
  'A process that is alive.',
);

export const InfoDatabase = contract(
  'InfoDatabase',
  z.strictObject({
    version: z.string().describe('The version of PostgreSQL.'),
    schema: z.string().meta({ description: 'The newest migration that it has.' }),
    missing: z.array(z.string()).meta({ description: 'Migrations that this release has and the database has not.' }),
    unknown: z
      .array(z.string())
      .meta({ description: 'Migrations of the database that this release does not know: a newer one has made them.' }),
  }),
  'The database and its migrations.',
);

const InfoPlace = contract(
  'InfoPlace',
  z.strictObject({
    place: z
      .enum(['cities', 'data', 'database'])
      .describe(
        '`cities`: the files of cities; `data`: those of the process; `database`: those of the database that it brings. Absent where it brings none.',
      ),
    directory: z.string().describe('Its path on the machine of the process.'),
    free_bytes: int64.describe('What is free there for the process.'),
    level: z.enum(['ok', 'warn', 'critical']).meta({ description: 'By `SVC_DISK_WARN_MB` and `SVC_DISK_FLOOR_MB`.' }),
    writable: z.boolean().describe('Whether the process may write there.'),
  }),
  'A folder of the process that answers.',
);

const InfoDeployment = contract(
  'InfoDeployment',
  z.strictObject({
    database: InfoDatabase,
    queue: z.enum(['redis', 'postgres']).describe('What wakes workers.'),
    places: z.array(InfoPlace).describe('Where the process that answers has files.'),
    host_file_fault: z.string().optional().meta({
      description:
        'What is wrong with `host.toml` of the process that answers, and where: until it is mended git signs in nowhere there, and the process does not start again. Absent: nothing.',
    }),
    processes: z.array(InfoProcess).describe('The processes that are alive.'),
    partial: z.boolean().optional().meta({ description: 'There are more processes.' }),
  }),
  'What the service runs on.',
);

export const SupervisorInfo = contract(
  'SupervisorInfo',
  z.strictObject({
    version: z.string(),
    time: dateTime.meta({ description: 'By the clock of the process that answers.' }),
    auth: z.enum(['off', 'keys']).describe('Whether it asks for keys.'),
    read_only: z.boolean().meta({ description: 'What changes something is refused: it listens to the network and asks for no keys.' }),
    tls: z.boolean().describe('Whether it speaks TLS.'),
    heartbeat_ms: int64.describe('The longest silence of a stream, in milliseconds: whoever hears nothing for much longer has lost it.'),
    caller: InfoCaller,
    deployment: InfoDeployment.optional().meta({ description: 'For callers that are not limited to cities.' }),
  }),
  'How the supervisor is set up, as far as the caller may know.',
);
export type SupervisorInfo = z.infer<typeof SupervisorInfo>;
