import type { ProviderSpec } from '../city-config.js';
import { model, preset } from './preset.js';

/** The tool asks for nothing: there is nobody at its terminal. */
const ALLOW_ALL = { OPENCODE_PERMISSION: '{"*":"allow"}' };

export const OPENCODE = preset({
  display_name: 'OpenCode',
  command: 'opencode',
  prompt_mode: 'flag',
  prompt_flag: '--prompt',
  ready_delay_ms: 8_000,
  resume_flag: '--session',
  resume_style: 'flag',
  supports_acp: true,
  acp_args: ['acp'],
  env: ALLOW_ALL,
  options_schema: [
    model(['anthropic/claude-sonnet-4-5', 'Claude Sonnet 4.5'], ['openai/gpt-5', 'GPT-5'], ['google/gemini-2.5-pro', 'Gemini 2.5 Pro']),
  ],
});

export const MIMOCODE = preset({
  display_name: 'MiMo Code',
  command: 'mimo',
  args: ['--never-ask'],
  prompt_mode: 'flag',
  prompt_flag: '--prompt',
  ready_delay_ms: 8_000,
  resume_flag: '--session',
  resume_style: 'flag',
  supports_acp: true,
  acp_args: ['acp'],
  options_schema: [model(['mimo/mimo-v2-flash', 'MiMo V2 Flash'])],
});

/** The same tool on one host's models; its conversations cannot be resumed by flag. */
function hosted(displayName: string, modelId: string, modelLabel: string): ProviderSpec {
  return preset({
    display_name: displayName,
    command: 'opencode',
    prompt_mode: 'none',
    ready_delay_ms: 8_000,
    supports_acp: true,
    acp_args: ['acp'],
    env: ALLOW_ALL,
    options_schema: [model([modelId, modelLabel])],
    option_defaults: { model: modelId },
  });
}

export const GROQ = hosted('OpenCode on Groq', 'groq/openai/gpt-oss-120b', 'GPT-OSS 120B');
export const CEREBRAS = hosted('OpenCode on Cerebras', 'cerebras/gpt-oss-120b', 'GPT-OSS 120B');
