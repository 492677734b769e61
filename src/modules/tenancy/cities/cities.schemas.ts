import { z } from 'zod';
import { NetworkRule } from '../../../contract/network.js';
import { contract } from '../../../contract/registry.js';
import { CITY_NAME_MAX, CITY_NAME_PATTERN, dateTime, int64 } from '../../../contract/scalars.js';
import { queryInt, queryText } from '../../../contract/query.js';

export const CityInfo = contract(
  'CityInfo',
  z.strictObject({
    name: z.string(),
    path: z.string(),
    running: z.boolean(),
    error: z.string().optional(),
    phases_completed: z.array(z.string()).nullable().optional(),
    status: z.string().optional(),
    error_code: z.string().optional(),
    failure_class: z.enum(['transient', 'structural']).optional(),
    next_retry_at: dateTime.optional(),
  }),
);
export type CityInfo = z.infer<typeof CityInfo>;
export const SupervisorCitiesOutputBody = contract(
  'SupervisorCitiesOutputBody',
  z.strictObject({ items: z.array(CityInfo).nullable(), total: int64, next_cursor: z.string().optional() }),
);

const LISTED = 100_000;
/** A page goes on behind the name that its cursor is. */
export const CitiesQuery = z.strictObject({
  limit: queryInt({ min: 1, max: LISTED, default: LISTED }),
  cursor: queryText({ max: CITY_NAME_MAX, pattern: CITY_NAME_PATTERN }),
});
export type CitiesQuery = z.infer<typeof CitiesQuery>;

export const BOOTSTRAP_PROFILES = ['k8s-cell', 'kubernetes', 'kubernetes-cell', 'single-host-compat'] as const;
export const CityCreateRequest = contract(
  'CityCreateRequest',
  z.strictObject({
    dir: z.string().min(1).max(4096),
    bootstrap_profile: z.enum(BOOTSTRAP_PROFILES).optional(),
    name: z.string().max(256).optional(),
    provider: z.string().min(1).max(256).optional(),
    start_command: z.string().max(4096).optional(),
    network: NetworkRule.optional(),
  }),
);
export type CityCreateRequest = z.infer<typeof CityCreateRequest>;

export const CityRegisterRequest = contract(
  'CityRegisterRequest',
  z.strictObject({ dir: z.string().min(1).max(4096), name: z.string().max(256).optional() }),
);
export type CityRegisterRequest = z.infer<typeof CityRegisterRequest>;

export const CityPatchInputBody = contract('CityPatchInputBody', z.strictObject({ suspended: z.boolean().optional() }));
export type CityPatchInputBody = z.infer<typeof CityPatchInputBody>;

export const CityGetResponse = contract(
  'CityGetResponse',
  z.strictObject({
    agent_count: int64,
    name: z.string(),
    path: z.string(),
    rig_count: int64,
    suspended: z.boolean(),
    uptime_sec: int64,
    provider: z.string().optional(),
    session_template: z.string().optional(),
    version: z.string().optional(),
  }),
);
export type CityGetResponse = z.infer<typeof CityGetResponse>;

export const HealthOutputBody = contract(
  'HealthOutputBody',
  z.strictObject({ status: z.string(), uptime_sec: int64, city: z.string().optional(), version: z.string().optional() }),
);
export type HealthOutputBody = z.infer<typeof HealthOutputBody>;
