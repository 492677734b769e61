import { byFlag, EFFORTS, model, permissionMode, preset, select } from './preset.js';

export const GROK = preset({
  display_name: 'Grok',
  command: 'grok',
  prompt_mode: 'none',
  ready_delay_ms: 12_000,
  resume_flag: '--resume',
  resume_style: 'flag',
  supports_acp: false,
  options_schema: [
    permissionMode([
      ['unrestricted', 'Unrestricted', '--permission-mode', 'bypassPermissions'],
      ['default', 'Asks', '--permission-mode', 'default'],
      ['auto-edit', 'Edits without asking', '--permission-mode', 'acceptEdits'],
      ['plan', 'Plan first', '--permission-mode', 'plan'],
      ['full-auto', 'Never asks', '--permission-mode', 'dontAsk'],
    ]),
    select('effort', 'Effort', byFlag('--reasoning-effort', EFFORTS.slice(0, 4))),
    model(['grok-build', 'Grok Build']),
  ],
  print_args: ['-p'],
});

const KIMI_ARGS = ['--yolo', '--no-thinking'];

export const KIMI = preset({
  display_name: 'Kimi Code',
  command: 'kimi',
  args: KIMI_ARGS,
  prompt_mode: 'none',
  ready_delay_ms: 5_000,
  resume_flag: '--session',
  resume_style: 'flag',
  supports_acp: true,
  acp_args: [...KIMI_ARGS, 'acp'],
  options_schema: [model(['kimi-for-coding', 'Kimi for Coding'])],
  print_args: ['--quiet', '--prompt'],
});

export const KIRO = preset({
  display_name: 'Kiro',
  command: 'kiro-cli',
  args: ['chat', '--no-interactive', '--trust-all-tools'],
  ready_delay_ms: 5_000,
  supports_acp: true,
  acp_args: ['acp'],
});

export const CURSOR = preset({
  display_name: 'Cursor Agent',
  command: 'cursor-agent',
  args: ['-f'],
  ready_prompt_prefix: '→ ',
  ready_delay_ms: 10_000,
  resume_flag: '--resume',
  resume_style: 'flag',
  supports_acp: false,
  options_schema: [
    select('mcp_approval', 'MCP servers', [
      ['prompt', 'Asks'],
      ['approve', 'Approves all', '--approve-mcps'],
    ]),
  ],
});

export const COPILOT = preset({
  display_name: 'GitHub Copilot CLI',
  command: 'copilot',
  args: ['--yolo'],
  prompt_mode: 'none',
  ready_prompt_prefix: '❯ ',
  ready_delay_ms: 5_000,
  resume_flag: '--resume',
  resume_style: 'flag',
  supports_acp: false,
});

export const AMP = preset({
  display_name: 'Amp',
  command: 'amp',
  args: ['--dangerously-allow-all', '--no-ide'],
  resume_flag: 'threads continue',
  resume_style: 'subcommand',
  supports_acp: false,
});

export const AUGGIE = preset({
  display_name: 'Auggie',
  command: 'auggie',
  args: ['--allow-indexing'],
  resume_flag: '--resume',
  resume_style: 'flag',
  supports_acp: false,
});

export const PI = preset({
  display_name: 'Pi Coding Agent',
  command: 'pi',
  ready_delay_ms: 8_000,
  resume_flag: '--session',
  resume_style: 'flag',
  supports_acp: false,
});

export const OMP = preset({
  display_name: 'Oh My Pi',
  command: 'omp',
  resume_flag: '--resume',
  resume_style: 'flag',
  supports_acp: false,
});
