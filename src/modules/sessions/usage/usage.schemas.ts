import { z } from 'zod';
import { cityCursor, queryBool, queryEnum, queryInt, queryList, queryText } from '../../../contract/query.js';
import { text } from '../../../contract/scalars.js';

export const UsageQuery = z.strictObject({
  aggregate_only: queryBool().describe('Leaves out `recent_by_session` and `by_agent`.'),
});
export type UsageQuery = z.infer<typeof UsageQuery>;

export const SessionParam = text.min(1).describe('The session: its id, its name or its alias.');

export const CitiesUsageQuery = z.strictObject({
  cities: queryList(),
  limit: queryInt({ min: 1, max: 1000, default: 100 }),
  cursor: cityCursor(),
});
export type CitiesUsageQuery = z.infer<typeof CitiesUsageQuery>;

export const UsageSeriesQuery = z.strictObject({
  since: queryText().describe('Where it begins: a duration before now, `24h` unless given.'),
  until: queryText().describe('Where it ends: a duration before now. Absent: now.'),
  bucket: queryText().describe('How long a bucket is, such as `15m`: 1s at least. Absent: so that there are a hundred at the most.'),
  by: queryEnum(['agent', 'model', 'session']).describe('Tells those apart that used most.'),
});
export type UsageSeriesQuery = z.infer<typeof UsageSeriesQuery>;
