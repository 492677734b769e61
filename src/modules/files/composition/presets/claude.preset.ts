import { byFlag, EFFORTS, model, permissionMode, preset, select } from './preset.js';

export const CLAUDE = preset({
  display_name: 'Claude Code',
  command: 'claude',
  ready_prompt_prefix: '❯ ',
  ready_delay_ms: 10_000,
  resume_flag: '--resume',
  resume_style: 'flag',
  fork_flag: '--fork-session',
  supports_acp: true,
  instructions_file: 'CLAUDE.md',
  options_schema: [
    permissionMode([
      ['unrestricted', 'Unrestricted', '--dangerously-skip-permissions'],
      ['plan', 'Plan first', '--permission-mode', 'plan'],
      ['auto-edit', 'Edits without asking', '--permission-mode', 'acceptEdits'],
      ['full-auto', 'Never asks', '--permission-mode', 'dontAsk'],
    ]),
    select('effort', 'Effort', byFlag('--effort', EFFORTS)),
    model(['opus', 'Opus'], ['sonnet', 'Sonnet'], ['haiku', 'Haiku']),
  ],
  option_defaults: { effort: 'max' },
  print_args: ['-p'],
  title_model: 'haiku',
});
