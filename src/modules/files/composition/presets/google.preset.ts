import { byFlag, EFFORTS, model, permissionMode, preset, select, TOOL_DECIDES } from './preset.js';

export const GEMINI = preset({
  display_name: 'Gemini CLI',
  command: 'gemini',
  ready_prompt_prefix: '> ',
  ready_delay_ms: 5_000,
  resume_flag: '--resume',
  resume_style: 'flag',
  supports_acp: false,
  options_schema: [
    permissionMode([
      ['unrestricted', 'Unrestricted', '--approval-mode', 'yolo'],
      ['default', 'Asks', '--approval-mode', 'default'],
      ['auto-edit', 'Edits without asking', '--approval-mode', 'auto_edit'],
      ['plan', 'Plan first', '--approval-mode', 'plan'],
    ]),
    model(['gemini-2.5-pro', 'Gemini 2.5 Pro'], ['gemini-2.5-flash', 'Gemini 2.5 Flash']),
  ],
  print_args: ['-p'],
  title_model: 'gemini-2.5-flash',
});

export const ANTIGRAVITY = preset({
  display_name: 'Antigravity',
  command: 'agy',
  prompt_mode: 'flag',
  prompt_flag: '--prompt-interactive',
  ready_prompt_prefix: '> ',
  ready_delay_ms: 5_000,
  resume_flag: '--conversation',
  resume_style: 'flag',
  supports_acp: false,
  options_schema: [
    permissionMode([
      ['unrestricted', 'Unrestricted', '--dangerously-skip-permissions'],
      ['standard', 'Asks'],
      ['accept-edits', 'Edits without asking', '--mode', 'accept-edits'],
      ['plan', 'Plan first', '--mode', 'plan'],
    ]),
    select('effort', 'Effort', byFlag('--effort', EFFORTS.slice(0, 3))),
    model(['gemini-3-pro', 'Gemini 3 Pro'], ['gemini-3-flash', 'Gemini 3 Flash']),
    select('sandbox', 'Sandbox', [TOOL_DECIDES, ['on', 'Restricted terminal', '--sandbox']]),
  ],
  print_args: ['--print'],
});
