import { z } from 'zod';
import { boundedMap } from '../../../contract/bounded-map.js';
import { InteractionChoice, PendingInteraction } from '../../../contract/interactions.schemas.js';
import { queryInt, queryList, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64, text } from '../../../contract/scalars.js';

export const SessionParam = text.min(1).max(255).describe('The session: its id, its name or its alias.');

export const SessionPendingResponse = contract(
  'SessionPendingResponse',
  z.strictObject({
    supported: z.boolean().describe('Whether its provider can ask at all.'),
    pending: PendingInteraction.optional().meta({ description: 'The oldest one that is open.' }),
    others: z.array(PendingInteraction).optional().meta({
      description: 'The rest, where several are open at once, as far as they fit on a page of 2 MiB; the list of the city has all.',
    }),
  }),
  'What a session asks a person.',
);
export type SessionPendingResponse = z.infer<typeof SessionPendingResponse>;

const word = text.min(1).max(255);

export const SessionRespondInputBody = contract(
  'SessionRespondInputBody',
  z.strictObject({
    action: word.meta({
      description:
        'The id or the label of a choice, or approve (allow it once), approve_always or approve_accept_edits (from now on), deny. ' +
        'Where nothing is offered, any word.',
    }),
    request_id: word.optional().meta({ description: 'Which one is answered; may be left out while only one is open.' }),
    text: text
      .max(64 * 1024)
      .optional()
      .describe('More words for the agent.'),
    metadata: boundedMap(z.record(text.max(255), text.max(4096)), 200, 'must not have more than 200 members').optional(),
  }),
  'An answer to what a session asks.',
);
export type SessionRespondInput = z.infer<typeof SessionRespondInputBody>;

export const SessionRespondOutputBody = contract(
  'SessionRespondOutputBody',
  z.strictObject({ status: z.string().describe('Always `accepted`.'), id: z.string().describe('The id of the session.') }),
  'The answer is taken.',
);
export type SessionRespondOutputBody = z.infer<typeof SessionRespondOutputBody>;

export const CityPendingEntry = contract(
  'CityPendingEntry',
  z.strictObject({
    session_id: z.string(),
    request_id: z.string().describe('Names the question: to be given with the answer.'),
    kind: z.string().describe('`approval`: may it do something. `dialog`: what a terminal shows and waits for.'),
    prompt: z.string().optional(),
    options: z.array(z.string()).optional().meta({ description: 'The labels of `choices`.' }),
    choices: z.array(InteractionChoice).optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    opened_at: z.string().optional(),
    agent: z.string().optional().meta({ description: 'The name under which the session works.' }),
    alias: z.string().optional(),
    title: z.string().optional(),
    template: z.string().optional(),
  }),
  'What a session of a city asks a person.',
);
export type CityPendingEntry = z.infer<typeof CityPendingEntry>;

export const ListBodyCityPendingEntry = contract(
  'ListBodyCityPendingEntry',
  z.strictObject({
    items: z.array(CityPendingEntry).nullable(),
    total: int64,
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'A page of what waits for a person.',
);
export type ListBodyCityPendingEntry = z.infer<typeof ListBodyCityPendingEntry>;

export const SupervisorPendingEntry = contract(
  'SupervisorPendingEntry',
  CityPendingEntry.extend({ city: z.string() }),
  'A question of a session that waits for a person, and its city.',
);
export type SupervisorPendingEntry = z.infer<typeof SupervisorPendingEntry>;

export const SupervisorPendingOutputBody = contract(
  'SupervisorPendingOutputBody',
  z.strictObject({
    event_cursor: z.string().meta({ description: 'From before the items were read: a stream that begins here misses nothing.' }),
    items: z.array(SupervisorPendingEntry),
    total: int64,
    next_cursor: z.string().optional(),
  }),
  'Questions that wait for a person, of all cities that the caller may see, the oldest first.',
);
export type SupervisorPendingOutputBody = z.infer<typeof SupervisorPendingOutputBody>;

export const PendingQuery = z.strictObject({ limit: queryInt({ min: 0, max: 1000, default: 1000 }), cursor: queryText() });
export type PendingQuery = z.infer<typeof PendingQuery>;

export const SupervisorPendingQuery = PendingQuery.extend({ cities: queryList() });
export type SupervisorPendingQuery = z.infer<typeof SupervisorPendingQuery>;
