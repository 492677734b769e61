import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { queryInt } from '../../../contract/query.js';
import { dateTime, int64, text } from '../../../contract/scalars.js';

export const ServiceNameParam = text.min(1).max(128).describe('The name of the service.');

const optional = z.string().optional();

export const Status = contract(
  'Status',
  z.strictObject({
    service_name: z.string().describe('The name of the service.'),
    kind: optional.meta({ description: '`workflow`: built in, chosen by its contract. `proxy_process`: a process of its own.' }),
    mount_path: z.string().meta({ description: 'The path below which it is reached.' }),
    publish_mode: z.string().meta({ description: '`direct`: anybody reaches it. `private`: whoever reaches the city.' }),
    state_root: z.string().meta({ description: 'Where it keeps its state, from the directory of the city.' }),
    visibility: optional,
    hostname: optional,
    allow_websockets: z.boolean().optional().describe('Whether it takes WebSockets.'),
    workflow_contract: optional.describe('The contract by which a built-in service was chosen.'),
    state: z.enum(['starting', 'ready', 'degraded', 'stopping', 'stopped']).optional().describe('How it is.'),
    local_state: z.string().meta({ description: 'As `state`; `config_error` and `close_error` are `degraded` there.' }),
    publication_state: z
      .string()
      .describe('Whether it is reached from outside: `private`, or `blocked` for the reason that `reason` says.'),
    reason: optional.meta({ description: 'Why it is not ready, or not published, as one word.' }),
    detail: optional.meta({ description: 'The same in words, such as the status that its process ended with.' }),
    url: optional,
    attempts: int64.optional().meta({ description: 'How many processes it has had.' }),
    retry_at: dateTime.optional().meta({ description: 'When its process is begun anew.' }),
    updated_at: dateTime,
  }),
  'A service of a city, and how it is.',
);
export type Status = z.infer<typeof Status>;

export const ListBodyStatus = contract(
  'ListBodyStatus',
  z.strictObject({
    items: z.array(Status).nullable(),
    total: int64,
    next_cursor: optional,
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'The services of a city.',
);
export type ListBodyStatus = z.infer<typeof ListBodyStatus>;

export const ServiceRestartOutputBody = contract(
  'ServiceRestartOutputBody',
  z.strictObject({
    status: z.string().describe('Always `ok`.'),
    action: z.string().describe('Always `restart`.'),
    service: z.string().describe('The name of the service.'),
  }),
  'The process of the service begins anew.',
);
export type ServiceRestartOutputBody = z.infer<typeof ServiceRestartOutputBody>;

export const ServiceLogLine = contract(
  'ServiceLogLine',
  z.strictObject({
    seq: int64.min(1).meta({ description: 'Its number: lines of a service are counted without a gap.' }),
    at: dateTime.describe('When it was written. RFC 3339 in UTC.'),
    attempt: int64.meta({ description: 'Which of its processes has written it.' }),
    text: z.string().describe('The line, without its end.'),
  }),
  'A line that a service has written.',
);
export type ServiceLogLine = z.infer<typeof ServiceLogLine>;

export const ServiceLogBody = contract(
  'ServiceLogBody',
  z.strictObject({
    items: z.array(ServiceLogLine).nullable().describe('The lines, the oldest first. Null is the same as none.'),
    head: int64.meta({ description: 'The number of the newest line: `Last-Event-ID` of the stream that goes on from here.' }),
    before: int64.optional().meta({ description: 'As the parameter: what comes before these lines.' }),
  }),
  'What a service has written.',
);
export type ServiceLogBody = z.infer<typeof ServiceLogBody>;

export const ServiceLogQuery = z.strictObject({
  tail: queryInt({ min: 1, max: 1_000, default: 100 }).describe('How many lines, the newest.'),
  before: queryInt({ min: 1, max: Number.MAX_SAFE_INTEGER }).optional().describe('Only lines before this number.'),
});
export type ServiceLogQuery = z.infer<typeof ServiceLogQuery>;

export const ServiceLogStreamQuery = z.strictObject({
  tail: queryInt({ min: 0, max: 1_000, default: 10 }).describe('How many lines it begins with, where no `Last-Event-ID` says it.'),
});
export type ServiceLogStreamQuery = z.infer<typeof ServiceLogStreamQuery>;
export const NoQuery = z.strictObject({});
