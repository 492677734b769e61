import type { ProviderSpec } from '../city-config.js';
import { CLAUDE } from './claude.preset.js';
import { ANTIGRAVITY, GEMINI } from './google.preset.js';
import { LOOPBACK } from './loopback.preset.js';
import { CODEX } from './openai.preset.js';
import { CEREBRAS, GROQ, MIMOCODE, OPENCODE } from './opencode.preset.js';
import { AMP, AUGGIE, COPILOT, CURSOR, GROK, KIMI, KIRO, OMP, PI } from './terminal.preset.js';

/** The providers that every city knows without writing them down, in the order in which lists show them. */
export const PRESETS: Readonly<Record<string, ProviderSpec>> = Object.freeze({
  claude: CLAUDE,
  codex: CODEX,
  gemini: GEMINI,
  grok: GROK,
  kimi: KIMI,
  kiro: KIRO,
  cursor: CURSOR,
  copilot: COPILOT,
  amp: AMP,
  opencode: OPENCODE,
  mimocode: MIMOCODE,
  groq: GROQ,
  cerebras: CEREBRAS,
  auggie: AUGGIE,
  pi: PI,
  omp: OMP,
  antigravity: ANTIGRAVITY,
  loopback: LOOPBACK,
});

export const PRESET_NAMES: readonly string[] = Object.keys(PRESETS);

/** The preset of a name that comes from outside; undefined when there is none. */
export function presetOf(name: string): ProviderSpec | undefined {
  return Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
}
