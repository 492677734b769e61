import { z } from 'zod';
import { NetworkRule } from '../../../contract/network.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';
import { cityCursor, queryInt } from '../../../contract/query.js';

export const CityInfo = contract(
  'CityInfo',
  z.strictObject({
    name: z.string().describe('The name of the city.'),
    path: z.string(),
    running: z.boolean().describe('Whether it runs: only then is the rest of its operations there.'),
    error: z.string().optional().describe('Why it does not come up. Absent when it does.'),
    phases_completed: z.array(z.string()).nullable().optional(),
    status: z.string().optional().describe('What it is at: a step of coming up, `running`, `stopped`, `failed`, …'),
    error_code: z.string().optional(),
    failure_class: z
      .enum(['transient', 'structural'])
      .optional()
      .describe(
        '`transient`: it is tried again at `next_retry_at`. `structural`: not before its files are another thing, or somebody starts it.',
      ),
    next_retry_at: dateTime.optional().describe('When it is tried again. RFC 3339 in UTC; absent when it is not.'),
  }),
  'A registered city.',
);
export type CityInfo = z.infer<typeof CityInfo>;
export const SupervisorCitiesOutputBody = contract(
  'SupervisorCitiesOutputBody',
  z.strictObject({
    event_cursor: z
      .string()
      .optional()
      .describe('From before the first page was read, and only on that: a stream of the supervisor that begins here misses nothing.'),
    items: z.array(CityInfo).nullable(),
    total: int64,
    next_cursor: z.string().optional(),
  }),
  'A page of cities.',
);

const LISTED = 100_000;
export const CitiesQuery = z.strictObject({
  limit: queryInt({ min: 1, max: LISTED, default: LISTED }),
  cursor: cityCursor(),
});
export type CitiesQuery = z.infer<typeof CitiesQuery>;

const BOOTSTRAP_PROFILES = ['k8s-cell', 'kubernetes', 'kubernetes-cell', 'single-host-compat'] as const;
export const CityCreateRequest = contract(
  'CityCreateRequest',
  z.strictObject({
    dir: z
      .string()
      .min(1)
      .max(4096)
      .describe('The directory to be made: a name below the root of the cities, or an absolute path inside it.'),
    bootstrap_profile: z.enum(BOOTSTRAP_PROFILES).optional().describe('Where the city is to run; it is noted with the city.'),
    name: z.string().max(256).optional().describe('The name of the city. Absent: the last part of `dir`.'),
    provider: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('The provider of its first agent. One of it and `start_command` must be there.'),
    start_command: z.string().max(4096).optional().describe('A command that starts an agent, instead of a provider.'),
    network: NetworkRule.optional(),
  }),
  'A new city.',
);
export type CityCreateRequest = z.infer<typeof CityCreateRequest>;

export const CityRegisterRequest = contract(
  'CityRegisterRequest',
  z.strictObject({
    dir: z
      .string()
      .min(1)
      .max(4096)
      .describe('The directory of a city that is there: a name below the root of the cities, or an absolute path inside it.'),
    name: z.string().max(256).optional().describe('The name of the city. Absent: the one that its files say, or the last part of `dir`.'),
  }),
  'A directory that holds a city.',
);
export type CityRegisterRequest = z.infer<typeof CityRegisterRequest>;

export const CityPatchInputBody = contract(
  'CityPatchInputBody',
  z.strictObject({
    suspended: z.boolean().optional().describe('True: the agents of the city are stopped, and none is started. False: they go on.'),
  }),
  'What is to be another thing of a city.',
);
export type CityPatchInputBody = z.infer<typeof CityPatchInputBody>;

export const CityGetResponse = contract(
  'CityGetResponse',
  z.strictObject({
    agent_count: int64,
    name: z.string().describe('The name of the city.'),
    path: z.string(),
    rig_count: int64,
    suspended: z.boolean(),
    uptime_sec: int64,
    provider: z.string().optional().describe('The provider that agents have unless they say another one.'),
    session_template: z.string().optional(),
    version: z.string().optional(),
  }),
  'A running city.',
);
export type CityGetResponse = z.infer<typeof CityGetResponse>;

export const HealthOutputBody = contract(
  'HealthOutputBody',
  z.strictObject({
    status: z.string().describe('Always `ok`: a city that does not run has no answer.'),
    uptime_sec: int64.describe('For how many seconds it has been running.'),
    city: z.string().optional(),
    version: z.string().optional(),
  }),
  'A city runs.',
);
export type HealthOutputBody = z.infer<typeof HealthOutputBody>;
