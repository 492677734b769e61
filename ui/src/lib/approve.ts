import type { Schemas } from '../api/types.js';
import { changeOf, type DiffLine } from './diff.js';

type ToolUse = Schemas['SessionStructuredBlockToolUse'];
type ToolResult = Schemas['SessionStructuredBlockToolResult'];

/** A call, and what stands beside it before it is over: some agents say only there what they would do. */
export interface Call {
  readonly use: ToolUse;
  readonly result: ToolResult | undefined;
}
export interface Page {
  readonly structured_messages?: readonly Schemas['SessionStructuredMessage'][];
  readonly pagination?: { readonly has_older_messages?: boolean; readonly truncated_before_message?: string };
}

/** A call is mostly the last thing that an agent has told; one that waits while others go on is further back. */
const PAGES = [50, 200, 200, 200] as const;

/** What a call would do, by the newest entries of its transcript; undefined where it is in none of them. */
export async function findCall(
  call: string,
  read: (limit: number, before: string | undefined) => Promise<Page>,
): Promise<Call | undefined> {
  let before: string | undefined;
  for (const limit of PAGES) {
    const { structured_messages: messages = [], pagination } = await read(limit, before);
    for (const { blocks } of messages.toReversed()) {
      const use = blocks.findLast((block): block is ToolUse => block.type === 'tool_use' && block.id === call);
      // Another entry's is of another call: agents use ids again.
      const result = blocks.findLast((block): block is ToolResult => block.type === 'tool_result' && block.tool_call_id === call);
      if (use !== undefined) return { use, result };
    }
    before = pagination?.has_older_messages === true ? pagination.truncated_before_message : undefined;
    if (before === undefined) return undefined;
  }
  return undefined;
}

type Input = Schemas['SessionStructuredToolInput'];

/** What a tool is given, by name, as it is shown. */
export function inputOf(input: Input | undefined): readonly (readonly [name: string, value: string])[] {
  const { kind: _, ...members } = (input ?? {}) as Record<string, unknown>;
  return Object.entries(members)
    .filter(([, value]) => value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value, null, 2)]);
}

/** All that is shown of a call before it is allowed. */
export interface Told {
  readonly files: readonly string[];
  readonly input: readonly (readonly [name: string, value: string])[];
  readonly change: readonly DiffLine[] | undefined;
  readonly text: string;
}

/** Kept with the call: a change of many lines takes a while to find, and is asked for each time that a card is drawn. */
const kept = new WeakMap<Call, Told>();

export function toldOf(call: Call): Told {
  const known = kept.get(call) ?? findTold(call);
  kept.set(call, known);
  return known;
}

function findTold({ use, result }: Call): Told {
  const change = changeOf(result?.structured);
  const rest = change === undefined && result?.structured !== undefined ? JSON.stringify(result.structured, null, 2) : '';
  const files = [use.file_path, result?.file_path].filter((path) => path !== undefined && path !== '');
  return { files: [...new Set(files)] as string[], input: inputOf(use.input), change, text: result?.content ?? rest };
}

/** What the service has put in the place of a call that was too large to keep. */
const LEFT_OUT = /^\[a tool call of \d+ bytes was left out\]$/;

/** How far the service keeps each text of a call that is too large, and what stands there then: also within a text that others are part of. */
const KEPT = 32 * 1024;
const CUT = /(?:\n|\\n)\[…\]/;

const isCut = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.length > KEPT && CUT.test(value.slice(KEPT))
    : typeof value === 'object' && value !== null && Object.values(value).some(isCut);

/** Why nobody can know from what is shown what the call would do; undefined where he can. A file says where, and not what. */
export function whyUntold(call: Call | undefined): string | undefined {
  if (call === undefined) return 'what it would do is not in the newest entries of its transcript';
  const { input, change = [], text } = toldOf(call);
  const words = text.trim();
  if (LEFT_OUT.test(words)) return 'what it would do is too large to be shown';
  if (isCut(call)) return 'what it would do is too large to be shown whole';
  if (input.length > 0 || change.some(({ sign }) => sign === '+' || sign === '-')) return undefined;
  return words === '' ? 'its agent does not say what it would do' : undefined;
}

/**
 * Why an answer is asked for once more before it counts; undefined where it is not.
 * @param unseen it allows what nobody was shown.
 * @param longer what is asked goes on where nobody has looked.
 */
export function onceMore(kind: string, unseen: boolean, longer = false): string | undefined {
  if (kind.endsWith('_always')) return 'it lasts';
  if (kind.startsWith('reject')) return undefined;
  if (unseen) return 'what it would do is not shown';
  return longer ? 'there is more than was in sight' : undefined;
}
