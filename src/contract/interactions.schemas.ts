import { z } from 'zod';
import { contract } from './registry.js';

export const InteractionChoice = contract(
  'InteractionChoice',
  z.strictObject({
    id: z.string().meta({ description: 'To be given as `action`.' }),
    label: z.string().describe('The words for people.'),
    kind: z.string().optional().meta({ description: 'allow_once, allow_always, reject_once, reject_always, or what the agent calls it.' }),
  }),
  'One of the answers that an agent offers.',
);
export type InteractionChoice = z.infer<typeof InteractionChoice>;

export const PendingInteraction = contract(
  'PendingInteraction',
  z.strictObject({
    request_id: z.string().describe('Names the question: to be given with the answer.'),
    kind: z.string().describe('`approval`: may it do something. `dialog`: what a terminal shows and waits for.'),
    prompt: z.string().optional(),
    options: z.array(z.string()).nullable().optional().meta({ description: 'The labels of `choices`, as a person reads them.' }),
    metadata: z.record(z.string(), z.string()).optional(),
    choices: z.array(InteractionChoice).optional(),
    opened_at: z.string().optional(),
  }),
  'What an agent asks a person.',
);
export type PendingInteraction = z.infer<typeof PendingInteraction>;
