import { z } from 'zod';
import { storableText } from '../../../contract/storable.js';
import { MAX_COST_USD, shortId, shortName } from '../limits.js';

/**
 * What is read of an agent's messages, as little of it as is needed: agents of other versions add members and kinds, and
 * a strict reader would lose what it could have understood.
 */
const text = z.string().transform(storableText);
/** By which updates say what they change; nobody tells it to the agent again. */
const id = text.transform(shortId);
/** As it is: half of a surrogate pair may be at its end, and the other half come next. Whoever stores it makes it storable. */
const words = z.string();
const maybe = <T extends z.ZodType>(schema: T): z.ZodCatch<z.ZodOptional<T>> => schema.optional().catch(undefined);
/** What has more is not read: each member is looked at, and what is wrong with it is written down. */
const MAX_LISTED = 4_000;
const list = <T extends z.ZodType>(schema: T): z.ZodPipe<z.ZodCustom<unknown[]>, z.ZodArray<T>> =>
  z.custom<unknown[]>((value) => Array.isArray(value) && value.length <= MAX_LISTED).pipe(z.array(schema));
const meta = z.record(z.string(), z.unknown());
/** A figure that can be none is unknown: the event that ends a turn, and the columns, take whole numbers of this size alone. */
const count = maybe(z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).transform(Math.round));

export const ContentBlock = z.looseObject({
  type: text,
  text: maybe(words),
  data: maybe(text),
  mimeType: maybe(text),
  uri: maybe(text),
  name: maybe(text),
  resource: maybe(z.looseObject({ uri: maybe(text), text: maybe(text), mimeType: maybe(text) })),
});
export type ContentBlock = z.output<typeof ContentBlock>;

export const Chunk = z.object({ content: ContentBlock, messageId: maybe(id), _meta: maybe(meta) });

const ToolContent = z.looseObject({
  type: text,
  content: maybe(ContentBlock),
  path: maybe(text),
  oldText: maybe(text),
  newText: maybe(text),
  terminalId: maybe(text),
});
export type ToolContent = z.output<typeof ToolContent>;

export const ToolCall = z.object({
  toolCallId: id,
  title: maybe(text),
  name: maybe(text),
  kind: maybe(text),
  status: maybe(text),
  content: maybe(list(ToolContent)),
  locations: maybe(list(z.looseObject({ path: text }))),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: maybe(meta),
});
export type ToolCall = z.output<typeof ToolCall>;

export const Plan = z.object({ entries: list(z.looseObject({ content: text, status: maybe(text), priority: maybe(text) })) });

export const UsageUpdate = z.object({
  used: count,
  size: count,
  cost: maybe(z.looseObject({ amount: z.number().nonnegative().max(MAX_COST_USD), currency: text })),
});

const Choice = z.looseObject({ value: text, name: maybe(text) });
export const ConfigOptions = list(
  z.looseObject({
    id: text,
    name: maybe(text),
    type: maybe(text),
    category: maybe(text),
    currentValue: maybe(z.union([text, z.boolean()])),
    options: maybe(list(z.union([Choice, z.looseObject({ options: list(Choice) })]))),
  }),
);
export type ConfigOptions = z.output<typeof ConfigOptions>;

export const Modes = z.object({ currentModeId: text, availableModes: list(z.looseObject({ id: text, name: maybe(text) })) });
export type Modes = z.output<typeof Modes>;

/** Who the agent says that it is. */
const name = text.transform(shortName);
export const AgentInfo = z.object({ name: maybe(name), version: maybe(name) });

/** What the three ways to a conversation answer. */
export const Opened = z.object({ sessionId: maybe(text), configOptions: maybe(ConfigOptions), modes: maybe(Modes) });
export type Opened = z.output<typeof Opened>;

export const PermissionRequest = z.object({
  sessionId: text,
  toolCall: ToolCall,
  options: list(z.object({ optionId: text, name: maybe(text), kind: maybe(text) })),
});
export type PermissionRequest = z.output<typeof PermissionRequest>;

export const PromptAnswer = z.object({
  stopReason: text,
  usage: maybe(
    z.looseObject({ inputTokens: count, outputTokens: count, cachedReadTokens: count, cachedWriteTokens: count, thoughtTokens: count }),
  ),
});

export const Compaction = z.object({
  compactionId: id,
  status: maybe(text),
  summary: maybe(list(ContentBlock)),
  content: maybe(ContentBlock),
  error: maybe(text),
});

export const Notice = z.object({ severity: maybe(text), title: text, description: maybe(text) });
