import { z } from 'zod';
import { RIGHTS } from '../../../contract/principal.js';
import { contract } from '../../../contract/registry.js';
import { dateTime } from '../../../contract/scalars.js';

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
  z.strictObject({ id: z.string(), role: z.enum(['all', 'api', 'worker']), host: z.string(), version: z.string() }),
  'A process that is alive.',
);

export const InfoDatabase = contract(
  'InfoDatabase',
  z.strictObject({
    version: z.string(),
    schema: z.string().meta({ description: 'The newest migration that it has.' }),
    missing: z.array(z.string()).meta({ description: 'Migrations that this release has and the database has not.' }),
    unknown: z
      .array(z.string())
      .meta({ description: 'Migrations of the database that this release does not know: a newer one has made them.' }),
  }),
);

const InfoDeployment = contract(
  'InfoDeployment',
  z.strictObject({
    database: InfoDatabase,
    queue: z.enum(['redis', 'postgres']),
    processes: z.array(InfoProcess),
    partial: z.boolean().optional().meta({ description: 'There are more processes.' }),
  }),
);

export const SupervisorInfo = contract(
  'SupervisorInfo',
  z.strictObject({
    version: z.string(),
    time: dateTime.meta({ description: 'By the clock of the process that answers.' }),
    auth: z.enum(['off', 'keys']),
    read_only: z.boolean().meta({ description: 'What changes something is refused: it listens to the network and asks for no keys.' }),
    tls: z.boolean(),
    caller: InfoCaller,
    deployment: InfoDeployment.optional().meta({ description: 'For callers that are not limited to cities.' }),
  }),
  'How the supervisor is set up, as far as the caller may know.',
);
export type SupervisorInfo = z.infer<typeof SupervisorInfo>;
