import { z } from 'zod';
import { contract } from '../registry.js';
import { ToolInput } from './tool-inputs.schemas.js';
import { ToolResult } from './tool-results.schemas.js';

/** The parts of a structured message. */
export const BlockText = contract(
  'SessionStructuredBlockText',
  z.strictObject({
    type: z.literal('text'),
    text: z.string().optional(),
  }),
  'Words.',
);

export const BlockThinking = contract(
  'SessionStructuredBlockThinking',
  z.strictObject({
    type: z.literal('thinking'),
    signature: z.string().optional(),
    thinking: z.string().optional(),
  }),
  'What the agent thought.',
);

export const BlockToolUse = contract(
  'SessionStructuredBlockToolUse',
  z.strictObject({
    type: z.literal('tool_use'),
    file_path: z.string().optional(),
    id: z.string().optional().describe('The id of the call: `tool_call_id` of its result.'),
    input: ToolInput.optional(),
    name: z.string().optional().describe('The name of the tool.'),
  }),
  'A tool is called.',
);

export const BlockToolResult = contract(
  'SessionStructuredBlockToolResult',
  z.strictObject({
    type: z.literal('tool_result'),
    content: z.string().optional(),
    file_path: z.string().optional(),
    is_error: z.boolean().optional(),
    name: z.string().optional().describe('The name of the tool.'),
    structured: ToolResult.optional(),
    tool_call_id: z.string().optional(),
  }),
  'A tool has answered.',
);

export const Interaction = contract(
  'SessionStructuredInteraction',
  z.strictObject({
    kind: z.string().optional().describe('`approval`: may it do something. `dialog`: what a terminal shows and waits for.'),
    state: z.string().describe('`open`, `answered`, `cancelled` or `expired`.'),
    action: z.string().optional().describe('What was answered.'),
    options: z.array(z.string()).nullable().optional().describe('What may be answered. Null is the same as anything.'),
    prompt: z.string().optional(),
    request_id: z.string().optional().describe('Names the question.'),
  }),
  'What a person is asked.',
);

export const BlockInteraction = contract(
  'SessionStructuredBlockInteraction',
  z.strictObject({
    type: z.literal('interaction'),
    interaction: Interaction.optional(),
  }),
  'A person is asked.',
);

export const BlockImage = contract(
  'SessionStructuredBlockImage',
  z.strictObject({
    type: z.literal('image'),
    file_path: z.string().optional(),
    image_url: z.string().optional(),
    mime_type: z.string().optional(),
    text: z.string().optional(),
  }),
  'An image.',
);

export const BlockUnknown = contract(
  'SessionStructuredBlockUnknown',
  z.strictObject({
    type: z.literal('unknown'),
    content: z.string().optional(),
    file_path: z.string().optional(),
    id: z.string().optional().describe('Its id, as the agent calls it.'),
    image_url: z.string().optional(),
    input: ToolInput.optional(),
    interaction: Interaction.optional(),
    is_error: z.boolean().optional(),
    mime_type: z.string().optional(),
    name: z.string().optional().describe('Its name, as the agent calls it.'),
    signature: z.string().optional(),
    structured: ToolResult.optional(),
    text: z.string().optional(),
    thinking: z.string().optional(),
    tool_call_id: z.string().optional(),
  }),
  'A part that this release does not know.',
);

export const Block = contract(
  'SessionStructuredBlock',
  z.discriminatedUnion('type', [BlockText, BlockThinking, BlockToolUse, BlockToolResult, BlockInteraction, BlockImage, BlockUnknown]),
  'A part of a message; `type` says of which kind.',
);
