import { createHash } from 'node:crypto';

/**
 * What is kept of what an agent says. Only the agent decides how much that is, and many agents share one process: what
 * waits for more of it, in memory, is bounded here.
 */

/** Bytes of an entry with its frames: of a larger one the frames are left out, then its long texts are cut. */
export const ENTRY_BYTES = 512 * 1024;
/** Characters of each text in an entry that is too large, and of a text that grows. */
export const TEXT_CHARACTERS = 32 * 1024;
/** Tool calls that may still change, and the bytes of all of them. */
export const MAX_TOOLS = 256;
export const TOOLS_BYTES = 8 * 1024 * 1024;
/** Frames of one tool call. */
export const MAX_RAW_FRAMES = 64;
/** Compactions whose summary may still grow. */
export const MAX_COMPACTIONS = 16;
/** Questions that are open at once, and the bytes of each. */
export const MAX_QUESTIONS = 32;
export const QUESTION_BYTES = 128 * 1024;
/** Requests of an agent, answers to which it has not read. */
export const MAX_UNANSWERED = 1_024;
/** Bytes of what an agent offers to be set, and of what it says that it can do. */
export const OPTIONS_BYTES = 256 * 1024;
/** Characters of an id that an agent gives; a longer one is known by its hash. */
export const ID_CHARACTERS = 200;
/** Characters of the id of a conversation: each frame of its stream says it, and the agent is told it again as it is. */
export const SESSION_KEY_CHARACTERS = 1_024;
/** US dollars that an agent may say it has cost, beyond what anybody pays: sums of such costs stay finite. */
export const MAX_COST_USD = 1e9;

const CUT = '\n[…]';

/** About how many bytes a value takes. */
export function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

export function cutText(text: string): string {
  if (text.length <= TEXT_CHARACTERS) return text;
  // Copied: a part of a string keeps the whole of it in memory.
  return Buffer.from(text.slice(0, TEXT_CHARACTERS).toWellFormed()).toString() + CUT;
}

/** The same value with all its long texts cut. */
export function cutTexts(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value);
  if (Array.isArray(value)) return value.map(cutTexts);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, cutTexts(member)]));
  return value;
}

/** The beginning of a name that an agent gives to something, such as its model: every entry says it. */
export function shortName(name: string): string {
  return name.slice(0, ID_CHARACTERS).toWellFormed();
}

export function shortId(id: string): string {
  return id.length > ID_CHARACTERS ? createHash('sha256').update(id).digest('hex') : id;
}
