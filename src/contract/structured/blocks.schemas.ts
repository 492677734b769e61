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
);

export const BlockThinking = contract(
  'SessionStructuredBlockThinking',
  z.strictObject({
    type: z.literal('thinking'),
    signature: z.string().optional(),
    thinking: z.string().optional(),
  }),
);

export const BlockToolUse = contract(
  'SessionStructuredBlockToolUse',
  z.strictObject({
    type: z.literal('tool_use'),
    file_path: z.string().optional(),
    id: z.string().optional(),
    input: ToolInput.optional(),
    name: z.string().optional(),
  }),
);

export const BlockToolResult = contract(
  'SessionStructuredBlockToolResult',
  z.strictObject({
    type: z.literal('tool_result'),
    content: z.string().optional(),
    file_path: z.string().optional(),
    is_error: z.boolean().optional(),
    name: z.string().optional(),
    structured: ToolResult.optional(),
    tool_call_id: z.string().optional(),
  }),
);

export const Interaction = contract(
  'SessionStructuredInteraction',
  z.strictObject({
    kind: z.string().optional(),
    state: z.string(),
    action: z.string().optional(),
    options: z.array(z.string()).nullable().optional(),
    prompt: z.string().optional(),
    request_id: z.string().optional(),
  }),
);

export const BlockInteraction = contract(
  'SessionStructuredBlockInteraction',
  z.strictObject({
    type: z.literal('interaction'),
    interaction: Interaction.optional(),
  }),
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
);

export const BlockUnknown = contract(
  'SessionStructuredBlockUnknown',
  z.strictObject({
    type: z.literal('unknown'),
    content: z.string().optional(),
    file_path: z.string().optional(),
    id: z.string().optional(),
    image_url: z.string().optional(),
    input: ToolInput.optional(),
    interaction: Interaction.optional(),
    is_error: z.boolean().optional(),
    mime_type: z.string().optional(),
    name: z.string().optional(),
    signature: z.string().optional(),
    structured: ToolResult.optional(),
    text: z.string().optional(),
    thinking: z.string().optional(),
    tool_call_id: z.string().optional(),
  }),
);

export const Block = contract(
  'SessionStructuredBlock',
  z.discriminatedUnion('type', [BlockText, BlockThinking, BlockToolUse, BlockToolResult, BlockInteraction, BlockImage, BlockUnknown]),
);
