import { z } from 'zod';
import { contract } from './registry.js';
import { dateTime, int64 } from './scalars.js';

/** What the limits of sandboxes are made of on a host. */
export const LimitsBy = contract(
  'RunnerLimits',
  z.strictObject({
    memory: z.enum(['cgroup', 'rlimit', 'none']).meta({ description: 'What limits memory: of a sandbox together, or of each process.' }),
    processes: z
      .enum(['cgroup', 'rlimit', 'none'])
      .meta({ description: 'What limits how many processes there are: of a sandbox, or of the user of the service.' }),
    cpu: z.enum(['cgroup', 'nice', 'none']).meta({ description: 'What limits processors: `nice` lets the service go first and no more.' }),
    files: z.enum(['rlimit', 'none']).meta({ description: 'What limits open files, of each process.' }),
  }),
  'What limits the programs of cities: groups of the kernel (`cgroup`), which count all processes of a sandbox together, or limits of each process or user (`rlimit`, `nice`).',
);
export type LimitsBy = z.infer<typeof LimitsBy>;

export const Runner = contract(
  'Runner',
  z.strictObject({
    id: z.string().describe('Its id.'),
    host: z.string(),
    process_id: z.string().describe('The id of its process.'),
    state: z.enum(['active', 'draining', 'stopped', 'lost']).meta({
      description: '`draining` takes no more sessions; a `lost` one has not renewed its lease, and its sessions went on elsewhere.',
    }),
    capacity: int64.meta({ description: 'Sessions that it runs at once.' }),
    isolation: z.enum(['bubblewrap', 'users', 'none']).meta({
      description:
        'What stands between the programs of cities and the rest of its host: a sandbox, or a system user for each session and a group for each city. `none`: they can do what the service can.',
    }),
    limits: LimitsBy.optional().meta({ description: 'Absent of those that an earlier release has registered.' }),
    sessions: int64.meta({ description: 'Sessions whose processes it holds, those that are being started or stopped included.' }),
    live: int64.meta({ description: 'Those of them whose processes answer.' }),
    lease_age_s: z.number().meta({ description: 'Seconds since it was heard of last.' }),
    lease_until: dateTime.describe('Until when it holds its sessions without being heard of. RFC 3339 in UTC.'),
    registered_at: dateTime,
    ended_at: dateTime.optional(),
  }),
  'A worker process that runs agents.',
);
export type Runner = z.infer<typeof Runner>;

export const ListBodyRunner = contract(
  'ListBodyRunner',
  z.strictObject({
    items: z.array(Runner).nullable(),
    total: int64,
    partial: z.boolean().optional().describe('True when there are more runners than are shown.'),
  }),
  'The runners.',
);
export type ListBodyRunner = z.infer<typeof ListBodyRunner>;
