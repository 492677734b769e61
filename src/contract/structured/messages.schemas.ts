import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { Block } from './blocks.schemas.js';

/** Messages of a transcript, whatever agent wrote it. */
export const IDESelection = contract(
  'SessionStructuredIDESelection',
  z.strictObject({
    text: z.string().optional(),
  }),
  'What was marked in an editor.',
);

export const SystemEvent = contract(
  'SessionStructuredSystemEvent',
  z.strictObject({
    kind: z.string().optional().describe('The kind of event.'),
    category: z.string().optional(),
    code: z.string().optional(),
    message: z.string().optional(),
  }),
  'Something that the system says.',
);

export const Usage = contract(
  'SessionStructuredUsage',
  z.strictObject({
    cache_creation_tokens: int64.optional(),
    cache_read_tokens: int64.optional(),
    context_percent: int64.optional().describe('How full the context of the model is, from 0 to 100.'),
    context_used_tokens: int64.optional(),
    context_window_tokens: int64.optional(),
    input_tokens: int64.optional(),
    output_tokens: int64.optional(),
    reasoning_tokens: int64.optional().describe('Tokens of thought among those that came out.'),
  }),
  'The tokens of a message.',
);

export const UploadedFile = contract(
  'SessionStructuredUploadedFile',
  z.strictObject({
    file_path: z.string().optional(),
    mime_type: z.string().optional(),
    original_name: z.string().optional().describe('The name that it had.'),
    preview_url: z.string().optional().describe('Where it can be looked at.'),
    size: z.string().optional().describe('Its size, for people.'),
  }),
  'A file that was sent along.',
);

export const UserPrompt = contract(
  'SessionStructuredUserPrompt',
  z.strictObject({
    opened_files: z.array(z.string()).nullable().optional().describe('Files that were open. Null is the same as none.'),
    selections: z.array(IDESelection).nullable().optional().describe('What was marked. Null is the same as nothing.'),
    text: z.string().optional(),
    uploaded_files: z.array(UploadedFile).nullable().optional().describe('Files that were sent along. Null is the same as none.'),
  }),
  'What a person has sent, in its parts.',
);

const entryId = z.string().describe('Names the entry in the transcript: the same id again replaces it.');
const place = int64
  .optional()
  .describe('Where the entry stands: it keeps its place however late it changes, and a stream tells changes in their own order.');

export const MessageUnknown = contract(
  'SessionStructuredMessageUnknown',
  z.strictObject({
    role: z.literal('unknown'),
    blocks: z.array(Block),
    id: entryId,
    place,
    status: z
      .enum(['unknown', 'final', 'partial', 'superseded'])
      .describe('`partial` while it grows; `superseded` when it is to be forgotten.'),
    model: z.string().optional(),
    provider: z.string().optional(),
    stop_reason: z.string().optional(),
    system_event: SystemEvent.optional(),
    timestamp: z.string().optional(),
    usage: Usage.optional(),
    user_prompt: UserPrompt.optional(),
  }),
  'A message of whom this release does not know.',
);

export const MessageUser = contract(
  'SessionStructuredMessageUser',
  z.strictObject({
    role: z.literal('user'),
    blocks: z.array(Block),
    id: entryId,
    place,
    status: z
      .enum(['unknown', 'final', 'partial', 'superseded'])
      .describe('`partial` while it grows; `superseded` when it is to be forgotten.'),
    provider: z.string().optional(),
    timestamp: z.string().optional(),
    user_prompt: UserPrompt.optional(),
  }),
  'A message of a person, or of who speaks to the agent.',
);

export const MessageAssistant = contract(
  'SessionStructuredMessageAssistant',
  z.strictObject({
    role: z.literal('assistant'),
    blocks: z.array(Block),
    id: entryId,
    place,
    status: z
      .enum(['unknown', 'final', 'partial', 'superseded'])
      .describe('`partial` while it grows; `superseded` when it is to be forgotten.'),
    model: z.string().optional(),
    provider: z.string().optional(),
    stop_reason: z.string().optional(),
    timestamp: z.string().optional(),
    usage: Usage.optional(),
  }),
  'A message of the agent.',
);

export const MessageSystem = contract(
  'SessionStructuredMessageSystem',
  z.strictObject({
    role: z.literal('system'),
    blocks: z.array(Block),
    id: entryId,
    place,
    status: z
      .enum(['unknown', 'final', 'partial', 'superseded'])
      .describe('`partial` while it grows; `superseded` when it is to be forgotten.'),
    provider: z.string().optional(),
    system_event: SystemEvent.optional(),
    timestamp: z.string().optional(),
  }),
  'A message of the system.',
);

export const MessageTool = contract(
  'SessionStructuredMessageTool',
  z.strictObject({
    role: z.literal('tool'),
    blocks: z.array(Block),
    id: entryId,
    place,
    status: z
      .enum(['unknown', 'final', 'partial', 'superseded'])
      .describe('`partial` while it grows; `superseded` when it is to be forgotten.'),
    provider: z.string().optional(),
    timestamp: z.string().optional(),
  }),
  'A message of a tool.',
);

export const Message = contract(
  'SessionStructuredMessage',
  z.discriminatedUnion('role', [MessageUnknown, MessageUser, MessageAssistant, MessageSystem, MessageTool]),
  'A message of a transcript; `role` says whose.',
);

export type Message = z.infer<typeof Message>;
