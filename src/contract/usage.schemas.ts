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
