import { z } from 'zod';
import { contract } from './registry.js';
import { dateTime, int64 } from './scalars.js';

const tokens = {
  input_tokens: int64,
  output_tokens: int64,
  cache_read_tokens: int64,
  cache_creation_tokens: int64,
};
const cost = {
  cost_usd_estimate: z.number().meta({ description: 'What agents say it cost, else by the prices of the city.' }),
  unpriced: int64.meta({ description: 'Turns whose tokens are counted here, and whose cost nobody knows.' }),
};

export const UsageTotals = contract(
  'UsageTotals',
  z.strictObject({
    invocations: int64.meta({ description: 'Turns of which the agent has said what they used.' }),
    compute_facts: int64.meta({ description: 'Turns that have ended; `wall_seconds` is how long they took together.' }),
    ...tokens,
    wall_seconds: z.number().describe('How long turns took together, in seconds.'),
    ...cost,
  }),
  'Tokens, time and cost together.',
);
export type UsageTotals = z.infer<typeof UsageTotals>;

export const UsageSessionRecent = contract(
  'UsageSessionRecent',
  z.strictObject({ session: z.string().describe('The name of the session.'), session_id: z.string().optional(), ...tokens, ...cost }),
  'What a session has used.',
);
export type UsageSessionRecent = z.infer<typeof UsageSessionRecent>;

export const UsageAgent = contract(
  'UsageAgent',
  z.strictObject({ agent: z.string(), invocations: int64.describe('Turns of which it has said what they used.'), ...tokens, ...cost }),
  'What the sessions of an agent have used; those of bare providers are under the name of the provider.',
);
export type UsageAgent = z.infer<typeof UsageAgent>;

export const UsageBody = contract(
  'UsageBody',
  z.strictObject({
    available: z.boolean().describe('False when nothing is known.'),
    recording: z.boolean().describe('Whether it is being counted.'),
    source: z.enum(['local_estimate', 'unavailable']).describe('Where the numbers come from.'),
    today: UsageTotals.meta({ description: 'Since midnight in the time zone of the workspace, UTC without one.' }),
    last_24h: UsageTotals.optional(),
    recent: UsageTotals,
    recent_window_secs: int64.describe('How many seconds `recent` covers.'),
    recent_by_session: z
      .array(UsageSessionRecent)
      .nullable()
      .optional()
      .describe('The same by session, those that used most first. Null is the same as none.'),
    by_agent: z.array(UsageAgent).optional().meta({ description: 'Of the last 24 hours.' }),
    observed_from: z.string().optional(),
    partial: z.boolean().optional(),
    partial_reasons: z.array(z.string()).nullable().optional().describe('What is missing. Null is the same as nothing.'),
    updated_at: z.string(),
  }),
  'What a city has used.',
);
export type UsageBody = z.infer<typeof UsageBody>;

export const SessionUsageBody = contract(
  'SessionUsageBody',
  z.strictObject({
    session: z.string().describe('Its name.'),
    session_id: z.string(),
    recording: z.boolean().describe('Whether it is being counted.'),
    total: UsageTotals.describe('All that it has used.'),
    last_24h: UsageTotals,
    model: z.string().optional(),
    context_used_tokens: int64.optional(),
    context_window_tokens: int64.optional(),
    observed_from: dateTime.optional(),
    updated_at: dateTime,
  }),
  'What a session has used.',
);
export type SessionUsageBody = z.infer<typeof SessionUsageBody>;

export const UsagePoint = contract(
  'UsagePoint',
  UsageTotals.extend({
    at: dateTime.describe('When the bucket begins. RFC 3339 in UTC.'),
    of: z.string().optional().describe('With `by`: the agent, the model (empty where nobody has said it) or the id of the session.'),
    others: z.boolean().optional().describe('True for all those together that are not told apart.'),
  }),
  'What turns have used that ended in a bucket of time.',
);

export const UsageSeriesBody = contract(
  'UsageSeriesBody',
  z.strictObject({
    since: dateTime.describe('When the first bucket begins. RFC 3339 in UTC.'),
    until: dateTime.describe('Where the last one ends. RFC 3339 in UTC.'),
    bucket_s: z.number().describe('How long a bucket is, in seconds.'),
    points: z.array(UsagePoint).describe('The oldest first; of a bucket those that used most in all.'),
    partial: z
      .boolean()
      .optional()
      .describe(
        'True when there are more turns than one answer looks at: `since` is where those begin that are here; and when sessions of that time were deleted.',
      ),
    partial_reasons: z.array(z.string()).optional().describe('What is missing. Absent when nothing is.'),
  }),
  'What a city has used over time.',
);
export type UsageSeriesBody = z.infer<typeof UsageSeriesBody>;

export const CityUsage = contract(
  'CityUsage',
  z.strictObject({
    city: z.string(),
    recording: z.boolean().describe('Whether it is being counted.'),
    today: UsageTotals.meta({ description: 'Since midnight in the time zone of the city, UTC without one.' }),
    last_24h: UsageTotals,
    recent: UsageTotals,
  }),
  'What a city has used.',
);

export const CitiesUsageBody = contract(
  'CitiesUsageBody',
  z.strictObject({
    items: z.array(CityUsage),
    total: int64.describe('How many cities there are that the caller may see.'),
    next_cursor: z.string().optional(),
    recent_window_secs: int64.describe('How many seconds `recent` covers.'),
    partial: z
      .boolean()
      .optional()
      .describe(
        'True when the prices of a city are not known yet: then only what agents say is its cost; and when sessions of that time were deleted.',
      ),
    partial_reasons: z.array(z.string()).optional().describe('What is missing. Absent when nothing is.'),
  }),
  'What cities have used.',
);
export type CitiesUsageBody = z.infer<typeof CitiesUsageBody>;
