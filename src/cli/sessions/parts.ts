import { cut } from '../table.js';
import type { Message } from '../../client/turns.js';
import { harmless, harmlessLine } from '../harmless.js';

type Block = Message['blocks'][number];
type Of<T extends Block['type']> = Extract<Block, { type: T }>;

/** How an entry is told: each of its lines begins with `mark`. */
export interface Prose {
  readonly kind: 'user' | 'assistant' | 'thought' | 'system';
  readonly text: string;
}

/** A tool call in one line. */
export interface ToolCall {
  readonly kind: 'tool';
  readonly state: 'running' | 'done' | 'failed' | 'ended';
  readonly about: string;
  readonly result: string;
}

/** What an entry shows; an empty text shows nothing. */
export function partOf(message: Message, thinking: boolean): Prose | ToolCall {
  const blocks = message.blocks as readonly Block[];
  const call = blocks.find((block): block is Of<'tool_use'> => block.type === 'tool_use');
  const result = blocks.find((block): block is Of<'tool_result'> => block.type === 'tool_result');
  if (call !== undefined || result !== undefined) return toolOf(message, call, result);
  const isThought = blocks.length > 0 && blocks.every(({ type }) => type === 'thinking');
  const text = harmless(blocks.map((block) => textOf(block, thinking)).join(''))
    .replace(/^\n+/, '')
    .trimEnd();
  const kind = isThought ? 'thought' : message.role === 'user' || message.role === 'assistant' ? message.role : 'system';
  return { kind, text };
}

function textOf(block: Block, thinking: boolean): string {
  switch (block.type) {
    case 'text':
      return block.text ?? '';
    case 'thinking':
      return thinking ? (block.thinking ?? '') : '';
    case 'interaction':
      return `[question] ${block.interaction?.prompt ?? block.interaction?.kind ?? ''}`;
    case 'image':
      return `[image${block.file_path === undefined ? '' : ` ${block.file_path}`}]`;
    case 'unknown':
      return block.text ?? block.content ?? '';
    default:
      return '';
  }
}

function toolOf(message: Message, call: Of<'tool_use'> | undefined, result: Of<'tool_result'> | undefined): ToolCall {
  const name = harmlessLine(call?.name ?? result?.name ?? 'tool');
  const input = call === undefined ? '' : inputOf(call);
  const over = message.status === 'final';
  return {
    kind: 'tool',
    state: !over ? 'running' : result === undefined ? 'ended' : result.is_error === true ? 'failed' : 'done',
    about: `[${name}]${input === '' ? '' : ` ${cut(input, 120)}`}`,
    result: over && result !== undefined ? shortOf(result.content ?? '') : '',
  };
}

const TELLING = ['command', 'file_path', 'pattern', 'query', 'url', 'question', 'description', 'prompt', 'text', 'code', 'plan'] as const;

/** The one thing that says most about what a tool was called with. */
function inputOf({ input, file_path }: Of<'tool_use'>): string {
  const members = (input ?? {}) as Readonly<Record<string, unknown>>;
  for (const name of TELLING) {
    const value = members[name] ?? (name === 'file_path' ? file_path : undefined);
    if (typeof value === 'string' && value.trim() !== '') return harmlessLine(value);
  }
  const list = members.arguments as readonly { name: string; value: string }[] | null | undefined;
  return harmlessLine((list ?? []).map(({ name, value }) => `${name}=${value}`).join(' '));
}

function shortOf(content: string): string {
  const lines = harmless(content)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const more = lines.length > 1 ? ` (+${lines.length - 1} lines)` : '';
  return lines.length === 0 ? '' : `${cut(harmlessLine(lines[0]!), 120)}${more}`;
}
