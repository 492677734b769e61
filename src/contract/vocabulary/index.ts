import { COMMON } from './common.js';
import { SESSIONS } from './sessions.js';
import { TRANSCRIPTS } from './transcripts.js';
import { WORK } from './work.js';

/**
 * What a member of a component means by its name, where its schema says nothing else: names mean the same everywhere, so that
 * they are explained once. What is another thing in a component, and what only one component has, its schema describes.
 */
export const VOCABULARY: ReadonlyMap<string, string> = new Map(
  [COMMON, WORK, SESSIONS, TRANSCRIPTS].flatMap((part) => Object.entries(part)),
);
