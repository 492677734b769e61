import { z } from 'zod';
import { queryBool } from '../../../contract/query.js';
import { text } from '../../../contract/scalars.js';

export const UsageQuery = z.strictObject({
  aggregate_only: queryBool().describe('Leaves out `recent_by_session` and `by_agent`.'),
});
export type UsageQuery = z.infer<typeof UsageQuery>;

export const SessionParam = text.min(1).describe('The session: its id, its name or its alias.');
