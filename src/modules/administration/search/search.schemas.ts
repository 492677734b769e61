import { z } from 'zod';
import { onceText, queryInt, queryList } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';

export const SEARCH_KINDS = ['city', 'agent', 'session', 'bead', 'mail'] as const;
export type SearchKind = (typeof SEARCH_KINDS)[number];

export const SearchQuery = z.strictObject({
  q: onceText()
    .trim()
    .max(200)
    .default('')
    .describe(
      'What is looked for: an id or a name, its beginning, or words of a title, the beginnings of which are enough. Nothing finds nothing.',
    ),
  kinds: queryList({ max: 20 })
    .refine(
      (kinds) => (kinds ?? []).every((kind) => (SEARCH_KINDS as readonly string[]).includes(kind)),
      `must be of ${SEARCH_KINDS.join(', ')}`,
    )
    .describe('Only of these kinds, by commas: `city`, `agent`, `session`, `bead`, `mail`.'),
  cities: queryList(),
  limit: queryInt({ min: 1, max: 100, default: 20 }),
});
export type SearchQuery = z.infer<typeof SearchQuery>;

export const SearchHit = contract(
  'SearchHit',
  z.strictObject({
    kind: z.enum(SEARCH_KINDS).describe('What it is.'),
    city: z.string(),
    id: z.string().describe('What it is asked for by: an id, or the name of a city or an agent.'),
    title: z.string().describe('One line for people: a title or a subject. Empty of cities and agents.'),
    name: z.string().optional().describe('The alias of a session, where it has one.'),
    state: z.string().optional().describe('The status of a bead, the state of a session or of a city.'),
  }),
  'Something that was found.',
);
export type SearchHit = z.infer<typeof SearchHit>;

export const SearchOutputBody = contract(
  'SearchOutputBody',
  z.strictObject({
    items: z
      .array(SearchHit)
      .describe('What fits best first: what is called so, then what begins so, then what has these words; of these the newest.'),
    partial: z.boolean().optional().describe('True when not all was looked at, and `partial_errors` says of what. Absent means false.'),
    partial_errors: z.array(z.string()).optional(),
  }),
  'What was found.',
);
export type SearchOutputBody = z.infer<typeof SearchOutputBody>;
