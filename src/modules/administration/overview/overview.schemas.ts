import { z } from 'zod';
import { cityCursor, queryInt, queryList } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';

const counts = {
  sessions: z
    .record(z.string(), int64)
    .describe('How many sessions are in each state, closed ones left out. A state that none is in is absent.'),
  pending: int64.describe('Questions of sessions that wait for a person.'),
  open: int64.describe('Beads that are open and nobody is at.'),
  ready: int64.describe('Beads that can be taken now.'),
  in_progress: int64.describe('Beads that somebody is at.'),
  unread: int64.describe('Messages to `human` that were not read.'),
};

const OverviewEvent = contract(
  'OverviewEvent',
  z.strictObject({ seq: int64.describe('Its position in the log of the city.'), ts: dateTime.describe('When it was. RFC 3339 in UTC.') }),
  'The last event of a city.',
);

export const OverviewCity = contract(
  'OverviewCity',
  z.strictObject({
    name: z.string(),
    running: z.boolean(),
    status: z.string().describe('What it is at, as in the list of cities.'),
    suspended: z.boolean(),
    error: z.string().optional().describe('Why it does not come up, its first 300 characters. Absent when it does.'),
    config_error: z
      .string()
      .optional()
      .describe(
        'Why the files as they are now cannot be used, the first of it, its first 300 characters: the city goes on with what they were. Absent when they can.',
      ),
    ...counts,
    cost_today_usd: z.number().describe('What the turns have cost that ended since midnight in the time zone of the city.'),
    unpriced_today: int64.describe('Turns among them whose cost nobody knows.'),
    last_event: OverviewEvent.optional(),
    total_is_estimate: z
      .boolean()
      .optional()
      .describe('True when it has more than one answer counts of a city: there is at least so much.'),
  }),
  'A city in numbers.',
);
export type OverviewCity = z.infer<typeof OverviewCity>;

export const OverviewTotals = contract(
  'OverviewTotals',
  z.strictObject({
    cities: int64.describe('How many cities there are.'),
    running: int64.describe('How many of them run.'),
    ...counts,
    total_is_estimate: z
      .boolean()
      .optional()
      .describe('True when there are more unfinished beads than one answer counts: there are at least so many.'),
  }),
  'All cities that the caller may see, together.',
);
export type OverviewTotals = z.infer<typeof OverviewTotals>;

export const OverviewOutputBody = contract(
  'OverviewOutputBody',
  z.strictObject({
    event_cursor: z.string().meta({ description: 'From before anything was counted: a stream that begins here misses nothing.' }),
    items: z.array(OverviewCity),
    total: int64,
    totals: OverviewTotals.optional().describe('Only on the first page.'),
    next_cursor: z.string().optional(),
  }),
  'The cities that the caller may see, in numbers, by name.',
);
export type OverviewOutputBody = z.infer<typeof OverviewOutputBody>;

export const OverviewQuery = z.strictObject({
  cities: queryList(),
  limit: queryInt({ min: 1, max: 1000, default: 100 }),
  cursor: cityCursor(),
});
export type OverviewQuery = z.infer<typeof OverviewQuery>;
