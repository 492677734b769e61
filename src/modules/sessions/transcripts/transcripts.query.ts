import { z } from 'zod';
import { queryBool, queryEnum, queryInt, queryText } from '../../../contract/query.js';
import { FORMATS } from './entry-row.js';

/** How many entries an answer has at most. */
export const MAX_ENTRIES = 2_000;

/** A number of segments; text in the contract. */
const segments = queryText({ pattern: /^\d{1,9}$/, form: 'must be a number of segments' });
const entry = queryText({ max: 512 });

const exclusive = 'before and after are mutually exclusive';

export const TranscriptQuery = z
  .strictObject({
    format: queryEnum(FORMATS),
    tail: segments,
    before: entry,
    after: entry,
    limit: queryInt({ min: 1, max: MAX_ENTRIES }),
    include_thinking: queryBool(),
  })
  .refine(({ before, after }) => !(before !== undefined && after !== undefined), { message: exclusive, path: ['after'] });
export type TranscriptQuery = z.infer<typeof TranscriptQuery>;

export const SessionStreamQuery = z.strictObject({
  format: queryEnum(FORMATS),
  include_thinking: queryBool(),
  after_cursor: queryText({ max: 2_048 }),
});
export type SessionStreamQuery = z.infer<typeof SessionStreamQuery>;

export const AgentOutputQuery = z.strictObject({ tail: segments, before: entry });
export type AgentOutputQuery = z.infer<typeof AgentOutputQuery>;

export const SubAgentParam = z.string().min(1).max(512).describe('The id of the sub-agent.');

/** A route that looks at headers itself says that it takes no query: any is refused. */
export const NoQuery = z.strictObject({});
