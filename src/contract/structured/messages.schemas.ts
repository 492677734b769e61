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
);

export const SystemEvent = contract(
  'SessionStructuredSystemEvent',
  z.strictObject({
    kind: z.string().optional(),
    category: z.string().optional(),
    code: z.string().optional(),
    message: z.string().optional(),
  }),
);

export const Usage = contract(
  'SessionStructuredUsage',
  z.strictObject({
    cache_creation_tokens: int64.optional(),
    cache_read_tokens: int64.optional(),
    context_percent: int64.optional(),
    context_used_tokens: int64.optional(),
    context_window_tokens: int64.optional(),
    input_tokens: int64.optional(),
    output_tokens: int64.optional(),
    reasoning_tokens: int64.optional(),
  }),
);

export const UploadedFile = contract(
  'SessionStructuredUploadedFile',
  z.strictObject({
    file_path: z.string().optional(),
    mime_type: z.string().optional(),
    original_name: z.string().optional(),
    preview_url: z.string().optional(),
    size: z.string().optional(),
  }),
);

export const UserPrompt = contract(
  'SessionStructuredUserPrompt',
  z.strictObject({
    opened_files: z.array(z.string()).nullable().optional(),
    selections: z.array(IDESelection).nullable().optional(),
    text: z.string().optional(),
    uploaded_files: z.array(UploadedFile).nullable().optional(),
  }),
);

export const MessageUnknown = contract(
  'SessionStructuredMessageUnknown',
  z.strictObject({
    role: z.literal('unknown'),
    blocks: z.array(Block),
    id: z.string(),
    status: z.enum(['unknown', 'final', 'partial', 'superseded']),
    model: z.string().optional(),
    provider: z.string().optional(),
    stop_reason: z.string().optional(),
    system_event: SystemEvent.optional(),
    timestamp: z.string().optional(),
    usage: Usage.optional(),
    user_prompt: UserPrompt.optional(),
  }),
);

export const MessageUser = contract(
  'SessionStructuredMessageUser',
  z.strictObject({
    role: z.literal('user'),
    blocks: z.array(Block),
    id: z.string(),
    status: z.enum(['unknown', 'final', 'partial', 'superseded']),
    provider: z.string().optional(),
    timestamp: z.string().optional(),
    user_prompt: UserPrompt.optional(),
  }),
);

export const MessageAssistant = contract(
  'SessionStructuredMessageAssistant',
  z.strictObject({
    role: z.literal('assistant'),
    blocks: z.array(Block),
    id: z.string(),
    status: z.enum(['unknown', 'final', 'partial', 'superseded']),
    model: z.string().optional(),
    provider: z.string().optional(),
    stop_reason: z.string().optional(),
    timestamp: z.string().optional(),
    usage: Usage.optional(),
  }),
);

export const MessageSystem = contract(
  'SessionStructuredMessageSystem',
  z.strictObject({
    role: z.literal('system'),
    blocks: z.array(Block),
    id: z.string(),
    status: z.enum(['unknown', 'final', 'partial', 'superseded']),
    provider: z.string().optional(),
    system_event: SystemEvent.optional(),
    timestamp: z.string().optional(),
  }),
);

export const MessageTool = contract(
  'SessionStructuredMessageTool',
  z.strictObject({
    role: z.literal('tool'),
    blocks: z.array(Block),
    id: z.string(),
    status: z.enum(['unknown', 'final', 'partial', 'superseded']),
    provider: z.string().optional(),
    timestamp: z.string().optional(),
  }),
);

export const Message = contract(
  'SessionStructuredMessage',
  z.discriminatedUnion('role', [MessageUnknown, MessageUser, MessageAssistant, MessageSystem, MessageTool]),
);

export type Message = z.infer<typeof Message>;
