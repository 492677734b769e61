import { EFFORTS, model, permissionMode, preset, select, TOOL_DECIDES, type PresetChoice } from './preset.js';

const efforts = EFFORTS.filter(([value]) => value !== 'max');

export const CODEX = preset({
  display_name: 'Codex',
  command: 'codex',
  ready_prompt_prefix: '› ',
  ready_delay_ms: 3_000,
  resume_flag: 'resume',
  resume_style: 'subcommand',
  supports_acp: false,
  options_schema: [
    permissionMode([
      ['unrestricted', 'Unrestricted', '--dangerously-bypass-approvals-and-sandbox'],
      ['suggest', 'Suggests only', '--ask-for-approval', 'untrusted', '--sandbox', 'read-only'],
      ['auto-edit', 'Edits without asking', '--full-auto'],
    ]),
    model(['gpt-5.5', 'GPT-5.5']),
    select('effort', 'Effort', [
      TOOL_DECIDES,
      ...efforts.map(([value, label]): PresetChoice => [value, label, '-c', `model_reasoning_effort=${value}`]),
    ]),
    select('sandbox', 'Sandbox', [
      TOOL_DECIDES,
      ['read-only', 'Read only', '--sandbox', 'read-only'],
      ['network-off', 'Without network', '--sandbox', 'workspace-write', '-c', 'sandbox_workspace_write.network_access=false'],
    ]),
  ],
  option_defaults: { model: 'gpt-5.5', effort: 'xhigh' },
  print_args: ['exec'],
  title_model: 'o4-mini',
});
