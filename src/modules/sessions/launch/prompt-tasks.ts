import { task } from '../../../platform/threads/task.js';
import { render, type Fragments, type Values } from './prompt-template.js';

export interface Rendering {
  readonly parts: readonly string[];
  readonly values: Values;
  readonly fragments: Fragments;
}

/** As `render`. */
export const rendering = task(import.meta.url, 'rendering', ({ parts, values, fragments }: Rendering) => render(parts, values, fragments));

/** Characters of prompts and fragments that cost as much as one of TOML that is edited. */
const PER_CHARACTER = 64;

/** What it costs, in the units of `INLINE_COST`. */
export function costOfRendering({ parts, fragments }: Rendering): number {
  let characters = 0;
  for (const text of parts) characters += text.length;
  for (const [name, text] of fragments) characters += name.length + text.length;
  return characters / PER_CHARACTER;
}
